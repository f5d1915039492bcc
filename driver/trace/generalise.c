/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One recording with symbols from two recordings at different sizes.
 *
 * The recorded function is C code, which computes with sizes: it only ever sees numbers.  The two recordings are walked side
 * by side.  A number that differs between them becomes an expression of symbols that has both values; the types of the
 * results follow by inference.  Two points do not determine an expression: whoever uses the result compares it with a
 * recording at each further set of sizes (comparison.c).
 */
#include "driver/trace/tree.h"
#include "graph/build.h"
#include "graph/node_draft.h"

#define MOST_DIVISOR 64 /* in expressions like N / 2 */

typedef struct pair {
    gcut_graph *dst;
    const gcut_varied *of;
    uint32_t n;
    const gcut_graph *f, *g; /* the recordings */
    gcut_ref *map;           /* by value of g */
    gcut_arena *a;
} pair;

static gcut_dim made(const pair *p, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(p->dst->module->dims, op, a, b);
}

/* factor * d + rest, of numbers factor > 0 and rest. */
static gcut_dim linear(const pair *p, gcut_dim d, int64_t factor, int64_t rest)
{
    const gcut_dim times = factor == 1 ? d : made(p, GCUT_DIM_MUL, d, factor);
    if (!rest) return times;
    return rest > 0 ? made(p, GCUT_DIM_ADD, times, rest) : made(p, GCUT_DIM_SUB, times, -rest);
}

/* factor * d + rest with the values x and y where d is u and v; false: there is none with factor > 0. */
static bool as_linear(const pair *p, gcut_dim d, int64_t u, int64_t v, int64_t x, int64_t y, bool rest,
                      gcut_dim *out)
{
    if (u == v || (y - x) % (v - u) != 0) return false;
    const int64_t factor = (y - x) / (v - u);
    if (factor < 1 || factor > INT32_MAX || u > INT32_MAX || (!rest && x != factor * u)) return false;
    *out = linear(p, d, factor, x - factor * u);
    return true;
}

/* Divisors without a remainder come first. */
static bool as_quotient(const pair *p, const gcut_varied *s, int64_t x, int64_t y, gcut_dim *out)
{
    for (int64_t k = 2; k <= MOST_DIVISOR; k++)
        if (s->first == k * x && s->second == k * y) {
            *out = made(p, GCUT_DIM_DIV, s->symbol, k);
            return true;
        }
    for (int64_t k = 2; k <= MOST_DIVISOR; k++) {
        if (s->first / k == x && s->second / k == y) {
            *out = made(p, GCUT_DIM_DIV, s->symbol, k);
            return true;
        }
        if ((s->first + k - 1) / k == x && (s->second + k - 1) / k == y) {
            *out = made(p, GCUT_DIM_CEILDIV, s->symbol, k);
            return true;
        }
    }
    return false;
}

/* The expression of two symbols: a product, with a factor, a sum or a difference. */
static bool of_two(const pair *p, const gcut_varied *s, const gcut_varied *t, int64_t x, int64_t y,
                   gcut_dim *out)
{
    const gcut_dim both = made(p, GCUT_DIM_MUL, s->symbol, t->symbol);
    int64_t u, v;
    if (!__builtin_mul_overflow(s->first, t->first, &u) &&
        !__builtin_mul_overflow(s->second, t->second, &v) && as_linear(p, both, u, v, x, y, false, out))
        return true;
    if (s->first + t->first == x && s->second + t->second == y) {
        *out = made(p, GCUT_DIM_ADD, s->symbol, t->symbol);
        return true;
    }
    if (s->first - t->first == x && s->second - t->second == y) {
        *out = made(p, GCUT_DIM_SUB, s->symbol, t->symbol);
        return true;
    }
    return false;
}

/* The number that x and y are, or the symbol with these values; false: there is none. */
static bool alike(const pair *p, gcut_dim x, gcut_dim y, gcut_dim *out)
{
    *out = x;
    if (x == y) return true;
    for (uint32_t k = 0; k < p->n; k++)
        if (p->of[k].first == x && p->of[k].second == y) {
            *out = p->of[k].symbol;
            return true;
        }
    return false;
}

/* The first of these forms whose values are x and y: k*N, k*N*M, N+M, N-M, N/k, k*N+l; false: none has them. */
static bool unified(const pair *p, gcut_dim x, gcut_dim y, gcut_dim *out)
{
    if (alike(p, x, y, out)) return true;
    if (!gcut_dim_known(x) || !gcut_dim_known(y)) return false;
    for (uint32_t k = 0; k < p->n; k++)
        if (as_linear(p, p->of[k].symbol, p->of[k].first, p->of[k].second, x, y, false, out)) return true;
    for (uint32_t k = 0; k < p->n; k++)
        for (uint32_t i = 0; i < p->n; i++)
            if (i != k && of_two(p, &p->of[k], &p->of[i], x, y, out)) return true;
    for (uint32_t k = 0; k < p->n; k++)
        if (as_quotient(p, &p->of[k], x, y, out)) return true;
    for (uint32_t k = 0; k < p->n; k++)
        if (as_linear(p, p->of[k].symbol, p->of[k].first, p->of[k].second, x, y, true, out)) return true;
    return false;
}

typedef bool unifier(const pair *p, gcut_dim x, gcut_dim y, gcut_dim *out);

static bool unified_type(const pair *p, unifier *dim, const gcut_type *a, const gcut_type *b, gcut_type *out)
{
    *out = *b;
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!dim(p, a->dim[d], b->dim[d], &out->dim[d])) return false;
    return true;
}

static bool unified_attr(const pair *p, const gcut_attr *a, const gcut_attr *b, gcut_attr *out)
{
    *out = *b;
    if (gcut_attr_equal(a, b)) return true;
    if (a->key != b->key || a->kind != b->kind) return false;
    if (a->kind == GCUT_ATTR_KIND_DIM) return unified(p, a->u.dim, b->u.dim, &out->u.dim);
    if (a->kind != GCUT_ATTR_KIND_DIMS || a->n != b->n) return false;
    gcut_dim *dims = gcut_memdup(p->dst->module->arena, b->u.dims, b->n * sizeof *dims);
    for (uint32_t k = 0; k < a->n; k++)
        if (!unified(p, a->u.dims[k], b->u.dims[k], &dims[k])) return false;
    out->u.dims = dims;
    return true;
}

/* A `full` whose value is a size becomes that size as a value. */
static bool as_size(pair *p, const gcut_node *a, const gcut_node *b)
{
    const gcut_attr *x = gcut_attr_get(p->f, a, GCUT_KEY_value), *y = gcut_attr_get(p->g, b, GCUT_KEY_value);
    const gcut_type *t = gcut_type_of(p->g, b->res0);
    gcut_type type;
    gcut_dim d;
    if (b->op != GCUT_OP_full || !x || !y || gcut_attr_equal(x, y)) return false;
    const double u = x->u.num.f, v = y->u.num.f;
    if (!(u >= 0 && u < 1e15 && v >= 0 && v < 1e15) || u != (double)(int64_t)u || v != (double)(int64_t)v ||
        !unified(p, (int64_t)u, (int64_t)v, &d) ||
        !unified_type(p, unified, gcut_type_of(p->f, a->res0), t, &type))
        return false;
    gcut_build build = {.g = p->dst, .loc = b->loc};
    p->map[b->res0] = gcut_bsize(&build, d, type.dtype, &type);
    return true;
}

static bool unified_nodes(pair *p, uint32_t n);

/* The body of both nodes' region k. */
static gcut_graph *unified_body(const pair *p, const gcut_node *a, const gcut_node *b, uint32_t k)
{
    const gcut_graph *f = gcut_region_at(p->f, a, k)->body, *g = gcut_region_at(p->g, b, k)->body;
    if (f == g) return gcut_region_at(p->g, b, k)->body; /* a function that both call */
    if (!g->is_body || f->params.n != g->params.n || f->nodes.n != g->nodes.n || f->results.n != g->results.n)
        return NULL;
    pair in = {
        gcut_body_new(p->dst), p->of, p->n, f, g, gcut_calloc(p->a, g->values.n + 1, sizeof *in.map), p->a};
    const uint32_t own = g->params.n - b->ncaptured;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        gcut_type type;
        if (i >= own)
            type = *gcut_type_of(p->dst, p->map[gcut_arg(p->g, b, b->nargs - b->ncaptured + i - own)]);
        else if (!unified_type(p, unified, gcut_type_of(f, f->params.at[i].value), gcut_type_of(g, v), &type))
            return NULL;
        in.map[v] = gcut_param_new(in.dst, g->params.at[i].role, g->values.at[v].name, &type);
        in.dst->values.at[in.map[v]].made_up = g->values.at[v].made_up;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (!unified_nodes(&in, i)) return NULL;
    for (uint32_t i = 0; i < g->results.n; i++) {
        if (f->results.at[i].value != g->results.at[i].value) return NULL;
        gcut_result_new(in.dst, g->results.at[i].role, g->results.at[i].name, in.map[g->results.at[i].value]);
    }
    in.dst->outer = NULL; /* closed: what it captures are parameters */
    return in.dst;
}

/* Appends what nodes n of both recordings are; false: they differ in more than sizes. */
static bool unified_nodes(pair *p, uint32_t n)
{
    const gcut_node *a = gcut_node_at(p->f, n), *b = gcut_node_at(p->g, n);
    if (a->op != b->op || a->nargs != b->nargs || a->nres != b->nres || a->nattrs != b->nattrs ||
        a->nregs != b->nregs || a->ncaptured != b->ncaptured || a->res0 != b->res0)
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (gcut_arg(p->f, a, k) != gcut_arg(p->g, b, k)) return false;
    if (as_size(p, a, b)) return true;
    gcut_draft d = gcut_draft_of(p->a, p->g, n, p->map, 0);
    for (uint32_t k = 0; k < a->nattrs; k++)
        if (!unified_attr(p, &p->f->attrs.at[a->attr0 + k], &p->g->attrs.at[b->attr0 + k], &d.attrs[k]))
            return false;
    for (uint32_t k = 0; k < a->nregs; k++)
        if (!(d.regions[k].body = unified_body(p, a, b, k))) return false;
    d.spec.types = NULL; /* inferred */
    for (uint32_t k = 0; k < b->nres; k++)
        if (p->g->values.at[b->res0 + k].made_up) d.spec.names = NULL;
    d.spec.ntypes = d.spec.names ? b->nres : 0;
    const gcut_ref r = gcut_draft_make(p->dst, &d, p->map);
    for (uint32_t k = 0; k < b->nres; k++) p->map[b->res0 + k] = r + k;
    return true;
}

/* A sentence about node n of the second recording. */
static const char *said(const pair *p, uint32_t n)
{
    if (n >= p->g->nodes.n) return "it ends earlier at these sizes";
    return gcut_printf(p->a, "%s depends on a size", gcut_recorded_op(p->g, n, p->a));
}

const char *gcut_generalised(gcut_record *out, const gcut_record *first, const gcut_record *second,
                             const gcut_varied *of, uint32_t n, gcut_arena *a)
{
    gcut_module *m = second->m;
    const gcut_graph *f = first->g, *g = second->g;
    pair p = {gcut_graph_create(m, gcut_module_unused(m, g->name, "sizes")), of, n, f, g, NULL, a};
    gcut_branch *branches = gcut_memdup(m->arena, second->branches, second->nbranches * sizeof *branches);
    uint32_t at = 0, k = 0;
    gcut_module_unlist(m, p.dst);
    *out = *second;
    out->g = p.dst, out->branches = branches;
    p.dst->loc = g->loc;
    p.map = gcut_calloc(a, g->values.n + 1, sizeof *p.map);
    for (uint32_t i = 0; i < n; i++)
        gcut_decl_add(p.dst, (gcut_dim_decl){of[i].symbol, GCUT_SYMBOL_LEAST, GCUT_DIM_MAX, 1});
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *x = &g->params.at[i];
        gcut_type type;
        /* The steps bind a symbol by the size of an argument that has it alone. */
        if (!unified_type(&p, alike, gcut_type_of(f, f->params.at[i].value), gcut_type_of(g, x->value),
                          &type))
            return "an argument has a size that is no symbol";
        p.map[x->value] = gcut_param_new(p.dst, x->role, g->values.at[x->value].name, &type);
    }
    for (;; at++) {
        for (; k < second->nbranches && second->branches[k].nodes == at; k++) {
            if (k >= first->nbranches || first->branches[k].nodes != at ||
                first->branches[k].v != branches[k].v || first->branches[k].taken != branches[k].taken)
                return said(&p, at);
            branches[k].nodes = p.dst->nodes.n;
            branches[k].v = p.map[branches[k].v];
        }
        if (at == g->nodes.n) break;
        if (at >= f->nodes.n || !unified_nodes(&p, at)) return said(&p, at);
    }
    if (f->nodes.n != at || f->results.n != g->results.n || first->nbranches != k) return said(&p, at);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *x = &g->results.at[i];
        if (f->results.at[i].value != x->value) return said(&p, at);
        gcut_result_new(p.dst, x->role, x->name, p.map[x->value]);
        p.dst->results.at[i].marks = gcut_marks_carry(p.dst, g, &x->marks, p.map);
    }
    for (uint32_t i = 0; i < g->params.n; i++)
        p.dst->params.at[i].marks = gcut_marks_carry(p.dst, g, &g->params.at[i].marks, p.map);
    return NULL;
}
