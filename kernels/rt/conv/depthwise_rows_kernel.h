/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of the row loops of depthwise.c (each_kernel.h).  No row is split among threads.
 */

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* `vectors` (1 or 2) times LANES elements of it, from j on */
TARGET static inline void NAME(block)(int vectors, int64_t j, int taps, const T *const *x, const T *w, T *y,
                                      int add)
{
    NAME(vec) a = {0}, b = {0};
    if (add) {
        a = *(const NAME(vec) *)(y + j);
        if (vectors > 1) b = *(const NAME(vec) *)(y + j + LANES);
    }
    for (int t = 0; t < taps; t++) {
        a += w[t] * *(const NAME(vec) *)(x[t] + j);
        if (vectors > 1) b += w[t] * *(const NAME(vec) *)(x[t] + j + LANES);
    }
    *(NAME(vec) *)(y + j) = a;
    if (vectors > 1) *(NAME(vec) *)(y + j + LANES) = b;
}

/* y[j] = sum over the taps of w[t] x[t][j], or += that; the last vector of a sum that is not added to may
 * overlap the one before. */
TARGET static void NAME(row)(int64_t n, int taps, const T *const *x, const T *w, T *y, int add)
{
    int64_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES) NAME(block)(2, j, taps, x, w, y, add);
    if (j + LANES <= n) {
        NAME(block)(1, j, taps, x, w, y, add);
        j += LANES;
    }
    if (j < n && j > 0 && !add) {
        NAME(block)(1, n - LANES, taps, x, w, y, 0);
        return;
    }
    for (; j < n; j++) {
        T sum = add ? y[j] : 0;
        for (int t = 0; t < taps; t++) sum += w[t] * x[t][j];
        y[j] = sum;
    }
}

/* sum of x[j] y[j]: two vectors of lanes, then one and what is left with zeros, added pairwise */
TARGET static T NAME(dot)(int64_t n, const T *x, const T *y)
{
    NAME(vec) a = {0}, b = {0};
    T lane[LANES], rest[2][LANES] = {{0}};
    int64_t j = 0;
    for (; j + 2 * LANES <= n; j += 2 * LANES) {
        a += *(const NAME(vec) *)(x + j) * *(const NAME(vec) *)(y + j);
        b += *(const NAME(vec) *)(x + j + LANES) * *(const NAME(vec) *)(y + j + LANES);
    }
    if (j + LANES <= n) {
        a += *(const NAME(vec) *)(x + j) * *(const NAME(vec) *)(y + j);
        j += LANES;
    }
    if (j < n) {
        memcpy(rest[0], x + j, (size_t)(n - j) * sizeof(T));
        memcpy(rest[1], y + j, (size_t)(n - j) * sizeof(T));
        b += *(const NAME(vec) *)rest[0] * *(const NAME(vec) *)rest[1];
    }
    a += b;
    memcpy(lane, &a, sizeof lane);
    for (int s = LANES / 2; s > 0; s /= 2)
        for (int l = 0; l < s; l++) lane[l] += lane[l + s];
    return lane[0];
}
