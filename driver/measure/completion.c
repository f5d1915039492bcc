/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures that calibrate derives: the capacity of a cache, from times; what it did not measure, from another model.
 */
#include "driver/measure/completion.h"

#include <math.h>

/* The geometric mean of measured figures over those of `like`; 1 where none is in both. */
static double ratio(const double *x, const double *like, size_t n)
{
    double logs = 0;
    size_t both = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] > 0 && like[i] > 0) logs += log2(x[i] / like[i]), both++;
    return both ? exp2(logs / (double)both) : 1;
}

/* The ratio of the class, by which its other figures are scaled. */
static double complete(double *x, const double *like, size_t n)
{
    const double times = ratio(x, like, n);
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0)) x[i] = like[i] * times;
    return times;
}

/* Fields of doubles alone, all of them. */
#define ALL(field) (double *)m->field, (const double *)like->field, sizeof m->field / sizeof(double)

void gcut_machine_complete(gcut_machine *m, const gcut_machine *like)
{
    const double ops = complete(ALL(op_ns));
    if (!(m->op_scale > 0)) m->op_scale = like->op_scale * ops;
    complete(ALL(gemm_ns_per_flop));
    complete(ALL(conv_ns_per_flop));
    complete(ALL(attention_ns_per_flop));
    if (!(m->f64_factor > 0)) m->f64_factor = like->f64_factor;
}

void gcut_machine_monotone_products(gcut_machine *m)
{
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++)
            for (int k = 0; k < GCUT_GEMM_K; k++) {
                double *x = &m->gemm_ns_per_flop[l][h][k];
                if (l)
                    *x = fmax(*x, m->gemm_ns_per_flop[l - 1][h][k] * gcut_gemm_lo[l - 1] / gcut_gemm_lo[l]);
                if (h)
                    *x = fmax(*x, m->gemm_ns_per_flop[l][h - 1][k] * gcut_gemm_hi[h - 1] / gcut_gemm_hi[h]);
                if (k) *x = fmax(*x, m->gemm_ns_per_flop[l][h][k - 1] * gcut_gemm_k[k - 1] / gcut_gemm_k[k]);
            }
}

static void no_slower(double *ns, const double *fewer, size_t n)
{
    for (size_t i = 0; i < n; i++) ns[i] = fmin(ns[i], fewer[i]);
}

void gcut_machine_monotone_threads(gcut_machine *m, const gcut_machine *fewer)
{
    no_slower(m->read_ns_per_byte, fewer->read_ns_per_byte, GCUT_NLEVELS);
    no_slower(m->write_ns_per_byte, fewer->write_ns_per_byte, GCUT_NLEVELS);
    no_slower(&m->gemm_ns_per_flop[0][0][0], &fewer->gemm_ns_per_flop[0][0][0],
              sizeof m->gemm_ns_per_flop / sizeof(double));
    no_slower(&m->conv_ns_per_flop[0][0], &fewer->conv_ns_per_flop[0][0], 3 * GCUT_NWINDOWS);
    no_slower(m->attention_ns_per_flop, fewer->attention_ns_per_flop, 2);
}

double gcut_cache_bytes(const double *bytes, const double *ns, uint32_t n)
{
    const double half = (ns[0] + ns[n - 1]) / 2;
    if (ns[n - 1] < 1.2 * ns[0]) return INFINITY;
    uint32_t i = 1; /* ns[n - 1] is at least half, so that this ends */
    while (ns[i] < half) i++;
    const double low = fmin(ns[i - 1], half), part = (half - low) / (ns[i] - low);
    return bytes[i - 1] * exp2(part * log2(bytes[i] / bytes[i - 1]));
}
