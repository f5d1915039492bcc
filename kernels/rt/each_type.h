/* SPDX-License-Identifier: MIT
 *
 * Includes the file TEMPLATE for f32 and for f64.  It finds T, TYPE and BITS (isa.h), and in NAME(x) the name
 * of x for the type: x_f32.
 */
#include "kernels/rt/isa.h"

#undef NAME
#define NAME(x) PASTE(x, TYPE)

#define TYPE f32
#include TEMPLATE
#undef TYPE
#define TYPE f64
#include TEMPLATE
#undef TYPE
#undef TEMPLATE
