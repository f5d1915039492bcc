/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two plan files compared: gcut_diff_plans.
 */
#include "driver/pipeline/plan_info.h"
#include "report/report.h"

typedef struct comparing {
    const char *a, *b;
    void *made;
} comparing;

static void compare(void *arg)
{
    comparing *c = arg;
    gcut_plan_diff *out = c->made;
    gcut_arena *keep = gcut_made_arena(out);
    const gcut_plan_file *a = gcut_plan_file_read(keep, c->a), *b = gcut_plan_file_read(keep, c->b);
    gcut_plan_files_compare(a, b, keep, out);
    gcut_text text = {.arena = keep}, json = {.arena = keep};
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
