/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * crosscheck --passes: silent where every pass keeps the results, and where one does not, it names that one.
 * The fault is put into one row of a copy of the table of passes at a time.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <glob.h>

#include "driver/api/crosscheck_passes.h"
#include "public.h"

static void models_keep_their_results(void **state)
{
    (void)state;
    static const char *const folders[] = {"corpus", "models", "regress"};
    static const gcut_options variants[] = {{.optimizer = "adamw(lr=1e-3)", .keep_grads = true, UNREFINED},
                                            {.apart = true},
                                            {.policy = "recompute-all"}};
    int bad = 0, n = 0;
    for (size_t f = 0; f < 3; f++) {
        char pattern[400];
        glob_t files;
        snprintf(pattern, sizeof pattern, "%s/tests/%s/*.gcut", GCUT_SOURCE_DIR, folders[f]);
        assert_int_equal(glob(pattern, 0, NULL, &files), 0);
        for (size_t i = 0; i < files.gl_pathc; i++) {
            const char *path = files.gl_pathv[i], *name = strrchr(path, '/') + 1;
            if (!strcmp(name, "split.gcut")) continue; /* a pair, not a function */
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_graph *g = gcut_load(ctx, path, NULL);
            gcut_options o = variants[n++ % 3];
            if (!strcmp(folders[f], "regress")) o = (gcut_options){.forward_only = true};
            gcut_check_report *r = g ? gcut_check_passes(g, &o, NULL, 0, 0) : NULL;
            if (!r || !r->ok) {
                print_error("%s: %s\n", name, r ? r->text : gcut_last_error(ctx));
                bad++;
            }
            gcut_free(r);
            gcut_ctx_free(ctx);
        }
        globfree(&files);
    }
    assert_true(n > 40);
    assert_int_equal(bad, 0);
}

/* ---- a fault in one row ---- */

static const char text[] = "gcut 1\n"
                           "func @f(param %w: f32[3], input %x: f32[3]) -> (out loss: f32[]) {\n"
                           "  %a = tanh(%w)\n"
                           "  %b = mul(%a, %x)\n"
                           "  %c = exp(%b)\n"
                           "  %loss = sum(%c)\n"
                           "  return %loss\n"
                           "}\n";

/* By row of the table under test: the pass that it has in truth. */
static const gcut_pass_row *true_row;

/* The true pass, then %c = sin(%b) where it was exp(%b). */
static gcut_graph *broken(gcut_graph *g, const char *name)
{
    gcut_graph *out = true_row->each(g, name);
    gcut_ref v = gcut_graph_find(out, "c");
    if (v && gcut_def(out, v)) out->nodes.at[out->values.at[v].def].op = GCUT_OP_sin;
    return out;
}

/* The true pass, and a result less. */
static gcut_graph *forgetful(gcut_graph *g, const char *name)
{
    gcut_graph *out = true_row->each(g, name);
    for (uint32_t i = 0; i < out->results.n; i++)
        if (out->results.at[i].role == GCUT_ROLE_grad) out->results.n = i;
    return out;
}

typedef struct fault {
    gcut_pass_table table;
    gcut_trial trial;
} fault;

static fault *under_test;

static void body(gcut_trial *t)
{
    gcut_crosscheck_passes(t, &under_test->table);
}

/* The report on @f by the table in which row i has that function. */
static gcut_check_report *report_of(gcut_ctx *ctx, uint32_t i,
                                    gcut_graph *(*wrong)(gcut_graph *, const char *))
{
    gcut_pass_row *rows = calloc(gcut_passes.n, sizeof *rows);
    assert_non_null(rows);
    memcpy(rows, gcut_passes.row, gcut_passes.n * sizeof *rows);
    true_row = &gcut_passes.row[i];
    rows[i].each = wrong;
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    fault f = {.table = {rows, gcut_passes.n}, .trial = {.g = g, .size = sizeof(gcut_options)}};
    under_test = &f;
    gcut_check_report *r = gcut_trial_report("gcut_check_passes", &f.trial, body);
    if (!r) fail_msg("%s: %s", true_row->name, gcut_last_error(ctx));
    free(rows);
    return r;
}

/* The condition of passes that run on primal graphs. */
static bool (*when_primal(void))(const gcut_pipeline *, const gcut_graph *)
{
    uint32_t i = 0;
    while (strcmp(gcut_passes.row[i].name, "fold") != 0) i++;
    return gcut_passes.row[i].when;
}

static void faults_are_found(void **state)
{
    (void)state;
    int n = 0;
    for (uint32_t i = 0; i < gcut_passes.n; i++) {
        const gcut_pass_row *row = &gcut_passes.row[i];
        /* Of @f, which has neither calls nor loops, these run. */
        const bool runs = row->when == gcut_passes_always || row->when == when_primal();
        if (!row->each || !runs || !strcmp(row->name, "head")) continue;
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_check_report *r = report_of(ctx, i, broken);
        char expected[200];
        snprintf(expected, sizeof expected, "%s, of the stage %s, changes %%c = sin at f.gcut:5: element ",
                 row->name, gcut_passes_stage(row->makes));
        if (r->ok || !r->culprit) fail_msg("row %u, %s: not found\n%s", i, row->name, r->text);
        if (!strstr(r->culprit, expected)) fail_msg("row %u, expected '%s': %s", i, expected, r->culprit);
        double before, behind;
        assert_int_equal(sscanf(strstr(r->culprit, ": element"), ": element %*d is %lf before it and %lf",
                                &before, &behind),
                         2);
        if (fabs(sin(log(before)) - behind) > 1e-12)
            fail_msg("%s: %.17g is not the sine of the logarithm of %.17g", row->name, behind, before);
        assert_true(r->max_rel_error > 1e-3);
        assert_non_null(strstr(r->text, "DIFFERS"));
        assert_non_null(strstr(r->json, "\"ok\": false"));
        gcut_free(r);
        gcut_ctx_free(ctx);
        n++;
    }
    assert_true(n >= 9);
}

static void lost_results_are_found(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < gcut_passes.n; i++) {
        const gcut_pass_row *row = &gcut_passes.row[i];
        if (strcmp(row->name, "cse") != 0 || row->makes != GCUT_MAKES_JOINT ||
            row->when != gcut_passes_always)
            continue;
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_check_report *r = report_of(ctx, i, forgetful);
        assert_false(r->ok);
        if (!strstr(r->culprit, "cse, of the stage joint, changes the result grad w"))
            fail_msg("%s", r->culprit);
        gcut_free(r);
        gcut_ctx_free(ctx);
        return;
    }
    fail_msg("there is no such row");
}

/* Arguments that make no sense are refused. */
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f.gcut", NULL);
    assert_null(gcut_check_passes(g, NULL, NULL, 0, -1));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    assert_null(gcut_check_passes(NULL, NULL, NULL, 0, 0));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(lost_results_are_found),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(models_keep_their_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
