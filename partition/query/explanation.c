/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why a value is saved or recomputed.
 *
 * The cut gives the decision; the reason is the cheapest plan in which this one value has the other
 * decision. Solving the network under that constraint finds it, so the difference of the two
 * costs is exact (to the solver's bound) and includes all other decisions that change.
 */
#include "partition/query/explanation.h"

#include "graph/ops/node_facts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- the node whose derivative rule made a node ---- */

/* For d<name> or d<name>.<k>: the forward value after which reverse mode named it; *inner: it is an
 * intermediate value (.<k>) of a rule. */
static gcut_ref named_after(const gcut_graph *g, const char *name, bool *inner, gcut_arena *a)
{
    if (name[0] != 'd') return 0;
    *inner = false;
    gcut_ref v = gcut_graph_find(g, name + 1);
    if (v) return v;
    size_t n = strlen(name);
    while (n > 1 && isdigit((unsigned char)name[n - 1])) n--;
    if (n < 3 || name[n - 1] != '.') return 0;
    *inner = true;
    return gcut_graph_find(g, gcut_strndup(a, name + 1, n - 2));
}

static bool reads(const gcut_graph *g, const gcut_node *n, gcut_ref v)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_arg(g, n, k) == v) return true;
    return false;
}

/* The location of a derived node is grad(l), l the line of the node whose rule made it.  Of several nodes on
 * that line, the name selects one: d<result>.<k> is an intermediate value of the rule of the node with that
 * result, d<operand> the final value of the rule of a reader of that operand. */
static gcut_ref rule_of(const gcut_why *w, gcut_ref reader, gcut_arena *a)
{
    const gcut_graph *g = w->r.g;
    const gcut_module *m = g->module;
    const gcut_node *n = gcut_def(g, reader);
    const gcut_loc *l = &m->locs.at[n->loc];
    bool inner = false;
    gcut_ref named = named_after(g, g->values.at[reader].name, &inner, a), line = 0, both = 0;
    if (named && !gcut_def(g, named)) named = inner ? 0 : named;
    bool located = l->call && l->nargs == 1 && !strcmp(l->name, "grad");
    for (uint32_t i = 0; located && i < g->nodes.n; i++) {
        const gcut_node *f = gcut_node_at(g, i);
        if (f->nres == 0 || f->loc != l->args[0] || w->r.p->facts->side[f->res0] == GCUT_SIDE_BACKWARD)
            continue;
        bool fits = named && (inner ? gcut_def(g, named) == f : reads(g, f, named));
        if (!line) line = f->res0;
        if (fits && !both) both = f->res0;
    }
    if (both || line) return both ? both : line;
    return named && inner ? named : 0;
}

static void find_readers(gcut_why *w, gcut_arena *a)
{
    gcut_refs who = w->r.readers[w->v];
    for (uint32_t i = 0; i < who.n; i++) {
        gcut_why_reader one = {.value = who.at[i]};
        one.recomputed = w->r.plan->value[who.at[i]].decision == GCUT_PLAN_RECOMPUTED;
        bool derived = w->r.plan->value[who.at[i]].side != GCUT_SIDE_FORWARD;
        one.rule_of = derived ? rule_of(w, who.at[i], a) : 0;
        *GCUT_PUSH(a, &w->readers) = one;
    }
}

/* ---- the other decision ---- */

gcut_plan_decision gcut_why_flip(const gcut_why *w)
{
    return w->r.plan->value[w->v].decision == GCUT_PLAN_SAVED ? GCUT_PLAN_RECOMPUTED : GCUT_PLAN_SAVED;
}

static const char *fixed_reason(const gcut_why *w)
{
    const gcut_graph *g = w->r.g;
    const gcut_decision *d = &w->r.plan->value[w->v];
    if (d->decision == GCUT_PLAN_BACKWARD)
        return "it depends on a gradient: the backward graph computes it, once";
    if (d->decision == GCUT_PLAN_ALIVE && gcut_value_is(g, w->v, GCUT_CLASS_CONSTANT))
        return "a constant: made where it is needed";
    if (d->decision == GCUT_PLAN_ALIVE && !gcut_def(g, w->v)) return "given by the caller: alive anyway";
    if (d->decision == GCUT_PLAN_ALIVE) return "a result of the forward graph: alive anyway";
    if (d->decision == GCUT_PLAN_UNUSED) return "the backward graph does without it";
    if (gcut_value_runs_once(g, w->v)) return "made by an external kernel that is not pure and runs once";
    if (!gcut_def(g, w->v))
        return g->is_body ? "carried by the forward loop, which is over: it can only be saved"
                          : "#transient, gone when the backward call comes: it can only be saved";
    return NULL;
}

/* The problem with v forced to `f`, all other constraints as they are. */
static gcut_problem with_force(const gcut_why *w, gcut_arena *a, gcut_constraint f)
{
    gcut_problem p = *w->r.p;
    p.force = gcut_memdup(a, p.force, w->r.g->values.n * sizeof *p.force);
    p.force[w->v] = f;
    return p;
}

/* Was it made from the minimum cut at its price?  A plan file states decisions, and the cut need not agree. */
static bool is_of_the_cut(const gcut_plan *plan)
{
    return gcut_plan_is_priced(plan) && !plan->options.file;
}

bool gcut_why_is_minimum(const gcut_plan *plan)
{
    return is_of_the_cut(plan) && !plan->flips;
}

bool gcut_why_is_changed(const gcut_why *w)
{
    return w->cut && w->cut->decision[w->v] != w->now->decision[w->v];
}

static gcut_choice *decide(const gcut_why *w, const gcut_problem *p, gcut_arena *a)
{
    const gcut_plan *plan = w->r.plan;
    if (gcut_why_is_minimum(plan)) return gcut_choose(p, a, NULL, plan->options.lambda);
    return gcut_choice_of(p, a, plan);
}

static void find_other(gcut_why *w, gcut_arena *a)
{
    gcut_constraint mine = w->r.p->force[w->v];
    w->now = gcut_choice_of(w->r.p, a, w->r.plan);
    if (is_of_the_cut(w->r.plan)) w->cut = gcut_choose(w->r.p, a, NULL, w->r.plan->options.lambda);
    w->fixed = fixed_reason(w);
    if (mine != GCUT_CONSTRAINT_NONE) {
        gcut_problem free = with_force(w, a, GCUT_CONSTRAINT_NONE);
        w->unforced = (w->cut ? gcut_choose(&free, a, NULL, w->r.plan->options.lambda) : decide(w, &free, a))
                          ->decision[w->v];
        w->forced_by = w->r.p->forced_by[w->v];
    }
    if (w->fixed) return;
    gcut_constraint f =
        gcut_why_flip(w) == GCUT_PLAN_SAVED ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
    gcut_problem p = with_force(w, a, f);
    w->other = decide(w, &p, a);
}

int64_t gcut_why_bytes(const gcut_why *w)
{
    const gcut_decision *d = &w->r.plan->value[w->v];
    return gcut_value_saved_bytes(w->r.p, w->v,
                                  d->decision == GCUT_PLAN_SAVED ? d->format : GCUT_FORMAT_PLAIN);
}

double gcut_why_arc(const gcut_why *w)
{
    const gcut_decision *d = &w->r.plan->value[w->v];
    const gcut_price *own = &w->r.p->price[w->v];
    bool saved = d->decision == GCUT_PLAN_SAVED;
    double price = saved ? d->save_ns : d->recompute_ns;
    return !isinf(price) ? price : saved ? own->trip_ns : own->recompute_ns;
}

gcut_refs gcut_why_changes(const gcut_why *w)
{
    gcut_refs out = {0};
    for (gcut_ref v = 1; w->other && v < w->r.g->values.n; v++)
        if (v != w->v && w->now->decision[v] != w->other->decision[v] &&
            !gcut_value_is(w->r.g, v, GCUT_CLASS_VIEW))
            *GCUT_PUSH(w->r.arena, &out) = v;
    return out;
}

/* ---- the recomputation chain ---- */

/* The nodes that recompute v in the plan that recomputes it: this one or the other. */
static void find_chain(gcut_why *w, gcut_arena *a)
{
    const gcut_graph *g = w->r.g;
    const gcut_choice *c = w->now->decision[w->v] == GCUT_PLAN_RECOMPUTED ? w->now : w->other;
    if (!c || c->decision[w->v] != GCUT_PLAN_RECOMPUTED) return;
    bool *need = gcut_calloc(a, g->values.n, 1), *given = gcut_calloc(a, g->values.n, 1);
    need[w->v] = true;
    for (gcut_ref u = 1; u < g->values.n; u++) given[u] = c->decision[u] != GCUT_PLAN_RECOMPUTED;
    const bool *runs = gcut_needed_nodes(a, g, need, given);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!runs[i] || gcut_node_class(n) == GCUT_CLASS_VIEW) continue;
        *GCUT_PUSH(a, &w->chain) = n->res0;
        w->chain_ns += w->r.p->price[n->res0].recompute_ns;
    }
}

/* ---- from a name to a value ---- */

static const gcut_plan *plan_with(const gcut_plan *plan, const char *bare, const char **loop)
{
    const gcut_scan_plans *scans = plan->options.scans;
    *loop = NULL;
    if (gcut_graph_find(plan->joint, bare)) return plan;
    for (uint32_t i = 0; scans && i < scans->all.n; i++)
        if (gcut_graph_find(scans->all.at[i].iteration->joint, bare)) {
            *loop = scans->all.at[i].scan;
            return scans->all.at[i].iteration;
        }
    return plan;
}

gcut_why *gcut_why_of(const gcut_plan *whole, const char *name, gcut_arena *arena)
{
    gcut_why *w = gcut_calloc(arena, 1, sizeof *w);
    const char *bare = name + (name[0] == '%');
    const gcut_plan *plan = plan_with(whole, bare, &w->loop);
    const gcut_graph *g = plan->joint;
    w->asked = gcut_named(g, bare);
    if (!w->asked)
        gcut_fail(g->module->env, GCUT_EPLAN, (gcut_place){.file = g->module->file}, NULL,
                  "%%%s is inside a loop or branch that is planned as a whole", bare);
    w->r = gcut_query_from(plan, arena, 0);
    w->v = w->r.p->facts->side[w->asked] == GCUT_SIDE_BACKWARD ? w->asked : w->r.p->facts->base[w->asked];
    find_readers(w, arena);
    find_other(w, arena);
    find_chain(w, arena);
    return w;
}
