/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A copy of a graph in a module of its own, or of a function in a module that has others.
 *
 * Ids of values, nodes and operands are preserved, in a module of its own those of locations and dims too, so that side
 * tables by id (prices, decisions, sizes) are valid for the copy.  Strings are interned anew, since the copy may outlive the
 * original; bodies that nodes share are shared by the copies.  State of an unfinished construction is not
 * copied: scopes, captures, and the name counters.
 */

#include "graph/graph.h"
#include "graph/names.h"

typedef struct cloner {
    gcut_module *m;
    gcut_arena *scratch;
    gcut_map number; /* by the address of a function or body: where its copy is in `copies`, plus 1 */
    GCUT_VEC(gcut_graph *) copies;
    const gcut_module *from; /* of which dims and locations get other numbers; NULL: they keep theirs */
    gcut_locid base;         /* the copy of location k is k + base, but for 0 */
} cloner;

/* A list with the same elements, in memory of the copy: the caller may then replace pointers in it. */
#define COPY(arena, to, list)                                                                                \
    ((to)->at = gcut_memdup(arena, (list)->at, (list)->n * sizeof *(list)->at),                              \
     (to)->n = (to)->cap = (list)->n)

static const char *name(const cloner *c, const char *s)
{
    return s ? gcut_intern_name(c->m, s) : NULL;
}

static const void *boxed(const cloner *c, gcut_dim d)
{
    return gcut_memdup(c->scratch, &d, sizeof d);
}

static const void *dim_number(void *self, int64_t x)
{
    return boxed(self, x);
}

static const void *dim_symbol(void *self, gcut_dim symbol)
{
    const cloner *c = self;
    return boxed(c, gcut_dim_symbol(c->m->dims, gcut_dim_symbol_name(c->from->dims, symbol)));
}

static const void *dim_binary(void *self, gcut_dim_op op, const void *a, const void *b, gcut_dim x)
{
    const cloner *c = self;
    (void)x;
    return boxed(c, gcut_dim_make(c->m->dims, op, *(const gcut_dim *)a, *(const gcut_dim *)b));
}

static gcut_dim dim(cloner *c, gcut_dim d)
{
    if (!c->from || !gcut_dim_may_be_expression(d)) return d;
    const gcut_dim_visitor v = {c, dim_number, dim_symbol, dim_binary};
    return *(const gcut_dim *)gcut_dim_visit(c->from->dims, d, &v);
}

static gcut_locid loc(const cloner *c, gcut_locid l)
{
    return l ? l + c->base : 0;
}

static gcut_marks marks(cloner *c, const gcut_marks *of)
{
    gcut_marks out = {of->n, gcut_memdup(c->m->arena, of->at, of->n * sizeof *of->at)};
    for (uint32_t i = 0; i < out.n; i++)
        for (uint32_t k = 0; k < out.at[i].nargs; k++) {
            out.at[i].arg[k].text = name(c, out.at[i].arg[k].text);
            out.at[i].arg[k].i = dim(c, out.at[i].arg[k].i);
        }
    return out;
}

static gcut_attr attr(cloner *c, gcut_attr a)
{
    if (a.kind == GCUT_ATTR_KIND_STR) a.u.str = name(c, a.u.str);
    if (a.kind == GCUT_ATTR_KIND_DIM) a.u.dim = dim(c, a.u.dim);
    if (a.kind == GCUT_ATTR_KIND_DIMS) {
        gcut_dim *d = gcut_memdup(c->m->arena, a.u.dims, a.n * sizeof *a.u.dims);
        for (uint32_t k = 0; k < a.n; k++) d[k] = dim(c, d[k]);
        a.u.dims = d;
    }
    return a;
}

/* at[0], "unknown", is in every module. */
static void copy_locs(cloner *c, const gcut_module *from)
{
    gcut_module *m = c->m;
    c->base = m->locs.n - 1;
    for (uint32_t i = 1; i < from->locs.n; i++) {
        gcut_loc l = from->locs.at[i];
        gcut_locid *args = gcut_memdup(m->arena, l.args, l.nargs * sizeof *l.args);
        l.name = name(c, l.name);
        l.scope = name(c, l.scope);
        l.text = name(c, l.text);
        for (uint32_t k = 0; k < l.nargs; k++) args[k] = loc(c, args[k]);
        l.args = args;
        *GCUT_PUSH(m->arena, &m->locs) = l;
    }
}

/* Of g and, unless it is NULL, f. */
static void copy_data(cloner *c, const gcut_graph *g, const gcut_graph *f)
{
    for (uint32_t i = 0; i < g->module->data.n; i++) {
        gcut_data d = g->module->data.at[i];
        if (!gcut_data_is_of(&d, g) && !(f && gcut_data_is_of(&d, f))) continue;
        d.name = name(c, d.name);
        d.file = name(c, d.file);
        d.key = name(c, d.key);
        d.nums = gcut_memdup(c->m->arena, d.nums, d.nnums * sizeof *d.nums);
        d.marks = marks(c, &d.marks);
        *GCUT_PUSH(c->m->arena, &c->m->data) = d;
    }
}

static gcut_graph *copy_graph(cloner *c, const gcut_graph *from);

static void copy_interface(cloner *c, gcut_graph *g, const gcut_graph *from)
{
    gcut_arena *a = c->m->arena;
    for (uint32_t i = 0; i < from->decls.n; i++) {
        gcut_dim_decl d = from->decls.at[i];
        d.sym = dim(c, d.sym);
        gcut_decl_add(g, d);
    }
    COPY(a, &g->checks, &from->checks);
    for (uint32_t i = 0; i < g->checks.n; i++) {
        gcut_dim_check *k = &g->checks.at[i];
        *k = (gcut_dim_check){dim(c, k->a), dim(c, k->b), loc(c, k->loc)};
    }
    COPY(a, &g->params, &from->params);
    COPY(a, &g->results, &from->results);
    g->marks = marks(c, &from->marks);
    for (uint32_t i = 0; i < g->params.n; i++) g->params.at[i].marks = marks(c, &g->params.at[i].marks);
    for (uint32_t i = 0; i < g->results.n; i++) {
        g->results.at[i].name = name(c, g->results.at[i].name);
        g->results.at[i].marks = marks(c, &g->results.at[i].marks);
    }
}

static void copy_values(cloner *c, gcut_graph *g, const gcut_graph *from)
{
    for (gcut_ref v = 0; v < from->values.n; v++) {
        gcut_value x = from->values.at[v];
        x.name = name(c, x.name);
        if (v) {
            gcut_type t = *x.type;
            for (uint32_t k = 0; k < t.rank; k++) t.dim[k] = dim(c, t.dim[k]);
            x.type = gcut_intern_type(c->m, &t);
        }
        *GCUT_PUSH(c->m->arena, &g->values) = x;
        if (v) gcut_name_insert(g, v);
    }
}

static void copy_nodes(cloner *c, gcut_graph *g, const gcut_graph *from)
{
    gcut_arena *a = c->m->arena;
    COPY(a, &g->nodes, &from->nodes);
    COPY(a, &g->args, &from->args);
    COPY(a, &g->attrs, &from->attrs);
    COPY(a, &g->regions, &from->regions);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        g->nodes.at[i].marks = marks(c, &g->nodes.at[i].marks);
        g->nodes.at[i].loc = loc(c, g->nodes.at[i].loc);
    }
    for (uint32_t i = 0; i < g->attrs.n; i++) g->attrs.at[i] = attr(c, g->attrs.at[i]);
    for (uint32_t i = 0; i < g->regions.n; i++)
        g->regions.at[i].body = copy_graph(c, from->regions.at[i].body);
}

/* Callees are copied first: they precede their callers in the module's list. */
static gcut_graph *copy_graph(cloner *c, const gcut_graph *from)
{
    uint32_t known = gcut_map_get(&c->number, gcut_map_key(from));
    if (known) return c->copies.at[known - 1];
    gcut_graph *g = gcut_calloc(c->m->arena, 1, sizeof *g);
    g->module = c->m;
    g->name = name(c, from->name);
    if (!from->is_body && gcut_module_find(c->m, g->name))
        g->name = gcut_intern_name(c->m, gcut_module_unused(c->m, g->name, "copy"));
    g->loc = loc(c, from->loc);
    g->is_body = from->is_body;
    copy_interface(c, g, from);
    copy_values(c, g, from);
    copy_nodes(c, g, from);
    *GCUT_PUSH(c->scratch, &c->copies) = g;
    *gcut_map_at(c->scratch, &c->number, gcut_map_key(from)) = c->copies.n;
    if (!g->is_body) gcut_module_list(c->m, g);
    return g;
}

/* Copies the pair and its forward graph. */
static void copy_pair(cloner *c, const gcut_pair *pair, const gcut_graph *fwd)
{
    const gcut_graph *f = copy_graph(c, fwd);
    *GCUT_PUSH(c->m->arena, &c->m->pairs) = (gcut_pair){.name = name(c, pair->name),
                                                        .fwd = f->name,
                                                        .bwd = name(c, pair->bwd),
                                                        .marks = marks(c, &pair->marks)};
}

gcut_graph *gcut_module_clone(const gcut_graph *g, gcut_arena *parent)
{
    const gcut_module *from = g->module;
    GCUT_ASSERT(!g->is_body && !g->failed);
    cloner c = {.m = gcut_module_new(from->env, parent)};
    c.scratch = gcut_arena_new(from->env, c.m->arena);
    gcut_dims_copy(c.m->dims, from->dims);
    c.m->file = name(&c, from->file);
    copy_locs(&c, from);
    const gcut_pair *pair = gcut_pair_of(g);
    const gcut_graph *fwd = pair ? gcut_module_find(from, pair->fwd) : NULL;
    copy_data(&c, g, fwd);
    if (fwd) copy_pair(&c, pair, fwd);
    gcut_graph *copy = copy_graph(&c, g);
    gcut_arena_free(c.scratch);
    return copy;
}

gcut_graph *gcut_function_copy(const gcut_graph *g, gcut_module *to)
{
    GCUT_ASSERT(!g->is_body && !g->failed);
    cloner c = {.m = to, .from = g->module};
    c.scratch = gcut_arena_new(to->env, to->arena);
    copy_locs(&c, g->module);
    gcut_graph *copy = copy_graph(&c, g);
    gcut_arena_free(c.scratch);
    return copy;
}
