/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of certificates: a plan file of the graph of tests/plans is read and checked; the check ends, and
 * a refusal says what is wrong, and where.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

#include "driver/certificate/certificate.h"
#include "driver/pipeline/compile.h"
#include "public.h"

typedef struct job {
    gcut_graph *g;
    gcut_arena *arena;
    const char *text;
    size_t size;
    gcut_graph *joint;
} job;

static void make_joint(void *arg)
{
    job *j = arg;
    const gcut_options o = TEST_OPTIONS;
    const gcut_settings s = gcut_settings_of(j->g->module->env, &o, sizeof o);
    j->joint = gcut_pipeline_new(j->g, &s, GCUT_STAGE_JOINT, j->arena)->joint;
}

static void check(void *arg)
{
    job *j = arg;
    const gcut_certificate *c =
        gcut_certificate_read(j->arena, gcut_json_parse(j->arena, "fuzz.json", j->text, j->size));
    const gcut_certified found = gcut_certificate_check(c, j->joint, j->arena);
    if (!found.fault != !found.member || (found.fault && !*found.fault)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/plans/six.gcut", NULL);
    if (!g) abort();
    gcut_env *env = g->module->env;
    job j = {.g = g, .arena = gcut_arena_new(env, NULL), .text = (const char *)data, .size = size};
    if (gcut_protect(env, make_joint, &j) != GCUT_OK) abort();
    const gcut_status s = gcut_protect(env, check, &j);
    if (s != GCUT_OK && (!env->ndiags || !env->status)) abort();
    gcut_arena_free(j.arena);
    gcut_ctx_free(ctx);
    return 0;
}
