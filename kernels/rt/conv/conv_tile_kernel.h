/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of the register blocks of conv_tile.h (each_kernel.h): of MR rows and two vectors of
 * places; of TAPS taps and four results of y.
 */
#define MR PASTE(CONV_MR, ISA)
#define TAPS PASTE(CONV_TAPS, ISA)
_Static_assert(LANES <= GCUT_RT_LANES && (int)MR <= GCUT_RT_ROWS && (int)TAPS <= GCUT_RT_TAPS &&
                   GCUT_RT_DOTS == 4,
               "arrays of all instances have room for the block of each");
_Static_assert((MR + LANES - 1) / LANES * LANES <= GCUT_RT_ROW_PITCH,
               "winograd_filter reads and writes whole vectors of MR windows");

/* Unaligned, and free to alias the scalars. */
typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
typedef BITS NAME(bits) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* The vectors of the base instance, and how many of them a vector is: pieces that sums and merges are taken
 * in, whatever the instance. */
typedef T NAME(piece) __attribute__((vector_size(16)));
enum { NAME(PIECES) = LANES * sizeof(T) / 16 };
#define PIECE_LANES PASTE(PASTE(WIDTH, TYPE), base)

/* rows and two are constants in each call, and the accumulators are registers. */
__attribute__((always_inline)) TARGET static inline void NAME(strip)(int rows, int two, int64_t k, const T *a,
                                                                     const int32_t *off, const T *const *b,
                                                                     T *const *c, int64_t rsc, int add)
{
    NAME(vec) s0[MR], s1[MR];
    const T *b0 = b[0], *b1 = b[two];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) s0[i] = s1[i] = (NAME(vec)){0};
    for (int64_t p = 0; p < k; p++) {
        NAME(vec) v0 = *(const NAME(vec) *)(b0 + off[p]), v1 = *(const NAME(vec) *)(b1 + off[p]);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            T x = a[i];
            s0[i] += x * v0;
            if (two) s1[i] += x * v1;
        }
        a += rows;
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        NAME(vec) *c0 = (NAME(vec) *)(c[0] + i * rsc), *c1 = (NAME(vec) *)(c[two] + i * rsc);
        if (add) s0[i] += *c0;
        *c0 = s0[i];
        if (two && add) s1[i] += *c1;
        if (two) *c1 = s1[i];
    }
}

TARGET static void NAME(product)(int rows, int vectors, int64_t k, const T *a, const int32_t *off,
                                 const T *const *b, T *const *c, int64_t rsc, int add)
{
#define CASE(r, ...)                                                                                         \
    case 2 * r:                                                                                              \
        if (r <= MR) NAME(strip)(r <= MR ? r : MR, 0, k, a, off, b, c, rsc, add);                            \
        break;                                                                                               \
    case 2 * r + 1:                                                                                          \
        if (r <= MR) NAME(strip)(r <= MR ? r : MR, 1, k, a, off, b, c, rsc, add);                            \
        break;
    switch (2 * rows + vectors - 1) {
        EACH_CASE(CASE, )
    }
#undef CASE
}

/* out[r] = the sum of the elements of v[r], for four of them: neighbours are added. */
TARGET static inline void NAME(fold)(const NAME(piece) * v, T *out)
{
    NAME(piece) a = EVEN(PIECE_LANES)(v[0], v[1]) + ODD(PIECE_LANES)(v[0], v[1]);
    const NAME(piece) b = EVEN(PIECE_LANES)(v[2], v[3]) + ODD(PIECE_LANES)(v[2], v[3]);
    if (PIECE_LANES == 4)
        a = EVEN(PIECE_LANES)(a, b) + ODD(PIECE_LANES)(a, b);
    else
        memcpy(out + 2, &b, sizeof b);
    memcpy(out, &a, sizeof a);
}

/* taps and masked are constants in each call. */
__attribute__((always_inline)) TARGET static inline void NAME(dots_block)(int taps, int masked, int64_t n,
                                                                          const T *const *x,
                                                                          const int32_t *at, const BITS *keep,
                                                                          const T *y, int64_t pitch, T *out)
{
    NAME(vec) s[TAPS][4];
#pragma GCC unroll 6
    for (int t = 0; t < taps; t++) s[t][0] = s[t][1] = s[t][2] = s[t][3] = (NAME(vec)){0};
    for (int64_t v = 0; v < n; v++) {
        NAME(vec) y0 = *(const NAME(vec) *)y, y1 = *(const NAME(vec) *)(y + pitch);
        NAME(vec) y2 = *(const NAME(vec) *)(y + 2 * pitch), y3 = *(const NAME(vec) *)(y + 3 * pitch);
        NAME(bits) ones = {0};
        if (masked) ones = *(const NAME(bits) *)(keep + v * LANES);
#pragma GCC unroll 6
        for (int t = 0; t < taps; t++) {
            NAME(vec) u = *(const NAME(vec) *)(x[t] + at[v]);
            if (masked) u = (NAME(vec))((NAME(bits))u & ones);
            s[t][0] += u * y0;
            s[t][1] += u * y1;
            s[t][2] += u * y2;
            s[t][3] += u * y3;
        }
        y += LANES;
    }
#pragma GCC unroll 6
    for (int t = 0; t < taps; t++) {
        NAME(piece) part[4][NAME(PIECES)], sum[4];
        memcpy(part, s[t], sizeof part);
        for (int r = 0; r < 4; r++) {
            sum[r] = part[r][0];
            for (int q = 1; q < NAME(PIECES); q++) sum[r] += part[r][q];
        }
        NAME(fold)(sum, out + 4 * t);
    }
}

TARGET static void NAME(dots)(int taps, int64_t n, const T *const *x, const int32_t *at, const BITS *keep,
                              const T *y, int64_t pitch, T *out)
{
#define CASE(t, ...)                                                                                         \
    case 2 * t:                                                                                              \
        if (t <= TAPS) NAME(dots_block)(t <= TAPS ? t : TAPS, 0, n, x, at, keep, y, pitch, out);             \
        break;                                                                                               \
    case 2 * t + 1:                                                                                          \
        if (t <= TAPS) NAME(dots_block)(t <= TAPS ? t : TAPS, 1, n, x, at, keep, y, pitch, out);             \
        break;
    switch (2 * taps + (keep != NULL)) {
        EACH_CASE(CASE, )
    }
#undef CASE
}

/* Elements j.. from pieces of 16, 8 or 4, the last of which may overlap the one before. */
#define PIECE(n, j, ...)                                                                                     \
    {                                                                                                        \
        typedef T piece __attribute__((vector_size(n * sizeof(T))));                                         \
        piece a, b;                                                                                          \
        memcpy(&a, from + (j)*step, sizeof a);                                                               \
        if (step == 2) {                                                                                     \
            memcpy(&b, from + (j)*step + n, sizeof b);                                                       \
            a = __builtin_shufflevector(a, b, __VA_ARGS__);                                                  \
        }                                                                                                    \
        memcpy(to + (j), &a, sizeof a);                                                                      \
    }
__attribute__((always_inline)) TARGET static inline void NAME(pick)(const T *from, int64_t step, int64_t n,
                                                                    T *to)
{
    if (n >= 16) {
        for (int64_t j = 0; j + 16 <= n; j += 16)
            PIECE(16, j, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
        if (n % 16 != 0) PIECE(16, n - 16, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
    } else if (n >= 8) {
        PIECE(8, 0, 0, 2, 4, 6, 8, 10, 12, 14)
        if (n > 8) PIECE(8, n - 8, 0, 2, 4, 6, 8, 10, 12, 14)
    } else if (n >= 4) {
        PIECE(4, 0, 0, 2, 4, 6)
        if (n > 4) PIECE(4, n - 4, 0, 2, 4, 6)
    } else {
        for (int64_t j = 0; j < n; j++) to[j] = from[j * step];
    }
}
#undef PIECE

/* `pick` of rows of n, with what depends on n alone decided once. */
__attribute__((always_inline)) TARGET static inline void
NAME(pick_rows)(int64_t rows, const T *from, int64_t shift, int64_t step, int64_t n, T *to, int64_t pitch)
{
    if (n >= 16)
        for (int64_t t = 0; t < rows; t++) NAME(pick)(from + t * shift, step, n, to + t * pitch);
    else if (n >= 8)
        for (int64_t t = 0; t < rows; t++) NAME(pick)(from + t * shift, step, n, to + t * pitch);
    else
        for (int64_t t = 0; t < rows; t++) NAME(pick)(from + t * shift, step, n, to + t * pitch);
}

TARGET static void NAME(shift)(int64_t taps, const T *from, int64_t shift, int64_t step, int64_t n, T *to,
                               int64_t pitch)
{
    if (step == 1)
        NAME(pick_rows)(taps, from, shift, 1, n, to, pitch);
    else if (step == 2)
        NAME(pick_rows)(taps, from, shift, 2, n, to, pitch);
    else
        for (int64_t t = 0; t < taps; t++)
            for (int64_t j = 0; j < n; j++) to[t * pitch + j] = from[t * shift + j * step];
}

#include "kernels/rt/conv/winograd_kernel.h"

static const PASTE(gcut_rt_tile, TYPE)
    NAME(tiles)[1] = {{LANES, MR, TAPS, NAME(product), NAME(dots), NAME(shift), NAME(winograd_input),
                       NAME(winograd_filter), NAME(winograd_gradient), NAME(winograd_output)}};
