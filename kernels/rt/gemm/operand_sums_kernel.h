/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of the sums of an operand (each_kernel.h).
 */

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* The first n elements of a vector; the others are 0, or not touched. */
__attribute__((always_inline)) TARGET static inline NAME(vec) NAME(load)(size_t n, const T *p)
{
    NAME(vec) v = {0};
    if (n >= LANES) return *(const NAME(vec) *)p;
    memcpy(&v, p, n * sizeof(T));
    return v;
}
__attribute__((always_inline)) TARGET static inline void NAME(store)(size_t n, T *p, NAME(vec) v)
{
    if (n >= LANES)
        *(NAME(vec) *)p = v;
    else
        memcpy(p, &v, n * sizeof(T));
}

/* Vectors of elements side by side, of which the last one has `last`; whole vectors are read. */
__attribute__((always_inline)) TARGET static inline void NAME(strip)(int vectors, size_t last, span s,
                                                                     const T *x, int64_t ps, T *sum, T *part)
{
    NAME(vec) all[STRIP], one[STRIP];
    int64_t b = block_of(s.k, s.p0);
    const int goes_on = s.p0 > edge(s.k, b);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        all[v] = b > 0 ? NAME(load)(v + 1 < vectors ? LANES : last, sum + v * LANES) : (NAME(vec)){0};
        one[v] = goes_on ? NAME(load)(v + 1 < vectors ? LANES : last, part + v * LANES) : (NAME(vec)){0};
    }
    for (int64_t p = s.p0; p < s.p1;) {
        const int64_t end = edge(s.k, b + 1), stop = end < s.p1 ? end : s.p1;
        for (; p < stop; p++, x += ps)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) one[v] += *(const NAME(vec) *)(x + v * LANES);
        if (p < end) break;
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            all[v] += one[v];
            one[v] = (NAME(vec)){0};
        }
        b++;
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        NAME(store)(v + 1 < vectors ? LANES : last, sum + v * LANES, all[v]);
        if (s.p1 < s.k) NAME(store)(v + 1 < vectors ? LANES : last, part + v * LANES, one[v]);
    }
}

TARGET static void NAME(side_by_side)(int64_t n, span s, const T *x, int64_t ps, T *sum, T *part)
{
    int64_t i = 0;
    for (; i + STRIP * LANES <= n; i += STRIP * LANES)
        NAME(strip)(STRIP, LANES, s, x + i, ps, sum + i, part + i);
    for (; i + 2 * LANES <= n; i += 2 * LANES) NAME(strip)(2, LANES, s, x + i, ps, sum + i, part + i);
    if (i + LANES < n)
        NAME(strip)(2, (size_t)(n - i - LANES), s, x + i, ps, sum + i, part + i);
    else if (i < n)
        NAME(strip)(1, (size_t)(n - i), s, x + i, ps, sum + i, part + i);
}

/* n <= LANES elements, anywhere. */
TARGET static void NAME(few)(int64_t n, int64_t k, const T *x, int64_t is, int64_t ps, T *sum)
{
    T all[LANES] = {0};
    for (int64_t b = 0; b < GCUT_RT_SUM_BLOCKS; b++) {
        T one[LANES] = {0};
        for (int64_t p = edge(k, b); p < edge(k, b + 1); p++)
            for (int64_t i = 0; i < n; i++) one[i] += x[i * is + p * ps];
        for (int64_t i = 0; i < n; i++) all[i] += one[i];
    }
    memcpy(sum, all, (size_t)n * sizeof(T));
}

/* n < LANES elements side by side, ps > 0: whole vectors are read in place while these end before the last
 * element does, from a copy then. */
TARGET static void NAME(narrow)(int64_t n, int64_t k, const T *x, int64_t ps, T *sum)
{
    const int64_t beyond = (LANES - n + ps - 1) / ps, p1 = k > beyond ? k - beyond : 0;
    T rest[LANES * LANES], part[LANES] = {0};
    for (int64_t p = p1; p < k; p++)
        for (int64_t i = 0; i < LANES; i++) rest[(p - p1) * LANES + i] = i < n ? x[p * ps + i] : 0;
    if (p1 > 0) NAME(strip)(1, (size_t)n, (span){0, p1, k}, x, ps, sum, part);
    NAME(strip)(1, (size_t)n, (span){p1, k, k}, rest, LANES, sum, part);
}

/* Whole vectors alone are read in place: the last one may overlap the one before, and has the same sums. */
TARGET static void NAME(sums)(int64_t n, int64_t k, const T *x, int64_t is, int64_t ps, T *sum)
{
    const span s = {0, k, k};
    const int64_t whole = n / LANES * LANES;
    if (is == 1 && n < LANES && ps > 0) {
        if (n > 0) NAME(narrow)(n, k, x, ps, sum);
        return;
    }
    if (is != 1 || n < LANES) {
        for (int64_t i = 0; i < n; i += LANES)
            NAME(few)(n - i < LANES ? n - i : LANES, k, x + i * is, is, ps, sum + i);
        return;
    }
    NAME(side_by_side)(whole, s, x, ps, sum, sum);
    if (whole < n) NAME(strip)(1, LANES, s, x + n - LANES, ps, sum + n - LANES, sum);
}
