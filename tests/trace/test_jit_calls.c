/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_jit: calls whose arguments are results, branches that round differently or have results of different types, what the
 * function sees of sizes, what it may not do, and threads.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "count_memory.h"
#include "traced.h"

/* ---- results as arguments ---- */

static void doubled(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_scale(in[0], 2);
}

static void pair(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_concat((gcut_val[]){in[0], in[0]}, 2, 0);
}

/* x = f(x), at equal sizes and at new ones: the step's results are its arguments, and are freed when the sizes change. */
static void feed_back(const gcut_options *o)
{
    gcut_ctx *ctx = new_ctx();
    gcut_jit *twice = new_jit(ctx, doubled, o, NULL), *longer = new_jit(ctx, pair, o, NULL);
    const float x[] = {1, 2, 3};
    gcut_jit_value in = vector(x, 3), out;
    float factor = 1;
    int64_t n = 3;
    for (int call = 0; call < 30; call++) {
        const bool grows = call % 5 == 4;
        const float *y = called(grows ? longer : twice, &in, 1, &out);
        if (grows)
            n *= 2;
        else
            factor *= 2;
        assert_int_equal(out.dim[0], n);
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == factor * x[k % 3]);
        in = out;
    }
    /* A part of a result, at smaller sizes. */
    while (n > 3) {
        in.dim[0] = n /= 2;
        in.at = (float *)in.at + n;
        const float *y = called(twice, &in, 1, &out);
        factor *= 2;
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == factor * x[k % 3]);
        in = out;
    }
    gcut_ctx_free(ctx);
}

static void results_are_arguments(void **state)
{
    (void)state;
    feed_back(NULL);
    feed_back(&(gcut_options){0});
}

/* A branch that is new reads the arguments after a step has run on them. */
static void of_a_side_exit(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, risky, NULL, NULL);
    float x = 0.75f;
    gcut_jit_value in = vector(&x, 1), out;
    for (int call = 0; call < 3; call++) {
        assert_true(*called(jit, &in, 1, &out) == 2 * x);
        x *= 2;
        in = out;
    }
    float last = x;
    for (float *y = in.at; *y > -9; y = in.at) {
        *y = last = *y > 0 ? -*y : *y; /* the caller may write to results */
        assert_true(*called(jit, &in, 1, &out) == last - 1);
        in = out;
    }
    gcut_ctx_free(ctx);
}

/* ---- branches ---- */

static float threshold;

static void by_sum(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    runs++;
    out[0] = gcut_cond(gcut_gt(gcut_sum(in[0]), gcut_const(g, GCUT_F32, threshold))) ? gcut_scale(in[0], 2)
                                                                                     : gcut_neg(in[0]);
}

/* The interpreter sums in another order than the step: at a threshold between the two sums they choose different branches, and
 * the call ends with either. */
static void sums_round_differently(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float x[N];
    unsigned seed = 1;
    int different = 0;
    for (int again = 0; again < 20; again++) {
        gcut_ctx *ctx = new_ctx();
        for (int k = 0; k < N; k++)
            x[k] = (float)rand_r(&seed) / (float)RAND_MAX * (k % 2 ? 1e3f : 1e-3f) - (k % 3 ? 0 : 200);
        gcut_graph *e = gcut_eager(ctx);
        const float stated =
            *(const float *)gcut_data(gcut_sum(gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(N)), x)));
        gcut_graph *g = gcut_graph_new(ctx, "s");
        gcut_output(g, "y", gcut_sum(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N))));
        gcut_options o = {.forward_only = true};
        gcut_step *s = gcut_compile(g, &o);
        float compiled;
        gcut_bind_input(s, "x", x, N), gcut_bind_n(s, "y", &compiled, 0, NULL);
        must_run(ctx, s);
        different += stated != compiled;
        if (stated != compiled) {
            threshold = stated < compiled ? stated : compiled;
            gcut_options all = {0};
            gcut_jit *jit = new_jit(ctx, by_sum, &all, NULL);
            for (int call = 0; call < 3; call++) {
                gcut_jit_value in = vector(x, N), out;
                runs = 0;
                const float *y = called(jit, &in, 1, &out);
                assert_true(runs <= 2);
                for (int k = 0; k < N; k++) assert_true(y[k] == (stated > threshold ? 2 : -1) * x[k]);
            }
        }
        gcut_ctx_free(ctx);
        if (different == 2) return;
    }
    if (!different) skip(); /* the machine's vectors have the width that the interpreter's order has */
}

static void of_two_shapes(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = gcut_sum(in[0]);
    if (gcut_cond(gcut_gt(out[0], gcut_const(g, GCUT_F32, 0)))) out[0] = gcut_scale(in[0], 2);
}

/* Results of different types: no `if` has both, and each arm is made once. */
static void alternating_types(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, of_two_shapes, NULL, NULL);
    for (int call = 0; call < 12; call++) {
        const float v = call % 2 ? 3 : -3, x[2] = {v, v};
        gcut_jit_value in = vector(x, 2), out;
        const float *y = called(jit, &in, 1, &out);
        assert_int_equal(out.rank, v > 0);
        assert_true(*y == (v > 0 ? 6 : -6));
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_int_equal(i->nentries, 1);
    assert_int_equal(i->side_exits, 11);
    gcut_free(i);
    gcut_options all = {0};
    jit = new_jit(ctx, of_two_shapes, &all, NULL);
    for (int call = 0; call < 12; call++) {
        const float v = call % 2 ? 3 : -3, x[2] = {v, v};
        gcut_jit_value in = vector(x, 2), out;
        assert_true(*called(jit, &in, 1, &out) == (v > 0 ? 6 : -6));
    }
    i = gcut_jit_explain(jit);
    assert_int_equal(i->compiled, 2);
    gcut_free(i);
    gcut_ctx_free(ctx);
}

static void of_many_paths(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = in[0];
    for (int k = 0; k < 9; k++) {
        gcut_val bit = gcut_slice(in[0], 0, k, k + 1);
        if (gcut_cond(gcut_gt(gcut_sum(bit), gcut_const(g, GCUT_F32, 0)))) out[0] = gcut_scale(out[0], 3);
    }
}

/* 512 paths: an entry has 256, further ones are interpreted. */
static void many_paths(void **state)
{
    (void)state;
    if (!nightly()) skip(); /* every new path makes the graph again */
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, of_many_paths, NULL, NULL);
    for (int way = 0; way < 512; way += way < 250 ? 1 : 13) {
        float x[9], factor = 1;
        for (int k = 0; k < 9; k++) {
            x[k] = way >> k & 1 ? 1.0f : -1.0f;
            factor *= way >> k & 1 ? 3.0f : 1.0f;
        }
        gcut_jit_value in = vector(x, 9), out;
        const float *y = called(jit, &in, 1, &out);
        for (int k = 0; k < 9; k++) assert_true(y[k] == factor * x[k]);
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_true(i->entry[0]->branches > 400 && i->entry[0]->branches <= 766);
    gcut_free(i);
    gcut_ctx_free(ctx);
}

/* ---- sizes ---- */

static int64_t sees[8];
static size_t nsees;

/* Memory of a size, and a loop that counts down to 0. */
static void counts(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    const int64_t n = gcut_shape_of(in[0]).dim[0], m = gcut_shape_of(in[0]).dim[1];
    sees[nsees++ % 8] = n;
    gcut_val *row = malloc((size_t)n * sizeof *row);
    for (int64_t left = n; left; left--) row[left - 1] = gcut_slice(in[0], 0, left - 1, left);
    out[0] = gcut_reshape(gcut_mul(gcut_reshape(in[0], n * m), gcut_full(g, GCUT_F32, GCUT_SHAPE(n * m), 2)),
                          m, n);
    for (int64_t k = 0; k < n; k++) out[0] = gcut_add(out[0], gcut_sum(row[k]));
    free(row);
}

static void sizes_are_numbers(void **state)
{
    (void)state;
    static const int64_t rows[] = {3, 4, 4, 5, 3, 6}, columns[] = {2, 2, 3, 5, 3, 2};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, counts, NULL, NULL);
    for (size_t call = 0; call < sizeof rows / sizeof *rows; call++) {
        const int64_t n = rows[call], m = columns[call];
        float x[36], sum = 0;
        for (int64_t k = 0; k < n * m; k++) sum += x[k] = (float)(k + 1);
        gcut_jit_value in = {.at = x, .dtype = GCUT_F32, .rank = 2, .dim = {n, m}}, out;
        const float *y = called(jit, &in, 1, &out);
        for (int64_t k = 0; k < n * m; k++) assert_true(y[k] == 2 * x[k] + sum);
        assert_true(out.dim[0] == m && out.dim[1] == n);
        for (size_t k = 0; k < nsees && k < 8; k++) assert_true(sees[k] >= 3 && sees[k] <= 6);
    }
    gcut_ctx_free(ctx);
}

static void arithmetic(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    const int64_t n = gcut_shape_of(in[0]).dim[0], m = gcut_shape_of(in[1]).dim[0];
    gcut_val both = gcut_concat((gcut_val[]){in[0], in[1]}, 2, 0);
    out[0] = gcut_concat(
        (gcut_val[]){gcut_slice(both, 0, n / 2, n + m / 3), gcut_full(g, GCUT_F32, GCUT_SHAPE(2 * n + 1), 7)},
        2, 0);
    out[0] = gcut_concat(
        (gcut_val[]){out[0], gcut_reshape(gcut_full(g, GCUT_F32, GCUT_SHAPE(n, m), 5), n * m)}, 2, 0);
}

/* Expressions of sizes that C computes: products, halves, sums. */
static void expressions_of_sizes(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, arithmetic, NULL, NULL);
    static float x[64], y[64];
    unsigned seed = 3;
    for (int k = 0; k < 64; k++) x[k] = (float)k, y[k] = (float)(100 + k);
    for (int call = 0; call < 200; call++) {
        const int64_t n = 2 + rand_r(&seed) % 12, m = 2 + rand_r(&seed) % 12;
        gcut_jit_value in[2] = {vector(x, n), vector(y, m)}, out;
        const float *z = called(jit, in, 2, &out);
        int64_t at = 0;
        for (int64_t k = n / 2; k < n + m / 3; k++) assert_true(z[at++] == (k < n ? x[k] : y[k - n]));
        for (int64_t k = 0; k < 2 * n + 1; k++) assert_true(z[at++] == 7);
        for (int64_t k = 0; k < n * m; k++) assert_true(z[at++] == 5);
        assert_int_equal(out.dim[0], at);
    }
    gcut_ctx_free(ctx);
}

/* Sizes that are multiples of each other in the first calls: each argument has a symbol of its own. */
static void mean_of_outer(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    gcut_val x = in[0], loss = gcut_mean(gcut_mul(gcut_reshape(in[0], -1, 1), gcut_reshape(in[1], 1, -1)));
    gcut_grad(loss, &x, 1, &out[0]);
}

static void multiples(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 3, 5, 9, 5, 4}, columns[] = {4, 6, 10, 18, 6, 9};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, mean_of_outer, NULL, NULL);
    static float ones[18];
    for (int k = 0; k < 18; k++) ones[k] = 1;
    for (size_t call = 0; call < sizeof rows / sizeof *rows; call++) {
        gcut_jit_value in[2] = {vector(ones, rows[call]), vector(ones, columns[call])}, out;
        const float *y = called(jit, in, 2, &out);
        assert_int_equal(out.dim[0], rows[call]);
        assert_true(fabsf(y[0] - 1.0f / (float)rows[call]) < 1e-6f);
    }
    gcut_ctx_free(ctx);
}

/* Two reshapes behind a branch, which become one; and a path that fails at sizes at which it is not taken. */
static void halves(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    const int64_t n = gcut_shape_of(in[0]).dim[0];
    if (gcut_cond(gcut_gt(gcut_sum(in[0]), gcut_const(g, GCUT_F32, 0))))
        out[0] = gcut_sum(gcut_exp(gcut_reshape(gcut_reshape(in[0], 2, n / 2), 2, 2, n / 4)));
    else
        out[0] = gcut_sum(gcut_neg(in[0]));
}

static void paths_at_sizes(void **state)
{
    (void)state;
    static const int64_t size[] = {8, 12, 12, 7, 8, 16, 9};
    static const float value[] = {1, 1, -1, -1, 1, 1, -1};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, halves, NULL, NULL);
    for (size_t call = 0; call < sizeof size / sizeof *size; call++) {
        float x[16];
        for (int k = 0; k < 16; k++) x[k] = value[call];
        gcut_jit_value in = vector(x, size[call]), out;
        const float want = (float)size[call] * (value[call] > 0 ? expf(1) : 1);
        assert_true(fabsf(*called(jit, &in, 1, &out) - want) < 1e-4f);
    }
    gcut_ctx_free(ctx);
}

/* 4,000 sets of sizes are remembered, not what was recorded at them. */
static void many_sizes(void **state)
{
    (void)state;
    memory_counter memory = {0};
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_memory, &memory});
    gcut_jit *jit = new_jit(ctx, doubled, NULL, NULL);
    static float x[4200];
    size_t before = 0;
    for (int64_t n = 2; n < 4200; n++) {
        gcut_jit_value in = vector(x, n), out;
        called(jit, &in, 1, &out);
        if (n == 200) before = memory.now;
    }
    assert_true(memory.now < before + 600000); /* two results of 17 KB, and 4,000 hashes */
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_int_equal(i->nentries, 2);
    assert_int_equal(i->entry[1]->sizes, 4197);
    gcut_free(i);
    gcut_ctx_free(ctx);
    assert_int_equal(memory.now, 0);
}

/* ---- what a recorded function may not do ---- */

static gcut_jit *other;
static gcut_ctx *around;
static gcut_step *a_step;
static gcut_val outside; /* of an eager graph */
static int does;

static void misuses(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    const float one[] = {1};
    gcut_jit_value x = vector(one, 1), y;
    switch (does) {
    case 0: assert_int_equal(gcut_jit_call(other, &x, 1, &y, 1), GCUT_EUSAGE); break;
    case 1: assert_null(gcut_jit_check(other, &x, 1, 0)); break;
    case 2: gcut_jit_free(other); break;
    case 3: gcut_ctx_free(around); break;
    case 4: gcut_step_free(a_step); break;
    case 5: assert_null(gcut_data(outside)); break;
    case 6: assert_false(gcut_cond(gcut_gt(outside, outside))); break;
    case 7: gcut_backward(outside); break;
    case 8: out[0] = gcut_full(g, GCUT_F32, GCUT_SHAPE(gcut_dim_sym(g, "N", 1, 9)), 1); return;
    case 9:
        gcut_matmul(in[0], in[0]);
        gcut_clear_errors(around);
        gcut_matmul(in[0], in[0]); /* nothing: the graph has failed */
        break;
    default: break;
    }
    out[0] = gcut_exp(in[0]);
}

static void misuse(void **state)
{
    (void)state;
    static const char *const says[] = {"calls a gcut_jit",
                                       "calls a gcut_jit",
                                       "frees a gcut_jit",
                                       "frees a context",
                                       "frees a step",
                                       "reads a value of another graph",
                                       "reads a condition of another graph",
                                       "computes gradients of another graph",
                                       "declares the size N",
                                       "failed"};
    const float one[] = {1};
    gcut_ctx *ctx = around = new_ctx();
    gcut_jit *jit = new_jit(ctx, misuses, NULL, NULL);
    other = new_jit(ctx, doubled, NULL, NULL);
    gcut_jit_value x = vector(one, 1), y;
    called(other, &x, 1, &y); /* a hit is refused, too */
    gcut_graph *plain = gcut_graph_new(ctx, "plain");
    gcut_output(plain, "y", gcut_exp(gcut_input(plain, "x", GCUT_F32, GCUT_SHAPE(2))));
    a_step = gcut_compile(plain, &(gcut_options){.forward_only = true, .backend = GCUT_BACKEND_EAGER});
    outside = gcut_sum(gcut_write(gcut_param(gcut_eager(ctx), "w", GCUT_F32, GCUT_SHAPE(1)), one));
    for (does = 0; does < 10; does++) {
        assert_int_equal(gcut_jit_call(jit, &x, 1, &y, 1), does < 9 ? GCUT_EUSAGE : GCUT_ETYPE);
        if (does < 9 && !strstr(gcut_last_error(NULL), says[does]))
            fail_msg("%d: %s", does, gcut_last_error(NULL));
        gcut_graph *e = gcut_eager(ctx);
        gcut_val v = gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(1)), one);
        gcut_clear_errors(ctx);
        assert_null(gcut_trace(ctx, misuses, NULL, &v, 1, 1, NULL));
        if (!strstr(gcut_last_error(ctx), says[does])) fail_msg("%d: %s", does, gcut_last_error(ctx));
        gcut_graph_free(e);
    }
    assert_true(fabsf(*called(jit, &x, 1, &y) - expf(1)) < 1e-6f);
    const gcut_options at = {.at = (gcut_size[]){{"N", 32}}, .nat = 1};
    assert_null(gcut_jit_new(ctx, "f", misuses, NULL, &at, NULL));
    gcut_ctx_free(ctx);
}

/* ---- threads ---- */

typedef struct caller {
    gcut_jit *jit;
    unsigned seed;
    int ncalls;
    bool done; /* all results were right */
} caller;

static void *call_often(void *arg)
{
    caller *c = arg;
    float x[16];
    bool right = true;
    for (int call = 0; call < c->ncalls; call++) {
        const int64_t n = 2 + rand_r(&c->seed) % 14;
        float sum = 0;
        for (int64_t k = 0; k < n; k++) sum += x[k] = (float)(rand_r(&c->seed) % 9 - 4);
        gcut_jit_value in = vector(x, n), out;
        if (gcut_jit_call(c->jit, &in, 1, &out, 1) != GCUT_OK) return NULL;
        for (int64_t k = 0; k < n; k++)
            right = right && ((float *)out.at)[k] == (sum > 0 ? 2 * x[k] : x[k] - 1);
    }
    c->done = right;
    return NULL;
}

static void run_threads(const gcut_options *o, const gcut_jit_options *how, int ncalls)
{
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, risky, o, how);
    caller c[2] = {{jit, 1, ncalls, false}, {jit, 2, ncalls, false}};
    pthread_t t[2];
    for (int k = 0; k < 2; k++) assert_int_equal(pthread_create(&t[k], NULL, call_often, &c[k]), 0);
    for (int k = 0; k < 2; k++) pthread_join(t[k], NULL);
    assert_true(c[0].done && c[1].done);
    gcut_ctx_free(ctx);
}

static void threads(void **state)
{
    (void)state;
    gcut_options all = {0};
    run_threads(NULL, NULL, 60);
    run_threads(NULL, &(gcut_jit_options){.fixed = true, .entries = 2}, 60); /* beyond the limit */
    run_threads(&all, &(gcut_jit_options){.background = true}, 2000);
    run_threads(&all, NULL, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_arguments),
        cmocka_unit_test(of_a_side_exit),
        cmocka_unit_test(sums_round_differently),
        cmocka_unit_test(alternating_types),
        cmocka_unit_test(many_paths),
        cmocka_unit_test(sizes_are_numbers),
        cmocka_unit_test(expressions_of_sizes),
        cmocka_unit_test(multiples),
        cmocka_unit_test(paths_at_sizes),
        cmocka_unit_test(many_sizes),
        cmocka_unit_test(misuse),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
