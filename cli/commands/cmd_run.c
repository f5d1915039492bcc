/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut run`: executes a step, prints its scalars, writes its arrays.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "gradcut/train.h"

/* ---- results to files ---- */

/* True for every result and gradient, and every value that the step replaced by its `next`. */
static bool is_result(const gcut_value_info *v)
{
    return v->updated || !strcmp(v->role, "out") || !strcmp(v->role, "grad");
}

static int save_results(gcut_ctx *ctx, const gcut_cli *c, gcut_step *step)
{
    for (size_t i = 0; i < gcut_step_value_count(step); i++) {
        gcut_value_info v = *gcut_step_value_at(step, i);
        if (!is_result(&v)) continue;
        char *folder = gcut_cli_join(c->out, "/", v.name),
             *path = folder ? gcut_cli_join(folder, ".npy", "") : NULL;
        free(folder);
        if (!path) return EXIT_INPUT;
        gcut_status s = gcut_step_value_save(step, v.name, path);
        free(path);
        if (s != GCUT_OK) return gcut_cli_failed(ctx);
    }
    return EXIT_FINE;
}

/* ---- printing ---- */

static bool is_scalar_out(const gcut_value_info *v)
{
    return v->rank == 0 && v->at && !strcmp(v->role, "out");
}

static void print_step(gcut_step *step, int64_t k, int64_t steps)
{
    for (size_t i = 0; i < gcut_step_value_count(step); i++) {
        gcut_value_info v = *gcut_step_value_at(step, i);
        if (!is_scalar_out(&v)) continue;
        if (steps > 1) printf("step %" PRId64 "  ", k + 1);
        printf("%s  ", v.name);
        gcut_cli_scalar(stdout, &v, false);
        putchar('\n');
    }
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts ns. */
static void print_summary(const gcut_cli *c, const gcut_stats *s, int64_t *ns, int64_t steps)
{
    qsort(ns, (size_t)steps, sizeof *ns, by_size);
    printf("%s, %d thread%s", gcut_backend_names[c->opt.backend], s->threads, s->threads == 1 ? "" : "s");
    if (s->gemm) printf(", products by %s", s->gemm);
    fputs(": peak ", stdout);
    gcut_cli_bytes(stdout, s->peak_bytes);
    fputs(", arena ", stdout);
    gcut_cli_bytes(stdout, s->arena_bytes);
    fputs(", saved ", stdout);
    gcut_cli_bytes(stdout, s->saved_bytes);
    printf("; step %.3f ms%s\n", (double)ns[steps / 2] / 1e6, steps > 1 ? " (median)" : "");
}

static void print_json(const gcut_cli *c, gcut_step *step, const gcut_stats *s, const int64_t *ns,
                       int64_t steps)
{
    const char *comma = "";
    fputs("{\"results\": {", stdout);
    for (size_t i = 0; i < gcut_step_value_count(step); i++) {
        gcut_value_info v = *gcut_step_value_at(step, i);
        if (!is_scalar_out(&v)) continue;
        fputs(comma, stdout), comma = ", ";
        gcut_cli_json("$s: ", v.name);
        gcut_cli_scalar(stdout, &v, true);
    }
    gcut_cli_json("}, \"peak_bytes\": $i, \"arena_bytes\": $i, \"saved_bytes\": $i, \"step_ns\": [",
                  s->peak_bytes, s->arena_bytes, s->saved_bytes);
    for (int64_t k = 0; k < steps; k++) gcut_cli_json(k ? ", $i" : "$i", ns[k]);
    gcut_cli_json("], \"backend\": $s, \"threads\": $i, \"blis\": $s, \"gemm\": $s}\n",
                  gcut_backend_names[c->opt.backend], (int64_t)s->threads, s->blis, s->gemm);
}

/* ---- the command ---- */

/* The statistics have the time of the last step only, and asking for them reads the whole arena. */
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The next step draws anew. */
static void advance_keys(gcut_step *step)
{
    const gcut_value_info *v;
    for (size_t i = 0; (v = gcut_step_value_at(step, i)); i++)
        if (!strcmp(v->role, "rng")) ++*(uint64_t *)v->at;
}

static int run_steps(gcut_ctx *ctx, const gcut_cli *c, gcut_step *step, int64_t *ns, int64_t steps)
{
    for (int64_t k = 0; k < steps; k++) {
        int64_t start = now();
        if (gcut_run(step) != GCUT_OK) return gcut_cli_failed(ctx);
        ns[k] = now() - start;
        if (!c->json) print_step(step, k, steps);
        advance_keys(step);
    }
    const gcut_stats *stats = gcut_step_stats(step);
    if (!stats) return gcut_cli_failed(ctx);
    int code = c->out ? save_results(ctx, c, step) : EXIT_FINE;
    if (code) return code;
    if (c->save_weights && gcut_save_weights(step, c->save_weights) != GCUT_OK) return gcut_cli_failed(ctx);
    if (c->json)
        print_json(c, step, stats, ns, steps);
    else
        print_summary(c, stats, ns, steps);
    return EXIT_FINE;
}

int gcut_cmd_run(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_step *step = gcut_compile(g, &c->opt);
    const gcut_load_options how = {.rename = c->rename, .convert = c->convert, .partial = c->partial};
    if (!step || gcut_step_feed(step, c->feed, c->nfeed) != GCUT_OK ||
        (c->weights && gcut_load_weights(step, c->weights, &how) != GCUT_OK) || gcut_prepare(step) != GCUT_OK)
        return gcut_cli_failed(ctx);
    if (c->out && !gcut_cli_make_folder(c->out)) return EXIT_INPUT;
    int64_t steps = c->steps ? c->steps : 1, *ns = calloc((size_t)steps, sizeof *ns);
    if (!ns) {
        gcut_cli_complain("out of memory");
        return EXIT_INPUT;
    }
    int code = run_steps(ctx, c, step, ns, steps);
    free(ns);
    return code;
}
