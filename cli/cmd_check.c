/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands whose exit code says whether a check passed: crosscheck, gradcheck.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_whole_lines(const char *text)
{
    size_t n = strlen(text);
    fputs(text, stdout);
    if (n && text[n - 1] != '\n') fputc('\n', stdout);
}

/* r may be NULL, after an error of the library. */
static int answer(gcut_ctx *ctx, const gcut_cli *c, gcut_check_report *r)
{
    if (!r) return gcut_cli_failed(ctx);
    int code = r->ok ? EXIT_FINE : EXIT_CHECK;
    print_whole_lines(c->json ? r->json : r->text);
    gcut_free(r);
    return code;
}

int gcut_cmd_crosscheck(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    if (c->passes) return answer(ctx, c, g ? gcut_check_passes(g, &c->opt, c->feed, c->nfeed, c->tol) : NULL);
    return answer(ctx, c, g ? gcut_crosscheck(g, &c->opt, c->feed, c->nfeed, c->tol) : NULL);
}

int gcut_cmd_gradcheck(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    return answer(ctx, c, g ? gcut_gradcheck(g, &c->opt, c->feed, c->nfeed, c->tol) : NULL);
}
