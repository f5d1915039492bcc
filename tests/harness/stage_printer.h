/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a stage from gradcut/nodes.h alone; after cmocka.h, with _GNU_SOURCE.
 */
#ifndef GCUT_TESTS_STAGE_PRINTER_H
#define GCUT_TESTS_STAGE_PRINTER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut.h"

typedef struct printer {
    FILE *out;
    const char *used[1 << 14]; /* names in the function being printed */
    size_t nused;
    void *made[1 << 12]; /* names to free */
    size_t nmade;
} printer;

/* g, name: of an op's marks, which may name a value of g by its own name. */
static void put_marks(printer *p, const gcut_mark_info *const *mark, size_t n, const gcut_graph_info *g,
                      const char **name)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(p->out, " #%s", mark[i]->name);
        for (size_t k = 0; k < mark[i]->nargs; k++) {
            const char *arg = mark[i]->arg[k];
            size_t v = g && *arg == '%' ? 0 : SIZE_MAX;
            while (g && v < g->nvalues && strcmp(g->value[v]->name, arg + 1) != 0) v++;
            fprintf(p->out, "%s%s%s", k ? ", " : "(", g && v < g->nvalues ? "%" : "",
                    g && v < g->nvalues ? name[v] : arg);
        }
        if (mark[i]->nargs) fprintf(p->out, ")");
    }
}

/* From dtype and sizes, not from `type`. */
static void put_type(printer *p, const gcut_graph_value *v)
{
    static const char *const dtype[] = {"bool", "i8", "i16", "i32", "i64", "u8", "f16", "bf16", "f32", "f64"};
    fprintf(p->out, "%s[", dtype[v->dtype]);
    for (int r = 0; r < v->rank; r++) fprintf(p->out, "%s%s", r ? ", " : "", v->formula[r]);
    fprintf(p->out, "]");
}

static bool is_used(printer *p, const char *name)
{
    for (size_t i = 0; i < p->nused; i++)
        if (!strcmp(p->used[i], name)) return true;
    assert_true(p->nused < sizeof p->used / sizeof *p->used);
    p->used[p->nused++] = name;
    return false;
}

/* What values are called in a body: captured ones as outside, the others by their own name, made unique. */
static const char **names_of(printer *p, const gcut_graph_info *g, const gcut_node_info *n,
                             const char **outside)
{
    const char **name = calloc(g->nvalues + 1, sizeof *name);
    const size_t own = n->noperands - n->ncaptured, given = g->nparams - n->ncaptured;
    p->made[p->nmade++] = name;
    for (size_t i = 0; i < n->ncaptured; i++) name[g->param[given + i]->value] = outside[n->operand[own + i]];
    for (size_t v = 0; v < g->nvalues; v++) {
        const gcut_graph_value *x = g->value[v];
        if (name[v] ||
            (x->node == GCUT_NO_INDEX && (x->index >= g->nparams || g->param[x->index]->value != v)))
            continue;
        name[v] = x->name;
        for (int i = 1; is_used(p, name[v]); i++) {
            char *made = NULL;
            assert_true(asprintf(&made, "%s.%d", x->name, i) > 0);
            assert_true(p->nmade < sizeof p->made / sizeof *p->made);
            p->made[p->nmade++] = made;
            name[v] = made;
        }
    }
    return name;
}

static void put_nodes(printer *p, const gcut_graph_info *g, const char **name);

static void put_region(printer *p, const gcut_node_info *n, const gcut_region_info *r, const char **outside)
{
    const char **name = names_of(p, r->body, n, outside);
    const size_t given = r->body->nparams - n->ncaptured;
    fprintf(p->out, " %s", r->kind);
    for (size_t i = 0; i < given; i++) {
        const size_t v = r->body->param[i]->value;
        fprintf(p->out, "%s%%%s: ", i ? ", " : "(", name[v]);
        put_type(p, r->body->value[v]);
    }
    fprintf(p->out, "%s {\n", given ? ")" : "");
    put_nodes(p, r->body, name);
    fprintf(p->out, "yield");
    for (size_t i = 0; i < r->body->nresults; i++)
        fprintf(p->out, "%s%%%s", i ? ", " : " ", name[r->body->result[i]->value]);
    fprintf(p->out, "\n}");
}

static void put_node(printer *p, const gcut_graph_info *g, const gcut_node_info *n, const char **name)
{
    const char *sep = "";
    for (size_t k = 0; k < n->nresults; k++) {
        fprintf(p->out, "%s%%%s: ", k ? ", " : "", name[n->result[k]]);
        put_type(p, g->value[n->result[k]]);
    }
    fprintf(p->out, " = %s(", n->op);
    if (!strcmp(n->op, "call")) fprintf(p->out, "@%s", n->region[0]->body->name), sep = ", ";
    for (size_t k = 0; k < n->noperands - n->ncaptured; k++, sep = ", ")
        fprintf(p->out, "%s%%%s", sep, name[n->operand[k]]);
    for (size_t k = 0; k < n->nattrs; k++) {
        if (n->attr[k]->is_default) continue;
        fprintf(p->out, "%s%s=%s", sep, n->attr[k]->name, n->attr[k]->text);
        sep = ", ";
    }
    for (size_t k = 1; k < n->nregions && !strcmp(n->op, "call"); k++)
        fprintf(p->out, "%s%s=@%s", sep, n->region[k]->kind, n->region[k]->body->name);
    fprintf(p->out, ")");
    for (size_t k = 0; k < n->nregions && strcmp(n->op, "call") != 0; k++)
        put_region(p, n, n->region[k], name);
    put_marks(p, n->mark, n->nmarks, g, name);
    fprintf(p->out, "\n");
}

static void put_nodes(printer *p, const gcut_graph_info *g, const char **name)
{
    for (size_t i = 0; i < g->nnodes; i++) put_node(p, g, g->node[i], name);
}

static void put_symbol(printer *p, const gcut_symbol_info *s)
{
    fprintf(p->out, "%s", s->name);
    if (s->lo != 0 || s->hi != GCUT_DIM_MAX) fprintf(p->out, " in %lld..", (long long)s->lo);
    if (s->hi != GCUT_DIM_MAX) fprintf(p->out, "%lld", (long long)s->hi);
    if (s->multiple != 1) fprintf(p->out, " mult %lld", (long long)s->multiple);
}

static void put_function(printer *p, const gcut_graph_info *g)
{
    const char **name = calloc(g->nvalues + 1, sizeof *name);
    p->made[p->nmade++] = name;
    p->nused = 0;
    for (size_t v = 0; v < g->nvalues; v++) is_used(p, name[v] = g->value[v]->name);
    fprintf(p->out, "func @%s", g->name);
    for (size_t i = 0; i < g->nsymbols; i++) fprintf(p->out, i ? ", " : "["), put_symbol(p, g->symbol[i]);
    fprintf(p->out, g->nsymbols ? "](" : "(");
    for (size_t i = 0; i < g->nparams; i++) {
        const gcut_param_info *x = g->param[i];
        fprintf(p->out, "%s%s %%%s: ", i ? ", " : "", x->role, name[x->value]);
        put_type(p, g->value[x->value]);
        put_marks(p, x->mark, x->nmarks, NULL, NULL);
    }
    fprintf(p->out, ") -> (");
    for (size_t i = 0; i < g->nresults; i++) {
        const gcut_result_info *x = g->result[i];
        fprintf(p->out, "%s%s %s: ", i ? ", " : "", x->role, x->name);
        put_type(p, g->value[x->value]);
        put_marks(p, x->mark, x->nmarks, NULL, NULL);
    }
    fprintf(p->out, ")");
    put_marks(p, g->mark, g->nmarks, NULL, NULL);
    fprintf(p->out, " {\n");
    put_nodes(p, g, name);
    fprintf(p->out, "return");
    for (size_t i = 0; i < g->nresults; i++)
        fprintf(p->out, "%s%%%s", i ? ", " : " ", name[g->result[i]->value]);
    fprintf(p->out, "\n}\n");
}

static bool is_of(const gcut_data_info *d, const gcut_graph_info *g)
{
    for (size_t i = 0; i < g->nparams; i++)
        if (g->param[i]->data == d) return true;
    return false;
}

/* The text of a stage, but for marks of data, pairs and what follows them; to be freed. */
static inline char *printed(const gcut_stage_info *s, gcut_stage_name stage)
{
    char *text = NULL;
    size_t size = 0;
    printer *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->out = open_memstream(&text, &size);
    assert_non_null(p->out);
    fprintf(p->out, "gcut 1\n");
    for (size_t i = 0; i < s->ndata; i++) {
        const gcut_data_info *d = s->data[i];
        if (stage <= GCUT_STAGE_JOINT && !is_of(d, s->graph[s->n - 1])) continue;
        fprintf(p->out, "data @%s: %s = %s\n", d->name, d->type, d->contents);
    }
    for (size_t i = 0; i < s->n; i++) put_function(p, s->graph[i]);
    const bool pair = stage >= GCUT_STAGE_SPLIT && s->n == 2;
    for (size_t i = 0; i < s->nrewrites && stage != GCUT_STAGE_PRIMAL && !pair; i++)
        fprintf(p->out, "// %%%s: %s = %s, %s\n", s->rewrite[i]->value, s->rewrite[i]->pattern,
                s->rewrite[i]->becomes, s->rewrite[i]->where);
    fclose(p->out);
    while (p->nmade) free(p->made[--p->nmade]);
    free(p);
    return text;
}

#endif
