/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * train FILE: trains net.gcut twice, by the step that was compiled with this program and by the library at
 * run time.  Both must give the same losses to the bit, which takes the same flags, and the losses must fall.
 */
#include <gradcut/gradcut.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_step.h"

enum { ROWS = 32, IN = 16, HIDDEN = 32, CLASSES = 4, STEPS = 30 };

typedef struct weights {
    float w1[IN * HIDDEN], w2[HIDDEN * CLASSES];
} weights;
static float x[ROWS * IN];
static int32_t t[ROWS];

static float next(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return (float)(*s >> 8) / 16777216.0f - 0.5f;
}

static void ahead_of_time(weights w, float *losses)
{
    float lr = 0.1f, loss = 0;
    gcut_rt_error e;
    net_step_plan plan;
    if (net_step_init(&plan, ROWS, 0, &e) != GCUT_RT_OK) exit(2);
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes);
    net_step_io io = {.w1 = w.w1, .w2 = w.w2, .lr = &lr, .x = x, .t = t, .loss = &loss};
    for (int i = 0; i < STEPS; i++) {
        if (net_step_step(&plan, &io, arena, &e) != GCUT_RT_OK) exit(2);
        losses[i] = loss;
    }
    free(arena);
}

static void check(gcut_ctx *ctx, bool good)
{
    if (good) return;
    fprintf(stderr, "train: %s\n", gcut_last_error(ctx));
    exit(2);
}

static void at_run_time(const char *file, weights w, float *losses)
{
    float loss = 0;
    gcut_options options = {0};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    options.optimizer = "sgd(lr=0.1)";
    gcut_graph *g = gcut_load(ctx, file, NULL);
    check(ctx, g != NULL);
    gcut_step *step = gcut_compile(g, &options);
    check(ctx, step != NULL);
    check(ctx, gcut_bind(step, "w1", w.w1, IN, HIDDEN) == GCUT_OK);
    check(ctx, gcut_bind(step, "w2", w.w2, HIDDEN, CLASSES) == GCUT_OK);
    check(ctx, gcut_bind(step, "x", x, ROWS, IN) == GCUT_OK);
    check(ctx, gcut_bind(step, "t", t, ROWS) == GCUT_OK);
    check(ctx, gcut_bind(step, "loss", &loss) == GCUT_OK);
    for (int i = 0; i < STEPS; i++) {
        check(ctx, gcut_run(step) == GCUT_OK);
        losses[i] = loss;
    }
    gcut_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    uint32_t seed = 1;
    weights w;
    float first[STEPS], second[STEPS];
    if (argc != 2) return 2;
    for (int i = 0; i < IN * HIDDEN; i++) w.w1[i] = next(&seed);
    for (int i = 0; i < HIDDEN * CLASSES; i++) w.w2[i] = next(&seed);
    for (int i = 0; i < ROWS * IN; i++) x[i] = 2 * next(&seed);
    for (int i = 0; i < ROWS; i++) t[i] = x[i * IN] > 0 ? 1 : 2;
    ahead_of_time(w, first);
    at_run_time(argv[1], w, second);
    for (int i = 0; i < STEPS; i++)
        if (memcmp(&first[i], &second[i], sizeof first[i]) != 0) {
            fprintf(stderr, "train: step %d: loss %a ahead of time, %a at run time\n", i, first[i],
                    second[i]);
            return 1;
        }
    printf("%s: loss %.4f to %.4f\n", gcut_version(), first[0], first[STEPS - 1]);
    return !(first[STEPS - 1] < 0.8f * first[0]);
}
