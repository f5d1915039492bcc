/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Symbolic dimensions.  A gcut_dim >= 0 is that size; one below -2^62 names an
 * expression in the module's table; those between are never sizes.  Expressions are kept in normal form (a
 * polynomial over symbols and opaque div/ceildiv/mod/min/max terms, monomials
 * sorted) and hash-consed, so equal normal form <=> equal gcut_dim.
 *
 * Arithmetic that leaves int64, or a negative constant result, throws
 * GCUT_ETYPE through gcut_fail; a symbolic result may turn out negative only
 * once its symbols are known, which gcut_dim_eval reports.
 */
#ifndef GCUT_GRAPH_DIM_DIM_H
#define GCUT_GRAPH_DIM_DIM_H

#include "base/arena.h"

typedef int64_t gcut_dim;
#define GCUT_DIM_MAX INT64_MAX
#define GCUT_DIM_BAD INT64_MIN /* never a dimension: marks "absent" in tables */

typedef struct gcut_dims gcut_dims; /* the table, one per module */

typedef enum gcut_dim_op {
    GCUT_DIM_ADD,
    GCUT_DIM_SUB,
    GCUT_DIM_MUL,
    GCUT_DIM_DIV, /* floor */
    GCUT_DIM_CEILDIV,
    GCUT_DIM_MOD, /* floor */
    GCUT_DIM_MIN,
    GCUT_DIM_MAXOF
} gcut_dim_op;

/* What a function declares of a symbol: lo <= N <= hi, N a multiple of mult. */
typedef struct gcut_dim_decl {
    gcut_dim sym;
    int64_t lo, hi, mult;
} gcut_dim_decl;

gcut_dims *gcut_dims_new(gcut_arena *arena);
/* t, a new table, gets all entries of `from` under the same numbers: a gcut_dim of `from` is the same
 * expression in t. */
void gcut_dims_copy(gcut_dims *t, const gcut_dims *from);
/* The symbol of that name; the same name is the same symbol. */
gcut_dim gcut_dim_symbol(gcut_dims *t, const char *name);
gcut_dim gcut_dim_make(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b);
/* Is d a number? */
static inline bool gcut_dim_known(gcut_dim d)
{
    return d >= 0;
}
/* Can d be an expression?  The numbers of dim_table.h end at -2^62 - 2^61 - 2^32. */
static inline bool gcut_dim_may_be_expression(gcut_dim d)
{
    return d < -(INT64_C(1) << 62) && d > -(INT64_C(3) << 61) - (INT64_C(1) << 32) - 2;
}
/* Is d a number or an expression of this table? */
bool gcut_dim_is_of(const gcut_dims *t, gcut_dim d);
/* NULL unless d is a bare symbol. */
const char *gcut_dim_symbol_name(const gcut_dims *t, gcut_dim d);
#define GCUT_DIM_MAX_SYMBOLS 2048 /* of one size */
/* Fills `out` with the bare symbols of d, each once, in order of first interning, and returns their number. */
uint32_t gcut_dim_symbols(const gcut_dims *t, gcut_dim d, gcut_dim out[GCUT_DIM_MAX_SYMBOLS]);

typedef struct gcut_dim_binding {
    gcut_dim sym;
    int64_t value;
} gcut_dim_binding;
/* False when a symbol is unbound, on overflow, division by zero or a negative result. */
bool gcut_dim_eval(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb, int64_t *out);
/* The name of a symbol of d that is unbound, or bound to a negative number; NULL: there is none. */
const char *gcut_dim_unbound(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb);
/* The value of d.  Where gcut_dim_eval is false it throws GCUT_EDIM at `place`: the message names the size and
 * what has no value in it, the hint says how to give it one. */
int64_t gcut_dim_at(const gcut_dims *t, gcut_dim d, const gcut_dim_binding *b, uint32_t nb, gcut_place place);
/* d with s[i].by in place of each symbol s[i].sym, simultaneously.  Throws GCUT_ETYPE at `place` when the
 * result is negative or too large.
 */
typedef struct gcut_dim_subst {
    gcut_dim sym, by;
} gcut_dim_subst;
gcut_dim gcut_dim_substitute(gcut_dims *t, gcut_dim d, const gcut_dim_subst *s, uint32_t n, gcut_place place);
/* Bounds of d under the declarations (saturated at int64); an undeclared symbol is 0..MAX. */
void gcut_dim_range(const gcut_dims *t, gcut_dim d, const gcut_dim_decl *decl, uint32_t n, int64_t *lo,
                    int64_t *hi);
/* Canonical text, parses back to the same dim: 128, N, 2*N+1, ceildiv(H,2). */
void gcut_dim_print(const gcut_dims *t, gcut_dim d, gcut_text *out);
const char *gcut_dim_text(gcut_arena *a, const gcut_dims *t, gcut_dim d);
/* C expression of type int64_t over variables named prefix+symbol; uses
 * gcut_rt_floordiv, gcut_rt_ceildiv, gcut_rt_mod, gcut_rt_min, gcut_rt_max. */
void gcut_dim_print_c(const gcut_dims *t, gcut_dim d, const char *prefix, gcut_text *out);
/* The same over variables of type double, which no product overflows, with gcut_rt_real_floordiv and so on.
 */
void gcut_dim_print_real(const gcut_dims *t, gcut_dim d, const char *prefix, gcut_text *out);

/* What computes an expression bottom up, with results of its own kind. */
typedef struct gcut_dim_visitor {
    void *self;
    const void *(*number)(void *self, int64_t x);
    const void *(*symbol)(void *self, gcut_dim symbol);
    /* a op b.  Of DIV, MOD, MIN and MAXOF `x` is the first operand as a dim; of ADD, SUB and MUL it is GCUT_DIM_BAD. */
    const void *(*binary)(void *self, gcut_dim_op op, const void *a, const void *b, gcut_dim x);
} gcut_dim_visitor;
/* Visits d in the order of its canonical text. */
const void *gcut_dim_visit(const gcut_dims *t, gcut_dim d, const gcut_dim_visitor *v);

typedef enum gcut_dim_cmp { GCUT_DIM_EQUAL, GCUT_DIM_DIFFERS, GCUT_DIM_UNDECIDED } gcut_dim_cmp;
/* EQUAL by normal form; DIFFERS when the ranges of a-b exclude 0 or a multiple rules it out. */
gcut_dim_cmp gcut_dim_compare(gcut_dims *t, gcut_dim a, gcut_dim b, const gcut_dim_decl *decl, uint32_t n);

/* Of two int64; 0 for 0 and 0. */
static inline int64_t gcut_dim_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

#endif
