/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Initial values: the generator against the published vectors of Random123,
 * the shape of its distributions, and every kind of `data`.
 */
#include "harness.h"

#include "interp/initial_values.h"

static int setup(void **state)
{
    *state = gcut_env_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}

/* kat_vectors of Random123, philox4x32 with 10 rounds */
static void known_answers(void **state)
{
    (void)state;
    static const uint32_t kat[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
         0x5001e420, 0x24126ea1},
    };
    for (int k = 0; k < 3; k++) {
        uint32_t out[4];
        gcut_philox(kat[k], kat[k] + 4, out);
        assert_memory_equal(out, kat[k] + 6, sizeof out);
    }
}

/* Sample mean and variance of n values; bounds below are five standard errors of each. */
static void moments(const gcut_array *x, double *mean, double *var)
{
    *mean = *var = 0;
    for (int64_t k = 0; k < x->n; k++) *mean += x->u.f[k] / (double)x->n;
    for (int64_t k = 0; k < x->n; k++) *var += (x->u.f[k] - *mean) * (x->u.f[k] - *mean) / (double)x->n;
}

#define N 100000

static void normal_moments(void **state)
{
    gcut_env *env = *state;
    double mean, var, cross = 0, tail = 0;
    gcut_array x = gcut_random_array(env->arena, GCUT_F64, 1, (int64_t[]){N}, 1, "x", 0, 0);
    moments(&x, &mean, &var);
    assert_true(fabs(mean) < 5 / sqrt(N));
    assert_true(fabs(var - 1) < 5 * sqrt(2.0 / N));
    for (int64_t k = 0; k + 1 < N; k++) cross += x.u.f[k] * x.u.f[k + 1] / N;
    for (int64_t k = 0; k < N; k++) tail += fabs(x.u.f[k]) > 1.959963984540054 ? 1.0 / N : 0;
    assert_true(fabs(cross) < 5 / sqrt(N));
    assert_true(fabs(tail - 0.05) < 5 * sqrt(0.05 * 0.95 / N));
}

static void streams(void **state)
{
    gcut_env *env = *state;
    int64_t n = 1000;
    gcut_array a = gcut_random_array(env->arena, GCUT_F32, 1, &n, 1, "x", 0, 0);
    gcut_array b = gcut_random_array(env->arena, GCUT_F32, 2, (int64_t[]){10, 50}, 1, "x", 0, 0);
    gcut_array c = gcut_random_array(env->arena, GCUT_F32, 1, &n, 1, "y", 0, 0);
    gcut_array d = gcut_random_array(env->arena, GCUT_F32, 1, &n, 2, "x", 0, 0);
    int same_name = 0, same_seed = 0;
    for (int k = 0; k < 1000; k++) {
        if (k < 500) assert_true(a.u.f[k] == b.u.f[k]); /* neither shape nor length matters */
        assert_true((double)(float)a.u.f[k] == a.u.f[k]);
        same_name += a.u.f[k] == c.u.f[k];
        same_seed += a.u.f[k] == d.u.f[k];
    }
    assert_that(same_name, <, 5);
    assert_that(same_seed, <, 5);
}

static void integers(void **state)
{
    gcut_env *env = *state;
    int64_t n = 60000, count[6] = {0};
    gcut_array x = gcut_random_array(env->arena, GCUT_I32, 1, &n, 7, "t", -2, 4);
    for (int64_t k = 0; k < n; k++) {
        assert_in_range(x.u.i[k] + 2, 0, 5);
        count[x.u.i[k] + 2]++;
    }
    for (int k = 0; k < 6; k++) assert_true(llabs(count[k] - 10000) < 5 * 92); /* sqrt(60000 5/36) < 92 */
    x = gcut_random_array(env->arena, GCUT_U8, 1, &n, 7, "t", -5, 1000);
    for (int64_t k = 0; k < n; k++) assert_true(x.u.i[k] >= 0 && x.u.i[k] <= 255);
    x = gcut_random_array(env->arena, GCUT_BOOL, 1, &n, 7, "t", 0, 2);
    int64_t ones = 0;
    for (int64_t k = 0; k < n; k++) {
        assert_true(x.u.i[k] == 0 || x.u.i[k] == 1);
        ones += x.u.i[k];
    }
    assert_true(llabs(ones - n / 2) < 5 * 123);
    x = gcut_random_array(env->arena, GCUT_I64, 1, &n, 7, "t", INT64_MIN, INT64_MAX);
    int64_t negative = 0;
    for (int64_t k = 0; k < n; k++) negative += x.u.i[k] < 0;
    assert_true(llabs(negative - n / 2) < 5 * 123);
    x = gcut_random_array(env->arena, GCUT_I64, 1, &n, 7, "t", INT64_MAX - 1, INT64_MAX);
    for (int64_t k = 0; k < n; k++) assert_true(x.u.i[k] == INT64_MAX - 1);
}

/* ---- data declarations ---- */

typedef struct job {
    gcut_env *env;
    gcut_data d;
    gcut_array out;
} job;

static void data_body(void *arg)
{
    job *j = arg;
    gcut_module *m = gcut_module_new(j->env, j->env->arena);
    m->file = "w.gcut";
    j->d.name = "w";
    j->out = gcut_data_array(j->env->arena, m, &j->d, j->d.type.dim);
}

static gcut_type vector(gcut_dtype t, int64_t n)
{
    return (gcut_type){.dtype = t, .rank = 1, .dim = {n}};
}

static void refuse(gcut_env *env, gcut_data d, gcut_status status, const char *word)
{
    job j = {.env = env, .d = d};
    assert_int_equal(gcut_protect(env, data_body, &j), status);
    assert_int_equal(env->ndiags, 1);
    assert_non_null(strstr(env->diags[0].message, word));
    gcut_diags_clear(env);
}

static void constants(void **state)
{
    job j = {
        .env = *state,
        .d = {.type = vector(GCUT_F32, 3), .kind = GCUT_DATA_splat, .nnums = 1, .nums = (double[]){0.1}}};
    must(*state, data_body, &j);
    for (int k = 0; k < 3; k++) assert_true(j.out.u.f[k] == (double)0.1f);
    j.d = (gcut_data){
        .type = vector(GCUT_I8, 2), .kind = GCUT_DATA_dense, .nnums = 2, .nums = (double[]){-128, 127}};
    must(*state, data_body, &j);
    assert_that(j.out.u.i[0], ==, -128);
    assert_that(j.out.u.i[1], ==, 127);
}

static void distributions(void **state)
{
    double mean, var;
    job j = {
        .env = *state,
        .d = {.type = vector(GCUT_F32, N), .kind = GCUT_DATA_normal, .nnums = 2, .nums = (double[]){3, 0.5}}};
    must(*state, data_body, &j);
    moments(&j.out, &mean, &var);
    assert_true(fabs(mean) < 5 * 0.5 / sqrt(N));
    assert_true(fabs(var - 0.25) < 5 * 0.25 * sqrt(2.0 / N));
    j.d = (gcut_data){
        .type = vector(GCUT_F64, N), .kind = GCUT_DATA_uniform, .nnums = 3, .nums = (double[]){3, -1, 3}};
    must(*state, data_body, &j);
    moments(&j.out, &mean, &var);
    for (int k = 0; k < N; k++) assert_true(j.out.u.f[k] >= -1 && j.out.u.f[k] < 3);
    assert_true(fabs(mean - 1) < 5 * sqrt(4.0 / 3 / N));
    assert_true(fabs(var - 4.0 / 3) < 5 * 4.0 / 3 * sqrt(0.8 / N)); /* kurtosis of a uniform is 1.8 */
}

static void no_integer_body(void *arg)
{
    gcut_random_array(((gcut_env *)arg)->arena, GCUT_U8, 0, NULL, 1, "t", -5, 0);
}

static void misfits(void **state)
{
    gcut_env *env = *state;
    double bad[] = {1.5, 300, 1};
    refuse(env, (gcut_data){.type = vector(GCUT_I32, 1), .kind = GCUT_DATA_splat, .nnums = 1, .nums = bad},
           GCUT_ETYPE, "1.5");
    refuse(env, (gcut_data){.type = vector(GCUT_I8, 1), .kind = GCUT_DATA_splat, .nnums = 1, .nums = bad + 1},
           GCUT_ETYPE, "300");
    refuse(env, (gcut_data){.type = vector(GCUT_F32, 2), .kind = GCUT_DATA_dense, .nnums = 3, .nums = bad},
           GCUT_ETYPE, "3 numbers for 2 elements");
    refuse(env, (gcut_data){.type = vector(GCUT_F32, 2), .kind = GCUT_DATA_normal, .nnums = 2, .nums = bad},
           GCUT_ETYPE, "seed");
    refuse(env, (gcut_data){.type = vector(GCUT_F32, 2), .kind = GCUT_DATA_normal, .nnums = 1, .nums = bad},
           GCUT_ETYPE, "normal(seed, std)");
    refuse(env, (gcut_data){.type = vector(GCUT_I32, 2), .kind = GCUT_DATA_uniform, .nnums = 3, .nums = bad},
           GCUT_ETYPE, "floats");
    assert_int_equal(gcut_protect(env, no_integer_body, env), GCUT_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test_setup_teardown(normal_moments, setup, teardown),
        cmocka_unit_test_setup_teardown(streams, setup, teardown),
        cmocka_unit_test_setup_teardown(integers, setup, teardown),
        cmocka_unit_test_setup_teardown(constants, setup, teardown),
        cmocka_unit_test_setup_teardown(distributions, setup, teardown),
        cmocka_unit_test_setup_teardown(misfits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
