/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Composite ops are replaced by their decompositions.
 *
 *   in:    any stage
 *   out:   the same stage; no composite left for which want() holds
 *   keeps: names, types, marks and locations of every value of the input graph
 */
#include "graph/decompose/decompose.h"
#include "passes/passes.h"
#include "graph/rewrite.h"
#include "graph/ops/infer.h"

typedef struct expander {
    const gcut_graph *src; /* the input graph: its names are taken */
    gcut_graph *dst;
    bool (*want)(gcut_op);
    const bool *keep; /* by node of src: it stays as it is; NULL = none does */
} expander;

static bool wanted(const expander *s, uint32_t op)
{
    return gcut_op_get((gcut_op)op)->composite && (!s->want || s->want((gcut_op)op));
}

static bool is_kept(const expander *s, const gcut_graph *g, uint32_t n)
{
    return s->keep && g == s->src && s->keep[n];
}

/* "<value>.<op>", made unique in the input and in the output so far. */
static const char *inner_name(expander *s, const char *value, uint32_t op)
{
    gcut_arena *a = s->dst->module->arena;
    const char *base = gcut_printf(a, "%s.%s", value, gcut_op_get((gcut_op)op)->name), *name = base;
    for (uint32_t i = 1; gcut_graph_find(s->src, name) || gcut_graph_find(s->dst, name); i++)
        name = gcut_printf(a, "%s.%u", base, (unsigned)i);
    return name;
}

static void emit(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args, const char *const *names,
                 gcut_ref *map);

/* The names of node k of the decomposition: where it replaces a result, that result's name, else
 * generated. */
static void name_results(expander *s, const gcut_graph *scratch, const gcut_node *node,
                         const gcut_ref *results, const char *const *outer, uint32_t nouter,
                         const char **names)
{
    for (uint32_t r = 0; r < node->nres; r++) {
        names[r] = NULL;
        for (uint32_t k = 0; k < nouter && !names[r]; k++)
            if (results[k] == node->res0 + r && !gcut_graph_find(s->dst, outer[k])) names[r] = outer[k];
        if (!names[r]) names[r] = inner_name(s, outer[0], scratch->nodes.at[node - scratch->nodes.at].op);
    }
}

/* The two copies of a recomputed composite must not share nodes, so each node of the second gets its mark. */
static void mark_copies(gcut_graph *scratch, const gcut_node *owner)
{
    const gcut_mark *copy = gcut_mark_find(&owner->marks, GCUT_MARK_recomputed);
    for (uint32_t k = 0; copy && copy->nargs && k < scratch->nodes.n; k++)
        gcut_mark_add(scratch->module->arena, &scratch->nodes.at[k].marks, *copy);
}

/* Appends the decomposition through emit, because it may contain composites. */
static void emit_decomposition(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args,
                               const char *const *names, gcut_ref *out)
{
    gcut_module *m = s->dst->module;
    gcut_ref results[GCUT_MAX_RESULTS];
    const gcut_node owner = *gcut_node_at(g, n);
    gcut_graph *scratch = gcut_decomposition(g, n, results);
    mark_copies(scratch, &owner);
    gcut_ref *map = gcut_calloc(m->arena, scratch->values.n, sizeof *map);
    for (uint32_t k = 0; k < scratch->params.n; k++) map[scratch->params.at[k].value] = args[k];
    for (uint32_t k = 0; k < scratch->nodes.n; k++) {
        const gcut_node *node = gcut_node_at(scratch, k);
        const char *inner[GCUT_MAX_RESULTS];
        const gcut_ref *in = gcut_args_mapped(m->arena, scratch, node, map);
        name_results(s, scratch, node, results, names, owner.nres, inner);
        emit(s, scratch, k, in, inner, map);
    }
    for (uint32_t k = 0; k < owner.nres; k++) out[k] = map[results[k]];
    uint32_t def = s->dst->values.at[out[0]].def;
    if (def == GCUT_NONE) return; /* the decomposition is an operand */
    for (uint32_t k = 0; k < owner.marks.n; k++)
        if (!gcut_mark_find(&s->dst->nodes.at[def].marks, owner.marks.at[k].name))
            gcut_mark_add(m->arena, &s->dst->nodes.at[def].marks, owner.marks.at[k]);
}

/* Appends node n of g, or its decomposition, and maps its results. */
static void emit(expander *s, const gcut_graph *g, uint32_t n, const gcut_ref *args, const char *const *names,
                 gcut_ref *map)
{
    const gcut_node *node = gcut_node_at(g, n);
    if (wanted(s, node->op) && !is_kept(s, g, n)) {
        emit_decomposition(s, g, n, args, names, map + node->res0);
        return;
    }
    gcut_ref first = gcut_node_copy_as(s->dst, g, n, args, map, node->loc, names);
    const gcut_node *made = gcut_node_at(s->dst, s->dst->nodes.n - 1);
    for (uint32_t k = 0; !is_kept(s, g, n) && k < made->nregs; k++) {
        gcut_graph **body = &s->dst->regions.at[made->reg0 + k].body;
        if ((*body)->is_body) *body = gcut_pass_expand(*body, (*body)->name, s->want);
    }
    for (uint32_t k = 0; k < node->nres; k++) map[node->res0 + k] = first + k;
}

gcut_graph *gcut_pass_expand(gcut_graph *g, const char *name, bool (*want)(gcut_op))
{
    return gcut_expand_but(g, name, want, NULL);
}

gcut_graph *gcut_expand_but(gcut_graph *g, const char *name, bool (*want)(gcut_op), const bool *keep)
{
    gcut_module *m = g->module;
    expander s = {g, gcut_graph_shell(g, name), want, keep};
    gcut_ref *map = gcut_calloc(m->arena, g->values.n, sizeof *map);
    for (uint32_t k = 0; k < g->params.n; k++) gcut_param_copy(s.dst, g, k, map);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        const gcut_ref *args = gcut_args_mapped(m->arena, g, node, map);
        const char *names[GCUT_MAX_RESULTS];
        for (uint32_t k = 0; k < node->nres; k++) names[k] = g->values.at[node->res0 + k].name;
        emit(&s, g, n, args, names, map);
    }
    for (uint32_t k = 0; k < g->results.n; k++) gcut_result_copy(s.dst, g, k, map);
    gcut_checks_copy(s.dst, g);
    return s.dst;
}
