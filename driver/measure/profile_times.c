/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Profiles of steps that ran elsewhere, compiled ahead of time: their times (gcut_rt_write_times) with what the program of
 * the same graph and options says of each launch.
 */
#include <math.h>

#include "base/json_read.h"
#include "driver/measure/profile.h"
#include "driver/pipeline/compile.h"
#include "gradcut/inspect.h"

enum { MOST_BYTES = 64 << 20 };
#define MOST_NS 1e17      /* of all steps */
#define MOST_STEP_NS 1e12 /* of a launch in one: what profile files may have */

typedef struct reading {
    gcut_graph *g;
    const gcut_options *given; /* of `size` bytes */
    size_t size;
    const char *path;
} reading;

static double number_at(const gcut_jnode *pair, uint32_t i)
{
    const gcut_jnode *v = gcut_jat(pair, i);
    const int64_t x = gcut_jint(v);
    if (x < 0 || (double)x > MOST_NS) gcut_jfail(v, NULL, "expected an integer from 0 to %g", MOST_NS);
    return (double)x;
}

/* The time of a launch in one step.  It ran as often as it does here, or the times are of another step; arms of a branch
 * run or do not. */
static const gcut_kernel_time *kernel_of(const gcut_costs *c, uint32_t i, const gcut_jnode *list,
                                         double steps, int nthreads, gcut_arena *keep)
{
    const gcut_cost *x = &c->at[i];
    const gcut_jnode *pair =
        (uint32_t)x->launch < gcut_jcount(list) ? gcut_jat(list, (uint32_t)x->launch) : NULL;
    if (!pair)
        gcut_jfail(list, "give the options that the step was emitted with", "there is no launch k%d",
                   x->launch);
    const uint32_t threads = gcut_jcount(pair) - 2;
    if (gcut_jcount(pair) != 2 && threads != (uint32_t)nthreads)
        gcut_jfail(pair, NULL, "expected [runs, ns] or, after these, ns of %d threads", nthreads);
    const double runs = number_at(pair, 0) / steps, ns = number_at(pair, 1) / steps;
    if (ns > MOST_STEP_NS) gcut_jfail(pair, NULL, "expected at most %g ns in a step", MOST_STEP_NS);
    const bool branch = x->times != floor(x->times);
    if (!branch && runs != x->times)
        gcut_jfail(pair, "give the options that the step was emitted with",
                   "k%d ran %g times in a step; that of these options, %%%s, runs %g times", x->launch, runs,
                   x->value ? x->value : "", x->times);
    double *share = threads ? gcut_calloc(keep, threads, sizeof *share) : NULL;
    for (uint32_t t = 0; t < threads && ns > 0; t++) share[t] = fmin(1, number_at(pair, t + 2) / steps / ns);
    return gcut_profile_kernel(keep, x, (const double[]){ns, ns, ns, ns}, share, nthreads);
}

static void read_times(void *arg, const gcut_made *m)
{
    const reading *j = arg;
    gcut_env *env = j->g->module->env;
    const gcut_settings opt = gcut_settings_of(env, j->given, j->size);
    const gcut_pipeline *p = gcut_pipeline_new(j->g, &opt, GCUT_STAGE_KERNEL, m->scratch);
    const gcut_costs c = gcut_program_costs(p->program, p->machine, p->at, p->nat, p->threads, m->scratch);
    const gcut_jnode *root = gcut_json_read(m->scratch, j->path, MOST_BYTES),
                     *steps = gcut_jneed(root, "steps"), *list = gcut_jneed(root, "launches");
    gcut_profile *out = m->object;
    if (gcut_jint(steps) < 1 || gcut_jint(steps) > INT32_MAX)
        gcut_jfail(steps, NULL, "expected an integer from 1 to %d", INT32_MAX);
    *out = (gcut_profile){.predicted_ns = c.ns,
                          .flops = c.flops,
                          .bytes = c.read + c.written,
                          .threads = p->threads,
                          .steps = (int)gcut_jint(steps),
                          .n = c.n,
                          .median_lo_ns = NAN,
                          .median_hi_ns = NAN,
                          .samples = "",
                          .means = true,
                          .line_ratio = NAN};
    gcut_profile_origin(p, p->at, p->nat, p->threads, m->keep, m->scratch, out);
    GCUT_LIST(m->keep, out->at, out->n, kernel_of(&c, i, list, out->steps, out->threads, m->keep));
    out->sample = gcut_calloc(m->keep, 1, sizeof(*out->sample));
    for (size_t i = 0; i < out->n; i++) out->median_ns += out->at[i]->measured_ns;
    if (!(out->median_ns > 0)) gcut_jfail(list, NULL, "no launch took any time");
    out->best_ns = out->p90_ns = out->median_ns;
}

gcut_profile *gcut_profile_of_times_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                          const char *path)
{
    GCUT_NEED(NULL, g, NULL);
    GCUT_NEED(g->module->env, path, NULL);
    reading j = {g, opt, size, path};
    return gcut_made_by(g->module->env, sizeof(gcut_profile), read_times, &j);
}
