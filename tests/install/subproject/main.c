/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains net.gcut by its compiled step; the loss must fall.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net_step.h"

enum { ROWS = 32, IN = 16, HIDDEN = 32, CLASSES = 4, STEPS = 60 };

static float w1[IN * HIDDEN], w2[HIDDEN * CLASSES], x[ROWS * IN];
static int32_t t[ROWS];

static void fill(float *at, int n, uint32_t *seed)
{
    for (int i = 0; i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        at[i] = (float)(*seed >> 8) / 16777216.0f - 0.5f;
    }
}

int main(void)
{
    uint32_t seed = 1;
    float lr = 0.1f, loss = 0, first = 0;
    gcut_rt_error e;
    net_step_plan plan;
    fill(w1, IN * HIDDEN, &seed);
    fill(w2, HIDDEN * CLASSES, &seed);
    fill(x, ROWS * IN, &seed);
    for (int i = 0; i < ROWS; i++) t[i] = x[i * IN] > 0 ? 1 : 2;
    if (net_step_init(&plan, ROWS, 0, &e) != GCUT_RT_OK) return 2;
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes);
    net_step_io io = {.w1 = w1, .w2 = w2, .lr = &lr, .x = x, .t = t, .loss = &loss};
    for (int i = 0; i < STEPS; i++) {
        if (net_step_step(&plan, &io, arena, &e) != GCUT_RT_OK) return 2;
        if (i == 0) first = loss;
    }
    free(arena);
    printf("loss %.4f to %.4f\n", first, loss);
    return !(loss < 0.8f * first);
}
