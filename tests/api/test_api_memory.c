/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every request for memory may be refused: nothing is lost, and the error says so.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "gradcut/inspect.h"
#include "gradcut/train.h"
#include "nightly.h"
#include "public.h"

/* Counts blocks, and refuses one request. */
typedef struct failing {
    long calls, fail_at, blocks;
} failing;

static void *allocate(void *user, void *block, size_t size)
{
    failing *f = user;
    if (size == 0) {
        if (block) f->blocks--;
        free(block);
        return NULL;
    }
    if (f->calls++ == f->fail_at) return NULL;
    void *p = realloc(block, size);
    if (!block && p) f->blocks++;
    return p;
}

enum {
    EMIT,
    PEAK,
    SAVED,
    FOLLOW,
    TELL,
    WHY,
    COST,
    COMPARE,
    LOOK,
    FRONTIER,
    MEMORY,
    FUSION,
    LINT,
    REPORT,
    APART,
    WEIGHTS,
    NWAYS
};

/* Of each interpreted backend, on a block of the caller's. */
static bool both_calls(gcut_graph *g)
{
    static _Alignas(64) char block[1 << 16];
    bool ok = true;
    for (int b = GCUT_BACKEND_EAGER; b <= GCUT_BACKEND_PLANNED && ok; b++) {
        gcut_options o = TEST_OPTIONS;
        o.backend = (gcut_backend)b, o.apart = true;
        gcut_step *s = gcut_compile(g, &o);
        ok = s && gcut_saved_bytes(s) > 0 && gcut_bind_saved(s, block, sizeof block) == GCUT_OK &&
             gcut_run_forward(s) == GCUT_OK && gcut_run_backward(s) == GCUT_OK;
        gcut_step_free(s);
    }
    return ok;
}

/* Saved as bytes and as files, loaded from all of them, and shared with an evaluation. */
static bool both_files(gcut_graph *g)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = GCUT_BACKEND_EAGER;
    const gcut_load_options how = {.rename = "none*=nothing*", .convert = true};
    gcut_step *s = gcut_compile(g, &o);
    size_t n = 0;
    void *bytes = s ? gcut_save_weights_to(s, &n) : NULL;
    const bool ok = bytes && gcut_save_weights(s, in_tmp("sweep.safetensors")) == GCUT_OK &&
                    gcut_load_weights_from(s, bytes, n, &how) == GCUT_OK &&
                    gcut_load_weights(s, in_tmp("sweep.safetensors"), &how) == GCUT_OK &&
                    gcut_save_weights(s, in_tmp("sweep.npz")) == GCUT_OK &&
                    gcut_load_weights(s, in_tmp("sweep.npz"), &how) == GCUT_OK;
    gcut_graph *e = ok ? gcut_eval(g) : NULL;
    gcut_step *evaluation = e ? gcut_compile(e, &o) : NULL;
    const bool shared =
        evaluation && gcut_share(s, evaluation) == GCUT_OK && gcut_prepare(evaluation) == GCUT_OK;
    gcut_step_free(evaluation);
    gcut_graph_free(e);
    gcut_free(bytes);
    gcut_step_free(s);
    return shared;
}

/* Load and plan in one of those ways; true when all of it went well. */
static bool all_of_it(failing *f, const char *graph, int way)
{
    gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){allocate, f});
    if (!ctx) return false;
    gcut_options o = TEST_OPTIONS;
    bool ok = false;
    gcut_graph *g = gcut_load(ctx, graph, NULL);
    if (way != EMIT) o.without = refine_pass, o.nwithout = 1;
    if (way == PEAK) o.budget = 1 << 30;
    if (way == SAVED) o.saved_budget = 100000;
    if (way == FOLLOW) o.plan = in_tmp("sweep.json");
    switch (g ? way : NWAYS) {
    case EMIT:
        ok = gcut_plan_new(g, NULL) && gcut_emit_files(g, NULL, in_tmp("sweep"), false) == GCUT_OK;
        break;
    case PEAK:
    case SAVED:
    case FOLLOW: ok = gcut_plan_new(g, &o); break;
    case TELL: {
        const gcut_plan *plan = gcut_plan_new(g, &o);
        ok = plan && gcut_plan_text(plan, &(gcut_table_options){.symbolic = true}) && gcut_plan_json(plan);
        break;
    }
    case WHY: ok = gcut_explain(g, &o, "%h"); break;
    case COST: ok = gcut_explain_cost(g, &o, "%h"); break;
    case COMPARE: {
        const gcut_plan_diff *d = gcut_diff_plans(ctx, in_tmp("sweep.json"), in_tmp("sweep.json"));
        ok = d && gcut_diff_text(ctx, d, NULL);
        break;
    }
    case LOOK: ok = gcut_stage_look(g, &o, GCUT_STAGE_KERNEL); break;
    case FRONTIER: ok = gcut_frontier_new(g, &o, NULL); break;
    case MEMORY: {
        const gcut_memory_profile *m =
            gcut_memory_new(g, &o, &(gcut_memory_options){.against = in_tmp("sweep.json")});
        ok = m && gcut_memory_text(ctx, m, GCUT_MEMORY_SUMMARY, NULL) &&
             gcut_memory_text(ctx, m, GCUT_MEMORY_AT_PEAK, NULL) &&
             gcut_memory_text(ctx, m, GCUT_MEMORY_MAP, NULL);
        break;
    }
    case FUSION: {
        const gcut_fusion *fused = gcut_fusion_new(g, &o);
        ok = fused && gcut_fusion_text(ctx, fused, NULL) && gcut_fusion_why(ctx, fused, "h", "p");
        break;
    }
    case LINT: {
        const gcut_lint_report *r = gcut_lint(g, &o);
        ok = r && gcut_lint_text(ctx, r, NULL);
        break;
    }
    case REPORT: ok = gcut_report_html(g, &o, &(gcut_report_options){.against = in_tmp("sweep.json")}); break;
    case APART: ok = both_calls(g); break;
    case WEIGHTS: ok = both_files(g); break;
    }
    if (!ok) {
        if (gcut_last_status(ctx) != GCUT_ENOMEM)
            print_error("way %d, request %ld refused: status %d, %s\n", way, f->fail_at,
                        (int)gcut_last_status(ctx), gcut_last_error(ctx));
        assert_int_equal(gcut_last_status(ctx), GCUT_ENOMEM);
        assert_true(strlen(gcut_last_error(ctx)) > 0);
    }
    gcut_ctx_free(ctx);
    return ok;
}

static void write_plan(const char *graph, const char *path)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, graph, NULL);
    FILE *f = fopen(path, "w");
    assert_true(g);
    assert_true(f);
    print_text(f, gcut_plan_json(gcut_plan_new(g, NULL)));
    assert_int_equal(fclose(f), 0);
    gcut_ctx_free(ctx);
}

/* Each request for memory in turn; of the thousands of a sweep, one of 29, and one of 3 of a page, which has a frontier, and
 * with AddressSanitizer, by day. */
static void refuse_each(const char *graph, int way)
{
    failing all = {.fail_at = -1};
    assert_true(all_of_it(&all, graph, way));
    assert_int_equal(all.blocks, 0);
    assert_true(all.calls > 10);
    const long every = way == FRONTIER ? 29 : (way == REPORT || !in_turn(1, 3)) && !nightly() ? 3 : 1;
    for (long k = 0; k <= all.calls; k += k + every < all.calls ? every : 1) {
        failing one = {.fail_at = k};
        bool done = all_of_it(&one, graph, way);
        if (one.blocks) fail_msg("way %d: %ld blocks are lost when request %ld fails", way, one.blocks, k);
        if (done != (k == all.calls)) fail_msg("way %d: request %ld of %ld refused", way, k, all.calls);
    }
}

static void every_allocation_may_fail(void **state)
{
    static const char squash[] =
        "func @f[N in 1..64](param %w: f32[N, 8], input %x: f32[N, 8]) -> (out loss: "
        "f32[]) {\n  %a = mul(%x, %w)\n  %h = tanh(%a)\n  %p = exp(%h)\n"
        "  %loss = sum(%p)\n  return %loss\n}\n";
    (void)state;
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(in_tmp("sweep.gcut"), "w");
        assert_non_null(f);
        fprintf(f, "gcut 1\n%s", k ? squash : LINE_FIT);
        assert_int_equal(fclose(f), 0);
        char graph[128], plan[128];
        snprintf(graph, sizeof graph, "%s", in_tmp("sweep.gcut"));
        snprintf(plan, sizeof plan, "%s", in_tmp("sweep.json"));
        write_plan(graph, plan);
        for (int way = k ? EMIT + 1 : EMIT; way < (k ? NWAYS : EMIT + 1); way++) refuse_each(graph, way);
    }
    write_plan(GCUT_SOURCE_DIR "/tests/loops/rnn.gcut", in_tmp("sweep.json"));
    refuse_each(GCUT_SOURCE_DIR "/tests/loops/rnn.gcut", FOLLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
