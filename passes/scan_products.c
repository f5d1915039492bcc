/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums that a scan accumulates are hoisted out: one product or sum after the scan.
 *
 *   in:    any graph, preferably after gcut_pass_cse
 *   out:   the same values but for the order of sums; a scan carries no sum that can be hoisted
 *   keeps: parameters, results, names, marks, locations, run-time checks
 *
 * A carried value that iterations only add to,
 *
 *   s' = s + A_t' B_t   or   s' = s + v_t   or   s' = s + the sum of v_t over axes
 *
 * is read by no other node, so the scan need not carry it: with A and B all A_t and B_t stacked along a
 * new axis, the final value is s_0 + A' B. The gradient of a loop's weight is such a sum.  One product
 * with many rows is faster than many with few, and the sum is written once, not in every iteration.
 *
 * A stack takes memory.  One operand of a product must be sliced by the scan, that is, be a stack already;
 * the other, which has as many rows, is stacked if necessary.  A sum adds no stack.
 */
#include <string.h>

#include "passes/passes.h"
#include "graph/rewrite.h"
#include "graph/regions/scan_stack.h"
#include "graph/ops/infer.h"

/* A product A' B, or with b == 0 the sum of a over the axes of its node, over none when there is no node. */
typedef struct term {
    uint32_t node; /* of the body, or GCUT_NONE */
    gcut_ref a, b; /* values of the body */
} term;

typedef struct sum {
    uint32_t carry, add; /* the node of the body that adds to the carried value; GCUT_NONE = it stays
                          * carried */
    GCUT_VEC(term) terms;
} sum;

typedef struct search {
    const gcut_graph *g;
    const gcut_node *n;
    gcut_graph *body;
    uint32_t carries, own;
    uint32_t *uses; /* by value of the body */
    sum *sums;      /* by carried value */
    gcut_stacks stacks;
    gcut_arena *a;
} search;

/* The operand at the start of a chain of reshapes, with the same elements in the same order. */
static gcut_ref base_of(const gcut_graph *g, gcut_ref v)
{
    for (const gcut_node *n = gcut_def(g, v); n && n->op == GCUT_OP_reshape; n = gcut_def(g, v))
        v = gcut_arg(g, n, 0);
    return v;
}

/* ---- stacks ---- */

/* The operand of the scan that stacks value v of its body, or GCUT_NONE. */
static uint32_t sliced_as(const search *s, gcut_ref v)
{
    for (uint32_t k = s->carries; k < s->own; k++)
        if (s->body->params.at[k].value == v) return k;
    return GCUT_NONE;
}

static bool is_stacked(const search *s, gcut_ref v)
{
    gcut_ref base = base_of(s->body, v);
    return sliced_as(s, base) != GCUT_NONE || gcut_stack_find(&s->stacks, base) != GCUT_NONE;
}

/* Captured values are refused: they are the same in every iteration, and a stack would repeat them. */
static bool can_stack(const search *s, gcut_ref v)
{
    gcut_ref base = base_of(s->body, v);
    for (uint32_t k = s->own; k < s->body->params.n; k++)
        if (s->body->params.at[k].value == base) return false;
    return is_stacked(s, v) || gcut_type_of(s->body, base)->rank < GCUT_MAX_RANK;
}

static void stack(search *s, gcut_ref v)
{
    if (!is_stacked(s, v)) gcut_stack_add(&s->stacks, s->a, base_of(s->body, v));
}

/* ---- sums ---- */

static bool is_product(const search *s, const gcut_node *n)
{
    if (n->op != GCUT_OP_matmul || gcut_type_of(s->body, n->res0)->rank != 2) return false;
    if (!gcut_attr_flag(s->body, n, GCUT_KEY_ta) || gcut_attr_flag(s->body, n, GCUT_KEY_tb)) return false;
    gcut_ref a = gcut_arg(s->body, n, 0), b = gcut_arg(s->body, n, 1);
    bool sliced =
        sliced_as(s, base_of(s->body, a)) != GCUT_NONE || sliced_as(s, base_of(s->body, b)) != GCUT_NONE;
    return sliced && can_stack(s, a) && can_stack(s, b);
}

static bool is_sum(const search *s, const gcut_node *n)
{
    if (n->op != GCUT_OP_sum || gcut_attr_flag(s->body, n, GCUT_KEY_keep)) return false;
    gcut_ref v = gcut_arg(s->body, n, 0);
    return gcut_type_of(s->body, v)->rank < GCUT_MAX_RANK && is_stacked(s, v);
}

/* Adds v's terms to `out` when v is stacked, or consists of products and sums without other readers. */
static bool find_terms(const search *s, gcut_ref v, sum *out)
{
    const gcut_node *n = gcut_def(s->body, v);
    if (is_stacked(s, v) && gcut_type_of(s->body, v)->rank < GCUT_MAX_RANK) {
        *GCUT_PUSH(s->a, &out->terms) = (term){GCUT_NONE, v, 0};
        return true;
    }
    if (!n || s->uses[v] != 1) return false;
    if (n->op == GCUT_OP_add)
        return find_terms(s, gcut_arg(s->body, n, 0), out) && find_terms(s, gcut_arg(s->body, n, 1), out);
    if (!is_product(s, n) && !is_sum(s, n)) return false;
    gcut_ref b = n->nargs > 1 ? gcut_arg(s->body, n, 1) : 0;
    *GCUT_PUSH(s->a, &out->terms) = (term){s->body->values.at[v].def, gcut_arg(s->body, n, 0), b};
    return true;
}

/* A backward scan finds its forward scan by the first result: that one stays. */
static bool is_named(const search *s)
{
    for (uint32_t i = 0; i < s->g->nodes.n; i++) {
        const gcut_mark *mark = gcut_mark_find(&gcut_node_at(s->g, i)->marks, GCUT_MARK_adjoint);
        if (mark && mark->arg[0].i == s->n->res0) return true;
    }
    return false;
}

static void find_sum(search *s, uint32_t k)
{
    gcut_ref old = s->body->params.at[k].value, new = s->body->results.at[k].value;
    const gcut_node *n = gcut_def(s->body, new);
    sum found = {.carry = k};
    if (!n || n->op != GCUT_OP_add || s->uses[old] != 1 || s->uses[new] != 1) return;
    gcut_ref x = gcut_arg(s->body, n, 0), y = gcut_arg(s->body, n, 1);
    if ((x != old && y != old) || (k == 0 && is_named(s))) return;
    if (!find_terms(s, x == old ? y : x, &found)) return;
    if (s->body->results.n + s->stacks.more.n + 2 * found.terms.n > GCUT_MAX_RESULTS) return;
    found.add = s->body->values.at[new].def;
    s->sums[k] = found;
    for (uint32_t i = 0; i < found.terms.n; i++) {
        stack(s, found.terms.at[i].a);
        if (found.terms.at[i].b) stack(s, found.terms.at[i].b);
    }
}

/* Two passes: sums may read stacks that products add. */
static bool find_sums(search *s)
{
    const gcut_graph *body = s->body;
    bool any = false;
    s->uses = gcut_count_uses(body, s->a);
    s->sums = gcut_calloc(s->a, s->carries + 1u, sizeof *s->sums);
    for (uint32_t k = 0; k < s->carries; k++) s->sums[k].add = GCUT_NONE;
    for (uint32_t k = 0; k < 2 * s->carries; k++)
        if (s->sums[k % s->carries].add == GCUT_NONE) find_sum(s, k % s->carries);
    for (uint32_t k = 0; k < s->carries; k++) any = any || s->sums[k].add != GCUT_NONE;
    return any;
}

static bool hoisted(const search *s, uint32_t k)
{
    return k < s->carries && s->sums[k].add != GCUT_NONE;
}

/* ---- the new scan ---- */

/* The body without the sums, with more results.  The nodes of the terms are left to dead code elimination. */
static gcut_graph *smaller_body(const search *s)
{
    gcut_graph *old = s->body, *body = gcut_graph_shell(old, old->name);
    gcut_ref *map = gcut_calloc(s->a, old->values.n, sizeof *map);
    for (uint32_t i = 0; i < old->params.n; i++)
        if (!hoisted(s, i)) gcut_param_copy(body, old, i, map);
    for (uint32_t i = 0; i < old->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(old, i);
        bool known = true;
        for (uint32_t k = 0; k < n->nargs; k++) known = known && map[gcut_arg(old, n, k)];
        if (known) gcut_node_copy_to(body, old, i, map); /* others add to a sum */
    }
    for (uint32_t i = 0; i < old->results.n; i++)
        if (!hoisted(s, i)) gcut_result_copy(body, old, i, map);
    for (uint32_t i = 0; i < s->stacks.more.n; i++) gcut_body_yield(body, map[s->stacks.more.at[i]]);
    gcut_checks_copy(body, old);
    return body;
}

static gcut_type stacked(const search *s, gcut_ref v)
{
    return gcut_stack_type(*gcut_type_of(s->body, v), 0, gcut_scan_length(s->g, s->n));
}

/* at[k]: the index of result k of the old scan, then of the new stacks; 0 for hoisted sums. */
static void make_scan(const search *s, gcut_rewrite *rw, uint32_t id, gcut_ref *at)
{
    const gcut_graph *g = s->g;
    const gcut_node n = *s->n;
    gcut_draft d = gcut_draft_of(s->a, g, id, rw->map, s->stacks.more.n);
    bool *keep = gcut_calloc(s->a, n.nargs + n.nres, sizeof *keep);
    uint32_t carries = 0;
    for (uint32_t k = 0; k < n.nargs + n.nres; k++) keep[k] = !hoisted(s, k);
    for (uint32_t k = 0; k < s->carries; k++) carries += keep[k];
    gcut_draft_keep(&d, keep, keep);
    for (uint32_t k = 0; k < s->stacks.more.n; k++) {
        gcut_ref v = s->stacks.more.at[k];
        gcut_draft_result(&d, stacked(s, v),
                          gcut_printf(rw->dst->module->arena, "%s.%s", g->values.at[n.res0].name,
                                      s->body->values.at[v].name));
    }
    d.regions[0].body = smaller_body(s);
    gcut_draft_set(&d, gcut_attr_dim(GCUT_KEY_carries, carries));
    gcut_draft_set(&d, gcut_attr_dim(GCUT_KEY_length, gcut_scan_length(g, s->n)));
    gcut_ref r = d.spec.ntypes ? gcut_draft_make(rw->dst, &d, rw->map) : 0;
    for (uint32_t k = 0; k < n.nres + s->stacks.more.n; k++) at[k] = hoisted(s, k) ? 0 : r++;
}

/* ---- after the scan ---- */

/* The stack of the value that v is a reshape of. */
static gcut_ref stack_of(const search *s, const gcut_rewrite *rw, const gcut_ref *at, gcut_ref v)
{
    gcut_ref base = base_of(s->body, v);
    uint32_t k = sliced_as(s, base);
    return k != GCUT_NONE ? rw->map[gcut_arg(s->g, s->n, k)] : at[gcut_stack_find(&s->stacks, base)];
}

/* The rows of v of all iterations, as one matrix. */
static gcut_ref rows_of(const search *s, gcut_build *b, const gcut_rewrite *rw, const gcut_ref *at,
                        gcut_ref v)
{
    gcut_type t = *gcut_type_of(s->body, v);
    t.dim[0] = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, gcut_scan_length(s->g, s->n), t.dim[0]);
    return gcut_breshape(b, stack_of(s, rw, at, v), t.dim, t.rank);
}

/* The term over all iterations. */
static gcut_ref make_term(const search *s, gcut_build b, const gcut_rewrite *rw, const gcut_ref *at,
                          const term *t)
{
    const char *name = b.name;
    b.name = NULL;
    if (t->b) {
        gcut_ref x = rows_of(s, &b, rw, at, t->a), y = rows_of(s, &b, rw, at, t->b);
        b.name = name;
        return gcut_bmatmul(&b, x, y, true, false);
    }
    gcut_type all = stacked(s, t->a);
    gcut_ref x = stack_of(s, rw, at, t->a);
    if (base_of(s->body, t->a) != t->a) x = gcut_breshape(&b, x, all.dim, all.rank);
    uint32_t axes = t->node == GCUT_NONE ? 0 : gcut_attr_axes(s->body, gcut_node_at(s->body, t->node));
    b.name = name;
    return gcut_breduce(&b, GCUT_OP_sum, x, axes << 1 | 1);
}

/* The last operation has the name of the carried value. */
static gcut_ref make_sum(const search *s, gcut_rewrite *rw, uint32_t id, const gcut_ref *at, const sum *from)
{
    gcut_ref start = gcut_arg(s->g, s->n, from->carry);
    gcut_ref r = gcut_is_zero(s->g, start) ? 0 : gcut_rewrite_arg(rw, id, from->carry);
    const char *name = s->g->values.at[s->n->res0 + from->carry].name;
    for (uint32_t i = 0; i < from->terms.n; i++) {
        const term *t = &from->terms.at[i];
        bool last = i + 1 == from->terms.n;
        uint32_t node = t->node == GCUT_NONE ? from->add : t->node;
        gcut_build b = {.g = rw->dst, .loc = gcut_node_at(s->body, node)->loc};
        b.name = last && !r ? name : NULL;
        gcut_ref x = make_term(s, b, rw, at, t);
        b.name = last ? name : NULL;
        r = r ? gcut_b2(&b, GCUT_OP_add, r, x) : x;
    }
    return r;
}

static void copy_without_sums(const search *s, gcut_rewrite *rw, uint32_t id)
{
    gcut_ref *at = gcut_calloc(s->a, s->n->nres + s->stacks.more.n, sizeof *at);
    make_scan(s, rw, id, at);
    for (uint32_t k = 0; k < s->n->nres; k++)
        rw->map[s->n->res0 + k] = at[k] ? at[k] : make_sum(s, rw, id, at, &s->sums[k]);
}

static void copy_scan(gcut_rewrite *rw, uint32_t id)
{
    const gcut_graph *g = rw->src;
    const gcut_region *old = gcut_region_at(g, gcut_node_at(g, id), 0);
    search s = {.g = g, .n = gcut_node_at(g, id), .a = rw->scratch};
    s.carries = gcut_node_carries(g, s.n);
    s.own = s.n->nargs - s.n->ncaptured;
    s.body = gcut_pass_products(old->body, old->body->name);
    s.stacks = (gcut_stacks){.body = s.body, .carries = s.carries};
    if (gcut_attr_get(g, s.n, GCUT_KEY_axis)->u.dim == 0 && find_sums(&s)) {
        copy_without_sums(&s, rw, id);
        return;
    }
    gcut_rewrite_copy(rw, id);
    gcut_rewrite_regions_of_last(rw->dst, &(gcut_region){s.body});
}

gcut_graph *gcut_pass_products(gcut_graph *g, const char *name)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        bool scan = gcut_node_at(g, i)->op == GCUT_OP_scan;
        rw.pass = scan ? NULL : gcut_pass_products;
        if (scan)
            copy_scan(&rw, i);
        else
            gcut_rewrite_copy(&rw, i);
    }
    return gcut_rewrite_end(&rw);
}
