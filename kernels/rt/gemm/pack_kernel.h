/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of packing (each_kernel.h).
 *
 * An operand contiguous along k is transposed in registers, one contiguous along the panel is copied; the
 * widths that go with the vectors are constants in either.
 */

#include "kernels/rt/gemm/transpose_kernel.h"

__attribute__((always_inline)) TARGET static inline void
NAME(along_k)(int64_t n, int64_t k, const T *x, int64_t is, int width, int ld, int64_t panel, T *out)
{
    const int64_t whole = k / LANES * LANES;
    for (int64_t q = 0; q < n; q += width, out += panel)
        for (int g = 0; g < width; g += LANES) {
            const int64_t left = n - q - g;
            const T *from = x + (q + g) * is;
            const int count = width - g < LANES ? width - g : LANES;
            for (int64_t p = 0; p < whole; p += LANES) {
                NAME(vec) r[LANES];
#pragma GCC unroll 16
                for (int i = 0; i < LANES; i++)
                    r[i] = i < count && i < left ? *(const NAME(vec) *)(from + i * is + p) : (NAME(vec)){0};
                NAME(transpose)(r);
#pragma GCC unroll 16
                for (int i = 0; i < LANES; i++)
                    memcpy(out + (p + i) * ld + g, &r[i], (size_t)count * sizeof(T));
            }
            for (int64_t p = whole; p < k; p++)
                for (int i = 0; i < count; i++) out[p * ld + g + i] = i < left ? from[i * is + p] : 0;
        }
}

/* A panel of n < width elements: zeros fill its steps. */
__attribute__((always_inline)) TARGET static inline void
NAME(last_panel)(int64_t n, int64_t k, const T *x, int64_t ks, int width, int ld, T *out)
{
    for (int g = 0; g < width; g += LANES) {
        const int count = width - g < LANES ? width - g : LANES;
        const int64_t left = n - g < count ? n - g : count;
        if (left <= 0) {
            for (int64_t p = 0; p < k; p++) memset(out + p * ld + g, 0, (size_t)count * sizeof(T));
            continue;
        }
        const MASK mask = MASK_OF(left);
        for (int64_t p = 0; p < k; p++) {
            const NAME(vec) v = LOAD_PART(mask, x + p * ks + g);
            memcpy(out + p * ld + g, &v, (size_t)count * sizeof(T));
        }
    }
}

__attribute__((always_inline)) TARGET static inline void
NAME(along_panel)(int64_t n, int64_t k, const T *x, int64_t ks, int width, int ld, int64_t panel, T *out)
{
    for (int64_t p0 = 0; p0 < k; p0 += STEPS) {
        const int64_t p1 = p0 + STEPS < k ? p0 + STEPS : k;
        T *to = out;
        for (int64_t q = 0; q < n; q += width, to += panel)
            if (n - q >= width) {
                for (int64_t p = p0; p < p1; p++)
                    memcpy(to + p * ld, x + p * ks + q, (size_t)width * sizeof(T));
            } else {
                NAME(last_panel)(n - q, p1 - p0, x + p0 * ks + q, ks, width, ld, to + p0 * ld);
            }
    }
}

TARGET static void NAME(any_strides)(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, int width,
                                     int ld, int64_t panel, T *out)
{
    for (int64_t q = 0; q < n; q += width, out += panel)
        for (int64_t p = 0; p < k; p++)
            for (int i = 0; i < width; i++) out[p * ld + i] = q + i < n ? x[(q + i) * is + p * ks] : 0;
}

TARGET static void NAME(pack)(int64_t n, int64_t k, const T *x, int64_t is, int64_t ks, int width, int ld,
                              int64_t panel, T *out)
{
    if (is != 1 && ks != 1) {
        NAME(any_strides)(n, k, x, is, ks, width, ld, panel, out);
        return;
    }
    switch (width) {
#define CASE(w)                                                                                              \
    case w:                                                                                                  \
        if (is == 1)                                                                                         \
            NAME(along_panel)(n, k, x, ks, w, ld, panel, out);                                               \
        else                                                                                                 \
            NAME(along_k)(n, k, x, is, w, ld, panel, out);                                                   \
        break;
        CASE(PASTE(PACK_MR, ISA))
        CASE(PASTE(PACK_NR_VECTORS, ISA) * LANES)
#undef CASE
    default:
        if (is == 1)
            NAME(along_panel)(n, k, x, ks, width, ld, panel, out);
        else
            NAME(along_k)(n, k, x, is, width, ld, panel, out);
    }
}
