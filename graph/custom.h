/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls with a custom derivative, call(@f, …, vjp=@g).
 *
 * The signature of @g names what it reads of the call and what it computes:
 *
 *   cotan %dy                   the cotangent of the float result y of @f
 *   any other parameter %x      the parameter %x of @f or, where @f has none of that name, its result x
 *   grad x                      the cotangent of the float parameter %x of @f
 *
 * A result whose cotangent @g does not take contributes nothing; a parameter without a `grad` has the
 * gradient 0.
 */
#ifndef GCUT_GRAPH_CUSTOM_H
#define GCUT_GRAPH_CUSTOM_H

#include "graph/ops/infer.h"

typedef enum gcut_vjp_kind { GCUT_VJP_OPERAND, GCUT_VJP_RESULT, GCUT_VJP_COTANGENT } gcut_vjp_kind;

/* The argument of a parameter of @g: operand, result or cotangent number `index` of the call. */
typedef struct gcut_vjp_source {
    gcut_vjp_kind kind;
    uint32_t index;
} gcut_vjp_source;

/* The argument of parameter k of vjp; false: f has no parameter or result of that name. */
bool gcut_vjp_source_of(const gcut_graph *f, const gcut_graph *vjp, uint32_t k, gcut_vjp_source *out);
/* The parameter of f that result r of vjp is the gradient of; GCUT_NONE: f has none of that name. */
uint32_t gcut_vjp_target_of(const gcut_graph *f, const gcut_graph *vjp, uint32_t r);

/* The custom derivative of call n, or NULL. */
static inline const gcut_graph *gcut_node_vjp(const gcut_graph *g, const gcut_node *n)
{
    return n->op == GCUT_OP_call && n->nregs > 1 ? gcut_region_at(g, n, 1)->body : NULL;
}

/* Whether g is a derivative: it has `cotan` parameters, and its results are gradients, named after
 * parameters of another function. */
bool gcut_is_derivative(const gcut_graph *g);
/* For a call with a custom derivative: does it compute the gradient of operand k, does it read the
 * cotangent of result k? */
bool gcut_vjp_gives(const gcut_graph *g, const gcut_node *n, uint32_t k);
bool gcut_vjp_takes(const gcut_graph *g, const gcut_node *n, uint32_t k);

/* Throws GCUT_ETYPE at s->loc unless the second region of the call `s` is a derivative of its first, whose
 * symbols are `sizes`.  Equalities of sizes that cannot be decided become run-time checks of g. */
void gcut_check_vjp(gcut_graph *g, const gcut_node_spec *s, const gcut_call_sizes *sizes);

#endif
