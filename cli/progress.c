/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What takes long says how far it is, to a terminal.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

static bool show(void *user, const char *doing, size_t done, size_t total)
{
    (void)user;
    fprintf(stderr, "\r\033[K");
    if (done < total) fprintf(stderr, "%s %zu of %zu", doing, done + 1, total);
    fflush(stderr);
    return false;
}

void gcut_cli_progress_begin(gcut_ctx *ctx)
{
    if (!isatty(2)) return;
    gcut_cli_hooks.progress = show;
    gcut_ctx_set_hooks(ctx, &gcut_cli_hooks);
}

void gcut_cli_progress_end(void)
{
    if (isatty(2)) fprintf(stderr, "\r\033[K");
}
