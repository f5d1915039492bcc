/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut frontier`: prints the table, writes the picture to a file, shows progress on a terminal.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "gradcut/inspect.h"

/* Writes NAME.txt, NAME.csv, NAME.json and NAME.svg. */
static int write_forms(gcut_ctx *ctx, const char *name, const gcut_frontier *f)
{
    const char *const suffix[] = {".txt", ".csv", ".json", ".svg"};
    const char *const text[] = {f->text, f->csv, f->json, f->svg};
    int code = EXIT_FINE;
    for (int i = 0; i < 4 && !code; i++) {
        char *path = gcut_cli_join(name, suffix[i], "");
        code = path ? gcut_cli_write(ctx, path, text[i]) : EXIT_INPUT;
        free(path);
    }
    return code;
}

static int print(gcut_ctx *ctx, const gcut_cli *c, const gcut_frontier *f)
{
    int code = c->svg ? gcut_cli_write(ctx, c->svg, f->svg) : EXIT_FINE;
    if (!code && c->samples) code = gcut_cli_write(ctx, c->samples, f->samples);
    if (!code && c->output) code = write_forms(ctx, c->output, f);
    if (code) return code;
    const gcut_table_options table = gcut_cli_table(c);
    if (!c->json && !c->csv) return gcut_cli_print_made(ctx, gcut_frontier_text(ctx, f, &table));
    fputs(c->json ? f->json : f->csv, stdout);
    return EXIT_FINE;
}

int gcut_cmd_frontier(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_frontier_options how = {.points = (int)c->points,
                                 .rounds = !c->measure ? 0
                                           : c->rounds ? (int)c->rounds
                                                       : 11,
                                 .feed = c->feed,
                                 .nfeed = c->nfeed};
    gcut_frontier *f = gcut_frontier_new(g, &c->opt, &how);
    int code = f ? print(ctx, c, f) : gcut_cli_failed(ctx);
    gcut_free(f);
    return code;
}
