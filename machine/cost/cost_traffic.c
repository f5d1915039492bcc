/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bytes that one launch reads and writes, buffer by buffer.
 */
#include <math.h>

#include "gradcut/gradcut_rt.h"
#include "machine/cost/cost.h"
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/fusion/prologue.h"
#include "machine/lower/memory/concat.h"
#include "machine/lower/memory/streamed_results.h"
#include "machine/lower/memory/updates_in_place.h"

/* Different elements of the storage of v: what is repeated along an axis is there once. */
static double elements(const gcut_cost_at *c, const gcut_lowered *h, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(h->g, v);
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        if (h->view[v].stride[d] != 0 || t->dim[d] == 0) n *= gcut_cost_size(c, t->dim[d]);
    return n;
}

/* An entry of out->of that is of an earlier launch points beyond the touches, or to one of another buffer. */
static gcut_touch *touch(const gcut_cost_at *c, gcut_arena *a, gcut_touches *out, uint32_t buffer)
{
    if (!out->of) out->of = gcut_calloc(a, c->p->buffers.n + 1, sizeof *out->of);
    const uint32_t i = out->of[buffer];
    if (i < out->n && out->at[i].buffer == buffer) return &out->at[i];
    out->of[buffer] = out->n;
    gcut_touch *t = GCUT_PUSH(a, out);
    *t = (gcut_touch){.buffer = buffer};
    return t;
}

/* Several parts of a buffer add up to no more than the buffer. */
static void add(const gcut_cost_at *c, gcut_arena *a, gcut_touches *out, uint32_t buffer, double n,
                bool write)
{
    if (buffer == GCUT_NONE) return;
    const gcut_buffer *b = &c->p->buffers.at[buffer];
    double size = (double)gcut_dtype_bytes(b->dtype), all = gcut_cost_size(c, b->count) * size;
    gcut_touch *t = touch(c, a, out, buffer);
    double *to = write ? &t->written : &t->read;
    *to = *to + n * size < all ? *to + n * size : all;
}

/* Is a result of `bytes` bytes, in rows of `row` bytes, written past the caches?  The step decides the same
 * on the machine that runs it. */
static bool goes_past(const gcut_cost_at *c, double bytes, double row, double least)
{
    return bytes >= gcut_machine_past_bytes(&c->m) && row >= least;
}

static void loop_past(const gcut_cost_at *c, gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                      gcut_touches *out)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    double n = gcut_cost_size(c, u->loop.numel),
           row = u->loop.flat ? INFINITY : gcut_cost_size(c, u->loop.inner);
    if (n * (double)sizeof(double) < gcut_machine_past_bytes(&c->m)) return;
    gcut_arena *scratch = gcut_arena_new(c->p->module->env, a);
    gcut_loop_analysis l = gcut_loop_analyse(scratch, h, kernel, NULL);
    gcut_find_streamed_results(&l);
    for (uint32_t i = 0; i < l.n; i++) {
        double size = (double)gcut_dtype_bytes(l.at[i].dtype);
        if (l.at[i].streams && goes_past(c, n * size, row * size, GCUT_STREAM_ROW))
            touch(c, a, out, h->buffer[l.at[i].v])->past = true;
    }
    gcut_arena_free(scratch);
}

/* v by gcut_rt_copy, from where w says. */
static bool copy_past(const gcut_cost_at *c, const gcut_lowered *h, gcut_ref v, const gcut_view *view)
{
    const gcut_type *t = gcut_type_of(h->g, v);
    double size = (double)gcut_dtype_bytes(t->dtype);
    if (!t->rank || view->stride[t->rank - 1] != 1 || view->widens || view->bits) return false;
    return goes_past(c, gcut_cost_numel(c, t) * size, gcut_cost_size(c, t->dim[t->rank - 1]) * size,
                     GCUT_RT_STREAM_ROW);
}

static bool take_past(const gcut_cost_at *c, const gcut_lowered *h, const gcut_node *n)
{
    const gcut_type *t = gcut_type_of(h->g, gcut_arg(h->g, n, 0));
    double row = (double)gcut_dtype_bytes(t->dtype), size = row;
    for (uint32_t d = (uint32_t)gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim + 1; d < t->rank; d++)
        row *= gcut_cost_size(c, t->dim[d]);
    return goes_past(c, gcut_cost_numel(c, gcut_type_of(h->g, n->res0)) * size, row, GCUT_RT_STREAM_ROW);
}

/* All that the concat copies, operand by operand. */
static bool concat_past(const gcut_cost_at *c, const gcut_lowered *h, uint32_t kernel, const gcut_node *n)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!gcut_concat_has(h, kernel, k) &&
            !copy_past(c, h, gcut_arg(h->g, n, k), &h->view[gcut_arg(h->g, n, k)]))
            return false;
    return true;
}

/* Marks the results that go past the caches. */
static void mark_past(const gcut_cost_at *c, gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                      gcut_ref hot, gcut_touches *out)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_node *n = u->nodes.n ? gcut_node_at(h->g, u->nodes.at[0]) : NULL;
    bool past = false;
    if (u->kind == GCUT_KERNEL_LOOP && !(hot && gcut_takes_columns(h, kernel)))
        loop_past(c, a, h, kernel, out);
    if (u->kind == GCUT_KERNEL_COPY && u->copy.source == GCUT_NONE &&
        h->buffer[h->view[u->copy.value].root] != GCUT_NONE)
        past = copy_past(c, h, u->copy.value, &h->view[u->copy.value]);
    if (u->kind == GCUT_KERNEL_TAKE) past = take_past(c, h, n);
    if (u->kind == GCUT_KERNEL_CONCAT) past = concat_past(c, h, kernel, n);
    if (past) touch(c, a, out, n ? h->buffer[n->res0] : u->copy.to)->past = true;
}

/* What the prologue of a product reads, and its buffer where that is not empty. */
static void prologue_touches(const gcut_cost_at *c, gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                             gcut_touches *out)
{
    const gcut_prologue *x = gcut_kernel_prologue(&h->kernels.at[kernel]);
    gcut_cursor at = {0};
    for (gcut_ref v; x && gcut_kernel_read(h, kernel, &at, &v);)
        if (at.prologue) add(c, a, out, h->buffer[h->view[v].root], elements(c, h, v), false);
    if (!x || gcut_prologue_packings(h, kernel, c->at, c->nat, c->threads) > 0) return;
    add(c, a, out, x->buffer, elements(c, h, x->v), true);
    add(c, a, out, x->buffer, elements(c, h, x->v), false);
}

/* The value of as many elements as are read of operand k, a table; 0: it is none. */
static gcut_ref table_rows(const gcut_lowered *h, uint32_t kernel, const gcut_node *n, uint32_t k)
{
    if (k == 0 && h->kernels.at[kernel].kind == GCUT_KERNEL_TAKE) return n->res0;
    return k == 0 && gcut_scatter_is_inplace(h, kernel) ? gcut_arg(h->g, n, 2) : 0;
}

void gcut_cost_touches(const gcut_cost_at *c, gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                       gcut_ref hot, gcut_touches *out)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const uint32_t workspace = u->workspace_all;
    if (workspace != GCUT_NONE) { /* partial sums, a convolution's workspace: made, and used */
        double n = gcut_cost_size(c, c->p->buffers.at[workspace].count);
        add(c, a, out, workspace, n, false);
        add(c, a, out, workspace, n, true);
        touch(c, a, out, workspace)->workspace = u->kind != GCUT_KERNEL_LOOP;
    }
    if (u->kind == GCUT_KERNEL_COPY) {
        uint32_t from = gcut_copy_buffer(h, u);
        add(c, a, out, from, elements(c, h, u->copy.value), false);
        add(c, a, out, u->copy.to, gcut_cost_numel(c, gcut_type_of(h->g, u->copy.value)), true);
        mark_past(c, a, h, kernel, 0, out);
        return;
    }
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs && (i == 0 || !gcut_kernel_sums(u));
             k++) { /* a sum's is the product's too */
            gcut_ref v = gcut_arg(h->g, n, k), root = h->view[v].root;
            const uint32_t copy = gcut_kernel_copied(u, k);
            if (root == hot || (u->kind == GCUT_KERNEL_LOOP && h->kernel_of[root] == kernel)) continue;
            if (gcut_concat_has(h, kernel, k) || gcut_operand_prologue(u, k)) continue;
            gcut_ref rows = table_rows(h, kernel, n, k); /* what is asked for of a table, not the table */
            if (rows)
                add(c, a, out, copy != GCUT_NONE ? h->kernels.at[copy].copy.to : h->buffer[root],
                    gcut_cost_numel(c, gcut_type_of(h->g, rows)), false);
            else if (copy != GCUT_NONE)
                add(c, a, out, h->kernels.at[copy].copy.to, gcut_cost_numel(c, gcut_type_of(h->g, v)), false);
            else
                add(c, a, out, h->buffer[root], elements(c, h, v), false);
        }
        if (u->kind == GCUT_KERNEL_CONCAT) {
            for (uint32_t k = 0; k < n->nargs; k++)
                if (!gcut_concat_has(h, kernel, k))
                    add(c, a, out, h->buffer[n->res0],
                        gcut_cost_numel(c, gcut_type_of(h->g, gcut_arg(h->g, n, k))), true);
            continue;
        }
        /* Attention stores its result in the layout of a view of it; the root is then the view. */
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            if (h->view[v].root)
                add(c, a, out, h->buffer[h->view[v].root],
                    gcut_scatter_is_inplace(h, kernel) ? elements(c, h, gcut_arg(h->g, n, 2))
                                                       : elements(c, h, v),
                    true);
    }
    mark_past(c, a, h, kernel, hot, out);
    prologue_touches(c, a, h, kernel, out);
}
