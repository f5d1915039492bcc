/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For tests of derivatives: a gradient as the next loss; directions as further
 * inputs and inner products as results, for derivatives within one graph.
 */
#ifndef GCUT_TESTS_MODES_H
#define GCUT_TESTS_MODES_H

#include "oracle.h"

/* Sum over all gradients of <gradient, direction>. */
static inline double inner(const gcut_graph *joint, const gcut_array *out, const gcut_array *dir)
{
    double sum = 0;
    for (uint32_t r = 0; r < joint->results.n; r++)
        if (joint->results.at[r].role == GCUT_ROLE_grad)
            sum += dot(&out[r], &dir[find_param(joint, joint->results.at[r].name)]);
    return sum;
}

/* The joint graph as a primal whose loss is the sum of all gradients, each against a fixed direction. */
static inline gcut_graph *gradient_as_loss(gcut_graph *joint)
{
    gcut_build b = {.g = joint};
    gcut_ref total = 0;
    uint32_t n = joint->results.n;
    for (uint32_t r = 0; r < n; r++) {
        if (joint->results.at[r].role != GCUT_ROLE_grad) continue;
        gcut_ref g = joint->results.at[r].value;
        gcut_type t = *gcut_type_of(joint, g);
        gcut_ref c = gcut_b1(&b, GCUT_OP_cos, g); /* makes the sum depend on the gradient's size, too */
        gcut_ref part = t.rank ? gcut_breduce(&b, GCUT_OP_sum, c, (1u << t.rank) - 1) : c;
        part = gcut_bconvert(&b, part, GCUT_F64);
        total = total ? gcut_b2(&b, GCUT_OP_add, total, part) : part;
    }
    joint->results.n = 0;
    gcut_result_new(joint, GCUT_ROLE_out, "loss", total);
    return joint;
}

/* The value that the sample's loss weighs with %t: it is read by the only node that reads %t. */
static inline gcut_ref weighed(const gcut_graph *g)
{
    gcut_ref t = gcut_graph_find(g, "t");
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (g->nodes.at[n].nargs == 2 && gcut_arg(g, &g->nodes.at[n], 1) == t)
            return gcut_arg(g, &g->nodes.at[n], 0);
    fail_msg("nothing reads %%t");
    return 0;
}

/* An `input dir.w` for every param w that moves; x, v: those and their directions. */
static inline uint32_t add_directions(gcut_graph *g, gcut_arena *a, gcut_ref *x, gcut_ref *v)
{
    uint32_t n = 0, np = g->params.n;
    for (uint32_t k = 0; k < np; k++) {
        gcut_ref w = g->params.at[k].value;
        gcut_type t = *gcut_type_of(g, w);
        if (g->params.at[k].role != GCUT_ROLE_param) continue;
        x[n] = w;
        v[n++] = gcut_param_new(g, GCUT_ROLE_input, gcut_printf(a, "dir.%s", g->values.at[w].name), &t);
    }
    return n;
}

/* result name: the sum over k of <a[k], b[k]>, 0 = nothing */
static inline void add_inner(gcut_graph *g, const char *name, const gcut_ref *p, const gcut_ref *q,
                             uint32_t n)
{
    gcut_build b = {.g = g};
    gcut_type scalar = {.dtype = GCUT_F64};
    gcut_ref total = gcut_bfull(&b, &scalar, 0);
    for (uint32_t k = 0; k < n; k++) {
        if (!p[k] || !q[k]) continue;
        uint8_t rank = gcut_type_of(g, p[k])->rank;
        gcut_ref part = gcut_b2(&b, GCUT_OP_mul, p[k], q[k]);
        if (rank) part = gcut_breduce(&b, GCUT_OP_sum, part, (1u << rank) - 1);
        total = gcut_b2(&b, GCUT_OP_add, total, gcut_bconvert(&b, part, GCUT_F64));
    }
    gcut_result_new(g, GCUT_ROLE_out, name, total);
}

/* at, then for the inputs that add_directions added `dir`, or zeros */
static inline gcut_array *with_directions(gcut_arena *a, const gcut_graph *g, uint32_t n,
                                          const gcut_array *at, const gcut_array *dir)
{
    gcut_array *p = gcut_calloc(a, g->params.n + 1u, sizeof *p);
    for (uint32_t k = 0, next = n; k < n; k++) {
        p[k] = at[k];
        if (g->params.at[k].role != GCUT_ROLE_param) continue;
        p[next++] = dir ? dir[k] : gcut_array_new(a, at[k].dtype, at[k].rank, at[k].dim);
    }
    return p;
}

#endif
