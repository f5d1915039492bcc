/* SPDX-License-Identifier: MIT
 *
 * Convolutions of groups of one channel (depthwise ones): every row of a result is a sum of shifted rows.
 */
#include "kernels/rt/taps.h"

#include "kernels/rt/isa.h"

/* Picoseconds of a multiply-add, for the choice of threads. */
enum { TAP_PS = 150 };
/* Shifted rows that are added up in one pass over a row. */
enum { PASS = 64 };

#define T float
#define NAME(x) x##_f32_base
#define TARGET
#define LANES 4
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_base
#define TARGET
#define LANES 2
#include "kernels/rt/rows_kernel.h"

#ifdef __x86_64__

#define T float
#define NAME(x) x##_f32_avx2
#define TARGET AVX2
#define LANES 8
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_avx2
#define TARGET AVX2
#define LANES 4
#include "kernels/rt/rows_kernel.h"

#define T float
#define NAME(x) x##_f32_avx512
#define TARGET AVX512
#define LANES 16
#include "kernels/rt/rows_kernel.h"

#define T double
#define NAME(x) x##_f64_avx512
#define TARGET AVX512
#define LANES 8
#include "kernels/rt/rows_kernel.h"

#endif

#define T float
#define TYPE f32
#include "kernels/rt/taps_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/taps_type.h"
