/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut prof`: the measured time of each kernel, as a table, a trace and pictures.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "gradcut/inspect.h"

/* With the bytes alive, where there is a backward graph: memory is that of a training step. */
static int write_trace(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, const gcut_options *opt,
                       const gcut_profile *p)
{
    gcut_memory_profile *m = opt->forward_only ? NULL : gcut_memory_new(g, opt, NULL);
    if (!m && !opt->forward_only) return gcut_cli_failed(ctx);
    const int code = gcut_cli_write_made(ctx, c->output, gcut_profile_trace(ctx, p, m));
    gcut_free(m);
    return code;
}

/* Of the step, compiled and run here; NULL after an error of the library. */
static gcut_profile *measured(const gcut_cli *c, gcut_graph *g, const gcut_options *opt)
{
    gcut_step *step = gcut_compile(g, opt);
    if (!step || gcut_step_feed(step, c->feed, c->nfeed) != GCUT_OK) return NULL;
    return gcut_step_profile(step, (int)c->steps);
}

int gcut_cmd_prof(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_options opt = c->opt;
    const gcut_table_options table = gcut_cli_table(c);
    opt.profile = true;
    gcut_profile *p = c->times ? gcut_profile_of_times(g, &opt, c->times) : measured(c, g, &opt);
    if (!p) return gcut_cli_failed(ctx);
    int code = c->output ? write_trace(ctx, c, g, &opt, p) : EXIT_FINE;
    if (!code && c->svg) code = gcut_cli_write_made(ctx, c->svg, gcut_profile_svg(ctx, p));
    if (!code && c->flame) code = gcut_cli_write_made(ctx, c->flame, gcut_profile_flame(ctx, p));
    if (!code)
        code =
            gcut_cli_print_made(ctx, c->json ? gcut_profile_json(ctx, p) : gcut_profile_text(ctx, p, &table));
    gcut_free(p);
    return code;
}
