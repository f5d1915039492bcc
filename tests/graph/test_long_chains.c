/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a chain twice as long asks of memory: twice as much, not four times.  Bytes requested are the same in
 * every run, unlike times, and an array of the whole graph for each of its nodes shows in them.
 */
#define _GNU_SOURCE
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "api.h"

static size_t requested; /* bytes */

static void *count(void *user, void *block, size_t size)
{
    (void)user;
    requested += size;
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

typedef enum chain { ELEMENTWISE, PRODUCTS } chain;

static char *text_of(chain kind, int n)
{
    static const char *const op[] = {"add(%%%s, %%w)", "mul(%%%s, %%w)", "tanh(%%%s)"};
    char *text = NULL, last[32] = "x";
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs("gcut 1\nfunc @f(param %w: f32[64, 64], input %x: f32[64, 64]) -> (out loss: f32[]) {\n", f);
    for (int i = 0; i < n; i++) {
        fprintf(f, "  %%v%d = ", i);
        if (kind == PRODUCTS && i % 2 == 0)
            fprintf(f, "matmul(%%%s, %%w)", last);
        else
            fprintf(f, kind == PRODUCTS ? op[2] : op[i % 3], last);
        fputs("\n", f);
        snprintf(last, sizeof last, "v%d", i);
    }
    fprintf(f, "  %%loss = sum(%%%s)\n  return %%loss\n}\n", last);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Bytes requested to plan it and print the plan, or to write its C. */
static double bytes_for(chain kind, int n, bool emit)
{
    char *text = text_of(kind, n);
    requested = 0;
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count, NULL});
    gcut_graph *g = gcut_parse(ctx, text, strlen(text), "chain.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    if (emit) {
        if (gcut_emit_files(g, &TEST_OPTIONS, in_tmp("chain"), false) != GCUT_OK)
            fail_msg("%s", gcut_last_error(ctx));
    } else {
        gcut_plan *plan = gcut_plan_new(g, &TEST_OPTIONS);
        char *table = plan ? gcut_plan_text(plan, false) : NULL;
        if (!table) fail_msg("%s", gcut_last_error(ctx));
        gcut_free(table);
        gcut_plan_free(plan);
    }
    gcut_ctx_free(ctx);
    free(text);
    return (double)requested;
}

static void memory_is_linear(void **state)
{
    static const char *const name[] = {"elementwise", "products"};
    (void)state;
    for (chain kind = ELEMENTWISE; kind <= PRODUCTS; kind++)
        for (int emit = 0; emit < 2; emit++) {
            double once = bytes_for(kind, 1500, emit), twice = bytes_for(kind, 3000, emit);
            print_message("%s, %s: %.1f MB and %.1f MB\n", name[kind], emit ? "C" : "plan", once / 1e6,
                          twice / 1e6);
            if (twice > 2.5 * once)
                fail_msg("%s, %s: a chain twice as long requests %.2f times the bytes", name[kind],
                         emit ? "C" : "plan", twice / once);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_linear)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
