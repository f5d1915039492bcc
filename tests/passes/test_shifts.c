/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which stacks of carried values become shifted stacks, and that all results keep their bits, at 0, 1 and 4 iterations.
 * The step of a recurrent network stores one stack of its states.
 */
#include "oracle.h"

#include "gradcut/gradcut.h"
#include "graph/verify.h"
#include "passes/passes.h"
#include "public.h"

/* %c and %d are carried, %x is sliced. */
static const struct {
    const char *name, *yields; /* of the body, and how many of them are stacked */
    uint32_t stacks, left;     /* stacks of the scan: as written, and after the pass and dce */
    const char *results;       /* the stacks that are read */
} rows[] = {
    {"one of each", "%p, %q, %c, %p", 2, 1, "%s0"},
    {"both read", "%p, %q, %c, %p", 2, 1, "%s0, %s1"},
    {"the later one first", "%p, %q, %p, %c", 2, 1, "%s1"},
    {"two values", "%p, %q, %c, %d, %p, %q", 4, 2, "%s0, %s1"},
    {"no stack of the next value", "%p, %q, %c, %d", 2, 2, "%s0, %s1"},
    {"the next of another value", "%p, %q, %c, %q", 2, 1, "%s0"},
    {"a value that does not change", "%c, %q, %c, %q", 2, 1, "%s0"},
};

typedef struct job {
    gcut_env *env;
    size_t row;
    int64_t steps;
    bool reverse;
} job;

/* Each stack that is read is added to itself. */
static const char *program(const job *j)
{
    gcut_text t = {.arena = j->env->arena};
    gcut_text_add(&t, "gcut 1\nfunc @f[T in 0..](input %%a: f32[3, 4], input %%b: f32[3, 4], "
                      "input %%xs: f32[T, 3, 4]) -> (out r0: f32[3, 4], out r1: f32[3, 4]");
    for (const char *s = rows[j->row].results; (s = strchr(s, '%')); s++)
        gcut_text_add(&t, ", out y%c: f32[T, 3, 4]", s[2]);
    gcut_text_add(&t, ") {\n  %%r0, %%r1");
    for (uint32_t k = 0; k < rows[j->row].stacks; k++) gcut_text_add(&t, ", %%s%u", k);
    gcut_text_add(
        &t, " = scan(%%a, %%b, %%xs, carries=2%s) body(%%c: f32[3, 4], %%d: f32[3, 4], %%x: f32[3, 4]) {\n",
        j->reverse ? ", reverse=true" : "");
    gcut_text_add(&t, "    %%p = add(%%c, %%x)\n    %%q = mul(%%d, %%p)\n    yield %s\n  }\n",
                  rows[j->row].yields);
    for (const char *s = rows[j->row].results; (s = strchr(s, '%')); s++)
        gcut_text_add(&t, "  %%y%c = add(%%s%c, %%s%c)\n", s[2], s[2], s[2]);
    gcut_text_add(&t, "  return %%r0, %%r1");
    for (const char *s = rows[j->row].results; (s = strchr(s, '%')); s++) gcut_text_add(&t, ", %%y%c", s[2]);
    gcut_text_add(&t, "\n}\n");
    return t.at;
}

static const gcut_node *find_scan(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == GCUT_OP_scan) return gcut_node_at(g, i);
    return NULL;
}

static void check_row(void *arg)
{
    const job *j = arg;
    gcut_arena *a = j->env->arena;
    const char *text = program(j);
    gcut_graph *g = gcut_parse_module(j->env, a, "t.gcut", text, strlen(text))->graphs.at[0];
    gcut_graph *h = gcut_pass_dce(gcut_pass_shifts(g, "shifts"), "dce");
    TRY("%s, %d steps%s", rows[j->row].name, (int)j->steps, j->reverse ? ", reverse" : "");
    gcut_verify(h);
    assert_int_equal(find_scan(h)->nres - 2, rows[j->row].left);
    gcut_array *in = gcut_calloc(a, g->params.n, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), j->steps);
        for (int64_t i = 0; i < in[k].n; i++) in[k].u.f[i] = (double)((i * 7 + k * 5) % 13 - 6) / 4;
    }
    gcut_array *x = run_graph(a, g, GCUT_STATED, in), *y = run_graph(a, h, GCUT_STATED, in);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_int_equal(x[k].n, y[k].n);
        assert_memory_equal(x[k].u.at, y[k].u.at, (size_t)x[k].n * 8);
    }
}

static void stacks_are_shifted(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 4};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 6; k++) {
            job j = {.env = gcut_env_new(NULL, NULL), .row = i, .steps = lengths[k / 2], .reverse = k % 2};
            must(j.env, check_row, &j);
            gcut_env_free(j.env);
        }
}

/* The backward loop reads the stack of states itself; with all that an iteration computes saved, it does not. */
static void a_network_saves_one_stack(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/rnn.gcut", NULL);
    assert_non_null(g);
    static const char *const pass[] = {"shifts"};
    gcut_options o = TEST_OPTIONS;
    o.policy = "save-all";
    int64_t saved[2];
    for (int k = 0; k < 2; k++) {
        o.without = k ? pass : NULL;
        o.nwithout = (size_t)k;
        gcut_plan *plan = gcut_plan_new(g, &o);
        assert_non_null(plan);
        saved[k] = gcut_plan_look(plan)->saved_bytes;
        gcut_plan_free(plan);
    }
    assert_that(saved[0], <, saved[1]);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacks_are_shifted),
                                       cmocka_unit_test(a_network_saves_one_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
