/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut bench --fix`: what a symbol costs.  The step with the symbol at that size and the step with the
 * constant are profiled in turns, and their kernels are printed side by side.
 *
 * Kernels match by the graph they are in and the value that they make, the k-th with the k-th where several
 * make a value of that name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { TURNS = 3, SYMBOL = 0, CONSTANT = 1 }; /* the median of three ignores one disturbed turn */

typedef struct side {
    gcut_step *step;
    gcut_profile *turn[TURNS]; /* the same kernels in each */
} side;

/* A kernel of either step or of both; the index in its profile, -1: that step has no such kernel. */
typedef struct pair {
    int64_t at[2];
    double difference_ns;
} pair;

typedef struct fixed {
    side side[2];
    pair *pair;
    size_t n;
} fixed;

static double median(double x, double y, double z)
{
    return fmax(fmin(x, y), fmin(fmax(x, y), z));
}

static double step_ns(const side *s)
{
    return median(s->turn[0]->median_ns, s->turn[1]->median_ns, s->turn[2]->median_ns);
}

static double best_ns(const side *s)
{
    return fmin(fmin(s->turn[0]->best_ns, s->turn[1]->best_ns), s->turn[2]->best_ns);
}

/* Where the intervals of a step's medians begin and end, over all turns. */
static double lowest_ns(const side *s)
{
    return fmin(fmin(s->turn[0]->median_lo_ns, s->turn[1]->median_lo_ns), s->turn[2]->median_lo_ns);
}

static double highest_ns(const side *s)
{
    return fmax(fmax(s->turn[0]->median_hi_ns, s->turn[1]->median_hi_ns), s->turn[2]->median_hi_ns);
}

static bool are_separable(const fixed *f)
{
    const side *x = &f->side[SYMBOL], *y = &f->side[CONSTANT];
    return lowest_ns(x) > highest_ns(y) || lowest_ns(y) > highest_ns(x);
}

/* NAN: the step has no such kernel. */
static double kernel_ns(const side *s, int64_t i)
{
    return i < 0 ? (double)NAN
                 : median(s->turn[0]->at[i]->measured_ns, s->turn[1]->at[i]->measured_ns,
                          s->turn[2]->at[i]->measured_ns);
}

/* The same in every turn. */
static double predicted_ns(const side *s, int64_t i)
{
    return i < 0 ? (double)NAN : s->turn[0]->at[i]->predicted_ns;
}

/* ---- matching ---- */

static const gcut_kernel_time *kernel(const fixed *f, const pair *p)
{
    const int of = p->at[SYMBOL] < 0 ? CONSTANT : SYMBOL;
    return f->side[of].turn[0]->at[p->at[of]];
}

static bool is_same(const gcut_kernel_time *x, const gcut_kernel_time *y)
{
    return x->backward == y->backward && !strcmp(x->value, y->value);
}

/* The symbol's kernels, each with the first of the constant's that is the same and not taken yet, then the rest
 * of the constant's. */
static void match(fixed *f)
{
    const gcut_profile *a = f->side[SYMBOL].turn[0], *b = f->side[CONSTANT].turn[0];
    for (size_t i = 0; i < a->n; i++) f->pair[f->n++] = (pair){{(int64_t)i, -1}, 0};
    for (size_t k = 0; k < b->n; k++) {
        size_t i = 0;
        while (i < a->n && (f->pair[i].at[CONSTANT] >= 0 || !is_same(a->at[i], b->at[k]))) i++;
        if (i == a->n)
            f->pair[f->n++] = (pair){{-1, (int64_t)k}, 0};
        else
            f->pair[i].at[CONSTANT] = (int64_t)k;
    }
    for (size_t i = 0; i < f->n; i++) {
        pair *p = &f->pair[i];
        const double x = kernel_ns(&f->side[SYMBOL], p->at[SYMBOL]);
        const double y = kernel_ns(&f->side[CONSTANT], p->at[CONSTANT]);
        p->difference_ns = (isnan(x) ? 0 : x) - (isnan(y) ? 0 : y);
    }
}

/* Falling difference; equal ones in running order. */
static int by_difference(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->difference_ns != y->difference_ns) return x->difference_ns < y->difference_ns ? 1 : -1;
    for (int k = 0; k < 2; k++)
        if (x->at[k] != y->at[k]) return x->at[k] < y->at[k] ? -1 : 1;
    return 0;
}

/* ---- output ---- */

static void print_sizes(const gcut_cli *c)
{
    for (size_t i = 0; i < c->opt.nfix; i++)
        printf("%s%s=%lld", i ? "," : "", c->opt.fix[i].name, (long long)c->opt.fix[i].value);
}

static void print_ns(double ns)
{
    if (isnan(ns))
        printf(" %12s", "-");
    else
        printf(" %12.4f", ns / 1e6);
}

static void print_text(const gcut_cli *c, const fixed *f)
{
    const gcut_profile *p = f->side[SYMBOL].turn[0];
    const double symbol = step_ns(&f->side[SYMBOL]), constant = step_ns(&f->side[CONSTANT]);
    print_sizes(c);
    printf(": symbol %.4f ms, constant %.4f ms: the symbol costs %+.1f%% of the step%s\n", symbol / 1e6,
           constant / 1e6, 100 * (symbol / constant - 1), are_separable(f) ? "" : ", not separable");
    printf(
        "medians of %d turns of %d steps, %d thread%s; best %.4f and %.4f ms, predicted %.4f and %.4f ms\n\n",
        TURNS, p->steps, p->threads, p->threads == 1 ? "" : "s", best_ns(&f->side[SYMBOL]) / 1e6,
        best_ns(&f->side[CONSTANT]) / 1e6, p->predicted_ns / 1e6,
        f->side[CONSTANT].turn[0]->predicted_ns / 1e6);
    printf(" %12s %12s %12s %12s %12s  %-16s  makes\n", "symbol ms", "predicted", "constant ms", "predicted",
           "difference", "class");
    for (size_t i = 0; i < f->n; i++) {
        const gcut_kernel_time *k = kernel(f, &f->pair[i]);
        for (int s = 0; s < 2; s++) {
            print_ns(kernel_ns(&f->side[s], f->pair[i].at[s]));
            print_ns(predicted_ns(&f->side[s], f->pair[i].at[s]));
        }
        printf(" %+12.4f  %-16s  %%%s %s%s%s%s\n", f->pair[i].difference_ns / 1e6, k->family, k->value, k->op,
               k->backward ? ", backward" : "", *k->where ? ", " : "", k->where);
    }
}

static void json_side(const char *name, const side *s)
{
    printf(", \"%s\": ", name);
    gcut_cli_json("{\"step_ns\": $x, \"step_ns_lo\": $x, \"step_ns_hi\": $x, \"step_ns_best\": $x, "
                  "\"predicted_ns\": $x}",
                  step_ns(s), lowest_ns(s), highest_ns(s), best_ns(s), s->turn[0]->predicted_ns);
}

static void print_json(const gcut_cli *c, const fixed *f)
{
    const gcut_profile *p = f->side[SYMBOL].turn[0];
    fputs("{\"fix\": {", stdout);
    for (size_t i = 0; i < c->opt.nfix; i++)
        gcut_cli_json(i ? ", $s: $i" : "$s: $i", c->opt.fix[i].name, c->opt.fix[i].value);
    gcut_cli_json("}, \"turns\": $i, \"steps\": $i, \"threads\": $i", (int64_t)TURNS, (int64_t)p->steps,
                  (int64_t)p->threads);
    json_side("symbol", &f->side[SYMBOL]);
    json_side("constant", &f->side[CONSTANT]);
    printf(", \"separable\": %s", are_separable(f) ? "true" : "false");
    fputs(", \"kernels\": [", stdout);
    for (size_t i = 0; i < f->n; i++) {
        const gcut_kernel_time *k = kernel(f, &f->pair[i]);
        if (i) fputs(", ", stdout);
        gcut_cli_json("{\"class\": $s, \"value\": $s, \"op\": $s, \"loc\": $s, \"half\": $s, "
                      "\"symbol_ns\": $x, \"symbol_predicted_ns\": $x, \"constant_ns\": $x, "
                      "\"constant_predicted_ns\": $x, \"difference_ns\": $x}",
                      k->family, k->value, k->op, k->where, k->backward ? "backward" : "forward",
                      kernel_ns(&f->side[SYMBOL], f->pair[i].at[SYMBOL]),
                      predicted_ns(&f->side[SYMBOL], f->pair[i].at[SYMBOL]),
                      kernel_ns(&f->side[CONSTANT], f->pair[i].at[CONSTANT]),
                      predicted_ns(&f->side[CONSTANT], f->pair[i].at[CONSTANT]), f->pair[i].difference_ns);
    }
    puts("]}");
}

/* ---- the command ---- */

/* The sizes of --at and --fix in one list, the caller's; NULL after an error message. */
static gcut_size *all_sizes(const gcut_cli *c)
{
    gcut_size *at = calloc(c->opt.nat + c->opt.nfix, sizeof *at);
    if (!at) {
        gcut_cli_complain("out of memory");
        return NULL;
    }
    if (c->opt.nat) memcpy(at, c->opt.at, c->opt.nat * sizeof *at);
    memcpy(at + c->opt.nat, c->opt.fix, c->opt.nfix * sizeof *at);
    return at;
}

/* Compiles both steps, the constant's first: it checks the sizes. */
static bool compile(const gcut_cli *c, gcut_graph *g, fixed *f, const gcut_size *at)
{
    gcut_options constant = c->opt, symbol = c->opt;
    constant.profile = symbol.profile = true;
    symbol.fix = NULL, symbol.nfix = 0;
    symbol.at = at, symbol.nat = c->opt.nat + c->opt.nfix;
    f->side[CONSTANT].step = gcut_compile(g, &constant);
    f->side[SYMBOL].step = f->side[CONSTANT].step ? gcut_compile(g, &symbol) : NULL;
    for (int k = 0; k < 2; k++)
        if (!f->side[k].step || gcut_step_feed(f->side[k].step, c->feed, c->nfeed) != GCUT_OK) return false;
    return true;
}

static bool profile(const gcut_cli *c, fixed *f)
{
    for (int t = 0; t < TURNS; t++)
        for (int k = 0; k < 2; k++)
            if (!(f->side[k].turn[t] = gcut_step_profile(f->side[k].step, c->steps ? (int)c->steps : 20)))
                return false;
    return true;
}

static int report(const gcut_cli *c, fixed *f)
{
    f->pair = calloc(f->side[0].turn[0]->n + f->side[1].turn[0]->n + 1, sizeof *f->pair);
    if (!f->pair) {
        gcut_cli_complain("out of memory");
        return EXIT_INPUT;
    }
    match(f);
    qsort(f->pair, f->n, sizeof *f->pair, by_difference);
    if (c->json)
        print_json(c, f);
    else
        print_text(c, f);
    free(f->pair);
    return EXIT_FINE;
}

int gcut_cli_fixed(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    fixed f = {0};
    gcut_size *at = all_sizes(c);
    if (!at) return EXIT_INPUT;
    const bool ok = compile(c, g, &f, at) && profile(c, &f);
    const int code = ok ? report(c, &f) : gcut_cli_failed(ctx);
    for (int t = 0; t < TURNS; t++)
        for (int k = 0; k < 2; k++) gcut_free(f.side[k].turn[t]);
    free(at);
    return code;
}
