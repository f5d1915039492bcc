/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reasons by operand of the graph.
 */
#include "kernels/lower/fusion/reason.h"

#include "kernels/lower/memory/place.h"

static const struct {
    const char *name, *sentence;
} reasons[] = {
#define REASON(id, sentence) [GCUT_REASON_##id] = {#id, sentence},
#include "kernels/lower/fusion/reasons.def"
#undef REASON
};

const char *gcut_reason_name(gcut_reason r)
{
    return reasons[r].name;
}

const char *gcut_reason_sentence(gcut_reason r)
{
    return reasons[r].sentence;
}

void gcut_set_reason(gcut_lowered *h, uint32_t node, uint32_t k, gcut_reason r)
{
    h->reason[gcut_node_at(h->g, node)->arg0 + k] = (uint8_t)r;
}

/* The kernel that a node is in, GCUT_NONE for views, constants and iotas. */
static uint32_t kernel_of_node(const gcut_lowered *h, const gcut_node *n)
{
    return n->nres && h->view[n->res0].root ? h->kernel_of[n->res0] : GCUT_NONE;
}

bool gcut_is_pair(const gcut_lowered *h, uint32_t node, uint32_t k)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    return kernel_of_node(h, n) != GCUT_NONE && gcut_kernel_source(h, gcut_arg(h->g, n, k)) != GCUT_NONE;
}

gcut_reason gcut_reason_of(const gcut_lowered *h, uint32_t node, uint32_t k)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    const uint32_t to = kernel_of_node(h, n), from = gcut_kernel_source(h, gcut_arg(h->g, n, k));
    const gcut_kernel *u = &h->kernels.at[to];
    if (from == to || (u->kind == GCUT_KERNEL_LOOP && u->loop.product == from)) return GCUT_REASON_fused;
    if (gcut_concat_has(h, to, k)) return GCUT_REASON_fused;
    return (gcut_reason)h->reason[n->arg0 + k];
}

void gcut_set_memory_reason(gcut_lowered *h, gcut_ref v, gcut_reason r)
{
    h->memory_reason[v] = (uint8_t)r;
}

gcut_reason gcut_memory_reason_of(const gcut_lowered *h, gcut_ref v)
{
    return (gcut_reason)h->memory_reason[v];
}
