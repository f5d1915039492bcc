/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * By its own report, GCC vectorises the loops over columns, also those that it could unroll.  Results do not show it.
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

#define FLAGS "-std=c99 -O3 -fno-math-errno -fno-trapping-math -I" GCUT_SOURCE_DIR "/include"
#define COLUMNS_LOOP "for (int64_t c = 0; c < C; c++) {"

/* Each row has a factor of its own, so that no loop goes over all elements at once. */
static const char rows[] = "func @rows(param %%x: f32[32, 6, %d], param %%s: f32[6]) -> (out loss: f32[]) {\n"
                           "  %%b: f32[32, 6, %d] = broadcast(%%s, shape=[32, 6, %d], axes=[1])\n"
                           "  %%m = mul(%%x, %%b)\n"
                           "  %%c = clamp(%%m, lo=0.0, hi=6.0)\n"
                           "  %%loss = sum(%%c)\n"
                           "  return %%loss\n"
                           "}\n";

/* Compiles the emitted step; false: this compiler is not GCC. */
static bool compile(void)
{
    char line[512];
    snprintf(line, sizeof line,
             "cd %s && ${CC:-cc} -fopt-info-vec-optimized=vectors -c -x c /dev/null -o none.o 2>/dev/null",
             tmp);
    if (system(line) != 0) return false;
    snprintf(line, sizeof line, "cd %s && ${CC:-cc} " FLAGS " -fopt-info-vec-optimized=vectors -c emitted.c",
             tmp);
    if (system(line) != 0) fail_msg("%s", line);
    return true;
}

/* Did the compiler make vector code of the loop in that line? */
static bool has_vectors(int number)
{
    char want[64], line[512];
    bool found = false;
    FILE *f = fopen(in_tmp("vectors"), "r");
    assert_non_null(f);
    snprintf(want, sizeof want, "emitted.c:%d:", number);
    while (fgets(line, sizeof line, f))
        found |= !strncmp(line, want, strlen(want)) && strstr(line, "loop vectorized");
    assert_int_equal(fclose(f), 0);
    return found;
}

static void loops_over_columns(void **state)
{
    (void)state;
    static const int columns[] = {4, 8, 16, 17, 64, 100};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        const int n = columns[k];
        char source[sizeof rows + 32];
        gcut_ctx *ctx = new_ctx();
        snprintf(source, sizeof source, rows, n, n, n);
        char *c = emitted(ctx, graph_from(ctx, source), &TEST_OPTIONS);
        const bool known = compile();
        int loops = 0, number = 1;
        for (const char *line = c; known && *line; line = strchr(line, '\n') + 1, number++) {
            const char *loop = strstr(line, COLUMNS_LOOP);
            if (!loop || loop > strchr(line, '\n')) continue;
            loops++;
            if (!has_vectors(number))
                fail_msg("%d columns: no vectors in line %d of the emitted C", n, number);
        }
        free(c);
        gcut_ctx_free(ctx);
        if (!known) skip();
        assert_that(loops, >, 1); /* of the forward and of the backward graph */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_over_columns)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
