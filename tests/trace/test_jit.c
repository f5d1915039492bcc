/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_jit: what each call gives beside the function computed by hand, and what it did for it: records, hits, takes a side exit,
 * makes a size a symbol or leaves it a number, falls back.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "traced.h"

static gcut_jit_value matrix(const float *at, int64_t n, int64_t m)
{
    return (gcut_jit_value){.at = (void *)(uintptr_t)at, .dtype = GCUT_F32, .rank = 2, .dim = {n, m}};
}

/* ---- branches ---- */

static void side_exits(void **state)
{
    (void)state;
    static const struct {
        float x, y;
        int64_t recordings, hits, exits;
    } calls[] = {{1, 2, 1, 0, 0}, {4, 8, 1, 1, 0}, {-3, -4, 3, 2, 1}, {1, 2, 3, 3, 1}, {-1, -2, 3, 4, 1}};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, risky, NULL, NULL);
    runs = 0;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        gcut_jit_value x = vector(&calls[k].x, 1), y;
        assert_true(*called(jit, &x, 1, &y) == calls[k].y);
        gcut_jit_info *i = gcut_jit_explain(jit);
        assert_int_equal(i->recordings, calls[k].recordings);
        assert_int_equal(i->hits, calls[k].hits);
        assert_int_equal(i->side_exits, calls[k].exits);
        assert_int_equal(i->nentries, 1);
        if (k == 4) assert_non_null(strstr(i->entry[0]->graph, "= if("));
        gcut_free(i);
    }
    assert_int_equal(runs, 3); /* the new path twice: to see that it is new, and for the entry */
    gcut_jit_free(jit);
    gcut_ctx_free(ctx);
}

static double threshold;

static void cosines(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = gcut_cos(gcut_cos(in[0]));
    if (gcut_cond(gcut_gt(gcut_mean(x), gcut_const(g, GCUT_F32, threshold)))) x = gcut_scale(x, 1 / 1.1);
    out[0] = gcut_mul(x, in[1]);
}

static void branches_and_sizes(void **state)
{
    (void)state;
    float all[10], ones[10];
    for (int k = 0; k < 10; k++) all[k] = (float)(-2 + 4 * k / 9.0), ones[k] = 1;
    for (int way = 0; way < 2; way++) {
        threshold = way ? 0.8 : 0.5;
        gcut_ctx *ctx = new_ctx();
        gcut_jit *jit = new_jit(ctx, cosines, NULL, NULL);
        for (int call = 0; call < 6; call++) {
            const int64_t n = call % 2 ? 8 : 10;
            gcut_jit_value in[2] = {vector(all, n), vector(ones, n)}, out;
            const float *y = called(jit, in, 2, &out);
            double mean = 0;
            for (int k = 0; k < n; k++) mean += cos(cos(all[k])) / (double)n;
            for (int k = 0; k < n; k++)
                assert_true(fabs(y[k] - cos(cos(all[k])) / (mean > threshold ? 1.1 : 1)) < 1e-6);
        }
        gcut_jit_info *i = gcut_jit_explain(jit);
        assert_int_equal(i->nentries, 2);
        assert_non_null(strstr(i->entry[1]->text, "f32[N], f32[N]; N >= 2"));
        gcut_free(i);
        gcut_ctx_free(ctx); /* the jit with it */
    }
}

/* ---- sizes ---- */

static void trains(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val y = gcut_matmul(in[0], in[1]), loss = gcut_mean(gcut_mul(y, y));
    gcut_grad(loss, &in[1], 1, out);
    (void)g;
}

/* By hand: 2 x' x w / (N M). */
static void check_gradient(gcut_jit *jit, int64_t n)
{
    static float x[64 * 3], w[3 * 2];
    for (int k = 0; k < 64 * 3; k++) x[k] = (float)sin(k);
    for (int k = 0; k < 6; k++) w[k] = (float)cos(k);
    gcut_jit_value in[2] = {matrix(x, n, 3), matrix(w, 3, 2)}, out;
    const float *d = called(jit, in, 2, &out);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) {
            double sum = 0;
            for (int64_t r = 0; r < n; r++) {
                double y = 0;
                for (int k = 0; k < 3; k++) y += (double)x[r * 3 + k] * w[k * 2 + j];
                sum += 2 * x[r * 3 + i] * y / (double)(2 * n);
            }
            assert_true(fabs(sum - d[i * 2 + j]) < 1e-5);
        }
}

static size_t entries(gcut_jit *jit)
{
    gcut_jit_info *i = gcut_jit_explain(jit);
    const size_t n = i->nentries;
    gcut_free(i);
    return n;
}

static void second_size_is_a_symbol(void **state)
{
    (void)state;
    static const int64_t size[] = {4, 4, 6, 6, 9, 33, 1};
    static const size_t before[] = {0, 1, 1, 2, 2, 2, 2};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, trains, NULL, NULL);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        assert_int_equal(entries(jit), before[k]);
        check_gradient(jit, size[k]);
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_int_equal(i->nentries, 3); /* 1 is a number of its own */
    assert_string_equal(i->entry[0]->text, "f32[4, 3], f32[3, 2]");
    assert_string_equal(i->entry[1]->text, "f32[N, 3], f32[3, 2]; N >= 2");
    assert_string_equal(i->entry[2]->text, "f32[1, 3], f32[3, 2]");
    assert_int_equal(i->misses, 3);
    assert_int_equal(i->miss[1]->call, 2);
    assert_int_equal(i->miss[1]->entry, 0);
    assert_true(i->miss[1]->arg == 0 && i->miss[1]->axis == 0 && i->miss[1]->expected == 4 &&
                i->miss[1]->found == 6);
    assert_non_null(strstr(i->text, "call 2 missed: argument 0, axis 0: entry 0 expects 4, found 6"));
    assert_int_equal(i->entry[1]->sizes, 3);
    const gcut_jit_miss *one = i->miss[2]; /* a symbol is at least 2 */
    assert_true(one->entry == 1 && one->at_least && one->expected == 2 && one->found == 1);
    assert_non_null(strstr(one->text, "entry 1 expects at least 2, found 1"));
    gcut_free(i);
    gcut_ctx_free(ctx);
}

/* The C loop reads a size, the other size is free. */
static void unrolls(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_sum(gcut_slice(in[0], 0, 0, 1), 0);
    for (int64_t t = 1; t < gcut_shape_of(in[0]).dim[0]; t++) /* sizes are read here */
        out[0] = gcut_sin(gcut_add(out[0], gcut_sum(gcut_slice(in[0], 0, t, t + 1), 0)));
}

static void forced_sizes_stay_numbers(void **state)
{
    (void)state;
    static float x[8 * 9];
    for (int k = 0; k < 72; k++) x[k] = (float)cos(3 * k);
    static const int64_t rows[] = {4, 6, 4, 6, 5}, columns[] = {3, 5, 7, 9, 2};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, unrolls, NULL, NULL);
    for (int call = 0; call < 5; call++) {
        const int64_t n = rows[call], m = columns[call];
        gcut_jit_value in = matrix(x, n, m), out;
        const float *y = called(jit, &in, 1, &out);
        for (int64_t k = 0; k < m; k++) {
            double want = x[k];
            for (int64_t t = 1; t < n; t++) want = sin(want + x[t * m + k]);
            assert_true(fabs(y[k] - want) < 1e-5);
        }
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_string_equal(i->entry[0]->text, "f32[4, 3]");
    assert_string_equal(i->entry[1]->text, "f32[6, 5]"); /* rows and columns changed */
    assert_string_equal(i->entry[2]->text, "f32[4, N]; N >= 2");
    assert_string_equal(i->entry[3]->text, "f32[6, N]; N >= 2");
    assert_non_null(i->entry[1]->note);
    assert_non_null(strstr(i->entry[1]->note, "test_jit.c:"));
    gcut_free(i);
    gcut_ctx_free(ctx);
}

/* C code that branches on a size which no earlier call had: the symbol stands for what fn does at each. */
static void by_size(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)g;
    out[0] = gcut_shape_of(in[0]).dim[0] > 20 ? gcut_exp(in[0]) : gcut_neg(in[0]);
}

static void branches_on_sizes(void **state)
{
    (void)state;
    static const int64_t size[] = {8, 10, 12, 30, 31, 9, 30};
    static float x[40];
    for (int k = 0; k < 40; k++) x[k] = (float)k / 40;
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, by_size, NULL, NULL);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        gcut_jit_value in = vector(x, size[k]), out;
        const float *y = called(jit, &in, 1, &out);
        assert_int_equal(out.dim[0], size[k]);
        for (int64_t i = 0; i < size[k]; i++)
            assert_true(fabsf(y[i] - (size[k] > 20 ? expf(x[i]) : -x[i])) < 1e-6f);
    }
    gcut_ctx_free(ctx);
}

/* The same behind a branch on a value: each path is compared at each set of sizes. */
static void behind_a_branch(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = gcut_slice(in[0], 0, 0, 1);
    if (gcut_cond(gcut_gt(gcut_sum(in[0]), gcut_const(g, GCUT_F32, 0))))
        for (int64_t t = 1; t < gcut_shape_of(in[0]).dim[0]; t++)
            out[0] = gcut_add(out[0], gcut_slice(in[0], 0, t, t + 1));
}

static void sizes_behind_branches(void **state)
{
    (void)state;
    static const int64_t size[] = {5, 6, 6, 5, 7, 7, 6, 8, 8};
    static const float sign[] = {-1, -1, 1, 1, -1, 1, -1, 1, -1};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, behind_a_branch, NULL, NULL);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        float x[8];
        for (int i = 0; i < 8; i++) x[i] = sign[k];
        gcut_jit_value in = vector(x, size[k]), out;
        assert_true(*called(jit, &in, 1, &out) == (sign[k] > 0 ? (float)size[k] : -1));
    }
    gcut_ctx_free(ctx);
}

/* A gradient by whichever branch was taken, at every size; results that fn names itself stand before out[0]. */
static void branched_loss(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    gcut_val x = in[0], s = gcut_sum(x);
    gcut_output(g, "extra", gcut_exp(x));
    out[0] =
        gcut_cond(gcut_gt(s, gcut_const(g, GCUT_F32, 0))) ? gcut_sum(gcut_mul(x, x)) : gcut_sum(gcut_exp(x));
    gcut_grad(out[0], &x, 1, &out[1]);
}

static void gradients_of_branches(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, branched_loss, NULL, NULL);
    for (int call = 0; call < 8; call++) {
        const float v = call % 2 ? -0.5f : 1.5f, x[3] = {v, v, v};
        const int64_t n = 2 + call / 3 % 2;
        gcut_jit_value in = vector(x, n), out[2];
        if (gcut_jit_call(jit, &in, 1, out, 2) != GCUT_OK)
            fail_msg("call %d: %s", call, gcut_last_error(NULL));
        assert_true(fabsf(*(float *)out[0].at - (float)n * (v > 0 ? v * v : expf(v))) < 1e-5f);
        for (int64_t k = 0; k < n; k++)
            assert_true(fabsf(((float *)out[1].at)[k] - (v > 0 ? 2 * v : expf(v))) < 1e-5f);
    }
    const float x[2] = {1, 1};
    gcut_jit_value in = vector(x, 2), one;
    assert_int_equal(gcut_jit_call(jit, &in, 1, &one, 1), GCUT_OK); /* another function: of one result */
    assert_true(*(float *)one.at == 2);
    gcut_ctx_free(ctx);
}

/* A result as an argument of the next call, also beyond the limit of entries. */
static void results_as_arguments(void **state)
{
    (void)state;
    static float x[16];
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, by_size, NULL, &(gcut_jit_options){.fixed = true, .entries = 1});
    gcut_jit_value in = vector(x, 1), out;
    called(jit, &in, 1, &out);
    for (int64_t n = 9; n > 4; n--) {
        for (int64_t k = 0; k < n; k++) x[k] = (float)k;
        in = n == 9 ? vector(x, n) : out;
        in.dim[0] = n;
        const float *y = called(jit, &in, 1, &out);
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == (n % 2 ? -(float)k : (float)k));
    }
    gcut_ctx_free(ctx);
}

static void limited(void **state)
{
    (void)state;
    static float x[40];
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = new_jit(ctx, risky, NULL, &(gcut_jit_options){.fixed = true, .entries = 2});
    for (int64_t n = 1; n < 7; n++) {
        for (int64_t k = 0; k < n; k++) x[k] = (float)(k + n);
        gcut_jit_value in = vector(x, n), out;
        const float *y = called(jit, &in, 1, &out);
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == 2 * x[k]);
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_int_equal(i->nentries, 2);
    assert_int_equal(i->misses, 6);
    assert_int_equal(i->interpreted, 6);
    gcut_free(i);
    /* A further call at the sizes of the last one records nothing; another branch of it does. */
    for (int call = 0; call < 4; call++) {
        float y[6];
        for (int k = 0; k < 6; k++) y[k] = call < 2 ? 1.0f : -1.0f;
        gcut_jit_value in = vector(y, 6), out;
        runs = 0;
        assert_true(*called(jit, &in, 1, &out) == (call < 2 ? 2 : -2));
        assert_int_equal(runs, call == 2);
    }
    gcut_ctx_free(ctx);
}

/* ---- compiling ---- */

static int said;

static void listen(void *user, const char *sentence)
{
    (void)user;
    if (strstr(sentence, "is interpreted")) said++;
}

static void behind(void **state)
{
    (void)state;
    const float one[] = {1};
    gcut_ctx *ctx = new_ctx();
    gcut_options compiled = {0};
    gcut_jit *jit = new_jit(ctx, risky, &compiled, &(gcut_jit_options){.background = true});
    int64_t made = 0, calls = 0;
    while (!made) {
        gcut_jit_value in = vector(one, 1), out;
        assert_true(*called(jit, &in, 1, &out) == 2);
        gcut_jit_info *i = gcut_jit_explain(jit);
        made = i->compiled;
        calls++;
        assert_true(made || i->interpreted == calls);
        gcut_free(i);
        usleep(1000);
    }
    gcut_jit_value in = vector(one, 1), out;
    assert_true(*called(jit, &in, 1, &out) == 2);
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_true(i->interpreted <= calls);
    gcut_free(i);
    gcut_ctx_free(ctx);
}

static void no_compiler(void **state)
{
    (void)state;
    const float one[] = {1};
    gcut_ctx *ctx = new_ctx();
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.log = listen});
    gcut_options compiled = {0};
    gcut_jit *jit = new_jit(ctx, by_size, &compiled, &(gcut_jit_options){.fixed = true});
    char *before = getenv("GRADCUT_CC"), *own = before ? strdup(before) : NULL;
    setenv("GRADCUT_CC", "/bin/false", 1);
    said = 0;
    for (int call = 0; call < 3; call++) {
        gcut_jit_value in = vector(one, 1), out;
        assert_true(*called(jit, &in, 1, &out) == -1);
    }
    gcut_jit_info *i = gcut_jit_explain(jit);
    assert_int_equal(i->fallbacks, 1);
    assert_int_equal(i->interpreted, 3);
    assert_int_equal(said, 1);
    gcut_free(i);
    /* On another thread: told and counted as well. */
    jit = new_jit(ctx, by_size, &compiled, &(gcut_jit_options){.background = true});
    for (int64_t failed = 0; !failed; usleep(1000)) {
        gcut_jit_value in = vector(one, 1), out;
        assert_true(*called(jit, &in, 1, &out) == -1);
        i = gcut_jit_explain(jit);
        failed = i->fallbacks;
        assert_int_equal(i->compiled, 0);
        gcut_free(i);
    }
    gcut_jit_free(jit);
    assert_int_equal(said, 2);
    if (own)
        setenv("GRADCUT_CC", own, 1);
    else
        unsetenv("GRADCUT_CC");
    free(own);
    gcut_ctx_free(ctx);
}

static void backends_agree(void **state)
{
    (void)state;
    static const float x[6] = {1, 2, 3, -1, 0.5f, 7};
    gcut_ctx *ctx = new_ctx();
    gcut_options compiled = {0};
    gcut_jit *jit = new_jit(ctx, risky, &compiled, NULL);
    gcut_jit_value in = vector(x, 6), out;
    assert_null(gcut_jit_check(jit, &in, 1, 0));
    assert_says(ctx, GCUT_EUSAGE, "no entry fits");
    called(jit, &in, 1, &out);
    gcut_check_report *r = gcut_jit_check(jit, &in, 1, 0);
    if (!r) fail_msg("%s", gcut_last_error(ctx));
    assert_true(r->ok);
    assert_non_null(strstr(r->text, "compiled"));
    gcut_free(r);
    /* Rounding to f32 is no error until it is asked to be none: then the op that rounds is named. */
    static float many[30];
    gcut_jit *rounds = new_jit(ctx, by_size, &compiled, NULL);
    for (int k = 0; k < 30; k++) many[k] = (float)k / 7;
    in = vector(many, 30);
    called(rounds, &in, 1, &out);
    r = gcut_jit_check(rounds, &in, 1, 1e-12);
    assert_non_null(r);
    assert_false(r->ok);
    assert_non_null(strstr(r->culprit, "exp"));
    assert_non_null(strstr(r->culprit, "test_jit.c:"));
    gcut_free(r);
    gcut_ctx_free(ctx);
}

/* ---- mistakes ---- */

static jmp_buf away;
static int how;
static gcut_jit *itself;

static void misbehaves(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    const float one[] = {1};
    gcut_jit_value x = vector(one, 1), y;
    switch (how) {
    case 1: longjmp(away, 1);
    case 2: assert_int_equal(gcut_jit_call(itself, &x, 1, &y, 1), GCUT_EUSAGE); break;
    case 3: return;
    case 4: out[0] = gcut_matmul(in[0], in[0]); return;
    default: break;
    }
    out[0] = runs++ ? gcut_tanh(in[0]) : gcut_exp(in[0]);
    out[0] = gcut_cond(gcut_gt(gcut_sum(in[0]), gcut_const(g, GCUT_F32, 0))) ? out[0] : in[0];
}

/* Apart from the function that calls setjmp, whose local variables longjmp may change. */
static __attribute__((noinline)) void call_that_leaves(gcut_jit *jit, const gcut_jit_value *x)
{
    gcut_jit_value y;
    gcut_jit_call(jit, x, 1, &y, 1);
    fail();
}

static void leave_by_longjmp(gcut_jit *jit, const gcut_jit_value *x)
{
    if (!setjmp(away)) call_that_leaves(jit, x);
}

static void mistakes(void **state)
{
    (void)state;
    const float one[] = {1}, less[] = {-1};
    gcut_ctx *ctx = new_ctx();
    gcut_jit *jit = itself = new_jit(ctx, misbehaves, NULL, NULL);
    gcut_jit_value x = vector(one, 1), y, negative = vector(less, 1);
    how = 1;
    leave_by_longjmp(jit, &x);
    how = 3;
    assert_int_equal(gcut_jit_call(jit, &x, 1, &y, 1), GCUT_EUSAGE);
    assert_non_null(strstr(gcut_last_error(NULL), "set no out[0]"));
    how = 4;
    assert_int_equal(gcut_jit_call(jit, &x, 1, &y, 1), GCUT_ETYPE);
    assert_non_null(strstr(gcut_last_error(NULL), "test_jit.c:"));
    how = 2;
    assert_int_equal(gcut_jit_call(jit, &x, 1, &y, 1), GCUT_EUSAGE);
    assert_non_null(strstr(gcut_last_error(NULL), "calls a gcut_jit"));
    how = 0;
    runs = 0;
    assert_true(fabsf(*called(jit, &x, 1, &y) - expf(1)) < 1e-6f);
    /* the other branch: it begins with another op now */
    assert_int_equal(gcut_jit_call(jit, &negative, 1, &y, 1), GCUT_EUSAGE);
    assert_non_null(strstr(gcut_last_error(NULL), "exp(%x0)"));
    assert_non_null(strstr(gcut_last_error(NULL), "tanh(%x0)"));
    /* arguments */
    assert_int_equal(gcut_jit_call(NULL, &x, 1, &y, 1), GCUT_EUSAGE);
    assert_int_equal(gcut_jit_call(jit, NULL, 1, &y, 1), GCUT_EUSAGE);
    assert_int_equal(gcut_jit_call(jit, &x, -1, &y, 1), GCUT_EUSAGE);
    assert_int_equal(gcut_jit_call(jit, &x, 1, &y, 0), GCUT_EUSAGE);
    gcut_jit_value bad = x;
    bad.at = NULL;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    assert_non_null(strstr(gcut_last_error(NULL), "in[0]: its memory is NULL"));
    bad = x, bad.at = (char *)x.at + 1;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    bad = x, bad.rank = 99;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    bad = x, bad.dtype = (gcut_dtype)77;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    bad = x, bad.rank = 3, bad.dim[0] = bad.dim[1] = bad.dim[2] = INT64_C(1) << 30;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    assert_non_null(strstr(gcut_last_error(NULL), "do not fit in 64 bits"));
    bad = x, bad.dim[0] = -4;
    assert_int_equal(gcut_jit_call(jit, &bad, 1, &y, 1), GCUT_EUSAGE);
    assert_null(gcut_jit_new(ctx, "a b", misbehaves, NULL, NULL, NULL));
    assert_null(gcut_jit_new(ctx, "f", NULL, NULL, NULL, NULL));
    const gcut_options trained = {.optimizer = "sgd(lr=0.1)"};
    assert_null(gcut_jit_new(ctx, "f", misbehaves, NULL, &trained, NULL));
    assert_says(ctx, GCUT_EUSAGE, "ask for derivatives");
    assert_null(gcut_jit_explain(NULL));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_exits),
        cmocka_unit_test(branches_and_sizes),
        cmocka_unit_test(second_size_is_a_symbol),
        cmocka_unit_test(forced_sizes_stay_numbers),
        cmocka_unit_test(branches_on_sizes),
        cmocka_unit_test(sizes_behind_branches),
        cmocka_unit_test(gradients_of_branches),
        cmocka_unit_test(results_as_arguments),
        cmocka_unit_test(limited),
        cmocka_unit_test(behind),
        cmocka_unit_test(no_compiler),
        cmocka_unit_test(backends_agree),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
