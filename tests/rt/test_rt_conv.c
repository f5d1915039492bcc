/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions and pools of the run-time library against loops over the definition, and against themselves:
 * the same bits for any number of threads.
 *
 * Bound of a convolution: as of a dot product of k terms in any order (test_rt_gemm.c), 2 k eps times the sum
 * of the absolute products.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "gradcut/gradcut_rt.h"
#include "kernels/rt/threads/packing_memory.h"
#include "nightly.h"

static uint64_t seed = 7;
static int below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}
static double uniform(void)
{
    return below(1 << 24) / (double)(1 << 23) - 1;
}

static gcut_rt_conv conv_of(int64_t n, int64_t c, int64_t h, int64_t w, int64_t o, int64_t k, int64_t l)
{
    return (gcut_rt_conv){.n = n,
                          .c = c,
                          .h = h,
                          .w = w,
                          .o = o,
                          .kh = k,
                          .kw = l,
                          .stride = {1, 1},
                          .dilation = {1, 1},
                          .groups = 1};
}

/* The places that padding of `more` rows and columns at the far ends leaves. */
static int places(gcut_rt_conv *g, int64_t bottom, int64_t right)
{
    int64_t h = g->h + g->pad[0] + bottom - g->dilation[0] * (g->kh - 1) - 1;
    int64_t w = g->w + g->pad[1] + right - g->dilation[1] * (g->kw - 1) - 1;
    if (h < 0 || w < 0) return 0;
    g->oh = h / g->stride[0] + 1;
    g->ow = w / g->stride[1] + 1;
    return 1;
}

/* f(x, w, y) term by term: adds to *out[which] the product of the other two, to *mag its absolute value. */
REFERENCE static void terms(const gcut_rt_conv *g, const double *x, const double *w, const double *y,
                            double *out, double *mag, char which)
{
    int64_t in = g->c / g->groups, per = g->o / g->groups;
    for (int64_t p = 0; p < g->n * g->o * g->oh * g->ow; p++)
        for (int64_t k = 0; k < in * g->kh * g->kw; k++) {
            int64_t j = p % g->ow, i = p / g->ow % g->oh, o = p / g->ow / g->oh % g->o,
                    n = p / g->ow / g->oh / g->o;
            int64_t b = k % g->kw, a = k / g->kw % g->kh, c = o / per * in + k / g->kw / g->kh;
            int64_t ih = i * g->stride[0] + a * g->dilation[0] - g->pad[0];
            int64_t iw = j * g->stride[1] + b * g->dilation[1] - g->pad[1];
            if (ih < 0 || ih >= g->h || iw < 0 || iw >= g->w) continue;
            int64_t ix = ((n * g->c + c) * g->h + ih) * g->w + iw, kw = o * in * g->kh * g->kw + k;
            int64_t at = which == 'y' ? p : which == 'x' ? ix : kw;
            double v = which == 'y' ? x[ix] * w[kw] : which == 'x' ? y[p] * w[kw] : x[ix] * y[p];
            out[at] += v;
            mag[at] += fabs(v);
        }
}

static void show(const gcut_rt_conv *g)
{
    printf("n %d c %d h %d w %d o %d k %d %d stride %d %d pad %d %d dilation %d %d groups %d -> %d %d\n",
           (int)g->n, (int)g->c, (int)g->h, (int)g->w, (int)g->o, (int)g->kh, (int)g->kw, (int)g->stride[0],
           (int)g->stride[1], (int)g->pad[0], (int)g->pad[1], (int)g->dilation[0], (int)g->dilation[1],
           (int)g->groups, (int)g->oh, (int)g->ow);
}

/* Leaves NaN where the library's panels will lie, in blocks that it lends for up to five threads, and on the
 * stack: whatever it reads without having written it shows. */
__attribute__((noinline)) static void poison(void)
{
    gcut_rt_packing_memory lent[5];
    for (int i = 0; i < 5; i++) {
        lent[i] = gcut_rt_borrow(GCUT_RT_RESERVE);
        assert_non_null(lent[i].block); /* with the reserve held, the next would wait for it */
        memset(lent[i].at, 255, lent[i].bytes);
    }
    for (int i = 0; i < 5; i++) gcut_rt_give_back(lent[i]);
    const union {
        uint64_t bits;
        double x;
    } bits = {UINT64_MAX}; /* a NaN of either type */
    volatile double at[1 << 13];
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) at[i] = bits.x;
}

#define CHECK(T, SUFFIX, EPS)                                                                                \
    static void check_##SUFFIX(const gcut_rt_conv *g)                                                        \
    {                                                                                                        \
        size_t nx = (size_t)(g->n * g->c * g->h * g->w), ny = (size_t)(g->n * g->o * g->oh * g->ow);         \
        size_t nw = (size_t)(g->o * (g->c / g->groups) * g->kh * g->kw), most = nx + ny + nw + 1;            \
        size_t room = nw * (size_t)gcut_rt_conv_w_shares(g->c, g->o, g->groups) +                            \
                      (size_t)(g->o * g->c * GCUT_RT_WINOGRAD_W) * (g->winograd != 0) +                      \
                      (size_t)((g->c + g->o) * GCUT_RT_WINOGRAD_C) * (g->winograd != 0);                     \
        T *x = malloc((nx + 1) * sizeof *x), *y = malloc((ny + 1) * sizeof *y), *w = malloc(nw * sizeof *w); \
        T *one = malloc(most * sizeof *one), *two = malloc(most * sizeof *two);                              \
        T *work = aligned_alloc(64, (room * sizeof *work + 63) / 64 * 64);                                   \
        double *dx = malloc((nx + 1) * sizeof *dx), *dy = malloc((ny + 1) * sizeof *dy);                     \
        double *dw = malloc(nw * sizeof *dw), *out = malloc(most * sizeof *out);                             \
        double *mag = malloc(most * sizeof *mag);                                                            \
        for (size_t i = 0; i < nx; i++) dx[i] = x[i] = (T)uniform();                                         \
        for (size_t i = 0; i < ny; i++) dy[i] = y[i] = (T)uniform();                                         \
        for (size_t i = 0; i < nw; i++) dw[i] = w[i] = (T)uniform();                                         \
        for (const char *which = "yxw"; *which; which++) {                                                   \
            size_t size = *which == 'y' ? ny : *which == 'x' ? nx : nw;                                      \
            for (size_t i = 0; i < most; i++) out[i] = mag[i] = 0, one[i] = two[i] = (T)NAN;                 \
            terms(g, dx, dw, dy, out, mag, *which);                                                          \
            double rounding =                                                                                \
                g->winograd ? 64 * EPS * (double)(*which == 'w' ? g->n * g->oh * g->ow : g->c + g->o) : 0;   \
            for (int t = 1; t <= 5; t++) {                                                                   \
                T *to = t == 1 ? one : two;                                                                  \
                for (size_t i = 0; i < room; i++) work[i] = (T)NAN;                                          \
                poison();                                                                                    \
                if (*which == 'y') gcut_rt_conv_y_##SUFFIX(g, x, w, to, work, t);                            \
                if (*which == 'x') gcut_rt_conv_x_##SUFFIX(g, y, w, to, work, t);                            \
                if (*which == 'w') gcut_rt_conv_w_##SUFFIX(g, x, y, to, work, t);                            \
                if (t > 1) assert_memory_equal(one, two, most * sizeof *one);                                \
            }                                                                                                \
            for (size_t i = 0; i < size; i++) {                                                              \
                if (fabs(one[i] - out[i]) <= 2 * EPS * (double)most * mag[i] + rounding) continue;           \
                show(g);                                                                                     \
                fail_msg(#SUFFIX " %c[%d] is %g, expected %g", *which, (int)i, (double)one[i], out[i]);      \
            }                                                                                                \
            for (size_t i = size; i < most; i++) assert_true(one[i] != one[i]);                              \
        }                                                                                                    \
        free(x), free(y), free(w), free(one), free(two), free(work);                                         \
        free(dx), free(dy), free(dw), free(out), free(mag);                                                  \
    }
CHECK(float, f32, 0x1p-24)
CHECK(double, f64, 0x1p-52)

static void check(gcut_rt_conv g)
{
    check_f32(&g);
    check_f64(&g);
    g.winograd = g.kh == 3 && g.kw == 3 && g.stride[0] == 1 && g.stride[1] == 1 && g.dilation[0] == 1 &&
                 g.dilation[1] == 1;
    if (!g.winograd) return;
    check_f32(&g);
    check_f64(&g);
}

/* Shapes at the borders of strips, panels and blocks. */
static void particular_shapes(void **state)
{
    (void)state;
    static const struct {
        gcut_rt_conv g;
        int64_t bottom, right;
    } cases[] = {
        {{2, 16, 8, 8, 24, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1},  /* strips over four rows */
        {{1, 64, 6, 66, 40, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1}, /* several panels of k */
        {{3, 8, 5, 5, 130, 0, 0, 3, 3, {1, 1}, {0, 0}, {1, 1}, 1, 0}, 0, 0},  /* several blocks of rows */
        {{2, 3, 37, 41, 16, 0, 0, 7, 7, {2, 2}, {3, 3}, {1, 1}, 1, 0},
         3,
         3}, /* the first layer of a ResNet */
        {{2, 16, 14, 14, 32, 0, 0, 1, 1, {2, 2}, {0, 0}, {1, 1}, 1, 0}, 0, 0}, /* its shortcut */
        {{2, 48, 9, 9, 33, 0, 0, 1, 1, {1, 1}, {0, 0}, {1, 1}, 1, 0}, 0, 0},   /* a matrix product */
        {{2, 1, 28, 28, 16, 0, 0, 5, 5, {1, 1}, {2, 2}, {1, 1}, 1, 0}, 2, 2},  /* one channel, many results */
        {{2, 24, 40, 50, 24, 0, 0, 3, 3, {2, 1}, {1, 1}, {1, 1}, 24, 0}, 1, 1}, /* channel by channel */
        {{2, 6, 30, 70, 18, 0, 0, 3, 5, {1, 2}, {1, 0}, {2, 1}, 6, 0}, 0, 2},   /* the same, three for each */
        {{4, 12, 30, 41, 36, 0, 0, 3, 3, {2, 3}, {2, 1}, {2, 3}, 3, 0},
         1,
         4},                                                                /* groups, dilation, lattices */
        {{1, 2, 3, 3, 2, 0, 0, 2, 2, {1, 1}, {5, 4}, {1, 1}, 1, 0}, 4, 6},  /* places of padding alone */
        {{40, 8, 2, 2, 5, 0, 0, 1, 1, {1, 1}, {0, 0}, {1, 1}, 1, 0}, 0, 0}, /* images side by side */
        {{9, 128, 6, 6, 130, 0, 0, 1, 1, {1, 1}, {0, 0}, {1, 1}, 1, 0},
         0,
         0}, /* the same of w, in two sums */
        {{2, 128, 17, 17, 128, 0, 0, 1, 1, {1, 1}, {0, 0}, {1, 1}, 1, 0}, 0, 0}, /* a sum for each image */
        {{40, 4, 1, 1, 8, 0, 0, 1, 1, {1, 1}, {0, 0}, {1, 1}, 2, 0}, 0, 0},      /* one place to an image */
        {{0, 4, 5, 5, 4, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1},       /* no image */
        {{2, 2, 12, 75, 2, 0, 0, 9, 9, {1, 1}, {4, 0}, {1, 2}, 2, 0}, 4, 9},     /* more taps than one pass */
        {{0, 4, 5, 5, 4, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 4, 0}, 1, 1},       /* no image */
        {{9, 5, 2, 2, 5, 0, 0, 7, 7, {1, 1}, {3, 3}, {1, 1}, 5, 0}, 3, 3}, /* windows larger than the image */
        {{1, 2, 300, 90, 4, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 2, 0}, 1, 1},      /* tiles of rows */
        {{2, 2, 7, 2100, 2, 0, 0, 3, 3, {1, 2}, {1, 1}, {1, 1}, 2, 0}, 1, 1},      /* and of columns */
        {{1, 2, 250, 250, 2, 0, 0, 5, 5, {1, 1}, {0, 0}, {60, 60}, 2, 0}, 0, 0},   /* taps in ranges */
        {{1, 2, 260, 250, 2, 0, 0, 5, 5, {3, 2}, {9, 0}, {60, 50}, 2, 0}, 0, 9},   /* the same with strides */
        {{2, 4, 3, 9, 4, 0, 0, 3, 2, {INT32_MAX, 2}, {1, 0}, {1, 3}, 4, 0}, 1, 0}, /* one place in a column */
        {{3, 5, 8, 35, 5, 0, 0, 3, 3, {2, 2}, {1, 1}, {1, 1}, 5, 0}, 1, 1},  /* lattices that are all kept */
        {{3, 4, 20, 19, 8, 0, 0, 5, 5, {3, 3}, {2, 2}, {1, 1}, 4, 0}, 2, 2}, /* and more of them */
        {{1, 3, 9, 9, 3, 0, 0, 2, 2, {4, 3}, {0, 0}, {1, 1}, 3, 0}, 0, 0},   /* elements that nothing sees */
        {{2, 4, 9, 9, 4, 0, 0, 1, 2, {4, 3}, {0, 0}, {1, 1}, 2, 0}, 0, 0},   /* elements that nothing sees */
        {{3, 4, 4, 3, 15, 0, 0, 4, 3, {2, 1}, {3, 0}, {1, 4}, 1, 0}, 0, 8}, /* images end inside of vectors */
        {{3, 8, 14, 14, 16, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1},  /* vectors across rows */
        {{2, 40, 16, 15, 20, 0, 0, 3, 3, {2, 2}, {1, 1}, {1, 1}, 1, 0}, 1, 1}, /* the same of x alone */
        {{3, 9, 9, 8, 40, 0, 0, 1, 1, {2, 2}, {0, 0}, {1, 1}, 1, 0}, 0, 0},    /* x that nothing sees */
        {{2, 6, 31, 30, 9, 0, 0, 3, 5, {1, 1}, {2, 4}, {2, 1}, 3, 0}, 0, 0}, /* groups, dilation, one side */
        {{2, 4, 3, 9, 5, 0, 0, 3, 2, {INT32_MAX, 2}, {1, 0}, {1, 3}, 1, 0}, 1, 0}, /* one place in a column */
        {{2, 4, 5, 9, 5, 0, 0, 1, 2, {2, INT32_MAX}, {0, 1}, {INT32_MAX, 2}, 1, 0}, 0, 0}, /* and in a row */
        {{2, 3, 5, 6, 0, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 3, 0}, 1, 1}, /* no result of several groups */
        {{2, 3, 5, 6, 0, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1}, /* no result */
        {{2, 0, 5, 6, 3, 0, 0, 3, 3, {1, 1}, {1, 1}, {1, 1}, 1, 0}, 1, 1}, /* no channel */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        gcut_rt_conv g = cases[i].g;
        assert_true(places(&g, cases[i].bottom, cases[i].right));
        check(g);
    }
}

static void random_shapes(void **state)
{
    (void)state;
    for (int round = 0, n = rounds(50); round < n;) {
        TRY("round %d", (int)round);
        int groups = 1 + (below(3) == 0) * (1 + below(3)), in = 1 + below(7), out = 1 + below(9);
        gcut_rt_conv g = conv_of(1 + below(3), groups * in, 1 + below(12), 1 + below(20), groups * out,
                                 1 + below(4), 1 + below(4));
        g.groups = groups;
        for (int d = 0; d < 2; d++) {
            g.stride[d] = 1 + below(3);
            g.dilation[d] = 1 + below(3) * (below(3) == 0);
            g.pad[d] = below(3);
        }
        if (!places(&g, below(3), below(3))) continue;
        check(g);
        round++;
    }
}

/* One element of x, or of y for the gradient of x, is a NaN: what sees it is one too, and nothing else. */
static void one_nan(void **state)
{
    (void)state;
    for (int round = 0, n = rounds(20); round < n;) {
        TRY("round %d", (int)round);
        int in = 1 + below(4), out = 1 + below(20), stride = 1 + below(2);
        gcut_rt_conv g =
            conv_of(1 + below(2), in, 1 + below(20), 1 + below(40), out, 1 + below(5), 1 + below(5));
        for (int d = 0; d < 2; d++) g.stride[d] = stride, g.pad[d] = below(3);
        if (!places(&g, below(3), below(3))) continue;
        int64_t nx = g.n * g.c * g.h * g.w, ny = g.n * g.o * g.oh * g.ow, nw = g.o * g.c * g.kh * g.kw;
        int64_t most = nx + ny + nw;
        float *buf = malloc((size_t)most * sizeof *buf), *to = malloc((size_t)most * sizeof *to);
        const size_t room = (size_t)(nw * gcut_rt_conv_w_shares(g.c, g.o, g.groups));
        float *work = aligned_alloc(64, (room * sizeof *work + 63) / 64 * 64);
        double *values = malloc((size_t)most * sizeof *values), *want = malloc((size_t)most * sizeof *want);
        double *mag = malloc((size_t)most * sizeof *mag);
        for (const char *which = "yxw"; *which; which++) {
            int64_t size = *which == 'y' ? ny : *which == 'x' ? nx : nw;
            for (int64_t i = 0; i < most; i++) buf[i] = 1, want[i] = mag[i] = 0;
            buf[*which == 'x' ? nx + nw + below((int)ny) : below((int)nx)] = NAN;
            for (int64_t i = 0; i < most; i++) values[i] = buf[i];
            terms(&g, values, values + nx, values + nx + nw, want, mag, *which);
            poison();
            if (*which == 'y') gcut_rt_conv_y_f32(&g, buf, buf + nx, to, work, 2);
            if (*which == 'x') gcut_rt_conv_x_f32(&g, buf + nx + nw, buf + nx, to, work, 2);
            if (*which == 'w') gcut_rt_conv_w_f32(&g, buf, buf + nx + nw, to, work, 2);
            for (int64_t i = 0; i < size; i++)
                if (isnan(want[i]) ? !isnan(to[i]) : to[i] != want[i]) {
                    show(&g);
                    fail_msg("%c[%d] is %g, expected %g", *which, (int)i, (double)to[i], want[i]);
                }
        }
        free(buf), free(to), free(work), free(values), free(want), free(mag);
        round++;
    }
}

/* ---- pools ---- */

enum { MAX, MAX_GRAD, MAX_TAKE, AVG, AVG_GRAD, NPOOLS };

/* All five by definition; y has a value for each place, t one for each element of x. */
static void pools(const gcut_rt_pool *g, const double *x, const double *y, const double *t,
                  double *const *ref)
{
    double size = (double)(g->window[0] * g->window[1]);
    for (int64_t k = 0; k < g->planes * g->oh * g->ow; k++) {
        int64_t j = k % g->ow, i = k / g->ow % g->oh, plane = k / g->ow / g->oh, first = -1;
        for (int64_t b = 0; b < g->window[0] * g->window[1]; b++) {
            int64_t ih = i * g->stride[0] + b / g->window[1] - g->pad[0];
            int64_t iw = j * g->stride[1] + b % g->window[1] - g->pad[1];
            if (ih < 0 || ih >= g->h || iw < 0 || iw >= g->w) continue;
            int64_t at = (plane * g->h + ih) * g->w + iw;
            ref[AVG][k] += x[at] / size;
            ref[AVG_GRAD][at] += y[k] / size;
            if (first < 0 || x[at] > x[first] || (isnan(x[at]) && !isnan(x[first]))) first = at;
        }
        ref[MAX][k] = first < 0 ? -INFINITY : x[first];
        ref[MAX_TAKE][k] = first < 0 ? 0 : t[first];
        if (first >= 0) ref[MAX_GRAD][first] += y[k];
    }
}

/* x has few different values, so ties, and some NaN and -infinity. */
#define CHECK_POOL(T, SUFFIX, TOL)                                                                           \
    static void check_pool_##SUFFIX(const gcut_rt_pool *g)                                                   \
    {                                                                                                        \
        size_t nx = (size_t)(g->planes * g->h * g->w), ny = (size_t)(g->planes * g->oh * g->ow);             \
        size_t n = nx + ny + 1, size[NPOOLS] = {ny, nx, ny, ny, nx};                                         \
        T *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);                                            \
        T *out[2] = {malloc(n * sizeof *x), malloc(n * sizeof *x)};                                          \
        double *dx = malloc(n * sizeof *dx), *dy = malloc(n * sizeof *dy), *ref[NPOOLS];                     \
        for (size_t i = 0; i < n; i++) dx[i] = x[i] = below(30) ? (T)(below(5) - 2) : (T)NAN;                \
        for (size_t i = 0; i < n / 8; i++) dx[i] = x[i] = -(T)INFINITY;                                      \
        for (size_t i = 0; i < n; i++) dy[i] = y[i] = (T)uniform();                                          \
        for (int f = 0; f < NPOOLS; f++) ref[f] = calloc(n, sizeof *ref[f]);                                 \
        pools(g, dx, dy, dy, ref);                                                                           \
        for (int f = 0; f < NPOOLS; f++) {                                                                   \
            for (int t = 0; t < 2; t++) {                                                                    \
                for (size_t i = 0; i < n; i++) out[t][i] = 77;                                               \
                if (f == MAX) gcut_rt_max_pool_##SUFFIX(g, x, out[t], t + 1);                                \
                if (f == MAX_GRAD) gcut_rt_max_pool_grad_##SUFFIX(g, x, y, out[t], t + 1);                   \
                if (f == MAX_TAKE) gcut_rt_max_pool_take_##SUFFIX(g, x, y, out[t], t + 1);                   \
                if (f == AVG) gcut_rt_avg_pool_##SUFFIX(g, x, out[t], t + 1);                                \
                if (f == AVG_GRAD) gcut_rt_avg_pool_grad_##SUFFIX(g, y, out[t], t + 1);                      \
            }                                                                                                \
            assert_memory_equal(out[0], out[1], n * sizeof *x);                                              \
            for (size_t i = 0; i < size[f]; i++) {                                                           \
                double got = out[0][i], want = ref[f][i];                                                    \
                if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= 100 * TOL) continue;       \
                fail_msg(#SUFFIX " function %d, element %d: %g, expected %g", f, (int)i, got, want);         \
            }                                                                                                \
            for (size_t i = size[f]; i < n; i++) assert_true(out[0][i] == 77);                               \
            free(ref[f]);                                                                                    \
        }                                                                                                    \
        free(x), free(y), free(dx), free(dy), free(out[0]), free(out[1]);                                    \
    }
CHECK_POOL(float, f32, 0x1p-24)
CHECK_POOL(double, f64, 0x1p-52)

static void random_pools(void **state)
{
    (void)state;
    for (int round = 0, n = rounds(100); round < n; round++) {
        TRY("round %d", (int)round);
        gcut_rt_pool g = {.planes = below(7), .h = 1 + below(12), .w = 1 + below(40)};
        int64_t room[2];
        for (int d = 0; d < 2; d++) {
            g.window[d] = 1 + below(4);
            g.stride[d] = 1 + below(4);
            g.pad[d] = below((int)g.window[d]);
            room[d] = (d ? g.w : g.h) + g.pad[d] + below((int)g.window[d]) - g.window[d];
        }
        if (room[0] < 0 || room[1] < 0) continue;
        g.oh = room[0] / g.stride[0] + 1;
        g.ow = room[1] / g.stride[1] + 1;
        check_pool_f32(&g);
        check_pool_f64(&g);
    }
    /* Windows of 2 * 2 side by side, with rows and columns left over. */
    for (int64_t w = 2; w < 24; w++) {
        gcut_rt_pool g = {3, 2 + w % 5, w, (2 + w % 5) / 2, w / 2, {2, 2}, {2, 2}, {0, 0}};
        check_pool_f32(&g);
        check_pool_f64(&g);
    }
    /* Large enough for two threads, and one whose windows see padding alone. */
    gcut_rt_pool large = {9, 40, 70, 20, 35, {3, 3}, {2, 2}, {1, 1}};
    check_pool_f32(&large);
    /* More windows side by side than are searched together. */
    gcut_rt_pool wide = {2, 3, 1500, 1, 749, {3, 3}, {2, 2}, {0, 0}},
                 dense = {1, 2, 600, 2, 600, {1, 3}, {1, 1}, {0, 1}};
    check_pool_f32(&wide);
    check_pool_f64(&dense);
    gcut_rt_pool padding = {1, 1, 1, 3, 3, {1, 1}, {1, 1}, {1, 1}};
    check_pool_f64(&padding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(particular_shapes),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(one_nan),
        cmocka_unit_test(random_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
