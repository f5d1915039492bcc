/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page about a step: gcut_report_html.
 */
#include <string.h>

#include "driver/inspect/of_pipeline.h"
#include "driver/options/options.h"
#include "driver/pipeline/plan_info.h"
#include "gradcut/inspect.h"
#include "partition/plan_file/plan_file.h"
#include "report/page/page.h"
#include "report/report.h"

typedef struct reporting {
    gcut_graph *g;
    const gcut_options *given; /* of `size` bytes */
    size_t size, how_size;
    const gcut_report_options *how_given; /* of `how_size` bytes */
} reporting;

/* A profile is of this graph at these sizes. */
static void check_profile(gcut_env *env, const gcut_pipeline *p, const gcut_memory_profile *m,
                          const gcut_profile *of, gcut_arena *a)
{
    bool same = of->nsizes == m->nat;
    gcut_text sizes = {.arena = a}, theirs = sizes;
    if (strcmp(of->joint_hash, gcut_graph_hash(p->joint, a)) != 0)
        gcut_fail(env, GCUT_EPLAN, (gcut_place){0}, NULL,
                  "the profile is of another graph, @%s, or of a step with other options", of->graph);
    for (size_t i = 0; i < m->nat && same; i++)
        same = !strcmp(of->sizes[i].name, m->at[i].name) && of->sizes[i].value == m->at[i].value;
    if (same) return;
    gcut_write_sizes(m->at, m->nat, "", &sizes);
    gcut_write_sizes(of->sizes, of->nsizes, "", &theirs);
    gcut_fail(env, GCUT_EPLAN, (gcut_place){0}, NULL, "the profile is of other sizes, %s; the plan is for %s",
              theirs.at ? theirs.at : "none", sizes.at ? sizes.at : "none");
}

static void write_report(void *arg, gcut_text *out)
{
    const reporting *j = arg;
    gcut_env *env = j->g->module->env;
    gcut_arena *a = out->arena;
    gcut_report_options how;
    gcut_settings opt = gcut_settings_of(env, j->given, j->size);
    GCUT_COPY_KNOWN(env, gcut_report_options, j->how_given, j->how_size, &how);
    opt.forward_only = false;
    const gcut_pipeline *p = gcut_pipeline_planned(j->g, &opt, a);
    gcut_memory_profile memory = {0};
    gcut_fusion fusion = {0};
    gcut_lint_report lint = {0};
    gcut_text text = {.arena = a};
    gcut_memory_of(p, a, a, &memory);
    if (how.against) gcut_memory_add_against(j->g, &opt, how.against, a, a, &memory);
    gcut_fusion_of(p, a, a, &fusion);
    gcut_lint_of(p, a, a, &lint);
    if (how.profile) check_profile(env, p, &memory, how.profile, a);
    gcut_stage_text(p, GCUT_STAGE_PRIMAL, false, &text);
    gcut_write_page(&(gcut_page){.plan = gcut_plan_info_of(p->plan),
                                 .memory = &memory,
                                 .fusion = &fusion,
                                 .lint = &lint,
                                 .frontier = how.frontier,
                                 .profile = how.profile,
                                 .text = text.at,
                                 .version = gcut_version()},
                    out);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_report_options, frontier);
#endif

char *gcut_report_html_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                             const gcut_report_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    reporting j = {g, opt, size, how_size, how};
    return gcut_string_by(g->module->env, write_report, &j);
}
