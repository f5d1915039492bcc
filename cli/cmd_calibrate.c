/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut calibrate`: measures the machine and writes its model.
 */
#include "cli/cli.h"

int gcut_cmd_calibrate(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    (void)g;
    gcut_calibrate_options opt = {
        .threads = c->opt.threads, .path = c->output, .seconds = c->seconds, .force = c->force};
    gcut_machine_report *r = gcut_calibrate(ctx, &opt);
    return r ? gcut_cli_print(c, r, r->text, r->json, EXIT_FINE) : gcut_cli_failed(ctx);
}
