/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions as StableHLO, the text of an MLIR module that XLA compiles.  Sizes are numbers: those of a binding.
 */
#ifndef GCUT_TEXT_STABLEHLO_STABLEHLO_H
#define GCUT_TEXT_STABLEHLO_STABLEHLO_H

#include "graph/graph.h"

typedef struct gcut_stablehlo_func {
    const char *name; /* in the text */
    const gcut_graph *g;
} gcut_stablehlo_func;

/* Is the op replaced by its decomposition?  The `want` of gcut_pass_expand. */
bool gcut_stablehlo_expands(gcut_op op);

/* Writes a module with n functions of graphs of one module, without calls and without ops that gcut_stablehlo_expands, at
 * sizes for all symbols.  Attributes of parameters and results say their roles, those of results also their names.  Throws
 * GCUT_EUNSUPPORTED for an op that StableHLO cannot express. */
void gcut_stablehlo_print(const char *module, const gcut_stablehlo_func *f, uint32_t n,
                          const gcut_dim_binding *at, uint32_t nat, gcut_text *out);

#endif
