/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut bench --compare`: runs variants of a step and prints them side by side; writes the samples to a file.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* The items of a list with commas, which it splits in place; NULL after an error message. */
static const char **cut(char *list, size_t *n)
{
    const char **item = calloc(strlen(list) + 2, sizeof *item);
    *n = 0;
    if (!item) gcut_cli_complain("out of memory");
    if (item && *list)
        for (char *s; (s = strsep(&list, ","));) item[(*n)++] = s;
    return item;
}

static int run(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, const char *const *variant, size_t n)
{
    gcut_compare_options how = {
        .variant = variant, .nvariants = n, .rounds = (int)c->steps, .feed = c->feed, .nfeed = c->nfeed};
    gcut_comparison *made = gcut_compare(g, &c->opt, &how);
    if (!made) return gcut_cli_failed(ctx);
    int code = c->samples ? gcut_cli_write(ctx, c->samples, made->samples) : EXIT_FINE;
    if (!code) return gcut_cli_print(c, made, made->text, made->json, EXIT_FINE);
    gcut_free(made);
    return code;
}

int gcut_cli_compare(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    size_t n = 0;
    char *list = strdup(c->compare);
    const char **variant = list ? cut(list, &n) : NULL;
    if (!list) gcut_cli_complain("out of memory");
    int code = variant ? run(ctx, c, g, variant, n) : EXIT_INPUT;
    free(variant);
    free(list);
    return code;
}
