/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the derivative tests share: parameters filled by a rule, one run of a
 * graph in the reference interpreter, inner products and central differences.
 * Everything throws; call inside must().
 */
#ifndef GCUT_TESTS_ORACLE_H
#define GCUT_TESTS_ORACLE_H

#include "graph_gen.h"
#include "harness.h"

#include "interp/interp.h"
#include "passes/passes.h"
#include "graph/verify.h"

/* A 64-bit linear congruential generator (Knuth's constants): the same numbers everywhere. */
static inline double next_unit(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) * 0x1p-53;
}

/* An array for a value of type t with every symbol equal to n. */
static inline gcut_array array_for(gcut_arena *a, const gcut_graph *g, const gcut_type *t, int64_t n)
{
    gcut_dim_binding bind[16];
    uint32_t nb = g->decls.n;
    int64_t dim[GCUT_MAX_RANK] = {0};
    assert_true(nb <= 16);
    for (uint32_t i = 0; i < nb; i++) bind[i] = (gcut_dim_binding){g->decls.at[i].sym, n};
    for (uint32_t d = 0; d < t->rank; d++)
        assert_true(gcut_dim_eval(g->module->dims, t->dim[d], bind, nb, &dim[d]));
    return gcut_array_new(a, t->dtype, t->rank, dim);
}

enum { LEAF_N = 3, LEAF_M = 2 };

/* An array for the parameter v of a random graph at these sizes: floats in [-1, 1), integers within their bounds. */
static inline gcut_array random_leaf(gcut_arena *a, const graph_gen *gen, gcut_ref v, uint64_t *seed)
{
    const gcut_graph *g = gen->b.g;
    const gcut_type *t = gcut_type_of(g, v);
    const gen_bound *bound = graph_bound(gen, g->values.at[v].name);
    gcut_dim_binding at[2] = {{gen->sym[0], LEAF_N}, {gen->sym[1], LEAF_M}};
    int64_t dim[GCUT_MAX_RANK] = {0}, hi = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        assert_true(gcut_dim_eval(g->module->dims, t->dim[d], at, 2, &dim[d]));
    if (bound) assert_true(gcut_dim_eval(g->module->dims, bound->hi, at, 2, &hi));
    gcut_array x = gcut_array_new(a, t->dtype, t->rank, dim);
    for (int64_t i = 0; i < x.n; i++)
        if (gcut_dtype_is_float(x.dtype))
            x.u.f[i] = 2 * next_unit(seed) - 1;
        else
            x.u.i[i] = bound ? bound->lo + (int64_t)(next_unit(seed) * (double)(hi - bound->lo)) : 0;
    return x;
}

static inline gcut_array *run_graph(gcut_arena *a, const gcut_graph *g, gcut_precision p,
                                    const gcut_array *params)
{
    gcut_array *out = gcut_calloc(a, g->results.n + 1u, sizeof *out);
    gcut_interp(g, p, a, params, out, NULL);
    return out;
}

static inline uint32_t find_result(const gcut_graph *g, gcut_role role, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == role && !strcmp(g->results.at[i].name, name)) return i;
    fail_msg("@%s has no %s %s", g->name, gcut_role_name(role), name);
    return 0;
}

static inline uint32_t find_param(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->params.n; i++)
        if (!strcmp(g->values.at[g->params.at[i].value].name, name)) return i;
    fail_msg("@%s has no parameter %s", g->name, name);
    return 0;
}

static inline double dot(const gcut_array *x, const gcut_array *y)
{
    double s = 0;
    assert_int_equal(x->n, y->n);
    for (int64_t i = 0; i < x->n; i++) s += x->u.f[i] * y->u.f[i];
    return s;
}

/* One array per parameter of g: dir[k] is a random direction in [-1, 1] where `moves`, else all 0. */
static inline gcut_array *directions(gcut_arena *a, const gcut_graph *g, const gcut_array *at, uint64_t *seed)
{
    gcut_array *dir = gcut_calloc(a, g->params.n + 1u, sizeof *dir);
    for (uint32_t k = 0; k < g->params.n; k++) {
        dir[k] = gcut_array_new(a, at[k].dtype, at[k].rank, at[k].dim);
        if (g->params.at[k].role != GCUT_ROLE_param || !gcut_dtype_is_float(at[k].dtype)) continue;
        for (int64_t i = 0; i < dir[k].n; i++) dir[k].u.f[i] = 2 * next_unit(seed) - 1;
    }
    return dir;
}

/* Result r of g, a scalar, at `at` + h `dir`. */
static inline double value_along(gcut_arena *parent, const gcut_graph *g, uint32_t r, const gcut_array *at,
                                 const gcut_array *dir, double h)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(parent), parent);
    gcut_array *moved = gcut_calloc(a, g->params.n + 1u, sizeof *moved);
    for (uint32_t k = 0; k < g->params.n; k++) {
        moved[k] = gcut_array_new(a, at[k].dtype, at[k].rank, at[k].dim);
        for (int64_t i = 0; i < at[k].n; i++)
            if (gcut_dtype_is_float(at[k].dtype))
                moved[k].u.f[i] = at[k].u.f[i] + h * dir[k].u.f[i];
            else
                moved[k].u.i[i] = at[k].u.i[i];
    }
    double v = run_graph(a, g, GCUT_EXACT, moved)[r].u.f[0];
    gcut_arena_free(a);
    return v;
}

/* The derivative along dir.  D(h) = (f(+h) - f(-h)) / 2h errs by c h^2 + O(h^4); Richardson's (4 D(h/2) -
 * D(h)) / 3 cancels c.  With h = 1e-3 what remains is h^4 times a fifth derivative, 1e-12 or so, and the
 * rounding of f over h, 2^-52 |f| / h, also 1e-12 or so. */
static inline double derivative_along(gcut_arena *a, const gcut_graph *g, uint32_t r, const gcut_array *at,
                                      const gcut_array *dir)
{
    const double h = 1e-3;
    double d1 = (value_along(a, g, r, at, dir, h) - value_along(a, g, r, at, dir, -h)) / (2 * h);
    double d2 = (value_along(a, g, r, at, dir, h / 2) - value_along(a, g, r, at, dir, -h / 2)) / h;
    return (4 * d2 - d1) / 3;
}

/* `at`, the arrays of a graph, extended by a 1 for the cotan parameter that ends those of its joint graph. */
static inline gcut_array *with_cotangent(gcut_arena *a, const gcut_graph *joint, const gcut_array *at)
{
    uint32_t n = joint->params.n - 1;
    gcut_array *p = gcut_calloc(a, n + 1u, sizeof *p);
    for (uint32_t k = 0; k < n; k++) p[k] = at[k];
    assert_int_equal(joint->params.at[n].role, GCUT_ROLE_cotan);
    p[n] = gcut_array_new(a, gcut_type_of(joint, joint->params.at[n].value)->dtype, 0, NULL);
    p[n].u.f[0] = 1;
    return p;
}

#endif
