/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains mlp.gcut through its compiled step: mlp_aot [STEPS].
 */
#include <stdio.h>
#include <stdlib.h>

#include "../mlp_data.h"
#include "mlp_step.h"

static int failed(const gcut_rt_error *e)
{
    char text[256];
    gcut_rt_message(e, text, sizeof text);
    fprintf(stderr, "mlp_aot: %s\n", text);
    return 1;
}

int main(int argc, char **argv)
{
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    float lr = 0.1f, loss;
    gcut_rt_error e;
    mlp_step_plan plan;
    if (mlp_step_init(&plan, ROWS, 0, &e) != GCUT_RT_OK) return failed(&e);
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes); /* the only memory there will be */
    if (!arena) return 1;
    mlp_step_io io = {.w1 = mlp.w1, .b1 = mlp.b1, .w2 = mlp.w2, .b2 = mlp.b2, .lr = &lr, .loss = &loss};
    make_data();
    for (long i = 0; i < steps; i++) {
        io.x = mlp.x[i % BATCHES];
        io.t = mlp.t[i % BATCHES];
        if (mlp_step_step(&plan, &io, arena, &e) != GCUT_RT_OK) return failed(&e);
        if (i % 10 == 0 || i == steps - 1) printf("step %4ld  loss %.6f  %a\n", i, loss, loss);
    }
    free(arena);
    return 0;
}
