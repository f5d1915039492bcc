/* SPDX-License-Identifier: MIT
 *
 * The reference kernels of depthwise.c (each_kernel.h): vectors of sums over taps, and of the taps' dot products.
 */

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

#define LOAD(at) (*(const NAME(vec) *)(at))
#define STORE(at) (*(NAME(vec) *)(at))

/* n vectors of sums, n a literal */
TARGET static inline __attribute__((always_inline)) void
NAME(block_sums)(const int n, int64_t at, int taps, const T *const *x, const T *w, T *y, int add)
{
    NAME(vec) a[8];
#pragma GCC unroll 8
    for (int v = 0; v < n; v++) a[v] = add ? LOAD(y + at + v * LANES) : (NAME(vec)){0};
    for (int t = 0; t < taps; t++) {
        const T *from = x[t] + at;
#pragma GCC unroll 8
        for (int v = 0; v < n; v++) a[v] += w[t] * LOAD(from + v * LANES);
    }
#pragma GCC unroll 8
    for (int v = 0; v < n; v++) STORE(y + at + v * LANES) = a[v];
}

/* y[j] = sum over the taps of w[t] x[t][j], or with `add` y[j] += that sum; `vectors`: the length of y. */
TARGET static void NAME(sums)(int64_t vectors, int taps, const T *const *x, const T *w, T *y, int add)
{
    const int64_t whole = vectors / 8 * 8;
    for (int64_t v = 0; v < whole; v += 8) NAME(block_sums)(8, v * LANES, taps, x, w, y, add);
    switch (vectors - whole) {
#define CASE(n)                                                                                              \
    case n: NAME(block_sums)(n, whole * LANES, taps, x, w, y, add); break;
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
#undef CASE
    }
}

/* The dot products of n taps, n a literal */
TARGET static inline __attribute__((always_inline)) void
NAME(block_dots)(const int n, int64_t vectors, const T *const *x, const T *y, T *sum)
{
    NAME(vec) a[8];
#pragma GCC unroll 8
    for (int t = 0; t < n; t++) a[t] = LOAD(sum + t * LANES);
    for (int64_t j = 0; j < vectors * LANES; j += LANES) {
        const NAME(vec) q = LOAD(y + j);
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) a[t] += q * LOAD(x[t] + j);
    }
#pragma GCC unroll 8
    for (int t = 0; t < n; t++) STORE(sum + t * LANES) = a[t];
}

/* sum[t][l] += x[t][j] y[j] over all j with j % LANES = l; `vectors`: the length of y. */
TARGET static void NAME(dots)(int64_t vectors, int taps, const T *const *x, const T *y, T *sum)
{
    const int blocks = (taps + 7) / 8;
    for (int b = 0; b < blocks; b++) {
        int64_t t0, t1;
        gcut_rt_share(taps, 1, b, blocks, &t0, &t1);
        switch (t1 - t0) {
#define CASE(n)                                                                                              \
    case n: NAME(block_dots)(n, vectors, x + t0, y, sum + t0 * LANES); break;
            CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#undef CASE
        }
    }
}

#undef LOAD
#undef STORE
