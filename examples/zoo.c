/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains any model of models/:
 *
 *   zoo MODEL [options]        zoo --list        zoo --help
 *
 * The losses it prints are a function of the options, for any number of threads.
 */
#include <string.h>
#include <time.h>

#include "die.h"
#include "models/models.h"
#include "options.h"

typedef struct settings {
    const char *model, *size, *dtype, *data, *optimizer, *policy, *backend, *dump;
    int64_t steps, batch, length, threads, every, seed;
    double rate, lambda;
    bool vary, tiny, list, plan, options, check, help;
} settings;

static const option options[] = {
#define AT(field) offsetof(settings, field)
    {"--list", FLAG, AT(list), 0, "names, papers and sizes of the models"},
    {"--size", WORD, AT(size), 0, "one of the sizes that --list shows (the first)"},
    {"--tiny", FLAG, AT(tiny), 0, "the size of the tests"},
    {"--dtype", WORD, AT(dtype), 0, "of parameters and activations: f32, f64, bf16, f16 (f32)"},
    {"--steps", WHOLE, AT(steps), 0, "training steps (20)"},
    {"--batch", WHOLE, AT(batch), 1, "examples per step"},
    {"--length", WHOLE, AT(length), 1, "tokens per example, of models of sequences"},
    {"--vary", FLAG, AT(vary), 0,
     "every step has a length of its own, up to --length; one compile serves all"},
    {"--data", WORD, AT(data), 0, "a text file, for language models of at least 256 tokens"},
    {"--optimizer", WORD, AT(optimizer), 0, "sgd, momentum or adamw"},
    {"--lr", REAL, AT(rate), 0, "learning rate (by model and size)"},
    {"--seed", WHOLE, AT(seed), 0, "of the data (1)"},
    {"--every", WHOLE, AT(every), 1, "steps per line of output (1 to 20 lines in all)"},
    {"--threads", WHOLE, AT(threads), 0, "0: OMP_NUM_THREADS, else every core (0)"},
    {"--policy", WORD, AT(policy), 0, "what to save: " GCUT_POLICIES " (mincut)"},
    {"--lambda", REAL, AT(lambda), 0, "price of a saved byte in ns (0.05)"},
    {"--backend", WORD, AT(backend), 0, "eager, joint, planned, compiled (compiled)"},
    {"--dump", WORD, AT(dump), 0, "write the graph as text to this file, then stop"},
    {"--plan", FLAG, AT(plan), 0, "print the plan and the table of saved tensors, then stop"},
    {"--options", FLAG, AT(options), 0, "print the options of `gradcut compile` for this step, then stop"},
    {"--check", FLAG, AT(check), 0, "exit with 1 unless the loss falls and the peak is the predicted one"},
    {"--help", FLAG, AT(help), 0, "this"},
#undef AT
};

typedef struct run {
    settings s;
    const model *model;
    int size;
    int64_t parameters;
    gcut_ctx *ctx;
    gcut_graph *graph;
    gcut_size at[2]; /* N, and T if there is one */
    gcut_options opt;
    char optimizer[96];
    text text;
    data data;
    gcut_step *step;
    int32_t *tokens[3]; /* --vary: memory for the inputs, of the longest sequence */
    double *ns;         /* of every step */
    double first, last; /* mean losses of the first and last tenth of the steps */
} run;

static void ok(const run *r, bool good)
{
    if (!good) die("%s", gcut_last_error(r->ctx));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- options ---- */

static gcut_dtype dtype_of(const char *name)
{
    static const struct {
        const char *name;
        gcut_dtype dtype;
    } all[] = {{"f32", GCUT_F32}, {"f64", GCUT_F64}, {"bf16", GCUT_BF16}, {"f16", GCUT_F16}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return all[i].dtype;
    die("--dtype: one of f32, f64, bf16, f16, not %s", name);
}

static void list(void)
{
    for (size_t i = 0; i < nmodels; i++) {
        const model *m = &models[i];
        printf("%-12s  %-28s ", m->name, m->paper);
        for (int k = 0; k < MAX_SIZES && m->sizes[k]; k++) printf(" %s", m->sizes[k]);
        putchar('\n');
    }
}

static void complete(run *r)
{
    settings *s = &r->s;
    if (!s->model) die("zoo: which model? see --list and --help");
    r->model = model_find(s->model);
    if (!r->model) die("zoo: no model is called %s; see --list", s->model);
    if (s->tiny) s->size = "tiny";
    r->size = s->size ? model_size(r->model, s->size) : 0;
    if (r->size < 0) die("zoo: %s has no size %s; see --list", s->model, s->size);
    if ((s->length || s->vary) && !r->model->length) die("zoo: %s has no length", s->model);
    if (!s->batch) s->batch = s->tiny ? 4 : r->model->batch;
    if (!s->length) s->length = s->tiny && r->model->length ? 8 : r->model->length;
    if (!s->optimizer) s->optimizer = r->model->optimizer;
    if (s->rate < 0) /* wide models take smaller steps */
        s->rate = s->tiny ? 1e-2 : r->size ? 0.1 * r->model->rate : r->model->rate;
    if (!s->every) s->every = (s->steps + 19) / 20 > 0 ? (s->steps + 19) / 20 : 1;
}

/* ---- preparing ---- */

static void dump(const run *r)
{
    const char *ir = gcut_show(r->graph, NULL, GCUT_STAGE_PRIMAL, false);
    ok(r, ir != NULL);
    FILE *f = fopen(r->s.dump, "w");
    if (!f) die("%s: cannot be written", r->s.dump);
    fputs(ir, f);
    if (fclose(f)) die("%s: could not be written completely", r->s.dump);
}

static void set_options(run *r)
{
    const settings *s = &r->s;
    r->at[0] = (gcut_size){"N", s->batch};
    r->at[1] = (gcut_size){"T", s->length};
    snprintf(r->optimizer, sizeof r->optimizer, "%s(lr=%.9g)", s->optimizer, s->rate);
    r->opt = (gcut_options){0};
    r->opt.backend = backend_of(s->backend);
    r->opt.policy = s->policy;
    r->opt.lambda = s->lambda;
    r->opt.threads = (int)s->threads;
    r->opt.optimizer = r->optimizer;
    r->opt.at = r->at;
    r->opt.nat = r->model->length ? 2 : 1;
}

static void print_plan(const run *r)
{
    gcut_plan *plan = gcut_plan_new(r->graph, &r->opt);
    ok(r, plan != NULL);
    char *totals = gcut_plan_text(plan, false), *saved = gcut_plan_saved_text(plan, NULL);
    ok(r, totals && saved);
    fputs(totals, stdout);
    fputs(saved, stdout);
    printf("predicted peak: %lld bytes\n", (long long)gcut_plan_look(plan)->peak_bytes);
    gcut_free(totals);
    gcut_free(saved);
    gcut_plan_free(plan);
}

static void print_options(const run *r)
{
    for (size_t i = 0; i < r->opt.nat; i++) printf("--at %s=%lld ", r->at[i].name, (long long)r->at[i].value);
    printf("--policy %s --lambda %.9g --optimizer %s\n", r->opt.policy, r->opt.lambda, r->optimizer);
}

/* The memory is the step's: inputs are written where it keeps them. */
static void make_step(run *r)
{
    double start = now();
    r->step = gcut_compile(r->graph, &r->opt);
    ok(r, r->step != NULL);
    const gcut_plan_info *plan = gcut_plan_look(gcut_step_plan(r->step));
    ok(r, plan != NULL);
    printf("%s in %.1f s, %lld bytes are saved for the backward graph\n", r->s.backend, now() - start,
           (long long)plan->saved_bytes);
    ok(r, gcut_prepare(r->step) == GCUT_OK);
}

/* ---- training ---- */

static bool has_value(gcut_step *step, const char *name)
{
    for (size_t i = 0; i < gcut_step_value_count(step); i++)
        if (!strcmp(gcut_step_value_at(step, i)->name, name)) return true;
    return false;
}

/* Binding inputs of another length is all that another length takes. */
static void set_length(run *r, int64_t length)
{
    static const char *const names[] = {"ids", "labels", "segments"};
    for (int k = 0; k < 3; k++) {
        if (!has_value(r->step, names[k])) continue;
        if (!r->tokens[k]) r->tokens[k] = calloc((size_t)(r->s.batch * r->s.length), sizeof(int32_t));
        if (!r->tokens[k]) die("out of memory");
        ok(r, gcut_bind(r->step, names[k], r->tokens[k], r->s.batch, length) == GCUT_OK);
    }
    ok(r, gcut_prepare(r->step) == GCUT_OK);
}

/* Keys of random ops differ from step to step. */
static void turn_keys(const run *r, int64_t i)
{
    for (size_t k = 0; k < gcut_step_value_count(r->step); k++) {
        gcut_value_info v = *gcut_step_value_at(r->step, k);
        if (!strcmp(v.role, "rng")) *(int64_t *)v.at = r->s.seed + i;
    }
}

static double loss_of(const run *r)
{
    const gcut_value_info *v = gcut_step_value(r->step, "loss");
    if (!v) die("the model has no loss");
    return v->dtype == GCUT_F64 ? *(double *)v->at : (double)*(float *)v->at;
}

static bool print_memory(const run *r)
{
    gcut_stats m = *gcut_step_stats(r->step);
    printf("peak: predicted %lld, measured %lld bytes (%.1f MiB); %d threads\n", (long long)m.predicted_bytes,
           (long long)m.peak_bytes, (double)m.peak_bytes / (1 << 20), m.threads);
    return r->opt.backend != GCUT_BACKEND_COMPILED || m.predicted_bytes == m.peak_bytes;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summary(run *r)
{
    int64_t n = r->s.steps;
    if (n == 0) return;
    qsort(r->ns, (size_t)n, sizeof *r->ns, ascending);
    printf("loss %.4f to %.4f; %.1f ms per step (median), %.1f (best)\n", r->first, r->last,
           1e-6 * r->ns[n / 2], 1e-6 * r->ns[0]);
}

static bool train(run *r)
{
    const settings *s = &r->s;
    int64_t part = (s->steps + 9) / 10;
    bool exact = true;
    r->ns = calloc((size_t)s->steps + 1, sizeof *r->ns);
    if (!r->ns) die("out of memory");
    for (int64_t i = 0; i < s->steps; i++) {
        if (s->vary) set_length(r, i ? 1 + rng_below(&r->data.random, s->length) : s->length);
        r->model->fill(&r->data, r->step);
        turn_keys(r, i);
        double start = now();
        ok(r, gcut_run(r->step) == GCUT_OK);
        r->ns[i] = 1e9 * (now() - start);
        if (i < part) r->first += loss_of(r) / (double)part;
        if (i >= s->steps - part) r->last += loss_of(r) / (double)part;
        if (i == 0) exact = print_memory(r);
        if (i % s->every == 0 || i == s->steps - 1)
            printf("step %5lld  loss %8.4f  %8.1f ms\n", (long long)i, loss_of(r), 1e-6 * r->ns[i]);
        fflush(stdout);
    }
    summary(r);
    return exact && r->last < r->first;
}

int main(int argc, char **argv)
{
    run r = {.s = {.steps = 20,
                   .seed = 1,
                   .rate = -1,
                   .lambda = 0.05,
                   .dtype = "f32",
                   .policy = "mincut",
                   .backend = "compiled"}};
    options_parse(options, sizeof options / sizeof *options, &r.s, &r.s.model, "zoo MODEL [options]", argc,
                  argv);
    if (r.s.list) return list(), 0;
    complete(&r);
    r.ctx = gcut_ctx_new(NULL);
    if (!r.ctx) die("out of memory");
    r.graph = model_graph(r.model, r.size, dtype_of(r.s.dtype), r.ctx, &r.parameters);
    ok(&r, r.graph != NULL);
    if (r.s.dump) return dump(&r), gcut_ctx_free(r.ctx), 0;
    set_options(&r);
    if (r.s.options) return print_options(&r), gcut_ctx_free(r.ctx), 0;
    printf("%s %s: %lld parameters, N = %lld", r.model->name, r.model->sizes[r.size], (long long)r.parameters,
           (long long)r.s.batch);
    printf(r.model->length ? ", T = %lld\n" : "\n", (long long)r.s.length);
    if (r.s.plan) return print_plan(&r), gcut_ctx_free(r.ctx), 0;
    if (r.s.data) r.text = text_load(r.s.data, r.s.length);
    r.data = (data){.random = {(uint64_t)r.s.seed}, .text = r.s.data ? &r.text : NULL};
    make_step(&r);
    bool good = train(&r);
    gcut_ctx_free(r.ctx);
    text_free(&r.text);
    free(r.ns);
    for (int k = 0; k < 3; k++) free(r.tokens[k]);
    return r.s.check && !good;
}
