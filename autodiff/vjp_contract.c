/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of the contractions.
 */
#include "autodiff/vjp.h"

/* y = A B with A = a or a', B = b or b' (leading axes are batch):
 *
 *             da                      db
 *   a  b      dy b'   = mm(dy, b )    a' dy   = mm(a , dy)
 *   a' b      b dy'   = mm(b , dy)    a dy    = mm(a , dy)
 *   a  b'     dy b    = mm(dy, b )    dy' a   = mm(dy, a )
 *   a' b'     b' dy'  = mm(b , dy)    dy' a'  = mm(dy, a )
 *
 * so a transposed operand swaps the factors, and every transpose is a flag of the product. */
void gcut_vjp_matmul(gcut_vjp *c)
{
    const gcut_node *n = gcut_node_at(c->b.g, c->node);
    bool ta = gcut_attr_flag(c->b.g, n, GCUT_KEY_ta), tb = gcut_attr_flag(c->b.g, n, GCUT_KEY_tb);
    gcut_ref a = c->x[0], b = c->x[1], dy = c->dy;
    if (gcut_vjp_wants(c, 0))
        gcut_vjp_give(c, 0,
                      ta ? gcut_bmatmul(&c->b, b, dy, tb, true) : gcut_bmatmul(&c->b, dy, b, false, !tb));
    if (gcut_vjp_wants(c, 1))
        gcut_vjp_give(c, 1,
                      tb ? gcut_bmatmul(&c->b, dy, a, true, ta) : gcut_bmatmul(&c->b, a, dy, !ta, false));
}

/* One node gives all cotangents, because each of them needs the probabilities, which it recomputes: dq,
 * dk, dv[, dbias] = attention_grad(q, k, v[, bias], dy).  No T x S matrix is stored. */
void gcut_vjp_attention(gcut_vjp *c)
{
    gcut_graph *g = c->b.g;
    const gcut_node n = *gcut_node_at(g, c->node);
    gcut_ref args[5] = {0};
    GCUT_ASSERT(c->nx < 5);
    for (uint32_t k = 0; k < c->nx; k++) args[k] = c->x[k];
    args[c->nx] = c->dy;
    gcut_ref d = gcut_node_new(g, GCUT_OP_attention_grad, args, c->nx + 1, gcut_node_spec_of(g, &n).attrs,
                               n.nattrs, c->b.loc, c->b.name);
    for (uint32_t k = 0; k < c->nx; k++)
        if (gcut_vjp_wants(c, k)) gcut_vjp_give(c, k, d + k);
}
