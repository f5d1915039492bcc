/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Concrete values of `data` declarations and of unbound inputs.
 *
 * Random values come from a counter-based generator, Philox4x32-10 (Salmon,
 * Moraes, Dror & Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11):
 * element k of a stream is a pure function of (seed, stream, k), so it depends
 * on no order of evaluation, and its bits on nothing but libm's log, cos, sin.
 *
 *   key = seed     counter = (block low, block high, stream low, stream high)
 *   block b = two 64-bit words (w0 first)  ->  elements 2b and 2b+1
 *   uniform   u = (w >> 11) 2^-53 in [0, 1)
 *   normal    r cos t and r sin t with r = sqrt(-2 log(1 - u0)), t = 2 pi u1 (Box & Muller 1958)
 *   integer   lo + floor(w (hi - lo) / 2^64)
 */
#ifndef GCUT_INTERP_INITIAL_VALUES_H
#define GCUT_INTERP_INITIAL_VALUES_H

#include "interp/interp.h"

void gcut_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The array of `data @d`, its type's sizes given by dims (as many as its rank): splat(x), dense([..]),
 * normal(seed, std) and uniform(seed, lo, hi), rounded to the dtype; the seed alone chooses the stream, so
 * that renaming a declaration keeps its values. (Rounding to a narrow dtype may give hi itself.) Not of file(..),
 * whose reader is the caller.  Throws GCUT_ETYPE for a declaration that does not fit its type. */
gcut_array gcut_data_array(gcut_arena *arena, const gcut_module *m, const gcut_data *d, const int64_t *dims);

/* For an unbound input: floats normal(0, 1), integers and bool uniform in [lo, hi) as far as the dtype can
 * hold them.  The stream is (seed, name).  Throws GCUT_EUSAGE when no integer is in range. */
gcut_array gcut_random_array(gcut_arena *arena, gcut_dtype t, uint32_t rank, const int64_t *dims,
                             uint64_t seed, const char *name, int64_t lo, int64_t hi);

#endif
