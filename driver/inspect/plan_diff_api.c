/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two plan files compared: gcut_diff_plans.
 */
#include "driver/inspect/table_text.h"
#include "partition/plan_file/plan_file.h"
#include "report/report.h"

typedef struct comparing {
    const char *a, *b; /* paths */
} comparing;

static void compare(void *arg, const gcut_made *m)
{
    const comparing *c = arg;
    gcut_plan_diff *out = m->object;
    const gcut_plan_file *a = gcut_plan_file_read(m->keep, c->a), *b = gcut_plan_file_read(m->keep, c->b);
    gcut_plan_files_compare(a, b, m->keep, out);
    gcut_text json = {.arena = m->keep};
    gcut_write_diff_json(out, &json);
    out->json = json.at;
}

gcut_plan_diff *gcut_diff_plans(gcut_ctx *ctx, const char *a, const char *b)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, a, NULL);
    GCUT_NEED(ctx->env, b, NULL);
    return gcut_made_by(ctx->env, sizeof(gcut_plan_diff), compare, &(comparing){a, b});
}

static void write_text(const void *d, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_diff_text(d, o, out);
}

char *gcut_diff_text_sized(size_t size, gcut_ctx *ctx, const gcut_plan_diff *d,
                           const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, d, NULL);
    return gcut_table_text(ctx->env, write_text, d, table, size);
}
