/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models cut into layers by hand, each planned for itself and called forwards, then backwards: the bits of
 * the whole step under every policy, and how far the sum of the plans is from the plan of the whole.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "bench/split_layers.h"

enum { MOST = 6, PARAMS = 64 };

static const struct {
    const char *model;
    const char *cut[MOST]; /* values that end layers, in order */
    const char *tied;      /* a parameter of two layers, whose gradient is a sum that the caller makes */
    double gap; /* stated: what the layers' plans cost more than one plan that saves the same cuts, at most,
                   as a share */
} models[] = {
    {"gpt2", {"embedding.add", "block0.add.2"}, "embedding.token", 0.02},
    {"resnet", {"stem.relu", "stage0.0.relu.2", "stage1.0.relu.2"}, NULL, 0.02},
    {"bert", {"embedding.ln.layer_norm", "block0.ln2.layer_norm"}, "embedding.token", 0.02},
};

typedef struct layer {
    gcut_graph *g;
    gcut_step *s;
    char *wrt[PARAMS];
    size_t nwrt;
    const char *from;
} layer;

typedef struct chain {
    gcut_ctx *ctx;
    gcut_graph *whole;
    layer at[MOST + 1];
    int n;
} chain;

static chain cut(int model)
{
    chain c = {.ctx = new_ctx()};
    char path[256];
    snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/models/%s.gcut", models[model].model);
    c.whole = gcut_load(c.ctx, path, NULL);
    assert_non_null(c.whole);
    char *text = gcut_show(c.whole, NULL, GCUT_STAGE_PRIMAL, false), *data = NULL;
    assert_non_null(text);
    /* The text of a stage has no data: that of the file. */
    FILE *f = fopen(path, "r");
    size_t n = 0;
    assert_non_null(f);
    assert_true(getdelim(&data, &n, '\0', f) > 0);
    fclose(f);
    if (!strstr(text, "data @") && strstr(data, "data @")) {
        char *both = calloc(1, strlen(text) + strlen(data) + 1), *func = strstr(data, "func @");
        assert_non_null(both);
        sprintf(both, "%.*s%s", (int)(func - data), data, strstr(text, "func @"));
        gcut_free(text);
        text = both;
    } else {
        char *own = strdup(text);
        gcut_free(text);
        text = own;
    }
    free(data);
    split_model *m = split_read(text);
    for (const char *from = NULL; c.n <= MOST; c.n++) {
        layer *l = &c.at[c.n];
        const char *to = models[model].cut[c.n];
        char *one = split_layer(m, from, to, l->wrt, &l->nwrt);
        l->from = from;
        l->g = gcut_parse(c.ctx, one, GCUT_TO_NUL, "layer.gcut", NULL);
        if (!l->g) fail_msg("%s: %s\n%s", models[model].model, gcut_last_error(c.ctx), one);
        free(one);
        from = to;
        if (!to) break;
    }
    c.n++;
    free(m->text);
    free(m);
    return c;
}

static void end(chain *c)
{
    for (int k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->at[k].nwrt; i++) free(c->at[k].wrt[i]);
    gcut_ctx_free(c->ctx);
}

static const gcut_size sizes[] = {{"N", 3}};

static gcut_options options_of(const layer *l, gcut_options o)
{
    o.unbound = GCUT_UNBOUND_RANDOM;
    o.seed = 3;
    if (!l) return o;
    o.apart = true;
    o.wrt = (const char *const *)l->wrt;
    o.nwrt = l->nwrt;
    return o;
}

/* x and y are the same bytes, or, where the caller adds them up, near. */
static void assert_same(const char *what, const gcut_value_info *x, const void *at, bool summed)
{
    if (!summed && memcmp(x->at, at, (size_t)x->bytes) != 0) fail_msg("%s: %s differs", what, x->name);
    for (int64_t i = 0; summed && i < x->bytes / 4; i++) {
        float a = ((const float *)x->at)[i], b = ((const float *)at)[i];
        if (!(fabsf(a - b) <= 1e-6f + 1e-5f * fabsf(a))) fail_msg("%s: %s[%d]", what, x->name, (int)i);
    }
}

/* Forwards, then backwards.  Two buffers carry all activations, which are transient, two their cotangents. */
static void run_chain(chain *c, float *act[2], float *cot[2])
{
    for (int k = 0; k < c->n; k++) {
        layer *l = &c->at[k];
        const gcut_value_info *in = l->from ? gcut_step_value(l->s, l->from) : NULL;
        if (in) assert_int_equal(gcut_bind_n(l->s, l->from, act[k % 2], in->rank, in->dim), GCUT_OK);
        if (k + 1 < c->n) {
            const gcut_value_info *out = gcut_step_value(l->s, "y");
            assert_int_equal(gcut_bind_n(l->s, "y", act[(k + 1) % 2], out->rank, out->dim), GCUT_OK);
        }
        if (gcut_run_forward(l->s) != GCUT_OK) fail_msg("layer %d: %s", k, gcut_last_error(c->ctx));
    }
    for (int k = c->n; k-- > 0;) {
        layer *l = &c->at[k];
        char grad[SPLIT_NAME + 8];
        if (k + 1 < c->n) {
            const gcut_value_info *dy = gcut_step_value(l->s, "dy");
            assert_int_equal(gcut_bind_n(l->s, "dy", cot[(k + 1) % 2], dy->rank, dy->dim), GCUT_OK);
        }
        if (l->from) {
            snprintf(grad, sizeof grad, "grad.%s", l->from);
            const gcut_value_info *dx = gcut_step_value(l->s, grad);
            assert_int_equal(gcut_bind_n(l->s, grad, cot[k % 2], dx->rank, dx->dim), GCUT_OK);
        }
        if (gcut_run_backward(l->s) != GCUT_OK) fail_msg("layer %d: %s", k, gcut_last_error(c->ctx));
    }
}

/* Every result, gradient and new state of the whole, in the layer that has it. */
static void compare(const chain *c, gcut_step *whole, const char *tied, const char *what)
{
    for (size_t i = 0; i < gcut_step_value_count(whole); i++) {
        const gcut_value_info x = *gcut_step_value_at(whole, i);
        if (strcmp(x.role, "out") != 0 && strcmp(x.role, "grad") != 0 && !x.updated) continue;
        bool summed = tied && !strncmp(x.name, "grad.", 5) && !strcmp(x.name + 5, tied);
        float *sum = calloc(1, (size_t)x.bytes);
        const void *at = NULL;
        assert_non_null(sum);
        for (int k = 0; k < c->n; k++) {
            gcut_value_info y;
            if (!value_of(c->at[k].s, x.name, &y)) continue;
            at = y.at;
            for (int64_t e = 0; summed && e < x.bytes / 4; e++) sum[e] += ((const float *)y.at)[e];
        }
        gcut_clear_errors(c->ctx);
        if (!at) fail_msg("%s: no layer has %s", what, x.name);
        assert_same(what, &x, summed ? sum : at, summed);
        free(sum);
    }
}

static const char *const policies[] = {"mincut",    "save-all", "recompute-all",    "torch",
                                       "torch:0.5", "sqrt",     "every-2nd-matmul", "attention-only"};

static void bits_of_the_whole(void **state)
{
    (void)state;
    float *act[2], *cot[2];
    for (int k = 0; k < 2; k++) act[k] = aligned_alloc(64, 1 << 20), cot[k] = aligned_alloc(64, 1 << 20);
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        chain c = cut((int)m);
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
            for (int run = 0; run < 4; run++) {
                /* Interpreted under every policy; compiled under two, at one and two threads.  The forward
                 * call of the joint backend runs the graph before differentiation, and before the identities
                 * that follow it. */
                const gcut_backend backends[] = {GCUT_BACKEND_PLANNED, GCUT_BACKEND_COMPILED,
                                                 GCUT_BACKEND_COMPILED, GCUT_BACKEND_JOINT};
                if (run == 1 && p != 0 && p != 2) continue;
                if (run > 1 && p) continue;
                if (run == 1 && p == 0 && !nightly()) continue; /* two threads compute the same */
                gcut_options o = {.backend = backends[run],
                                  .policy = policies[p],
                                  .threads = run == 2 ? 2 : 1,
                                  .no_algebra = backends[run] == GCUT_BACKEND_JOINT,
                                  .at = sizes,
                                  .nat = 1};
                char what[128];
                snprintf(what, sizeof what, "%s, %s, run %d", models[m].model, policies[p], run);
                gcut_options w = options_of(NULL, o);
                gcut_step *whole = gcut_compile(c.whole, &w);
                must_run(c.ctx, whole);
                for (int k = 0; k < c.n; k++) {
                    gcut_options l = options_of(&c.at[k], o);
                    c.at[k].s = gcut_compile(c.at[k].g, &l);
                    if (!c.at[k].s || gcut_prepare(c.at[k].s) != GCUT_OK)
                        fail_msg("%s, layer %d: %s", what, k, gcut_last_error(c.ctx));
                }
                run_chain(&c, act, cot);
                compare(&c, whole, models[m].tied, what);
                for (int k = 0; k < c.n; k++) gcut_step_free(c.at[k].s);
                gcut_step_free(whole);
            }
        end(&c);
    }
    for (int k = 0; k < 2; k++) free(act[k]), free(cot[k]);
}

/* What the plans pay together, by the prices of the cut: without flips, which go by lowered steps.  The plan of the whole chooses what crosses each cut, so that it never costs
 * more; made to save the values at the cuts, as the layers have to, it costs about the same: a layer's result
 * that its own backward graph reads is saved there once more, or computed again. */
static void sum_of_plans(void **state)
{
    (void)state;
    static const double lambdas[] = {GCUT_LAMBDA_FASTEST, 0.05, 1};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        chain c = cut((int)m);
        for (size_t i = 0; i < sizeof lambdas / sizeof *lambdas; i++) {
            const gcut_size large[] = {{"N", 64}};
            gcut_options o =
                options_of(NULL, (gcut_options){.lambda = lambdas[i], .at = large, .nat = 1, UNREFINED});
            double cost[2], sum = 0;
            int64_t saved[2], all = 0;
            for (int forced = 0; forced < 2; forced++) {
                o.save = models[m].cut, o.nsave = forced ? (size_t)c.n - 1 : 0;
                gcut_plan *whole = gcut_plan_new(c.whole, &o);
                if (!whole) fail_msg("%s", gcut_last_error(c.ctx));
                cost[forced] = gcut_plan_look(whole)->cost_ns;
                saved[forced] = gcut_plan_look(whole)->saved_bytes;
                gcut_plan_free(whole);
            }
            o.nsave = 0;
            for (int k = 0; k < c.n; k++) {
                gcut_options l = options_of(&c.at[k], o);
                gcut_plan *p = gcut_plan_new(c.at[k].g, &l);
                if (!p) fail_msg("%s", gcut_last_error(c.ctx));
                sum += gcut_plan_look(p)->cost_ns;
                all += gcut_plan_look(p)->saved_bytes;
                gcut_plan_free(p);
            }
            print_message(
                "%s at %g ns/B: the whole %.0f ns, %.0f with the cuts saved, layers %.0f; saved %lld, %lld, "
                "%lld bytes\n",
                models[m].model, lambdas[i], cost[0], cost[1], sum, (long long)saved[0], (long long)saved[1],
                (long long)all);
            assert_true(sum >= cost[0] * (1 - 1e-9));
            if (!(sum <= cost[1] * (1 + models[m].gap)))
                fail_msg("%s: the gap is above what is stated", models[m].model);
        }
        end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_of_the_whole), cmocka_unit_test(sum_of_plans)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
