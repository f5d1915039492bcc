/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cache as the public API shows it.
 */
#include "driver/load/cache.h"
#include "driver/ctx.h"

static void look(void *arg, const gcut_made *m)
{
    (void)arg;
    const char *path, *why;
    gcut_cache *c = gcut_cache_open(m->scratch, &path, &why);
    gcut_cache_info *out = m->object;
    *out = (gcut_cache_info){.folder = gcut_keep(m->keep, path), .unused = gcut_keep(m->keep, why)};
    if (!c) return;
    gcut_cache_use u = gcut_cache_ask(c);
    out->steps = u.entries[GCUT_CACHE_STEP];
    out->objects = u.entries[GCUT_CACHE_OBJECT];
    out->models = u.entries[GCUT_CACHE_MACHINE];
    out->bytes = u.bytes;
    out->limit = u.limit;
    out->hits = u.hits;
    out->misses = u.misses;
}

gcut_cache_info *gcut_cache_look(gcut_ctx *ctx)
{
    GCUT_NEED(NULL, ctx, NULL);
    return gcut_made_by(ctx->env, sizeof(gcut_cache_info), look, NULL);
}

typedef struct clearing {
    gcut_env *env;
    gcut_arena *arena;
    int64_t removed;
} clearing;

static void clear(void *arg)
{
    clearing *j = arg;
    const char *path, *why;
    gcut_cache *c = gcut_cache_open(j->arena, &path, &why);
    if (!c) gcut_fail(j->env, GCUT_EIO, (gcut_place){.file = path}, NULL, "the cache is not used: %s", why);
    j->removed = gcut_cache_empty(c);
}

gcut_status gcut_cache_clear(gcut_ctx *ctx, int64_t *removed)
{
    GCUT_NEED(NULL, ctx, GCUT_EUSAGE);
    clearing j = {.env = ctx->env};
    const bool ok = gcut_guard_in(ctx->env, &j.arena, clear, &j);
    gcut_arena_free(j.arena);
    if (removed) *removed = j.removed;
    return ok ? GCUT_OK : ctx->env->last_status;
}
