/* SPDX-License-Identifier: MIT
 *
 * The instances of pack_kernel.h and the choice between them.
 */
#include "kernels/rt/gemm/pack.h"

#include <string.h>

#include "kernels/rt/gemm/partial_vector.h"

/* Steps of k that all panels take before the next ones, when an operand is contiguous along its panels:
 * neighbours share cache lines and pages. */
enum { STEPS = 32 };

#define KERNEL "kernels/rt/gemm/pack_kernel.h"
#include "kernels/rt/each_kernel.h"

#define PACK(type, T)                                                                                        \
    OVERRIDES(pack_##type);                                                                                  \
    void gcut_rt_pack_##type(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, int width, int ld,    \
                             int64_t panel, T *out)                                                          \
    {                                                                                                        \
        pack_##type[gcut_rt_isa()](n, k, x, is, ks, width, ld, panel, out);                                  \
    }
PACK(f32, float)
PACK(f64, double)
