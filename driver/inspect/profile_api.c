/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as text, as JSON, as a trace and as pictures.
 */
#include "driver/inspect/table_text.h"
#include "gradcut/inspect.h"
#include "report/report.h"

static void write_text(const void *p, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_profile_text(p, o, out);
}

char *gcut_profile_text_sized(size_t size, gcut_ctx *ctx, const gcut_profile *p,
                              const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_table_text(ctx->env, write_text, p, table, size);
}

typedef struct drawing {
    const gcut_profile *p;
    const gcut_memory_profile *m;
} drawing;

static void write_trace(void *arg, gcut_text *out)
{
    const drawing *j = arg;
    gcut_write_profile_trace(j->p, j->m, out);
}

char *gcut_profile_trace(gcut_ctx *ctx, const gcut_profile *p, const gcut_memory_profile *m)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_trace, &(drawing){p, m});
}

static void write_svg(void *arg, gcut_text *out)
{
    gcut_write_profile_svg(((const drawing *)arg)->p, out);
}

char *gcut_profile_svg(gcut_ctx *ctx, const gcut_profile *p)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_svg, &(drawing){p, NULL});
}

static void write_flame(void *arg, gcut_text *out)
{
    gcut_write_profile_flame(((const drawing *)arg)->p, out);
}

char *gcut_profile_flame(gcut_ctx *ctx, const gcut_profile *p)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_flame, &(drawing){p, NULL});
}

static void write_json(void *arg, gcut_text *out)
{
    gcut_write_profile_json(((const drawing *)arg)->p, out);
}

char *gcut_profile_json(gcut_ctx *ctx, const gcut_profile *p)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_json, &(drawing){p, NULL});
}
