/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands whose exit code says whether a check passed: crosscheck, gradcheck, certify.
 */
#include "cli/cli.h"

/* r may be NULL, after an error of the library. */
static int answer(gcut_ctx *ctx, const gcut_cli *c, gcut_check_report *r)
{
    return r ? gcut_cli_print(c, r, r->text, r->json, r->ok ? EXIT_FINE : EXIT_CHECK) : gcut_cli_failed(ctx);
}

int gcut_cmd_crosscheck(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    if (c->passes) return answer(ctx, c, gcut_check_passes(g, &c->opt, c->feed, c->nfeed, c->tol));
    return answer(ctx, c, gcut_crosscheck(g, &c->opt, c->feed, c->nfeed, c->tol));
}

int gcut_cmd_gradcheck(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    return answer(ctx, c, gcut_gradcheck(g, &c->opt, c->feed, c->nfeed, c->tol));
}

int gcut_cmd_certify(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    return answer(ctx, c, gcut_certify(g, &c->opt));
}
