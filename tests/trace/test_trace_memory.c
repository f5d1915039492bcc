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
#include "gradcut/trace.h"

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
    gcut_val loss = gcut_sum(gcut_mul(w, gcut_tanh(w)));
    gcut_backward(loss);
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

static gcut_status jit(gcut_ctx *ctx)
{
    const gcut_options o = {.backend = GCUT_BACKEND_EAGER};
    gcut_jit *f = gcut_jit_new(ctx, "f", risky, NULL, &o, &(gcut_jit_options){.entries = 2});
    if (!f) return gcut_last_status(ctx);
    static const struct {
        int64_t n, from;
    } calls[] = {{2, 0}, {3, 1}, {2, 1}, {4, 0}, {0, 0}, {1, 2}};
    gcut_status s = GCUT_OK;
    for (size_t k = 0; s == GCUT_OK && k < sizeof calls / sizeof *calls; k++) {
        gcut_jit_value x = {.at = (void *)(uintptr_t)(values + calls[k].from),
                            .dtype = GCUT_F32,
                            .rank = 1,
                            .dim = {calls[k].n}},
                       y;
        s = gcut_jit_call(f, &x, 1, &y, 1);
    }
    if (s == GCUT_OK && !gcut_jit_explain(f)) s = gcut_last_status(ctx);
    return s;
}

typedef gcut_status way(gcut_ctx *);

static void every_request(void **state)
{
    way *const run = *(way **)*state;
    failing f = {.fail_at = -1};
    for (long k = -1, all = 0; k < all; k++) {
        f = (failing){.fail_at = k};
        gcut_ctx *ctx = gcut_ctx_new(&(gcut_allocator){allocate, &f});
        const gcut_status s = ctx ? run(ctx) : GCUT_ENOMEM;
        if (s != (k < 0 ? GCUT_OK : GCUT_ENOMEM))
            fail_msg("request %ld: status %d, %s%s", k, (int)s, ctx ? gcut_last_error(ctx) : "",
                     gcut_last_error(NULL));
        gcut_ctx_free(ctx);
        if (f.blocks) fail_msg("request %ld: %ld blocks are lost", k, f.blocks);
        if (k < 0) all = f.calls;
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
