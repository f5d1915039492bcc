/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The models of examples/models at their tiny sizes: what the builder makes is
 * what tests/models holds (GCUT_BLESS=1 writes it); gradients equal central
 * differences and, with losses, new states and losses as they are evaluated, PyTorch's in float64 (values from
 * tests/reference/models.py); backends agree, policies give equal gradients.
 * Losses that fall and peaks that are predicted are the zoo's own check.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "models/models.h"
#include "passes/passes.h"
#include "public.h"

enum { BATCH = 3, LENGTH = 5 }; /* N and T, as in models.py */

typedef struct job {
    gcut_env *env;
    const model *m;
} job;

static const char *path_of(gcut_arena *a, const char *folder, const model *m, const char *kind)
{
    return gcut_printf(a, "%s/tests/%s/%s.%s", GCUT_SOURCE_DIR, folder, m->name, kind);
}

/* ---- what the builder makes ---- */

static gcut_graph *build(gcut_ctx *ctx, const model *m)
{
    int64_t parameters;
    gcut_graph *g = model_graph(m, model_size(m, "tiny"), GCUT_F32, ctx, &parameters);
    if (!g) fail_msg("%s: %s", m->name, gcut_last_error(ctx));
    return g;
}

static void check_dump(const model *m, const char *path, const char *now)
{
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s: no %s; GCUT_BLESS=1 writes it", m->name, path);
    for (const char *s = now; *s; s++)
        if (getc(f) != *s)
            fail_msg("%s: %s is not what the builder makes; GCUT_BLESS=1 writes it", m->name, path);
    assert_int_equal(getc(f), EOF);
    fclose(f);
}

static void dumps_are_what_is_built(void **state)
{
    (void)state;
    for (size_t i = 0; i < nmodels; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        const char *now = gcut_show(build(ctx, &models[i]), NULL, GCUT_STAGE_PRIMAL, false);
        assert_non_null(now);
        char path[512];
        snprintf(path, sizeof path, "%s/tests/models/%s.gcut", GCUT_SOURCE_DIR, models[i].name);
        if (getenv("GCUT_BLESS")) {
            FILE *f = fopen(path, "w");
            assert_non_null(f);
            fputs(now, f);
            assert_int_equal(fclose(f), 0);
        }
        check_dump(&models[i], path, now);
        gcut_ctx_free(ctx);
    }
}

/* Published parameter counts, at the sizes that have them. */
static void sizes_are_those_of_the_papers(void **state)
{
    (void)state;
    static const struct {
        const char *model, *size;
        int64_t parameters;
    } published[] = {
        {"gpt2", "124M", 124439808},   {"gpt2", "355M", 354823168}, {"gpt2", "774M", 774030080},
        {"gpt2", "1558M", 1557611200}, {"llama", "1B", 1235814400}, {"llama", "8B", 8030261248},
        {"vit", "S/16", 22050664},     {"resnet", "18", 11689512},  {"resnet", "34", 21797672},
        {"mobilenet", "224", 3504872}, {"lenet", "28", 61706},
    };
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const model *m = model_find(published[i].model);
        assert_non_null(m);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        int64_t parameters = 0;
        gcut_graph *g = model_graph(m, model_size(m, published[i].size), GCUT_F32, ctx, &parameters);
        if (!g) fail_msg("%s %s: %s", m->name, published[i].size, gcut_last_error(ctx));
        assert_int_equal(parameters, published[i].parameters);
        gcut_ctx_free(ctx);
    }
}

/* ---- values by a rule ---- */

static gcut_graph *load(gcut_arena *a, const job *j)
{
    gcut_graph *g = gcut_parse_file(j->env, a, path_of(a, "models", j->m, "gcut"))->graphs.at[0];
    gcut_verify(g);
    return g;
}

static gcut_array shaped(gcut_arena *a, const gcut_graph *g, const gcut_type *t)
{
    gcut_dim_binding bind[4];
    int64_t dim[GCUT_MAX_RANK] = {0};
    assert_true(g->decls.n <= 4);
    for (uint32_t i = 0; i < g->decls.n; i++) {
        bool batch = !strcmp(gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym), "N");
        bind[i] = (gcut_dim_binding){g->decls.at[i].sym, batch ? BATCH : LENGTH};
    }
    for (uint32_t d = 0; d < t->rank; d++)
        assert_true(gcut_dim_eval(g->module->dims, t->dim[d], bind, g->decls.n, &dim[d]));
    return gcut_array_new(a, t->dtype, t->rank, dim);
}

/* In [-1, 1): 32 bits mixed from the place i in parameter k, the mixer of models.py. */
static double unit(int64_t i, uint32_t k)
{
    uint32_t h = (uint32_t)((uint64_t)i * 2654435761u) + k * 40503u + 977u;
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    h ^= h >> 16;
    return (double)h * 0x1p-31 - 1;
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), k = strlen(with);
    return n >= k && !strcmp(s + n - k, with);
}

/* Matrices are as large as keeps the size of what they multiply; gains and variances are near 1. */
static void fill_floats(const char *name, gcut_role role, uint32_t k, gcut_array *x)
{
    double scale = role == GCUT_ROLE_input ? 1 : 0.3, base = ends(name, ".g") || ends(name, ".var");
    int64_t out = x->rank == 2 ? x->dim[1] : x->rank > 2 ? x->dim[0] : 1;
    if (role == GCUT_ROLE_param && x->rank > 1) scale = 1.5 / sqrt((double)(x->n / out));
    for (int64_t i = 0; i < x->n; i++) x->u.f[i] = scale * unit(i, k) + base;
}

static gcut_array *fill(gcut_arena *a, const gcut_graph *g)
{
    gcut_array *at = gcut_calloc(a, g->params.n, sizeof *at);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_param *p = &g->params.at[k];
        const char *name = g->values.at[p->value].name;
        const gcut_mark *range = gcut_mark_find(&p->marks, GCUT_MARK_range);
        at[k] = shaped(a, g, gcut_type_of(g, p->value));
        if (gcut_dtype_is_float(at[k].dtype)) {
            fill_floats(name, p->role, k, &at[k]);
            continue;
        }
        int64_t below = range ? range->arg[1].i : 1000;
        for (int64_t i = 0; i < at[k].n; i++) at[k].u.i[i] = (7 * i + 3 * k) % below;
        if (strstr(g->name, "bert") && !strcmp(name, "labels"))
            for (int64_t i = 0; i < at[k].n; i++)
                if (i % 3) at[k].u.i[i] = -100;
    }
    return at;
}

/* ---- derivatives ---- */

/* Models with rectifiers and maxima have kinks close to any point: with h = 1e-6 hardly one lies between the
 * two values, and if one does, the difference is off by h times its step, well below the tolerance.  Rounding
 * costs 2^-52 |f| / h, 1e-10 or so. */
static void check_against_differences(void *arg)
{
    const job *j = arg;
    const double h = 1e-6;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 7;
    gcut_graph *g = load(a, j), *joint = gcut_joint(g, NULL, "joint");
    gcut_array *at = fill(a, g), *dir = directions(a, g, at, &seed);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, at));
    uint32_t loss = find_result(g, GCUT_ROLE_out, "loss");
    double got = 0, size = 0;
    for (uint32_t r = 0; r < joint->results.n; r++) {
        if (joint->results.at[r].role != GCUT_ROLE_grad) continue;
        double along = dot(&out[r], &dir[find_param(joint, joint->results.at[r].name)]);
        got += along;
        size += fabs(along);
    }
    double want = (value_along(a, g, loss, at, dir, h) - value_along(a, g, loss, at, dir, -h)) / (2 * h);
    if (!(size > 0 && fabs(got - want) <= 1e-5 * size))
        fail_msg("%s: derivative %.12g, central difference %.12g", j->m->name, got, want);
    gcut_arena_free(a);
}

static void close_file(void *f)
{
    fclose(f);
}

/* Sums of some hundred products in f64, taken in another order through some dozens of layers; what is 0 but
 * for rounding (a bias in front of a batch_norm, say) is so to 1e-14. */
#define ZERO 1e-5

static void assert_near(const char *what, double got, double want, double scale)
{
    if (!(fabs(got - want) <= 1e-9 * fmax(fabs(want), scale)))
        fail_msg("%s: %.17g, PyTorch has %.17g", what, got, want);
}

/* name, count, Euclidean norm, sum, then index:value probes. */
static void check_values(FILE *f, const char *what, const gcut_array *x)
{
    long long n, i;
    double norm, sum, want, got = 0;
    assert_int_equal(fscanf(f, "%lld %lf %lf", &n, &norm, &sum), 3);
    assert_int_equal(n, x->n);
    assert_near(what, sqrt(dot(x, x)), norm, ZERO);
    for (int64_t k = 0; k < x->n; k++) got += x->u.f[k];
    assert_near(what, got, sum, norm + ZERO);
    int probes = 0;
    for (; fscanf(f, " %lld:%lf", &i, &want) == 2; probes++) {
        assert_that(i, >=, 0);
        assert_that(i, <, n);
        assert_near(what, x->u.f[i], want, norm / sqrt((double)n) + ZERO);
    }
    assert_true(probes >= (n < 8 ? n : 8));
}

/* The result "loss" of the function as it is evaluated, which has the values of g by name. */
static gcut_array evaluated(gcut_arena *a, gcut_graph *g, const gcut_array *at)
{
    gcut_graph *e = gcut_pass_evaluation(g, "evaluated");
    gcut_array *of = gcut_calloc(a, e->params.n + 1, sizeof *of);
    gcut_verify(e);
    for (uint32_t k = 0; k < e->params.n; k++)
        of[k] = at[find_param(g, e->values.at[e->params.at[k].value].name)];
    assert_int_equal(e->results.n, 1);
    return run_graph(a, e, GCUT_EXACT, of)[find_result(e, GCUT_ROLE_out, "loss")];
}

static void check_against_pytorch(void *arg)
{
    const job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_graph *g = load(a, j), *joint = gcut_joint(g, NULL, "joint");
    gcut_array *at = fill(a, g), loss = evaluated(a, g, at);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, at));
    FILE *f = fopen(path_of(a, "reference/models", j->m, "txt"), "r");
    if (!f) fail_msg("%s: no reference", j->m->name);
    gcut_arena_defer(a, close_file, f);
    char role[16], name[64];
    uint32_t compared = 0;
    while (fscanf(f, " %15s %63s", role, name) == 2) {
        const char *what = gcut_printf(a, "%s: %s %s", j->m->name, role, name);
        gcut_role r = !strcmp(role, "out")    ? GCUT_ROLE_out
                      : !strcmp(role, "next") ? GCUT_ROLE_next
                                              : GCUT_ROLE_grad;
        const bool is_evaluated = !strcmp(role, "eval");
        check_values(f, what, is_evaluated ? &loss : &out[find_result(joint, r, name)]);
        compared++;
    }
    assert_true(feof(f));
    assert_int_equal(compared, joint->results.n + 1);
    gcut_arena_free(a);
}

static void with_each(void (*body)(void *))
{
    for (size_t i = 0; i < nmodels; i++) {
        job j = {gcut_env_new(NULL, NULL), &models[i]};
        must(j.env, body, &j);
        gcut_env_free(j.env);
    }
}

static void gradients_equal_central_differences(void **state)
{
    (void)state;
    with_each(check_against_differences);
}

static void losses_and_gradients_equal_pytorchs(void **state)
{
    (void)state;
    with_each(check_against_pytorch);
}

/* ---- backends and plans ---- */

static const gcut_size sizes[] = {{"N", BATCH}, {"T", LENGTH}};

static gcut_options options_for(const model *m, gcut_backend backend, const char *policy)
{
    gcut_options o = UNREFINED_OPTIONS;
    o.backend = backend;
    o.policy = policy;
    o.at = sizes;
    o.nat = m->length ? 2 : 1;
    o.seed = 3;
    return o;
}

static gcut_graph *load_dump(gcut_ctx *ctx, const model *m)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/models/%s.gcut", GCUT_SOURCE_DIR, m->name);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static void backends_agree(void **state)
{
    (void)state;
    /* One model in four, but for the nightly run: test_zoo compares the compiled steps of all with eager
     * ones. */
    for (size_t i = 0; i < nmodels; i += nightly() ? 1 : 4) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_options o = options_for(&models[i], GCUT_BACKEND_COMPILED, "mincut");
        gcut_check_report r = crosscheck(load_dump(ctx, &models[i]), &o, NULL, 0, 0);
        if (!r.ok) fail_msg("%s: %s%s", models[i].name, r.text ? r.text : "", gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

static gcut_step *run_planned(gcut_ctx *ctx, gcut_graph *g, const model *m, const char *policy)
{
    gcut_options o = options_for(m, GCUT_BACKEND_PLANNED, policy);
    gcut_step *s = gcut_compile(g, &o);
    if (!s || gcut_run(s) != GCUT_OK) fail_msg("%s: %s", m->name, gcut_last_error(ctx));
    return s;
}

/* The interpreter computes the same op on the same values whether it is recomputed or not: equal to the bit.
 */
static void policies_give_equal_gradients(void **state)
{
    (void)state;
    for (size_t i = 0; i < nmodels; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = load_dump(ctx, &models[i]);
        gcut_step *ref = run_planned(ctx, g, &models[i], "mincut");
        static const char *const others[] = {"save-all", "recompute-all",    "torch",         "torch:0.5",
                                             "sqrt",     "every-2nd-matmul", "attention-only"};
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            gcut_step *s = run_planned(ctx, g, &models[i], others[k]);
            for (size_t v = 0; v < gcut_step_value_count(ref); v++) {
                gcut_value_info want = *gcut_step_value_at(ref, v), got;
                assert_true(value_of(s, want.name, &got));
                if (memcmp(got.at, want.at, (size_t)want.bytes) != 0)
                    fail_msg("%s, %s: %s differs", models[i].name, others[k], want.name);
            }
        }
        gcut_ctx_free(ctx);
    }
}

static void run_length(gcut_ctx *ctx, gcut_step *s, int32_t *ids, int32_t *labels, int64_t length)
{
    for (int64_t i = 0; i < BATCH * length; i++)
        ids[i] = (int32_t)(7 * i % 48), labels[i] = (int32_t)(5 * i % 48);
    if (gcut_bind(s, "ids", ids, BATCH, length) != GCUT_OK ||
        gcut_bind(s, "labels", labels, BATCH, length) != GCUT_OK || gcut_run(s) != GCUT_OK)
        fail_msg("length %lld: %s", (long long)length, gcut_last_error(ctx));
}

/* The number of steps of a loop is known when inputs are bound, not before. */
static void one_compile_serves_every_length(void **state)
{
    (void)state;
    static const int64_t lengths[] = {5, 1, 100, 5};
    static int32_t ids[BATCH * 100], labels[BATCH * 100];
    const model *m = model_find("lstm");
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = load_dump(ctx, m);
    gcut_options o = options_for(m, GCUT_BACKEND_COMPILED, "mincut"),
                 e = options_for(m, GCUT_BACKEND_EAGER, "mincut");
    gcut_step *fast = gcut_compile(g, &o), *plain = gcut_compile(g, &e);
    if (!fast || !plain) fail_msg("%s", gcut_last_error(ctx));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        run_length(ctx, fast, ids, labels, lengths[i]);
        run_length(ctx, plain, ids, labels, lengths[i]);
        gcut_stats st = *gcut_step_stats(fast);
        assert_int_equal(st.peak_bytes, st.predicted_bytes);
        for (size_t v = 0; v < gcut_step_value_count(plain); v++) {
            gcut_value_info want = *gcut_step_value_at(plain, v), got;
            if (strcmp(want.role, "grad") != 0 && strcmp(want.role, "out") != 0) continue;
            assert_true(value_of(fast, want.name, &got));
            double scale = 0;
            for (int64_t k = 0; k < want.bytes / 4; k++)
                scale = fmax(scale, fabs((double)((float *)want.at)[k]));
            for (int64_t k = 0; k < want.bytes / 4; k++)
                if (!(fabs((double)((float *)got.at)[k] - (double)((float *)want.at)[k]) <= 2e-5 * scale))
                    fail_msg("length %lld: %s[%lld]", (long long)lengths[i], want.name, (long long)k);
        }
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps_are_what_is_built),
        cmocka_unit_test(sizes_are_those_of_the_papers),
        cmocka_unit_test(gradients_equal_central_differences),
        cmocka_unit_test(losses_and_gradients_equal_pytorchs),
        cmocka_unit_test(backends_agree),
        cmocka_unit_test(policies_give_equal_gradients),
        cmocka_unit_test(one_compile_serves_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
