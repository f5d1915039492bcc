/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Binds the symbols of a graph from concrete parameter shapes and given sizes.
 */
#include "interp/eval.h"

/* The state of one gcut_bind_dims call. */
typedef struct binder {
    const gcut_graph *g;
    const int64_t *const *dims;
    gcut_dim_binding *bind;
    uint32_t n, room;
    gcut_arena *scratch;
    gcut_map bound; /* of a bound symbol: 1 */
} binder;

static const gcut_dims *table(const binder *s)
{
    return s->g->module->dims;
}

static const char *show(const binder *s, gcut_dim d)
{
    return gcut_dim_text(s->g->module->arena, table(s), d);
}

static bool bound(const binder *s, gcut_dim sym)
{
    return gcut_map_get(&s->bound, (uint64_t)sym);
}

static void add(binder *s, gcut_dim sym, int64_t value)
{
    GCUT_ASSERT(s->n < s->room);
    s->bind[s->n++] = (gcut_dim_binding){sym, value};
    *gcut_map_at(s->scratch, &s->bound, (uint64_t)sym) = 1;
}

/* The value of d with symbol number s->n set to x, besides the bound symbols. */
static bool probe(const binder *s, gcut_dim d, gcut_dim sym, int64_t x, int64_t *out)
{
    s->bind[s->n] = (gcut_dim_binding){sym, x};
    return gcut_dim_eval(table(s), d, s->bind, s->n + 1, out);
}

/* Solves d == found for its single unbound symbol if d looks linear in it: its slope between neighbouring
 * points is the same near 0 and far out, where d has a value.  The solution is substituted back, so a
 * wrong guess is never bound; sizes with div, mod, min and max have no constant slope and are not solved.
 */
static bool solve(binder *s, gcut_dim d, int64_t found)
{
    static const int64_t points[] = {0, 1, 2, 3, 7, 64, 1000, 4097, 65536, 1 << 20, 1 << 30};
    gcut_dim syms[GCUT_DIM_MAX_SYMBOLS], free = 0;
    uint32_t nfree = 0, n = gcut_dim_symbols(table(s), d, syms);
    for (uint32_t i = 0; i < n; i++)
        if (!bound(s, syms[i])) free = syms[i], nfree++;
    if (nfree != 1 || s->n >= s->room) return false;
    int64_t slope = 0, at = -1, value = 0, y0, y1, step, x;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        if (!probe(s, d, free, points[i], &y0) || !probe(s, d, free, points[i] + 1, &y1)) continue;
        if (__builtin_sub_overflow(y1, y0, &step) || step == 0 || (at >= 0 && step != slope)) return false;
        slope = step, at = points[i], value = y0;
    }
    if (at < 0 || __builtin_sub_overflow(found, value, &x) || x % slope != 0) return false;
    if (__builtin_add_overflow(at, x / slope, &x) || !probe(s, d, free, x, &y0) || y0 != found) return false;
    add(s, free, x);
    return true;
}

/* Bare symbols first, then solvable sizes, until no more symbol is bound. */
static void solve_all(binder *s)
{
    const gcut_graph *g = s->g;
    bool more = true;
    for (int bare = 1; more || bare; bare = 0) {
        more = false;
        for (uint32_t k = 0; k < g->params.n; k++) {
            const gcut_type *t = gcut_type_of(g, g->params.at[k].value);
            for (uint32_t r = 0; r < t->rank; r++) {
                gcut_dim d = t->dim[r];
                if (gcut_dim_known(d)) continue;
                if (!bare)
                    more = solve(s, d, s->dims[k][r]) || more;
                else if (gcut_dim_symbol_name(table(s), d) && !bound(s, d) && s->n < s->room)
                    add(s, d, s->dims[k][r]);
            }
        }
        more = more || bare;
    }
}

static void check_params(const binder *s)
{
    const gcut_graph *g = s->g;
    gcut_place at = gcut_loc_place(g->module, g->loc);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_value *v = &g->values.at[g->params.at[k].value];
        for (uint32_t r = 0; r < v->type->rank; r++) {
            gcut_dim d = v->type->dim[r];
            int64_t want = gcut_eval_size(g, d, s->bind, s->n, g->loc), found = s->dims[k][r];
            if (want == found) continue;
            if (gcut_dim_known(d))
                gcut_fail(g->module->env, GCUT_EDIM, at, NULL,
                          "parameter %%%s, axis %u: expected %lld, found %lld", v->name, (unsigned)r,
                          (long long)want, (long long)found);
            gcut_fail(g->module->env, GCUT_EDIM, at, NULL,
                      "parameter %%%s, axis %u: expected %s = %lld, found %lld", v->name, (unsigned)r,
                      show(s, d), (long long)want, (long long)found);
        }
    }
}

/* A given size of a symbol that nothing has bound yet. */
static bool take_given(binder *s, const gcut_dim_binding *given, uint32_t ngiven)
{
    for (uint32_t i = 0; i < s->g->decls.n; i++)
        for (uint32_t k = 0; k < ngiven; k++)
            if (given[k].sym == s->g->decls.at[i].sym && !bound(s, given[k].sym) && s->n < s->room) {
                add(s, given[k].sym, given[k].value);
                return true;
            }
    return false;
}

/* Checks bound symbols only: a forward or backward graph may declare sizes that it does not use. */
static void check_decls(const binder *s)
{
    const gcut_graph *g = s->g;
    gcut_place at = gcut_loc_place(g->module, g->loc);
    for (uint32_t i = 0; i < g->decls.n; i++) {
        gcut_dim_decl c = g->decls.at[i];
        int64_t v;
        if (!gcut_dim_eval(table(s), c.sym, s->bind, s->n, &v)) continue;
        if (v < c.lo || v > c.hi)
            gcut_fail(g->module->env, GCUT_EDIM, at, NULL,
                      "%s = %lld is outside of its declared range %lld..%lld", show(s, c.sym), (long long)v,
                      (long long)c.lo, (long long)c.hi);
        if (c.mult > 1 && v % c.mult != 0)
            gcut_fail(g->module->env, GCUT_EDIM, at, NULL, "%s = %lld is not a multiple of %lld, as declared",
                      show(s, c.sym), (long long)v, (long long)c.mult);
    }
}

/* "N = 32", or the number where that is all there is. */
static const char *with_size(const binder *s, gcut_dim d, int64_t size)
{
    return gcut_dim_known(d) ? show(s, d)
                             : gcut_printf(s->g->module->arena, "%s = %lld", show(s, d), (long long)size);
}

static void check_checks(const binder *s)
{
    const gcut_graph *g = s->g;
    for (uint32_t i = 0; i < g->checks.n; i++) {
        gcut_dim_check c = g->checks.at[i];
        int64_t x = gcut_eval_size(g, c.a, s->bind, s->n, c.loc),
                y = gcut_eval_size(g, c.b, s->bind, s->n, c.loc);
        if (x != y)
            gcut_fail(g->module->env, GCUT_EDIM, gcut_loc_place(g->module, c.loc), NULL,
                      "the sizes %s and %s must be equal here", with_size(s, c.a, x), with_size(s, c.b, y));
    }
}

uint32_t gcut_bind_dims(const gcut_graph *g, const int64_t *const *dims, const gcut_dim_binding *given,
                        uint32_t ngiven, gcut_dim_binding *out, uint32_t room)
{
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    binder s = {.g = g, .dims = dims, .bind = out, .room = room, .scratch = scratch};
    do {
        solve_all(&s);
    } while (take_given(&s, given, ngiven));
    check_params(&s);
    check_decls(&s);
    check_checks(&s);
    gcut_arena_free(scratch);
    return s.n;
}

uint32_t gcut_undetermined(const gcut_graph *g, const gcut_dim_binding *at, uint32_t nat, gcut_dim *out)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    const int64_t **dims = gcut_calloc(a, g->params.n + 1, sizeof *dims);
    bool all = true;
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[k].value);
        int64_t *d = gcut_calloc(a, t->rank + 1u, sizeof *d);
        for (uint32_t r = 0; r < t->rank; r++)
            all = all && gcut_dim_eval(g->module->dims, t->dim[r], at, nat, &d[r]);
        dims[k] = d;
    }
    gcut_dim_binding *bind = gcut_calloc(a, g->decls.n + 2, sizeof *bind);
    binder s = {.g = g, .dims = dims, .bind = bind, .room = g->decls.n + 1, .scratch = a};
    if (all) solve_all(&s);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->decls.n && all; i++)
        if (!bound(&s, g->decls.at[i].sym)) out[n++] = g->decls.at[i].sym;
    gcut_arena_free(a);
    return n;
}
