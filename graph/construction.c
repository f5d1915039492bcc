/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Modules, graphs, values and locations; appending nodes.
 */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/names.h"
#include "graph/ops/attr_spec.h"
#include "graph/ops/infer.h"

gcut_module *gcut_module_new(gcut_env *env, gcut_arena *parent)
{
    gcut_arena *a = gcut_arena_new(env, parent);
    gcut_module *m = gcut_calloc(a, 1, sizeof *m);
    m->env = env;
    m->arena = a;
    m->names.arena = a;
    m->dims = gcut_dims_new(a);
    *GCUT_PUSH(a, &m->locs) = (gcut_loc){0};
    m->specs = gcut_op_specs(m);
    return m;
}

const char *gcut_intern_name(gcut_module *m, const char *s)
{
    return gcut_intern(&m->names, s, strlen(s));
}

/* The slot of an equal type, or the free one where it belongs. */
static const gcut_type **type_slot(const gcut_type_table *t, const gcut_type *type)
{
    uint64_t h = (uint64_t)type->dtype << 8 | type->rank;
    for (uint32_t d = 0; d < type->rank; d++)
        h = (h ^ (uint64_t)type->dim[d]) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 32;
    uint32_t k = gcut_map_hash(h) & (t->cap - 1);
    while (t->slot[k] && !gcut_type_equal(t->slot[k], type)) k = (k + 1) & (t->cap - 1);
    return &t->slot[k];
}

const gcut_type *gcut_intern_type(gcut_module *m, const gcut_type *type)
{
    gcut_type_table *t = &m->types;
    if (2 * (t->n + 1) > t->cap) {
        gcut_type_table bigger = {.n = t->n, .cap = t->cap ? 2 * t->cap : 16};
        bigger.slot = gcut_calloc(m->arena, bigger.cap, sizeof *bigger.slot);
        for (uint32_t k = 0; k < t->cap; k++)
            if (t->slot[k]) *type_slot(&bigger, t->slot[k]) = t->slot[k];
        gcut_release(m->arena, t->slot, t->cap * sizeof *t->slot);
        *t = bigger;
    }
    const gcut_type **s = type_slot(t, type);
    if (*s) return *s;
    t->n++;
    return *s = gcut_memdup(m->arena, type, sizeof *type);
}

static bool is_at(const gcut_module *m, uint32_t i, const char *name)
{
    return i < m->graphs.n && m->graphs.at[i]->name == name;
}

gcut_graph *gcut_module_find(const gcut_module *m, const char *name)
{
    const char *known = gcut_interned(&m->names, name, strlen(name));
    uint32_t place = known ? gcut_map_get(&m->by_name, gcut_map_key(known)) : 0;
    if (!place) return NULL;
    if (is_at(m, place - 1, known)) return m->graphs.at[place - 1];
    for (uint32_t i = 0; i < m->graphs.n; i++)
        if (is_at(m, i, known)) return m->graphs.at[i];
    return NULL;
}

static void index_name(gcut_module *m, const char *name, uint32_t i)
{
    uint32_t *place = gcut_map_at(m->arena, &m->by_name, gcut_map_key(name));
    if (!*place || !is_at(m, *place - 1, name)) *place = i + 1;
}

void gcut_module_list(gcut_module *m, gcut_graph *g)
{
    *GCUT_PUSH(m->arena, &m->graphs) = g;
    index_name(m, g->name, m->graphs.n - 1);
}

/* Under its new name the graph's place is unknown: gcut_module_find looks through the list. */
void gcut_graph_rename(gcut_graph *g, const char *name)
{
    g->name = gcut_intern_name(g->module, name);
    index_name(g->module, g->name, UINT32_MAX - 1);
}

const char *gcut_module_unused(const gcut_module *m, const char *base, const char *suffix)
{
    const char *name = gcut_printf(m->arena, "%s.%s", base, suffix);
    for (uint32_t i = 1; gcut_module_find(m, name); i++)
        name = gcut_printf(m->arena, "%s.%s%u", base, suffix, i);
    return name;
}

void gcut_module_unlist(gcut_module *m, const gcut_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->graphs.n; i++)
        if (m->graphs.at[i] != g) m->graphs.at[n++] = m->graphs.at[i];
    m->graphs.n = n;
}

#define DROP(arena, list)                                                                                    \
    (gcut_release(arena, (list)->at, (list)->cap * sizeof *(list)->at), (list)->at = NULL,                   \
     (list)->n = (list)->cap = 0)

void gcut_graph_drop(gcut_graph *g)
{
    gcut_arena *a = g->module->arena;
    gcut_module_unlist(g->module, g);
    DROP(a, &g->params);
    DROP(a, &g->results);
    DROP(a, &g->values);
    DROP(a, &g->nodes);
    DROP(a, &g->args);
    DROP(a, &g->attrs);
    DROP(a, &g->regions);
    gcut_release(a, g->by_name.slot, g->by_name.cap * sizeof *g->by_name.slot);
    g->by_name = (gcut_name_table){0};
}

gcut_graph *gcut_graph_create(gcut_module *m, const char *name)
{
    if (gcut_module_find(m, name))
        gcut_fail(m->env, GCUT_ETYPE, (gcut_place){0}, NULL, "there is already a function @%s", name);
    gcut_graph *g = gcut_calloc(m->arena, 1, sizeof *g);
    g->module = m;
    g->name = gcut_intern_name(m, name);
    *GCUT_PUSH(m->arena, &g->values) = (gcut_value){0};
    gcut_module_list(m, g);
    return g;
}

static gcut_ref value_new(gcut_graph *g, const char *name, const gcut_type *type, uint32_t def,
                          uint32_t index)
{
    gcut_ref v = g->values.n;
    *GCUT_PUSH(g->module->arena, &g->values) =
        (gcut_value){.name = name, .type = gcut_intern_type(g->module, type), .def = def, .index = index};
    gcut_name_insert(g, v);
    return v;
}

/* ---- locations ---- */

static bool same_loc(const gcut_loc *a, const gcut_loc *b)
{
    return a->call == b->call && a->name == b->name && a->line == b->line && a->col == b->col &&
           a->scope == b->scope && a->text == b->text && a->nargs == b->nargs &&
           (a->nargs == 0 || !memcmp(a->args, b->args, a->nargs * sizeof *a->args));
}

enum { RECENT_LOCATIONS = 64 };

/* Recent locations repeat most; the search is bounded so that building stays linear. */
static gcut_locid loc_add(gcut_module *m, const gcut_loc *l)
{
    uint32_t n = m->locs.n;
    for (uint32_t i = n; i > 1 && i + RECENT_LOCATIONS > n; i--)
        if (same_loc(&m->locs.at[i - 1], l)) return i - 1;
    gcut_loc copy = *l;
    if (l->nargs) copy.args = gcut_memdup(m->arena, l->args, l->nargs * sizeof *l->args);
    *GCUT_PUSH(m->arena, &m->locs) = copy;
    return n;
}

gcut_locid gcut_loc_file(gcut_module *m, const char *file, int line, int col, const char *scope)
{
    gcut_loc l = {.name = gcut_intern_name(m, file),
                  .line = line,
                  .col = col,
                  .scope = scope ? gcut_intern_name(m, scope) : NULL};
    return loc_add(m, &l);
}

gcut_locid gcut_loc_call(gcut_module *m, const char *fn, const gcut_locid *args, uint32_t n)
{
    gcut_loc l = {.call = true, .name = gcut_intern_name(m, fn), .nargs = n, .args = args};
    return loc_add(m, &l);
}

gcut_place gcut_loc_place(const gcut_module *m, gcut_locid loc)
{
    while (loc < m->locs.n && m->locs.at[loc].call && m->locs.at[loc].nargs) loc = m->locs.at[loc].args[0];
    if (loc == 0 || loc >= m->locs.n || m->locs.at[loc].call) return (gcut_place){.file = m->file};
    const gcut_loc *l = &m->locs.at[loc];
    return (gcut_place){l->name, l->line, l->col};
}

gcut_place gcut_where_of(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return gcut_loc_place(g->module, n ? n->loc : 0);
}

/* ---- parameters, results, declarations ---- */

const char *gcut_role_name(gcut_role r)
{
    static const char *const names[GCUT_NROLES] = {"param", "input", "state", "rng", "cotan",
                                                   "saved", "out",   "grad",  "next"};
    return names[r];
}

const char *gcut_data_kind_name(gcut_data_kind k)
{
    static const char *const names[GCUT_NDATA_KINDS] = {"splat", "dense", "file", "normal", "uniform"};
    return names[k];
}

gcut_ref gcut_param_new(gcut_graph *g, gcut_role role, const char *name, const gcut_type *type)
{
    name = gcut_intern_name(g->module, name);
    gcut_name_claim(g, name);
    if (gcut_graph_find(g, name))
        gcut_fail(g->module->env, GCUT_ETYPE, (gcut_place){.file = g->module->file},
                  "give one of them another name", "there is already a value %%%s in @%s", name, g->name);
    uint32_t index = g->params.n;
    gcut_ref v = value_new(g, name, type, GCUT_NONE, index);
    *GCUT_PUSH(g->module->arena, &g->params) = (gcut_param){.role = role, .value = v};
    return v;
}

void gcut_result_new(gcut_graph *g, gcut_role role, const char *name, gcut_ref value)
{
    *GCUT_PUSH(g->module->arena, &g->results) =
        (gcut_result){.role = role, .name = gcut_intern_name(g->module, name), .value = value};
}

bool gcut_data_is_of(const gcut_data *d, const gcut_graph *g)
{
    const gcut_param *p = gcut_param_find(g, d->name);
    return p && gcut_role_has_data(p->role) && gcut_type_equal(gcut_type_of(g, p->value), &d->type);
}

void gcut_decl_add(gcut_graph *g, gcut_dim_decl decl)
{
    uint32_t *place = gcut_map_at(g->module->arena, &g->decl_of, (uint64_t)decl.sym);
    if (*place) {
        g->decls.at[*place - 1] = decl;
        return;
    }
    *place = g->decls.n + 1;
    *GCUT_PUSH(g->module->arena, &g->decls) = decl;
}

const gcut_dim_decl *gcut_decl_find(const gcut_graph *g, gcut_dim sym)
{
    const uint32_t i = gcut_map_get(&g->decl_of, (uint64_t)sym) - 1;
    return i < g->decls.n && g->decls.at[i].sym == sym ? &g->decls.at[i] : NULL;
}

void gcut_decls_copy(gcut_graph *dst, const gcut_graph *src)
{
    for (uint32_t i = 0; i < src->decls.n; i++) gcut_decl_add(dst, src->decls.at[i]);
}

void gcut_dim_require(gcut_graph *g, gcut_dim a, gcut_dim b, gcut_locid loc, const char *what)
{
    gcut_module *m = g->module;
    switch (gcut_dim_compare(m->dims, a, b, g->decls.at, g->decls.n)) {
    case GCUT_DIM_EQUAL: return;
    case GCUT_DIM_DIFFERS:
        gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, loc), NULL, "%s: sizes %s and %s can never be equal",
                  what, gcut_dim_text(m->arena, m->dims, a), gcut_dim_text(m->arena, m->dims, b));
    case GCUT_DIM_UNDECIDED: break;
    }
    for (uint32_t i = 0; i < g->checks.n; i++)
        if (g->checks.at[i].a == a && g->checks.at[i].b == b) return;
    *GCUT_PUSH(m->arena, &g->checks) = (gcut_dim_check){a, b, loc};
}

void gcut_checks_copy(gcut_graph *dst, const gcut_graph *src)
{
    for (uint32_t i = 0; i < src->checks.n; i++) {
        gcut_dim_check c = src->checks.at[i];
        gcut_dim_require(dst, c.a, c.b, c.loc, "check");
    }
}

/* ---- nodes ---- */

/* Appends the attributes sorted by key, without those that equal their default. */
static uint32_t attrs_add(gcut_graph *g, gcut_op op, const gcut_attr *attrs, uint32_t nattrs)
{
    uint32_t begin = g->attrs.n;
    for (uint32_t i = 0; i < nattrs; i++) {
        const gcut_attr a = attrs[i]; /* the push may move the pool attrs[] lies in */
        const gcut_attr *d = gcut_attr_among(g->module, op, NULL, 0, a.key);
        if (d && gcut_attr_equal(d, &a)) continue;
        *GCUT_PUSH(g->module->arena, &g->attrs) = a;
        for (uint32_t k = g->attrs.n - 1; k > begin && g->attrs.at[k - 1].key > a.key; k--) {
            g->attrs.at[k] = g->attrs.at[k - 1];
            g->attrs.at[k - 1] = a;
        }
    }
    return begin;
}

/* The name of result k of node s: stated, or derived from the node's name, which may be generated. */
static const char *result_name(gcut_graph *g, const gcut_node_spec *s, gcut_ref first, uint32_t k)
{
    const char *own = s->names && k < s->ntypes ? s->names[k] : NULL;
    if (own) return gcut_name_fresh(g, own);
    if (k) {
        const char *base = s->name ? s->name : g->values.at[first].name;
        return gcut_name_fresh(g, gcut_printf(g->module->arena, "%s.r%u", base, k));
    }
    return s->name ? gcut_name_fresh(g, s->name) : gcut_name_make_up(g, s->op, s->loc);
}

/* Checks the stated types against the inferred ones and stores the stated ones: equal sizes may be written
 * differently. */
static void state_types(gcut_graph *g, const gcut_node_spec *s, gcut_type *out, uint32_t nout)
{
    gcut_module *m = g->module;
    const char *op = gcut_op_get(s->op)->name;
    if (s->ntypes != nout)
        gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, s->loc), NULL, "'%s' has %u result%s, not %u", op,
                  nout, nout == 1 ? "" : "s", s->ntypes);
    for (uint32_t k = 0; k < nout; k++) {
        if (s->types[k].dtype != out[k].dtype || s->types[k].rank != out[k].rank)
            gcut_fail(m->env, GCUT_ETYPE, gcut_loc_place(m, s->loc), NULL, "'%s' gives %s here, not %s", op,
                      gcut_type_text(m->arena, m, &out[k]), gcut_type_text(m->arena, m, &s->types[k]));
        for (uint32_t d = 0; d < out[k].rank; d++)
            gcut_dim_require(g, s->types[k].dim[d], out[k].dim[d], s->loc, op);
        out[k] = s->types[k];
    }
}

/* The run-time checks of a body move to its owner: they are over sizes, which are the same in every
 * iteration. */
static void hoist_checks(gcut_graph *g, const gcut_node_spec *s)
{
    for (uint32_t r = 0; s->op != GCUT_OP_call && r < s->nregs; r++) {
        const gcut_graph *body = s->regions[r].body;
        for (uint32_t i = 0; i < body->checks.n; i++) {
            gcut_dim_check c = body->checks.at[i];
            gcut_dim_require(g, c.a, c.b, c.loc, gcut_op_get(s->op)->name);
        }
    }
}

/* out: the types of the results; interned: s->names are of this module. */
static gcut_ref append(gcut_graph *g, const gcut_node_spec *s, const gcut_type *out, uint32_t nout,
                       bool interned)
{
    gcut_module *m = g->module;
    gcut_node n = {.op = (uint16_t)s->op,
                   .nres = (uint16_t)nout,
                   .nargs = s->nargs,
                   .ncaptured = s->ncaptured,
                   .arg0 = g->args.n,
                   .reg0 = g->regions.n,
                   .nregs = s->nregs,
                   .loc = s->loc};
    for (uint32_t k = 0; k < s->nargs; k++) {
        gcut_ref a = s->args[k];
        *GCUT_PUSH(m->arena, &g->args) = a;
    }
    for (uint32_t k = 0; k < s->nregs; k++) {
        gcut_region r = s->regions[k];
        *GCUT_PUSH(m->arena, &g->regions) = r;
    }
    n.attr0 = attrs_add(g, s->op, s->attrs, s->nattrs);
    n.nattrs = g->attrs.n - n.attr0;
    n.res0 = g->values.n;
    uint32_t id = g->nodes.n;
    *GCUT_PUSH(m->arena, &g->nodes) = n;
    for (uint32_t k = 0; k < nout; k++) {
        const char *own = interned && s->names ? s->names[k] : NULL;
        const char *name = own ? gcut_name_fresh_interned(g, own) : result_name(g, s, n.res0, k);
        gcut_ref v = value_new(g, name, &out[k], id, k);
        g->values.at[v].made_up = !s->name && !(s->names && k < s->ntypes && s->names[k]);
    }
    return n.res0;
}

gcut_ref gcut_node_make(gcut_graph *g, const gcut_node_spec *s)
{
    gcut_type out[GCUT_MAX_RESULTS];
    uint32_t nout = gcut_infer(g, s, out);
    if (s->types) state_types(g, s, out, nout);
    hoist_checks(g, s);
    return append(g, s, out, nout, false);
}

gcut_ref gcut_node_typed(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t nargs,
                         const gcut_attr *attrs, uint32_t nattrs, gcut_locid loc, const char *name,
                         const gcut_type *types, uint32_t ntypes)
{
    gcut_node_spec s = {.op = op,
                        .args = args,
                        .nargs = nargs,
                        .attrs = attrs,
                        .nattrs = nattrs,
                        .loc = loc,
                        .name = name,
                        .types = types,
                        .ntypes = ntypes};
    return gcut_node_make(g, &s);
}

gcut_ref gcut_node_new(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t nargs,
                       const gcut_attr *attrs, uint32_t nattrs, gcut_locid loc, const char *name)
{
    return gcut_node_typed(g, op, args, nargs, attrs, nattrs, loc, name, NULL, 0);
}

/* An empty pool has no address to count from. */
gcut_node_spec gcut_node_spec_of(const gcut_graph *g, const gcut_node *n)
{
    return (gcut_node_spec){.op = (gcut_op)n->op,
                            .args = n->nargs ? g->args.at + n->arg0 : NULL,
                            .nargs = n->nargs,
                            .ncaptured = n->ncaptured,
                            .attrs = n->nattrs ? g->attrs.at + n->attr0 : NULL,
                            .nattrs = n->nattrs,
                            .regions = n->nregs ? g->regions.at + n->reg0 : NULL,
                            .nregs = n->nregs,
                            .loc = n->loc};
}

/* Is dst a copy of src with its declarations, and has it the run-time checks of src already? */
static bool has_sizes_of(const gcut_graph *dst, const gcut_graph *src)
{
    if (dst->module != src->module || dst->copy_of != src) return false;
    if (dst->decls.n != src->decls.n || dst->checks.n < src->checks.n) return false;
    for (uint32_t i = 0; i < src->checks.n; i++) {
        const gcut_dim_check *x = &src->checks.at[i], *y = &dst->checks.at[i];
        if (x->a != y->a || x->b != y->b) return false;
    }
    return true;
}

/* Does the shape rule say of the copy what it said of node n?  Then it need not be asked. */
static bool keeps_types(const gcut_graph *dst, const gcut_graph *src, const gcut_node *n,
                        const gcut_ref *args)
{
    if (n->nregs || !has_sizes_of(dst, src)) return false;
    for (uint32_t k = 0; k < n->nargs; k++)
        if (!gcut_type_equal(gcut_type_of(dst, args[k]), gcut_type_of(src, gcut_arg(src, n, k))))
            return false;
    return true;
}

static gcut_ref copy(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                     const gcut_ref *map, gcut_locid loc, const char *name, const char *const *names,
                     bool interned)
{
    const gcut_node *node = &src->nodes.at[n];
    gcut_marks marks = gcut_marks_carry(dst, src, &node->marks, map);
    gcut_type types[GCUT_MAX_RESULTS];
    for (uint32_t k = 0; k < node->nres; k++) types[k] = *gcut_type_of(src, node->res0 + k);
    gcut_node_spec s = gcut_node_spec_of(src, node);
    s.args = args;
    s.loc = loc;
    s.name = name;
    s.names = names;
    s.types = types;
    s.ntypes = node->nres;
    gcut_ref r = keeps_types(dst, src, node, args) ? append(dst, &s, types, node->nres, interned)
                                                   : gcut_node_make(dst, &s);
    dst->nodes.at[dst->nodes.n - 1].marks = marks;
    return r;
}

gcut_ref gcut_node_copy_as(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                           const gcut_ref *map, gcut_locid loc, const char *const *names)
{
    return copy(dst, src, n, args, map, loc, NULL, names, false);
}

gcut_ref gcut_node_copy(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                        const gcut_ref *map, gcut_locid loc, const char *name)
{
    const char *names[GCUT_MAX_RESULTS];
    const gcut_node *node = &src->nodes.at[n];
    for (uint32_t k = 0; k < node->nres; k++) names[k] = src->values.at[node->res0 + k].name;
    return copy(dst, src, n, args, map, loc, name, name ? NULL : names, true);
}
