/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_jit: making, calling and freeing one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver/builder/builder.h"
#include "driver/trace/jit.h"

/* ---- made and freed ---- */

typedef struct new_job {
    gcut_here at;
    gcut_ctx *user;
    const char *name;
    gcut_body *fn;
    void *data;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_jit_options *given; /* of `how_size` bytes */
    size_t how_size;
    gcut_jit *jit;
} new_job;

static void undo(void *arg)
{
    gcut_jit *jit = arg;
    gcut_instances_free(jit);
    gcut_ctx_free(jit->ctx);
    pthread_mutex_destroy(&jit->lock);
    pthread_cond_destroy(&jit->free_turn);
}

static gcut_settings settings_of(const new_job *j)
{
    gcut_env *env = j->user->env;
    const gcut_settings s = gcut_settings_of(env, j->opt, j->size);
    if (s.nfix || s.loss || s.ncotan || s.optimizer || s.apart || s.eval)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){j->at.file, j->at.line, 0},
                  "the function calls gcut_grad, and has gradients among its results",
                  "gcut_jit_new: the options ask for derivatives, updates, evaluation or fixed sizes");
    return s;
}

static void make_jit(void *arg)
{
    new_job *j = arg;
    gcut_env *env = j->user->env;
    gcut_jit_options o;
    GCUT_COPY_KNOWN(env, gcut_jit_options, j->given, j->how_size, &o);
    if (!is_name(j->name))
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){j->at.file, j->at.line, 0}, NULL,
                  "gcut_jit_new: '%s': a name is made of letters, digits, _ and .", j->name);
    if (o.entries < 0)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){j->at.file, j->at.line, 0}, NULL,
                  "gcut_jit_new: entries = %d is negative", o.entries);
    const gcut_settings s = settings_of(j);
    gcut_arena *a = gcut_arena_new(env, env->arena);
    gcut_jit *jit = gcut_calloc(a, 1, sizeof *jit);
    const gcut_allocator allocator = {env->alloc, env->alloc_user};
    jit->in_user = a;
    jit->user = j->user;
    jit->at = j->at;
    jit->name = gcut_strndup(a, j->name, strlen(j->name));
    jit->fn = j->fn, jit->data = j->data;
    jit->compile = gcut_settings_copy(a, &s);
    jit->compile.forward_only = true;
    jit->most = o.entries ? (uint32_t)o.entries : 8;
    jit->background = o.background, jit->fixed = o.fixed;
    jit->ctx = gcut_ctx_new(&allocator);
    if (!jit->ctx) gcut_throw(env, GCUT_ENOMEM);
    jit->arena = jit->ctx->env->arena;
    jit->ctx->env->hook = env->hook;
    jit->ctx->env->externals = env->externals;
    pthread_mutex_init(&jit->lock, NULL);
    pthread_cond_init(&jit->free_turn, NULL);
    gcut_arena_defer(a, undo, jit);
    j->jit = jit;
}

gcut_jit *gcut_jit_new_sized(size_t size, size_t how_size, gcut_here at, gcut_ctx *ctx, const char *name,
                             gcut_body *fn, void *user, const gcut_options *opt, const gcut_jit_options *how)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, name, NULL);
    GCUT_NEED(ctx->env, fn, NULL);
    new_job j = {.at = at,
                 .user = ctx,
                 .name = name,
                 .fn = fn,
                 .data = user,
                 .opt = opt,
                 .size = size,
                 .given = how,
                 .how_size = how_size};
    return gcut_guard(ctx->env, make_jit, &j) ? j.jit : NULL;
}

void gcut_jit_free(gcut_jit *jit)
{
    if (jit) gcut_arena_free(jit->in_user);
}

/* ---- whose turn it is to change entries ---- */

static bool take_turn(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    while (jit->turn && !pthread_equal(jit->holder, pthread_self()))
        pthread_cond_wait(&jit->free_turn, &jit->lock);
    /* This thread: it is in the function, or has left it by longjmp. */
    const bool inside = jit->turn && gcut_is_recording(jit->ctx->env);
    jit->turn = true;
    jit->holder = pthread_self();
    pthread_mutex_unlock(&jit->lock);
    return !inside;
}

static void give_turn(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    jit->turn = false;
    pthread_cond_signal(&jit->free_turn);
    pthread_mutex_unlock(&jit->lock);
}

/* ---- one call ---- */

static gcut_status wrong(const gcut_jit *jit, const char *fmt, ...) GCUT_PRINTF(2, 3);
static gcut_status wrong(const gcut_jit *jit, const char *fmt, ...)
{
    char text[256], all[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(all, sizeof all, "error: gcut_jit_call of %s: %s\n", jit->name, text);
    return gcut_orphan_error(GCUT_EUSAGE, all);
}

gcut_status gcut_check_args(const gcut_jit *jit, const gcut_jit_value *in, int nin, const gcut_jit_value *out,
                            int nout, uint32_t *signature)
{
    if (nin < 0 || nin > GCUT_JIT_ARGS || nout < 1)
        return wrong(jit, "%d arguments and %d results; at most %d and at least 1", nin, nout, GCUT_JIT_ARGS);
    if ((nin && !in) || !out) return wrong(jit, "its argument `%s` is NULL", out ? "in" : "out");
    for (int k = 0; k < nin; k++) {
        const gcut_jit_value *x = &in[k];
        if (!is_dtype(x->dtype)) return wrong(jit, "in[%d]: %d is no dtype", k, (int)x->dtype);
        if (x->rank < 0 || x->rank > GCUT_MAX_RANK)
            return wrong(jit, "in[%d]: a rank of %d; at most %d axes", k, x->rank, GCUT_MAX_RANK);
        bool empty = false;
        for (int d = 0; d < x->rank; d++) {
            if (x->dim[d] < 0)
                return wrong(jit, "in[%d]: the size %lld is negative", k, (long long)x->dim[d]);
            empty = empty || x->dim[d] == 0;
        }
        if (!x->at && !empty) return wrong(jit, "in[%d]: its memory is NULL", k);
        if ((uintptr_t)x->at % (uintptr_t)gcut_dtype_bytes(x->dtype))
            return wrong(jit, "in[%d]: its memory is not aligned for %s", k, gcut_dtype_name(x->dtype));
        signature[k] = (uint32_t)x->dtype << 8 | (uint32_t)x->rank;
    }
    return GCUT_OK;
}

/* The entry becomes the most recently used one; with the lock. */
static void touch(gcut_jit *jit, const gcut_entry *e)
{
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        if (jit->entries.at[k] != e) continue;
        gcut_entry *own = jit->entries.at[k];
        memmove(jit->entries.at + 1, jit->entries.at, k * sizeof *jit->entries.at);
        jit->entries.at[0] = own;
        return;
    }
}

/* Notes how a call differs from the closest entry; with the lock. */
static void note_miss(gcut_jit *jit, const gcut_call_args *c, int64_t number)
{
    gcut_jit_miss *m = &jit->miss[jit->misses++ % GCUT_JIT_MISSES];
    const gcut_entry *e = gcut_entry_closest(jit, c);
    int64_t value[GCUT_JIT_SYMBOLS];
    *m = (gcut_jit_miss){.call = number, .entry = e ? e->number : -1, .arg = -1, .axis = -1};
    if (!e) return;
    for (uint32_t k = 0; k < e->nsymbols; k++) value[k] = -1;
    for (uint32_t k = 0; k < e->nguards; k++) {
        const gcut_size_guard *g = &e->guard[k];
        if (gcut_size_fits(g, c->in, value)) continue;
        m->arg = g->arg, m->axis = g->axis;
        m->expected = g->symbol < 0 ? g->value : value[g->symbol] < 0 ? 2 : value[g->symbol]; /* at least 2 */
        m->found = c->in[g->arg].dim[g->axis];
        return;
    }
}

typedef struct push_job {
    gcut_jit *jit;
    gcut_entry *e;
    bool spare;
} push_job;

static void push(void *arg)
{
    push_job *j = arg;
    if (j->spare)
        *GCUT_PUSH(j->jit->arena, &j->jit->spare) = j->e;
    else
        *GCUT_PUSH(j->jit->arena, &j->jit->entries) = j->e;
}

/* Adds an entry; with the turn. */
static bool add(gcut_jit *jit, gcut_entry *e, bool spare)
{
    push_job j = {jit, e, spare};
    pthread_mutex_lock(&jit->lock);
    e->number = (int)jit->entries.n;
    const bool ok = gcut_guard(jit->ctx->env, push, &j);
    if (ok && !spare) touch(jit, e);
    pthread_mutex_unlock(&jit->lock);
    return ok;
}

/* Beyond the limit: interpreted at the sizes of the call, and remembered until the next such call of this thread. */
static gcut_instance *interpret(gcut_jit *jit, const gcut_call_args *c, gcut_entry **former)
{
    if (!jit->told_limit)
        gcut_env_log(jit->ctx->env,
                     "gcut_jit %s: all %u entries are taken, further ones are interpreted: gcut_jit_explain "
                     "says why they differ",
                     jit->name, (unsigned)jit->most);
    jit->told_limit = true;
    for (uint32_t k = 0; k < jit->spare.n; k++) {
        gcut_entry *old = jit->spare.at[k];
        if (!old->instances || !pthread_equal(old->instances->thread, pthread_self())) continue;
        jit->spare.at[k] = jit->spare.at[--jit->spare.n];
        *former = old;
        break;
    }
    gcut_entry *e = gcut_entry_spare(jit, c);
    gcut_instance *i = e ? gcut_instance_new(jit, e, false) : NULL;
    if (i && add(jit, e, true)) return i;
    if (e) gcut_entry_free(e);
    return NULL;
}

/* What is missing for a call, one thing at a time: an entry, the check of its sizes, a step of this thread.  With the turn.  An
 * instance for a call beyond the limit; NULL: look again, or *ok is false. */
static gcut_instance *supply(gcut_jit *jit, const gcut_call_args *c, int64_t number, bool *counted,
                             gcut_entry **former, bool *ok)
{
    int64_t value[GCUT_JIT_SYMBOLS];
    pthread_mutex_lock(&jit->lock);
    gcut_entry *e = gcut_entry_find(jit, c, value);
    if (!e && !*counted) {
        note_miss(jit, c, number);
        *counted = true;
    }
    pthread_mutex_unlock(&jit->lock);
    if (!e && jit->entries.n >= jit->most) {
        gcut_instance *i = interpret(jit, c, former);
        *ok = i != NULL;
        return i;
    }
    if (!e) {
        e = gcut_entry_new(jit, c);
        *ok = e && add(jit, e, false);
    } else if (!gcut_entry_knows(e, c)) {
        *ok = gcut_entry_check(jit, e, c, value);
    } else if (!gcut_instance_find(e)) {
        *ok = gcut_instance_new(jit, e, true) != NULL;
    }
    return NULL;
}

/* The values took a branch that is not recorded. */
static bool extend(gcut_jit *jit, const gcut_call_args *c)
{
    int64_t value[GCUT_JIT_SYMBOLS];
    pthread_mutex_lock(&jit->lock);
    gcut_entry *e = gcut_entry_find(jit, c, value);
    jit->side_exits++;
    pthread_mutex_unlock(&jit->lock);
    return !e || gcut_entry_extend(jit, e, c, value);
}

/* With the lock: a step that this thread can run at once.  *counted: as a hit or a miss. */
static gcut_instance *ready(gcut_jit *jit, const gcut_call_args *c, int64_t *value, bool *counted)
{
    if (jit->jobs) gcut_instances_collect(jit);
    gcut_entry *e = gcut_entry_find(jit, c, value);
    gcut_instance *i = e && gcut_entry_knows(e, c) ? gcut_instance_find(e) : NULL;
    if (!i) return NULL;
    touch(jit, e);
    if (!*counted) {
        e->hits++;
        jit->hits++;
    }
    *counted = true;
    jit->interpreted += i->interpreted;
    return i;
}

gcut_status gcut_jit_call(gcut_jit *jit, const gcut_jit_value *in, int nin, gcut_jit_value *out, int nout)
{
    GCUT_NEED(NULL, jit, GCUT_EUSAGE);
    uint32_t signature[GCUT_JIT_ARGS];
    int64_t value[GCUT_JIT_SYMBOLS];
    const gcut_status checked = gcut_check_args(jit, in, nin, out, nout, signature);
    if (checked != GCUT_OK) return checked;
    const gcut_call_args c = {.in = in, .nin = (uint32_t)nin, .nout = nout, .signature = signature};
    bool counted = false, ok = true, changed = false;
    gcut_entry *former = NULL; /* whose results may be arguments of this call */
    pthread_mutex_lock(&jit->lock);
    const int64_t number = jit->calls++;
    gcut_instance *i = ready(jit, &c, value, &counted);
    pthread_mutex_unlock(&jit->lock);
    for (;;) {
        bool right = true;
        const gcut_status s = i ? gcut_instance_run(i, &c, value, out, &right) : GCUT_OK;
        if (i && (right || s != GCUT_OK)) {
            if (changed) gcut_instances_trim(jit);
            if (former) gcut_entry_free(former);
            return s;
        }
        changed = true;
        if (!take_turn(jit)) return wrong(jit, "the function calls the gcut_jit that records it");
        gcut_clear_errors(jit->ctx);
        gcut_instance *beyond = NULL;
        if (i)
            ok = extend(jit, &c);
        else
            beyond = supply(jit, &c, number, &counted, &former, &ok);
        /* An instance that could not be made has set the message. */
        if (!ok && gcut_last_status(jit->ctx) != GCUT_OK)
            gcut_orphan_error(gcut_last_status(jit->ctx), gcut_last_error(jit->ctx));
        give_turn(jit);
        if (!ok && former) gcut_entry_free(former);
        if (!ok) return gcut_last_status(NULL);
        pthread_mutex_lock(&jit->lock);
        i = beyond ? beyond : ready(jit, &c, value, &counted);
        jit->interpreted += beyond != NULL;
        pthread_mutex_unlock(&jit->lock);
    }
}
