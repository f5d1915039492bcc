/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut bench`: the measured and the predicted time of a step, and the error of the prediction for each
 * class of kernels; --compare and --fix are in files of their own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

#define DEAREST 8 /* kernels that the text lists */

typedef struct class
{
    const char *name;
    size_t count;
    double runs, predicted, measured, flops, bytes;
} class;

typedef struct bench {
    const gcut_profile *p;
    const gcut_stats *stats;
    double compile_ns;
    class *at; /* the dearest first */
    size_t n;
    double launches; /* in one training step */
    double least;    /* the sum of the least times of its kernels, ns */
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- classes ---- */

static double error_of(double predicted, double measured)
{
    return measured > 0 ? predicted / measured - 1 : 0;
}

/* NAN where the clock saw nothing. */
static double ratio_of(double predicted, double measured)
{
    return measured > 0 ? predicted / measured : NAN;
}

static int by_time(const void *a, const void *b)
{
    const class *x = a, *y = b;
    if (x->measured != y->measured) return x->measured < y->measured ? 1 : -1;
    return strcmp(x->name, y->name);
}

static void add_kernel(bench *b, const gcut_kernel_time *k)
{
    size_t i = 0;
    while (i < b->n && strcmp(b->at[i].name, k->family) != 0) i++;
    class *c = &b->at[i];
    if (i == b->n) b->n++, c->name = k->family;
    c->count++;
    c->runs += k->runs;
    b->launches += k->runs;
    c->predicted += k->predicted_ns;
    c->measured += k->measured_ns;
    b->least += k->least_ns;
    c->flops += k->flops;
    c->bytes += k->bytes;
}

/* The class whose prediction is the farthest off; NULL when there is none. */
static const class *worst(const bench *b)
{
    const class *w = NULL;
    for (size_t i = 0; i < b->n; i++)
        if (!w ||
            fabs(error_of(b->at[i].predicted, b->at[i].measured)) > fabs(error_of(w->predicted, w->measured)))
            w = &b->at[i];
    return w;
}

/* ---- text ---- */

static void print_times(const char *name, size_t kernels, double launches, double predicted, double measured)
{
    printf("%-16s %7zu %8.0f  %12.4f %12.4f", name, kernels, launches, predicted / 1e6, measured / 1e6);
    if (measured > 0)
        printf(" %6.2f", ratio_of(predicted, measured));
    else
        printf(" %6s", "-");
}

static void print_classes(const bench *b)
{
    printf("\n%-16s %7s %8s  %12s %12s %6s  %8s %8s\n", "class", "kernels", "launches", "predicted ms",
           "measured ms", "ratio", "GFLOP/s", "GB/s");
    for (size_t i = 0; i < b->n; i++) {
        const class *c = &b->at[i];
        print_times(c->name, c->count, c->runs, c->predicted, c->measured);
        if (c->measured > 0 && c->flops > 0)
            printf("  %8.1f", c->flops / c->measured);
        else
            printf("  %8s", "");
        printf(c->measured > 0 ? " %8.1f\n" : "\n", c->measured > 0 ? c->bytes / c->measured : 0);
    }
    print_times("step", b->p->n, b->launches, b->p->predicted_ns, b->p->median_ns);
    printf("\n");
}

static int by_kernel_time(const void *a, const void *b)
{
    const gcut_kernel_time *x = *(const gcut_kernel_time *const *)a, *y = *(const gcut_kernel_time *const *)b;
    if (x->measured_ns != y->measured_ns) return x->measured_ns < y->measured_ns ? 1 : -1;
    return (x->launch > y->launch) - (x->launch < y->launch);
}

static void print_kernels(const bench *b)
{
    const gcut_kernel_time **k = calloc(b->p->n + 1, sizeof *k);
    if (!k) return;
    for (size_t i = 0; i < b->p->n; i++) k[i] = b->p->at[i];
    qsort(k, b->p->n, sizeof *k, by_kernel_time);
    printf("\n%-7s %-16s  %12s %12s  makes\n", "kernel", "class", "predicted ms", "measured ms");
    for (size_t i = 0; i < b->p->n && i < DEAREST; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", k[i]->launch);
        printf("%-7s %-16s  %12.4f %12.4f  %%%s %s%s%s%s\n", name, k[i]->family, k[i]->predicted_ns / 1e6,
               k[i]->measured_ns / 1e6, k[i]->value, k[i]->op, k[i]->backward ? ", backward" : "",
               *k[i]->where ? ", " : "", k[i]->where);
    }
    free(k);
}

static void print_text(const bench *b)
{
    const gcut_profile *p = b->p;
    printf("compile: %.2f s\npeak: ", b->compile_ns / 1e9);
    gcut_cli_bytes(stdout, b->stats->peak_bytes);
    fputs(", predicted ", stdout);
    gcut_cli_bytes(stdout, b->stats->predicted_bytes);
    fputs("; saved ", stdout);
    gcut_cli_bytes(stdout, b->stats->saved_bytes);
    putchar('\n');
    printf("step: best %.4f ms, median %.4f ms", p->best_ns / 1e6, p->median_ns / 1e6);
    if (!isnan(p->median_lo_ns)) printf(" (%.4f to %.4f)", p->median_lo_ns / 1e6, p->median_hi_ns / 1e6);
    printf(", p90 %.4f ms of %d steps, %d thread%s, products by %s\n", p->p90_ns / 1e6, p->steps, p->threads,
           p->threads == 1 ? "" : "s", b->stats->gemm);
    printf("predicted: %.4f ms, %+.0f%% against the best, %+.0f%% against the median", p->predicted_ns / 1e6,
           100 * error_of(p->predicted_ns, p->best_ns), 100 * error_of(p->predicted_ns, p->median_ns));
    if (p->priced_threads != p->threads)
        printf(", for %d thread%s, the %s that the machine model has", p->priced_threads,
               p->priced_threads == 1 ? "" : "s", p->priced_threads < p->threads ? "most" : "fewest");
    printf("\n");
    printf("kernels: %.4f ms, the sum of the least time of each; the prediction is %+.0f%% against it\n",
           b->least / 1e6, 100 * error_of(p->predicted_ns, b->least));
    printf("rates: %.1f GFLOP/s of %.0f, %.1f GB/s of %.1f from memory\n", p->flops / p->median_ns,
           p->peak_flops_per_second / 1e9, p->bytes / p->median_ns, p->peak_bytes_per_second / 1e9);
    if (!isnan(p->line_ratio))
        printf("threads: the round trip of a cache line between them takes %.1f times what it took in the "
               "calibration\n",
               p->line_ratio);
    print_classes(b);
    print_kernels(b);
}

/* ---- JSON ---- */

static void json_class(const class *c)
{
    gcut_cli_json("{\"class\": $s, \"kernels\": $i, \"runs\": $x, \"predicted_ns\": $x, \"measured_ns\": $x, "
                  "\"ratio\": $x, \"rel_error\": $x, \"flops\": $x, \"bytes\": $x}",
                  c->name, (int64_t)c->count, c->runs, c->predicted, c->measured,
                  ratio_of(c->predicted, c->measured), error_of(c->predicted, c->measured), c->flops,
                  c->bytes);
}

static void json_kernel(const gcut_kernel_time *k)
{
    printf("{\"kernel\": \"k%d\"", k->launch);
    gcut_cli_json(
        ", \"class\": $s, \"value\": $s, \"op\": $s, \"loc\": $s, \"half\": $s, \"runs\": $x, "
        "\"predicted_ns\": $x, \"measured_ns\": $x, \"least_ns\": $x, \"flops\": $x, \"bytes\": $x}",
        k->family, k->value, k->op, k->where, k->backward ? "backward" : "forward", k->runs, k->predicted_ns,
        k->measured_ns, k->least_ns, k->flops, k->bytes);
}

static void json_sample(const gcut_sample *s)
{
    gcut_cli_json("{\"round\": $i, \"turn\": $i, \"row\": $i, \"name\": $s, \"ns\": $x}", (int64_t)s->round,
                  (int64_t)s->turn, (int64_t)s->row, s->name, s->ns);
}

static void print_json(const bench *b)
{
    const gcut_profile *p = b->p;
    const class *w = worst(b);
    gcut_cli_json("{\"ok\": true, \"max_rel_error\": $x, \"worst\": $s, \"compile_ns\": $x, \"step_ns\": $x, "
                  "\"step_ns_lo\": $x, \"step_ns_hi\": $x, \"step_ns_best\": $x, \"step_ns_p90\": $x, "
                  "\"predicted_ns\": $x, \"ratio\": $x, \"rel_error\": $x",
                  w ? fabs(error_of(w->predicted, w->measured)) : 0.0, w ? w->name : NULL, b->compile_ns,
                  p->median_ns, p->median_lo_ns, p->median_hi_ns, p->best_ns, p->p90_ns, p->predicted_ns,
                  ratio_of(p->predicted_ns, p->median_ns), error_of(p->predicted_ns, p->median_ns));
    gcut_cli_json(", \"flops\": $x, \"bytes\": $x, \"limit_flops_per_s\": $x, \"limit_bytes_per_s\": $x, "
                  "\"peak_bytes\": $i, \"predicted_bytes\": $i, \"saved_bytes\": $i, "
                  "\"steps\": $i, \"threads\": $i, \"priced_threads\": $i, \"line_ratio\": $x, \"blis\": $s, "
                  "\"gemm\": $s, \"classes\": [",
                  p->flops, p->bytes, p->peak_flops_per_second, p->peak_bytes_per_second,
                  b->stats->peak_bytes, b->stats->predicted_bytes, b->stats->saved_bytes, (int64_t)p->steps,
                  (int64_t)p->threads, (int64_t)p->priced_threads, p->line_ratio, b->stats->blis,
                  b->stats->gemm);
    for (size_t i = 0; i < b->n; i++) fputs(i ? ", " : "", stdout), json_class(&b->at[i]);
    fputs("], \"kernels\": [", stdout);
    for (size_t i = 0; i < p->n; i++) fputs(i ? ", " : "", stdout), json_kernel(p->at[i]);
    fputs("], \"samples\": [", stdout);
    for (size_t i = 0; i < p->nsamples; i++) fputs(i ? ", " : "", stdout), json_sample(p->sample[i]);
    puts("]}");
}

/* ---- CSV ---- */

static void csv_row(const char *name, size_t kernels, double launches, double predicted, double measured)
{
    printf("%s,%zu,%.0f,%.17g,%.17g,", name, kernels, launches, predicted, measured);
    if (measured > 0) printf("%.17g", ratio_of(predicted, measured));
    printf("\n");
}

/* The last row is the step: of its time it is the median, measured without the clock between kernels. */
static void print_csv(const bench *b)
{
    puts("class,kernels,launches,predicted_ns,measured_ns,ratio");
    for (size_t i = 0; i < b->n; i++)
        csv_row(b->at[i].name, b->at[i].count, b->at[i].runs, b->at[i].predicted, b->at[i].measured);
    csv_row("step", b->p->n, b->launches, b->p->predicted_ns, b->p->median_ns);
}

/* ---- the command ---- */

static int report(gcut_ctx *ctx, const gcut_cli *c, bench *b)
{
    const gcut_profile *p = b->p;
    b->at = calloc(p->n + 1, sizeof *b->at);
    if (!b->at) {
        gcut_cli_complain("out of memory");
        return EXIT_INPUT;
    }
    for (size_t i = 0; i < p->n; i++) add_kernel(b, p->at[i]);
    qsort(b->at, b->n, sizeof *b->at, by_time);
    int code = c->samples ? gcut_cli_write(ctx, c->samples, p->samples) : EXIT_FINE;
    if (!code) (c->json ? print_json : c->csv ? print_csv : print_text)(b);
    free(b->at);
    return code;
}

int gcut_cmd_bench(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    bench b = {0};
    gcut_options opt = c->opt;
    opt.profile = true;
    if (c->compare) return gcut_cli_compare(ctx, c, g);
    if (c->opt.nfix) return gcut_cli_fixed(ctx, c, g);
    double start = now();
    gcut_step *step = gcut_compile(g, &opt);
    b.compile_ns = now() - start;
    if (!step || gcut_step_feed(step, c->feed, c->nfeed) != GCUT_OK) return gcut_cli_failed(ctx);
    gcut_profile *p = gcut_step_profile(step, (int)c->steps);
    const gcut_stats *stats = p ? gcut_step_stats(step) : NULL;
    if (!stats) return gcut_cli_failed(ctx);
    b.stats = stats;
    b.p = p;
    int code = report(ctx, c, &b);
    gcut_free(p);
    return code;
}
