/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Computes the stack of carried values at the start of each iteration from the stack of those at its end.
 *
 *   in:    any graph, preferably after gcut_pass_products
 *   out:   the same values; where a scan stacks a carried value both at the start and at the end of each iteration,
 *          readers of the first stack read a slice of a concatenation:
 *            [c_0, c_1, ..., c_T] without its last element, or
 *            [c_1, ..., c_T, c_0] without its first one, where the scan is reverse
 *   keeps: parameters, results, names, marks, locations, run-time checks
 *
 * Differentiation adds the first stack: the gradient of a recurrent weight contracts it.  Recurrent networks yield
 * the second one, which their next layer reads.  Without this pass a step stores both.
 *
 * The scan marked #adjoint keeps its operand: whether its iterations read the carried value is decided by the
 * plan of an iteration (partition/scan_plans.c).
 */
#include "passes/passes.h"
#include "graph/rewrite.h"
#include "graph/regions/scan_stack.h"

/* A stack of a carried value at the start of each iteration. */
typedef struct shift {
    uint32_t scan, carry; /* node of src */
    gcut_ref after; /* of src: the stack at the end of each iteration; 0: the value is not to be replaced */
    gcut_ref stack, shifted; /* of dst; shifted 0: not made */
} shift;

typedef struct shifter {
    gcut_rewrite rw;
    shift *of; /* by value of src */
} shifter;

static void find_shifts(shifter *s, uint32_t id)
{
    const gcut_graph *g = s->rw.src;
    const gcut_node *n = gcut_node_at(g, id);
    const gcut_stacks stacks = gcut_stacks_of(g, id);
    if (gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim != 0) return;
    for (uint32_t k = 0; k < stacks.carries; k++) {
        const uint32_t before = gcut_stack_find(&stacks, stacks.body->params.at[k].value),
                       after = gcut_stack_find(&stacks, stacks.body->results.at[k].value);
        if (before == GCUT_NONE || after == GCUT_NONE || before == after) continue;
        s->of[n->res0 + before] =
            (shift){.scan = id, .carry = k, .after = n->res0 + after, .stack = s->rw.map[n->res0 + before]};
    }
}

/* The concatenation has T + 1 elements, so that the slice is valid for T = 0, too. */
static gcut_ref make_shifted(shifter *s, gcut_ref v)
{
    const gcut_graph *g = s->rw.src;
    const shift *x = &s->of[v];
    const gcut_node *n = gcut_node_at(g, x->scan);
    gcut_build b = {.g = s->rw.dst, .loc = n->loc};
    const bool reverse = gcut_attr_flag(g, n, GCUT_KEY_reverse);
    const gcut_type t = *gcut_type_of(g, v),
                    one = gcut_stack_type(*gcut_type_of(g, n->res0 + x->carry), 0, 1);
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t.rank; d++) limit[d] = t.dim[d], step[d] = 1;
    if (reverse) {
        start[0] = 1;
        limit[0] = gcut_dim_make(g->module->dims, GCUT_DIM_ADD, t.dim[0], 1);
    }
    const gcut_ref first = gcut_breshape(&b, gcut_rewrite_arg(&s->rw, x->scan, x->carry), one.dim, one.rank),
                   after = s->rw.map[x->after], rows[] = {reverse ? after : first, reverse ? first : after};
    const gcut_attr along = gcut_attr_dim(GCUT_KEY_axis, 0);
    const gcut_ref all = gcut_node_new(s->rw.dst, GCUT_OP_concat, rows, 2, &along, 1, b.loc, NULL);
    b.name = gcut_printf(b.g->module->arena, "%s.shifted", g->values.at[v].name);
    return gcut_bslice(&b, all, start, limit, step);
}

/* What node id reads in place of v. */
static gcut_ref replacement(shifter *s, uint32_t id, gcut_ref v)
{
    shift *x = &s->of[v];
    const gcut_mark *adjoint = gcut_mark_find(&gcut_node_at(s->rw.src, id)->marks, GCUT_MARK_adjoint);
    if (adjoint && adjoint->arg[0].i == gcut_node_at(s->rw.src, x->scan)->res0) return x->stack;
    if (!x->shifted) x->shifted = make_shifted(s, v);
    return x->shifted;
}

gcut_graph *gcut_pass_shifts(gcut_graph *g, const char *name)
{
    shifter s = {.rw = gcut_rewrite_begin(g, name)};
    s.of = gcut_calloc(s.rw.scratch, g->values.n, sizeof *s.of);
    s.rw.pass = gcut_pass_shifts;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nargs; k++) {
            const gcut_ref v = gcut_arg(g, n, k);
            if (s.of[v].after) s.rw.map[v] = replacement(&s, i, v);
        }
        gcut_rewrite_copy(&s.rw, i);
        for (uint32_t k = 0; k < n->nargs; k++) {
            const gcut_ref v = gcut_arg(g, n, k);
            if (s.of[v].after) s.rw.map[v] = s.of[v].stack;
        }
        if (n->op == GCUT_OP_scan) find_shifts(&s, i);
    }
    return gcut_rewrite_end(&s.rw);
}
