/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of steps: every call runs under gcut_protect.
 */
#include <string.h>

#include "driver/measure/step_stats.h"
#include "driver/options/options.h"
#include "driver/load/step.h"
#include "driver/load/weights.h"
#include "driver/recording.h"
#include "import/npy.h"

typedef struct job {
    gcut_step *s;
    const char *name, *path;
    void *at;
    const void *from;
    gcut_dtype dtype; /* of the memory; GCUT_NO_DTYPE: not known */
    int rank, which;
    const int64_t *dims;
    const gcut_feed *feed;
    size_t n;
    const gcut_plan *plan;
} job;

/* Runs body on a job of a step; `call` is the public function, for the message about a NULL step. */
static gcut_status run(const char *call, void (*body)(void *), job *j)
{
    if (!j->s) return gcut_refuse_null(NULL, call, "step");
    return gcut_protect(j->s->env, body, j);
}

typedef struct make_job {
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    gcut_arena *a;
    gcut_step *s;
} make_job;

static void do_make(void *arg)
{
    make_job *j = arg;
    gcut_settings o = gcut_settings_of(j->g->module->env, j->opt, j->size);
    j->s = gcut_step_cached(j->g, &o, j->a);
}

gcut_step *gcut_compile_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    make_job j = {.g = g, .opt = opt, .size = size};
    return gcut_guard_in(g->module->env, &j.a, do_make, &j) ? j.s : NULL;
}

void gcut_step_free(gcut_step *step)
{
    if (step && !gcut_recording_refuses("frees a step")) gcut_arena_free(step->arena);
}

static void do_plan(void *arg)
{
    job *j = arg;
    j->plan = gcut_step_planned(j->s);
}

const gcut_plan *gcut_step_plan(gcut_step *step)
{
    job j = {.s = step};
    return run(__func__, do_plan, &j) == GCUT_OK ? j.plan : NULL;
}

/* ---- values ---- */

#define WRONG(j, place, hint, ...) gcut_fail((j)->s->env, GCUT_EUSAGE, place, hint, __VA_ARGS__)

/* Returns the slot that the memory is for. */
static const gcut_slot *check_memory(const job *j)
{
    const gcut_place none = {0};
    bool empty = false; /* memory of 0 bytes may be NULL */
    if (j->rank < 0 || j->rank > GCUT_MAX_RANK)
        WRONG(j, none, NULL, "'%s' cannot have %d axes: at most %d", j->name, j->rank, GCUT_MAX_RANK);
    if (j->rank && !j->dims) WRONG(j, none, NULL, "'%s': its %d sizes are NULL", j->name, j->rank);
    for (int d = 0; d < j->rank; d++) empty = empty || j->dims[d] == 0;
    if (!j->from && !empty) WRONG(j, none, NULL, "the memory for '%s' is NULL", j->name);
    const gcut_slot *x = gcut_slot_get(j->s, j->name);
    if (j->dtype == GCUT_NO_DTYPE || j->dtype == x->type.dtype) return x;
    if (j->dtype < 0 || j->dtype >= GCUT_NDTYPES)
        WRONG(j, none, NULL, "the memory for '%s': %d is no dtype", j->name, (int)j->dtype);
    WRONG(j, x->place, "give a pointer to elements of the declared dtype, or a void * to bytes of it",
          "'%s' is %s, but the pointer to its memory is to %s", j->name,
          gcut_type_text(j->s->p->arena, j->s->p->module, &x->type), gcut_dtype_name(j->dtype));
}

/* Every backend accesses bound memory in place, so it must be aligned. */
static void do_bind(void *arg)
{
    job *j = arg;
    const gcut_slot *x = check_memory(j);
    unsigned size = (unsigned)gcut_dtype_bytes(x->type.dtype), off = (unsigned)((uintptr_t)j->at % size);
    if (off)
        WRONG(j, x->place, "gcut_set copies from any address",
              "the memory for '%s' %s begins %u byte%s after a multiple of %u", j->name,
              gcut_type_text(j->s->p->arena, j->s->p->module, &x->type), off, off == 1 ? "" : "s", size);
    gcut_step_bind(j->s, j->name, j->at, j->rank, j->dims);
}

static void do_bind_input(void *arg)
{
    const job *j = arg;
    const gcut_slot *x = gcut_slot_get(j->s, j->name);
    if (x->updated || x->role == GCUT_ROLE_out || x->role == GCUT_ROLE_grad)
        WRONG(j, x->place, "use gcut_bind with memory that may be written, or gcut_set",
              "the step writes to '%s': it cannot be bound as an input", j->name);
    do_bind(arg);
}

static void do_set(void *arg)
{
    const job *j = arg;
    check_memory(j);
    gcut_step_set(j->s, j->name, j->from, j->rank, j->dims);
}

static gcut_status give(const char *call, void (*body)(void *), gcut_step *step, const char *name,
                        gcut_dtype dtype, const void *at, int rank, const int64_t *dims)
{
    if (step && !name) return gcut_refuse_null(step->env, call, "name");
    return run(call, body,
               &(job){.s = step,
                      .name = name,
                      .dtype = dtype,
                      .at = (void *)(uintptr_t)at,
                      .from = at,
                      .rank = rank,
                      .dims = dims});
}

gcut_status gcut_bind_as(gcut_step *step, const char *name, gcut_dtype dtype, void *at, int rank,
                         const int64_t *dims)
{
    return give(__func__, do_bind, step, name, dtype, at, rank, dims);
}

gcut_status gcut_bind_n(gcut_step *step, const char *name, void *at, int rank, const int64_t *dims)
{
    return give(__func__, do_bind, step, name, GCUT_NO_DTYPE, at, rank, dims);
}

gcut_status gcut_bind_input_as(gcut_step *step, const char *name, gcut_dtype dtype, const void *at, int rank,
                               const int64_t *dims)
{
    return give(__func__, do_bind_input, step, name, dtype, at, rank, dims);
}

gcut_status gcut_bind_input_n(gcut_step *step, const char *name, const void *at, int rank,
                              const int64_t *dims)
{
    return give(__func__, do_bind_input, step, name, GCUT_NO_DTYPE, at, rank, dims);
}

gcut_status gcut_set_as(gcut_step *step, const char *name, gcut_dtype dtype, const void *from, int rank,
                        const int64_t *dims)
{
    return give(__func__, do_set, step, name, dtype, from, rank, dims);
}

gcut_status gcut_set_n(gcut_step *step, const char *name, const void *from, int rank, const int64_t *dims)
{
    return give(__func__, do_set, step, name, GCUT_NO_DTYPE, from, rank, dims);
}

static void do_fill(void *arg)
{
    job *j = arg;
    gcut_slot *x = gcut_slot_get(j->s, j->name);
    if (x->bound)
        WRONG(j, x->place, "write to the memory that it is bound to, or call gcut_set",
              "'%s' is bound: the step has no memory of its own for it", j->name);
    gcut_step_prepare(j->s);
    x->filled = true;
    j->at = x->at;
}

void *gcut_fill(gcut_step *step, const char *name)
{
    GCUT_NEED(NULL, step, NULL);
    GCUT_NEED(step->env, name, NULL);
    job j = {.s = step, .name = name};
    return run(__func__, do_fill, &j) == GCUT_OK ? j.at : NULL;
}

static void do_feed(void *arg)
{
    const job *j = arg;
    for (size_t i = 0; i < j->n; i++) {
        const gcut_feed *f = &j->feed[i];
        if (!f->name || !f->npy)
            WRONG(j, (gcut_place){0}, NULL, "feed[%zu].%s is NULL", i, f->name ? "npy" : "name");
        gcut_step_bind_npy(j->s, f->name, f->npy);
    }
}

gcut_status gcut_step_feed(gcut_step *step, const gcut_feed *feed, size_t n)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    if (n) GCUT_NEED(step->env, feed, GCUT_EUSAGE);
    return run(__func__, do_feed, &(job){.s = step, .feed = feed, .n = n});
}

/* NULL unless the slot has memory of its present size: before gcut_prepare, and after that failed. */
static void *memory_of(const gcut_slot *x)
{
    return x->bound || x->held == x->bytes ? x->at : NULL;
}

size_t gcut_step_value_count(const gcut_step *step)
{
    return step ? step->nslots : 0;
}

static void make_infos(void *arg)
{
    gcut_step *s = arg;
    s->info = gcut_calloc(s->arena, s->nslots + 1, sizeof *s->info);
}

const gcut_value_info *gcut_step_value_at(gcut_step *step, size_t i)
{
    GCUT_NEED(NULL, step, NULL);
    if (i >= step->nslots || (!step->info && !gcut_guard(step->env, make_infos, step))) return NULL;
    const gcut_slot *x = &step->slot[i];
    gcut_value_info *out = &step->info[i];
    *out = (gcut_value_info){.name = x->name,
                             .role = gcut_role_name(x->role),
                             .dtype = x->type.dtype,
                             .rank = x->type.rank,
                             .bytes = x->bytes,
                             .at = memory_of(x),
                             .bound = x->bound,
                             .updated = x->updated};
    memcpy(out->dim, x->dim, sizeof out->dim);
    return out;
}

static void find(void *arg)
{
    job *j = arg;
    j->n = (size_t)(gcut_slot_get(j->s, j->name) - j->s->slot);
}

const gcut_value_info *gcut_step_value(gcut_step *step, const char *name)
{
    GCUT_NEED(NULL, step, NULL);
    GCUT_NEED(step->env, name, NULL);
    job j = {.s = step, .name = name};
    return run(__func__, find, &j) == GCUT_OK ? gcut_step_value_at(step, j.n) : NULL;
}

static void do_save(void *arg)
{
    job *j = arg;
    gcut_slot *x = gcut_slot_get(j->s, j->name);
    if (!memory_of(x))
        WRONG(j, (gcut_place){0}, "call gcut_prepare or gcut_run first", "'%s' has no memory yet", j->name);
    const gcut_tensor v = gcut_slot_tensor(x);
    gcut_npy_write(j->s->env, j->path, &v);
}

gcut_status gcut_step_value_save(gcut_step *step, const char *name, const char *npy)
{
    GCUT_NEED(NULL, step, GCUT_EUSAGE);
    GCUT_NEED(step->env, name, GCUT_EUSAGE);
    GCUT_NEED(step->env, npy, GCUT_EUSAGE);
    return run(__func__, do_save, &(job){.s = step, .name = name, .path = npy});
}

/* ---- running ---- */

static void do_prepare(void *arg)
{
    gcut_step_prepare(((job *)arg)->s);
}

gcut_status gcut_prepare(gcut_step *step)
{
    return run(__func__, do_prepare, &(job){.s = step});
}

static void do_run(void *arg)
{
    const job *j = arg;
    gcut_refuse_recording(j->s->env, "runs a step");
    gcut_step_prepare(j->s);
    gcut_step_check_inputs(j->s, j->which);
    gcut_step_run(j->s, j->which);
}

gcut_status gcut_run(gcut_step *step)
{
    return run(__func__, do_run, &(job){.s = step, .which = step ? gcut_step_calls(step) : 0});
}

gcut_status gcut_run_forward(gcut_step *step)
{
    return run(__func__, do_run, &(job){.s = step, .which = GCUT_RT_FORWARD});
}

static void do_run_backward(void *arg)
{
    const job *j = arg;
    const gcut_pipeline *p = j->s->p;
    if (!p->opt.apart)
        WRONG(j, gcut_loc_place(p->module, p->joint->loc),
              p->opt.forward_only ? "compile it without options.forward_only, with options.apart"
                                  : "compile it with options.apart, or call gcut_run",
              "the step of @%s has no backward call of its own", p->primal->name);
    do_run(arg);
}

gcut_status gcut_run_backward(gcut_step *step)
{
    return run(__func__, do_run_backward, &(job){.s = step, .which = GCUT_RT_BACKWARD});
}

static void do_bind_saved(void *arg)
{
    const job *j = arg;
    const unsigned off = (unsigned)((uintptr_t)j->at % 64);
    if (off)
        WRONG(j, (gcut_place){0}, "aligned_alloc(64, …) gives such memory",
              "the block of saved values begins %u bytes after a multiple of 64", off);
    if (!j->s->p->opt.apart)
        WRONG(j, (gcut_place){0}, "compile it with options.apart",
              "the step of @%s has no block of saved values", j->s->p->primal->name);
    j->s->saved_at = j->at;
    j->s->saved_room = j->n > INT64_MAX ? INT64_MAX : (int64_t)j->n;
}

gcut_status gcut_bind_saved(gcut_step *step, void *block, size_t bytes)
{
    return run(__func__, do_bind_saved, &(job){.s = step, .at = block, .n = block ? bytes : 0});
}

int64_t gcut_saved_bytes(gcut_step *step)
{
    GCUT_NEED(NULL, step, -1);
    return gcut_prepare(step) == GCUT_OK ? step->saved_bytes : -1;
}

/* ---- statistics ---- */

static void do_measure(void *arg)
{
    gcut_step_measure(((job *)arg)->s);
}

const gcut_stats *gcut_step_stats(gcut_step *step)
{
    return run(__func__, do_measure, &(job){.s = step}) == GCUT_OK ? &step->stats : NULL;
}
