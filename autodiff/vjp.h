/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a VJP rule sees and how it answers.  A rule is short algebra: it reads
 * the operands x[k], the result y and the cotangent dy of one node, and gives
 * the cotangent of each operand that wants one to gcut_vjp_give.
 *
 *   V1  dy has y's type; what is given for operand k has x[k]'s type.  Of arithmetic in f16 or bf16 a rule
 *       sees f32 forms: a derivative of several steps is rounded once
 *   V2  a rule builds nothing for an operand that wants no gradient
 *   V3  a rule prefers y over x, so that keeping y alone is enough
 *   V4  where a mask decides, the rule uses select: 0 * inf is not 0
 *
 * The rule of an op with several results reads dys instead of dy.  It is called when
 * at least one of them is there.
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
    const gcut_ref *x;       /* its operands, as the rule computes with them */
    const gcut_ref *operand; /* the same as the node has them */
    uint32_t nx;
    gcut_ref y, dy;      /* the first result and its cotangent */
    const gcut_ref *dys; /* the cotangent of each result; of several, some may be 0: none arrived */
    uint32_t ndys;
    const bool *wanted;  /* by value id of what is differentiated */
    gcut_ref *cotangent; /* by value id, 0 = none arrived yet */
} gcut_vjp;

typedef void gcut_vjp_rule(gcut_vjp *c);

static inline bool gcut_vjp_wants(const gcut_vjp *c, uint32_t k)
{
    return c->wanted[c->operand[k]];
}
/* value is (part of) operand k's cotangent; parts are added in the order they come. */
void gcut_vjp_give(gcut_vjp *c, uint32_t k, gcut_ref value);

/* One rule per name in the table's vjp column.  "zero" contributes nothing; a node
 * whose rule is "meaning" is decomposed by the sweep. */
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, vjp, ...) gcut_vjp_rule gcut_vjp_##vjp;
#include "graph/ops/ops.def"
#undef OP

/* ---- small things several rules say ---- */

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
