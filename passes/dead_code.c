/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dead code elimination.
 *   in:    any graph
 *   out:   only the nodes that a result needs, and impure external kernels; of a node with regions only
 *          the results, operands and captured values that something needs: a carried value is needed when
 *          its final value is, or when an iteration computes a needed value from it
 *   keeps: parameters, results, names, marks, locations, run-time checks
 */
#include <string.h>

#include "graph/external.h"
#include "passes/passes.h"
#include "graph/node_draft.h"
#include "graph/rewrite.h"

/* What is needed of one graph and of each of its nodes with regions. */
typedef struct liveness liveness;

typedef struct uses {
    bool *result;        /* by result (= by yield, except for `cond`); NULL = a node without bodies */
    bool *operand;       /* captured ones included */
    liveness *region[2]; /* NULL until a result is needed */
} uses;

struct liveness {
    const gcut_graph *g;
    bool *need; /* by value */
    uses *of;   /* by node */
};

static bool is_closed(const gcut_graph *g, const gcut_node *n)
{
    return n->nregs && gcut_region_at(g, n, 0)->body->is_body;
}

/* By yield of region k. NULL = all. */
static const bool *kept_yields(const gcut_node *n, uint32_t k, const uses *u)
{
    return n->op == GCUT_OP_while && k == 0 ? NULL : u->result;
}

static uint32_t carries_of(const gcut_graph *g, const gcut_node *n)
{
    return n->op == GCUT_OP_if ? 0 : gcut_node_carries(g, n);
}

static liveness *liveness_new(const gcut_graph *g, gcut_arena *a)
{
    liveness *l = gcut_alloc(a, sizeof *l);
    *l = (liveness){g, gcut_calloc(a, g->values.n, sizeof *l->need),
                    gcut_calloc(a, g->nodes.n + 1, sizeof *l->of)};
    return l;
}

static void start_uses(const gcut_graph *g, const gcut_node *n, uses *u, gcut_arena *a)
{
    u->result = gcut_calloc(a, n->nres + 1u, sizeof *u->result);
    u->operand = gcut_calloc(a, n->nargs + 1u, sizeof *u->operand);
    u->operand[0] = n->op == GCUT_OP_if;
    for (uint32_t k = 0; k < n->nregs; k++) u->region[k] = liveness_new(gcut_region_at(g, n, k)->body, a);
}

static bool mark(liveness *l, const bool *keep, gcut_arena *a);

/* Marks the bodies of node i once.  A body may read a carried value, whose yield is then needed: true =
 * more became needed, so call again. */
static bool mark_regions(liveness *l, uint32_t i, gcut_arena *a)
{
    const gcut_node *n = gcut_node_at(l->g, i);
    uint32_t carries = carries_of(l->g, n);
    uses *u = &l->of[i];
    bool more = false;
    if (!u->result) start_uses(l->g, n, u, a);
    for (uint32_t k = 0; k < n->nres; k++) u->result[k] = u->result[k] || l->need[n->res0 + k];
    for (uint32_t k = 0; k < n->nregs; k++) {
        liveness *in = u->region[k];
        more = mark(in, kept_yields(n, k, u), a) || more;
        for (uint32_t j = 0; j < in->g->params.n; j++) {
            uint32_t o = gcut_region_operand(n, in->g, j);
            if (!in->need[in->g->params.at[j].value]) continue;
            u->operand[o] = true;
            if (o < carries && !u->result[o]) u->result[o] = more = true;
        }
    }
    for (uint32_t k = 0; k < carries; k++) u->operand[k] = u->result[k];
    return more;
}

/* One walk from the results to the parameters, which visits each body once at any depth.  The number of
 * walks to the least fixed point is bounded by the longest chain of carried values that need each other.
 * keep: by result, NULL = all. true = a body needs another walk. */
static bool mark(liveness *l, const bool *keep, gcut_arena *a)
{
    const gcut_graph *g = l->g;
    bool more = false;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (!keep || keep[i]) l->need[g->results.at[i].value] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = gcut_any_result(n, l->need);
        if (!any && gcut_node_has_effects(g, n)) any = l->need[n->res0] = true;
        if (!any) continue;
        if (is_closed(g, n)) more = mark_regions(l, i, a) || more;
        for (uint32_t k = 0; k < n->nargs; k++)
            if (!l->of[i].operand || l->of[i].operand[k]) l->need[gcut_arg(g, n, k)] = true;
    }
    return more;
}

static gcut_graph *restricted(const liveness *l, const char *name, const bool *keep_param,
                              const bool *keep_result);

/* ---- a node with regions, smaller ---- */

static gcut_region *smaller_regions(const gcut_graph *g, const gcut_node *n, const uses *u, gcut_arena *a)
{
    gcut_region *out = gcut_calloc(g->module->arena, n->nregs, sizeof *out);
    for (uint32_t k = 0; k < n->nregs; k++) {
        out[k] = *gcut_region_at(g, n, k);
        bool *param = gcut_calloc(a, out[k].body->params.n + 1, sizeof *param);
        for (uint32_t i = 0; i < out[k].body->params.n; i++)
            param[i] = u->operand[gcut_region_operand(n, out[k].body, i)];
        out[k].body = restricted(u->region[k], out[k].body->name, param, kept_yields(n, k, u));
    }
    return out;
}

/* A scan gets its new number of carried values, and states its length when it has no sliced operand left. */
static void set_carries(gcut_draft *d, const gcut_graph *g, const gcut_node *n, const uses *u)
{
    uint32_t carries = 0, sliced = 0, old = gcut_node_carries(g, n);
    for (uint32_t k = 0; k < n->nargs - n->ncaptured; k++) *(k < old ? &carries : &sliced) += u->operand[k];
    gcut_draft_set(d, gcut_attr_dim(GCUT_KEY_carries, carries));
    if (!sliced) gcut_draft_set(d, gcut_attr_dim(GCUT_KEY_length, gcut_scan_length(g, n)));
}

static void copy_smaller(gcut_rewrite *rw, uint32_t id, const uses *u)
{
    const gcut_graph *g = rw->src;
    const gcut_node *n = gcut_node_at(g, id);
    gcut_draft d = gcut_draft_of(rw->scratch, g, id, rw->map, 0);
    gcut_draft_keep(&d, u->operand, u->result);
    if (n->op == GCUT_OP_scan) set_carries(&d, g, n, u);
    d.spec.regions = smaller_regions(g, n, u, rw->scratch);
    gcut_ref r = gcut_draft_make(rw->dst, &d, rw->map);
    for (uint32_t k = 0; k < n->nres; k++)
        if (u->result[k]) rw->map[n->res0 + k] = r++;
}

/* ---- graphs ---- */

/* Removes the parameters that are not kept; gcut_rewrite_begin has copied all of them. */
static void drop_params(gcut_graph *g, const bool *keep)
{
    uint32_t n = 0;
    for (uint32_t i = 0; keep && i < g->params.n; i++)
        if (keep[i]) {
            g->values.at[g->params.at[i].value].index = n;
            g->params.at[n++] = g->params.at[i];
        }
    if (keep) g->params.n = n;
}

static gcut_graph *restricted(const liveness *l, const char *name, const bool *keep_param,
                              const bool *keep_result)
{
    const gcut_graph *g = l->g;
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    drop_params(rw.dst, keep_param);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = gcut_any_result(n, l->need);
        if (any && is_closed(g, n))
            copy_smaller(&rw, i, &l->of[i]);
        else if (any)
            gcut_rewrite_copy(&rw, i);
    }
    if (!keep_result) return gcut_rewrite_end(&rw);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (keep_result[i])
            gcut_result_new(rw.dst, g->results.at[i].role, g->results.at[i].name,
                            rw.map[g->results.at[i].value]);
    gcut_arena_free(rw.scratch);
    return rw.dst;
}

gcut_graph *gcut_pass_dce(gcut_graph *g, const char *name)
{
    gcut_arena *scratch = gcut_arena_new(g->module->env, g->module->arena);
    liveness *l = liveness_new(g, scratch);
    while (mark(l, NULL, scratch)) continue;
    gcut_graph *out = restricted(l, name, NULL, NULL);
    gcut_arena_free(scratch);
    return out;
}
