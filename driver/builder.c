/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder: sticky, located at the caller's line, broadcasting.
 */
#include <stdio.h>
#include <string.h>

#include "driver/builder.h"
#include "graph/text.h"

_Static_assert((int)GCUT_BOOL == (int)GCUT_bool && (int)GCUT_F16 == (int)GCUT_f16 &&
                   (int)GCUT_F64 == (int)GCUT_f64,
               "public dtypes number those of dtype.def");

/* ---- graphs, sizes ---- */

typedef struct graph_job {
    gcut_env *env;
    const char *name;
    gcut_graph *g;
} graph_job;

static void make_graph(void *arg)
{
    graph_job *j = arg;
    if (!is_name(j->name))
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "a graph's name is made of letters, digits, _ and .");
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    j->g = gcut_graph_create(m, j->name);
}

gcut_graph *gcut_graph_new(gcut_ctx *ctx, const char *name)
{
    graph_job j = {ctx->env, name, NULL};
    return gcut_guard(ctx->env, make_graph, &j) ? j.g : NULL;
}

bool gcut_graph_ok(const gcut_graph *g)
{
    return g && !g->failed;
}

static void set_scope(void *arg)
{
    call *c = arg;
    c->b.g->scope = c->name ? gcut_name(c->b.g->module, c->name) : NULL;
}

void gcut_scope(gcut_graph *g, const char *scope)
{
    call c = {.name = scope};
    run((gcut_here){0}, g, set_scope, &c);
}

typedef struct dim_job {
    gcut_graph *g;
    const char *name;
    gcut_dim_op op;
    gcut_dim a, b, out;
} dim_job;

static void dim_sym(void *arg)
{
    dim_job *j = arg;
    gcut_env *env = j->g->module->env;
    if (!is_name(j->name) || strchr(j->name, '.') || (j->name[0] >= '0' && j->name[0] <= '9'))
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s: the name of a size is an identifier",
                  j->g->name);
    if (j->a < 0 || j->a > j->b)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s: the range of size %s is empty or negative",
                  j->g->name, j->name);
    j->out = gcut_dim_symbol(j->g->module->dims, j->name);
    for (uint32_t i = 0; i < j->g->decls.n; i++)
        if (j->g->decls.at[i].sym == j->out)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s: size %s is declared twice", j->g->name,
                      j->name);
    gcut_decl_add(j->g, (gcut_dim_decl){j->out, j->a, j->b, 1});
}

static void dim_op(void *arg)
{
    dim_job *j = arg;
    j->out = gcut_dim_make(j->g->module->dims, j->op, j->a, j->b);
}

static gcut_dim dim_run(dim_job *j, void (*body)(void *))
{
    if (!j->g || j->g->failed) return 0;
    if (gcut_guard(j->g->module->env, body, j)) return j->out;
    j->g->failed = true;
    return 0;
}

gcut_dim gcut_dim_sym(gcut_graph *g, const char *name, int64_t lo, int64_t hi)
{
    return dim_run(&(dim_job){.g = g, .name = name, .a = lo, .b = hi}, dim_sym);
}

#define DIM_OP(fn, which)                                                                                    \
    gcut_dim fn(gcut_graph *g, gcut_dim a, gcut_dim b)                                                       \
    {                                                                                                        \
        return dim_run(&(dim_job){.g = g, .op = which, .a = a, .b = b}, dim_op);                             \
    }
DIM_OP(gcut_dim_add, GCUT_DIM_ADD)
DIM_OP(gcut_dim_sub, GCUT_DIM_SUB)
DIM_OP(gcut_dim_mul, GCUT_DIM_MUL)
DIM_OP(gcut_dim_div, GCUT_DIM_DIV)

/* ---- parameters and results ---- */

static gcut_type type_of(const call *c)
{
    gcut_type t = {.dtype = (gcut_dtype)c->dtype, .rank = (uint8_t)c->shape.rank};
    if (c->dtype < 0 || c->dtype >= GCUT_NDTYPES) usage(c, "not a dtype");
    if (c->shape.rank < 0 || c->shape.rank > GCUT_MAX_RANK) usage(c, "a rank is 0 to 8");
    memcpy(t.dim, c->shape.dim, sizeof t.dim);
    gcut_text scratch = {.arena = c->b.g->module->arena};
    for (int d = 0; d < t.rank; d++)
        gcut_dim_print(c->b.g->module->dims, t.dim[d], &scratch); /* throws on a stranger */
    return t;
}

static void make_param(void *arg)
{
    call *c = arg;
    gcut_type t = type_of(c);
    if (c->b.g->is_body) usage(c, "the body of a region has no parameters of its own");
    if (!is_name(c->name)) usage(c, "a name is made of letters, digits, _ and .");
    c->out = gcut_param_new(c->b.g, c->role, c->name, &t);
}

#define PARAM(fn, which)                                                                                     \
    gcut_val fn(gcut_here at, gcut_graph *g, const char *name, int dtype, gcut_shape shape)                  \
    {                                                                                                        \
        return run(at, g, make_param, &(call){.name = name, .dtype = dtype, .shape = shape, .role = which}); \
    }
PARAM(gcut_input_at, GCUT_ROLE_input)
PARAM(gcut_param_at, GCUT_ROLE_param)
PARAM(gcut_state_at, GCUT_ROLE_state)

gcut_val gcut_rng_at(gcut_here at, gcut_graph *g, const char *name)
{
    return run(at, g, make_param,
               &(call){.name = name, .dtype = GCUT_I64, .shape = GCUT_SCALAR, .role = GCUT_ROLE_rng});
}

static void make_result(void *arg)
{
    call *c = arg;
    gcut_graph *g = c->b.g;
    if (!c->in[0].id || c->in[0].graph != g) usage(c, "the result is a null value, or one of another graph");
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == c->role && !strcmp(g->results.at[i].name, c->name))
            usage(c, "there is already a result of that name");
    if (!is_name(c->name)) usage(c, "a name is made of letters, digits, _ and .");
    if (c->role == GCUT_ROLE_next) {
        gcut_ref old = gcut_graph_find(g, c->name);
        if (!old || gcut_def(g, old) || !gcut_type_equal(gcut_type_of(g, old), gcut_type_of(g, c->in[0].id)))
            usage(c, "`next` names a param or state, and is of its type");
    }
    gcut_result_new(g, c->role, c->name, c->in[0].id);
}

void gcut_output_at(gcut_here at, gcut_graph *g, const char *name, gcut_val v)
{
    run(at, g, make_result, &(call){.name = name, .role = GCUT_ROLE_out, .in = {v}});
}

void gcut_next_at(gcut_here at, gcut_graph *g, const char *name, gcut_val v)
{
    run(at, g, make_result, &(call){.name = name, .role = GCUT_ROLE_next, .in = {v}});
}

/* ---- broadcasting ---- */

/* The common shape, axes aligned at the end; only the literal size 1 and missing axes repeat. */
static gcut_shape common(const call *c, gcut_ref x, gcut_ref y)
{
    const gcut_type *a = gcut_type_of(c->b.g, x), *b = gcut_type_of(c->b.g, y);
    gcut_shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int d = 0; d < s.rank; d++) {
        int i = a->rank - s.rank + d, j = b->rank - s.rank + d;
        gcut_dim n = i < 0 ? 1 : a->dim[i], k = j < 0 ? 1 : b->dim[j];
        s.dim[d] = n == 1 ? k : n; /* a disagreement is the shape rule's to report */
    }
    return s;
}

static gcut_ref spread(call *c, gcut_ref x, const gcut_shape *s)
{
    gcut_type t = *gcut_type_of(c->b.g, x);
    gcut_dim axes[GCUT_MAX_RANK];
    bool same = t.rank == s->rank;
    for (int d = 0; d < t.rank; d++) {
        axes[d] = s->rank - t.rank + d;
        same = same && (t.dim[d] != 1 || s->dim[axes[d]] == 1);
    }
    if (same) return x;
    gcut_dim to[GCUT_MAX_RANK];
    for (int d = 0; d < s->rank; d++) {
        int i = d - (s->rank - t.rank);
        to[d] = i >= 0 && t.dim[i] != 1 ? t.dim[i] : s->dim[d];
    }
    return gcut_bbroadcast(&c->b, x, to, (uint32_t)s->rank, axes);
}

/* ---- ops ---- */

static void do_unary(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_b1(&c->b, (gcut_op)c->op, c->in[0].id);
}

static void do_binary(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_shape s = common(c, c->in[0].id, c->in[1].id);
    gcut_ref a = spread(c, c->in[0].id, &s), b = spread(c, c->in[1].id, &s);
    c->out = gcut_b2(&c->b, (gcut_op)c->op, a, b);
}

#define GCUT_X(name)                                                                                         \
    gcut_val gcut_##name##_at(gcut_here at, gcut_val x)                                                      \
    {                                                                                                        \
        return run(at, graph_of(&x, 1), do_unary, &(call){.op = GCUT_OP_##name, .in = {x}});                 \
    }
GCUT_UNARY(GCUT_X)
#undef GCUT_X

#define GCUT_X(name)                                                                                         \
    gcut_val gcut_##name##_at(gcut_here at, gcut_val a, gcut_val b)                                          \
    {                                                                                                        \
        return run(at, graph_of((gcut_val[]){a, b}, 2), do_binary,                                           \
                   &(call){.op = GCUT_OP_##name, .in = {a, b}});                                             \
    }
GCUT_BINARY(GCUT_X)
#undef GCUT_X

static void do_const(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_type t = type_of(c);
    c->out = gcut_bfull(&c->b, &t, c->number);
}

gcut_val gcut_const_at(gcut_here at, gcut_graph *g, int dtype, double value)
{
    return run(at, g, do_const, &(call){.dtype = dtype, .number = value});
}

static void do_scale(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_bscale(&c->b, c->in[0].id, c->number);
}

gcut_val gcut_scale_at(gcut_here at, gcut_val x, double factor)
{
    return run(at, graph_of(&x, 1), do_scale, &(call){.in = {x}, .number = factor});
}

static void do_select(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_shape s = common(c, c->in[1].id, c->in[2].id);
    gcut_ref a = spread(c, c->in[1].id, &s), b = spread(c, c->in[2].id, &s), p = spread(c, c->in[0].id, &s);
    c->out = gcut_bselect(&c->b, p, a, b);
}

gcut_val gcut_select_at(gcut_here at, gcut_val p, gcut_val a, gcut_val b)
{
    return run(at, graph_of((gcut_val[]){p, a, b}, 3), do_select, &(call){.in = {p, a, b}});
}

static void do_cast(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_bcast(&c->b, c->in[0].id, type_of(c).dtype);
}

gcut_val gcut_cast_at(gcut_here at, gcut_val x, int dtype)
{
    return run(at, graph_of(&x, 1), do_cast, &(call){.in = {x}, .dtype = dtype});
}

static void do_reshape(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_breshape(&c->b, c->in[0].id, c->shape.dim, (uint32_t)c->shape.rank);
}

gcut_val gcut_reshape_at(gcut_here at, gcut_val x, gcut_shape shape)
{
    return run(at, graph_of(&x, 1), do_reshape, &(call){.in = {x}, .shape = shape});
}

static void do_transpose(void *arg)
{
    call *c = arg;
    locate(c);
    if (c->shape.rank != gcut_type_of(c->b.g, c->in[0].id)->rank) usage(c, "transpose names every axis once");
    c->out = gcut_btranspose(&c->b, c->in[0].id, c->shape.dim);
}

gcut_val gcut_transpose_at(gcut_here at, gcut_val x, gcut_shape perm)
{
    return run(at, graph_of(&x, 1), do_transpose, &(call){.in = {x}, .shape = perm});
}

static void do_reduce(void *arg)
{
    call *c = arg;
    locate(c);
    uint32_t mask = 0;
    for (int i = 0; i < c->shape.rank; i++) mask |= 1u << axis_of(c, c->in[0].id, c->shape.dim[i]);
    c->out = gcut_breduce(&c->b, (gcut_op)c->op, c->in[0].id, mask);
}

gcut_val gcut_sum_at(gcut_here at, gcut_val x, gcut_shape axes)
{
    return run(at, graph_of(&x, 1), do_reduce, &(call){.op = GCUT_OP_sum, .in = {x}, .shape = axes});
}

gcut_val gcut_mean_at(gcut_here at, gcut_val x, gcut_shape axes)
{
    return run(at, graph_of(&x, 1), do_reduce, &(call){.op = GCUT_OP_mean, .in = {x}, .shape = axes});
}

/* Ops of n operands with one attribute, an axis or none. */
static void do_axis(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis_of(c, c->in[0].id, c->axis));
    gcut_ref in[2] = {c->in[0].id, c->in[1].id};
    c->out = gcut_node_new(c->b.g, (gcut_op)c->op, in, in[1] ? 2 : 1, &a, 1, c->b.loc, NULL);
}

gcut_val gcut_softmax_at(gcut_here at, gcut_val x, int axis)
{
    return run(at, graph_of(&x, 1), do_axis, &(call){.op = GCUT_OP_softmax, .in = {x}, .axis = axis});
}

gcut_val gcut_log_softmax_at(gcut_here at, gcut_val x, int axis)
{
    return run(at, graph_of(&x, 1), do_axis, &(call){.op = GCUT_OP_log_softmax, .in = {x}, .axis = axis});
}

gcut_val gcut_take_at(gcut_here at, gcut_val x, gcut_val i, int axis)
{
    return run(at, graph_of((gcut_val[]){x, i}, 2), do_axis,
               &(call){.op = GCUT_OP_take, .in = {x, i}, .axis = axis});
}

/* Any op of the table: its attributes are read by the text IR's own reader, from a one-line module. */
typedef struct apply_job {
    call c;
    const gcut_val *in;
    int n;
    const char *attrs;
    int nout; /* results expected */
} apply_job;

static void do_apply(void *arg)
{
    apply_job *j = arg;
    call *c = &j->c;
    gcut_module *m = c->b.g->module;
    gcut_op op;
    locate(c);
    if (!c->name || !gcut_op_parse(c->name, strlen(c->name), &op))
        usage(c, gcut_printf(m->arena, "unknown op '%s'", c->name ? c->name : ""));
    const gcut_ref *in = gcut_builder_refs(m->arena, c->b.g, j->in, j->n);
    uint32_t nattrs = 0;
    gcut_attr *attrs = gcut_parse_attrs(c->b.g, op, (gcut_place){c->at.file, c->at.line, 0},
                                        j->attrs ? j->attrs : "", &nattrs);
    c->out = gcut_node_new(c->b.g, op, in, (uint32_t)j->n, attrs, nattrs, c->b.loc, NULL);
    int nres = gcut_def(c->b.g, c->out)->nres;
    if (nres != j->nout)
        usage(c, gcut_printf(m->arena, "'%s' has %d result%s, not %d", c->name, nres, nres == 1 ? "" : "s",
                             j->nout));
}

void gcut_apply_multi_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                         const char *attrs, gcut_val *out, int nout)
{
    apply_job j = {.c = {.name = op}, .in = in, .n = n, .attrs = attrs, .nout = nout};
    gcut_val first = {0};
    if (!n || graph_of(in, n)) first = run(at, g, do_apply, &j.c);
    for (int k = 0; k < nout; k++) out[k] = first.id ? (gcut_val){g, first.id + (uint32_t)k} : (gcut_val){0};
}

gcut_val gcut_batch_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, gcut_val mean,
                            gcut_val var, double eps, double momentum, gcut_val next[2])
{
    char attrs[96];
    gcut_val in[] = {x, gain, bias, mean, var}, out[3];
    snprintf(attrs, sizeof attrs, "eps=%.17g, momentum=%.17g", eps, momentum);
    gcut_apply_multi_at(at, graph_of(in, 5), "batch_norm", in, 5, attrs, out, 3);
    next[0] = out[1];
    next[1] = out[2];
    return out[0];
}

gcut_val gcut_apply_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                       const char *attrs)
{
    gcut_val out;
    gcut_apply_multi_at(at, g, op, in, n, attrs, &out, 1);
    return out;
}
