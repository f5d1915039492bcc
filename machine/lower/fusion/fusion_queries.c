/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is asked about fusion: the ops of each launch, and the pairs of a value and a reader that two launches have.
 */
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/memory/concat.h"

const gcut_reason_words gcut_reasons[GCUT_NREASONS] = {
#define REASON(id, sentence) [GCUT_REASON_##id] = {#id, sentence},
#include "machine/lower/fusion/reasons.def"
#undef REASON
};

/* ---- ops ---- */

typedef struct collecting {
    const gcut_program *p;
    gcut_arena *a;
    const int *launch; /* by step */
    GCUT_VEC(gcut_launch_op) ops;
    GCUT_VEC(gcut_launch_pair) pairs;
} collecting;

static void add_op(collecting *c, const gcut_lowered *h, const gcut_kernel *u, uint32_t node,
                   gcut_fused_part part)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    bool stored = false;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
        const gcut_ref root = h->view[v].root;
        stored |= root && h->buffer[root] != GCUT_NONE;
    }
    *GCUT_PUSH(c->a, &c->ops) = (gcut_launch_op){.launch = c->launch[u->step],
                                                 .graph = h->g,
                                                 .node = node,
                                                 .part = part,
                                                 .stored = stored && part != GCUT_FUSED_PROLOGUE};
}

static void add_ops(collecting *c, const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_prologue *x = gcut_kernel_prologue(u);
    if (u->kind == GCUT_KERNEL_COPY || gcut_kernel_is_idle(h, kernel)) return;
    for (uint32_t i = 0; x && i < x->loop.nodes.n; i++)
        add_op(c, h, u, x->loop.nodes.at[i], GCUT_FUSED_PROLOGUE);
    for (uint32_t i = 0; i < u->nodes.n; i++)
        add_op(c, h, u, u->nodes.at[i],
               gcut_kernel_sums(u) && i > 0                                  ? GCUT_FUSED_SUM
               : u->kind == GCUT_KERNEL_LOOP && u->loop.product != GCUT_NONE ? GCUT_FUSED_EPILOGUE
                                                                             : GCUT_FUSED_MAIN);
}

/* ---- pairs ---- */

/* The kernel that a node is in, GCUT_NONE for views, constants and iotas. */
static uint32_t kernel_of(const gcut_lowered *h, const gcut_node *n)
{
    return n->nres && h->view[n->res0].root ? h->kernel_of[n->res0] : GCUT_NONE;
}

static void add_pair(collecting *c, const gcut_lowered *h, uint32_t node, uint32_t k)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    const gcut_ref x = gcut_arg(h->g, n, k), root = h->view[x].root;
    const uint32_t to = kernel_of(h, n), from = gcut_kernel_source(h, x);
    if (to == GCUT_NONE || from == GCUT_NONE) return;
    const int made = c->launch[h->kernels.at[from].step], read = c->launch[h->kernels.at[to].step];
    if (made == read || gcut_concat_has(h, to, k)) return;
    *GCUT_PUSH(c->a, &c->pairs) = (gcut_launch_pair){.graph = h->g,
                                                     .value = root,
                                                     .node = node,
                                                     .from = made,
                                                     .to = read,
                                                     .buffer = h->buffer[root],
                                                     .reason = &gcut_reasons[h->reason[n->arg0 + k]]};
}

gcut_launches gcut_program_fusions(const gcut_program *p, gcut_arena *a)
{
    int steps;
    collecting c = {.p = p, .a = a, .launch = gcut_program_launches(p, a, &steps)};
    for (uint32_t i = 0; i < p->lowered.n; i++) {
        const gcut_lowered *h = p->lowered.at[i];
        for (uint32_t k = 0; h->g && k < h->order.n; k++) add_ops(&c, h, h->order.at[k]);
        for (uint32_t node = 0; h->g && node < h->g->nodes.n; node++)
            for (uint32_t k = 0; k < gcut_node_at(h->g, node)->nargs; k++) add_pair(&c, h, node, k);
    }
    return (gcut_launches){c.ops.at, c.ops.n, c.pairs.at, c.pairs.n};
}
