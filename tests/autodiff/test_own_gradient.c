/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Graphs that call gcut_grad and update parameters themselves are planned like those that gradcut
 * differentiates: models with a hand-written sgd against the built-in one, clipping under a budget, gradients of
 * gradients, and random graphs against the interpreter on the graph as it is written.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <dirent.h>
#include <unistd.h>

#include "api.h"
#include "autodiff/autodiff.h"
#include "graph/build.h"
#include "graph/verify.h"
#include "graph_gen.h"

#define MOST 256

/* ---- updates by hand ---- */

/* The float parameters of g and the gradients of its first result, a scalar; appended with what they need. */
typedef struct by_hand {
    gcut_graph *g;
    gcut_ref w[MOST], dw[MOST];
    uint32_t n;
    uint64_t seed; /* of random graphs */
} by_hand;

static void differentiate(by_hand *j, gcut_ref loss)
{
    gcut_graph *g = j->g;
    gcut_build b = {.g = g, .loc = g->loc};
    gcut_loss_gradient(g, loss, g->loc, j->w, j->n, j->dw);
    for (uint32_t k = 0; k < j->n; k++)
        if (!j->dw[k]) j->dw[k] = gcut_bconst(&b, j->w[k], 0);
}

static gcut_ref loss_of(by_hand *j)
{
    gcut_graph *g = j->g;
    gcut_ref loss = 0;
    for (uint32_t i = 0; i < g->results.n && !loss; i++) {
        const gcut_type *t = gcut_type_of(g, g->results.at[i].value);
        if (g->results.at[i].role == GCUT_ROLE_out && t->rank == 0 && gcut_dtype_is_float(t->dtype))
            loss = g->results.at[i].value;
    }
    assert_int_not_equal(loss, 0);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        if (g->params.at[i].role != GCUT_ROLE_param || !gcut_dtype_is_float(gcut_type_of(g, v)->dtype))
            continue;
        assert_true(j->n < MOST);
        j->w[j->n++] = v;
    }
    return loss;
}

/* w' = w - rate dw, with a scalar. */
static void update(by_hand *j, gcut_ref rate)
{
    gcut_build b = {.g = j->g, .loc = j->g->loc};
    for (uint32_t k = 0; k < j->n; k++) {
        const gcut_type t = *gcut_type_of(j->g, j->w[k]);
        gcut_ref by = gcut_bconvert(&b, rate, t.dtype);
        if (t.rank) by = gcut_bbroadcast(&b, by, t.dim, t.rank, NULL);
        gcut_result_new(j->g, GCUT_ROLE_next, j->g->values.at[j->w[k]].name,
                        gcut_b2(&b, GCUT_OP_sub, j->w[k], gcut_b2(&b, GCUT_OP_mul, by, j->dw[k])));
    }
}

static void sgd(void *arg)
{
    by_hand *j = arg;
    const gcut_ref loss = loss_of(j);
    const gcut_ref lr = gcut_param_new(j->g, GCUT_ROLE_input, "lr", &(gcut_type){.dtype = GCUT_F32});
    differentiate(j, loss);
    update(j, lr);
}

static gcut_graph *loaded(gcut_ctx *ctx, const char *path, bool own)
{
    by_hand j = {.g = gcut_load(ctx, path, NULL)};
    if (!j.g) fail_msg("%s", gcut_last_error(ctx));
    if (own) must(j.g->module->env, sgd, &j);
    return j.g;
}

static const gcut_plan_info *planned(gcut_ctx *ctx, gcut_graph *g, gcut_options o, bool own)
{
    o.optimizer = own ? NULL : "sgd(lr=0.1)";
    gcut_plan *p = gcut_plan_new(g, &o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    return gcut_plan_look(p);
}

/* Does the same plan follow?  Identities of real numbers are applied once more, before the loss head is rewritten,
 * and the times of the update may differ by an op. */
static void same_plan(gcut_ctx *ctx, const char *path, gcut_options o)
{
    const gcut_plan_info *a = planned(ctx, loaded(ctx, path, false), o, false),
                         *b = planned(ctx, loaded(ctx, path, true), o, true);
    if (a->peak_bytes != b->peak_bytes || a->saved_bytes != b->saved_bytes || a->n != b->n ||
        fabs(a->recompute_ns - b->recompute_ns) > 1e-9 * a->recompute_ns ||
        fabs(a->step_ns - b->step_ns) > 1e-3 * a->step_ns)
        fail_msg("%s, %s: peak %lld and %lld, saved %lld and %lld, recompute %g and %g ns, step %g and %g ns",
                 path, o.policy ? o.policy : "mincut", (long long)a->peak_bytes, (long long)b->peak_bytes,
                 (long long)a->saved_bytes, (long long)b->saved_bytes, a->recompute_ns, b->recompute_ns,
                 a->step_ns, b->step_ns);
}

/* Every model of the zoo; a corpus of loops. */
static void models_have_the_plan_of_the_built_in(void **state)
{
    (void)state;
    static const char *const policies[] = {NULL, "save-all", "recompute-all", "torch"};
    static const char *const loops[] = {"corpus/lstm", "corpus/loops", "models/mlp"};
    struct dirent **list;
    char path[512];
    int n = scandir(GCUT_SOURCE_DIR "/tests/models", &list, NULL, alphasort), count = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/models/%s", list[i]->d_name);
        if (strstr(list[i]->d_name, ".gcut") && in_turn((size_t)count++, 4)) {
            gcut_ctx *ctx = new_ctx();
            for (int k = 0; k < 4; k++)
                same_plan(ctx, path, (gcut_options){.policy = policies[k], .threads = 2, UNREFINED});
            gcut_ctx_free(ctx);
        }
        free(list[i]);
    }
    free(list);
    assert_true(count >= 13);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        gcut_ctx *ctx = new_ctx();
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/%s.gcut", loops[i]);
        same_plan(ctx, path, (gcut_options){.budget = GCUT_BUDGET_MIN, .threads = 2});
        gcut_ctx_free(ctx);
    }
}

/* Two training steps; the bytes of every result. */
static unsigned char *trained(gcut_ctx *ctx, gcut_graph *g, gcut_options o, size_t *size)
{
    float lr = 0.1f;
    o.unbound = GCUT_UNBOUND_RANDOM, o.threads = 2, o.no_algebra = true;
    gcut_step *s = gcut_compile(g, &o);
    if (!s || gcut_bind(s, "lr", &lr) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    must_run(ctx, s);
    must_run(ctx, s);
    const gcut_stats *st = gcut_step_stats(s);
    assert_int_equal(st->peak_bytes, st->predicted_bytes);
    unsigned char *out = result_bytes(s, size);
    gcut_step_free(s);
    return out;
}

static void models_have_the_bits_of_the_built_in(void **state)
{
    (void)state;
    static const char *const models[] = {"corpus/mlp_small", "models/rnn"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        gcut_ctx *ctx = new_ctx();
        char path[512];
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/%s.gcut", models[i]);
        gcut_graph *g = loaded(ctx, path, true);
        size_t n, m;
        unsigned char *want = trained(ctx, loaded(ctx, path, false),
                                      (gcut_options){.policy = "save-all", .optimizer = "sgd(lr=0.1)"}, &n);
        const gcut_options ways[] = {
            {.policy = "save-all"}, {.policy = "recompute-all"}, {.budget = GCUT_BUDGET_MIN}};
        for (int k = 0; k < 3; k++) {
            unsigned char *got = trained(ctx, g, ways[k], &m);
            assert_int_equal(n, m);
            if (memcmp(want, got, n) != 0) fail_msg("%s, way %d: other bits than the built-in sgd", path, k);
            free(got);
        }
        free(want);
        gcut_ctx_free(ctx);
    }
}

/* ---- graphs in C ---- */

enum { LAYERS = 4, WIDTH = 16 };

typedef struct net {
    gcut_graph *g;
    gcut_val x, t, lr, w[LAYERS], y, loss;
    char name[LAYERS][8];
} net;

static net net_new(gcut_ctx *ctx, const char *name)
{
    net n = {.g = gcut_graph_new(ctx, name)};
    const gcut_shape rows = GCUT_SHAPE(gcut_dim_sym(n.g, "N", 1, 4096), WIDTH);
    n.x = gcut_input(n.g, "x", GCUT_F32, rows);
    n.t = gcut_input(n.g, "t", GCUT_F32, rows);
    n.lr = gcut_input(n.g, "rate", GCUT_F32, GCUT_SCALAR);
    n.y = n.x;
    for (int k = 0; k < LAYERS; k++) {
        snprintf(n.name[k], sizeof n.name[k], "w%d", k);
        n.w[k] = gcut_param(n.g, n.name[k], GCUT_F32, GCUT_SHAPE(WIDTH, WIDTH));
        n.y = gcut_tanh(gcut_matmul(n.y, n.w[k]));
    }
    n.loss = gcut_mse(n.y, n.t);
    return n;
}

/* By the global norm; returns it. */
static gcut_val clip(const net *n, gcut_val *dw, int ndw)
{
    gcut_val sum = gcut_const(n->g, GCUT_F32, 0), one = gcut_const(n->g, GCUT_F32, 1);
    for (int k = 0; k < ndw; k++) sum = gcut_add(sum, gcut_sum(gcut_mul(dw[k], dw[k])));
    const gcut_val norm = gcut_sqrt(sum), by = gcut_div(one, gcut_max(norm, one));
    for (int k = 0; k < ndw; k++) dw[k] = gcut_mul(dw[k], by);
    return norm;
}

static void next_all(const net *n, const gcut_val *dw)
{
    for (int k = 0; k < LAYERS; k++) gcut_next(n->g, n->name[k], gcut_sub(n->w[k], gcut_mul(dw[k], n->lr)));
}

/* Every result of a graph as it is written, from the interpreter in f64. */
static gcut_step *as_written(gcut_ctx *ctx, gcut_graph *g, const gcut_size *at, size_t nat)
{
    gcut_options o = forward_options(GCUT_BACKEND_EAGER, 1, at, nat);
    o.f64 = true;
    gcut_step *s = gcut_compile(g, &o);
    must_run(ctx, s);
    return s;
}

static double element(const gcut_value_info *v, int64_t i)
{
    return v->dtype == GCUT_F64 ? ((const double *)v->at)[i] : (double)((const float *)v->at)[i];
}

/* Results that want has and got has, too, within tol of the largest element.  false: some are not finite, and are not
 * compared. */
static bool assert_same(const char *what, gcut_step *want, gcut_step *got, double tol)
{
    bool all = true;
    for (size_t i = 0; i < gcut_step_value_count(want); i++) {
        const gcut_value_info a = *gcut_step_value_at(want, i), b = *gcut_step_value(got, a.name);
        if ((strcmp(a.role, "out") != 0 && !a.updated) || (a.dtype != GCUT_F32 && a.dtype != GCUT_F64))
            continue;
        const int64_t n = a.bytes / (a.dtype == GCUT_F64 ? 8 : 4);
        bool finite = true;
        double most = 1e-30;
        assert_int_equal(a.bytes, b.bytes);
        for (int64_t k = 0; k < n; k++) {
            most = fmax(most, fabs(element(&a, k)));
            finite &= isfinite(element(&a, k)) != 0;
        }
        all &= finite;
        for (int64_t k = 0; k < n && finite; k++)
            if (!(fabs(element(&a, k) - element(&b, k)) <= tol * most))
                fail_msg("%s[%d] is %.10g, not %.10g: %s", a.name, (int)k, element(&b, k), element(&a, k),
                         what);
    }
    return all;
}

static int64_t peak_of(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    gcut_plan *p = gcut_plan_new(g, o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    const int64_t peak = gcut_plan_look(p)->peak_bytes;
    gcut_plan_free(p);
    return peak;
}

/* The plan file is certified and gives the same plan again, and a saved value has an explanation. */
static void explained(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    gcut_plan *p = gcut_plan_new(g, o);
    char *text = p ? gcut_plan_certificate(p) : NULL;
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    const char *path = in_tmp("plan.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    const gcut_plan_info *info = gcut_plan_look(p);
    const gcut_options replayed = {.plan = path, .at = o->at, .nat = o->nat, .threads = o->threads};
    const gcut_check_report *r = gcut_certify(g, &replayed);
    if (!r || !r->ok) fail_msg("%s", r ? r->text : gcut_last_error(ctx));
    assert_int_equal(peak_of(ctx, g, &replayed), info->peak_bytes);
    gcut_explanation *e = NULL;
    for (size_t i = 0; i < info->n && !e; i++)
        if (info->value[i]->decision == GCUT_PLAN_SAVED && !info->value[i]->forced)
            e = gcut_explain(g, &replayed, info->value[i]->name);
    if (!e) fail_msg("%s", gcut_last_error(ctx));
    gcut_free(e), gcut_free(text);
    gcut_plan_free(p);
}

/* The norm and the loss are results, or neither; the update is by hand or AdamW's of clipped gradients. */
static void clipping_under_a_budget(void **state)
{
    (void)state;
    const gcut_size at = {"N", 256};
    for (int kind = 0; kind < 3; kind++) {
        gcut_ctx *ctx = new_ctx();
        net n = net_new(ctx, "clip");
        gcut_val dw[LAYERS];
        gcut_options o = TEST_OPTIONS;
        o.at = &at, o.nat = 1, o.threads = 2;
        if (kind != 1) gcut_output(n.g, "loss", n.loss);
        gcut_grad(n.loss, n.w, LAYERS, dw);
        gcut_val norm = clip(&n, dw, LAYERS);
        if (kind != 1) gcut_output(n.g, "norm", norm);
        for (int k = 0; kind == 2 && k < LAYERS; k++) gcut_gradient(n.g, n.name[k], dw[k]);
        if (kind == 2) o.optimizer = "adamw(lr=0.01)";
        if (kind < 2) next_all(&n, dw);
        const int64_t all =
            peak_of(ctx, n.g,
                    &(gcut_options){
                        .policy = "save-all", .at = &at, .nat = 1, .threads = 2, .optimizer = o.optimizer});
        o.budget = GCUT_BUDGET_MIN;
        const int64_t least = peak_of(ctx, n.g, &o);
        assert_that(least * 10, <, all * 9);
        o.budget = least;
        gcut_step *s = gcut_compile(n.g, &o);
        must_run(ctx, s);
        const gcut_stats *st = gcut_step_stats(s);
        assert_int_equal(st->peak_bytes, least);
        assert_int_equal(st->predicted_bytes, least);
        if (kind < 2) {
            gcut_step *want = as_written(ctx, n.g, &at, 1);
            assert_true(assert_same("clip", want, s, 2e-5));
            gcut_step_free(want);
        }
        gcut_step_free(s);
        if (kind == 0) explained(ctx, n.g, &o);
        o.budget = least / 2;
        assert_true(kind || !gcut_plan_new(n.g, &o));
        if (kind == 0) assert_says(ctx, GCUT_EPLAN, "does not run in the budget");
        o.budget = 0;
        if (!crosscheck(n.g, &o, NULL, 0, 0).ok) fail_msg("%s", gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

/* ---- gradients of gradients ---- */

/* |d loss / d x|^2 is part of the loss: two gradients, of which the outer one is planned. */
static void penalty(net *n, gcut_val *dw)
{
    gcut_val dx;
    gcut_grad(n->loss, &n->x, 1, &dx);
    n->loss = gcut_add(n->loss, gcut_sum(gcut_mul(dx, dx)));
    gcut_grad(n->loss, n->w, LAYERS, dw);
}

/* A step of w0 by its gradient, and the gradient of the loss of another batch after it. */
static void through_a_step(net *n, gcut_val *dw)
{
    gcut_val d;
    gcut_grad(n->loss, &n->w[0], 1, &d);
    gcut_val h = gcut_tanh(gcut_matmul(n->t, gcut_sub(n->w[0], gcut_mul(d, n->lr))));
    for (int k = 1; k < LAYERS; k++) h = gcut_tanh(gcut_matmul(h, n->w[k]));
    n->loss = gcut_mse(h, n->x);
    gcut_grad(n->loss, n->w, LAYERS, dw);
}

/* The gradients of two losses, one of them twice: three calls, two cotangents. */
static void two_losses(net *n, gcut_val *dw)
{
    gcut_val other = gcut_mean(gcut_abs(n->y));
    gcut_output(n->g, "other", other);
    gcut_grad(n->loss, n->w, 2, dw);
    gcut_grad(other, n->w + 2, 2, dw + 2);
    gcut_grad(n->loss, n->w + 4, LAYERS - 4, dw + 4);
}

/* Hessian times gradient: gcut_hvp begins at a cotangent, too. */
static void hessian(net *n, gcut_val *dw)
{
    gcut_val d[LAYERS];
    gcut_grad(n->loss, n->w, LAYERS, d);
    gcut_hvp(n->loss, n->w, LAYERS, d, dw);
}

static void nested_gradients(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        void (*make)(net *n, gcut_val *dw);
        int ncotan;
    } rows[] = {
        {"penalty", penalty, 1}, {"step", through_a_step, 1}, {"losses", two_losses, 2}, {"hvp", hessian, 1}};
    const gcut_size at = {"N", 8};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gcut_ctx *ctx = new_ctx();
        net n = net_new(ctx, rows[i].what);
        gcut_val dw[LAYERS];
        rows[i].make(&n, dw);
        gcut_output(n.g, "loss", n.loss);
        next_all(&n, dw);
        gcut_step *want = as_written(ctx, n.g, &at, 1);
        static const char *const policies[] = {"mincut", "save-all", "recompute-all"};
        for (int k = 0; k < 3; k++) {
            gcut_options o = TEST_OPTIONS;
            o.policy = policies[k], o.at = &at, o.nat = 1, o.f64 = true, o.backend = GCUT_BACKEND_PLANNED;
            gcut_step *s = gcut_compile(n.g, &o);
            must_run(ctx, s);
            assert_true(assert_same(rows[i].what, want, s, 1e-9));
            gcut_step_free(s);
            char *joint = gcut_show(n.g, &o, GCUT_STAGE_JOINT, false);
            int ncotan = 0;
            for (const char *c = joint; (c = strstr(c, "cotan %")); c++) ncotan++;
            assert_int_equal(ncotan, rows[i].ncotan);
            assert_null(strstr(joint, "#cotan"));
            gcut_free(joint);
        }
        gcut_step_free(want);
        gcut_ctx_free(ctx);
    }
}

/* A gradient that only `out` results are made of is a value like any other: the graph is differentiated as ever. */
static void a_gradient_in_the_loss(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    net n = net_new(ctx, "force");
    gcut_val dx;
    gcut_grad(n.loss, &n.x, 1, &dx);
    gcut_output(n.g, "loss", gcut_sum(gcut_mul(dx, dx)));
    if (!gradcheck(n.g, &TEST_OPTIONS, NULL, 0, 0).ok) fail_msg("%s", gcut_last_error(ctx));
    /* Gradients of its own as results are compared with differences like any others. */
    net own = net_new(ctx, "own");
    gcut_val dw[LAYERS];
    gcut_output(own.g, "loss", own.loss);
    gcut_grad(own.loss, own.w, LAYERS, dw);
    for (int k = 0; k < LAYERS; k++) gcut_gradient(own.g, own.name[k], dw[k]);
    const gcut_check_report r = gradcheck(own.g, &TEST_OPTIONS, NULL, 0, 0);
    if (!r.ok || !strstr(r.text, "all 4 gradients agree")) fail_msg("%s%s", r.text, gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

/* ---- random graphs ---- */

enum { SIZE_N = 3, SIZE_M = 2 };

typedef struct random_job {
    gcut_env *env;
    uint32_t index;
    gcut_text text;
} random_job;

static gcut_ref norm_of(by_hand *j)
{
    gcut_build b = {.g = j->g};
    gcut_ref sum = gcut_bfull(&b, &(gcut_type){.dtype = GCUT_F64}, 0);
    for (uint32_t k = 0; k < j->n; k++) {
        gcut_ref d = gcut_bconvert(&b, j->dw[k], GCUT_F64);
        d = gcut_b2(&b, GCUT_OP_mul, d, d);
        const uint32_t rank = gcut_type_of(j->g, d)->rank;
        if (rank) d = gcut_breduce(&b, GCUT_OP_sum, d, (1u << rank) - 1);
        sum = gcut_b2(&b, GCUT_OP_add, sum, d);
    }
    return gcut_b1(&b, GCUT_OP_sqrt, gcut_baddc(&b, sum, 1));
}

/* Gradients of a random graph, in one of three of its loss with the norm of its gradients, divided by the norm. */
static void write_random(void *arg)
{
    random_job *r = arg;
    static graph_gen gen;
    gcut_arena *a = gcut_arena_new(r->env, NULL);
    gcut_op first[3];
    for (uint32_t k = 0; k < 3; k++) first[k] = (gcut_op)((r->index * 3 + k) % GEN_OPS);
    by_hand j = {
        .g = graph_random(&gen, gcut_module_new(r->env, a), "random", r->index, 3 + r->index % 6, first, 3)};
    gcut_ref loss = loss_of(&j);
    gcut_build b = {.g = j.g};
    for (uint32_t i = 0; i < j.g->params.n; i++) {
        const gen_bound *of = graph_bound(&gen, j.g->values.at[j.g->params.at[i].value].name);
        const gcut_dim_binding at[] = {{gen.sym[0], SIZE_N}, {gen.sym[1], SIZE_M}};
        int64_t hi = 0;
        if (!of || gcut_mark_find(&j.g->params.at[i].marks, GCUT_MARK_range)) continue;
        if (gcut_type_of(j.g, j.g->params.at[i].value)->dtype == GCUT_BOOL) continue;
        assert_true(gcut_dim_eval(j.g->module->dims, of->hi, at, 2, &hi));
        gcut_mark_add(a, &j.g->params.at[i].marks,
                      (gcut_mark){GCUT_MARK_range, 2, {{.i = of->lo}, {.i = hi}}});
    }
    differentiate(&j, loss);
    if (r->index % 3 == 0) {
        loss = gcut_b2(&b, GCUT_OP_add, gcut_bconvert(&b, loss, GCUT_F64), norm_of(&j));
        gcut_result_new(j.g, GCUT_ROLE_out, "all", loss);
        differentiate(&j, loss);
    }
    const gcut_ref norm = norm_of(&j), one = gcut_bconst(&b, norm, 0.1);
    gcut_result_new(j.g, GCUT_ROLE_out, "norm", norm);
    update(&j, gcut_b2(&b, GCUT_OP_div, one, norm));
    gcut_verify(j.g);
    r->text.arena = r->env->arena;
    gcut_print_graph(j.g, &(gcut_print_options){.no_loc = true}, &r->text);
    gcut_arena_free(a);
}

/* Is the refusal right, that no result depends on a parameter?  Then the norm of the gradients is that of none. */
static bool refused_rightly(gcut_ctx *ctx, gcut_step *want)
{
    if (!strstr(gcut_last_error(ctx), "depend on none of the parameters")) return false;
    const gcut_value_info norm = *gcut_step_value(want, "norm");
    return element(&norm, 0) == 1;
}

static void random_graphs_agree(void **state)
{
    (void)state;
    static const char *const policies[] = {"mincut", "save-all", "recompute-all", "sqrt", "torch", "mincut"};
    uint32_t planned = 0, finite = 0, n = (uint32_t)rounds(120);
    for (uint32_t i = 0; i < n; i++) {
        TRY("graph %u", i);
        random_job r = {.env = gcut_env_new(NULL, NULL), .index = i};
        must(r.env, write_random, &r);
        gcut_ctx *ctx = new_ctx();
        const gcut_size at[] = {{"N", SIZE_N}, {"M", SIZE_M}};
        gcut_graph *g = gcut_parse(ctx, r.text.at, r.text.n, "random.gcut", NULL);
        if (!g) fail_msg("%s\n%s", gcut_last_error(ctx), r.text.at);
        gcut_step *want = as_written(ctx, g, at, 2);
        for (int k = 0; k < 2; k++) {
            gcut_options o = TEST_OPTIONS;
            o.policy = policies[(i + (uint32_t)k * 3) % 6], o.at = at, o.nat = 2, o.f64 = true,
            o.no_algebra = true;
            o.backend = GCUT_BACKEND_PLANNED, o.lambda = i % 2 ? 1 : 0;
            gcut_step *s = gcut_compile(g, &o);
            if (!s && refused_rightly(ctx, want)) continue;
            if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s\n%s", gcut_last_error(ctx), r.text.at);
            finite += assert_same(r.text.at, want, s, 1e-7);
            char *joint = gcut_show(g, &o, GCUT_STAGE_JOINT, false);
            planned += strstr(joint, "cotan %") != NULL;
            gcut_free(joint);
            gcut_step_free(s);
        }
        gcut_step_free(want);
        gcut_ctx_free(ctx);
        gcut_env_free(r.env);
    }
    assert_that(finite * 10, >=, n * 2 * 8);
    assert_that(planned * 10, >=, n * 2 * 9); /* the others have no parameter that the loss depends on */
}

/* ---- what is refused ---- */

static void refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    net n = net_new(ctx, "refused");
    gcut_val dw[LAYERS];
    gcut_grad(n.loss, n.w, LAYERS, dw);
    next_all(&n, dw);
    assert_null(gcut_gradcheck(n.g, &TEST_OPTIONS, NULL, 0, 0));
    assert_says(ctx, GCUT_EGRAD, "has no `grad` result to compare with differences");
    assert_null(gcut_compile(n.g, (&(gcut_options){.forward_only = true, .budget = 1})));
    assert_says(ctx, GCUT_EPLAN, "it has gradients of its own");
    static const char *const marks[] = {
        "%d = full(shape=[], value=2.0) #cotan(%y)", "%d = full(shape=[4], value=1.0) #cotan(%x)",
        "%d = full(shape=[], value=1.0) #cotan(%x)", "%d = neg(%y) #cotan(%y)"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(param %%x: f32[4]) -> (out y: f32[]) {\n  %%y = sum(%%x)\n  %s\n  return "
                 "%%y\n}\n",
                 marks[i]);
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
        assert_null(g ? (void *)gcut_plan_new(g, NULL) : NULL);
        assert_non_null(strstr(gcut_last_error(ctx), "#cotan is of a float scalar 1"));
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_plan_of_the_built_in),
        cmocka_unit_test(models_have_the_bits_of_the_built_in),
        cmocka_unit_test(clipping_under_a_budget),
        cmocka_unit_test(nested_gradients),
        cmocka_unit_test(a_gradient_in_the_loss),
        cmocka_unit_test(random_graphs_agree),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
