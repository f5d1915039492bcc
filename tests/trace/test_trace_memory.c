/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every request for memory of eager graphs, recordings and calls of a jit may be refused: nothing is lost, and the error says
 * so.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "count_memory.h"
#include "gradcut/trace.h"

static const float values[4] = {1, 2, -9, 3};

static void risky(void *user, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    (void)user;
    out[0] = gcut_cond(gcut_gt(gcut_sum(in[0]), gcut_const(g, GCUT_F32, 0))) ? gcut_scale(in[0], 2)
                                                                             : gcut_mean(gcut_neg(in[0]));
    out[0] = gcut_mul(in[0], out[0]);
}

static gcut_status eager(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_eager(ctx);
    if (!g) return gcut_last_status(ctx);
    gcut_val w = gcut_write(gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(4)), values);
    gcut_val y = gcut_tanh(w), loss = y.id ? gcut_sum(gcut_mul(w, y)) : y;
    gcut_backward(loss);
    if (gcut_last_status(ctx) != GCUT_OK) return gcut_last_status(ctx);
    const bool ok = gcut_data(gcut_gradient_of(w)) && gcut_forget(g) == GCUT_OK && gcut_data(gcut_exp(w));
    return ok ? GCUT_OK : gcut_last_status(ctx);
}

static gcut_status trace(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_eager(ctx);
    if (!g) return gcut_last_status(ctx);
    gcut_val x = gcut_write(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(4)), values);
    const bool ok = gcut_trace(ctx, risky, NULL, &x, 1, 1, &(gcut_trace_options){.branches = true});
    return ok ? GCUT_OK : gcut_last_status(ctx);
}

static void check_result(const gcut_jit_value *x, const gcut_jit_value *y)
{
    const float *in = x->at, *out = y->at;
    float sum = 0;
    for (int64_t k = 0; k < x->dim[0]; k++) sum += in[k];
    for (int64_t k = 0; k < x->dim[0]; k++) {
        const float want = in[k] * (sum > 0 ? 2 * in[k] : -sum / (float)x->dim[0]);
        assert_true(fabsf(out[k] - want) <= 1e-5f * fabsf(want));
    }
}

/* A call that gets no memory fails, and the same call succeeds then. */
static gcut_status jit(gcut_ctx *ctx)
{
    const gcut_options o = {.backend = GCUT_BACKEND_EAGER};
    gcut_jit *f = gcut_jit_new(ctx, "f", risky, NULL, &o, &(gcut_jit_options){.entries = 2});
    if (!f) return gcut_last_status(ctx);
    static const struct {
        int64_t n, from;
    } calls[] = {{2, 0}, {3, 1}, {2, 1}, {4, 0}, {0, 0}, {1, 2}, {1, 0}};
    gcut_status failed = GCUT_OK;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        gcut_jit_value x = {.at = (void *)(uintptr_t)(values + calls[k].from),
                            .dtype = GCUT_F32,
                            .rank = 1,
                            .dim = {calls[k].n}},
                       y;
        const gcut_status s = gcut_jit_call(f, &x, 1, &y, 1);
        if (s != GCUT_OK) {
            failed = s;
            if (gcut_jit_call(f, &x, 1, &y, 1) != GCUT_OK)
                fail_msg("call %zu again: %s", k, gcut_last_error(NULL));
        }
        check_result(&x, &y);
    }
    gcut_jit_info *i = gcut_jit_explain(f);
    if (!i && failed == GCUT_OK) failed = gcut_last_status(ctx);
    gcut_free(i);
    return failed;
}

typedef gcut_status way(gcut_ctx *);

static void every_request(void **state)
{
    way *const run = *(way **)*state;
    for (long k = 0, all = 0; k <= all; k++) { /* k = 0: all get theirs */
        memory_counter f = {.refused = k};
        gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){count_memory, &f});
        const gcut_status s = ctx ? run(ctx) : GCUT_ENOMEM;
        if (s != (k ? GCUT_ENOMEM : GCUT_OK))
            fail_msg("request %ld: status %d, %s%s", k, (int)s, ctx ? gcut_last_error(ctx) : "",
                     gcut_last_error(NULL));
        gcut_ctx_free(ctx);
        if (f.now) fail_msg("request %ld: %zu bytes are lost", k, f.now);
        if (!k) all = f.requests;
        assert_true(all > 20);
    }
}

int main(void)
{
    static way *ways[] = {eager, trace, jit};
    const struct CMUnitTest tests[] = {
        {"eager", every_request, NULL, NULL, &ways[0]},
        {"trace", every_request, NULL, NULL, &ways[1]},
        {"jit", every_request, NULL, NULL, &ways[2]},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
