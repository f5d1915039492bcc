/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Internal header of the reference interpreter: the evaluation of one node, the scalar helpers that the
 * feval / ieval columns of graph/ops/ops.def name, and index arithmetic.  Private to interp/interp.c,
 * interp/eval*.c and interp/initial_values.c.
 */
#ifndef GCUT_INTERP_EVAL_H
#define GCUT_INTERP_EVAL_H

#include <math.h>

#include "interp/array.h"
#include "graph/ops/infer.h"

/* One node being evaluated.  `out` is zeroed and has the result's concrete type; an evaluator fills it
 * without rounding or wrapping, which the interpreter does once afterwards.  The same holds for further
 * results. */
typedef struct gcut_eval {
    const gcut_graph *g;
    const gcut_node *node;
    gcut_precision prec;
    const gcut_dim_binding *bind;
    uint32_t nbind;
    uint32_t nargs;
    const gcut_array *arg;
    gcut_array out;   /* == outs[0], and shares its elements */
    gcut_array *outs; /* by result */
    gcut_arena *arena;
} gcut_eval;

typedef void gcut_eval_fn(gcut_eval *e);

/* Every T(fn) of the table; a row with an unwritten evaluator does not link. */
#define E(...)
#define NO
#define D(fn)
#define T(fn) gcut_eval_fn gcut_eval_##fn;
#define OP(name, operands, dtypes, attrs, shape, feval, ...) feval
#include "graph/ops/ops.def"
#undef OP
#undef T
#undef D
#undef NO
#undef E
/* Composites that are evaluated directly (reason: interp/interp.c). */
gcut_eval_fn gcut_eval_pick, gcut_eval_take_along;

/* Runs the body of a region of e's node with e's sizes and precision; params in the order of the body. */
void gcut_interp_body(const gcut_eval *e, const gcut_graph *body, const gcut_array *params, gcut_array *out,
                      gcut_arena *a);

/* x converted to integer dtype t: two's complement wrap-around; bool keeps the lowest bit. */
int64_t gcut_eval_wrap(int64_t x, gcut_dtype t);
/* x truncated toward zero and saturated at the bounds of t; NaN gives 0. */
int64_t gcut_eval_truncate(double x, gcut_dtype t);
/* The concrete value of a dim; throws GCUT_EDIM at loc when a symbol is unbound or the result is no size. */
int64_t gcut_eval_size(const gcut_graph *g, gcut_dim d, const gcut_dim_binding *bind, uint32_t nbind,
                       gcut_locid loc);
/* The concrete list of a DIMS attribute; false when optional and absent. */
bool gcut_eval_dims(const gcut_eval *e, gcut_attr_key key, int64_t *out);
/* An axis attribute. */
uint32_t gcut_eval_axis(const gcut_eval *e);
/* i, or GCUT_EINDEX unless 0 <= i < n. */
int64_t gcut_eval_index(const gcut_eval *e, int64_t i, int64_t n);
/* The user's line of the node. */
gcut_place gcut_eval_place(const gcut_eval *e);

/* ---- scalar helpers named by the table ---- */

/* Either branch only exponentiates a negative number, so nothing overflows. */
static inline double gcut_ref_sigmoid(double a)
{
    double t = exp(-fabs(a));
    return a >= 0 ? 1 / (1 + t) : t / (1 + t);
}

/* log(1 + e^a) = max(a, 0) + log(1 + e^-|a|); a NaN comes through the second term. */
static inline double gcut_ref_softplus(double a)
{
    return (a > 0 ? a : 0) + log1p(exp(-fabs(a)));
}

static inline double gcut_ref_max(double a, double b)
{
    return isnan(a) || isnan(b) ? a + b : a > b ? a : b;
}
static inline double gcut_ref_min(double a, double b)
{
    return isnan(a) || isnan(b) ? a + b : a < b ? a : b;
}

/* Unsigned arithmetic wraps where signed arithmetic would be undefined. */
static inline int64_t gcut_ref_wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t gcut_ref_wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t gcut_ref_wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Bitwise; wrapping a bool to its lowest bit afterwards makes this the logical complement there. */
static inline int64_t gcut_ref_not(int64_t a)
{
    return ~a;
}

/* The interpreter has refused b == 0 before; INT64_MIN / -1 wraps to itself. */
static inline int64_t gcut_ref_floordiv(int64_t a, int64_t b)
{
    if (b == 0) return 0;
    if (b == -1) return gcut_ref_wrap_sub(0, a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* a - floor(a / b) * b: the result has the sign of b. */
static inline int64_t gcut_ref_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* ---- index arithmetic ---- */

/* Coordinates of flat element k of x, and back. */
static inline void gcut_eval_unravel(const gcut_array *x, int64_t k, int64_t *at)
{
    for (uint32_t r = x->rank; r-- > 0;) {
        at[r] = k % x->dim[r];
        k /= x->dim[r];
    }
}

static inline int64_t gcut_eval_ravel(const gcut_array *x, const int64_t *at)
{
    int64_t k = 0;
    for (uint32_t r = 0; r < x->rank; r++) k = k * x->dim[r] + at[r];
    return k;
}

/* out[k] = in[j]; both arrays hold floats or both hold integers. */
static inline void gcut_eval_put(gcut_array *out, int64_t k, const gcut_array *in, int64_t j)
{
    if (gcut_dtype_is_float(out->dtype))
        out->u.f[k] = in->u.f[j];
    else
        out->u.i[k] = in->u.i[j];
}

/* x seen as [outer, n, inner] around one axis: element (o, j, i) is (o * n + j) * inner + i. */
typedef struct gcut_eval_split {
    int64_t outer, n, inner;
} gcut_eval_split;

static inline gcut_eval_split gcut_eval_around(const gcut_array *x, uint32_t axis)
{
    gcut_eval_split s = {1, x->dim[axis], 1};
    for (uint32_t r = 0; r < axis; r++) s.outer *= x->dim[r];
    for (uint32_t r = axis + 1; r < x->rank; r++) s.inner *= x->dim[r];
    return s;
}

#endif
