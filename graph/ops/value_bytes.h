/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes of values at given sizes.
 */
#ifndef GCUT_GRAPH_OPS_VALUE_BYTES_H
#define GCUT_GRAPH_OPS_VALUE_BYTES_H

#include "graph/graph.h"

/* Bytes of v at the binding, of a view as if it were stored.  Throws GCUT_EDIM where a size cannot be
 * evaluated or there are more than 2^63. */
int64_t gcut_value_bytes(const gcut_graph *g, gcut_ref v, const gcut_dim_binding *at, uint32_t nat);

/* Bytes that live through the whole step under any plan of the joint graph g, used or not: parameters,
 * inputs, states, cotangents, and results other than `next`, which overwrite a parameter. */
int64_t gcut_resident_bytes(const gcut_graph *g, const gcut_dim_binding *at, uint32_t nat);

#endif
