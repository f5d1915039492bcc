/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of loops that are written past the caches.
 *
 * A store to a line that is in no cache reads the line first.  A result larger than the last cache has none
 * of its lines there, and is gone from it before anybody reads it: written in whole lines past the caches, it
 * saves the reading.  Which results may be is decided here; whether one is, by plan->head.stream_bytes and
 * the sizes at hand.
 *
 * The loop over the columns of such a phase is there twice: over whole lines, which it computes one by one,
 * and over what is left at the ends, which is all of the row where the result is not that large.
 *
 * Not so what is written over an operand, whose lines are there; what a later phase of the loop reads back;
 * rows so short that much of them is ends; and what waits for arithmetic rather than memory: loops with dear
 * ops or sums, and the tiles of a product's epilogue.
 */
#include "kernels/lower/c_text.h"
#include "kernels/emit/emit_loop.h"

#define W(l, ...) gcut_text_add((l)->out, __VA_ARGS__)

enum {
    LINE = 64,       /* bytes */
    LEAST = 4 << 20, /* bytes of a result: no last cache worth the name is smaller */
    BUSY_PS = 400    /* arithmetic of a phase that hides the reading of lines, or one long function */
};

static int64_t bytes_of(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    return gcut_dtype_bytes(gcut_loop_dtype(l, x));
}

static bool is_small(gcut_dim n, int64_t size, int64_t least)
{
    return gcut_dim_known(n) && n * size < least;
}

/* What phase p computes for x, beyond what was counted before. */
static int arithmetic(const gcut_loop_analysis *l, const gcut_loop_node *x, int p, bool *counted)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    int ps = gcut_op_get((gcut_op)n->op)->cost_ps;
    if (counted[x - l->at] || (x->phase < p && x->keep != GCUT_RECOMPUTE)) return 0;
    counted[x - l->at] = true;
    if (ps >= GCUT_LONG_PS) return BUSY_PS + 1;
    for (uint32_t k = 0; k < n->nargs && ps <= BUSY_PS; k++)
        if (gcut_loop_access(l, x, gcut_arg(l->g, n, k)) == GCUT_ACCESS_FULL)
            ps += arithmetic(l, gcut_loop_member(l, gcut_arg(l->g, n, k)), p, counted);
    return ps;
}

/* Some member reads the buffer. */
static bool is_read(const gcut_loop_analysis *l, uint32_t buffer)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_node *n = gcut_node_at(l->g, l->at[i].node);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(l->g, n, k);
            if (gcut_loop_access(l, &l->at[i], v) == GCUT_ACCESS_LOAD &&
                l->h->buffer[l->h->view[v].root] == buffer)
                return true;
        }
    }
    return false;
}

/* Of an element of the widest result of phase p; 0: it does more than store results, or arithmetic. */
static int64_t widest(const gcut_loop_analysis *l, int p, bool *counted)
{
    int64_t most = 0;
    int ps = 0;
    for (uint32_t i = 0; i < l->n && ps <= BUSY_PS; i++) {
        const gcut_loop_node *x = &l->at[i];
        if (!gcut_loop_sink(l, x, p)) continue;
        if (x->reduces || x->keep == GCUT_SCRATCH) return 0;
        if (bytes_of(l, x) > most) most = bytes_of(l, x);
        ps += arithmetic(l, x, p, counted);
    }
    return ps <= BUSY_PS ? most : 0;
}

static bool may_stream(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    const gcut_kernel *u = l->u;
    uint32_t buffer = gcut_loop_stored(l, x);
    if (x->level != GCUT_LEVEL_FULL || x->reduces || buffer == GCUT_NONE || x->keep == GCUT_STORED)
        return false;
    if (is_small(u->loop.numel, bytes_of(l, x), LEAST)) return false;
    if (!u->loop.flat && is_small(u->loop.inner, bytes_of(l, x), GCUT_STREAM_ROW)) return false;
    return !is_read(l, buffer);
}

void gcut_loop_find_streams(gcut_loop_analysis *l)
{
    for (uint32_t i = 0; i < l->n; i++) /* iterations that check an index are not apart */
        if (gcut_loop_is_bounded(gcut_node_at(l->g, l->at[i].node))) return;
    gcut_arena *a = gcut_arena_new(l->m->env, l->m->arena);
    for (int p = 0; p < l->phases; p++) {
        int64_t bytes = widest(l, p, gcut_calloc(a, l->n + 1, sizeof(bool)));
        for (uint32_t i = 0; i < l->n; i++) {
            gcut_loop_node *x = &l->at[i];
            if (x->phase == p && bytes == bytes_of(l, x)) x->streams = may_stream(l, x);
        }
    }
    gcut_arena_free(a);
}

static bool ends_in(const gcut_loop_node *x, int p)
{
    return x->phase == p && x->streams;
}

int gcut_loop_stream_line(const gcut_loop_analysis *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (ends_in(&l->at[i], p)) return (int)(LINE / bytes_of(l, &l->at[i]));
    return 0;
}

/* Results begin at different places in their lines only where the caller's buffers do: then they are stored
 * as others are. */
void gcut_loop_stream_bounds(gcut_loop_analysis *l, int p)
{
    const char *first = NULL, *and = "";
    for (uint32_t i = 0; i < l->n; i++) {
        const gcut_loop_node *x = &l->at[i];
        if (!ends_in(x, p)) continue;
        const char *ahead =
            gcut_printf(l->m->arena, "gcut_rt_to_line(o%u, %lld)", x->v, (long long)bytes_of(l, x));
        if (!first)
            first = ahead;
        else
            and = gcut_printf(l->m->arena, "%s && %s == %s", and, ahead, first);
    }
    W(l, "        const int64_t h%d = past%d%s ? gcut_rt_min(%s, C) : C;\n", p, p, and, first);
    W(l, "        const int64_t e%d = C - (C - h%d) %% %d;\n", p, p, gcut_loop_stream_line(l, p));
}

void gcut_loop_stream_declare(gcut_loop_analysis *l)
{
    for (int p = 0; p < l->phases; p++) {
        int line = gcut_loop_stream_line(l, p);
        if (!line) continue;
        W(l, "    const int past%d = (%s) * %d >= args->x->plan->stream_bytes", p,
          gcut_c_named(l->m, "elements", l->u->loop.numel), LINE / line);
        if (!l->u->loop.flat && !gcut_dim_known(l->u->loop.inner))
            W(l, " && C * %d >= %d", LINE / line, GCUT_STREAM_ROW);
        W(l, ";\n");
    }
}

void gcut_loop_stream_arrays(gcut_loop_analysis *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (ends_in(&l->at[i], p))
            W(l, "        _Alignas(%d) %s y%u[%d];\n", LINE, gcut_c_type(gcut_loop_dtype(l, &l->at[i])),
              l->at[i].v, gcut_loop_stream_line(l, p));
}

void gcut_loop_stream_lines(gcut_loop_analysis *l, int p)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (ends_in(&l->at[i], p)) W(l, "        gcut_rt_line(o%u + c0, y%u);\n", l->at[i].v, l->at[i].v);
}

void gcut_loop_stream_finish(gcut_loop_analysis *l)
{
    const char *any = "";
    for (int p = 0; p < l->phases; p++)
        if (gcut_loop_stream_line(l, p))
            any = gcut_printf(l->m->arena, "%s%spast%d", any, *any ? " || " : "", p);
    if (*any) W(l, "    if (%s) gcut_rt_streamed();\n", any);
}
