/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many threads a loop, attention and a sort are worth.
 */
#include "machine/lower/team.h"

#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/epilogue.h"

static int64_t cost_of(const gcut_lowered *h, const gcut_kernel *u)
{
    int64_t ps = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++)
        ps += gcut_op_ps(h, gcut_node_at(h->g, u->nodes.at[i])) + h->thresholds->ps[GCUT_THRESHOLD_shared];
    return ps;
}

static gcut_team loop_team(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    gcut_team c = {.n = u->loop.numel, .rows = u->loop.rows, .ps = cost_of(h, u), .most = GCUT_DIM_MAX};
    if (u->loop.blocked) c.most = GCUT_BLOCKS;
    if (u->loop.product == GCUT_NONE) return c;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[u->loop.product].nodes.at[0]);
    c.rule = gcut_takes_columns(h, kernel) ? GCUT_TEAM_TILES : GCUT_TEAM_EPILOGUE;
    const gcut_type *a = gcut_type_of(h->g, gcut_arg(h->g, n, 0));
    c.k = a->dim[a->rank - (gcut_attr_flag(h->g, n, GCUT_KEY_ta) ? 2 : 1)];
    return c;
}

/* Forward there is work for each block of queries of each head, backward for each group.  Scores and values
 * take d + e multiply-adds per pair of query and key, the derivative 3 d + 2 e. */
static gcut_team attention_team(const gcut_lowered *h, uint32_t kernel)
{
    gcut_module *m = h->g->module;
    const bool grad = h->kernels.at[kernel].kind == GCUT_KERNEL_ATTENTION_GRAD;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    const gcut_dim *q = gcut_type_of(h->g, gcut_arg(h->g, n, 0))->dim;
    const gcut_dim *v = gcut_type_of(h->g, gcut_arg(h->g, n, 2))->dim;
    gcut_dim pairs = gcut_dim_times(m, gcut_dim_times(m, q[0], q[1]), gcut_dim_times(m, q[2], v[2]));
    gcut_dim each = gcut_dim_make(m->dims, GCUT_DIM_ADD, gcut_dim_times(m, q[3], grad ? 3 : 1),
                                  gcut_dim_times(m, v[3], grad ? 2 : 1));
    gcut_dim blocks = gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, q[2], GCUT_RT_ATTENTION_ROWS);
    gcut_dim most = gcut_dim_times(m, q[0], grad ? v[1] : gcut_dim_times(m, q[1], blocks));
    return (gcut_team){
        .n = gcut_dim_times(m, pairs, each), .rows = most, .ps = GCUT_RT_MADD_PS, .most = GCUT_DIM_MAX};
}

/* Threads share the lines along the axis. */
static gcut_team argsort_team(const gcut_lowered *h, uint32_t kernel)
{
    gcut_module *m = h->g->module;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    const gcut_type *t = gcut_type_of(h->g, n->res0);
    const uint32_t axis = (uint32_t)gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim;
    const gcut_dim outer = gcut_dim_product(m, t->dim, axis),
                   inner = gcut_dim_product(m, t->dim + axis + 1, t->rank - axis - 1);
    return (gcut_team){.n = gcut_type_numel(m, t),
                       .rows = gcut_dim_times(m, outer, inner),
                       .ps = gcut_op_ps(h, n),
                       .most = GCUT_DIM_MAX};
}

bool gcut_kernel_has_team(gcut_kernel_kind kind)
{
    return kind == GCUT_KERNEL_LOOP || kind == GCUT_KERNEL_ATTENTION || kind == GCUT_KERNEL_ATTENTION_GRAD ||
           kind == GCUT_KERNEL_ARGSORT;
}

gcut_team gcut_kernel_team(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel_kind kind = h->kernels.at[kernel].kind;
    if (kind == GCUT_KERNEL_LOOP) return loop_team(h, kernel);
    return kind == GCUT_KERNEL_ARGSORT ? argsort_team(h, kernel) : attention_team(h, kernel);
}

static int64_t size_at(const gcut_module *m, gcut_dim d, const gcut_dim_binding *at, uint32_t nat)
{
    return gcut_dim_at(m->dims, d, at, nat, (gcut_place){.file = m->file});
}

int gcut_team_at(gcut_module *m, const gcut_team *c, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    int64_t n = size_at(m, c->n, at, nat), rows = size_at(m, c->rows, at, nat);
    int64_t tiled_ps = c->ps + GCUT_RT_MADD_PS * size_at(m, c->k, at, nat);
    switch (c->rule) {
    case GCUT_TEAM_TILES: return gcut_rt_worth(threads, n, tiled_ps);
    case GCUT_TEAM_EPILOGUE: return gcut_rt_epilogue_threads(threads, n, c->ps, rows, tiled_ps);
    case GCUT_TEAM_ROWS: break;
    }
    return gcut_rt_threads_worth(threads, n, c->ps, gcut_rt_min(rows, c->most));
}
