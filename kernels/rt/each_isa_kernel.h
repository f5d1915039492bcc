/* SPDX-License-Identifier: MIT
 *
 * Includes the reference kernel KERNEL for the element type TYPE and each instruction set, or for ISA alone
 * where that is defined.  It finds T, BITS, TARGET, LANES and its sizes (isa.h), and in NAME(x) the
 * instance's name of x: x_f32_avx2.
 */
#include "kernels/rt/isa.h"

#undef NAME
#define NAME(x) PASTE(PASTE(x, TYPE), ISA)
#ifdef ISA
#include KERNEL
#else

#define ISA base
#include KERNEL
#undef ISA

#ifdef __x86_64__
#define ISA avx2
#include KERNEL
#undef ISA
#define ISA avx512
#include KERNEL
#undef ISA
#endif

#endif
