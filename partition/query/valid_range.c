/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the range of sizes at which a plan stays the cheapest, by solving the network at other sizes.
 *
 * From the plan's own size the search goes outwards by factors of four to the first size at which another
 * plan is cheaper, then bisects the last interval: another plan is cheaper at the size next to the end found.
 * Prices are not monotone in sizes (they jump at cache sizes), so the plan may be the cheapest beyond the
 * end, or not at a size between probes; the output says "tried".
 */
#include "partition/query/valid_range.h"

#include <math.h>
#include <string.h>

#include "partition/cut/decisions.h"
#include "partition/plan_file/plan_file.h"

#define MAX_SYMBOLS 3
#define MAX_VALUES 8000u
#define MAX_CUTS 40
#define FARTHEST 1048576.0 /* times the plan's own size */

typedef struct probing {
    const gcut_plan *plan;
    gcut_arena *arena;
    gcut_dim_binding *at;
    uint32_t sym; /* which of `at` is varied */
    int cuts;
} probing;

/* ---- one size ---- */

/* Tests that gcut_prices would not throw at these sizes. */
static bool fits(const gcut_graph *g, const gcut_dim_binding *at, uint32_t nat)
{
    double all = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_type *t = gcut_type_of(g, v);
        double bytes = (double)gcut_dtype_bytes(t->dtype);
        for (uint32_t i = 0; i < t->rank; i++) {
            int64_t d;
            if (!gcut_dim_eval(g->module->dims, t->dim[i], at, nat, &d)) return false;
            bytes *= (double)d;
        }
        all += bytes;
    }
    return all <= GCUT_MOST_BYTES;
}

/* The costs of the plan and of the cheapest plan at these sizes. */
static void costs(const gcut_plan *plan, const gcut_dim_binding *at, gcut_arena *arena, double *mine,
                  gcut_choice **best)
{
    gcut_plan_options o = plan->options;
    o.at = at;
    gcut_problem *p = gcut_problem_of(arena, plan);
    p->opt = &o;
    p->price = gcut_prices(arena, p->facts, &o);
    for (gcut_ref v = 1; v < p->g->values.n; v++) p->format[v] = gcut_format_kept(p, v, p->format[v]);
    *mine = gcut_choice_of(p, arena, plan)->cost_ns;
    *best = gcut_choose(p, arena, NULL, o.lambda);
}

/* Equal up to the rounding of sums. */
static bool is_best(double mine, const gcut_choice *best)
{
    return mine <= best->cost_ns * (1 + 1e-12) + 1e-12;
}

/* The sizes of `at` for the iteration graph of a loop, which may be in another module, with symbols of its
 * own. */
static const gcut_dim_binding *sizes_of(const probing *b, const gcut_plan *step, gcut_arena *arena)
{
    const gcut_plan_options *o = &step->options;
    gcut_dim_binding *at = gcut_calloc(arena, o->nat + 1u, sizeof *at);
    for (uint32_t i = 0; i < o->nat; i++) {
        const char *name = gcut_dim_symbol_name(step->joint->module->dims, o->at[i].sym);
        at[i] = o->at[i];
        for (uint32_t k = 0; k < b->plan->options.nat; k++)
            if (!strcmp(gcut_dim_symbol_name(b->plan->joint->module->dims, b->at[k].sym), name))
                at[i].value = b->at[k].value;
    }
    return at;
}

/* True if `part`, the plan of the whole graph or of an iteration, is the cheapest at the sizes of b->at. */
static bool part_holds(const probing *b, const gcut_plan *part)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(b->arena), b->arena);
    const gcut_dim_binding *at = part == b->plan ? b->at : sizes_of(b, part, scratch);
    gcut_choice *best;
    double mine;
    bool holds = fits(part->joint, at, part->options.nat);
    if (holds) {
        costs(part, at, scratch, &mine, &best);
        holds = is_best(mine, best);
    }
    gcut_arena_free(scratch);
    return holds;
}

static bool holds_at(probing *b, int64_t n)
{
    const gcut_plan *plan = b->plan;
    const gcut_scan_plans *scans = plan->options.scans;
    b->at[b->sym].value = n;
    b->cuts++;
    bool holds = part_holds(b, plan);
    for (uint32_t i = 0; scans && holds && i < scans->all.n; i++)
        holds = part_holds(b, scans->all.at[i].iteration);
    b->at[b->sym].value = plan->options.at[b->sym].value;
    return holds;
}

/* ---- one symbol ---- */

static const gcut_dim_decl *decl_of(const gcut_graph *g, gcut_dim sym)
{
    for (uint32_t i = 0; i < g->decls.n; i++)
        if (g->decls.at[i].sym == sym) return &g->decls.at[i];
    return NULL;
}

/* The last multiple of `unit` from `good` towards `end`, both multiples, at which the plan is the cheapest;
 * *exact: it is not at the next multiple, or there is none. */
static int64_t reach(probing *b, int64_t good, int64_t end, int64_t unit, bool *exact)
{
    int64_t bad = 0;
    bool found = false, up = end > good;
    *exact = true;
    while (good != end && !found) {
        int64_t far = up ? (good > end / 4    ? end
                            : good * 4 > good ? good * 4
                                              : good + unit)
                         : good / 4 / unit * unit;
        if (up ? far > end : far < end) far = end;
        if (far == good) far = up ? good + unit : good - unit;
        if (b->cuts >= MAX_CUTS) return *exact = false, good;
        found = !holds_at(b, far);
        if (found)
            bad = far;
        else
            good = far;
    }
    while (found && (bad > good ? bad - good : good - bad) > unit) {
        int64_t mid = good + (bad - good) / 2 / unit * unit;
        if (b->cuts >= MAX_CUTS) return *exact = false, good;
        if (holds_at(b, mid))
            good = mid;
        else
            bad = mid;
    }
    return good;
}

static const gcut_valid_range *range_of(probing *b)
{
    const gcut_dim_binding *own = &b->plan->options.at[b->sym];
    const gcut_dim_decl *d = decl_of(b->plan->joint, own->sym);
    int64_t unit = d && d->mult > 1 ? d->mult : 1, lo = d ? d->lo : own->value, hi = d ? d->hi : own->value;
    double far = (own->value ? (double)own->value : 1) * FARTHEST;
    bool cut = (double)hi > far;
    if (cut) hi = (int64_t)fmin(far, 0x1p60);
    gcut_valid_range r = {.symbol = gcut_dim_symbol_name(b->plan->joint->module->dims, own->sym)};
    b->cuts = 0;
    r.lo = reach(b, own->value, (lo + unit - 1) / unit * unit, unit, &r.lo_exact);
    r.hi = reach(b, own->value, hi / unit * unit, unit, &r.hi_exact);
    if (cut && r.hi == hi / unit * unit) r.hi_exact = false, r.unbounded = d->hi >= GCUT_DIM_MAX;
    return gcut_memdup(b->arena, &r, sizeof r);
}

/* Fills what is known at the plan's own sizes; false: that is all there is to say. */
static bool compare(const gcut_plan *plan, gcut_arena *arena, gcut_plan_validity *out)
{
    const gcut_plan_options *o = &plan->options;
    const gcut_plan_file *file = o->file;
    if (!gcut_plan_is_priced(plan) || (file && (file->head.budget >= 0 || file->head.saved_budget >= 0)))
        return out->skipped = "lambda did not choose this plan", false;
    if (plan->flips) return out->skipped = "its flips were found at these sizes", false;
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_choice *best;
    double mine;
    costs(plan, o->at, scratch, &mine, &best);
    out->best = is_best(mine, best);
    out->minimum_ns = best->cost_ns;
    out->bound_ns = best->lower_bound_ns;
    out->above_ns = out->best ? 0 : mine - best->cost_ns;
    gcut_arena_free(scratch);
    if (!out->best) return false;
    out->skipped = o->nat > MAX_SYMBOLS                 ? "more than 3 sizes"
                   : plan->joint->values.n > MAX_VALUES ? "too large a graph"
                                                        : NULL;
    return !out->skipped;
}

const gcut_plan_validity *gcut_plan_valid_sizes(const gcut_plan *plan, gcut_arena *arena)
{
    const gcut_plan_options *o = &plan->options;
    gcut_plan_validity *out = gcut_calloc(arena, 1, sizeof *out);
    if (!compare(plan, arena, out)) return out;
    probing b = {.plan = plan, .arena = arena, .at = gcut_calloc(arena, o->nat + 1u, sizeof *b.at)};
    const gcut_valid_range **range = gcut_calloc(arena, o->nat + 1u, sizeof *range);
    for (uint32_t i = 0; i < o->nat; i++) b.at[i] = o->at[i];
    for (b.sym = 0; b.sym < o->nat; b.sym++) range[b.sym] = range_of(&b);
    out->range = range;
    out->n = o->nat;
    return out;
}
