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
    gcut_ref *
        crossing; /* by value of the backward graph: where it is in the forward graph; 0: it does not cross */
    const gcut_role *role; /* by root of the present graph */
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

/* By root: the role of a result that is there, of several one that the caller binds; param: none is. */
static const gcut_role *result_roles(const gcut_lowered *h, gcut_arena *a)
{
    gcut_role *role = gcut_calloc(a, h->g->values.n, sizeof *role);
    for (gcut_ref v = 0; v < h->g->values.n; v++) role[v] = GCUT_ROLE_param;
    for (uint32_t i = 0; i < h->g->results.n; i++) {
        gcut_role *at = &role[h->view[h->g->results.at[i].value].root];
        if (*at == GCUT_ROLE_param || *at == GCUT_ROLE_saved) *at = h->g->results.at[i].role;
    }
    return role;
}

/* The buffer that operand k of the node is read from. */
static uint32_t read_buffer(const gcut_lowered *h, uint32_t to, uint32_t k, gcut_ref root)
{
    const uint32_t copy = gcut_kernel_copied(&h->kernels.at[to], k);
    return copy == GCUT_NONE ? h->buffer[root] : h->kernels.at[copy].copy.to;
}

/* Of a saved value that the backward graph reads, its maker in the forward graph. */
static void add_saved_pair(collecting *c, const gcut_lowered *h, uint32_t node, uint32_t k, gcut_ref root)
{
    const gcut_lowered *f = c->p->lowered.at[GCUT_FORWARD];
    const uint32_t to = kernel_of(h, gcut_node_at(h->g, node));
    const gcut_ref made = c->crossing[root];
    const uint32_t from = made ? gcut_kernel_source(f, made) : GCUT_NONE;
    if (from == GCUT_NONE) return;
    *GCUT_PUSH(c->a, &c->pairs) = (gcut_launch_pair){.made = f->g,
                                                     .value = made,
                                                     .graph = h->g,
                                                     .node = node,
                                                     .from = c->launch[f->kernels.at[from].step],
                                                     .to = c->launch[h->kernels.at[to].step],
                                                     .buffer = h->buffer[root],
                                                     .read = read_buffer(h, to, k, root),
                                                     .result = GCUT_ROLE_saved,
                                                     .reason = &gcut_reasons[GCUT_REASON_two_graphs]};
}

static void add_pair(collecting *c, const gcut_lowered *h, uint32_t node, uint32_t k)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    const gcut_ref x = gcut_arg(h->g, n, k), root = h->view[x].root;
    const uint32_t to = kernel_of(h, n), from = gcut_kernel_source(h, x);
    if (to == GCUT_NONE || h->kernels.at[to].kind == GCUT_KERNEL_REGION) return;
    if (from == GCUT_NONE) {
        if (root && h->index == GCUT_BACKWARD && c->crossing[root]) add_saved_pair(c, h, node, k, root);
        return;
    }
    const int made = c->launch[h->kernels.at[from].step], read = c->launch[h->kernels.at[to].step];
    if (made == read || gcut_concat_has(h, to, k)) return;
    *GCUT_PUSH(c->a, &c->pairs) = (gcut_launch_pair){.made = h->g,
                                                     .value = root,
                                                     .graph = h->g,
                                                     .node = node,
                                                     .from = made,
                                                     .to = read,
                                                     .buffer = h->buffer[root],
                                                     .read = read_buffer(h, to, k, root),
                                                     .result = c->role[root],
                                                     .reason = &gcut_reasons[h->reason[n->arg0 + k]]};
}

/* What crosses has one name in both graphs. */
static void find_crossing(collecting *c)
{
    const gcut_lowered *f = c->p->lowered.at[GCUT_FORWARD];
    const gcut_graph *g = c->p->lowered.at[GCUT_BACKWARD]->g;
    c->crossing = gcut_calloc(c->a, (g ? g->values.n : 0) + 1u, sizeof *c->crossing);
    for (uint32_t i = 0; g && i < f->g->results.n; i++) {
        const gcut_result *r = &f->g->results.at[i];
        const gcut_param *x = r->role == GCUT_ROLE_saved ? gcut_param_find(g, r->name) : NULL;
        if (x) c->crossing[x->value] = f->view[r->value].root;
    }
}

gcut_launches gcut_program_fusions(const gcut_program *p, gcut_arena *a)
{
    int steps;
    collecting c = {.p = p, .a = a, .launch = gcut_program_launches(p, a, &steps)};
    find_crossing(&c);
    for (uint32_t i = 0; i < p->lowered.n; i++) {
        const gcut_lowered *h = p->lowered.at[i];
        if (!h->g) continue;
        c.role = result_roles(h, a);
        for (uint32_t k = 0; k < h->order.n; k++) add_ops(&c, h, h->order.at[k]);
        for (uint32_t node = 0; node < h->g->nodes.n; node++)
            for (uint32_t k = 0; k < gcut_node_at(h->g, node)->nargs; k++) add_pair(&c, h, node, k);
    }
    return (gcut_launches){c.ops.at, c.ops.n, c.pairs.at, c.pairs.n};
}
