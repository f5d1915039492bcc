/* SPDX-License-Identifier: MIT
 *
 * Arithmetic on rows of scores: the reference kernel of attention.c (each_isa_kernel.h).
 *
 * A block has rows of `ld` elements; the first n[i] > 0 of row i count, and `width`, a multiple of
 * ACCUMULATORS, are computed with.  n[i] < 1 stands for a row that sees nothing.  Sums and maxima are kept
 * in ACCUMULATORS accumulators and joined pairwise: loops that compilers vectorise, with bits that no
 * vector width changes.  Each step goes over all rows before the next one begins, so that a processor works
 * on several rows at once.
 */
/* Joins the accumulators of each of `rows` rows. */
TARGET static void NAME(joined)(int64_t rows, T (*s)[ACCUMULATORS], T *out)
{
    for (int64_t i = 0; i < rows; i++) {
        T *a = s[i];
        JOIN(a[l] += a[l + w])
        out[i] = a[0];
    }
}

/* x = x scale + bias, -inf after the first n up to whole lanes, 0 after those; returns the largest.  A NaN
 * may be missed: it makes its row NaN by itself. */
TARGET static T NAME(scores)(T *restrict x, int64_t n, int64_t width, T scale, const T *restrict bias,
                             int64_t step)
{
    int64_t used = padded(n);
    T m[ACCUMULATORS];
    if (bias)
        for (int64_t c = 0; c < n; c++) x[c] = x[c] * scale + bias[c * step];
    else
        for (int64_t c = 0; c < used; c++) x[c] *= scale;
    for (int64_t c = n; c < used; c++) x[c] = (T)-INFINITY;
    for (int64_t c = used; c < width; c++) x[c] = 0;
    for (int l = 0; l < ACCUMULATORS; l++) m[l] = x[l];
    for (int64_t c = ACCUMULATORS; c < used; c += ACCUMULATORS)
        for (int l = 0; l < ACCUMULATORS; l++) m[l] = m[l] > x[c + l] ? m[l] : x[c + l];
    JOIN(m[l] = m[l] > m[l + w] ? m[l] : m[l + w])
    return m[0];
}

/* A block of scores x becomes e^(x scale + bias - the largest of its row), and *sum the sums of its rows.
 * -inf stands for what does not count: e^(-inf - m) = 0.  A row of -inf alone gives NaN. */
TARGET static void NAME(softmax)(int64_t rows, const int64_t *n, int64_t width, T *restrict x, int64_t ld,
                                 T scale, const T *bias, const int64_t *step, T *restrict sum)
{
    T m[ROWS], s[ROWS][ACCUMULATORS];
    for (int64_t i = 0; i < rows; i++)
        m[i] = n[i] > 0
                   ? NAME(scores)(x + i * ld, n[i], width, scale, bias ? bias + i * step[0] : NULL, step[1])
                   : (T)NAN;
    for (int64_t i = 0; i < rows; i++) {
        T *restrict p = x + i * ld, a[ACCUMULATORS] = {0};
        int64_t used = n[i] > 0 ? padded(n[i]) : width;
        for (int64_t c = 0; c < used; c += ACCUMULATORS)
            for (int l = 0; l < ACCUMULATORS; l++) {
                p[c + l] = PASTE(decay, TYPE)(p[c + l] - m[i]);
                a[l] += p[c + l];
            }
        for (int l = 0; l < ACCUMULATORS; l++) s[i][l] = a[l];
    }
    NAME(joined)(rows, s, sum);
}

/* Each row of x over its number. */
TARGET static void NAME(divide)(int64_t rows, int64_t width, T *restrict x, int64_t ld, const T *restrict by)
{
    for (int64_t i = 0; i < rows; i++) {
        T r = 1 / by[i], *restrict p = x + i * ld;
        for (int64_t c = 0; c < width; c++) p[c] *= r;
    }
}

/* d = p o (d - sum(p o d)) of the elements that count, 0 elsewhere. */
TARGET static void NAME(backward)(int64_t rows, const int64_t *n, int64_t width, const T *restrict p,
                                  T *restrict d, int64_t ld)
{
    T sum[ROWS], s[ROWS][ACCUMULATORS];
    for (int64_t i = 0; i < rows; i++) {
        const T *restrict x = p + i * ld;
        T *restrict y = d + i * ld, a[ACCUMULATORS] = {0};
        int64_t used = n[i] > 0 ? padded(n[i]) : 0;
        for (int64_t c = gcut_rt_max(n[i], 0); c < width; c++) y[c] = 0;
        for (int64_t c = 0; c < used; c += ACCUMULATORS)
            for (int l = 0; l < ACCUMULATORS; l++) a[l] += x[c + l] * y[c + l];
        for (int l = 0; l < ACCUMULATORS; l++) s[i][l] = a[l];
    }
    NAME(joined)(rows, s, sum);
    for (int64_t i = 0; i < rows; i++) {
        const T *restrict x = p + i * ld;
        T *restrict y = d + i * ld;
        int64_t used = n[i] > 0 ? padded(n[i]) : 0;
        for (int64_t c = 0; c < used; c++) y[c] = x[c] * (y[c] - sum[i]);
    }
}
