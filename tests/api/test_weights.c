/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights in files: training goes on with the bits of training that never stopped; names, dtypes and what does not fit.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>

#include "api.h"
#include "gradcut/train.h"

/* A param, a state of its own, a key and inputs. */
#define NET                                                                                                  \
    "func @f[N](param %w: f32[4, 3], param %b: f32[3], state %mean: f32[3], rng %key: i64[], "               \
    "input %x: f32[N, 4]) -> (out loss: f32[], next mean: f32[3]) {\n"                                       \
    "  %h = matmul(%x, %w)\n  %c = broadcast(%b, shape=[N, 3], axes=[1])\n  %y = add(%h, %c)\n"              \
    "  %m = mean(%y, axes=[0])\n  %next = add(%mean, %m)\n"                                                  \
    "  %d = dropout(%y, %key, p=0.5)\n  %s = mul(%d, %d)\n  %loss = sum(%s)\n  return %loss, %next\n}\n"

static gcut_step *step_of(gcut_ctx *ctx, const char *text, const char *optimizer)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = GCUT_BACKEND_JOINT;
    o.optimizer = optimizer;
    gcut_step *s = gcut_compile(graph_from(ctx, text), &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    return s;
}

static float loss_of(gcut_ctx *ctx, gcut_step *s)
{
    gcut_value_info v;
    must_run(ctx, s);
    assert_true(value_of(s, "loss", &v));
    return *(const float *)v.at;
}

static void must_load(gcut_ctx *ctx, gcut_step *s, const char *path, const gcut_load_options *how)
{
    if (gcut_load_weights(s, path, how) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
}

/* ---- both ways ---- */

static void training_goes_on(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_step *whole = step_of(ctx, NET, "adamw(lr=0.1)"), *first = step_of(ctx, NET, "adamw(lr=0.1)");
    float want[4];
    for (int k = 0; k < 4; k++) want[k] = loss_of(ctx, whole);
    for (int k = 0; k < 2; k++) assert_true(loss_of(ctx, first) == want[k]);
    size_t n = 0;
    char *bytes = gcut_save_weights_to(first, &n);
    assert_non_null(bytes);
    char path[256];
    snprintf(path, sizeof path, "%s", in_tmp("w.safetensors"));
    const char *npz = in_tmp("w.npz");
    assert_int_equal(gcut_save_weights(first, path), GCUT_OK);
    assert_int_equal(gcut_save_weights(first, npz), GCUT_OK);
    for (int from = 0; from < 3; from++) {
        gcut_step *again = step_of(ctx, NET, "adamw(lr=0.1)");
        if (from)
            must_load(ctx, again, from == 1 ? path : npz, NULL);
        else if (gcut_load_weights_from(again, bytes, n, NULL) != GCUT_OK)
            fail_msg("%s", gcut_last_error(ctx));
        for (int k = 2; k < 4; k++) assert_true(loss_of(ctx, again) == want[k]);
        gcut_step_free(again);
    }
    /* The same weights are the same bytes. */
    gcut_step *copy = step_of(ctx, NET, "adamw(lr=0.1)");
    must_load(ctx, copy, path, NULL);
    size_t m = 0;
    char *other = gcut_save_weights_to(copy, &m);
    assert_int_equal(m, n);
    assert_memory_equal(other, bytes, n);
    gcut_free(other);
    gcut_free(bytes);
    gcut_ctx_free(ctx);
}

/* An entry that is damaged is found before any value is set. */
static void damaged(void **state)
{
    (void)state;
    static const float w[12] = {1, 2, 3}, b[3] = {5, 6, 7};
    gcut_ctx *ctx = new_ctx();
    gcut_step *s = step_of(ctx, NET, NULL);
    assert_int_equal(gcut_set(s, "w", w, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "b", b, 3), GCUT_OK);
    const char *path = in_tmp("w.npz");
    assert_int_equal(gcut_save_weights(s, path), GCUT_OK);
    char bytes[4096], *of_b = NULL;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(gcut_load_weights_from(s, bytes, n, NULL), GCUT_OK);
    for (size_t i = 0; i + sizeof b <= n && !of_b; i++)
        if (!memcmp(bytes + i, b, sizeof b)) of_b = bytes + i;
    assert_non_null(of_b);
    of_b[0] ^= 1;
    static const float other[12] = {0};
    assert_int_equal(gcut_set(s, "w", other, 4, 3), GCUT_OK);
    assert_int_equal(gcut_load_weights_from(s, bytes, n, NULL), GCUT_EIO);
    assert_says(ctx, GCUT_EIO, "the entry 'b.npy' has another checksum");
    gcut_value_info v;
    assert_true(value_of(s, "w", &v));
    assert_memory_equal(v.at, other, sizeof other);
    gcut_ctx_free(ctx);
}

/* A step without an optimizer has none of its states. */
static void evaluation(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_step *train = step_of(ctx, NET, "adamw(lr=0.1)"), *plain = step_of(ctx, NET, NULL);
    loss_of(ctx, train);
    const char *path = in_tmp("w.safetensors");
    assert_int_equal(gcut_save_weights(train, path), GCUT_OK);
    const float want = loss_of(ctx, train);
    assert_int_equal(gcut_load_weights(plain, path, NULL), GCUT_ETYPE);
    assert_says(ctx, GCUT_ETYPE, "left over");
    must_load(ctx, plain, path, &(gcut_load_options){.partial = true});
    assert_true(loss_of(ctx, plain) == want);
    /* The other way round the optimizer's states begin anew. */
    assert_int_equal(gcut_save_weights(plain, path), GCUT_OK);
    must_load(ctx, train, path, NULL);
    gcut_ctx_free(ctx);
}

/* ---- what does not fit ---- */

#define PART                                                                                                 \
    "func @f(param %w: f16[4, 3], param %bias: f32[3], param %more: f32[2]) -> (out loss: f32[]) {\n"        \
    "  %a = cast(%w, to=f32)\n  %x = sum(%a)\n  %y = sum(%bias)\n  %z = sum(%more)\n"                        \
    "  %p = add(%x, %y)\n  %loss = add(%p, %z)\n  return %loss\n}\n"

static void all_is_said_at_once(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_step *from = step_of(ctx, NET, NULL), *to = step_of(ctx, PART, NULL);
    const char *path = in_tmp("w.safetensors");
    assert_int_equal(gcut_save_weights(from, path), GCUT_OK);
    gcut_value_info before, after;
    assert_int_equal(gcut_prepare(to), GCUT_OK);
    assert_true(value_of(to, "bias", &before));
    const float held = *(const float *)before.at;
    assert_int_equal(gcut_load_weights(to, path, &(gcut_load_options){.rename = "b=more"}), GCUT_ETYPE);
    static const char *const says[] = {
        "do not fit @f: 1 missing, 2 left over, 1 of another shape, 1 of another dtype",
        "missing        bias, f32[3]",
        "left over      mean, f32[3]",
        "left over      key, i64[]",
        "another shape  b (more): f32[3], not f32[2]",
        "another dtype  w: f32[4, 3], not f16[4, 3]"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) assert_says(ctx, GCUT_ETYPE, says[i]);
    assert_true(value_of(to, "bias", &after));
    assert_true(*(const float *)after.at == held); /* nothing was set */
    assert_int_equal(gcut_load_weights(to, path, &(gcut_load_options){.rename = "b=w"}), GCUT_ETYPE);
    assert_says(ctx, GCUT_ETYPE, "twice          w: by ");
    static const char *const wrong[] = {"b", "=b", "b=", "b=c=d", "a*=b", "a=*b", "*a*=b*", "a=b,,c=d"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(gcut_load_weights(to, path, &(gcut_load_options){.rename = wrong[i]}), GCUT_EUSAGE);
        assert_says(ctx, GCUT_EUSAGE, "cannot rename by");
    }
    assert_int_equal(gcut_load_weights(to, in_tmp("none"), NULL), GCUT_EIO);
    assert_int_equal(gcut_load_weights(to, NULL, NULL), GCUT_EUSAGE);
    assert_int_equal(gcut_load_weights(NULL, path, NULL), GCUT_EUSAGE);
    gcut_ctx_free(ctx);
}

static void renamed_and_converted(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_step *from = step_of(ctx, NET, NULL), *to = step_of(ctx, PART, NULL);
    static const float w[12] = {1, 2, 3, 0.1f, -4, 1e-9f, 7, 8, 65504, 10, 11, 12}, b[3] = {5, 6, 7};
    assert_int_equal(gcut_set(from, "w", w, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(from, "b", b, 3), GCUT_OK);
    const char *path = in_tmp("w.safetensors");
    assert_int_equal(gcut_save_weights(from, path), GCUT_OK);
    must_load(ctx, to, path, &(gcut_load_options){.rename = "b*=bias*", .convert = true, .partial = true});
    gcut_value_info v;
    assert_true(value_of(to, "w", &v));
    const uint16_t *half = v.at;
    assert_int_equal(half[0], 0x3c00);
    assert_int_equal(half[3], 0x2e66); /* 0.1 to nearest even */
    assert_int_equal(half[5], 0);
    assert_int_equal(half[8], 0x7bff);
    assert_true(value_of(to, "bias", &v));
    assert_memory_equal(v.at, b, sizeof b);
    gcut_ctx_free(ctx);
}

/* ---- data of a file with many tensors ---- */

static void declared(void **state)
{
    (void)state;
    static const struct {
        const char *key, *says; /* NULL: it runs */
    } cases[] = {{", \"b\"", NULL},
                 {", \"bb\"", "has no tensor 'bb'"},
                 {"", "has 4 tensors"},
                 {", \"w\"", "holds w of type f32[4, 3]"}};
    gcut_ctx *ctx = new_ctx();
    gcut_step *from = step_of(ctx, NET, NULL);
    static const float b[3] = {5, 6, 7};
    assert_int_equal(gcut_set(from, "b", b, 3), GCUT_OK);
    assert_int_equal(gcut_save_weights(from, in_tmp("w.safetensors")), GCUT_OK);
    assert_int_equal(gcut_save_weights(from, in_tmp("w.npz")), GCUT_OK);
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "data @p: f32[3] = file(\"w.%s\"%s)\n"
            "func @f(param %%p: f32[3]) -> (out loss: f32[]) {\n  %%loss = sum(%%p)\n  return %%loss\n}\n",
            i % 2 ? "npz" : "safetensors", cases[i / 2].key);
        gcut_step *s = step_of(ctx, text, NULL);
        if (!cases[i / 2].says) {
            assert_true(loss_of(ctx, s) == 18);
            continue;
        }
        assert_int_not_equal(gcut_run(s), GCUT_OK);
        if (!strstr(gcut_last_error(ctx), cases[i / 2].says))
            fail_msg("expected '%s' in: %s", cases[i / 2].says, gcut_last_error(ctx));
    }
    gcut_ctx_free(ctx);
}

/* ---- memory ---- */

/* Reading a file of some size takes memory of that size: the step's. */
static void large_files_are_not_copied_twice(void **state)
{
    (void)state;
    enum { MIB = 128 };
    gcut_ctx *ctx = new_ctx();
    const char *text = "func @f(param %w: f32[128, 262144]) -> (out loss: f32[]) {\n"
                       "  %loss = sum(%w)\n  return %loss\n}\n";
    gcut_step *from = step_of(ctx, text, NULL);
    float *w = calloc((size_t)MIB << 18, sizeof *w);
    assert_non_null(w);
    w[77] = 1;
    assert_int_equal(gcut_bind(from, "w", w, 128, 262144), GCUT_OK);
    const char *path = in_tmp("large.safetensors");
    struct rusage start, saved, loaded;
    getrusage(RUSAGE_SELF, &start);
    assert_int_equal(gcut_save_weights(from, path), GCUT_OK);
    getrusage(RUSAGE_SELF, &saved);
    gcut_step_free(from);
    free(w);
    gcut_step *to = step_of(ctx, text, NULL);
    must_load(ctx, to, path, NULL);
    getrusage(RUSAGE_SELF, &loaded);
    gcut_value_info v;
    assert_true(value_of(to, "w", &v));
    assert_true(((const float *)v.at)[77] == 1);
#ifndef __SANITIZE_ADDRESS__                                                /* which has memory of its own */
    assert_that(saved.ru_maxrss - start.ru_maxrss, <, (MIB << 10) * 5 / 4); /* the pages of w are touched */
    assert_that(loaded.ru_maxrss - saved.ru_maxrss, <, (MIB << 10) / 4);
#endif
    gcut_ctx_free(ctx);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_files_are_not_copied_twice),
        cmocka_unit_test(training_goes_on),
        cmocka_unit_test(damaged),
        cmocka_unit_test(evaluation),
        cmocka_unit_test(all_is_said_at_once),
        cmocka_unit_test(renamed_and_converted),
        cmocka_unit_test(declared),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
