/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What fuzzers of readers share: libFuzzer's entry, which calls fuzz() with each input and an environment of its own,
 * whose memory is counted.
 */
#ifndef GCUT_TESTS_FUZZ_H
#define GCUT_TESTS_FUZZ_H

#include <stdint.h>

#include "count_memory.h"

typedef struct input {
    gcut_env *env;
    memory_counter memory; /* of env */
    const char *data;
    size_t size;
} input;

/* Each fuzzer's own. */
static void fuzz(input *in);

/* Reading failed: 1 to `most` diagnostics say why. */
static inline void check_refusal(const gcut_env *env, uint32_t most)
{
    GCUT_ASSERT(env->ndiags >= 1 && env->ndiags <= most);
    for (uint32_t i = 0; i < env->ndiags; i++)
        GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[i]) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {.data = (const char *)data, .size = size};
    in.env = gcut_env_new(count_memory, &in.memory);
    if (!in.env) return 0;
    fuzz(&in);
    gcut_env_free(in.env);
    GCUT_ASSERT(in.memory.now == 0);
    return 0;
}

#endif
