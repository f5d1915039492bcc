/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a chain twice as long asks of memory: twice as much, not four times, and of what is in use at once no
 * more than 4 KB for each node of the joint graph.  Bytes are the same in every run, unlike times, and an array
 * of the whole graph for each of its nodes shows in them.
 *
 * Branches in branches, 24 deep, are planned: this ends only if no body is visited once for each way to it.
 */
#define _GNU_SOURCE
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <malloc.h>

#include "api.h"

static size_t requested, used, most; /* bytes: in all, at the moment, and at the worst one */

static void *count(void *user, void *block, size_t size)
{
    (void)user;
    requested += size;
    used += size - (block ? malloc_usable_size(block) : 0);
    if (used > most) most = used;
    if (size) {
        void *p = realloc(block, size);
        used += malloc_usable_size(p) - size;
        return p;
    }
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

/* Plans a graph and prints the plan, or writes its C. */
static void make(const char *text, bool emit)
{
    requested = used = most = 0;
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count, NULL});
    gcut_graph *g = gcut_parse(ctx, text, strlen(text), "chain.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    if (emit) {
        if (gcut_emit_files(g, &TEST_OPTIONS, in_tmp("chain"), false) != GCUT_OK)
            fail_msg("%s", gcut_last_error(ctx));
    } else {
        gcut_plan *plan = gcut_plan_new(g, &TEST_OPTIONS);
        char *table = plan ? gcut_plan_text(plan, NULL) : NULL;
        if (!table) fail_msg("%s", gcut_last_error(ctx));
        gcut_free(table);
        gcut_plan_free(plan);
    }
    gcut_ctx_free(ctx);
    assert_int_equal(used, 0);
}

/* Bytes requested for a chain. */
static double bytes_for(chain kind, int n, bool emit)
{
    char *text = text_of(kind, n);
    make(text, emit);
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
            print_message("%s, %s: %.1f MB and %.1f MB, %.1f MB at once\n", name[kind], emit ? "C" : "plan",
                          once / 1e6, twice / 1e6, (double)most / 1e6);
            if (!emit)
                assert_that(most, <=,
                            4000.0 * 3000 * (kind == PRODUCTS ? 4 : 10 / 3.0)); /* joint nodes per node */
            if (twice > 2.5 * once)
                fail_msg("%s, %s: a chain twice as long requests %.2f times the bytes", name[kind],
                         emit ? "C" : "plan", twice / once);
        }
}

static void deep_branches_are_planned(void **state)
{
    enum { DEPTH = 24 };
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs("gcut 1\nfunc @f(param %w: f32[4], input %x0: f32[4], input %p: bool[]) -> (out loss: f32[]) {\n",
          f);
    for (int i = 0; i < DEPTH; i++)
        fprintf(f, "  %%a%d = mul(%%%s%d, %%w)\n  %%h%d = if(%%p) then {\n", i, i ? "a" : "x", i ? i - 1 : 0,
                i);
    fprintf(f, "  %%t = tanh(%%a%d)\n", DEPTH - 1);
    for (int i = DEPTH; i-- > 0;) {
        char last[16] = "t";
        if (i + 1 < DEPTH) snprintf(last, sizeof last, "h%d", i + 1);
        fprintf(f, "  yield %%%s\n  } else {\n  yield %%a%d\n  }\n", last, i);
    }
    fputs("  %loss = sum(%h0)\n  return %loss\n}\n", f);
    assert_int_equal(fclose(f), 0);
    make(text, false);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_linear),
        cmocka_unit_test(deep_branches_are_planned),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
