/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The plans that budgets and frontiers choose from, each lowered to know its exact peak.
 *
 *   joint ─loops, for a few prices─▶ bases ─simulated plans─▶ candidates ─lower, sort by time─▶ list
 *
 * A candidate is lowered in a scratch module, a clone of that of its base.
 */
#include "driver/options/plan_options.h"
#include "driver/search/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/pipeline/saved_storage.h"
#include "graph/ops/value_bytes.h"
#include "partition/budget/simulated_plans.h"
#include "partition/plan.h"
#include "partition/policies/policy.h"

/* ---- candidates ---- */

/* Prices of a byte at which the iterations of loops are planned. */
static const double loop_lambda[] = {GCUT_LAMBDA_DEFAULT, 0, 1e4};

/* The time of every node, once.  Plans of one base differ in what they add to it; bases, in the plans of
 * their loop bodies. */
static double work_of(const gcut_problem *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(p->g, i);
        if (n->nres && isfinite(p->price[n->res0].recompute_ns)) sum += p->price[n->res0].recompute_ns;
    }
    return sum;
}

static gcut_plan_options *options_of(gcut_candidates *o, gcut_policy policy, double torch_budget,
                                     double lambda)
{
    gcut_plan_options *out = gcut_calloc(o->arena, 1, sizeof *out);
    *out = gcut_pipeline_plan_options(o->p);
    out->policy = policy;
    out->torch_budget = torch_budget;
    out->lambda = lambda;
    return out;
}

static gcut_candidate_base *base_with(gcut_candidates *o, gcut_graph *planned, const gcut_plan_options *asked)
{
    gcut_candidate_base *b = gcut_calloc(o->arena, 1, sizeof *b);
    b->planned = planned;
    b->options = *asked;
    b->options.policy = GCUT_POLICY_MINCUT;
    b->problem = gcut_problem_new(o->arena, b->planned, &b->options);
    b->work_ns = work_of(b->problem);
    *GCUT_PUSH(o->arena, &o->bases) = b;
    return b;
}

/* The base whose loops are planned under these options, or one that exists already and has the same loops. */
static gcut_candidate_base *base_of(gcut_candidates *o, const gcut_plan_options *asked)
{
    gcut_graph *planned = gcut_pipeline_loops(o->p, asked);
    for (uint32_t i = 0; i < o->bases.n; i++)
        if (gcut_graph_same(o->bases.at[i]->planned, planned)) return o->bases.at[i];
    gcut_candidate_base *b = base_with(o, planned, asked);
    b->own_buffers = gcut_saved_have_own_buffers(o->p, b->problem);
    return b;
}

static gcut_candidate candidate_of(const gcut_candidate_base *b, const gcut_choice *c, const char *label)
{
    return (gcut_candidate){.base = b,
                            .options = &b->options,
                            .choice = c,
                            .origin = label,
                            .label = label,
                            .peak_bytes = -1,
                            .step_ns = NAN};
}

static void add_count(gcut_text *t, uint32_t n, const char *what)
{
    if (n) gcut_text_add(t, ", %u %s%s", n, what, n == 1 ? "" : "s");
}

void gcut_candidate_name(gcut_candidate *c, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "%s%s", c->origin, c->less_workspace ? ", less workspace" : "");
    add_count(&t, c->flips, "flip");
    add_count(&t, c->formats, "format");
    c->label = t.at;
}

/* Rising time, where both are known, then cost; then falling saved bytes: of two candidates with the same
 * cost, the one that saves less comes second. */
static int cheaper(const void *a, const void *b)
{
    const gcut_candidate *x = a, *y = b;
    if (!isnan(x->step_ns) && !isnan(y->step_ns) && x->step_ns != y->step_ns)
        return x->step_ns < y->step_ns ? -1 : 1;
    const double c = gcut_candidate_total_ns(x), d = gcut_candidate_total_ns(y);
    if (c != d) return c < d ? -1 : 1;
    int64_t s = x->choice->saved_bytes, t = y->choice->saved_bytes;
    if (s != t) return s < t ? 1 : -1;
    return strcmp(x->label, y->label);
}

static gcut_candidate *add(gcut_candidates *o, const gcut_candidate_base *b, const gcut_choice *c,
                           const char *label)
{
    for (uint32_t i = 0; i < o->list.n; i++) {
        gcut_candidate *x = &o->list.at[i];
        if (x->base == b && x->choice->fixed_ns == c->fixed_ns &&
            gcut_schedule_equal(&x->choice->backward, &c->backward) &&
            !memcmp(x->choice->decision, c->decision, b->planned->values.n * sizeof *c->decision))
            return x;
    }
    gcut_candidate *x = GCUT_PUSH(o->arena, &o->list);
    *x = candidate_of(b, c, label);
    return x;
}

static void add_simulated(gcut_candidates *o, gcut_candidate_base *b)
{
    bool loops = b->planned != o->p->joint;
    const char *suffix = loops ? gcut_printf(o->arena, ", loops at lambda %g", b->options.lambda) : "";
    const gcut_simulated_plans *f = gcut_simulated_plans_of(b->problem, o->arena);
    b->frontier = f->frontier;
    for (uint32_t k = 0; k < f->by_cost.n; k++)
        add(o, b, f->by_cost.at[k].choice, gcut_printf(o->arena, "%s%s", f->by_cost.at[k].label, suffix));
}

gcut_candidate gcut_candidate_policy(gcut_candidates *o, gcut_policy policy, double torch_budget)
{
    gcut_plan_options *options = options_of(o, policy, torch_budget, gcut_settings_price(&o->p->opt));
    const gcut_candidate_base *b = base_of(o, options);
    gcut_problem p = *b->problem; /* policies that plan the loops alike share the base */
    p.opt = options;
    gcut_choice *c = gcut_choose(&p, o->arena, gcut_policy_get(policy)->saved, options->lambda);
    gcut_candidate of = candidate_of(b, c, gcut_policy_text(o->arena, options));
    options->scans = b->options.scans;
    of.options = options;
    of.budget = GCUT_CANDIDATE_NO_BUDGET;
    return of;
}

uint32_t gcut_candidates_policies(gcut_candidates *o, gcut_candidate **out)
{
    static const double torch_budget[] = {0.75, 0.5, 0.25};
    uint32_t n = 0;
    *out = gcut_calloc(o->arena, GCUT_NPOLICIES + sizeof torch_budget / sizeof *torch_budget, sizeof **out);
    for (uint32_t k = 0; k < GCUT_NPOLICIES; k++) {
        if (k != GCUT_POLICY_TORCH_BUDGET) {
            (*out)[n++] = gcut_candidate_policy(o, (gcut_policy)k, 0);
            continue;
        }
        for (size_t i = 0; i < sizeof torch_budget / sizeof *torch_budget; i++)
            (*out)[n++] = gcut_candidate_policy(o, GCUT_POLICY_TORCH_BUDGET, torch_budget[i]);
    }
    return n;
}

/* Adds the plan of every policy, so that no policy beats all candidates. */
static void add_policies(gcut_candidates *o)
{
    gcut_candidate *of;
    uint32_t n = gcut_candidates_policies(o, &of);
    for (uint32_t k = 0; k < n; k++) {
        const char *label = of[k].options->policy == GCUT_POLICY_MINCUT
                                ? gcut_printf(o->arena, "lambda %.2g", gcut_settings_price(&o->p->opt))
                                : of[k].label;
        add(o, of[k].base, of[k].choice, label)->of_policy = true;
    }
}

static double least_work(const gcut_candidates *o)
{
    double least = o->bases.at[0]->work_ns;
    for (uint32_t i = 1; i < o->bases.n; i++) least = fmin(least, o->bases.at[i]->work_ns);
    return least;
}

static gcut_candidates *candidates_new(gcut_pipeline *p, gcut_arena *arena)
{
    gcut_candidates *o = gcut_calloc(arena, 1, sizeof *o);
    o->p = p;
    o->arena = arena;
    o->resident = gcut_resident_bytes(p->joint, p->at, p->nat);
    return o;
}

gcut_candidate gcut_candidate_alone(gcut_pipeline *p, gcut_arena *arena, gcut_candidates **o)
{
    *o = candidates_new(p, arena);
    const gcut_candidate_base *b = base_with(*o, p->planned, p->asked);
    gcut_candidate of =
        candidate_of(b, gcut_choice_of(b->problem, arena, p->plan), gcut_policy_name(GCUT_POLICY_MINCUT));
    of.budget = GCUT_CANDIDATE_NO_BUDGET;
    return of;
}

gcut_candidates *gcut_candidates_of(gcut_pipeline *p, gcut_arena *arena)
{
    gcut_candidates *o = candidates_new(p, arena);
    for (size_t i = 0; i < sizeof loop_lambda / sizeof *loop_lambda; i++) {
        uint32_t before = o->bases.n;
        gcut_candidate_base *b = base_of(o, options_of(o, GCUT_POLICY_MINCUT, 0, loop_lambda[i]));
        if (o->bases.n > before) add_simulated(o, b);
        if (b->planned == p->joint) break; /* it has no loops */
    }
    add_policies(o);
    o->least_work = least_work(o);
    qsort(o->list.at, o->list.n, sizeof *o->list.at, cheaper);
    return o;
}

/* ---- lowering one ---- */

double gcut_candidate_cost(const gcut_candidates *o, const gcut_candidate *of)
{
    return of->base->work_ns - o->least_work + of->choice->fixed_ns;
}

bool gcut_candidate_is_faster(const gcut_candidate *x, const gcut_candidate *y)
{
    const double saved_ns = y->step_ns - x->step_ns;
    return saved_ns > 1e-6 * y->step_ns &&
           gcut_candidate_total_ns(x) - gcut_candidate_total_ns(y) <= GCUT_PRICE_DOUBT * saved_ns;
}

/* Drops the lower bound: it is of a cut at a price per byte, not of a plan within a budget. */
void gcut_candidate_record(gcut_plan *plan, const gcut_candidates *o, const gcut_candidate *of,
                           int64_t budget)
{
    plan->budget = budget;
    plan->label = gcut_intern_name(plan->joint->module, of->label);
    plan->lower_bound_ns = NAN;
    plan->cost_ns = gcut_candidate_cost(o, of);
}

gcut_plan *gcut_candidate_plan(const gcut_candidate *of, const gcut_problem *problem)
{
    gcut_plan_options options = *of->options;
    gcut_choice choice = *of->choice;
    if (of->budget != GCUT_CANDIDATE_NO_BUDGET)
        options.lambda = choice.lambda = 0; /* a budget limits bytes instead of pricing them */
    gcut_plan *plan = gcut_plan_from(problem, &options, &choice);
    for (uint32_t i = 0; of->less_workspace && i < of->less_workspace->n; i++)
        plan->value[of->less_workspace->at[i]].less_workspace = true;
    return plan;
}

gcut_pipeline *gcut_candidate_lower(const gcut_candidates *o, const gcut_candidate *of, gcut_arena *parent)
{
    gcut_pipeline *q = gcut_pipeline_nested(o->p, of->base->planned, parent);
    q->sampled = o->known.n % 16 == 0;
    gcut_problem *problem = gcut_problem_of_clone(q->arena, of->base->problem, q->planned);
    problem->opt = of->options;
    gcut_pipeline_split(q, gcut_candidate_plan(of, problem), q->base);
    gcut_pipeline_lower(q);
    if (of->budget != GCUT_CANDIDATE_NO_BUDGET)
        gcut_candidate_record(q->plan, o, of,
                              of->budget == GCUT_CANDIDATE_OWN_PEAK ? q->peak_bytes : of->budget);
    return q;
}

static void key_of(const gcut_candidate *of, unsigned char key[GCUT_HASH_BYTES])
{
    const gcut_choice *c = of->choice;
    const uint32_t values = of->base->planned->values.n;
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_add(&h, &of->base, sizeof of->base); /* an address: keys are compared within one search */
    for (gcut_ref v = 1; v < values; v++) {
        const unsigned char d[2] = {(unsigned char)c->decision[v], (unsigned char)c->format[v]};
        gcut_hash_add(&h, d, sizeof d);
    }
    const gcut_refs *less = of->less_workspace;
    const uint32_t nless = less ? less->n : 0;
    gcut_hash_add(&h, &nless, sizeof nless);
    if (nless) gcut_hash_add(&h, less->at, nless * sizeof *less->at);
    if (c->backward.n) gcut_hash_add(&h, c->backward.node, c->backward.n * sizeof *c->backward.node);
    gcut_hash_end(&h, key);
}

void gcut_candidates_tell(const gcut_candidates *o)
{
    gcut_env_progress(o->p->env, "trying candidate plans", o->known.n, 0);
}

int64_t gcut_candidate_peak(gcut_candidates *o, gcut_candidate *of)
{
    if (of->peak_bytes >= 0) return of->peak_bytes;
    unsigned char key[GCUT_HASH_BYTES];
    uint64_t first;
    key_of(of, key);
    memcpy(&first, key, sizeof first);
    o->nodes_tried += of->base->planned->nodes.n;
    uint32_t *at = gcut_map_at(o->arena, &o->index, first);
    if (!*at || memcmp(o->known.at[*at - 1].key, key, sizeof key) != 0) {
        gcut_pipeline *q = gcut_candidate_lower(o, of, o->arena);
        gcut_known_plan known = {.peak_bytes = q->peak_bytes, .step_ns = q->plan->step_ns};
        known.alive = gcut_program_alive(q->program, q->at, q->nat, q->threads, o->arena, &known.nsteps);
        known.alternatives = gcut_program_alternatives(q->program, q->at, q->nat, q->threads, o->arena);
        for (uint32_t i = 0; i < known.alternatives.n; i++) /* names of a graph that is freed here */
            known.alternatives.at[i].value = gcut_keep(o->arena, known.alternatives.at[i].value);
        memcpy(known.key, key, sizeof key);
        *GCUT_PUSH(o->arena, &o->known) = known;
        *at = o->known.n;
        gcut_arena_free(q->arena);
    }
    const gcut_known_plan *known = &o->known.at[*at - 1];
    of->peak_bytes = known->peak_bytes;
    of->least_bytes = known->peak_bytes - (known->alternatives.most - known->alternatives.least);
    of->step_ns = known->step_ns;
    of->known = *at;
    return of->peak_bytes;
}

/* ---- search ---- */

/* Nodes that can be lowered in less than a second.  With more, the order stays that of the partition's prices.
 * Either order depends on the graph alone, not on the budget. */
#define NODES_LOWERED 100000

bool gcut_candidates_are_few(const gcut_candidates *o)
{
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < o->list.n; i++) nodes += o->list.at[i].base->planned->nodes.n;
    return nodes <= NODES_LOWERED;
}

void gcut_candidates_lower(gcut_candidates *o, void (*tell)(void *user, size_t done, size_t all), void *user)
{
    if (o->lowered) return;
    for (uint32_t i = 0; i < o->list.n; i++) {
        if (tell) tell(user, i, o->list.n);
        gcut_candidate_peak(o, &o->list.at[i]);
    }
    if (tell) tell(user, o->list.n, o->list.n);
    if (gcut_candidates_are_few(o)) qsort(o->list.at, o->list.n, sizeof *o->list.at, cheaper);
    o->lowered = true;
}

int64_t gcut_candidate_least(const gcut_candidates *o, const gcut_candidate *of)
{
    return o->resident + (of->base->own_buffers ? of->choice->saved_bytes : 0);
}

/* Candidates compared with a budget. */
typedef struct comparison {
    gcut_candidates *o;
    int64_t budget;
    bool *compared;   /* by index; may be NULL */
    uint32_t fastest; /* of those that fit; GCUT_NONE: none yet */
} comparison;

/* Compares candidate i, which is lowered unless its saved values alone exceed the budget. */
static bool fits(comparison *x, uint32_t i)
{
    gcut_candidate *at = x->o->list.at, *of = &at[i];
    if (gcut_candidate_least(x->o, of) > x->budget) return false;
    if (x->compared) x->compared[i] = true;
    if (gcut_candidate_peak(x->o, of) > x->budget) return false;
    if (x->fastest == GCUT_NONE || of->step_ns < at[x->fastest].step_ns) x->fastest = i;
    return true;
}

static void compare_to_first_fit(comparison *x)
{
    for (uint32_t i = 0; i < x->o->list.n && !fits(x, i); i++) {
    }
}

/* Brackets a candidate that fits, where the one before it does not, and bisects.  The peak of a candidate is guessed: as
 * far above its saved bytes as the last peak.  Where that guess leads to none, candidates are compared in order. */
static void bracket_and_bisect(comparison *x)
{
    const gcut_candidates *o = x->o;
    int64_t above = 0; /* the last peak, less its saved bytes */
    uint32_t first = 0, last = 0;
    for (; last < o->list.n; last++) {
        const gcut_candidate *of = &o->list.at[last];
        if (gcut_candidate_least(o, of) + above > x->budget) continue;
        if (fits(x, last)) break;
        above = of->peak_bytes - gcut_candidate_least(o, of);
        first = last + 1;
    }
    if (last == o->list.n) compare_to_first_fit(x);
    while (last < o->list.n && first < last) {
        const uint32_t middle = first + (last - first) / 2;
        if (fits(x, middle))
            last = middle;
        else
            first = middle + 1;
    }
}

uint32_t gcut_candidates_fit(gcut_candidates *o, int64_t budget, bool *compared)
{
    comparison x = {o, budget, compared, GCUT_NONE};
    if (gcut_candidates_are_few(o)) {
        gcut_candidates_lower(o, NULL, NULL);
        compare_to_first_fit(&x); /* by rising time */
        return x.fastest;
    }
    bracket_and_bisect(&x);
    for (uint32_t i = 0; i < o->list.n; i++)
        if (o->list.at[i].of_policy) fits(&x, i);
    return x.fastest;
}
