/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The invariants G1 to G10 of graph.h.  The second part is shared by graph/verify.c,
 * graph/verify_interface.c and the parser, which reports a fault at its place in the text.
 */
#ifndef GCUT_GRAPH_VERIFY_H
#define GCUT_GRAPH_VERIFY_H

#include "graph/graph.h"

/* Reports every violation and throws GCUT_ETYPE if there was one. */
void gcut_verify(const gcut_graph *g);
void gcut_verify_module(const gcut_module *m);

typedef struct gcut_check {
    const struct gcut_check *around; /* of the graph that g is a body in; NULL = g is a function */
    const gcut_graph *g;
    gcut_module *m;
    gcut_arena *scratch;
    gcut_map *seen;  /* locations that were checked, of all graphs together */
    uint32_t broken; /* violations reported */
    bool *bad;       /* by node: its operands, attributes or regions cannot be followed */
} gcut_check;

/* Records one violation of `rule` at loc. */
void gcut_violation(gcut_check *c, gcut_locid loc, const char *rule, const char *fmt, ...) GCUT_PRINTF(4, 5);
/* Is v defined before node `user`? */
bool gcut_check_visible(const gcut_check *c, gcut_ref v, uint32_t user);

void gcut_check_interface(gcut_check *c);       /* G6 */
void gcut_check_pairs(gcut_check *c, bool all); /* G9: of the pairs that name c->g, or of all */

/* The fault of a function's parameter, of a result that names one, or of a pair, as a sentence in a; NULL
 * = none. */
const char *gcut_param_fault(gcut_arena *a, const gcut_graph *g, const gcut_param *p);
const char *gcut_result_fault(gcut_arena *a, const gcut_graph *g, const gcut_result *r);
const char *gcut_pair_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd);

static inline bool gcut_check_is_value(const gcut_check *c, gcut_ref v)
{
    return v > 0 && v < c->g->values.n;
}

static inline const char *gcut_check_name(const gcut_check *c, gcut_ref v)
{
    return gcut_check_is_value(c, v) && c->g->values.at[v].name ? c->g->values.at[v].name : "?";
}

#endif
