/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut calibrate`: measures the machine and writes its model.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

static bool progress(void *user, const char *what, size_t done, size_t total)
{
    (void)user;
    fprintf(stderr, "\r%s %3zu %% ", what, total ? 100 * done / total : 0);
    return false;
}

int gcut_cmd_calibrate(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    (void)g;
    gcut_calibrate_options opt = {
        .threads = c->opt.threads, .path = c->output, .seconds = c->seconds, .force = c->force};
    bool terminal = isatty(STDERR_FILENO);
    if (terminal) gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = progress});
    gcut_machine_report *r = gcut_calibrate(ctx, &opt);
    if (terminal) fputs("\r                    \r", stderr);
    return r ? gcut_cli_print(c, r, r->text, r->json, EXIT_FINE) : gcut_cli_failed(ctx);
}
