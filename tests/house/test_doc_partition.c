/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The numbers in doc/partition.md, doc/plans.md and doc/machine.md: each example is planned here, and what comes
 * out must be in the pages letter for letter, its graph too, except for the peak, which is not the partition's to
 * decide.  When one is not, the message is what the page should say; with GCUT_BLESS it is made to say so.
 */
#include "harness.h"

#include <unistd.h>

#include "base/file.h"
#include "gradcut/fit.h"
#include "gradcut/gradcut.h"
#include "partition/cut/decisions.h"
#include "public.h"

static const char cos_of_cos[] = "gcut 1\n"
                                 "func @cc[N in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
                                 "  %a = cos(%x)\n"
                                 "  %b = cos(%a)\n"
                                 "  %loss = sum(%b)\n"
                                 "  return %loss\n"
                                 "}\n";

static const char six[] =
    "gcut 1\n"
    "func @six[N in 1..](param %w: f32[256, 256], input %x: f32[N, 256]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n"
    "  %a = tanh(%h)\n"
    "  %b = mul(%a, %a)\n"
    "  %c = relu(%b)\n"
    "  %d = exp(%c)\n"
    "  %loss = sum(%d)\n"
    "  return %loss\n"
    "}\n";

static const char drop[] = "gcut 1\n"
                           "func @drop[N in 1..](param %w: f32[256, 256], input %x: f32[N, 256], rng %k: "
                           "i64[]) -> (out loss: f32[]) {\n"
                           "  %h = matmul(%x, %w)\n"
                           "  %d = dropout(%h, %k, p=0.1)\n"
                           "  %g = gelu(%d)\n"
                           "  %s = mul(%g, %g)\n"
                           "  %loss = mean(%s, axes=[0, 1])\n"
                           "  return %loss\n"
                           "}\n";

typedef struct example {
    const char *name, *graph;
    int64_t n; /* of N */
    const char *policy;
    double lambda;
    const char *save;
    bool table; /* the prices of all values are in the page too */
    const char *save_dtype;
    bool refined; /* else --without refine: the plan of the cut */
} example;

static const example examples[] = {
    {"cc", cos_of_cos, 1000000, "mincut", 0.05, NULL, true, NULL, false},
    {"cc", cos_of_cos, 1000000, "mincut", 0.05, "a", false, NULL, false},
    {"six", six, 1024, "mincut", 0.05, NULL, true, NULL, false},
    {"six", six, 1024, "mincut", 1, NULL, false, NULL, false},
    {"six", six, 1024, "save-all", 0.05, NULL, false, NULL, false},
    {"cc", cos_of_cos, 1000000, "mincut", 0.05, NULL, false, NULL, true},
    {"drop", drop, 1024, "mincut", 0.05, NULL, false, "bf16", false},
};

typedef enum page_name { PARTITION, PLANS, MACHINE, NPAGES } page_name;
static const char *const page_path[NPAGES] = {
    GCUT_SOURCE_DIR "/doc/partition.md", GCUT_SOURCE_DIR "/doc/plans.md", GCUT_SOURCE_DIR "/doc/machine.md"};

typedef struct world {
    gcut_env *env;
    const char *page[NPAGES];
    size_t plans; /* where in PARTITION the plans begin that have not been looked for */
    char folder[40];
} world;

static void must_say(const world *w, page_name p, const char *text)
{
    if (!strstr(w->page[p], text)) fail_msg("%s does not say:\n%s", page_path[p], text);
}

/* From `start` on, the first one after `at`, up to `end`.  Returns where that is, after the text. */
static size_t must_say_there(world *w, page_name p, size_t at, const char *start, const char *end,
                             const char *text)
{
    const char *page = w->page[p], *from = strstr(page + at, start), *to = from ? strstr(from, end) : NULL;
    if (!to) fail_msg("%s has no place for:\n%s", page_path[p], text);
    size_t n = (size_t)(to - from), first = (size_t)(from - page);
    if (n != strlen(text) || memcmp(from, text, n) != 0) {
        if (!getenv("GCUT_BLESS"))
            fail_msg("%s says\n%.*s\nand should say\n%s", page_path[p], (int)n, from, text);
        w->page[p] = gcut_printf(w->env->arena, "%.*s%s%s", (int)first, page, text, to);
        gcut_file_write(w->env, page_path[p], w->page[p], strlen(w->page[p]));
    }
    return first + strlen(text);
}

/* Without the lines of the peak and of the step's time. */
static const char *without_peak(gcut_arena *a, const char *said)
{
    const char *peak = strstr(said, "peak: "), *step = peak ? strstr(peak, "\nstep: ") : NULL,
               *rest = step ? strchr(step + 1, '\n') : NULL;
    if (!rest) fail_msg("no peak and step in\n%s", said);
    return gcut_printf(a, "%.*s%s", (int)(peak - said), said, rest + 1);
}

static const char *price(gcut_arena *a, double ns)
{
    return isinf(ns) ? "never" : gcut_printf(a, "%.0f", ns);
}

/* One line per value that the forward graph could make. */
static void must_say_prices(world *w, const gcut_plan *plan)
{
    static const char *const side[] = {"forward", "either", "backward"};
    static const char *const decision[] = {"saved", "recomputed", "free", "unused", "backward"};
    gcut_arena *a = w->env->arena;
    gcut_text t = {.arena = a};
    for (gcut_ref v = 1; v < plan->joint->values.n; v++) {
        const gcut_decision *d = &plan->value[v];
        if (d->side == GCUT_SIDE_BACKWARD) continue;
        gcut_text_add(&t, "| `%%%s` | %s | %lld | %s | %s | %s |\n", plan->joint->values.at[v].name,
                      side[d->side], (long long)d->bytes, price(a, d->save_ns), price(a, d->recompute_ns),
                      decision[d->decision]);
    }
    assert_non_null(t.at);
    static const char head[] =
        "| value | where | bytes | save, ns | recompute, ns | decision |\n|---|---|---|---|---|---|\n";
    w->plans = must_say_there(w, PARTITION, w->plans, head, "\n\n",
                              gcut_printf(a, "%s%.*s", head, (int)strlen(t.at) - 1, t.at));
}

/* Reasons, but for the whole step's, and lines of the plan file. */
static void must_say_why(world *w, gcut_graph *g, const gcut_options *o, const gcut_plan *plan)
{
    const gcut_explanation *e = gcut_explain(g, o, "a");
    const char *why = e ? e->text : NULL, *last = why ? strstr(why, "\nif recomputed") : NULL;
    assert_non_null(last);
    must_say_there(w, PLANS, 0, "%a: saved, ", "```",
                   gcut_printf(w->env->arena, "%.*s", (int)(last + 1 - why), why));
    const gcut_cost_explanation *cost = gcut_explain_cost(g, o, "a");
    assert_non_null(cost);
    must_say_there(w, MACHINE, 0, "%a: tanh, ", "```", cost->text);
    const char *json = gcut_plan_json(plan);
    assert_non_null(json);
    for (const char *v = "ab"; *v; v++) {
        const char *start = gcut_printf(w->env->arena, "{\"value\":\"%c\"", *v), *line = strstr(json, start);
        assert_non_null(line);
        must_say_there(w, PLANS, 0, start, "\n",
                       gcut_printf(w->env->arena, "%.*s", (int)(strchr(line, '}') + 1 - line), line));
    }
}

static void plan_example(world *w, const example *e)
{
    gcut_arena *a = w->env->arena;
    const char *path = gcut_printf(a, "%s/%s.gcut", w->folder, e->name);
    gcut_file_write(w->env, path, e->graph, strlen(e->graph));
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", e->n};
    gcut_options o = TEST_OPTIONS;
    o.policy = e->policy;
    o.lambda = e->lambda;
    o.at = &at;
    o.nat = 1;
    o.threads = 2;
    o.save_dtype = e->save_dtype;
    if (e->save) o.save = &e->save, o.nsave = 1;
    if (!e->refined) o.without = refine_pass, o.nwithout = 1;
    gcut_graph *g = gcut_load(ctx, path, NULL);
    const gcut_plan *plan = g ? gcut_plan_new(g, &o) : NULL;
    if (!plan) fail_msg("%s: %s", e->name, gcut_last_error(ctx));
    char *said = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&said, &n);
    print_text(f, gcut_plan_text(plan, NULL));
    fclose(f);
    must_say(w, PARTITION, e->graph);
    if (e->table) must_say_prices(w, plan);
    w->plans = must_say_there(w, PARTITION, w->plans, "plan of @", "```", without_peak(a, said));
    if (e->table && !strcmp(e->name, "six")) must_say_why(w, g, &o, plan);
    free(said);
    gcut_ctx_free(ctx);
    unlink(path);
}

/* What `fit` says before its table. */
static void fit_example(void *arg)
{
    world *w = arg;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.budget = 8 << 20;
    o.threads = 2;
    gcut_graph *g = gcut_parse(ctx, six, GCUT_TO_NUL, "six.gcut", NULL);
    const gcut_fitted *f = g ? gcut_fit(g, &o, NULL) : NULL;
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    const char *table = strstr(f->text, "\n\n");
    assert_non_null(table);
    must_say_there(w, PLANS, 0, "@six, 2 threads: the largest", "```",
                   gcut_printf(w->env->arena, "%.*s", (int)(table + 1 - f->text), f->text));
    gcut_ctx_free(ctx);
}

static void the_pages_have_the_fit(void **state)
{
    world *w = *state;
    must(w->env, fit_example, w);
}

static void every_example(void *arg)
{
    world *w = arg;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) plan_example(w, &examples[i]);
}

static void the_pages_have_the_plans(void **state)
{
    world *w = *state;
    must(w->env, every_example, w);
}

/* A row of two cells. */
static void must_have_row(world *w, const char *what, const char *price)
{
    const char *start = gcut_printf(w->env->arena, "| %s |", what);
    must_say_there(w, MACHINE, 0, start, "\n", gcut_printf(w->env->arena, "%s %s |", start, price));
}

static void machine(void *arg)
{
    world *w = arg;
    gcut_arena *a = w->env->arena;
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 0);
    double flops = 2.0 * 256 * 1024 * 1024;
    must_have_row(w, "read from memory",
                  gcut_printf(a, "1/%.1f ns per byte", 1 / m.read_ns_per_byte[GCUT_DRAM]));
    must_have_row(w, "write to memory",
                  gcut_printf(a, "1/%.1f ns per byte", 1 / m.write_ns_per_byte[GCUT_DRAM]));
    must_have_row(w, "read from L3", gcut_printf(a, "1/%.1f ns per byte", 1 / m.read_ns_per_byte[GCUT_L3]));
    must_have_row(w, "a product of 256 x 1024 over 1024",
                  gcut_printf(a, "1/%.1f ns per flop", flops / gcut_machine_gemm_ns(&m, 256, 1024, 1024)));
    must_have_row(w, "one more kernel", gcut_printf(a, "%.0f ns", m.kernel_ns));
    must_have_row(w, "cos",
                  gcut_printf(a, "%.0f ps", 1000 * gcut_machine_op_ns(&m, GCUT_OP_cos, GCUT_F32, 1)));
    must_have_row(w, "exp",
                  gcut_printf(a, "%.0f ps", 1000 * gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_F32, 1)));
}

static void the_pages_have_the_machine(void **state)
{
    world *w = *state;
    must(w->env, machine, w);
}

static void read_pages(void *arg)
{
    world *w = arg;
    for (page_name p = 0; p < NPAGES; p++)
        w->page[p] = gcut_file_read(w->env->arena, page_path[p], 1 << 20, NULL);
}

static int setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    *state = w;
    if (!w) return -1;
    w->env = gcut_env_new(NULL, NULL);
    strcpy(w->folder, "/tmp/gradcut-plan-XXXXXX");
    return w->env && mkdtemp(w->folder) && gcut_protect(w->env, read_pages, w) == GCUT_OK ? 0 : -1;
}

static int teardown(void **state)
{
    world *w = *state;
    rmdir(w->folder);
    gcut_env_free(w->env);
    free(w);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pages_have_the_plans, setup, teardown),
        cmocka_unit_test_setup_teardown(the_pages_have_the_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(the_pages_have_the_machine, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
