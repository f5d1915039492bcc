/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What attention and its derivative need besides their operands: workspace, threads.
 */
#include "gradcut/gradcut_rt.h"
#include "kernels/lower/team.h"

typedef struct sizes {
    gcut_dim b, h, g, t, s, d, e;
} sizes;

static sizes sizes_of(const gcut_graph *g, const gcut_node *n)
{
    const gcut_type *q = gcut_type_of(g, gcut_arg(g, n, 0)), *v = gcut_type_of(g, gcut_arg(g, n, 2));
    return (sizes){q->dim[0], q->dim[1], v->dim[1], q->dim[2], v->dim[2], q->dim[3], v->dim[3]};
}

static gcut_dim make(const gcut_lowered *h, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(h->g->module->dims, op, a, b);
}

static gcut_dim padded(const gcut_lowered *h, gcut_dim n)
{
    return make(h, GCUT_DIM_MUL, make(h, GCUT_DIM_CEILDIV, n, GCUT_RT_ATTENTION_PAD), GCUT_RT_ATTENTION_PAD);
}

static gcut_dim add(const gcut_lowered *h, gcut_dim a, gcut_dim b)
{
    return make(h, GCUT_DIM_ADD, a, b);
}

/* The sum that gradcut_rt.h states. */
gcut_dim gcut_attention_workspace(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    bool grad = u->kind == GCUT_KERNEL_ATTENTION_GRAD;
    sizes x = sizes_of(h->g, n);
    gcut_dim rows = make(h, GCUT_DIM_MIN, x.t, GCUT_RT_ATTENTION_ROWS);
    gcut_dim keys = add(h, x.d, rows), all;
    if (grad) keys = add(h, keys, add(h, x.e, rows));
    all = add(h, make(h, GCUT_DIM_MUL, padded(h, x.s), keys),
              make(h, GCUT_DIM_MUL, x.s, padded(h, grad ? x.d : x.e)));
    if (grad) all = add(h, all, make(h, GCUT_DIM_MUL, rows, add(h, padded(h, x.d), padded(h, x.e))));
    return make(h, GCUT_DIM_MUL, all, gcut_dtype_bytes(gcut_type_of(h->g, n->res0)->dtype));
}

/* Forward there is work for each block of queries of each head, backward for each group.  Scores and values
 * take d + e multiply-adds per pair of query and key, the derivative 3 d + 2 e. */
gcut_team gcut_attention_team(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    bool grad = u->kind == GCUT_KERNEL_ATTENTION_GRAD;
    sizes x = sizes_of(h->g, gcut_node_at(h->g, u->nodes.at[0]));
    gcut_dim pairs = make(h, GCUT_DIM_MUL, make(h, GCUT_DIM_MUL, x.b, x.h), make(h, GCUT_DIM_MUL, x.t, x.s));
    gcut_dim blocks = make(h, GCUT_DIM_CEILDIV, x.t, GCUT_RT_ATTENTION_ROWS);
    gcut_dim each = make(h, GCUT_DIM_ADD, make(h, GCUT_DIM_MUL, x.d, grad ? 3 : 1),
                         make(h, GCUT_DIM_MUL, x.e, grad ? 2 : 1));
    gcut_dim most = make(h, GCUT_DIM_MUL, x.b, grad ? x.g : make(h, GCUT_DIM_MUL, x.h, blocks));
    return (gcut_team){.n = make(h, GCUT_DIM_MUL, pairs, each), .rows = most, .ps = GCUT_MADD_PS};
}

gcut_team gcut_kernel_team(const gcut_lowered *h, uint32_t kernel)
{
    return h->kernels.at[kernel].kind == GCUT_KERNEL_LOOP ? gcut_loop_team(h, kernel)
                                                          : gcut_attention_team(h, kernel);
}
