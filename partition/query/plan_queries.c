/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Queries on a plan: names, readers, saved values, recomputation chains, loops.
 */
#include "partition/query/plan_queries.h"

#include "graph/ops/node_facts.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces of text ---- */

const char *gcut_query_sym(const gcut_query *r, gcut_dim d)
{
    gcut_text t = {.arena = r->arena};
    gcut_dim_print(r->g->module->dims, d, &t);
    return t.at;
}

const char *gcut_query_type(const gcut_query *r, gcut_ref v, bool symbolic)
{
    const gcut_type *t = gcut_type_of(r->g, v);
    gcut_text out = {.arena = r->arena};
    if (!symbolic) return gcut_query_type_at(r->arena, r->g, v, r->plan->options.at, r->plan->options.nat);
    gcut_text_add(&out, "%s[", gcut_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++)
        gcut_text_add(&out, "%s%s", i ? "," : "", gcut_query_sym(r, t->dim[i]));
    gcut_text_add(&out, "]");
    return out.at;
}

const char *gcut_query_type_at(gcut_arena *a, const gcut_graph *g, gcut_ref v, const gcut_dim_binding *at,
                               uint32_t nat)
{
    const gcut_type *t = gcut_type_of(g, v);
    gcut_text out = {.arena = a};
    gcut_text_add(&out, "%s[", gcut_dtype_name(t->dtype));
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t n = 0;
        gcut_dim_eval(g->module->dims, t->dim[i], at, nat, &n);
        gcut_text_add(&out, "%s%lld", i ? "," : "", (long long)n);
    }
    gcut_text_add(&out, "]");
    return out.at;
}

static const char *tail_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* mlp.c:41 fc1, the last part of file and scope alone; "-" when unknown. */
const char *gcut_query_line(gcut_arena *a, const gcut_module *m, gcut_locid l)
{
    while (l && m->locs.at[l].call && m->locs.at[l].nargs) l = m->locs.at[l].args[0];
    if (!l) return "-";
    const gcut_loc *loc = &m->locs.at[l];
    if (loc->call) return loc->text ? loc->text : loc->name;
    const char *file = tail_of(loc->name);
    if (!loc->scope) return gcut_printf(a, "%s:%d", file, loc->line);
    return gcut_printf(a, "%s:%d %s", file, loc->line, tail_of(loc->scope));
}

const char *gcut_query_at(const gcut_query *r, gcut_ref v)
{
    const gcut_node *n = gcut_def(r->g, v);
    return gcut_query_line(r->arena, r->g->module, n ? n->loc : 0);
}

/* ---- readers ---- */

/* The node runs in the backward graph of this plan. */
static bool runs_backward(const gcut_query *r, const gcut_node *n)
{
    bool here = false;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
        gcut_plan_decision f = r->plan->value[v].decision;
        here |= f == GCUT_PLAN_BACKWARD || f == GCUT_PLAN_RECOMPUTED;
    }
    return here;
}

static bool is_view(const gcut_query *r, gcut_ref v)
{
    return gcut_value_is(r->g, v, GCUT_CLASS_VIEW);
}

/* A reader of a view counts as a reader of its base; a view that is a result counts itself. */
static void find_readers(gcut_query *r)
{
    const gcut_graph *g = r->g;
    r->readers = gcut_calloc(r->arena, g->values.n, sizeof *r->readers);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!r->p->facts->live[i] || !runs_backward(r, n) || is_view(r, n->res0)) continue;
        for (uint32_t k = 0; k < n->nargs; k++)
            for (gcut_ref a = gcut_arg(g, n, k);; a = gcut_arg(g, gcut_def(g, a), 0)) {
                gcut_refs *who = &r->readers[a];
                if (!who->n || who->at[who->n - 1] != n->res0) *GCUT_PUSH(r->arena, who) = n->res0;
                if (!is_view(r, a) || r->plan->value[a].decision == GCUT_PLAN_ALIVE) break;
            }
    }
}

gcut_query gcut_query_from(const gcut_plan *plan, gcut_arena *arena, double from)
{
    gcut_query r = {.plan = plan, .g = plan->joint, .arena = arena};
    r.p = gcut_problem_of(arena, plan);
    r.flips = gcut_flip_prices(gcut_corners_of(r.p, arena), arena, from);
    find_readers(&r);
    r.listed = gcut_calloc(arena, r.g->nodes.n, sizeof *r.listed);
    return r;
}

gcut_query gcut_query_open(const gcut_plan *plan, gcut_arena *arena)
{
    /* Of a plan that is not the cut's own, the flip prices are those of the minimum cut, from 0 on. */
    return gcut_query_from(plan, arena, gcut_plan_is_priced(plan) && !plan->flips ? plan->options.lambda : 0);
}

/* ---- saved and recomputed values ---- */

static bool saved(const gcut_query *r, gcut_ref v)
{
    return r->plan->value[v].decision == GCUT_PLAN_SAVED;
}

typedef struct sized {
    int64_t bytes;
    gcut_ref v;
} sized;

/* Largest first, then in graph order (ids rise with it). */
static int by_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->v > y->v) - (x->v < y->v);
}

gcut_refs gcut_query_saved(const gcut_query *r)
{
    GCUT_VEC(sized) found = {0};
    gcut_refs out = {0};
    for (gcut_ref v = 1; v < r->g->values.n; v++)
        if (saved(r, v)) *GCUT_PUSH(r->arena, &found) = (sized){r->plan->value[v].bytes, v};
    if (found.n) qsort(found.at, found.n, sizeof *found.at, by_size);
    for (uint32_t i = 0; i < found.n; i++) *GCUT_PUSH(r->arena, &out) = found.at[i].v;
    return out;
}

bool gcut_query_recomputed(const gcut_query *r, gcut_ref v)
{
    return r->plan->value[v].decision == GCUT_PLAN_RECOMPUTED &&
           r->plan->value[v].side == GCUT_SIDE_FORWARD && !is_view(r, v);
}

static int later_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

typedef GCUT_VEC(uint32_t) node_list;

/* The node of v and the nodes on which it depends through operands that are neither saved nor computed by the
 * backward graph, in reverse graph order. */
static node_list chain_of(const gcut_query *r, gcut_ref v, gcut_arena *scratch)
{
    const gcut_graph *g = r->g;
    node_list out = {0};
    *GCUT_PUSH(scratch, &out) = g->values.at[v].def;
    r->listed[out.at[0]] = true;
    for (uint32_t i = 0; i < out.n; i++) {
        const gcut_node *n = gcut_node_at(g, out.at[i]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref a = gcut_arg(g, n, k);
            uint32_t def = g->values.at[a].def;
            if (def == GCUT_NONE || r->plan->value[a].decision != GCUT_PLAN_UNUSED || r->listed[def])
                continue;
            r->listed[def] = true;
            *GCUT_PUSH(scratch, &out) = def;
        }
    }
    for (uint32_t i = 0; i < out.n; i++) r->listed[out.at[i]] = false;
    qsort(out.at, out.n, sizeof *out.at, later_first);
    return out;
}

gcut_query_chain gcut_query_instead(const gcut_query *r, gcut_ref v, gcut_arena *scratch)
{
    node_list chain = chain_of(r, v, scratch);
    double slowest_ns = -1;
    gcut_query_chain out = {0};
    for (uint32_t i = 0; i < chain.n; i++) {
        const gcut_node *n = gcut_node_at(r->g, chain.at[i]);
        double ns = r->p->price[n->res0].recompute_ns;
        out.ns += ns;
        if (ns > slowest_ns) slowest_ns = ns, out.slowest = n;
    }
    return out;
}

/* ---- loops ---- */

/* The backward graph of an iteration, as its plan was split: it has the names that the iteration's plan has. */
static const gcut_graph *split_of(const gcut_query *r, const char *loop)
{
    const gcut_scan_plans *of = r->plan->options.scans;
    for (uint32_t i = 0; of && i < of->all.n; i++)
        if (!strcmp(of->all.at[i].scan, loop)) return of->all.at[i].iteration->bwd;
    return NULL;
}

static const gcut_plan_loop *loop_of(const gcut_query *r, gcut_ref first, const gcut_node *bwd)
{
    gcut_module *m = r->g->module;
    const gcut_plan_options *o = &r->plan->options;
    const gcut_node *fwd = gcut_def(r->g, first);
    const gcut_graph *body = gcut_region_at(r->g, bwd, 0)->body,
                     *split = split_of(r, r->g->values.at[first].name);
    const char **saved = gcut_calloc(r->arena, bwd->nargs + 1u, sizeof *saved);
    gcut_plan_op *recomputed = gcut_calloc(r->arena, (split ? split->nodes.n : 0) + 1u, sizeof *recomputed);
    gcut_plan_loop *out = gcut_calloc(r->arena, 1, sizeof *out);
    gcut_dim bytes = 0;
    *out = (gcut_plan_loop){.name = r->g->values.at[first].name,
                            .where = gcut_query_at(r, first),
                            .saved = saved,
                            .recomputed = recomputed};
    for (uint32_t k = gcut_node_carries(r->g, bwd); k < bwd->nargs - bwd->ncaptured; k++) {
        gcut_ref v = gcut_arg(r->g, bwd, k);
        if (v < fwd->res0 || v >= fwd->res0 + fwd->nres) continue;
        const gcut_type *t = gcut_type_of(body, body->params.at[k].value);
        bytes = gcut_dim_make(m->dims, GCUT_DIM_ADD, bytes, gcut_format_bytes(m, t, GCUT_FORMAT_PLAIN));
        saved[out->nsaved++] = r->g->values.at[v].name;
    }
    gcut_dim_eval(m->dims, bytes, o->at, o->nat, &out->step_bytes);
    for (uint32_t k = 0; split && k < split->nodes.n; k++) {
        const gcut_node *n = gcut_node_at(split, k);
        if (gcut_mark_find(&n->marks, GCUT_MARK_recomputed))
            recomputed[out->nrecomputed++] =
                (gcut_plan_op){split->values.at[n->res0].name, gcut_op_get((gcut_op)n->op)->name};
    }
    return out;
}

gcut_query_loops gcut_query_loops_of(const gcut_query *r)
{
    gcut_query_loops out = {0};
    for (uint32_t i = 0; i < r->g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(r->g, i);
        const gcut_mark *mark = gcut_mark_find(&n->marks, GCUT_MARK_adjoint);
        gcut_ref v = mark ? (gcut_ref)mark->arg[0].i : 0;
        /* A gradient that is part of the function is no backward loop. */
        if (v && r->plan->value[n->res0].side != GCUT_SIDE_BACKWARD) continue;
        if (v && gcut_def(r->g, v)) *GCUT_PUSH(r->arena, &out) = loop_of(r, v, n);
    }
    return out;
}
