/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reference interpreter: walks the nodes in order and evaluates each by its
 * row of graph/ops/ops.def.
 */
#include "interp/interp.h"

#include "interp/eval.h"
#include "graph/decompose/decompose.h"

/* ---- the table's columns ---- */

typedef enum how { UNDEFINED, ELEMENT, TENSOR, DECOMPOSED } how;

/* Scalar functions: one per E(expr), a constant 0 that is never called for every other cell. */
#define E(...) __VA_ARGS__
#define T(fn) 0
#define D(fn) 0
#define NO 0
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, ...)                                          \
    static double float_##name(double a, double b)                                                           \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        return (double)(feval);                                                                              \
    }                                                                                                        \
    static int64_t int_##name(int64_t a, int64_t b)                                                          \
    {                                                                                                        \
        (void)a, (void)b;                                                                                    \
        return (int64_t)(ieval);                                                                             \
    }
#include "graph/ops/ops.def"
#undef OP
#undef E
#undef T
#undef D
#undef NO

#define HOW_E(...) ELEMENT
#define HOW_T(fn) TENSOR
#define HOW_D(fn) DECOMPOSED
#define HOW_NO UNDEFINED
#define TENSOR_E(...) NULL
#define TENSOR_T(fn) gcut_eval_##fn
#define TENSOR_D(fn) NULL
#define TENSOR_NO NULL

static const struct {
    how f, i; /* over floats, over integers and bool */
    gcut_eval_fn *tensor;
    double (*on_float)(double a, double b);
    int64_t (*on_int)(int64_t a, int64_t b);
} rows[GCUT_NOPS] = {
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, ...)                                          \
    [GCUT_OP_##name] = {HOW_##feval, HOW_##ieval, TENSOR_##feval, float_##name, int_##name},
#include "graph/ops/ops.def"
#undef OP
};

/* ---- elementwise ---- */

static void no_zero_divisor(const gcut_eval *e)
{
    if (e->node->op != GCUT_OP_div && e->node->op != GCUT_OP_mod) return;
    for (int64_t k = 0; k < e->arg[1].n; k++)
        if (e->arg[1].u.i[k] == 0)
            gcut_fail(e->g->module->env, GCUT_ECHECK, gcut_eval_place(e), NULL,
                      "'%s': integer division by zero (element %lld of the divisor)",
                      gcut_op_get((gcut_op)e->node->op)->name, (long long)k);
}

static void elementwise(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0], *y = &e->arg[e->nargs > 1 ? 1 : 0];
    bool in_float = gcut_dtype_is_float(x->dtype), out_float = gcut_dtype_is_float(e->out.dtype);
    if (!in_float) no_zero_divisor(e);
    for (int64_t k = 0; k < e->out.n; k++) {
        if (!in_float)
            e->out.u.i[k] = rows[e->node->op].on_int(x->u.i[k], y->u.i[k]);
        else if (out_float)
            e->out.u.f[k] = rows[e->node->op].on_float(x->u.f[k], y->u.f[k]);
        else
            e->out.u.i[k] = (int64_t)rows[e->node->op].on_float(x->u.f[k], y->u.f[k]);
    }
}

/* ---- composites ---- */

/* The type of a concrete array: all sizes known, so it fits any module. */
static gcut_type concrete(const gcut_array *x)
{
    gcut_type t = {.dtype = x->dtype, .rank = x->rank};
    for (uint32_t r = 0; r < x->rank; r++) t.dim[r] = x->dim[r];
    return t;
}

/* The node as the only one of a graph in module m, with numbers for sizes: the input of its decomposition. */
static gcut_graph *alone(gcut_eval *e, gcut_module *m, gcut_arena *arena)
{
    gcut_graph *g = gcut_graph_create(m, "node");
    gcut_ref *args = gcut_calloc(arena, e->nargs + 1, sizeof *args);
    gcut_attr *attrs = gcut_calloc(arena, e->node->nattrs + 1u, sizeof *attrs);
    for (uint32_t k = 0; k < e->nargs; k++) {
        gcut_type t = concrete(&e->arg[k]);
        args[k] = gcut_param_new(g, GCUT_ROLE_input, gcut_printf(arena, "x%u", (unsigned)k), &t);
    }
    for (uint32_t k = 0; k < e->node->nattrs; k++) {
        const gcut_attr *a = &e->g->attrs.at[e->node->attr0 + k];
        int64_t size[GCUT_MAX_RANK];
        attrs[k] = *a;
        if (a->kind == GCUT_ATTR_KIND_DIM)
            attrs[k].u.dim = gcut_eval_size(e->g, a->u.dim, e->bind, e->nbind, e->node->loc);
        if (a->kind == GCUT_ATTR_KIND_DIMS) {
            gcut_eval_dims(e, a->key, size);
            attrs[k] = gcut_attr_dims(m, a->key, size, a->n);
        }
    }
    gcut_node_new(g, (gcut_op)e->node->op, args, e->nargs, attrs, e->node->nattrs, 0, NULL);
    return g;
}

/* Evaluates the decomposition in a module of its own, where every size is a number.  Its nodes have the
 * location of the composite, so an error in it names the user's line. */
static void by_decomposition(gcut_eval *e, gcut_arena *arena)
{
    gcut_module *m = gcut_module_new(e->g->module->env, arena);
    gcut_graph *g = gcut_graph_create(m, "meaning"), *node = alone(e, m, arena);
    gcut_place at = gcut_eval_place(e);
    m->file = at.file;
    gcut_build b = {.g = g, .loc = at.line ? gcut_loc_file(m, at.file, at.line, at.col, NULL) : 0};
    gcut_ref *args = gcut_calloc(arena, e->nargs + 1, sizeof *args), y[GCUT_MAX_RESULTS];
    for (uint32_t k = 0; k < e->nargs; k++)
        args[k] = gcut_param_new(g, GCUT_ROLE_input, node->values.at[node->params.at[k].value].name,
                                 gcut_type_of(node, node->params.at[k].value));
    gcut_decompose(&b, node, 0, args, y);
    for (uint32_t k = 0; k < e->node->nres; k++) gcut_result_new(g, GCUT_ROLE_out, "y", y[k]);
    gcut_array out[GCUT_MAX_RESULTS];
    gcut_interp(g, e->prec, arena, e->arg, out, NULL);
    for (uint32_t k = 0; k < e->node->nres; k++) {
        gcut_array *to = &e->outs[k];
        GCUT_ASSERT(out[k].dtype == to->dtype && out[k].n == to->n);
        for (int64_t j = 0; j < to->n; j++) gcut_eval_put(to, j, &out[k], j);
    }
}

/* ---- the walk ---- */

/* Rounds or wraps every element to the dtype. */
static void settle(gcut_array *x, gcut_precision prec)
{
    bool is_float = gcut_dtype_is_float(x->dtype);
    if (is_float && prec == GCUT_EXACT) return;
    for (int64_t k = 0; k < x->n; k++) {
        if (is_float)
            x->u.f[k] = gcut_round_to(x->u.f[k], x->dtype);
        else
            x->u.i[k] = gcut_eval_wrap(x->u.i[k], x->dtype);
    }
}

/* pick and take_along are composite, but evaluated directly: their decompositions would report an index out of range
 * as an error of `bounded`, and that of pick reads every element for each one it picks. */
static gcut_eval_fn *tensor_of(gcut_op op)
{
    return op == GCUT_OP_pick         ? gcut_eval_pick
           : op == GCUT_OP_take_along ? gcut_eval_take_along
                                      : rows[op].tensor;
}

static void evaluate(gcut_eval *e, gcut_arena *arena)
{
    gcut_op op = (gcut_op)e->node->op;
    bool ints = e->nargs > 0 && !gcut_dtype_is_float(e->arg[0].dtype);
    how h = rows[op].f == TENSOR || rows[op].f == DECOMPOSED ? rows[op].f : ints ? rows[op].i : rows[op].f;
    gcut_eval_fn *tensor = tensor_of(op);
    if (tensor) {
        tensor(e);
    } else if (h == DECOMPOSED) {
        gcut_arena *scratch = gcut_arena_new(e->g->module->env, arena);
        by_decomposition(e, scratch);
        gcut_arena_free(scratch);
    } else if (h == ELEMENT) {
        elementwise(e);
    } else {
        gcut_fail(e->g->module->env, GCUT_EUNSUPPORTED, gcut_eval_place(e), NULL,
                  "'%s' is not defined for %s", gcut_op_get(op)->name, gcut_dtype_name(e->arg[0].dtype));
    }
    for (uint32_t k = 0; k < e->node->nres; k++) settle(&e->outs[k], e->prec);
}

static gcut_array result_of(const gcut_eval *e, uint32_t k, gcut_arena *a)
{
    const gcut_type *t = gcut_type_of(e->g, e->node->res0 + k);
    int64_t dim[GCUT_MAX_RANK];
    for (uint32_t r = 0; r < t->rank; r++)
        dim[r] = gcut_eval_size(e->g, t->dim[r], e->bind, e->nbind, e->node->loc);
    return gcut_array_new(a, t->dtype, t->rank, dim);
}

/* Throws unless the arrays have the dtype and rank of the parameters; gcut_bind_dims checks the sizes. */
static uint32_t bind_params(const gcut_graph *g, gcut_arena *a, const gcut_array *params,
                            const gcut_dim_binding *given, uint32_t ngiven, gcut_dim_binding *bind)
{
    const int64_t **dims = gcut_calloc(a, g->params.n + 1, sizeof *dims);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_value *v = &g->values.at[g->params.at[k].value];
        if (params[k].dtype != v->type->dtype || params[k].rank != v->type->rank)
            gcut_fail(g->module->env, GCUT_EDIM, gcut_loc_place(g->module, g->loc), NULL,
                      "parameter %%%s: expected %s of rank %u, found %s of rank %u", v->name,
                      gcut_dtype_name(v->type->dtype), (unsigned)v->type->rank,
                      gcut_dtype_name(params[k].dtype), (unsigned)params[k].rank);
        dims[k] = params[k].dim;
    }
    return gcut_bind_dims(g, dims, given, ngiven, bind, g->decls.n);
}

void gcut_interp_node(const gcut_graph *g, uint32_t n, gcut_precision prec, gcut_arena *a,
                      const gcut_dim_binding *bind, uint32_t nbind, const gcut_array *arg, gcut_array *out)
{
    const gcut_node *node = gcut_node_at(g, n);
    gcut_eval e = {.g = g,
                   .node = node,
                   .prec = prec,
                   .bind = bind,
                   .nbind = nbind,
                   .nargs = node->nargs,
                   .arg = arg,
                   .outs = out,
                   .arena = a};
    for (uint32_t k = 0; k < node->nres; k++) out[k] = result_of(&e, k, a);
    e.out = out[0];
    evaluate(&e, a);
}

/* Evaluates every node; all[] holds the parameters by value id, and then everything. */
static void walk(const gcut_graph *g, gcut_precision prec, const gcut_dim_binding *bind, uint32_t nbind,
                 gcut_array *all, gcut_arena *work)
{
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        gcut_array *args = gcut_calloc(work, node->nargs + 1, sizeof *args);
        for (uint32_t k = 0; k < node->nargs; k++) args[k] = all[gcut_arg(g, node, k)];
        gcut_interp_node(g, n, prec, work, bind, nbind, args, &all[node->res0]);
    }
}

static void take_results(const gcut_graph *g, const gcut_array *all, gcut_array *out, gcut_arena *a)
{
    for (uint32_t k = 0; k < g->results.n; k++) {
        const gcut_array *x = &all[g->results.at[k].value];
        out[k] = gcut_array_new(a, x->dtype, x->rank, x->dim);
        for (int64_t j = 0; j < x->n; j++) gcut_eval_put(&out[k], j, x, j);
    }
}

void gcut_interp_body(const gcut_eval *e, const gcut_graph *body, const gcut_array *params, gcut_array *out,
                      gcut_arena *a)
{
    gcut_array *all = gcut_calloc(a, body->values.n, sizeof *all);
    for (uint32_t k = 0; k < body->params.n; k++) all[body->params.at[k].value] = params[k];
    walk(body, e->prec, e->bind, e->nbind, all, a);
    take_results(body, all, out, a);
}

void gcut_interp_at(const gcut_graph *g, gcut_precision prec, gcut_arena *a, const gcut_array *params,
                    const gcut_dim_binding *given, uint32_t ngiven, gcut_array *out, gcut_array *values)
{
    /* Intermediates are freed after the walk unless they are requested. */
    gcut_arena *work = values ? a : gcut_arena_new(g->module->env, a);
    gcut_array *all = gcut_calloc(work, g->values.n, sizeof *all);
    gcut_dim_binding *bind = gcut_calloc(work, g->decls.n + 1, sizeof *bind);
    uint32_t nbind = bind_params(g, work, params, given, ngiven, bind);
    for (uint32_t k = 0; k < g->params.n; k++) all[g->params.at[k].value] = params[k];
    walk(g, prec, bind, nbind, all, work);
    take_results(g, all, out, a);
    for (gcut_ref v = 0; values && v < g->values.n; v++) values[v] = all[v];
    if (!values) gcut_arena_free(work);
}

void gcut_interp(const gcut_graph *g, gcut_precision prec, gcut_arena *a, const gcut_array *params,
                 gcut_array *out, gcut_array *values)
{
    gcut_interp_at(g, prec, a, params, NULL, 0, out, values);
}
