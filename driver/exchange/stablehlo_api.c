/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public API of graphs as StableHLO.
 */
#include "driver/ctx.h"
#include "driver/pipeline/compile.h"
#include "driver/options/options.h"
#include "gradcut/train.h"
#include "passes/passes.h"
#include "text/stablehlo/stablehlo.h"

typedef struct job {
    gcut_graph *g;
    const gcut_options *given; /* the caller's, of `size` bytes */
    size_t size;
    gcut_stage_name stage;
} job;

/* Each pass makes a graph of its own. */
static const gcut_graph *prepared(gcut_graph *g)
{
    gcut_module *m = g->module;
    g = gcut_pass_expand(g, gcut_module_unused(m, g->name, "expand"), gcut_stablehlo_expands);
    return gcut_pass_dce(g, gcut_module_unused(m, g->name, "dce"));
}

static void write(void *arg, gcut_text *out)
{
    static const char *const names[2] = {"fwd", "bwd"};
    const job *j = arg;
    gcut_env *env = j->g->module->env;
    const gcut_settings opt = gcut_settings_of(env, j->given, j->size);
    gcut_graph *graph[2];
    gcut_stablehlo_func f[2];
    if (j->stage > GCUT_STAGE_SPLIT)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "StableHLO is written of the stages primal, joint and split");
    const gcut_pipeline *p = gcut_pipeline_new(j->g, &opt, j->stage, out->arena);
    const uint32_t n = gcut_stage_graphs(p, j->stage, graph);
    for (uint32_t i = 0; i < n; i++)
        f[i] = (gcut_stablehlo_func){n == 1 ? "main" : names[i], prepared(graph[i])};
    gcut_stablehlo_print(j->g->name, f, n, p->at, p->nat, out);
}

char *gcut_stablehlo_sized(size_t size, gcut_graph *g, const gcut_options *opt, gcut_stage_name stage)
{
    GCUT_NEED(NULL, g, NULL);
    return gcut_string_by(g->module->env, write, &(job){g, opt, size, stage});
}
