/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The outline of a graph: its functions, their scopes, what ops are in each and how many of them a gradient reaches.
 * Scopes that differ by numbers alone and have the same ops are one line.
 */
#include <stdlib.h>
#include <string.h>

#include "report/fold.h"
#include "report/graphs/graphs.h"
#include "report/value_names.h"

/* The ops of a function whose values are in one scope. */
typedef struct scope {
    const char *name, *ops; /* "block0.attn", ""; "3 reshape, matmul" */
    uint32_t n, reached;    /* ops; those that a gradient reaches */
    uint32_t first;         /* op */
} scope;

typedef struct outline {
    const gcut_graph_info *g;
    const bool *reached; /* by value; NULL: not known */
    gcut_arena *a;
    gcut_text *out;
} outline;

static const char *scope_of(const outline *o, const gcut_node_info *n)
{
    const char *name = n->nresults ? o->g->value[n->result[0]]->name : "";
    return gcut_strndup(o->a, name, gcut_scope_length(name, strlen(name)));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "3 reshape, matmul": by name. */
static const char *count_ops(const outline *o, const char **op, uint32_t n)
{
    gcut_text t = {.arena = o->a};
    qsort(op, n, sizeof *op, by_text);
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && !strcmp(op[i], op[k]);) k++;
        gcut_text_add(&t, i ? ", " : "");
        if (k - i > 1) gcut_text_add(&t, "%u ", k - i);
        gcut_text_add(&t, "%s", op[i]);
    }
    return t.at;
}

static int by_first(const void *a, const void *b)
{
    const scope *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

typedef struct keyed {
    const char *name;
    uint32_t node;
} keyed;

static int by_scope(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static scope *list_scopes(const outline *o, uint32_t *n)
{
    const uint32_t nodes = (uint32_t)o->g->nnodes;
    keyed *k = gcut_calloc(o->a, nodes + 1u, sizeof *k);
    scope *s = gcut_calloc(o->a, nodes + 1u, sizeof *s);
    const char **op = gcut_calloc(o->a, nodes + 1u, sizeof(*op));
    *n = 0;
    for (uint32_t i = 0; i < nodes; i++) k[i] = (keyed){scope_of(o, o->g->node[i]), i};
    if (nodes) qsort(k, nodes, sizeof *k, by_scope);
    for (uint32_t i = 0, end; i < nodes; i = end) {
        scope *x = &s[(*n)++];
        *x = (scope){.name = k[i].name, .first = k[i].node};
        for (end = i; end < nodes && !strcmp(k[end].name, x->name); end++) {
            const gcut_node_info *node = o->g->node[k[end].node];
            bool reached = false;
            for (size_t r = 0; o->reached && r < node->nresults; r++) reached |= o->reached[node->result[r]];
            op[x->n++] = node->op;
            x->reached += reached;
        }
        x->ops = count_ops(o, op, x->n);
    }
    if (*n) qsort(s, *n, sizeof *s, by_first);
    return s;
}

/* "block*.attn, 12 times" */
static void put_scope(const outline *o, const scope *s, const char *name, uint32_t times)
{
    gcut_text *out = o->out;
    uint32_t depth = 1;
    for (const char *c = s->name; *c; c++) depth += *c == '.';
    gcut_text_add(out, "%*s%s", 2 * (int)depth, "", *name ? name : "(no scope)");
    if (times > 1) gcut_text_add(out, ", %u times", times);
    gcut_text_add(out, ": %s", s->ops);
    if (s->reached == s->n)
        gcut_text_add(out, "; a gradient reaches %s", s->n > 1 ? "all" : "it");
    else if (s->reached)
        gcut_text_add(out, "; a gradient reaches %u of %u", s->reached, s->n);
    gcut_text_add(out, "\n");
}

static void put_scopes(const outline *o)
{
    uint32_t n;
    const scope *s = list_scopes(o, &n);
    gcut_row *row = gcut_calloc(o->a, n + 1u, sizeof *row);
    for (uint32_t i = 0; i < n; i++)
        row[i] = (gcut_row){s[i].name, gcut_printf(o->a, "%s %u", s[i].ops, s[i].reached), 0};
    const gcut_folded f = gcut_fold(o->a, row, n, &(gcut_table_options){0}, false);
    for (uint32_t i = 0; i < f.n; i++) put_scope(o, &s[*f.at[i].row], f.at[i].name, f.at[i].n);
}

void gcut_write_tree(const gcut_stage_info *primal, const bool *const *has_gradient, gcut_text *out)
{
    for (size_t i = 0; i < primal->n; i++) {
        const gcut_graph_info *g = primal->graph[i];
        gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
        gcut_text t = {.arena = a};
        const outline o = {g, has_gradient[i], a, &t};
        gcut_text_add(&t, "@%s: %zu op%s, %zu parameter%s and input%s\n", g->name, g->nnodes,
                      g->nnodes == 1 ? "" : "s", g->nparams, g->nparams == 1 ? "" : "s",
                      g->nparams == 1 ? "" : "s");
        put_scopes(&o);
        gcut_text_addn(out, t.at, t.n);
        gcut_arena_free(a);
    }
}
