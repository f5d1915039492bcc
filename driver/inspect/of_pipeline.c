/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Structures made from a pipeline of the caller's graph.
 */
#include "driver/inspect/of_pipeline.h"

#include "driver/options/options.h"
#include "partition/policies/policy.h"

typedef struct asked_graph {
    gcut_graph *g;
    const gcut_options *given; /* of `size` bytes */
    size_t size;
    gcut_fill_of_pipeline *fill;
} asked_graph;

static void make(void *arg, const gcut_made *m)
{
    const asked_graph *j = arg;
    const gcut_settings opt = gcut_settings_of(j->g->module->env, j->given, j->size);
    j->fill(gcut_pipeline_new(j->g, &opt, GCUT_STAGE_KERNEL, m->scratch), m);
}

void *gcut_made_of_graph(gcut_graph *g, const gcut_options *given, size_t size, size_t object,
                         gcut_fill_of_pipeline *fill)
{
    asked_graph j = {g, given, size, fill};
    return gcut_made_by(g->module->env, object, make, &j);
}

const char *gcut_policy_of(const gcut_pipeline *p, gcut_arena *keep)
{
    return p->plan    ? gcut_policy_text(keep, &p->plan->options)
           : p->given ? "as the pair has it"
                      : "forward alone";
}
