/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow prepared for reverse mode.
 *
 * The derivative of a scan reads the carried values at the start of each iteration.  A scan that yields
 * them is "stacked": each carried value has a result that is the body's argument itself, stacked.  A
 * `while` with a bound is a scan of that many iterations, which do nothing once the condition is false.
 */
#ifndef GCUT_AUTODIFF_STACKED_SCANS_H
#define GCUT_AUTODIFF_STACKED_SCANS_H

#include "graph/build.h"

/* in: any graph.  out: the same values; scans and bounded `while`s that have wanted results (by value of g)
 * are stacked scans.  keeps: names and locations. */
gcut_graph *gcut_stacked_scans(gcut_graph *g, const char *name, const bool *wanted);

/* The result of scan n of g that is carried value k at the start of each iteration; 0 = none. */
gcut_ref gcut_scan_stack(const gcut_graph *g, uint32_t n, uint32_t k);

/* Is node n of g differentiated through an expansion: a call without a custom derivative through its
 * function, a `while` or an unstacked scan through a stacked scan? */
bool gcut_control_unfolds(const gcut_graph *g, uint32_t n);
/* Appends that expansion to g.  Throws GCUT_EGRAD for a `while` without a bound. */
void gcut_control_unfold(gcut_graph *g, uint32_t n, const gcut_ref *args, gcut_ref *out);

/* Appends the nodes of `body` to dst; the caller maps the parameters, the function all other values.
 * Names are kept; scans in it are stacked. */
void gcut_body_redo(gcut_graph *dst, const gcut_graph *body, gcut_ref *map);

#endif
