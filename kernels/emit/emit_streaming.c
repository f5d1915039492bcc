/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of results that may go past the caches (machine/lower/memory/streamed_results.h).
 *
 * The loop over the columns of such a phase is there twice: over whole lines, which it computes one by one,
 * and over what is left at the ends, which is all of the row where the result is not that large.
 */
#include "base/bytes.h"
#include "kernels/emit/emit_loop.h"
#include "machine/lower/memory/streamed_results.h"

#define W(w, ...) gcut_text_add((w)->out, __VA_ARGS__)

static bool ends_in(const gcut_loop_node *x, int p)
{
    return x->phase == p && x->streams;
}

int gcut_loop_stream_line(const gcut_loop_writer *w, int p)
{
    for (uint32_t i = 0; i < w->l->n; i++)
        if (ends_in(&w->l->at[i], p)) return (int)(GCUT_LINE / gcut_dtype_bytes(w->l->at[i].dtype));
    return 0;
}

/* Results begin at different places in their lines only where the caller's buffers do: then they are stored
 * as others are. */
void gcut_loop_stream_bounds(gcut_loop_writer *w, int p)
{
    const char *first = NULL, *and = "";
    for (uint32_t i = 0; i < w->l->n; i++) {
        const gcut_loop_node *x = &w->l->at[i];
        if (!ends_in(x, p)) continue;
        const char *ahead = gcut_printf(w->l->m->arena, "gcut_rt_to_line(o%u, %lld)", x->v,
                                        (long long)gcut_dtype_bytes(x->dtype));
        if (!first)
            first = ahead;
        else
            and = gcut_printf(w->l->m->arena, "%s && %s == %s", and, ahead, first);
    }
    W(w, "        const int64_t h%d = past%d%s ? gcut_rt_min(%s, C) : C;\n", p, p, and, first);
    W(w, "        const int64_t e%d = C - (C - h%d) %% %d;\n", p, p, gcut_loop_stream_line(w, p));
}

void gcut_loop_stream_declare(gcut_loop_writer *w)
{
    for (int p = 0; p < w->l->phases; p++) {
        int line = gcut_loop_stream_line(w, p);
        if (!line) continue;
        W(w, "    const int past%d = (%s) * %d >= args->x->plan->stream_bytes", p,
          gcut_c_named(w->l->m, "elements", w->l->u->loop.numel), GCUT_LINE / line);
        if (!w->l->u->loop.flat && !gcut_dim_known(w->l->u->loop.inner))
            W(w, " && C * %d >= %d", GCUT_LINE / line, GCUT_STREAM_ROW);
        W(w, ";\n");
    }
}

void gcut_loop_stream_arrays(gcut_loop_writer *w, int p)
{
    for (uint32_t i = 0; i < w->l->n; i++)
        if (ends_in(&w->l->at[i], p))
            W(w, "        _Alignas(%d) %s y%u[%d];\n", GCUT_LINE, gcut_c_type(w->l->at[i].dtype),
              w->l->at[i].v, gcut_loop_stream_line(w, p));
}

void gcut_loop_stream_lines(gcut_loop_writer *w, int p)
{
    for (uint32_t i = 0; i < w->l->n; i++)
        if (ends_in(&w->l->at[i], p))
            W(w, "        gcut_rt_line(o%u + c0, y%u);\n", w->l->at[i].v, w->l->at[i].v);
}

void gcut_loop_stream_finish(gcut_loop_writer *w)
{
    const char *any = "";
    for (int p = 0; p < w->l->phases; p++)
        if (gcut_loop_stream_line(w, p))
            any = gcut_printf(w->l->m->arena, "%s%spast%d", any, *any ? " || " : "", p);
    if (*any) W(w, "    if (%s) gcut_rt_streamed();\n", any);
}
