/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identities of real numbers in the pipeline: both graphs of a step, what is listed, what the user turns off
 * or names, plan files, checks.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <unistd.h>

#include "gradcut/gradcut.h"

static const char doubled[] = "gcut 1\nfunc @f[N in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
                              "  %two = full(shape=[N], value=2.0)\n  %y = mul(%two, %x)\n  %e = exp(%y)\n"
                              "  %l = log(%e)\n  %loss = sum(%l)\n  return %loss\n}\n";

typedef struct shown {
    gcut_ctx *ctx;
    gcut_graph *g;
} shown;

static shown parsed(const char *text)
{
    shown s = {.ctx = gcut_ctx_new(NULL)};
    s.g = gcut_parse(s.ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
    if (!s.g) fail_msg("%s", gcut_last_error(s.ctx));
    return s;
}

static bool shows(const shown *s, const gcut_options *o, gcut_stage_name stage, const char *what)
{
    char *text = gcut_show(s->g, o, stage, false);
    if (!text) fail_msg("%s", gcut_last_error(s->ctx));
    bool found = strstr(text, what) != NULL;
    gcut_free(text);
    return found;
}

/* sum(log(exp(2 x))) has no exponential in either graph, unless somebody asks for one. */
static void no_exponential_is_left(void **state)
{
    (void)state;
    shown s = parsed(doubled);
    static const char *const pass = "algebra", *const value = "%e", *const log = "l";
    const gcut_options plain = {0}, without = {.no_algebra = true},
                       left_out = {.without = &pass, .nwithout = 1}, saved = {.save = &value, .nsave = 1},
                       recomputed = {.recompute = &log, .nrecompute = 1};
    for (gcut_stage_name k = GCUT_STAGE_JOINT; k <= GCUT_STAGE_KERNEL; k++) {
        assert_false(shows(&s, &plain, k, "exp(%"));
        assert_true(shows(&s, &plain, k, "// %l: log(exp(x)) = x, f.gcut:6\n"));
        assert_true(shows(&s, &without, k, "exp(%"));
        assert_true(shows(&s, &left_out, k, "exp(%"));
        assert_false(shows(&s, &without, k, "//"));
        assert_true(shows(&s, &saved, k, "exp(%"));
    }
    assert_true(shows(&s, &plain, GCUT_STAGE_PRIMAL, "exp(%"));
    assert_true(shows(&s, &recomputed, GCUT_STAGE_JOINT, "%l: f32[N] = log("));
    gcut_stage_info *look = gcut_stage_look(s.g, &plain, GCUT_STAGE_JOINT);
    assert_true(look && look->nrewrites >= 1);
    assert_string_equal(look->rewrite[0]->pattern, "log(exp(x))");
    assert_string_equal(look->rewrite[0]->becomes, "x");
    assert_string_equal(look->rewrite[0]->value, "l");
    assert_string_equal(look->rewrite[0]->where, "f.gcut:6");
    gcut_free(look);
    gcut_check_report *r = gcut_gradcheck(s.g, NULL, NULL, 0, 0);
    if (!r || !r->ok) fail_msg("%s", r ? r->text : gcut_last_error(s.ctx));
    gcut_free(r);
    gcut_ctx_free(s.ctx);
}

/* A value that somebody names stays, be it matched, dropped or what a dropped one is computed from; the rest
 * is rewritten. */
static void named_values_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"%p", "%q", "%r", "%s", "%t", "%x"};
    shown s =
        parsed("gcut 1\nfunc @f(param %x: f32[4], param %w: f32[4]) -> (out loss: f32[]) {\n"
               "  %p = sin(%w)\n  %q = cos(%p)\n  %s = mul(%x, %q)\n  %r = div(%s, %q)\n  %t = exp(%r)\n"
               "  %l = log(%t)\n  %k = tanh(%l)\n  %e = exp(%k)\n  %d = log(%e)\n  %loss = sum(%d)\n"
               "  return %loss\n}\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const gcut_options o = {.save = &names[i], .nsave = 1};
        char name[16];
        snprintf(name, sizeof name, "%s: f32[4]", names[i]);
        assert_true(shows(&s, &o, GCUT_STAGE_JOINT, name));
        assert_int_equal(shows(&s, &o, GCUT_STAGE_JOINT, "= log("), !strcmp(names[i], "%t"));
    }
    gcut_ctx_free(s.ctx);
}

/* A plan file of rewritten graphs is that of the same graphs again. */
static void plans_are_replayed(void **state)
{
    (void)state;
    char path[] = "/tmp/gradcut-algebra-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < 3; i++) {
        shown s = parsed(doubled);
        if (i)
            s.g = gcut_load(s.ctx,
                            i == 1 ? GCUT_SOURCE_DIR "/tests/models/vae.gcut"
                                   : GCUT_SOURCE_DIR "/tests/models/resnet.gcut",
                            NULL);
        gcut_plan *plan = gcut_plan_new(s.g, NULL), *again;
        if (!plan) fail_msg("%s", gcut_last_error(s.ctx));
        char *json = gcut_plan_json(plan);
        FILE *f = fopen(path, "w");
        assert_true(f && fputs(json, f) >= 0 && fclose(f) == 0);
        again = gcut_plan_new(s.g, &(gcut_options){.plan = path});
        if (!again) fail_msg("%s", gcut_last_error(s.ctx));
        assert_int_equal(gcut_plan_look(plan)->saved_bytes, gcut_plan_look(again)->saved_bytes);
        gcut_free(json);
        gcut_plan_free(plan);
        gcut_plan_free(again);
        gcut_ctx_free(s.ctx);
    }
    close(fd);
    unlink(path);
}

/* crosscheck --passes says that identities of real numbers were applied, where they were. */
static void checks_name_the_pass(void **state)
{
    (void)state;
    shown s = parsed(doubled);
    const char *what = "algebra applied ";
    for (int k = 0; k < 2; k++) {
        const gcut_options o = {.no_algebra = k};
        gcut_check_report *r = gcut_check_passes(s.g, &o, NULL, 0, 0);
        if (!r || !r->ok) fail_msg("%s", r ? r->text : gcut_last_error(s.ctx));
        assert_int_equal(strstr(r->text, what) == NULL, k);
        gcut_free(r);
    }
    gcut_ctx_free(s.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_exponential_is_left),
        cmocka_unit_test(named_values_stay),
        cmocka_unit_test(plans_are_replayed),
        cmocka_unit_test(checks_name_the_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
