/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The predicted time of the kernels that compute a value, term by term, and the value's price of recomputation.
 */
#include <math.h>

#include "driver/options/default_sizes.h"
#include "driver/options/options.h"
#include "driver/pipeline/compile.h"
#include "partition/cut/prices.h"
#include "partition/query/plan_queries.h"
#include "report/report.h"

typedef struct explaining {
    gcut_env *env;
    gcut_arena *keep, *a; /* of the explanation; scratch */
    gcut_graph *g;
    const gcut_options *asked; /* the caller's, of `size` bytes */
    size_t size;
    const char *value; /* without its % */
    const gcut_pipeline *p;
} explaining;

static const char *copy(const explaining *e, const char *s)
{
    return gcut_keep(e->keep, s);
}

static const gcut_explained_term *term_of(const explaining *e, const gcut_term *t)
{
    static const char *const parts[] = {"work", "traffic", "fixed"};
    const bool rated = t->rate.key;
    return GCUT_NEW(
        e->keep, gcut_explained_term, .part = parts[t->kind], .name = copy(e, t->name), .what = t->what,
        .units = t->units, .unit = t->unit, .rate_ns = rated ? t->rate.ns * t->rate.factor : 0,
        .rate = rated ? copy(e, gcut_rate_text(&t->rate, e->a)) : NULL, .times = t->times,
        .times_why = t->why, .read = t->read, .written = t->written, .fetched = t->fetched,
        .distance = t->ago, .working_set = t->set, .l2 = t->reach.share[GCUT_L2],
        .l3 = t->reach.share[GCUT_L3], .dram = t->reach.share[GCUT_DRAM], .read_ns = t->reach.read_ns,
        .write_ns = t->reach.write_ns, .ns = t->ns, .hidden = t->hidden);
}

static const gcut_explained_run *run_of(const explaining *e, const gcut_cost_run *r)
{
    static const char *const overlaps[] = {"longer", "sum", "beyond"};
    gcut_explained_run *out =
        GCUT_NEW(e->keep, gcut_explained_run, .times = r->times, .threads = r->threads,
                 .overlap = overlaps[r->overlap], .work_ns = r->work_ns, .traffic_ns = r->traffic_ns,
                 .fixed_ns = r->fixed_ns, .ns = r->ns, .nterms = r->nterms);
    GCUT_LIST(e->keep, out->term, r->nterms, term_of(e, &r->term[i]));
    return out;
}

/* total: the launch as the step's time has it. */
static const gcut_explained_kernel *kernel_of(const explaining *e, const char *as, const gcut_cost *c,
                                              const gcut_cost *total)
{
    gcut_explained_kernel *out = GCUT_NEW(
        e->keep, gcut_explained_kernel, .as = as, .family = c->class, .value = copy(e, c->value), .op = c->op,
        .where = c->place.file ? gcut_printf(e->keep, "%s:%d", c->place.file, c->place.line) : "",
        .backward = c->graph != 0, .launch = c->launch, .runs = c->times, .flops = c->flops, .read = c->read,
        .written = c->written, .ns = total->ns, .nruns = c->nruns);
    GCUT_LIST(e->keep, out->run, c->nruns, run_of(e, &c->run[i]));
    return out;
}

static void add_kernels(const explaining *e, gcut_cost_explanation *out)
{
    const gcut_pipeline *p = e->p;
    const int threads = p->threads;
    const gcut_costs costs = gcut_program_costs(p->program, p->machine, p->at, p->nat, threads, e->a),
                     c = gcut_program_terms(p->program, p->machine, p->at, p->nat, threads, e->a);
    uint32_t n, k = 0;
    const gcut_value_launch *at = gcut_program_value(p->program, e->value, e->a, &n);
    const gcut_explained_kernel **list = gcut_calloc(e->keep, n + 1, sizeof(*list));
    for (uint32_t i = 0; i < c.n && k < n; i++) {
        while (k < n && at[k].launch < c.at[i].launch) k++;
        if (k == n || at[k].launch != c.at[i].launch) continue;
        list[out->nkernels++] = kernel_of(e, at[k].as, &c.at[i], &costs.at[i]);
    }
    out->kernel = list;
}

/* Values of the joint graph have a price; others are made by later passes. */
static void add_price(const explaining *e, gcut_cost_explanation *out)
{
    const gcut_graph *g = e->p->plan->joint;
    const gcut_ref v = gcut_graph_find(g, e->value);
    out->price_ns = NAN;
    out->price_why = "it is not in the joint graph, which is what the plan prices";
    if (!v) return;
    const gcut_problem *q = gcut_problem_of(e->a, e->p->plan);
    const gcut_query r = gcut_query_open(e->p->plan, e->a);
    gcut_terms terms = {.arena = e->a};
    out->type = copy(e, gcut_query_type(&r, v, false));
    out->op = gcut_maker_name(g, v);
    out->where = copy(e, gcut_query_at(&r, v));
    out->price_why = q->price[v].why;
    if (isinf(q->price[v].recompute_ns)) return;
    out->price_ns = gcut_price_terms(q->facts, q->opt, v, &terms);
    out->nprice_terms = terms.list.n;
    GCUT_LIST(e->keep, out->price_term, terms.list.n, term_of(e, &terms.list.at[i]));
}

static void explain(void *arg, const gcut_made *m)
{
    explaining *e = arg;
    gcut_cost_explanation *out = m->object;
    gcut_settings opt = gcut_settings_of(e->env, e->asked, e->size);
    gcut_text text = {.arena = m->keep}, json = text;
    e->keep = m->keep;
    e->a = m->scratch;
    opt.forward_only = false;
    e->value += *e->value == '%';
    e->p = gcut_pipeline_planned(e->g, &opt, e->a);
    out->name = copy(e, e->value);
    out->machine = copy(e, e->p->machine->made);
    out->threads = e->p->threads;
    out->at = gcut_sizes_named(e->keep, e->p->module, e->p->at, e->p->nat);
    out->nat = e->p->nat;
    add_kernels(e, out);
    add_price(e, out);
    if (!out->nkernels && !out->type && !gcut_named(e->p->plan->joint, e->value))
        gcut_fail(e->env, GCUT_EPLAN, (gcut_place){.file = e->p->module->file}, NULL,
                  "%%%s is in a body, and no kernel computes it", e->value);
    gcut_write_cost_text(out, &text);
    gcut_write_cost_json(out, &json);
    out->text = text.at;
    out->json = json.at;
}

gcut_cost_explanation *gcut_explain_cost_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                               const char *value)
{
    GCUT_NEED(NULL, g, NULL);
    gcut_env *env = g->module->env;
    GCUT_NEED(env, value, NULL);
    explaining e = {.env = env, .g = g, .asked = opt, .size = size, .value = value};
    return gcut_made_by(env, sizeof(gcut_cost_explanation), explain, &e);
}
