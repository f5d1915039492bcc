/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder.  After a failed call on a graph that is not eager, later calls on it do nothing; nodes and errors
 * have the caller's line; operands are broadcast.
 */
#include <stdio.h>
#include <string.h>

#include "driver/builder/builder.h"
#include "text/text.h"

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
                  "graph '%s': a name is made of letters, digits, _ and .", j->name ? j->name : "(NULL)");
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    j->g = gcut_graph_create(m, j->name);
}

gcut_graph *gcut_graph_new(gcut_ctx *ctx, const char *name)
{
    GCUT_NEED(NULL, ctx, NULL);
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
    c->g->scope = c->name ? gcut_intern_name(c->g->module, c->name) : NULL;
}

void gcut_scope(gcut_graph *g, const char *scope)
{
    GCUT_NEED(NULL, g, );
    call c = {.name = scope};
    gcut_builder_run((gcut_here){0}, g, set_scope, &c);
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
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "@%s: '%s' is no name of a size, which is an identifier", j->g->name,
                  j->name ? j->name : "(NULL)");
    if (j->a < 0 || j->a > j->b)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "@%s: the range of size %s, %lld to %lld, is empty or negative", j->g->name, j->name,
                  (long long)j->a, (long long)j->b);
    j->out = gcut_dim_symbol(j->g->module->dims, j->name);
    for (uint32_t i = 0; i < j->g->decls.n; i++)
        if (j->g->decls.at[i].sym == j->out)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s: size %s is declared twice", j->g->name,
                      j->name);
    gcut_decl_add(j->g, (gcut_dim_decl){j->out, j->a, j->b, 1});
}

static void dim_multiple(void *arg)
{
    dim_job *j = arg;
    gcut_env *env = j->g->module->env;
    gcut_dim_decl *d = NULL;
    for (uint32_t i = 0; i < j->g->decls.n; i++)
        if (j->g->decls.at[i].sym == j->a) d = &j->g->decls.at[i];
    if (!d)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "@%s: only a size of gcut_dim_sym has a multiple",
                  j->g->name);
    if (j->b < 1 || d->hi / j->b * j->b < d->lo)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "@%s: size %s, %lld to %lld, cannot be a multiple of %lld", j->g->name,
                  gcut_dim_symbol_name(j->g->module->dims, j->a), (long long)d->lo, (long long)d->hi,
                  (long long)j->b);
    d->mult = j->b;
    j->out = j->a;
}

static void dim_op(void *arg)
{
    dim_job *j = arg;
    j->out = gcut_dim_make(j->g->module->dims, j->op, j->a, j->b);
}

static gcut_dim dim_run(gcut_here at, dim_job *j, void (*body)(void *))
{
    return gcut_guard_at(at, j->g, body, j) ? j->out : 0;
}

gcut_dim gcut_dim_sym_at(gcut_here at, gcut_graph *g, const char *name, int64_t lo, int64_t hi)
{
    GCUT_NEED_GRAPH(g, 0);
    return dim_run(at, &(dim_job){.g = g, .name = name, .a = lo, .b = hi}, dim_sym);
}

gcut_dim gcut_dim_multiple_at(gcut_here at, gcut_graph *g, gcut_dim symbol, int64_t of)
{
    GCUT_NEED_GRAPH(g, 0);
    return dim_run(at, &(dim_job){.g = g, .a = symbol, .b = of}, dim_multiple);
}

#define DIM_OP(fn, which)                                                                                    \
    gcut_dim fn(gcut_here at, gcut_graph *g, gcut_dim a, gcut_dim b)                                         \
    {                                                                                                        \
        GCUT_NEED_GRAPH(g, 0);                                                                               \
        return dim_run(at, &(dim_job){.g = g, .op = which, .a = a, .b = b}, dim_op);                         \
    }
DIM_OP(gcut_dim_add_at, GCUT_DIM_ADD)
DIM_OP(gcut_dim_sub_at, GCUT_DIM_SUB)
DIM_OP(gcut_dim_mul_at, GCUT_DIM_MUL)
DIM_OP(gcut_dim_div_at, GCUT_DIM_DIV)

/* ---- parameters and results ---- */

/* The object of the call, "input 'x'", for messages. */
static const char *subject(const call *c)
{
    const char *role = c->role == GCUT_ROLE_out ? "output" : gcut_role_name(c->role);
    return gcut_printf(c->g->module->arena, "%s '%s'", role, c->name ? c->name : "(NULL)");
}

static void check_name(const call *c)
{
    if (!is_name(c->name)) WRONG(c, NULL, "%s: a name is made of letters, digits, _ and .", subject(c));
}

static gcut_type type_of(const call *c)
{
    gcut_type t = {.dtype = c->dtype, .rank = (uint8_t)c->shape.rank};
    if (!is_dtype(c->dtype))
        WRONG(c, "the dtypes are GCUT_BOOL to GCUT_F64", "%s: %d is no dtype", subject(c), (int)c->dtype);
    if (c->shape.rank < 0 || c->shape.rank > GCUT_MAX_RANK)
        WRONG(c, NULL, "%s: a rank of %d; at most %d axes", subject(c), c->shape.rank, GCUT_MAX_RANK);
    memcpy(t.dim, c->shape.dim, sizeof t.dim);
    for (int d = 0; d < t.rank; d++)
        gcut_builder_check_size(c->g, c->at, gcut_role_name(c->role), c->name, t.dim[d]);
    return t;
}

static void make_param(void *arg)
{
    call *c = arg;
    check_name(c);
    gcut_type t = type_of(c);
    if (c->g->is_body) WRONG(c, NULL, "%s: the body of a region has no parameters of its own", subject(c));
    c->out = gcut_param_new(c->g, c->role, c->name, &t);
}

#define PARAM(fn, which)                                                                                     \
    gcut_val fn(gcut_here at, gcut_graph *g, const char *name, gcut_dtype dtype, gcut_shape shape)           \
    {                                                                                                        \
        GCUT_NEED_GRAPH(g, (gcut_val){0});                                                                   \
        return gcut_builder_run(at, g, make_param,                                                           \
                                &(call){.name = name, .dtype = dtype, .shape = shape, .role = which});       \
    }
PARAM(gcut_input_at, GCUT_ROLE_input)
PARAM(gcut_param_at, GCUT_ROLE_param)
PARAM(gcut_state_at, GCUT_ROLE_state)
PARAM(gcut_cotan_at, GCUT_ROLE_cotan)

gcut_val gcut_rng_at(gcut_here at, gcut_graph *g, const char *name)
{
    GCUT_NEED_GRAPH(g, (gcut_val){0});
    return gcut_builder_run(
        at, g, make_param,
        &(call){.name = name, .dtype = GCUT_I64, .shape = GCUT_SCALAR, .role = GCUT_ROLE_rng});
}

/* The param or state whose new value `next` gives. */
static gcut_ref updated(const call *c)
{
    const gcut_graph *g = c->g;
    gcut_ref old = gcut_graph_find(g, c->name), v = c->in[0].id;
    const gcut_param *p = NULL;
    for (uint32_t i = 0; i < g->params.n; i++)
        if (g->params.at[i].value == old) p = &g->params.at[i];
    if (!old || !p)
        WRONG(c, "gcut_next(g, name, v) gives the param or state of that name its new value",
              "%s: @%s has no param or state of that name", subject(c), g->name);
    if (p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_state)
        WRONG(c, "declare it with gcut_state", "%s: %%%s is an %s; only params and states have a next value",
              subject(c), c->name, gcut_role_name(p->role));
    if (!gcut_type_equal(gcut_type_of(g, old), gcut_type_of(g, v)))
        WRONG(c, NULL, "%s: the new value %s is not of the type of %s", subject(c), gcut_builder_show(g, v),
              gcut_builder_show(g, old));
    return old;
}

static void make_result(void *arg)
{
    call *c = arg;
    gcut_graph *g = c->g;
    check_name(c);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == c->role && !strcmp(g->results.at[i].name, c->name))
            WRONG(c, NULL, "%s: @%s has it already", subject(c), g->name);
    if (c->role == GCUT_ROLE_next) updated(c);
    gcut_result_new(g, c->role, c->name, c->in[0].id);
}

static void check_result(void *arg)
{
    const call *c = arg;
    gcut_val v = c->in[0];
    if (!v.id || !v.graph)
        WRONG(c, "a value that was never set, or made by a call that failed", "%s: the value is null",
              subject(c));
    if (v.graph != c->g)
        WRONG(c, "a graph returns values of its own", "%s of @%s: the value is of @%s", subject(c),
              c->g->name, v.graph->name);
    if (!gcut_val_exists(v))
        WRONG(c, gcut_val_hint(v), "%s: it is no value of @%s", subject(c), v.graph->name);
}

/* Checks the value first: a null value, or one of another graph, cannot be captured. */
static void give(gcut_here at, gcut_graph *g, call *c)
{
    c->at = at;
    c->g = g;
    if (gcut_guard_at(at, g, check_result, c)) gcut_builder_run(at, g, make_result, c);
}

#define RESULT(fn, which)                                                                                    \
    void fn(gcut_here at, gcut_graph *g, const char *name, gcut_val v)                                       \
    {                                                                                                        \
        GCUT_NEED_GRAPH(g, );                                                                                \
        give(at, g, &(call){.name = name, .role = which, .in = {v}});                                        \
    }
RESULT(gcut_output_at, GCUT_ROLE_out)
RESULT(gcut_next_at, GCUT_ROLE_next)
RESULT(gcut_gradient_at, GCUT_ROLE_grad)

/* ---- ops by name ---- */

/* Any op of the table: the parser of the text IR reads its attributes, from a one-line module. */
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
    gcut_module *m = c->g->module;
    gcut_op op;
    locate(c);
    if (!c->name || !gcut_op_parse(c->name, strlen(c->name), &op)) {
        const char *best = c->name ? gcut_op_nearest(c->name) : NULL;
        WRONG(c, best ? gcut_printf(m->arena, "did you mean '%s'?", best) : "doc/ops.md lists them all",
              "there is no op '%s'", c->name ? c->name : "(NULL)");
    }
    if (!gcut_builder_sees(c->g, j->in, j->n))
        WRONG(c, NULL, "'%s': an operand is no value that @%s sees", c->name, c->g->name);
    const gcut_ref *in = gcut_builder_refs(m->arena, c->g, j->in, j->n);
    uint32_t nattrs = 0;
    gcut_attr *attrs = gcut_parse_attrs(c->g, op, (gcut_place){c->at.file, c->at.line, 0},
                                        j->attrs ? j->attrs : "", &nattrs);
    c->out = gcut_node_new(c->g, op, in, (uint32_t)j->n, attrs, nattrs, c->b.loc, NULL);
    int nres = gcut_def(c->g, c->out)->nres;
    if (nres != j->nout)
        WRONG(c, "gcut_apply_multi takes several", "'%s' has %d result%s, not %d", c->name, nres,
              nres == 1 ? "" : "s", j->nout);
}

void gcut_apply_multi_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                         const char *attrs, gcut_val *out, int nout)
{
    apply_job j = {.c = {.name = op}, .in = in, .n = n, .attrs = attrs, .nout = nout};
    gcut_val first = {0};
    const bool lists = !g || (gcut_builder_list(at, g, "gcut_apply", "in", in, n) &&
                              gcut_builder_list(at, g, "gcut_apply_multi", "out", out, nout));
    if (lists && (n <= 0 || gcut_builder_operands(at, op ? op : "", in, n)))
        first = gcut_builder_run(at, g, do_apply, &j.c);
    for (int k = 0; out && k < nout; k++)
        out[k] = first.id ? gcut_val_of(g, first.id + (uint32_t)k) : (gcut_val){0};
}

gcut_val gcut_apply_at(gcut_here at, gcut_graph *g, const char *op, const gcut_val *in, int n,
                       const char *attrs)
{
    gcut_val out;
    gcut_apply_multi_at(at, g, op, in, n, attrs, &out, 1);
    return out;
}
