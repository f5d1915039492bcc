/* SPDX-License-Identifier: MIT
 *
 * pool_2x2_kernel.h in the instructions of ISA (each_kernel.h): with its vectors, and with those of the
 * lesser sets, which shorter rows fill; with single elements in those of base.
 */
#undef NAME
#define NAME(x) PASTE(PASTE(PASTE(x, TYPE), ISA), VECTOR)
#define RESULTS PASTE(PASTE(WIDTH, TYPE), VECTOR)

#define VECTOR base
#include "kernels/rt/pooling/pool_2x2_kernel.h"
#undef VECTOR

#if LANES == PASTE(PASTE(WIDTH, TYPE), base)
#define VECTOR one
#include "kernels/rt/pooling/pool_2x2_kernel.h"
#undef VECTOR
#endif

#if LANES >= PASTE(PASTE(WIDTH, TYPE), avx2)
#define VECTOR avx2
#include "kernels/rt/pooling/pool_2x2_kernel.h"
#undef VECTOR
#endif

#if LANES >= PASTE(PASTE(WIDTH, TYPE), avx512)
#define VECTOR avx512
#include "kernels/rt/pooling/pool_2x2_kernel.h"
#undef VECTOR
#endif
