/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The number of multiply-adds of a contraction, by the rule in the cost column of ops.def.
 */
#include "graph/ops/node_facts.h"

static void times(gcut_madds *m, const gcut_type *t, uint32_t begin, uint32_t end)
{
    for (uint32_t d = begin; d < end; d++) m->dim[m->n++] = t->dim[d];
}

static const gcut_type *operand(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    return gcut_type_of(g, gcut_arg(g, n, k));
}

/* one for each element of the result and each index of the contracted axis */
gcut_madds gcut_madds_matmul(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = {.times = 1};
    const gcut_type *a = operand(g, n, 0), *y = gcut_type_of(g, n->res0);
    uint32_t k = a->rank - (gcut_attr_flag(g, n, GCUT_KEY_ta) ? 2u : 1u);
    times(&m, y, 0, y->rank);
    times(&m, a, k, k + 1);
    return m;
}

/* q k' and P v; backward q k' (recomputed), dS k and dS' q, and dy v' and P' dy: T * S * D or T * S * E
 * for each head, where S * D and S * E are added up; causal masking halves it */
gcut_madds gcut_madds_attention(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = {.times = gcut_attr_flag(g, n, GCUT_KEY_causal) ? 0.5 : 1};
    const gcut_type *q = operand(g, n, 0), *v = operand(g, n, 2);
    gcut_dims *ds = g->module->dims;
    bool grad = n->op == GCUT_OP_attention_grad;
    gcut_dim d = gcut_dim_make(ds, GCUT_DIM_MUL, q->dim[3], grad ? 3 : 1);
    gcut_dim e = gcut_dim_make(ds, GCUT_DIM_MUL, v->dim[3], grad ? 2 : 1);
    times(&m, q, 0, 3);
    times(&m, v, 2, 3);
    m.dim[m.n++] = gcut_dim_make(ds, GCUT_DIM_ADD, d, e);
    return m;
}

/* one for each element of y and each element of w that reaches it: C/groups * KH * KW of them.  y is the
 * result of a convolution and the first operand of its transpose in x; w is the second operand of both. */
gcut_madds gcut_madds_conv2d(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = {.times = 1};
    const bool has_y = n->op == GCUT_OP_conv2d || n->op == GCUT_OP_conv_nd;
    const gcut_type *y = has_y ? gcut_type_of(g, n->res0) : operand(g, n, 0);
    times(&m, y, 0, y->rank);
    times(&m, operand(g, n, 1), 1, y->rank);
    return m;
}

/* the same, with y the second operand and w the result */
gcut_madds gcut_madds_conv2d_weight(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = {.times = 1};
    times(&m, operand(g, n, 1), 0, 4);
    times(&m, gcut_type_of(g, n->res0), 1, 4);
    return m;
}

/* For each time and row: every element of wx and of wh, the operands after the states. */
gcut_madds gcut_madds_recurrent(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = {.times = 1};
    const gcut_type *wx = operand(g, n, n->nargs - 4u), *wh = operand(g, n, n->nargs - 3u);
    times(&m, operand(g, n, 0), 0, 2);
    times(&m, wx, 0, 1);
    m.dim[m.n++] = gcut_dim_make(g->module->dims, GCUT_DIM_ADD, wx->dim[1], wh->dim[1]);
    return m;
}

gcut_dim gcut_node_madds(const gcut_graph *g, const gcut_node *n)
{
    gcut_madds m = gcut_op_get((gcut_op)n->op)->madds(g, n);
    gcut_dim all = 1;
    for (uint32_t i = 0; i < m.n; i++) all = gcut_dim_make(g->module->dims, GCUT_DIM_MUL, all, m.dim[i]);
    return all;
}

double gcut_node_flops(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat)
{
    gcut_madds_fn *madds = gcut_op_get((gcut_op)n->op)->madds;
    if (!madds) return 0;
    gcut_madds m = madds(g, n);
    double flops = 2 * m.times;
    for (uint32_t i = 0; i < m.n; i++)
        flops *= (double)gcut_dim_at(g->module->dims, m.dim[i], at, nat, gcut_loc_place(g->module, n->loc));
    return flops;
}
