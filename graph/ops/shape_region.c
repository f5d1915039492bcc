/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of the ops with regions: checks that bodies fit the operands, and infers the results from
 * the yields.
 */

#include "graph/custom.h"
#include "graph/external.h"
#include "graph/regions/scan_stack.h"
#include "graph/ops/shape_rule.h"

static const char *text_of(const infer *r, const gcut_type *t)
{
    return gcut_type_text(r->g->module->arena, r->g->module, t);
}

static const gcut_graph *body(const infer *r, uint32_t k)
{
    return r->spec->regions[k].body;
}
static const gcut_type *taken(const gcut_graph *b, uint32_t k)
{
    return gcut_type_of(b, b->params.at[k].value);
}
static const gcut_type *yielded(const gcut_graph *b, uint32_t k)
{
    return gcut_type_of(b, b->results.at[k].value);
}

/* Requires equal types.  An operand, the argument and the yield may share memory, so a check of sizes at run time
 * would not do. */
static void agree(infer *r, const gcut_type *have, const gcut_type *want, const char *what, uint32_t k)
{
    if (!gcut_type_equal(have, want))
        BAD(r, "'%s': %s %u is %s, expected %s", opname(r), what, k + 1, text_of(r, have), text_of(r, want));
}

/* Region k takes nargs arguments and what its node captures, and yields `nyields` values. */
static void interface(infer *r, uint32_t k, uint32_t nargs, uint32_t nyields)
{
    const gcut_graph *b = body(r, k);
    const char *kind = gcut_op_region(r->spec->op, k);
    if (b->params.n != nargs + r->spec->ncaptured)
        BAD(r, "'%s': the region '%s' takes %u argument%s, expected %u", opname(r), kind,
            b->params.n - r->spec->ncaptured, b->params.n - r->spec->ncaptured == 1 ? "" : "s", nargs);
    if (b->results.n != nyields)
        BAD(r, "'%s': the region '%s' yields %u value%s, expected %u", opname(r), kind, b->results.n,
            b->results.n == 1 ? "" : "s", nyields);
    for (uint32_t i = 0; i < r->spec->ncaptured; i++)
        GCUT_ASSERT(gcut_type_equal(taken(b, nargs + i), in(r, r->nargs + i)));
}

static void give(infer *r, const gcut_type *t)
{
    if (r->n == GCUT_MAX_RESULTS) BAD(r, "'%s' has more than %d results", opname(r), GCUT_MAX_RESULTS);
    r->out[r->n++] = *t;
}

static void infer_if(infer *r)
{
    const gcut_type *p = in(r, 0);
    uint32_t n = body(r, 0)->results.n;
    if (p->dtype != GCUT_BOOL || p->rank != 0)
        BAD(r, "'if': the condition is %s, expected bool[]", text_of(r, p));
    interface(r, 0, 0, n);
    interface(r, 1, 0, n);
    for (uint32_t k = 0; k < n; k++) {
        agree(r, yielded(body(r, 1), k), yielded(body(r, 0), k), "the 'else' region's yield", k);
        give(r, yielded(body(r, 0), k));
    }
}

/* Carried value k: operand, argument of the body, yield and result have one type. */
static void carry(infer *r, uint32_t region, uint32_t k)
{
    agree(r, taken(body(r, region), k), in(r, k), "carried argument", k);
    agree(r, yielded(body(r, region), k), in(r, k), "the body's yield", k);
    give(r, in(r, k));
}

static void infer_while(infer *r)
{
    interface(r, 0, r->nargs, 1);
    interface(r, 1, r->nargs, r->nargs);
    const gcut_type *more = yielded(body(r, 0), 0);
    if (more->dtype != GCUT_BOOL || more->rank != 0)
        BAD(r, "'while': the region 'cond' yields %s, expected bool[]", text_of(r, more));
    for (uint32_t k = 0; k < r->nargs; k++) {
        agree(r, taken(body(r, 0), k), in(r, k), "the argument of 'cond'", k);
        carry(r, 1, k);
    }
}

/* An axis of a value of rank `rank`. */
static uint32_t scan_axis(const infer *r, uint32_t rank)
{
    gcut_dim axis = attr(r, GCUT_KEY_axis)->u.dim;
    if (!gcut_dim_known(axis) || axis >= rank)
        BAD(r, "'scan': axis=%lld is not an axis of a value of rank %u", (long long)axis, rank);
    return (uint32_t)axis;
}

/* The number of iterations: the attribute, else the length of the first sliced operand. */
static gcut_dim scan_length(infer *r, uint32_t carries)
{
    const gcut_attr *a = attr(r, GCUT_KEY_length);
    if (a) return a->u.dim;
    if (carries == r->nargs) BAD(r, "'scan' slices no operand, so it needs the attribute 'length'");
    const gcut_type *t = in(r, carries);
    return t->dim[scan_axis(r, t->rank)];
}

static void infer_scan(infer *r)
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
        gcut_type x = *in(r, k), slice = {.dtype = x.dtype};
        uint32_t axis = scan_axis(r, x.rank);
        gcut_dim_require(r->g, length, x.dim[axis], r->spec->loc, "scan");
        for (uint32_t d = 0; d < x.rank; d++)
            if (d != axis) slice.dim[slice.rank++] = x.dim[d];
        agree(r, taken(b, k), &slice, "argument", k);
    }
    for (uint32_t k = carries; k < b->results.n; k++) {
        gcut_type y = *yielded(b, k);
        if (y.rank == GCUT_MAX_RANK) BAD(r, "'scan': a stacked yield has rank %d, too many", y.rank + 1);
        y = gcut_stack_type(y, scan_axis(r, y.rank + 1u), length);
        give(r, &y);
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

static gcut_dim size_at(gcut_graph *g, gcut_dim d, const gcut_call_sizes *sizes, gcut_place place)
{
    return gcut_dim_substitute(g->module->dims, d, sizes->at, sizes->n, place);
}

void gcut_call_checks(gcut_graph *g, gcut_locid loc, const gcut_graph *f, const gcut_type *x,
                      const gcut_call_sizes *sizes)
{
    const gcut_place at = gcut_loc_place(g->module, loc);
    for (uint32_t i = 0; i < f->decls.n; i++)
        within(g, &f->decls.at[i], size_at(g, f->decls.at[i].sym, sizes, at), loc);
    for (uint32_t k = 0; k < f->params.n; k++)
        for (uint32_t d = 0; d < taken(f, k)->rank; d++)
            gcut_dim_require(g, size_at(g, taken(f, k)->dim[d], sizes, at), x[k].dim[d], loc, "call");
    for (uint32_t i = 0; i < f->checks.n; i++)
        gcut_dim_require(g, size_at(g, f->checks.at[i].a, sizes, at),
                         size_at(g, f->checks.at[i].b, sizes, at), loc, "call");
}

void gcut_call_bind(gcut_graph *g, const gcut_node_spec *s, gcut_call_sizes *sizes)
{
    infer r = {g, s, s->nargs, NULL, 0};
    const gcut_graph *f = s->regions[0].body;
    if (f->params.n != s->nargs)
        BAD(&r, "'call': @%s takes %u operand%s, not %u", f->name, f->params.n, f->params.n == 1 ? "" : "s",
            s->nargs);
    gcut_type *x = gcut_calloc(g->module->arena, s->nargs + 1u, sizeof *x);
    for (uint32_t k = 0; k < s->nargs; k++) {
        const gcut_type *t = taken(f, k);
        x[k] = *in(&r, k);
        if (t->dtype != x[k].dtype || t->rank != x[k].rank)
            BAD(&r, "'call': operand %u is %s, but @%s takes %s", k + 1, text_of(&r, &x[k]), f->name,
                text_of(&r, t));
    }
    gcut_call_symbols(g, s->loc, f, x, sizes);
    gcut_call_checks(g, s->loc, f, x, sizes);
}

/* A callee has only `out` results; a derivative has only `grad` results. */
static void check_results(const infer *r, const gcut_graph *f)
{
    bool derivative = gcut_is_derivative(f);
    for (uint32_t k = 0; k < f->results.n; k++)
        if (f->results.at[k].role != (derivative ? GCUT_ROLE_grad : GCUT_ROLE_out))
            BAD(r, "'call': @%s has the result '%s %s'; only functions with nothing but `out` are called",
                f->name, gcut_role_name(f->results.at[k].role), f->results.at[k].name);
}

static void infer_call(infer *r)
{
    gcut_call_sizes sizes = {0};
    const gcut_graph *f = body(r, 0);
    gcut_call_bind(r->g, r->spec, &sizes);
    check_results(r, f);
    if (r->spec->nregs > 1) gcut_check_vjp(r->g, r->spec, &sizes);
    for (uint32_t k = 0; k < f->results.n; k++) {
        gcut_type t = gcut_type_substitute(r->g->module, *yielded(f, k), sizes.at, sizes.n,
                                           gcut_loc_place(r->g->module, r->spec->loc));
        give(r, &t);
    }
}

/* The number of runs of a body, recomputation included, is up to the planner, so effects are refused in
 * it. */
static void refuse_effects(const infer *r)
{
    for (uint32_t k = 0; k < r->spec->nregs; k++)
        if (gcut_graph_has_effects(body(r, k)))
            gcut_fail(
                r->g->module->env, GCUT_ETYPE, gcut_loc_place(r->g->module, r->spec->loc),
                "say pure=true where its results depend on its operands alone",
                "'%s': an external kernel that is not pure cannot stand in the body of a loop or branch",
                opname(r));
}

void gcut_shape_region(infer *r)
{
    r->n = 0;
    if (r->spec->op != GCUT_OP_call) refuse_effects(r);
    switch (r->spec->op) {
    case GCUT_OP_if: infer_if(r); break;
    case GCUT_OP_while: infer_while(r); break;
    case GCUT_OP_scan: infer_scan(r); break;
    case GCUT_OP_call: infer_call(r); break;
    default: GCUT_NEVER("an op with regions has a rule here");
    }
    if (r->n == 0) BAD(r, "'%s' has no result", opname(r));
}
