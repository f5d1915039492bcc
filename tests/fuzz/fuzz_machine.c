/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of machine models: what is read is written as JSON that reads as the same model, and has a
 * table.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "fuzz.h"
#include "machine/machine.h"

typedef struct job {
    gcut_env *env;
    const char *text;
    size_t size;
    gcut_text out;
} job;

static void read_write(void *arg)
{
    job *j = arg;
    const gcut_machine_model *m = gcut_machine_parse(j->env->arena, "fuzz.json", j->text, j->size);
    gcut_text table = {.arena = j->env->arena};
    j->out.arena = j->env->arena;
    gcut_machine_json(m, &j->out);
    gcut_machine_table(m, &table);
    for (int threads = 1; threads < 4; threads++) {
        gcut_machine at = gcut_machine_at(m, threads);
        GCUT_ASSERT(gcut_machine_gemm_ns(&at, 64, 64, 64) >= 0);
        GCUT_ASSERT(gcut_machine_move_ns(&at, 4096, 4096, 8192) >= 0);
    }
}

static void write_shipped(void *arg)
{
    gcut_env *env = arg;
    gcut_text t = {.arena = env->arena};
    gcut_machine_json(gcut_machine_model_shipped(), &t);
    gcut_file_write(env, getenv("GCUT_FUZZ_SEED"), t.at, t.n);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
/* GCUT_FUZZ_SEED=FILE: the shipped model is written there, to begin with. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    gcut_env *env = getenv("GCUT_FUZZ_SEED") ? gcut_env_new(NULL, NULL) : NULL;
    if (env) gcut_protect(env, write_shipped, env);
    gcut_env_free(env);
    return 0;
}

static void fuzz(input *in)
{
    job first = {.env = in->env, .text = in->data, .size = in->size};
    if (gcut_protect(in->env, read_write, &first) == GCUT_OK) {
        job second = {.env = in->env, .text = first.out.at, .size = first.out.n};
        GCUT_ASSERT(gcut_protect(in->env, read_write, &second) == GCUT_OK);
        GCUT_ASSERT(first.out.n == second.out.n && !memcmp(first.out.at, second.out.at, first.out.n));
    } else {
        check_refusal(in->env, UINT32_MAX);
    }
}
