/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The results of a graph of constants, of which integers may be expressions over symbols.
 */
#ifndef GCUT_IMPORT_ONNX_KNOWN_H
#define GCUT_IMPORT_ONNX_KNOWN_H

#include "graph/graph.h"
#include "interp/array.h"

#define GCUT_ONNX_MOST_KNOWN 4096 /* elements of a result */
#define GCUT_ONNX_MOST_WORK (1 << 20)
/* How many elements an evaluation reads and writes, at most; UINT64_MAX: a size is not known. */
uint64_t gcut_onnx_work(const gcut_graph *g);

/* The bounds of an element.  axes: expressions that are the size of an axis, which is not below 0. */
void gcut_onnx_bounds(const gcut_graph *g, const gcut_map *axes, int64_t x, int64_t *lo, int64_t *hi);

/* params by parameter of g, out by result.  False where a result has more elements, an op is not computed on symbols, or a
 * number would be taken for an expression. */
bool gcut_onnx_evaluate(const gcut_graph *g, const gcut_map *axes, gcut_arena *a, const gcut_array *params,
                        gcut_array *out);
/* The same of numbers alone, whatever these are. */
bool gcut_onnx_evaluate_numbers(const gcut_graph *g, gcut_arena *a, const gcut_array *params,
                                gcut_array *out);
/* Integers that would be taken for expressions, which are below -2^62 and not the lowest, become -2^62. */
void gcut_onnx_clamp(gcut_array *x);
/* Is an element of an integer array an expression? */
bool gcut_onnx_has_symbols(const gcut_array *x);

#endif
