/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of the text IR: what parses must print, and the print must
 * be a fixed point.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

typedef struct job {
    gcut_env *env;
    const char *text;
    size_t size;
    gcut_text out;
} job;

static void parse_print(void *arg)
{
    job *j = arg;
    j->out.arena = j->env->arena;
    gcut_print_module(gcut_parse_module(j->env, j->env->arena, "fuzz.gcut", j->text, j->size), NULL, &j->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    if (!env) return 0;
    job first = {.env = env, .text = (const char *)data, .size = size};
    if (gcut_protect(env, parse_print, &first) == GCUT_OK) {
        job second = {.env = env, .text = first.out.at, .size = first.out.n};
        GCUT_ASSERT(gcut_protect(env, parse_print, &second) == GCUT_OK);
        GCUT_ASSERT(first.out.n == second.out.n && !memcmp(first.out.at, second.out.at, first.out.n));
    } else {
        GCUT_ASSERT(env->ndiags == 1 && env->diags[0].at.line >= 1 && env->diags[0].at.col >= 1);
        GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[0]) != NULL);
    }
    gcut_env_free(env);
    return 0;
}
