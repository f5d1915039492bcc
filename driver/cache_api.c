/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache as the public API shows it.
 */
#include <string.h>

#include "driver/cache.h"
#include "driver/ctx.h"

typedef struct job {
    gcut_env *env;
    bool clear;
    gcut_cache_info *out;
    int64_t removed;
} job;

static void ask(void *arg)
{
    job *j = arg;
    const char *path, *why;
    gcut_arena *a = gcut_arena_new(j->env, j->env->arena);
    gcut_cache *c = gcut_cache_open(a, &path, &why);
    if (c && j->clear) j->removed = gcut_cache_empty(c);
    if (j->clear && !c)
        gcut_fail(j->env, GCUT_EIO, (gcut_place){.file = path}, NULL, "the cache is not used: %s", why);
    if (j->out && c) {
        gcut_cache_use u = gcut_cache_ask(c);
        *j->out = (gcut_cache_info){.steps = u.entries[GCUT_CACHE_STEP],
                                    .objects = u.entries[GCUT_CACHE_OBJECT],
                                    .bytes = u.bytes,
                                    .limit = u.limit,
                                    .hits = u.hits,
                                    .misses = u.misses};
    }
    if (j->out) {
        j->out->folder = path ? gcut_strndup(j->env->arena, path, strlen(path)) : NULL;
        j->out->unused = why ? gcut_strndup(j->env->arena, why, strlen(why)) : NULL;
    }
    gcut_arena_free(a);
}

gcut_status gcut_cache_look(gcut_ctx *ctx, gcut_cache_info *out)
{
    if (!ctx || !out) return GCUT_EUSAGE;
    *out = (gcut_cache_info){0};
    return gcut_protect(ctx->env, ask, &(job){.env = ctx->env, .out = out});
}

gcut_status gcut_cache_clear(gcut_ctx *ctx, int64_t *removed)
{
    if (!ctx) return GCUT_EUSAGE;
    job j = {.env = ctx->env, .clear = true};
    gcut_status s = gcut_protect(ctx->env, ask, &j);
    if (removed) *removed = j.removed;
    return s;
}
