/* SPDX-License-Identifier: MIT
 *
 * Scalar functions of emitted code, written so that gcc -O3 turns a loop over them into vector code:
 * no branches, no calls, no errno, selects instead of ifs.  They need neither -ffast-math nor a vector
 * library, and treat NaN, infinities, signed zeros and subnormal numbers as libm does unless said otherwise.
 *
 * Errors are in units in the last place of the correctly rounded float ("ulp"), as tests/rt/test_rt_math.c
 * checks them (sampled; over all floats with GCUT_EXHAUSTIVE=1), with FMA / without.  The rounding mode is to
 * nearest.
 *
 * Every part stands alone; emitted C includes all of them, through gradcut_rt.h.
 */
#ifndef GRADCUT_RT_MATH_H
#define GRADCUT_RT_MATH_H

#include "gradcut/rt_bits.h"
#include "gradcut/rt_half.h"
#include "gradcut/rt_integer.h"
#include "gradcut/rt_lanes.h"
#include "gradcut/rt_math_f32.h"
#include "gradcut/rt_math_f64.h"
#include "gradcut/rt_random.h"

#endif
