/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls that become the ops of their functions: the same values, no call left.
 */
#include "oracle.h"

static const char text[] =
    "gcut 1\n"
    "func @outer[M, K](input %x: f64[M], input %y: f64[K]) -> (out p: f64[M, K], out x: f64[M], out sum: "
    "f64[]) {\n"
    "  %xx = broadcast(%x, shape=[M, K], axes=[0]) %yy = broadcast(%y, shape=[M, K], axes=[1])\n"
    "  %p = mul(%xx, %yy) %s = sum(%p)\n"
    "  return %p, %x, %s\n"
    "}\n"
    "func @ends[L in 2..](input %z: f64[L]) -> (out e: f64[2]) {\n"
    "  %a = slice(%z, start=[0], limit=[1]) %b = slice(%z, start=[L - 1], limit=[L])\n"
    "  %e = concat(%a, %b, axis=0)\n"
    "  return %e\n"
    "}\n"
    "func @both[L in 2..](input %z: f64[L]) -> (out y: f64[2, 2], out total: f64[]) {\n"
    "  %e = call(@ends, %z) %d: f64[L] = scan(%z, carries=0) body(%one) { %n = neg(%one) yield %n }\n"
    "  %f = call(@ends, %d) %y, %x, %total = call(@outer, %e, %f)\n"
    "  return %y, %total\n"
    "}\n"
    "func @f[N in 1..](input %u: f64[N], input %v: f64[2*N + 1], input %p: bool[])\n"
    "    -> (out a: f64[2, 2], out b: f64[], out c: f64[2]) {\n"
    "  %w = concat(%u, %v, axis=0)\n"
    "  %a, %b = call(@both, %w)\n"
    "  %c = if(%p) then { %q = call(@ends, %w) yield %q } else { %r = call(@ends, %v) yield %r }\n"
    "  return %a, %b, %c\n"
    "}\n";

static uint32_t calls(const gcut_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *node = gcut_node_at(g, i);
        n += node->op == GCUT_OP_call;
        for (uint32_t k = 0; k < node->nregs; k++)
            if (gcut_region_at(g, node, k)->body->is_body) n += calls(gcut_region_at(g, node, k)->body);
    }
    return n;
}

static void check(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = gcut_parse_module(env, a, "calls", text, sizeof text - 1);
    gcut_graph *g = m->graphs.at[m->graphs.n - 1], *flat = gcut_pass_inline(g, "flat");
    gcut_verify_module(m);
    assert_int_equal(calls(g), 3);
    assert_int_equal(calls(flat), 0);
    for (gcut_ref v = 1; v < g->values.n; v++)
        assert_int_not_equal(gcut_graph_find(flat, g->values.at[v].name), 0);
    for (int64_t n = 1; n <= 3; n += 2)
        for (int p = 0; p < 2; p++) {
            gcut_array at[3];
            for (uint32_t k = 0; k < 3; k++) {
                at[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), n);
                for (int64_t i = 0; k < 2 && i < at[k].n; i++) at[k].u.f[i] = sin((double)(3 * i + k));
            }
            at[2].u.i[0] = p;
            gcut_array *x = run_graph(a, g, GCUT_EXACT, at), *y = run_graph(a, flat, GCUT_EXACT, at);
            for (uint32_t r = 0; r < g->results.n; r++)
                assert_memory_equal(x[r].u.f, y[r].u.f, (size_t)x[r].n * sizeof(double));
        }
    gcut_arena_free(a);
}

/* Functions each of which calls the one before `times` times. */
typedef struct tower {
    gcut_env *env;
    int levels, times;
} tower;

static void check_tower(void *arg)
{
    const tower *t = arg;
    gcut_arena *a = gcut_arena_new(t->env, t->env->arena);
    gcut_text s = {.arena = a};
    gcut_text_add(&s, "gcut 1\nfunc @f0(input %%x: f64[]) -> (out y: f64[]) { %%y = sin(%%x) return %%y }\n");
    for (int i = 1; i <= t->levels; i++) {
        gcut_text_add(&s, "func @f%d(input %%x0: f64[]) -> (out y: f64[]) {", i);
        for (int k = 0; k < t->times; k++) gcut_text_add(&s, " %%x%d = call(@f%d, %%x%d)", k + 1, i - 1, k);
        gcut_text_add(&s, " return %%x%d }\n", t->times);
    }
    gcut_module *m = gcut_parse_module(t->env, a, "tower.gcut", s.at, s.n);
    gcut_inline_check(m->graphs.at[m->graphs.n - 1]);
    gcut_arena_free(a);
}

/* Where each function calls the one before twice, 18 levels fit and 20 do not; 60 levels, 2^60 ops, are told at once. */
static void calls_have_limits(void **state)
{
    (void)state;
    static const struct {
        int levels, times;
        const char *says;
    } towers[] = {{18, 2, NULL},
                  {20, 2, "@f20 has more than 1048576 ops in bodies and functions"},
                  {60, 2, "@f60 has more than 1048576 ops in bodies and functions"},
                  {1000, 1, NULL},
                  {1001, 1, "@f1001 has more than 1000 calls and bodies within each other"},
                  {100000, 1, "@f100000 has more than 1000 calls and bodies within each other"}};
    for (size_t k = 0; k < sizeof towers / sizeof *towers; k++) {
        gcut_env *env = gcut_env_new(NULL, NULL);
        tower t = {env, towers[k].levels, towers[k].times};
        TRY("%d levels of %d calls", t.levels, t.times);
        if (towers[k].says) {
            assert_int_equal(gcut_protect(env, check_tower, &t), GCUT_EUNSUPPORTED);
            assert_non_null(strstr(env->diags[0].message, towers[k].says));
        } else {
            must(env, check_tower, &t);
        }
        gcut_env_free(env);
    }
}

static void inlined_functions_compute_the_same(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, check, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_compute_the_same),
        cmocka_unit_test(calls_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
