/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What persists and is not written by the step, in C17 and C++17: NAME_init_values and NAME_load fill the
 * frozen table and the key through the pointers of NAME_io, and the caller advances the key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frozen.h"

enum { N = 32, TABLE = 8 * 3 };

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x)) return fprintf(stderr, "frozen.c:%d: not so: %s\n", __LINE__, #x), 1;                      \
    } while (0)

int main(void)
{
    static int32_t x[N], t[N];
    static float before[TABLE], loss[3];
    float lr = 0, now;
    gcut_rt_error e;
    frozen_plan plan;
    frozen_io io;
    for (int i = 0; i < N; i++) x[i] = i % 8, t[i] = i % 2;
    char text[256];
    CHECK(frozen_init(&plan, 0, 1, &e) == GCUT_RT_EDIM);
    gcut_rt_message(&e, text, sizeof text);
    CHECK(!strcmp(text, "size N is 0, but must be at least 1"));
    CHECK(frozen_init(&plan, N, -1, &e) == GCUT_RT_EDIM && frozen_init(&plan, N, 1025, NULL) == GCUT_RT_EDIM);
    gcut_rt_message(&e, text, sizeof text);
    CHECK(!strcmp(text, "size of the team (threads) is -1, but must be at least 0 and below 1025"));
    CHECK(frozen_init(&plan, N, 1, &e) == GCUT_RT_OK);
    void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes);
    void *values = aligned_alloc(64, (size_t)frozen_values(&plan, NULL));
    size_t bytes = (size_t)frozen_block_bytes(&plan);
    void *block = malloc(bytes);
    CHECK(arena && values && block);
    memset(&io, 0, sizeof io);
    io.x = x, io.t = t, io.lr = &lr, io.loss = &now;
    frozen_bind(&plan, values, &io);
    CHECK(frozen_init_values(&plan, &io, 7, &e) == GCUT_RT_OK);
    float *table = io.table; /* not const */
    memcpy(before, table, sizeof before);
    CHECK(before[0] != 0 && before[TABLE - 1] != 0);
    CHECK(frozen_save(&plan, &io, block, (int64_t)bytes, &e) == GCUT_RT_OK);

    /* With a rate of 0 only the key tells steps apart. */
    for (int step = 0; step < 3; step++) {
        CHECK(frozen_step(&plan, &io, arena, &e) == GCUT_RT_OK);
        loss[step] = now;
        if (step > 0) ++*io.key;
    }
    CHECK(loss[0] == loss[1] && loss[1] != loss[2]);
    lr = 0.5f;
    CHECK(frozen_step(&plan, &io, arena, &e) == GCUT_RT_OK);
    CHECK(!memcmp(before, table, sizeof before));

    memset(table, 0, sizeof before);
    int64_t key = *io.key;
    CHECK(frozen_load(&plan, &io, block, (int64_t)bytes, &e) == GCUT_RT_OK);
    CHECK(!memcmp(before, table, sizeof before) && *io.key == key - 2);
    free(arena);
    free(values);
    free(block);
    return 0;
}
