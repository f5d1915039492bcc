/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps as the public API shows them: every call under protection.
 */
#include <string.h>

#include "driver/step.h"
#include "import/npy.h"

typedef struct job {
    gcut_graph *g;
    gcut_step *s;
    const gcut_options *opt;
    const char *name, *path;
    void *at;
    int rank, which;
    const int64_t *dims;
    const gcut_feed *feed;
    size_t n;
} job;

static void do_make(void *arg)
{
    job *j = arg;
    j->s = gcut_step_open(j->g, j->opt);
}

gcut_step *gcut_compile(gcut_graph *g, const gcut_options *opt)
{
    job j = {.g = g, .opt = opt};
    return g && gcut_guard(g->module->env, do_make, &j) ? j.s : NULL;
}

void gcut_step_free(gcut_step *s)
{
    if (s) gcut_arena_free(s->arena);
}

typedef struct plan_job {
    gcut_step *s;
    const gcut_plan *plan;
} plan_job;

static void do_plan(void *arg)
{
    plan_job *j = arg;
    j->plan = gcut_step_planned(j->s);
}

/* To whoever has it the step stays as it is: what is added answers questions. */
const gcut_plan *gcut_step_plan(const gcut_step *s)
{
    plan_job j = {.s = (gcut_step *)(uintptr_t)s};
    return gcut_guard(s->env, do_plan, &j) ? j.plan : NULL;
}

static void do_bind(void *arg)
{
    job *j = arg;
    gcut_step_bind(j->s, j->name, j->at, j->rank, j->dims);
}

gcut_status gcut_bind_n(gcut_step *s, const char *name, void *at, int rank, const int64_t *dims)
{
    return gcut_protect(s->env, do_bind, &(job){.s = s, .name = name, .at = at, .rank = rank, .dims = dims});
}

static void do_feed(void *arg)
{
    job *j = arg;
    for (size_t i = 0; i < j->n; i++) gcut_step_bind_npy(j->s, j->feed[i].name, j->feed[i].npy);
}

gcut_status gcut_step_feed(gcut_step *s, const gcut_feed *feed, size_t n)
{
    return gcut_protect(s->env, do_feed, &(job){.s = s, .feed = feed, .n = n});
}

static void do_prepare(void *arg)
{
    gcut_step_prepare(((job *)arg)->s);
}
gcut_status gcut_prepare(gcut_step *s)
{
    return gcut_protect(s->env, do_prepare, &(job){.s = s});
}

static void do_run(void *arg)
{
    gcut_step_run(((job *)arg)->s, ((job *)arg)->which);
}

gcut_status gcut_run(gcut_step *s)
{
    return gcut_protect(s->env, do_run,
                        &(job){.s = s, .which = s->p->opt.forward_only ? GCUT_RT_FORWARD : GCUT_RT_STEP});
}

gcut_status gcut_run_forward(gcut_step *s)
{
    return gcut_protect(s->env, do_run, &(job){.s = s, .which = GCUT_RT_FORWARD});
}

size_t gcut_step_value_count(const gcut_step *s)
{
    return s->nslots;
}

gcut_value_info gcut_step_value_at(const gcut_step *s, size_t i)
{
    const gcut_slot *x = &s->slot[i];
    gcut_value_info out = {.name = x->name,
                           .role = gcut_role_name(x->role),
                           .dtype = (int)x->type.dtype,
                           .rank = x->type.rank,
                           .bytes = x->bytes,
                           .at = x->at,
                           .bound = x->bound,
                           .updated = x->updated};
    memcpy(out.dim, x->dim, sizeof out.dim);
    return out;
}

bool gcut_step_value(const gcut_step *s, const char *name, gcut_value_info *out)
{
    for (uint32_t i = 0; i < s->nslots; i++)
        if (!strcmp(s->slot[i].name, name)) {
            *out = gcut_step_value_at(s, i);
            return true;
        }
    return false;
}

static void do_save(void *arg)
{
    job *j = arg;
    gcut_slot *x = gcut_slot_find(j->s, j->name);
    if (!x || !x->at)
        gcut_fail(j->s->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "there is no value '%s' to save", j->name);
    gcut_npy v = {.dtype = x->type.dtype,
                  .rank = x->type.rank,
                  .n = x->bytes / gcut_dtype_bytes(x->type.dtype),
                  .data = x->at};
    memcpy(v.dim, x->dim, sizeof v.dim);
    gcut_npy_write(j->s->env, j->path, &v);
}

gcut_status gcut_step_value_save(gcut_step *s, const char *name, const char *npy)
{
    return gcut_protect(s->env, do_save, &(job){.s = s, .name = name, .path = npy});
}

/* The arena was painted when it was made: what still shows paint at its end was never touched. */
static int64_t touched(const gcut_step *s)
{
    int64_t n = s->arena_bytes;
    while (n > 0) {
        bool clean = true;
        for (int64_t i = n - 64; i < n; i++)
            clean = clean && (unsigned char)s->kernel_arena[i] == GCUT_ARENA_PAINT;
        if (!clean) break;
        n -= 64;
    }
    return n;
}

gcut_stats gcut_step_stats(gcut_step *s)
{
    gcut_stats st = {.step_ns = s->step_ns,
                     .threads = s->threads,
                     .blis = s->entry ? gcut_rt_blis_name() : "none",
                     .gemm = s->entry ? gcut_rt_gemm_name() : "none"};
    for (uint32_t i = 0; i < s->nslots; i++) st.peak_bytes += s->slot[i].bytes;
    st.predicted_bytes = st.peak_bytes;
    if (!s->entry || !s->ready) return st;
    st.arena_bytes = s->arena_bytes;
    st.saved_bytes = ((const gcut_rt_plan *)s->plan)->saved_bytes;
    st.peak_bytes += touched(s);
    /* A step from the cache has the formulas of its emitted code alone. */
    st.predicted_bytes = s->p->program ? gcut_pipeline_peak(s->p, s->size, s->nsizes, s->threads)
                                       : st.predicted_bytes + st.arena_bytes;
    return st;
}
