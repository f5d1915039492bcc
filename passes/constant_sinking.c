/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Captured values that are computed from sizes alone (constants, iotas, and
 * elementwise arithmetic and views of them) move into the bodies that read them.
 *   in:    any graph
 *   out:   the same values; no body captures a constant
 *   keeps: parameters, results, names, marks, locations, run-time checks
 *
 * A constant that is captured takes memory; inside the body it is folded into its readers.
 */
#include "passes/passes.h"
#include "graph/node_draft.h"
#include "graph/rewrite.h"

typedef struct sinker {
    const gcut_graph *g;
    bool *sizes_only; /* by node of g */
    gcut_arena *a;
} sinker;

/* Does operand k of n move into the bodies? */
static bool sinks(const sinker *s, const gcut_node *n, uint32_t k)
{
    uint32_t def = s->g->values.at[gcut_arg(s->g, n, k)].def;
    return k >= n->nargs - n->ncaptured && def != GCUT_NONE && s->sizes_only[def];
}

/* Recomputes value v of the outer graph, which sizes alone determine, in `body`; made[], by value, for this body. */
static gcut_ref make_again(const sinker *s, gcut_graph *body, gcut_ref v, const char *name, gcut_ref *made)
{
    if (made[v]) return made[v];
    uint32_t def = s->g->values.at[v].def;
    const gcut_node *n = gcut_node_at(s->g, def);
    gcut_ref *args = gcut_calloc(s->a, n->nargs + 1, sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++)
        args[k] = make_again(s, body, gcut_arg(s->g, n, k), s->g->values.at[gcut_arg(s->g, n, k)].name, made);
    gcut_ref r = gcut_node_copy(body, s->g, def, args, NULL, n->loc, name);
    for (uint32_t k = 0; k < n->nres; k++) made[n->res0 + k] = r + k;
    return made[v];
}

/* Region `which` of node n with its constants computed inside. */
static gcut_graph *smaller_body(const sinker *s, const gcut_node *n, uint32_t which)
{
    const gcut_graph *old = gcut_region_at(s->g, n, which)->body;
    gcut_graph *body = gcut_graph_shell(old, old->name);
    gcut_ref *map = gcut_calloc(s->a, old->values.n, sizeof *map);
    gcut_ref *made = gcut_calloc(s->a, s->g->values.n, sizeof *made);
    uint32_t given = old->params.n - n->ncaptured;
    for (uint32_t i = 0; i < old->params.n; i++)
        if (i < given || !sinks(s, n, gcut_region_operand(n, old, i))) gcut_param_copy(body, old, i, map);
    for (uint32_t i = given; i < old->params.n; i++) {
        gcut_ref v = old->params.at[i].value;
        uint32_t k = gcut_region_operand(n, old, i);
        if (!map[v]) map[v] = make_again(s, body, gcut_arg(s->g, n, k), old->values.at[v].name, made);
    }
    gcut_rewrite_append(body, old, map);
    for (uint32_t i = 0; i < old->results.n; i++) gcut_result_copy(body, old, i, map);
    return body;
}

static void copy_region(const sinker *s, gcut_rewrite *rw, uint32_t id)
{
    const gcut_node n = *gcut_node_at(s->g, id);
    gcut_draft d = gcut_draft_of(s->a, s->g, id, rw->map, 0);
    bool *keep = gcut_calloc(s->a, n.nargs + 1, sizeof *keep);
    for (uint32_t k = 0; k < n.nargs; k++) keep[k] = !sinks(s, &n, k);
    gcut_draft_keep(&d, keep, NULL);
    for (uint32_t k = 0; k < n.nregs; k++) {
        gcut_graph *body = smaller_body(s, &n, k);
        d.regions[k].body = gcut_pass_sink(body, body->name);
    }
    gcut_ref r = gcut_draft_make(rw->dst, &d, rw->map);
    for (uint32_t k = 0; k < n.nres; k++) rw->map[n.res0 + k] = r + k;
}

gcut_graph *gcut_pass_sink(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    sinker s = {g, gcut_sizes_only(g, rw.scratch), rw.scratch};
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->nregs && gcut_region_at(g, n, 0)->body->is_body)
            copy_region(&s, &rw, i);
        else
            gcut_rewrite_copy(&rw, i);
    }
    return gcut_rewrite_end(&rw);
}
