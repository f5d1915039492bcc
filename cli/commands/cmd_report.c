/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut report`: one page about a plan.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "gradcut/inspect.h"

/* The frontier of the graph, at the sizes of a plan file where one is given; NULL after an error of the library. */
static gcut_frontier *frontier_of(gcut_graph *g, const gcut_cli *c)
{
    const gcut_frontier_options how = {.points = (int)c->points};
    if (!c->opt.plan) return gcut_frontier_new(g, &c->opt, &how);
    gcut_plan *plan = gcut_plan_new(g, &c->opt);
    gcut_options opt = c->opt;
    if (!plan) return NULL;
    opt.at = gcut_plan_look(plan)->at;
    opt.nat = gcut_plan_look(plan)->nat;
    gcut_frontier *f = gcut_frontier_new(g, &opt, &how);
    gcut_plan_free(plan);
    return f;
}

static int print(gcut_ctx *ctx, const gcut_cli *c, const char *html)
{
    if (!c->output && c->json)
        gcut_cli_json("{\"html\": $s}\n", html);
    else if (!c->output)
        fputs(html, stdout);
    if (!c->output) return EXIT_FINE;
    const int code = gcut_cli_write(ctx, c->output, html);
    if (!code && c->json) gcut_cli_json("{\"files\": [$s]}\n", c->output);
    if (!code && !c->json) puts(c->output);
    return code;
}

int gcut_cmd_report(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_report_options how = {.against = c->against};
    gcut_profile *profile = c->profile ? gcut_profile_read(ctx, c->profile) : NULL;
    if (c->profile && !profile) return gcut_cli_failed(ctx);
    gcut_frontier *frontier = c->no_frontier ? NULL : frontier_of(g, c);
    if (!c->no_frontier && !frontier) return gcut_cli_failed(ctx);
    how.profile = profile;
    how.frontier = frontier;
    char *html = gcut_report_html(g, &c->opt, &how);
    const int code = html ? print(ctx, c, html) : gcut_cli_failed(ctx);
    gcut_free(html);
    gcut_free(frontier);
    gcut_free(profile);
    return code;
}
