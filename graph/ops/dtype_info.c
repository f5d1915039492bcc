/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dtypes: their table, rounding to the nearest float, bounds of integers.
 */
#include "graph/ops/dtype_info.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    char kind;
} dtypes[GCUT_NDTYPES] = {
#define DTYPE(id, text, size, class, ctype, npy) [GCUT_##id] = {text, size, #class[0]},
#include "graph/ops/dtype.def"
#undef DTYPE
};

enum {
#define DTYPE(id, ...) ROW_##id,
#include "graph/ops/dtype.def"
#undef DTYPE
    ROWS
};
#define DTYPE(id, ...)                                                                                       \
    _Static_assert((int)ROW_##id == (int)GCUT_##id, "graph/ops/dtype.def is in the order of "                \
                                                    "gradcut/dtype.h");
#include "graph/ops/dtype.def"
#undef DTYPE
_Static_assert(ROWS == GCUT_NDTYPES, "graph/ops/dtype.def has a row for each dtype");

const char *gcut_dtype_name(gcut_dtype t)
{
    return dtypes[t].name;
}
int64_t gcut_dtype_bytes(gcut_dtype t)
{
    return dtypes[t].bytes;
}
bool gcut_dtype_is_float(gcut_dtype t)
{
    return dtypes[t].kind == 'F';
}
bool gcut_dtype_is_16bit_float(gcut_dtype t)
{
    return gcut_dtype_is_float(t) && gcut_dtype_bytes(t) == 2;
}

bool gcut_dtype_is_int(gcut_dtype t)
{
    return dtypes[t].kind == 'I' || dtypes[t].kind == 'U';
}

bool gcut_dtype_parse(const char *s, gcut_dtype *out)
{
    for (int i = 0; i < GCUT_NDTYPES; i++)
        if (!strcmp(dtypes[i].name, s)) return *out = (gcut_dtype)i, true;
    return false;
}

/* x to the nearest number of `prec` significant bits with exponents from emin up (subnormals below it keep
 * the spacing of emin), ties to even; what rounds beyond `largest` is infinite.  Scaling by powers of two
 * is exact here: the scaled value is below 2^prec, and where it is subnormal it rounds to 0 anyway. */
static double nearest(double x, int prec, int emin, double largest)
{
    int exponent;
    if (x == 0 || !isfinite(x)) return x;
    frexp(x, &exponent); /* |x| = m 2^exponent, 1/2 <= m < 1 */
    int unit = exponent - prec > emin - prec + 1 ? exponent - prec : emin - prec + 1;
    double r = ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(r) > largest ? copysign(INFINITY, x) : r;
}

void gcut_dtype_bounds(gcut_dtype t, int64_t *lo, int64_t *hi)
{
    int bits = (int)gcut_dtype_bytes(t) * 8;
    bool is_signed = gcut_dtype_is_int(t) && t != GCUT_U8;
    *hi = t == GCUT_BOOL ? 1 : INT64_MAX >> (64 - bits - (is_signed ? 0 : 1));
    *lo = is_signed ? -*hi - 1 : 0;
}

double gcut_round_to(double x, gcut_dtype t)
{
    switch (t) {
    case GCUT_F16: return nearest(x, 11, -14, 65504.0);
    case GCUT_BF16: return nearest(x, 8, -126, 0x1.fep127);
    case GCUT_F32: return (double)(float)x;
    default: return x;
    }
}
