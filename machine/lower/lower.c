/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lowering as a whole, and what it tells its callers.
 */
#include "machine/lower/lower.h"

static gcut_lowered *add_graph(gcut_program *p, gcut_graph *g)
{
    gcut_lowered *h = gcut_calloc(p->module->arena, 1, sizeof *h);
    h->index = p->lowered.n;
    h->parent = h->owner = GCUT_NONE;
    h->unfused = p->unfused;
    h->thresholds = &p->thresholds;
    h->at = p->at;
    h->nat = p->nat;
    h->g = g;
    *GCUT_PUSH(p->module->arena, &p->lowered) = h;
    return h;
}

static const struct {
    const char *state;
    void (*lower)(gcut_program *, gcut_lowered *); /* one graph, */
    void (*finish)(gcut_program *);                /* or, once they are in state L8, all of them */
} passes[] = {
    {"L1 fusion groups", gcut_make_fusion_groups, NULL}, {"L2 row sums", gcut_move_row_sums, NULL},
    {"L3 loop columns", gcut_choose_loop_columns, NULL}, {"L4 prologues", gcut_make_prologues, NULL},
    {"L5 buffers", gcut_assign_buffers, NULL},           {"L6 launch order", gcut_order_launches, NULL},
    {"L7 sibling loops", gcut_join_siblings, NULL},      {"L8 epilogues", gcut_make_epilogues, NULL},
    {"L9 live ranges", NULL, gcut_find_live_ranges},     {"L10 shared buffers", NULL, gcut_share_buffers},
};
enum { NPASSES = sizeof passes / sizeof *passes };

static void verify(const gcut_program *p, const gcut_lowered *h, int pass)
{
    if (!p->verifies || !h->g) return;
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    const char *fault = gcut_lowered_fault(p, h, pass + 1, a);
    if (fault) gcut_bug(__FILE__, __LINE__, gcut_printf(a, "%s: %s", passes[pass].state, fault));
    gcut_arena_free(a);
}

/* A graph, then the bodies in it: a body's values are in memory of the graph around it. */
static void lower_graph(gcut_program *p, gcut_lowered *h)
{
    for (int i = 0; i < NPASSES && passes[i].lower; i++) {
        passes[i].lower(p, h);
        verify(p, h, i);
    }
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        gcut_kernel *u = &h->kernels.at[kernel];
        if (u->kind != GCUT_KERNEL_REGION) continue;
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
        for (uint32_t k = 0; k < n->nregs; k++) {
            gcut_lowered *body = add_graph(p, gcut_region_at(h->g, n, k)->body);
            body->parent = h->index;
            body->owner = kernel;
            body->region = k;
            *GCUT_PUSH(p->module->arena, &u->region.bodies) = body->index;
            lower_graph(p, body);
        }
    }
}

gcut_program *gcut_lower(gcut_graph *fwd, gcut_graph *bwd, const gcut_dim_binding *at, uint32_t nat,
                         int threads, const gcut_machine_model *machine, unsigned how)
{
    gcut_module *m = fwd->module;
    gcut_program *p = gcut_calloc(m->arena, 1, sizeof *p);
    p->module = m;
    p->at = at;
    p->nat = nat;
    p->threads = threads;
    p->thresholds = gcut_machine_thresholds(machine);
    p->unfused = how & GCUT_LOWER_UNFUSED;
    p->unjoined = how & GCUT_LOWER_UNJOINED;
    p->apart = bwd && how & GCUT_LOWER_APART;
    p->verifies = how & GCUT_LOWER_VERIFY;
    add_graph(p, fwd);
    add_graph(p, bwd);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++)
        if (p->lowered.at[k]->g) gcut_index_results(p, p->lowered.at[k]);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++)
        if (p->lowered.at[k]->g) lower_graph(p, p->lowered.at[k]);
    for (int i = 0; i < NPASSES; i++) {
        if (!passes[i].finish) continue;
        passes[i].finish(p);
        for (uint32_t k = 0; k < p->lowered.n; k++) verify(p, p->lowered.at[k], i);
    }
    return p;
}

const gcut_binding_info *gcut_program_bindings(const gcut_program *p, uint32_t *n)
{
    *n = p->bindings.n;
    return p->bindings.at;
}

/* Marks a node with its kernel and, of the prologue or epilogue of a product, with that. */
static void mark(const gcut_lowered *h, uint32_t node, gcut_mark_name part, int kernel, int product)
{
    gcut_arena *a = h->g->module->arena;
    gcut_marks *marks = &h->g->nodes.at[node].marks;
    gcut_mark_add(a, marks, (gcut_mark){GCUT_MARK_kernel, 1, {{.i = kernel}}});
    if (part != GCUT_MARK_kernel) gcut_mark_add(a, marks, (gcut_mark){part, 1, {{.i = product}}});
}

void gcut_program_mark(const gcut_program *p)
{
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        for (uint32_t i = 0; h->g && i < h->order.n; i++) {
            const gcut_kernel *u = &h->kernels.at[h->order.at[i]];
            const bool behind = u->kind == GCUT_KERNEL_LOOP && u->loop.product != GCUT_NONE;
            for (uint32_t j = 0; j < u->nodes.n; j++)
                mark(h, u->nodes.at[j], behind ? GCUT_MARK_epilogue : GCUT_MARK_kernel, u->step,
                     behind ? h->kernels.at[u->loop.product].step : 0);
            const gcut_prologue *c = gcut_kernel_prologue(u);
            for (uint32_t j = 0; c && j < c->loop.nodes.n; j++) { /* what the product alone computes */
                const uint32_t node = c->loop.nodes.at[j];
                if (h->kernel_of[gcut_node_at(h->g, node)->res0] == h->order.at[i])
                    mark(h, node, GCUT_MARK_prologue, u->step, u->step);
            }
        }
    }
}
