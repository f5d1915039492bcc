/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GF/s of matrix products, BLIS as it chooses itself (or as BLIS_ARCH_TYPE tells both) against ours, ns per
 * element of the vector math, ms of a loop over memory that stores as usual or past the caches, and of convolutions of
 * 3 * 3 the time in Winograd tiles over the direct one.
 *
 * Compile with -O3 -march=native -fno-math-errno -fno-trapping-math -pthread -Iinclude and the folder of
 * blis.h; link libgradcut_rt.a, libblis.a and libm.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gradcut/gradcut_rt.h"

enum { ELEMENTS = 4096 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void library(const gcut_rt_gemm *g, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, g->csa == 1 ? CblasNoTrans : CblasTrans,
                g->csb == 1 ? CblasNoTrans : CblasTrans, (int)g->m, (int)g->n, (int)g->k, 1, a,
                (int)gcut_rt_max(g->rsa, g->csa), b, (int)gcut_rt_max(g->rsb, g->csb), 0, c, (int)g->rsc);
}

/* threads = 0 stands for the library. The best of some rounds of about 20 ms. */
static double rate(const gcut_rt_gemm *g, const float *a, const float *b, float *c, int threads)
{
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k, best = 1e30;
    int calls = 1 + (int)(1e9 / flops);
    if (calls > 20000) calls = 20000;
    for (int r = 0; r < 6; r++) {
        double t = now();
        for (int i = 0; i < calls; i++) {
            if (threads)
                gcut_rt_gemm_f32(g, a, b, c, threads);
            else
                library(g, a, b, c);
        }
        t = (now() - t) / calls;
        if (t < best) best = t;
    }
    return flops / best * 1e-9;
}

static void products(void)
{
    static const int64_t shapes[][3] = {
        {16, 16, 16},       {64, 64, 64},      {128, 128, 128},   {256, 256, 256},   {512, 512, 512},
        {1024, 1024, 1024}, {4, 768, 768},     {64, 784, 256},    {64, 256, 10},     {500, 500, 784},
        {256, 256, 64},     {32, 128, 256},    {64, 768, 3072},   {256, 2304, 768},  {1024, 768, 768},
        {1024, 3072, 768},  {1024, 768, 3072}, {768, 3072, 1024}, {1024, 50257, 768}};
    printf("GF/s; NN, NT (B transposed), TN: BLIS by itself with %s, ours with %s, 1 and 2 threads\n",
           gcut_rt_blis_name(), gcut_rt_gemm_name());
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *a = calloc((size_t)(m * k), sizeof *a), *b = calloc((size_t)(k * n), sizeof *b);
        float *c = calloc((size_t)(m * n), sizeof *c);
        if (!a || !b || !c) exit(1);
        printf("%5d %5d %5d", (int)m, (int)n, (int)k);
        for (int how = 0; how < 3; how++) {
            gcut_rt_gemm g = {
                .m = m, .n = n, .k = k, .rsa = k, .csa = 1, .rsb = n, .csb = 1, .rsc = n, .csc = 1};
            if (how == 1) g.rsb = 1, g.csb = k;
            if (how == 2) g.rsa = 1, g.csa = m;
            printf("  | %6.1f %6.1f %6.1f", rate(&g, a, b, c, 0), rate(&g, a, b, c, 1), rate(&g, a, b, c, 2));
        }
        printf("\n");
        free(a), free(b), free(c);
    }
}

/* clang-format off */
#define UNARY(X) \
    X(exp) X(expm1) X(log) X(log1p) X(rsqrt) X(sin) X(cos) X(tanh) X(sigmoid) X(erf) X(gelu) X(gelu_tanh) X(silu) \
    X(softplus) X(round)
/* clang-format on */
#define X(name)                                                                                              \
    static void run_##name(const float *x, float *y)                                                         \
    {                                                                                                        \
        for (int i = 0; i < ELEMENTS; i++) y[i] = gcut_##name##_f32(x[i]);                                   \
    }
UNARY(X)
#undef X

static void math(void)
{
#define X(name) {#name, run_##name},
    static const struct {
        const char *name;
        void (*run)(const float *, float *);
    } f[] = {UNARY(X)};
#undef X
    static float x[ELEMENTS], y[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) x[i] = 0.005f * (float)(i - 1000);
    for (size_t k = 0; k < sizeof f / sizeof *f; k++) {
        double best = 1e30;
        for (int r = 0; r < 50; r++) {
            double t = now();
            for (int i = 0; i < 20; i++) f[k].run(x, y);
            t = (now() - t) / 20;
            if (t < best) best = t;
        }
        printf("%-10s %6.3f ns/element\n", f[k].name, best / ELEMENTS * 1e9);
    }
}

/* y = max(x, 0), and the sum of y when it is to be read again, on 2 threads. */
typedef struct relu {
    const float *x;
    float *y, sum[2][64];
    int64_t n;
    int past, again;
} relu;

static void run_relu(void *arg, int t, int nt)
{
    relu *const j = arg;
    const float *const x = j->x;
    float *const y = j->y;
    int64_t from, to;
    gcut_rt_share(j->n, 64, t, nt, &from, &to);
    const int64_t usual = j->past ? from : to;
    GCUT_RT_APART for (int64_t i = from; i < usual; i++) y[i] = gcut_relu_f32(x[i]);
    for (int64_t i = usual; i < to; i += 16) {
        _Alignas(64) float line[16];
        GCUT_RT_APART_FEW for (int l = 0; l < 16; l++) line[l] = gcut_relu_f32(x[i + l]);
        gcut_rt_line(y + i, line);
    }
    if (j->past) gcut_rt_streamed();
    float *const sum = j->sum[t % 2];
    for (int64_t i = j->again ? from : to; i < to; i += 64)
        for (int l = 0; l < 64; l++) sum[l] += y[i + l];
}

static double relu_ms(relu *j, int past)
{
    double t = now();
    j->past = past;
    gcut_rt_parallel(run_relu, j, 2);
    return 1e3 * (now() - t);
}

static void stores(void)
{
    printf("a result is large from %lld bytes on\n", (long long)gcut_rt_stream_bytes());
    for (int64_t mib = 4; mib <= 128; mib *= 2) {
        relu j = {.n = mib << 18};
        float *x = aligned_alloc(64, (size_t)mib << 20);
        j.x = x, j.y = aligned_alloc(64, (size_t)mib << 20);
        if (!x || !j.y) exit(1);
        for (int64_t i = 0; i < j.n; i++) x[i] = j.y[i] = (float)(i % 7 - 3);
        for (j.again = 0; j.again < 2; j.again++) {
            double best[2] = {1e30, 1e30};
            for (int r = 0; r < 60; r++) {
                double ms = relu_ms(&j, r % 2);
                if (ms < best[r % 2]) best[r % 2] = ms;
            }
            printf("%4d MiB%s: as usual %7.3f ms, past the caches %7.3f ms\n", (int)mib,
                   j.again ? " read again" : "", best[0], best[1]);
        }
        free(x), free(j.y);
    }
}

static double conv_s(const gcut_rt_conv *g, int way, const float *a, const float *b, float *c, float *work,
                     int threads)
{
    void (*const f[])(const gcut_rt_conv *, const float *, const float *, float *, float *,
                      int) = {gcut_rt_conv_y_f32, gcut_rt_conv_x_f32, gcut_rt_conv_w_f32};
    const double t = now();
    f[way](g, a, b, c, work, threads);
    return now() - t;
}

/* Ratios of the least times of y, x and w. */
static void tiles(void)
{
    enum { ROUNDS = 20 };
    static const int64_t shapes[][4] = {/* images, channels of x and of y, rows and columns */
                                        {8, 32, 32, 32},   {8, 64, 64, 16},   {8, 64, 128, 16},
                                        {8, 96, 96, 16},   {8, 64, 256, 16},  {8, 128, 128, 16},
                                        {4, 128, 128, 32}, {16, 192, 192, 8}, {8, 256, 256, 8}};
    printf("3 * 3 in tiles over direct, y x w; 1 and 2 threads\n");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t n = shapes[s][0], in = shapes[s][1], out = shapes[s][2], h = shapes[s][3];
        gcut_rt_conv g = {.n = n,
                          .c = in,
                          .h = h,
                          .w = h,
                          .o = out,
                          .oh = h,
                          .ow = h,
                          .kh = 3,
                          .kw = 3,
                          .stride = {1, 1},
                          .pad = {1, 1},
                          .dilation = {1, 1},
                          .groups = 1};
        const int64_t elements[] = {n * in * h * h, out * in * 9, n * out * h * h,
                                    GCUT_RT_WINOGRAD_W * in * out + GCUT_RT_WINOGRAD_C * (in + out)};
        float *of[4]; /* x, w, y, work */
        for (int k = 0; k < 4; k++)
            if (!(of[k] = calloc((size_t)elements[k], sizeof **of))) exit(1);
        const int operands[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
        printf("%3d x %3d -> %3d x %2d", (int)n, (int)in, (int)out, (int)h);
        for (int threads = 1; threads <= 2; threads++) {
            printf("  |");
            for (int way = 0; way < 3; way++) {
                const int *at = operands[way];
                double best[2] = {1e30, 1e30};
                for (int r = 0; r < 2 * ROUNDS; r++) {
                    g.winograd = r % 2;
                    const double t = conv_s(&g, way, of[at[0]], of[at[1]], of[at[2]], of[3], threads);
                    if (t < best[r % 2]) best[r % 2] = t;
                }
                printf(" %5.2f", best[1] / best[0]);
            }
        }
        printf("\n");
        for (int k = 0; k < 4; k++) free(of[k]);
    }
}

int main(void)
{
    products();
    math();
    stores();
    tiles();
    return 0;
}
