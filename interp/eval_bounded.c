/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * bounded: the index itself, or GCUT_EINDEX.
 */
#include "interp/eval.h"

void gcut_eval_bounded(gcut_eval *e)
{
    int64_t n = gcut_eval_size(e->g, gcut_attr_get(e->g, e->node, GCUT_KEY_of)->u.dim, e->bind, e->nbind,
                               e->node->loc);
    for (int64_t i = 0; i < e->out.n; i++) e->out.u.i[i] = gcut_eval_index(e, e->arg[0].u.i[i], n);
}
