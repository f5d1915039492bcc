/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Expressions over the values of a function, as --loss of an import has: what they build, and where they are refused.
 */
#include "harness.h"

typedef struct expression {
    gcut_env *env;
    const char *text;
    gcut_text printed;
} expression;

static const char function[] =
    "gcut 1\n"
    "func @f[N in 1..](param %w: f32[4, 10], input %x: f32[N, 4]) -> (out y: f32[N, 10]) {\n"
    "  %y = matmul(%x, %w)\n"
    "  return %y\n"
    "}\n";

static void build(void *arg)
{
    expression *e = arg;
    gcut_module *m = gcut_parse_module(e->env, e->env->arena, "f.gcut", function, sizeof function - 1);
    gcut_parse_expression(m->graphs.at[0], "the loss", e->text);
    e->printed.arena = e->env->arena;
    gcut_print_graph(m->graphs.at[0], &(gcut_print_options){.no_loc = true}, &e->printed);
}

static void what_they_build(void **state)
{
    (void)state;
    static const struct {
        const char *text, *first, *second;
    } cases[] = {
        {"cross_entropy(y, t: i64[N])", "input %t: i64[N])", "f32[] = cross_entropy(%y, %t)"},
        {"cross_entropy(y, t: i64[N] #range(0, 10), smooth=0.1)", "input %t: i64[N] #range(0, 10))",
         "cross_entropy(%y, %t, smooth=0.1)"},
        {"mul(sum(exp(y)), 0.5:f32)", "f32[N, 10] = exp(%y)", "f32[] = sum("},
        {"mean(sub(y, t: f32[N, 10]), axes=[0])", "f32[N, 10] = sub(%y, %t)", "f32[10] = mean("},
        {"y", "%y: f32[N, 10] = matmul(%x, %w)\n  return %y", "func @f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("%s", cases[i].text);
        expression e = {.env = gcut_env_new(NULL, NULL), .text = cases[i].text};
        must(e.env, build, &e);
        if (!strstr(e.printed.at, cases[i].first) || !strstr(e.printed.at, cases[i].second))
            fail_msg("expected '%s' and '%s' in\n%s", cases[i].first, cases[i].second, e.printed.at);
        gcut_env_free(e.env);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int col; /* of the error */
        const char *says;
    } cases[] = {
        {"", 1, "an op such as cross_entropy, or the name of a value"},
        {"cross_entropy(z, t: i64[N])", 15, "@f has no value %z"},
        {"cross_entropy(y, x: i64[N])", 18, "there is already a parameter %x"},
        {"cross_entropy(y, y: i64[N])", 18, "there is already a value %y"},
        {"cross_entropy(y, t: i64[M])", 25, "'M'"},
        {"cross_entropy(y, t: i64[N] #must_recompute)", 28, "stands after an op, not after a parameter"},
        {"cross_entropy(y, t: i64[N]", 27, "')'"},
        {"cross_entropy(y, t: i64[N]) y", 29, "the end of the expression"},
        {"crossentropy(y, t: i64[N])", 1, "cross_entropy"},
        {"rnn(r: f32[3, N, 2], h: f32[N, 5], wx: f32[5, 2], wh: f32[5, 5], bx: f32[5], bh: f32[5])", 1,
         "several results"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("%s", cases[i].text);
        expression e = {.env = gcut_env_new(NULL, NULL), .text = cases[i].text};
        const gcut_status s = gcut_protect(e.env, build, &e);
        const char *said = e.env->ndiags ? gcut_diag_text(e.env->arena, &e.env->diags[0]) : "";
        if ((s != GCUT_ESYNTAX && s != GCUT_ETYPE) || !strstr(said, cases[i].says) ||
            strncmp(said, "the loss:1:", 11) || e.env->diags[0].at.col != cases[i].col)
            fail_msg("expected '%s' at column %d, found status %d, '%s'", cases[i].says, cases[i].col, (int)s,
                     said);
        gcut_env_free(e.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_they_build),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
