/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps that come and go: several in one process, unloaded in any order while threads sleep, in a child that
 * was forked between them, and at the end of a process in the middle of a run.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends.h"
#include "public.h"
#include "threads.h"

/* Products in blocks for two threads, beside loops. */
static const char text[] =
    "func @f[N in 1..](input %x: f32[N, 600], param %w: f32[600, 700], param %v: f32[700, 500])"
    " -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n"
    "  %a = tanh(%h)\n"
    "  %y = matmul(%a, %v)\n"
    "  %q = mul(%y, %y)\n"
    "  %loss = mean(%q, axes=[0, 1])\n"
    "  return %loss\n"
    "}\n";

static gcut_step *new_step(gcut_ctx *ctx)
{
    const gcut_size at[] = {{"N", 260}};
    gcut_options o = TEST_OPTIONS;
    o.threads = 2;
    o.at = at;
    o.nat = 1;
    o.seed = 1;
    gcut_step *s = gcut_compile(graph_from(ctx, text), &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    return s;
}

static float loss_of(gcut_ctx *ctx, gcut_step *s)
{
    gcut_value_info v;
    assert_ok(ctx, gcut_run(s));
    assert_true(value_of(s, "loss", &v));
    return *(float *)v.at;
}

static void pass_time(int64_t ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

/* The threads are asleep when the library that they ran goes, and end with it: who has been joined may stay
 * in the list for a moment, and this would never end if one stayed on. */
static void any_order(void **state)
{
    (void)state;
    int before = count_threads(NULL);
#ifdef __SANITIZE_THREAD__
    before++; /* the one that it starts beside the first of ours */
#endif
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_step *a = new_step(ctx), *b = new_step(ctx);
    float want = loss_of(ctx, a);
    for (int k = 0; k < 3; k++) {
        assert_true(loss_of(ctx, b) == want);
        pass_time(2000000);
        gcut_step_free(a);
        assert_true(loss_of(ctx, b) == want);
        a = b;
        b = new_step(ctx);
        assert_true(loss_of(ctx, a) == want);
    }
    gcut_step_free(b);
    gcut_step_free(a); /* the last one */
    alarm(120);
    while (count_threads(NULL) > before) pass_time(1000000);
    alarm(0);
    a = new_step(ctx);
    assert_true(loss_of(ctx, a) == want);
    gcut_ctx_free(ctx);
}

/* A child that hangs is killed. */
static void run_child(void (*body)(void *), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        body(arg);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("the child ended with %x", status);
}

typedef struct two_steps {
    gcut_ctx *ctx;
    gcut_step *a, *b;
    float want;
} two_steps;

static void use_both(void *arg)
{
    two_steps *s = arg;
    bool same = loss_of(s->ctx, s->a) == s->want;
    gcut_step_free(s->a);
    if (!same || loss_of(s->ctx, s->b) != s->want) _exit(1);
    gcut_step_free(s->b);
}

/* Child and parent each have their threads, and unload what they like. */
static void forked(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it ends a child of several threads that makes new ones */
#endif
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    two_steps s = {ctx, new_step(ctx), new_step(ctx), 0};
    run_child(use_both, &(two_steps){ctx, s.a, s.b, (s.want = loss_of(ctx, s.a))});
    assert_true(loss_of(ctx, s.b) == s.want);
    run_child(use_both, &s);
    assert_true(loss_of(ctx, s.a) == s.want);
    gcut_ctx_free(ctx);
}

static _Atomic int runs;

static void *run_for_ever(void *step)
{
    for (;;) {
        gcut_run(step);
        atomic_fetch_add(&runs, 1);
    }
    return NULL;
}

typedef struct departure {
    gcut_step *step;
    int64_t after_ns;
} departure;

static void leave(void *arg)
{
    pthread_t t;
    const departure *d = arg;
    if (pthread_create(&t, NULL, run_for_ever, d->step) != 0) _exit(1);
    while (atomic_load(&runs) < 3) pass_time(1000000);
    pass_time(d->after_ns);
    exit(0);
}

/* What the libraries give back at the end may still be in use. */
static void exit_in_a_run(void **state)
{
    (void)state;
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    skip(); /* the checks at their ends find threads at work */
#endif
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_step *s = new_step(ctx);
    for (int k = 0; k < 20; k++) run_child(leave, &(departure){s, k * 100000});
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order),
        cmocka_unit_test(forked),
        cmocka_unit_test(exit_in_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
