/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the pass that changes a result: runs the graph after each pass in f64 on the same values.
 *
 * The first graph that has a result defines its value.  Passes may reorder sums, so results agree within the
 * tolerance of crosscheck for f64.
 */
#include "driver/pipeline/compile.h"
#include "driver/api/crosscheck_passes.h"

#include <math.h>
#include <string.h>

#include "driver/api/array_difference.h"
#include "driver/pipeline/given_pair.h"
#include "graph/external.h"
#include "report/report.h"

#define TOLERANCE 4e-12 /* as of f64 in crosscheck.c */

/* A result, as first computed. */
typedef struct known {
    gcut_role role;
    const char *name;
    gcut_array value;
} known;

/* The graphs after one pass, with every value of theirs. */
typedef struct state {
    gcut_graph *g[2];
    gcut_array *value[2];
} state;

typedef struct passes_check {
    gcut_trial *trial;
    gcut_step *step; /* has the values of parameters */
    gcut_pipeline *p;
    gcut_dim_binding *at; /* the step's sizes, for the symbols of p */
    double tol;
    GCUT_VEC(known) known;
    gcut_text table;
    gcut_json json; /* its list of passes */
} passes_check;

/* ---- running a graph ---- */

static gcut_dim_binding *sizes_of(const passes_check *c)
{
    gcut_dim_binding *at = gcut_calloc(c->trial->a, c->p->nat + 1u, sizeof *at);
    for (uint32_t i = 0; i < c->p->nat; i++) {
        const char *name = gcut_dim_symbol_name(c->p->module->dims, c->p->at[i].sym);
        at[i] = c->p->at[i];
        for (uint32_t k = 0; k < c->step->nsizes; k++)
            if (!strcmp(gcut_dim_symbol_name(c->step->p->module->dims, c->step->size[k].sym), name))
                at[i].value = c->step->size[k].value;
    }
    return at;
}

/* ---- comparing ---- */

static known *find_known(const passes_check *c, gcut_role role, const char *name)
{
    for (uint32_t i = 0; i < c->known.n; i++)
        if (c->known.at[i].role == role && !strcmp(c->known.at[i].name, name)) return &c->known.at[i];
    return NULL;
}

static bool has_result(gcut_graph *const g[2], const gcut_result *r)
{
    for (int k = 0; k < 2 && g[k]; k++)
        for (uint32_t i = 0; i < g[k]->results.n; i++)
            if (g[k]->results.at[i].role == r->role && !strcmp(g[k]->results.at[i].name, r->name))
                return true;
    return false;
}

/* Returns the result of the graph before the pass that the graph after it lacks; NULL = none.  Passes
 * that make the primal or the raw joint graph may drop results. */
static const char *lost_result(const passes_check *c, const gcut_pass_run *run)
{
    if (run->row->makes == GCUT_MAKES_PRIMAL || run->row->makes == GCUT_MAKES_RAW) return NULL;
    for (int k = 0; k < 2 && run->in[k]; k++)
        for (uint32_t i = 0; i < run->in[k]->results.n; i++) {
            const gcut_result *r = &run->in[k]->results.at[i];
            if (r->role == GCUT_ROLE_saved || has_result(run->out, r)) continue;
            return gcut_printf(c->trial->keep, "the result %s %s is lost", gcut_role_name(r->role), r->name);
        }
    return NULL;
}

/* The moment of a parameter that AdamW updates; false = r is something else. */
static bool noise_of(const passes_check *c, const gcut_result *r, gcut_noise *out)
{
    if (c->p->optimizer.kind != GCUT_OPT_ADAMW || r->role != GCUT_ROLE_next) return false;
    const known *m = find_known(c, GCUT_ROLE_next, gcut_printf(c->trial->a, "%s.m", r->name));
    if (!m) return false;
    double most = 0;
    for (uint32_t i = 0; i < c->known.n; i++) {
        const char *end = strrchr(c->known.at[i].name, '.');
        if (end && !strcmp(end, ".m")) most = fmax(most, gcut_largest(&c->known.at[i].value));
    }
    *out = (gcut_noise){m->value, GCUT_LEAST * GCUT_LEAST * most};
    return true;
}

/* Errors of results with that role are relative to at least this: small results may be sums in which terms
 * of the largest one's size cancel. */
static double least_of(const passes_check *c, gcut_role role)
{
    double most = 0;
    for (uint32_t i = 0; i < c->known.n; i++)
        if (c->known.at[i].role == role && gcut_dtype_is_float(c->known.at[i].value.dtype))
            most = fmax(most, gcut_largest(&c->known.at[i].value));
    return GCUT_LEAST * most;
}

static double element(const gcut_array *x, int64_t i)
{
    return gcut_dtype_is_float(x->dtype) ? x->u.f[i] : (double)x->u.i[i];
}

static double allowed(const passes_check *c, const gcut_array *x)
{
    return gcut_dtype_is_float(x->dtype) ? c->tol : 0;
}

static const char *sentence(const passes_check *c, const gcut_graph *g, gcut_ref v, int64_t i,
                            const gcut_array *before, const gcut_array *behind)
{
    const gcut_node *n = gcut_def(g, v);
    gcut_place at = gcut_loc_place(g->module, n ? n->loc : g->loc);
    return gcut_printf(
        c->trial->keep, "%%%s%s%s at %s:%d: element %lld is %.17g before it and %.17g after it",
        g->values.at[v].name, n ? " = " : "", n ? gcut_op_get((gcut_op)n->op)->name : "",
        at.file ? at.file : "?", at.line, (long long)i, element(before, i), element(behind, i));
}

/* The first value, in running order, that differs from the value with its name before the pass. */
static const char *first_value(const passes_check *c, const state *before, const state *behind)
{
    for (int k = 0; k < 2 && behind->g[k]; k++)
        for (gcut_ref v = 1; v < behind->g[k]->values.n; v++)
            for (int b = 0; b < 2 && before->g[b]; b++) {
                const gcut_graph *g = behind->g[k], *old = before->g[b];
                const gcut_ref w = gcut_graph_find(old, g->values.at[v].name);
                if (!w || !gcut_def(g, v) || !gcut_type_equal(gcut_type_of(old, w), gcut_type_of(g, v)))
                    continue;
                const gcut_array *x = &behind->value[k][v], *y = &before->value[b][w];
                gcut_difference d = gcut_difference_of(x, y, 0, NULL);
                if (d.index >= 0 && d.rel > allowed(c, y)) return sentence(c, g, v, d.index, y, x);
            }
    return NULL;
}

/* Compares results that earlier graphs have, and records new ones.  Returns what differs too much; NULL =
 * nothing. */
static const char *compare_results(passes_check *c, const gcut_graph *g, const gcut_array *out, double *worst)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role == GCUT_ROLE_saved) continue;
        const known *k = find_known(c, r->role, r->name);
        if (!k) {
            *GCUT_PUSH(c->trial->a, &c->known) = (known){r->role, r->name, out[i]};
            continue;
        }
        gcut_noise n;
        gcut_difference d =
            gcut_difference_of(&out[i], &k->value, least_of(c, r->role), noise_of(c, r, &n) ? &n : NULL);
        *worst = fmax(*worst, d.rel);
        gcut_trial_worst(c->trial, r->name, d.rel, d.index);
        if (!wrong && d.index >= 0 && d.rel > allowed(c, &k->value))
            wrong = sentence(c, g, r->value, d.index, &k->value, &out[i]);
    }
    return wrong;
}

/* ---- all passes ---- */

/* Runs the graphs after the pass and returns what is wrong; NULL = nothing. */
static const char *check_run(passes_check *c, const gcut_pass_run *run, state *last, double *worst)
{
    const char *lost = lost_result(c, run), *wrong = NULL;
    if (lost) return lost;
    state now = {{run->out[0], run->out[1]}, {NULL, NULL}};
    gcut_interpreted how = {.precision = GCUT_EXACT, .at = c->at, .nat = c->p->nat, .fwd = now.g[0]};
    for (int k = 0; k < 2 && now.g[k]; k++) {
        const gcut_array *out =
            gcut_step_interpret_graph(c->step, c->trial->a, &how, now.g[k], &now.value[k]);
        const char *differs = compare_results(c, now.g[k], out, worst);
        if (!wrong) wrong = differs;
        how.crossed = out;
    }
    const char *first = wrong && last->g[0] ? first_value(c, last, &now) : NULL;
    *last = now;
    return first ? first : wrong;
}

static void write_row(passes_check *c, const gcut_pass_row *row, double worst, const char *wrong)
{
    const char *stage = gcut_passes_stage(row->makes);
    gcut_text_add(&c->table, "%-6s  %-8s  %.3g%s\n", stage, row->name, worst, wrong ? "  DIFFERS" : "");
    gcut_json_object(&c->json);
    gcut_json_members(&c->json, "stage:s pass:s max_rel_error:r", stage, row->name, worst);
    gcut_json_end(&c->json);
}

static void check_all(passes_check *c, const gcut_pass_row **bad)
{
    gcut_check_report *out = c->trial->out;
    state last = {{NULL, NULL}, {NULL, NULL}};
    for (uint32_t i = 0; i < c->p->runs.n && !*bad; i++) {
        const gcut_pass_run *run = &c->p->runs.at[i];
        double worst = 0;
        if (run->out[0] == run->in[0]) continue; /* it made no graph */
        const char *wrong = check_run(c, run, &last, &worst);
        write_row(c, run->row, worst, wrong);
        if (!wrong) continue;
        *bad = run->row;
        out->culprit = gcut_printf(c->trial->keep, "%s, of the stage %s, changes %s", run->row->name,
                                   gcut_passes_stage(run->row->makes), wrong);
    }
    out->ok = !*bad;
    if (*bad)
        gcut_text_add(&c->table, "the first pass that changes a result: %s\n", out->culprit);
    else
        gcut_text_add(&c->table, "every pass keeps every result within %g, interpreted in f64\n", c->tol);
    gcut_trial_tell_rewritten(c->p, &c->table);
}

void gcut_crosscheck_passes(gcut_trial *t, const gcut_pass_table *passes)
{
    gcut_settings o = gcut_trial_options(t, GCUT_BACKEND_EAGER), plan = o;
    plan.backend = GCUT_BACKEND_COMPILED;
    gcut_text list = {.arena = t->a}, json = {.arena = t->keep};
    passes_check c = {
        .trial = t, .tol = t->tol > 0 ? t->tol : TOLERANCE, .table.arena = t->keep, .json.out = &list};
    const gcut_pass_row *bad = NULL;
    gcut_given_refuse(t->g);
    c.step = gcut_trial_step(t, t->g, &o);
    if (gcut_graph_has_effects(c.step->p->joint))
        gcut_fail(t->env, GCUT_EUNSUPPORTED, gcut_loc_place(t->g->module, t->g->loc), NULL,
                  "@%s calls an external kernel that is not pure, which would run again after each pass",
                  t->g->name);
    c.p = gcut_pipeline_by(passes, t->g, &plan, GCUT_STAGE_KERNEL, t->a);
    c.at = sizes_of(&c);
    gcut_text_add(&c.table, "%-6s  %-8s  %s\n", "stage", "pass", "worst error");
    gcut_json_array(&c.json);
    check_all(&c, &bad);
    gcut_json_end(&c.json);
    gcut_json w = {.out = &json};
    gcut_trial_json(t, &w);
    gcut_json_members(&w, "pass:s stage:s culprit:s", bad ? bad->name : NULL,
                      bad ? gcut_passes_stage(bad->makes) : NULL, t->out->culprit);
    gcut_json_key(&w, "passes");
    gcut_json_raw(&w, list.at);
    gcut_json_end(&w);
    gcut_text_add(&json, "\n");
    t->out->text = c.table.at;
    t->out->json = json.at;
}

static void check(gcut_trial *t)
{
    gcut_crosscheck_passes(t, &gcut_passes);
}

gcut_check_report *gcut_check_passes_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                           const gcut_feed *feed, size_t nfeed, double tol)
{
    gcut_trial c = {.g = g, .opt = opt, .size = size, .feed = feed, .nfeed = nfeed, .tol = tol};
    return gcut_trial_report(__func__, &c, check);
}
