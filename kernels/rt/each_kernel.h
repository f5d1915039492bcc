/* SPDX-License-Identifier: MIT
 *
 * The instances of a kernel that the compiler's vectors are enough for, one per element type and instruction
 * set: included with KERNEL the file that has it, which finds
 *   NAME(x)  the instance's name of x        T      the element type
 *   TARGET   attributes of the functions     LANES  elements of a vector
 */
#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#include KERNEL

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#include KERNEL

#ifdef __x86_64__

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#include KERNEL

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#include KERNEL

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#include KERNEL

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#include KERNEL

#endif
#undef KERNEL
