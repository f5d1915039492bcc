/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of convolutions.  Both read an image through offsets: what lies under tap k of the
 * window at some places is a vector at `offset of k` + `offset of the places` in a panel (im2col_panel.h).
 */
#ifndef GCUT_KERNELS_RT_CONV_CONV_TILE_H
#define GCUT_KERNELS_RT_CONV_CONV_TILE_H

#include <stdint.h>

/* The most elements of a vector, rows of `product`, taps of `dots`; results of y that `dots` takes at a time.
 */
enum { GCUT_RT_LANES = 16, GCUT_RT_ROWS = 14, GCUT_RT_TAPS = 6, GCUT_RT_DOTS = 4, GCUT_RT_ROW_PITCH = 16 };

/* clang-format off */
#define GCUT_RT_TILE_TYPE(type, T, mask)                                                                     \
    typedef struct gcut_rt_tile_##type {                                                                     \
        int lanes, rows, taps; /* of a vector; the most of `product`; the most of `dots` */                  \
        /* Vector v of row i of C, at c[v] + i * rsc, = (or +=, when `add`) the sum over p < k of            \
         * a[p * rows + i] * the vector at b[v] + off[p]; one or two vectors.  An element is one chain of    \
         * multiply-adds whichever row and lane it has. */                                                   \
        void (*product)(int rows, int vectors, int64_t k, const T *a, const int32_t *off, const T *const *b, \
                        T *const *c, int64_t rsc, int add);                                                  \
        /* out[t * GCUT_RT_DOTS + r] = the sum over v < n of the vectors at x[t] + at[v] times those at      \
         * y + r * pitch + v * lanes.  Of x at v, the lanes with ones at keep + v * lanes count and those    \
         * with zeros are taken for 0; all count when keep is NULL. */                                       \
        void (*dots)(int taps, int64_t n, const T *const *x, const int32_t *at, const mask *keep,            \
                     const T *y, int64_t pitch, T *out);                                                     \
        /* to[t * pitch + j] = from[t * shift + j * step], t < taps, j < n; two vectors after the last that \
         * is needed may be read. */                                                                         \
        void (*shift)(int64_t taps, const T *from, int64_t shift, int64_t step, int64_t n, T *to,            \
                      int64_t pitch);                                                                        \
        /* The transforms of Winograd's F(2 x 2, 3 x 3), each of one vector of tiles:                        \
         * input: of 4 * 4 elements, the vectors at from + off[e], to those at to + e * pitch, e < 16. */    \
        void (*winograd_input)(const T *from, const int32_t *off, T *to, int64_t pitch);                     \
        /* filter: of n windows at from + i * GCUT_RT_ROW_PITCH, i < 9, which is that long; to as long, of   \
         * them n count. */                                                                                  \
        void (*winograd_filter)(int64_t n, const T *from, T *to, int64_t pitch);                             \
        /* gradient: of 2 * 2 results, the vectors at from + off[e], e < 4. */                               \
        void (*winograd_gradient)(const T *from, const int32_t *off, T *to, int64_t pitch);                  \
        /* output: from the vectors at m + e * pitch to two rows of 2 * lanes results. */                    \
        void (*winograd_output)(const T *m, int64_t pitch, T *to);                                           \
    } gcut_rt_tile_##type;                                                                                   \
    /* For this processor. */                                                                                \
    const gcut_rt_tile_##type *gcut_rt_tile_of_##type(void);
/* clang-format on */
GCUT_RT_TILE_TYPE(f32, float, int32_t)
GCUT_RT_TILE_TYPE(f64, double, int64_t)
#undef GCUT_RT_TILE_TYPE

#endif
