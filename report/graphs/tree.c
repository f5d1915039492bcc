/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The outline of a graph: its functions, their scopes, what ops are in each and how many of them a gradient reaches.
 * Three and more scopes that differ by numbers alone and have the same ops are one line.
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

/* An op, of a body of a loop or branch perhaps, which a gradient reaches where it reaches the loop. */
typedef struct op {
    const char *name, *scope;
    bool reached;
} op;

typedef struct outline {
    const gcut_graph_info *g;
    const bool *reached; /* by value; NULL: not known */
    GCUT_VEC(op) ops;
    gcut_arena *a;
    gcut_text *out;
} outline;

static void add_ops(outline *o, const gcut_graph_info *g, bool body, bool reached)
{
    for (size_t i = 0; i < g->nnodes; i++) {
        const gcut_node_info *n = g->node[i];
        const char *name = n->nresults ? g->value[n->result[0]]->name : "";
        bool own = reached;
        for (size_t r = 0; !body && o->reached && r < n->nresults; r++) own |= o->reached[n->result[r]];
        *GCUT_PUSH(o->a, &o->ops) =
            (op){n->op, gcut_strndup(o->a, name, gcut_scope_length(name, strlen(name))), own};
        for (size_t k = 0; k < n->nregions; k++)
            if (strcmp(n->region[k]->kind, "call") != 0 && strcmp(n->region[k]->kind, "vjp") != 0)
                add_ops(o, n->region[k]->body, true, own);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "3 reshape, matmul": by name. */
static const char *count_ops(const outline *o, const char **name, uint32_t n)
{
    gcut_text t = {.arena = o->a};
    qsort(name, n, sizeof *name, by_text);
    for (uint32_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && !strcmp(name[i], name[k]);) k++;
        gcut_text_add(&t, i ? ", " : "");
        if (k - i > 1) gcut_text_add(&t, "%u ", k - i);
        gcut_text_add(&t, "%s", name[i]);
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
    const uint32_t nodes = o->ops.n;
    keyed *k = gcut_calloc(o->a, nodes + 1u, sizeof *k);
    scope *s = gcut_calloc(o->a, nodes + 1u, sizeof *s);
    const char **name = gcut_calloc(o->a, nodes + 1u, sizeof(*name));
    *n = 0;
    for (uint32_t i = 0; i < nodes; i++) k[i] = (keyed){o->ops.at[i].scope, i};
    if (nodes) qsort(k, nodes, sizeof *k, by_scope);
    for (uint32_t i = 0, end; i < nodes; i = end) {
        scope *x = &s[(*n)++];
        *x = (scope){.name = k[i].name, .first = k[i].node};
        for (end = i; end < nodes && !strcmp(k[end].name, x->name); end++) {
            name[x->n++] = o->ops.at[k[end].node].name;
            x->reached += o->ops.at[k[end].node].reached;
        }
        x->ops = count_ops(o, name, x->n);
    }
    if (*n) qsort(s, *n, sizeof *s, by_first);
    return s;
}

/* "block*.attn, 12 times" */
static void put_scope(const outline *o, const scope *s, const char *name, uint32_t times)
{
    gcut_text *out = o->out;
    gcut_text_add(out, "  %s", *name ? name : "(no scope)");
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
        outline o = {.g = g, .reached = has_gradient[i], .a = a, .out = &t};
        add_ops(&o, g, false, false);
        gcut_text_add(&t, "@%s: %u op%s, %zu parameter%s and input%s%s\n", g->name, o.ops.n,
                      o.ops.n == 1 ? "" : "s", g->nparams, g->nparams == 1 ? "" : "s",
                      g->nparams == 1 ? "" : "s", o.reached ? "" : "; what a gradient reaches is not said");
        put_scopes(&o);
        gcut_text_addn(out, t.at, t.n);
        gcut_arena_free(a);
    }
}
