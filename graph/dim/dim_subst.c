/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Substitution of symbols: sizes of a callee in terms of the caller's.
 */
#include "graph/dim/dim_table.h"

static void check(const gcut_dims *t, gcut_dim_error e)
{
    if (e)
        gcut_fail(gcut_arena_env(t->arena), GCUT_ETYPE, (gcut_place){0}, NULL,
                  "a size cannot be expressed in the caller's sizes: %s", e);
}

static gcut_dim atom(gcut_dims *t, uint32_t id, const gcut_dim_subst *s, uint32_t n)
{
    gcut_dim_atom a = t->atoms.at[id];
    if (!a.name) {
        gcut_dim y = gcut_dim_substitute(t, a.b, s, n), x = gcut_dim_substitute(t, a.a, s, n);
        return gcut_dim_make(t, a.op, x, y);
    }
    gcut_dim self = gcut_dim_symbol(t, a.name);
    for (uint32_t i = 0; i < n; i++)
        if (s[i].sym == self) return s[i].by;
    return self;
}

/* The sum stays a polynomial until it is complete: on the way it may be a negative constant (N - 1), which
 * is no gcut_dim. */
gcut_dim gcut_dim_substitute(gcut_dims *t, gcut_dim d, const gcut_dim_subst *s, uint32_t n)
{
    if (gcut_dim_known(d)) return d;
    gcut_dim_expr e = *gcut_dim_expr_of(t, d);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(t->arena), t->arena);
    gcut_dim_poly *p = gcut_alloc(scratch, 4 * sizeof *p); /* the sum, a term, a factor, their product */
    p[0].n = 0;
    for (uint32_t i = 0; i < e.n; i++) {
        gcut_dim_mono m = t->monos.at[e.term[i].mono];
        gcut_dim_load(t, 1, &p[1]);
        for (uint32_t k = 0; k < m.n; k++) {
            gcut_dim_load(t, atom(t, m.atom[k], s, n), &p[2]);
            check(t, gcut_dim_poly_mul(t, &p[1], &p[2], &p[3]));
            p[1] = p[3];
        }
        check(t, gcut_dim_poly_add(t, &p[0], e.term[i].coef, &p[1], &p[0]));
    }
    gcut_dim out;
    check(t, gcut_dim_store(t, &p[0], &out));
    gcut_arena_free(scratch);
    return out;
}
