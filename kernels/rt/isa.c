/* SPDX-License-Identifier: MIT
 *
 * Which instruction set the library runs on: the one file that is compiled for each gradcut_rt_N.
 */
#include "kernels/rt/isa.h"

#include <stdatomic.h>

#ifndef GCUT_RT_WIDEST
#define GCUT_RT_WIDEST ISA_AVX512 /* the widest that is chosen: 0 base alone, 1 avx2 too, 2 all */
#endif

/* The operating system must save the registers: __builtin_cpu_supports asks XCR0 too. */
static int widest(void)
{
#ifdef __x86_64__
    if (GCUT_RT_WIDEST >= ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return ISA_AVX512;
    if (GCUT_RT_WIDEST >= ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return ISA_AVX2;
#endif
    return ISA_BASE;
}

int gcut_rt_isa(void)
{
    static _Atomic int known = -1;
    int isa = atomic_load_explicit(&known, memory_order_relaxed);
    if (isa < 0) atomic_store_explicit(&known, isa = widest(), memory_order_relaxed);
    return isa;
}
