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
/* The same as a graph of its own, with a parameter for each operand: in the memory of src's module, not in its list. */
gcut_graph *gcut_decomposition(const gcut_graph *src, uint32_t n, gcut_ref *results);
/* batch_norm by its running statistics, x = {x, gain, bias, mean, var}: (x - mean) / sqrt(var + eps) gain + bias for each
 * channel (Ioffe & Szegedy 2015, algorithm 2).  The result is named b->name, the values before it "<b->name>.batch_norm"; NULL: all names are
 * generated. */
gcut_ref gcut_batch_norm_by_statistics(gcut_build *b, const gcut_ref x[5], double eps);

#endif
