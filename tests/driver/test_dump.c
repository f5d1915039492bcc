/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --dump: every graph that a pass made reads back and verifies, and the index names every file.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "nightly.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/dump/changes.h"
#include "gradcut/gradcut.h"
#include "public.h"

static char folder[] = "/tmp/gradcut-dump-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static char *slurp(const char *path)
{
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s is not there", path);
    assert_true(getdelim(&text, &room, 0, f) > 0);
    fclose(f);
    return text;
}

/* Reads a dumped file with each of its functions, as `gradcut check` does. */
static int check_file(const char *model, const char *path)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, path, NULL), *each;
    int bad = g == NULL;
    for (size_t i = 0; g && (each = gcut_graph_sibling(g, i)); i++) {
        char *text = gcut_describe(each);
        bad += text == NULL;
        gcut_free(text);
    }
    if (bad) print_error("%s, %s: %s\n", model, strrchr(path, '/') + 1, gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    return bad != 0;
}

/* The files of the folder, which goes; each is in the index once.  How many have graphs. */
static int check_folder(const char *model, int *bad)
{
    char path[400], line[300];
    int graphs = 0;
    snprintf(path, sizeof path, "%s/index.txt", folder);
    char *index = slurp(path);
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(line, sizeof line, "%s ", e->d_name);
        if (strcmp(e->d_name, "index.txt") != 0 && !strstr(index, line))
            fail_msg("%s is not in the index", line);
        if (strstr(e->d_name, ".gcut")) *bad += check_file(model, path), graphs++;
        if (strstr(e->d_name, ".lower.gcut")) {
            char *text = slurp(path);
            if (!strstr(text, "#kernel(k")) fail_msg("%s: %s names no kernel", model, e->d_name);
            free(text);
        }
        unlink(path);
    }
    closedir(d);
    free(index);
    return graphs;
}

static int dump(const char *path, const gcut_options *o, bool forward)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    int bad = 0;
    if (!g) fail_msg("%s: %s", path, gcut_last_error(ctx));
    gcut_options own = *o;
    own.dump = folder;
    if (forward) {
        char *text;
        own.forward_only = true;
        text = gcut_show(g, &own, GCUT_STAGE_KERNEL, true);
        if (!text) fail_msg("%s: %s", path, gcut_last_error(ctx));
        gcut_free(text);
    } else {
        gcut_plan *plan = gcut_plan_new(g, &own);
        if (!plan) fail_msg("%s: %s", path, gcut_last_error(ctx));
        gcut_plan_free(plan);
    }
    int n = check_folder(strrchr(path, '/') + 1, &bad);
    if (n < (forward ? 7 : 14)) fail_msg("%s: %d graphs", path, n);
    gcut_ctx_free(ctx);
    return bad;
}

static void every_file_reads_back(void **state)
{
    (void)state;
    static const gcut_options variants[] = {
        {.optimizer = "adamw(lr=1e-3)"}, {.apart = true}, {.unfused = true}, {.policy = "recompute-all"}};
    glob_t files;
    int bad = 0;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        if (strstr(path, "/split.gcut")) continue; /* a pair, not a function */
        if (!in_turn(i, 3)) continue;
        bad += dump(path, &(gcut_options){0}, false);
        bad += dump(path, &variants[i % 4], false);
        bad += dump(path, &(gcut_options){0}, true);
    }
    globfree(&files);
    assert_int_equal(bad, 0);
}

/* Under a budget too: candidates leave no file. */
static void budgets_dump_one_plan(void **state)
{
    (void)state;
    gcut_options o = {.budget = 600000};
    assert_int_equal(dump(GCUT_SOURCE_DIR "/examples/mlp.gcut", &o, false), 0);
}

/* What was made before a failure is there, in an index. */
static void failures_leave_what_was_made(void **state)
{
    (void)state;
    int bad = 0;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    gcut_options o = {.dump = folder, .loss = "nothing"};
    assert_null(gcut_plan_new(g, &o));
    int n = check_folder("mlp.gcut", &bad);
    assert_true(n >= 2);
    assert_int_equal(bad, 0);
    gcut_ctx_free(ctx);
}

/* The file of the folder that the pattern names, the last one. */
static char *last_file(const char *pattern, char *path, size_t room)
{
    glob_t files;
    snprintf(path, room, "%s/%s", folder, pattern);
    assert_int_equal(glob(path, 0, NULL, &files), 0);
    snprintf(path, room, "%s", files.gl_pathv[files.gl_pathc - 1]);
    globfree(&files);
    return slurp(path);
}

static void plan_into_folder(gcut_ctx *ctx, const char *path)
{
    gcut_options o = {.dump = folder, .machine = "shipped"};
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_plan *plan = g ? gcut_plan_new(g, &o) : NULL;
    if (!plan) fail_msg("%s: %s", path, gcut_last_error(ctx));
    gcut_plan_free(plan);
    gcut_graph_free(g);
}

/* A file of the primal or the joint stage, planned as a model, gives the same C. */
static void dumps_fed_back(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "lenet", "gpt2", "lstm"}, *const stages[] = {
                                                                              "*.primal.*.gcut",
                                                                              "*.joint.*.gcut"};
    char path[300], copy[300], model[300];
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 2; k++) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            int bad = 0;
            TRY("%s, %s", models[i], stages[k]);
            snprintf(model, sizeof model, GCUT_SOURCE_DIR "/tests/models/%s.gcut", models[i]);
            plan_into_folder(ctx, model);
            char *text = last_file(stages[k], path, sizeof path),
                 *want = last_file("step.c", path, sizeof path);
            check_folder(models[i], &bad);
            snprintf(copy, sizeof copy, "%s.gcut", folder);
            FILE *f = fopen(copy, "w");
            assert_non_null(f);
            fputs(text, f);
            assert_int_equal(fclose(f), 0);
            plan_into_folder(ctx, copy);
            char *got = last_file("step.c", path, sizeof path);
            assert_string_equal(got, want);
            check_folder(models[i], &bad);
            unlink(copy);
            free(text);
            free(want);
            free(got);
            gcut_ctx_free(ctx);
        }
}

typedef struct comparing {
    gcut_env *env;
    const char *before, *after, *want;
} comparing;

static void compare(void *arg)
{
    const comparing *j = arg;
    gcut_text t = {.arena = j->env->arena};
    gcut_write_changes(j->before, j->after, &t);
    assert_string_equal(t.at, j->want);
}

/* A value that is gone, new, of other operands, in both graphs of a pair, only located elsewhere; repeated ones. */
static void changes(void **state)
{
    (void)state;
    static const comparing cases[] = {
        {.before = "func @f(param %w: f32[]) -> (out y: f32[]) {\n  %a: f32[] = exp(%w) !1\n  %b: f32[] = "
                   "neg(%a)\n  return %b\n}\n",
         .after =
             "func @f(param %w: f32[]) -> (out y: f32[]) {\n  %a: f32[] = exp(%w) !2\n  %b: f32[] = sin(%a)\n"
             "  %c: f32[] = neg(%b)\n  return %c\n}\n",
         .want = "  + %c neg\n  ~ %b sin\n"},
        {.before = "  %x0.h: f32[] = exp(%w)\n  %x1.h: f32[] = exp(%w)\n  %x2.h: f32[] = exp(%w)\n  %k: "
                   "f32[] = neg(%w)\n",
         .after = "  %k: f32[] = neg(%w)\n",
         .want = "  - 3 x %x*.h exp\n"},
        {.before = "  %a: f32[] = exp(%w)\n",
         .after = "  %a: f32[] = exp(%w)\n  %a: f32[] = exp(%w)\n",
         .want = "  + %a exp\n"},
        {.before = "  %p: f32[], %q: f32[] = while(%w, %v) cond(%c: f32[]) {\n",
         .after = "",
         .want = "  - %p while\n"},
        {.before = "gcut 1\n", .after = "gcut 1\n", .want = "  no value\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        comparing one = cases[i];
        one.env = gcut_env_new(NULL, NULL);
        TRY("case %zu", i);
        must(one.env, compare, &one);
        gcut_env_free(one.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes),
        cmocka_unit_test(dumps_fed_back),
        cmocka_unit_test(every_file_reads_back),
        cmocka_unit_test(budgets_dump_one_plan),
        cmocka_unit_test(failures_leave_what_was_made),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
