/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Does a recording with symbols do what the function does at one set of sizes?
 *
 * Both recordings are walked side by side.  Types, attributes and run-time checks of the one with symbols are evaluated at the
 * sizes.  A size as a value is one node where it is a number, and `dim` with its conversion and broadcast where it is an
 * expression (gcut_bsize): these are compared as one.
 */
#include <string.h>

#include "driver/trace/tree.h"
#include "text/text.h"

typedef struct walk {
    const gcut_graph *f, *g; /* with symbols, with numbers */
    const gcut_dim_binding *bind;
    uint32_t nbind;
    gcut_ref *map; /* of f: the value of g */
} walk;

static bool same_size(const walk *w, gcut_dim a, gcut_dim b)
{
    int64_t x;
    return gcut_dim_known(b) && gcut_dim_eval(w->f->module->dims, a, w->bind, w->nbind, &x) && x == b;
}

static bool same_type(const walk *w, const gcut_type *a, const gcut_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!same_size(w, a->dim[d], b->dim[d])) return false;
    return true;
}

static bool same_attr(const walk *w, const gcut_attr *a, const gcut_attr *b)
{
    if (a->key != b->key || a->kind != b->kind) return false;
    if (a->kind == GCUT_ATTR_KIND_DIM) return a->u.dim == b->u.dim || same_size(w, a->u.dim, b->u.dim);
    if (a->kind != GCUT_ATTR_KIND_DIMS) return gcut_attr_equal(a, b);
    if (a->n != b->n) return false;
    for (uint32_t k = 0; k < a->n; k++)
        if (a->u.dims[k] != b->u.dims[k] && !same_size(w, a->u.dims[k], b->u.dims[k])) return false;
    return true;
}

static bool same_graph(walk *w, uint32_t from, uint32_t *to, uint32_t end, uint32_t gend);

static bool same_text(const gcut_graph *f, const gcut_graph *g)
{
    gcut_arena *a = gcut_arena_new(f->module->env, f->module->arena);
    gcut_text t = {.arena = a}, u = t;
    const gcut_print_options o = {.no_loc = true, .name = "f"};
    gcut_print_graph(f, &o, &t);
    gcut_print_graph(g, &o, &u);
    const bool same = !strcmp(t.at, u.at);
    gcut_arena_free(a);
    return same;
}

static bool same_body(const walk *w, const gcut_graph *f, const gcut_graph *g)
{
    if (f == g) return true;                 /* a function that both call */
    if (!g->is_body) return same_text(f, g); /* one of each module */
    if (f->params.n != g->params.n || f->results.n != g->results.n) return false;
    gcut_arena *a = gcut_arena_new(f->module->env, f->module->arena);
    walk in = {f, g, w->bind, w->nbind, gcut_calloc(a, f->values.n + 1, sizeof *in.map)};
    uint32_t at = 0;
    for (uint32_t k = 0; k < f->params.n; k++) in.map[f->params.at[k].value] = g->params.at[k].value;
    bool same = same_graph(&in, 0, &at, f->nodes.n, g->nodes.n);
    for (uint32_t k = 0; same && k < f->results.n; k++)
        same = in.map[f->results.at[k].value] == g->results.at[k].value;
    gcut_arena_free(a);
    return same;
}

static bool same_node(const walk *w, const gcut_node *a, const gcut_node *b)
{
    if (a->op != b->op || a->nargs != b->nargs || a->nres != b->nres || a->nattrs != b->nattrs ||
        a->nregs != b->nregs)
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (w->map[gcut_arg(w->f, a, k)] != gcut_arg(w->g, b, k)) return false;
    for (uint32_t k = 0; k < a->nattrs; k++)
        if (!same_attr(w, &w->f->attrs.at[a->attr0 + k], &w->g->attrs.at[b->attr0 + k])) return false;
    for (uint32_t k = 0; k < a->nres; k++)
        if (!same_type(w, gcut_type_of(w->f, a->res0 + k), gcut_type_of(w->g, b->res0 + k))) return false;
    for (uint32_t k = 0; k < a->nregs; k++)
        if (!same_body(w, gcut_region_at(w->f, a, k)->body, gcut_region_at(w->g, b, k)->body)) return false;
    return true;
}

/* The nodes from n on that make one value of a size: how many; 0: n makes none. */
static uint32_t size_nodes(const gcut_graph *f, uint32_t n, uint32_t end)
{
    uint32_t k = n + 1;
    if (f->nodes.at[n].op != GCUT_OP_dim) return 0;
    for (; k < end; k++) {
        const gcut_node *next = &f->nodes.at[k];
        if ((next->op != GCUT_OP_cast && next->op != GCUT_OP_broadcast) ||
            gcut_arg(f, next, 0) != f->nodes.at[k - 1].res0)
            break;
    }
    return k - n;
}

static bool is_size(const walk *w, uint32_t n, uint32_t count, const gcut_node *full)
{
    const gcut_node *dim = &w->f->nodes.at[n], *last = &w->f->nodes.at[n + count - 1];
    const gcut_attr *value = full->op == GCUT_OP_full ? gcut_attr_get(w->g, full, GCUT_KEY_value) : NULL;
    const gcut_attr *of = gcut_attr_get(w->f, dim, GCUT_KEY_of);
    int64_t x;
    return value && gcut_dim_eval(w->f->module->dims, of->u.dim, w->bind, w->nbind, &x) &&
           value->u.num.f == (double)x &&
           same_type(w, gcut_type_of(w->f, last->res0), gcut_type_of(w->g, full->res0));
}

/* Nodes [from, end) of f beside those of g from *to on, of which there are gend; *to: the first of g that differs. */
static bool same_graph(walk *w, uint32_t from, uint32_t *to, uint32_t end, uint32_t gend)
{
    for (uint32_t n = from; n < end; ++*to) {
        if (*to >= gend) return false;
        const gcut_node *b = &w->g->nodes.at[*to], *a = &w->f->nodes.at[n];
        uint32_t size = size_nodes(w->f, n, end); /* a cast or a broadcast of the function may follow */
        while (size && !is_size(w, n, size, b)) size--;
        if (size) {
            w->map[w->f->nodes.at[n + size - 1].res0] = b->res0;
            n += size;
            continue;
        }
        if (!same_node(w, a, b)) return false;
        for (uint32_t k = 0; k < a->nres; k++) w->map[a->res0 + k] = b->res0 + k;
        n++;
    }
    return true;
}

/* A sentence about node n of the function at these sizes. */
static const char *said(const gcut_record *now, uint32_t n, gcut_arena *a)
{
    if (n >= now->g->nodes.n) return "it ends earlier at these sizes";
    return gcut_printf(a, "%s depends on a size", gcut_recorded_op(now->g, n, a));
}

/* What a run at these sizes would refuse; NULL: nothing. */
static const char *failing_check(const walk *w, gcut_arena *a)
{
    const gcut_dims *dims = w->f->module->dims;
    for (uint32_t i = 0; i < w->f->checks.n; i++) {
        const gcut_dim_check *c = &w->f->checks.at[i];
        const gcut_place at = gcut_loc_place(w->f->module, c->loc);
        int64_t x, y;
        if (!gcut_dim_eval(dims, c->a, w->bind, w->nbind, &x) ||
            !gcut_dim_eval(dims, c->b, w->bind, w->nbind, &y) || x != y)
            return gcut_printf(a, "%s:%d: %s must be %s", at.file ? at.file : "?", at.line,
                               gcut_dim_text(a, dims, c->a), gcut_dim_text(a, dims, c->b));
    }
    return NULL;
}

static bool ends_alike(const walk *w, uint32_t to)
{
    bool same = to == w->g->nodes.n && w->f->results.n == w->g->results.n;
    for (uint32_t i = 0; same && i < w->f->results.n; i++)
        same = w->map[w->f->results.at[i].value] == w->g->results.at[i].value;
    return same;
}

const char *gcut_tree_differs(const gcut_path *tree, const gcut_record *now, const gcut_dim_binding *bind,
                              uint32_t nbind, gcut_arena *a)
{
    uint32_t to = 0, depth = 0;
    walk before = {0};
    for (const gcut_path *p = tree; p; depth++) {
        const gcut_graph *f = p->of;
        walk w = {f, now->g, bind, nbind, gcut_calloc(a, f->values.n + 1, sizeof *w.map)};
        if (!before.map)
            for (uint32_t i = 0; i < f->params.n; i++) {
                const gcut_ref x = f->params.at[i].value, y = now->g->params.at[i].value;
                if (!same_type(&w, gcut_type_of(f, x), gcut_type_of(now->g, y)))
                    return gcut_printf(a, "argument %u is of another type", (unsigned)i);
                w.map[x] = y;
            }
        else /* the recordings have equal ids up to here */
            memcpy(w.map, before.map,
                   (before.f->values.n < f->values.n ? before.f : f)->values.n * sizeof *w.map);
        before = w;
        if (!same_graph(&w, p->begin, &to, p->end, now->g->nodes.n)) return said(now, to, a);
        const char *check = failing_check(&w, a);
        if (check) return check;
        if (!p->cond) return ends_alike(&w, to) && depth == now->nbranches ? NULL : said(now, to, a);
        if (depth == now->nbranches || now->branches[depth].nodes != to ||
            now->branches[depth].v != w.map[p->cond])
            return said(now, to, a);
        p = p->arm[now->branches[depth].taken];
    }
    return NULL; /* a branch that is not recorded yet */
}
