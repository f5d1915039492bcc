/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of the small product (each_kernel.h): register blocks of MR rows and NR columns, dot
 * products in blocks of 4 rows and DOTS columns.
 *
 * B is read in place where its rows are contiguous, otherwise through a panel of KC rows on the stack.  Every
 * element of C is one chain of multiply-adds per KC steps of k, by every path through this file: so bits
 * depend on k alone.
 */

#define MR PASTE(SMALL_MR, ISA)
#define NR (2 * LANES)
#define DOTS PASTE(SMALL_DOTS, ISA)
#define SUMS (4 * DOTS)

#include "kernels/rt/gemm/transpose_kernel.h"

/* ---- blocks of C ---- */

__attribute__((always_inline)) TARGET static inline NAME(vec) NAME(load)(int whole, MASK mask, const T *p)
{
    (void)mask;
    return whole ? *(const NAME(vec) *)p : LOAD_PART(mask, p);
}

__attribute__((always_inline)) TARGET static inline void NAME(put)(int whole, MASK mask, int add, T *p,
                                                                   NAME(vec) v)
{
    if (add) v += NAME(load)(whole, mask, p);
    if (whole)
        *(NAME(vec) *)p = v;
    else
        STORE_PART(mask, p, v);
}

/* rows, vectors and whole are constants in each call, and the accumulators are registers. */
__attribute__((always_inline)) TARGET static inline void NAME(tile)(int rows, int vectors, int whole,
                                                                    MASK mask, int64_t k, const T *a,
                                                                    int64_t rsa, int64_t csa, const T *b,
                                                                    int64_t ldb, T *out, int64_t ldo, int add)
{
    NAME(vec) s0[MR], s1[MR];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) s0[i] = s1[i] = (NAME(vec)){0};
    for (int64_t p = 0; p < k; p++) {
        NAME(vec) b0 = NAME(load)(whole || vectors == 2, mask, b), b1 = b0;
        if (vectors == 2) b1 = NAME(load)(whole, mask, b + LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            T x = a[i * rsa];
            s0[i] += x * b0;
            if (vectors == 2) s1[i] += x * b1;
        }
        a += csa;
        b += ldb;
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        NAME(put)(whole || vectors == 2, mask, add, out + i * ldo, s0[i]);
        if (vectors == 2) NAME(put)(whole, mask, add, out + i * ldo + LANES, s1[i]);
    }
}

#define ROWS_OF(how, vectors, whole)                                                                         \
    TARGET static void NAME(how)(int rows, MASK mask, int64_t k, const T *a, int64_t rsa, int64_t csa,       \
                                 const T *b, int64_t ldb, T *out, int64_t ldo, int add)                      \
    {                                                                                                        \
        switch (rows) {                                                                                      \
            EACH_CASE(CASE, vectors, whole)                                                                  \
        }                                                                                                    \
    }
#define CASE(r, vectors, whole)                                                                              \
    case r:                                                                                                  \
        if (r <= MR)                                                                                         \
            NAME(tile)(r <= MR ? r : 1, vectors, whole, mask, k, a, rsa, csa, b, ldb, out, ldo, add);        \
        break;
ROWS_OF(rows_two, 2, 1)
ROWS_OF(rows_two_part, 2, 0)
ROWS_OF(rows_one_part, 1, 0)
#undef CASE
#undef ROWS_OF

/* ---- panels of B ---- */

/* Rows p..p+kc of at most LANES columns that are contiguous along k. */
__attribute__((always_inline)) TARGET static inline void NAME(pack_block)(int whole, int64_t kc, int64_t nc,
                                                                          const T *b, int64_t csb, T *panel)
{
    NAME(vec) x[LANES];
    MASK mask = MASK_OF(kc);
#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++)
        x[j] = whole || j < nc ? NAME(load)(whole, mask, b + j * csb) : (NAME(vec)){0};
    NAME(transpose)(x);
#pragma GCC unroll 16
    for (int p = 0; p < LANES; p++)
        if (whole || p < kc) *(NAME(vec) *)(panel + p * NR) = x[p];
}

/* Columns beyond n are left as they are, or 0: what is computed from them is not stored. */
TARGET static void NAME(pack)(int64_t k, int64_t n, const T *b, int64_t rsb, int64_t csb, T *panel)
{
    if (rsb != 1) {
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) panel[p * NR + j] = b[p * rsb + j * csb];
        return;
    }
    for (int64_t j = 0; j < n; j += LANES) {
        int64_t nc = n - j < LANES ? n - j : LANES;
        for (int64_t p = 0; p < k; p += LANES) {
            const T *from = b + p + j * csb;
            T *to = panel + p * NR + j;
            if (nc == LANES && k - p >= LANES)
                NAME(pack_block)(1, LANES, LANES, from, csb, to);
            else
                NAME(pack_block)(0, k - p < LANES ? k - p : LANES, nc, from, csb, to);
        }
    }
}

/* ---- the product ---- */

/* At most LANES rows and columns of a tile to a column-major C. */
__attribute__((always_inline)) TARGET static inline void
NAME(transpose_out)(int64_t m, int64_t n, const T *tile, int add, T *c, int64_t csc)
{
    NAME(vec) x[LANES];
    MASK mask = MASK_OF(m);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        x[i] = i < MR && i < m ? *(const NAME(vec) *)(tile + i * NR) : (NAME(vec)){0};
    NAME(transpose)(x);
#pragma GCC unroll 16
    for (int j = 0; j < LANES; j++)
        if (j < n) NAME(put)(m == LANES, mask, add, c + j * csc, x[j]);
}

/* A tile that is no block of a row-major C goes through one that is. */
TARGET static void NAME(scatter)(int64_t m, int64_t n, const T *tile, int add, T *c, int64_t rsc, int64_t csc)
{
    if (rsc == 1) {
        for (int64_t i = 0; i < m; i += LANES)
            for (int64_t j = 0; j < n; j += LANES) NAME(transpose_out)
        (m - i < LANES ? m - i : LANES, n - j < LANES ? n - j : LANES, tile + i * NR + j, add,
         c + i + j * csc, csc);
        return;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T *o = c + i * rsc + j * csc, x = tile[i * NR + j];
            *o = add ? *o + x : x;
        }
}

/* m rows of one strip of at most NR columns, in blocks of about equal height. */
TARGET static void NAME(strip)(int64_t m, int64_t nc, int64_t k, const T *a, int64_t rsa, int64_t csa,
                               const T *b, int64_t ldb, int add, T *c, int64_t rsc, int64_t csc)
{
    _Alignas(64) T part[MR * NR];
    int64_t blocks = (m + MR - 1) / MR, height = m / blocks, higher = m % blocks;
    MASK mask = MASK_OF(nc > LANES ? nc - LANES : nc);
    void (*rows_of)(int, MASK, int64_t, const T *, int64_t, int64_t, const T *, int64_t, T *, int64_t, int) =
        nc == NR     ? NAME(rows_two)
        : nc > LANES ? NAME(rows_two_part)
                     : NAME(rows_one_part);
    for (int64_t i = 0; i < m;) {
        int rows = (int)(height + (higher-- > 0));
        const T *ap = a + i * rsa;
        T *cp = c + i * rsc;
        if (csc == 1) {
            rows_of(rows, mask, k, ap, rsa, csa, b, ldb, cp, rsc, add);
        } else {
            rows_of(rows, mask, k, ap, rsa, csa, b, ldb, part, NR, 0);
            NAME(scatter)(rows, nc, part, add, cp, rsc, csc);
        }
        i += rows;
    }
}

TARGET static void NAME(gemm)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa,
                              const T *b, int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc)
{
    _Alignas(64) T panel[KC * NR];
    for (int64_t p = 0; p < k; p += KC) {
        int64_t kc = k - p < KC ? k - p : KC;
        for (int64_t j = 0; j < n; j += NR) {
            int64_t nc = n - j < NR ? n - j : NR, ldb = rsb;
            const T *bp = b + p * rsb + j * csb;
            if (csb != 1) {
                NAME(pack)(kc, nc, bp, rsb, csb, panel);
                bp = panel;
                ldb = NR;
            }
            NAME(strip)(m, nc, kc, a + p * csa, rsa, csa, bp, ldb, add || p > 0, c + j * csc, rsc, csc);
        }
    }
}

/* ---- dot products ---- */

/* The sums of the lanes of each of s[], the lanes added pairwise, neighbours first. */
__attribute__((always_inline)) TARGET static inline void NAME(add_lanes)(NAME(vec) * s, T *sums)
{
#pragma GCC unroll 8
    for (int g = 0; g < SUMS; g += LANES) {
        NAME(vec) *x = s + g;
        NAME(transpose)(x);
#pragma GCC unroll 4
        for (int w = 1; w < LANES; w *= 2)
#pragma GCC unroll 8
            for (int i = 0; i < LANES; i += 2 * w) x[i] += x[i + w];
        *(NAME(vec) *)(sums + g) = x[0];
    }
}

/* 4 x DOTS dot products along a contiguous k (csa = rsb = 1), for few rows: no packing.  Edges repeat the
 * last row or column and do not store it. */
TARGET static void NAME(dots)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, const T *b,
                              int64_t csb, int add, T *c, int64_t rsc, int64_t csc)
{
    int64_t whole = k / LANES * LANES;
    MASK mask = MASK_OF(k > whole ? k - whole : 1);
    for (int64_t j = 0; j < n; j += DOTS)
        for (int64_t i = 0; i < m; i += 4) {
            NAME(vec) s[SUMS];
            T sums[SUMS];
            const T *x[4], *y[DOTS];
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) x[r] = a + (i + r < m ? i + r : m - 1) * rsa;
#pragma GCC unroll 4
            for (int t = 0; t < DOTS; t++) y[t] = b + (j + t < n ? j + t : n - 1) * csb;
#pragma GCC unroll 16
            for (int q = 0; q < SUMS; q++) s[q] = (NAME(vec)){0};
            for (int64_t p = 0; p < whole; p += LANES)
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++)
#pragma GCC unroll 4
                    for (int t = 0; t < DOTS; t++)
                        s[r * DOTS + t] += *(const NAME(vec) *)(x[r] + p) * *(const NAME(vec) *)(y[t] + p);
            if (k > whole)
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++)
#pragma GCC unroll 4
                    for (int t = 0; t < DOTS; t++)
                        s[r * DOTS + t] += LOAD_PART(mask, x[r] + whole) * LOAD_PART(mask, y[t] + whole);
            NAME(add_lanes)(s, sums);
            for (int r = 0; r < 4 && i + r < m; r++)
                for (int t = 0; t < DOTS && j + t < n; t++) {
                    T *o = c + (i + r) * rsc + (j + t) * csc, v = sums[r * DOTS + t];
                    *o = add ? *o + v : v;
                }
        }
}
