/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Misuse of the public API: nothing crashes, nothing is silently wrong, and the context (or, where the handle
 * itself is NULL, the thread) holds a sentence that names the call and the argument.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "count_blocks.h"

#define MODEL                                                                                                \
    "func @line[N in 1..64](param %w: f32[3, 1], input %x: f32[N, 3], input %y: f32[N, 1]) -> (out loss: "   \
    "f32[]) {\n"                                                                                             \
    "  %p = matmul(%x, %w)\n"                                                                                \
    "  %loss = mse(%p, %y)\n"                                                                                \
    "  return %loss\n"                                                                                       \
    "}\n"

static gcut_graph *model(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_parse(ctx, "gcut 1\n" MODEL, GCUT_TO_NUL, "model.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static void says(const gcut_ctx *ctx, const char *what)
{
    const char *said = gcut_last_error(ctx);
    if (!strstr(said, what)) fail_msg("'%s' is not in: %s", what, said);
}

/* ---- NULL handles: the thread's sentence ---- */

#define ORPHAN(failure, call, name, argument)                                                                \
    do {                                                                                                     \
        gcut_clear_errors(NULL);                                                                             \
        assert_true((call) == (failure));                                                                    \
        says(NULL, name ": its argument `" argument "` is NULL");                                            \
        assert_int_equal(gcut_last_status(NULL), GCUT_EUSAGE);                                               \
    } while (0)

static void null_handles(void **state)
{
    (void)state;
    float x = 0;
    const gcut_feed feed = {"x", "x.npy"};
    gcut_val out = {0};
    ORPHAN(NULL, gcut_graph_new(NULL, "f"), "gcut_graph_new", "ctx");
    ORPHAN(NULL, gcut_cache_look(NULL), "gcut_cache_look", "ctx");
    ORPHAN(GCUT_EUSAGE, gcut_cache_clear(NULL, NULL), "gcut_cache_clear", "ctx");
    ORPHAN(0, gcut_dim_sym(NULL, "N", 1, 9), "gcut_dim_sym", "g");
    ORPHAN(0, gcut_dim_add(NULL, 1, 2), "gcut_dim_add", "g");
    ORPHAN(0, gcut_dim_div(NULL, 1, 2), "gcut_dim_div", "g");
    ORPHAN(0, (gcut_scope(NULL, "s"), 0), "gcut_scope", "g");
    ORPHAN(0, gcut_input(NULL, "x", GCUT_F32, GCUT_SCALAR).id, "gcut_input", "g");
    ORPHAN(0, gcut_param(NULL, "x", GCUT_F32, GCUT_SCALAR).id, "gcut_param", "g");
    ORPHAN(0, gcut_state(NULL, "x", GCUT_F32, GCUT_SCALAR).id, "gcut_state", "g");
    ORPHAN(0, gcut_rng(NULL, "key").id, "gcut_rng", "g");
    ORPHAN(0, (gcut_output(NULL, "y", out), 0), "gcut_output", "g");
    ORPHAN(0, (gcut_next(NULL, "y", out), 0), "gcut_next", "g");
    ORPHAN(0, (gcut_scan(NULL, &(gcut_loop){0}, &out), 0), "gcut_scan", "g");
    ORPHAN(0, (gcut_while(NULL, &(gcut_loop){0}, &out), 0), "gcut_while", "g");
    ORPHAN(NULL, gcut_function(NULL, "f"), "gcut_function", "g");
    ORPHAN(NULL, gcut_load(NULL, "x.gcut", NULL), "gcut_load", "ctx");
    ORPHAN(NULL, gcut_parse(NULL, "", 0, NULL, NULL), "gcut_parse", "ctx");
    ORPHAN(NULL, gcut_ops(NULL, NULL, false), "gcut_ops", "ctx");
    ORPHAN(GCUT_EUSAGE, gcut_write_text(NULL, "x", ""), "gcut_write_text", "ctx");
    ORPHAN(NULL, gcut_diff_plans(NULL, "a", "b"), "gcut_diff_plans", "ctx");
    ORPHAN(NULL, gcut_calibrate(NULL, NULL), "gcut_calibrate", "ctx");
    ORPHAN(GCUT_EUSAGE, gcut_ctx_set_hooks(NULL, NULL), "gcut_ctx_set_hooks", "ctx");
    ORPHAN(NULL, gcut_show(NULL, NULL, GCUT_STAGE_JOINT, true), "gcut_show", "g");
    ORPHAN(NULL, gcut_stage_look(NULL, NULL, GCUT_STAGE_JOINT), "gcut_stage_look", "g");
    ORPHAN(NULL, gcut_describe(NULL), "gcut_describe", "g");
    ORPHAN(NULL, gcut_plan_new(NULL, NULL), "gcut_plan_new", "g");
    ORPHAN(NULL, gcut_explain(NULL, NULL, "x"), "gcut_explain", "g");
    ORPHAN(GCUT_EUSAGE, gcut_emit_files(NULL, NULL, "x", false), "gcut_emit_files", "g");
    ORPHAN(NULL, gcut_compile(NULL, NULL), "gcut_compile", "g");
    ORPHAN(NULL, gcut_crosscheck(NULL, NULL, NULL, 0, 0), "gcut_crosscheck", "g");
    ORPHAN(NULL, gcut_gradcheck(NULL, NULL, NULL, 0, 0), "gcut_gradcheck", "g");
    ORPHAN(NULL, gcut_frontier_new(NULL, NULL, NULL), "gcut_frontier_new", "g");
    ORPHAN(NULL, gcut_compare(NULL, NULL, NULL), "gcut_compare", "g");
    ORPHAN(NULL, gcut_plan_look(NULL), "gcut_plan_look", "plan");
    ORPHAN(NULL, gcut_plan_valid_at(NULL), "gcut_plan_valid_at", "plan");
    ORPHAN(NULL, gcut_plan_text(NULL, NULL), "gcut_plan_text", "plan");
    ORPHAN(NULL, gcut_plan_saved_text(NULL, NULL), "gcut_plan_saved_text", "plan");
    ORPHAN(NULL, gcut_plan_json(NULL), "gcut_plan_json", "plan");
    ORPHAN(NULL, gcut_step_plan(NULL), "gcut_step_plan", "step");
    ORPHAN(GCUT_EUSAGE, gcut_bind(NULL, "x", &x), "gcut_bind", "step");
    ORPHAN(GCUT_EUSAGE, gcut_bind_input(NULL, "x", &x), "gcut_bind_input", "step");
    ORPHAN(GCUT_EUSAGE, gcut_set(NULL, "x", &x), "gcut_set", "step");
    ORPHAN(NULL, gcut_fill(NULL, "x"), "gcut_fill", "step");
    ORPHAN(GCUT_EUSAGE, gcut_prepare(NULL), "gcut_prepare", "step");
    ORPHAN(GCUT_EUSAGE, gcut_run(NULL), "gcut_run", "step");
    ORPHAN(GCUT_EUSAGE, gcut_run_forward(NULL), "gcut_run_forward", "step");
    ORPHAN(NULL, gcut_step_value_at(NULL, 0), "gcut_step_value_at", "step");
    ORPHAN(NULL, gcut_step_value(NULL, "x"), "gcut_step_value", "step");
    ORPHAN(NULL, gcut_step_stats(NULL), "gcut_step_stats", "step");
    ORPHAN(NULL, gcut_step_profile(NULL, 3), "gcut_step_profile", "step");
    ORPHAN(GCUT_EUSAGE, gcut_step_feed(NULL, &feed, 1), "gcut_step_feed", "step");
    ORPHAN(GCUT_EUSAGE, gcut_step_value_save(NULL, "x", "x.npy"), "gcut_step_value_save", "step");
    assert_int_equal(gcut_step_value_count(NULL), 0);
    assert_int_equal(gcut_error_count(NULL), 0);
    assert_false(gcut_graph_ok(NULL));
    assert_null(gcut_graph_sibling(NULL, 0));
    assert_string_equal(gcut_graph_name(NULL), "");
    gcut_free(NULL);
    gcut_plan_free(NULL);
    gcut_step_free(NULL);
    gcut_graph_free(NULL);
    gcut_ctx_free(NULL);
}

/* ---- other arguments: the context's sentence ---- */

#define REFUSED(failure, call, what)                                                                         \
    do {                                                                                                     \
        gcut_clear_errors(ctx);                                                                              \
        assert_true((call) == (failure));                                                                    \
        says(ctx, what);                                                                                     \
        assert_int_not_equal(gcut_last_status(ctx), GCUT_OK);                                                \
    } while (0)

static void other_arguments(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    gcut_step *s = gcut_compile(g, NULL);
    float x[12] = {0};
    assert_non_null(s);
    REFUSED(NULL, gcut_load(ctx, NULL, NULL), "gcut_load: its argument `path` is NULL");
    REFUSED(NULL, gcut_parse(ctx, NULL, 3, NULL, NULL), "gcut_parse: its argument `text` is NULL");
    REFUSED(NULL, gcut_parse(ctx, "gcut 1\n" MODEL, GCUT_TO_NUL, "m.gcut", "@lime"), "there are @line");
    REFUSED(NULL, gcut_show(g, NULL, (gcut_stage_name)99, true), "there is no stage 99");
    REFUSED(NULL, gcut_explain(g, NULL, NULL), "gcut_explain: its argument `value` is NULL");
    REFUSED(GCUT_EUSAGE, gcut_emit_files(g, NULL, NULL, false),
            "gcut_emit_files: its argument `base` is NULL");
    REFUSED(GCUT_EUSAGE, gcut_bind(s, NULL, x, 4, 3), "gcut_bind: its argument `name` is NULL");
    REFUSED(GCUT_EUSAGE, gcut_bind(s, "z", x, 4, 3), "@line has no value 'z'");
    says(ctx, "input: x, y");
    REFUSED(GCUT_EUSAGE, gcut_bind(s, "x", NULL, 4, 3), "the memory for 'x' is NULL");
    gcut_options eager = {.backend = GCUT_BACKEND_EAGER};
    gcut_step *interpreted = gcut_compile(g, &eager);
    char *odd = (char *)x + 1;
    REFUSED(GCUT_EUSAGE, gcut_bind(s, "x", odd, 4, 3), "'x' f32[N, 3] begins 1 byte after a multiple of 4");
    REFUSED(GCUT_EUSAGE, gcut_bind_input(interpreted, "x", odd + 1, 4, 3),
            "begins 2 bytes after a multiple of 4");
    REFUSED(GCUT_EUSAGE, gcut_bind_n(s, "x", x, 2, NULL), "'x': its 2 sizes are NULL");
    REFUSED(GCUT_EUSAGE, gcut_bind_n(s, "x", x, 99, NULL), "'x' cannot have 99 axes");
    REFUSED(GCUT_EUSAGE, gcut_bind_n(s, "x", x, -1, NULL), "'x' cannot have -1 axes");
    double wide[12] = {0};
    const double rows[4][3] = {{0}};
    const int64_t sizes[] = {4, 3};
    REFUSED(GCUT_EUSAGE, gcut_bind(s, "x", wide, 4, 3),
            "'x' is f32[N, 3], but the pointer to its memory is to f64");
    says(ctx, "a void * to bytes of it");
    REFUSED(GCUT_EUSAGE, gcut_bind_input(s, "x", rows, 4, 3),
            "'x' is f32[N, 3], but the pointer to its memory is to f64");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (const double *)wide, 4, 3), "the pointer to its memory is to f64");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (int *)x, 4, 3), "to i32");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (int64_t *)wide, 4, 3), "to i64");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (long long *)wide, 4, 3), "to i64");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (int8_t *)x, 4, 3), "to i8");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (int16_t *)x, 4, 3), "to i16");
    REFUSED(GCUT_EUSAGE, gcut_set(s, "x", (bool *)x, 4, 3), "to bool");
    REFUSED(GCUT_EUSAGE, gcut_set_as(s, "x", 77, x, 2, sizes), "the memory for 'x': 77 is no dtype");
    /* declared as bytes, as no element at all, or as what may be the bits of a half */
    assert_int_equal(gcut_set(s, "x", (void *)x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "x", (const char *)x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "x", (uint8_t *)x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "x", (uint16_t *)x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "x", (const float(*)[3])x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set_n(s, "x", wide, 2, sizes), GCUT_OK);
    REFUSED(GCUT_EDIM, gcut_bind(s, "x", x, 12), "it has 2 axes, not 1");
    const gcut_size twice[] = {{"N", 4}, {"N", 5}};
    const gcut_options sized_twice = {.at = twice, .nat = 2};
    REFUSED(NULL, gcut_compile(g, &sized_twice), "the size of N is given twice, 4 and 5");
    REFUSED(GCUT_EDIM, gcut_bind(s, "x", x, 4, 4), "axis 1 has size 3, not 4");
    REFUSED(GCUT_EDIM, gcut_bind(s, "x", x, -4, 3), "axis 0 cannot have size -4");
    REFUSED(GCUT_EUSAGE, gcut_bind_input(s, "loss", x), "the step writes to 'loss'");
    REFUSED(NULL, gcut_step_value(s, "nobody"), "@line has no value 'nobody'");
    REFUSED(GCUT_EUSAGE, gcut_step_value_save(s, "w", NULL), "its argument `npy` is NULL");
    REFUSED(GCUT_EUSAGE, gcut_step_value_save(s, "w", "w.npy"), "call gcut_prepare or gcut_run first");
    REFUSED(GCUT_EUSAGE, gcut_write_text(ctx, "x", NULL), "its argument `text` is NULL");
    REFUSED(NULL, gcut_diff_plans(ctx, "a.json", NULL), "its argument `b` is NULL");
    REFUSED(NULL, gcut_crosscheck(g, NULL, NULL, 2, 0), "its argument `feed` is NULL");
    REFUSED(NULL, gcut_crosscheck(g, NULL, NULL, 0, -1), "a tolerance cannot be -1");
    assert_null(gcut_step_value_at(s, 99999));
    gcut_val out = {0};
    gcut_scan(gcut_graph_new(ctx, "scans"), NULL, &out);
    says(ctx, "gcut_scan: its argument `loop` is NULL");
    says(ctx, "test_traps.c:");
    gcut_ctx_free(ctx);
}

/* Errors of sizes are at the caller's line, as those of values are. */
static void sizes_know_their_line(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    for (int k = 0; k < 4; k++) {
        gcut_graph *g = gcut_graph_new(ctx, "f");
        gcut_dim n = gcut_dim_sym(g, "N", 1, 8);
        assert_true(gcut_graph_ok(g));
        int line = 0;
        if (k == 0) line = (gcut_dim_sym(g, "a b", 1, 8), __LINE__);
        if (k == 1) line = (gcut_dim_sym(g, "M", 8, 1), __LINE__);
        if (k == 2) line = (gcut_dim_sym(g, "N", 1, 8), __LINE__);
        if (k == 3) line = (gcut_dim_div(g, n, 0), __LINE__);
        assert_false(gcut_graph_ok(g));
        char place[64];
        snprintf(place, sizeof place, "test_traps.c:%d: error: ", line);
        says(ctx, place);
    }
    gcut_ctx_free(ctx);
}

/* ---- options ---- */

static void options_out_of_range(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    const gcut_options bad[] = {
        {.budget = -5},
        {.saved_budget = -2},
        {.threads = -3},
        {.threads = 5000},
        {.backend = (gcut_backend)77},
        {.backend = (gcut_backend)-1},
        {.unbound = (gcut_unbound)2},
        {.lambda = -3},
        {.lambda = (double)NAN},
        {.lambda = 1e300},
        {.nwrt = 1},
        {.nat = 2},
        {.at = &(gcut_size){NULL, 4}, .nat = 1},
        {.at = &(gcut_size){"N", -1}, .nat = 1},
        {.save = (const char *const[]){NULL}, .nsave = 1},
    };
    const char *const what[] = {"options.budget cannot be -5",  "options.saved_budget cannot be -2",
                                "options.threads cannot be -3", "options.threads cannot be 5000",
                                "options.backend cannot be 77", "options.backend cannot be -1",
                                "options.unbound cannot be 2",  "options.lambda cannot be -3",
                                "options.lambda cannot be",     "options.lambda cannot be 1e+300",
                                "options.wrt is NULL",          "options.at is NULL",
                                "options.at[0].name is NULL",   "the size of N cannot be -1",
                                "options.save[0] is NULL"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gcut_clear_errors(ctx);
        if (gcut_compile(g, &bad[i])) fail_msg("accepted: %s", what[i]);
        says(ctx, what[i]);
        assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    }
    /* The hint has the word to write for a zero that is meant, not its number. */
    REFUSED(NULL, gcut_compile(g, &bad[0]), "0 (unset), or GCUT_BUDGET_MIN");
    REFUSED(NULL, gcut_compile(g, &bad[7]), "0 (unset), or GCUT_LAMBDA_FASTEST");
    gcut_ctx_free(ctx);
}

/* Options of a program that was built with another version: shorter ones are filled up with defaults, longer
 * ones are refused when they ask for something. */
static void options_of_other_versions(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    struct {
        gcut_options known;
        int64_t later;
    } longer = {.later = 0};
    gcut_options zero = {0};
    gcut_plan *plan = gcut_plan_new(g, &zero),
              *few = gcut_plan_new_sized(offsetof(gcut_options, lambda), g, &zero),
              *more = gcut_plan_new_sized(sizeof longer, g, &longer.known);
    assert_true(plan && few && more);
    char *a = gcut_plan_json(plan), *b = gcut_plan_json(few), *c = gcut_plan_json(more);
    assert_string_equal(a, b);
    assert_string_equal(a, c);
    longer.later = 1;
    assert_null(gcut_plan_new_sized(sizeof longer, g, &longer.known));
    says(ctx, "a member that gradcut");
    gcut_ctx_free(ctx);
}

/* {0} is compiled, mincut at 0.05 ns a byte, without a budget. */
static void zeroed_options(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    gcut_options zero = {0}, named = {.policy = "mincut", .lambda = 0.05, .unbound = GCUT_UNBOUND_RANDOM};
    char *a = gcut_plan_json(gcut_plan_new(g, &zero)), *b = gcut_plan_json(gcut_plan_new(g, &named));
    assert_string_equal(a, b);
    assert_true(strstr(a, "\"policy\": \"mincut\"") && strstr(a, "\"lambda\": 0.05,"));
    gcut_step *s = gcut_compile(g, &named);
    assert_int_equal(gcut_run(s), GCUT_OK);
    assert_string_not_equal(gcut_step_stats(s)->blis, "none"); /* not interpreted */
    named.lambda = GCUT_LAMBDA_FASTEST;
    char *c = gcut_plan_json(gcut_plan_new(g, &named));
    assert_non_null(strstr(c, "\"lambda\": 0,"));
    gcut_ctx_free(ctx);
}

/* ---- inputs that nobody gave ---- */

static void inputs_are_given(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    gcut_step *s = gcut_compile(g, NULL);
    const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y[4] = {0};
    assert_int_equal(gcut_run(s), GCUT_EUSAGE);
    says(ctx, "the input 'x' f32[N, 3] was given no values");
    assert_int_equal(gcut_bind_input(s, "x", x, 4, 3), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_EUSAGE);
    says(ctx, "the input 'y' f32[N, 1] was given no values");
    assert_int_equal(gcut_run_forward(s), GCUT_EUSAGE);
    float *into = gcut_fill(s, "y");
    assert_non_null(into);
    memcpy(into, y, sizeof y);
    assert_int_equal(gcut_run(s), GCUT_OK);
    const float first = *(const float *)gcut_step_value(s, "loss")->at;
    /* Another size: what was filled is gone with the memory. */
    assert_int_equal(gcut_bind_input(s, "x", x, 2, 3), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_EUSAGE);
    /* Copies are the step's: the caller's memory may change. */
    float mine[12];
    memcpy(mine, x, sizeof mine);
    assert_int_equal(gcut_set(s, "x", mine, 4, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "y", y, 4, 1), GCUT_OK);
    memset(mine, 0, sizeof mine);
    assert_int_equal(gcut_run(s), GCUT_OK);
    assert_true(*(const float *)gcut_step_value(s, "loss")->at == first);
    REFUSED(NULL, gcut_fill(s, "x"), "'x' is bound");
    gcut_ctx_free(ctx);
}

/* ---- errors ---- */

static void the_last_error(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    assert_string_equal(gcut_last_error(ctx), "");
    assert_int_equal(gcut_last_status(ctx), GCUT_OK);
    assert_null(gcut_load(ctx, "/no/such.gcut", NULL));
    says(ctx, "/no/such.gcut");
    assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
    assert_null(gcut_parse(ctx, "gcut 1\nfunc", GCUT_TO_NUL, "half.gcut", NULL));
    says(ctx, "half.gcut:2:");
    assert_null(strstr(gcut_last_error(ctx), "/no/such.gcut"));
    assert_int_equal(gcut_last_status(ctx), GCUT_ESYNTAX);
    assert_int_equal(gcut_error_count(ctx), 2);
    assert_non_null(strstr(gcut_error(ctx, 0), "/no/such.gcut"));
    assert_string_equal(gcut_error(ctx, 2), "");
    gcut_clear_errors(ctx);
    assert_string_equal(gcut_last_error(ctx), "");
    gcut_ctx_free(ctx);
}

/* A loss of no parameter, and a graph that was not built, say so where they are used. */
static void losses_without_parameters(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "apart");
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4)), w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(4));
    gcut_output(g, "loss", gcut_sum(x));
    gcut_output(g, "other", gcut_mul(w, x));
    REFUSED(NULL, gcut_compile(g, NULL), "depends on none of the parameters");
    gcut_graph *broken = gcut_graph_new(ctx, "broken");
    gcut_add(gcut_input(broken, "a", GCUT_F32, GCUT_SHAPE(4)),
             gcut_input(broken, "b", GCUT_F32, GCUT_SHAPE(5)));
    gcut_clear_errors(ctx);
    REFUSED(NULL, gcut_plan_new(broken, NULL), "@broken was not built: ");
    says(ctx, "test_traps.c:");
    gcut_ctx_free(ctx);
}

/* What is found out when a graph is planned, compiled or run: the function, the value or the option, what was
 * wrong with it, and what there is instead. */
static void use_of_a_graph(void **state)
{
    (void)state;
    static const char head[] =
        "gcut 1\nfunc @f[N in 1..8](param %w: f32[N], input %x: f32[N], input %t: i32[N]) -> ";
    static const char *const globs[] = {"zz*"};
    static const gcut_size nine = {"N", 9}, other = {"M", 9};
    const struct {
        const char *results, *body;
        gcut_options o;
        const char *says[2];
    } rows[] = {
        {"(out l: f32[])", "%l = sum(%w) return %l", {.policy = "fast"}, {"unknown policy 'fast'", "sqrt"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.optimizer = "adamw(lrr=1)"},
         {"adamw has no key 'lrr'", "weight_decay"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.optimizer = "Adam"},
         {"unknown optimizer 'Adam'", "adamw"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.wrt = globs, .nwrt = 1},
         {"'zz*' matches no float parameter of @f", "* and ?"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.budget = 7},
         {"@f does not run in the budget of 7 bytes", "smallest peak"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.machine = "/no/model.json"},
         {"/no/model.json", "No such file"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.plan = "/no/plan.json"},
         {"/no/plan.json", "No such file"}},
        {"(out l: f32[])", "%l = sum(%w) return %l", {.loss = "loss"}, {"loss", "@f"}},
        {"(out l: f32[])", "%l = sum(%w) return %l", {.at = &nine, .nat = 1}, {"N=9", "N in 1..8"}},
        {"(out l: f32[])",
         "%l = sum(%w) return %l",
         {.at = &other, .nat = 1},
         {"@f has no size called 'M'", "error"}},
        {"(out y: f32[N])",
         "%y = exp(%w) return %y",
         {.optimizer = "sgd"},
         {"@f has no scalar result to minimise", "options.cotan"}},
        {"()", "return", {0}, {"@f has no float result to differentiate", "`out` results"}},
        {"(out l: f32[], out m: f32[])",
         "%l = sum(%w) %m = mean(%w) return %l, %m",
         {.optimizer = "sgd"},
         {"several scalar results, among them 'l' and 'm'", "options.loss"}},
        {"(out l: f32[])",
         "%l = sum(%x) return %l",
         {0},
         {"the result 'l' of @f depends on none of the parameters", "%w"}},
        {"(out l: f32[])",
         "%s = sum(%w) %l = while(%s) cond(%c) { %go = lt(%c, 3.0:f32) yield %go } body(%d) { %e = mul(%d, "
         "%s) yield %e } return %l",
         {0},
         {"bound", "while"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        gcut_ctx *ctx = new_ctx();
        snprintf(text, sizeof text, "%s%s {\n%s\n}\n", head, rows[i].results, rows[i].body);
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
        if (!g) fail_msg("row %zu: %s", i, gcut_last_error(ctx));
        if (gcut_plan_new(g, &rows[i].o)) fail_msg("row %zu: accepted", i);
        for (int k = 0; k < 2; k++) says(ctx, rows[i].says[k]);
        gcut_ctx_free(ctx);
    }
}

/* What only the values of a run, or their sizes, are wrong about. */
static void values_of_a_run(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..8](param %w: f32[N, 3], input %x: f32[N, 3], input %t: i32[N]) -> "
        "(out l: f32[]) {\n%z = mul(%w, %x)\n%c = cross_entropy(%z, %t)\n%l = mean(%c)\nreturn %l\n}\n";
    static const gcut_backend backends[] = {GCUT_BACKEND_COMPILED, GCUT_BACKEND_EAGER};
    for (size_t b = 0; b < 2; b++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
        gcut_step *s = gcut_compile(g, (&(gcut_options){.backend = backends[b]}));
        static float w[30], x[30];
        const int32_t t[10] = {0, 1, 7, 2};
        if (!s) fail_msg("%s", gcut_last_error(ctx));
        assert_int_equal(gcut_bind(s, "w", w, 4, 3), GCUT_OK);
        assert_int_equal(gcut_bind_input(s, "t", t, 4), GCUT_OK);
        assert_int_equal(gcut_bind(s, "x", x, 5, 3), GCUT_OK);
        REFUSED(GCUT_EDIM, gcut_run(s), "f32[N, 3]: axis 0 must have size 4 here, not 5\n  hint: N is 4 by");
        assert_int_equal(gcut_bind(s, "x", x, 4, 3), GCUT_OK);
        REFUSED(GCUT_EINDEX, gcut_run(s), "index 7 is outside of");
        says(ctx, "f.gcut:4");
        assert_int_equal(gcut_bind(s, "w", w, 9, 3), GCUT_OK);
        assert_int_equal(gcut_bind(s, "x", x, 9, 3), GCUT_OK);
        assert_int_equal(gcut_bind_input(s, "t", t, 9), GCUT_OK);
        REFUSED(GCUT_EDIM, gcut_run(s), "N = 9 is outside of its declared range 1..8");
        gcut_ctx_free(ctx);
    }
}

/* Memory that the step writes lies apart from all else, whoever runs the step; what is only read may be
 * shared, and what nobody reads may lie anywhere. */
static void overlapping_memory(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f(param %w: f32[4], input %x: f32[4], input %unread: f32[4]) -> "
        "(out y: f32[4], out l: f32[]) {\n%y = mul(%w, %x)\n%l = sum(%y)\nreturn %y, %l\n}\n";
    static const gcut_backend backends[] = {GCUT_BACKEND_COMPILED, GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT,
                                            GCUT_BACKEND_PLANNED};
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
        gcut_step *s = gcut_compile(g, (&(gcut_options){.backend = backends[b], .loss = "l"}));
        float m[16] = {1, 2, 3, 4, 5, 6, 7, 8};
        if (!s) fail_msg("%s", gcut_last_error(ctx));
        assert_int_equal(gcut_bind(s, "w", m, 4), GCUT_OK);
        assert_int_equal(gcut_bind_input(s, "x", m + 2, 4), GCUT_OK);
        assert_int_equal(gcut_bind_input(s, "unread", m + 7, 4), GCUT_OK);
        assert_int_equal(gcut_bind(s, "y", m + 5, 4), GCUT_OK);
        REFUSED(GCUT_EUSAGE, gcut_run(s), "the memory of y, which the step writes, overlaps that of x");
        assert_int_equal(gcut_bind(s, "y", m + 8, 4), GCUT_OK);
        assert_int_equal(gcut_bind(s, "grad.w", m + 3, 4), GCUT_OK);
        REFUSED(GCUT_EUSAGE, gcut_run(s), "the memory of grad.w, which the step writes, overlaps that of w");
        assert_int_equal(gcut_bind(s, "grad.w", m + 12, 4), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_OK);
        assert_true(m[8] == 3 && m[11] == 24 && m[12] == 3); /* of shared and of unread memory */
        gcut_ctx_free(ctx);
    }
}

/* ---- lives ---- */

/* Everything that is made and freed leaves the context as it was, also after failures. */
static void nothing_accumulates(void **state)
{
    (void)state;
    block_counter c = {0};
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_blocks, &c});
    long before = 0;
    for (int i = 0; i < 6; i++) {
        gcut_graph *g = model(ctx);
        gcut_plan *plan = gcut_plan_new(g, NULL);
        char *text = gcut_plan_text(plan, NULL), *json = gcut_plan_json(plan);
        char *shown = gcut_show(g, NULL, GCUT_STAGE_SPLIT, true);
        gcut_explanation *why = gcut_explain(g, NULL, "p");
        gcut_check_report *r = gcut_crosscheck(g, &(gcut_options){.forward_only = true}, NULL, 0, 0);
        gcut_frontier *f = gcut_frontier_new(g, NULL, NULL);
        gcut_step *s = gcut_compile(g, &TEST_OPTIONS);
        static const char *const variant[] = {"eager", "planned"};
        gcut_comparison *beside =
            gcut_compare(g, &TEST_OPTIONS, (&(gcut_compare_options){.variant = variant, .nvariants = 2}));
        assert_true(text && json && shown && why && r && f && s && beside);
        gcut_graph_free(g);
        assert_int_equal(gcut_run(s), GCUT_OK); /* the step stays */
        size_t asked = 0;
        for (int k = 0; k < 50; k++) {
            assert_null(gcut_step_value(s, "nobody"));
            gcut_clear_errors(ctx);
            if (!asked) asked = c.blocks;
        }
        assert_int_equal(c.blocks, asked);
        assert_true(gcut_plan_look(plan)->peak_bytes > 0);
        void *const made[] = {text, json, shown, why, r, f, beside};
        for (size_t k = 0; k < sizeof made / sizeof *made; k++) gcut_free(made[k]);
        gcut_plan_free(plan);
        gcut_step_free(s);
        gcut_graph *again = model(ctx);
        assert_null(gcut_frontier_new(again, NULL, &(gcut_frontier_options){.points = -1}));
        says(ctx, "how.points is -1");
        assert_null(gcut_frontier_new(again, NULL, &(gcut_frontier_options){.rounds = -3}));
        says(ctx, "how.rounds -3");
        assert_null(gcut_plan_new(again, &(gcut_options){.budget = 1}));
        assert_null(gcut_parse(ctx, "gcut 1\nfunc @f(", GCUT_TO_NUL, "x.gcut", NULL));
        gcut_graph_free(again);
        gcut_clear_errors(ctx);
        if (i == 2) before = c.blocks;
    }
    assert_int_equal(c.blocks, before);
    gcut_ctx_free(ctx);
    assert_int_equal(c.blocks, 0);
}

/* ---- hooks ---- */

typedef struct calls {
    int n, cancel_at;
} calls;

static bool progress(void *user, const char *what, size_t done, size_t total)
{
    calls *c = user;
    assert_non_null(what);
    assert_true(total == 0 || done <= total);
    return c->n++ == c->cancel_at;
}

/* Cancelled at each call of the hook in turn. */
static void cancelled(void **state)
{
    (void)state;
    block_counter count_of = {0};
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_blocks, &count_of});
    gcut_graph *g = model(ctx);
    calls all = {.cancel_at = -1};
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = progress, .user = &all});
    gcut_plan *plan = gcut_plan_new(g, &(gcut_options){.budget = 100000});
    assert_non_null(plan);
    gcut_plan_free(plan);
    assert_true(all.n >= 3);
    long blocks = count_of.blocks;
    for (int k = 0; k < all.n; k++) {
        calls one = {.cancel_at = k};
        gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = progress, .user = &one});
        assert_null(gcut_plan_new(g, &(gcut_options){.budget = 100000}));
        assert_int_equal(gcut_last_status(ctx), GCUT_ECANCELLED);
        says(ctx, "cancelled by the progress hook");
        gcut_clear_errors(ctx);
        assert_int_equal(count_of.blocks, blocks);
    }
    gcut_ctx_free(ctx);
}

/* ---- public calls inside of others ---- */

typedef struct nested {
    gcut_ctx *ctx;
    int n;
    bool clears, cancels;
} nested;

/* Fails once, and is told so while the call around it goes on. */
static bool fail_inside(void *user, const char *what, size_t done, size_t total)
{
    nested *c = user;
    (void)what, (void)done, (void)total;
    if (c->n++) return false;
    assert_null(gcut_load(c->ctx, "/no/such.gcut", NULL));
    says(c->ctx, "/no/such.gcut");
    assert_int_equal(gcut_last_status(c->ctx), GCUT_EIO);
    if (c->clears) gcut_clear_errors(c->ctx);
    return c->cancels;
}

static void log_inside(void *user, const char *sentence)
{
    (void)sentence;
    fail_inside(user, NULL, 0, 0);
}

/* What failed in a hook is the last error when the call around it succeeds, and is not when that fails too.
 */
static void the_last_error_of_a_hook(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    assert_int_equal(setenv("GRADCUT_CACHE", "off", 1), 0); /* so that the C compiler runs */
    for (int i = 0; i < 8; i++) {
        nested c = {.ctx = ctx, .clears = i & 1, .cancels = i & 2};
        assert_null(gcut_graph_new(ctx, NULL)); /* an older error */
        gcut_ctx_set_hooks(ctx, i & 4 ? &(gcut_hooks){.log = log_inside, .user = &c}
                                      : &(gcut_hooks){.progress = fail_inside, .user = &c});
        if (i & 4) {
            gcut_step *s = gcut_compile(g, NULL);
            assert_true(s && c.n);
            gcut_step_free(s);
        } else {
            gcut_plan *plan = gcut_plan_new(g, NULL);
            assert_int_equal(plan == NULL, c.cancels);
            gcut_plan_free(plan);
        }
        gcut_ctx_set_hooks(ctx, NULL);
        if (c.cancels && !(i & 4)) {
            says(ctx, "cancelled by the progress hook");
            assert_int_equal(gcut_last_status(ctx), GCUT_ECANCELLED);
        } else if (c.clears) {
            assert_string_equal(gcut_last_error(ctx), "");
        } else {
            says(ctx, "/no/such.gcut");
            assert_int_equal(gcut_last_status(ctx), GCUT_EIO);
        }
        gcut_clear_errors(ctx);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(null_handles),
                                       cmocka_unit_test(other_arguments),
                                       cmocka_unit_test(sizes_know_their_line),
                                       cmocka_unit_test(options_out_of_range),
                                       cmocka_unit_test(options_of_other_versions),
                                       cmocka_unit_test(zeroed_options),
                                       cmocka_unit_test(inputs_are_given),
                                       cmocka_unit_test(the_last_error),
                                       cmocka_unit_test(losses_without_parameters),
                                       cmocka_unit_test(use_of_a_graph),
                                       cmocka_unit_test(values_of_a_run),
                                       cmocka_unit_test(overlapping_memory),
                                       cmocka_unit_test(nothing_accumulates),
                                       cmocka_unit_test(cancelled),
                                       cmocka_unit_test(the_last_error_of_a_hook)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
