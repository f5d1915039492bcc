/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Profiles of steps: the measured and the predicted time of each kernel.
 */
#include <math.h>
#include <string.h>

#include "driver/measure/bootstrap.h"
#include "driver/measure/host.h"
#include "driver/measure/profile.h"
#include "driver/measure/quantile.h"
#include "driver/options/default_sizes.h"
#include "driver/load/step.h"
#include "report/report.h"

#define WARM_UP 4 /* untimed steps; the first one touches its memory */

/* The default number of timed steps is LONG_NS over the time of the shortest warm-up step, within these limits. */
enum { LEAST_STEPS = 20, MOST_STEPS = 5000 };
#define LONG_NS 1e9

const gcut_kernel_time *gcut_profile_kernel(gcut_arena *keep, const gcut_cost *c, const double ns[4],
                                            const double *share, int threads)
{
    double *busy = share ? gcut_calloc(keep, (size_t)threads, sizeof *busy) : NULL;
    for (int t = 0; share && t < threads; t++) busy[t] = share[t] * ns[2];
    const char *where = "";
    if (c->place.file && c->place.line) where = gcut_printf(keep, "%s:%d", c->place.file, c->place.line);
    return GCUT_NEW(keep, gcut_kernel_time, .family = c->class,
                    .value = c->value ? gcut_keep(keep, c->value) : "", .op = c->op, .where = where,
                    .backward = c->graph != 0, .launch = c->launch, .runs = c->times, .predicted_ns = c->ns,
                    .measured_ns = ns[2], .least_ns = ns[0], .lower_ns = ns[1], .upper_ns = ns[3],
                    .flops = c->flops, .bytes = c->read + c->written, .busy_ns = busy);
}

void gcut_profile_origin(const gcut_pipeline *p, const gcut_dim_binding *size, uint32_t nsizes, int threads,
                         gcut_arena *keep, gcut_arena *scratch, gcut_profile *out)
{
    const gcut_machine m = gcut_machine_at(p->machine, threads);
    const double n = 2048; /* m, n and k of a large product */
    /* Flops per second of large products and bytes per second of memory. */
    out->peak_flops_per_second = 1e9 * 2 * n * n * n / gcut_machine_gemm_ns(&m, n, n, n);
    out->priced_threads = (int)m.threads;
    out->peak_bytes_per_second = 1e9 / m.read_ns_per_byte[GCUT_DRAM];
    out->graph = gcut_keep(keep, p->primal->name);
    out->joint_hash = gcut_keep(keep, gcut_graph_hash(p->joint, scratch));
    out->machine = gcut_keep(keep, p->machine->made);
    out->sizes = gcut_sizes_named(keep, p->module, size, nsizes);
    out->nsizes = nsizes;
}

typedef struct job {
    gcut_step *s;
    int steps;
} job;

static void run(gcut_step *s)
{
    gcut_step_run(s, gcut_step_calls(s));
}

/* By launch and thread, of the time of the launch: the share in which the thread computed.  Measured in steps of their
 * own, since the clock in each part of a kernel takes time. */
static double *run_threads(job *j, gcut_arena *a, int launches)
{
    enum { STEPS = 100 };
    const size_t n = (size_t)launches, threads = (size_t)j->s->threads;
    gcut_rt_profile *prof = gcut_calloc(a, 1, sizeof *prof);
    prof->runs = gcut_calloc(a, n, sizeof *prof->runs);
    prof->ns = gcut_calloc(a, n, sizeof *prof->ns);
    prof->busy_ns = gcut_calloc(a, n * threads, sizeof *prof->busy_ns);
    prof->threads = j->s->threads;
    ((gcut_rt_plan *)j->s->plan)->profile = prof;
    for (int k = 0; k < j->steps && k < STEPS; k++) run(j->s);
    double *share = gcut_calloc(a, n * threads, sizeof *share);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < threads && prof->ns[i] > 0; t++)
            share[i * threads + t] =
                fmin(1, fmax(0, (double)prof->busy_ns[i * threads + t] / (double)prof->ns[i]));
    return share;
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

/* The least and the quartiles over the steps of the time of a launch, in q[0..3]; ns: scratch for one number a step. */
static const double *least_and_quartiles(const job *j, const int64_t *each, int launches, int launch,
                                         double *ns, double q[4])
{
    for (int k = 0; k < j->steps; k++) ns[k] = (double)each[(size_t)k * (size_t)launches + (size_t)launch];
    gcut_sort_reals(ns, (size_t)j->steps);
    for (int k = 0; k < 4; k++) q[k] = gcut_quantile(ns, (size_t)j->steps, k / 4.0);
    return q;
}

/* gcut_profile.line_ratio; line_ns: the round trip now. */
static double line_ratio(const gcut_step *s, double line_ns)
{
    const gcut_machine m = gcut_machine_at(s->p->machine, s->threads);
    const bool known = m.line_ns > 0 && (int)m.threads == s->threads && line_ns > 0 && isfinite(line_ns);
    return known ? line_ns / m.line_ns : NAN;
}

static void profile(void *arg, const gcut_made *m)
{
    job *j = arg;
    gcut_step *s = j->s;
    if (!s->entry || !s->p->opt.profile)
        gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, "set options.profile of a compiled step",
                  "this step cannot time its kernels");
    if (j->steps < 0)
        gcut_fail(s->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "gcut_step_profile: %d runs cannot be measured",
                  j->steps);
    gcut_step_prepare(s);
    gcut_step_check_inputs(s, GCUT_RT_STEP);
    gcut_profile *out = m->object;
    gcut_arena *keep = m->keep, *a = m->scratch;
    gcut_costs c = gcut_program_costs(s->p->program, s->p->machine, s->size, s->nsizes, s->threads, a);
    int launches = c.n ? c.at[c.n - 1].launch + 1 : 1;
    double least = INFINITY;
    for (int k = 0; k < WARM_UP; k++) run(s), least = fmin(least, (double)s->step_ns + 1);
    if (!j->steps) j->steps = (int)fmin(fmax(LONG_NS / least, LEAST_STEPS), MOST_STEPS);
    const double line_ns = gcut_host_line_ns(s->threads);
    size_t steps = (size_t)j->steps;
    double *ns = gcut_calloc(a, steps, sizeof *ns);
    int64_t *each = gcut_calloc(a, steps * (size_t)launches, sizeof *each);
    for (size_t k = 0; k < steps; k++) {
        run(s);
        ns[k] = (double)s->step_ns;
    }
    const gcut_round_times times = {1, steps, ns};
    const gcut_bootstrap b = gcut_bootstrap_of(&times, s->p->opt.seed, a);
    const gcut_interval median = gcut_bootstrap_median(&b, 0);
    gcut_sample *sample = gcut_calloc(keep, steps, sizeof *sample);
    gcut_text samples = {.arena = keep};
    for (size_t k = 0; k < steps; k++) sample[k] = (gcut_sample){(int)k, 0, 0, "step", ns[k]};
    gcut_sort_reals(ns, steps);
    run_timed(j, a, launches, each);
    const double *share = run_threads(j, a, launches);
    *out = (gcut_profile){.predicted_ns = c.ns,
                          .best_ns = ns[0],
                          .median_ns = median.at,
                          .p90_ns = gcut_quantile(ns, steps, 0.9),
                          .flops = c.flops,
                          .bytes = c.read + c.written,
                          .threads = s->threads,
                          .steps = j->steps,
                          .n = c.n,
                          .median_lo_ns = median.lo,
                          .median_hi_ns = median.hi,
                          .nsamples = steps,
                          .line_ratio = line_ratio(s, fmax(line_ns, gcut_host_line_ns(s->threads)))};
    gcut_profile_origin(s->p, s->size, s->nsizes, s->threads, keep, a, out);
    GCUT_LIST(keep, out->sample, steps, &sample[i]);
    gcut_write_samples_csv(out->sample, steps, &samples);
    out->samples = samples.at;
    GCUT_LIST(keep, out->at, c.n,
              gcut_profile_kernel(keep, &c.at[i],
                                  least_and_quartiles(j, each, launches, c.at[i].launch, ns, (double[4]){0}),
                                  share + c.at[i].launch * s->threads, s->threads));
}

gcut_profile *gcut_step_profile(gcut_step *step, int steps)
{
    GCUT_NEED(NULL, step, NULL);
    job j = {.s = step, .steps = steps};
    gcut_profile *out = gcut_made_by(step->env, sizeof *out, profile, &j);
    if (step->plan) ((gcut_rt_plan *)step->plan)->profile = NULL; /* also after a failure */
    return out;
}
