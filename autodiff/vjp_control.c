/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derivatives of control flow.
 */
#include "autodiff/vjp.h"

void gcut_vjp_control(gcut_vjp *c)
{
    gcut_module *m = c->b.g->module;
    const gcut_node *n = gcut_node_at(c->b.g, c->node);
    gcut_fail(m->env, GCUT_EGRAD, gcut_loc_place(m, n->loc), NULL, "'%s' has no derivative",
              gcut_op_get((gcut_op)n->op)->name);
}
