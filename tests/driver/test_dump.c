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
#include "gradcut/inspect.h"
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
    static const gcut_options variants[] = {{.optimizer = "adamw(lr=1e-3)", UNREFINED},
                                            {.apart = true, UNREFINED},
                                            {.unfused = true, UNREFINED},
                                            {.policy = "recompute-all"}};
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

/* ---- dumps fed back ---- */

enum { MOST_FILES = 80 };

typedef struct dumped {
    char *name[MOST_FILES], *text[MOST_FILES];
    size_t n;
} dumped;

/* Takes the files out of the folder, in the order of their names. */
static dumped take_folder(void)
{
    dumped d = {.n = 0};
    glob_t files;
    char pattern[300];
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_true(files.gl_pathc <= MOST_FILES);
    for (; d.n < files.gl_pathc; d.n++) {
        d.name[d.n] = strdup(strrchr(files.gl_pathv[d.n], '/') + 1);
        assert_non_null(d.name[d.n]);
        d.text[d.n] = slurp(files.gl_pathv[d.n]);
        unlink(files.gl_pathv[d.n]);
    }
    globfree(&files);
    return d;
}

static void free_dumped(dumped *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->name[i]);
        free(d->text[i]);
    }
}

/* The text of the last file with `part` in its name; NULL = there is none. */
static const char *last_of(const dumped *d, const char *part)
{
    const char *text = NULL;
    for (size_t i = 0; i < d->n; i++)
        if (strstr(d->name[i], part)) text = d->text[i];
    return text;
}

static dumped dump_step(const char *path, const gcut_options *options)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = *options;
    o.dump = folder;
    o.machine = "shipped";
    gcut_graph *g = gcut_load(ctx, path, NULL);
    char *text = g ? gcut_show(g, &o, GCUT_STAGE_KERNEL, true) : NULL;
    if (!text) fail_msg("%s: %s", path, gcut_last_error(ctx));
    gcut_free(text);
    gcut_ctx_free(ctx);
    return take_folder();
}

static const char *const stages[] = {".primal.", ".joint.", ".split.", ".kernel.", "step.c", "step.h"};
enum { NSTAGES = 6, PRIMAL = 0, JOINT = 1 };

/* The stage that the file is of; NSTAGES: of none that reads back. */
static size_t stage_of(const char *name)
{
    for (size_t k = 0; k < 4; k++)
        if (strstr(name, stages[k]) && strstr(name, ".gcut")) return k;
    return NSTAGES;
}

/* Does an update stand in file i: has it run through the pass that adds the optimizer? */
static bool has_updates(const dumped *d, size_t i)
{
    for (size_t k = 0; k <= i; k++)
        if (strstr(d->name[k], ".optimize.gcut")) return true;
    return false;
}

/* Compiles file i of the dump with those of the options that are still to be obeyed.  What is made from it, and
 * what later passes make of its own stage, is as before. */
static void feed_back(const char *model, const gcut_options *options, const dumped *d, size_t i)
{
    char copy[300];
    const size_t own = stage_of(d->name[i]);
    gcut_options left = own <= JOINT ? *options : (gcut_options){0};
    if (has_updates(d, i)) left.optimizer = NULL;
    left.forward_only = options->forward_only;
    snprintf(copy, sizeof copy, "%s.gcut", folder);
    FILE *f = fopen(copy, "w");
    assert_non_null(f);
    fputs(d->text[i], f);
    assert_int_equal(fclose(f), 0);
    dumped again = dump_step(copy, &left);
    for (size_t k = own; k < NSTAGES; k++) {
        const char *want = last_of(d, stages[k]), *got = last_of(&again, stages[k]);
        if (!want && !got) continue; /* a pair has no joint stage */
        if (k == own && (!got || (own == PRIMAL && strstr(d->name[i], ".clone.")))) continue;
        if (!want || !got || strcmp(got, want) != 0)
            fail_msg("%s, %s: other %s", model, d->name[i], stages[k]);
    }
    if (own <= JOINT && last_of(d, "plan.json"))
        assert_string_equal(last_of(&again, "plan.json"), last_of(d, "plan.json"));
    free_dumped(&again);
    unlink(copy);
}

/* Every file of the first model and in nightly runs; of the others one of eight.  Models of loops, whose bodies have
 * names in common, with an optimizer, of which the text says how its states begin, and under budgets. */
static void dumps_fed_back(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        gcut_options options;
    } cases[] = {{"models/mlp", {0}},
                 {"corpus/mlp_bf16", {0}},
                 {"models/vae", {0}},
                 {"models/lenet", {0}},
                 {"models/gpt2", {0}},
                 {"models/mobilenet", {0}},
                 {"models/unet", {0}},
                 {"models/lstm", {.policy = "recompute-all"}},
                 {"models/rnn", {.optimizer = "adamw(lr=0.123456789)"}},
                 {"corpus/loops", {.optimizer = "momentum(lr=0.5)"}},
                 {"corpus/custom", {0}},
                 {"corpus/custom", {.budget = GCUT_BUDGET_MIN}},
                 {"corpus/lstm", {.budget = GCUT_BUDGET_MIN, .optimizer = "sgd(lr=1)"}},
                 {"corpus/transformer_bf16", {.save_dtype = "bf16"}},
                 {"driver/softmax_loop_bf16", {0}},
                 {"corpus/softmax_regression", {.forward_only = true}},
                 {"corpus/loops", {.forward_only = true}}};
    for (size_t m = 0; m < sizeof cases / sizeof *cases; m++) {
        char path[300];
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/%s.gcut", cases[m].model);
        dumped d = dump_step(path, &cases[m].options);
        for (size_t i = 0; i < d.n; i++)
            if (stage_of(d.name[i]) < NSTAGES && (m == 0 ? in_turn(i, 3) : nightly() || (i + m) % 8 == 0))
                feed_back(cases[m].model, &cases[m].options, &d, i);
        free_dumped(&d);
    }
}

/* Of a pair, too, also where a pass changes its backward graph alone: elu is expanded there. */
static void dumps_of_pairs(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\n"
        "func @f[N](param %w: f32[N], input %x: f32[N]) -> (out y: f32[], saved a: f32[N]) #fwd {\n"
        "  %a = mul(%w, %x)\n  %y = sum(%a)\n  return %y, %a\n}\n"
        "func @b[N](saved %a: f32[N], input %x: f32[N], cotan %dy: f32[]) -> (grad w: f32[N]) #bwd {\n"
        "  %g = broadcast(%dy, shape=[N], axes=[])\n  %e = elu(%a)\n  %h = mul(%g, %e)\n"
        "  %d = mul(%h, %x)\n  return %d\n}\n"
        "pair @s = (@f, @b)\n";
    char path[300];
    snprintf(path, sizeof path, "%s.pair.gcut", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    dumped d = dump_step(path, &(gcut_options){0});
    assert_non_null(last_of(&d, ".kernel.expand.gcut"));
    assert_non_null(strstr(last_of(&d, "changes.txt"), "~ %e "));
    assert_non_null(strstr(last_of(&d, ".primal.clone.gcut"), "func @f["));
    for (size_t i = 0; i < d.n; i++)
        if (stage_of(d.name[i]) < NSTAGES) feed_back("a pair", &(gcut_options){0}, &d, i);
    free_dumped(&d);
    unlink(path);
}

static gcut_memory_profile *memory_of(gcut_ctx *ctx, const char *path, const gcut_options *o)
{
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_memory_profile *m = g ? gcut_memory_new(g, o, NULL) : NULL;
    if (!m) fail_msg("%s: %s", path, gcut_last_error(ctx));
    return m;
}

/* A dump of the kernel stage has no plan, and holds the bytes of the step that was dumped, class by class. */
static void memory_of_pairs(void **state)
{
    (void)state;
    static const char *const models[] = {"models/mlp", "models/gpt2", "corpus/lstm"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[300], copy[300];
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        const gcut_options o = {.budget = GCUT_BUDGET_MIN, .machine = "shipped"};
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/%s.gcut", models[i]);
        snprintf(copy, sizeof copy, "%s.gcut", folder);
        dumped d = dump_step(path, &o);
        FILE *f = fopen(copy, "w");
        assert_non_null(f);
        fputs(last_of(&d, ".lower.gcut"), f);
        assert_int_equal(fclose(f), 0);
        gcut_memory_profile *plan = memory_of(ctx, path, &o),
                            *pair = memory_of(ctx, copy, &(gcut_options){.machine = "shipped"});
        TRY("%s", models[i]);
        assert_string_equal(pair->policy, "as the pair has it");
        assert_int_equal(pair->peak_bytes, plan->peak_bytes);
        assert_int_equal(pair->peak, plan->peak);
        assert_int_equal(pair->nevents, plan->nevents);
        assert_int_equal(pair->nbuffers, plan->nbuffers);
        for (size_t e = 0; e < plan->nevents; e++) {
            const size_t size = sizeof plan->event[e]->live;
            if (memcmp(pair->event[e]->live, plan->event[e]->live, size) != 0)
                fail_msg("event %zu differs", e);
        }
        gcut_free(plan);
        gcut_free(pair);
        unlink(copy);
        free_dumped(&d);
        gcut_ctx_free(ctx);
    }
}

/* What a pair is not: planned again, differentiated again, of a pass that does not exist. */
static void pairs_refuse(void **state)
{
    (void)state;
    static const char *const by[] = {"w"};
    static const gcut_size fix[] = {{"N", 4}};
    static const struct {
        gcut_options options;
        const char *says;
    } cases[] = {{{.budget = 1000}, "it takes no option budget"},
                 {{.policy = "save-all"}, "it takes no option policy"},
                 {{.lambda = 3}, "it takes no option lambda"},
                 {{.keep_grads = true}, "it takes no option keep-grads"},
                 {{.optimizer = "sgd(lr=1)"}, "it takes no option optimizer"},
                 {{.wrt = by, .nwrt = 1}, "it takes no option wrt"},
                 {{.save = by, .nsave = 1}, "it takes no option save"},
                 {{.fix = fix, .nfix = 1}, "it takes no option fix"}};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/split.gcut", "@scale.step");
    assert_non_null(g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcut_free(gcut_show(g, &cases[i].options, GCUT_STAGE_KERNEL, true));
        TRY("%s", gcut_last_error(ctx));
        assert_non_null(strstr(gcut_last_error(ctx), cases[i].says));
        gcut_clear_errors(ctx);
    }
    assert_null(gcut_plan_new(g, NULL));
    assert_non_null(strstr(gcut_last_error(ctx), "the pair @scale.step is compiled as it stands, without a "
                                                 "plan: there is no plan to show or to change"));
    gcut_clear_errors(ctx);
    static const char unknown[] =
        "gcut 1\nfunc @f(param %w: f32[]) -> (out y: f32[], saved a: f32[]) #fwd {\n"
        "  %a = exp(%w)\n  return %a, %a\n}\n"
        "func @b(saved %a: f32[], cotan %dy: f32[]) -> (grad w: f32[]) #bwd {\n"
        "  %d = mul(%dy, %a)\n  return %d\n}\n"
        "pair @s = (@f, @b) #pass(\"polish\")\n";
    g = gcut_parse(ctx, unknown, GCUT_TO_NUL, "p.gcut", NULL);
    assert_non_null(g);
    assert_null(gcut_show(g, NULL, GCUT_STAGE_KERNEL, true));
    assert_non_null(strstr(gcut_last_error(ctx), "#pass(\"polish\"), which is no pass of the kernel stage"));
    gcut_ctx_free(ctx);
}

/* The passes that kernels need run again, whatever the pair says: one was edited, and has a composite op. */
static void edited_pairs_run(void **state)
{
    (void)state;
    static const char *const types[] = {"f32", "bf16"};
    for (int i = 0; i < 2; i++) {
        char text[900];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(param %%w: %s[4]) -> (out y: %s[], saved a: %s[4]) #fwd {\n"
                 "  %%a = gelu(%%w)\n  %%y = sum(%%a)\n  return %%y, %%a\n}\n"
                 "func @b(saved %%a: %s[4], cotan %%dy: %s[]) -> (grad w: %s[4]) #bwd {\n"
                 "  %%g = broadcast(%%dy, shape=[4], axes=[])\n  %%e = elu(%%a)\n  %%d = mul(%%g, %%e)\n"
                 "  return %%d\n}\npair @s = (@f, @b) #pass(\"lower\")\n",
                 types[i], types[i], types[i], types[i], types[i], types[i]);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "p.gcut", NULL);
        gcut_check_report *r =
            g ? gcut_crosscheck(g, &(gcut_options){.machine = "shipped"}, NULL, 0, 0) : NULL;
        if (!r || !r->ok) fail_msg("%s: %s%s", types[i], r ? r->text : "", gcut_last_error(ctx));
        gcut_free(r);
        gcut_ctx_free(ctx);
    }
}

/* A pair that was written by hand runs: every backend gives what its joint graph gives. */
static void pairs_run(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/split.gcut", NULL);
    assert_non_null(g);
    gcut_options o = {.machine = "shipped"};
    gcut_check_report *r = gcut_crosscheck(g, &o, NULL, 0, 0);
    if (!r || !r->ok) fail_msg("%s%s", r ? r->text : "", gcut_last_error(ctx));
    gcut_free(r);
    /* Its backward graph alone, whatever its gradients are called. */
    gcut_options alone = {.machine = "shipped", .forward_only = true};
    r = gcut_crosscheck(g, &alone, NULL, 0, 0);
    if (!r || !r->ok) fail_msg("%s%s", r ? r->text : "", gcut_last_error(ctx));
    gcut_free(r);
    /* d(w x)^2/dw = 2 w x^2, and the pair makes w - 0.01 dw of it */
    float w[4] = {1, 2, 3, 4}, x[4] = {1, -1, 2, 0.5f}, dw[4], loss;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(gcut_bind(s, "w", w, 4), GCUT_OK);
    assert_int_equal(gcut_bind(s, "x", x, 4), GCUT_OK);
    assert_int_equal(gcut_bind(s, "grad.w", dw, 4), GCUT_OK);
    assert_int_equal(gcut_bind(s, "loss", &loss), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_OK);
    assert_float_equal(loss, 1 + 4 + 36 + 4, 1e-5);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(dw[i], 2 * (float)(i + 1) * x[i] * x[i], 1e-5);
        assert_float_equal(w[i], (float)(i + 1) - 0.01f * dw[i], 1e-5);
    }
    gcut_ctx_free(ctx);
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
         .want = "  - %p while\n  - %q while\n"},
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
        cmocka_unit_test(dumps_of_pairs),
        cmocka_unit_test(memory_of_pairs),
        cmocka_unit_test(pairs_refuse),
        cmocka_unit_test(pairs_run),
        cmocka_unit_test(edited_pairs_run),
        cmocka_unit_test(every_file_reads_back),
        cmocka_unit_test(budgets_dump_one_plan),
        cmocka_unit_test(failures_leave_what_was_made),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
