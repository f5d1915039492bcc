/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two plan files compared: gcut_diff_plans.
 */
#include "driver/pipeline/plan_info.h"
#include "report/report.h"

typedef struct comparing {
    const char *a, *b;
    gcut_arena *keep; /* of the comparison, the files in it */
    void *made;
} comparing;

static const gcut_plan_side *side_of(const comparing *c, const gcut_plan_file *f)
{
    gcut_size *at = gcut_calloc(c->keep, f->at.n + 1, sizeof *at);
    gcut_plan_side *out = gcut_calloc(c->keep, 1, sizeof *out);
    for (uint32_t i = 0; i < f->at.n; i++) at[i] = (gcut_size){f->at.at[i].name, f->at.at[i].size};
    *out = (gcut_plan_side){.file = f->path,
                            .policy = f->policy,
                            .lambda = f->lambda,
                            .at = at,
                            .nat = f->at.n,
                            .saved_bytes = f->saved_bytes,
                            .peak_bytes = f->peak_bytes,
                            .recompute_ns = f->recompute_ns,
                            .cost_ns = f->cost_ns,
                            .step_ns = f->step_ns};
    return out;
}

static const gcut_replay_line *line_of(const comparing *c, const gcut_plan_line *l)
{
    if (!l) return NULL;
    gcut_replay_line *out = gcut_calloc(c->keep, 1, sizeof *out);
    *out = gcut_replay_line_of(l);
    return out;
}

static void add_differences(const comparing *c, const gcut_plan_files_differ *of, gcut_plan_diff *out)
{
    const gcut_plan_difference **at = gcut_calloc(c->keep, of->values.n + 1, sizeof *at);
    for (uint32_t i = 0; i < of->values.n; i++) {
        const gcut_plan_lines_differ *x = &of->values.at[i];
        gcut_plan_difference *one = gcut_calloc(c->keep, 1, sizeof *one);
        *one = (gcut_plan_difference){x->loop, line_of(c, x->a), line_of(c, x->b)};
        at[i] = one;
    }
    out->difference = at;
    out->n = of->values.n;
}

static void compare(void *arg)
{
    comparing *c = arg;
    gcut_plan_diff *out = c->made;
    c->keep = gcut_made_arena(out);
    const gcut_plan_file *a = gcut_plan_file_read(c->keep, c->a), *b = gcut_plan_file_read(c->keep, c->b);
    gcut_plan_files_differ of = gcut_plan_files_compare(a, b, c->keep);
    out->same_graph = of.same_graph;
    out->equal = of.same_graph && !of.values.n;
    out->a = side_of(c, a);
    out->b = side_of(c, b);
    add_differences(c, &of, out);
    gcut_text text = {.arena = c->keep}, json = {.arena = c->keep};
    gcut_write_diff_text(out, &text);
    gcut_write_diff_json(out, &json);
    out->text = text.at;
    out->json = json.at;
}

gcut_plan_diff *gcut_diff_plans(gcut_ctx *ctx, const char *a, const char *b)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, a, NULL);
    GCUT_NEED(ctx->env, b, NULL);
    comparing c = {.a = a, .b = b};
    return gcut_made_by(ctx->env, sizeof(gcut_plan_diff), &c.made, compare, &c);
}
