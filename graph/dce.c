/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dead code elimination.
 *   in:    any graph without regions
 *   out:   only the nodes that a result needs
 *   keeps: parameters, results, names, marks, locations, run-time checks
 */
#include "graph/passes.h"
#include "graph/rewrite.h"

gcut_graph *gcut_pass_dce(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    const bool *needed = gcut_rewrite_needed(g, rw.scratch);
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (needed[n]) gcut_rewrite_copy(&rw, n);
    return gcut_rewrite_end(&rw);
}
