/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * options.fix: a graph with a number for a symbol is the graph that a user would have written with the number, and
 * computes the same bits as the symbol at that size, in every model and loop; what the graph does not allow is
 * refused.
 */
#define _GNU_SOURCE
#include "nightly.h"
#include "runs.h"

/* Two runs of a step, with every symbol at its default size or at that of `at`. */
static void run_twice(run_case *c, gcut_options *o, outcome *out)
{
    gcut_step *s = gcut_compile(c->g, o);
    if (!CHECK(c, s, "not compiled")) return;
    for (int i = 0; i < 2; i++) CHECK(c, gcut_run(s) == GCUT_OK, "not run");
    if (!c->nwrong) collect(s, out);
    gcut_step_free(s);
}

static void same_results(const char *path, bool compiled)
{
    run_case c = {.what = strrchr(path, '/') + 1, .path = path, .ctx = gcut_ctx_new(NULL)};
    static outcome symbol, constant;
    gcut_size fix[8];
    size_t n = 0;
    c.g = gcut_load(c.ctx, path, NULL);
    gcut_stage_info *stage = c.g ? gcut_stage_look(c.g, NULL, GCUT_STAGE_PRIMAL) : NULL;
    if (!CHECK(&c, stage && stage->nat <= 8, "not read")) fail();
    for (; n < stage->nat; n++) fix[n] = stage->at[n];
    gcut_options o = TEST_OPTIONS;
    o.backend = compiled ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_EAGER;
    o.threads = 2;
    o.at = fix, o.nat = n;
    run_twice(&c, &o, &symbol);
    o.at = NULL, o.nat = 0;
    o.fix = fix, o.nfix = n;
    run_twice(&c, &o, &constant);
    same_bits(&c, "constant", 0, &constant, &symbol);
    char *text = gcut_show(c.g, &o, GCUT_STAGE_PRIMAL, false);
    char head[128];
    snprintf(head, sizeof head, "func @%s(", gcut_graph_name(c.g));
    CHECK(&c, text && strstr(text, head), "it declares symbols:\n%s", text);
    gcut_free(text);
    gcut_free(stage);
    forget(&symbol);
    forget(&constant);
    gcut_ctx_free(c.ctx);
    assert_int_equal(c.nwrong, 0);
}

static void same_bits_as_the_symbol(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool compiled;
        size_t turns; /* one case in `turns` is tried, all nightly */
    } sets[] = {{GCUT_SOURCE_DIR "/tests/loops/*.gcut", false, 1},
                {GCUT_SOURCE_DIR "/tests/loops/*.gcut", true, 5},
                {GCUT_SOURCE_DIR "/tests/models/*.gcut", true, 4}};
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        glob_t files;
        assert_int_equal(glob(sets[k].pattern, 0, NULL, &files), 0);
        assert_true(files.gl_pathc > 10);
        for (size_t i = 0; i < files.gl_pathc; i++)
            if (nightly() || i % sets[k].turns == 0) same_results(files.gl_pathv[i], sets[k].compiled);
        globfree(&files);
    }
}

/* Every N is the symbol. */
static const char *const texts[] = {
    "gcut 1\ndata @c: f32[3] = splat(0.5)\n"
    "func @f[N in 1.., M in 1..](param %w: f32[N, 3], param %c: f32[3], input %x: f32[M, N]) -> (out loss: "
    "f32[]) {\n"
    "  %p: f32[M, 3] = matmul(%x, %w)\n  %q: f32[M, 3] = broadcast(%c, shape=[M, 3], axes=[1])\n"
    "  %h: f32[M, 3] = add(%p, %q)\n  %k: f32[M, N, 2] = broadcast(%x, shape=[M, N, 2], axes=[0, 1])\n"
    "  %r: f32[2*M*N] = reshape(%k, shape=[2*M*N])\n  %a: f32[] = sum(%h)\n  %b: f32[] = sum(%r)\n"
    "  %loss: f32[] = add(%a, %b)\n  return %loss\n}\n",
    "gcut 1\nfunc @g[K in 1..](input %x: f32[K]) -> (out y: f32[K]) {\n  %y: f32[K] = tanh(%x)\n  return "
    "%y\n}\n"
    "func @f[N in 1.., M in 1..](param %w: f32[N], input %xs: f32[M, N]) -> (out loss: f32[]) {\n"
    "  %s: f32[N] = scan(%w, %xs, carries=1) body(%c: f32[N], %x: f32[N]) {\n    %m: f32[N] = mul(%c, %x)\n"
    "    yield %m\n  }\n  %t: f32[N] = call(@g, %s)\n  %loss: f32[] = sum(%t)\n  return %loss\n}\n",
};

static char *replaced(const char *text, const char *from, const char *to)
{
    char *out = calloc(2 * strlen(text) + 1, 1), *end = out;
    assert_non_null(out);
    for (size_t n = strlen(from); *text;) {
        const bool here = !strncmp(text, from, n);
        end = here ? stpcpy(end, to) : (*end = *text, end + 1);
        text += here ? n : 1;
    }
    return out;
}

/* What the parser makes of the text with numbers shares no code with the pass. */
static void as_if_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *head = replaced(texts[i], "N in 1.., ", ""), *written = replaced(head, "N", "7");
        const gcut_options o = {.fix = &(gcut_size){"N", 7}, .nfix = 1};
        for (gcut_stage_name stage = GCUT_STAGE_PRIMAL; stage <= GCUT_STAGE_KERNEL; stage++) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_graph *f = gcut_parse(ctx, texts[i], GCUT_TO_NUL, "text", NULL);
            gcut_graph *g = gcut_parse(ctx, written, GCUT_TO_NUL, "text", NULL);
            if (!f || !g) fail_msg("%s", gcut_last_error(ctx));
            char *a = gcut_show(f, &o, stage, false), *b = gcut_show(g, NULL, stage, false);
            if (!a || !b) fail_msg("%s", gcut_last_error(ctx));
            assert_string_equal(a, b);
            gcut_free(a);
            gcut_free(b);
            gcut_ctx_free(ctx);
        }
        free(head);
        free(written);
    }
}

static void refused(const char *text, const gcut_size *fix, size_t n, gcut_status status, const char *says)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "text", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    const gcut_options o = {.fix = fix, .nfix = n};
    assert_null(gcut_show(g, &o, GCUT_STAGE_PRIMAL, false));
    if (!strstr(gcut_last_error(ctx), says)) fail_msg("'%s' is not in: %s", says, gcut_last_error(ctx));
    assert_int_equal(gcut_last_status(ctx), status);
    gcut_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    static const char sum[] =
        "gcut 1\nfunc @f[N in 4..64 mult 4, M in 1..](param %x: f32[N], input %y: f32[M]) -> "
        "(out loss: f32[]) {\n  %z = add(%x, %y)\n  %loss = sum(%z)\n  return %loss\n}\n";
    static const char slice[] =
        "gcut 1\nfunc @f[N in 1.., M in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
        "  %s = slice(%x, start=[M], limit=[N])\n  %loss = sum(%s)\n  return %loss\n}\n";
    refused(sum, &(gcut_size){"K", 4}, 1, GCUT_EUSAGE, "no size called 'K'");
    refused(sum, &(gcut_size){"N", 2}, 1, GCUT_EDIM, "N=2 is no such size: @f declares N in 4..64");
    refused(sum, &(gcut_size){"N", 6}, 1, GCUT_EDIM, "a multiple of 4");
    refused(sum, (gcut_size[]){{"N", 8}, {"N", 12}}, 2, GCUT_EUSAGE, "given twice");
    refused(sum, (gcut_size[]){{"N", 8}, {"M", 4}}, 2, GCUT_ETYPE, "text:3:8: error: 'add'");
    refused(slice, (gcut_size[]){{"N", 8}, {"M", 9}}, 2, GCUT_ETYPE, "text:3:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_the_symbol),
        cmocka_unit_test(as_if_written),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
