/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The joint graph itself: its names, locations and size, and what is refused.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "interp/initial_values.h"
#include "passes/passes.h"

static const char two_layers[] = "gcut 1\n"
                                 "func @net[N in 1..](param %w1: f32[3, 4], param %w2: f32[4, 2], param "
                                 "%spare: f32[5], input %x: f32[N, 3], "
                                 "param %n: i32[2]) -> (out loss: f32[], out z: f32[N, 2]) {\n"
                                 "  %h1: f32[N, 4] = matmul(%x, %w1) !1\n"
                                 "  %h2: f32[N, 4] = relu(%h1) !2\n"
                                 "  %z: f32[N, 2] = matmul(%h2, %w2) !2\n"
                                 "  %q: f32[N, 2] = mul(%z, %z) !2\n"
                                 "  %loss: f32[] = sum(%q) !2\n"
                                 "  return %loss, %z\n"
                                 "}\n"
                                 "loc !1 = \"net.c\":10:3\n"
                                 "loc !2 = \"net.c\":11:3\n";

static uint32_t count(const gcut_graph *g, gcut_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) n += g->nodes.at[i].op == op;
    return n;
}

static void joint_shape_body(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = gcut_parse_module(env, a, "net.gcut", two_layers, sizeof two_layers - 1);
    gcut_graph *g = m->graphs.at[0], *j = gcut_joint(g, NULL, "net.joint");
    gcut_verify_module(m);
    assert_int_equal(m->graphs.n, 2);
    for (gcut_ref v = 1; v < g->values.n; v++)
        assert_int_not_equal(gcut_graph_find(j, g->values.at[v].name), 0);
    static const char *const built[] = {"dloss", "dq", "dz", "dh2", "dh1", "dw1", "dw2", "dspare"};
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        assert_int_not_equal(gcut_graph_find(j, built[i]), 0);
    assert_int_equal(gcut_graph_find(j, "dx"), 0);
    assert_int_equal(gcut_graph_find(j, "dn"), 0);
    assert_int_equal(count(j, GCUT_OP_matmul), 2 + 3);
    const gcut_node *dw1 = gcut_def(j, gcut_graph_find(j, "dw1"));
    assert_string_equal(m->locs.at[dw1->loc].name, "grad");
    assert_int_equal(gcut_loc_place(m, dw1->loc).line, 10);
    assert_int_equal(j->params.n, g->params.n + 1);
    assert_int_equal(j->results.n, 2 + 3);
    /* No tensor of zeros but relu's own and the one gradient that is nothing else. */
    assert_int_equal(count(j, GCUT_OP_full), 2);
    assert_int_equal(gcut_def(j, j->results.at[find_result(j, GCUT_ROLE_grad, "spare")].value)->op,
                     GCUT_OP_full);

    const char *globs[] = {"w?", "x*"};
    gcut_graph *some =
        gcut_joint(g, &(gcut_joint_options){.loss = "loss", .wrt = globs, .nwrt = 2}, "net.some");
    assert_int_equal(some->results.n, 2 + 3);
    find_result(some, GCUT_ROLE_grad, "x");
    const char *last = "*2";
    gcut_graph *one = gcut_joint(g, &(gcut_joint_options){.wrt = &last, .nwrt = 1}, "net.one");
    assert_int_equal(count(one, GCUT_OP_matmul), 2 + 1);
    assert_int_equal(gcut_graph_find(one, "dh2"), 0);
    gcut_arena_free(a);
}

static void the_joint_graph_is_named_located_and_minimal(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, joint_shape_body, env);
    gcut_env_free(env);
}

typedef struct refusal {
    gcut_env *env;
    const char *results, *returned;
    gcut_joint_options opt;
} refusal;

static void refuse(void *arg)
{
    refusal *r = arg;
    gcut_arena *a = gcut_arena_new(r->env, r->env->arena);
    gcut_text t = {.arena = a};
    gcut_text_add(&t,
                  "gcut 1\nfunc @f(param %%a: f32[4], param %%i: i32[]) -> (%s) { %%s = sum(%%a) %%p = "
                  "exp(%%s) return %s }\n",
                  r->results, r->returned);
    gcut_joint(gcut_parse_module(r->env, a, "refuse", t.at, t.n)->graphs.at[0], &r->opt, "j");
}

static void bad_requests_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const nothing = "b*", *const l = "l";
    static const char *const integer = "i";
    const struct {
        refusal r;
        const char *says;
    } cases[] = {
        {{NULL, "out l: f32[]", "%s", {.loss = "m"}}, "no result 'm'"},
        {{NULL, "out l: f32[4]", "%a", {.loss = "l"}}, "not a float scalar"},
        {{NULL, "out l: i32[]", "%i", {.loss = "l"}}, "not a float"},
        {{NULL, "out l: i32[]", "%i", {.cotan = &l, .ncotan = 1}}, "not a float"},
        {{NULL, "out l: i32[]", "%i", {.loss = NULL}}, "no float result"},
        {{NULL, "out l: f32[4]", "%a", {.minimised = true}}, "no scalar result"},
        {{NULL, "out l: f32[], out m: f32[]", "%s, %p", {.minimised = true}}, "several scalar results"},
        {{NULL, "out l: f32[]", "%s", {.wrt = &nothing, .nwrt = 1}}, "'b*' matches no"},
        {{NULL, "out l: f32[]", "%s", {.wrt = &integer, .nwrt = 1}}, "'i' matches no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        refusal r = cases[i].r;
        r.env = gcut_env_new(NULL, NULL);
        assert_int_equal(gcut_protect(r.env, refuse, &r), GCUT_EGRAD);
        assert_int_equal(r.env->ndiags, 1);
        assert_non_null(strstr(r.env->diags[0].message, cases[i].says));
        gcut_env_free(r.env);
    }
}

/* Squares of four strips of %x, cut in any order, whose cotangents arrive in the reverse of it. */
static void strips_body(void *arg)
{
    static const char *const start[] = {"0", "2", "3", "6"}, *const limit[] = {"2", "3", "6", "8"};
    gcut_env *env = arg;
    for (int code = 0; code < 256; code++) {
        const int order[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
        unsigned seen = 0;
        for (int k = 0; k < 4; k++) seen |= 1u << order[k];
        if (seen != 15) continue;
        TRY("order %d %d %d %d", order[0], order[1], order[2], order[3]);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_text t = {.arena = a};
        gcut_text_add(
            &t, "gcut 1\nfunc @f(param %%x: f64[2, 8]) -> (out l: f64[]) {\n%%t0 = full(shape=[], value=0.0, "
                "dtype=\"f64\")\n");
        for (int k = 0; k < 4; k++)
            gcut_text_add(&t,
                          "%%s%d = slice(%%x, start=[0, %s], limit=[2, %s])\n%%q%d = mul(%%s%d, %%s%d)\n"
                          "%%u%d = sum(%%q%d)\n%%t%d = add(%%t%d, %%u%d)\n",
                          k, start[order[k]], limit[order[k]], k, k, k, k, k, k + 1, k, k);
        gcut_text_add(&t, "return %%t4\n}\n");
        gcut_graph *g = gcut_parse_module(env, a, "strips", t.at, t.n)->graphs.at[0];
        gcut_graph *j = gcut_pass_dce(gcut_pass_fold(gcut_joint(g, NULL, "j"), "folded"), "live");
        assert_int_equal(count(j, GCUT_OP_pad), 0);
        assert_int_equal(count(j, GCUT_OP_concat), 1);
        const gcut_ref dx = j->results.at[find_result(j, GCUT_ROLE_grad, "x")].value;
        const gcut_node *whole = gcut_def(j, dx);
        assert_int_equal(whole->op, GCUT_OP_concat);
        assert_int_equal(whole->nargs, 4);
        gcut_array in[2] = {gcut_random_array(a, GCUT_F64, 2, (gcut_dim[]){2, 8}, 1, "x", 0, 1),
                            gcut_random_array(a, GCUT_F64, 0, NULL, 1, "one", 0, 1)};
        in[1].u.f[0] = 1;
        gcut_array *values = gcut_calloc(a, j->values.n, sizeof *values);
        gcut_array *out = gcut_calloc(a, j->results.n, sizeof *out);
        gcut_interp(j, GCUT_EXACT, a, in, out, values);
        for (int k = 0; k < 16; k++) assert_true(values[dx].u.f[k] == 2 * in[0].u.f[k]);
        gcut_arena_free(a);
    }
}

static void gradients_of_adjacent_slices_are_joined_in_any_order(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, strips_body, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_joint_graph_is_named_located_and_minimal),
        cmocka_unit_test(gradients_of_adjacent_slices_are_joined_in_any_order),
        cmocka_unit_test(bad_requests_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
