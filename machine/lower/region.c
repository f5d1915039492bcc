/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Regions: what the parameters and results of a body are in the graph around it.
 *
 *   carry       lives in the memory of the node's result from its initial copy on, and is updated in place
 *   x of scan   a part of its operand, read where that is
 *   captured    the operand itself, with its strides
 *   y of scan   a part of the node's result, whose axis is outermost in memory
 *   `if`        both bodies write the node's results
 *   condition   a bool of its own
 */
#include "machine/lower/region.h"

#include "machine/lower/memory/buffers.h"
#include "machine/lower/memory/updates_in_place.h"

static const gcut_node *node_of(const gcut_lowered *h, uint32_t kernel)
{
    return gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
}

gcut_region_shape gcut_region_shape_of(const gcut_graph *g, const gcut_node *n)
{
    uint32_t own = n->nargs - n->ncaptured;
    if (n->op == GCUT_OP_if) return (gcut_region_shape){.test = own};
    uint32_t carries = gcut_node_carries(g, n);
    return (gcut_region_shape){.carries = carries, .xs = own - carries};
}

static uint32_t axis_of(const gcut_graph *g, const gcut_node *n)
{
    return (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim;
}

void gcut_region_views(gcut_lowered *h, const gcut_node *n)
{
    if (n->op != GCUT_OP_scan) return;
    uint32_t axis = axis_of(h->g, n);
    for (uint32_t k = gcut_region_shape_of(h->g, n).carries; k < n->nres; k++) {
        const gcut_type *t = gcut_type_of(h->g, n->res0 + k);
        gcut_view *v = &h->view[n->res0 + k];
        gcut_dim s = 1;
        for (uint32_t d = t->rank; d-- > 0;) {
            if (d == axis) continue;
            v->stride[d] = s;
            s = gcut_dim_times(h->g->module, s, t->dim[d]);
        }
        v->stride[axis] = s;
    }
}

void gcut_region_carries(gcut_program *p, gcut_lowered *h)
{
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        if (h->kernels.at[u].kind != GCUT_KERNEL_REGION) continue;
        const gcut_node *n = node_of(h, u);
        uint32_t carries = gcut_region_shape_of(h->g, n).carries;
        for (uint32_t k = 0; k < n->nres; k++) gcut_store_in_arena(p, h, n->res0 + k);
        for (uint32_t k = 0; k < carries; k++)
            h->kernels.at[h->kernels.at[u].operand_copy[k]].copy.to = h->buffer[n->res0 + k];
    }
}

/* Part i of a buffer, for iteration i of the body. */
static uint32_t part(gcut_program *p, const gcut_lowered *body, uint32_t whole, gcut_ref v, gcut_dim start,
                     gcut_dim step)
{
    const gcut_type *t = gcut_type_of(body->g, v);
    const uint32_t b = gcut_buffer_new(p, GCUT_BUFFER_PART, t->dtype, gcut_type_numel(p->module, t),
                                       body->g->values.at[v].name);
    gcut_buffer *out = &p->buffers.at[b];
    out->whole = whole;
    out->start = start;
    out->step = step;
    out->graph = body->index;
    return b;
}

/* Where operand k of the region is. */
static gcut_view operand(const gcut_lowered *h, uint32_t kernel, uint32_t k, uint32_t *buffer)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    gcut_ref v = gcut_arg(h->g, node_of(h, kernel), k);
    uint32_t copy = u->operand_copy[k];
    if (copy != GCUT_NONE) {
        *buffer = h->kernels.at[copy].copy.to;
        return gcut_view_contiguous(h->g->module, gcut_type_of(h->g, v), v);
    }
    *buffer = h->buffer[h->view[v].root];
    return h->view[v];
}

/* The view of parameter v, a part along `axis` of what `whole` views. */
static gcut_view without_axis(const gcut_lowered *body, gcut_ref v, const gcut_view *whole, uint32_t axis)
{
    gcut_view out = {.root = v};
    for (uint32_t d = 0; d < gcut_type_of(body->g, v)->rank; d++)
        out.stride[d] = whole->stride[d < axis ? d : d + 1];
    return out;
}

void gcut_region_params(gcut_program *p, gcut_lowered *body)
{
    gcut_lowered *h = p->lowered.at[body->parent];
    const gcut_node *n = node_of(h, body->owner);
    gcut_region_shape s = gcut_region_shape_of(h->g, n);
    for (uint32_t i = 0; i < body->g->params.n; i++) {
        gcut_ref v = body->g->params.at[i].value;
        uint32_t buffer, k = s.test + i;
        gcut_view w = operand(h, body->owner, k, &buffer);
        if (k >= s.carries && k < s.carries + s.xs) {
            uint32_t axis = axis_of(h->g, n);
            body->view[v] = without_axis(body, v, &w, axis);
            body->buffer[v] = part(p, body, buffer, v, w.offset, w.stride[axis]);
        } else {
            body->view[v] = w;
            body->view[v].root = v;
            body->buffer[v] = buffer;
        }
    }
}

void gcut_region_results(gcut_program *p, gcut_lowered *body)
{
    gcut_lowered *h = p->lowered.at[body->parent];
    const gcut_node *n = node_of(h, body->owner);
    gcut_graph *g = body->g;
    if (n->op == GCUT_OP_while && body->region == 0) {
        body->saved = gcut_calloc(p->module->arena, 1, sizeof *body->saved);
        body->saved[0] = gcut_buffer_new(p, GCUT_BUFFER_ARENA, GCUT_BOOL, 1, "condition");
        gcut_store_in(body, g->results.at[0].value, body->saved[0]);
        return;
    }
    uint32_t carries = gcut_region_shape_of(h->g, n).carries;
    gcut_update *u = gcut_calloc(p->module->arena, g->results.n + 1, sizeof *u);
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_ref v = g->results.at[i].value;
        uint32_t to = h->buffer[n->res0 + i];
        if (i < carries)
            u[i] = (gcut_update){v, to};
        else if (n->op == GCUT_OP_scan)
            gcut_store_in(body, v, part(p, body, to, v, 0, gcut_type_numel(p->module, gcut_type_of(g, v))));
        else
            gcut_store_in(body, v, to);
    }
    gcut_store_updates(p, body, u, carries);
}
