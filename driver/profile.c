/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps with a clock: what each kernel takes, beside what was predicted.
 */
#include "driver/quantile.h"
#include "driver/step.h"

#define WARM_UP 2 /* steps before any is timed: the first one touches its memory for the first time */

typedef struct job {
    gcut_step *s;
    int steps;
    gcut_profile *out;
} job;

static void run(gcut_step *s)
{
    gcut_step_run(s, s->p->bwd ? GCUT_RT_STEP : GCUT_RT_FORWARD);
}

/* ns[k * launches + i]: launch i in step k. */
static void run_timed(job *j, gcut_arena *a, int launches, int64_t *ns)
{
    gcut_rt_profile *prof = gcut_calloc(a, 1, sizeof *prof);
    prof->runs = gcut_calloc(a, (size_t)launches, sizeof *prof->runs);
    ((gcut_rt_plan *)j->s->plan)->profile = prof;
    for (int k = 0; k < j->steps; k++) {
        prof->ns = ns + (size_t)k * (size_t)launches;
        run(j->s);
    }
}

static gcut_kernel_time kernel_of(const gcut_step *s, const gcut_cost *c)
{
    const char *where = "";
    if (c->place.file) where = gcut_printf(s->memory, "%s:%d", c->place.file, c->place.line);
    return (gcut_kernel_time){.class = c->class,
                              .value = c->value,
                              .op = c->op,
                              .where = where,
                              .backward = c->half != 0,
                              .launch = c->launch,
                              .runs = c->times,
                              .predicted_ns = c->ns,
                              .flops = c->flops,
                              .bytes = c->read + c->written};
}

static void profile(void *arg)
{
    job *j = arg;
    gcut_step *s = j->s;
    if (!s->entry || !s->p->opt.profile)
        gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, "set options.profile of a compiled step",
                  "this step cannot time its kernels");
    if (j->steps < 1) gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "there is no step to measure");
    gcut_step_prepare(s);
    gcut_arena *a = gcut_arena_new(s->env, s->arena);
    gcut_costs c = gcut_pipeline_costs(s->p, s->size, s->nsizes, s->threads, a);
    int launches = c.n ? c.at[c.n - 1].launch + 1 : 1;
    size_t steps = (size_t)j->steps;
    double *ns = gcut_calloc(a, steps, sizeof *ns);
    int64_t *each = gcut_calloc(a, steps * (size_t)launches, sizeof *each);
    for (int k = 0; k < WARM_UP; k++) run(s);
    for (size_t k = 0; k < steps; k++) {
        run(s);
        ns[k] = (double)s->step_ns;
    }
    gcut_sort_reals(ns, steps);
    run_timed(j, a, launches, each);
    gcut_kernel_time *at = gcut_calloc(s->memory, c.n + 1, sizeof *at);
    *j->out = (gcut_profile){.predicted_ns = c.ns,
                             .best_ns = ns[0],
                             .median_ns = gcut_quantile(ns, steps, 0.5),
                             .p90_ns = gcut_quantile(ns, steps, 0.9),
                             .flops = c.flops,
                             .bytes = c.read + c.written,
                             .threads = s->threads,
                             .steps = j->steps,
                             .n = c.n,
                             .at = at};
    gcut_pipeline_limits(s->p, s->threads, &j->out->peak_flops, &j->out->peak_bytes);
    for (uint32_t i = 0; i < c.n; i++) {
        at[i] = kernel_of(s, &c.at[i]);
        for (size_t k = 0; k < steps; k++)
            ns[k] = (double)each[k * (size_t)launches + (size_t)c.at[i].launch];
        gcut_sort_reals(ns, steps);
        at[i].measured_ns = gcut_quantile(ns, steps, 0.5);
    }
    gcut_arena_free(a);
}

gcut_status gcut_step_profile(gcut_step *s, int steps, gcut_profile *out)
{
    *out = (gcut_profile){0};
    gcut_status st = gcut_protect(s->env, profile, &(job){s, steps, out});
    if (s->plan) ((gcut_rt_plan *)s->plan)->profile = NULL; /* on every way out */
    return st;
}
