/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The representation of dimensions; included by graph/dim/dim*.c only.
 *
 *   poly   sum of terms, sorted by monomial, no zero coefficient    <-> gcut_dim GCUT_DIM_EXPR(id)
 *   mono   product of atoms, sorted, repeated for powers; mono 0 is the empty product
 *   atom   a symbol, or an opaque op of two dims
 *
 * Each of the three is hash-consed: equal contents, equal id.  The order of
 * atoms is structural (symbols by name, then opaque terms by op and operands),
 * so the normal form and its text do not depend on what was interned first.
 *
 * An expression's weight is about the length of its text.  It is bounded, which
 * bounds the depth of every recursion here and the cost of every operation.
 */
#ifndef GCUT_GRAPH_DIM_DIM_TABLE_H
#define GCUT_GRAPH_DIM_DIM_TABLE_H

#include "graph/dim/dim.h"

#define GCUT_DIM_MAX_TERMS 256
#define GCUT_DIM_MAX_WEIGHT GCUT_DIM_MAX_SYMBOLS /* an expression has no more symbols than weight */

/* Expressions have numbers below -2^62, so that a small negative number is never one.  Each table has
 * numbers of its own: an expression of another table of the environment is refused.  The macro is its own
 * inverse; a table's expressions are those from `first` to first + exprs.n - 1. */
#define GCUT_DIM_EXPR(number) (-(INT64_C(1) << 62) - 1 - (number))

typedef struct gcut_dim_term {
    int64_t coef; /* never 0, never INT64_MIN */
    uint32_t mono;
} gcut_dim_term;

/* A polynomial under construction, not interned. */
typedef struct gcut_dim_poly {
    uint32_t n;
    gcut_dim_term at[GCUT_DIM_MAX_TERMS];
} gcut_dim_poly;

typedef struct gcut_dim_atom {
    const char *name; /* a symbol, or NULL */
    gcut_dim self;    /* of a symbol: it, as an expression */
    gcut_dim_op op;   /* DIV CEILDIV MOD MIN MAXOF */
    uint32_t weight;
    gcut_dim a, b;
} gcut_dim_atom;

typedef struct gcut_dim_mono {
    uint32_t n, weight;
    const uint32_t *atom;
} gcut_dim_mono;

typedef struct gcut_dim_expr {
    uint32_t n, weight;
    const gcut_dim_term *term;
} gcut_dim_expr;

/* Open addressing: slot[] holds id + 1, hash[] the whole hash beside it. */
typedef struct gcut_dim_index {
    uint32_t *slot;
    uint64_t *hash;
    uint32_t n, cap;
} gcut_dim_index;

/* out = a op b. */
typedef struct gcut_dim_made {
    gcut_dim_op op;
    gcut_dim a, b, out;
} gcut_dim_made;

struct gcut_dims {
    gcut_arena *arena;
    gcut_names names;
    GCUT_VEC(gcut_dim_atom) atoms;
    GCUT_VEC(gcut_dim_mono) monos;
    GCUT_VEC(gcut_dim_expr) exprs;
    GCUT_VEC(gcut_dim) symbols; /* in order of first interning */
    gcut_dim_index atom_index, mono_index, expr_index;
    gcut_dim_made recent[256]; /* a cache by hash: every pass multiplies the same sizes; {0} says 0 + 0 = 0 */
    int64_t first;             /* number of its first expression: a multiple of 2^32 below 2^61 */
};

static inline gcut_dim gcut_dim_numbered(const gcut_dims *t, uint32_t id)
{
    return GCUT_DIM_EXPR(t->first + id);
}

/* Throws GCUT_EUSAGE: d is not of this table.  Reached by wrong arguments of the public API. */
_Noreturn void gcut_dim_stranger(const gcut_dims *t, gcut_dim d);

static inline const gcut_dim_expr *gcut_dim_expr_of(const gcut_dims *t, gcut_dim d)
{
    if (d >= 0 || !gcut_dim_is_of(t, d)) gcut_dim_stranger(t, d);
    return &t->exprs.at[GCUT_DIM_EXPR(d) - t->first];
}

/* The reason why an operation below failed; NULL = it succeeded. */
typedef const char *gcut_dim_error;

/* ---- graph/dim/dim_table.c: the table and polynomials ---- */

int gcut_dim_order(const gcut_dims *t, gcut_dim a, gcut_dim b); /* structural: <0 0 >0 */
uint32_t gcut_dim_atom_new(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b);
void gcut_dim_load(const gcut_dims *t, gcut_dim d, gcut_dim_poly *out);
/* A negative constant is an error. */
gcut_dim_error gcut_dim_store(gcut_dims *t, const gcut_dim_poly *p, gcut_dim *out);
/* out = a + factor * b; out may be a, not b. */
gcut_dim_error gcut_dim_poly_add(gcut_dims *t, const gcut_dim_poly *a, int64_t factor, const gcut_dim_poly *b,
                                 gcut_dim_poly *out);
gcut_dim_error gcut_dim_poly_mul(gcut_dims *t, const gcut_dim_poly *a, const gcut_dim_poly *b,
                                 gcut_dim_poly *out);
/* p += coef * mono, in its place in the order. */
gcut_dim_error gcut_dim_poly_put(gcut_dims *t, gcut_dim_poly *p, int64_t coef, uint32_t mono);
uint32_t gcut_dim_mono_of(gcut_dims *t, uint32_t atom);
/* *out = a / b when b's atoms are all among a's. */
bool gcut_dim_mono_div(gcut_dims *t, uint32_t a, uint32_t b, uint32_t *out);
int64_t gcut_dim_poly_const(const gcut_dim_poly *p); /* the constant term */
/* The atom when d is exactly one opaque atom with that op, else NULL. */
const gcut_dim_atom *gcut_dim_sole(const gcut_dims *t, gcut_dim d, gcut_dim_op op);

/* ---- graph/dim/dim_div.c: normal forms of the opaque ops ---- */

gcut_dim_error gcut_dim_opaque(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b, gcut_dim *out);

/* Floor division of int64; b != 0, and the quotient must fit. */
static inline int64_t gcut_dim_floordiv(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* The remainder of gcut_dim_floordiv: 0, or of the sign of b. */
static inline int64_t gcut_dim_floormod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#endif
