/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How many threads a step's team has: as many as its busiest kernel is worth, found by init.  A step whose
 * kernels all run on one thread has no team, and takes no worker from the pool.
 */

#include "gradcut/gradcut_rt.h"
#include "graph/ops/node_facts.h"
#include "kernels/emit/emit.h"
#include "machine/lower/memory/concat.h"

/* Where the run-time library decides by itself, about what it will say.  In a step without a
 * team, a kernel that wants threads takes a team of its own, so this decides about time alone. */
static const char *estimate(gcut_module *m, const gcut_lowered *h, const gcut_kernel *u)
{
    const gcut_type *t;
    int ps = h->thresholds->ps[GCUT_THRESHOLD_moved];
    gcut_dim n;
    if (u->kind == GCUT_KERNEL_COPY) {
        t = gcut_type_of(h->g, u->copy.value);
        n = gcut_type_numel(m, t);
    } else {
        const gcut_node *node = gcut_node_at(h->g, u->nodes.at[0]);
        t = gcut_type_of(h->g, node->nargs ? gcut_arg(h->g, node, node->nargs - 1) : node->res0);
        n = gcut_type_numel(m, t);
        if (gcut_op_of(node)->madds) n = gcut_node_madds(h->g, node), ps = GCUT_RT_MADD_PS;
    }
    return gcut_printf(m->arena, "gcut_rt_worth(nt, %s, %d)", gcut_c_dim(m, n), ps);
}

const char *gcut_team_c(gcut_module *m, const gcut_team *c, gcut_size_c *size)
{
    bool once = size == gcut_c_size;
    const char *n = once ? gcut_c_named(m, "elements", c->n) : size(m, c->n);
    const char *rows = once ? gcut_c_named(m, "rows", c->rows) : size(m, c->rows);
    const char *tiled_ps =
        c->rule == GCUT_TEAM_ROWS
            ? NULL
            : gcut_printf(m->arena, "%lld + %d * (%s)", (long long)c->ps, GCUT_RT_MADD_PS, size(m, c->k));
    switch (c->rule) {
    case GCUT_TEAM_TILES: return gcut_printf(m->arena, "gcut_rt_worth(nt, %s, %s)", n, tiled_ps);
    case GCUT_TEAM_EPILOGUE:
        return gcut_printf(m->arena, "gcut_rt_epilogue_threads(nt, %s, %lld, %s, %s)", n, (long long)c->ps,
                           rows, tiled_ps);
    case GCUT_TEAM_ROWS: break;
    }
    if (c->most < GCUT_DIM_MAX)
        rows = gcut_printf(m->arena, "gcut_rt_min(%s, %lld)", rows, (long long)c->most);
    return gcut_printf(m->arena, "gcut_rt_threads_worth(nt, %s, %lld, %s)", n, (long long)c->ps, rows);
}

static const char *team_of(const gcut_program *p, const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (gcut_kernel_is_idle(h, kernel)) return NULL;
    if (u->kind == GCUT_KERNEL_REGION) return NULL; /* its bodies are lowered graphs of their own */
    if (!gcut_kernel_has_team(u->kind)) return estimate(p->module, h, u);
    const gcut_team team = gcut_kernel_team(h, kernel);
    return gcut_team_c(p->module, &team, gcut_c_dim);
}

void gcut_emit_team(const gcut_program *p, gcut_text *c)
{
    gcut_strings all = {0};
    gcut_text_add(c, "    plan->team = 1;\n");
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        for (uint32_t i = 0; h->g && i < h->order.n; i++) {
            const char *team = team_of(p, h, h->order.at[i]);
            if (team) gcut_string_number(p->module->arena, &all, team);
        }
    }
    for (uint32_t i = 0; i < all.n; i++)
        gcut_text_add(c, "    if (plan->team < nt) plan->team = (int)gcut_rt_max(plan->team, %s);\n",
                      all.at[i]);
}
