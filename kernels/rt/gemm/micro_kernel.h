/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of avx512, for one element type (each_isa_kernel.h): MR rows and two vectors of columns.
 */

#define MR PASTE(MICRO_MR, ISA)

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* rows, vectors and whole are constants in each call, and the accumulators are registers.  C is brought to the cache
 * while they fill.  Of one vector each row has one chain: half the multiply-adds, in little more than half the time. */
__attribute__((always_inline)) TARGET static inline void
NAME(accumulate)(int rows, int vectors, int whole, MASK m0, MASK m1, int64_t k, const T *a, const T *b,
                 int add, T *c, int64_t ldc, gcut_rt_prefetch prefetch)
{
    NAME(vec) x[MR], y[MR];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        x[i] = y[i] = (NAME(vec)){0};
        __builtin_prefetch(c + i * ldc, 1);
        if (vectors == 1) continue;
        __builtin_prefetch(c + i * ldc + LANES, 1);
        __builtin_prefetch(c + i * ldc + 2 * LANES - 1, 1);
    }
    for (int64_t p = 0; p < k;) {
        const int64_t end = k - p < PREFETCH_STEPS ? k : p + PREFETCH_STEPS;
        gcut_rt_prefetch_next(&prefetch);
        for (; p < end; p++, a += MR, b += 2 * LANES) {
            const NAME(vec) b0 = *(const NAME(vec) *)b, b1 = *(const NAME(vec) *)(b + LANES);
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const T e = a[i];
                x[i] += e * b0;
                if (vectors == 2) y[i] += e * b1;
            }
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        T *o = c + i * ldc;
        if (whole) {
            NAME(vec) *to = (NAME(vec) *)o, *too = (NAME(vec) *)(o + LANES);
            if (add) x[i] += *to, y[i] += *too;
            *to = x[i];
            *too = y[i];
        } else {
            if (add) x[i] += LOAD_PART(m0, o);
            STORE_PART(m0, o, x[i]);
            if (vectors == 1) continue;
            if (add) y[i] += LOAD_PART(m1, o + LANES);
            STORE_PART(m1, o + LANES, y[i]);
        }
    }
}

TARGET static void NAME(block)(int64_t m, int64_t n, int64_t k, const T *a, const T *b, int add, T *c,
                               int64_t ldc, gcut_rt_prefetch prefetch)
{
    const int whole = n == 2 * LANES;
    const uint32_t columns = (uint32_t)((UINT64_C(1) << n) - 1);
    const MASK m0 = (MASK)columns, m1 = (MASK)(columns >> LANES);
    if (m == MR && whole) {
        NAME(accumulate)(MR, 2, 1, m0, m1, k, a, b, add, c, ldc, prefetch);
        return;
    }
#define CASE(r, vectors)                                                                                     \
    case r: NAME(accumulate)(r, vectors, 0, m0, m1, k, a, b, add, c, ldc, prefetch); break;
    if (n > LANES) {
        switch (m) {
            EACH_CASE(CASE, 2)
        }
    } else {
        switch (m) {
            EACH_CASE(CASE, 1)
        }
    }
#undef CASE
}
