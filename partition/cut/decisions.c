/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From a problem to a choice: the network for a lambda, its minimum cut, and the decisions of that cut.
 */
#include "partition/cut/decisions.h"

#include <math.h>
#include <string.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"

gcut_problem *gcut_problem_new(gcut_arena *arena, gcut_graph *joint, const gcut_plan_options *opt)
{
    gcut_problem *p = gcut_calloc(arena, 1, sizeof *p);
    p->g = joint;
    p->opt = opt;
    gcut_facts *facts = gcut_sides_of(arena, joint);
    if (opt->apart) memset(facts->grad, 0, joint->values.n * sizeof *facts->grad);
    facts->order = gcut_backward_order(arena, facts, &facts->norder);
    p->facts = facts;
    p->price = gcut_prices(arena, p->facts, opt);
    p->force = gcut_calloc(arena, joint->values.n, sizeof *p->force);
    p->forced_by = gcut_calloc(arena, joint->values.n, sizeof *p->forced_by);
    p->roundable = gcut_roundable(arena, p->facts);
    p->format = gcut_calloc(arena, joint->values.n, sizeof *p->format);
    for (gcut_ref v = 1; v < joint->values.n; v++) p->format[v] = gcut_format_of(p, v, opt->lambda);
    gcut_resolve_forced(p, arena);
    return p;
}

gcut_problem *gcut_problem_of_clone(gcut_arena *arena, const gcut_problem *p, gcut_graph *clone)
{
    gcut_problem *q = gcut_memdup(arena, p, sizeof *p);
    q->g = clone;
    q->facts = gcut_memdup(arena, p->facts, sizeof *p->facts);
    q->facts->g = clone;
    return q;
}

/* A plan file may force values without a mark or option. */
gcut_problem *gcut_problem_of(gcut_arena *arena, const gcut_plan *plan)
{
    gcut_problem *p = gcut_problem_new(arena, plan->joint, &plan->options);
    for (gcut_ref v = 1; v < p->g->values.n; v++) {
        if (plan->value[v].decision == GCUT_PLAN_SAVED) p->format[v] = plan->value[v].format;
        if (!plan->value[v].forced || p->force[v] != GCUT_CONSTRAINT_NONE) continue;
        p->force[v] =
            plan->value[v].decision == GCUT_PLAN_SAVED ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE;
        p->forced_by[v] = "the plan file";
    }
    return p;
}

static bool is_given(const gcut_problem *p, gcut_ref v)
{
    return !gcut_def(p->g, v) && !gcut_value_is_lost(p->g, v);
}

static bool alive_anyway(const gcut_problem *p, gcut_ref v)
{
    if (is_given(p, v)) return true;
    return p->facts->kept[v] && p->force[v] != GCUT_CONSTRAINT_RECOMPUTE;
}

double gcut_save_price(const gcut_problem *p, gcut_ref v, double lambda, const char **why)
{
    *why = NULL;
    if (gcut_value_is(p->g, v, GCUT_CLASS_CONSTANT))
        return *why = "a constant: made where it is needed", INFINITY;
    if (p->force[v] == GCUT_CONSTRAINT_RECOMPUTE) return *why = "must be recomputed, as asked for", INFINITY;
    if (is_given(p, v)) return *why = "given by the caller: alive anyway", 0;
    if (p->facts->kept[v]) return *why = "a result of the forward graph: alive anyway", 0;
    if (gcut_value_is(p->g, v, GCUT_CLASS_VIEW)) return *why = "a view: its base stands for it", INFINITY;
    return gcut_saved_ns(p, v, p->format[v]) + lambda * (double)gcut_value_saved_bytes(p, v, p->format[v]);
}

static bool in_domain(const gcut_problem *p, gcut_ref v)
{
    return p->facts->side[v] != GCUT_SIDE_BACKWARD;
}

/* ---- the network ---- */

/* Every cut pays for a forced save, so its arc has price 0: its price neither coarsens the quantum nor hides
 * a difference.  The cost of the choice includes it. */
static void add_value(const gcut_problem *p, gcut_network *net, gcut_ref v)
{
    const char *why;
    double save = gcut_save_price(p, v, 0, &why);
    bool forced = p->force[v] == GCUT_CONSTRAINT_SAVE, free = forced || alive_anyway(p, v);
    gcut_network_value(net, v, forced ? 0 : save, free ? 0 : gcut_value_saved_bytes(p, v, p->format[v]),
                       !free, forced ? "must be saved, as asked for" : why);
    if (p->facts->read[v]) gcut_network_read(net, v, "the backward graph reads it");
    if (forced) gcut_network_read(net, v, "must be saved, as asked for");
}

/* Of each value its own arc, its reads and, of a parameter, that which it cannot be recomputed by; of each node its
 * work and operands. */
static uint32_t most_arcs(const gcut_problem *p)
{
    const gcut_graph *g = p->g;
    uint32_t n = 0;
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (in_domain(p, v))
            n += 1u + p->facts->read[v] + (p->force[v] == GCUT_CONSTRAINT_SAVE) + !gcut_def(g, v);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *x = gcut_node_at(g, i);
        if (x->nres && in_domain(p, x->res0)) n += 1 + x->nargs + (x->nres > 1 ? x->nres : 0);
    }
    return n;
}

gcut_network *gcut_problem_network(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    gcut_network *net = gcut_network_new(arena, g->values.n);
    gcut_network_make_room(net, most_arcs(p));
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (!in_domain(p, v)) continue;
        add_value(p, net, v);
        if (!gcut_def(g, v)) gcut_network_work(net, INFINITY, p->price[v].why, NULL, 0, &v, 1);
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (n->nres == 0 || !in_domain(p, n->res0)) continue;
        gcut_ref res[GCUT_MAX_RESULTS];
        bool forced = true; /* the node is never recomputed only if all of its results are forced saves */
        for (uint32_t k = 0; k < n->nres; k++) {
            res[k] = n->res0 + k;
            forced &= p->force[res[k]] == GCUT_CONSTRAINT_SAVE;
        }
        bool once = gcut_value_runs_once(g, n->res0);
        gcut_network_work(net, forced || once ? INFINITY : p->price[n->res0].recompute_ns,
                          forced ? "must be saved, as asked for" : p->price[n->res0].why,
                          &g->args.at[n->arg0], n->nargs, res, n->nres);
    }
    return net;
}

/* ---- decisions ---- */

/* One pass from the last node to the first: a value is needed when the backward graph or a recomputed node
 * reads it.  Values that are alive anyway are not decided; constraints overrule `saved`. */
static void settle(const gcut_problem *p, const bool *saved, gcut_arena *arena, gcut_plan_decision *decision)
{
    const gcut_graph *g = p->g;
    bool *need = gcut_memdup(arena, p->facts->read, g->values.n * sizeof *need);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        need[v] |= p->force[v] == GCUT_CONSTRAINT_SAVE;
        bool alive = !gcut_def(g, v) && alive_anyway(p, v);
        decision[v] = !in_domain(p, v) ? GCUT_PLAN_BACKWARD : alive ? GCUT_PLAN_ALIVE : GCUT_PLAN_UNUSED;
    }
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool recomputed = false;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
            if (!in_domain(p, v)) continue;
            bool keep = p->force[v] == GCUT_CONSTRAINT_NONE
                            ? saved[v] && gcut_node_class(n) != GCUT_CLASS_VIEW
                            : p->force[v] == GCUT_CONSTRAINT_SAVE;
            keep = keep || gcut_value_runs_once(g, v);
            if (alive_anyway(p, v) || gcut_node_class(n) == GCUT_CLASS_CONSTANT)
                decision[v] = GCUT_PLAN_ALIVE;
            else if (need[v])
                decision[v] = keep ? GCUT_PLAN_SAVED : GCUT_PLAN_RECOMPUTED;
            recomputed |= decision[v] == GCUT_PLAN_RECOMPUTED;
        }
        for (uint32_t k = 0; recomputed && k < n->nargs; k++) need[gcut_arg(g, n, k)] = true;
    }
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        if (need[v] && decision[v] == GCUT_PLAN_UNUSED) decision[v] = GCUT_PLAN_SAVED;
    }
}

static void add_saved(const gcut_problem *p, gcut_choice *c, gcut_ref v)
{
    if (c->decision[v] != GCUT_PLAN_SAVED) return;
    c->format[v] = p->format[v];
    c->fixed_ns += gcut_saved_ns(p, v, c->format[v]);
    c->saved_bytes += gcut_value_saved_bytes(p, v, c->format[v]);
}

static void sum_up(const gcut_problem *p, gcut_choice *c)
{
    const gcut_graph *g = p->g;
    for (uint32_t i = 0; i < g->params.n; i++) add_saved(p, c, g->params.at[i].value);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(g, i)->nres; k++) add_saved(p, c, gcut_node_at(g, i)->res0 + k);
    for (uint32_t k = 0; k < c->backward.n; k++) {
        gcut_ref v = gcut_node_at(g, c->backward.node[k])->res0;
        if (in_domain(p, v)) c->recompute_ns += p->price[v].recompute_ns;
    }
    c->fixed_ns += c->recompute_ns;
    c->cost_ns = c->fixed_ns + c->lambda * (double)c->saved_bytes;
}

gcut_choice *gcut_choice_saving(const gcut_problem *p, gcut_arena *arena, const bool *saved,
                                const gcut_recomputations *copies, double lambda)
{
    gcut_choice *c = gcut_calloc(arena, 1, sizeof *c);
    c->decision = gcut_calloc(arena, p->g->values.n, sizeof *c->decision);
    c->format = gcut_calloc(arena, p->g->values.n, sizeof *c->format);
    c->lambda = lambda;
    settle(p, saved, arena, c->decision);
    c->backward = gcut_schedule_with(arena, p->facts, c->decision, copies);
    sum_up(p, c);
    return c;
}

bool *gcut_saved_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan_decision *decision)
{
    bool *saved = gcut_calloc(arena, p->g->values.n, 1);
    for (gcut_ref v = 1; v < p->g->values.n; v++) saved[v] = decision[v] == GCUT_PLAN_SAVED;
    return saved;
}

static gcut_plan_decision *decisions_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan)
{
    gcut_plan_decision *decision = gcut_calloc(arena, p->g->values.n, sizeof *decision);
    for (gcut_ref v = 1; v < p->g->values.n; v++) decision[v] = plan->value[v].decision;
    return decision;
}

gcut_recomputations *gcut_recomputations_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan)
{
    return gcut_schedule_recomputations(arena, p->facts, decisions_of(p, arena, plan), &plan->backward);
}

gcut_choice *gcut_choice_of(const gcut_problem *p, gcut_arena *arena, const gcut_plan *plan)
{
    const bool *saved = gcut_saved_of(p, arena, decisions_of(p, arena, plan));
    return gcut_choice_saving(p, arena, saved, gcut_recomputations_of(p, arena, plan), plan->options.lambda);
}

/* ---- policies ---- */

gcut_forced_saves gcut_forced_saves_at(const gcut_problem *p, double lambda)
{
    gcut_forced_saves sum = {0};
    for (gcut_ref v = 1; v < p->g->values.n; v++) {
        if (p->force[v] != GCUT_CONSTRAINT_SAVE) continue;
        const gcut_format f = gcut_format_of(p, v, lambda);
        const double ns = gcut_saved_ns(p, v, f), bytes = (double)gcut_value_saved_bytes(p, v, f);
        sum.n++;
        sum.ns += ns;
        sum.bytes += bytes;
        sum.cost_ns += ns + lambda * bytes;
    }
    return sum;
}

/* Subtracts the rounding of fixed + lambda * bytes, twice per price and once per sum: small against the cost,
 * but callers subtract lambda * bytes, which may be nearly all of it. */
double gcut_bound_of_cut(const gcut_problem *p, const gcut_cut *cut, double lambda)
{
    const gcut_forced_saves forced = gcut_forced_saves_at(p, lambda);
    const double least = forced.cost_ns * (1 - ldexp(forced.n + 2.0, -53));
    return (cut->lower_bound * (1 - 0x1p-52) + least) * (1 - 0x1p-53);
}

double gcut_bound_printed(double bound_ns, double cost_ns)
{
    GCUT_ASSERT(bound_ns <= cost_ns * (1 + 1e-9) + 1e-9); /* false for NaN too */
    return fmin(bound_ns, cost_ns);
}

bool *gcut_saved_by(const gcut_problem *p, gcut_arena *arena, const gcut_network *net, const bool *side)
{
    bool *saved = gcut_calloc(arena, p->g->values.n, 1);
    for (gcut_ref v = 1; v < p->g->values.n; v++) saved[v] = !net->in[v] || side[net->in[v]];
    return saved;
}

gcut_choice *gcut_choose(const gcut_problem *p, gcut_arena *arena, gcut_policy_fn *rule, double lambda)
{
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    gcut_problem at = gcut_problem_at(p, scratch, lambda);
    gcut_network *net = gcut_problem_network(&at, scratch);
    gcut_network_at(net, lambda);
    if (!gcut_network_feasible(net, scratch)) gcut_require_feasible(p, scratch);
    gcut_cut cut = gcut_solve(net, scratch);
    bool *saved = rule ? rule(p, scratch) : gcut_saved_by(p, scratch, net, cut.source_side);
    gcut_choice *c = gcut_choice_saving(&at, arena, saved, NULL, lambda);
    c->lower_bound_ns = gcut_bound_printed(gcut_bound_of_cut(p, &cut, lambda), c->cost_ns);
    /* The decisions are those of the cut, less arcs that quantisation cut without need; no plan costs less
     * than the bound. */
    double slack = 1e-9 * (c->cost_ns + cut.cost) + 1e-9;
    GCUT_ASSERT(rule || c->cost_ns <= cut.cost + gcut_forced_saves_at(p, lambda).cost_ns + slack);
    gcut_arena_free(scratch);
    return c;
}
