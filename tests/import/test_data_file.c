/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where `data = file("w.npy")` is read from: the folder of the text that names it, and no other.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "public.h"

/* y = -w, and w is the one number of the file. */
#define TEXT(path)                                                                                           \
    "gcut 1\ndata @w: f32[1] = file(\"" path "\")\n"                                                         \
    "func @f(param %w: f32[1]) -> (out y: f32[1]) {\n  %y = neg(%w)\n  return %y\n}\n"

static void write_number(const char *path, float x)
{
    write_npy(path, "<f4", "(1,)", &x, sizeof x);
}

/* -y of a graph, which is freed with its context; NAN: the run failed, and `said` is in the error. */
static float number_of(gcut_ctx *ctx, gcut_graph *g, const char *said)
{
    gcut_options o = {.backend = GCUT_BACKEND_PLANNED, .forward_only = true};
    gcut_step *s = gcut_compile(g, &o);
    float y = 0;
    if (!s || gcut_bind(s, "y", &y, 1) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    bool runs = gcut_run(s) == GCUT_OK;
    if (!runs != (said != NULL)) fail_msg("%s: %s", runs ? "it ran" : "no run", gcut_last_error(ctx));
    if (said && !strstr(gcut_last_error(ctx), said)) fail_msg("no '%s': %s", said, gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    return runs ? -y : NAN;
}

static float loaded(const char *path, const char *said)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    return number_of(ctx, gcut_load(ctx, path, NULL), said);
}

static float parsed(const char *text, const char *name)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    return number_of(ctx, gcut_parse(ctx, text, GCUT_TO_NUL, name, NULL), NULL);
}

static int folders(void **state)
{
    if (start(state)) return -1;
    mkdir("model", 0700);
    mkdir("model/data", 0700);
    mkdir("elsewhere", 0700);
    write_number("w.npy", 1);
    write_number("model/w.npy", 2);
    write_number("model/data/w.npy", 3);
    write_text("here.gcut", TEXT("w.npy"));
    write_text("model/m.gcut", TEXT("w.npy"));
    write_text("model/below.gcut", TEXT("data/w.npy"));
    write_text("model/above.gcut", TEXT("../w.npy"));
    return 0;
}

static void test_beside_the_text(void **state)
{
    (void)state;
    assert_float_equal(loaded("here.gcut", NULL), 1, 0);
    assert_float_equal(loaded("model/m.gcut", NULL), 2, 0);
    assert_float_equal(loaded("./model/m.gcut", NULL), 2, 0);
    assert_float_equal(loaded("model/below.gcut", NULL), 3, 0);
    assert_float_equal(loaded("model/above.gcut", NULL), 1, 0);
    char path[600];
    snprintf(path, sizeof path, "%s/model/m.gcut", folder);
    assert_float_equal(loaded(path, NULL), 2, 0);
    assert_int_equal(chdir("elsewhere"), 0);
    assert_float_equal(loaded("../model/m.gcut", NULL), 2, 0);
    assert_float_equal(loaded(path, NULL), 2, 0);
    assert_int_equal(chdir(".."), 0);
}

/* A file of that name in the current folder is another one. */
static void test_nowhere_else(void **state)
{
    (void)state;
    write_text("elsewhere/m.gcut", TEXT("w.npy"));
    loaded("elsewhere/m.gcut", "elsewhere/w.npy");
}

static void test_absolute(void **state)
{
    (void)state;
    char text[1200], before[] = TEXT("w.npy"), *at = strstr(before, "w.npy");
    *at = 0;
    snprintf(text, sizeof text, "%s%s/model/data/%s", before, folder, "w.npy");
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", at + 5);
    write_text("elsewhere/absolute.gcut", text);
    assert_float_equal(loaded("elsewhere/absolute.gcut", NULL), 3, 0);
}

static void test_from_memory(void **state)
{
    (void)state;
    assert_float_equal(parsed(TEXT("w.npy"), NULL), 1, 0);
    assert_float_equal(parsed(TEXT("w.npy"), "a model"), 1, 0);
    assert_float_equal(parsed(TEXT("w.npy"), "model/none.gcut"), 2, 0);
}

static void test_builder(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(1));
    gcut_initial(w, "file(\"w.npy\")");
    gcut_output(g, "y", gcut_neg(w));
    assert_float_equal(number_of(ctx, g, NULL), 1, 0);
}

/* The table of values in emitted C has the name as the model has it: where it stands is the program's
 * business. */
static void test_emitted(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = {.forward_only = true};
    gcut_graph *g = gcut_load(ctx, "model/below.gcut", NULL);
    if (gcut_emit_files(g, &o, "step", false) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    char *c = slurp("step.c");
    assert_non_null(c);
    assert_non_null(strstr(c, "\"data/w.npy\""));
    assert_null(strstr(c, "model/data/w.npy"));
    free(c);
}

/* The command, with the compiled backend. */
static void test_run(void **state)
{
    (void)state;
    float y = 0;
    free(fine(ARGV("run", "model/m.gcut", "--forward", "--out", "out")));
    read_npy_f32("out/y.npy", &y, 1);
    assert_float_equal(y, -2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_the_text),
        cmocka_unit_test(test_nowhere_else),
        cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_from_memory),
        cmocka_unit_test(test_builder),
        cmocka_unit_test(test_emitted),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, folders, finish);
}
