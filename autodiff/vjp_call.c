/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The VJP rule of a call with a custom derivative: a call of the derivative on the operands and results
 * that it reads and on the cotangents that it takes.  External kernels have no VJP rule.
 *
 * The derivative reads the operands and results themselves, not copies: in a second differentiation, the
 * derivative of a result that it reads is the custom one.
 */
#include "autodiff/vjp.h"
#include "graph/custom.h"
#include "graph/external.h"

static gcut_ref cotangent(gcut_vjp *c, uint32_t k)
{
    return c->dys[k] ? c->dys[k] : gcut_bconst(&c->b, c->y + k, 0);
}

void gcut_vjp_external(gcut_vjp *c)
{
    gcut_module *m = c->b.g->module;
    const gcut_node *n = gcut_node_at(c->b.g, c->node);
    gcut_fail(m->env, GCUT_EGRAD, gcut_loc_place(m, n->loc),
              "put it into a function and state the derivative: call(@f, …, vjp=@f.vjp), doc/custom.md",
              "'external' has no derivative of its own: how the results of '%s' depend on its operands is "
              "not known",
              gcut_external_kernel(c->b.g, n));
}

void gcut_vjp_call(gcut_vjp *c)
{
    gcut_graph *g = c->b.g;
    gcut_arena *a = g->module->arena;
    gcut_node node = *gcut_node_at(g, c->node);
    const gcut_graph *f = gcut_region_at(g, &node, 0)->body, *vjp = gcut_node_vjp(g, &node);
    gcut_region region = {gcut_region_at(g, &node, 1)->body};
    gcut_ref *args = gcut_calloc(a, vjp->params.n + 1u, sizeof *args);
    for (uint32_t k = 0; k < vjp->params.n; k++) {
        gcut_vjp_source s;
        bool known = gcut_vjp_source_of(f, vjp, k, &s);
        GCUT_ASSERT(known); /* gcut_check_vjp */
        args[k] = s.kind == GCUT_VJP_OPERAND  ? c->x[s.index]
                  : s.kind == GCUT_VJP_RESULT ? c->y + s.index
                                              : cotangent(c, s.index);
    }
    gcut_node_spec spec = {.op = GCUT_OP_call,
                           .args = args,
                           .nargs = vjp->params.n,
                           .regions = &region,
                           .nregs = 1,
                           .loc = c->b.loc};
    gcut_ref dx = gcut_node_make(g, &spec);
    for (uint32_t r = 0; r < vjp->results.n; r++) gcut_vjp_give(c, gcut_vjp_target_of(f, vjp, r), dx + r);
}
