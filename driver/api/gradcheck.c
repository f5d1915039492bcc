/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gradient check: reverse mode against central differences, both in f64.
 */
#include <math.h>
#include <string.h>

#include "driver/api/trial.h"
#include "graph/custom.h"

#define PROBES 24 /* elements per parameter: all of a small one, an even spread over a large one */

/* A gradient smaller than this part of the objective, such as of a bias before a normalization, is compared
 * relative to it: slopes have a rounding error of eps / h of the objective, 3e-11 at the smallest step. */
#define LEAST 1e-5

/* A `doubt` above this part of the largest element is a kink: rounding contributes at most 1e-5 of it. */
#define KINK 1e-3

typedef struct probe {
    gcut_trial *c;
    const gcut_graph *g;  /* the primal */
    const gcut_step *s;   /* has the sizes */
    gcut_array *in;       /* by parameter of g */
    const double **along; /* by result of g: its cotangent, the direction; NULL = not differentiated */
    double at_rest;       /* the objective at the unchanged parameters */
} probe;

/* The results after adding h to element i of parameter k. */
static const gcut_array *results_at(const probe *q, gcut_arena *a, uint32_t k, int64_t i, double h)
{
    gcut_array *in = gcut_calloc(a, q->g->params.n + 1, sizeof *in),
               *out = gcut_calloc(a, q->g->results.n + 1, sizeof *out);
    memcpy(in, q->in, q->g->params.n * sizeof *in);
    if (h != 0) {
        gcut_array moved = gcut_array_new(a, in[k].dtype, in[k].rank, in[k].dim);
        memcpy(moved.u.f, in[k].u.f, (size_t)in[k].n * sizeof *moved.u.f);
        moved.u.f[i] += h;
        in[k] = moved;
    }
    gcut_interp_at(q->g, GCUT_EXACT, a, in, q->s->size, q->s->nsizes, out, NULL);
    return out;
}

/* The sum of <y, dy> over all results y with cotangents. */
static double objective_at(const probe *q, uint32_t k, int64_t i, double h)
{
    gcut_arena *a = gcut_arena_new(q->c->env, q->c->a);
    const gcut_array *out = results_at(q, a, k, i, h);
    double sum = 0;
    for (uint32_t r = 0; r < q->g->results.n; r++)
        for (int64_t e = 0; q->along[r] && e < out[r].n; e++) sum += q->along[r][e] * out[r].u.f[e];
    gcut_arena_free(a);
    return sum;
}

/* Central differences with steps h and h / 2. */
typedef struct estimate {
    double slope; /* after one Richardson step; error h^4 f^(5) / 30 + eps |f| / h */
    double doubt; /* deviation from the behaviour of a smooth function */
} estimate;

/* For a smooth function the two slopes differ by h^2 f''' / 8, and the second differences, h f'', halve with
 * h up to h^3 f'''' / 16.  A kink between x - h and x + h, as of a relu near 0, changes both by its jump in
 * slope. */
static estimate differences(const probe *q, uint32_t k, int64_t i, double h)
{
    double mid = q->at_rest, slope[2], bend[2];
    for (int j = 0; j < 2; j++) {
        double step = j ? h / 2 : h, up = objective_at(q, k, i, step), down = objective_at(q, k, i, -step);
        slope[j] = (up - down) / (2 * step);
        bend[j] = ((up - mid) - (mid - down)) / step;
    }
    return (estimate){(4 * slope[1] - slope[0]) / 3,
                      fmax(fabs(slope[1] - slope[0]), fabs(bend[0] - 2 * bend[1]))};
}

/* The derivative by element i of parameter k, with an error that is small relative to `scale`.  The sum of
 * rounding and truncation errors is smallest near h = eps^(1/5); smaller steps are for elements near a kink.
 */
static estimate derivative(const probe *q, uint32_t k, int64_t i, double scale)
{
    double x = fabs(q->in[k].u.f[i]), h = 1e-3 * (x > 1 ? x : 1);
    estimate best = differences(q, k, i, h);
    for (int tries = 0; tries < 2 && !(best.doubt <= 1e-6 * scale); tries++) {
        estimate e = differences(q, k, i, h /= 16);
        if (!(e.doubt >= best.doubt)) best = e;
    }
    return best;
}

/* Does the joint graph call the cotangent of result r so: dr, or dr.2 and so on where that name is taken? */
static bool is_cotangent_of(const char *cotan, const gcut_result *r)
{
    size_t n = strlen(r->name);
    return r->role == GCUT_ROLE_out && cotan[0] == 'd' && !strncmp(cotan + 1, r->name, n) &&
           (!cotan[1 + n] || cotan[1 + n] == '.');
}

/* Finds the result of each cotangent of the step.  Where two names fit, the longer counts. */
static void find_directions(probe *q)
{
    const gcut_graph *g = q->g;
    for (uint32_t k = 0; k < q->s->nparams; k++) {
        const gcut_slot *x = &q->s->slot[k];
        uint32_t best = GCUT_NONE;
        if (x->role != GCUT_ROLE_cotan) continue;
        for (uint32_t r = 0; r < g->results.n; r++)
            if (is_cotangent_of(x->name, &g->results.at[r]) &&
                gcut_type_equal(gcut_type_of(g, g->results.at[r].value), &x->type) &&
                (best == GCUT_NONE || strlen(g->results.at[r].name) > strlen(g->results.at[best].name)))
                best = r;
        if (best == GCUT_NONE)
            gcut_fail(q->c->env, GCUT_EGRAD, (gcut_place){.file = g->module->file},
                      "the cotangent of the `out` result y is called dy, and is of its type",
                      "@%s: the cotangent '%s' %s is of no result", g->name, x->name,
                      gcut_type_text(q->c->a, g->module, &x->type));
        q->along[best] = gcut_trial_array(q->c->a, x).u.f;
    }
}

typedef struct verdict {
    double error; /* the largest, over the largest element */
    int64_t at, kinks;
} verdict;

/* Elements whose objective has a kink within the smallest step are counted, not compared. */
static verdict worst_of(const probe *q, uint32_t k, const gcut_array *grad)
{
    verdict v = {0};
    double scale = fmax(1e-8, LEAST * fabs(q->at_rest));
    int64_t step = grad->n > PROBES ? grad->n / PROBES : 1;
    for (int64_t i = 0; i < grad->n; i++) scale = fmax(scale, fabs(grad->u.f[i]));
    for (int64_t i = 0; i < grad->n; i += step) {
        estimate d = derivative(q, k, i, scale);
        double e = fabs(d.slope - grad->u.f[i]) / scale;
        if (d.doubt > KINK * scale)
            v.kinks++;
        else if (!(e <= v.error))
            v.error = e, v.at = i;
    }
    return v;
}

static uint32_t param_called(const gcut_graph *g, const char *name)
{
    uint32_t k = 0;
    while (strcmp(g->values.at[g->params.at[k].value].name, name) != 0) k++;
    return k;
}

/* ---- stated derivatives ---- */

/* Describes a call with a stated derivative: node n, or one in its bodies and the functions it calls.  NULL =
 * none. */
static const char *stated_in(gcut_arena *a, const gcut_graph *g, const gcut_node *n)
{
    const gcut_graph *vjp = gcut_node_vjp(g, n);
    if (vjp) {
        gcut_place at = gcut_loc_place(g->module, n->loc);
        return gcut_printf(a, "@%s, whose derivative is stated: @%s, %s:%d",
                           gcut_region_at(g, n, 0)->body->name, vjp->name, at.file ? at.file : "?", at.line);
    }
    for (uint32_t r = 0; r < n->nregs; r++) {
        const gcut_graph *body = gcut_region_at(g, n, r)->body;
        for (uint32_t i = 0; i < body->nodes.n; i++) {
            const char *found = stated_in(a, body, gcut_node_at(body, i));
            if (found) return found;
        }
    }
    return NULL;
}

/* The first call with a stated derivative that depends on parameter k.  Such a derivative may differ from
 * that of the function's ops, as that of a straight-through estimator does. */
static const char *stated_behind(gcut_arena *a, const gcut_graph *g, uint32_t k)
{
    bool *reached = gcut_calloc(a, g->values.n, sizeof *reached);
    reached[g->params.at[k].value] = true;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        bool any = false;
        for (uint32_t j = 0; j < n->nargs; j++) any = any || reached[gcut_arg(g, n, j)];
        const char *found = any ? stated_in(a, g, n) : NULL;
        if (found) return found;
        for (uint32_t j = 0; j < n->nres; j++) reached[n->res0 + j] = any;
    }
    return NULL;
}

static void compare_all(const probe *q, const gcut_graph *joint, const gcut_array *values)
{
    gcut_trial *c = q->c;
    double tol = c->tol > 0 ? c->tol : 1e-5;
    uint32_t n = 0, bad = 0;
    gcut_text t = {.arena = c->keep};
    gcut_text_add(&t, "%-16s  %-12s  %s\n", "parameter", "worst error", "at");
    for (uint32_t r = 0; r < joint->results.n; r++) {
        const gcut_result *result = &joint->results.at[r];
        if (result->role != GCUT_ROLE_grad) continue;
        verdict v = worst_of(q, param_called(q->g, result->name), &values[result->value]);
        bool ok = v.error <= tol;
        n++, bad += !ok;
        gcut_text_add(&t, "%-16s  %-12.3g  [%lld]", result->name, v.error, (long long)v.at);
        if (v.kinks) gcut_text_add(&t, "   %lld at kinks left out", (long long)v.kinks);
        const char *stated = ok ? NULL : stated_behind(c->a, q->g, param_called(q->g, result->name));
        gcut_text_add(&t, "%s%s%s\n", ok ? "" : "   DIFFERS", stated ? ", by way of " : "",
                      stated ? stated : "");
        gcut_trial_worst(c, result->name, v.error, v.at);
    }
    c->out->ok = bad == 0;
    if (bad)
        gcut_text_add(&t, "%u of %u gradient%s differ%s by more than %g\n", bad, n, n == 1 ? "" : "s",
                      bad == 1 ? "s" : "", tol);
    else
        gcut_text_add(&t, "%s%u gradient%s agree%s within %g\n", n == 1 ? "" : "all ", n, n == 1 ? "" : "s",
                      n == 1 ? "s" : "", tol);
    gcut_text json = {.arena = c->keep};
    gcut_json w = {.out = &json};
    gcut_trial_json(c, &w);
    gcut_json_end(&w);
    gcut_text_add(&json, "\n");
    c->out->text = t.at;
    c->out->json = json.at;
}

static void refuse_no_gradient(const gcut_graph *joint)
{
    for (uint32_t r = 0; r < joint->results.n; r++)
        if (joint->results.at[r].role == GCUT_ROLE_grad) return;
    gcut_fail(joint->module->env, GCUT_EGRAD, gcut_loc_place(joint->module, joint->loc),
              "gcut_gradient in C returns a gradient as a `grad` result, beside updates that are made of it",
              "@%s has no `grad` result to compare with differences", joint->name);
}

/* Finite differences of an infinity or a NaN are NaN. */
static void refuse_no_objective(const probe *q)
{
    const gcut_graph *g = q->g;
    if (isfinite(q->at_rest)) return;
    const gcut_array *out = results_at(q, q->c->a, 0, 0, 0);
    const char *whose = "the sum of its results";
    double value = q->at_rest;
    for (uint32_t r = g->results.n; r-- > 0;)
        for (int64_t e = 0; q->along[r] && e < out[r].n; e++)
            if (!isfinite(out[r].u.f[e]))
                value = out[r].u.f[e], whose = gcut_printf(q->c->a, "its result %s", g->results.at[r].name);
    gcut_fail(q->c->env, GCUT_EGRAD, gcut_loc_place(g->module, g->loc),
              "give inputs for which it is finite, or differentiate other results: --loss, --cotan",
              "@%s: %s is %g, so finite differences of it cannot be compared with gradients", g->name, whose,
              value);
}

static void gradcheck(gcut_trial *c)
{
    gcut_settings o = gcut_trial_options(c, GCUT_BACKEND_JOINT);
    o.f64 = true;
    o.optimizer = NULL;
    gcut_step *s = gcut_trial_step(c, c->g, &o);
    const gcut_graph *g = s->p->primal;
    refuse_no_gradient(s->p->joint);
    probe q = {.c = c,
               .g = g,
               .s = s,
               .in = gcut_calloc(c->a, g->params.n + 1, sizeof *q.in),
               .along = gcut_calloc(c->a, g->results.n + 1, sizeof *q.along)};
    find_directions(&q);
    for (uint32_t i = 0; i < g->params.n; i++) q.in[i] = gcut_trial_array(c->a, &s->slot[i]);
    gcut_array *values[2] = {0};
    gcut_step_interpret(s, GCUT_RT_STEP, NULL, values); /* it replaces states */
    q.at_rest = objective_at(&q, 0, 0, 0);
    refuse_no_objective(&q);
    compare_all(&q, s->p->joint, values[0]);
}

gcut_check_report *gcut_gradcheck_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                        const gcut_feed *feed, size_t nfeed, double tol)
{
    gcut_trial c = {.g = g, .opt = opt, .size = size, .feed = feed, .nfeed = nfeed, .tol = tol};
    return gcut_trial_report(__func__, &c, gradcheck);
}
