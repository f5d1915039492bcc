/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stacks of a scan.
 */
#include "graph/regions/scan_stack.h"

#include <string.h>

#include "graph/rewrite.h"

gcut_stacks gcut_stacks_of(const gcut_graph *g, uint32_t n)
{
    const gcut_node *node = gcut_node_at(g, n);
    return (gcut_stacks){.body = gcut_region_at(g, node, 0)->body, .carries = gcut_node_carries(g, node)};
}

uint32_t gcut_stack_find(const gcut_stacks *s, gcut_ref v)
{
    uint32_t n = s->body->results.n;
    for (uint32_t k = s->carries; k < n; k++)
        if (s->body->results.at[k].value == v) return k;
    for (uint32_t k = 0; k < s->more.n; k++)
        if (s->more.at[k] == v) return n + k;
    return GCUT_NONE;
}

uint32_t gcut_stack_add(gcut_stacks *s, gcut_arena *a, gcut_ref v)
{
    uint32_t k = gcut_stack_find(s, v);
    if (k != GCUT_NONE) return k;
    *GCUT_PUSH(a, &s->more) = v;
    return s->body->results.n + s->more.n - 1;
}

gcut_graph *gcut_stacks_body(const gcut_stacks *s)
{
    gcut_rewrite rw = gcut_rewrite_begin(s->body, s->body->name);
    gcut_ref *more = gcut_calloc(s->body->module->arena, s->more.n + 1u, sizeof *more);
    for (uint32_t i = 0; i < s->body->nodes.n; i++) gcut_rewrite_copy(&rw, i);
    for (uint32_t k = 0; k < s->more.n; k++) more[k] = rw.map[s->more.at[k]];
    gcut_graph *out = gcut_rewrite_end(&rw);
    for (uint32_t k = 0; k < s->more.n; k++) gcut_body_yield(out, more[k]);
    return out;
}

gcut_type gcut_stack_type(gcut_type t, uint32_t axis, gcut_dim length)
{
    memmove(t.dim + axis + 1, t.dim + axis, (t.rank - axis) * sizeof *t.dim);
    t.dim[axis] = length;
    t.rank++;
    return t;
}
