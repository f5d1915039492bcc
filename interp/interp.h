/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room interp/: the reference interpreter.  It defines the results of every op, is written for clarity and
 * not for speed, and shares no code with kernels/.
 *
 *   takes:  a graph, concrete arrays for its parameters, a precision
 *   gives:  arrays of its results and, on request, of all values; sizes of symbols from shapes; initial
 *           values of `data` declarations and of unbound inputs
 *   keeps:  the graph, which is only read; same input, same bits
 */
#ifndef GCUT_INTERP_INTERP_H
#define GCUT_INTERP_INTERP_H

#include "interp/array.h"

/* Runs g.  params[k] is the array of g's k-th parameter (shapes must fit; symbols are bound by them and the
 * declarations and run-time checks verified).  values[v], if asked for (values not NULL), receives every
 * intermediate by value id; it has g->values.n slots.  out gets one array per result.  Memory from `a`.
 * Throws GCUT_EDIM, GCUT_EINDEX (with op, line and index) or GCUT_EUNSUPPORTED. */
void gcut_interp(const gcut_graph *g, gcut_precision prec, gcut_arena *a, const gcut_array *params,
                 gcut_array *out, gcut_array *values);

/* The same; symbols that no parameter's shape determines have their `given` sizes. */
void gcut_interp_at(const gcut_graph *g, gcut_precision prec, gcut_arena *a, const gcut_array *params,
                    const gcut_dim_binding *given, uint32_t ngiven, gcut_array *out, gcut_array *values);

/* Evaluates node n of g alone: arg[k] is the array of operand k, and out[k] receives that of result k, in `a`. */
void gcut_interp_node(const gcut_graph *g, uint32_t n, gcut_precision prec, gcut_arena *a,
                      const gcut_dim_binding *bind, uint32_t nbind, const gcut_array *arg, gcut_array *out);

/* Binds g's symbols from concrete parameter shapes, and those that no shape determines from `given`;
 * returns their number, at most room.  Throws GCUT_EDIM with a sentence (which parameter, which axis,
 * expected, found) when shapes, ranges, multiples or checks do not hold. dims[k] are the sizes of
 * parameter k (its declared rank). */
uint32_t gcut_bind_dims(const gcut_graph *g, const int64_t *const *dims, const gcut_dim_binding *given,
                        uint32_t ngiven, gcut_dim_binding *out, uint32_t room);

/* The symbols that no parameter's shape determines, at the sizes `at` of all symbols: a caller must give
 * them for a run.  `out` has room for g's declarations; returns their number, 0 where a shape has no value
 * at `at`. */
uint32_t gcut_undetermined(const gcut_graph *g, const gcut_dim_binding *at, uint32_t nat, gcut_dim *out);

#endif
