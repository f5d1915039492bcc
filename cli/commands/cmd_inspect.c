/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands that run nothing: check, show, dot, grad, plan, saved, mem, fuse, lint, why, diff, compile, ops.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "gradcut/inspect.h"
#include "gradcut/train.h"

static int print_json(const char *json)
{
    fputs(json, stdout);
    return EXIT_FINE;
}

/* ---- check ---- */

/* The graph with the constants of --fix; NULL after an error. */
static gcut_graph *fixed(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    char *text = gcut_show(g, &c->opt, GCUT_STAGE_PRIMAL, true);
    gcut_graph *out = text ? gcut_parse(ctx, text, GCUT_TO_NUL, c->file, gcut_graph_name(g)) : NULL;
    gcut_free(text);
    return out;
}

int gcut_cmd_check(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const bool one = c->fn || c->opt.nfix; /* sizes are those of one function */
    gcut_graph *each = one ? g : NULL;
    if (c->opt.nfix && !(each = fixed(ctx, c, g))) return gcut_cli_failed(ctx);
    if (c->json) gcut_cli_json("{\"ok\": true, \"file\": $s, \"functions\": [", c->file);
    for (size_t i = 0; one ? i == 0 : (each = gcut_graph_sibling(g, i)) != NULL; i++) {
        char *text = gcut_describe(each);
        if (!text) return gcut_cli_failed(ctx);
        if (c->json)
            gcut_cli_json(i ? ", {\"name\": $s, \"text\": $s}" : "{\"name\": $s, \"text\": $s}",
                          gcut_graph_name(each), text);
        else
            puts(text);
        gcut_free(text);
    }
    if (c->json) puts("]}");
    return EXIT_FINE;
}

/* ---- show, grad ---- */

static int show(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, gcut_stage_name stage)
{
    char *text = gcut_show(g, &c->opt, stage, !c->no_loc);
    if (!text || !c->json) return gcut_cli_print_made(ctx, text);
    gcut_cli_json("{\"stage\": $s, \"text\": $s}\n", gcut_stage_names[stage], text);
    gcut_free(text);
    return EXIT_FINE;
}

/* Prints and frees a text; with --json in this form, of which it is the only value. */
static int print_as(gcut_ctx *ctx, const gcut_cli *c, const char *form, char *text)
{
    if (!text || !c->json) return gcut_cli_print_made(ctx, text);
    gcut_cli_json(form, text);
    gcut_free(text);
    return EXIT_FINE;
}

static int show_levels(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_table_options table = gcut_cli_table(c);
    gcut_fusion *f = gcut_fusion_new(g, &c->opt);
    if (!f) return gcut_cli_failed(ctx);
    const int code = print_as(ctx, c, "{\"levels\": $s}\n", gcut_graph_levels(ctx, f, &table));
    gcut_free(f);
    return code;
}

int gcut_cmd_dot(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    return print_as(ctx, c, "{\"dot\": $s}\n", gcut_graph_dot(g, &c->opt, (int)c->depth));
}

int gcut_cmd_show(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    if (c->levels) return show_levels(ctx, c, g);
    if (c->tree) return print_as(ctx, c, "{\"tree\": $s}\n", gcut_graph_tree(g, &c->opt));
    if (c->as == GCUT_SHOW_STABLEHLO)
        return print_as(ctx, c, "{\"stablehlo\": $s}\n", gcut_stablehlo(g, &c->opt, c->stage));
    if (c->as == GCUT_SHOW_C) return print_as(ctx, c, "{\"c\": $s}\n", gcut_graph_c(g, &c->opt));
    return show(ctx, c, g, c->stage);
}
int gcut_cmd_grad(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    return show(ctx, c, g, GCUT_STAGE_JOINT);
}

/* ---- plan, saved ---- */

/* The plan file; NULL after an error of the library. */
static char *plan_file(const gcut_cli *c, const gcut_plan *plan)
{
    return c->certificate ? gcut_plan_certificate(plan) : gcut_plan_json(plan);
}

static int print_plan(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g, bool totals)
{
    const gcut_table_options table = gcut_cli_table(c);
    gcut_plan *plan = gcut_plan_new(g, &c->opt);
    if (!plan) return gcut_cli_failed(ctx);
    int code = c->output ? gcut_cli_write_made(ctx, c->output, plan_file(c, plan)) : EXIT_FINE;
    if (!code)
        code = gcut_cli_print_made(ctx, c->json  ? plan_file(c, plan)
                                        : totals ? gcut_plan_text(plan, &table)
                                                 : gcut_plan_saved_text(plan, &table));
    gcut_plan_free(plan);
    return code;
}

int gcut_cmd_plan(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    if (c->explain_cost) {
        gcut_cost_explanation *e = gcut_explain_cost(g, &c->opt, c->explain_cost);
        return e ? gcut_cli_print(c, e, e->text, e->json, EXIT_FINE) : gcut_cli_failed(ctx);
    }
    return print_plan(ctx, c, g, true);
}
int gcut_cmd_saved(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    return print_plan(ctx, c, g, false);
}

/* ---- mem ---- */

int gcut_cmd_mem(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_table_options table = gcut_cli_table(c);
    const gcut_memory_part part = c->at_peak ? GCUT_MEMORY_AT_PEAK
                                  : c->map   ? GCUT_MEMORY_MAP
                                             : GCUT_MEMORY_SUMMARY;
    gcut_memory_profile *m = gcut_memory_new(g, &c->opt, &(gcut_memory_options){.against = c->against});
    if (!m) return gcut_cli_failed(ctx);
    int code = c->svg ? gcut_cli_write(ctx, c->svg, m->svg) : EXIT_FINE;
    if (!code)
        code =
            c->json ? print_json(m->json) : gcut_cli_print_made(ctx, gcut_memory_text(ctx, m, part, &table));
    gcut_free(m);
    return code;
}

/* ---- fuse ---- */

int gcut_cmd_fuse(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_table_options table = gcut_cli_table(c);
    gcut_fusion *f = gcut_fusion_new(g, &c->opt);
    if (!f) return gcut_cli_failed(ctx);
    int code = c->why    ? gcut_cli_print_made(ctx, gcut_fusion_why(ctx, f, c->why, c->value))
               : c->json ? print_json(f->json)
                         : gcut_cli_print_made(ctx, gcut_fusion_text(ctx, f, &table));
    gcut_free(f);
    return code;
}

/* ---- lint ---- */

int gcut_cmd_lint(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_table_options table = gcut_cli_table(c);
    gcut_lint_report *r = gcut_lint(g, &c->opt);
    if (!r) return gcut_cli_failed(ctx);
    int code = c->json ? print_json(r->json) : gcut_cli_print_made(ctx, gcut_lint_text(ctx, r, &table));
    if (!code && r->n) code = EXIT_CHECK;
    gcut_free(r);
    return code;
}

/* ---- why, diff ---- */

int gcut_cmd_why(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    gcut_explanation *e = gcut_explain(g, &c->opt, c->value);
    return e ? gcut_cli_print(c, e, e->text, e->json, EXIT_FINE) : gcut_cli_failed(ctx);
}

int gcut_cmd_diff(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    (void)g;
    gcut_plan_diff *d = gcut_diff_plans(ctx, c->file, c->value);
    const gcut_table_options table = gcut_cli_table(c);
    if (!d) return gcut_cli_failed(ctx);
    int code = c->json ? print_json(d->json) : gcut_cli_print_made(ctx, gcut_diff_text(ctx, d, &table));
    if (!code && !d->equal) code = EXIT_CHECK;
    gcut_free(d);
    return code;
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
        if (c->json)
            gcut_cli_json(i ? ", $s" : "$s", path);
        else
            puts(path);
        free(path);
    }
    if (c->json) puts("]}");
    return EXIT_FINE;
}

int gcut_cmd_compile(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    if (!gcut_cli_make_folder_of(c->output)) return EXIT_INPUT;
    if (gcut_emit_files(g, &c->opt, c->output, c->shared) != GCUT_OK) return gcut_cli_failed(ctx);
    return print_written(c);
}

/* ---- ops ---- */

int gcut_cmd_ops(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const size_t n = c->model ? strlen(c->model) : 0;
    if (n > 5 && !strcmp(c->model + n - 5, ".onnx"))
        return gcut_cli_print_made(ctx, gcut_onnx_ops(ctx, c->model, c->json));
    if (c->model) g = gcut_load(ctx, c->model, c->fn);
    return gcut_cli_print_made(ctx, c->model && !g ? NULL : gcut_ops(ctx, g, c->json));
}
