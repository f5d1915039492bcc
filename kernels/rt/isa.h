/* SPDX-License-Identifier: MIT
 *
 * Instruction sets: which of them the processor has, and what each overrides in the reference kernels.
 *
 *   base     what every processor of the architecture has
 *   avx2     AVX2 with FMA
 *   avx512   AVX-512 F, DQ, BW and VL
 *
 * A reference kernel is one file, which each_kernel.h compiles for each of them, and for f32 and f64: it sets
 * TYPE and ISA, from which all else follows by the tables below.  A family calls the instance for the processor
 * through its OVERRIDES.  The tests link the library with a smaller GCUT_RT_WIDEST (isa.c), and so run the
 * others.
 */
#ifndef GCUT_KERNELS_RT_ISA_H
#define GCUT_KERNELS_RT_ISA_H

#include <stdint.h>

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

/* ---- the choice ---- */

enum { ISA_BASE, ISA_AVX2, ISA_AVX512, ISAS };

/* The widest that the processor and the operating system can run: asked for once. */
int gcut_rt_isa(void);

/* The widest of them whose vectors a row of so many bytes fills. */
static inline int gcut_rt_isa_filled(int64_t bytes)
{
    const int isa = gcut_rt_isa(), most = bytes >= 64 ? ISA_AVX512 : bytes >= 32 ? ISA_AVX2 : ISA_BASE;
    return isa < most ? isa : most;
}

/* f[gcut_rt_isa()] is the instance of f for the processor: of a function, or of an array of one element. */
#ifdef __x86_64__
#define INSTANCES(f) PASTE(f, base), PASTE(f, avx2), PASTE(f, avx512)
#define EACH_ISA(F, ...) F(__VA_ARGS__, base) F(__VA_ARGS__, avx2) F(__VA_ARGS__, avx512)
#else
#define INSTANCES(f) PASTE(f, base)
#define EACH_ISA(F, ...) F(__VA_ARGS__, base)
#endif
#define OVERRIDES(f) static __typeof__(*PASTE(f, base)) *const f[] = {INSTANCES(f)}

/* CASE(n, …) for each number of rows, columns or taps that a block may have; an instance has its own's alone. */
/* clang-format off */
#define EACH_CASE(CASE, ...)                                                                                 \
    CASE(1, __VA_ARGS__) CASE(2, __VA_ARGS__) CASE(3, __VA_ARGS__) CASE(4, __VA_ARGS__)                      \
    CASE(5, __VA_ARGS__) CASE(6, __VA_ARGS__) CASE(7, __VA_ARGS__) CASE(8, __VA_ARGS__)                      \
    CASE(9, __VA_ARGS__) CASE(10, __VA_ARGS__) CASE(11, __VA_ARGS__) CASE(12, __VA_ARGS__)                   \
    CASE(13, __VA_ARGS__) CASE(14, __VA_ARGS__)
/* clang-format on */

/* ---- element types ---- */

typedef float T_f32;
typedef double T_f64;
typedef int32_t BITS_f32;
typedef int64_t BITS_f64;
#define T PASTE(T, TYPE)
#define BITS PASTE(BITS, TYPE) /* the integer as wide */

/* ---- what instruction sets override ---- */

#define TARGET_base
#define TARGET_avx2 __attribute__((target("avx2,fma")))
#define TARGET_avx512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define TARGET PASTE(TARGET, ISA) /* of a function */

/* Elements of a vector: of 16, 32 and 64 bytes. */
#define WIDTH_f32_base 4
#define WIDTH_f64_base 2
#define WIDTH_f32_avx2 8
#define WIDTH_f64_avx2 4
#define WIDTH_f32_avx512 16
#define WIDTH_f64_avx512 8
#define LANES PASTE(PASTE(WIDTH, TYPE), ISA)

/* The reference kernels, and the sizes of their register blocks that an instruction set overrides; a block has
 * two vectors of columns.  A 0 is no instance: large products are BLIS's there.
 *
 *       size             base  avx2  avx512       reference kernel, and what the size is there */
/* clang-format off */
#define OVERRIDE(name, base, avx2, avx512)                                                                   \
    enum { name##_base = base, name##_avx2 = avx2, name##_avx512 = avx512 };
OVERRIDE(MICRO_MR,           0,    0,     14)    /* gemm/micro_kernel.h: rows */
OVERRIDE(PACK_MR,            4,    6,     14)    /* gemm/pack_kernel.h: width of a left panel */
OVERRIDE(PACK_NR_VECTORS,    4,    2,      2)    /* of a right panel, in vectors */
OVERRIDE(SMALL_MR,           4,    6,      8)    /* gemm/small_product_kernel.h: rows */
OVERRIDE(SMALL_DOTS,         2,    2,      4)    /* columns of a block of 4 rows of dot products */
OVERRIDE(CONV_MR,            4,    6,     14)    /* conv/conv_tile_kernel.h, with winograd_kernel.h: rows */
OVERRIDE(CONV_TAPS,          2,    3,      6)    /* taps of a block of 4 rows of dot products */
/*       LANES alone                                gemm/operand_sums_kernel.h, conv/depthwise_kernel.h,
 *                                                  pooling/pool_2x2_kernel.h with vectors of lesser sets too,
 *                                                  attention/attention_rows.h for f32, of f64 there is base */
/*       TARGET alone                               FOLD of move/reduce.c, LINES of move/streaming_stores.c */
#undef OVERRIDE
/* clang-format on */

#endif
