/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --time-passes: a table for each compilation of the command.
 *
 *   times of @mlp
 *   stage   pass               ms   nodes in  nodes out
 *   primal  clone           0.051          8          8
 *   …
 *   C       cc            310.220          -          -
 *           total         312.113
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

gcut_hooks gcut_cli_hooks;

static struct {
    int64_t ns;
    bool open; /* a table without its total */
} table;

static void close_table(void)
{
    if (table.open) fprintf(stderr, "        total     %12.3f\n", (double)table.ns / 1e6);
    table.open = false;
    table.ns = 0;
}

static void print_count(int64_t n)
{
    if (n < 0)
        fprintf(stderr, "  %9s", "-");
    else
        fprintf(stderr, "  %9" PRId64, n);
}

/* Lines are printed as passes end: of a command that fails, those before are seen. */
static void print_pass(void *user, const gcut_pass_time *t)
{
    (void)user;
    if (!strcmp(t->pass, "clone")) close_table();
    if (!table.open)
        fprintf(stderr, "times of @%s\n%-6s  %-8s  %12s  %9s  %9s\n", t->function, "stage", "pass", "ms",
                "nodes in", "nodes out");
    table.open = true;
    table.ns += t->ns;
    fprintf(stderr, "%-6s  %-8s  %12.3f", t->stage, t->pass, (double)t->ns / 1e6);
    print_count(t->nodes_in);
    print_count(t->nodes_out);
    fputc('\n', stderr);
}

void gcut_cli_times_begin(gcut_ctx *ctx)
{
    gcut_cli_hooks.pass = print_pass;
    gcut_ctx_set_hooks(ctx, &gcut_cli_hooks);
}

void gcut_cli_times_end(void)
{
    close_table();
}
