/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands whose exit code is the answer: ladder, gradcheck.
 */
#include <string.h>

#include "cli/cli.h"

typedef gcut_check_report check(gcut_graph *g, const gcut_options *opt, const gcut_feed *feed, size_t nfeed,
                                double tol);

static void print_whole_lines(const char *text)
{
    size_t n = strlen(text);
    fputs(text, stdout);
    if (n && text[n - 1] != '\n') fputc('\n', stdout);
}

static int answer(gcut_ctx *ctx, const gcut_cli *c, check *run)
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    if (!g) return gcut_cli_failed(ctx);
    gcut_check_report r = run(g, &c->opt, c->feed, c->nfeed, c->tol);
    if (!r.text) return gcut_cli_failed(ctx);
    print_whole_lines(c->json ? r.json : r.text);
    return r.ok ? EXIT_FINE : EXIT_CHECK;
}

int gcut_cmd_ladder(gcut_ctx *ctx, const gcut_cli *c)
{
    return answer(ctx, c, gcut_ladder);
}
int gcut_cmd_gradcheck(gcut_ctx *ctx, const gcut_cli *c)
{
    return answer(ctx, c, gcut_gradcheck);
}
