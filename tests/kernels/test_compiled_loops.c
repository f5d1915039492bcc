/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compiled control flow: the bodies of if, while and scan as kernels inside C
 * loops and branches, against the interpreter, for several lengths of one
 * compiled step, with 1 and 2 threads; and what each iteration saves.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gradcut/gradcut.h"
#include "graph/graph.h"
#include "public.h"

#define MOST 16 /* parameters */

/* Programs over sizes T, of loops, and N; those with a result `loss` are differentiated. */
static gcut_graph *load(gcut_ctx *ctx, const char *path)
{
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    assert_true(g->params.n <= MOST);
    return g;
}

static double sample(const char *name, int64_t i)
{
    uint64_t s = 88172645463325252u + (uint64_t)i * 2654435761u;
    for (; *name; name++) s = s * 31 + (uint64_t)*name;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(s % 2001) / 1000 - 1;
}

/* Binds every parameter at these sizes and fills it; the memory is the caller's to free. */
static uint32_t bind_all(gcut_step *s, const gcut_graph *g, int64_t t, int64_t n, void **memory)
{
    gcut_dim_binding at[2] = {{gcut_dim_symbol(g->module->dims, "T"), t},
                              {gcut_dim_symbol(g->module->dims, "N"), n}};
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_value *v = &g->values.at[g->params.at[i].value];
        int64_t dim[GCUT_MAX_RANK], count = 1;
        for (uint32_t d = 0; d < v->type->rank; d++) {
            assert_true(gcut_dim_eval(g->module->dims, v->type->dim[d], at, 2, &dim[d]));
            count *= dim[d];
        }
        void *x = memory[i] = malloc((size_t)count * 8 + 8);
        for (int64_t k = 0; k < count; k++) {
            double r = sample(v->name, k);
            switch (v->type->dtype) {
            case GCUT_F32: ((float *)x)[k] = (float)r; break;
            case GCUT_F64: ((double *)x)[k] = r; break;
            case GCUT_I32: ((int32_t *)x)[k] = (int32_t)(3.4 * r + 3.45); break;
            default: ((uint8_t *)x)[k] = r > 0;
            }
        }
        assert_int_equal(gcut_bind_n(s, v->name, x, v->type->rank, dim), GCUT_OK);
    }
    return g->params.n;
}

static gcut_step *compile(gcut_ctx *ctx, gcut_graph *g, gcut_backend b, int threads, const char *policy,
                          bool derive)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = b;
    o.threads = threads;
    o.forward_only = !derive;
    o.loss = derive ? "loss" : NULL;
    if (policy) o.policy = policy;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) {
        fprintf(stderr, "%s\n", gcut_last_error(ctx));
        fail();
    }
    return s;
}

static void run(gcut_ctx *ctx, gcut_step *s, const gcut_graph *g, int64_t t, int64_t n, void **memory)
{
    bind_all(s, g, t, n, memory);
    gcut_status st = gcut_run(s);
    if (st != GCUT_OK) fprintf(stderr, "%s\n", gcut_last_error(ctx));
    assert_int_equal(st, GCUT_OK);
    gcut_stats stats = *gcut_step_stats(s);
    /* With no iteration, the end of the arena may stay untouched. */
    if (t)
        assert_int_equal(stats.peak_bytes, stats.predicted_bytes);
    else
        assert_true(stats.peak_bytes <= stats.predicted_bytes);
}

static double element(const gcut_value_info *v, int64_t k)
{
    switch (v->dtype) {
    case GCUT_F32: return ((const float *)v->at)[k];
    case GCUT_F64: return ((const double *)v->at)[k];
    case GCUT_I32: return ((const int32_t *)v->at)[k];
    default: return ((const uint8_t *)v->at)[k];
    }
}

static int64_t count(const gcut_value_info *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dim[d];
    return n;
}

/* Every result of both, near enough or to the last bit. */
static void same(const char *what, int64_t t, gcut_step *a, gcut_step *b, bool bits)
{
    for (size_t i = 0; i < gcut_step_value_count(a); i++) {
        gcut_value_info x = *gcut_step_value_at(a, i), y;
        if (strcmp(x.role, "out") != 0 && strcmp(x.role, "grad") != 0 && !x.updated) continue;
        assert_true(value_of(b, x.name, &y));
        assert_int_equal(count(&x), count(&y));
        double big = 1; /* f32 values are of this size at least, or sums of such */
        for (int64_t k = 0; k < count(&x); k++) big = fmax(big, fabs(element(&x, k)));
        for (int64_t k = 0; k < count(&x); k++) {
            double p = element(&x, k), q = element(&y, k);
            double room = bits || x.dtype == GCUT_I32 ? 0 : x.dtype == GCUT_F32 ? 2e-5 * big : 1e-12 * big;
            if (!(fabs(p - q) <= room) && !(isnan(p) && isnan(q)))
                fail_msg("%s at T=%d: %s[%d] is %.9g and %.9g", what, (int)t, x.name, (int)k, p, q);
        }
    }
}

static const int64_t lengths[] = {5, 0, 1, 100};

/* ---- values ---- */

/* The interpreter on the function, or on its joint graph and the two graphs of its split, against compiled
 * steps.
 */
static void check(const char *path, bool derive, bool every)
{
    static const struct {
        gcut_backend backend;
        const char *policy;
        int threads;
        bool bits; /* those of the way before */
    } ways[] = {{GCUT_BACKEND_COMPILED, "mincut", 2, false},
                {GCUT_BACKEND_COMPILED, "recompute-all", 1, true},
                {GCUT_BACKEND_PLANNED, "mincut", 1, false},
                {GCUT_BACKEND_PLANNED, "save-all", 1, false}};
    const char *what = strrchr(path, '/') + 1;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load(ctx, path);
    gcut_step *s[5] = {compile(ctx, g, derive ? GCUT_BACKEND_JOINT : GCUT_BACKEND_EAGER, 1, NULL, derive)};
    uint32_t n = 1, way[5];
    for (uint32_t k = 0; k < (derive ? 4 : 2); k++) {
        if (ways[k].bits && !every) continue;
        way[n] = k;
        s[n++] = compile(ctx, g, ways[k].backend, ways[k].threads, ways[k].policy, derive);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        void *memory[5][MOST];
        for (uint32_t j = 0; j < n; j++) run(ctx, s[j], g, lengths[i], 3, memory[j]);
        for (uint32_t j = 1; j < n; j++)
            same(what, lengths[i], s[ways[way[j]].bits ? j - 1 : 0], s[j], ways[way[j]].bits);
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t a = 0; a < g->params.n; a++) free(memory[j][a]);
    }
    gcut_ctx_free(ctx);
}

static bool has_loss(const char *path)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load(ctx, path);
    bool found = false;
    for (uint32_t i = 0; i < g->results.n; i++) found = found || !strcmp(g->results.at[i].name, "loss");
    gcut_ctx_free(ctx);
    return found;
}

/* GCUT_LOOP=name: that program alone, every way.  A C compiler's run each: not every program goes every way.
 */
static void programs_agree(void **state)
{
    (void)state;
    glob_t files;
    const char *only = getenv("GCUT_LOOP");
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/loops/*.gcut", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 12);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        if (!only || strstr(path, only)) check(path, has_loss(path), only || i % 3 == 0);
    }
    globfree(&files);
}

/* ---- what is emitted ---- */

static bool have(const char *tool)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "command -v %s >/dev/null 2>&1", tool);
    return system(cmd) == 0;
}

/* Without warnings, and the same bytes twice. */
static void emits_clean_c(void **state)
{
    (void)state;
    static const char *const names[] = {"nested", "while", "branches"}, *const tools[] = {"gcc", "clang"};
    char dir[] = "/tmp/gradcut-test-XXXXXX", base[2][64], cmd[700], path[256];
    assert_non_null(mkdtemp(dir));
    for (int k = 0; k < 2; k++) {
        snprintf(base[k], sizeof base[k], "%s/%d", dir, k);
        assert_int_equal(mkdir(base[k], 0777), 0);
        strcat(base[k], "/step");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY("name %zu", i);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        snprintf(path, sizeof path, "%s/tests/loops/%s.gcut", GCUT_SOURCE_DIR, names[i]);
        gcut_options o = TEST_OPTIONS;
        o.forward_only = !has_loss(path);
        o.loss = o.forward_only ? NULL : "loss";
        for (int k = 0; k < 2; k++)
            assert_int_equal(gcut_emit_files(load(ctx, path), &o, base[k], false), GCUT_OK);
        snprintf(cmd, sizeof cmd, "cmp -s %s.c %s.c", base[0], base[1]);
        assert_int_equal(system(cmd), 0);
        for (size_t k = 0; k < 2; k++) {
            snprintf(
                cmd, sizeof cmd,
                "%s -std=c17 -O1 -Wall -Wextra -Werror -Wno-unknown-pragmas -I%s/include -c %s.c -o %s.o",
                tools[k], GCUT_SOURCE_DIR, base[0], base[0]);
            if (have(tools[k])) assert_int_equal(system(cmd), 0);
        }
        gcut_ctx_free(ctx);
    }
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    assert_int_equal(system(cmd), 0);
}

/* An index outside of its axis in the third step of a loop is an error with the model's line. */
static void faults_are_found(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load(ctx, GCUT_SOURCE_DIR "/tests/loops/indices.gcut");
    gcut_step *s = compile(ctx, g, GCUT_BACKEND_COMPILED, 1, NULL, false);
    float e[7 * 2] = {0};
    int32_t t[4][4] = {{0}, {1}, {2, 7}, {9}};
    assert_int_equal(gcut_bind(s, "e", e, 7, 2), GCUT_OK);
    assert_int_equal(gcut_bind(s, "t", t, 4, 4), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_EINDEX);
    assert_non_null(strstr(gcut_last_error(ctx), "indices.gcut:7"));
    assert_non_null(strstr(gcut_last_error(ctx), "7"));
    t[2][1] = t[3][0] = 6;
    assert_int_equal(gcut_run(s), GCUT_OK);
    gcut_ctx_free(ctx);
}

/* ---- plans ---- */

static const char *forced; /* must be saved */

static int64_t saved_bytes(gcut_ctx *ctx, gcut_graph *g, const char *policy, double lambda, char *text,
                           size_t room)
{
    gcut_size at[] = {{"T", 100}, {"N", 64}};
    gcut_options o = TEST_OPTIONS;
    o.policy = policy;
    o.lambda = lambda;
    o.at = at;
    o.nat = 2;
    o.loss = "loss";
    o.save = &forced;
    o.nsave = forced != NULL;
    const gcut_plan *plan = gcut_plan_new(g, &o);
    if (!plan) fail_msg("%s", gcut_last_error(ctx));
    FILE *f = fmemopen(text, room, "w");
    assert_non_null(f);
    print_text(f, gcut_plan_text(plan, NULL));
    assert_int_equal(fclose(f), 0);
    return gcut_plan_look(plan)->saved_bytes;
}

/* A step of an LSTM reads its gates in the backward loop, and one product after the loop what it began with, which is
 * what the step before it yielded; tanh of the cell is cheaper than its bytes.  With T = 100, N = 64 and 8 channels each
 * stacked value has 204,800 bytes. */
static void iterations_have_plans(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut");
    static char text[8192];
    int64_t all = saved_bytes(ctx, g, "save-all", 0.05, text, sizeof text);
    assert_non_null(strstr(text, "each iteration of %h (lstm.gcut:5) saves 12,288 bytes"));
    assert_non_null(strstr(text, "%h.tc"));
    int64_t some = saved_bytes(ctx, g, "mincut", 0.05, text, sizeof text);
    assert_non_null(strstr(text, "saves 10,240 bytes (10.0 KiB): %c.before; %h.i; %h.f; %h.g; %h.o\n"));
    assert_non_null(strstr(text, "%tc tanh"));
    int64_t none = saved_bytes(ctx, g, "recompute-all", 0.05, text, sizeof text);
    assert_non_null(strstr(text, "saves 4,096 bytes (4.0 KiB): %h.before; %c.before\n"));
    assert_int_equal(all, 7 * 204800);
    assert_int_equal(some, 6 * 204800);
    assert_int_equal(none, 0);
    /* What a step must save is stacked; whether the stack lives is a matter of its price. */
    forced = "%tc";
    assert_int_equal(saved_bytes(ctx, g, "mincut", 0.02, text, sizeof text), all);
    forced = NULL;
    /* What a step saves and which stacks live are decided one after the other: at some prices the first is
     * still dear where the second is cheap, so bytes do not fall at every rise. */
    for (double lambda = 0; lambda < 2; lambda += 0.1)
        assert_true(saved_bytes(ctx, g, "mincut", lambda, text, sizeof text) <= some);
    assert_int_equal(saved_bytes(ctx, g, "mincut", 2, text, sizeof text), 0);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_agree), cmocka_unit_test(emits_clean_c),
                                       cmocka_unit_test(faults_are_found),
                                       cmocka_unit_test(iterations_have_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
