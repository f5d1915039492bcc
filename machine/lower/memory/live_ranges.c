/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The live ranges of buffers.
 *
 * in:  L8 of all graphs.   out: L9, steps, birth and death of every buffer.   keeps: all else.
 *
 * One timeline for the whole program: a body's steps follow its owner's, so that a body's temporaries share
 * memory with each other and with everything that does not live through the region.
 */
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/lower.h"

static void touch(gcut_program *p, uint32_t b, int step)
{
    if (b == GCUT_NONE) return;
    while (p->buffers.at[b].kind == GCUT_BUFFER_PART) b = p->buffers.at[b].whole;
    gcut_buffer *buf = &p->buffers.at[b];
    if (buf->birth < 0 || step < buf->birth) buf->birth = step;
    if (step > buf->death) buf->death = step;
}

/* Everything that a kernel reads or writes lives at a step. */
static void touch_kernel(gcut_program *p, const gcut_lowered *h, uint32_t kernel, int step)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    touch(p, u->workspace_each, step);
    touch(p, u->workspace_all, step);
    if (u->kind == GCUT_KERNEL_COPY) {
        touch(p, u->copy.to, step);
        touch(p, gcut_copy_buffer(h, u), step);
    }
    for (uint32_t k = 0; k < u->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[k]);
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) touch(p, h->buffer[h->view[v].root], step);
    }
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_kernel_read(h, kernel, &at, &v);) touch(p, gcut_read_buffer(h, &at, v), step);
    if (gcut_kernel_prologue(u)) touch(p, gcut_kernel_prologue(u)->buffer, step);
}

/* A product and its epilogue run interleaved, tile by tile: what either of them touches lives while both do.
 * What a region touches lives through every step of its bodies, which may run many times. */
static void touch_kernels(gcut_program *p, const gcut_lowered *h)
{
    for (uint32_t i = 0; i < h->order.n; i++) {
        const gcut_kernel *u = &h->kernels.at[h->order.at[i]];
        touch_kernel(p, h, h->order.at[i], u->step);
        touch_kernel(p, h, h->order.at[i], u->end - 1);
        if (i == 0 || !gcut_is_epilogue(h, h->order.at[i - 1], h->order.at[i])) continue;
        touch_kernel(p, h, h->order.at[i], u->step - 1);
        touch_kernel(p, h, h->order.at[i - 1], u->step);
    }
}

/* Steps of the timeline from `first` on; returns the one after the last.  A body's kernels take the steps
 * after their owner's. */
static int number_steps(gcut_program *p, gcut_lowered *h, int first)
{
    int step = first;
    for (uint32_t i = 0; i < h->order.n; i++) {
        gcut_kernel *u = &h->kernels.at[h->order.at[i]];
        u->step = step++;
        for (uint32_t k = 0; u->kind == GCUT_KERNEL_REGION && k < u->region.bodies.n; k++)
            step = number_steps(p, p->lowered.at[u->region.bodies.at[k]], step);
        u->end = step;
    }
    h->first = first;
    h->end = step;
    touch_kernels(p, h);
    return step;
}

/* Saved values cross into the backward graph, those too that a constraint saves and no kernel reads there. */
static void touch_saved(gcut_program *p)
{
    const gcut_lowered *backward = p->lowered.at[GCUT_BACKWARD];
    if (!backward->g || backward->first == backward->end) return;
    for (uint32_t b = 0; b < p->buffers.n; b++)
        if (p->buffers.at[b].saved && p->buffers.at[b].birth >= 0) touch(p, b, backward->first);
}

void gcut_find_live_ranges(gcut_program *p)
{
    int step = 0;
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++)
        if (p->lowered.at[k]->g) step = number_steps(p, p->lowered.at[k], step);
    touch_saved(p);
}
