/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Helpers of the evaluators: arrays and their packed form, wrapping of integers, and attributes as
 * concrete numbers.
 */
#include "interp/eval.h"

#include <string.h>

/* ---- integers ---- */

void gcut_eval_bounds(gcut_dtype t, int64_t *lo, int64_t *hi)
{
    int bits = (int)gcut_dtype_bytes(t) * 8;
    bool is_signed = gcut_dtype_is_int(t) && t != GCUT_U8;
    *hi = t == GCUT_BOOL ? 1 : INT64_MAX >> (64 - bits - (is_signed ? 0 : 1));
    *lo = is_signed ? -*hi - 1 : 0;
}

int64_t gcut_eval_wrap(int64_t x, gcut_dtype t)
{
    switch (t) {
    case GCUT_BOOL: return x & 1;
    case GCUT_I8: return (int8_t)(uint8_t)x;
    case GCUT_I16: return (int16_t)(uint16_t)x;
    case GCUT_I32: return (int32_t)(uint32_t)x;
    case GCUT_U8: return (uint8_t)x;
    default: return x;
    }
}

int64_t gcut_eval_truncate(double x, gcut_dtype t)
{
    int64_t lo, hi;
    gcut_eval_bounds(t, &lo, &hi);
    if (isnan(x)) return 0;
    /* (double)INT64_MAX is 2^63, one more than any i64, hence >= and <=. */
    return x >= (double)hi ? hi : x <= (double)lo ? lo : (int64_t)x;
}

/* ---- packed memory ---- */

gcut_array gcut_array_new(gcut_arena *a, gcut_dtype t, uint32_t rank, const int64_t *dim)
{
    gcut_array x = {.dtype = t, .rank = (uint8_t)rank, .n = 1};
    bool empty = false;
    GCUT_ASSERT(rank <= GCUT_MAX_RANK);
    for (uint32_t r = 0; r < rank; r++) {
        GCUT_ASSERT(dim[r] >= 0);
        x.dim[r] = dim[r];
        empty = empty || dim[r] == 0;
    }
    for (uint32_t r = 0; r < rank && !empty; r++)
        if (__builtin_mul_overflow(x.n, dim[r], &x.n))
            gcut_fail(gcut_arena_env(a), GCUT_EDIM, (gcut_place){0}, NULL,
                      "an array has more than 2^63 elements");
    if (empty) x.n = 0;
    x.u.at = gcut_calloc(a, (size_t)(x.n ? x.n : 1), 8);
    return x;
}

/* IEEE binary16 and bfloat16 differ only in the width of their exponent. */
static double unpack_half(uint16_t bits, int fraction_bits, int emin)
{
    int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    int top = 0x7fff >> fraction_bits;
    double x = exponent == top ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent == 0 ? ldexp(fraction, emin - fraction_bits)
                               : ldexp(fraction + (1 << fraction_bits), exponent - 1 + emin - fraction_bits);
    return bits & 0x8000 ? -x : x;
}

static uint16_t pack_half(double x, int fraction_bits, int emin)
{
    int sign = signbit(x) ? 0x8000 : 0, top = 0x7fff >> fraction_bits << fraction_bits, exponent;
    if (isnan(x)) return (uint16_t)(sign | top | 1 << (fraction_bits - 1));
    if (isinf(x)) return (uint16_t)(sign | top);
    if (x == 0) return (uint16_t)sign;
    frexp(x, &exponent); /* the leading bit weighs 2^(exponent - 1) */
    int biased = exponent - 1 - emin + 1;
    int unit = (biased > 0 ? exponent - 1 : emin) - fraction_bits;
    int digits = (int)ldexp(fabs(x), -unit); /* exact: x is rounded already */
    return (uint16_t)(sign |
                      (biased > 0 ? (biased << fraction_bits) + digits - (1 << fraction_bits) : digits));
}

#define LOAD(ctype, member, expr)                                                                            \
    {                                                                                                        \
        ctype v;                                                                                             \
        memcpy(&v, (const char *)packed + (size_t)k * sizeof v, sizeof v);                                   \
        x.u.member[k] = expr;                                                                                \
        break;                                                                                               \
    }

gcut_array gcut_array_load(gcut_arena *a, gcut_dtype t, uint32_t rank, const int64_t *dim, const void *packed)
{
    gcut_array x = gcut_array_new(a, t, rank, dim);
    for (int64_t k = 0; k < x.n; k++) switch (t) {
        case GCUT_BOOL: LOAD(uint8_t, i, v != 0)
        case GCUT_I8: LOAD(int8_t, i, v)
        case GCUT_I16: LOAD(int16_t, i, v)
        case GCUT_I32: LOAD(int32_t, i, v)
        case GCUT_I64: LOAD(int64_t, i, v)
        case GCUT_U8: LOAD(uint8_t, i, v)
        case GCUT_F16: LOAD(uint16_t, f, unpack_half(v, 10, -14))
        case GCUT_BF16: LOAD(uint16_t, f, unpack_half(v, 7, -126))
        case GCUT_F32: LOAD(float, f, (double)v)
        case GCUT_F64: LOAD(double, f, v)
        case GCUT_NO_DTYPE: break;
        }
    return x;
}

#define STORE(ctype, expr)                                                                                   \
    {                                                                                                        \
        ctype v = (ctype)(expr);                                                                             \
        memcpy((char *)packed + (size_t)k * sizeof v, &v, sizeof v);                                         \
        break;                                                                                               \
    }

void gcut_array_store(const gcut_array *x, void *packed)
{
    for (int64_t k = 0; k < x->n; k++) switch (x->dtype) {
        case GCUT_BOOL: STORE(uint8_t, x->u.i[k] != 0)
        case GCUT_I8: STORE(int8_t, x->u.i[k])
        case GCUT_I16: STORE(int16_t, x->u.i[k])
        case GCUT_I32: STORE(int32_t, x->u.i[k])
        case GCUT_I64: STORE(int64_t, x->u.i[k])
        case GCUT_U8: STORE(uint8_t, x->u.i[k])
        case GCUT_F16: STORE(uint16_t, pack_half(gcut_round_to(x->u.f[k], GCUT_F16), 10, -14))
        case GCUT_BF16: STORE(uint16_t, pack_half(gcut_round_to(x->u.f[k], GCUT_BF16), 7, -126))
        case GCUT_F32: STORE(float, x->u.f[k])
        case GCUT_F64: STORE(double, x->u.f[k])
        case GCUT_NO_DTYPE: break;
        }
}

/* ---- attributes ---- */

gcut_place gcut_eval_place(const gcut_eval *e)
{
    return gcut_loc_place(e->g->module, e->node->loc);
}

int64_t gcut_eval_size(const gcut_graph *g, gcut_dim d, const gcut_dim_binding *bind, uint32_t nbind,
                       gcut_locid loc)
{
    const gcut_module *m = g->module;
    int64_t out;
    if (gcut_dim_known(d)) return d;
    if (gcut_dim_eval(m->dims, d, bind, nbind, &out)) return out;
    gcut_text text = {.arena = m->arena};
    gcut_dim_print(m->dims, d, &text);
    gcut_dim syms[16], *unbound = NULL;
    uint32_t n = gcut_dim_symbols(m->dims, d, syms, 16);
    for (uint32_t i = 0; i < n && i < 16 && !unbound; i++)
        if (!gcut_dim_eval(m->dims, syms[i], bind, nbind, &out)) unbound = &syms[i];
    if (unbound)
        gcut_fail(m->env, GCUT_EDIM, gcut_loc_place(m, loc), NULL,
                  "the size %s depends on %s, which no parameter's shape determines", text.at,
                  gcut_dim_symbol_name(m->dims, *unbound));
    gcut_fail(m->env, GCUT_EDIM, gcut_loc_place(m, loc), NULL,
              "the size %s has no value here: it divides by zero, or is below 0 or beyond 2^63", text.at);
}

bool gcut_eval_dims(const gcut_eval *e, gcut_attr_key key, int64_t *out)
{
    const gcut_attr *a = gcut_attr_get(e->g, e->node, key);
    if (!a) return false;
    for (uint32_t k = 0; k < a->n; k++)
        out[k] = gcut_eval_size(e->g, a->u.dims[k], e->bind, e->nbind, e->node->loc);
    return true;
}

uint32_t gcut_eval_axis(const gcut_eval *e)
{
    return (uint32_t)gcut_attr_get(e->g, e->node, GCUT_KEY_axis)->u.dim;
}

int64_t gcut_eval_index(const gcut_eval *e, int64_t i, int64_t n)
{
    const gcut_attr *axis = gcut_attr_get(e->g, e->node, GCUT_KEY_axis);
    const char *op = gcut_op_get((gcut_op)e->node->op)->name;
    if (i >= 0 && i < n) return i;
    if (axis)
        gcut_fail(e->g->module->env, GCUT_EINDEX, gcut_eval_place(e), NULL,
                  "'%s': index %lld is outside of [0, %lld), the range of axis %lld", op, (long long)i,
                  (long long)n, (long long)axis->u.dim);
    gcut_fail(e->g->module->env, GCUT_EINDEX, gcut_eval_place(e), NULL,
              "'%s': index %lld is outside of [0, %lld)", op, (long long)i, (long long)n);
}
