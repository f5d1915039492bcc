/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The examples' random numbers: SplitMix64 (Steele, Lea & Flood, "Fast
 * Splittable Pseudorandom Number Generators", OOPSLA 2014).  One 64-bit word of
 * state, the same sequence everywhere.
 */
#ifndef EXAMPLES_RANDOM_H
#define EXAMPLES_RANDOM_H

#include <math.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_word(rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1): the 53 bits that a double holds. */
static inline double rng_unit(rng *r)
{
    return (double)(rng_word(r) >> 11) * 0x1p-53;
}

/* Uniform in 0..n-1; the bias is below n 2^-53. */
static inline int64_t rng_below(rng *r, int64_t n)
{
    return (int64_t)(rng_unit(r) * (double)n);
}

/* Normal(0, 1) by Box and Muller; 1 - u is never 0. */
static inline double rng_normal(rng *r)
{
    double radius = sqrt(-2 * log(1 - rng_unit(r)));
    return radius * cos(6.283185307179586 * rng_unit(r));
}

#endif
