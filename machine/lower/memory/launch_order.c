/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order in which the kernels of a graph run.
 *
 * in:  L5.   out: L6, the order.   keeps: all else.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/lower.h"

/* The preferred position of a kernel: at its last node; a copy, right after what it copies, and of a
 * parameter before everything, so that it does not come between a product and its epilogue.  One more than
 * the node. */
static uint32_t preferred(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_COPY) return gcut_kernel_result(u) + 1;
    if (u->copy.runs_before != GCUT_NONE) return u->copy.runs_before + 1;
    uint32_t def = h->g->values.at[u->copy.value].def;
    return def == GCUT_NONE ? 0 : def + 2;
}

/* A kernel whose last node comes late must not hold up, and so let others overtake, one that depends on it:
 * it runs no later than the preferred position of its dependents. */
static uint32_t *positions(const gcut_lowered *h, gcut_arena *a)
{
    uint32_t *at = gcut_calloc(a, h->kernels.n + 1, sizeof *at);
    for (uint32_t u = 0; u < h->kernels.n; u++) at[u] = h->kernels.at[u].dead ? 0 : preferred(h, u);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t u = h->kernels.n; u-- > 0;) {
            gcut_cursor cursor = {0};
            for (uint32_t s; !h->kernels.at[u].dead && (s = gcut_kernel_deps(h, u, &cursor)) != GCUT_NONE;)
                if (at[s] > at[u]) at[s] = at[u], changed = true;
        }
    }
    return at;
}

/* The kernels in the order of their preferred positions, and by kernel its rank there. */
typedef struct ranking {
    uint32_t *kernel, *rank, n;
} ranking;

typedef struct preferred_position {
    uint32_t at, kernel;
} preferred_position;

static int earlier_first(const void *x, const void *y)
{
    const preferred_position *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static ranking rank_kernels(const gcut_lowered *h, gcut_arena *a, const uint32_t *at)
{
    const size_t room = (size_t)h->kernels.n + 1;
    ranking r = {gcut_calloc(a, room, sizeof *r.kernel), gcut_calloc(a, room, sizeof *r.rank), 0};
    preferred_position *all = gcut_calloc(a, room, sizeof *all);
    for (uint32_t u = 0; u < h->kernels.n; u++)
        if (!h->kernels.at[u].dead) all[r.n++] = (preferred_position){at[u], u};
    qsort(all, r.n, sizeof *all, earlier_first);
    for (uint32_t i = 0; i < r.n; i++) r.kernel[i] = all[i].kernel, r.rank[all[i].kernel] = i;
    return r;
}

typedef GCUT_VEC(uint32_t) kernel_list;

/* A loop that only sums up, or reduces otherwise, all elements of what no other kernel reads, and is more than the sums
 * of its blocks: each of them has a line. */
static bool consumes(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    int64_t elements;
    bool all = u->kind == GCUT_KERNEL_LOOP &&
               (!gcut_dim_eval(h->g->module->dims, u->loop.numel, h->at, h->nat, &elements) ||
                elements > GCUT_BLOCKS * GCUT_LINE);
    for (uint32_t i = 0; i < u->nodes.n && all; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        all = h->level[n->res0] == GCUT_LEVEL_TOTAL &&
              gcut_only_reader(h, h->view[gcut_arg(h->g, n, 0)].root) == kernel;
    }
    return all;
}

/* Of the kernels whose dependencies have run, the one of the lowest rank is next.  No kernel ranks before one
 * that it depends on, but for ties, so `low`, below which none is ready, hardly ever falls.  What a loop makes
 * for one that consumes it is reduced right after it, while it is in cache, and need not stay. */
void gcut_order_launches(gcut_program *p, gcut_lowered *h)
{
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    const ranking r = rank_kernels(h, a, positions(h, a));
    kernel_list *after = gcut_calloc(a, (size_t)h->kernels.n + 1, sizeof *after);
    uint32_t *waits = gcut_calloc(a, (size_t)h->kernels.n + 1, sizeof *waits), low = 0;
    bool *ran = gcut_calloc(a, (size_t)h->kernels.n + 1, 1);
    for (uint32_t i = 0; i < r.n; i++) {
        gcut_cursor cursor = {0};
        for (uint32_t s; (s = gcut_kernel_deps(h, r.kernel[i], &cursor)) != GCUT_NONE; waits[r.kernel[i]]++)
            *GCUT_PUSH(a, &after[s]) = r.kernel[i];
    }
    for (uint32_t left = r.n, next = GCUT_NONE; left--;) {
        while (low < r.n && (ran[r.kernel[low]] || waits[r.kernel[low]])) low++;
        GCUT_ASSERT(low < r.n); /* L1c */
        const uint32_t best = next != GCUT_NONE ? next : r.kernel[low];
        ran[best] = true;
        next = GCUT_NONE;
        *GCUT_PUSH(p->module->arena, &h->order) = best;
        for (uint32_t k = 0; k < after[best].n; k++) {
            const uint32_t u = after[best].at[k];
            if (--waits[u] != 0) continue;
            if (r.rank[u] < low) low = r.rank[u];
            if (h->kernels.at[best].kind == GCUT_KERNEL_LOOP && consumes(h, u)) next = u;
        }
    }
    gcut_arena_free(a);
}
