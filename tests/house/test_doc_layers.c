/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * doc/layers.md: every message that it quotes is provoked here, its bytes are those of the comparison, and
 * every C listing is a part of a file of examples/layers, which the build compiles and a test runs.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"

static char *page;

/* NUL-terminated, to be freed. */
static char *read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", GCUT_SOURCE_DIR, name);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("no file %s", path);
    enum { MOST = 1 << 18 };
    char *text = calloc(1, MOST);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST - 1, f) < MOST - 1);
    fclose(f);
    return text;
}

static void in_page(const char *what)
{
    if (!strstr(page, what)) fail_msg("doc/layers.md does not say\n%s", what);
}

/* The last error, as it reads. */
static void refused(gcut_ctx *ctx, bool failed)
{
    assert_true(failed);
    assert_true(*gcut_last_error(ctx) != '\0');
    char text[1024];
    snprintf(text, sizeof text, "%s", gcut_last_error(ctx));
    text[strcspn(text, "\n")] = '\0'; /* without the line of the model and its caret */
    in_page(text);
    gcut_clear_errors(ctx);
}

#define LAYER                                                                                                \
    "gcut 1\n"                                                                                               \
    "func @layer[N in 1..](param %w: f32[3, 2], input %x: f32[N, 3] #transient) -> (out y: f32[N, 2]) {\n"   \
    "  %z = matmul(%x, %w)\n"                                                                                \
    "  %y = tanh(%z)\n"                                                                                      \
    "  return %y\n"                                                                                          \
    "}\n"

#define OTHER                                                                                                \
    "gcut 1\n"                                                                                               \
    "func @other[N in 1..](param %w: f32[3, 2], input %x: f32[N, 3] #transient) -> (out y: f32[N, 2]) {\n"   \
    "  %y = matmul(%x, %w)\n"                                                                                \
    "  return %y\n"                                                                                          \
    "}\n"

static void calls_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_parse(ctx, LAYER, GCUT_TO_NUL, "layer.gcut", NULL);
    assert_non_null(g);
    gcut_graph *h = gcut_parse(ctx, OTHER, GCUT_TO_NUL, "other.gcut", NULL);
    assert_non_null(h);
    float w[6] = {1, 2, 3, 4, 5, 6}, x[12] = {1}, dy[8] = {1};
    for (int backend = 0; backend < 4; backend++) {
        gcut_options o = {.apart = true, .backend = (gcut_backend)backend};
        gcut_step *s = gcut_compile(g, &o), *other = gcut_compile(h, &o);
        assert_true(s);
        assert_true(other);
        gcut_step *steps[] = {s, other};
        for (int i = 0; i < 2; i++) gcut_bind(steps[i], "w", w, 3, 2), gcut_bind(steps[i], "x", x, 2, 3);
        const size_t bytes = (size_t)gcut_saved_bytes(s);
        char *block = aligned_alloc(64, 4096);
        assert_true(block);
        assert_that(bytes, <=, 4096);
        memset(block, 0, 4096);
        gcut_bind_saved(s, block, 4096);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        refused(ctx, gcut_run_backward(s) != GCUT_OK); /* whose cotangent nobody gave */
        memset(block, 0, 4096);
        gcut_bind(s, "dy", dy, 2, 2), gcut_bind(other, "dy", dy, 2, 2);
        refused(ctx, gcut_run_backward(s) != GCUT_OK);
        gcut_bind_saved(s, block, 64);
        assert_int_equal(gcut_run_forward(s), GCUT_EUSAGE);
        if (backend == GCUT_BACKEND_COMPILED) refused(ctx, true); /* the interpreter saves more */
        refused(ctx, gcut_bind_saved(s, block + 4, 1024) != GCUT_OK);
        gcut_bind_saved(s, block, 4096);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_int_equal(gcut_run_backward(s), GCUT_OK);
        refused(ctx, gcut_run_backward(s) != GCUT_OK);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        gcut_bind(s, "x", x, 4, 3), gcut_bind(s, "dy", dy, 4, 2);
        refused(ctx, gcut_run_backward(s) != GCUT_OK);
        gcut_bind_saved(other, block, 4096);
        gcut_bind(other, "x", x, 2, 3);
        refused(ctx, gcut_run_backward(other) != GCUT_OK);
        gcut_step_free(s), gcut_step_free(other);
        o = (gcut_options){.backend = (gcut_backend)backend};
        s = gcut_compile(g, &o);
        assert_non_null(s);
        gcut_bind(s, "w", w, 3, 2), gcut_bind(s, "x", x, 2, 3);
        refused(ctx, gcut_bind_saved(s, block, 4096) != GCUT_OK);
        refused(ctx, gcut_run_backward(s) != GCUT_OK);
        gcut_step_free(s);
        free(block);
    }
    gcut_ctx_free(ctx);
}

static void models_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "gcut 1\nfunc @f[N](param %w: f32[N] #late) -> (out y: f32[N]) {\n  %y = exp(%w)\n  return %y\n}\n",
        "gcut 1\nfunc @f[N](param %w: f32[N] #transient) -> (out y: f32[N]) {\n  %y = exp(%w)\n  return "
        "%y\n}\n",
        "gcut 1\nfunc @f[N](param %w: f32[N], input %m: f32[N] #late) -> (out y: f32[N]) {\n"
        "  %y = mul(%w, %m)\n  return %y\n}\n"};
    gcut_ctx *ctx = new_ctx();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gcut_graph *g = gcut_parse(ctx, texts[i], GCUT_TO_NUL, "model.gcut", NULL);
        refused(ctx, !g || !gcut_plan_new(g, NULL));
    }
    gcut_graph *g = gcut_parse(ctx, LAYER, GCUT_TO_NUL, "layer.gcut", NULL);
    const char *twice[] = {"y", "y"}, *nobody[] = {"q"};
    refused(ctx, !gcut_plan_new(g, (&(gcut_options){.loss = "y"})));
    refused(ctx, !gcut_plan_new(g, (&(gcut_options){.cotan = twice, .ncotan = 2})));
    refused(ctx, !gcut_plan_new(g, (&(gcut_options){.cotan = nobody, .ncotan = 1})));
    gcut_ctx_free(ctx);
}

/* What the marks of cosine.gcut cost at 2^20 elements, in the rows of the page. */
static void marks_cost(void **state)
{
    (void)state;
    char *marked = read_file("examples/layers/cosine.gcut"), *plain = strdup(marked);
    assert_non_null(plain);
    for (char *at; (at = strstr(plain, " #transient"));) memmove(at, at + 11, strlen(at + 11) + 1);
    gcut_ctx *ctx = new_ctx();
    const char *texts[] = {marked, plain}, *names[] = {"`#transient`", "none"};
    static const char *const variants[] = {"save-all", "planned"};
    const char *wrt = "x";
    const gcut_size at[] = {{"A", 64}, {"B", 128}, {"C", 128}};
    gcut_options o = {.wrt = &wrt,
                      .nwrt = 1,
                      .lambda = 1,
                      .at = at,
                      .nat = 3,
                      .threads = 2,
                      .apart = true,
                      .machine = "shipped"};
    for (int i = 0; i < 2; i++) {
        gcut_graph *g = gcut_parse(ctx, texts[i], GCUT_TO_NUL, "cosine.gcut", NULL);
        assert_non_null(g);
        gcut_compare_options how = {.variant = variants, .nvariants = 2, .rounds = 1};
        gcut_comparison *c = gcut_compare(g, &o, &how);
        if (!c) fail_msg("%s", gcut_last_error(ctx));
        for (int k = 0; k < 2; k++) {
            const gcut_variant *v = c->variant[k];
            const int mib = 1 << 20;
            char row[256];
            snprintf(row, sizeof row, "| %s | %s | %d MiB | %d MiB | %d MiB | %d MiB |\n", names[i],
                     variants[k], (int)(v->saved_bytes / mib), (int)v->forward->bytes / mib,
                     (int)v->backward->bytes / mib, (int)(v->peak_measured / mib));
            assert_int_equal(v->peak_measured, v->peak_predicted);
            in_page(row);
        }
        gcut_free(c);
    }
    gcut_ctx_free(ctx);
    free(marked), free(plain);
}

/* The lines of `gradcut plan` on what each call takes. */
static void plan_is_quoted(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/layers/mlp.gcut", NULL);
    assert_non_null(g);
    const char *wrt = "*";
    const gcut_size at = {"N", 32};
    gcut_plan *p = gcut_plan_new(
        g,
        (&(gcut_options){
            .wrt = &wrt, .nwrt = 1, .at = &at, .nat = 1, .threads = 2, .apart = true, .machine = "shipped"}));
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    char *text = gcut_plan_text(p, NULL), *begin = strstr(text, "peak: "), *end = strstr(text, "step: ");
    assert_true(begin);
    assert_true(end > begin);
    assert_true(strstr(begin, "called apart: "));
    *end = '\0';
    in_page(begin);
    gcut_free(text);
    gcut_plan_free(p);
    gcut_ctx_free(ctx);
}

/* ```c FILE … ``` is a part of FILE. */
static void listings_are_files(void **state)
{
    (void)state;
    int n = 0;
    for (char *at = page; (at = strstr(at, "\n```c")); n++) {
        char name[128];
        if (sscanf(at, "\n```c %127s", name) != 1) fail_msg("a C listing without its file");
        char *begin = strchr(at + 1, '\n') + 1, *end = strstr(begin, "```"), *file = read_file(name);
        assert_non_null(end);
        char *listing = strndup(begin, (size_t)(end - begin));
        assert_non_null(listing);
        if (!strstr(file, listing)) fail_msg("%s has no such part:\n%s", name, listing);
        free(listing), free(file);
        at = end;
    }
    assert_int_equal(n, 4);
}

static int read_page(void **state)
{
    page = read_file("doc/layers.md");
    return make_folder(state);
}

static int free_page(void **state)
{
    free(page);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_refused),  cmocka_unit_test(models_are_refused),
        cmocka_unit_test(marks_cost),         cmocka_unit_test(plan_is_quoted),
        cmocka_unit_test(listings_are_files),
    };
    return cmocka_run_group_tests(tests, read_page, free_page);
}
