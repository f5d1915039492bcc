/* SPDX-License-Identifier: MIT
 *
 * The one file that is compiled for each gradcut_rt_N.
 */
#include "kernels/rt/isa.h"

#ifndef GCUT_RT_WIDEST
#define GCUT_RT_WIDEST 2
#endif

const int gcut_rt_widest = GCUT_RT_WIDEST;
