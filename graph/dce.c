/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dead code elimination.
 *   in:    any graph
 *   out:   only the nodes that a result needs; of a node with regions only the results, operands and captured
 *          values that something needs: a carried value is needed when its final value is, or when a step
 *          makes with it what is needed
 *   keeps: parameters, results, names, marks, locations, run-time checks
 */
#include <string.h>

#include "graph/passes.h"
#include "graph/rewrite.h"

/* What of one node with regions is needed. */
typedef struct uses {
    bool *result;  /* by result, which is also by yield except for `cond` */
    bool *operand; /* captured ones included */
} uses;

static bool *needed_values(const gcut_graph *g, const bool *keep, gcut_arena *a);

static bool is_closed(const gcut_graph *g, const gcut_node *n)
{
    return n->nregs && gcut_region_at(g, n, 0)->body->is_body;
}

/* By yield of region k. NULL = all. */
static const bool *kept_yields(const gcut_node *n, uint32_t k, const uses *u)
{
    return n->op == GCUT_OP_while && k == 0 ? NULL : u->result;
}

/* The operand that parameter i of region k stands for. */
static uint32_t operand_of(const gcut_node *n, uint32_t k, uint32_t i)
{
    uint32_t own = n->nargs - n->ncaptured, given = gcut_region_nargs((gcut_op)n->op, k, own);
    return i < given ? i : own + (i - given);
}

static uint32_t carries_of(const gcut_graph *g, const gcut_node *n)
{
    return n->op == GCUT_OP_if ? 0 : gcut_node_carries(g, n);
}

/* Grows until no step asks for more: what a body reads may be a carried value, whose yield then counts. */
static uses region_uses(const gcut_graph *g, const gcut_node *n, const bool *need, gcut_arena *a)
{
    uses u = {gcut_calloc(a, n->nres + 1u, sizeof *u.result),
              gcut_calloc(a, n->nargs + 1u, sizeof *u.operand)};
    uint32_t carries = carries_of(g, n);
    for (uint32_t k = 0; k < n->nres; k++) u.result[k] = need[n->res0 + k];
    u.operand[0] = u.operand[0] || n->op == GCUT_OP_if;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < n->nregs; k++) {
            const gcut_graph *body = gcut_region_at(g, n, k)->body;
            const bool *inside = needed_values(body, kept_yields(n, k, &u), a);
            for (uint32_t i = 0; i < body->params.n; i++) {
                uint32_t o = operand_of(n, k, i);
                if (!inside[body->params.at[i].value]) continue;
                u.operand[o] = true;
                if (o < carries && !u.result[o]) u.result[o] = more = true;
            }
        }
    }
    for (uint32_t k = 0; k < carries; k++) u.operand[k] = u.result[k];
    return u;
}

/* By value of g: does a kept result need it? keep NULL = all of them are. */
static bool *needed_values(const gcut_graph *g, const bool *keep, gcut_arena *a)
{
    bool *need = gcut_calloc(a, g->values.n, sizeof *need);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (!keep || keep[i]) need[g->results.at[i].value] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = false;
        for (uint32_t k = 0; k < n->nres; k++) any = any || need[n->res0 + k];
        if (!any) continue;
        uses u = is_closed(g, n) ? region_uses(g, n, need, a) : (uses){0};
        for (uint32_t k = 0; k < n->nargs; k++)
            if (!u.operand || u.operand[k]) need[gcut_arg(g, n, k)] = true;
    }
    return need;
}

static gcut_graph *restricted(gcut_graph *g, const char *name, const bool *keep_param,
                              const bool *keep_result);

/* ---- a node with regions, smaller ---- */

static gcut_region *smaller_regions(const gcut_graph *g, const gcut_node *n, const uses *u, gcut_arena *a)
{
    gcut_region *out = gcut_calloc(g->module->arena, n->nregs, sizeof *out);
    for (uint32_t k = 0; k < n->nregs; k++) {
        out[k] = *gcut_region_at(g, n, k);
        bool *param = gcut_calloc(a, out[k].body->params.n + 1, sizeof *param);
        for (uint32_t i = 0; i < out[k].body->params.n; i++) param[i] = u->operand[operand_of(n, k, i)];
        out[k].body = restricted(out[k].body, out[k].body->name, param, kept_yields(n, k, u));
    }
    return out;
}

/* The node's attributes; a scan has another number of carried values, and states its length when nothing that
 * it slices is left. */
static uint32_t smaller_attrs(const gcut_graph *g, const gcut_node *n, const uses *u, gcut_attr *out)
{
    uint32_t count = 0, carries = 0, sliced = 0, old = carries_of(g, n);
    for (uint32_t k = 0; k < n->nattrs; k++)
        if (n->op != GCUT_OP_scan || g->attrs.at[n->attr0 + k].key != GCUT_A_carries)
            out[count++] = g->attrs.at[n->attr0 + k];
    if (n->op != GCUT_OP_scan) return count;
    for (uint32_t k = 0; k < n->nargs - n->ncaptured; k++) *(k < old ? &carries : &sliced) += u->operand[k];
    out[count++] = gcut_attr_dim(GCUT_A_carries, carries);
    if (!sliced && !gcut_attr_get(g, n, GCUT_A_length)) {
        const gcut_type *t = gcut_type_of(g, gcut_arg(g, n, old));
        out[count++] = gcut_attr_dim(GCUT_A_length, t->dim[gcut_attr_get(g, n, GCUT_A_axis)->u.dim]);
    }
    return count;
}

static void copy_smaller(gcut_rewrite *rw, uint32_t id, const bool *need)
{
    const gcut_graph *g = rw->src;
    const gcut_node *n = gcut_node_at(g, id);
    uses u = region_uses(g, n, need, rw->scratch);
    gcut_ref *args = gcut_calloc(rw->scratch, n->nargs + 1u, sizeof *args);
    gcut_type *types = gcut_calloc(rw->scratch, n->nres, sizeof *types);
    const char **names = gcut_calloc(rw->scratch, n->nres, sizeof *names);
    gcut_attr *attrs = gcut_calloc(rw->scratch, n->nattrs + 2u, sizeof *attrs);
    gcut_node_spec s = {.op = (gcut_op)n->op, .args = args, .attrs = attrs, .types = types, .loc = n->loc};
    for (uint32_t k = 0; k < n->nargs; k++) {
        if (!u.operand[k]) continue;
        args[s.nargs++] = gcut_rewrite_arg(rw, id, k);
        s.ncaptured += k >= n->nargs - n->ncaptured;
    }
    gcut_ref *kept = gcut_calloc(rw->scratch, n->nres, sizeof *kept);
    for (uint32_t k = 0; k < n->nres; k++)
        if (u.result[k]) {
            kept[s.ntypes] = n->res0 + k;
            names[s.ntypes] = g->values.at[n->res0 + k].name;
            types[s.ntypes++] = *gcut_type_of(g, n->res0 + k);
        }
    s.nattrs = smaller_attrs(g, n, &u, attrs);
    s.regions = smaller_regions(g, n, &u, rw->scratch);
    s.nregs = n->nregs;
    s.names = names;
    gcut_ref r = gcut_node_make(rw->dst, &s);
    rw->dst->nodes.at[rw->dst->nodes.n - 1].marks = n->marks;
    for (uint32_t k = 0; k < s.ntypes; k++) rw->map[kept[k]] = r + k;
}

/* ---- graphs ---- */

/* begin made every parameter: those not kept leave the list again. */
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

static gcut_graph *restricted(gcut_graph *g, const char *name, const bool *keep_param,
                              const bool *keep_result)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    const bool *need = needed_values(g, keep_result, rw.scratch);
    drop_params(rw.dst, keep_param);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = false;
        for (uint32_t k = 0; k < n->nres; k++) any = any || need[n->res0 + k];
        if (any && is_closed(g, n))
            copy_smaller(&rw, i, need);
        else if (any)
            gcut_rewrite_copy(&rw, i);
    }
    for (uint32_t i = 0; keep_result && i < g->results.n; i++)
        if (keep_result[i])
            gcut_result_new(rw.dst, g->results.at[i].role, g->results.at[i].name,
                            rw.map[g->results.at[i].value]);
    if (!keep_result) return gcut_rewrite_end(&rw);
    gcut_arena_free(rw.scratch);
    return rw.dst;
}

gcut_graph *gcut_pass_dce(gcut_graph *g, const char *name)
{
    return restricted(g, name, NULL, NULL);
}
