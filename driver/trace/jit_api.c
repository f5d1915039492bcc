/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_jit: making, calling and freeing one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "driver/recording.h"
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
    if (s.nfix || s.nat || s.loss || s.ncotan || s.optimizer || s.apart || s.eval)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){j->at.file, j->at.line, 0},
                  "the function calls gcut_grad, and has gradients among its results",
                  "gcut_jit_new: the options ask for derivatives, updates, evaluation or sizes of symbols");
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
    if (jit && !gcut_recording_refuses("frees a gcut_jit")) gcut_arena_free(jit->in_user);
}

/* ---- whose turn it is to change entries ---- */

/* Where this thread has it, it has left the function by longjmp. */
static void take_turn(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    while (jit->turn && !pthread_equal(jit->holder, pthread_self()))
        pthread_cond_wait(&jit->free_turn, &jit->lock);
    jit->turn = true;
    jit->holder = pthread_self();
    pthread_mutex_unlock(&jit->lock);
}

static void give_turn(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    jit->turn = false;
    pthread_cond_signal(&jit->free_turn);
    pthread_mutex_unlock(&jit->lock);
}

/* ---- one call ---- */

static gcut_status wrong(const gcut_jit *jit, const char *function, const char *fmt, ...) GCUT_PRINTF(3, 4);
static gcut_status wrong(const gcut_jit *jit, const char *function, const char *fmt, ...)
{
    char text[256], all[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(all, sizeof all, "error: %s of %s: %s\n", function, jit->name, text);
    return gcut_orphan_error(GCUT_EUSAGE, all);
}

gcut_status gcut_check_args(const gcut_jit *jit, const char *function, const gcut_jit_value *in, int nin,
                            const gcut_jit_value *out, int nout, uint32_t *signature)
{
    const char *recorded = gcut_recording_refuses("calls a gcut_jit");
    if (recorded) return wrong(jit, function, "the function that is recorded as @%s calls it", recorded);
    if (nin < 0 || nin > GCUT_JIT_ARGS || nout < 1)
        return wrong(jit, function, "%d arguments and %d results; at most %d and at least 1", nin, nout,
                     GCUT_JIT_ARGS);
    if ((nin && !in) || !out) return wrong(jit, function, "its argument `%s` is NULL", out ? "in" : "out");
    for (int k = 0; k < nin; k++) {
        const gcut_jit_value *x = &in[k];
        if (!is_dtype(x->dtype)) return wrong(jit, function, "in[%d]: %d is no dtype", k, (int)x->dtype);
        if (x->rank < 0 || x->rank > GCUT_MAX_RANK)
            return wrong(jit, function, "in[%d]: a rank of %d; at most %d axes", k, x->rank, GCUT_MAX_RANK);
        bool empty = false;
        int64_t bytes = gcut_dtype_bytes(x->dtype);
        for (int d = 0; d < x->rank; d++) {
            if (x->dim[d] < 0)
                return wrong(jit, function, "in[%d]: the size %lld is negative", k, (long long)x->dim[d]);
            empty = empty || x->dim[d] == 0;
            if (__builtin_mul_overflow(bytes, x->dim[d], &bytes))
                return wrong(jit, function, "in[%d]: its bytes do not fit in 64 bits", k);
        }
        if (!x->at && !empty) return wrong(jit, function, "in[%d]: its memory is NULL", k);
        if ((uintptr_t)x->at % (uintptr_t)gcut_dtype_bytes(x->dtype))
            return wrong(jit, function, "in[%d]: its memory is not aligned for %s", k,
                         gcut_dtype_name(x->dtype));
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
    const gcut_entry *e = NULL;
    gcut_entries_closest(jit, c, &e, 1);
    int64_t value[GCUT_JIT_SYMBOLS];
    *m = (gcut_jit_miss){.call = number, .entry = e ? e->number : -1, .arg = -1, .axis = -1};
    if (!e) return;
    gcut_sizes_unbound(e, value);
    for (uint32_t k = 0; k < e->nguards; k++) {
        const gcut_size_guard *g = &e->guard[k];
        if (gcut_size_fits(g, c->in, value)) continue;
        const int64_t bound = g->symbol < 0 ? g->value : value[g->symbol];
        m->arg = g->arg, m->axis = g->axis;
        m->at_least = bound < 0;
        m->expected = m->at_least ? GCUT_SYMBOL_LEAST : bound;
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

/* What one call is about. */
typedef struct attempt {
    gcut_call_args c;
    int64_t number;
    bool counted;       /* as a hit or a miss */
    bool ok;            /* else there is an error */
    bool as_it_is;      /* the step was made for these values: its branches are the right ones */
    gcut_entry *former; /* whose results may be arguments */
    gcut_entry *e;      /* of the step that was run; NULL: a spare one */
} attempt;

/* A spare entry of this thread, out of the list; NULL: there is none. */
static gcut_entry *spare_of_thread(gcut_jit *jit)
{
    for (uint32_t k = 0; k < jit->spare.n; k++) {
        gcut_entry *e = jit->spare.at[k];
        if (!e->instances || !pthread_equal(e->instances->thread, pthread_self())) continue;
        jit->spare.at[k] = jit->spare.at[--jit->spare.n];
        return e;
    }
    return NULL;
}

/* Beyond a limit: interpreted at the sizes of the call, by an entry that is remembered for the next such call of this thread.
 * other: a former one has not the branches that the values lead to. */
static gcut_instance *interpret(gcut_jit *jit, attempt *t, bool other, const char *limit)
{
    if (!jit->told_limit)
        gcut_env_log(jit->ctx->env,
                     "gcut_jit %s: %s, further ones are interpreted: gcut_jit_explain says more", jit->name,
                     limit);
    jit->told_limit = true;
    int64_t value[GCUT_JIT_SYMBOLS];
    gcut_entry *e = spare_of_thread(jit);
    t->e = NULL;
    t->as_it_is = !e || other || !gcut_entry_fits(e, &t->c, value);
    if (t->as_it_is) {
        t->former = e;
        e = gcut_entry_spare(jit, &t->c);
    }
    gcut_instance *i = !e ? NULL : e->instances ? e->instances : gcut_instance_new(jit, e, false);
    t->ok = i && add(jit, e, true);
    if (!t->ok && e) gcut_entry_free(e);
    return t->ok ? i : NULL;
}

static gcut_instance *beyond_entries(gcut_jit *jit, attempt *t, bool other)
{
    char limit[64];
    snprintf(limit, sizeof limit, "all %u entries are taken", (unsigned)jit->most);
    return interpret(jit, t, other, limit);
}

/* What is missing for a call, one thing at a time: an entry, the check of its sizes, a step of this thread.  With the
 * turn.  Returns an instance for a call beyond the limit; NULL: look again, or there is an error. */
static gcut_instance *supply(gcut_jit *jit, attempt *t)
{
    const gcut_call_args *c = &t->c;
    int64_t value[GCUT_JIT_SYMBOLS];
    pthread_mutex_lock(&jit->lock);
    gcut_entry *e = gcut_entry_find(jit, c, value);
    const bool known = e && gcut_entry_knows(e, c), has_step = e && gcut_instance_find(e);
    if (!e && !t->counted) {
        note_miss(jit, c, t->number);
        t->counted = true;
    }
    pthread_mutex_unlock(&jit->lock);
    if (!e && jit->entries.n >= jit->most) return beyond_entries(jit, t, false);
    if (!e) {
        e = gcut_entry_new(jit, c);
        t->ok = e && add(jit, e, false);
    } else if (!known) {
        t->ok = gcut_entry_check(jit, e, c, value);
    } else if (!has_step) {
        t->ok = gcut_instance_new(jit, e, true) != NULL;
    }
    return NULL;
}

/* The values took a branch that is not recorded, or that the step and the recorder decide differently, since they round
 * differently: then the interpreter runs the call.  With the turn.  Returns a step that is to be run; NULL: look again, or
 * there is an error. */
static gcut_instance *extend(gcut_jit *jit, attempt *t, const gcut_instance *ran)
{
    int64_t value[GCUT_JIT_SYMBOLS];
    gcut_entry *e = t->e;
    if (!e) return beyond_entries(jit, t, true);
    pthread_mutex_lock(&jit->lock);
    const bool usual = gcut_entry_fits(e, &t->c, value) && gcut_entry_knows(e, &t->c);
    const uint32_t before = e->version;
    jit->side_exits++;
    pthread_mutex_unlock(&jit->lock);
    if (!usual || before != ran->version) return NULL; /* another thread has changed it meanwhile */
    if (e->npaths >= GCUT_MOST_PATHS) return interpret(jit, t, true, "an entry has all its paths");
    t->ok = gcut_entry_extend(jit, e, &t->c, value);
    if (!t->ok) return NULL;
    pthread_mutex_lock(&jit->lock);
    const bool disputed = e->version == before && gcut_entry_knows(e, &t->c);
    pthread_mutex_unlock(&jit->lock);
    if (!disputed) return NULL;
    gcut_instance *i = gcut_instance_interpreted(jit, e);
    t->ok = i != NULL;
    t->as_it_is = true;
    return i;
}

/* With the lock: a step that this thread can run at once, with the sizes of its symbols. */
static gcut_instance *ready(gcut_jit *jit, attempt *t, int64_t *value)
{
    if (jit->jobs) gcut_instances_collect(jit);
    gcut_entry *e = gcut_entry_find(jit, &t->c, value);
    gcut_instance *i = e && gcut_entry_knows(e, &t->c) ? gcut_instance_find(e) : NULL;
    if (!i) return NULL;
    touch(jit, e);
    gcut_instance_used(e, i);
    t->e = e;
    if (!t->counted) {
        e->hits++;
        jit->hits++;
    }
    t->counted = true;
    t->as_it_is = false;
    return i;
}

/* After a run by i that was not a hit at once: what the call needed is needed no longer. */
static void tidy(gcut_jit *jit, gcut_entry *former)
{
    gcut_instances_trim(jit);
    if (!former) return;
    pthread_mutex_lock(&jit->lock);
    former->next_gone = jit->gone;
    jit->gone = former;
    pthread_mutex_unlock(&jit->lock);
}

/* Makes what the call needs.  i: the step that took a wrong branch; NULL: there was none.  Returns a step that is to be run;
 * NULL: look again, or there is an error. */
static gcut_instance *prepare(gcut_jit *jit, attempt *t, const gcut_instance *i)
{
    take_turn(jit);
    gcut_entries_free_gone(jit);
    gcut_clear_errors(jit->ctx);
    gcut_instance *next = i ? extend(jit, t, i) : supply(jit, t);
    /* An instance that could not be made has set the message. */
    if (!t->ok && gcut_last_status(jit->ctx) != GCUT_OK)
        gcut_orphan_error(gcut_last_status(jit->ctx), gcut_last_error(jit->ctx));
    if (!t->ok && t->former) gcut_entry_free(t->former);
    give_turn(jit);
    return next;
}

static void count_interpreted(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    jit->interpreted++;
    pthread_mutex_unlock(&jit->lock);
}

gcut_status gcut_jit_call(gcut_jit *jit, const gcut_jit_value *in, int nin, gcut_jit_value *out, int nout)
{
    GCUT_NEED(NULL, jit, GCUT_EUSAGE);
    uint32_t signature[GCUT_JIT_ARGS];
    gcut_jit_value own[GCUT_JIT_ARGS];
    int64_t value[GCUT_JIT_SYMBOLS];
    gcut_status s = gcut_check_args(jit, __func__, in, nin, out, nout, signature);
    if (s != GCUT_OK) return s;
    attempt t = {.c = {.in = in, .nin = (uint32_t)nin, .nout = nout, .signature = signature}, .ok = true};
    bool changed = false;
    pthread_mutex_lock(&jit->lock);
    t.number = jit->calls++;
    gcut_instance *i = ready(jit, &t, value);
    pthread_mutex_unlock(&jit->lock);
    for (;; changed = true) {
        bool right = i != NULL;
        if (i) s = gcut_instance_copy_results(i, &t.c, own);
        if (i && s == GCUT_OK) s = gcut_instance_run(i, &t.c, value, t.as_it_is, out, &right);
        if (right || s != GCUT_OK) {
            if (i->interpreted) count_interpreted(jit);
            if (changed) tidy(jit, t.former);
            return s;
        }
        i = prepare(jit, &t, i);
        if (!t.ok) return gcut_last_status(NULL);
        if (i) continue;
        pthread_mutex_lock(&jit->lock);
        i = ready(jit, &t, value);
        pthread_mutex_unlock(&jit->lock);
    }
}
