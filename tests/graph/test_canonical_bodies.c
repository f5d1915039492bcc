/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_bodies_canonical: the text of the graph reads back to the same ids and names, bodies included, and the
 * results keep their bits.  On what reverse mode makes of the corpus and the zoo, and on random graphs, with every node
 * twice, so that nodes share bodies and names; on a loop that captures a value twice and one in vain.
 */
#include "oracle.h"

#include <glob.h>

#include "autodiff/autodiff.h"
#include "graph/rewrite.h"
#include "graph/verify.h"

#define SEEDS 200

static const char *text_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(g, &(gcut_print_options){0}, &t);
    return t.at;
}

/* g with each node twice; the second ones give the results. */
static gcut_graph *doubled(gcut_arena *a, gcut_graph *g)
{
    gcut_graph *twice = gcut_graph_shell(g, gcut_printf(a, "%s.twice", g->name));
    gcut_ref *first = gcut_calloc(a, g->values.n, sizeof *first),
             *second = gcut_calloc(a, g->values.n, sizeof *second);
    for (uint32_t i = 0; i < g->params.n; i++) gcut_param_copy(twice, g, i, first);
    memcpy(second, first, g->values.n * sizeof *first);
    gcut_rewrite_append(twice, g, first);
    gcut_rewrite_append(twice, g, second);
    for (uint32_t i = 0; i < g->results.n; i++) gcut_result_copy(twice, g, i, second);
    return twice;
}

static uint32_t count_bodies(const gcut_graph *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->regions.n; i++)
        if (g->regions.at[i].body->is_body) n += 1 + count_bodies(g->regions.at[i].body);
    return n;
}

#define SAME(what, x, y)                                                                                     \
    do {                                                                                                     \
        if ((x) != (y))                                                                                      \
            fail_msg("%s: %s of @%s is %lld, not %lld", where, what, g->name, (long long)(y),                \
                     (long long)(x));                                                                        \
    } while (0)

static void same_ids(const char *where, const gcut_graph *g, const gcut_graph *h)
{
    SAME("the number of values", g->values.n, h->values.n);
    SAME("the number of parameters", g->params.n, h->params.n);
    SAME("the number of nodes", g->nodes.n, h->nodes.n);
    SAME("the number of results", g->results.n, h->results.n);
    for (uint32_t k = 0; k < g->params.n; k++)
        SAME("a parameter", g->params.at[k].value, h->params.at[k].value);
    for (uint32_t k = 0; k < g->results.n; k++) {
        SAME("a result", g->results.at[k].value, h->results.at[k].value);
        assert_string_equal(h->results.at[k].name, g->results.at[k].name);
    }
    gcut_arena *a = h->module->arena;
    const uint32_t *before = gcut_count_uses(g, a), *after = gcut_count_uses(h, a);
    for (gcut_ref v = 1; v < g->values.n; v++) SAME("the number of uses", before[v], after[v]);
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (strcmp(g->values.at[v].name, h->values.at[v].name) != 0)
            fail_msg("%s: %%%s reads back as %%%s", where, g->values.at[v].name, h->values.at[v].name);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *x = gcut_node_at(g, i), *y = gcut_node_at(h, i);
        SAME("an op", x->op, y->op);
        SAME("the number of operands", x->nargs, y->nargs);
        SAME("the number of captured values", x->ncaptured, y->ncaptured);
        SAME("the number of regions", x->nregs, y->nregs);
        for (uint32_t k = 0; k < x->nargs; k++) SAME("an operand", gcut_arg(g, x, k), gcut_arg(h, y, k));
        for (uint32_t k = 0; k < x->nregs; k++)
            if (gcut_region_at(g, x, k)->body->is_body)
                same_ids(where, gcut_region_at(g, x, k)->body, gcut_region_at(h, y, k)->body);
    }
}

/* Makes the bodies of g canonical; how many there are. */
static uint32_t check(const char *where, gcut_arena *a, gcut_graph *g)
{
    const uint32_t values = g->values.n;
    gcut_bodies_canonical(g);
    gcut_verify(g);
    SAME("the number of values", values, g->values.n);
    const char *text = text_of(a, g);
    const gcut_module *m = gcut_parse_module(g->module->env, a, where, text, strlen(text));
    same_ids(where, g, m->graphs.at[m->graphs.n - 1]);
    gcut_bodies_canonical(g);
    assert_string_equal(text_of(a, g), text);
    return count_bodies(g);
}

typedef struct job {
    gcut_env *env;
    const char *path;
    uint64_t seed;
    uint32_t bodies;
} job;

static void check_file(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    gcut_module *m = gcut_parse_file(j->env, a, j->path);
    gcut_graph *g = m->graphs.at[m->graphs.n - 1];
    gcut_joint_options o = {.strict = false};
    g = gcut_joint(g, &o, "both");
    gcut_graph *twice = doubled(a, g);
    j->bodies += check(j->path, a, twice) + check(j->path, a, g);
}

static void check_files(const char *pattern, uint32_t *bodies)
{
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (strstr(files.gl_pathv[i], "/split.gcut")) continue; /* a pair, not a function */
        job j = {.env = gcut_env_new(NULL, NULL), .path = files.gl_pathv[i]};
        TRY("%s", j.path);
        must(j.env, check_file, &j);
        *bodies += j.bodies;
        gcut_env_free(j.env);
    }
    globfree(&files);
}

static void files(void **state)
{
    (void)state;
    uint32_t bodies = 0;
    check_files(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", &bodies);
    check_files(GCUT_SOURCE_DIR "/tests/models/*.gcut", &bodies);
    assert_true(bodies > 50);
}

/* A pass has found that %v is %w, and that the loop needs %u no more. */
static void check_captures(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    static const char text[] =
        "gcut 1\nfunc @f(param %w: f32[4], param %v: f32[4], param %u: f32[4], input %xs: f32[3, 4]) -> (out "
        "y: "
        "f32[4]) {\n  %y: f32[4] = scan(%w, %xs, carries=1) body(%c: f32[4], %x: f32[4]) {\n"
        "    %n = mul(%u, %v)\n    %p = mul(%c, %v)\n    %q = add(%p, %w)\n    %r = add(%q, %x)\n    yield "
        "%r\n  }\n"
        "  return %y\n}\n";
    gcut_graph *g = gcut_parse_module(j->env, a, "t.gcut", text, strlen(text))->graphs.at[0];
    gcut_graph *h = gcut_graph_shell(g, "merged");
    gcut_ref *map = gcut_calloc(a, g->values.n, sizeof *map);
    for (uint32_t i = 0; i < g->params.n; i++) gcut_param_copy(h, g, i, map);
    map[gcut_graph_find(g, "v")] = map[gcut_graph_find(g, "w")];
    gcut_node_copy_to(h, g, 0, map);
    gcut_result_copy(h, g, 0, map);
    const gcut_graph *old = gcut_region_at(h, gcut_node_at(h, 0), 0)->body;
    gcut_graph *body = gcut_graph_shell(old, old->name);
    gcut_ref *inner = gcut_calloc(a, old->values.n, sizeof *inner);
    for (uint32_t i = 0; i < old->params.n; i++) gcut_param_copy(body, old, i, inner);
    for (uint32_t i = 1; i < old->nodes.n; i++) gcut_node_copy_to(body, old, i, inner); /* all but %n */
    gcut_result_copy(body, old, 0, inner);
    h->regions.at[0].body = body;
    assert_int_equal(gcut_node_at(h, 0)->ncaptured, 3);
    j->bodies += check("captures", a, h);
    assert_int_equal(gcut_node_at(h, 0)->ncaptured, 1);
    assert_int_equal(gcut_count_uses(h, a)[gcut_graph_find(h, "w")], 2); /* carried at first, and captured */
}

static void captures(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    must(j.env, check_captures, &j);
    assert_int_equal(j.bodies, 1);
    gcut_env_free(j.env);
}

/* The results of both are equal, bit by bit. */
static void check_random(void *arg)
{
    job *j = arg;
    graph_gen r;
    gcut_arena *a = j->env->arena;
    const gcut_op first[] = {GCUT_OP_scan, GCUT_OP_if, GCUT_OP_while};
    const char *where = gcut_printf(a, "seed %llu", (unsigned long long)j->seed);
    gcut_graph *g = graph_random(&r, gcut_module_new(j->env, a), "random", j->seed, 8, first, 3);
    gcut_graph *twice = doubled(a, g);
    gcut_array *in = gcut_calloc(a, g->params.n + 1u, sizeof *in);
    uint64_t draws = j->seed;
    for (uint32_t k = 0; k < g->params.n; k++) in[k] = random_leaf(a, &r, g->params.at[k].value, &draws);
    gcut_array *x = run_graph(a, g, GCUT_STATED, in);
    j->bodies += check(where, a, twice);
    gcut_array *y = run_graph(a, twice, GCUT_STATED, in);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_int_equal(x[k].n, y[k].n);
        assert_memory_equal(x[k].u.f, y[k].u.f, (size_t)x[k].n * sizeof(double));
    }
}

static void random_graphs(void **state)
{
    (void)state;
    uint32_t bodies = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        job j = {.env = gcut_env_new(NULL, NULL), .seed = seed};
        TRY("seed %llu", (unsigned long long)seed);
        must(j.env, check_random, &j);
        bodies += j.bodies;
        gcut_env_free(j.env);
    }
    assert_true(bodies > 4 * SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files), cmocka_unit_test(captures),
                                       cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests_name("canonical_bodies", tests, NULL, NULL);
}
