/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The crosscheck: every backend on the same values.
 */
#include <math.h>
#include <string.h>

#include "driver/pipeline/compile.h"
#include "driver/api/array_difference.h"
#include "driver/api/trial.h"
#include "graph/rewrite.h"

/* Tolerances, relative to the largest element of a value.  A dot product of length k accumulates an error of
 * k * eps / 2 in the worst case, and about sqrt(k) * eps when rounding errors are independent; models chain
 * a few dozen of them with k up to some thousands, which gives 2^-23 * 2^10 for f32 and 2^-52 * 2^14 for
 * f64.  Products of f16 and bf16 are summed in f32, so that only the roundings of stored values count, 2^-11
 * and 2^-8 each: m independent ones add up to about sqrt(m) of them, 2^4 for a chain of 2^8.  A value has
 * the tolerance of the coarsest dtype that it is computed from in its graph: a saved value that was rounded
 * to bf16 counts as bf16. */
#define TOL_F64 4e-12
#define TOL_F32 1.2e-4
#define TOL_F16 0x1p-7
#define TOL_BF16 0x1p-4

static double tolerance_of(gcut_dtype t)
{
    switch (t) {
    case GCUT_F64: return TOL_F64;
    case GCUT_F32: return TOL_F32;
    case GCUT_F16: return TOL_F16;
    case GCUT_BF16: return TOL_BF16;
    default: return 0;
    }
}

/* By value of g. */
static double *tolerances(const gcut_trial *c, const gcut_graph *g)
{
    double *tol = gcut_calloc(c->a, g->values.n, sizeof *tol);
    for (gcut_ref v = 1; v < g->values.n; v++) tol[v] = tolerance_of(gcut_type_of(g, v)->dtype);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t r = 0; r < n->nres; r++)
            for (uint32_t k = 0; tol[n->res0 + r] > 0 && k < n->nargs; k++)
                tol[n->res0 + r] = fmax(tol[n->res0 + r], tol[gcut_arg(g, n, k)]);
    }
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (c->tol > 0) tol[v] = c->tol;
    return tol;
}

/* ---- backends ---- */

typedef struct rung {
    const char *name;
    gcut_backend backend;
    gcut_step *step;
    gcut_difference worst;
    double allowed; /* of the worst value */
    const char *value;
    bool ok;
} rung;

static bool is_result(const gcut_slot *x)
{
    return x->role == GCUT_ROLE_out || x->role == GCUT_ROLE_grad || x->updated;
}

/* The result of g that slot x holds. */
static gcut_ref value_of(const gcut_graph *g, const gcut_slot *x)
{
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        gcut_role shown = x->updated ? GCUT_ROLE_next : x->role;
        if (r->role == shown && !strcmp(r->name, x->result)) return r->value;
    }
    GCUT_NEVER("what a step shows is a result of its graph");
    return 0;
}

/* The moment of a parameter that AdamW updates; false = x is something else. */
static bool noise_of(const gcut_trial *c, gcut_step *ref, const gcut_slot *x, gcut_noise *out)
{
    if (ref->p->optimizer.kind != GCUT_OPT_ADAMW || x->role != GCUT_ROLE_param || !x->updated) return false;
    gcut_slot *m = gcut_slot_find(ref, gcut_printf(c->a, "%s.m", x->name));
    if (!m) return false;
    out->moment = gcut_trial_array(c->a, m);
    return true;
}

static void compare_rung(const gcut_trial *c, gcut_step *ref, rung *r)
{
    const gcut_graph *raw = ref->p->raw;
    const double *tol = tolerances(c, raw);
    /* A saved value that was rounded lowers the precision of the backward graph alone. */
    bool planned =
        r->step->p->bwd && (r->backend == GCUT_BACKEND_PLANNED || r->backend == GCUT_BACKEND_COMPILED);
    const double *later = planned ? tolerances(c, r->step->p->bwd) : NULL;
    double least[2] = {0, 0}; /* of results and updated values, of gradients */
    gcut_noise n = {.floor = 0};
    r->ok = true;
    for (uint32_t i = 0; i < ref->nslots; i++) {
        const gcut_slot *x = &ref->slot[i];
        if (!is_result(x) || !gcut_dtype_is_float(x->type.dtype)) continue;
        gcut_array want = gcut_trial_array(c->a, x);
        least[x->role == GCUT_ROLE_grad] =
            fmax(least[x->role == GCUT_ROLE_grad], GCUT_LEAST * gcut_largest(&want));
        if (noise_of(c, ref, x, &n))
            n.floor = fmax(n.floor, GCUT_LEAST * GCUT_LEAST * gcut_largest(&n.moment));
    }
    for (uint32_t i = 0; i < ref->nslots; i++) {
        const gcut_slot *x = &ref->slot[i], *y = gcut_slot_find(r->step, x->name);
        if (!is_result(x)) continue;
        gcut_array want = gcut_trial_array(c->a, x), got = gcut_trial_array(c->a, y);
        gcut_difference d = gcut_difference_of(&got, &want, least[x->role == GCUT_ROLE_grad],
                                               noise_of(c, ref, x, &n) ? &n : NULL);
        double allowed = tol[value_of(raw, x)];
        if (later && (x->updated || gcut_is_late(x->role, x->marks)))
            allowed = fmax(allowed, later[value_of(r->step->p->bwd, x)]);
        if (d.index >= 0 && d.rel > allowed) r->ok = false;
        if (!r->value || (d.index >= 0 && d.rel * r->allowed > r->worst.rel * allowed)) {
            r->worst = d;
            r->value = x->name;
            r->allowed = allowed;
        }
    }
}

static const char *op_of(const gcut_trial *c, const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    gcut_place at = gcut_loc_place(g->module, n->loc);
    return gcut_printf(c->keep, "%%%s = %s at %s:%d", g->values.at[v].name, gcut_op_get((gcut_op)n->op)->name,
                       at.file ? at.file : "?", at.line);
}

/* The first node of g, in its order, whose value differs from the reference's of the same name. */
static const char *first_op(const gcut_trial *c, const gcut_graph *ref, const gcut_array *want,
                            const gcut_graph *g, const gcut_array *got)
{
    const double *tol = tolerances(c, ref), *own = tolerances(c, g);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        gcut_ref w = gcut_graph_find(ref, g->values.at[v].name);
        if (!w || !gcut_def(g, v) || !gcut_type_equal(gcut_type_of(ref, w), gcut_type_of(g, v))) continue;
        gcut_difference d = gcut_difference_of(&got[v], &want[w], 0, NULL);
        if (d.index >= 0 && d.rel > fmax(tol[w], own[v])) return op_of(c, g, v);
    }
    return NULL;
}

/* A copy of the graph whose results are all values of its nodes. */
static gcut_graph *showing_all(gcut_graph *g)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, gcut_module_unused(g->module, g->name, "values"));
    gcut_graph *all = rw.dst;
    for (uint32_t i = 0; i < g->nodes.n; i++) gcut_rewrite_copy(&rw, i);
    gcut_arena_free(rw.scratch);
    for (gcut_ref v = 1; v < all->values.n; v++)
        if (gcut_def(all, v)) gcut_result_new(all, GCUT_ROLE_out, all->values.at[v].name, v);
    return all;
}

/* The first op that differs in the compiled backend, which shows no intermediate values: compiles a graph
 * whose results are all of them.  That graph may fuse differently; if all its values agree, no op is named.
 */
static const char *first_compiled_op(const gcut_trial *c, const gcut_graph *raw, const gcut_array *want)
{
    gcut_settings o = gcut_trial_options(c, GCUT_BACKEND_COMPILED);
    gcut_graph *all = showing_all(gcut_pipeline_new(c->g, &o, GCUT_STAGE_JOINT, c->a)->joint);
    gcut_array *got = gcut_calloc(c->a, all->values.n, sizeof *got);
    o.forward_only = true;
    o.optimizer = NULL;
    gcut_step *s = gcut_trial_step(c, all, &o);
    gcut_step_run(s, GCUT_RT_FORWARD);
    for (gcut_ref v = 1; v < all->values.n; v++)
        if (gcut_def(all, v)) got[v] = gcut_trial_array(c->a, gcut_slot_get(s, all->values.at[v].name));
    return first_op(c, raw, want, all, got);
}

static const char *find_culprit(const gcut_trial *c, const rung *bad)
{
    gcut_array *want[2] = {0}, *got[2] = {0};
    gcut_settings o = gcut_trial_options(c, GCUT_BACKEND_EAGER);
    gcut_step *ref = gcut_trial_step(c, c->g, &o); /* fresh parameters: the first run may have updated them */
    gcut_step_interpret(ref, GCUT_RT_STEP, NULL, want);
    if (bad->backend == GCUT_BACKEND_COMPILED) return first_compiled_op(c, ref->p->raw, want[0]);
    o = gcut_trial_options(c, bad->backend);
    gcut_step *s = gcut_trial_step(c, c->g, &o);
    gcut_step_interpret(s, GCUT_RT_STEP, NULL, got);
    const gcut_graph *first = bad->backend == GCUT_BACKEND_PLANNED && s->p->bwd ? s->p->fwd : s->p->joint;
    const char *op = first_op(c, ref->p->raw, want[0], first, got[0]);
    return op || !got[1] ? op : first_op(c, ref->p->raw, want[0], s->p->bwd, got[1]);
}

static void write_report(gcut_trial *c, rung *r, size_t n)
{
    gcut_check_report *out = c->out;
    gcut_text t = {.arena = c->keep}, js = {.arena = c->keep};
    gcut_text_add(&t, "%-9s  %-12s  %-10s  %s\n", "backend", "worst error", "allowed", "value");
    for (size_t i = 1; i < n; i++)
        gcut_text_add(&t, "%-9s  %-12.3g  %-10.3g  %s[%lld]%s\n", r[i].name, r[i].worst.rel, r[i].allowed,
                      r[i].value ? r[i].value : "-", (long long)(r[i].worst.index < 0 ? 0 : r[i].worst.index),
                      r[i].ok ? "" : "   DIFFERS");
    gcut_text_add(&t, "reference: eager, in f64%s%s\n", out->culprit ? "; the first op that differs: " : "",
                  out->culprit ? out->culprit : "");
    size_t bad = 0;
    double most = 0;
    for (size_t i = 1; i < n; i++) bad += !r[i].ok, most = fmax(most, r[i].allowed);
    if (bad)
        gcut_text_add(&t, "%zu of %zu backends differ%s by more than allowed\n", bad, n - 1,
                      bad == 1 ? "s" : "");
    else
        gcut_text_add(&t, "all %zu backends agree within %g\n", n - 1, most);
    gcut_trial_tell_rewritten(r[1].step->p, &t); /* of the joint graph, which no cache keeps */
    gcut_json w = {.out = &js};
    gcut_trial_json(c, &w);
    gcut_json_key_str(&w, "culprit", out->culprit);
    gcut_json_key_object(&w, "backends");
    for (size_t i = 1; i < n; i++) {
        gcut_json_key(&w, r[i].name);
        gcut_json_real(&w, r[i].worst.rel);
    }
    gcut_json_end(&w);
    gcut_json_end(&w);
    gcut_text_add(&js, "\n");
    out->text = t.at;
    out->json = js.at;
}

void gcut_crosscheck_trial(gcut_trial *c)
{
    rung r[] = {{.name = "eager", .backend = GCUT_BACKEND_EAGER},
                {.name = "joint", .backend = GCUT_BACKEND_JOINT},
                {.name = "planned", .backend = GCUT_BACKEND_PLANNED},
                {.name = "compiled", .backend = GCUT_BACKEND_COMPILED}};
    size_t n = sizeof r / sizeof *r, bad = 0;
    c->out->ok = true;
    for (size_t i = 0; i < n; i++) {
        gcut_settings o = gcut_trial_options(c, r[i].backend);
        r[i].step = gcut_trial_step(c, c->g, &o);
        gcut_step_run(r[i].step, gcut_step_calls(r[i].step));
        compare_rung(c, r[0].step, &r[i]);
        if (i) gcut_trial_worst(c, r[i].value, r[i].worst.rel, r[i].worst.index);
        if (!r[i].ok && !bad) bad = i;
    }
    c->out->ok = bad == 0;
    if (bad) c->out->culprit = find_culprit(c, &r[bad]);
    write_report(c, r, n);
}

gcut_check_report *gcut_crosscheck_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                         const gcut_feed *feed, size_t nfeed, double tol)
{
    gcut_trial c = {.g = g, .opt = opt, .size = size, .feed = feed, .nfeed = nfeed, .tol = tol};
    return gcut_trial_report(__func__, &c, gcut_crosscheck_trial);
}
