/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files: written, followed, edited, refused, compared.
 */
#include "joint_gen.h"
#include "graph/ops/node_facts.h"
#include "nightly.h"

#include <glob.h>
#include <jansson.h>
#include <unistd.h>

#include "base/file.h"
#include "gradcut/gradcut.h"
#include "partition/plan.h"
#include "partition/plan_file/plan_file.h"
#include "public.h"

#define SIX GCUT_SOURCE_DIR "/tests/plans/six.gcut"

static char plan_path[] = "/tmp/gradcut-plan-XXXXXX";

/* ---- through the public API ---- */

/* The latest failure. */
static const char *said(gcut_ctx *ctx)
{
    size_t n = gcut_error_count(ctx);
    return n ? gcut_error(ctx, n - 1) : gcut_last_error(ctx);
}

static void write_text(const char *text, size_t n)
{
    FILE *f = fopen(plan_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_plan(gcut_graph *g, const gcut_options *o)
{
    const gcut_plan *plan = gcut_plan_new(g, o);
    FILE *f = fopen(plan_path, "wb");
    assert_non_null(f);
    assert_non_null(plan);
    print_text(f, gcut_plan_json(plan));
    assert_int_equal(fclose(f), 0);
}

static char *read_plan(void)
{
    FILE *f = fopen(plan_path, "rb");
    char *s = calloc(1, 1 << 20);
    assert_non_null(f);
    assert_non_null(s);
    assert_that(fread(s, 1, (1 << 20) - 1, f), >, 0);
    fclose(f);
    return s;
}

static void check_replay(gcut_graph *g, const gcut_options *o, const char *what)
{
    write_plan(g, o);
    gcut_options follow = TEST_OPTIONS;
    follow.loss = o->loss;
    follow.optimizer = o->optimizer;
    follow.plan = plan_path;
    const char *was = gcut_show(g, o, GCUT_STAGE_SPLIT, true);
    const char *now = gcut_show(g, &follow, GCUT_STAGE_SPLIT, true);
    assert_non_null(was);
    assert_non_null(now);
    if (strcmp(was, now) != 0) fail_msg("%s, lambda %g, %s: another split", what, o->lambda, o->policy);
}

static void replays_are_the_same(void **state)
{
    (void)state;
    static const char *const policies[] = {"save-all", "recompute-all", "torch"};
    static const double lambdas[] = {0, 0.05, 2};
    bool grads = false;
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/loops/*.gcut", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (!in_turn(i + 1, 3)) continue;
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
        gcut_options o = TEST_OPTIONS;
        if (strstr(files.gl_pathv[i], "/second.gcut")) o.loss = "loss";
        for (int k = 0; k < 3; k++) {
            o.lambda = lambdas[k];
            o.without = refine_pass, o.nwithout = k > 0; /* flips are in the first */
            check_replay(g, &o, files.gl_pathv[i]);
            char *text = read_plan();
            grads |= strstr(text, "\"form\":\"grad\"") != NULL;
            free(text);
        }
        o.policy = policies[i % 3];
        o.optimizer = "adamw(lr=0.01)";
        check_replay(g, &o, files.gl_pathv[i]);
        gcut_ctx_free(ctx);
    }
    assert_true(grads);
    globfree(&files);
}

/* Other forms, and the second copies that a budget may ask for. */
static void forms_and_budgets_are_followed(void **state)
{
    (void)state;
    static const char *const names[] = {"gpt2", "mlp", "rnn"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/tests/models/%s.gcut", GCUT_SOURCE_DIR, names[i]);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx, path, NULL);
        gcut_options o = TEST_OPTIONS;
        o.save_dtype = "bf16";
        check_replay(g, &o, names[i]);
        o = TEST_OPTIONS;
        int64_t peak = gcut_plan_look(gcut_plan_new(g, &o))->peak_bytes;
        o.budget = peak - peak / 20;
        if (gcut_plan_new(g, &o)) check_replay(g, &o, names[i]);
        gcut_ctx_free(ctx);
    }
}

static void forced_values_are_followed(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_options o = TEST_OPTIONS;
    o.save = (const char *const[]){"h"}, o.nsave = 1; /* nothing needs it */
    o.recompute = (const char *const[]){"loss"}, o.nrecompute = 1;
    check_replay(g, &o, "six");
    gcut_ctx_free(ctx);
}

/* ---- copies ---- */

/* Random copies of whatever is recomputed, written and read back: the same schedule. */
static void copies_body(void *arg)
{
    gcut_env *env = arg;
    uint32_t many = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        TRY("seed %d", (int)seed);
        gcut_arena *a = gcut_arena_new(env, NULL);
        gcut_module *m = gcut_module_new(env, a);
        gcut_graph *g = joint_random(m, seed, 8, 500, 128, "j");
        gcut_plan_options o = {.policy = GCUT_POLICY_RECOMPUTE_ALL,
                               .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
        gcut_problem *p = gcut_problem_new(a, g, &o);
        uint32_t n;
        uint64_t s = seed * 77 + 5;
        gcut_backward_order(a, p->facts, &n);
        gcut_recomputations *again = gcut_calloc(a, (size_t)n + 1, sizeof *again);
        for (uint32_t k = 0; k < 12; k++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            *GCUT_PUSH(a, &again[(s >> 40) % (n + 1)]) = (uint32_t)(s >> 20) % g->nodes.n;
        }
        bool *saved = gcut_calloc(a, g->values.n, 1);
        for (gcut_ref v = 1; v < g->values.n; v++)
            saved[v] = (seed + v) % 5 == 0 && !gcut_value_is(g, v, GCUT_CLASS_VIEW);
        gcut_plan *plan = gcut_plan_from(p, &o, gcut_choice_saving(p, a, saved, again, 0.05));
        const char *t = gcut_plan_json(plan);
        assert_non_null(t);
        many += strstr(t, "\"before\"") != NULL;
        write_text(t, strlen(t));
        o.file = gcut_plan_file_read(a, plan_path);
        gcut_plan *back = gcut_plan_make(g, &o);
        assert_int_equal(back->backward.n, plan->backward.n);
        for (uint32_t k = 0; k < plan->backward.n; k++)
            assert_int_equal(back->backward.node[k], plan->backward.node[k]);
        for (gcut_ref v = 1; v < g->values.n; v++)
            assert_int_equal(back->value[v].decision, plan->value[v].decision);
        gcut_arena_free(a);
    }
    assert_that(many, >, 20);
}

static void copies_are_where_they_were(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, copies_body, env);
    gcut_env_free(env);
}

/* ---- edits and refusals ---- */

typedef struct edit {
    const char *from, *to; /* the first occurrence */
    const char *say;       /* NULL: it is followed */
} edit;

static void replace(const edit *e)
{
    char *s = read_plan(), *at = strstr(s, e->from);
    if (!at) fail_msg("no '%s' in the plan", e->from);
    size_t head = (size_t)(at - s), n = strlen(s) + strlen(e->to) + 1;
    char *out = calloc(1, n);
    assert_non_null(out);
    snprintf(out, n, "%.*s%s%s", (int)head, s, e->to, at + strlen(e->from));
    write_text(out, strlen(out));
    free(out);
    free(s);
}

static const char saved_a[] =
    "\"value\":\"a\",\"op\":\"tanh\",\"type\":\"f32[N, 256]\",\"bytes\":4096,\"fate\":\"saved\"";

static void edits_are_followed_or_refused(void **state)
{
    (void)state;
    static const edit edits[] = {
        {"\"op\":\"mul\"", "\"op\":\"add\"", "%b is made by mul here and by add in the plan"},
        {"\"value\":\"b\"", "\"value\":\"bb\"",
         "there is no value %bb, which is mul f32[N, 256] in the plan"},
        {"\"type\":\"f32[N, 256]\"", "\"type\":\"f32[N, 128]\"", "%a is f32[N, 256] here and f32[N, 128]"},
        {"\"type\":\"f32[N, 256]\"", "\"type\":\"f64[N, 256]\"", "%a is f32[N, 256] here and f64[N, 256]"},
        {"\"type\":\"f32[N, 256]\"", "\"type\":\"f32[N]\"", "%a is f32[N, 256] here and f32[N]"},
        {"\"type\":\"f32[N, 256]\"", "\"type\":\"f32[8, 256]\"", NULL}, /* a size */
        {"\"value\":\"b\"", "\"value\":\"dc\"",
         "%dc cannot be recomputed: it belongs to the backward graph alone"},
        {"\"value\":\"b\"", "\"value\":\"a\"", "a second line for %a"},
        {"\"fate\":\"recomputed\"", "\"fate\":\"saved\"", NULL},
        {"\"fate\":\"recomputed\"", "\"fate\":\"kept\"", "there is no decision 'kept'"},
        {"\"form\":\"plain\"", "\"form\":\"odd\"", "there is no form 'odd'"},
        {"\"form\":\"plain\"", "\"form\":\"bf16\"", "not as bf16: save_dtype of the plan is not bf16"},
        {"\"form\":\"plain\"", "\"form\":\"bits\"", "only bool values are bits"},
        {"\"form\":\"plain\"", "\"form\":\"grad\"", "not as grad: no gradient is made of it"},
        {"\"policy\": \"mincut\"", "\"policy\": \"minkut\"", "there is no policy 'minkut'"},
        {"\"fate\":\"recomputed\"", "\"fate\":\"recomputed\",\"before\":[\"%db\"]", NULL},
        {"\"fate\":\"recomputed\"", "\"fate\":\"recomputed\",\"before\":[\"%a\"]",
         "%a is no value that the backward"},
        {"\"values\": [", "\"values\": [", NULL},
        {"\"format\": 1", "\"format\": 2", "reads plan files of format 1"},
        {"\"lambda\": 0.05", "\"lambda\": -1", "from 0 to 1e+100"},
        {"\"lambda\": 0.05", "\"lambda\": 1e300", "from 0 to 1e+100"},
        {"\"graph_hash\"", "\"graph_hush\"", NULL}, /* the nodes' hash is there */
        /* The lists for readers are not read, so an edit of them would be lost. */
        {"\"value\": \"a\"", "\"value\": \"b\"", "saved[0]: %b is saved here and recomputed in values[1]"},
        {"\"value\": \"a\"", "\"value\": \"bb\"", "saved[0]: %bb has no line in `values`"},
        {"\"value\": \"b\"", "\"value\": \"a\"",
         "recomputed[0]: %a is recomputed here and saved in values[0]"},
        {"\"value\": \"b\"", "\"value\": \"c\"", "recomputed: this list, or `saved`, was edited"},
        {"\"forced\": false", "\"forced\": true", "recomputed: this list, or `saved`, was edited"},
        {"\"saved\": [", "\"saved\": [], \"was\": [", "saved: %a, saved in values[0], is missing"},
        {"\"saved\": [", "\"saved\": null, \"was\": [", "saved: expected an array"},
        {"\"lists_hash\"", "\"lists_hush\"", NULL}, /* the lists agree with the lines */
    };
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_options o = TEST_OPTIONS, follow = o;
    follow.plan = plan_path;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        write_plan(g, &o);
        replace(&edits[i]);
        const gcut_plan *plan = gcut_plan_new(g, &follow);
        if (!edits[i].say != (plan != NULL) || (!plan && !strstr(said(ctx), edits[i].say)))
            fail_msg("%s -> %s: %s", edits[i].from, edits[i].to, plan ? "followed" : said(ctx));
    }
    gcut_ctx_free(ctx);
}

/* An edited line is what --recompute would have said of the same plan. */
static void an_edit_is_a_constraint(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_options o = TEST_OPTIONS, follow = o;
    o.policy = "save-all";
    write_plan(g, &o);
    replace(&(edit){saved_a,
                    "\"value\":\"a\",\"op\":\"tanh\",\"type\":\"f32[N, 256]\",\"bytes\":4096,"
                    "\"fate\":\"recomputed\"",
                    NULL});
    follow.plan = plan_path;
    o.recompute = (const char *const[]){"a", "h"}, o.nrecompute = 2; /* no line says that %h is saved */
    const char *a = gcut_show(g, &o, GCUT_STAGE_SPLIT, true),
               *b = gcut_show(g, &follow, GCUT_STAGE_SPLIT, true);
    assert_non_null(a);
    assert_string_equal(a, b);
    follow.save = (const char *const[]){"a"}, follow.nsave = 1;
    assert_null(gcut_plan_new(g, &follow));
    assert_non_null(strstr(said(ctx), "%a cannot be both saved and recomputed: \"recomputed\" in the plan "
                                      "against --save %a (" SIX ":4)"));
    gcut_ctx_free(ctx);
}

/* In the steps of a loop too: what is stacked follows. */
static void edits_of_steps_are_constraints(void **state)
{
    (void)state;
    static const edit edits[] = {
        {"{\"value\":\"gi\",\"op\":\"mul\",\"type\":\"f32[N, 8]\",\"bytes\":128,\"fate\":\"recomputed\"",
         "{\"value\":\"gi\",\"op\":\"mul\",\"type\":\"f32[N, 8]\",\"bytes\":128,\"fate\":\"saved\"", NULL},
        {"{\"value\":\"i\",\"op\":\"sigmoid\",\"type\":\"f32[N, 8]\",\"bytes\":128,\"fate\":\"saved\"",
         "{\"value\":\"i\",\"op\":\"sigmoid\",\"type\":\"f32[N, 8]\",\"bytes\":128,\"fate\":\"recomputed\"",
         NULL}};
    static const char *const save[] = {"gi", "f", "g", "o"};
    static const char *const recompute[] = {"i", "ig", "gates",
                                            "p", "px", "ph"}; /* no line says they are saved */
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    for (int i = 0; i < 2; i++) {
        gcut_options o = TEST_OPTIONS, follow = o;
        write_plan(g, &o);
        replace(&edits[i]);
        follow.plan = plan_path;
        o.save = save + i, o.nsave = i == 0 ? 1 : 3;
        o.recompute = recompute, o.nrecompute = i == 0 ? 0 : sizeof recompute / sizeof *recompute;
        const char *a = gcut_show(g, &o, GCUT_STAGE_SPLIT, true),
                   *b = gcut_show(g, &follow, GCUT_STAGE_SPLIT, true);
        assert_non_null(a);
        assert_non_null(b);
        assert_string_equal(a, b);
    }
    gcut_ctx_free(ctx);
}

static void other_graphs_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_graph *mlp = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/mlp.gcut", NULL);
    gcut_graph *lstm = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    gcut_options o = TEST_OPTIONS;
    write_plan(g, &o);
    o.plan = plan_path;
    assert_null(gcut_plan_new(mlp, &o));
    assert_non_null(strstr(said(ctx),
                           "values[0]: this plan is not of @mlp.joint: there is no value %a, which "
                           "is tanh f32[N, 256] in the plan"));
    o.plan = NULL;
    write_plan(lstm, &o);
    o.plan = plan_path;
    assert_null(gcut_plan_new(mlp, &o));
    assert_non_null(strstr(said(ctx), "this plan is not of @mlp.joint"));
    o.budget = 1 << 30;
    assert_null(gcut_plan_new(lstm, &o));
    assert_non_null(strstr(said(ctx), "--plan and --budget"));
    gcut_ctx_free(ctx);
}

/* The file's sizes are the plan's, --at says others. */
static void sizes_come_with_the_file(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_options o = TEST_OPTIONS, follow = o;
    o.at = &(gcut_size){"N", 1024}, o.nat = 1;
    write_plan(g, &o);
    follow.plan = plan_path;
    assert_int_equal(gcut_plan_look(gcut_plan_new(g, &follow))->saved_bytes, 1024 * 1024);
    follow.at = &(gcut_size){"N", 64}, follow.nat = 1;
    assert_int_equal(gcut_plan_look(gcut_plan_new(g, &follow))->saved_bytes, 64 * 1024);
    gcut_ctx_free(ctx);
}

/* Sizes, and names of values to save, decide whether products of gathered rows go to the table: the plan's
 * do. */
static void plans_of_gathers_are_followed(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/models/lstm.gcut", NULL);
    const gcut_size at[2][2] = {{{"N", 2}, {"T", 2}}, {{"N", 16}, {"T", 16}}};
    const char *name = "%layer0.x.reshape";
    for (int k = 0; k < 3; k++) {
        gcut_options o = TEST_OPTIONS, follow = o;
        o.at = at[k > 0], o.nat = 2;
        o.save = &name, o.nsave = k == 2;
        write_plan(g, &o);
        const char *was = gcut_show(g, &o, GCUT_STAGE_SPLIT, true);
        assert_non_null(was);
        follow.plan = plan_path;
        for (int n = 0; n < 3; n++) {
            follow.at = n < 2 ? at[n] : NULL, follow.nat = n < 2 ? 2 : 0;
            const char *now = gcut_show(g, &follow, GCUT_STAGE_SPLIT, true);
            if (!now) fail_msg("plan %d, sizes %d: %s", k, n, said(ctx));
            assert_string_equal(was, now);
        }
    }
    gcut_ctx_free(ctx);
}

/* ---- comparing ---- */

static void differences_are_listed(void **state)
{
    (void)state;
    char other[sizeof plan_path + 8];
    snprintf(other, sizeof other, "%s.b", plan_path);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, SIX, NULL);
    gcut_options o = TEST_OPTIONS;
    o.without = refine_pass, o.nwithout = 1;
    write_plan(g, &o);
    const gcut_plan_diff *d = gcut_diff_plans(ctx, plan_path, plan_path);
    assert_true(d);
    assert_true(d->equal);
    assert_true(d->same_graph);
    assert_true(!d->n);
    assert_int_equal(rename(plan_path, other), 0);
    o.policy = "save-all";
    write_plan(g, &o);
    d = gcut_diff_plans(ctx, other, plan_path);
    assert_true(d);
    assert_true(!d->equal);
    assert_true(d->same_graph);
    json_t *j = json_loads(d->json, 0, NULL);
    assert_false(json_is_true(json_object_get(j, "equal")));
    assert_true(json_is_true(json_object_get(j, "same_graph")));
    json_t *values = json_object_get(j, "values");
    assert_int_equal(json_array_size(values), 3); /* the cut recomputes b, c and d */
    for (size_t i = 0; i < 3; i++) {
        json_t *v = json_array_get(values, i);
        assert_string_equal(json_string_value(json_object_get(json_object_get(v, "a"), "fate")),
                            "recomputed");
        assert_string_equal(json_string_value(json_object_get(json_object_get(v, "b"), "fate")), "saved");
        assert_int_equal(json_integer_value(json_object_get(json_object_get(v, "b"), "bytes")), 4096);
    }
    json_decref(j);
    assert_null(gcut_diff_plans(ctx, other, "/nowhere.json"));
    unlink(other);
    gcut_ctx_free(ctx);
}

/* ---- garbage ---- */

/* Whatever a file holds: a plan or a sentence, never a crash. */
static void garbage_is_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/loops/lstm.gcut", NULL);
    gcut_options o = TEST_OPTIONS, follow = o;
    follow.plan = plan_path;
    write_plan(g, &o);
    char *s = read_plan();
    size_t n = strlen(s);
    uint64_t r = 99;
    for (size_t i = 0; i < 120; i++) {
        char *t = calloc(1, n + 1);
        assert_non_null(t);
        memcpy(t, s, n);
        r = r * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(r >> 20) % n, len = i < 40 ? at : n;
        if (i >= 40) t[at] = "\"{}[],:0x%\n"[(r >> 50) % 11];
        if (i >= 80) t[(size_t)(r >> 9) % n] = (char)(r >> 33);
        write_text(t, len);
        const gcut_plan *plan = gcut_plan_new(g, &follow);
        if (!plan) assert_that(gcut_last_status(ctx), !=, GCUT_OK);
        gcut_free(gcut_diff_plans(ctx, plan_path, plan_path));
        free(t);
    }
    free(s);
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/plans/*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        follow.plan = files.gl_pathv[i];
        assert_null(gcut_plan_new(g, &follow));
        assert_that(gcut_last_status(ctx), !=, GCUT_OK);
    }
    globfree(&files);
    gcut_ctx_free(ctx);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(plan_path);
    return fd < 0 || close(fd) ? -1 : 0;
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(plan_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_are_the_same),           cmocka_unit_test(forced_values_are_followed),
        cmocka_unit_test(forms_and_budgets_are_followed), cmocka_unit_test(copies_are_where_they_were),
        cmocka_unit_test(edits_are_followed_or_refused),  cmocka_unit_test(an_edit_is_a_constraint),
        cmocka_unit_test(edits_of_steps_are_constraints), cmocka_unit_test(other_graphs_are_refused),
        cmocka_unit_test(sizes_come_with_the_file),       cmocka_unit_test(plans_of_gathers_are_followed),
        cmocka_unit_test(differences_are_listed),         cmocka_unit_test(garbage_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
