/* SPDX-License-Identifier: MIT
 *
 * The instances of conv_tile_kernel.h and the choice between them.
 */
#include "kernels/rt/conv/conv_tile.h"

#include <string.h>

#include "kernels/rt/vector.h"

#define KERNEL "kernels/rt/conv/conv_tile_kernel.h"
#include "kernels/rt/each_kernel.h"

#define TILE(type)                                                                                           \
    OVERRIDES(tiles_##type);                                                                                 \
    const gcut_rt_tile_##type *gcut_rt_tile_of_##type(void)                                                  \
    {                                                                                                        \
        return tiles_##type[gcut_rt_isa()];                                                                  \
    }
TILE(f32)
TILE(f64)
