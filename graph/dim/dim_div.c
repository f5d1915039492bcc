/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Normal forms of floor division, remainder, minimum and maximum.
 *
 * Every rule holds for all integers for which the left side is defined (a zero
 * divisor is not), negative ones included, because a part of a size may be
 * negative (N - 5) where the whole is not:
 *
 *   D1  (m*q + r) div m = q + r div m        mod: (m*q + r) mod m = r mod m
 *   D2  (g*s + k) div (g*c) = (s + k div g) div c
 *       (g*s + k) mod (g*c) = g*((s + k div g) mod c) + k mod g         g, c > 0
 *   D3  (x div a) div b = x div (a*b)        a, b > 0, also for x div a + k
 *   D4  ceildiv(x, c) = (x + c - 1) div c    c > 0
 *   D5  min and max are sets: nested ones are flattened, operands sorted, and of
 *       two that differ by a constant one goes
 */
#include <string.h>

#include "graph/dim/dim_table.h"

static const char by_zero[] = "the size is divided by zero";

static gcut_dim_error put_atom(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b, int64_t factor,
                               gcut_dim_poly *out)
{
    return gcut_dim_poly_put(t, out, factor, gcut_dim_mono_of(t, gcut_dim_atom_new(t, op, a, b)));
}

/* D1 for a divisor of one term: of each term of p that is divisible by the atoms of m, the multiple of m
 * moves to q. */
static gcut_dim_error split_term(gcut_dims *t, const gcut_dim_poly *p, gcut_dim_term m, gcut_dim_poly *q,
                                 gcut_dim_poly *r)
{
    q->n = r->n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t rest;
        gcut_dim_term term = p->at[i];
        gcut_dim_error err = NULL;
        if (gcut_dim_mono_div(t, term.mono, m.mono, &rest)) {
            err = gcut_dim_poly_put(t, q, gcut_dim_floordiv(term.coef, m.coef), rest);
            term.coef = gcut_dim_floormod(term.coef, m.coef);
        }
        if (!err) err = gcut_dim_poly_put(t, r, term.coef, term.mono);
        if (err) return err;
    }
    return NULL;
}

/* D1 for a divisor of several terms by long division, where it leaves no remainder; else q = 0 and r = p. */
static void split_even(gcut_dims *t, const gcut_dim_poly *p, const gcut_dim_poly *m, gcut_dim_poly *q,
                       gcut_dim_poly *r)
{
    gcut_dim_poly step, times;
    q->n = 0;
    *r = *p;
    for (uint32_t round = 0; r->n > 0; round++) {
        uint32_t rest;
        int64_t c = r->at[0].coef / m->at[0].coef;
        if (round == GCUT_DIM_MAX_TERMS || c * m->at[0].coef != r->at[0].coef ||
            !gcut_dim_mono_div(t, r->at[0].mono, m->at[0].mono, &rest))
            break;
        step.n = 1;
        step.at[0] = (gcut_dim_term){c, rest};
        if (gcut_dim_poly_put(t, q, c, rest) || gcut_dim_poly_mul(t, m, &step, &times) ||
            gcut_dim_poly_add(t, r, -1, &times, r))
            break;
    }
    if (r->n == 0) return;
    q->n = 0;
    *r = *p;
}

/* D2: the common factor of c and of every coefficient of r but the constant; r becomes s + k div g, *k the
 * remainder k mod g.  After D1 the coefficients of r are in 0..c-1, so of a constant r nothing is left (g
 * = c). */
static int64_t take_common(gcut_dim_poly *r, int64_t c, int64_t *k)
{
    int64_t g = c;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i].mono != 0) g = gcut_dim_gcd(g, r->at[i].coef);
    *k = gcut_dim_poly_const(r) % g;
    for (uint32_t i = 0; i < r->n; i++) r->at[i].coef /= g;
    if (r->n && r->at[r->n - 1].coef == 0) r->n--;
    return g;
}

/* D3: r = x div a + k, divided by c.  False when r has another form or a*c is too large. */
static bool merge_div(gcut_dims *t, const gcut_dim_poly *r, int64_t c, gcut_dim_poly *x, int64_t *ac)
{
    int64_t k = gcut_dim_poly_const(r), shift;
    gcut_dim first;
    gcut_dim_poly head = {.n = 1};
    if (r->n == 0 || r->n > 1 + (k != 0) || r->at[0].mono == 0) return false;
    head.at[0] = r->at[0];
    if (gcut_dim_store(t, &head, &first)) return false;
    const gcut_dim_atom *div = gcut_dim_sole(t, first, GCUT_DIM_DIV);
    if (!div || div->b <= 0 || __builtin_mul_overflow(div->b, c, ac) ||
        __builtin_mul_overflow(div->b, k, &shift))
        return false;
    gcut_dim_load(t, div->a, x);
    return !gcut_dim_poly_put(t, x, shift, 0);
}

/* out += r div c, for a constant c > 0 and r reduced by D1. */
static gcut_dim_error div_const(gcut_dims *t, gcut_dim_poly *r, int64_t c, gcut_dim_poly *out)
{
    int64_t k, ac;
    gcut_dim_poly x, q, rest;
    gcut_dim_error err;
    gcut_dim a;
    c /= take_common(r, c, &k);
    if (merge_div(t, r, c, &x, &ac)) {
        /* The inner division was in normal form for a, not for a*c: reduce once more. */
        err = split_term(t, &x, (gcut_dim_term){ac, 0}, &q, &rest);
        if (!err) err = gcut_dim_poly_add(t, out, 1, &q, out);
        return err ? err : div_const(t, &rest, ac, out);
    }
    if (r->n == 0) return NULL;
    err = gcut_dim_store(t, r, &a);
    return err ? err : put_atom(t, GCUT_DIM_DIV, a, c, 1, out);
}

/* out = r mod c, likewise. */
static gcut_dim_error mod_const(gcut_dims *t, gcut_dim_poly *r, int64_t c, gcut_dim_poly *out)
{
    int64_t k, g = take_common(r, c, &k);
    gcut_dim a;
    gcut_dim_error err = gcut_dim_poly_put(t, out, k, 0);
    if (err || r->n == 0) return err;
    err = gcut_dim_store(t, r, &a);
    return err ? err : put_atom(t, GCUT_DIM_MOD, a, c / g, g, out);
}

/* out = p op m, where m is b; ceildiv only by a symbolic b, where D1 applies to it unchanged.  A remainder
 * that is a negative constant is no dim: such a p is left whole. */
static gcut_dim_error divide(gcut_dims *t, gcut_dim_op op, const gcut_dim_poly *p, const gcut_dim_poly *m,
                             gcut_dim b, gcut_dim_poly *out)
{
    gcut_dim_poly q, r;
    gcut_dim a;
    gcut_dim_error err = NULL;
    if (m->n == 1)
        err = split_term(t, p, m->at[0], &q, &r);
    else
        split_even(t, p, m, &q, &r);
    if (err) return err;
    out->n = 0;
    if (op != GCUT_DIM_MOD) *out = q;
    if (gcut_dim_known(b)) return op == GCUT_DIM_MOD ? mod_const(t, &r, b, out) : div_const(t, &r, b, out);
    if (r.n == 0) return NULL;
    if (r.at[0].mono == 0 && r.at[0].coef < 0) {
        r = *p;
        out->n = 0;
    }
    err = gcut_dim_store(t, &r, &a);
    return err ? err : put_atom(t, op, a, b, 1, out);
}

/* ---- minimum and maximum ---- */

#define MAX_LEAVES 64

typedef struct leaves {
    gcut_dim_op op;
    uint32_t n;
    gcut_dim at[MAX_LEAVES];
} leaves;

/* Inserts d into at[], which is sorted; of two operands that differ by a constant the one that cannot be
 * the result is dropped. */
static gcut_dim_error add_leaf(gcut_dims *t, leaves *s, gcut_dim d)
{
    gcut_dim_poly p, q, diff;
    gcut_dim_load(t, d, &p);
    for (uint32_t i = 0; i < s->n; i++) {
        gcut_dim_load(t, s->at[i], &q);
        if (gcut_dim_poly_add(t, &p, -1, &q, &diff) || diff.n > 1 || (diff.n == 1 && diff.at[0].mono != 0))
            continue;
        bool smaller = gcut_dim_poly_const(&diff) < 0;
        if (diff.n == 0 || smaller != (s->op == GCUT_DIM_MIN)) return NULL;
        memmove(&s->at[i], &s->at[i + 1], (s->n - i - 1) * sizeof *s->at);
        s->n--;
        i--;
    }
    if (s->n == MAX_LEAVES) return "the minimum or maximum has too many operands";
    uint32_t k = s->n++;
    for (; k > 0 && gcut_dim_order(t, d, s->at[k - 1]) < 0; k--) s->at[k] = s->at[k - 1];
    s->at[k] = d;
    return NULL;
}

/* A normal form nests to the right, so only the second operand can be of the same op. */
static gcut_dim_error add_leaves(gcut_dims *t, leaves *s, gcut_dim d)
{
    const gcut_dim_atom *nested;
    while ((nested = gcut_dim_sole(t, d, s->op)) != NULL) {
        gcut_dim_error err = add_leaf(t, s, nested->a);
        if (err) return err;
        d = nested->b;
    }
    return add_leaf(t, s, d);
}

static gcut_dim_error choose(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b, gcut_dim *out)
{
    leaves s = {.op = op};
    gcut_dim_error err = add_leaves(t, &s, a);
    if (!err) err = add_leaves(t, &s, b);
    if (err) return err;
    *out = s.at[s.n - 1];
    for (uint32_t k = s.n - 1; k-- > 0;) {
        gcut_dim_poly p = {0};
        err = put_atom(t, op, s.at[k], *out, 1, &p);
        if (!err) err = gcut_dim_store(t, &p, out);
        if (err) return err;
    }
    return NULL;
}

gcut_dim_error gcut_dim_opaque(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b, gcut_dim *out)
{
    if (op == GCUT_DIM_MIN || op == GCUT_DIM_MAXOF) return choose(t, op, a, b, out);
    if (b == 0) return by_zero;
    gcut_dim_poly p, m, r;
    gcut_dim_load(t, a, &p);
    gcut_dim_load(t, b, &m);
    gcut_dim_error err = NULL;
    if (op == GCUT_DIM_CEILDIV && b > 0) {
        err = gcut_dim_poly_put(t, &p, b - 1, 0); /* D4 */
        op = GCUT_DIM_DIV;
    }
    if (!err) err = divide(t, op, &p, &m, b, &r);
    return err ? err : gcut_dim_store(t, &r, out);
}
