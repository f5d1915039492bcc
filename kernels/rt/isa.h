/* SPDX-License-Identifier: MIT
 *
 * Which vectors the processor has.  A function that gains from them has an instance for each of
 *
 *   base     what every processor of the architecture has
 *   avx2     AVX2 with FMA
 *   avx512   AVX-512 F, DQ, BW and VL
 *
 * with these names in front or behind, and calls the widest that can run.  The tests link the library with a
 * smaller gcut_rt_widest (isa.c), and so run the others.
 */
#ifndef GCUT_KERNELS_RT_ISA_H
#define GCUT_KERNELS_RT_ISA_H

/* Instances that may run: 0: base alone, 1: avx2 too, 2: all. */
extern const int gcut_rt_widest;

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))

/* The operating system must save the registers: __builtin_cpu_supports asks XCR0 too. */
static inline int gcut_rt_has_avx2(void)
{
    return gcut_rt_widest >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static inline int gcut_rt_has_avx512(void)
{
    return gcut_rt_widest >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

/* F(…, name, attributes) for each. */
#define EACH_ISA(F, ...) F(__VA_ARGS__, base, ) F(__VA_ARGS__, avx2, AVX2) F(__VA_ARGS__, avx512, AVX512)

/* The instance NAME_avx512, NAME_avx2 or NAME_base of a function. */
#define WIDEST_(f) (gcut_rt_has_avx512() ? f##_avx512 : gcut_rt_has_avx2() ? f##_avx2 : f##_base)
#else
#define EACH_ISA(F, ...) F(__VA_ARGS__, base, )
#define WIDEST_(f) f##_base
#endif
#define WIDEST(f) WIDEST_(f)

#endif
