/* SPDX-License-Identifier: MIT
 *
 * One instance of the small product: included by small.c once per element type and instruction set, with
 *   NAME(x)  the instance's name of x        T      the element type
 *   TARGET   attributes of the functions     LANES  elements of a vector
 *   ROWS     rows of the register block (at most 8; its columns are two vectors)
 *
 * B is read in place where its rows are contiguous and a whole block wide, otherwise through a panel of KC
 * rows on the stack, padded with zeros.  Every element of C is one chain of multiply-adds per KC steps of k,
 * whichever way it is reached: so bits depend on k alone.
 */

enum { NAME(COLS) = 2 * LANES };

/* Unaligned, and free to alias the scalars. */
typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* rows is a constant in each call, and the accumulators are registers. */
__attribute__((always_inline)) TARGET static inline void NAME(tile)(int rows, int64_t k, const T *a,
                                                                    int64_t rsa, int64_t csa, const T *b,
                                                                    int64_t ldb, T *out, int64_t ldo, int add)
{
    NAME(vec) s0[ROWS], s1[ROWS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) s0[i] = s1[i] = (NAME(vec)){0};
    for (int64_t p = 0; p < k; p++) {
        NAME(vec) b0 = *(const NAME(vec) *)b, b1 = *(const NAME(vec) *)(b + LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            T x = a[i * rsa];
            s0[i] += x * b0;
            s1[i] += x * b1;
        }
        a += csa;
        b += ldb;
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
        NAME(vec) *o0 = (NAME(vec) *)(out + i * ldo), *o1 = (NAME(vec) *)(out + i * ldo + LANES);
        if (add) {
            s0[i] += *o0;
            s1[i] += *o1;
        }
        *o0 = s0[i];
        *o1 = s1[i];
    }
}

TARGET static void NAME(rows)(int rows, int64_t k, const T *a, int64_t rsa, int64_t csa, const T *b,
                              int64_t ldb, T *out, int64_t ldo, int add)
{
    switch (rows) {
#define CASE(r)                                                                                              \
    case r: NAME(tile)(r <= ROWS ? r : ROWS, k, a, rsa, csa, b, ldb, out, ldo, add); break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
#undef CASE
    }
}

TARGET static void NAME(pack)(int64_t k, int64_t n, const T *b, int64_t rsb, int64_t csb, T *panel)
{
    if (n < NAME(COLS)) memset(panel, 0, (size_t)k * NAME(COLS) * sizeof(T));
    if (csb == 1) {
        for (int64_t p = 0; p < k; p++) memcpy(panel + p * NAME(COLS), b + p * rsb, (size_t)n * sizeof(T));
        return;
    }
    /* Eight columns at a time: each reads along k, and the writes share cache lines. */
    for (int64_t j0 = 0; j0 < n; j0 += 8) {
        int64_t j1 = j0 + 8 < n ? j0 + 8 : n;
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = j0; j < j1; j++) panel[p * NAME(COLS) + j] = b[p * rsb + j * csb];
    }
}

/* A tile that is not a whole block of a row-major C goes through one that is. */
TARGET static void NAME(scatter)(int64_t m, int64_t n, const T *tile, int add, T *c, int64_t rsc, int64_t csc)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T *o = c + i * rsc + j * csc, x = tile[i * NAME(COLS) + j];
            *o = add ? *o + x : x;
        }
}

TARGET static void NAME(gemm)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, int64_t csa,
                              const T *b, int64_t rsb, int64_t csb, int add, T *c, int64_t rsc, int64_t csc)
{
    _Alignas(64) T panel[KC * NAME(COLS)];
    _Alignas(64) T part[ROWS * NAME(COLS)];
    for (int64_t p = 0; p < k; p += KC) {
        int64_t kc = k - p < KC ? k - p : KC;
        for (int64_t j = 0; j < n; j += NAME(COLS)) {
            int64_t nc = n - j < NAME(COLS) ? n - j : NAME(COLS), ldb = rsb;
            const T *bp = b + p * rsb + j * csb;
            if (csb != 1 || nc < NAME(COLS)) {
                NAME(pack)(kc, nc, bp, rsb, csb, panel);
                bp = panel;
                ldb = NAME(COLS);
            }
            for (int64_t i = 0; i < m; i += ROWS) {
                int rows = (int)(m - i < ROWS ? m - i : ROWS);
                const T *ap = a + i * rsa + p * csa;
                T *cp = c + i * rsc + j * csc;
                if (csc == 1 && nc == NAME(COLS)) {
                    NAME(rows)(rows, kc, ap, rsa, csa, bp, ldb, cp, rsc, add || p > 0);
                } else {
                    NAME(rows)(rows, kc, ap, rsa, csa, bp, ldb, part, NAME(COLS), 0);
                    NAME(scatter)(rows, nc, part, add || p > 0, cp, rsc, csc);
                }
            }
        }
    }
}

/* 4 x 4 dot products along a contiguous k (csa = rsb = 1), for few rows: no packing.  Edges repeat the last
 * row or column and do not store it.  The lanes are added pairwise, then the rest of k one by one. */
TARGET static void NAME(dots)(int64_t m, int64_t n, int64_t k, const T *a, int64_t rsa, const T *b,
                              int64_t csb, int add, T *c, int64_t rsc, int64_t csc)
{
    int64_t whole = k / LANES * LANES;
    for (int64_t j = 0; j < n; j += 4)
        for (int64_t i = 0; i < m; i += 4) {
            NAME(vec) s[4][4];
            const T *x[4], *y[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) {
                x[r] = a + (i + r < m ? i + r : m - 1) * rsa;
                y[r] = b + (j + r < n ? j + r : n - 1) * csb;
                s[r][0] = s[r][1] = s[r][2] = s[r][3] = (NAME(vec)){0};
            }
            for (int64_t p = 0; p < whole; p += LANES)
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++)
#pragma GCC unroll 4
                    for (int t = 0; t < 4; t++)
                        s[r][t] += *(const NAME(vec) *)(x[r] + p) * *(const NAME(vec) *)(y[t] + p);
            for (int r = 0; r < 4 && i + r < m; r++)
                for (int t = 0; t < 4 && j + t < n; t++) {
                    T v[LANES], *o = c + (i + r) * rsc + (j + t) * csc;
                    memcpy(v, &s[r][t], sizeof v);
                    for (int w = LANES / 2; w > 0; w /= 2)
                        for (int l = 0; l < w; l++) v[l] += v[l + w];
                    for (int64_t p = whole; p < k; p++) v[0] += x[r][p] * y[t][p];
                    *o = add ? *o + v[0] : v[0];
                }
        }
}

#undef NAME
#undef T
#undef TARGET
#undef LANES
#undef ROWS
