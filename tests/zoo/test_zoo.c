/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every model of the zoo and of the bench as whole training steps on every kind of processor: losses,
 * gradients, and parameters after two steps of AdamW.
 *
 *   test_zoo [base|avx2|native [MODEL]]
 *
 * Steps are linked with the run-time library of a lesser processor, whose caches hold next to nothing, and
 * compiled for it; `native` is this one. They agree with the interpreter in f64, and among themselves to the
 * last bit for 1, 2 and 3 threads and for plans that save much or little.  Sizes are such that there is work
 * for several threads, and that products in blocks, Winograd's convolutions and panels of attention are all
 * reached.
 */
#define _GNU_SOURCE
#include "nightly.h"
#include "runs.h"

#include "models/models.h"

/* eps is far above rounding: a gradient that is 0 but for that moves nothing. */
#define ADAMW "adamw(lr=1e-2, eps=1e-2, weight_decay=0.01)"

typedef struct zoo_case {
    const char *name, *size; /* size NULL: a file of bench/models */
    int64_t n, t;            /* the symbols N and T; t 0: there is no T */
    bool interpreted;        /* small enough for it; otherwise for this processor alone, too */
} zoo_case;

static const zoo_case cases[] = {
    {"mlp", "tiny", 3, 0, true},
    {"mlp", "784-500-10", 37, 0, true},
    {"autoencoder", "tiny", 50, 0, true},
    {"vae", "tiny", 50, 0, true},
    {"lenet", "tiny", 40, 0, true},
    {"lenet", "28", 5, 0, true},
    {"resnet", "tiny", 6, 0, true},
    {"mobilenet", "tiny", 6, 0, true},
    {"unet", "tiny", 5, 0, true},
    {"vit", "tiny", 9, 0, true},
    {"gpt2", "tiny", 9, 13, true},
    {"bert", "tiny", 9, 13, true},
    {"llama", "tiny", 9, 13, true},
    {"rnn", "tiny", 9, 13, true},
    {"lstm", "tiny", 9, 13, true},
    {"lstm", "characters", 7, 3, true},
    {"cnn", NULL, 7, 0, true},
    {"chain", NULL, 20011, 0, true},
    {"resnet", "18-cifar", 1, 0, false},
    {"gpt2", "6x384", 1, 129, false},
};

/* ---- processors ---- */

typedef struct processor {
    const char *name, *library, *flags, *blis;
} processor;

/* In a build for the thread sanitizer the emitted code has it too. */
#ifndef SANITIZED
#define SANITIZED ""
#endif
/* The C compiler takes most of the time, and its optimiser is not the matter here. */
#define FLAGS "-O1 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv" SANITIZED

static const processor processors[] = {
    {"native", NULL, STEP_FLAGS " -O0" SANITIZED, NULL},
#ifdef __x86_64__
    {"avx2", RT_AVX2, FLAGS " -march=x86-64-v3", "haswell"},
    {"base", RT_BASE, FLAGS " -march=x86-64", "generic"},
#endif
};

static bool can_run(const processor *p)
{
#ifdef __x86_64__
    if (!strcmp(p->name, "avx2"))
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
#endif
    (void)p;
    return true;
}

static void set(const char *variable, const char *to)
{
    if (to) setenv(variable, to, 1);
}

/* Each step has a run-time library and a BLIS of its own, which ask when it first multiplies. */
static void become(const processor *p)
{
    set("GRADCUT_RT_LIBRARY", p->library);
    set("GRADCUT_STEP_FLAGS", p->flags);
    set("BLIS_ARCH_TYPE", p->blis);
    set("GRADCUT_STREAM_BYTES", p->library ? "256" : NULL);
}

/* ---- a model ---- */

static gcut_graph *load(gcut_ctx *ctx, const zoo_case *z)
{
    int64_t parameters;
    char path[512];
    const model *m = model_find(z->name);
    if (z->size) return model_graph(m, model_size(m, z->size), GCUT_F32, ctx, &parameters);
    snprintf(path, sizeof path, "%s/bench/models/%s.gcut", GCUT_SOURCE_DIR, z->name);
    return gcut_load(ctx, path, NULL);
}

/* Two steps, the second of which begins with what the first one left. */
static bool train(run_case *c, gcut_step *s, outcome *o)
{
    for (int k = 0; s && k < 2; k++)
        if (!CHECK(c, gcut_run(s) == GCUT_OK, "step %d does not run", k)) return false;
    if (s) collect(s, o);
    gcut_step_free(s);
    return s != NULL;
}

static const char *only = "native", *only_model; /* a processor by name; a model, NULL: all */

static bool is_native(void)
{
    return !strcmp(only, "native");
}

/* The second way is left out on lesser processors: what threads share does not depend on vectors.  So is, but
 * for the nightly run, the third, but for one model of three. */
static void compiled(run_case *c, const zoo_case *z, const outcome *stated, const outcome *want)
{
    static const struct {
        const char *label, *policy;
        int threads;
    } ways[] = {{"compiled, 1 thread", "mincut", 1},
                {"compiled, 2 threads", "mincut", 2},
                {"compiled, 3 threads, recompute-all", "recompute-all", 3}};
    static outcome first, got;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        outcome *o = k ? &got : &first;
        if (k == 1 && !is_native()) continue;
        if (k == 2 && !is_native() && (z - cases) % 3 && !nightly()) continue;
        if (!train(c, compile(c, GCUT_BACKEND_COMPILED, ways[k].policy, ways[k].threads, false, ADAMW), o))
            break;
        if (z->interpreted) compare(c, ways[k].label, z->n, o, stated, want);
        if (k) same_bits(c, ways[k].label, z->n, o, &first);
    }
    forget(&first);
    forget(&got);
}

static int try_model(const zoo_case *z)
{
    static outcome want, stated;
    char what[64];
    snprintf(what, sizeof what, "%s %s", z->name, z->size ? z->size : "of the bench");
    run_case c = {
        .what = what, .ctx = gcut_ctx_new(NULL), .seed = 3, .nat = z->t ? 2 : 1, .unrefined = !is_native()};
    c.at[0] = (gcut_size){"N", z->n};
    c.at[1] = (gcut_size){"T", z->t};
    c.g = load(c.ctx, z);
    if (CHECK(&c, c.g, "not built")) {
        if (z->interpreted) {
            train(&c, compile(&c, GCUT_BACKEND_EAGER, "mincut", 1, true, ADAMW), &want);
            train(&c, compile(&c, GCUT_BACKEND_EAGER, "mincut", 1, false, ADAMW), &stated);
        }
        if (c.nwrong == 0) compiled(&c, z, &stated, &want);
    }
    forget(&want);
    forget(&stated);
    gcut_ctx_free(c.ctx);
    return c.nwrong;
}

static void steps_agree(void **state)
{
    (void)state;
    int bad = 0, found = 0;
    for (size_t p = 0; p < sizeof processors / sizeof *processors; p++) {
        if (strcmp(processors[p].name, only) != 0) continue;
        if (!can_run(&processors[p])) skip();
        found++;
        become(&processors[p]);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (in_turn(i, 3) && (cases[i].interpreted || is_native()) &&
                (!only_model || !strcmp(cases[i].name, only_model)))
                bad += try_model(&cases[i]) != 0;
    }
    assert_int_equal(found, 1);
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_agree)};
    if (argc > 1) only = argv[1];
    if (argc > 2) only_model = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
