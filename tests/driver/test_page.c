/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_report_html: what its graph adds up to is what the plan and the kernels have, every link leads somewhere, names are
 * text, and the same input gives the same bytes.  tests/page/browser.py looks at pages in a browser.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "api.h"
#include "gradcut/inspect.h"
#include "model_files.h"
#include "driver/pipeline/compile.h"
#include "partition/plan_file/plan_file.h"
#include "report/page/page.h"

/* How often a text has another. */
static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *s = text; (s = strstr(s, what)); s++) n++;
    return n;
}

static void is_near(double a, double b, const char *what)
{
    if (fabs(a - b) > 1e-6 * (1 + fabs(b))) fail_msg("%s: %.17g is not %.17g", what, a, b);
}

typedef struct parts {
    gcut_env *env;
    const gcut_plan_info *plan;
    gcut_memory_profile *memory;
    gcut_fusion *fusion;
    char *text;
} parts;

/* Each saved byte, each recomputed value and each kernel is in one line of the graph, or in the last row. */
static void check_lines(void *arg)
{
    const parts *x = arg;
    gcut_arena *a = x->env->arena;
    const gcut_page page = {.plan = x->plan, .memory = x->memory, .fusion = x->fusion, .text = x->text};
    const gcut_page_lines l = gcut_page_lines_of(&page, a);
    gcut_page_line sum = l.other;
    size_t length = 0;
    int64_t saved = 0;
    uint32_t nsaved = 0, again = 0;
    double again_ns = 0;
    for (uint32_t i = 0; i < l.n; i++) {
        const gcut_page_line *at = &l.at[i];
        length += at->length + 1;
        sum.saved += at->saved, sum.recomputed += at->recomputed, sum.saved_bytes += at->saved_bytes;
        sum.recompute_ns += at->recompute_ns;
        sum.forward_ns += at->forward_ns, sum.backward_ns += at->backward_ns;
        if (at->name) assert_true(at->name >= x->text && at->name < x->text + strlen(x->text));
        if (at->scope) assert_int_equal(at->name[at->scope], '.');
    }
    assert_int_equal(length, strlen(x->text));
    for (size_t i = 0; i < x->plan->n; i++) {
        const gcut_plan_value *v = x->plan->value[i];
        if (v->decision == GCUT_PLAN_SAVED) nsaved++, saved += v->bytes;
        if (v->decision != GCUT_PLAN_RECOMPUTED) continue;
        again++;
        if (v->recompute_ns > 0) again_ns += v->copies * v->recompute_ns;
    }
    assert_int_equal(sum.saved, nsaved);
    assert_int_equal(sum.saved_bytes, saved);
    assert_int_equal(saved, x->plan->saved_bytes);
    assert_int_equal(sum.recomputed, again);
    is_near(sum.recompute_ns, again_ns, "time of recomputed values");
    is_near(sum.forward_ns + sum.backward_ns, x->fusion->step_ns, "time of the step");
    for (uint32_t i = 1; i < l.names.list.n; i++) /* found by their own names */
        assert_int_equal(gcut_page_find(&l, l.names.list.at[i].at, l.names.list.at[i].length) >= 0, true);
}

/* Each "#id" that the page refers to, and no id twice. */
static void check_links(const char *html)
{
    for (const char *s = html; (s = strstr(s, "href=\"#")); s++) {
        char id[64];
        const size_t n = strcspn(s + 7, "\"");
        assert_true(n < 40);
        snprintf(id, sizeof id, " id=\"%.*s\"", (int)n, s + 7);
        if (count(html, id) != 1) fail_msg("%zu times%s", count(html, id), id);
    }
}

static void check_model(gcut_ctx *ctx, const char *path)
{
    gcut_options o = UNREFINED_OPTIONS;
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    gcut_plan *plan = gcut_plan_new(g, &o);
    if (!plan) fail_msg("%s", gcut_last_error(ctx));
    parts x = {gcut_env_new(NULL, NULL), gcut_plan_look(plan), gcut_memory_new(g, &o, NULL),
               gcut_fusion_new(g, &o), gcut_show(g, &o, GCUT_STAGE_PRIMAL, false)};
    assert_true(x.plan && x.memory && x.fusion && x.text);
    must(x.env, check_lines, &x);
    gcut_env_free(x.env);
    char *html = gcut_report_html(g, &o, NULL), *again = gcut_report_html(g, &o, NULL);
    if (!html) fail_msg("%s", gcut_last_error(ctx));
    assert_string_equal(html, again);
    check_links(html);
    assert_int_equal(count(html, "<script>"), 1);
    assert_int_equal(count(html, "<details"), count(html, "</details>"));
    assert_int_equal(count(html, "<section"), count(html, "</section>"));
    assert_int_equal(count(html, "<pre>"), count(html, "</pre>"));
    gcut_free(again);
    gcut_free(html);
    gcut_free(x.text);
    gcut_free(x.fusion);
    gcut_free(x.memory);
    gcut_plan_free(plan);
    gcut_graph_free(g);
}

static void models(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (!in_turn(i, 4)) continue;
        TRY("%s", files.gl_pathv[i]);
        check_model(ctx, files.gl_pathv[i]);
    }
    globfree(&files);
    gcut_ctx_free(ctx);
}

/* Every byte of a page is UTF-8, whatever the file is called. */
static void is_utf8(const char *text)
{
    json_t *j = json_string(text); /* which takes nothing else */
    assert_non_null(j);
    json_decref(j);
}

/* A name of a file, a scope and a symbol is all that can have such characters; none is markup, and none ends the script. */
static void names_are_text(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    static const char text[] =
        "gcut 1\nfunc @f[N in 4..](param %w: f32[N], input %x: f32[N]) -> (out loss: f32[]) {\n"
        "  %h = tanh(%w) !1\n  %y = mul(%h, %x) !2\n  %loss = sum(%y)\n  return %loss\n}\n"
        "loc !1 = \"</script><img src=x onerror=alert(1)>.c\":3 \"a&b<i>\"\n"
        "loc !2 = \"\\\"onmouseover=alert(1)\":4\n";
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "<b>\"'&\xff\xfe\xe2\x28.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    char *html = gcut_report_html(g, NULL, NULL);
    if (!html) fail_msg("%s", gcut_last_error(ctx));
    is_utf8(html);
    assert_int_equal(count(html, "<img"), 0);
    assert_int_equal(count(html, "</script>"), 1);
    assert_int_equal(count(html, "<i>"), 0);
    assert_int_equal(count(html, "\"onmouseover"), 0);
    assert_true(count(html, "&lt;img src=x onerror=alert(1)&gt;.c:3") > 0);
    gcut_free(html);
    gcut_ctx_free(ctx);
}

typedef struct hashing {
    gcut_graph *g;
    const gcut_options *o;
    const char *hash;
} hashing;

static void hash(void *arg)
{
    hashing *j = arg;
    gcut_env *env = j->g->module->env;
    const gcut_settings opt = gcut_settings_of(env, j->o, sizeof *j->o);
    j->hash = gcut_graph_hash(gcut_pipeline_new(j->g, &opt, GCUT_STAGE_JOINT, env->arena)->joint, env->arena);
}

/* A profile that is read from a file names values freely.  The first part of this one is a value of the graph. */
static void profiles_are_text(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, "func @g(param %w: f32[4]) -> (out loss: f32[]) {\n"
                                    "  %h2 = tanh(%w)\n  %loss = sum(%h2)\n  return %loss\n}\n");
    const gcut_kernel_time k = {.family = "map<b>",
                                .value = "h2.<img/src=x>",
                                .op = "tanh<i>",
                                .where = "<u>:1",
                                .runs = 1,
                                .predicted_ns = 1,
                                .measured_ns = 1,
                                .least_ns = 1,
                                .lower_ns = 1,
                                .upper_ns = 1};
    const gcut_kernel_time *const at[] = {&k};
    hashing of = {g, &TEST_OPTIONS, NULL};
    must(g->module->env, hash, &of);
    const gcut_profile p = {.best_ns = 1,
                            .median_ns = 1,
                            .p90_ns = 1,
                            .peak_flops_per_second = 1e9,
                            .peak_bytes_per_second = 1e9,
                            .threads = 1,
                            .steps = 1,
                            .n = 1,
                            .at = at,
                            .graph = "g",
                            .machine = "<s>",
                            .joint_hash = of.hash};
    char *html = gcut_report_html(g, of.o, &(gcut_report_options){.profile = &p});
    if (!html) fail_msg("%s", gcut_last_error(ctx));
    static const char *const tags[] = {"<img", "<b>", "<i>", "<u>", "<s>"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) assert_int_equal(count(html, tags[i]), 0);
    assert_true(count(html, "%h2.&lt;img/src=x&gt;</a>") > 0);
    gcut_free(html);
    gcut_ctx_free(ctx);
}

/* A frontier and a second plan are in it; a profile is of this graph at these sizes. */
static void with_more(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_options o = TEST_OPTIONS;
    const gcut_size n[] = {{"N", 64}, {"N", 32}};
    o.at = n, o.nat = 1;
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL),
               *other = graph_from(ctx, "func @g(param %w: f32[4]) -> (out loss: f32[]) {\n"
                                        "  %h = tanh(%w)\n  %loss = sum(%h)\n  return %loss\n}\n");
    gcut_frontier *f = gcut_frontier_new(g, &o, NULL);
    gcut_profile p = {.best_ns = 1,
                      .median_ns = 2,
                      .p90_ns = 3,
                      .flops = 1,
                      .peak_flops_per_second = 1e9,
                      .peak_bytes_per_second = 1e9,
                      .threads = 2,
                      .steps = 5,
                      .graph = "mlp",
                      .machine = "another",
                      .sizes = n,
                      .nsizes = 1,
                      .joint_hash = "0"};
    const gcut_report_options how = {.frontier = f, .profile = &p};
    hashing of = {g, &o, NULL};
    assert_non_null(f);
    assert_null(gcut_report_html(other, &o, &(gcut_report_options){.against = in_tmp("none.json")}));
    assert_null(gcut_report_html(g, &o, &how));
    assert_says(ctx, GCUT_EPLAN, "the profile is of another graph, @mlp");
    must(g->module->env, hash, &of);
    p.joint_hash = of.hash;
    p.sizes = &n[1];
    assert_null(gcut_report_html(g, &o, &how));
    assert_says(ctx, GCUT_EPLAN, "the profile is of other sizes, N=32; the plan is for N=64");
    p.sizes = n;
    gcut_options all = o;
    all.policy = "save-all";
    gcut_plan *second = gcut_plan_new(g, &all);
    FILE *out = fopen(in_tmp("all.json"), "w");
    char *json = gcut_plan_json(second);
    fputs(json, out);
    assert_int_equal(fclose(out), 0);
    char *html = gcut_report_html(
        g, &o, &(gcut_report_options){.frontier = f, .profile = &p, .against = in_tmp("all.json")});
    if (!html) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(count(html, "class=\"here\""), 1);
    assert_true(count(html, "The other plan (") == 1 && count(html, "the other plan</title>") == 1);
    assert_true(count(html, "<td>save-all") >= 1 && count(html, "Medians of 5 steps") == 1);
    assert_true(count(html, "0 of their 0 kernels are among") == 1);
    gcut_free(json);
    gcut_free(html);
    gcut_plan_free(second);
    gcut_free(f);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(names_are_text),
                                       cmocka_unit_test(profiles_are_text), cmocka_unit_test(with_more)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
