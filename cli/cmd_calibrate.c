/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut calibrate`: measures the machine and writes its model.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"

static void show_progress(void *user, const char *what, double done)
{
    (void)user;
    fprintf(stderr, "\r%s %3.0f %% ", what, 100 * done);
}

int gcut_cmd_calibrate(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_calibrate_options opt = GCUT_CALIBRATE_DEFAULT;
    const char *text, *json;
    bool terminal = isatty(STDERR_FILENO);
    opt.threads = c->opt.threads;
    opt.path = c->output;
    if (c->seconds > 0) opt.seconds = c->seconds;
    if (terminal) opt.progress = show_progress;
    gcut_status s = gcut_calibrate(ctx, &opt, &text, &json);
    if (terminal) fputs("\r                    \r", stderr);
    if (s != GCUT_OK) return gcut_cli_failed(ctx);
    fputs(c->json ? json : text, stdout);
    return EXIT_FINE;
}
