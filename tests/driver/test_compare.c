/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variants of a step beside each other: bytes counted by hand, kernels against the emitted table and the
 * profile, peaks against what was measured, and the sentence against the numbers that it speaks of.
 */
#define _GNU_SOURCE
#include "runs.h"

#include <jansson.h>

static gcut_graph *graph_of(gcut_ctx *ctx, const char *text)
{
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "compare.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static gcut_graph *model_of(gcut_ctx *ctx, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/%s.gcut", GCUT_SOURCE_DIR, name);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static const char *const all[] = {"eager", "unfused", "save-all", "planned"};
enum { EAGER, UNFUSED, SAVE_ALL, PLANNED, NALL };

static gcut_comparison *compared(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    const gcut_compare_options how = {.variant = all, .nvariants = NALL, .rounds = 2};
    gcut_comparison *c = gcut_compare(g, o, &how);
    if (!c) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(c->n, NALL + 1); /* and `planned` again */
    for (size_t i = 0; i < NALL; i++) assert_string_equal(c->variant[i]->name, all[i]);
    return c;
}

/* ---- by hand ---- */

/* The sum of cos(cos(x)).  Each graph below is counted in arrays of 4 * N bytes. */
static const char chain[] = "gcut 1\n"
                            "func @f[N in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
                            "  %a = cos(%x)\n  %y = cos(%a)\n  %loss = sum(%y)\n  return %loss\n}\n";

static void check_counts(const gcut_variant_graph *g, int64_t ops, int64_t kernels)
{
    assert_int_equal(g->ops, ops);
    assert_int_equal(g->kernels, kernels);
    assert_true(g->launches == (double)kernels);
}

static void check_chain(gcut_ctx *ctx, int64_t n)
{
    const gcut_size at = {"N", n};
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1, o.threads = 1;
    o.lambda = 1; /* a cos costs less than 4 ns: x alone is kept */
    gcut_comparison *c = compared(ctx, graph_of(ctx, chain), &o);
    const gcut_variant *const *v = c->variant;
    double array = 4 * (double)n;
    /* cos, cos, sum; sin, mul by the cotangent, neg, sin, mul, neg.  The broadcast of the cotangent is a
     * view: its 4 bytes are read. */
    check_counts(v[EAGER]->forward, 3, 3);
    check_counts(v[EAGER]->backward, 6, 6);
    check_counts(v[UNFUSED]->forward, 3, 3);
    check_counts(v[UNFUSED]->backward, 6, 6);
    assert_true(v[EAGER]->forward->bytes == (2 + 2 + 1) * array + 4);
    assert_true(v[EAGER]->backward->bytes == (2 + 2 + 2 + 2 + 3 + 2) * array + 4);
    assert_true(v[UNFUSED]->backward->bytes == v[EAGER]->backward->bytes);
    /* The loop of the sum reads x and stores a; after it are partial sums, as without fusion. */
    double partial = v[UNFUSED]->forward->bytes - (2 + 2 + 1) * array;
    assert_true(partial >= 4);
    check_counts(v[SAVE_ALL]->forward, 3, 1);
    check_counts(v[SAVE_ALL]->backward, 6, 1);
    assert_true(v[SAVE_ALL]->forward->bytes == 2 * array + partial);
    assert_true(v[SAVE_ALL]->backward->bytes == 3 * array + 4); /* x, a, the gradient, the cotangent */
    check_counts(v[PLANNED]->forward, 3, 1);
    check_counts(v[PLANNED]->backward, 7, 1);
    assert_true(v[PLANNED]->forward->bytes == array + partial);
    assert_true(v[PLANNED]->backward->bytes == 2 * array + 4); /* x, the gradient, the cotangent */
    assert_int_equal(v[UNFUSED]->saved_bytes, 4 * n);
    assert_int_equal(v[SAVE_ALL]->saved_bytes, 4 * n);
    assert_int_equal(v[PLANNED]->saved_bytes, 0);
    assert_int_equal(c->nat, 1);
    assert_string_equal(c->at[0].name, "N");
    assert_int_equal(c->at[0].value, n);
    gcut_free(c);
}

static void chain_by_hand(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    check_chain(ctx, 4096);
    check_chain(ctx, 1 << 18);
    gcut_ctx_free(ctx);
}

/* cos(cos(x)) as a layer: with the cotangent of y given, everything that is moved is an array of its size. */
static void layer_by_hand(void **state)
{
    (void)state;
    static const char layer[] = "gcut 1\n"
                                "func @f[N in 1..](param %x: f32[N]) -> (out y: f32[N]) {\n"
                                "  %a = cos(%x)\n  %y = cos(%a)\n  return %y\n}\n";
    static const double forward[] = {4, 4, 3, 2}, backward[] = {14, 14, 4, 3}; /* arrays */
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const gcut_size at = {"N", 40000};
    for (int apart = 0; apart < 2; apart++) {
        gcut_options o = TEST_OPTIONS;
        o.at = &at, o.nat = 1, o.lambda = 1, o.threads = 2;
        o.apart = apart != 0;
        gcut_comparison *c = compared(ctx, graph_of(ctx, layer), &o);
        for (int i = 0; i < NALL; i++) {
            assert_true(c->variant[i]->forward->bytes == forward[i] * 4 * 40000);
            assert_true(c->variant[i]->backward->bytes == backward[i] * 4 * 40000);
            if (i != EAGER) assert_int_equal(c->variant[i]->peak_measured, c->variant[i]->peak_predicted);
        }
        int64_t least = c->variant[PLANNED]->saved_bytes; /* the block's head, where there is a block */
        assert_true(apart ? least > 0 && least < 4096 : least == 0);
        assert_int_equal(c->variant[SAVE_ALL]->saved_bytes - least, 4 * 40000);
        gcut_free(c);
    }
    gcut_ctx_free(ctx);
}

/* The same cos for each of T rows: what a loop does counts as often as it runs, where it is counted op by op
 * and where launches are. */
static void loops_by_hand(void **state)
{
    (void)state;
    static const char loop[] =
        "gcut 1\n"
        "func @f[T in 1..](input %x: f32[T, 512], param %w: f32[512]) -> (out h: f32[512]) {\n"
        "  %h = scan(%w, %x, carries=1) body(%c, %row) {\n"
        "    %s = add(%c, %row)\n    %n = sin(%s)\n    yield %n\n  }\n"
        "  return %h\n}\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const gcut_size at = {"T", 7};
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1, o.threads = 1, o.forward_only = true;
    gcut_comparison *c = compared(ctx, graph_of(ctx, loop), &o);
    const gcut_variant *e = c->variant[EAGER], *u = c->variant[UNFUSED];
    assert_int_equal(e->forward->ops, 2);
    assert_int_equal(e->forward->kernels, 2);
    assert_true(e->forward->launches == 2 * 7);
    assert_true(e->forward->bytes == 7 * (3 + 2) * 512 * 4);
    assert_null(e->backward);
    assert_null(u->backward);
    /* Besides: the carry is copied in, and out of the body. */
    assert_that(u->forward->launches, >=, 2 * 7);
    assert_that(u->forward->bytes, >=, e->forward->bytes);
    assert_true(c->variant[PLANNED]->forward->launches <= u->forward->launches - 7);
    assert_null(strstr(c->text, "backward"));
    assert_null(strstr(c->sentence, "backward"));
    gcut_free(c);
    gcut_ctx_free(ctx);
}

/* ---- against others ---- */

/* Rows of the table of launches in emitted C: a product and its epilogue are one. */
static int64_t rows_of(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    char base[128], path[160];
    size_t n;
    int64_t rows = 0;
    snprintf(base, sizeof base, "%s/step", tmp);
    snprintf(path, sizeof path, "%s.c", base);
    if (gcut_emit_files(g, o, base, false) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    char *text = slurp(path, &n), *at = strstr(text, "_code[] = {"), *end = at ? strstr(at, "\n};") : NULL;
    /* A line that is a comment alone tells of a kernel that there is not. */
    for (; end && (at = strchr(at, '\n')) && at < end; at++) {
        const char *mark = strstr(at, "/* k");
        rows += mark && mark < strchr(at + 1, '\n') && at[1 + strspn(at + 1, " ")] != '/';
    }
    assert_non_null(end);
    free(text);
    return rows;
}

static void check_profile(gcut_ctx *ctx, gcut_graph *g, const gcut_options *opt, const gcut_variant *v)
{
    gcut_options o = *opt;
    double launches[2] = {0}, bytes[2] = {0};
    int64_t kernels[2] = {0};
    o.profile = true;
    gcut_step *s = gcut_compile(g, &o);
    gcut_profile *p = s ? gcut_step_profile(s, 1) : NULL;
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    for (size_t i = 0; i < p->n; i++) {
        kernels[p->at[i]->backward]++;
        launches[p->at[i]->backward] += p->at[i]->runs;
        bytes[p->at[i]->backward] += p->at[i]->bytes;
    }
    for (int k = 0; k < 2; k++) {
        const gcut_variant_graph *x = k ? v->backward : v->forward;
        assert_int_equal(x->kernels, kernels[k]);
        assert_true(fabs(x->launches - launches[k]) <= 1e-9 * launches[k]);
        assert_true(fabs(x->bytes - bytes[k]) <= 1e-9 * bytes[k]);
    }
    gcut_free(p);
    gcut_step_free(s);
}

static void check_model(const char *name, const char *optimizer)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = model_of(ctx, name);
    gcut_options o = TEST_OPTIONS;
    o.optimizer = optimizer;
    o.threads = 2;
    gcut_comparison *c = compared(ctx, g, &o);
    const gcut_variant *const *v = c->variant;
    gcut_options unfused = o, save_all = o;
    save_all.policy = unfused.policy = "save-all";
    unfused.unfused = true;
    const gcut_options *const like[] = {[UNFUSED] = &unfused, [SAVE_ALL] = &save_all, [PLANNED] = &o};
    for (int i = UNFUSED; i < NALL; i++) {
        check_profile(ctx, g, like[i], v[i]);
        assert_int_equal(v[i]->forward->kernels + v[i]->backward->kernels, rows_of(ctx, g, like[i]));
        assert_int_equal(v[i]->peak_measured, v[i]->peak_predicted);
        assert_that(v[i]->step_ns_best, >, 0);
        assert_that(v[i]->step_ns_median, >=, v[i]->step_ns_best);
    }
    assert_int_equal(v[EAGER]->peak_measured, -1);
    assert_int_equal(v[EAGER]->saved_bytes, -1);
    assert_null(v[EAGER]->policy);
    assert_string_equal(v[UNFUSED]->policy, "save-all");
    assert_string_equal(v[PLANNED]->policy, "mincut");
    assert_int_equal(v[UNFUSED]->saved_bytes, v[SAVE_ALL]->saved_bytes);
    assert_true(v[PLANNED]->saved_bytes <= v[SAVE_ALL]->saved_bytes);
    assert_true(v[SAVE_ALL]->forward->kernels < v[UNFUSED]->forward->kernels);
    assert_true(v[SAVE_ALL]->backward->kernels < v[UNFUSED]->backward->kernels);
    gcut_free(c);
    gcut_ctx_free(ctx);
}

static void kernels_are_those_of_the_step(void **state)
{
    (void)state;
    check_model("models/mlp", NULL);
    if (nightly()) check_model("models/lstm", "adamw(lr=0.001)");
    check_model("corpus/gpt_tiny", NULL);
    check_model("corpus/loops", NULL);
}

/* ---- what is printed ---- */

static void sentence_says_the_numbers(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const gcut_size at = {"N", 1 << 18};
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1, o.threads = 1, o.lambda = 1;
    gcut_comparison *c = compared(ctx, graph_of(ctx, chain), &o);
    const gcut_variant *from = c->variant[UNFUSED], *to = c->variant[PLANNED];
    char want[400];
    /* An array is 1 MiB. */
    snprintf(want, sizeof want,
             "unfused -> planned: 9 ops -> 2 kernels; moved forward 5.0 MiB -> 1.0 MiB, backward 13.0 MiB -> "
             "2.0 MiB; saved 1.0 MiB -> 0 bytes; peak 5.0 MiB -> 2.0 MiB; %.3f times as fast, not separable",
             from->step_ns_median / to->step_ns_median); /* of two rounds */
    assert_string_equal(c->sentence, want);
    assert_ptr_equal(c->from, c->variant[UNFUSED]);
    assert_ptr_equal(c->to, c->variant[PLANNED]);
    assert_non_null(strstr(c->text, c->sentence));
    assert_non_null(strstr(c->text, "3 + 7"));
    json_t *j = json_loads(c->json, 0, NULL), *v = json_object_get(j, "variants");
    assert_int_equal(json_array_size(v), NALL + 1);
    assert_string_equal(json_string_value(json_object_get(j, "sentence")), c->sentence);
    for (size_t i = 0; i < NALL; i++) {
        json_t *x = json_array_get(v, i), *b = json_object_get(x, "backward");
        assert_string_equal(json_string_value(json_object_get(x, "name")), all[i]);
        assert_true(json_number_value(json_object_get(b, "bytes")) == c->variant[i]->backward->bytes);
        assert_int_equal(json_integer_value(json_object_get(b, "ops")), c->variant[i]->backward->ops);
        assert_true(json_is_null(json_object_get(x, "peak_measured")) == (i == EAGER));
    }
    json_decref(j);
    gcut_free(c);
    gcut_ctx_free(ctx);
}

/* One alone is compared with nothing; without the two names the first and the last are. */
static void any_policies_are_variants(void **state)
{
    (void)state;
    static const char *const policies[] = {"recompute-all", "torch:0.5", "sqrt"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = model_of(ctx, "models/mlp");
    gcut_compare_options how = {.variant = policies, .nvariants = 1, .rounds = 1};
    gcut_comparison *c = gcut_compare(g, NULL, &how);
    assert_non_null(c);
    assert_string_equal(c->sentence, "");
    assert_null(c->from);
    gcut_free(c);
    how.nvariants = 3;
    c = gcut_compare(g, NULL, &how);
    assert_non_null(c);
    assert_int_equal(strncmp(c->sentence, "recompute-all -> sqrt: ", 23), 0);
    assert_string_equal(c->variant[1]->policy, "torch:0.5");
    gcut_free(c);
    gcut_ctx_free(ctx);
}

/* A budget is the plan's alone. */
static void budgets_bind_the_plan(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = model_of(ctx, "models/gpt2");
    gcut_options o = TEST_OPTIONS;
    o.threads = 1;
    gcut_comparison *free_ = compared(ctx, g, &o);
    o.budget = free_->variant[PLANNED]->peak_predicted * 97 / 100;
    gcut_comparison *c = compared(ctx, g, &o);
    assert_true(c->variant[PLANNED]->peak_measured <= o.budget);
    assert_true(c->variant[SAVE_ALL]->peak_measured == free_->variant[SAVE_ALL]->peak_measured);
    assert_true(c->variant[SAVE_ALL]->peak_measured > o.budget);
    gcut_free(free_);
    gcut_free(c);
    gcut_ctx_free(ctx);
}

/* The sizes of a plan file are those of every variant. */
static void plan_files_have_sizes(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_of(ctx, chain);
    const gcut_size at = {"N", 640};
    char path[128];
    gcut_options o = TEST_OPTIONS;
    o.at = &at, o.nat = 1;
    gcut_plan *plan = gcut_plan_new(g, &o);
    char *json = plan ? gcut_plan_json(plan) : NULL;
    snprintf(path, sizeof path, "%s/plan.json", tmp);
    FILE *f = fopen(path, "w");
    assert_true(json);
    assert_true(f);
    fputs(json, f);
    assert_int_equal(fclose(f), 0);
    gcut_free(json);
    gcut_plan_free(plan);
    o = TEST_OPTIONS;
    o.plan = path;
    gcut_comparison *c = compared(ctx, g, &o);
    assert_int_equal(c->at[0].value, 640);
    assert_true(c->variant[EAGER]->forward->bytes == 5 * 4 * 640 + 4);
    for (int i = UNFUSED; i < NALL; i++)
        assert_int_equal(c->variant[i]->peak_measured, c->variant[i]->peak_predicted);
    gcut_free(c);
    gcut_ctx_free(ctx);
}

/* ---- what is refused ---- */

static void refuse(gcut_ctx *ctx, gcut_graph *g, const gcut_compare_options *how, const char *says)
{
    const char *e;
    assert_null(gcut_compare(g, NULL, how));
    e = gcut_last_error(ctx);
    if (!strstr(e, says)) fail_msg("'%s' is not in: %s", says, e);
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    gcut_clear_errors(ctx);
}

static void wrong_lists_are_refused(void **state)
{
    (void)state;
    static const char *const list[] = {"planned", "fused", "planned", NULL};
    static const char names[] = "variants: eager, unfused, planned, or a policy: mincut, save-all, ";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_of(ctx, chain);
    gcut_compare_options how = {.variant = list};
    refuse(ctx, g, NULL, names);
    refuse(ctx, g, NULL, "the list of variants to compare is empty");
    refuse(ctx, g, &how, "the list of variants to compare is empty");
    how.variant = NULL, how.nvariants = 2;
    refuse(ctx, g, &how, names);
    how.variant = list;
    refuse(ctx, g, &how, "there is no variant 'fused' to compare");
    refuse(ctx, g, &how, names);
    how.variant = (const char *const[]){"planned", "sqrt", "planned"};
    how.nvariants = 3;
    refuse(ctx, g, &how, "the variant 'planned' is listed twice");
    how.variant = &list[2];
    how.nvariants = 2;
    refuse(ctx, g, &how, "how.variant[1] is NULL");
    how.nvariants = 1;
    how.rounds = -1;
    refuse(ctx, g, &how, "how.rounds is -1");
    how.rounds = 1;
    how.nfeed = 2;
    refuse(ctx, g, &how, "how.feed is NULL, how.nfeed is 2");
    gcut_ctx_free(ctx);
}

static int begin(void **state)
{
    (void)state;
    return begin_runs() ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    end_runs();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_by_hand),
        cmocka_unit_test(layer_by_hand),
        cmocka_unit_test(loops_by_hand),
        cmocka_unit_test(kernels_are_those_of_the_step),
        cmocka_unit_test(sentence_says_the_numbers),
        cmocka_unit_test(any_policies_are_variants),
        cmocka_unit_test(budgets_bind_the_plan),
        cmocka_unit_test(plan_files_have_sizes),
        cmocka_unit_test(wrong_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
