/* SPDX-License-Identifier: MIT
 *
 * One instance of the micro-kernel: included by micro.c once per element type, with
 *   NAME(x)  the instance's name of x        T      the element type
 *   TARGET   attributes of the functions     LANES  elements of a vector
 *   ALL(e)   e in all elements               ADD_PRODUCT(a, b, c)  a * b + c, rounded once
 *   MASK, LOAD_PART(mask, p), STORE_PART(mask, p, v): the elements of a vector whose bits are set
 */

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* rows and whole are constants in each call, and the accumulators are registers.  C is brought to the cache
 * while they fill. */
__attribute__((always_inline)) TARGET static inline void
NAME(accumulate)(int rows, int whole, MASK m0, MASK m1, int64_t k, const T *s, const T *v, int add, T *c,
                 int64_t ldc, gcut_rt_prefetch prefetch)
{
    NAME(vec) x[ROWS], y[ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        x[i] = y[i] = (NAME(vec)){0};
        __builtin_prefetch(c + i * ldc, 1);
        __builtin_prefetch(c + i * ldc + LANES, 1);
        __builtin_prefetch(c + i * ldc + 2 * LANES - 1, 1);
    }
    for (int64_t p = 0; p < k;) {
        const int64_t end = k - p < PREFETCH_STEPS ? k : p + PREFETCH_STEPS;
        gcut_rt_prefetch_next(&prefetch);
        for (; p < end; p++, s += ROWS, v += 2 * LANES) {
            const NAME(vec) v0 = *(const NAME(vec) *)v, v1 = *(const NAME(vec) *)(v + LANES);
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const NAME(vec) e = ALL(s[i]);
                x[i] = ADD_PRODUCT(e, v0, x[i]);
                y[i] = ADD_PRODUCT(e, v1, y[i]);
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
            if (add) x[i] += LOAD_PART(m0, o), y[i] += LOAD_PART(m1, o + LANES);
            STORE_PART(m0, o, x[i]);
            STORE_PART(m1, o + LANES, y[i]);
        }
    }
}

TARGET static void NAME(block)(int64_t m, int64_t n, int64_t k, const T *s, const T *v, int add, T *c,
                               int64_t ldc, gcut_rt_prefetch prefetch)
{
    const int whole = n == 2 * LANES;
    const uint32_t columns = (uint32_t)((UINT64_C(1) << n) - 1);
    const MASK m0 = (MASK)columns, m1 = (MASK)(columns >> LANES);
    if (m == ROWS && whole) {
        NAME(accumulate)(ROWS, 1, m0, m1, k, s, v, add, c, ldc, prefetch);
        return;
    }
    switch (m) {
#define CASE(r)                                                                                              \
    case r: NAME(accumulate)(r, 0, m0, m1, k, s, v, add, c, ldc, prefetch); break;
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
        CASE(8)
        CASE(9)
        CASE(10)
        CASE(11)
        CASE(12)
        CASE(13)
        CASE(14)
#undef CASE
    }
}

#undef NAME
#undef T
#undef TARGET
#undef LANES
#undef ALL
#undef ADD_PRODUCT
#undef MASK
#undef LOAD_PART
#undef STORE_PART
