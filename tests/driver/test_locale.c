/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A host program in a locale with a decimal comma: the same results, texts, files and C as in "C", and hooks
 * and the allocator see the host's locale.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <sys/stat.h>

#include "api.h"
#include "public.h"

static char comma[64]; /* its name; "" = there is none */

static bool has_comma(const char *name)
{
    bool ok = setlocale(LC_ALL, name) && !strcmp(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
    if (ok) snprintf(comma, sizeof comma, "%s", name);
    return ok;
}

/* One that is installed, or one that is made for this test. */
static int find_locale(void **state)
{
    static const char *const installed[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                                            "pt_BR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8", "pl_PL.UTF-8"};
    char cmd[300];
    if (make_folder(state) != 0) return -1;
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (has_comma(installed[i])) return 0;
    snprintf(cmd, sizeof cmd, "localedef -i de_DE -f UTF-8 %s/comma.UTF-8 >%s/localedef 2>&1", tmp, tmp);
    if (system(cmd) != 0) return 0;
    setenv("LOCPATH", tmp, 1);
    has_comma("comma.UTF-8");
    return 0;
}

/* A default of the op table, attributes that the text and the options have, and what they become in C. */
static gcut_graph *model(gcut_ctx *ctx)
{
    return graph_from(ctx, "func @f[N in 1..64](param %w: f32[3], input %x: f32[N, 3]) -> (out y: f32[]) {\n"
                           "  %b = broadcast(%w, shape=[N, 3], axes=[1])\n"
                           "  %p = mul(%x, %b)\n"
                           "  %r = leaky_relu(%p)\n"
                           "  %h = full(shape=[N, 3], value=0.5)\n"
                           "  %t = tanh(%r)\n"
                           "  %q = mul(%t, %h)\n"
                           "  %y = sum(%q)\n"
                           "  return %y\n"
                           "}\n"
                           "data @w: f32[3] = dense([-100.25, -1.5, 0.125])\n");
}

static void in_locale(const char *name)
{
    assert_non_null(setlocale(LC_ALL, name));
}

/* The point of the thread is that of the locale again. */
static void assert_back(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5");
}

static unsigned char *results(gcut_backend backend, size_t *n)
{
    gcut_ctx *ctx = new_ctx();
    gcut_options o = TEST_OPTIONS;
    o.backend = backend;
    o.optimizer = "sgd(lr=0.1)";
    o.policy = "torch:0.5";
    gcut_step *s = gcut_compile(model(ctx), &o);
    must_run(ctx, s);
    unsigned char *all = result_bytes(s, n);
    gcut_ctx_free(ctx);
    return all;
}

static void same_results(void **state)
{
    (void)state;
    static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                            GCUT_BACKEND_COMPILED};
    if (!*comma) skip();
    for (size_t k = 0; k < 4; k++) {
        size_t n, there;
        in_locale("C");
        unsigned char *want = results(backends[k], &n);
        in_locale(comma);
        unsigned char *got = results(backends[k], &there);
        assert_back();
        in_locale("C");
        assert_int_equal(n, there);
        if (memcmp(want, got, n) != 0) fail_msg("backend %zu: other results", k);
        free(want);
        free(got);
    }
}

enum { TEXTS = 11 };

static void take(char **text, const char *made)
{
    assert_non_null(made);
    *text = strdup(made);
}

static void take_ours(char **text, char *made)
{
    take(text, made);
    gcut_free(made);
}

/* All that is written, in an order. */
static void texts(char *text[TEXTS])
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    gcut_options o = {.policy = "torch:0.5", .machine = "shipped", .optimizer = "sgd(lr=0.1)"},
                 bad = {.lambda = -2.5};
    gcut_plan *p = gcut_plan_new(g, &o);
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    gcut_frontier *f = gcut_frontier_new(g, NULL, NULL);
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    int n = 0;
    take_ours(&text[n++], gcut_plan_text(p, NULL));
    take_ours(&text[n++], gcut_plan_saved_text(p, NULL));
    take_ours(&text[n++], gcut_plan_json(p));
    take(&text[n++], f->text);
    take(&text[n++], f->csv);
    take(&text[n++], f->json);
    take(&text[n++], f->svg);
    text[n++] = emitted(ctx, g, &o);
    gcut_explanation *e = gcut_explain(g, &o, "t");
    if (!e) fail_msg("%s", gcut_last_error(ctx));
    take(&text[n++], e->text);
    take(&text[n++], e->json);
    gcut_free(f);
    gcut_free(e);
    assert_null(gcut_plan_new(g, &bad));
    take(&text[n++], gcut_last_error(ctx));
    assert_int_equal(n, TEXTS);
    gcut_ctx_free(ctx);
}

static void same_texts(void **state)
{
    (void)state;
    char *want[TEXTS], *got[TEXTS];
    if (!*comma) skip();
    texts(want);
    in_locale(comma);
    texts(got);
    assert_back();
    in_locale("C");
    for (int i = 0; i < TEXTS; i++) {
        assert_string_equal(want[i], got[i]);
        free(want[i]);
        free(got[i]);
    }
}

/* ---- what is called back ---- */

static void *host_alloc(void *user, void *block, size_t size)
{
    ++*(int *)user;
    assert_back();
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

static void host_log(void *user, const char *sentence)
{
    (void)sentence;
    ++*(int *)user;
    assert_back();
}

static bool host_progress(void *user, const char *what, size_t done, size_t total)
{
    gcut_ctx *ctx = user;
    (void)what, (void)done, (void)total;
    assert_back();
    assert_null(gcut_parse(ctx, "no graph", GCUT_TO_NUL, "hook", NULL)); /* a call from a hook, which fails */
    assert_back();
    return false;
}

static void hosts_locale_for_callbacks(void **state)
{
    (void)state;
    if (!*comma) skip();
    in_locale(comma);
    int allocations = 0, lines = 0;
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){host_alloc, &allocations});
    assert_non_null(ctx);
    gcut_graph *g = model(ctx);
    assert_back();
    assert_int_equal(gcut_ctx_set_hooks(ctx, &(gcut_hooks){.log = host_log, .user = &lines}), GCUT_OK);
    gcut_options o = TEST_OPTIONS;
    gcut_step *s = gcut_compile(g, &o);
    must_run(ctx, s);
    assert_back();
    assert_int_equal(gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = host_progress, .user = ctx}), GCUT_OK);
    assert_non_null(gcut_plan_new(g, &o));
    assert_back();
    assert_null(gcut_compile(g, &(gcut_options){.lambda = -3}));
    assert_back();
    gcut_ctx_free(ctx);
    assert_true(allocations > 10);
    assert_true(lines > 0);
    in_locale("C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_results),
        cmocka_unit_test(same_texts),
        cmocka_unit_test(hosts_locale_for_callbacks),
    };
    return cmocka_run_group_tests(tests, find_locale, remove_folder);
}
