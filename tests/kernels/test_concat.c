/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operands of a concat that loops compute in its place: which concats are left without a kernel, and that
 * every result has the interpreter's bits, at sizes of one row and of many.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "api.h"

/* Each concat is read by a loop or product, so that it is no result itself. */
static const char concats[] =
    /* no two of their operands are equal */
    "func @concats[N in 1..](input %x: f32[N, 64], input %y: f32[N, 64], input %z: f32[N, 3]) -> (out "
    "columns: "
    "f32[N, 128], out rows: f32[2*N, 64], out middle: f32[N, 2, 64], out softmax: f32[N, 128], out short: "
    "f32[N, "
    "6], out twice: f32[N, 128], out read: f32[N, 128], out viewed: f32[N, 67], out mixed: f32[N, 192], out "
    "own: "
    "f32[N, 128], out kin: f32[N, 128], out above: f32[2*N, 64], out loop: f32[N, 64], out steps: f32[5, N, "
    "128]) {\n"
    /* made in place */
    "  %a0 = relu(%x)\n  %b0 = mul(%x, %y)\n  %c0 = concat(%a0, %b0, axis=1)\n  %columns = neg(%c0)\n"
    "  %a1 = mul(%x, %x)\n  %b1 = mul(%y, %y)\n  %c1 = concat(%a1, %b1, axis=0)\n  %rows = neg(%c1)\n"
    "  %x2 = reshape(%x, shape=[N, 1, 64])\n  %y2 = reshape(%y, shape=[N, 1, 64])\n"
    "  %a2 = relu(%x2)\n  %b2 = sub(%x2, %y2)\n  %c2 = concat(%a2, %b2, axis=1)\n  %middle = neg(%c2)\n"
    "  %m3 = max_reduce(%x, axes=[1], keep=true)\n  %r3 = broadcast(%m3, shape=[N, 64], axes=[0, 1])\n"
    "  %a3 = sub(%x, %r3)\n  %b3 = add(%y, %y)\n  %c3 = concat(%b3, %a3, axis=1)\n  %softmax = neg(%c3)\n"
    "  %a10 = min(%x, %y)\n  %b10 = sub(%a10, %x)\n  %c10 = concat(%b10, %a10, axis=1)\n  %kin = neg(%c10)\n"
    "  %a11 = max(%x, %y)\n  %b11 = sub(%a11, %x)\n  %c11 = concat(%b11, %a11, axis=0)\n  %above = "
    "abs(%c11)\n"
    /* not */
    "  %a4 = relu(%z)\n  %b4 = neg(%z)\n  %c4 = concat(%a4, %b4, axis=1)\n  %short = neg(%c4)\n"
    "  %a5 = abs(%x)\n  %c5 = concat(%a5, %a5, axis=1)\n  %twice = neg(%c5)\n"
    "  %a6 = abs(%y)\n  %t6 = transpose(%a6, perm=[1, 0])\n  %p6 = matmul(%x, %t6)\n  %b6 = matmul(%p6, %y)\n"
    "  %c6 = concat(%a6, %b6, axis=1)\n  %read = neg(%c6)\n"
    "  %a7 = sign(%x)\n  %b7 = slice(%a7, start=[0, 0], limit=[N, 3])\n  %c7 = concat(%a7, %b7, axis=1)\n"
    "  %viewed = neg(%c7)\n"
    "  %a8 = sign(%y)\n  %b8 = floor(%y)\n  %c8 = concat(%x, %a8, %b8, axis=1)\n  %mixed = neg(%c8)\n"
    /* results: memory of the caller's, and the parts of stacks */
    "  %a9 = ceil(%x)\n  %b9 = ceil(%y)\n  %own = concat(%a9, %b9, axis=1)\n"
    "  %s = iota(shape=[5], axis=0, dtype=\"i32\")\n"
    "  %loop, %steps = scan(%x, %s, carries=1) body(%h: f32[N, 64], %i: i32[]) {\n"
    "    %f = cast(%i, to=\"f32\")\n    %g = broadcast(%f, shape=[N, 64], axes=[])\n"
    "    %u = add(%h, %g)\n    %v = mul(%h, %y)\n    %k = concat(%u, %v, axis=1)\n"
    "    %l = slice(%k, start=[0, 32], limit=[N, 96])\n    %n = neg(%l)\n    yield %n, %k\n  }\n"
    "  return %columns, %rows, %middle, %softmax, %short, %twice, %read, %viewed, %mixed, %own, %kin, "
    "%above, %loop, "
    "%steps\n"
    "}\n";

static const char *const placed[] = {"c0", "c1", "c2", "c3", "c10", "c11", "k"};
static const char *const copied[] = {"c4", "c5", "c6", "c7", "c8", "own"};

/* The comment of the concat's row in the table of launches says that it is made in place, or not. */
static bool is_placed(const char *table, const char *name)
{
    char placed_by[64], copied_by[64];
    snprintf(placed_by, sizeof placed_by, ": concat: made in place: %s,", name);
    snprintf(copied_by, sizeof copied_by, ": concat: %s,", name);
    bool found = strstr(table, placed_by) != NULL;
    if (found == (strstr(table, copied_by) != NULL)) fail_msg("no concat, or more than one, makes %s", name);
    return found;
}

static void which_are_placed(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_size at = {"N", 8};
    gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, &at, 1);
    char *text = emitted(ctx, graph_from(ctx, concats), &o);
    const char *launches = strstr(text, "emitted_code[]");
    assert_non_null(launches);
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++)
        if (!is_placed(launches, placed[i])) fail_msg("%s is copied", placed[i]);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (is_placed(launches, copied[i])) fail_msg("%s is made in place", copied[i]);
    free(text);
    gcut_ctx_free(ctx);
}

/* Copies have the same bits; %read goes through a product. */
static float allowed(const char *name, float x)
{
    (void)x;
    return strcmp(name, "read") ? 0 : 1e-2f;
}

static void compare(gcut_ctx *ctx, gcut_graph *g, gcut_step *compiled, const gcut_size *at)
{
    gcut_options o = forward_options(GCUT_BACKEND_EAGER, 1, at, 1);
    gcut_step *s = gcut_compile(g, &o);
    must_run(ctx, s);
    must_run(ctx, compiled);
    assert_near(s, compiled, at->value, allowed);
    gcut_step_free(s);
}

static void results(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, concats);
    for (int threads = 1; threads <= 2; threads++)
        for (int64_t n = 1; n < 300; n = 11 * n + 2) {
            gcut_size at = {"N", n};
            gcut_options o = forward_options(GCUT_BACKEND_COMPILED, threads, &at, 1);
            gcut_step *s = gcut_compile(g, &o);
            if (!s) fail_msg("not compiled: %s", gcut_last_error(ctx));
            compare(ctx, g, s, &at);
            gcut_step_free(s);
        }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(which_are_placed), cmocka_unit_test(results)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
