/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps of a jit: one for each thread and entry, in a context of its own, made from the entry's text.
 */
#include "driver/trace/jit.h"

#include "base/bytes.h"
#include "driver/builder/builder.h"

#define ALIGNMENT 64  /* of values in memory */
#define MOST_FORMER 8 /* steps of an entry's former versions, of one thread: branches may need them again */

static gcut_status fail(const gcut_ctx *ctx)
{
    return ctx ? gcut_orphan_error(gcut_last_status(ctx), gcut_last_error(ctx))
               : gcut_orphan_error(GCUT_ENOMEM, "error: out of memory\n");
}

/* ---- making one ---- */

static void instance_free(gcut_instance *i)
{
    if (!i) return;
    gcut_ctx *ctx = i->ctx;
    gcut_allocator a = {ctx->env->alloc, ctx->env->alloc_user};
    gcut_ctx_free(ctx);
    a.fn(a.user, i, 0);
}

typedef struct slots_job {
    gcut_instance *i;
    const gcut_entry *e;
    bool guarded;
} slots_job;

static void find_slots(void *arg)
{
    slots_job *j = arg;
    gcut_step *s = j->i->step;
    gcut_arena *a = s->arena;
    j->i->in = gcut_calloc(a, j->e->nin + 1, sizeof *j->i->in);
    j->i->out = gcut_calloc(a, (size_t)j->e->nout + 1, sizeof *j->i->out);
    j->i->cell = s->entry ? gcut_calloc(a, j->e->nin + 1, sizeof *j->i->cell) : NULL;
    j->i->nsymbols = j->e->nsymbols;
    for (uint32_t k = 0; k < j->e->nin; k++) {
        gcut_slot *x = j->i->in[k] = gcut_slot_get(s, j->e->in[k].name);
        if (s->entry && x->member) j->i->cell[k] = &s->value[x->member - 1];
    }
    for (int k = 0; k < j->e->nout; k++)
        j->i->out[k] = gcut_slot_get(s, j->e->nout == 1 ? "out" : gcut_printf(a, "out%d", k));
    if (j->guarded) j->i->guard = gcut_slot_get(s, "guard");
}

/* Counts a failed compilation; the log hook of env, which this thread may use, is told of the first one. */
static void note_failure(gcut_jit *jit, gcut_env *env, const char *why)
{
    pthread_mutex_lock(&jit->lock);
    jit->fallbacks++;
    const bool first = !jit->told_fallback;
    jit->told_fallback = true;
    pthread_mutex_unlock(&jit->lock);
    if (first)
        gcut_env_log(env, "gcut_jit %s: it cannot be compiled, and is interpreted: %s", jit->name, why);
}

/* Without the lock.  Of e it reads what never changes. */
static gcut_instance *make(gcut_jit *jit, const gcut_entry *e, gcut_entry_version what, uint32_t version,
                           bool interpreted)
{
    gcut_env *env = jit->ctx->env;
    const gcut_allocator a = {env->alloc, env->alloc_user};
    gcut_ctx *ctx = gcut_ctx_new(&a);
    gcut_instance *i = ctx ? a.fn(a.user, NULL, sizeof *i) : NULL;
    if (!i) {
        gcut_ctx_free(ctx);
        fail(NULL);
        return NULL;
    }
    *i = (gcut_instance){.ctx = ctx, .version = version, .interpreted = interpreted};
    ctx->env->externals = env->externals;
    ctx->env->hook = env->hook;
    gcut_options o = jit->compile;
    if (interpreted && o.backend == GCUT_BACKEND_COMPILED) o.backend = GCUT_BACKEND_EAGER;
    gcut_graph *g = gcut_parse(ctx, what.text, GCUT_TO_NUL, jit->name, NULL);
    i->step = g ? gcut_compile(g, &o) : NULL;
    slots_job j = {i, e, what.guarded};
    if (i->step && gcut_guard(ctx->env, find_slots, &j)) return i;
    if (!interpreted) note_failure(jit, ctx->env, gcut_last_error(ctx));
    fail(ctx);
    instance_free(i);
    return NULL;
}

/* ---- on another thread ---- */

static void *compile_in_background(void *arg)
{
    gcut_background *b = arg;
    gcut_jit *jit = b->jit;
    gcut_instance *made = make(jit, b->entry, b->what, b->version, false);
    pthread_mutex_lock(&jit->lock);
    b->instance = made;
    pthread_mutex_unlock(&jit->lock);
    return NULL;
}

void gcut_instances_collect(gcut_jit *jit)
{
    for (gcut_background **at = &jit->jobs; *at;) {
        gcut_background *b = *at;
        if (!b->instance) { /* it goes on, or has failed: it is not tried again */
            at = &b->next;
            continue;
        }
        b->instance->thread = b->caller;
        b->instance->next = b->entry->instances;
        b->entry->instances = b->instance;
        jit->compiled++;
        *at = b->next;
        pthread_join(b->thread, NULL); /* it has given the lock back, and does nothing else */
    }
}

typedef struct start_job {
    gcut_jit *jit;
    gcut_entry *e;
} start_job;

static void start(void *arg)
{
    start_job *j = arg;
    gcut_jit *jit = j->jit;
    gcut_entry *e = j->e;
    bool has_job = false;
    pthread_mutex_lock(&jit->lock);
    for (const gcut_background *b = jit->jobs; b; b = b->next)
        has_job = has_job ||
                  (b->entry == e && b->version == e->version && pthread_equal(b->caller, pthread_self()));
    pthread_mutex_unlock(&jit->lock);
    if (has_job) return;
    gcut_background *b = gcut_calloc(jit->arena, 1, sizeof *b);
    *b = (gcut_background){.jit = jit,
                           .entry = e,
                           .version = e->version,
                           .what = e->versions.at[e->version],
                           .caller = pthread_self()};
    const int failed = pthread_create(&b->thread, NULL, compile_in_background, b);
    if (failed) {
        note_failure(jit, jit->ctx->env, strerror(failed));
        return;
    }
    pthread_mutex_lock(&jit->lock);
    b->next = jit->jobs;
    jit->jobs = b;
    pthread_mutex_unlock(&jit->lock);
}

/* ---- finding one ---- */

gcut_instance *gcut_instance_find(const gcut_entry *e)
{
    gcut_instance *own = NULL;
    for (gcut_instance *i = e->instances; i; i = i->next)
        if (i->version == e->version && pthread_equal(i->thread, pthread_self()) && (!own || !i->interpreted))
            own = i;
    return own;
}

void gcut_instance_used(gcut_entry *e, gcut_instance *i)
{
    if (e->instances == i) return;
    gcut_instance *before = e->instances;
    while (before->next != i) before = before->next;
    before->next = i->next;
    i->next = e->instances;
    e->instances = i;
}

gcut_instance *gcut_instance_interpreted(gcut_jit *jit, gcut_entry *e)
{
    pthread_mutex_lock(&jit->lock);
    gcut_instance *i = e->instances;
    while (i && !(i->interpreted && i->version == e->version && pthread_equal(i->thread, pthread_self())))
        i = i->next;
    pthread_mutex_unlock(&jit->lock);
    return i ? i : gcut_instance_new(jit, e, false);
}

void gcut_instances_trim(gcut_jit *jit)
{
    gcut_instance *gone = NULL;
    pthread_mutex_lock(&jit->lock);
    for (uint32_t k = 0; k < jit->entries.n; k++) {
        int former = 0; /* those that were used last come first */
        for (gcut_instance **at = &jit->entries.at[k]->instances; *at;) {
            gcut_instance *i = *at;
            if (i->version == jit->entries.at[k]->version || !pthread_equal(i->thread, pthread_self()) ||
                ++former <= MOST_FORMER) {
                at = &i->next;
                continue;
            }
            *at = i->next;
            i->next = gone;
            gone = i;
        }
    }
    pthread_mutex_unlock(&jit->lock);
    for (gcut_instance *next; gone; gone = next) {
        next = gone->next;
        instance_free(gone);
    }
}

gcut_instance *gcut_instance_new(gcut_jit *jit, gcut_entry *e, bool compiles)
{
    gcut_instance *i = NULL;
    compiles = compiles && jit->compile.backend == GCUT_BACKEND_COMPILED;
    if (compiles && jit->background) {
        start_job j = {jit, e};
        if (!gcut_guard(jit->ctx->env, start, &j)) return NULL;
    } else if (compiles) {
        i = make(jit, e, e->versions.at[e->version], e->version, false);
    }
    const bool made = i != NULL;
    if (!i) i = make(jit, e, e->versions.at[e->version], e->version, true);
    if (!i) return NULL;
    i->thread = pthread_self();
    pthread_mutex_lock(&jit->lock);
    jit->compiled += made;
    i->next = e->instances;
    e->instances = i;
    pthread_mutex_unlock(&jit->lock);
    return i;
}

void gcut_entries_free_gone(gcut_jit *jit)
{
    pthread_mutex_lock(&jit->lock);
    gcut_entry *e = jit->gone;
    jit->gone = NULL;
    pthread_mutex_unlock(&jit->lock);
    for (gcut_entry *next; e; e = next) {
        next = e->next_gone;
        gcut_entry_free(e);
    }
}

void gcut_entry_free(gcut_entry *e)
{
    for (gcut_instance *i = e->instances, *next; i; i = next) {
        next = i->next;
        instance_free(i);
    }
    gcut_arena_free(e->arena);
}

void gcut_instances_free(gcut_jit *jit)
{
    for (gcut_background *b = jit->jobs, *next; b; b = next) {
        next = b->next;
        pthread_join(b->thread, NULL);
        instance_free(b->instance);
    }
    gcut_entries_free_gone(jit);
    for (uint32_t k = 0; k < jit->entries.n; k++) gcut_entry_free(jit->entries.at[k]);
    for (uint32_t k = 0; k < jit->spare.n; k++) gcut_entry_free(jit->spare.at[k]);
}

/* ---- arguments that are results ---- */

static bool overlaps(const gcut_slot *x, const char *at, int64_t bytes)
{
    const char *own = x->at;
    return own && at < own + x->bytes && own < at + bytes;
}

static int64_t bytes_of(const gcut_jit_value *x)
{
    int64_t n = gcut_dtype_bytes(x->dtype);
    for (int d = 0; d < x->rank; d++) n *= x->dim[d];
    return n;
}

typedef struct copies_job {
    gcut_instance *i;
    gcut_call_args *c;
    gcut_jit_value *own;
    bool copied[GCUT_JIT_ARGS];
} copies_job;

static int64_t room_of(gcut_env *env, const gcut_jit_value *x)
{
    return gcut_bytes_lines(env, NULL, "the arguments", bytes_of(x));
}

static void copy_results(void *arg)
{
    copies_job *j = arg;
    gcut_instance *i = j->i;
    gcut_env *env = i->ctx->env;
    int64_t total = 0;
    for (uint32_t k = 0; k < j->c->nin; k++)
        if (j->copied[k])
            total = gcut_bytes_add(env, NULL, "the arguments", total, room_of(env, &j->c->in[k]));
    if (total > i->room) {
        if (i->copies) gcut_arena_free(i->copies);
        i->copies = NULL, i->room = 0;
        i->copies = gcut_arena_new(env, env->arena);
        i->at = gcut_step_memory(i->copies, total);
        i->room = total;
    }
    memcpy(j->own, j->c->in, j->c->nin * sizeof *j->own);
    char *to = i->at;
    for (uint32_t k = 0; k < j->c->nin; k++) {
        if (!j->copied[k]) continue;
        j->own[k].at = memcpy(to, j->c->in[k].at, (size_t)bytes_of(&j->c->in[k]));
        to += room_of(env, &j->c->in[k]);
    }
    j->c->in = j->own;
}

gcut_status gcut_instance_copy_results(gcut_instance *i, gcut_call_args *c, gcut_jit_value *own)
{
    copies_job j = {.i = i, .c = c, .own = own};
    bool any = false;
    for (uint32_t k = 0; k < c->nin; k++) {
        const int64_t n = bytes_of(&c->in[k]);
        for (int r = 0; r < c->nout && !j.copied[k]; r++) j.copied[k] = overlaps(i->out[r], c->in[k].at, n);
        any = any || j.copied[k];
    }
    return !any || gcut_protect(i->ctx->env, copy_results, &j) == GCUT_OK ? GCUT_OK : fail(i->ctx);
}

/* ---- running ---- */

typedef struct run_job {
    gcut_instance *i;
    const gcut_call_args *c;
    const int64_t *value; /* of the symbols */
} run_job;

static void bind_all(const run_job *j)
{
    gcut_step *s = j->i->step;
    j->i->ran = false;
    for (uint32_t k = 0; k < j->c->nin; k++) {
        const gcut_jit_value *x = &j->c->in[k];
        gcut_step_bind_slot(s, j->i->in[k], x->at, x->rank, x->dim);
    }
    gcut_step_prepare(s);
    memcpy(j->i->symbol, j->value, j->i->nsymbols * sizeof *j->value);
    j->i->ran = j->i->cell != NULL;
}

static void bind_and_run(void *arg)
{
    const run_job *j = arg;
    gcut_instance *i = j->i;
    bool same = i->ran;
    for (uint32_t k = 0; k < i->nsymbols; k++) same = same && i->symbol[k] == j->value[k];
    if (!same) bind_all(j);
    for (uint32_t k = 0; same && k < j->c->nin; k++)
        if (i->cell[k]) *i->cell[k] = j->c->in[k].at;
    gcut_step_run(i->step, gcut_step_calls(i->step));
}

gcut_status gcut_instance_run(gcut_instance *i, const gcut_call_args *c, const int64_t *value, bool as_it_is,
                              gcut_jit_value *out, bool *right)
{
    run_job j = {i, c, value};
    const gcut_status s = gcut_protect(i->ctx->env, bind_and_run, &j);
    *right = true;
    if (s != GCUT_OK) return fail(i->ctx);
    *right = as_it_is || !i->guard || *(const unsigned char *)i->guard->at;
    for (int k = 0; *right && k < c->nout; k++) {
        const gcut_slot *x = i->out[k];
        out[k] = (gcut_jit_value){.at = x->at, .dtype = x->type.dtype, .rank = x->type.rank};
        memcpy(out[k].dim, x->dim, sizeof out[k].dim);
    }
    return GCUT_OK;
}
