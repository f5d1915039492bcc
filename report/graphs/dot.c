/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A graph for Graphviz, collapsed by scope: a node for the ops of a scope, or for an op without one, with what the plan
 * saves there (filled) or recomputes (a dashed, double border); an edge for what one reads of another, with its
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/graphs/graphs.h"
#include "report/value_names.h"

/* Ops that are one node of the picture. */
typedef struct group {
    const char *name; /* of `length` bytes */
    size_t length;
    uint32_t values, ops, saved, recomputed;
    int64_t saved_bytes;
} group;

/* A value that ops of another group read. */
typedef struct edge {
    uint32_t from, to, value;
    int64_t bytes;
} edge;

typedef struct drawing {
    const gcut_graph_info *g;
    int depth;
    gcut_text *out;
    group *group; /* ngroups of them, in the order of their first ops */
    uint32_t ngroups;
    uint32_t *of; /* by value: its group */
    GCUT_VEC(edge) edges;
} drawing;

/* What the ops of a value are named after: its scope, of at most `depth` components; its own name where it has none. */
static size_t group_length(const drawing *d, const char *name)
{
    const size_t length = strlen(name), scope = gcut_scope_length(name, length);
    size_t end = 0;
    if (!scope || d->depth <= 0) return length;
    for (int k = 0; k < d->depth && end < scope; k++) {
        if (k) end++;
        while (end < scope && name[end] != '.') end++;
    }
    return end;
}

static void add_groups(drawing *d, gcut_arena *a)
{
    gcut_name_index names = {0};
    const gcut_graph_info *g = d->g;
    const char **key = gcut_calloc(a, g->nvalues + 1, sizeof(*key));
    d->group = gcut_calloc(a, g->nvalues + 1, sizeof *d->group);
    d->of = gcut_calloc(a, g->nvalues + 1, sizeof *d->of);
    for (size_t i = 0; i < g->nvalues; i++) {
        key[i] = g->value[i]->name;
        gcut_name_index_add(a, &names, key[i], group_length(d, key[i]), (uint32_t)i);
    }
    gcut_name_index_sort(&names); /* equal ones are together, the first value first */
    uint32_t *first = gcut_calloc(a, g->nvalues + 1, sizeof *first);
    for (uint32_t i = 0; i < names.list.n; i++) {
        const gcut_indexed_name *x = &names.list.at[i], *y = i ? &names.list.at[i - 1] : NULL;
        const bool same = y && x->length == y->length && !memcmp(x->at, y->at, x->length);
        first[x->index] = same ? first[y->index] : x->index;
    }
    for (size_t i = 0; i < g->nvalues; i++) {
        if (first[i] != i) {
            d->of[i] = d->of[first[i]];
            continue;
        }
        d->group[d->ngroups] = (group){.name = key[i], .length = group_length(d, key[i])};
        d->of[i] = d->ngroups++;
    }
    for (size_t i = 0; i < g->nnodes; i++) { /* all results of an op are where its first one is */
        const gcut_node_info *n = g->node[i];
        if (n->nresults) d->group[d->of[n->result[0]]].ops++;
        for (size_t k = 1; k < n->nresults; k++) d->of[n->result[k]] = d->of[n->result[0]];
    }
    for (size_t i = 0; i < g->nvalues; i++) d->group[d->of[i]].values++;
}

static void add_plan(drawing *d, const gcut_plan_info *p, gcut_arena *a)
{
    gcut_name_index names = {0};
    for (size_t i = 0; i < d->g->nvalues; i++)
        gcut_name_index_add(a, &names, d->g->value[i]->name, strlen(d->g->value[i]->name), d->of[i]);
    gcut_name_index_sort(&names);
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        const int64_t at = gcut_name_index_find(&names, v->name, strlen(v->name));
        if (at < 0) continue;
        if (v->decision == GCUT_PLAN_SAVED) d->group[at].saved++, d->group[at].saved_bytes += v->bytes;
        if (v->decision == GCUT_PLAN_RECOMPUTED) d->group[at].recomputed++;
    }
}

static int by_ends(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static void add_edges(drawing *d, gcut_arena *a)
{
    const gcut_graph_info *g = d->g;
    for (size_t i = 0; i < g->nnodes; i++) {
        const gcut_node_info *n = g->node[i];
        const uint32_t to = n->nresults ? d->of[n->result[0]] : 0;
        for (size_t k = 0; k < n->noperands && n->nresults; k++) {
            const size_t v = n->operand[k];
            const int64_t bytes = g->value[v]->bytes;
            if (d->of[v] != to)
                *GCUT_PUSH(a, &d->edges) = (edge){d->of[v], to, (uint32_t)v, bytes > 0 ? bytes : 0};
        }
    }
    if (d->edges.n) qsort(d->edges.at, d->edges.n, sizeof *d->edges.at, by_ends);
}

static void put_string(gcut_text *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\') gcut_text_add(out, "\\");
        gcut_text_addn(out, (unsigned char)s[i] < 32 ? "?" : &s[i], 1);
    }
}

static void put_group(const drawing *d, uint32_t i)
{
    gcut_text *out = d->out;
    const group *x = &d->group[i];
    gcut_text_add(out, "  n%u [label=\"", i);
    put_string(out, x->name, x->length);
    if (x->ops > 1) gcut_text_add(out, "\\n%u ops", x->ops);
    if (x->saved) gcut_text_add(out, "\\nsaved %s", gcut_bytes_short(out->arena, (double)x->saved_bytes));
    if (x->recomputed)
        gcut_text_add(out, "\\nrecomputed: %u value%s", x->recomputed, x->recomputed == 1 ? "" : "s");
    gcut_text_add(out, "\"%s%s%s];\n", x->ops ? "" : " shape=ellipse",
                  x->saved && x->recomputed ? " style=\"filled,dashed\""
                  : x->saved                ? " style=filled"
                  : x->recomputed           ? " style=dashed"
                                            : "",
                  x->recomputed ? " peripheries=2" : "");
}

void gcut_write_dot(const gcut_stage_info *primal, const gcut_plan_info *plan, int depth, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    drawing d = {.g = primal->graph[primal->n - 1], .depth = depth, .out = &t};
    add_groups(&d, a);
    add_plan(&d, plan, a);
    add_edges(&d, a);
    gcut_text_add(&t, "digraph \"");
    put_string(&t, d.g->name, strlen(d.g->name));
    gcut_text_add(&t, "\" {\n  node [shape=box fontname=\"sans-serif\" fontsize=11 fillcolor=\"#a9cbe8\"];\n"
                      "  edge [fontname=\"sans-serif\" fontsize=9 color=\"#5b6470\"];\n");
    for (uint32_t i = 0; i < d.ngroups; i++)
        if (d.group[i].values) put_group(&d, i);
    for (uint32_t i = 0, k; i < d.edges.n; i = k) {
        const edge *e = &d.edges.at[i];
        int64_t bytes = 0;
        for (k = i; k < d.edges.n && d.edges.at[k].from == e->from && d.edges.at[k].to == e->to; k++)
            if (k == i || d.edges.at[k].value != d.edges.at[k - 1].value) /* once, however many ops read it */
                bytes += d.edges.at[k].bytes;
        gcut_text_add(&t, "  n%u -> n%u [label=\"%s\"];\n", e->from, e->to,
                      gcut_bytes_short(a, (double)bytes));
    }
    gcut_text_add(&t, "}\n");
    gcut_text_addn(out, t.at, t.n);
    gcut_arena_free(a);
}
