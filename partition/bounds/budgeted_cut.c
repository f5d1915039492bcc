/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A Lagrangian relaxation, one multiplier, and branch and bound on top of it.
 */
#include "partition/bounds/budgeted_cut.h"

#include <math.h>
#include <string.h>

#define NO_ARC UINT32_MAX

/* A part of the solutions: what is decided of some values. */
typedef struct branch {
    double bound;    /* of every solution of it */
    uint32_t split;  /* the arc of the value to decide next; NO_ARC: nothing to gain */
    uint32_t parent; /* 1 + index of the branch it is a part of; 0: of none */
    uint32_t arc;    /* what it decides beyond that */
    bool kept;
    bool done;
} branch;

typedef GCUT_VEC(branch) branches;

/* The bytes that both cuts treat differently: the largest such save. */
static uint32_t largest_difference(const gcut_network *net, const gcut_cut *x, const gcut_cut *y)
{
    uint32_t best = NO_ARC;
    for (uint32_t i = 0; i < net->arcs.n; i++) {
        const gcut_arc *a = &net->arcs.at[i];
        if (a->kind != GCUT_ARC_SAVE || a->bytes == 0) continue;
        const bool in_x = x->source_side[a->from] && !x->source_side[a->to],
                   in_y = y->source_side[a->from] && !y->source_side[a->to];
        if (in_x != in_y && (best == NO_ARC || a->bytes > net->arcs.at[best].bytes)) best = i;
    }
    return best;
}

/* The maximum over lambda of (minimum cut at lambda - lambda * room), a concave function: between two cuts whose
 * bytes are above and below the room, it is at most where their lines meet.  Sets b->bound and b->split; *reached:
 * the cost of a solution within the room.  Tells of both cuts, each with the weight with which
 * they fill the room together. */
static void relax(gcut_budgeted_cut *s, gcut_network *net, int64_t room, branch *b, double *reached)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    b->split = NO_ARC;
    b->bound = INFINITY;
    s->solved += s->size;
    gcut_network_at(net, 0);
    if (room >= 0 && gcut_network_feasible(net, a)) {
        gcut_cut high_cut = gcut_solve(net, a), low_cut = high_cut;
        gcut_cut_sums high = gcut_network_cut(net, high_cut.source_side), low = high;
        b->bound = high_cut.lower_bound;
        if (high.bytes > room) {
            low_cut = gcut_solve_smallest(net, a);
            low = gcut_network_cut(net, low_cut.source_side);
            if (low_cut.lower_bound > (double)room) b->bound = INFINITY;
        }
        while (low.bytes <= room && low.bytes < high.bytes && high.bytes > room && s->solved < s->most) {
            const double lambda = (low.fixed - high.fixed) / (double)(high.bytes - low.bytes),
                         all = lambda * (double)room;
            if (!(lambda > 0)) break;
            gcut_network_at(net, lambda);
            const gcut_cut cut = gcut_solve(net, a);
            const gcut_cut_sums x = gcut_network_cut(net, cut.source_side);
            s->solved += s->size;
            b->bound = fmax(b->bound, cut.lower_bound - all - 0x1p-49 * (cut.lower_bound + all));
            if (!(x.fixed + lambda * (double)x.bytes < (low.fixed + lambda * (double)low.bytes) * (1 - 1e-9)))
                break;
            if (x.bytes > room)
                high = x, high_cut = cut;
            else
                low = x, low_cut = cut;
        }
        if (low.bytes <= room) *reached = low.fixed;
        const double above = (double)(high.bytes - room), between = (double)(high.bytes - low.bytes),
                     less = between > 0 ? fmin(1, fmax(0, above / between)) : 0;
        if (s->tell && less > 0) s->tell(s->user, net, &low_cut, less);
        if (s->tell && less < 1) s->tell(s->user, net, &high_cut, 1 - less);
        if (isfinite(b->bound)) b->split = largest_difference(net, &low_cut, &high_cut);
    }
    gcut_arena_free(a);
}

/* Sets the prices of what the branch and those above it decide: what is kept is paid for and takes room, what is not
 * must not be kept.  Returns what is paid. */
static double decide(gcut_network *net, const branches *all, const branch *b, int64_t *room)
{
    double paid = 0;
    for (; b->parent; b = &all->at[b->parent - 1]) {
        gcut_arc *x = &net->arcs.at[b->arc];
        if (b->kept) paid += x->fixed, *room -= x->bytes;
        x->fixed = b->kept ? 0 : INFINITY;
        x->bytes = 0;
    }
    return paid;
}

/* Branch and bound: the part with the lowest bound is divided by one value, kept or not. */
double gcut_budgeted_cut_bound(gcut_budgeted_cut *s, gcut_network *net, int64_t room)
{
    const size_t size = net->arcs.n * sizeof *net->arcs.at;
    gcut_arena *a = gcut_arena_new(gcut_arena_env(s->arena), s->arena);
    const gcut_arc *arcs = gcut_memdup(a, net->arcs.at, size);
    branches all = {0};
    double reached = INFINITY, best;
    branch *root = GCUT_PUSH(a, &all);
    *root = (branch){.parent = 0};
    relax(s, net, room, root, &reached);
    for (;;) {
        uint32_t at = NO_ARC;
        for (uint32_t i = 0; i < all.n; i++)
            if (!all.at[i].done && (at == NO_ARC || all.at[i].bound < all.at[at].bound)) at = i;
        best = fmin(all.at[at].bound, reached);
        if (all.at[at].split == NO_ARC || all.at[at].bound >= reached) break;
        if (all.n >= s->branches || s->solved >= s->most) break;
        all.at[at].done = true;
        for (int kept = 0; kept < 2; kept++) {
            branch b = {.parent = at + 1, .arc = all.at[at].split, .kept = kept};
            int64_t left = room;
            double cost = INFINITY;
            memcpy(net->arcs.at, arcs, size);
            const double paid = decide(net, &all, &b, &left);
            relax(s, net, left, &b, &cost);
            b.bound = fmax(b.bound + paid, all.at[at].bound);
            reached = fmin(reached, cost + paid);
            *GCUT_PUSH(a, &all) = b;
        }
    }
    gcut_arena_free(a);
    return best;
}
