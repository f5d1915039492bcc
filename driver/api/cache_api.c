/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache as the public API shows it.
 */
#include <string.h>

#include "driver/load/cache.h"
#include "driver/ctx.h"

typedef struct job {
    gcut_env *env;
    gcut_arena *arena; /* of gcut_cache_clear */
    gcut_cache_info *out;
    int64_t removed;
} job;

static char *copy(gcut_arena *a, const char *s)
{
    return s ? gcut_strndup(a, s, strlen(s)) : NULL;
}

static void look(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_made_arena(j->out);
    const char *path, *why;
    gcut_cache *c = gcut_cache_open(a, &path, &why);
    j->out->folder = copy(a, path);
    j->out->unused = copy(a, why);
    if (!c) return;
    gcut_cache_use u = gcut_cache_ask(c);
    j->out->steps = u.entries[GCUT_CACHE_STEP];
    j->out->objects = u.entries[GCUT_CACHE_OBJECT];
    j->out->bytes = u.bytes;
    j->out->limit = u.limit;
    j->out->hits = u.hits;
    j->out->misses = u.misses;
}

gcut_cache_info *gcut_cache_look(gcut_ctx *ctx)
{
    GCUT_NEED(NULL, ctx, NULL);
    job j = {.env = ctx->env};
    return gcut_made_by(ctx->env, sizeof *j.out, (void **)&j.out, look, &j);
}

static void clear(void *arg)
{
    job *j = arg;
    const char *path, *why;
    gcut_cache *c = gcut_cache_open(j->arena, &path, &why);
    if (!c) gcut_fail(j->env, GCUT_EIO, (gcut_place){.file = path}, NULL, "the cache is not used: %s", why);
    j->removed = gcut_cache_empty(c);
}

gcut_status gcut_cache_clear(gcut_ctx *ctx, int64_t *removed)
{
    GCUT_NEED(NULL, ctx, GCUT_EUSAGE);
    job j = {.env = ctx->env};
    const bool ok = gcut_guard_in(ctx->env, &j.arena, clear, &j);
    gcut_arena_free(j.arena);
    if (removed) *removed = j.removed;
    return ok ? GCUT_OK : ctx->env->last_status;
}
