/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The same tests compiled for the oldest machine of the architecture: without FMA, without rounding
 * instructions.
 */
#include "test_rt_math.c"
