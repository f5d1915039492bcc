/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The op `external`: a C function of the user's program, called by name.
 *
 * A pure kernel is a function of its operands, and may run any number of times or not at all.  An impure
 * one runs once per training step, in the order of the graph, whether its results are used or not; it
 * stands at the top level of a function, not in the body of a loop or branch.
 */
#ifndef GCUT_GRAPH_EXTERNAL_H
#define GCUT_GRAPH_EXTERNAL_H

#include "gradcut/rt_external.h"
#include "graph/graph.h"

/* Does the node, or a function that it calls, call an impure kernel? */
bool gcut_node_has_effects(const gcut_graph *g, const gcut_node *n);
bool gcut_graph_has_effects(const gcut_graph *g);

/* Registers fn under that name in the environment, in place of an earlier one; fn NULL removes the name.
 */
void gcut_external_register(gcut_env *env, const char *kernel, gcut_rt_external_fn *fn);
gcut_rt_external_fn *gcut_external_find(const gcut_env *env, const char *kernel); /* NULL: not registered */
/* Calls seen(arg, kernel, fn) for each that is registered. */
void gcut_external_registered(const gcut_env *env,
                              void (*seen)(void *arg, const char *kernel, gcut_rt_external_fn *fn),
                              void *arg);
/* Calls seen(arg, node) for each `external` of g, of the bodies in it and of what it calls. */
void gcut_external_each(const gcut_graph *g, void (*seen)(void *arg, const gcut_graph *g, const gcut_node *n),
                        void *arg);
static inline const char *gcut_external_kernel(const gcut_graph *g, const gcut_node *n)
{
    return gcut_attr_get(g, n, GCUT_KEY_kernel)->u.str;
}
/* Throws GCUT_EUSAGE at the first `external` of g whose kernel is not registered. */
void gcut_external_require(const gcut_graph *g);

/* The declared cost at the sizes `at`: flops (0 when not declared) and bytes moved (those of operands and
 * results when not declared). false: a size has no value. */
bool gcut_external_cost(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat,
                        double *flops, double *bytes);

#endif
