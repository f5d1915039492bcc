/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of composite ops into primitives and other composites.
 */
#ifndef GCUT_GRAPH_DECOMPOSE_DECOMPOSE_H
#define GCUT_GRAPH_DECOMPOSE_DECOMPOSE_H

#include "graph/build.h"

/* The decomposition of composite node `n` of `src`, built with b on operands `args`: out[k] is its k-th
 * result. */
void gcut_decompose(gcut_build *b, const gcut_graph *src, uint32_t n, const gcut_ref *args, gcut_ref *out);

#endif
