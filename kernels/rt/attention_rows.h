/* SPDX-License-Identifier: MIT
 *
 * attention.c: arithmetic on one row of scores, for one element type and instruction set.
 *   T, TYPE  the element type and its suffix
 *   ISA      prefix of the functions          TARGET  their attributes
 *
 * A row has n elements that count and `width` in memory, a multiple of LANES.  Sums and maxima are kept in
 * LANES accumulators and joined pairwise: loops that compilers vectorise, with bits that no vector width
 * changes.
 */
#define GLUE3_(a, b, c) a##_##b##_##c
#define GLUE3(a, b, c) GLUE3_(a, b, c)
#define GLUE2_(a, b) a##_##b
#define GLUE2(a, b) GLUE2_(a, b)
#define ROW(x) GLUE3(x, TYPE, ISA)
#define MATH(x) GLUE2(x, TYPE)

TARGET static T ROW(largest)(const T *x, int64_t width)
{
    T m[LANES];
    for (int l = 0; l < LANES; l++) m[l] = x[l];
    for (int64_t c = LANES; c < width; c += LANES)
        for (int l = 0; l < LANES; l++) m[l] = MATH(gcut_max)(m[l], x[c + l]);
    HALVES(m[l] = MATH(gcut_max)(m[l], m[l + w]))
    return m[0];
}

TARGET static T ROW(join)(T *s)
{
    HALVES(s[l] += s[l + w])
    return s[0];
}

/* x = softmax(x scale + bias) of its first n > 0 elements, 0 behind them.  -inf stands for what does not
 * count: e^(-inf - m) = 0.  A row of -inf alone gives NaN. */
TARGET static void ROW(softmax)(T *restrict x, int64_t n, int64_t width, T scale, const T *restrict bias,
                                int64_t step)
{
    int64_t used = padded(n);
    for (int64_t c = 0; c < n; c++) x[c] *= scale;
    if (bias && step == 1)
        for (int64_t c = 0; c < n; c++) x[c] += bias[c];
    else if (bias)
        for (int64_t c = 0; c < n; c++) x[c] += bias[c * step];
    for (int64_t c = n; c < used; c++) x[c] = (T)-INFINITY;
    T m = ROW(largest)(x, used), s[LANES] = {0};
    for (int64_t c = 0; c < used; c += LANES)
        for (int l = 0; l < LANES; l++) {
            x[c + l] = MATH(gcut_exp)(x[c + l] - m);
            s[l] += x[c + l];
        }
    T r = 1 / ROW(join)(s);
    for (int64_t c = 0; c < used; c++) x[c] *= r;
    for (int64_t c = used; c < width; c++) x[c] = 0;
}

/* d = p o (d - sum(p o d)) of the first n > 0 elements, 0 behind them. */
TARGET static void ROW(backward)(const T *restrict p, T *restrict d, int64_t n, int64_t width)
{
    T s[LANES] = {0};
    int64_t used = padded(n);
    for (int64_t c = n; c < used; c++) d[c] = 0;
    for (int64_t c = 0; c < used; c += LANES)
        for (int l = 0; l < LANES; l++) s[l] += p[c + l] * d[c + l];
    T sum = ROW(join)(s);
    for (int64_t c = 0; c < used; c++) d[c] = p[c] * (d[c] - sum);
    for (int64_t c = n; c < width; c++) d[c] = 0;
}

#undef MATH
#undef ROW
#undef GLUE2
#undef GLUE2_
#undef GLUE3
#undef GLUE3_
#undef T
#undef TYPE
#undef ISA
#undef TARGET
