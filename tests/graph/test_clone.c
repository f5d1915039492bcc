/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_module_clone: every id of the copy is that of the original, both print as the same text, and the copy
 * stands when the original is gone.  On the corpus, the zoo, what reverse mode makes of it, and random
 * graphs.
 */
#include "harness.h"

#include <glob.h>

#include "autodiff/autodiff.h"
#include "passes/passes.h"
#include "text/text.h"
#include "graph/verify.h"
#include "graph_gen.h"

#define SEEDS 200

static const char *text_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(g, &(gcut_print_options){0}, &t);
    return t.at;
}

/* ---- ids ---- */

#define SAME(what, x, y)                                                                                     \
    do {                                                                                                     \
        if ((x) != (y))                                                                                      \
            fail_msg("@%s of %s: %s is %lld, not %lld", g->name, where, what, (long long)(y),                \
                     (long long)(x));                                                                        \
    } while (0)
#define SAME_NAME(what, x, y)                                                                                \
    do {                                                                                                     \
        if (strcmp(x, y) != 0 || (x) == (y))                                                                 \
            fail_msg("@%s of %s: %s is %s (%s), not %s", g->name, where, what, y,                            \
                     (x) == (y) ? "shared" : "own", x);                                                      \
    } while (0)

static void same_type(const char *where, const gcut_graph *g, const gcut_type *x, const gcut_type *y)
{
    SAME("a dtype", x->dtype, y->dtype);
    SAME("a rank", x->rank, y->rank);
    for (uint32_t d = 0; d < x->rank; d++) SAME("a dim", x->dim[d], y->dim[d]);
}

static void same_interface(const char *where, const gcut_graph *g, const gcut_graph *h)
{
    SAME("its location", g->loc, h->loc);
    SAME("the number of parameters", g->params.n, h->params.n);
    SAME("the number of results", g->results.n, h->results.n);
    SAME("the number of declarations", g->decls.n, h->decls.n);
    SAME("the number of checks", g->checks.n, h->checks.n);
    for (uint32_t k = 0; k < g->params.n; k++) {
        SAME("a parameter", g->params.at[k].value, h->params.at[k].value);
        SAME("a role", g->params.at[k].role, h->params.at[k].role);
    }
    for (uint32_t k = 0; k < g->results.n; k++) {
        SAME("a result", g->results.at[k].value, h->results.at[k].value);
        SAME("a role", g->results.at[k].role, h->results.at[k].role);
        if (g->results.at[k].name) SAME_NAME("a result", g->results.at[k].name, h->results.at[k].name);
    }
    for (uint32_t k = 0; k < g->decls.n; k++) SAME("a symbol", g->decls.at[k].sym, h->decls.at[k].sym);
    for (uint32_t k = 0; k < g->checks.n; k++) {
        SAME("a check", g->checks.at[k].a, h->checks.at[k].a);
        SAME("a check", g->checks.at[k].b, h->checks.at[k].b);
    }
}

static void same_graph(const char *where, const gcut_graph *g, const gcut_graph *h);

static void same_nodes(const char *where, const gcut_graph *g, const gcut_graph *h)
{
    SAME("the number of nodes", g->nodes.n, h->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *a = gcut_node_at(g, i), *b = gcut_node_at(h, i);
        SAME("an op", a->op, b->op);
        SAME("a first result", a->res0, b->res0);
        SAME("a location", a->loc, b->loc);
        SAME("the number of operands", a->nargs, b->nargs);
        SAME("the number of captured values", a->ncaptured, b->ncaptured);
        SAME("the number of attributes", a->nattrs, b->nattrs);
        SAME("the number of regions", a->nregs, b->nregs);
        for (uint32_t k = 0; k < a->nargs; k++) SAME("an operand", gcut_arg(g, a, k), gcut_arg(h, b, k));
        for (uint32_t k = 0; k < a->nregs; k++)
            same_graph(where, gcut_region_at(g, a, k)->body, gcut_region_at(h, b, k)->body);
    }
}

static void same_graph(const char *where, const gcut_graph *g, const gcut_graph *h)
{
    assert_ptr_not_equal(g, h);
    SAME("whether it is a body", g->is_body, h->is_body);
    same_interface(where, g, h);
    SAME("the number of values", g->values.n, h->values.n);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_value *x = &g->values.at[v], *y = &h->values.at[v];
        same_type(where, g, x->type, y->type);
        SAME("a definition", x->def, y->def);
        SAME("an index", x->index, y->index);
        SAME("whether a name is made up", x->made_up, y->made_up);
        SAME_NAME("a value", x->name, y->name);
        SAME("what is found by name", gcut_graph_find(g, x->name), gcut_graph_find(h, y->name));
    }
    same_nodes(where, g, h);
}

/* ---- one graph ---- */

/* Which of the regions of g, counted across its nodes, is the first with that body. */
static uint32_t first_with(const gcut_graph *g, const gcut_graph *body)
{
    uint32_t k = 0;
    while (g->regions.at[k].body != body) k++;
    return k;
}

static void same_text(const char *where, gcut_arena *a, const gcut_graph *g, const gcut_graph *h)
{
    const char *x = text_of(a, g), *y = text_of(a, h);
    if (strcmp(x, y) != 0) fail_msg("@%s of %s prints as\n%s\nnot\n%s", g->name, where, y, x);
}

/* Returns the copy, which is in an arena of its own. */
static gcut_graph *check(const char *where, gcut_arena *a, gcut_graph *g)
{
    gcut_graph *h = gcut_module_clone(g, a);
    same_graph(where, g, h);
    SAME("the number of locations", g->module->locs.n, h->module->locs.n);
    for (uint32_t k = 0; k < g->regions.n; k++)
        SAME("a shared body", first_with(g, g->regions.at[k].body), first_with(h, h->regions.at[k].body));
    gcut_verify_module(h->module);
    same_text(where, a, g, h);
    return h;
}

/* What passes make of both is equal, too: names are found in the copy, and sizes computed. */
static void check_use(const char *where, gcut_arena *a, gcut_graph *g, gcut_graph *h)
{
    const char *wide = gcut_printf(a, "%s.wide", g->name), *fold = gcut_printf(a, "%s.fold", g->name),
               *cse = gcut_printf(a, "%s.cse", g->name);
    gcut_graph *x = gcut_pass_expand(g, wide, NULL), *y = gcut_pass_expand(h, wide, NULL);
    same_text(where, a, x, y);
    same_text(where, a, gcut_pass_cse(gcut_pass_fold(x, fold), cse),
              gcut_pass_cse(gcut_pass_fold(y, fold), cse));
}

/* ---- files ---- */

typedef struct job {
    gcut_env *env;
    const char *path;
    bool models;
    uint64_t seed;
} job;

/* The copy prints and expands as before when the original's memory has been given back. */
static void check_alone(gcut_arena *a, gcut_arena *original, gcut_graph *h)
{
    const char *text = text_of(a, h);
    gcut_arena_free(original);
    assert_string_equal(text, text_of(a, h));
    gcut_pass_expand(h, "alone.wide", NULL);
    gcut_verify_module(h->module);
}

static void check_file(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena, *original = gcut_arena_new(j->env, NULL);
    gcut_module *m = gcut_parse_file(j->env, original, j->path);
    GCUT_VEC(gcut_graph *) copies = {0};
    const uint32_t n = m->graphs.n;
    if (j->models) gcut_joint(m->graphs.at[n - 1], &(gcut_joint_options){0}, "clone.joint");
    for (uint32_t i = 0; i < m->graphs.n; i++) {
        gcut_graph *h = check(j->path, a, m->graphs.at[i]);
        *GCUT_PUSH(a, &copies) = check(j->path, a, h); /* the copy of a copy */
        if (i < n) check_use(j->path, a, m->graphs.at[i], h);
        if (i >= n) break;
    }
    check_alone(a, original, copies.at[copies.n - 1]);
}

static void check_files(const char *pattern, bool models, size_t least)
{
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        job j = {.env = gcut_env_new(NULL, NULL), .path = files.gl_pathv[i], .models = models};
        if (gcut_protect(j.env, check_file, &j) != GCUT_OK) fail_msg("%s throws", j.path);
        gcut_env_free(j.env);
    }
    assert_true(files.gl_pathc >= least);
    globfree(&files);
}

static void corpus(void **state)
{
    (void)state;
    check_files(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", false, 10);
    check_files(GCUT_SOURCE_DIR "/tests/regress/*.gcut", false, 3);
}

static void zoo(void **state)
{
    (void)state;
    check_files(GCUT_SOURCE_DIR "/tests/models/*.gcut", true, 10);
}

/* ---- random graphs ---- */

static void check_random(void *arg)
{
    job *j = arg;
    graph_gen r;
    gcut_arena *a = j->env->arena, *original = gcut_arena_new(j->env, NULL);
    gcut_module *m = gcut_module_new(j->env, original);
    const char *where = gcut_printf(a, "seed %llu", (unsigned long long)j->seed);
    gcut_graph *g = graph_random(&r, m, "random", j->seed, 12, NULL, 0);
    gcut_graph *h = check(where, a, g);
    check_use(where, a, g, h);
    check_alone(a, original, h);
}

static void random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        job j = {.env = gcut_env_new(NULL, NULL), .seed = seed};
        if (gcut_protect(j.env, check_random, &j) != GCUT_OK)
            fail_msg("seed %llu throws", (unsigned long long)seed);
        gcut_env_free(j.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus), cmocka_unit_test(zoo),
                                       cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests_name("clone", tests, NULL, NULL);
}
