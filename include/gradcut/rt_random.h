/* SPDX-License-Identifier: MIT
 *
 * Random numbers as a function of a key and a counter.
 */
#ifndef GRADCUT_RT_RANDOM_H
#define GRADCUT_RT_RANDOM_H

#include <stdint.h>

#include "gradcut/rt_bits.h"

/* Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw, SC'11) of the counter i under the key: a pure
 * function, in 32-bit operations that vectorise.  A 64-bit number is two words, the high one first. */
#define GCUT_RT_ROUND(by) (a += b, b = (b << (by) | b >> (32 - (by))) ^ a)
GCUT_INLINE void gcut_threefry(int64_t key, int64_t i, uint32_t *hi, uint32_t *lo)
{
    const uint32_t k0 = (uint32_t)((uint64_t)key >> 32), k1 = (uint32_t)(uint64_t)key;
    const uint32_t k2 = k0 ^ k1 ^ 0x1BD11BDAu;
    uint32_t a = (uint32_t)((uint64_t)i >> 32) + k0, b = (uint32_t)(uint64_t)i + k1;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    a += k1, b += k2 + 1u;
    GCUT_RT_ROUND(17), GCUT_RT_ROUND(29), GCUT_RT_ROUND(16), GCUT_RT_ROUND(24);
    a += k2, b += k0 + 2u;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    a += k0, b += k1 + 3u;
    GCUT_RT_ROUND(17), GCUT_RT_ROUND(29), GCUT_RT_ROUND(16), GCUT_RT_ROUND(24);
    a += k1, b += k2 + 4u;
    GCUT_RT_ROUND(13), GCUT_RT_ROUND(15), GCUT_RT_ROUND(26), GCUT_RT_ROUND(6);
    *hi = a + k2;
    *lo = b + k0 + 5u;
}
#undef GCUT_RT_ROUND

GCUT_INLINE int64_t gcut_random_i64(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (int64_t)((uint64_t)hi << 32 | lo);
}
/* 24 bits in [0, 1). */
GCUT_INLINE float gcut_random_f32(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (float)(int32_t)((hi ^ lo) >> 8) * 0x1p-24f;
}
/* 53 bits in [0, 1): both parts and their sum are exact. */
GCUT_INLINE double gcut_random_f64(int64_t key, int64_t i)
{
    uint32_t hi, lo;
    gcut_threefry(key, i, &hi, &lo);
    return (double)hi * 0x1p-32 + (double)(int32_t)(lo >> 11) * 0x1p-53;
}

#endif
