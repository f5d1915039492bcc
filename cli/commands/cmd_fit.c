/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut fit`: prints the largest size that fits a budget, and writes its plan to a file.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "gradcut/fit.h"

/* N or N=4096, which it splits in place; false after an error message. */
static bool read_most(char *most, gcut_fit_options *how)
{
    char *eq = strchr(most, '='), *end;
    how->symbol = most;
    if (!eq && *most) return true;
    if (eq && eq > most) {
        errno = 0;
        how->most = strtoll(eq + 1, &end, 10);
        *eq = 0;
        if (end != eq + 1 && !*end && !errno && how->most > 0) return true;
        *eq = '=';
    }
    gcut_cli_complain(
        "--max: expected a symbol and, if you like, its largest size, as in --max N or --max N=4096, "
        "not '%s'",
        most);
    return false;
}

static int search(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, const gcut_fit_options *how)
{
    gcut_fitted *f = gcut_fit(g, &c->opt, how);
    if (!f) return gcut_cli_failed(ctx);
    int code = c->output ? gcut_cli_write(ctx, c->output, f->largest->plan) : EXIT_FINE;
    if (!code) return gcut_cli_print(c, f, f->text, f->json, EXIT_FINE);
    gcut_free(f);
    return code;
}

int gcut_cmd_fit(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_fit_options how = {0};
    char *most = c->most ? strdup(c->most) : NULL;
    if (c->most && !most) {
        gcut_cli_complain("out of memory");
        return EXIT_INPUT;
    }
    const int code = most && !read_most(most, &how) ? EXIT_USAGE : search(ctx, c, g, &how);
    free(most);
    return code;
}
