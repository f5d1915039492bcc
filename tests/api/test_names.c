/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of values: made up from scope and op where nobody gave one, out of the way of those that somebody
 * did, the same in every text, and of no influence on plans.
 */
#include "backends.h"
#include "nightly.h"

#include <ctype.h>
#include <glob.h>

static gcut_ctx *new_ctx(void)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    assert_non_null(ctx);
    return ctx;
}

static char *shown(gcut_ctx *ctx, gcut_graph *g)
{
    char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, true);
    if (!text) fail_msg("%s", gcut_last_error(ctx));
    return text;
}

/* The graph's text has each of the lines, which end with NULL; and it is the text of the graph read from it.
 */
static void expect(gcut_ctx *ctx, gcut_graph *g, const char *const *lines)
{
    char *text = shown(ctx, g);
    for (; *lines; lines++)
        if (!strstr(text, *lines)) fail_msg("'%s' is not in:\n%s", *lines, text);
    gcut_graph *back = gcut_parse(ctx, text, GCUT_TO_NUL, "back", NULL);
    if (!back) fail_msg("%s\n%s", gcut_last_error(ctx), text);
    char *again = shown(ctx, back);
    assert_string_equal(again, text);
    gcut_free(again);
    gcut_free(text);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- what they are ---- */

static void test_scopes(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(8));
    gcut_val y = gcut_tanh(gcut_tanh(gcut_tanh(x)));
    gcut_scope(g, "block3/mlp");
    y = gcut_gelu(gcut_gelu(y, "none"), "tanh");
    gcut_scope(g, "//a b%\n/\xc3\xa9.1/");
    y = gcut_exp(y);
    gcut_scope(g, NULL);
    gcut_output(g, "loss", gcut_sum(gcut_tanh(y)));
    expect(ctx, g,
           LINES("%tanh: f32[8] = tanh(%x)", "%tanh.2: f32[8] = tanh(%tanh)",
                 "%tanh.3: f32[8] = tanh(%tanh.2)", "%block3.mlp.gelu: f32[8] = gelu(%tanh.3)",
                 "%block3.mlp.gelu.2: f32[8] = gelu(%block3.mlp.gelu",
                 "%a_b__.__.1.exp: f32[8] = exp(%block3.mlp.gelu.2)",
                 "%tanh.4: f32[8] = tanh(%a_b__.__.1.exp)", "%sum: f32[] = sum(%tanh.4)"));
    gcut_ctx_free(ctx);
}

static void test_several_results(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val y = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(4, 3, 2, 2)), next[2];
    for (int k = 0; k < 2; k++) {
        const char *const names[2][4] = {{"g0", "b0", "m0", "v0"}, {"g1", "b1", "m1", "v1"}};
        gcut_val c[4];
        for (int i = 0; i < 4; i++)
            c[i] = i < 2 ? gcut_param(g, names[k][i], GCUT_F32, GCUT_SHAPE(3))
                         : gcut_state(g, names[k][i], GCUT_F32, GCUT_SHAPE(3));
        y = gcut_batch_norm(y, c[0], c[1], c[2], c[3], 1e-5, 0.1, next);
        for (int i = 0; i < 2; i++) gcut_next(g, names[k][2 + i], next[i]);
    }
    gcut_output(g, "loss", gcut_sum(y));
    expect(ctx, g,
           LINES("%batch_norm: f32[4, 3, 2, 2], %batch_norm.r1: f32[3], %batch_norm.r2: f32[3] = ",
                 "%batch_norm.2: f32[4, 3, 2, 2], %batch_norm.2.r1: f32[3], %batch_norm.2.r2: f32[3] = "));
    gcut_ctx_free(ctx);
}

static void square(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body;
    out[0] = gcut_mul(in[0], gcut_tanh(in[0]));
}

/* A body sees the names around it; values made around it later do not disturb its own. */
static void test_bodies(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(8)), y = gcut_tanh(x);
    gcut_scope(g, "loop");
    gcut_scan(g, (&(gcut_loop){.carry = &y, .ncarry = 1, .body = square, .length = 3}), &y);
    gcut_scope(g, NULL);
    gcut_output(g, "loss", gcut_sum(gcut_mul(y, gcut_tanh(y))));
    expect(ctx, g,
           LINES("%loop.scan: f32[8] = scan(%tanh, ", "%loop.tanh: f32[8] = tanh(%loop.body.0)",
                 "%loop.mul: f32[8] = mul(%loop.body.0, %loop.tanh)", "%tanh.2: f32[8] = tanh(%loop.scan)"));
    gcut_ctx_free(ctx);
}

static void swapped(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)user, (void)body;
    gcut_name(in[0], "body.1");
    gcut_name(in[1], "acc");
    out[0] = in[1];
    out[1] = gcut_add(in[0], in[1]);
}

/* Arguments of a body may be named, also as another one is called by default. */
static void test_arguments(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(8)), y[2] = {gcut_tanh(x), x};
    gcut_scan(g, (&(gcut_loop){.carry = y, .ncarry = 2, .body = swapped, .length = 3}), y);
    gcut_output(g, "loss", gcut_sum(y[1]));
    expect(ctx, g, LINES("body(%body.1: f32[8], %acc: f32[8])", "= add(%body.1, %acc)", "yield %acc, %add"));
    gcut_ctx_free(ctx);
}

/* Whoever asks for a name gets it. */
static void test_names_given(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(8));
    gcut_val a = gcut_tanh(x), b = gcut_exp(a), c = gcut_exp(b);
    gcut_val t = gcut_param(g, "tanh", GCUT_F32, GCUT_SHAPE(8)); /* a is tanh.2 now */
    gcut_name(c, "exp");                                         /* and b is exp.3 */
    gcut_output(g, "loss", gcut_sum(gcut_mul(gcut_tanh(t), c)));
    expect(ctx, g,
           LINES("param %tanh: f32[8]", "%tanh.2: f32[8] = tanh(%x)", "%exp.3: f32[8] = exp(%tanh.2)",
                 "%exp: f32[8] = exp(%exp.3)", "%tanh.3: f32[8] = tanh(%tanh)"));
    gcut_name(a, "h");
    gcut_name(b, "h"); /* but not that of another who asked */
    assert_false(gcut_graph_ok(g));
    assert_non_null(strstr(gcut_last_error(ctx), "there is already a value %h"));
    gcut_ctx_free(ctx);
}

/* A wrong index is reported by the name of the lookup, and not by that of its scope. */
static void test_index_errors(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(4, 2)),
             i = gcut_input(g, "i", GCUT_I32, GCUT_SHAPE(3));
    int32_t at[] = {1, 4, 2};
    gcut_options o = TEST_OPTIONS;
    gcut_scope(g, "token/table");
    gcut_val y = gcut_take(x, i, 0);
    gcut_output(g, "loss", gcut_sum(y));
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    assert_ok(ctx, gcut_bind(s, "i", at, 3));
    assert_int_not_equal(gcut_run(s), GCUT_OK);
    if (!strstr(gcut_last_error(ctx), "take %token.table.take")) fail_msg("%s", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

/* As many as one likes, in time. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val x = gcut_param(g, "x", GCUT_F32, GCUT_SHAPE(2));
    char last[40];
    for (int k = 0; k < MANY; k++) x = gcut_neg(x);
    for (int k = 0; k < MANY; k++) { /* the first of two unnamed ones is named, when both are there */
        gcut_val y = gcut_tanh(x);
        x = gcut_tanh(y);
        char given[40];
        snprintf(given, sizeof given, "given%d", k);
        gcut_name(y, given);
    }
    gcut_output(g, "y", x);
    char *text = shown(ctx, g);
    snprintf(last, sizeof last, "  return %%tanh.%d\n", MANY + 1);
    assert_non_null(strstr(text, last));
    gcut_free(text);
    gcut_ctx_free(ctx);
}

/* ---- in every text ---- */

/* A number in the place of a name: "%v42", "%dv42.log_softmax"; NULL: there is none. */
static const char *numbered(const char *text)
{
    for (const char *s = text; (s = strpbrk(s, "%.")); s++) {
        const char *v = s + 1;
        while (*v == 'd') v++;
        if (*v != 'v' || !isdigit((unsigned char)v[1])) continue;
        v += 1 + strspn(v + 1, "0123456789");
        if (!isalnum((unsigned char)*v) && *v != '_') return s;
    }
    return NULL;
}

static void look(const char *model, const char *what, const char *text)
{
    if (!text) fail_msg("%s: no %s", model, what);
    const char *at = numbered(text);
    if (at) fail_msg("%s: %s has %.60s", model, what, at);
}

static void no_number(const char *model, const char *what, char *text)
{
    look(model, what, text);
    gcut_free(text);
}

static void each_model(void (*check)(const char *path, gcut_ctx *ctx, gcut_graph *g))
{
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 13);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = gcut_load(ctx, files.gl_pathv[i], NULL);
        if (!g) fail_msg("%s", gcut_last_error(ctx));
        check(files.gl_pathv[i], ctx, g);
        gcut_ctx_free(ctx);
    }
    globfree(&files);
}

static void check_texts(const char *path, gcut_ctx *ctx, gcut_graph *g)
{
    gcut_options o = UNREFINED_OPTIONS;
    o.optimizer = "adamw(lr=0.001)";
    for (int stage = GCUT_STAGE_PRIMAL; stage <= GCUT_STAGE_KERNEL; stage++)
        no_number(path, "a stage", gcut_show(g, &o, (gcut_stage_name)stage, false));
    gcut_plan *p = gcut_plan_new(g, &o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    no_number(path, "the plan", gcut_plan_text(p, NULL));
    no_number(path, "the table of saved values",
              gcut_plan_saved_text(p, &(gcut_table_options){.symbolic = true}));
    no_number(path, "the plan file", gcut_plan_json(p));
    const gcut_plan_info *info = gcut_plan_look(p);
    for (size_t i = 0; i < info->n && i < 3; i++) {
        gcut_explanation *why = gcut_explain(g, &o, info->value[i]->name);
        if (!why) fail_msg("%s: %s", path, gcut_last_error(ctx));
        look(path, "an explanation", why->text);
        gcut_free(why);
    }
}

static void test_no_numbers(void **state)
{
    (void)state;
    assert_non_null(numbered("saved %v42.log_softmax"));
    assert_non_null(numbered("%loss.v1 %dv7"));
    assert_null(numbered("%conv2d %v %value1 %attn.v.w %v1x 3.5"));
    each_model(check_texts);
}

/* ---- plans ---- */

/* The text with every name replaced by a number that says nothing of the order. */
static char *renamed(const char *text)
{
    char *out = calloc(2 * strlen(text) + 1, 1), *to = out, **names = calloc(strlen(text), sizeof *names);
    size_t n = 0;
    assert_true(out);
    assert_true(names);
    while (*text) {
        const char *heads[] = {"%", "data @", "next "};
        size_t k = 0;
        for (size_t i = 0; i < 3 && !k; i++)
            if (!strncmp(text, heads[i], strlen(heads[i]))) k = strlen(heads[i]);
        size_t len =
            k ? strspn(text + k, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") : 0;
        if (!len) {
            *to++ = *text++;
            continue;
        }
        size_t i = 0;
        while (i < n && (strlen(names[i]) != len || memcmp(names[i], text + k, len) != 0)) i++;
        if (i == n) names[n++] = strndup(text + k, len);
        to += sprintf(to, "%.*sz%04u", (int)k, text, (unsigned)(i * 7919 % 10007));
        text += k + len;
    }
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
    return out;
}

static void same_value(const char *path, size_t i, const gcut_plan_value *a, const gcut_plan_value *b)
{
    bool same = !strcmp(a->op, b->op) && !strcmp(a->type, b->type) && a->decision == b->decision &&
                a->copies == b->copies && a->bytes == b->bytes && a->nreaders == b->nreaders &&
                a->nflips == b->nflips && a->forced == b->forced && a->save_ns == b->save_ns &&
                a->recompute_ns == b->recompute_ns &&
                !strcmp(a->storage ? a->storage : "", b->storage ? b->storage : "");
    for (size_t k = 0; same && k < a->nreaders; k++)
        same = !strcmp(a->readers[k].op, b->readers[k].op) &&
               a->readers[k].recomputed == b->readers[k].recomputed;
    if (!same) fail_msg("%s: value %zu is %s %s, renamed %s %s", path, i, a->name, a->op, b->name, b->op);
}

static void check_renamed(const char *path, gcut_ctx *ctx, gcut_graph *g)
{
    static const struct {
        const char *policy, *optimizer;
        double lambda;
        bool budget;
    } ways[] = {{NULL, NULL, 0, false},
                {NULL, "adamw(lr=0.001)", GCUT_LAMBDA_FASTEST, false},
                {NULL, NULL, 1, false},
                {"torch", NULL, 0, false},
                {NULL, "sgd(lr=0.1)", 0, true}};
    char *text = shown(ctx, g), *other = renamed(text);
    gcut_graph *z = gcut_parse(ctx, other, GCUT_TO_NUL, "renamed", NULL);
    if (!z) fail_msg("%s\n%s", gcut_last_error(ctx), other);
    size_t lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    const bool small = lines < 60;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        if (!in_turn(w + strlen(path), ways[w].budget ? 12 : 6)) continue;
        if (ways[w].budget && !small && !nightly()) continue; /* searches take the longest */
        gcut_options o = TEST_OPTIONS;
        o.policy = ways[w].policy, o.optimizer = ways[w].optimizer, o.lambda = ways[w].lambda;
        if (w || !small) o.without = refine_pass, o.nwithout = 1; /* flips in the first way */
        if (ways[w].budget) {                                     /* less than it takes */
            o.budget = gcut_plan_look(gcut_plan_new(g, &o))->peak_bytes;
            o.budget -= o.budget / 16;
        }
        const gcut_plan_info *a = gcut_plan_look(gcut_plan_new(g, &o));
        const gcut_plan_info *b = gcut_plan_look(gcut_plan_new(z, &o));
        assert_int_equal(a == NULL, b == NULL); /* a budget may be too small */
        if (!a) continue;
        if (a->saved_bytes != b->saved_bytes || a->peak_bytes != b->peak_bytes || a->step_ns != b->step_ns ||
            a->cost_ns != b->cost_ns || a->n != b->n)
            fail_msg("%s, way %zu: saves %lld, peak %lld; renamed %lld, %lld", path, w,
                     (long long)a->saved_bytes, (long long)a->peak_bytes, (long long)b->saved_bytes,
                     (long long)b->peak_bytes);
        for (size_t i = 0; i < a->n; i++) same_value(path, i, a->value[i], b->value[i]);
    }
    gcut_free(text);
    free(other);
}

static void test_plans_of_renamed_graphs(void **state)
{
    (void)state;
    each_model(check_renamed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_several_results),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_names_given),
        cmocka_unit_test(test_index_errors),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_plans_of_renamed_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
