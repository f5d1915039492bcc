/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The invariants of a schedule, S1 to S3 of partition/cut/schedule.h.
 */
#ifndef GCUT_TESTS_SCHEDULE_CHECK_H
#define GCUT_TESTS_SCHEDULE_CHECK_H

#include "partition/cut/schedule.h"

static void schedule_check(gcut_arena *arena, const gcut_facts *f, const gcut_plan_decision *decision,
                           const gcut_schedule *s)
{
    const gcut_graph *g = f->g;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    bool *there = gcut_calloc(scratch, (size_t)g->nodes.n + 1, 1);
    uint32_t n, at = 0, before = GCUT_NONE;
    const uint32_t *order = gcut_backward_order(scratch, f, &n);
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t i = s->node[k];
        const gcut_node *x = gcut_node_at(g, i);
        bool own = f->side[x->res0] == GCUT_SIDE_BACKWARD;
        assert_true(!own || (at < n && order[at] == i));       /* S1 */
        assert_true(own || before == GCUT_NONE || before < i); /* S2 */
        for (uint32_t j = 0; j < x->nargs; j++) {              /* S3 */
            gcut_ref v = gcut_arg(g, x, j);
            uint32_t def = g->values.at[v].def;
            assert_true(def == GCUT_NONE || there[def] || gcut_crosses(g, v, decision[v]));
        }
        there[i] = true;
        at += own;
        before = own ? GCUT_NONE : i;
    }
    assert_true(at == n);
    gcut_arena_free(scratch);
}

#endif
