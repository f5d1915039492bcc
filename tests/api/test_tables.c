/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables as people read them: folded rows add up to the values that the plan has as data, `match` and `top` say what
 * they leave out, and lines fit the terminal.  A table in full is the oracle of the others.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"
#include "base/names.h"
#include "base/table.h"
#include "base/units.h"
#include "report/fold.h"

enum { BLOCKS = 5 };

/* Five blocks, then one more saved value of its own. */
static char *blocks_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    fprintf(f, "func @f[N in 1..](");
    for (int i = 0; i < BLOCKS; i++) fprintf(f, "param %%block%d.w: f32[64, 64], ", i);
    fprintf(f, "param %%head.w: f32[64, 8], input %%x: f32[N, 64]) -> (out loss: f32[]) {\n");
    for (int i = 0; i < BLOCKS; i++) {
        if (i)
            fprintf(f, "  %%block%d.p = matmul(%%block%d.act, %%block%d.w)\n", i, i - 1, i);
        else
            fprintf(f, "  %%block0.p = matmul(%%x, %%block0.w)\n");
        fprintf(f, "  %%block%d.act = tanh(%%block%d.p)\n", i, i);
    }
    fprintf(f, "  %%head.p = matmul(%%block%d.act, %%head.w)\n  %%head.act = tanh(%%head.p)\n", BLOCKS - 1);
    fprintf(f, "  %%loss = mean(%%head.act, axes=[0, 1])\n  return %%loss\n}\n");
    fclose(f);
    return text;
}

typedef struct model {
    gcut_ctx *ctx;
    gcut_plan *plan;
    const gcut_plan_info *info;
} model;

static model plan_blocks(void)
{
    model m = {.ctx = new_ctx()};
    char *text = blocks_text();
    gcut_options o = {.at = &(gcut_size){"N", 128}, .nat = 1, .policy = "save-all"};
    m.plan = gcut_plan_new(graph_from(m.ctx, text), &o);
    free(text);
    assert_non_null(m.plan);
    m.info = gcut_plan_look(m.plan);
    return m;
}

static char *saved(const model *m, gcut_table_options o)
{
    char *text = gcut_plan_saved_text(m->plan, &o);
    assert_non_null(text);
    return text;
}

static void say(const char *text, const char *what)
{
    if (!strstr(text, what)) fail_msg("expected '%s' in:\n%s", what, text);
}

static void rows_fold(void **state)
{
    (void)state;
    model m = plan_blocks();
    const gcut_plan_value *act = NULL;
    size_t n = 0;
    for (size_t i = 0; i < m.info->n; i++) {
        const gcut_plan_value *v = m.info->value[i];
        if (v->decision == GCUT_PLAN_SAVED && gcut_name_matches("block*.act", v->name)) act = v, n++;
    }
    assert_int_equal(n, BLOCKS);
    char *folded = saved(&m, (gcut_table_options){0}), *all = saved(&m, (gcut_table_options){.all = true}),
         line[200];
    /* The last block is read by another op. */
    snprintf(line, sizeof line, "  131,072  4 x 32,768  %.1f%%  %%block*.act",
             100 * 131072.0 / (double)m.info->saved_bytes);
    assert_int_equal(act->bytes, 32768);
    say(folded, line);
    say(folded, "%head.act");
    say(folded, "alive anyway:");
    say(folded, "%block*.w param 4 x 16,384");
    say(folded, "%block4.act");
    assert_null(strstr(folded, "%block0"));
    assert_null(strstr(all, "%block*"));
    for (size_t i = 0; i < m.info->n; i++)
        if (m.info->value[i]->decision <= GCUT_PLAN_ALIVE &&
            m.info->value[i]->decision != GCUT_PLAN_RECOMPUTED) {
            snprintf(line, sizeof line, "%%%s ", m.info->value[i]->name);
            say(all, line);
        }
    gcut_free(folded);
    gcut_free(all);
    gcut_plan_free(m.plan);
    gcut_ctx_free(m.ctx);
}

static void left_out(void **state)
{
    (void)state;
    model m = plan_blocks();
    char *top = saved(&m, (gcut_table_options){.top = 1}),
         *match = saved(&m, (gcut_table_options){.match = "%head.*"}),
         *none = saved(&m, (gcut_table_options){.match = "nothing"}), line[200];
    size_t n = 0, others = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < m.info->n; i++) {
        const gcut_plan_value *v = m.info->value[i];
        if (v->decision != GCUT_PLAN_SAVED) continue;
        n++;
        if (!gcut_name_matches("head.*", v->name)) others++, bytes += v->bytes;
    }
    say(top, "%block*.act");
    assert_null(strstr(top, "%head.act  "));
    gcut_env *env = gcut_env_new(NULL, NULL);
    snprintf(line, sizeof line, "  left out: %zu tensors, %s", others, gcut_bytes_text(env->arena, bytes));
    gcut_env_free(env);
    say(match, line);
    say(match, "%head.act");
    assert_null(strstr(match, "%block0.act  "));
    snprintf(line, sizeof line, "left out: %zu tensors, ", n);
    say(none, line);
    say(none, "alive anyway: none that matches");
    assert_null(gcut_plan_saved_text(m.plan, &(gcut_table_options){.top = -1}));
    assert_says(m.ctx, GCUT_EUSAGE, "a table has no -1 rows");
    assert_null(gcut_plan_text(m.plan, &(gcut_table_options){.reserved = {1}}));
    assert_says(m.ctx, GCUT_EUSAGE, "gcut_table_options.reserved[0] is 1, not 0");
    gcut_free(top);
    gcut_free(match);
    gcut_free(none);
    gcut_plan_free(m.plan);
    gcut_ctx_free(m.ctx);
}

/* Tables of every width: lines fit as far as names have room for eight characters, and what has no room is named. */
static void lines_fit(void **state)
{
    (void)state;
    model m = plan_blocks();
    for (int columns = 64; columns < 200; columns++) {
        char *text = saved(&m, (gcut_table_options){.columns = columns, .all = columns % 2}), *end;
        for (char *s = strchr(text, '\n') + 1; (end = strchr(s, '\n')); s = end + 1)
            if (end - s > columns) fail_msg("%d columns: %.*s", columns, (int)(end - s), s);
        if (columns < 100) say(text, "  no room for: read in backward by");
        say(text, "flips at");
        gcut_free(text);
    }
    gcut_plan_free(m.plan);
    /* Lists, too, whose items are longer than this terminal is wide. */
    gcut_options o = {.at = &(gcut_size){"N", 128}, .nat = 1, .policy = "recompute-all"};
    char *blocks = blocks_text();
    m.plan = gcut_plan_new(graph_from(m.ctx, blocks), &o);
    free(blocks);
    for (int columns = 24; columns < 80; columns++) {
        char *text = saved(&m, (gcut_table_options){.columns = columns, .all = true}), *end;
        char *s = strstr(text, "recomputed:");
        assert_non_null(s);
        for (; (end = strchr(s, '\n')); s = end + 1)
            if (end - s > columns) fail_msg("%d columns: %.*s", columns, (int)(end - s), s);
        gcut_free(text);
    }
    gcut_plan_free(m.plan);
    gcut_ctx_free(m.ctx);
}

static void save(char *json, const char *name)
{
    FILE *f = fopen(in_tmp(name), "w");
    assert_non_null(f);
    print_text(f, json);
    assert_int_equal(fclose(f), 0);
}

/* So do the differences of two plans. */
static void differences_fold(void **state)
{
    (void)state;
    model m = plan_blocks();
    char *text = blocks_text(), a[256], b[256];
    gcut_options o = {.at = &(gcut_size){"N", 128}, .nat = 1, .policy = "recompute-all"};
    gcut_plan *other = gcut_plan_new(graph_from(m.ctx, text), &o);
    assert_non_null(other);
    save(gcut_plan_json(m.plan), "a.json");
    save(gcut_plan_json(other), "b.json");
    snprintf(a, sizeof a, "%s", in_tmp("a.json"));
    snprintf(b, sizeof b, "%s", in_tmp("b.json"));
    gcut_plan_diff *d = gcut_diff_plans(m.ctx, a, b);
    if (!d) fail_msg("%s", gcut_last_error(m.ctx));
    char *folded = gcut_diff_text(m.ctx, d, NULL),
         *all = gcut_diff_text(m.ctx, d, &(gcut_table_options){.all = true}),
         *none = gcut_diff_text(m.ctx, d, &(gcut_table_options){.match = "nothing"}), line[64];
    say(folded, "%block*.act  5 times  tanh    saved");
    say(folded, "163,840");
    say(all, "%block4.act  tanh    saved");
    assert_null(strstr(all, "times"));
    snprintf(line, sizeof line, "  left out: %zu values", d->n);
    say(none, line);
    gcut_free(folded);
    gcut_free(all);
    gcut_free(none);
    gcut_free(d);
    free(text);
    gcut_plan_free(other);
    gcut_plan_free(m.plan);
    gcut_ctx_free(m.ctx);
}

/* ---- folding itself ---- */

static void fold_names(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_arena *a = env->arena;
    const gcut_row row[] = {
        {"a1.b2", "x", 10}, {"a2.b2", "x", 10}, {"a3.b2", "y", 10}, {"a10.b2", "x", 10}, {"7", "x", 1},
        {"8", "x", 2},      {"9", "x", 3},      {"a1.b2c", "x", 5}, {"a4.b2", "x", 9},
    };
    const gcut_table_options none = {0};
    gcut_folded f = gcut_fold(a, row, 9, &none, false);
    assert_int_equal(f.n, 4);
    assert_string_equal(f.at[0].name, "a*.b2");
    assert_int_equal(f.at[0].n, 4);
    assert_int_equal(f.at[0].amount, 39);
    assert_string_equal(gcut_group_each(a, &f.at[0], row), "4");
    assert_string_equal(f.at[1].name, "a3.b2");
    assert_string_equal(gcut_group_each(a, &f.at[1], row), "");
    assert_string_equal(f.at[2].name, "*");
    assert_string_equal(f.at[3].name, "a1.b2c");
    const char *const text[] = {"p", "q", "", "p", "u", "v", "w", "", "p"};
    assert_string_equal(gcut_group_text(a, &f.at[0], text), "p, q");
    assert_string_equal(gcut_group_text(a, &f.at[2], text), "u, v +1");
    f = gcut_fold(a, row, 9, &(gcut_table_options){.top = 1, .match = "a*"}, true);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.left, 5);
    assert_int_equal(f.left_amount, 10 + 5 + 6);
    f = gcut_fold(a, row, 9, &(gcut_table_options){.all = true}, true);
    assert_int_equal(f.n, 9);
    assert_string_equal(f.at[4].name, "a4.b2"); /* the largest first, equal ones in their order */
    f = gcut_fold(a, row, 0, &none, true);
    assert_int_equal(f.n, 0);
    assert_string_equal(gcut_without_numbers(a, "block12.ln1.3"), "block*.ln*.*");
    gcut_env_free(env);
}

static void numbers(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    static const struct {
        double x;
        const char *text;
    } rows[] = {{0, "0"},      {1.84, "1.8"}, {0.0794, "0.079"}, {12.3, "12"},
                {99.6, "100"}, {134, "130"},  {5e4, "50000"},    {1e300, "1e+300"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(gcut_short_real(env->arena, rows[i].x), rows[i].text);
    gcut_env_free(env);
}

/* Cells are cut between characters, not inside them. */
static void cut_characters(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_text out = {.arena = env->arena};
    gcut_table t = {.arena = env->arena, .ncols = 2, .cut = 1, .columns = 14};
    gcut_table_row(&t, (const char *[]){"name", "n"});
    gcut_table_row(&t, (const char *[]){"äöüäöüäöüäöüäöü", "1234"});
    gcut_table_print(&t, 0, t.nrows, "", &out);
    assert_string_equal(out.at, "name      n\näöüäöü..  1234\n");
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_fold),        cmocka_unit_test(left_out),   cmocka_unit_test(lines_fit),
        cmocka_unit_test(differences_fold), cmocka_unit_test(fold_names), cmocka_unit_test(numbers),
        cmocka_unit_test(cut_characters),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
