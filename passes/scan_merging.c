/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scans that differ only in what they yield become one.
 *
 *   in:    any graph, preferably after gcut_pass_cse
 *   out:   the same values; of scans with equal operands, attributes, marks and bodies,
 *          the first one yields the results of all of them
 *   keeps: parameters, results, names, marks, locations, run-time checks
 *
 * Differentiation creates such pairs: it needs the values that a scan carries, which the scan does not
 * yield, and must not change the scan.  Their bodies are copies: node for node and value for value the
 * same.
 */

#include "passes/passes.h"
#include "graph/rewrite.h"
#include "graph/regions/scan_stack.h"

/* The replacement of a value: a result of a node, possibly one that the node gets later. */
typedef struct source {
    uint32_t node, index;
} source;

/* What one scan yields besides its own results. */
typedef struct extras {
    gcut_stacks stacks;
    GCUT_VEC(gcut_ref) like; /* the results of other scans that stacks.more replace */
} extras;

typedef struct merger {
    const gcut_graph *g;
    gcut_arena *a;
    source *from;   /* by value of g */
    extras *more;   /* by node of g */
    bool *absorbed; /* by node of g: another scan replaces it */
} merger;

static bool same_scan(const merger *m, uint32_t i, uint32_t j)
{
    const gcut_graph *g = m->g;
    const gcut_node *a = gcut_node_at(g, i), *b = gcut_node_at(g, j);
    if (b->op != a->op || a->nargs != b->nargs || a->ncaptured != b->ncaptured ||
        !gcut_marks_equal(&a->marks, &b->marks) || !gcut_attrs_equal(g, a, g, b))
        return false;
    for (uint32_t k = 0; k < a->nargs; k++) {
        source x = m->from[gcut_arg(g, a, k)], y = m->from[gcut_arg(g, b, k)];
        if (x.node != y.node || x.index != y.index) return false;
    }
    const gcut_graph *f = gcut_region_at(g, a, 0)->body, *h = gcut_region_at(g, b, 0)->body;
    for (uint32_t k = 0; k < gcut_node_carries(g, a); k++)
        if (f->results.at[k].value != h->results.at[k].value) return false;
    return gcut_graph_same_nodes(f, h);
}

/* The index of the result of scan i that stacks value v of its body like result `like` of another scan;
 * added when there is none.
 */
static uint32_t result_for(merger *m, uint32_t i, gcut_ref v, gcut_ref like)
{
    extras *e = &m->more[i];
    uint32_t k = gcut_stack_add(&e->stacks, m->a, v);
    if (e->like.n < e->stacks.more.n) *GCUT_PUSH(m->a, &e->like) = like;
    return k;
}

/* Replaces scan j by scan i. */
static void absorb(merger *m, uint32_t i, uint32_t j)
{
    const gcut_node *b = gcut_node_at(m->g, j);
    const gcut_graph *body = gcut_region_at(m->g, b, 0)->body;
    uint32_t carries = gcut_node_carries(m->g, b);
    m->absorbed[j] = true;
    for (uint32_t k = 0; k < b->nres; k++)
        m->from[b->res0 + k] =
            (source){i, k < carries ? k : result_for(m, i, body->results.at[k].value, b->res0 + k)};
}

static void find_pairs(merger *m)
{
    const gcut_graph *g = m->g;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        uint32_t def = g->values.at[v].def;
        m->from[v] = (source){def, def == GCUT_NONE ? v : g->values.at[v].index};
    }
    for (uint32_t j = 0; j < g->nodes.n; j++) {
        if (gcut_node_at(g, j)->op != GCUT_OP_scan) continue;
        m->more[j].stacks = gcut_stacks_of(g, j);
        for (uint32_t i = 0; i < j && !m->absorbed[j]; i++)
            if (!m->absorbed[i] && gcut_node_at(g, i)->op == GCUT_OP_scan && same_scan(m, i, j))
                absorb(m, i, j);
    }
}

static gcut_ref copy_wider(const merger *m, gcut_rewrite *rw, uint32_t i)
{
    const extras *e = &m->more[i];
    gcut_draft d = gcut_draft_of(m->a, m->g, i, rw->map, e->like.n);
    gcut_graph *body = gcut_stacks_body(&e->stacks);
    for (uint32_t k = 0; k < e->like.n; k++)
        gcut_draft_result(&d, *gcut_type_of(m->g, e->like.at[k]), m->g->values.at[e->like.at[k]].name);
    d.regions[0].body = gcut_pass_merge(body, body->name);
    return gcut_draft_make(rw->dst, &d, rw->map);
}

gcut_graph *gcut_pass_merge(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    rw.pass = gcut_pass_merge;
    merger m = {.g = g, .a = rw.scratch};
    m.from = gcut_calloc(m.a, g->values.n, sizeof *m.from);
    m.more = gcut_calloc(m.a, g->nodes.n + 1, sizeof *m.more);
    m.absorbed = gcut_calloc(m.a, g->nodes.n + 1, sizeof *m.absorbed);
    gcut_ref *first = gcut_calloc(m.a, g->nodes.n + 1, sizeof *first);
    find_pairs(&m);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        if (!m.absorbed[n]) first[n] = m.more[n].like.n ? copy_wider(&m, &rw, n) : gcut_rewrite_copy(&rw, n);
        for (gcut_ref v = node->res0; v < node->res0 + node->nres; v++)
            rw.map[v] = first[m.from[v].node] + m.from[v].index;
    }
    return gcut_rewrite_end(&rw);
}
