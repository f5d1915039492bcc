/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What gcut_jit and eager graphs cost: bench/jit.sh runs this and the same in PyTorch.
 *
 *   hit      a call of a jit with 8 entries of which it takes the last one, with 24 arguments of 2 axes; beside it the same
 *            steps run by gcut_run with their arguments bound: what the hit costs is the difference
 *   sizes    a call at sizes that its entry has not had: the function is recorded again and compared
 *   miss     a call that makes an entry: recorded and compiled, with the cache off
 *   eager    one op on 16 floats, and one product of 512 by 512
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gradcut/trace.h"

enum { ARGS = 24, ENTRIES = 8, WIDTH = 8, ROUNDS = 20000 };

static gcut_ctx *ctx;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(const char *what, double *ns, int n)
{
    qsort(ns, (size_t)n, sizeof *ns, by_size);
    printf("%-44s best %10.3f us  median %10.3f us\n", what, ns[0] / 1e3, ns[n / 2] / 1e3);
}

static void need(bool good)
{
    if (good) return;
    fprintf(stderr, "jit: %s%s\n", gcut_last_error(ctx), gcut_last_error(NULL));
    exit(1);
}

/* Reads every argument, computes little. */
static void first_of_all(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_slice(in[0], 0, 0, 1);
    for (int k = 1; k < ARGS; k++) out[0] = gcut_add(out[0], gcut_slice(in[k], 0, 0, 1));
}

static void hits(float *x)
{
    gcut_jit *f = gcut_jit_new(ctx, "f", first_of_all, NULL, NULL, &(gcut_jit_options){.fixed = true});
    static double ns[ROUNDS], steps[ROUNDS], misses[ENTRIES];
    gcut_jit_value in[ARGS], out;
    need(f);
    for (int call = -ENTRIES; call < ROUNDS; call++) {
        const int64_t rows = 2 + (call + ENTRIES) % ENTRIES; /* in turns: each has become the last one */
        for (int k = 0; k < ARGS; k++)
            in[k] = (gcut_jit_value){.at = x + 64 * k, .dtype = GCUT_F32, .rank = 2, .dim = {rows, WIDTH}};
        const double start = now();
        need(gcut_jit_call(f, in, ARGS, &out, 1) == GCUT_OK);
        if (call >= 0)
            ns[call] = now() - start;
        else
            misses[call + ENTRIES] = now() - start;
    }
    say("hit: 24 arguments, the last of 8 entries", ns, ROUNDS);
    gcut_jit_info *i = gcut_jit_explain(f);
    gcut_step *s[ENTRIES];
    for (int e = 0; e < ENTRIES; e++) {
        gcut_graph *g = gcut_parse(ctx, i->entry[e]->graph, GCUT_TO_NUL, NULL, NULL);
        gcut_options o = {.forward_only = true};
        s[e] = g ? gcut_compile(g, &o) : NULL;
        need(s[e]);
        for (int k = 0; k < ARGS; k++) {
            char name[8];
            snprintf(name, sizeof name, "x%d", k);
            need(gcut_bind_input(s[e], name, x + 64 * k, 2 + e, WIDTH) == GCUT_OK);
        }
    }
    for (int call = -100; call < ROUNDS; call++) {
        const double start = now();
        need(gcut_run(s[(call + 104) % ENTRIES]) == GCUT_OK);
        if (call >= 0) steps[call] = now() - start;
    }
    say("the same 8 steps, bound once, in turns", steps, ROUNDS);
    say("miss: recorded, planned, compiled by cc", misses, ENTRIES);
    gcut_free(i);
    gcut_jit_free(f);
}

static void sizes(float *x)
{
    gcut_jit *f = gcut_jit_new(ctx, "f", first_of_all, NULL, NULL, NULL);
    static double ns[200];
    gcut_jit_value in[ARGS], out;
    need(f);
    for (int call = -2; call < 200; call++) {
        for (int k = 0; k < ARGS; k++)
            in[k] = (gcut_jit_value){.at = x, .dtype = GCUT_F32, .rank = 2, .dim = {call + 4, WIDTH}};
        const double start = now();
        need(gcut_jit_call(f, in, ARGS, &out, 1) == GCUT_OK);
        if (call >= 0) ns[call] = now() - start;
    }
    say("sizes: new to the entry, 47 ops", ns, 200);
    gcut_jit_free(f);
}

static void eager(const float *x)
{
    gcut_graph *g = gcut_eager(ctx);
    static double ns[2000], large[20];
    gcut_val a = gcut_write(gcut_input(g, "a", GCUT_F32, GCUT_SHAPE(16)), x);
    gcut_val b = gcut_write(gcut_input(g, "b", GCUT_F32, GCUT_SHAPE(512, 512)), x);
    for (int call = 0; call < 2000; call++) {
        const double start = now();
        gcut_val y = gcut_add(a, a);
        ns[call] = now() - start;
        need(y.id != 0);
        if (call % 100 == 99) need(gcut_forget(g) == GCUT_OK);
    }
    say("eager: add of 16 floats", ns, 2000);
    need(gcut_matmul(b, b).id != 0);
    for (int call = 0; call < 20; call++) {
        const double start = now();
        need(gcut_matmul(b, b).id != 0);
        large[call] = now() - start;
    }
    say("eager: product of 512 x 512", large, 20);
}

int main(void)
{
    float *x = calloc(512 * 512, sizeof *x);
    ctx = gcut_ctx_new(NULL);
    if (!x || !ctx) return 1;
    hits(x);
    sizes(x);
    eager(x);
    gcut_ctx_free(ctx);
    free(x);
    return 0;
}
