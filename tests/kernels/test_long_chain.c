/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lowering of long chains needs no stack that grows with the graph: a chain of kernels is lowered on a stack that
 * has few bytes for each of them.  Many buffers are placed as the run-time library places them.
 */
#include "harness.h"

#include <pthread.h>

#include "driver/pipeline/compile.h"
#include "machine/lower/lower.h"
#include "machine/lower/memory/best_fit.h"

enum { LENGTH = 20000, STACK_BYTES = 1 << 20 };

/* %y joins the kernel of %a unless a path leads from there to its other operand: the chain is walked whole. */
static void write_chain(gcut_text *out)
{
    gcut_text_add(out, "gcut 1\nfunc @f(param %%x: f32[3]) -> (out loss: f32[]) {\n"
                       "  %%a = exp(%%x)\n  %%v0 = cumsum(%%a, axis=0)\n");
    for (int i = 1; i < LENGTH; i++) gcut_text_add(out, "  %%v%d = cumsum(%%v%d, axis=0)\n", i, i - 1);
    gcut_text_add(out, "  %%y = add(%%a, %%v%d)\n  %%loss = sum(%%y)\n  return %%loss\n}\n", LENGTH - 1);
}

static uint32_t count(const gcut_lowered *h, gcut_kernel_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->order.n; i++) n += h->kernels.at[h->order.at[i]].kind == kind;
    return n;
}

typedef struct job {
    gcut_env *env;
    gcut_status status;
    uint32_t forward_loops, forward_sums, backward_sums;
} job;

static void lower_chain(void *arg)
{
    job *j = arg;
    gcut_env *env = j->env;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_text text = {.arena = a};
    write_chain(&text);
    gcut_module *m = gcut_parse_module(env, a, "chain", text.at, text.n);
    gcut_settings opt = gcut_settings_of(env, NULL, 0);
    gcut_program *p = gcut_pipeline_new(m->graphs.at[0], &opt, GCUT_STAGE_KERNEL, a)->program;
    const gcut_lowered *forward = p->lowered.at[GCUT_FORWARD], *backward = p->lowered.at[GCUT_BACKWARD];
    j->forward_loops = count(forward, GCUT_KERNEL_LOOP);
    j->forward_sums = count(forward, GCUT_KERNEL_CUMSUM);
    j->backward_sums = count(backward, GCUT_KERNEL_CUMSUM);
    gcut_arena_free(a);
}

/* Assertions are left to the thread that cmocka runs. */
static void *lower_in_thread(void *arg)
{
    job *j = arg;
    j->status = gcut_protect(j->env, lower_chain, j);
    return NULL;
}

static void long_chain(void **state)
{
    (void)state;
    job j = {.env = gcut_env_new(NULL, NULL)};
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, lower_in_thread, &j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_int_equal(j.status, GCUT_OK);
    assert_int_equal(j.forward_loops, 2); /* exp; the sum */
    assert_int_equal(j.forward_sums, LENGTH);
    assert_int_equal(j.backward_sums, LENGTH);
    gcut_env_free(j.env);
}

/* ---- many buffers ---- */

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Lowering places many buffers as the run-time library does, which takes longer: short-lived ones among those that
 * live from a step of the forward graph to the mirrored one of the backward graph, and at random. */
static void places_like_the_library(void **state)
{
    enum { MANY = 7000, STEPS = 5000 };
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_arena *a = gcut_arena_new(env, NULL);
    for (int r = 0; r < 6; r++) {
        uint64_t seed = (uint64_t)r;
        gcut_rt_buffer *b = gcut_calloc(a, MANY, sizeof *b), *want = gcut_calloc(a, MANY, sizeof *want);
        for (int i = 0; i < MANY; i++) {
            const int birth = (int)(next_random(&seed) % STEPS), life = (int)(next_random(&seed) % 40);
            const bool saved = r % 3 == 0 ? false : next_random(&seed) % (uint32_t)(r % 3 + 1) == 0;
            const int64_t bytes = r < 3 ? 64 * (next_random(&seed) % 4) : next_random(&seed) % 10000;
            b[i] = (gcut_rt_buffer){.bytes = bytes, .birth = birth, .death = birth + life};
            if (saved && birth < STEPS / 2) b[i].death = STEPS - birth;
            want[i] = b[i];
        }
        assert_int_equal(gcut_place_buffers(a, b, MANY), gcut_rt_place(want, MANY));
        for (int i = 0; i < MANY; i++)
            if (b[i].offset != want[i].offset)
                fail_msg("round %d: buffer %d at %lld, not %lld", r, i, (long long)b[i].offset,
                         (long long)want[i].offset);
    }
    gcut_arena_free(a);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_chain),
                                       cmocka_unit_test(places_like_the_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
