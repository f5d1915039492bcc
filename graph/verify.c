/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The invariants G1..G10 of graph/graph.h, one function each, in that order;
 * G6 and G9 are in graph/verify_interface.c.
 * Every violation is reported at the best known place; GCUT_ETYPE is thrown once, at the end.
 * After a violation the checks go on: ids are tested before they are followed.
 */
#include <string.h>

#include "graph/names.h"
#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "graph/verify.h"

void gcut_violation(gcut_check *c, gcut_locid loc, const char *rule, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = gcut_vprintf(c->scratch, fmt, ap);
    va_end(ap);
    gcut_report(c->m->env, GCUT_ETYPE, gcut_loc_place(c->m, loc < c->m->locs.n ? loc : 0), NULL,
                "@%s breaks invariant %s: %s", c->g->name, rule, what);
    c->broken++;
}

static const char *op_name(const gcut_node *n)
{
    return n->op < GCUT_NOPS ? gcut_op_get((gcut_op)n->op)->name : "?";
}

static bool fits(uint32_t first, uint32_t n, uint32_t total)
{
    return first <= total && n <= total - first;
}

/* ---- G1: order and scope ---- */

bool gcut_check_visible(const gcut_check *c, gcut_ref v, uint32_t user)
{
    uint32_t def = c->g->values.at[v].def;
    return def == GCUT_NONE || (def < user && def < c->g->nodes.n);
}

static void defined_before_use(gcut_check *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = &g->nodes.at[n];
        c->bad[n] = !fits(node->arg0, node->nargs, g->args.n);
        if (c->bad[n]) gcut_violation(c, node->loc, "G1", "the operands of node %u lie outside the pool", n);
        for (uint32_t k = 0; k < node->nargs && !c->bad[n]; k++) {
            gcut_ref v = gcut_arg(g, node, k);
            if (gcut_check_is_value(c, v) && gcut_check_visible(c, v, n)) continue;
            gcut_violation(c, node->loc, "G1", "operand %u of '%s' (%%%s) is not defined before it", k + 1,
                           op_name(node), gcut_check_name(c, v));
            c->bad[n] = true;
        }
    }
}

/* ---- G2: operands and attributes ---- */

static const char *attr_fault(const gcut_check *c, const gcut_node *n, const gcut_attr *a)
{
    if ((uint32_t)a->key >= GCUT_NATTRS) return "has no known key";
    const gcut_attr_spec *s = gcut_attr_spec_of(c->m, (gcut_op)n->op, a->key);
    if (!s) return "is not one of the op's";
    if (a->kind != gcut_attr_kind_of(a->key)) return "is of the wrong kind";
    if (a->kind == GCUT_ATTR_KIND_DIMS && a->n > 0 && !a->u.dims) return "has no items";
    if (a->kind == GCUT_ATTR_KIND_STR && !a->u.str) return "has no text";
    if (s->has_default && gcut_attr_equal(a, &s->value)) return "states its default";
    return NULL;
}

static const char *attr_text(const gcut_attr *a)
{
    return (uint32_t)a->key < GCUT_NATTRS ? gcut_attr_name(a->key) : "?";
}

static void op_attributes(gcut_check *c, uint32_t n)
{
    const gcut_graph *g = c->g;
    const gcut_node *node = &g->nodes.at[n];
    uint64_t seen = 0;
    _Static_assert(GCUT_NATTRS <= 64, "the keys seen are bits of one word");
    for (uint32_t i = 0; i < node->nattrs; i++) {
        const gcut_attr *a = &g->attrs.at[node->attr0 + i];
        const char *fault = attr_fault(c, node, a);
        if (!fault && i > 0 && a[-1].key >= a->key) fault = "is out of order or given twice";
        if (fault) {
            gcut_violation(c, node->loc, "G2", "attribute '%s' of '%s' %s", attr_text(a), op_name(node),
                           fault);
            c->bad[n] = true;
        } else {
            seen |= UINT64_C(1) << a->key;
        }
    }
    const gcut_op_spec *s = &c->m->specs[node->op];
    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i].required && !(seen >> s->at[i].key & 1)) {
            gcut_violation(c, node->loc, "G2", "'%s' lacks its attribute '%s'", op_name(node),
                           gcut_attr_name(s->at[i].key));
            c->bad[n] = true;
        }
}

static void op_table(gcut_check *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = &g->nodes.at[n];
        if (node->op >= GCUT_NOPS) {
            gcut_violation(c, node->loc, "G2", "node %u has the unknown op %u", n, node->op);
            c->bad[n] = true;
            continue;
        }
        const gcut_op_info *info = gcut_op_get((gcut_op)node->op);
        uint32_t own = node->nargs - (node->ncaptured <= node->nargs ? node->ncaptured : 0);
        if (own < info->lo || (info->hi != UINT8_MAX && own > info->hi)) {
            gcut_violation(c, node->loc, "G2", "'%s' has %u operands", info->name, own);
            c->bad[n] = true;
        }
        if (!fits(node->attr0, node->nattrs, g->attrs.n)) {
            gcut_violation(c, node->loc, "G2", "the attributes of '%s' lie outside the pool", info->name);
            c->bad[n] = true;
            continue;
        }
        op_attributes(c, n);
    }
}

/* ---- G3: types ---- */

static bool known_check(const gcut_graph *g, gcut_dim a, gcut_dim b)
{
    for (uint32_t i = 0; i < g->checks.n; i++) {
        const gcut_dim_check *k = &g->checks.at[i];
        if ((k->a == a && k->b == b) || (k->a == b && k->b == a)) return true;
    }
    return false;
}

typedef struct inference {
    gcut_graph shadow;
    uint32_t node, n;
    gcut_type out[GCUT_MAX_RESULTS];
} inference;

static void infer_body(void *arg)
{
    inference *f = arg;
    const gcut_node *n = gcut_node_at(&f->shadow, f->node);
    gcut_node_spec s = gcut_node_spec_of(&f->shadow, n);
    if (n->op == GCUT_OP_external && fits(n->res0, n->nres, f->shadow.values.n)) {
        for (uint32_t k = 0; k < n->nres && k < GCUT_MAX_RESULTS; k++)
            f->out[k] = *gcut_type_of(&f->shadow, n->res0 + k);
        s.types = gcut_memdup(f->shadow.module->arena, f->out, (n->nres + 1u) * sizeof *f->out);
        s.ntypes = n->nres;
    }
    f->n = gcut_infer(&f->shadow, &s, f->out);
}

static void result_types(gcut_check *c, uint32_t n, const inference *f)
{
    const gcut_graph *g = c->g;
    const gcut_node *node = &g->nodes.at[n];
    if (!fits(node->res0, node->nres, g->values.n) || node->res0 == 0 || node->nres != f->n) {
        gcut_violation(c, node->loc, "G3", "'%s' has %u results, not %u", op_name(node), node->nres, f->n);
        return;
    }
    for (uint32_t k = 0; k < f->n; k++) {
        const gcut_value *v = &g->values.at[node->res0 + k];
        const gcut_type *want = &f->out[k];
        bool same = v->type->dtype == want->dtype && v->type->rank == want->rank;
        for (uint32_t d = 0; same && d < want->rank; d++)
            same = v->type->dim[d] == want->dim[d] || known_check(g, v->type->dim[d], want->dim[d]);
        if (!same)
            gcut_violation(c, node->loc, "G3", "%%%s is stated to be %s, but '%s' gives %s",
                           gcut_check_name(c, node->res0 + k), gcut_type_text(c->scratch, c->m, v->type),
                           op_name(node), gcut_type_text(c->scratch, c->m, want));
        if (v->def != n || v->index != k)
            gcut_violation(c, node->loc, "G3", "%%%s does not refer back to the node that makes it",
                           gcut_check_name(c, node->res0 + k));
    }
}

/* The shape rule may add run-time checks to its graph.  It gets a copy whose list of checks is frozen by
 * cap = n; a check that is added to the copy is missing in the graph. */
static void shape_rule(gcut_check *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        if (c->bad[n]) continue;
        inference
            f; /* not zeroed: it has room for the results of any node, of which gcut_infer sets its own */
        f.shadow = *g;
        f.node = n;
        f.n = 0;
        f.shadow.checks.cap = f.shadow.checks.n;
        gcut_status s = gcut_protect(c->m->env, infer_body, &f);
        if (s == GCUT_ENOMEM) gcut_throw(c->m->env, s);
        if (s != GCUT_OK) {
            gcut_violation(c, g->nodes.at[n].loc, "G3", "the shape rule of '%s' refuses node %u",
                           op_name(&g->nodes.at[n]), n);
            continue;
        }
        for (uint32_t i = g->checks.n; i < f.shadow.checks.n; i++)
            if (!known_check(g, f.shadow.checks.at[i].a, f.shadow.checks.at[i].b))
                gcut_violation(c, g->nodes.at[n].loc, "G3",
                               "'%s' needs a run-time check that is not recorded", op_name(&g->nodes.at[n]));
        result_types(c, n, &f);
    }
}

/* ---- G4: names ---- */

static void value_names(gcut_check *c)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    for (gcut_ref v = 1; v < c->g->values.n; v++) {
        const char *name = c->g->values.at[v].name;
        uint32_t def = c->g->values.at[v].def;
        gcut_locid loc = def < c->g->nodes.n ? c->g->nodes.at[def].loc : c->g->loc;
        if (!name || !*name || name[strspn(name, allowed)]) {
            gcut_violation(c, loc, "G4", "value %u is called '%s'", v, name ? name : "");
            continue;
        }
        const gcut_ref found = gcut_name_find_interned(c->g, name);
        if (!found)
            gcut_violation(c, loc, "G4", "value %u is not found by its name, %%%s", v, name);
        else if (found != v)
            gcut_violation(c, loc, "G4", "two values are called %%%s", name);
    }
}

/* ---- G5: declarations ---- */

/* The dim as text when one of its symbols is not declared, else NULL. */
static const char *undeclared(const gcut_check *c, gcut_dim d)
{
    gcut_dim sym[GCUT_DIM_MAX_SYMBOLS];
    uint32_t n = gcut_dim_symbols(c->m->dims, d, sym);
    for (uint32_t i = 0; i < n; i++)
        if (!gcut_decl_find(c->g, sym[i])) return gcut_dim_symbol_name(c->m->dims, sym[i]);
    return NULL;
}

static void type_symbols(gcut_check *c, gcut_ref v)
{
    const gcut_value *value = &c->g->values.at[v];
    gcut_locid loc = value->def < c->g->nodes.n ? c->g->nodes.at[value->def].loc : c->g->loc;
    const gcut_type *t = value->type;
    if ((uint32_t)t->dtype >= GCUT_NDTYPES || t->rank > GCUT_MAX_RANK) {
        gcut_violation(c, loc, "G5", "the type of %%%s has dtype %u and rank %u", gcut_check_name(c, v),
                       (unsigned)t->dtype, t->rank);
        return;
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        const char *name = t->dim[d] == GCUT_DIM_BAD ? "(none)" : undeclared(c, t->dim[d]);
        if (name)
            gcut_violation(c, loc, "G5", "the type of %%%s uses %s, which is not declared",
                           gcut_check_name(c, v), name);
    }
}

static void declarations(gcut_check *c)
{
    const gcut_graph *g = c->g;
    gcut_map seen = {0};
    for (uint32_t i = 0; i < g->decls.n; i++) {
        const gcut_dim_decl *d = &g->decls.at[i];
        const char *name =
            d->sym < 0 && d->sym != GCUT_DIM_BAD ? gcut_dim_symbol_name(c->m->dims, d->sym) : NULL;
        if (!name)
            gcut_violation(c, g->loc, "G5", "declaration %u is not of a symbol", i + 1);
        else if (d->lo > d->hi || d->mult < 1)
            gcut_violation(c, g->loc, "G5", "%s is declared in %lld..%lld mult %lld", name, (long long)d->lo,
                           (long long)d->hi, (long long)d->mult);
        if (name && (*gcut_map_at(c->scratch, &seen, (uint64_t)d->sym))++)
            gcut_violation(c, g->loc, "G5", "%s is declared twice", name);
    }
    for (gcut_ref v = 1; v < g->values.n; v++) type_symbols(c, v);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = &g->nodes.at[n];
        for (uint32_t i = 0; !c->bad[n] && i < node->nattrs; i++) {
            const gcut_attr *a = &g->attrs.at[node->attr0 + i];
            const gcut_dim *d = a->kind == GCUT_ATTR_KIND_DIMS ? a->u.dims : &a->u.dim;
            uint32_t items = a->kind == GCUT_ATTR_KIND_DIMS ? a->n : a->kind == GCUT_ATTR_KIND_DIM;
            for (uint32_t k = 0; k < items; k++) {
                const char *name = undeclared(c, d[k]);
                if (name)
                    gcut_violation(c, node->loc, "G5",
                                   "attribute '%s' of '%s' uses %s, which is not declared", attr_text(a),
                                   op_name(node), name);
            }
        }
    }
}

/* ---- G7: locations ---- */

/* The location and those after it that were not seen so far. */
static void location(gcut_check *c, gcut_locid loc)
{
    GCUT_VEC(gcut_locid) left = {0};
    if (loc >= c->m->locs.n || (*gcut_map_at(c->scratch, c->seen, loc))++) return;
    *GCUT_PUSH(c->scratch, &left) = loc;
    while (left.n) {
        const gcut_locid l = left.at[--left.n];
        for (uint32_t k = 0; k < c->m->locs.at[l].nargs; k++) {
            const gcut_locid behind = c->m->locs.at[l].args[k];
            if (behind >= l)
                gcut_violation(c, 0, "G7", "location !%u refers to !%u, which is not before it", l, behind);
            else if (!(*gcut_map_at(c->scratch, c->seen, behind))++)
                *GCUT_PUSH(c->scratch, &left) = behind;
        }
    }
}

static void locations(gcut_check *c)
{
    const gcut_graph *g = c->g;
    uint32_t n = c->m->locs.n;
    if (g->loc >= n) gcut_violation(c, 0, "G7", "the function's location !%u does not exist", g->loc);
    location(c, g->loc);
    for (uint32_t k = 0; k < g->nodes.n; k++) location(c, g->nodes.at[k].loc);
    for (uint32_t k = 0; k < g->nodes.n; k++)
        if (g->nodes.at[k].loc >= n)
            gcut_violation(c, 0, "G7", "location !%u of '%s' does not exist", g->nodes.at[k].loc,
                           op_name(&g->nodes.at[k]));
    for (uint32_t k = 0; k < g->checks.n; k++)
        if (g->checks.at[k].loc >= n)
            gcut_violation(c, 0, "G7", "location !%u of a check does not exist", g->checks.at[k].loc);
}

/* ---- G8: regions ---- */

static uint32_t graph_alone(const gcut_graph *g, const gcut_check *around, gcut_map *seen,
                            gcut_arena *scratch);

static bool has_check(const gcut_graph *g, gcut_dim a, gcut_dim b)
{
    return gcut_dim_compare(g->module->dims, a, b, g->decls.at, g->decls.n) == GCUT_DIM_EQUAL ||
           known_check(g, a, b);
}

static bool is_around(const gcut_check *c, const gcut_graph *g)
{
    while (c && c->g != g) c = c->around;
    return c != NULL;
}

/* The body of a region is a graph of its own kind: a call's is a function, which the module lists. */
static bool has_body(const gcut_check *c, const gcut_node *node, const gcut_region *r)
{
    if (!r->body || r->body->module != c->m || is_around(c, r->body)) return false;
    return node->op == GCUT_OP_call ? gcut_module_find(c->m, r->body->name) == r->body : r->body->is_body;
}

/* The parameters after the arguments are the captured operands. */
static const char *body_fault(const gcut_check *c, const gcut_node *node, uint32_t k)
{
    const gcut_region *r = &c->g->regions.at[node->reg0 + k];
    if (!gcut_op_region((gcut_op)node->op, k)) return "is not one that the op has";
    if (!has_body(c, node, r)) return "has no graph of its own in the module";
    if (node->op == GCUT_OP_call) return node->ncaptured ? "captures values" : NULL;
    uint32_t given = gcut_region_nargs((gcut_op)node->op, node->nargs - node->ncaptured);
    if (r->body->params.n != given + node->ncaptured) return "takes another number of values";
    for (uint32_t i = 0; i < node->ncaptured; i++)
        if (!gcut_type_equal(gcut_type_of(r->body, r->body->params.at[given + i].value),
                             gcut_type_of(c->g, gcut_arg(c->g, node, node->nargs - node->ncaptured + i))))
            return "captures a value of another type";
    for (uint32_t i = 0; i < r->body->checks.n; i++)
        if (!has_check(c->g, r->body->checks.at[i].a, r->body->checks.at[i].b))
            return "needs a run-time check that its owner lacks";
    return NULL;
}

static void regions(gcut_check *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = &g->nodes.at[n];
        if (c->bad[n] || node->op >= GCUT_NOPS || (!node->nregs && !node->ncaptured)) continue;
        bool whole = fits(node->reg0, node->nregs, g->regions.n) && node->ncaptured <= node->nargs;
        if (!whole)
            gcut_violation(c, node->loc, "G8", "the regions of '%s' lie outside the pool", op_name(node));
        for (uint32_t k = 0; whole && k < node->nregs; k++) {
            const char *fault = body_fault(c, node, k);
            whole = !fault;
            if (fault)
                gcut_violation(c, node->loc, "G8", "region %u of '%s' %s", k + 1, op_name(node), fault);
            else if (node->op != GCUT_OP_call)
                c->broken += graph_alone(g->regions.at[node->reg0 + k].body, c, c->seen, c->scratch);
        }
        c->bad[n] = !whole;
    }
}

/* ---- G10: marks ---- */

/* A parameter is one where the result was saved; so is what is read back from another storage format. */
static bool may_be_of_scan(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    if (n && (n->op == GCUT_OP_cast || n->op == GCUT_OP_unpack_bits)) n = gcut_def(g, gcut_arg(g, n, 0));
    return !n || n->op == GCUT_OP_scan;
}

static void cotan_names_value(gcut_check *c, uint32_t n)
{
    const gcut_graph *g = c->g;
    const gcut_node *node = gcut_node_at(g, n);
    const gcut_mark *mark = gcut_mark_find(&node->marks, GCUT_MARK_cotan);
    if (!mark) return;
    const gcut_ref y = (gcut_ref)mark->arg[0].i;
    bool one = node->op == GCUT_OP_full && gcut_attr_num(g, node, GCUT_KEY_value) == 1 && !g->is_body;
    if (one)
        one =
            gcut_type_of(g, node->res0)->rank == 0 && gcut_dtype_is_float(gcut_type_of(g, node->res0)->dtype);
    if (!one || !gcut_check_is_value(c, y) || !gcut_check_visible(c, y, n) ||
        !gcut_type_equal(gcut_type_of(g, y), gcut_type_of(g, node->res0)))
        gcut_violation(
            c, node->loc, "G10",
            "#cotan is of a float scalar 1 of a function, not of a body, and names a value of its type "
            "before it");
}

/* Of the marks of ops; no pass makes others, and the parser reads each where it may stand. */
static void marks_name_values(gcut_check *c)
{
    const gcut_graph *g = c->g;
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        cotan_names_value(c, n);
        const gcut_mark *mark = gcut_mark_find(&node->marks, GCUT_MARK_adjoint);
        if (gcut_mark_find(&node->marks, GCUT_MARK_less_workspace) && !gcut_is_convolution(node))
            gcut_violation(c, node->loc, "G10", "#less_workspace is of a convolution, and '%s' is none",
                           gcut_op_get((gcut_op)node->op)->name);
        if (!mark) continue;
        const gcut_ref v = (gcut_ref)mark->arg[0].i;
        bool named = !v || (gcut_check_is_value(c, v) && gcut_check_visible(c, v, n) && may_be_of_scan(g, v));
        if (node->op != GCUT_OP_scan || !named)
            gcut_violation(c, node->loc, "G10", "#adjoint is of a scan and names a result of one before it");
    }
}

/* ---- all of them ---- */

/* G8 is checked before G3, whose shape rules look into regions. */
static uint32_t graph_alone(const gcut_graph *g, const gcut_check *around, gcut_map *seen,
                            gcut_arena *scratch)
{
    gcut_check c = {.around = around, .g = g, .m = g->module, .scratch = scratch, .seen = seen};
    c.bad = gcut_calloc(scratch, g->nodes.n + 1, sizeof *c.bad);
    defined_before_use(&c);
    op_table(&c);
    regions(&c);
    shape_rule(&c);
    value_names(&c);
    declarations(&c);
    gcut_check_interface(&c);
    locations(&c);
    marks_name_values(&c);
    return c.broken;
}

static void finish(gcut_module *m, gcut_arena *scratch, uint32_t broken)
{
    gcut_arena_free(scratch);
    if (broken) gcut_throw(m->env, GCUT_ETYPE);
}

void gcut_verify(const gcut_graph *g)
{
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    gcut_check c = {.g = g, .m = g->module, .scratch = scratch};
    gcut_map seen = {0};
    uint32_t broken = graph_alone(g, NULL, &seen, scratch);
    if (!broken) gcut_check_pairs(&c, false);
    finish(g->module, scratch, broken + c.broken);
}

void gcut_verify_module(const gcut_module *m)
{
    if (m->graphs.n == 0) return;
    gcut_arena *scratch = gcut_arena_new(m->env, m->arena);
    gcut_check c = {.g = m->graphs.at[0], .m = m->graphs.at[0]->module, .scratch = scratch};
    gcut_map seen = {0};
    uint32_t broken = 0;
    for (uint32_t i = 0; i < m->graphs.n; i++) broken += graph_alone(m->graphs.at[i], NULL, &seen, scratch);
    if (!broken) gcut_check_pairs(&c, true);
    finish(c.m, scratch, broken + c.broken);
}
