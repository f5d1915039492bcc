/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The builder's part for models: types of values, what parameters begin with,
 * slices, concatenations.
 */
#include "driver/builder.h"
#include "graph/text.h"

/* ---- reading a value ---- */

gcut_shape gcut_shape_of(gcut_val v)
{
    gcut_shape s = GCUT_SCALAR;
    if (!v.id || !v.graph || v.graph->failed) return s;
    const gcut_type *t = gcut_type_of(v.graph, v.id);
    s.rank = t->rank;
    memcpy(s.dim, t->dim, sizeof s.dim);
    return s;
}

int gcut_dtype_of(gcut_val v)
{
    return v.id && v.graph ? (int)gcut_type_of(v.graph, v.id)->dtype : -1;
}

/* ---- what a parameter begins with, and may hold ---- */

/* The parameter behind a value. */
static gcut_param *param_of(const call *c)
{
    gcut_graph *g = c->b.g;
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].value == c->in[0].id) return &g->params.at[i];
    usage(c, "not a param, input or state");
}

static void do_init(void *arg)
{
    call *c = arg;
    gcut_graph *g = c->b.g;
    gcut_param *p = param_of(c);
    const gcut_type *t = gcut_type_of(g, p->value);
    const char *name = g->values.at[p->value].name;
    if (p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_state)
        usage(c, "only a param or a state has initial contents");
    for (int d = 0; d < t->rank; d++)
        if (!gcut_dim_known(t->dim[d])) usage(c, "only sizes that are numbers have initial contents");
    for (uint32_t i = 0; i < g->module->data.n; i++)
        if (!strcmp(g->module->data.at[i].name, name)) usage(c, "it has initial contents already");
    gcut_parse_data_text(g->module, name, t, (gcut_place){c->at.file, c->at.line, 0}, c->name);
    c->out = c->in[0].id;
}

gcut_val gcut_initial_at(gcut_here at, gcut_val param, const char *contents)
{
    return run(at, graph_of(&param, 1), do_init, &(call){.in = {param}, .name = contents ? contents : ""});
}

typedef struct range_job {
    call c;
    int64_t lo, hi;
} range_job;

static void do_range(void *arg)
{
    range_job *j = arg;
    call *c = &j->c;
    gcut_module *m = c->b.g->module;
    gcut_param *p = param_of(c);
    if (!gcut_dtype_is_int(gcut_type_of(c->b.g, p->value)->dtype)) usage(c, "only integers have a range");
    if (j->lo >= j->hi) usage(c, "the range is empty");
    if (gcut_mark_find(&p->marks, "range")) usage(c, "it has a range already");
    const char *args[] = {gcut_printf(m->arena, "%lld", (long long)j->lo),
                          gcut_printf(m->arena, "%lld", (long long)j->hi)};
    gcut_mark_add(m, &p->marks, "range", 2, args);
    c->out = c->in[0].id;
}

gcut_val gcut_range_at(gcut_here at, gcut_val input, int64_t lo, int64_t hi)
{
    range_job j = {.c = {.in = {input}}, .lo = lo, .hi = hi};
    return run(at, graph_of(&input, 1), do_range, &j.c);
}

/* ---- layers ---- */

static void do_rms_norm(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_attr a = gcut_attr_real(GCUT_A_eps, c->number);
    c->out = gcut_node_new(c->b.g, GCUT_OP_rms_norm, (gcut_ref[]){c->in[0].id, c->in[1].id}, 2, &a, 1,
                           c->b.loc, NULL);
}

gcut_val gcut_rms_norm_at(gcut_here at, gcut_val x, gcut_val gain, double eps)
{
    return run(at, graph_of((gcut_val[]){x, gain}, 2), do_rms_norm, &(call){.in = {x, gain}, .number = eps});
}

/* shape.dim[0] <= index < shape.dim[1] along the axis, all of the others. */
static void do_slice(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_type t = *gcut_type_of(c->b.g, c->in[0].id);
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK];
    int axis = axis_of(c, c->in[0].id, c->axis);
    memcpy(limit, t.dim, sizeof limit);
    start[axis] = c->shape.dim[0];
    limit[axis] = c->shape.dim[1];
    c->out = gcut_bslice(&c->b, c->in[0].id, start, limit, NULL);
}

gcut_val gcut_slice_at(gcut_here at, gcut_val x, int axis, gcut_dim from, gcut_dim to)
{
    return run(at, graph_of(&x, 1), do_slice,
               &(call){.in = {x}, .axis = axis, .shape = GCUT_SHAPE(from, to)});
}

typedef struct concat_job {
    call c;
    const gcut_val *in;
    int n;
} concat_job;

static void do_concat(void *arg)
{
    concat_job *j = arg;
    call *c = &j->c;
    gcut_module *m = c->b.g->module;
    locate(c);
    const gcut_ref *in = gcut_builder_refs(m->arena, c->b.g, j->in, j->n);
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis_of(c, in[0], c->axis));
    c->out = gcut_node_new(c->b.g, GCUT_OP_concat, in, (uint32_t)j->n, &a, 1, c->b.loc, NULL);
}

gcut_val gcut_concat_at(gcut_here at, const gcut_val *in, int n, int axis)
{
    concat_job j = {.c = {.axis = axis}, .in = in, .n = n};
    return n > 0 ? run(at, graph_of(in, n), do_concat, &j.c) : (gcut_val){0};
}

/* ---- products and losses ---- */

/* The rows of x, of rank above 2, as one matrix: [B, T, K] is [B*T, K]. */
static gcut_ref as_rows(call *c, gcut_ref x, const gcut_type *t)
{
    gcut_dim all[] = {1, t->dim[t->rank - 1]};
    for (int d = 0; d < t->rank - 1; d++)
        all[0] = gcut_dim_make(c->b.g->module->dims, GCUT_DIM_MUL, all[0], t->dim[d]);
    return gcut_breshape(&c->b, x, all, 2);
}

static void do_matmul(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_ref a = c->in[0].id, b = c->in[1].id;
    gcut_type t = *gcut_type_of(c->b.g, a);
    bool rows = t.rank > 2 && gcut_type_of(c->b.g, b)->rank == 2 && !c->flag[0];
    if (rows) a = as_rows(c, a, &t);
    c->out = gcut_bmatmul(&c->b, a, b, c->flag[0], c->flag[1]);
    if (!rows) return;
    t.dim[t.rank - 1] = gcut_type_of(c->b.g, c->out)->dim[1];
    c->out = gcut_breshape(&c->b, c->out, t.dim, t.rank);
}

gcut_val gcut_matmul_at(gcut_here at, gcut_val a, gcut_val b, bool ta, bool tb)
{
    return run(at, graph_of((gcut_val[]){a, b}, 2), do_matmul, &(call){.in = {a, b}, .flag = {ta, tb}});
}

static void do_layer_norm(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_attr a = gcut_attr_real(GCUT_A_eps, c->number);
    c->out = gcut_node_new(c->b.g, GCUT_OP_layer_norm, (gcut_ref[]){c->in[0].id, c->in[1].id, c->in[2].id}, 3,
                           &a, 1, c->b.loc, NULL);
}

gcut_val gcut_layer_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, double eps)
{
    return run(at, graph_of((gcut_val[]){x, gain, bias}, 3), do_layer_norm,
               &(call){.in = {x, gain, bias}, .number = eps});
}

static void do_two(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_b2(&c->b, (gcut_op)c->op, c->in[0].id, c->in[1].id);
}

gcut_val gcut_cross_entropy_at(gcut_here at, gcut_val logits, gcut_val labels)
{
    return run(at, graph_of((gcut_val[]){logits, labels}, 2), do_two,
               &(call){.op = GCUT_OP_cross_entropy, .in = {logits, labels}});
}

gcut_val gcut_mse_at(gcut_here at, gcut_val a, gcut_val b)
{
    return run(at, graph_of((gcut_val[]){a, b}, 2), do_two, &(call){.op = GCUT_OP_mse, .in = {a, b}});
}

static void do_attention(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_attr a = gcut_attr_bool(GCUT_A_causal, c->flag[0]);
    c->out = gcut_node_new(c->b.g, GCUT_OP_attention, (gcut_ref[]){c->in[0].id, c->in[1].id, c->in[2].id}, 3,
                           &a, 1, c->b.loc, NULL);
}

gcut_val gcut_attention_at(gcut_here at, gcut_val q, gcut_val k, gcut_val v, bool causal)
{
    return run(at, graph_of((gcut_val[]){q, k, v}, 3), do_attention,
               &(call){.in = {q, k, v}, .flag = {causal}});
}

typedef struct einsum_job {
    call c;
    const gcut_val *in;
    int n;
} einsum_job;

static void do_einsum(void *arg)
{
    einsum_job *j = arg;
    call *c = &j->c;
    const gcut_ref *in = gcut_builder_refs(c->b.g->module->arena, c->b.g, j->in, j->n);
    locate(c);
    if (!c->name) usage(c, "an einsum has an equation");
    c->out = gcut_beinsum(&c->b, c->name, in, (uint32_t)j->n);
}

gcut_val gcut_einsum_at(gcut_here at, const char *equation, const gcut_val *in, int n)
{
    einsum_job j = {.c = {.name = equation}, .in = in, .n = n};
    return n > 0 ? run(at, graph_of(in, n), do_einsum, &j.c) : (gcut_val){0};
}
