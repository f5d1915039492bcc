/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contexts, errors, statuses.
 */
#include "driver/ctx.h"

#include <stdlib.h>

static void *plain(void *user, void *block, size_t size)
{
    (void)user;
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

gcut_ctx *gcut_ctx_new(const gcut_allocator *allocator)
{
    gcut_allocator a = allocator ? *allocator : (gcut_allocator){plain, NULL};
    gcut_ctx *ctx = a.fn(a.user, NULL, sizeof *ctx);
    if (!ctx) return NULL;
    ctx->env = gcut_env_new(a.fn, a.user);
    if (ctx->env) return ctx;
    a.fn(a.user, ctx, 0);
    return NULL;
}

void gcut_ctx_free(gcut_ctx *ctx)
{
    if (!ctx) return;
    gcut_env *env = ctx->env;
    gcut_alloc_fn fn = env->alloc;
    void *user = env->alloc_user;
    gcut_env_free(env);
    fn(user, ctx, 0);
}

typedef struct text_job {
    gcut_env *env;
    size_t i;
    const char *text;
} text_job;

static void render(void *arg)
{
    text_job *j = arg;
    j->text = gcut_diag_text(j->env->diag_arena, &j->env->diags[j->i]);
}

size_t gcut_error_count(const gcut_ctx *ctx)
{
    return ctx->env->ndiags;
}

const char *gcut_error(gcut_ctx *ctx, size_t i)
{
    text_job j = {ctx->env, i, NULL};
    if (i >= ctx->env->ndiags) return "";
    return gcut_guard(ctx->env, render, &j) ? j.text : gcut_status_text(GCUT_ENOMEM);
}

const char *gcut_last_error(gcut_ctx *ctx)
{
    if (ctx->env->ndiags) return gcut_error(ctx, 0);
    return ctx->env->status == GCUT_OK ? "" : gcut_status_text(ctx->env->status);
}

gcut_status gcut_last_status(const gcut_ctx *ctx)
{
    return ctx->env->ndiags ? ctx->env->diags[0].status : ctx->env->status;
}

void gcut_clear_errors(gcut_ctx *ctx)
{
    gcut_diags_clear(ctx->env);
    ctx->env->status = GCUT_OK;
}

const char *gcut_status_text(gcut_status s)
{
    switch (s) {
#define GCUT_X(name, text)                                                                                   \
    case GCUT_##name: return text;
        GCUT_STATUS_MAP(GCUT_X)
#undef GCUT_X
    }
    return "unknown status";
}

const char *gcut_version(void)
{
    return GRADCUT_VERSION;
}
