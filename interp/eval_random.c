/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interpreter's random bits: Threefry-2x32 with 20 rounds (Salmon, Moraes,
 * Dror & Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11).  A 64-bit
 * number is two words, the high one first, as in jax.random.
 */
#include "interp/eval.h"

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* The key schedule injects words s, s + 1 (mod 3) of the extended key after every four rounds, and s itself.
 */
static uint64_t threefry(uint64_t key, uint64_t counter)
{
    static const int by[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t k[3] = {(uint32_t)(key >> 32), (uint32_t)key};
    uint32_t a = (uint32_t)(counter >> 32) + k[0], b = (uint32_t)counter + k[1];
    k[2] = k[0] ^ k[1] ^ 0x1BD11BDAu;
    for (uint32_t s = 1; s <= 5; s++) {
        for (int r = 0; r < 4; r++) {
            a += b;
            b = rotate(b, by[(s + 1) % 2][r]) ^ a;
        }
        a += k[s % 3];
        b += k[(s + 1) % 3] + s;
    }
    return (uint64_t)a << 32 | b;
}

/* f32: the upper 24 bits of the two words combined by exclusive or; f64: the upper 53 of all 64. */
void gcut_eval_random(gcut_eval *e)
{
    for (int64_t i = 0; i < e->out.n; i++) {
        uint64_t bits = threefry((uint64_t)e->arg[0].u.i[i], (uint64_t)e->arg[1].u.i[i]);
        if (e->out.dtype == GCUT_F32)
            e->out.u.f[i] = ldexp((double)(((uint32_t)(bits >> 32) ^ (uint32_t)bits) >> 8), -24);
        else if (e->out.dtype == GCUT_F64)
            e->out.u.f[i] = ldexp((double)(bits >> 11), -53);
        else
            e->out.u.i[i] = (int64_t)bits;
    }
}
