/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The column C of the op table of convolutions and pools.
 */
#include "machine/lower/window_roles.h"

#include <string.h>

gcut_window_roles gcut_window_roles_of(const gcut_graph *g, const gcut_node *n)
{
    const char *column = gcut_op_get((gcut_op)n->op)->cexpr;
    gcut_window_roles out = {.function = column, .length = (int)strcspn(column, ":")};
    for (uint32_t k = 0; k <= n->nargs; k++) {
        const char letter = column[(uint32_t)out.length + 1 + k];
        const gcut_type **t = letter == 'x' ? &out.x : letter == 'w' ? &out.w : &out.y;
        if (!*t) *t = gcut_type_of(g, k < n->nargs ? gcut_arg(g, n, k) : n->res0);
    }
    GCUT_ASSERT(out.x && out.y);
    return out;
}
