/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interface of VJP rules.  A rule is short algebra: it reads the operands x[k], the result y and the
 * cotangent dy of one node, and passes the cotangent of each wanted operand to gcut_vjp_give.
 *
 *   V1  dy has y's type; the cotangent of operand k has x[k]'s type.  For arithmetic in f16 or bf16 the
 *       rule gets f32 values, so that a derivative is rounded once
 *   V2  a rule builds nothing for an operand that wants no gradient
 *   V3  a rule reads y rather than x where either will do, so that saving y alone is enough
 *   V4  where a mask decides, the rule uses select: 0 * inf is not 0
 *
 * The rule of an op with several results reads dys instead of dy.  It is called when at least one of them
 * exists.
 *
 * Only float values ever have cotangents, so a rule need not look at indices,
 * predicates or integer operands.
 */
#ifndef GCUT_AUTODIFF_VJP_H
#define GCUT_AUTODIFF_VJP_H

#include "graph/build.h"

typedef struct gcut_vjp {
    gcut_build b;            /* appends to the joint graph, at grad(the node's location) */
    uint32_t node;           /* the forward node, in the joint graph */
    const gcut_ref *x;       /* its operands, in the dtype that the rule computes in */
    const gcut_ref *operand; /* the same, as the node has them */
    uint32_t nx;
    gcut_ref y, dy;      /* the first result and its cotangent */
    const gcut_ref *dys; /* the cotangent of each result; 0 = none */
    uint32_t ndys;
    const bool *wanted;  /* by value id of the differentiated graph */
    gcut_ref *cotangent; /* by value id, 0 = none so far */
} gcut_vjp;

typedef void gcut_vjp_rule(gcut_vjp *c);

static inline bool gcut_vjp_wants(const gcut_vjp *c, uint32_t k)
{
    return c->wanted[c->operand[k]];
}
/* Adds value to operand k's cotangent; terms are added in the order of the calls. */
void gcut_vjp_give(gcut_vjp *c, uint32_t k, gcut_ref value);

/* One rule per name in the table's vjp column. "zero" contributes nothing; a node whose rule is "meaning"
 * is decomposed by the reverse pass. */
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, vjp, ...) gcut_vjp_rule gcut_vjp_##vjp;
#include "graph/ops/ops.def"
#undef OP

/* ---- helpers of several rules ---- */

static inline const gcut_attr *gcut_vjp_attr(const gcut_vjp *c, gcut_attr_key key)
{
    return gcut_attr_get(c->b.g, gcut_node_at(c->b.g, c->node), key);
}

static inline const gcut_type *gcut_vjp_type(const gcut_vjp *c, gcut_ref v)
{
    return gcut_type_of(c->b.g, v);
}

/* p ? dy : 0 */
static inline gcut_ref gcut_vjp_where(gcut_vjp *c, gcut_ref p)
{
    return gcut_bselect(&c->b, p, c->dy, gcut_bconst(&c->b, c->dy, 0));
}

/* r, the result of a reduction over `mask` with or without keep, repeated to the shape of x[0]. */
gcut_ref gcut_vjp_unreduce(gcut_vjp *c, gcut_ref r, uint32_t mask);

#endif
