/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Epilogues: loops that run on the tiles of a matrix product while they are in cache.
 */
#ifndef GCUT_MACHINE_LOWER_FUSION_EPILOGUE_H
#define GCUT_MACHINE_LOWER_FUSION_EPILOGUE_H

#include "machine/lower/fusion/reason.h"
#include "machine/lower/lowered.h"

/* The loop runs as the epilogue of that product, of an ordered graph. */
static inline bool gcut_is_epilogue(const gcut_lowered *h, uint32_t gemm, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    return u->kind == GCUT_KERNEL_LOOP && u->loop.product == gemm;
}
/* May loop u, as it would run right after that product, be its epilogue? */
gcut_reason gcut_decide_epilogue(const gcut_lowered *h, uint32_t gemm, const gcut_kernel *u);
/* No row of the epilogue is more than the sum of its columns: a tile may be any part of the product. */
bool gcut_takes_columns(const gcut_lowered *h, uint32_t kernel);

#endif
