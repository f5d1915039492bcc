/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A dimension's value under bindings, its bounds under declarations, and whether two dimensions can be
 * equal.
 */
#include <string.h>

#include "graph/dim/dim_table.h"

/* ---- value ---- */

typedef struct bindings {
    const gcut_dims *t;
    const gcut_dim_binding *at;
    uint32_t n;
} bindings;

static bool eval(const bindings *b, gcut_dim d, int64_t *out);

/* The binding of a symbol by bisection, which finds it where bindings are in the order of the symbols' numbers, as
 * those of gcut_default_sizes are.  NULL: it is not bound, or bindings are in another order. */
static const gcut_dim_binding *bisect(const bindings *b, gcut_dim sym)
{
    uint32_t low = 0, high = b->n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (b->at[mid].sym == sym) return &b->at[mid];
        if ((b->at[mid].sym < sym) == (b->at[0].sym < b->at[b->n - 1].sym))
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static bool eval_symbol(const bindings *b, const char *name, int64_t *out)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (gcut_dim_symbol_name(b->t, b->at[i].sym) == name) return *out = b->at[i].value, true;
    return false;
}

static bool eval_atom(const bindings *b, const gcut_dim_atom *a, int64_t *out)
{
    int64_t x, y;
    if (a->name) return eval_symbol(b, a->name, out);
    if (!eval(b, a->a, &x) || !eval(b, a->b, &y)) return false;
    if (a->op == GCUT_DIM_MIN || a->op == GCUT_DIM_MAXOF) {
        *out = (x < y) == (a->op == GCUT_DIM_MIN) ? x : y;
        return true;
    }
    /* INT64_MIN is the one value whose quotient or negation does not fit. */
    if (y == 0 || x == INT64_MIN || y == INT64_MIN) return false;
    *out = a->op == GCUT_DIM_DIV   ? gcut_dim_floordiv(x, y)
           : a->op == GCUT_DIM_MOD ? gcut_dim_floormod(x, y)
                                   : -gcut_dim_floordiv(-x, y);
    return true;
}

/* Subexpressions of a size may be negative, the size itself may not. */
static bool eval(const bindings *b, gcut_dim d, int64_t *out)
{
    if (d >= 0) return *out = d, true;
    const gcut_dim_binding *own = bisect(b, d);
    if (own) return *out = own->value, true;
    const gcut_dim_expr *e = gcut_dim_expr_of(b->t, d);
    *out = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const gcut_dim_mono *m = &b->t->monos.at[e->term[i].mono];
        int64_t product = e->term[i].coef, factor;
        for (uint32_t k = 0; k < m->n; k++)
            if (!eval_atom(b, &b->t->atoms.at[m->atom[k]], &factor) ||
                __builtin_mul_overflow(product, factor, &product))
                return false;
        if (__builtin_add_overflow(*out, product, out)) return false;
    }
    return true;
}

bool gcut_dim_eval(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb, int64_t *out)
{
    return eval(&(bindings){t, b, nb}, d, out) && *out >= 0;
}

int64_t gcut_dim_at(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb, gcut_place place)
{
    int64_t value;
    if (gcut_dim_eval(t, d, b, nb, &value)) return value;
    gcut_env *env = gcut_arena_env(t->arena);
    const char *text = gcut_dim_text(t->arena, t, d), *unbound = gcut_dim_unbound(t, d, b, nb);
    if (!unbound)
        gcut_fail(env, GCUT_EDIM, place, NULL,
                  "the size %s has no value here: it divides by zero, or is below 0 or beyond 2^63", text);
    gcut_fail(env, GCUT_EDIM, place,
              gcut_printf(t->arena, "give every symbol a value, such as --at %s=32", unbound),
              "the size %s has no value here, because %s has none", text, unbound);
}

/* ---- bounds ---- */

/* Interval arithmetic in 128 bits.  An end at -INF or INF is unbounded and stays so in sums and products. */
__extension__ typedef __int128 wide;
#define INF ((wide)1 << 120)

typedef struct interval {
    wide lo, hi;
} interval;

typedef struct decls {
    const gcut_dims *t;
    const gcut_dim_decl *at;
    uint32_t n;
} decls;

static interval range_of(const decls *s, gcut_dim d);

static wide clamp(wide x)
{
    return x > INF ? INF : x < -INF ? -INF : x;
}

static wide times(wide a, wide b)
{
    wide r;
    if (a == 0 || b == 0) return 0;
    if (a == INF || a == -INF || b == INF || b == -INF || __builtin_mul_overflow(a, b, &r))
        return (a < 0) == (b < 0) ? INF : -INF;
    return clamp(r);
}

static interval add(interval a, interval b)
{
    interval r;
    r.lo = a.lo == -INF || b.lo == -INF ? -INF : clamp(a.lo + b.lo);
    r.hi = a.hi == INF || b.hi == INF ? INF : clamp(a.hi + b.hi);
    return r;
}

static void cover(interval *r, wide x)
{
    if (x < r->lo) r->lo = x;
    if (x > r->hi) r->hi = x;
}

static interval mul(interval a, interval b)
{
    interval r = {times(a.lo, b.lo), times(a.lo, b.lo)};
    cover(&r, times(a.lo, b.hi));
    cover(&r, times(a.hi, b.lo));
    cover(&r, times(a.hi, b.hi));
    return r;
}

static wide quotient(wide a, wide b)
{
    if (a == INF || a == -INF) return (a < 0) == (b < 0) ? INF : -INF;
    wide q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* On either side of 0 the quotient is monotone in the divisor, so the extremes lie at the ends and next to 0.
 */
static interval divide(interval a, interval b)
{
    wide at[4] = {b.lo, -1, 1, b.hi};
    interval r = {INF, -INF};
    for (int i = 0; i < 4; i++) {
        if (at[i] == 0 || at[i] < b.lo || at[i] > b.hi) continue;
        cover(&r, quotient(a.lo, at[i]));
        cover(&r, quotient(a.hi, at[i]));
    }
    return r.lo <= r.hi ? r : (interval){-INF, INF}; /* the divisor can only be 0: it has no value */
}

static interval remainder_of(interval a, interval b)
{
    if (b.lo > 0 && a.lo >= 0 && a.hi < b.lo) return a;
    interval r = {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0};
    if (b.lo >= 0 && a.lo >= 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

static interval symbol_range(const decls *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (gcut_dim_symbol_name(s->t, s->at[i].sym) == name) return (interval){s->at[i].lo, s->at[i].hi};
    return (interval){0, GCUT_DIM_MAX};
}

static interval atom_range(const decls *s, const gcut_dim_atom *a)
{
    if (a->name) return symbol_range(s, a->name);
    interval x = range_of(s, a->a), y = range_of(s, a->b);
    switch (a->op) {
    case GCUT_DIM_MIN: return (interval){x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    case GCUT_DIM_MAXOF: return (interval){x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    case GCUT_DIM_MOD: return remainder_of(x, y);
    case GCUT_DIM_CEILDIV: {
        interval r = divide((interval){-x.hi, -x.lo}, y);
        return (interval){-r.hi, -r.lo};
    }
    default: return divide(x, y);
    }
}

static interval sum_range(const decls *s, const gcut_dim_term *term, uint32_t n)
{
    interval sum = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const gcut_dim_mono *m = &s->t->monos.at[term[i].mono];
        interval product = {term[i].coef, term[i].coef};
        for (uint32_t k = 0; k < m->n; k++)
            product = mul(product, atom_range(s, &s->t->atoms.at[m->atom[k]]));
        sum = add(sum, product);
    }
    return sum;
}

static interval range_of(const decls *s, gcut_dim d)
{
    if (d >= 0) return (interval){d, d};
    const gcut_dim_expr *e = gcut_dim_expr_of(s->t, d);
    return sum_range(s, e->term, e->n);
}

static int64_t narrow(wide x)
{
    return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x;
}

void gcut_dim_range(const gcut_dims *t, gcut_dim d, const gcut_dim_decl *decl, uint32_t n, int64_t *lo,
                    int64_t *hi)
{
    interval r = range_of(&(decls){t, decl, n}, d);
    *lo = narrow(r.lo);
    *hi = narrow(r.hi);
}

/* ---- comparing ---- */

/* A number that divides the term whatever its symbols are. */
static int64_t divisor_of(const decls *s, gcut_dim_term term)
{
    const gcut_dim_mono *m = &s->t->monos.at[term.mono];
    int64_t d = term.coef, more;
    for (uint32_t k = 0; k < m->n; k++) {
        const char *name = s->t->atoms.at[m->atom[k]].name;
        for (uint32_t i = 0; name && i < s->n; i++)
            if (gcut_dim_symbol_name(s->t, s->at[i].sym) == name && s->at[i].mult > 0 &&
                !__builtin_mul_overflow(d, s->at[i].mult, &more) && more != INT64_MIN)
                d = more;
    }
    return d;
}

gcut_dim_cmp gcut_dim_compare(gcut_dims *t, gcut_dim a, gcut_dim b, const gcut_dim_decl *decl, uint32_t n)
{
    if (a == b) return GCUT_DIM_EQUAL;
    if (a >= 0 && b >= 0) return GCUT_DIM_DIFFERS;
    gcut_dim_poly p, q;
    gcut_dim_load(t, a, &p);
    gcut_dim_load(t, b, &q);
    if (gcut_dim_poly_add(t, &p, -1, &q, &p)) return GCUT_DIM_UNDECIDED;
    decls s = {t, decl, n};
    interval r = sum_range(&s, p.at, p.n);
    if (r.lo > 0 || r.hi < 0) return GCUT_DIM_DIFFERS;
    int64_t constant = gcut_dim_poly_const(&p), g = 0;
    for (uint32_t i = 0; i < p.n; i++)
        if (p.at[i].mono != 0) g = gcut_dim_gcd(g, divisor_of(&s, p.at[i]));
    return constant != 0 && g != 0 && constant % g != 0 ? GCUT_DIM_DIFFERS : GCUT_DIM_UNDECIDED;
}

/* ---- symbols ---- */

static bool uses(const gcut_dims *t, gcut_dim d, const gcut_dim_atom *sym)
{
    if (d >= 0) return false;
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    for (uint32_t i = 0; i < e->n; i++) {
        const gcut_dim_mono *m = &t->monos.at[e->term[i].mono];
        for (uint32_t k = 0; k < m->n; k++) {
            const gcut_dim_atom *a = &t->atoms.at[m->atom[k]];
            if (a == sym || (!a->name && (uses(t, a->a, sym) || uses(t, a->b, sym)))) return true;
        }
    }
    return false;
}

/* Does the symbol `sym` occur in d? */
static bool has_symbol(const gcut_dims *t, gcut_dim d, gcut_dim sym)
{
    const gcut_dim_expr *e = gcut_dim_expr_of(t, sym);
    return uses(t, d, &t->atoms.at[t->monos.at[e->term[0].mono].atom[0]]);
}

const char *gcut_dim_unbound(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb)
{
    int64_t value;
    for (uint32_t i = 0; i < t->symbols.n; i++)
        if (has_symbol(t, d, t->symbols.at[i]) && !gcut_dim_eval(t, t->symbols.at[i], b, nb, &value))
            return gcut_dim_symbol_name(t, t->symbols.at[i]);
    return NULL;
}

/* Adds a symbol to n others, which are in order of interning: their numbers fall. */
static uint32_t add_symbol(gcut_dim *at, uint32_t n, gcut_dim sym)
{
    uint32_t i = n;
    while (i > 0 && at[i - 1] < sym) i--;
    if (i > 0 && at[i - 1] == sym) return n;
    GCUT_ASSERT(n < GCUT_DIM_MAX_SYMBOLS);
    memmove(at + i + 1, at + i, (n - i) * sizeof *at);
    at[i] = sym;
    return n + 1;
}

static uint32_t add_symbols(const gcut_dims *t, gcut_dim d, gcut_dim *at, uint32_t n)
{
    if (d >= 0) return n;
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    for (uint32_t i = 0; i < e->n; i++) {
        const gcut_dim_mono *m = &t->monos.at[e->term[i].mono];
        for (uint32_t k = 0; k < m->n; k++) {
            const gcut_dim_atom *a = &t->atoms.at[m->atom[k]];
            n = a->name ? add_symbol(at, n, a->self) : add_symbols(t, a->b, at, add_symbols(t, a->a, at, n));
        }
    }
    return n;
}

uint32_t gcut_dim_symbols(const gcut_dims *t, gcut_dim d, gcut_dim out[GCUT_DIM_MAX_SYMBOLS])
{
    return add_symbols(t, d, out, 0);
}
