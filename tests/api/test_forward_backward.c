/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forward and backward called apart: the bits of the whole step whatever happens between the two, blocks that
 * do not fit, and how much memory each call takes.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api.h"
#include "driver/load/step.h"

static const struct {
    const char *name, *text;
} models[] = {
    {"layer",
     "func @layer[N in 1..](param %w: f32[24, 24], param %b: f32[24], input %x: f32[N, 24] #transient) -> "
     "(out y: f32[N, 24] #transient) {\n"
     "  %a = matmul(%x, %w)\n  %c = broadcast(%b, shape=[N, 24], axes=[1])\n  %d = add(%a, %c)\n"
     "  %y = relu(%d)\n  return %y\n}\n"},
    /* Keeps its result and its input at the caller's. */
    {"kept",
     "func @kept[N in 1..](param %w: f32[N, 5], input %x: f32[N, 5]) -> (out y: f32[N, 5], out z: f32[]) {\n"
     "  %a = mul(%x, %w)\n  %y = tanh(%a)\n  %z = sum(%y)\n  return %y, %z\n}\n"},
    {"cell",
     "func @cell[T in 1.., N in 1..](param %w: f32[6, 6], param %u: f32[6, 6], input %xs: f32[T, N, 6] "
     "#transient, input %h0: f32[N, 6] #transient) -> (out h: f32[N, 6] #transient) {\n"
     "  %h, %all = scan(%h0, %xs, carries=1, axis=0) body(%c, %x) {\n"
     "    %a = matmul(%x, %w)\n    %b = matmul(%c, %u)\n    %s = add(%a, %b)\n    %g = sigmoid(%s)\n"
     "    %m = mul(%g, %a)\n    %n = add(%m, %c)\n    %t = tanh(%n)\n    yield %t, %t\n  }\n"
     "  return %h\n}\n"},
    {"noise",
     "func @noise[N in 1..](param %w: f32[N], rng %key: i64[] #transient, input %x: f32[N] #transient) -> "
     "(out y: f32[N] #transient) {\n"
     "  %a = mul(%x, %w)\n  %d = dropout(%a, %key, p=0.25)\n  %y = gelu(%d)\n  return %y\n}\n"},
    /* A loss head: no gradient is begun where another forward call would write over it. */
    {"head", "func @head[N in 1..](param %w: f32[16, 96], input %x: f32[N, 16] #transient, input %t: i32[N] "
             "#range(0, 96) #transient) -> (out loss: f32[]) {\n"
             "  %z = matmul(%x, %w)\n  %loss = cross_entropy(%z, %t)\n  return %loss\n}\n"},
};
enum { NMODELS = sizeof models / sizeof *models };

/* x in memory that is written over between the calls. */
static void scribble(gcut_step *s, int which)
{
    for (uint32_t i = 0; i < s->nslots; i++) {
        gcut_slot *x = &s->slot[i];
        bool gone = gcut_is_transient(x->marks) || x->role == GCUT_ROLE_cotan ||
                    (x->role == GCUT_ROLE_grad && which == GCUT_RT_FORWARD);
        if (gone && x->type.rank + (x->role != GCUT_ROLE_cotan)) memset(x->at, 0x41, (size_t)x->bytes);
    }
    if (s->kernel_arena) memset(s->kernel_arena, 0x7f, (size_t)s->arena_bytes);
}

/* Numbers that differ from batch to batch, in every input and cotangent. */
static void draw(gcut_step *s, int batch)
{
    for (uint32_t i = 0; i < s->nparams; i++) {
        const gcut_slot *x = &s->slot[i];
        if (x->role == GCUT_ROLE_param || (x->role == GCUT_ROLE_cotan && !x->type.rank)) continue;
        int64_t n = x->bytes / gcut_dtype_bytes(x->type.dtype);
        for (int64_t k = 0; k < n; k++) {
            int64_t v = (k * 7 + batch * 5 + (int64_t)i * 3) % 13;
            if (x->type.dtype == GCUT_F32) ((float *)x->at)[k] = (float)v / 4 - 1.5f;
            if (x->type.dtype == GCUT_I32) ((int32_t *)x->at)[k] = (int32_t)v;
            if (x->type.dtype == GCUT_I64) ((int64_t *)x->at)[k] = v;
        }
    }
}

/* The bytes of the results of one role, to be freed. */
static unsigned char *bytes_of(gcut_step *s, gcut_role role, size_t *size)
{
    unsigned char *all = NULL;
    *size = 0;
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_slot *x = &s->slot[i];
        if (x->role != role) continue;
        all = realloc(all, *size + (size_t)x->bytes);
        assert_non_null(all);
        memcpy(all + *size, x->at, (size_t)x->bytes);
        *size += (size_t)x->bytes;
    }
    return all;
}

static void assert_bytes(const unsigned char *want, gcut_step *s, gcut_role role, const char *what)
{
    size_t n;
    unsigned char *got = bytes_of(s, role, &n);
    if (memcmp(want, got, n) != 0) fail_msg("%s: %s differ", what, gcut_role_name(role));
    free(got);
}

static gcut_options options_of(int backend, int threads, const char *const *wrt, const gcut_size *at)
{
    return (gcut_options){.backend = (gcut_backend)backend,
                          .unbound = GCUT_UNBOUND_RANDOM,
                          .threads = threads,
                          .apart = true,
                          .wrt = wrt,
                          .nwrt = 3,
                          .at = at,
                          .nat = 1,
                          .seed = 9};
}

static const char *const by_all[] = {"w", "x*", "w"};

/* Three batches outstanding at a time, used up in another order, against the whole step. */
static void several_blocks(void **state)
{
    (void)state;
    enum { BATCHES = 3 };
    static const int order[BATCHES] = {1, 2, 0};
    gcut_ctx *ctx = new_ctx();
    for (int m = 0; m < NMODELS; m++) {
        gcut_graph *g = graph_from(ctx, models[m].text);
        for (int run = 0; run < 8; run++) {
            const gcut_size at = {"N", 11};
            gcut_options o = options_of(run % 4, 1 + run / 4, by_all, &at);
            gcut_step *s = gcut_compile(g, &o);
            if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("%s: %s", models[m].name, gcut_last_error(ctx));
            const int64_t n = gcut_saved_bytes(s);
            assert_that(n, >=, 64);
            assert_that(n % 64, ==, 0);
            unsigned char *outs[BATCHES], *grads[BATCHES];
            void *block[BATCHES];
            size_t size;
            for (int b = 0; b < BATCHES; b++) {
                draw(s, b);
                must_run(ctx, s);
                outs[b] = bytes_of(s, GCUT_ROLE_out, &size);
                grads[b] = bytes_of(s, GCUT_ROLE_grad, &size);
                block[b] = aligned_alloc(64, (size_t)n);
                assert_non_null(block[b]);
                memset(block[b], 0xee, (size_t)n);
            }
            bool keeps =
                !strcmp(models[m].name, "kept"); /* one batch at a time: the caller's memory is read */
            for (int b = 0; b < BATCHES; b++) {
                draw(s, b);
                assert_int_equal(gcut_bind_saved(s, block[b], (size_t)n), GCUT_OK);
                if (gcut_run_forward(s) != GCUT_OK) fail_msg("%s: %s", models[m].name, gcut_last_error(ctx));
                assert_bytes(outs[b], s, GCUT_ROLE_out, models[m].name);
                scribble(s, GCUT_RT_FORWARD);
                if (!keeps) continue;
                draw(s, b);
                assert_int_equal(gcut_run_backward(s), GCUT_OK);
                assert_bytes(grads[b], s, GCUT_ROLE_grad, models[m].name);
            }
            for (int b = 0; b < BATCHES && !keeps; b++) {
                draw(s, order[b]); /* the cotangent of that batch; what is transient is written over */
                for (uint32_t i = 0; i < s->nslots; i++)
                    if (gcut_is_transient(s->slot[i].marks))
                        memset(s->slot[i].at, 0x41, (size_t)s->slot[i].bytes);
                /* Moved, as to another device and back. */
                void *copy = aligned_alloc(64, (size_t)n);
                assert_non_null(copy);
                memcpy(copy, block[order[b]], (size_t)n);
                assert_int_equal(gcut_bind_saved(s, copy, (size_t)n), GCUT_OK);
                if (gcut_run_backward(s) != GCUT_OK) fail_msg("%s: %s", models[m].name, gcut_last_error(ctx));
                assert_bytes(grads[order[b]], s, GCUT_ROLE_grad, models[m].name);
                free(copy);
            }
            for (int b = 0; b < BATCHES; b++) free(outs[b]), free(grads[b]), free(block[b]);
            gcut_step_free(s);
        }
    }
    gcut_ctx_free(ctx);
}

/* Of the arena, what was written since it was painted. */
static int64_t touched(const gcut_step *s)
{
    int64_t n = s->arena_bytes;
    while (n > 0 && (unsigned char)s->kernel_arena[n - 1] == GCUT_ARENA_PAINT) n--;
    return (n + 63) / 64 * 64;
}

static void paint(gcut_step *s)
{
    memset(s->kernel_arena, GCUT_ARENA_PAINT, (size_t)s->arena_bytes);
}

/* Predicted: what the plan says of the pair, and the statistics of each call.  Measured: what is written. */
static void memory_of_calls(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    static const int64_t sizes[] = {1, 16, 333};
    for (int m = 0; m < NMODELS; m++)
        for (int k = 0; k < 6; k++) {
            gcut_graph *g = graph_from(ctx, models[m].text);
            const gcut_size at = {"N", sizes[k % 3]};
            gcut_options o = options_of(GCUT_BACKEND_COMPILED, 1 + k / 3, by_all, &at);
            gcut_step *s = gcut_compile(g, &o);
            if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("%s: %s", models[m].name, gcut_last_error(ctx));
            const int64_t n = gcut_saved_bytes(s);
            char *block = aligned_alloc(64, (size_t)n + 64);
            assert_non_null(block);
            memset(block, GCUT_ARENA_PAINT, (size_t)n + 64);
            assert_int_equal(gcut_bind_saved(s, block, (size_t)n), GCUT_OK);
            draw(s, k);
            paint(s);
            assert_int_equal(gcut_run_forward(s), GCUT_OK);
            int64_t forward = touched(s), filled = n + 64;
            while ((unsigned char)block[filled - 1] == GCUT_ARENA_PAINT) filled--;
            assert_int_equal((filled + 63) / 64 * 64, n); /* the last saved value ends in its last line */
            paint(s);
            assert_int_equal(gcut_run_backward(s), GCUT_OK);
            int64_t backward = touched(s), values[2] = {0, 0}, all = 0;
            for (uint32_t i = 0; i < s->nslots; i++) {
                const gcut_slot *x = &s->slot[i];
                bool late = x->role == GCUT_ROLE_cotan || x->role == GCUT_ROLE_grad;
                values[0] += late ? 0 : x->bytes;
                values[1] += gcut_is_transient(x->marks) ? 0 : x->bytes;
                all += x->bytes;
            }
            const gcut_stats *st = gcut_step_stats(s);
            assert_int_equal(st->saved_bytes, n);
            assert_int_equal(st->forward_bytes, values[0] + n + forward);
            assert_int_equal(st->backward_bytes, values[1] + n + backward);
            assert_int_equal(st->arena_bytes, forward > backward ? forward : backward);
            assert_int_equal(st->predicted_bytes, all + n + st->arena_bytes);
            gcut_plan *p = gcut_plan_new(g, &o);
            assert_non_null(p);
            const gcut_plan_info *i = gcut_plan_look(p);
            assert_int_equal(i->peak_bytes, st->predicted_bytes);
            assert_int_equal(i->block_bytes, n);
            assert_int_equal(i->forward_bytes, st->forward_bytes);
            assert_int_equal(i->backward_bytes, st->backward_bytes);
            gcut_plan_free(p);
            free(block);
            gcut_step_free(s);
        }
    gcut_ctx_free(ctx);
}

static void misuse(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, models[0].text), *other = graph_from(ctx, models[1].text);
    for (int backend = 0; backend < 4; backend++) {
        const gcut_size at = {"N", 11};
        gcut_options o = options_of(backend, 1, by_all, &at);
        gcut_step *s = gcut_compile(g, &o), *t = gcut_compile(other, &o);
        assert_true(s);
        assert_true(t);
        const int64_t n = gcut_saved_bytes(s) + gcut_saved_bytes(t);
        char *block = aligned_alloc(64, (size_t)n);
        assert_non_null(block);
        memset(block, 0, (size_t)n);
#define REFUSED(call, what)                                                                                  \
    do {                                                                                                     \
        gcut_clear_errors(ctx);                                                                              \
        assert_int_equal(call, GCUT_EUSAGE);                                                                 \
        assert_says(ctx, GCUT_EUSAGE, what);                                                                 \
    } while (0)
        REFUSED(gcut_bind_saved(s, block + 8, (size_t)n - 8), "begins 8 bytes after a multiple of 64");
        REFUSED(gcut_run_backward(s), "was filled by no forward call");
        assert_int_equal(gcut_bind_saved(s, block, 8), GCUT_OK);
        REFUSED(gcut_run_forward(s), "the block of saved values has 8 bytes, not");
        assert_int_equal(gcut_bind_saved(s, block, (size_t)n), GCUT_OK);
        assert_int_equal(gcut_bind_saved(t, block, (size_t)n), GCUT_OK);
        REFUSED(gcut_run_backward(s), "was filled by no forward call");
        assert_int_equal(gcut_bind(s, "grad.w", block + 64, 24, 24), GCUT_OK);
        REFUSED(gcut_run_backward(s), "overlap");
        static float dw[24 * 24];
        assert_int_equal(gcut_bind(s, "grad.w", dw, 24, 24), GCUT_OK);
        assert_int_equal(gcut_run_forward(t), GCUT_OK);
        REFUSED(gcut_run_backward(s), "was filled by another step");
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_int_equal(gcut_run_backward(s), GCUT_OK);
        REFUSED(gcut_run_backward(s), "was used by a backward call before");
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        float x[13 * 24] = {0};
        assert_int_equal(gcut_bind(s, "x", x, 13, 24), GCUT_OK);
        char *larger = aligned_alloc(64, 1 << 20);
        assert_non_null(larger);
        memcpy(larger, block, (size_t)n);
        assert_int_equal(gcut_bind_saved(s, larger, 1 << 20), GCUT_OK);
        REFUSED(gcut_run_backward(s), "was filled at other sizes");
        /* The step's own block again. */
        assert_int_equal(gcut_bind_saved(s, NULL, 0), GCUT_OK);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        assert_int_equal(gcut_run_backward(s), GCUT_OK);
        must_run(ctx, s);
        REFUSED(gcut_run_backward(s), "was used by a backward call before");
        gcut_step_free(s), gcut_step_free(t);
        /* Steps that differ in a number. */
        gcut_step *two[2];
        for (int k = 0; k < 2; k++) {
            char text[256];
            snprintf(text, sizeof text,
                     "func @f(param %%w: f32[8]) -> (out y: f32[8]) {\n  %%c = full(shape=[8], value=%d.0)\n"
                     "  %%a = mul(%%w, %%c)\n  %%y = exp(%%a)\n  return %%y\n}\n",
                     2 + k);
            gcut_options plain = {
                .backend = (gcut_backend)backend, .apart = true, .unbound = GCUT_UNBOUND_RANDOM};
            two[k] = gcut_compile(graph_from(ctx, text), &plain);
            assert_int_equal(gcut_bind_saved(two[k], larger, 1 << 20), GCUT_OK);
        }
        assert_int_equal(gcut_run_forward(two[0]), GCUT_OK);
        REFUSED(gcut_run_backward(two[1]), "was filled by another step");
        gcut_step_free(two[0]), gcut_step_free(two[1]);
        free(block), free(larger);
        /* Whole steps, and forward graphs, have none. */
        o.apart = false;
        s = gcut_compile(g, &o);
        assert_int_equal(gcut_saved_bytes(s), 0);
        REFUSED(gcut_run_backward(s), "has no backward call of its own");
        char line[128] __attribute__((aligned(64)));
        REFUSED(gcut_bind_saved(s, line, 64), "has no block of saved values");
        gcut_step_free(s);
        o.apart = o.forward_only = true;
        s = gcut_compile(g, &o);
        assert_non_null(s);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        REFUSED(gcut_run_backward(s), "has no backward call of its own");
        gcut_step_free(s);
    }
    assert_int_equal(gcut_run_backward(NULL), GCUT_EUSAGE);
    assert_int_equal(gcut_bind_saved(NULL, NULL, 0), GCUT_EUSAGE);
    assert_int_equal(gcut_saved_bytes(NULL), -1);
    gcut_ctx_free(ctx);
}

/* A block that was filled before an update is of parameters that are gone. */
static void updates(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, models[4].text);
    for (int backend = 0; backend < 4; backend++) {
        gcut_options o = {.backend = (gcut_backend)backend, .unbound = GCUT_UNBOUND_RANDOM, .apart = true};
        for (int trained = 0; trained < 2; trained++) {
            o.optimizer = trained ? "sgd(lr=0.1)" : NULL;
            gcut_step *s = gcut_compile(g, &o);
            const size_t n = (size_t)gcut_saved_bytes(s);
            char *block[2] = {aligned_alloc(64, n), aligned_alloc(64, n)};
            for (int b = 0; b < 2; b++) {
                assert_int_equal(gcut_bind_saved(s, block[b], n), GCUT_OK);
                assert_int_equal(gcut_run_forward(s), GCUT_OK);
            }
            assert_int_equal(gcut_run_backward(s), GCUT_OK);
            assert_int_equal(gcut_bind_saved(s, block[0], n), GCUT_OK);
            if (trained)
                REFUSED(gcut_run_backward(s), "was filled before parameters or states were updated");
            else
                assert_int_equal(gcut_run_backward(s), GCUT_OK);
            assert_int_equal(gcut_run_forward(s), GCUT_OK);
            assert_int_equal(gcut_run_backward(s), GCUT_OK);
            gcut_step_free(s);
            free(block[0]), free(block[1]);
        }
    }
    gcut_ctx_free(ctx);
}

/* Running statistics serve their own next values alone: several blocks may be outstanding. */
static void running_statistics(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx,
        "func @bn[N in 2..](param %w: f32[6, 3], param %s: f32[3], param %b: f32[3], state %m: f32[3], state "
        "%v: "
        "f32[3], input %x: f32[N, 6] #transient) -> (out y: f32[N, 3] #transient, next m: f32[3], next v: "
        "f32[3]) {\n"
        "  %a = matmul(%x, %w)\n"
        "  %y, %nm, %nv = batch_norm(%a, %s, %b, %m, %v, eps=0.1, momentum=0.5)\n  return %y, %nm, %nv\n}\n");
    for (int backend = 0; backend < 4; backend++) {
        gcut_options o = {.backend = (gcut_backend)backend, .unbound = GCUT_UNBOUND_RANDOM, .apart = true};
        gcut_step *s = gcut_compile(g, &o);
        if (!s || gcut_prepare(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
        const size_t n = (size_t)gcut_saved_bytes(s);
        char *block[2] = {aligned_alloc(64, n), aligned_alloc(64, n)};
        unsigned char *want[2];
        size_t size;
        for (int b = 0; b < 2; b++) {
            draw(s, b);
            memset(gcut_slot_find(s, "m")->at, 0, 12), memset(gcut_slot_find(s, "v")->at, 0, 12);
            must_run(ctx, s);
            want[b] = bytes_of(s, GCUT_ROLE_grad, &size);
        }
        for (int b = 0; b < 2; b++) {
            draw(s, b);
            assert_int_equal(gcut_bind_saved(s, block[b], n), GCUT_OK);
            assert_int_equal(gcut_run_forward(s), GCUT_OK);
        }
        for (int b = 0; b < 2; b++) {
            draw(s, b);
            assert_int_equal(gcut_bind_saved(s, block[b], n), GCUT_OK);
            if (gcut_run_backward(s) != GCUT_OK) fail_msg("backend %d: %s", backend, gcut_last_error(ctx));
            assert_bytes(want[b], s, GCUT_ROLE_grad, "running statistics");
            free(want[b]), free(block[b]);
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* A value that two results have is kept if neither is transient: the plan and the block say the same. */
static void returned_twice(void **state)
{
    (void)state;
    static const char *const marks[] = {"", "#transient"};
    gcut_ctx *ctx = new_ctx();
    for (int k = 0; k < 8; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "func @f(param %%w: f32[32], input %%x: f32[32] %s) -> (out p: f32[32] %s, out q: f32[32] "
                 "%s, out z: "
                 "f32[32]) {\n  %%h = exp(%%x)\n  %%y = mul(%%h, %%w)\n  return %%h, %%h, %%y\n}\n",
                 marks[k & 1], marks[k >> 1 & 1], marks[k >> 2]);
        gcut_options o = {.apart = true, .policy = "save-all", .unbound = GCUT_UNBOUND_RANDOM};
        gcut_graph *g = graph_from(ctx, text);
        gcut_plan *p = gcut_plan_new(g, &o);
        assert_non_null(p);
        gcut_step *s = gcut_compile(g, &o);
        const gcut_plan_info *i = gcut_plan_look(p);
        assert_int_equal(i->saved_bytes, k >> 1 ? 128 : 0);
        assert_int_equal(gcut_saved_bytes(s), 64 + i->saved_bytes);
        must_run(ctx, s);
        gcut_step_free(s);
        gcut_plan_free(p);
    }
    gcut_ctx_free(ctx);
}

/* Each call asks for what it reads, and for no more. */
static void asked_for_by_each_call(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g =
        graph_from(ctx, "func @f[N in 1..](param %w: f32[N], input %x: f32[N], input %t: f32[N] #late, "
                        "cotan %dy: f32[N]) -> (out y: f32[N], grad w: f32[N]) {\n"
                        "  %y = mul(%x, %w)\n  %a = mul(%dy, %x)\n  %b = mul(%a, %t)\n  return %y, %b\n}\n");
    float x[4] = {1, 2, 3, 4}, w[4] = {2, 2, 2, 2}, t[4] = {1, 0, 1, 2}, dy[4] = {5, 6, 7, 8};
    for (int backend = 0; backend < 4; backend++) {
        gcut_options o = {.backend = (gcut_backend)backend, .apart = true};
        gcut_step *s = gcut_compile(g, &o);
        if (!s) fail_msg("%s", gcut_last_error(ctx));
        assert_int_equal(gcut_bind(s, "w", w, 4), GCUT_OK);
        REFUSED(gcut_run_forward(s), "the input 'x' f32[N] was given no values");
        assert_int_equal(gcut_bind_input(s, "x", x, 4), GCUT_OK);
        gcut_clear_errors(ctx);
        assert_int_equal(gcut_run_forward(s), GCUT_OK);
        REFUSED(gcut_run_backward(s), "the input 't' f32[N] was given no values");
        assert_int_equal(gcut_bind_input(s, "t", t, 4), GCUT_OK);
        REFUSED(gcut_run_backward(s), "the cotangent 'dy' f32[N] was given no values");
        assert_int_equal(gcut_bind_input(s, "dy", dy, 4), GCUT_OK);
        gcut_clear_errors(ctx);
        if (gcut_run_backward(s) != GCUT_OK) fail_msg("backend %d: %s", backend, gcut_last_error(ctx));
        const float *dw = gcut_step_value(s, "grad.w")->at;
        for (int i = 0; i < 4; i++) assert_float_equal(dw[i], x[i] * dy[i] * t[i], 0);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_blocks),
        cmocka_unit_test(memory_of_calls),
        cmocka_unit_test(misuse),
        cmocka_unit_test(updates),
        cmocka_unit_test(running_statistics),
        cmocka_unit_test(returned_twice),
        cmocka_unit_test(asked_for_by_each_call),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
