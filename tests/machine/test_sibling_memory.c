/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sibling fusion takes no memory: of the models, of random graphs and of graphs that look as if it would, no program
 * with joined loops has more bytes alive at its fullest step than the program of the same graphs without.
 */
#include "harness.h"

#include "base/file.h"
#include "driver/pipeline/compile.h"
#include "graph_gen.h"
#include "model_files.h"
#include "public.h"
#include "nightly.h"

typedef struct job {
    gcut_env *env;
    const char *path, *text; /* text: forward graphs alone */
    uint64_t seed;
    uint32_t programs, joined; /* joined: those that have fewer kernels */
} job;

/* The most bytes alive in the arena; *kernels: launches. */
static int64_t fullest(const gcut_pipeline *q, const gcut_program *p, gcut_arena *a, int *kernels)
{
    uint32_t steps;
    const int64_t *alive = gcut_program_alive(p, q->at, q->nat, q->threads, a, &steps);
    int64_t most = 0;
    for (uint32_t i = 0; i < steps; i++) most = alive[i] > most ? alive[i] : most;
    gcut_program_launches(p, a, kernels);
    return most;
}

static void check(job *j, const gcut_pipeline *q, gcut_arena *a)
{
    int joined, apart;
    const gcut_program *without =
        gcut_lower(q->kfwd, q->kbwd, q->at, q->nat, q->opt.threads, q->machine, GCUT_LOWER_UNJOINED);
    const int64_t with = fullest(q, q->program, a, &joined), other = fullest(q, without, a, &apart);
    if (with > other)
        fail_msg("%s, seed %llu: %lld bytes alive with joined loops, %lld without", j->path,
                 (unsigned long long)j->seed, (long long)with, (long long)other);
    assert_true(joined <= apart);
    j->programs++;
    j->joined += joined < apart;
}

static gcut_settings settings(const job *j, bool forward)
{
    const gcut_options o = {UNREFINED, .forward_only = forward};
    return gcut_settings_of(j->env, &o, sizeof o);
}

static void lower_file(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    size_t size;
    const char *text = j->text ? j->text : gcut_file_read(a, j->path, 1 << 20, &size);
    gcut_module *m = gcut_parse_module(j->env, a, j->path, text, strlen(text));
    const gcut_settings opt = settings(j, j->text != NULL);
    check(j, gcut_pipeline_new(m->graphs.at[m->graphs.n - 1], &opt, GCUT_STAGE_KERNEL, a), a);
    gcut_arena_free(a);
}

static void models(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env};
    glob_t files = model_files();
    for (size_t i = 0; i < files.gl_pathc; i++) {
        j.path = files.gl_pathv[i];
        must(env, lower_file, &j);
    }
    globfree(&files);
    assert_that(j.joined, >, 0);
    gcut_env_free(env);
}

/* Seeds.  Of the further ones some have a loss that depends on no parameter, and are lowered as they are. */
enum { FIRST = 47000, DIFFERENTIATED = 150 };

static void lower_random(void *arg)
{
    job *j = arg;
    static graph_gen gen;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_graph *g =
        graph_random(&gen, gcut_module_new(j->env, a), "f", j->seed, 4 + (uint32_t)(j->seed % 61), NULL, 0);
    const gcut_settings opt = settings(j, j->seed >= FIRST + DIFFERENTIATED);
    check(j, gcut_pipeline_new(g, &opt, GCUT_STAGE_KERNEL, a), a);
    gcut_arena_free(a);
}

static void random_graphs(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env, .path = "random"};
    const uint64_t n = nightly() ? 4000 : DIFFERENTIATED;
    for (j.seed = FIRST; j.seed < FIRST + n; j.seed++) must(env, lower_random, &j);
    print_message("%u of %u programs have joined loops\n", j.joined, j.programs);
    assert_that(j.joined, >, 0);
    gcut_env_free(env);
}

/* The second loop reads %s and could be joined to the first; its result lies over %s, unless the joined loop reads %s
 * otherwise: for a reduction, as another dtype, for the product before it, or in the body of a loop.  Then: a join
 * after which a product would have an epilogue that it had not before, and a result in the memory of a concat. */
static void look_alikes(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "gcut 1\nfunc @f(input %x: f32[256, 64], input %w: f32[64, 64], input %c: f32[64]) -> "
        "(out m: f32[64], out y: f32[256, 64]) {\n"
        "  %s = matmul(%x, %w)\n  %m = max_reduce(%s, axes=[0])\n"
        "  %b = broadcast(%c, shape=[256, 64], axes=[1])\n  %q = mul(%s, %b)\n"
        "  %y = matmul(%q, %w)\n  return %m, %y\n}\n",
        "gcut 1\nfunc @f(input %x: f32[256, 64], input %w: f32[64, 64], input %c: f32[256, 64]) -> "
        "(out y: f32[256, 64], out z: f32[256, 64]) {\n"
        "  %s = matmul(%x, %w)\n  %p = cast(%s, to=\"bf16\")\n  %p1 = cast(%p, to=\"f32\")\n"
        "  %y = matmul(%p1, %w)\n  %q = mul(%s, %c)\n"
        "  %z0 = matmul(%q, %w)\n  %z1 = matmul(%q, %x, ta=true)\n  %z2 = matmul(%z0, %z1)\n"
        "  return %y, %z2\n}\n",
        "gcut 1\nfunc @f(input %x: f32[64, 64], input %w: f32[64, 64]) -> (out y: f32[64, 64]) {\n"
        "  %s = tanh(%x)\n  %a = matmul(%s, %w)\n  %p = mul(%a, %s)\n  %p1 = matmul(%p, %w)\n"
        "  %p2 = matmul(%p1, %p)\n  %q = sub(%s, %w)\n  %q1 = matmul(%q, %q, ta=true)\n"
        "  %y = matmul(%p2, %q1)\n  return %y\n}\n",
        "gcut 1\nfunc @f(input %x: f32[8, 64, 64], input %w: f32[64, 64], input %c: f32[64, 64]) -> "
        "(out y: f32[64, 64]) {\n"
        "  %k = tanh(%c)\n"
        "  %y = scan(%w, %x, carries=1) body(%h: f32[64, 64], %t: f32[64, 64]) {\n"
        "    %p = mul(%k, %t)\n    %p1 = matmul(%p, %h)\n    %p2 = matmul(%p1, %p)\n"
        "    %q = add(%k, %t)\n    %q1 = matmul(%q, %h)\n    %q2 = matmul(%q1, %q)\n"
        "    %r = add(%p2, %q2)\n    yield %r\n  }\n  return %y\n}\n",
        "gcut 1\nfunc @f(input %y: f32[64, 64], param %w: f32[64, 64], state %s: f32[64, 64]) -> "
        "(out loss: f32[], out o: f32[64, 64]) {\n"
        "  %a = add(%w, %s)\n  %p = matmul(%a, %w)\n  %o = relu(%s)\n  %m = softmax(%y, axis=1)\n"
        "  %q = add(%p, %m)\n  %loss = mean(%q)\n  return %loss, %o\n}\n",
        "gcut 1\nfunc @f(input %x: f32[64, 64], param %c: f32[64]) -> (out loss: f32[]) {\n"
        "  %v = softmax(%x, axis=1)\n"
        "  %s, %t = scan(%v, %v, carries=1) body(%h: f32[64, 64], %r: f32[64]) {\n"
        "    %b = broadcast(%r, shape=[64, 64], axes=[1])\n    %k = mul(%b, %v)\n    %l = tanh(%k)\n"
        "    %n = add(%l, %h)\n    %u = mul(%r, %r)\n    yield %n, %u\n  }\n"
        "  %s2, %t2 = scan(%s, %v, carries=1) body(%h2: f32[64, 64], %r2: f32[64]) {\n"
        "    %b2 = broadcast(%r2, shape=[64, 64], axes=[1])\n    %k2 = mul(%b2, %s)\n    %l2 = tanh(%k2)\n"
        "    %n2 = add(%l2, %h2)\n    %u2 = mul(%r2, %r2)\n    yield %n2, %u2\n  }\n"
        "  %p = relu(%t2)\n  %p1 = concat(%p, %v, axis=1)\n  %d = broadcast(%c, shape=[64, 64], axes=[1])\n"
        "  %q = add(%d, %t2)\n  %q1 = concat(%p1, %q, axis=1)\n  %loss = mean(%q1)\n  return %loss\n}\n",
    };
    gcut_env *env = gcut_env_new(NULL, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        job j = {.env = env, .path = "look-alike", .text = texts[i], .seed = i};
        must(env, lower_file, &j);
    }
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(random_graphs),
                                       cmocka_unit_test(look_alikes)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
