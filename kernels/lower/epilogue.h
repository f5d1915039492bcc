/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Epilogues: loops that run on the tiles of a matrix product while they are in cache.
 */
#ifndef GCUT_KERNELS_LOWER_EPILOGUE_H
#define GCUT_KERNELS_LOWER_EPILOGUE_H

#include "kernels/lower/lowered.h"

/* Row r of the loop reads row r of the product and no other: it can run tile by tile right behind it. */
bool gcut_is_epilogue(const gcut_lowered *h, uint32_t gemm, uint32_t kernel);
/* No row of the epilogue is more than the sum of its columns: a tile may be any part of the product. */
bool gcut_takes_columns(const gcut_lowered *h, uint32_t kernel);

#endif
