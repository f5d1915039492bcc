/* SPDX-License-Identifier: MIT
 *
 * Includes the reference kernel KERNEL for each element type and instruction set (each_isa_kernel.h).
 */
#define TYPE f32
#include "kernels/rt/each_isa_kernel.h"
#undef TYPE
#define TYPE f64
#include "kernels/rt/each_isa_kernel.h"
#undef TYPE
#undef KERNEL
