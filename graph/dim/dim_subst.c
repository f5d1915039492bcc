/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Substitution of symbols: sizes of a callee in terms of the caller's.
 */
#include "graph/dim/dim_table.h"

/* The substitution of one call: of d and of the operands inside of it. */
typedef struct subst {
    gcut_dims *t;
    const gcut_dim_subst *at;
    uint32_t n;
    gcut_place place;
} subst;

static void check(const subst *s, gcut_dim d, gcut_dim_error e)
{
    gcut_arena *a = s->t->arena;
    if (e)
        gcut_fail(gcut_arena_env(a), GCUT_ETYPE, s->place, NULL,
                  "with its symbols replaced, %s is no size: %s", gcut_dim_text(a, s->t, d), e);
}

static gcut_dim replace(const subst *s, gcut_dim d);

static gcut_dim atom(const subst *s, uint32_t id)
{
    gcut_dim_atom a = s->t->atoms.at[id];
    if (!a.name) {
        gcut_dim y = replace(s, a.b), x = replace(s, a.a);
        return gcut_dim_make(s->t, a.op, x, y);
    }
    gcut_dim self = gcut_dim_symbol(s->t, a.name);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i].sym == self) return s->at[i].by;
    return self;
}

/* The sum stays a polynomial until it is complete: on the way it may be a negative constant (N - 1), which
 * is no gcut_dim. */
static gcut_dim replace(const subst *s, gcut_dim d)
{
    gcut_dims *t = s->t;
    if (gcut_dim_known(d)) return d;
    gcut_dim_expr e = *gcut_dim_expr_of(t, d);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(t->arena), t->arena);
    gcut_dim_poly *p = gcut_alloc(scratch, 4 * sizeof *p); /* the sum, a term, a factor, their product */
    p[0].n = 0;
    for (uint32_t i = 0; i < e.n; i++) {
        gcut_dim_mono m = t->monos.at[e.term[i].mono];
        gcut_dim_load(t, 1, &p[1]);
        for (uint32_t k = 0; k < m.n; k++) {
            gcut_dim_load(t, atom(s, m.atom[k]), &p[2]);
            check(s, d, gcut_dim_poly_mul(t, &p[1], &p[2], &p[3]));
            p[1] = p[3];
        }
        check(s, d, gcut_dim_poly_add(t, &p[0], e.term[i].coef, &p[1], &p[0]));
    }
    gcut_dim out;
    check(s, d, gcut_dim_store(t, &p[0], &out));
    gcut_arena_free(scratch);
    return out;
}

gcut_dim gcut_dim_substitute(gcut_dims *t, gcut_dim d, const gcut_dim_subst *s, uint32_t n, gcut_place place)
{
    return replace(&(subst){t, s, n, place}, d);
}
