/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels whose predicted times differ between two steps.  A kernel of one step corresponds to the kernel of the other that
 * is in the same graph, is of the same family and ends in the value of the same name.  A kernel without a corresponding one
 * takes no time in the other step.
 */
#include "driver/inspect/kernel_changes.h"

#include "driver/ctx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct change {
    const gcut_cost *now, *flipped; /* one may be NULL */
} change;
typedef GCUT_VEC(change) changes;

static int order_of(const gcut_cost *x, const gcut_cost *y)
{
    if (x->graph != y->graph) return x->graph < y->graph ? -1 : 1;
    const int names = strcmp(x->value, y->value);
    return names ? names : strcmp(x->class, y->class);
}

static int by_name(const void *x, const void *y)
{
    const gcut_cost *a = *(const gcut_cost *const *)x, *b = *(const gcut_cost *const *)y;
    const int order = order_of(a, b);
    return order ? order : (a->launch > b->launch) - (a->launch < b->launch);
}

static double ns_of(const gcut_cost *c)
{
    return c ? c->ns : 0;
}

static int by_difference(const void *x, const void *y)
{
    const change *a = x, *b = y;
    const double p = fabs(ns_of(a->flipped) - ns_of(a->now)), q = fabs(ns_of(b->flipped) - ns_of(b->now));
    if (p != q) return p > q ? -1 : 1;
    const gcut_cost *of_a = a->now ? a->now : a->flipped, *of_b = b->now ? b->now : b->flipped;
    const int order = by_name(&of_a, &of_b);
    return order ? order : (a->now == NULL) - (b->now == NULL);
}

static const gcut_cost **kernels_of(const gcut_pipeline *p, gcut_arena *a, uint32_t *n)
{
    const gcut_costs c = gcut_program_costs(p->program, p->machine, p->at, p->nat, p->threads, a);
    const gcut_cost **out = gcut_calloc(a, c.n + 1, sizeof *out);
    for (uint32_t i = 0; i < c.n; i++) out[i] = &c.at[i];
    if (c.n) qsort(out, c.n, sizeof *out, by_name);
    *n = c.n;
    return out;
}

static const gcut_kernel_change *describe(const change *x, gcut_arena *keep)
{
    const gcut_cost *c = x->now ? x->now : x->flipped;
    return GCUT_NEW(keep, gcut_kernel_change, .backward = c->graph != 0, .family = c->class,
                    .value = gcut_keep(keep, c->value), .op = c->op, .now_ns = ns_of(x->now),
                    .flipped_ns = ns_of(x->flipped));
}

const gcut_kernel_change *const *gcut_kernel_changes(const gcut_pipeline *now, const gcut_pipeline *flipped,
                                                     gcut_arena *keep, gcut_arena *scratch, size_t *n)
{
    uint32_t nnow, nflipped;
    const gcut_cost **a = kernels_of(now, scratch, &nnow), **b = kernels_of(flipped, scratch, &nflipped);
    changes all = {0};
    for (uint32_t i = 0, k = 0; i < nnow || k < nflipped;) {
        const int order = i == nnow ? 1 : k == nflipped ? -1 : order_of(a[i], b[k]);
        const change x = {order <= 0 ? a[i++] : NULL, order >= 0 ? b[k++] : NULL};
        if (ns_of(x.now) != ns_of(x.flipped)) *GCUT_PUSH(scratch, &all) = x;
    }
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_difference);
    const gcut_kernel_change *const *out;
    GCUT_LIST(keep, out, all.n, describe(&all.at[i], keep));
    *n = all.n;
    return out;
}
