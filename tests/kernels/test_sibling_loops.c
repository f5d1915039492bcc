/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops that read the same values: which ones are one kernel, that results are the interpreter's, and that peaks are
 * those predicted.
 */
#include <math.h>

#include "harness.h"

#include "api.h"
#include "driver/pipeline/compile.h"
#include "machine/lower/lowered.h"
#include "public.h"

/* Gates: two loops on one product, each read by products of its own.  The middle of the function stands for %s. */
static const char gates[] =
    "func @gates[N in 0..](input %%x: f32[N, 64], input %%u: f32[N, 64], input %%v: f32[N, 64], "
    "input %%w: f32[64, 64], input %%k: f32[64, 64]) -> (out o: f32[N, 64]) {\n"
    "  %%a = matmul(%%x, %%w)\n"
    "  %%p = mul(%%a, %%u)\n"
    "  %%p1 = matmul(%%p, %%k)\n"
    "  %%p2 = matmul(%%p, %%w)\n"
    "%s"
    "  %%q1 = matmul(%%q, %%k)\n"
    "  %%q2 = matmul(%%q, %%w)\n"
    "  %%r = add(%%p1, %%p2)\n"
    "  %%s = add(%%q1, %%q2)\n"
    "%s"
    "  %%o = add(%%r, %%t)\n"
    "  return %%o\n"
    "}\n";

static const struct {
    const char *what, *q, *t;
    bool one;
} cases[] = {
    {"the product is dead after both", "  %q = mul(%a, %v)\n", "  %t = neg(%s)\n", true},
    {"by a longer way", "  %b = tanh(%v)\n  %c = mul(%b, %a)\n  %q = add(%c, %b)\n", "  %t = neg(%s)\n",
     true},
    {"the product is read later, so that %q would wait beside it", "  %q = mul(%a, %v)\n",
     "  %t = mul(%s, %a)\n", false},
    {"%q depends on what is made between", "  %q = mul(%a, %p1)\n", "  %t = neg(%s)\n", false},
    {"nothing is read by both", "  %q = mul(%u, %v)\n", "  %t = mul(%s, %a)\n", false},
};

typedef struct job {
    gcut_env *env;
    const char *text;
    bool one; /* %p and %q are made by one kernel */
} job;

static gcut_ref value(const gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    assert_true(v != 0);
    return v;
}

static void lower(void *arg)
{
    job *j = arg;
    char text[2100];
    snprintf(text, sizeof text, "gcut 1\n%s", j->text);
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_module *m = gcut_parse_module(j->env, a, "gates", text, strlen(text));
    gcut_settings opt = gcut_settings_of(j->env, &(gcut_options){.at = &(gcut_size){"N", 200}, .nat = 1}, 0);
    opt.forward_only = true;
    const gcut_pipeline *q = gcut_pipeline_new(m->graphs.at[0], &opt, GCUT_STAGE_KERNEL, a);
    const gcut_lowered *h = q->program->lowered.at[GCUT_FORWARD];
    j->one = h->kernel_of[value(h->g, "p")] == h->kernel_of[value(h->g, "q")];
    gcut_arena_free(a);
}

static void which_are_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        snprintf(text, sizeof text, gates, cases[i].q, cases[i].t);
        gcut_env *env = gcut_env_new(NULL, NULL);
        job j = {.env = env, .text = text};
        must(env, lower, &j);
        if (j.one != cases[i].one) fail_msg("%s: %s kernel", cases[i].what, j.one ? "one" : "no common");
        gcut_env_free(env);
    }
}

/* Terms of %o are of the order of 1e3, and its sums of 64 products are off by some 8 * 2^-24 of that. */
static float allowed(const char *name, float x)
{
    (void)name;
    return 1e-2f + 1e-4f * fabsf(x);
}

static void results(void **state)
{
    (void)state;
    static const int64_t sizes[] = {200, 1, 33};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        snprintf(text, sizeof text, gates, cases[i].q, cases[i].t);
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = graph_from(ctx, text);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const gcut_size at = {"N", sizes[k]};
            gcut_options eager = forward_options(GCUT_BACKEND_EAGER, 1, &at, 1),
                         compiled = forward_options(GCUT_BACKEND_COMPILED, 2, &at, 1);
            gcut_step *a = gcut_compile(g, &eager), *b = gcut_compile(g, &compiled);
            must_run(ctx, a);
            must_run(ctx, b);
            assert_near(a, b, at.value, allowed);
            const gcut_stats *stats = gcut_step_stats(b);
            assert_int_equal(stats->peak_bytes, stats->predicted_bytes);
            gcut_step_free(a);
            gcut_step_free(b);
        }
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which_are_one), cmocka_unit_test(results)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
