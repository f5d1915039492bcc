/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps without optional passes.  Oracle: the interpreter in f64 on the graph that all passes made.
 */
#define _GNU_SOURCE
#include "nightly.h"
#include "runs.h"

#include <glob.h>

enum { MOST = 32 };
static char words[] = GCUT_OPTIONAL_PASSES;
static const char *optional[MOST];
static size_t noptional;

static int cut_words(void **state)
{
    (void)state;
    for (char *w = strtok(words, ", "); w && noptional < MOST; w = strtok(NULL, ", "))
        optional[noptional++] = w;
    return noptional > 0 && noptional < MOST ? 0 : -1;
}

/* Two steps, of which the second goes on from what the first wrote. */
static bool run_two(run_case *c, gcut_options o, gcut_backend backend, bool exact, outcome *out)
{
    o.backend = backend;
    o.f64 = exact;
    gcut_step *s = gcut_compile(c->g, &o);
    bool ok = CHECK(c, s, "without %s: %s", o.nwithout ? o.without[0] : "nothing", gcut_last_error(c->ctx));
    for (int k = 0; ok && k < 2; k++)
        ok = CHECK(c, gcut_run(s) == GCUT_OK, "without %s: %s", o.nwithout ? o.without[0] : "nothing",
                   gcut_last_error(c->ctx));
    if (ok) collect(s, out);
    gcut_step_free(s);
    return ok;
}

/* The C of a step, to be freed. */
static char *emitted_c(run_case *c, const gcut_options *o)
{
    static char folder[] = "/tmp/gradcut-without-XXXXXX";
    static bool made;
    if (!made) assert_non_null(mkdtemp(folder));
    made = true;
    char base[64], path[80];
    snprintf(base, sizeof base, "%s/step", folder);
    if (!CHECK(c, gcut_emit_files(c->g, o, base, false) == GCUT_OK, "%s", gcut_last_error(c->ctx)))
        return NULL;
    char *text = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s.c", base);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(getdelim(&text, &n, 0, f) > 0);
    fclose(f);
    unlink(path);
    snprintf(path, sizeof path, "%s.h", base);
    unlink(path);
    rmdir(folder);
    made = false;
    snprintf(folder + strlen(folder) - 6, 7, "XXXXXX");
    return text;
}

/* Does leaving passes out change the C?  If not, the compiled step is the one of other tests. */
static bool changes_c(run_case *c, const gcut_options *plain, const gcut_options *without)
{
    char *x = emitted_c(c, plain), *y = emitted_c(c, without);
    bool other = !x || !y || strcmp(x, y) != 0;
    free(x);
    free(y);
    return other;
}

/* Every backend without those passes, `n` of them.  The search by flips is always left out: it takes most of the time. */
static void try_without(run_case *c, const gcut_options *plain, const char *const *without, size_t n,
                        const outcome *stated, const outcome *want)
{
    static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                            GCUT_BACKEND_COMPILED};
    static outcome got;
    gcut_options o = *plain;
    o.without = without;
    o.nwithout = n;
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++) {
        if (backends[b] == GCUT_BACKEND_COMPILED && !changes_c(c, plain, &o)) continue;
        char label[64];
        snprintf(label, sizeof label, "backend %d without %s%s", (int)backends[b], without[0],
                 n > 2 ? " and all others" : "");
        if (run_two(c, o, backends[b], false, &got)) compare(c, label, 2, &got, stated, want);
        forget(&got);
    }
}

static int try_file(const char *path)
{
    static outcome want, stated;
    run_case c = {.what = strrchr(path, '/') + 1, .path = path, .ctx = gcut_ctx_new(NULL)};
    gcut_options o = UNREFINED_OPTIONS;
    o.threads = 2;
    c.g = gcut_load(c.ctx, c.path, NULL);
    if (CHECK(&c, c.g, "not read")) {
        c.half = unit_of(gcut_show(c.g, NULL, GCUT_STAGE_PRIMAL, false));
        if (run_two(&c, o, GCUT_BACKEND_EAGER, true, &want) &&
            run_two(&c, o, GCUT_BACKEND_EAGER, false, &stated)) {
            /* Half of the passes for a model, the other half for another. */
            for (size_t k = 0; k < noptional; k++)
                if (in_turn(k + strlen(path), 6) && (nightly() || (k + strlen(path)) % 2 == 0))
                    try_without(&c, &o, (const char *const[]){optional[k], "refine"}, 2, &stated, &want);
            try_without(&c, &o, optional, noptional, &stated, &want);
        }
    }
    forget(&want);
    forget(&stated);
    gcut_ctx_free(c.ctx);
    return c.nwrong;
}

static void corpus_agrees(void **state)
{
    (void)state;
    glob_t files;
    int bad = 0;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", 0, NULL, &files), 0);
    compile_quickly(true);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (strstr(files.gl_pathv[i], "/split.gcut")) continue; /* a pair, not a function */
        bad += try_file(files.gl_pathv[i]) != 0;
    }
    globfree(&files);
    assert_int_equal(bad, 0);
}

/* A pass that is left out did not run: what it would have changed is there. */
static void passes_are_left_out(void **state)
{
    (void)state;
    static const char text[] = "gcut 1\nfunc @f(param %w: f32[4]) -> (out loss: f32[]) {\n"
                               "  %a = exp(%w)\n  %b = exp(%w)\n  %unread = sin(%w)\n  %s = add(%a, %b)\n"
                               "  %loss = sum(%s)\n  return %loss\n}\n";
    static const struct {
        const char *pass, *shows;
    } cases[] = {{"cse", "%b: f32[4] = exp"}, {"dce", "%unread: f32[4] = sin"}};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "f", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcut_options o = {.without = &cases[i].pass, .nwithout = 1};
        char *with = gcut_show(g, NULL, GCUT_STAGE_JOINT, false);
        char *without = gcut_show(g, &o, GCUT_STAGE_JOINT, false);
        if (strstr(with, cases[i].shows)) fail_msg("%s: %s", cases[i].shows, with);
        if (!strstr(without, cases[i].shows))
            fail_msg("no %s without %s: %s", cases[i].shows, cases[i].pass, without);
        gcut_free(with);
        gcut_free(without);
    }
    gcut_ctx_free(ctx);
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pass, *says;
    } cases[] = {{"joint", "the pass 'joint' cannot be left out"},
                 {"lower", "the pass 'lower' cannot be left out"},
                 {"inlin", "there is no pass 'inlin' to leave out"},
                 {"", "there is no pass '' to leave out"}};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcut_options o = {.without = &cases[i].pass, .nwithout = 1};
        assert_null(gcut_compile(g, &o));
        assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
        const char *e = gcut_last_error(ctx);
        if (!strstr(e, cases[i].says)) fail_msg("%s: %s", cases[i].pass, e);
        for (size_t k = 0; k < noptional; k++)
            if (!strstr(e, optional[k])) fail_msg("%s is not listed: %s", optional[k], e);
    }
    gcut_options o = {.nwithout = 1};
    assert_null(gcut_compile(g, &o));
    assert_int_equal(gcut_last_status(ctx), GCUT_EUSAGE);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_left_out),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(corpus_agrees),
    };
    return cmocka_run_group_tests(tests, cut_words, NULL);
}
