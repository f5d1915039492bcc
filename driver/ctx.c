/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contexts, errors, statuses.
 */
#define _GNU_SOURCE
#include "driver/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "driver/recording.h"

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
    if (!ctx || gcut_recording_refuses("frees a context")) return;
    gcut_env *env = ctx->env;
    gcut_alloc_fn fn = env->alloc;
    void *user = env->alloc_user;
    gcut_env_free(env);
    fn(user, ctx, 0);
}

const char *gcut_variable(const char *name)
{
    const char *s = secure_getenv(name);
    return s && *s ? s : NULL;
}

void gcut_copy_known(gcut_env *env, const char *what, const void *given, size_t size, void *own,
                     size_t own_size)
{
    memset(own, 0, own_size);
    if (!given) return;
    memcpy(own, given, size < own_size ? size : own_size);
    for (size_t i = own_size; i < size; i++)
        if (((const char *)given)[i])
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                      "%s: a member that gradcut %s does not know is set: byte %zu of %zu", what,
                      gcut_version(), i, size);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_hooks, pass);
#endif

typedef struct hooks_job {
    gcut_env *env;
    const gcut_hooks *hooks;
    size_t size;
} hooks_job;

static void set_hooks(void *arg)
{
    const hooks_job *j = arg;
    gcut_hooks own;
    GCUT_COPY_KNOWN(j->env, gcut_hooks, j->hooks, j->size, &own);
    j->env->hook = (gcut_hook){own.progress, own.log, own.user, own.pass};
}

gcut_status gcut_ctx_set_hooks_sized(size_t size, gcut_ctx *ctx, const gcut_hooks *hooks)
{
    GCUT_NEED(NULL, ctx, GCUT_EUSAGE);
    return gcut_protect(ctx->env, set_hooks, &(hooks_job){ctx->env, hooks, size});
}

typedef struct arena_job {
    gcut_env *env;
    gcut_arena **arena;
    void (*body)(void *);
    void *arg;
} arena_job;

static void with_arena(void *arg)
{
    arena_job *j = arg;
    *j->arena = gcut_arena_new(j->env, j->env->arena);
    j->body(j->arg);
}

bool gcut_guard_in(gcut_env *env, gcut_arena **arena, void (*body)(void *), void *arg)
{
    arena_job j = {env, arena, body, arg};
    *arena = NULL;
    if (gcut_guard(env, with_arena, &j)) return true;
    gcut_arena_free(*arena);
    *arena = NULL;
    return false;
}

/* ---- errors ---- */

/* The last error of this thread that belongs to no context, because the handle was NULL. */
static _Thread_local char orphan[2048];
static _Thread_local gcut_status orphan_status;

gcut_status gcut_orphan_error(gcut_status status, const char *text)
{
    snprintf(orphan, sizeof orphan, "%s", text);
    return orphan_status = status;
}

/* The length of the name that the user calls: the function without the suffix that its macro adds. */
static int name_length(const char *call)
{
    static const char *const suffix[] = {"_sized", "_n", "_as"};
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
        if (gcut_has_suffix(call, suffix[i])) return (int)(strlen(call) - strlen(suffix[i]));
    return (int)strlen(call);
}

typedef struct null_job {
    gcut_env *env;
    const char *call, *argument;
} null_job;

static void refuse_null(void *arg)
{
    null_job *j = arg;
    gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "%.*s: its argument `%s` is NULL",
              name_length(j->call), j->call, j->argument);
}

gcut_status gcut_refuse_null(gcut_env *env, const char *call, const char *argument)
{
    if (env) return gcut_protect(env, refuse_null, &(null_job){env, call, argument});
    snprintf(orphan, sizeof orphan, "error: %.*s: its argument `%s` is NULL\n", name_length(call), call,
             argument);
    return orphan_status = GCUT_EUSAGE;
}

static const char *render(gcut_env *env, uint32_t i)
{
    gcut_diag *d = &env->diags[i];
    if (!d->text) d->text = gcut_diag_text(env->diag_arena, d);
    return d->text;
}

typedef struct text_job {
    gcut_env *env;
    size_t i;
    const char *text;
} text_job;

static void render_one(void *arg)
{
    text_job *j = arg;
    j->text = render(j->env, (uint32_t)j->i);
}

static void render_last(void *arg)
{
    gcut_env *env = ((text_job *)arg)->env;
    gcut_text t = {.arena = env->diag_arena};
    for (uint32_t i = env->last_first; i < env->ndiags; i++) gcut_text_add(&t, "%s", render(env, i));
    env->last_text = t.at;
}

/* Rendering is no public call: if it runs out of memory, the last error stays as it was. */
static bool quietly(gcut_env *env, void (*body)(void *), text_job *j)
{
    uint32_t first = env->last_first;
    gcut_status status = env->last_status;
    const char *text = env->last_text;
    if (gcut_guard(env, body, j)) return true;
    env->last_first = first;
    env->last_status = status;
    env->last_text = text;
    return false;
}

size_t gcut_error_count(const gcut_ctx *ctx)
{
    return ctx ? ctx->env->ndiags : 0;
}

const char *gcut_error(const gcut_ctx *ctx, size_t i)
{
    if (i >= gcut_error_count(ctx)) return "";
    text_job j = {ctx->env, i, NULL};
    return quietly(ctx->env, render_one, &j) ? j.text : gcut_status_text(GCUT_ENOMEM);
}

const char *gcut_last_error(const gcut_ctx *ctx)
{
    if (!ctx) return orphan;
    gcut_env *env = ctx->env;
    if (env->last_status == GCUT_OK) return "";
    if (env->last_first >= env->ndiags) return gcut_status_text(env->last_status);
    if (!env->last_text && !quietly(env, render_last, &(text_job){.env = env}))
        return gcut_status_text(env->last_status);
    return env->last_text;
}

gcut_status gcut_last_status(const gcut_ctx *ctx)
{
    return ctx ? ctx->env->last_status : *orphan ? orphan_status : GCUT_OK;
}

void gcut_clear_errors(gcut_ctx *ctx)
{
    if (ctx)
        gcut_diags_clear(ctx->env);
    else
        *orphan = 0;
}

const char *gcut_status_text(gcut_status s)
{
    switch (s) {
#define GCUT_X(name, number, text)                                                                           \
    case GCUT_##name: return text;
        GCUT_STATUS_MAP(GCUT_X)
#undef GCUT_X
    }
    return "unknown status";
}

const char *gcut_version(void)
{
#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
    return VERSION(GCUT_VERSION_MAJOR, GCUT_VERSION_MINOR, GCUT_VERSION_PATCH);
#undef VERSION
#undef TEXT
}

/* ---- objects that the caller frees ---- */

/* Precedes the memory that gcut_free takes. */
typedef struct made_head {
    _Alignas(16) gcut_arena *arena;
} made_head;

static void *make(gcut_env *env, gcut_arena **a, size_t size)
{
    *a = gcut_arena_new(env, env->arena);
    made_head *h = gcut_calloc(*a, 1, sizeof *h + size);
    h->arena = *a;
    return h + 1;
}

typedef struct made_job {
    gcut_env *env;
    gcut_made made;
    size_t size;
    void (*body)(void *, const gcut_made *);
    void *arg;
} made_job;

static void make_and_fill(void *arg)
{
    made_job *j = arg;
    j->made.object = make(j->env, &j->made.keep, j->size);
    j->made.scratch = gcut_arena_new(j->env, j->made.keep);
    j->body(j->arg, &j->made);
    gcut_arena_free(j->made.scratch);
}

void *gcut_made_by(gcut_env *env, size_t size, void (*body)(void *, const gcut_made *), void *arg)
{
    made_job j = {.env = env, .size = size, .body = body, .arg = arg};
    if (gcut_guard(env, make_and_fill, &j)) return j.made.object;
    gcut_arena_free(j.made.keep);
    return NULL;
}

typedef struct string_job {
    gcut_env *env;
    void (*write)(void *, gcut_text *);
    void *arg;
    gcut_arena *scratch;
    char *made;
} string_job;

static void write_string(void *arg)
{
    string_job *j = arg;
    gcut_text t = {.arena = j->scratch};
    gcut_arena *keep;
    j->write(j->arg, &t);
    char *s = make(j->env, &keep, t.n + 1);
    if (t.n) memcpy(s, t.at, t.n);
    j->made = s;
}

char *gcut_string_by(gcut_env *env, void (*write)(void *, gcut_text *), void *arg)
{
    string_job j = {.env = env, .write = write, .arg = arg};
    gcut_guard_in(env, &j.scratch, write_string, &j);
    gcut_arena_free(j.scratch);
    return j.made;
}

typedef struct write_job {
    gcut_env *env;
    const char *path, *text;
} write_job;

static void write_text(void *arg)
{
    const write_job *j = arg;
    gcut_file_write(j->env, j->path, j->text, strlen(j->text));
}

gcut_status gcut_write_text(gcut_ctx *ctx, const char *path, const char *text)
{
    GCUT_NEED(NULL, ctx, GCUT_EUSAGE);
    GCUT_NEED(ctx->env, path, GCUT_EUSAGE);
    GCUT_NEED(ctx->env, text, GCUT_EUSAGE);
    return gcut_protect(ctx->env, write_text, &(write_job){ctx->env, path, text});
}

void gcut_free(void *made)
{
    if (made) gcut_arena_free(((made_head *)made - 1)->arena);
}
