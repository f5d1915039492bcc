/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_frontier_text: a frontier as the caller's options of tables say.
 */
#include "driver/inspect/table_text.h"
#include "gradcut/inspect.h"
#include "report/report.h"

static void write_text(const void *f, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_frontier_text(f, o, out);
}

char *gcut_frontier_text_sized(size_t size, gcut_ctx *ctx, const gcut_frontier *f,
                               const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, f, NULL);
    return gcut_table_text(ctx->env, write_text, f, table, size);
}
