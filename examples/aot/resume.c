/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains mlp.gcut with AdamW, from the initial values of the model or where FILE stopped: mlp_resume FILE
 * STEPS.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../mlp_data.h"
#include "mlp_adamw.h"

static int failed(const gcut_rt_error *e)
{
    char text[256];
    gcut_rt_message(e, text, sizeof text);
    fprintf(stderr, "mlp_resume: %s\n", text);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: mlp_resume FILE STEPS\n"), 2;
    float lr = 0.01f, loss;
    gcut_rt_error e;
    mlp_adamw_plan plan;
    mlp_adamw_io io = {.lr = &lr, .loss = &loss};
    if (mlp_adamw_init(&plan, ROWS, 0, &e) != GCUT_RT_OK) return failed(&e);
    int64_t bytes = mlp_adamw_values(&plan, NULL), size = mlp_adamw_block_bytes(&plan);
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes);
    void *values = aligned_alloc(64, (size_t)bytes); /* parameters and the optimizer's states */
    void *block = malloc((size_t)size);
    if (!arena || !values || !block) return perror("mlp_resume"), 1;
    mlp_adamw_bind(&plan, values, &io);
    make_data();

    FILE *f = fopen(argv[1], "rb");
    if (f) {
        size = (int64_t)fread(block, 1, (size_t)size, f);
        fclose(f);
        if (mlp_adamw_load(&plan, &io, block, size, &e) != GCUT_RT_OK) return failed(&e);
    } else if (mlp_adamw_init_values(&plan, &io, 0, &e) != GCUT_RT_OK) {
        return failed(&e);
    }
    for (long steps = strtol(argv[2], NULL, 10); steps > 0; steps--) {
        long i = (long)*io.adamw_t; /* AdamW counts its steps */
        io.x = mlp.x[i % BATCHES];
        io.t = mlp.t[i % BATCHES];
        if (mlp_adamw_step(&plan, &io, arena, &e) != GCUT_RT_OK) return failed(&e);
        printf("step %4ld  loss %.6f  %a\n", i, loss, loss);
    }
    if (mlp_adamw_save(&plan, &io, block, size, &e) != GCUT_RT_OK) return failed(&e);
    f = fopen(argv[1], "wb");
    if (!f || fwrite(block, 1, (size_t)size, f) != (size_t)size || fclose(f)) return perror(argv[1]), 1;
    free(block);
    free(values);
    free(arena);
    return 0;
}
