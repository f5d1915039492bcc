/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room autodiff/: differentiation of graphs, and optimizers as graph ops.
 *
 *   takes:  a primal graph, the results to differentiate, the parameters to differentiate by; an optimizer
 *   gives:  the joint graph, which computes results and gradients; the joint graph with parameter updates;
 *           reverse mode, forward mode and Hessian-vector products within one graph
 *   keeps:  name and location of every primal value; a derived node has the location grad(its primal node)
 */
#ifndef GCUT_AUTODIFF_AUTODIFF_H
#define GCUT_AUTODIFF_AUTODIFF_H

#include "graph/graph.h"

typedef struct gcut_joint_options {
    const char *loss;         /* scalar result to differentiate; excludes cotan */
    const char *const *cotan; /* results to differentiate, each along a cotangent of its type */
    uint32_t ncotan;          /* 0 without a loss = the only scalar float `out`, else every float `out` */
    bool minimised;           /* without loss and cotan, there must be exactly one scalar result, which is
                               * minimised */
    const char *const *wrt;   /* globs over parameter names (*, ?); NULL = every float `param` */
    uint32_t nwrt;
    bool strict; /* refuse results that depend on no chosen parameter */
} gcut_joint_options;

/* in: PRIMAL. out: JOINT, named <name>: g's parameters plus, for each result y that is differentiated,
 * `cotan %dy` of y's type; g's results plus `grad w: type` for every chosen w. keeps: every primal value's
 * name, so dumps can be compared.  Composites whose vjp column says "meaning" are decomposed first.
 * Composites with a VJP rule stay, and calls with a custom derivative, which the backward part calls.
 * Each new node is located at grad(<the forward node's location>).  Throws GCUT_EGRAD: no such result, a
 * result that is no float, a loss that is no scalar, op without derivative on the path (op and line
 * named), a glob that matches nothing, a backward graph.  A chosen parameter on which no differentiated
 * result depends gets a zero gradient.  A joint graph is differentiated as a primal one: its `grad w`
 * becomes `out dw`, which is differentiated when named, and its cotangents become the constant 1. */
gcut_graph *gcut_joint(gcut_graph *g, const gcut_joint_options *opt, const char *name);

/* Reverse mode within one graph: appends to g the nodes that compute, from the cotangents dy[k] of the
 * values y[k] (0 = none), the cotangent dx[k] of each value x[k]; dx[k] = 0 when no y depends on it. x may
 * be any values, parameters or results of nodes; cotangents of a y that depends on another y or x flow
 * through it.  The appended nodes are ordinary ones, so derivatives can be differentiated. */
void gcut_reverse_mode(gcut_graph *g, const gcut_ref *y, const gcut_ref *dy, uint32_t ny, const gcut_ref *x,
                       uint32_t nx, gcut_ref *dx);

/* Forward mode within one graph: from the tangent tx[k] of each value x[k] (0 = none) the tangent ty[k] of
 * each value y[k]; ty[k] = 0 when y[k] depends on no x that has a tangent. */
void gcut_forward_mode(gcut_graph *g, const gcut_ref *y, uint32_t ny, const gcut_ref *x, const gcut_ref *tx,
                       uint32_t nx, gcut_ref *ty);
/* hv = H v, H the Hessian of the scalar loss by all x together; v[k] = 0 and hv[k] = 0 stand for zeros. */
void gcut_hessian(gcut_graph *g, gcut_ref loss, const gcut_ref *x, const gcut_ref *v, uint32_t nx,
                  gcut_ref *hv);

/* Appends d loss / d x[k] to g: reverse mode from the constant 1, marked as the cotangent of the loss. */
void gcut_loss_gradient(gcut_graph *g, gcut_ref loss, gcut_locid loc, const gcut_ref *x, uint32_t nx,
                        gcut_ref *dx);

/* Has g such constants? */
bool gcut_has_own_gradient(const gcut_graph *g);
/* Does a `grad` result, or with `next` a `next` result, depend on one that no differentiated value depends on? Then
 * g is a joint graph but for the cotangents. */
bool gcut_is_own_joint(const gcut_graph *g, bool next);
/* in: PRIMAL. out: with `joint` JOINT, in which these constants are cotangents (autodiff/own_gradient.c); else
 * PRIMAL without their marks. */
gcut_graph *gcut_own_joint(gcut_graph *g, bool joint, const char *name);

/* in: JOINT. out: JOINT, in which the backward part of a loss head is computed for the cotangent 1 and
 * multiplied by the cotangent at its end (autodiff/loss_head.c). g itself when it has no head. */
gcut_graph *gcut_pass_head(gcut_graph *g, const char *name);

typedef enum gcut_opt_kind { GCUT_OPT_NONE, GCUT_OPT_SGD, GCUT_OPT_MOMENTUM, GCUT_OPT_ADAMW } gcut_opt_kind;

/* "adamw(lr=3e-4, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01)" and the like; lr here is only the
 * default that a driver binds to the `lr` input when nothing else is bound. */
typedef struct gcut_optimizer {
    gcut_opt_kind kind;
    double lr, momentum, beta1, beta2, eps, weight_decay;
    bool keep_grads; /* results keep their `grad` beside `next` */
} gcut_optimizer;

/* Throws GCUT_EUSAGE with a diagnostic that names the unknown key or the range that was left. */
gcut_optimizer gcut_optimizer_parse(gcut_env *env, const char *text);

/* in: JOINT. out: JOINT with `input %lr: f32[]`, `state` parameters (w.m, w.v of w's type; adamw.t: f32[]
 * the number of updates so far) and `next` results for every differentiated param and every state; `grad`
 * results go unless keep_grads.  AdamW as in Loshchilov & Hutter 2019, algorithm 2, as PyTorch computes it
 * (decoupled decay lr*wd*w, eps outside of the root); momentum as PyTorch's SGD (no dampening); weight
 * decay of sgd/momentum is added to the gradient. */
gcut_graph *gcut_add_updates(gcut_graph *joint, const gcut_optimizer *opt, const char *name);
/* Is that the name of an optimizer's state for the param; param NULL: of the state that all params share? */
bool gcut_is_update_state(const char *state, const char *param);

#endif
