/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ladder (every backend on the same values) and the gradient check.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "driver/step.h"

/* Tolerances of the ladder, relative to the largest element of a value.  A dot product of length k
 * accumulates k * eps / 2 in the worst case and about sqrt(k) * eps when rounding errors are independent;
 * models chain a few dozen of them with k up to some thousands, which leaves 2^-23 * 2^10 for f32 and 2^-52 *
 * 2^14 for f64.  Products of f16 and bf16 are summed in f32, so that there only the roundings of the stated
 * values are left, 2^-11 and 2^-8 each: m independent ones add up to about sqrt(m) of them, 2^4 for a chain
 * of 2^8.  A value is compared as the coarsest dtype that it was computed from. */
#define TOL_F64 4e-12
#define TOL_F32 1.2e-4
#define TOL_F16 0x1p-7
#define TOL_BF16 0x1p-4

typedef struct check {
    gcut_graph *g;
    const gcut_options *opt;
    const gcut_feed *feed;
    size_t nfeed;
    double tol;
    gcut_check_report *out;
    gcut_env *env;
    gcut_arena *a;
} check;

static double tolerance_of(gcut_dtype t)
{
    switch (t) {
    case GCUT_f64: return TOL_F64;
    case GCUT_f32: return TOL_F32;
    case GCUT_f16: return TOL_F16;
    case GCUT_bf16: return TOL_BF16;
    default: return 0;
    }
}

/* By value of g. */
static double *tolerances(const check *c, const gcut_graph *g)
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
        if (c->tol >= 0) tol[v] = c->tol;
    return tol;
}

/* A step on the check's feed; what is not fed is drawn from the same seed in every step. */
static gcut_step *make_step(const check *c, gcut_graph *g, const gcut_options *opt)
{
    gcut_step *s = gcut_step_make(g, opt);
    for (size_t i = 0; i < c->nfeed; i++)
        if (gcut_slot_find(s, c->feed[i].name)) gcut_step_bind_npy(s, c->feed[i].name, c->feed[i].npy);
    gcut_step_prepare(s);
    return s;
}

static gcut_options options(const check *c, gcut_backend b)
{
    gcut_options o = c->opt ? *c->opt : GCUT_OPTIONS_DEFAULT;
    o.backend = b;
    o.exact = b == GCUT_EAGER;
    o.dump = "";
    return o;
}

typedef struct difference {
    double rel;
    int64_t index;
} difference;

static double largest(const gcut_array *y)
{
    double scale = 0;
    for (int64_t i = 0; i < y->n; i++) {
        double v = gcut_dtype_is_float(y->dtype) ? y->u.f[i] : (double)y->u.i[i];
        if (isfinite(v) && fabs(v) > scale) scale = fabs(v);
    }
    return scale;
}

/* The largest |x - y| over the largest |y|, which counts as at least `least`: a gradient that is zero but for
 * rounding (of a key's bias, say) has no relative error.  NaN agrees with NaN, an infinity with itself. */
static difference compare(const gcut_array *x, const gcut_array *y, double least)
{
    difference d = {0, -1};
    double scale = fmax(largest(y), least);
    bool real = gcut_dtype_is_float(y->dtype);
    for (int64_t i = 0; i < y->n; i++) {
        double a = real ? x->u.f[i] : (double)x->u.i[i], b = real ? y->u.f[i] : (double)y->u.i[i];
        if (a == b || (isnan(a) && isnan(b))) continue;
        double e = fabs(a - b) / (scale > 0 ? scale : 1);
        if (!isfinite(e)) e = INFINITY;
        if (e > d.rel || d.index < 0) d = (difference){e, i};
    }
    return d;
}

static gcut_array array_of(gcut_arena *a, const gcut_slot *x)
{
    return gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, x->at);
}

/* ---- ladder ---- */

typedef struct rung {
    const char *name;
    gcut_backend backend;
    gcut_step *step;
    difference worst;
    double allowed; /* of the worst value */
    const char *value;
    bool ok;
} rung;

static bool is_result(const gcut_slot *x)
{
    return x->role == GCUT_ROLE_out || x->role == GCUT_ROLE_grad || x->updated;
}

/* Values below this part of the largest gradient (or result) are compared with it: they may be sums in which
 * terms of that size cancel.  In f32 that allows TOL_F32 * LEAST = 10 units of rounding of the largest, no
 * more. */
#define LEAST 1e-2

/* The value of g that slot x shows. */
static gcut_ref value_of(const gcut_graph *g, const gcut_slot *x)
{
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        gcut_role shown = x->updated ? GCUT_ROLE_next : x->role;
        const char *name = shown == GCUT_ROLE_grad ? x->name + strlen("grad.") : x->name;
        if (r->role == shown && !strcmp(r->name, name)) return r->value;
    }
    GCUT_NEVER("what a step shows is a result of its graph");
    return 0;
}

static void compare_rung(const check *c, gcut_step *ref, rung *r)
{
    const gcut_graph *raw = ref->p->raw;
    const double *tol = tolerances(c, raw);
    double least[2] = {0, 0}; /* of results, of gradients and updated values */
    r->ok = true;
    for (uint32_t i = 0; i < ref->nslots; i++) {
        const gcut_slot *x = &ref->slot[i];
        if (!is_result(x) || !gcut_dtype_is_float(x->type.dtype)) continue;
        gcut_array want = array_of(c->a, x);
        least[x->role == GCUT_ROLE_grad] = fmax(least[x->role == GCUT_ROLE_grad], LEAST * largest(&want));
    }
    for (uint32_t i = 0; i < ref->nslots; i++) {
        const gcut_slot *x = &ref->slot[i], *y = gcut_slot_find(r->step, x->name);
        if (!is_result(x)) continue;
        gcut_array want = array_of(c->a, x), got = array_of(c->a, y);
        difference d = compare(&got, &want, least[x->role == GCUT_ROLE_grad]);
        double allowed = tol[value_of(raw, x)];
        if (d.index >= 0 && d.rel > allowed) r->ok = false;
        if (!r->value || (d.index >= 0 && d.rel * r->allowed > r->worst.rel * allowed)) {
            r->worst = d;
            r->value = x->name;
            r->allowed = allowed;
        }
    }
}

static const char *op_of(const check *c, const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    gcut_place at = gcut_loc_place(g->module, n->loc);
    return gcut_printf(c->env->arena, "%%%s = %s at %s:%d", g->values.at[v].name,
                       gcut_op_get((gcut_op)n->op)->name, at.file ? at.file : "?", at.line);
}

/* The first node of g, in its order, whose value differs from the reference's of the same name. */
static const char *first_op(const check *c, const gcut_graph *ref, const gcut_array *want,
                            const gcut_graph *g, const gcut_array *got)
{
    const double *tol = tolerances(c, ref);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        gcut_ref w = gcut_graph_find(ref, g->values.at[v].name);
        if (!w || !gcut_def(g, v) || !gcut_type_equal(gcut_type_of(ref, w), gcut_type_of(g, v))) continue;
        difference d = compare(&got[v], &want[w], 0);
        if (d.index >= 0 && d.rel > tol[w]) return op_of(c, g, v);
    }
    return NULL;
}

/* The compiled backend shows no intermediate values: a graph whose results are all of them is compiled
 * instead.  It may group differently; if everything agrees there, the difference needs the original grouping,
 * and no op is named. */
static const char *first_compiled_op(const check *c, const gcut_graph *raw, const gcut_array *want)
{
    gcut_options o = options(c, GCUT_COMPILED);
    gcut_pipeline *p = gcut_pipeline_new(c->g, &o, GCUT_TO_JOINT, c->a);
    gcut_graph *all = p->joint;
    const double *tol = tolerances(c, raw);
    all->results.n = 0;
    for (gcut_ref v = 1; v < all->values.n; v++)
        if (gcut_def(all, v)) gcut_result_new(all, GCUT_ROLE_out, all->values.at[v].name, v);
    o.forward_only = true;
    o.optimizer = NULL;
    gcut_step *s = make_step(c, all, &o);
    gcut_step_run(s, GCUT_RT_FORWARD);
    for (gcut_ref v = 1; v < all->values.n; v++) {
        gcut_ref w = gcut_graph_find(raw, all->values.at[v].name);
        const gcut_slot *x = gcut_slot_find(s, all->values.at[v].name);
        if (!w || !x || !gcut_def(all, v) || !gcut_type_equal(gcut_type_of(raw, w), gcut_type_of(all, v)))
            continue;
        gcut_array got = array_of(c->a, x);
        difference d = compare(&got, &want[w], 0);
        if (d.index >= 0 && d.rel > tol[w]) return op_of(c, all, v);
    }
    return NULL;
}

static const char *find_culprit(const check *c, const rung *bad)
{
    gcut_array *want[2] = {0}, *got[2] = {0};
    gcut_options o = options(c, GCUT_EAGER);
    gcut_step *ref = make_step(c, c->g, &o); /* fresh parameters: the first run may have updated them */
    gcut_step_interpret(ref, GCUT_RT_STEP, want);
    if (bad->backend == GCUT_COMPILED) return first_compiled_op(c, ref->p->raw, want[0]);
    o = options(c, bad->backend);
    gcut_step *s = make_step(c, c->g, &o);
    gcut_step_interpret(s, GCUT_RT_STEP, got);
    const gcut_graph *first = bad->backend == GCUT_PLANNED && s->p->bwd ? s->p->fwd : s->p->joint;
    const char *op = first_op(c, ref->p->raw, want[0], first, got[0]);
    return op || !got[1] ? op : first_op(c, ref->p->raw, want[0], s->p->bwd, got[1]);
}

static void ladder_report(check *c, rung *r, size_t n)
{
    gcut_check_report *out = c->out;
    gcut_text t = {.arena = c->env->arena}, js = {.arena = c->env->arena};
    gcut_text_add(&t, "%-9s  %-12s  %-10s  %s\n", "backend", "worst error", "allowed", "value");
    for (size_t i = 1; i < n; i++)
        gcut_text_add(&t, "%-9s  %-12.3g  %-10.3g  %s[%lld]%s\n", r[i].name, r[i].worst.rel, r[i].allowed,
                      r[i].value ? r[i].value : "-", (long long)(r[i].worst.index < 0 ? 0 : r[i].worst.index),
                      r[i].ok ? "" : "   DIFFERS");
    gcut_text_add(&t, "reference: eager, in f64%s%s\n", out->culprit ? "; the first op that differs: " : "",
                  out->culprit ? out->culprit : "");
    gcut_json w = {.out = &js};
    gcut_json_object(&w);
    gcut_json_key(&w, "ok");
    gcut_json_bool(&w, out->ok);
    gcut_json_key(&w, "max_rel_error");
    gcut_json_real(&w, out->max_rel_error);
    gcut_json_key(&w, "worst");
    gcut_json_str(&w, out->worst);
    gcut_json_key(&w, "worst_index");
    gcut_json_int(&w, out->worst_index);
    gcut_json_key(&w, "culprit");
    gcut_json_str(&w, out->culprit);
    gcut_json_key(&w, "backends");
    gcut_json_object(&w);
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

static void ladder(void *arg)
{
    check *c = arg;
    rung r[] = {{.name = "eager", .backend = GCUT_EAGER},
                {.name = "joint", .backend = GCUT_JOINT_BACKEND},
                {.name = "planned", .backend = GCUT_PLANNED},
                {.name = "compiled", .backend = GCUT_COMPILED}};
    size_t n = sizeof r / sizeof *r, bad = 0;
    c->out->ok = true;
    c->a = gcut_arena_new(c->env, c->env->arena);
    for (size_t i = 0; i < n; i++) {
        gcut_options o = options(c, r[i].backend);
        r[i].step = make_step(c, c->g, &o);
        gcut_step_run(r[i].step, r[i].step->p->bwd ? GCUT_RT_STEP : GCUT_RT_FORWARD);
        compare_rung(c, r[0].step, &r[i]);
        if (i && (!c->out->worst || r[i].worst.rel > c->out->max_rel_error)) {
            c->out->max_rel_error = r[i].worst.rel;
            c->out->worst = r[i].value;
            c->out->worst_index = r[i].worst.index < 0 ? 0 : r[i].worst.index;
        }
        if (!r[i].ok && !bad) bad = i;
    }
    c->out->ok = bad == 0;
    if (bad) c->out->culprit = find_culprit(c, &r[bad]);
    if (c->out->worst) c->out->worst = gcut_strndup(c->env->arena, c->out->worst, strlen(c->out->worst));
    ladder_report(c, r, n);
    for (size_t i = 0; i < n; i++) gcut_arena_free(r[i].step->arena);
    gcut_arena_free(c->a);
}

static gcut_check_report guarded(gcut_graph *g, const gcut_options *opt, const gcut_feed *feed, size_t nfeed,
                                 double tol, void (*body)(void *))
{
    gcut_check_report out = {0};
    if (!g) return out;
    check c = {
        .g = g, .opt = opt, .feed = feed, .nfeed = nfeed, .tol = tol, .out = &out, .env = g->module->env};
    if (!gcut_guard(c.env, body, &c)) return (gcut_check_report){0};
    return out;
}

gcut_check_report gcut_ladder(gcut_graph *g, const gcut_options *opt, const gcut_feed *feed, size_t nfeed,
                              double tol)
{
    return guarded(g, opt, feed, nfeed, tol, ladder);
}

/* ---- gradcheck ---- */

typedef struct probe {
    gcut_pipeline *p;
    gcut_array *in; /* by parameter of the joint graph */
    uint32_t loss;  /* result number */
    gcut_array *out;
    gcut_arena *scratch;
} probe;

/* The loss at in + h * direction of parameter k (direction NULL: element i alone), in f64. */
static double loss_at(check *c, const probe *q, uint32_t k, int64_t i, double h)
{
    gcut_arena *a = gcut_arena_new(c->env, c->a);
    const gcut_graph *g = q->p->primal;
    gcut_array *in = gcut_calloc(a, g->params.n + 1, sizeof *in),
               *out = gcut_calloc(a, g->results.n + 1, sizeof *out);
    memcpy(in, q->in, g->params.n * sizeof *in);
    gcut_array moved = gcut_array_new(a, in[k].dtype, in[k].rank, in[k].dim);
    memcpy(moved.u.f, in[k].u.f, (size_t)in[k].n * sizeof *moved.u.f);
    moved.u.f[i] += h;
    in[k] = moved;
    gcut_interp(g, GCUT_EXACT, a, in, out, NULL);
    double y = out[q->loss].u.f[0];
    gcut_arena_free(a);
    return y;
}

/* Central differences with one Richardson step: error h^4 f^(5) / 30 + eps |f| / h, least near h = eps^(1/5).
 */
static double slope(check *c, const probe *q, uint32_t k, int64_t i)
{
    double x = q->in[k].u.f[i], h = 1e-3 * (fabs(x) > 1 ? fabs(x) : 1);
    double d1 = (loss_at(c, q, k, i, h) - loss_at(c, q, k, i, -h)) / (2 * h);
    double d2 = (loss_at(c, q, k, i, h / 2) - loss_at(c, q, k, i, -h / 2)) / h;
    return (4 * d2 - d1) / 3;
}

static uint32_t loss_result(const check *c, const gcut_graph *g, const char *asked)
{
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_type *t = gcut_type_of(g, g->results.at[i].value);
        bool scalar = t->rank == 0 && gcut_dtype_is_float(t->dtype) && g->results.at[i].role == GCUT_ROLE_out;
        if (asked ? !strcmp(g->results.at[i].name, asked) : scalar) return i;
    }
    gcut_fail(c->env, GCUT_EGRAD, (gcut_place){.file = g->module->file}, NULL,
              "@%s has no scalar float result", g->name);
}

#define PROBES 24 /* elements per parameter: all of a small one, an even spread over a large one */

static void gradcheck(void *arg)
{
    check *c = arg;
    gcut_options o = options(c, GCUT_JOINT_BACKEND);
    o.exact = true;
    o.optimizer = NULL;
    c->a = gcut_arena_new(c->env, c->env->arena);
    double tol = c->tol >= 0 ? c->tol : 1e-5;
    gcut_step *s = make_step(c, c->g, &o);
    gcut_array *values[2] = {0};
    gcut_step_interpret(s, GCUT_RT_STEP, values);
    const gcut_graph *g = s->p->primal, *joint = s->p->joint;
    probe q = {
        .p = s->p, .in = gcut_calloc(c->a, g->params.n + 1, sizeof *q.in), .loss = loss_result(c, g, o.loss)};
    for (uint32_t i = 0; i < g->params.n; i++) q.in[i] = array_of(c->a, &s->slot[i]);
    gcut_text t = {.arena = c->env->arena}, js = {.arena = c->env->arena};
    gcut_text_add(&t, "%-16s  %-12s  %s\n", "parameter", "worst error", "at");
    c->out->ok = true;
    for (uint32_t r = 0; r < joint->results.n; r++) {
        if (joint->results.at[r].role != GCUT_ROLE_grad) continue;
        uint32_t k = 0;
        while (strcmp(g->values.at[g->params.at[k].value].name, joint->results.at[r].name) != 0) k++;
        const gcut_array *grad = &values[0][joint->results.at[r].value];
        double worst = 0, scale = 0;
        int64_t at = 0, step = grad->n > PROBES ? grad->n / PROBES : 1;
        for (int64_t i = 0; i < grad->n; i++) scale = fmax(scale, fabs(grad->u.f[i]));
        for (int64_t i = 0; i < grad->n; i += step) {
            double e = fabs(slope(c, &q, k, i) - grad->u.f[i]) / fmax(scale, 1e-8);
            if (!(e <= worst)) worst = e, at = i;
        }
        if (!(worst <= tol)) c->out->ok = false;
        gcut_text_add(&t, "%-16s  %-12.3g  [%lld]%s\n", joint->results.at[r].name, worst, (long long)at,
                      worst <= tol ? "" : "   DIFFERS");
        if (!c->out->worst || !(worst <= c->out->max_rel_error)) {
            c->out->max_rel_error = worst;
            c->out->worst =
                gcut_strndup(c->env->arena, joint->results.at[r].name, strlen(joint->results.at[r].name));
            c->out->worst_index = at;
        }
    }
    gcut_json w = {.out = &js};
    gcut_json_object(&w);
    gcut_json_key(&w, "ok");
    gcut_json_bool(&w, c->out->ok);
    gcut_json_key(&w, "max_rel_error");
    gcut_json_real(&w, c->out->max_rel_error);
    gcut_json_key(&w, "worst");
    gcut_json_str(&w, c->out->worst);
    gcut_json_key(&w, "worst_index");
    gcut_json_int(&w, c->out->worst_index);
    gcut_json_end(&w);
    gcut_text_add(&js, "\n");
    c->out->text = t.at;
    c->out->json = js.at;
    gcut_arena_free(s->arena);
    gcut_arena_free(c->a);
}

gcut_check_report gcut_gradcheck(gcut_graph *g, const gcut_options *opt, const gcut_feed *feed, size_t nfeed,
                                 double tol)
{
    return guarded(g, opt, feed, nfeed, tol, gradcheck);
}
