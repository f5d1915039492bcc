/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps of a jit: one for each thread and entry, in a context of its own, made from the entry's text.
 */
#include "driver/trace/jit.h"

#include "driver/builder/builder.h"

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
    if (j->e->guarded) j->i->guard = gcut_slot_get(s, "guard");
}

static gcut_instance *make(const gcut_jit *jit, const gcut_entry *e, bool interpreted)
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
    *i = (gcut_instance){.ctx = ctx, .version = e->version, .interpreted = interpreted};
    ctx->env->externals = env->externals;
    ctx->env->hook = env->hook;
    gcut_options o = jit->compile;
    if (interpreted && o.backend == GCUT_BACKEND_COMPILED) o.backend = GCUT_BACKEND_EAGER;
    gcut_graph *g = gcut_parse(ctx, e->text, GCUT_TO_NUL, jit->name, NULL);
    i->step = g ? gcut_compile(g, &o) : NULL;
    slots_job j = {i, e};
    if (i->step && gcut_guard(ctx->env, find_slots, &j)) return i;
    fail(ctx);
    instance_free(i);
    return NULL;
}

/* ---- on another thread ---- */

static void *compile_behind(void *arg)
{
    gcut_background *b = arg;
    gcut_jit *jit = b->jit;
    gcut_instance *made = make(jit, &b->as_is, false);
    pthread_mutex_lock(&jit->lock);
    b->instance = made;
    b->failed = !made;
    b->done = true;
    pthread_mutex_unlock(&jit->lock);
    return NULL;
}

void gcut_instances_collect(gcut_jit *jit)
{
    for (gcut_background *b = jit->jobs; b; b = b->next) {
        if (!b->done || !b->instance) continue;
        b->instance->thread = b->caller;
        b->instance->next = b->entry->instances;
        b->entry->instances = b->instance;
        b->instance = NULL;
        jit->compiled++;
    }
}

typedef struct start_job {
    gcut_jit *jit;
    gcut_entry *e;
} start_job;

static void start(void *arg)
{
    start_job *j = arg;
    for (const gcut_background *b = j->jit->jobs; b; b = b->next)
        if (b->entry == j->e && b->as_is.version == j->e->version && pthread_equal(b->caller, pthread_self()))
            return;
    gcut_background *b = gcut_calloc(j->jit->arena, 1, sizeof *b);
    *b = (gcut_background){
        .jit = j->jit, .entry = j->e, .as_is = *j->e, .caller = pthread_self(), .next = j->jit->jobs};
    if (pthread_create(&b->thread, NULL, compile_behind, b) == 0) j->jit->jobs = b;
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

static void warn_once(gcut_jit *jit)
{
    if (jit->told_fallback) return;
    jit->told_fallback = true;
    gcut_env_log(jit->ctx->env, "gcut_jit %s: it cannot be compiled, and is interpreted: %s", jit->name,
                 gcut_last_error(NULL));
}

void gcut_instances_trim(gcut_jit *jit)
{
    gcut_instance *gone = NULL;
    pthread_mutex_lock(&jit->lock);
    for (uint32_t k = 0; k < jit->entries.n; k++)
        for (gcut_instance **at = &jit->entries.at[k]->instances; *at;) {
            gcut_instance *i = *at;
            if (i->version == jit->entries.at[k]->version || !pthread_equal(i->thread, pthread_self())) {
                at = &i->next;
                continue;
            }
            *at = i->next;
            i->next = gone;
            gone = i;
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
        gcut_guard(jit->ctx->env, start, &j);
    } else if (compiles) {
        i = make(jit, e, false);
        if (!i) {
            jit->fallbacks++;
            warn_once(jit);
        }
    }
    const bool made = i != NULL;
    if (!i) i = make(jit, e, true);
    if (!i) return NULL;
    i->thread = pthread_self();
    pthread_mutex_lock(&jit->lock);
    jit->compiled += made;
    i->next = e->instances;
    e->instances = i;
    pthread_mutex_unlock(&jit->lock);
    return i;
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
    for (gcut_background *b = jit->jobs; b; b = b->next) pthread_join(b->thread, NULL);
    gcut_instances_collect(jit);
    for (uint32_t k = 0; k < jit->entries.n; k++) gcut_entry_free(jit->entries.at[k]);
    for (uint32_t k = 0; k < jit->spare.n; k++) gcut_entry_free(jit->spare.at[k]);
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

gcut_status gcut_instance_run(gcut_instance *i, const gcut_call_args *c, const int64_t *value,
                              gcut_jit_value *out, bool *right)
{
    run_job j = {i, c, value};
    const gcut_status s = gcut_protect(i->ctx->env, bind_and_run, &j);
    *right = true;
    if (s != GCUT_OK) return fail(i->ctx);
    *right = !i->guard || *(const unsigned char *)i->guard->at;
    for (int k = 0; *right && k < c->nout; k++) {
        const gcut_slot *x = i->out[k];
        out[k] = (gcut_jit_value){.at = x->at, .dtype = x->type.dtype, .rank = x->type.rank};
        memcpy(out[k].dim, x->dim, sizeof out[k].dim);
    }
    return GCUT_OK;
}
