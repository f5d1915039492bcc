/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Threefry-2x32 with 20 rounds, as in gradcut/rt_random.h.
 */
#include "text/stablehlo/writer.h"

/* Words have the shape of the counter and 32 bits, for which there is no dtype. */
typedef struct words {
    gcut_hlo *w;
    const char *type, *wide; /* tensor<..xui32>, tensor<..xui64> */
} words;

static const char *op(const words *x, const char *name, const char *a, const char *b)
{
    return gcut_hlo_let(x->w, NULL, "stablehlo.%s %s, %s : %s", name, a, b, x->type);
}

static const char *number(const words *x, uint32_t n)
{
    return gcut_hlo_let(x->w, NULL, "stablehlo.constant dense<%lu> : %s", (unsigned long)n, x->type);
}

static const char *wide_number(const words *x, unsigned long long n)
{
    return gcut_hlo_let(x->w, NULL, "stablehlo.constant dense<%llu> : %s", n, x->wide);
}

/* The two words of a number, the high one first. */
static void split(const words *x, const char *v, const char *type, const char *out[2])
{
    v = gcut_hlo_let(x->w, NULL, "stablehlo.bitcast_convert %s : (%s) -> %s", v, type, x->wide);
    const char *high =
        gcut_hlo_let(x->w, NULL, "stablehlo.shift_right_logical %s, %s : %s", v, wide_number(x, 32), x->wide);
    out[0] = gcut_hlo_let(x->w, NULL, "stablehlo.convert %s : (%s) -> %s", high, x->wide, x->type);
    out[1] = gcut_hlo_let(x->w, NULL, "stablehlo.convert %s : (%s) -> %s", v, x->wide, x->type);
}

static void round_by(const words *x, const char *ab[2], uint32_t by)
{
    ab[0] = op(x, "add", ab[0], ab[1]);
    const char *left = op(x, "shift_left", ab[1], number(x, by)),
               *right = op(x, "shift_right_logical", ab[1], number(x, 32 - by));
    ab[1] = op(x, "xor", op(x, "or", left, right), ab[0]);
}

static void threefry(const words *x, const char *const key[2], const char *ab[2])
{
    static const uint32_t by[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const char *k[3] = {key[0], key[1], op(x, "xor", op(x, "xor", key[0], key[1]), number(x, 0x1BD11BDAu))};
    ab[0] = op(x, "add", ab[0], k[0]);
    ab[1] = op(x, "add", ab[1], k[1]);
    for (uint32_t r = 0; r < 5; r++) {
        for (uint32_t i = 0; i < 4; i++) round_by(x, ab, by[r % 2][i]);
        ab[0] = op(x, "add", ab[0], k[(r + 1) % 3]);
        ab[1] = op(x, "add", op(x, "add", ab[1], k[(r + 2) % 3]), number(x, r + 1));
    }
}

/* f32: 24 bits of both words; f64: 32 of the first and 21 of the second; i64: all. */
void gcut_hlo_random(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type in = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    const words x = {w, gcut_hlo_tensor(w, &to, "ui32"), gcut_hlo_tensor(w, &to, "ui64")};
    const char *type = gcut_hlo_type(w, &in), *result = gcut_hlo_type(w, &to), *key[2], *ab[2],
               *own = gcut_hlo_own(w, 0);
    split(&x, gcut_hlo_operand(w, 0), type, key);
    split(&x, gcut_hlo_operand(w, 1), type, ab);
    threefry(&x, key, ab);
    if (to.dtype == GCUT_F32) {
        const char *bits = op(&x, "shift_right_logical", op(&x, "xor", ab[0], ab[1]), number(&x, 8));
        bits = gcut_hlo_let(w, NULL, "stablehlo.convert %s : (%s) -> %s", bits, x.type, result);
        gcut_hlo_binary(w, own, "stablehlo.multiply", bits, gcut_hlo_number(w, 0x1p-24, &to), &to);
    } else if (to.dtype == GCUT_F64) {
        const char *high = gcut_hlo_let(w, NULL, "stablehlo.convert %s : (%s) -> %s", ab[0], x.type, result),
                   *low = op(&x, "shift_right_logical", ab[1], number(&x, 11));
        low = gcut_hlo_let(w, NULL, "stablehlo.convert %s : (%s) -> %s", low, x.type, result);
        high = gcut_hlo_binary(w, NULL, "stablehlo.multiply", high, gcut_hlo_number(w, 0x1p-32, &to), &to);
        low = gcut_hlo_binary(w, NULL, "stablehlo.multiply", low, gcut_hlo_number(w, 0x1p-53, &to), &to);
        gcut_hlo_binary(w, own, "stablehlo.add", high, low, &to);
    } else {
        const char *high = gcut_hlo_let(w, NULL, "stablehlo.convert %s : (%s) -> %s", ab[0], x.type, x.wide),
                   *low = gcut_hlo_let(w, NULL, "stablehlo.convert %s : (%s) -> %s", ab[1], x.type, x.wide);
        high = gcut_hlo_let(w, NULL, "stablehlo.shift_left %s, %s : %s", high, wide_number(&x, 32), x.wide);
        high = gcut_hlo_let(w, NULL, "stablehlo.or %s, %s : %s", high, low, x.wide);
        gcut_hlo_let(w, own, "stablehlo.bitcast_convert %s : (%s) -> %s", high, x.wide, result);
    }
}
