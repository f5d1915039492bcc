/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow made ready for the backward sweep.
 *
 * The backward of a scan reads the carried values as they were before each
 * step.  A scan that yields them is "stacked": for each carried value some later
 * result is the body's argument itself.  A `while` with a bound is a scan of
 * that many steps, each of which does nothing once the condition has failed.
 */
#ifndef GCUT_AUTODIFF_STACKED_SCANS_H
#define GCUT_AUTODIFF_STACKED_SCANS_H

#include "graph/build.h"

/* Node n of src again in dst on other operands, where src's node of that kind is: a scan with stacked
 * carries, a bounded `while` as such a scan.  map: of src's values, for marks (gcut_node_copy).  out[k] is
 * what result k became.  The nodes of src and dst may be in one graph. */
void gcut_control_copy(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                       const gcut_ref *map, gcut_ref *out);

/* in: any graph.  out: the same values; scans and bounded `while`s that have wanted results (by value of g)
 * are stacked scans.  keeps: names and locations. */
gcut_graph *gcut_pass_stack(gcut_graph *g, const char *name, const bool *wanted);

/* The result of scan n of g that is carried value k before each step; 0 = none. */
gcut_ref gcut_scan_stack(const gcut_graph *g, uint32_t n, uint32_t k);

/* Is node n of g differentiated through what it unfolds to: a call that does not state its derivative through
 * its function, a `while` or a scan that is not stacked through a stacked scan? */
bool gcut_control_unfolds(const gcut_graph *g, uint32_t n);
/* That, behind the other nodes of g.  Throws GCUT_EGRAD for a `while` without a bound. */
void gcut_control_unfold(gcut_graph *g, uint32_t n, const gcut_ref *args, gcut_ref *out);

/* Appends the nodes of `body` to dst; map says what its parameters are there and gets everything else.  Names
 * are kept; scans in it are stacked. */
void gcut_body_redo(gcut_graph *dst, const gcut_graph *body, gcut_ref *map);

#endif
