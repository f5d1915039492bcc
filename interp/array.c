/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arrays and their packed form.
 */
#include "interp/array.h"

#include <math.h>
#include <string.h>

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

gcut_num gcut_array_number(const gcut_array *x, int64_t k)
{
    return gcut_dtype_is_float(x->dtype) ? (gcut_num){.f = x->u.f[k]}
                                         : (gcut_num){true, x->u.i[k], (double)x->u.i[k]};
}
