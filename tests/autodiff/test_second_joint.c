/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Joint graphs that are differentiated again.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"

/* f = sum(s w^3), w of 3 elements and the scalar s; %ds is taken, as a parameter. */
static const char cubes[] =
    "gcut 1\n"
    "func @f(param %w: f64[3], param %s: f64[], input %ds: f64[]) -> (out loss: f64[]) {\n"
    "  %q = mul(%w, %w) %c = mul(%q, %w) %t = sum(%c) %l = mul(%t, %s) %loss = add(%l, %ds)\n"
    "  return %loss\n"
    "}\n";

static const gcut_array *result(gcut_arena *a, const gcut_graph *g, const gcut_array *at, gcut_role role,
                                const char *name)
{
    return &run_graph(a, g, GCUT_EXACT, with_cotangent(a, g, at))[find_result(g, role, name)];
}

static gcut_array *point(gcut_arena *a)
{
    gcut_array *at = gcut_calloc(a, 3, sizeof *at);
    at[0] = gcut_array_new(a, GCUT_F64, 1, (int64_t[]){3});
    at[1] = gcut_array_new(a, GCUT_F64, 0, NULL);
    at[2] = gcut_array_new(a, GCUT_F64, 0, NULL);
    for (int i = 0; i < 3; i++) at[0].u.f[i] = i + 1;
    at[1].u.f[0] = 5;
    return at;
}

static void body_again(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = gcut_parse_module(env, a, "cubes", cubes, sizeof cubes - 1);
    gcut_graph *first = gcut_joint(m->graphs.at[0], NULL, "first");
    gcut_array *at = point(a);

    /* The loss again: the same gradients, beside those that were there as `out`; ds is a name of a parameter.
     */
    gcut_graph *same = gcut_joint(first, NULL, "same");
    gcut_verify_module(m);
    const gcut_array *dw = result(a, same, at, GCUT_ROLE_grad, "w");
    const gcut_array *was = result(a, same, at, GCUT_ROLE_out, "dw");
    for (int i = 0; i < 3; i++) {
        assert_true(dw->u.f[i] == 15.0 * (i + 1) * (i + 1));
        assert_true(was->u.f[i] == dw->u.f[i]);
    }
    assert_true(result(a, same, at, GCUT_ROLE_out, "ds.1")->u.f[0] == 36);

    /* d f / d s = sum w^3 as the loss: its gradients are 3 w^2 and 0. */
    gcut_graph *mixed = gcut_joint(first, &(gcut_joint_options){.loss = "ds.1"}, "mixed");
    gcut_verify_module(m);
    dw = result(a, mixed, at, GCUT_ROLE_grad, "w");
    for (int i = 0; i < 3; i++) assert_true(dw->u.f[i] == 3.0 * (i + 1) * (i + 1));
    assert_true(result(a, mixed, at, GCUT_ROLE_grad, "s")->u.f[0] == 0);

    /* And a third time: every name is new. */
    gcut_graph *third = gcut_joint(mixed, &(gcut_joint_options){.loss = "loss"}, "third");
    gcut_verify_module(m);
    assert_true(result(a, third, at, GCUT_ROLE_grad, "s")->u.f[0] == 36);
    assert_int_equal(m->graphs.n, 5);
    gcut_arena_free(a);
}

static void gradients_become_ordinary_results(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, body_again, env);
    gcut_env_free(env);
}

static void body_backward(void *arg)
{
    static const char backward[] =
        "gcut 1\n"
        "func @b(saved %q: f64[3], param %w: f64[3], cotan %dy: f64[]) -> (grad w: f64[3]) {\n"
        "  %d = broadcast(%dy, shape=[3], axes=[]) %g = mul(%d, %q) return %g\n"
        "}\n";
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, env->arena);
    gcut_joint(gcut_parse_module(env, a, "backward", backward, sizeof backward - 1)->graphs.at[0], NULL, "j");
}

static void a_backward_graph_is_refused(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    assert_int_equal(gcut_protect(env, body_backward, env), GCUT_EGRAD);
    assert_non_null(strstr(env->diags[0].message, "@b is a backward graph"));
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_become_ordinary_results),
        cmocka_unit_test(a_backward_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
