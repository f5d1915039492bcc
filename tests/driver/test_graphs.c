/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs through the whole pipeline by the public API: every backend,
 * policy and number of threads against the interpreter in f64.
 *
 *   test_graphs [K N]      graphs K, K + N, K + 2 N, ...
 *   test_graphs show I     prints graph I
 *
 * GCUT_GRAPHS=n goes through n graphs, GCUT_SEED=k starts at graph k.  A graph
 * that fails is printed.
 */
#define _GNU_SOURCE
#include "runs.h"

#include "graph_gen.h"
#include "public.h"

/* N and M of a run: three small ones, and one as large as the graph allows. */
#define NSIZES 4

typedef struct graph_case {
    run_case run;
    graph_gen gen;
    uint32_t index;
    bool thorough; /* one in eleven: that is in every part of the tests */
    bool may_skip; /* it has loops that end early, or branches: memory of the rest may stay untouched */
    int64_t size[NSIZES][2];
    size_t nreferences; /* for how many of the sizes the interpreter is asked too */
} graph_case;

/* ---- runs ---- */

/* Fills a leaf with what the generator promised its graph. */
static void fill(const graph_gen *gen, uint64_t seed, const gcut_value_info *v, int64_t n, int64_t m)
{
    const gen_bound *b = graph_bound(gen, v->name);
    gcut_dim_binding at[2] = {{gen->sym[0], n}, {gen->sym[1], m}};
    int64_t hi = 0;
    if (b) assert_true(gcut_dim_eval(gen->b.g->module->dims, b->hi, at, 2, &hi));
    for (const char *s = v->name; *s; s++) seed = seed * 31 + (uint64_t)*s;
    for (int64_t i = 0, k = count(v); i < k; i++) {
        double x = ((double)(next_word(&seed) % 128) + 0.5) / 64 - 1;
        if (b) x = (double)(b->lo + (int64_t)(next_word(&seed) % (uint64_t)(hi - b->lo)));
        put(v->dtype, v->at, i, x);
    }
}

/* Sizes by binding the parameter that has both symbols, then every leaf filled, then one run. */
static bool run_at(graph_case *c, gcut_step *s, int64_t n, int64_t m, outcome *o)
{
    const gcut_graph *g = c->gen.b.g;
    void *memory[GEN_LEAVES * 2];
    size_t k = 0;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_value *v = &g->values.at[g->params.at[i].value];
        gcut_dim_binding at[2] = {{c->gen.sym[0], n}, {c->gen.sym[1], m}};
        gcut_value_info info;
        assert_true(value_of(s, v->name, &info));
        for (int d = 0; d < info.rank; d++)
            assert_true(gcut_dim_eval(g->module->dims, v->type->dim[d], at, 2, &info.dim[d]));
        info.at = memory[k++] = malloc((size_t)count(&info) * 8 + 1);
        assert_non_null(info.at);
        fill(&c->gen, c->run.seed, &info, n, m);
        if (!CHECK(&c->run, gcut_bind_n(s, v->name, info.at, info.rank, info.dim) == GCUT_OK, "bind %s",
                   v->name))
            return false;
    }
    bool ok = CHECK(&c->run, gcut_run(s) == GCUT_OK, "N=%lld: not run", (long long)n);
    if (ok) collect(s, o);
    while (k > 0) free(memory[--k]);
    return ok;
}

/* N and M of a run.  The last N is as large as the graph allows: threads begin their work there. */
static const int64_t small[NSIZES - 1][2] = {{1, 2}, {7, 4}, {32, 6}};

/* Elements of all values, and multiply-adds of all products, with N = n. */
static double work(const graph_gen *gen, int64_t n)
{
    const gcut_graph *g = gen->b.g;
    gcut_dim_binding at[2] = {{gen->sym[0], n}, {gen->sym[1], GEN_NOMINAL_M}};
    double sum = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_node *def = gcut_def(g, v);
        double k = 1;
        for (uint32_t d = 0; d < g->values.at[v].type->rank; d++) {
            int64_t size;
            assert_true(gcut_dim_eval(g->module->dims, g->values.at[v].type->dim[d], at, 2, &size));
            k *= (double)size;
        }
        if (def && gcut_op_get((gcut_op)def->op)->class == GCUT_CLASS_CONTRACTION) k *= (double)n;
        sum += k;
    }
    return sum;
}

static void choose_sizes(graph_case *c)
{
    static const int64_t primes[] = {4099, 2053, 1031, 521, 257};
    double most = c->thorough ? 3e7 : 3e6; /* code that is not optimised is slow */
    size_t k = 0;
    memcpy(c->size, small, sizeof small);
    while (k < 4 && work(&c->gen, primes[k]) > most) k++;
    c->size[NSIZES - 1][0] = primes[k];
    c->size[NSIZES - 1][1] = GEN_NOMINAL_M;
    c->nreferences = work(&c->gen, primes[k]) < 2e6 ? NSIZES : NSIZES - 1;
}

/* The reference, and the rungs of the ladder that are interpreted. */
static void interpreted(graph_case *c, outcome want[NSIZES], outcome stated[NSIZES])
{
    static const struct {
        const char *label, *policy;
        gcut_backend backend;
    } rungs[] = {{"joint", "mincut", GCUT_BACKEND_JOINT},
                 {"planned mincut", "mincut", GCUT_BACKEND_PLANNED},
                 {"planned save-all", "save-all", GCUT_BACKEND_PLANNED},
                 {"planned recompute-all", "recompute-all", GCUT_BACKEND_PLANNED},
                 {"planned by another", NULL, GCUT_BACKEND_PLANNED}};
    static const char *const others[] = {"torch", "torch:0.3", "sqrt", "every-2nd-matmul", "attention-only"};
    static outcome got;
    gcut_step *exact = compile(&c->run, GCUT_BACKEND_EAGER, "mincut", 1, true, NULL);
    gcut_step *rounded = compile(&c->run, GCUT_BACKEND_EAGER, "mincut", 1, false, NULL);
    for (size_t i = 0; exact && rounded && i < c->nreferences; i++) {
        run_at(c, exact, c->size[i][0], c->size[i][1], &want[i]);
        run_at(c, rounded, c->size[i][0], c->size[i][1], &stated[i]);
    }
    for (size_t k = 0; k < sizeof rungs / sizeof *rungs && c->run.nwrong == 0; k++) {
        const char *policy = rungs[k].policy ? rungs[k].policy : others[c->index % 5];
        gcut_step *s = compile(&c->run, rungs[k].backend, policy, 1, false, NULL);
        for (size_t i = 0; s && i < NSIZES - 1; i++)
            if (run_at(c, s, c->size[i][0], c->size[i][1], &got))
                compare(&c->run, rungs[k].label, c->size[i][0], &got, &stated[i], &want[i]);
        gcut_step_free(s);
    }
    forget(&got);
}

/* Policies, numbers of threads and fusion may change nothing, to the last bit. */
typedef struct way {
    const char *policy;
    int threads;
    bool unfused;
} way;

static void compiled(graph_case *c, const way *ways, size_t nways, const outcome want[NSIZES],
                     const outcome stated[NSIZES])
{
    static outcome first[NSIZES], got;
    for (size_t k = 0; k < nways && c->run.nwrong == 0; k++) {
        char label[64];
        snprintf(label, sizeof label, "compiled%s, %s, %d threads", ways[k].unfused ? " unfused" : "",
                 ways[k].policy, ways[k].threads);
        c->run.unfused = ways[k].unfused;
        gcut_step *s = compile(&c->run, GCUT_BACKEND_COMPILED, ways[k].policy, ways[k].threads, false, NULL);
        for (size_t i = 0; s && i < NSIZES; i++) {
            if (!run_at(c, s, c->size[i][0], c->size[i][1], k ? &got : &first[i])) continue;
            gcut_stats st = *gcut_step_stats(s);
            CHECK(&c->run,
                  st.peak_bytes == st.predicted_bytes || (c->may_skip && st.peak_bytes < st.predicted_bytes),
                  "%s at %lld: peak measured %lld, predicted %lld", label, (long long)c->size[i][0],
                  (long long)st.peak_bytes, (long long)st.predicted_bytes);
            if (i < c->nreferences)
                compare(&c->run, label, c->size[i][0], k ? &got : &first[i], &stated[i], &want[i]);
            if (k) same_bits(&c->run, label, c->size[i][0], &got, &first[i]);
        }
        gcut_step_free(s);
    }
    for (size_t i = 0; i < NSIZES; i++) forget(&first[i]);
    forget(&got);
}

/* Each way is a run of the C compiler, which is most of the time that a graph takes.  A thorough graph is
 * compiled as users' are, by all policies, the last of them without fusion; the others without optimisation,
 * by two policies that rotate, every other one without fusion. */
static void compiled_ways(graph_case *c, const outcome want[NSIZES], const outcome stated[NSIZES])
{
    static const char *const policies[] = {"mincut", "save-all", "recompute-all"};
    uint32_t i = c->index;
    const way two[] = {{policies[i % 3], 1, false}, {policies[i / 3 % 3], 2, i % 2 == 1}};
    const way all[] = {
        {policies[i % 3], 1, false}, {policies[(i + 1) % 3], 2, false}, {policies[(i + 2) % 3], 2, true}};
    compile_quickly(!c->thorough);
    compiled(c, c->thorough ? all : two, c->thorough ? 3 : 2, want, stated);
    compile_quickly(false);
}

/* ---- a graph ---- */

typedef struct make_job {
    gcut_env *env;
    uint32_t index;
    graph_gen *gen;
    const char *path; /* where it is written to, or NULL */
    gcut_text text;
} make_job;

/* Three ops of the table in turn, so that each is reached soon, and some more at random. */
static void make(void *arg)
{
    make_job *j = arg;
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    gcut_op first[3];
    for (uint32_t k = 0; k < 3; k++) first[k] = (gcut_op)((j->index * 3 + k) % GEN_OPS);
    graph_random(j->gen, m, "random", j->index, 4 + j->index % 8, first, 3);
    j->text.arena = j->env->arena;
    gcut_print_graph(j->gen->b.g, &(gcut_print_options){0}, &j->text);
    if (j->path) gcut_file_write(j->env, j->path, j->text.at, j->text.n);
}

/* All checks of one graph on one draw of data; the number of what is wrong. */
static int try_graph(graph_case *c)
{
    static outcome want[NSIZES], stated[NSIZES];
    run_case *run = &c->run;
    run->ctx = gcut_ctx_new(NULL);
    assert_non_null(run->ctx);
    run->nwrong = 0;
    run->g = gcut_load(run->ctx, run->path, NULL);
    choose_sizes(c);
    if (CHECK(run, run->g, "does not parse")) {
        interpreted(c, want, stated);
        if (run->nwrong == 0) compiled_ways(c, want, stated);
        if (run->nwrong == 0) emitted(run, c->thorough);
        if (run->nwrong == 0) dumped(run);
    }
    for (size_t i = 0; i < NSIZES; i++) {
        forget(&want[i]);
        forget(&stated[i]);
    }
    gcut_ctx_free(run->ctx);
    return run->nwrong;
}

/* Data on which rounding decides a kink, one draw in thousands, is told from a mistake by other data. */
static int try_graph_twice(graph_case *c)
{
    c->run.quiet = c->gen.kinked;
    c->run.seed = 1;
    int w = try_graph(c);
    if (!w || !c->run.quiet) return w;
    c->run.quiet = false;
    c->run.seed = 2;
    return try_graph(c);
}

static bool passes(uint32_t index)
{
    static graph_case c;
    char path[64], what[64];
    make_job j = {.env = gcut_env_new(NULL, NULL), .index = index, .gen = &c.gen, .path = path};
    snprintf(path, sizeof path, "%s/random.gcut", tmp);
    snprintf(what, sizeof what, "graph %u", index);
    must(j.env, make, &j);
    c.run = (run_case){.what = what, .path = path};
    c.index = index;
    c.thorough = index % 11 == 0;
    c.run.all_f64 = !strstr(j.text.at, "f32");
    c.may_skip = strstr(j.text.at, "while(") || strstr(j.text.at, "if(");
    c.run.half = unit_of(j.text.at);
    int w = try_graph_twice(&c);
    if (w) fprintf(stderr, "graph %u is:\n%s\n", index, j.text.at);
    gcut_env_free(j.env);
    return w == 0;
}

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *s = getenv(name);
    return s && *s ? (uint32_t)strtoul(s, NULL, 10) : otherwise;
}

static uint32_t shard, nshards = 1;

static void random_graphs(void **state)
{
    (void)state;
    uint32_t from = setting("GCUT_SEED", 0), n = setting("GCUT_GRAPHS", nightly() ? 80 : GRAPHS), bad = 0;
    for (uint32_t i = shard; i < n; i += nshards) bad += !passes(from + i);
    assert_int_equal(bad, 0);
}

/* ---- coverage ---- */

typedef struct coverage {
    uint32_t op[GCUT_NOPS], dtype[GCUT_NDTYPES];
    bool attr[GCUT_NOPS][GCUT_NATTRS];
} coverage;

static void cover(coverage *c, const gcut_graph *g)
{
    for (gcut_ref v = 1; v < g->values.n; v++) c->dtype[g->values.at[v].type->dtype]++;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        c->op[n->op]++;
        for (uint32_t k = 0; k < n->nattrs; k++) c->attr[n->op][g->attrs.at[n->attr0 + k].key] = true;
        for (uint32_t k = 0; k < n->nregs; k++) cover(c, gcut_region_at(g, n, k)->body);
    }
}

/* The graphs that the tests run have every op in them, more than once, every attribute of it and every dtype.
 */
static void the_table_is_covered(void **state)
{
    (void)state;
    static coverage c;
    static graph_gen gen;
    for (uint32_t i = 0; i < 400; i++) {
        make_job j = {.env = gcut_env_new(NULL, NULL), .index = i, .gen = &gen};
        must(j.env, make, &j);
        cover(&c, gen.b.g);
        gcut_env_free(j.env);
    }
    gcut_env *env = gcut_env_new(NULL, NULL);
    const gcut_module *m = gcut_module_new(env, env->arena);
    uint32_t missing = 0;
    for (uint32_t op = 0; op < GEN_OPS; op++) {
        if (c.op[op] < 3) missing++, print_error("%s occurs %u times\n", gcut_op_get(op)->name, c.op[op]);
        for (uint32_t k = 0; k < m->specs[op].n; k++)
            if (!c.attr[op][m->specs[op].at[k].key])
                missing++, print_error("%s never has %s\n", gcut_op_get(op)->name,
                                       gcut_attr_name(m->specs[op].at[k].key));
    }
    for (gcut_dtype t = 0; t < GCUT_NDTYPES; t++)
        if (c.dtype[t] < 3) missing++, print_error("%s occurs %u times\n", gcut_dtype_name(t), c.dtype[t]);
    gcut_env_free(env);
    assert_int_equal(missing, 0);
}

static void show(void *arg)
{
    make_job *j = arg;
    make(j);
    fputs(j->text.at, stdout);
}

static int show_graph(uint32_t index)
{
    static graph_gen gen;
    make_job j = {.env = gcut_env_new(NULL, NULL), .index = index, .gen = &gen};
    gcut_status s = gcut_protect(j.env, show, &j);
    gcut_env_free(j.env);
    return s != GCUT_OK;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(the_table_is_covered)};
    if (argc == 3 && !strcmp(argv[1], "show")) return show_graph((uint32_t)strtoul(argv[2], NULL, 10));
    if (argc == 3) {
        shard = (uint32_t)strtoul(argv[1], NULL, 10);
        nshards = (uint32_t)strtoul(argv[2], NULL, 10);
    }
    if (shard >= nshards || !begin_runs()) return 1;
    if (shard || getenv("GCUT_SEED"))
        cmocka_set_test_filter("random_graphs"); /* the other is the same each time */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    end_runs();
    return failed;
}
