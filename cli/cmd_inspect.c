/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands that run nothing: check, show, grad, plan, saved, why, cmp, compile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- check ---- */

int gcut_cmd_check(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_graph *g = gcut_cli_load(ctx, c), *each = c->fn ? g : NULL;
    if (!g) return gcut_cli_failed(ctx);
    if (c->json) {
        fputs("{\"ok\": true, \"file\": ", stdout);
        gcut_cli_json_string(stdout, c->file);
        fputs(", \"functions\": [", stdout);
    }
    for (size_t i = 0; c->fn ? i == 0 : (each = gcut_graph_sibling(g, i)) != NULL; i++) {
        const char *text = gcut_describe(each);
        if (!text) return gcut_cli_failed(ctx);
        if (!c->json) {
            printf("%s\n", text);
            continue;
        }
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        gcut_cli_json_string(stdout, gcut_graph_name(each));
        fputs(", \"text\": ", stdout);
        gcut_cli_json_string(stdout, text);
        fputs("}", stdout);
    }
    if (c->json) fputs("]}\n", stdout);
    return EXIT_FINE;
}

/* ---- show, grad ---- */

static int show(gcut_ctx *ctx, const gcut_cli *c, gcut_stage_name stage)
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    const char *text = g ? gcut_show(g, &c->opt, stage, !c->no_loc) : NULL;
    if (!text) return gcut_cli_failed(ctx);
    if (!c->json) {
        fputs(text, stdout);
        return EXIT_FINE;
    }
    printf("{\"stage\": \"%s\", \"text\": ", gcut_stage_names[stage]);
    gcut_cli_json_string(stdout, text);
    fputs("}\n", stdout);
    return EXIT_FINE;
}

int gcut_cmd_show(gcut_ctx *ctx, const gcut_cli *c)
{
    return show(ctx, c, c->stage);
}
int gcut_cmd_grad(gcut_ctx *ctx, const gcut_cli *c)
{
    return show(ctx, c, GCUT_STAGE_JOINT);
}

/* ---- plan, saved ---- */

/* The plan as JSON, into the file of -o. */
static int write_plan(const gcut_plan *plan, const char *path)
{
    FILE *f = fopen(path, "w");
    if (f) {
        gcut_plan_print_json(plan, f);
        bool failed = fflush(f) != 0 || ferror(f);
        int why = errno;
        if (fclose(f) == 0 && !failed) return EXIT_FINE;
        if (failed) errno = why;
    }
    gcut_cli_complain("%s cannot be written: %s", path, strerror(errno));
    return EXIT_INPUT;
}

static int print_plan(gcut_ctx *ctx, const gcut_cli *c, void (*print)(const gcut_plan *, FILE *))
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    const gcut_plan *plan = g ? gcut_plan_of(g, &c->opt) : NULL;
    if (!plan) return gcut_cli_failed(ctx);
    if (c->output) {
        int code = write_plan(plan, c->output);
        if (code) return code;
    }
    (c->json ? gcut_plan_print_json : print)(plan, stdout);
    return gcut_error_count(ctx) ? gcut_cli_failed(ctx) : EXIT_FINE;
}

int gcut_cmd_plan(gcut_ctx *ctx, const gcut_cli *c)
{
    return print_plan(ctx, c, gcut_plan_print);
}
int gcut_cmd_saved(gcut_ctx *ctx, const gcut_cli *c)
{
    return print_plan(ctx, c, gcut_saved_print);
}

/* ---- why ---- */

int gcut_cmd_why(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_graph *g = gcut_cli_load(ctx, c);
    const char *text = g ? gcut_explain(g, &c->opt, c->value, c->json) : NULL;
    if (!text) return gcut_cli_failed(ctx);
    fputs(text, stdout);
    return EXIT_FINE;
}

/* ---- cmp ---- */

int gcut_cmd_cmp(gcut_ctx *ctx, const gcut_cli *c)
{
    bool equal;
    const char *text = gcut_compare_plans(ctx, c->file, c->value, c->json, &equal);
    if (!text) return gcut_cli_failed(ctx);
    fputs(text, stdout);
    return equal ? EXIT_FINE : EXIT_CHECK;
}

/* ---- compile ---- */

static bool has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && !strcmp(s + n - k, suffix);
}

static int print_written(const gcut_cli *c)
{
    static const char *const suffix[2][2] = {{".c", ".h"}, {".so", NULL}};
    if (c->json) fputs("{\"files\": [", stdout);
    for (int i = 0; i < 2 && suffix[c->shared][i]; i++) {
        bool named = c->shared && has_suffix(c->output, ".so");
        char *path = gcut_cli_join(c->output, named ? "" : suffix[c->shared][i], "");
        if (!path) return EXIT_INPUT;
        if (!c->json) {
            puts(path);
        } else {
            if (i) fputs(", ", stdout);
            gcut_cli_json_string(stdout, path);
        }
        free(path);
    }
    if (c->json) puts("]}");
    return EXIT_FINE;
}

int gcut_cmd_compile(gcut_ctx *ctx, const gcut_cli *c)
{
    if (!c->output) {
        gcut_cli_complain("compile needs -o DIR/NAME: it writes NAME.c and NAME.h there, or NAME.so");
        return EXIT_USAGE;
    }
    gcut_graph *g = gcut_cli_load(ctx, c);
    if (!g || gcut_emit_files(g, &c->opt, c->output, c->shared) != GCUT_OK) return gcut_cli_failed(ctx);
    return print_written(c);
}

int gcut_cmd_ops(gcut_ctx *ctx, const gcut_cli *c)
{
    gcut_graph *g = c->file ? gcut_cli_load(ctx, c) : NULL;
    const char *text = c->file && !g ? NULL : gcut_ops(ctx, g, c->json);
    if (!text) return gcut_cli_failed(ctx);
    fputs(text, stdout);
    return EXIT_FINE;
}
