/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StableHLO without XLA: each op has a row or a decomposition, the same graph gives the same text, and what cannot be
 * expressed is refused.  tests/text/run_stablehlo.py runs what is written.
 */
#include "harness.h"

#include "gradcut/train.h"
#include "graph/ops/op_info.h"

static void rows_are_those_of_the_op_table(void **state)
{
    (void)state;
    static const gcut_op listed[] = {
#define RULE(op, rule, as) GCUT_OP_##op,
#define REFUSE(op, why) GCUT_OP_##op,
#include "text/stablehlo/ops.def"
#undef RULE
#undef REFUSE
    };
    const size_t n = sizeof listed / sizeof *listed;
    size_t row = 0;
    for (int op = 0; op < GCUT_NOPS; op++) {
        const bool has_row = row < n && listed[row] == (gcut_op)op;
        row += has_row;
        if (!has_row && !gcut_op_get((gcut_op)op)->composite)
            fail_msg("%s has neither a row nor a decomposition", gcut_op_get((gcut_op)op)->name);
    }
    assert_int_equal(row, n);
}

static void same_graph_same_text(void **state)
{
    (void)state;
    static const gcut_size at[] = {{"N", 4}};
    const gcut_options opt = {.at = at, .nat = 1};
    gcut_ctx *ctx[2];
    char *text[2];
    for (int i = 0; i < 2; i++) {
        ctx[i] = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_load(ctx[i], GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
        assert_non_null(g);
        text[i] = gcut_stablehlo(g, &opt, GCUT_STAGE_SPLIT);
        assert_non_null(text[i]);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[0], "func.func public @fwd("));
    assert_non_null(strstr(text[0], "func.func public @bwd("));
    for (int i = 0; i < 2; i++) gcut_ctx_free(ctx[i]);
}

static void refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/custom.gcut", NULL);
    assert_non_null(g);
    assert_null(gcut_stablehlo(g, NULL, GCUT_STAGE_PRIMAL));
    assert_non_null(strstr(gcut_last_error(ctx), "StableHLO cannot express %"));
    assert_null(gcut_stablehlo(g, NULL, GCUT_STAGE_KERNEL));
    assert_non_null(strstr(gcut_last_error(ctx), "the stages primal, joint and split"));
    assert_null(gcut_stablehlo(NULL, NULL, GCUT_STAGE_JOINT));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_those_of_the_op_table),
                                       cmocka_unit_test(same_graph_same_text), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
