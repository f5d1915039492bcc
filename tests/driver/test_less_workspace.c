/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions that take less workspace for a budget: the smallest peak falls, is the one that is measured,
 * and the results are the interpreter's, with the same bits for any number of threads; plan files say which
 * convolutions they are, and replay them; without a budget nothing changes.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "gradcut/gradcut_rt.h"
#include "public.h"

/* Many channels and few places: in tiles a convolution takes more workspace than all values together. */
static const char net[] = "func @net[N in 1..64](input %x: f32[N, 32, 6, 6], param %v: f32[48, 32, 3, 3], "
                          "param %w: f32[48, 48, 3, 3],\n"
                          "                      param %u: f32[32, 48, 3, 3]) -> (out loss: f32[]) {\n"
                          "  %a = conv2d(%x, %v, stride=[1, 1], pad=[1, 1, 1, 1])\n"
                          "  %b = relu(%a)\n"
                          "  %c = conv2d(%b, %w, stride=[1, 1], pad=[1, 1, 1, 1])\n"
                          "  %d = tanh(%c)\n"
                          "  %e = conv2d(%d, %u, stride=[1, 1], pad=[1, 1, 1, 1])\n"
                          "  %s = mul(%e, %e)\n"
                          "  %loss = mean(%s, axes=[0, 1, 2, 3])\n"
                          "  return %loss\n"
                          "}\n";

static const gcut_size at = {"N", 4};

static gcut_options options(int64_t budget, const char *plan)
{
    gcut_options o = TEST_OPTIONS;
    o.at = &at;
    o.nat = 1;
    o.threads = 2;
    o.budget = budget;
    o.plan = plan;
    return o;
}

static gcut_plan *plan_of(gcut_ctx *ctx, gcut_graph *g, int64_t budget, const char *file)
{
    gcut_options o = options(budget, file);
    gcut_plan *p = gcut_plan_new(g, &o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    return p;
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = in_tmp(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Runs it by that many threads; the peak that the painted arena shows is the one of the plan. */
static unsigned char *run_once(gcut_ctx *ctx, gcut_graph *g, int64_t budget, const char *plan, int threads,
                               size_t *size)
{
    gcut_options o = options(budget, plan);
    o.threads = threads;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    must_run(ctx, s);
    assert_int_equal(gcut_step_stats(s)->peak_bytes, gcut_step_stats(s)->predicted_bytes);
    unsigned char *out = result_bytes(s, size);
    gcut_step_free(s);
    return out;
}

static void a_budget_is_met(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, net);
    gcut_plan *plain = plan_of(ctx, g, 0, NULL), *least = plan_of(ctx, g, GCUT_BUDGET_MIN, NULL);
    const gcut_plan_info *a = gcut_plan_look(plain), *b = gcut_plan_look(least);
    assert_true(a->nless_workspace == 0 && b->nless_workspace > 0);
    /* The largest workspace of tiles is that of %b's gradient. */
    const int64_t tiles = 4 * (GCUT_RT_WINOGRAD_W * 48 * 48 + GCUT_RT_WINOGRAD_C * 48);
    assert_that(a->peak_bytes, >, tiles);
    assert_that(b->peak_bytes, <, tiles);
    assert_true(b->step_ns > a->step_ns);
    char *text = gcut_plan_text(least, false), *none = gcut_plan_text(plain, NULL),
         *json = gcut_plan_json(plain);
    assert_non_null(strstr(text, "\nless workspace: "));
    assert_null(strstr(none, "less workspace"));
    assert_null(strstr(json, "less_workspace"));
    gcut_free(text), gcut_free(none), gcut_free(json);

    /* A budget between the two: fewer convolutions change, or none. */
    gcut_plan *middle = plan_of(ctx, g, (a->peak_bytes + b->peak_bytes) / 2, NULL);
    const gcut_plan_info *m = gcut_plan_look(middle);
    assert_that(m->peak_bytes, <=, (a->peak_bytes + b->peak_bytes) / 2);
    assert_true(m->nless_workspace <= b->nless_workspace && m->step_ns <= b->step_ns);
    gcut_plan_free(middle);
    gcut_plan_free(plain);
    gcut_plan_free(least);
    gcut_ctx_free(ctx);
}

static void results_agree(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, net);
    gcut_options o = options(GCUT_BUDGET_MIN, NULL);
    gcut_check_report r = crosscheck(g, &o, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    size_t size, other;
    unsigned char *one = run_once(ctx, g, GCUT_BUDGET_MIN, NULL, 1, &size);
    unsigned char *three = run_once(ctx, g, GCUT_BUDGET_MIN, NULL, 3, &other);
    assert_int_equal(size, other);
    assert_memory_equal(one, three, size);
    free(one), free(three);
    gcut_ctx_free(ctx);
}

/* The plan file with that list in it; to be freed. */
static char *with_list(const char *json, const char *list)
{
    const char *values = strstr(json, "\"values\"");
    char *text = NULL;
    assert_true(
        asprintf(&text, "%.*s\"less_workspace\": [%s], %s", (int)(values - json), json, list, values) > 0);
    return text;
}

/* Both copies of a recomputed convolution are marked, so that one has the bits of the other. */
static void copies_are_alike(void **state)
{
    (void)state;
    static const char *const recomputed[] = {"a", "b", "c", "d"};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, net);
    gcut_options o = options(0, NULL);
    o.recompute = recomputed;
    o.nrecompute = 4;
    gcut_plan *p = gcut_plan_new(g, &o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    char *json = gcut_plan_json(p), *text = with_list(json, "\"a\", \"%c\", \"e\"");
    o = options(0, write_file("edited.json", text));
    const char *shown = gcut_show(g, &o, GCUT_STAGE_SPLIT, false);
    if (!shown) fail_msg("%s", gcut_last_error(ctx));
    int convolutions = 0;
    for (const char *line = shown, *end; *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        const char *conv = strstr(line, " = conv2d("), *mark = strstr(line, " #less_workspace");
        assert_true((conv && conv < end) == (mark && mark < end));
        convolutions += conv && conv < end;
    }
    assert_int_equal(convolutions, 5);
    gcut_free(json), free(text);
    gcut_plan_free(p);
    gcut_ctx_free(ctx);
}

static void files_are_replayed(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, net);
    gcut_plan *least = plan_of(ctx, g, GCUT_BUDGET_MIN, NULL);
    const gcut_plan_info *a = gcut_plan_look(least);
    char *json = gcut_plan_json(least);
    const char *path = write_file("least.json", json);
    gcut_plan *again = plan_of(ctx, g, 0, path);
    const gcut_plan_info *b = gcut_plan_look(again);
    assert_true(a->peak_bytes == b->peak_bytes && a->step_ns == b->step_ns);
    assert_int_equal(a->nless_workspace, b->nless_workspace);
    for (size_t i = 0; i < a->nless_workspace; i++)
        assert_string_equal(a->less_workspace[i], b->less_workspace[i]);
    size_t size, other;
    unsigned char *one = run_once(ctx, g, GCUT_BUDGET_MIN, NULL, 2, &size);
    unsigned char *two = run_once(ctx, g, 0, path, 2, &other);
    assert_int_equal(size, other);
    assert_memory_equal(one, two, size);
    free(one), free(two);

    /* Without the list: another plan, with more workspace. */
    char *list = strstr(json, "\"less_workspace\"");
    memcpy(list, "\"more_workspace\"", 16);
    const char *without = write_file("without.json", json);
    gcut_plan *more = plan_of(ctx, g, 0, without);
    assert_that(gcut_plan_look(more)->peak_bytes, >, a->peak_bytes);
    gcut_plan_diff *d = gcut_diff_plans(ctx, in_tmp("least.json"), in_tmp("without.json"));
    assert_non_null(d);
    assert_true(!d->equal && d->n == 0 && d->a->nless_workspace > d->b->nless_workspace);
    char *said = gcut_diff_text(ctx, d, NULL);
    assert_non_null(strstr(said, "less workspace: "));
    gcut_free(said);
    gcut_plan_free(more);
    gcut_plan_free(again);
    gcut_plan_free(least);
    gcut_free(json);
    gcut_ctx_free(ctx);
}

/* What a file may not name, and where the mark may not stand. */
static void others_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"\"nothing\"", "less_workspace[0]: %nothing is no value of @net"},
        {"\"b\"", "less_workspace[0]: %b is made by relu"},
        {"\"a\", \"x\"", "less_workspace[1]: %x is a parameter"},
        {"7", "less_workspace[0]"},
    };
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, net);
    gcut_plan *p = plan_of(ctx, g, 0, NULL);
    char *json = gcut_plan_json(p);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *text = with_list(json, wrong[i][0]);
        gcut_options o = options(0, write_file("wrong.json", text));
        assert_null(gcut_plan_new(g, &o));
        if (!strstr(gcut_last_error(ctx), wrong[i][1])) fail_msg("%s", gcut_last_error(ctx));
        free(text);
    }
    gcut_free(json);
    gcut_plan_free(p);
    const char *path = write_file("wrong.gcut", "gcut 1\nfunc @f(param %x: f32[8]) -> (out y: f32[]) {\n"
                                                "  %r = relu(%x) #less_workspace\n"
                                                "  %y = sum(%r, axes=[0])\n  return %y\n}\n");
    assert_null(gcut_load(ctx, path, NULL));
    assert_non_null(strstr(gcut_last_error(ctx), "#less_workspace is of a convolution, and 'relu' is none"));
    gcut_ctx_free(ctx);
}

/* A mark on a convolution that is computed in f32 and stored in bf16 reaches its kernel. */
static void wider_ones_too(void **state)
{
    (void)state;
    static const char *const marks[] = {"", " #less_workspace"};
    gcut_ctx *ctx = new_ctx();
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "func @f(input %%x: bf16[2, 32, 6, 6], param %%w: bf16[32, 32, 3, 3]) -> (out y: bf16[2, "
                 "32, 6, 6]) {\n"
                 "  %%y = conv2d(%%x, %%w, stride=[1, 1], pad=[1, 1, 1, 1])%s\n  return %%y\n}\n",
                 marks[i]);
        gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 1, NULL, 0);
        char *c = emitted(ctx, graph_from(ctx, text), &o);
        assert_true((strstr(c, ".winograd = 1") == NULL) == (i == 1));
        free(c);
    }
    gcut_ctx_free(ctx);
}

/* Convolutions of no image compute nothing and take no workspace, tiles or not; those of the same graph that have images
 * take it. */
static void no_images_take_none(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    for (int64_t n = 0; n < 3; n++) {
        gcut_graph *g =
            graph_from(ctx, "func @f[N in 0..](param %x: f32[N, 32, 6, 6], param %w: f32[32, 32, 3, 3], "
                            "param %v: f32[8, 32, 5, 5]) -> (out l: f32[]) {\n"
                            "  %y = conv2d(%x, %w, pad=[1, 1, 1, 1])\n  %z = conv2d(%y, %v)\n"
                            "  %l = sum(%z)\n  return %l\n}\n");
        const gcut_size images = {"N", n};
        gcut_options o = options(0, NULL);
        o.at = &images;
        gcut_step *s = gcut_compile(g, &o);
        if (!s) fail_msg("%s", gcut_last_error(ctx));
        must_run(ctx, s);
        assert_int_equal(gcut_step_stats(s)->peak_bytes, gcut_step_stats(s)->predicted_bytes);
        assert_int_equal(gcut_step_stats(s)->arena_bytes > 4096, n > 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_budget_is_met),    cmocka_unit_test(results_agree),
        cmocka_unit_test(copies_are_alike),   cmocka_unit_test(files_are_replayed),
        cmocka_unit_test(others_are_refused), cmocka_unit_test(wider_ones_too),
        cmocka_unit_test(no_images_take_none)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
