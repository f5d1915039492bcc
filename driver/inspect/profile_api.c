/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as text, as a trace and as a picture.
 */
#include "driver/options/options.h"
#include "gradcut/inspect.h"
#include "report/report.h"

typedef struct writing {
    gcut_env *env;
    const gcut_profile *p;
    const gcut_memory_profile *m;
    const gcut_table_options *given; /* of `size` bytes */
    size_t size;
} writing;

static void write_text(void *arg, gcut_text *out)
{
    const writing *j = arg;
    const gcut_table_options o = gcut_table_options_of(j->env, j->given, j->size);
    gcut_write_profile_text(j->p, &o, out);
}

char *gcut_profile_text_sized(size_t size, gcut_ctx *ctx, const gcut_profile *p,
                              const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_text, &(writing){ctx->env, p, NULL, table, size});
}

static void write_trace(void *arg, gcut_text *out)
{
    const writing *j = arg;
    gcut_write_profile_trace(j->p, j->m, out);
}

char *gcut_profile_trace(gcut_ctx *ctx, const gcut_profile *p, const gcut_memory_profile *m)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_trace, &(writing){.env = ctx->env, .p = p, .m = m});
}

static void write_svg(void *arg, gcut_text *out)
{
    const writing *j = arg;
    gcut_write_profile_svg(j->p, out);
}

char *gcut_profile_svg(gcut_ctx *ctx, const gcut_profile *p)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, p, NULL);
    return gcut_string_by(ctx->env, write_svg, &(writing){.env = ctx->env, .p = p});
}
