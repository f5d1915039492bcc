/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of the text IR: what parses must print, and the print must
 * be a fixed point.
 */
#include <string.h>

#include "fuzz.h"
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
    gcut_module *m = gcut_parse_module(j->env, j->env->arena, "fuzz.gcut", j->text, j->size);
    if (m->graphs.n) gcut_print_graphs(m->graphs.at, m->graphs.n, NULL, &j->out);
}

static void print_again(gcut_env *env, const gcut_text *printed)
{
    job second = {.env = env, .text = printed->at, .size = printed->n};
    GCUT_ASSERT(gcut_protect(env, parse_print, &second) == GCUT_OK);
    GCUT_ASSERT(printed->n == second.out.n && !memcmp(printed->at, second.out.at, printed->n));
}

static void fuzz(input *in)
{
    job first = {.env = in->env, .text = in->data, .size = in->size};
    if (gcut_protect(in->env, parse_print, &first) == GCUT_OK) {
        if (first.out.n) print_again(in->env, &first.out);
    } else {
        check_refusal(in->env, 1);
        GCUT_ASSERT(in->env->diags[0].at.line >= 1 && in->env->diags[0].at.col >= 1);
    }
}
