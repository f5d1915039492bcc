/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of the ops with regions: checks that bodies fit the operands, and infers the results from
 * the yields.
 */
#include <string.h>

#include "graph/custom.h"
#include "graph/external.h"

typedef struct rule {
    gcut_graph *g;
    const gcut_node_spec *s;
    const char *op;
    uint32_t nargs; /* not captured */
    gcut_type *out;
    uint32_t n;
} rule;

#define BAD(r, ...)                                                                                          \
    gcut_fail((r)->g->module->env, GCUT_ETYPE, gcut_loc_place((r)->g->module, (r)->s->loc), NULL, __VA_ARGS__)

static const char *show(const rule *r, const gcut_type *t)
{
    return gcut_type_text(r->g->module->arena, r->g->module, t);
}

static const gcut_type *operand(const rule *r, uint32_t k)
{
    return gcut_type_of(r->g, r->s->args[k]);
}
static const gcut_graph *body(const rule *r, uint32_t k)
{
    return r->s->regions[k].body;
}
static const gcut_type *taken(const gcut_graph *b, uint32_t k)
{
    return gcut_type_of(b, b->params.at[k].value);
}
static const gcut_type *yielded(const gcut_graph *b, uint32_t k)
{
    return gcut_type_of(b, b->results.at[k].value);
}

static const gcut_attr *attr(const rule *r, gcut_attr_key key)
{
    for (uint32_t i = 0; i < r->s->nattrs; i++)
        if (r->s->attrs[i].key == key) return &r->s->attrs[i];
    return NULL;
}

/* Equal dtype and rank, and sizes that are or will be checked to be equal. */
static void agree(rule *r, const gcut_type *have, const gcut_type *want, const char *what, uint32_t k)
{
    bool fits = have->dtype == want->dtype && have->rank == want->rank;
    for (uint32_t d = 0; fits && d < want->rank; d++)
        fits = gcut_dim_compare(r->g->module->dims, have->dim[d], want->dim[d], r->g->decls.at,
                                r->g->decls.n) != GCUT_DIM_DIFFERS;
    if (!fits) BAD(r, "'%s': %s %u is %s, expected %s", r->op, what, k + 1, show(r, have), show(r, want));
    for (uint32_t d = 0; d < want->rank; d++)
        gcut_dim_require(r->g, want->dim[d], have->dim[d], r->s->loc, r->op);
}

/* Region k takes nargs arguments and what its node captures, and yields `nyields` values. */
static void interface(rule *r, uint32_t k, uint32_t nargs, uint32_t nyields)
{
    const gcut_graph *b = body(r, k);
    const char *kind = r->s->regions[k].kind;
    if (b->params.n != nargs + r->s->ncaptured)
        BAD(r, "'%s': the region '%s' takes %u argument%s, expected %u", r->op, kind,
            b->params.n - r->s->ncaptured, b->params.n - r->s->ncaptured == 1 ? "" : "s", nargs);
    if (b->results.n != nyields)
        BAD(r, "'%s': the region '%s' yields %u value%s, expected %u", r->op, kind, b->results.n,
            b->results.n == 1 ? "" : "s", nyields);
    for (uint32_t i = 0; i < r->s->ncaptured; i++)
        GCUT_ASSERT(gcut_type_equal(taken(b, nargs + i), operand(r, r->nargs + i)));
}

static void give(rule *r, const gcut_type *t)
{
    if (r->n == GCUT_MAX_RESULTS) BAD(r, "'%s' has more than %d results", r->op, GCUT_MAX_RESULTS);
    r->out[r->n++] = *t;
}

static void infer_if(rule *r)
{
    const gcut_type *p = operand(r, 0);
    uint32_t n = body(r, 0)->results.n;
    if (p->dtype != GCUT_BOOL || p->rank != 0)
        BAD(r, "'if': the condition is %s, expected bool[]", show(r, p));
    interface(r, 0, 0, n);
    interface(r, 1, 0, n);
    for (uint32_t k = 0; k < n; k++) {
        agree(r, yielded(body(r, 1), k), yielded(body(r, 0), k), "the 'else' region's yield", k);
        give(r, yielded(body(r, 0), k));
    }
}

/* Carried value k: operand, argument of the body, yield and result have one type. */
static void carry(rule *r, uint32_t region, uint32_t k)
{
    agree(r, taken(body(r, region), k), operand(r, k), "carried argument", k);
    agree(r, yielded(body(r, region), k), operand(r, k), "the body's yield", k);
    give(r, operand(r, k));
}

static void infer_while(rule *r)
{
    interface(r, 0, r->nargs, 1);
    interface(r, 1, r->nargs, r->nargs);
    const gcut_type *more = yielded(body(r, 0), 0);
    if (more->dtype != GCUT_BOOL || more->rank != 0)
        BAD(r, "'while': the region 'cond' yields %s, expected bool[]", show(r, more));
    for (uint32_t k = 0; k < r->nargs; k++) {
        agree(r, taken(body(r, 0), k), operand(r, k), "the argument of 'cond'", k);
        carry(r, 1, k);
    }
}

/* An axis of a value of rank `rank`. */
static uint32_t scan_axis(const rule *r, uint32_t rank)
{
    const gcut_attr *a = attr(r, GCUT_KEY_axis);
    gcut_dim axis = a ? a->u.dim : 0;
    if (!gcut_dim_known(axis) || axis >= rank)
        BAD(r, "'scan': axis=%lld is not an axis of a value of rank %u", (long long)axis, rank);
    return (uint32_t)axis;
}

/* The number of iterations: the attribute, else the length of the first sliced operand. */
static gcut_dim scan_length(rule *r, uint32_t carries)
{
    const gcut_attr *a = attr(r, GCUT_KEY_length);
    if (a) return a->u.dim;
    if (carries == r->nargs) BAD(r, "'scan' slices no operand, so it needs the attribute 'length'");
    const gcut_type *t = operand(r, carries);
    return t->dim[scan_axis(r, t->rank)];
}

static void infer_scan(rule *r)
{
    gcut_dim n = attr(r, GCUT_KEY_carries)->u.dim;
    if (!gcut_dim_known(n) || n > r->nargs)
        BAD(r, "'scan' has %u operands, fewer than carries=%lld", r->nargs, (long long)n);
    uint32_t carries = (uint32_t)n;
    const gcut_graph *b = body(r, 0);
    gcut_dim length = scan_length(r, carries);
    if (b->results.n < carries)
        BAD(r, "'scan': the region 'body' yields %u values, fewer than carries=%u", b->results.n, carries);
    interface(r, 0, r->nargs, b->results.n);
    for (uint32_t k = 0; k < carries; k++) carry(r, 0, k);
    for (uint32_t k = carries; k < r->nargs; k++) {
        gcut_type x = *operand(r, k), slice = {.dtype = x.dtype};
        uint32_t axis = scan_axis(r, x.rank);
        gcut_dim_require(r->g, length, x.dim[axis], r->s->loc, "scan");
        for (uint32_t d = 0; d < x.rank; d++)
            if (d != axis) slice.dim[slice.rank++] = x.dim[d];
        agree(r, taken(b, k), &slice, "argument", k);
    }
    for (uint32_t k = carries; k < b->results.n; k++) {
        gcut_type y = *yielded(b, k), stack = {.dtype = y.dtype, .rank = (uint8_t)(y.rank + 1)};
        if (y.rank == GCUT_MAX_RANK) BAD(r, "'scan': a stacked yield has rank %d, too many", y.rank + 1);
        uint32_t axis = scan_axis(r, stack.rank);
        for (uint32_t d = 0, e = 0; d < stack.rank; d++) stack.dim[d] = d == axis ? length : y.dim[e++];
        give(r, &stack);
    }
}

/* ---- call ---- */

/* Binds each symbol that is a size of one of f's parameters to the size of the operand there (types x). */
static void bind_symbols(gcut_module *m, const gcut_graph *f, const gcut_type *x, gcut_call_sizes *sizes)
{
    for (uint32_t k = 0; k < f->params.n; k++) {
        const gcut_type *t = taken(f, k);
        for (uint32_t d = 0; d < t->rank; d++) {
            bool known = !gcut_dim_symbol_name(m->dims, t->dim[d]);
            for (uint32_t i = 0; i < sizes->n; i++) known = known || sizes->at[i].sym == t->dim[d];
            if (!known) *GCUT_PUSH(m->arena, sizes) = (gcut_dim_subst){t->dim[d], x[k].dim[d]};
        }
    }
}

/* lo <= d <= hi and d a multiple of mult; a run-time check where the caller's declarations do not decide
 * it. */
static void within(gcut_graph *g, const gcut_dim_decl *decl, gcut_dim d, gcut_locid loc)
{
    gcut_dims *t = g->module->dims;
    int64_t lo, hi;
    gcut_dim_range(t, d, g->decls.at, g->decls.n, &lo, &hi);
    if (lo < decl->lo) gcut_dim_require(g, gcut_dim_make(t, GCUT_DIM_MAXOF, d, decl->lo), d, loc, "call");
    if (hi > decl->hi) gcut_dim_require(g, gcut_dim_make(t, GCUT_DIM_MIN, d, decl->hi), d, loc, "call");
    if (decl->mult > 1) gcut_dim_require(g, gcut_dim_make(t, GCUT_DIM_MOD, d, decl->mult), 0, loc, "call");
}

void gcut_call_symbols(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                       gcut_call_sizes *sizes)
{
    gcut_module *m = g->module;
    sizes->n = 0;
    bind_symbols(m, f, x, sizes);
    for (uint32_t i = 0; i < f->decls.n; i++) {
        bool bound = false;
        for (uint32_t k = 0; k < sizes->n; k++) bound = bound || sizes->at[k].sym == f->decls.at[i].sym;
        if (!bound)
            gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, loc), NULL,
                      "'call': no operand of @%s determines its size %s", f->name,
                      gcut_dim_symbol_name(m->dims, f->decls.at[i].sym));
    }
}

void gcut_call_checks(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                      const gcut_call_sizes *sizes)
{
    gcut_dims *t = g->module->dims;
    for (uint32_t i = 0; i < f->decls.n; i++)
        within(g, &f->decls.at[i], gcut_dim_substitute(t, f->decls.at[i].sym, sizes->at, sizes->n), loc);
    for (uint32_t k = 0; k < f->params.n; k++)
        for (uint32_t d = 0; d < taken(f, k)->rank; d++)
            gcut_dim_require(g, gcut_dim_substitute(t, taken(f, k)->dim[d], sizes->at, sizes->n), x[k].dim[d],
                             loc, "call");
    for (uint32_t i = 0; i < f->checks.n; i++) {
        gcut_dim y = gcut_dim_substitute(t, f->checks.at[i].b, sizes->at, sizes->n);
        gcut_dim_require(g, gcut_dim_substitute(t, f->checks.at[i].a, sizes->at, sizes->n), y, loc, "call");
    }
}

void gcut_call_bind(gcut_graph *g, const gcut_node_spec *s, gcut_call_sizes *sizes)
{
    rule r = {g, s, "call", s->nargs, NULL, 0};
    const gcut_graph *f = s->regions[0].body;
    if (f->params.n != s->nargs)
        BAD(&r, "'call': @%s takes %u operand%s, not %u", f->name, f->params.n, f->params.n == 1 ? "" : "s",
            s->nargs);
    gcut_type *x = gcut_calloc(g->module->arena, s->nargs + 1u, sizeof *x);
    for (uint32_t k = 0; k < s->nargs; k++) {
        const gcut_type *t = taken(f, k);
        x[k] = *operand(&r, k);
        if (t->dtype != x[k].dtype || t->rank != x[k].rank)
            BAD(&r, "'call': operand %u is %s, but @%s takes %s", k + 1, show(&r, &x[k]), f->name,
                show(&r, t));
    }
    gcut_call_symbols(g, s->loc, f, x, sizes);
    gcut_call_checks(g, s->loc, f, x, sizes);
}

/* A callee has only `out` results; a derivative has only `grad` results. */
static void check_results(const rule *r, const gcut_graph *f)
{
    bool derivative = gcut_is_derivative(f);
    for (uint32_t k = 0; k < f->results.n; k++)
        if (f->results.at[k].role != (derivative ? GCUT_ROLE_grad : GCUT_ROLE_out))
            BAD(r, "'call': @%s has the result '%s %s'; only functions with nothing but `out` are called",
                f->name, gcut_role_name(f->results.at[k].role), f->results.at[k].name);
}

static void infer_call(rule *r)
{
    gcut_call_sizes sizes = {0};
    const gcut_graph *f = body(r, 0);
    gcut_call_bind(r->g, r->s, &sizes);
    check_results(r, f);
    if (r->s->nregs > 1) gcut_check_vjp(r->g, r->s, &sizes);
    for (uint32_t k = 0; k < f->results.n; k++) {
        gcut_type t = *yielded(f, k);
        for (uint32_t d = 0; d < t.rank; d++)
            t.dim[d] = gcut_dim_substitute(r->g->module->dims, t.dim[d], sizes.at, sizes.n);
        give(r, &t);
    }
}

/* The number of runs of a body, recomputation included, is up to the planner, so effects are refused in
 * it. */
static void refuse_effects(const rule *r)
{
    for (uint32_t k = 0; k < r->s->nregs; k++)
        if (gcut_graph_has_effects(body(r, k)))
            gcut_fail(
                r->g->module->env, GCUT_ETYPE, gcut_loc_place(r->g->module, r->s->loc),
                "say pure=true where its results depend on its operands alone",
                "'%s': an external kernel that is not pure cannot stand in the body of a loop or branch",
                r->op);
}

uint32_t gcut_infer_region(gcut_graph *g, const gcut_node_spec *s, gcut_type out[GCUT_MAX_RESULTS])
{
    rule r = {g, s, gcut_op_get(s->op)->name, s->nargs - s->ncaptured, out, 0};
    if (s->op != GCUT_OP_call) refuse_effects(&r);
    switch (s->op) {
    case GCUT_OP_if: infer_if(&r); break;
    case GCUT_OP_while: infer_while(&r); break;
    case GCUT_OP_scan: infer_scan(&r); break;
    case GCUT_OP_call: infer_call(&r); break;
    default: GCUT_NEVER("an op with regions has a rule here");
    }
    if (r.n == 0) BAD(&r, "'%s' has no result", r.op);
    return r.n;
}
