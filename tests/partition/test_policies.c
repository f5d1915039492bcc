/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The policies that the minimum cut is compared with.  Each rule on a graph small enough to work out by hand;
 * PyTorch's rules also against PyTorch's partitioner itself (tests/reference/torch_partition.py), its
 * knapsack against every subset.
 */
#include "harness.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json_read.h"
#include "gradcut/gradcut.h"
#include "models/models.h"
#include "partition/plan.h"
#include "partition/policies/policy_torch.h"
#include "public.h"

typedef struct world {
    gcut_env *env;
} world;

typedef struct planning {
    world *w;
    const char *body, *policy; /* policy NULL: PyTorch's rules of `level` */
    gcut_torch_level level;
    gcut_plan *plan;
} planning;

/* A joint graph over an input, two parameters and a cotangent; its results are for the body to return. */
static const char head[] =
    "gcut 1\nfunc @f(input %x: f32[64, 64], input %ids: i32[64], param %w: f32[64, 64], param %b: "
    "f32[64], rng %key: i64[], cotan %dy: f32[64, 64]) -> ";

static void plan_body(void *arg)
{
    planning *p = arg;
    gcut_arena *a = p->w->env->arena;
    const char *source = gcut_printf(a, "%s%s}\n", head, p->body);
    gcut_module *m = gcut_parse_module(p->w->env, a, "t.gcut", source, strlen(source));
    gcut_plan_options o = {.lambda = 0.05, .machine = gcut_machine_at(gcut_machine_model_shipped(), 0)};
    if (p->policy) {
        assert_true(gcut_policy_read(p->policy, &o));
        p->plan = gcut_plan_make(m->graphs.at[0], &o);
        return;
    }
    gcut_problem *problem = gcut_problem_new(a, m->graphs.at[0], &o);
    gcut_torch_cut cut = gcut_torch_solve(gcut_torch_rules_new(problem, a), p->level, NULL);
    p->plan = gcut_plan_from(problem, &o, gcut_choice_saving(problem, a, cut.saved, NULL, 0.05));
}

static const gcut_plan *plan(world *w, const char *policy, const char *body)
{
    planning p = {.w = w, .body = body, .policy = policy};
    must(w->env, plan_body, &p);
    return p.plan;
}

static const gcut_plan *plan_level(world *w, gcut_torch_level level, const char *body)
{
    planning p = {.w = w, .body = body, .level = level};
    must(w->env, plan_body, &p);
    return p.plan;
}

/* The values saved, in the order of the graph: "a b". */
static const char *saved(const gcut_plan *p)
{
    gcut_text t = {.arena = p->joint->module->arena};
    for (gcut_ref v = 1; v < p->joint->values.n; v++)
        if (p->value[v].decision == GCUT_PLAN_SAVED)
            gcut_text_add(&t, "%s%s", t.n ? " " : "", p->joint->values.at[v].name);
    return t.n ? t.at : "";
}

#define SAVES(policy, body, what) assert_string_equal(saved(plan(*state, policy, body)), what)

#define SAVES_AT(level, body, what) assert_string_equal(saved(plan_level(*state, level, body)), what)

/* ---- the table ---- */

static void names(void **state)
{
    world *w = *state;
    assert_string_equal(gcut_policy_list(w->env->arena), GCUT_POLICIES);
    for (int k = 0; k < GCUT_NPOLICIES; k++) {
        gcut_plan_options o = {.policy = GCUT_NPOLICIES};
        gcut_policy p = (gcut_policy)k;
        if (p == GCUT_POLICY_TORCH_BUDGET) continue;
        assert_true(gcut_policy_read(gcut_policy_name(p), &o));
        assert_int_equal(o.policy, p);
        assert_string_equal(gcut_policy_text(w->env->arena, &o), gcut_policy_name(p));
    }
    gcut_plan_options o = {0};
    assert_true(gcut_policy_read("torch:0.25", &o));
    assert_int_equal(o.policy, GCUT_POLICY_TORCH_BUDGET);
    assert_string_equal(gcut_policy_text(w->env->arena, &o), "torch:0.25");
    const char *wrong[] = {"torch:",     "torch:2", "torch:-1", "torch:nan",
                           "torch:0.5x", "torch:B", "Torch",    ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(gcut_policy_read(wrong[i], &o));
    assert_null(gcut_policy_get(GCUT_NPOLICIES));
}

/* The man page names each of them. */
static void manual(void **state)
{
    world *w = *state;
    const char *page = gcut_file_read(w->env->arena, GCUT_SOURCE_DIR "/doc/gradcut.1", 1 << 20, NULL);
    for (int k = 0; k < GCUT_NPOLICIES; k++) {
        const char *line = gcut_printf(w->env->arena, "\n.Cm %s\n", gcut_policy_name((gcut_policy)k));
        if (!strstr(page, line)) fail_msg("the man page does not name %s", gcut_policy_name((gcut_policy)k));
    }
}

/* ---- rules of others ---- */

/* Four products, whose results the backward graph reads. */
static const char products[] =
    "(out y: f32[64, 64], grad x: f32[64, 64]) {\n"
    "%a = matmul(%x, %w)\n%b1 = cos(%a)\n%c = matmul(%b1, %w)\n%d = matmul(%c, %w)\n"
    "%e = matmul(%d, %w)\n%y = cos(%e)\n"
    "%p = mul(%dy, %a)\n%q = mul(%p, %b1)\n%r = mul(%q, %c)\n%s = mul(%r, %d)\n"
    "%dx = mul(%s, %e)\nreturn %y, %dx\n";

static void every_second(void **state)
{
    SAVES("every-2nd-matmul", products, "a d");
    SAVES("save-all", products, "a b1 c d e");
    SAVES("recompute-all", products, "");
}

/* scores = q k', probabilities = softmax, y = probabilities v; the derivative reads all. */
static const char core[] =
    "(out y: f32[64, 64], grad x: f32[64, 64]) {\n"
    "%q = matmul(%x, %w)\n%v = cos(%q)\n%scores = matmul(%q, %v, tb=true)\n"
    "%masked = exp(%scores)\n%part = softmax(%masked, axis=1)\n%z = matmul(%part, %v)\n"
    "%y = matmul(%z, %w)\n"
    "%d1 = mul(%dy, %z)\n%d2 = mul(%d1, %part)\n%d3 = mul(%d2, %masked)\n"
    "%d4 = mul(%d3, %scores)\n%d5 = mul(%d4, %v)\n%dx = mul(%d5, %q)\nreturn %y, %dx\n";

static void attention_core(void **state)
{
    SAVES("attention-only", core, "q v z");
    SAVES("attention-only", products, "a b1 c d e"); /* no core: as save-all */
}

/* A chain of n cosines of 4 KiB each, all read backwards. */
static const char *cosines(gcut_arena *a, int n)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "(out y: f32[64, 64], grad x: f32[64, 64]) {\n%%v0 = cos(%%x)\n");
    for (int i = 1; i < n; i++) gcut_text_add(&t, "%%v%d = cos(%%v%d)\n", i, i - 1);
    gcut_text_add(&t, "%%y = cos(%%v%d)\n%%g%d = mul(%%dy, %%v%d)\n", n - 1, n, n - 1);
    for (int i = n - 1; i > 0; i--) gcut_text_add(&t, "%%g%d = mul(%%g%d, %%v%d)\n", i, i + 1, i - 1);
    gcut_text_add(&t, "%%dx = mul(%%g1, %%x)\nreturn %%y, %%dx\n");
    return t.at;
}

/* 15 stations and the result, 16 blocks, 4 segments of 4: their ends, of which the last is a result. */
static void square_root(void **state)
{
    gcut_arena *a = ((world *)*state)->env->arena;
    SAVES("sqrt", cosines(a, 15), "v3 v7 v11");
    /* %v2 crosses all that follows, so nothing else is a station until its last reader. */
    SAVES("sqrt",
          "(out y: f32[64, 64], grad x: f32[64, 64]) {\n%v0 = cos(%x)\n%v1 = cos(%v0)\n%v2 = cos(%v1)\n"
          "%v3 = cos(%v2)\n%v4 = cos(%v3)\n%v5 = cos(%v4)\n%v6 = mul(%v5, %v2)\n%y = cos(%v6)\n"
          "%d6 = mul(%dy, %v6)\n%d5 = mul(%d6, %v5)\n%d4 = mul(%d5, %v4)\n%d3 = mul(%d4, %v3)\n"
          "%d2 = mul(%d3, %v2)\n%d1 = mul(%d2, %v1)\n%dx = mul(%d1, %v0)\nreturn %y, %dx\n",
          "v2 v6");
}

/* A segment is computed again when the backward graph comes to it: no more than one is there at a time. */
static void segments_are_lazy(void **state)
{
    const gcut_plan *p = plan(*state, "sqrt", cosines(((world *)*state)->env->arena, 15));
    const gcut_graph *g = p->joint;
    int last = -1;
    for (uint32_t k = 0; k < p->backward.n; k++) {
        const gcut_node *n = gcut_node_at(g, p->backward.node[k]);
        const char *name = g->values.at[n->res0].name;
        if (name[0] != 'v') continue;
        int segment = atoi(name + 1) / 4;
        assert_true(last < 0 || segment <= last);
        last = segment;
    }
    assert_int_equal(last, 0);
}

/* ---- PyTorch's rules, one by one ---- */

#define MAT "(out y: f32[64, 64], grad x: f32[64, 64]) {\n"

/* Whatever is elementwise is computed again from the input, at no cost, as far as it takes. */
static void torch_recomputes_chains(void **state)
{
    gcut_arena *a = ((world *)*state)->env->arena;
    SAVES("torch", cosines(a, 20), "");
}

static void torch_bans_products_and_randomness(void **state)
{
    SAVES("torch", products, "a c d e"); /* each banned; %b1 = cos(%a) is not */
    SAVES("torch",
          MAT "%n = iota(shape=[64, 64], dtype=\"i64\")\n%k = broadcast(%key, shape=[64, 64], axes=[])\n%r = "
              "random(%k, %n)\n%c = cos(%r)\n%y = mul(%x, %c)\n"
              "%dx = mul(%dy, %c)\nreturn %y, %dx\n",
          "c"); /* from the random %r alone: saved as close to its reader as can be */
}

/* A row sum has a 64th of what it reads: saved.  Half is not less than a quarter: computed again. */
static void torch_bans_reductions(void **state)
{
    static const char body[] = MAT "%s = sum(%w, axes=[1])\n%t = broadcast(%s, shape=[64, 64], axes=[0])\n"
                                   "%y = mul(%x, %t)\n%dx = mul(%dy, %t)\nreturn %y, %dx\n";
    SAVES("torch", body, "s");
    SAVES_AT(GCUT_TORCH_DENY, body, "s");
    SAVES("torch",
          MAT "%p = reshape(%w, shape=[32, 2, 64])\n%s = sum(%p, axes=[1])\n%c = concat(%s, %s, axis=0)\n"
              "%y = mul(%c, %x)\n%m = slice(%dy, start=[0, 0], limit=[32, 64])\n"
              "%k = mul(%m, %s)\n%dx = concat(%k, %k, axis=0)\nreturn %y, %dx\n",
          "");
}

/* A product of the backward graph reads %a: it has to be in memory there, so it is saved.  A budget drops the
 * rule. */
static void torch_bans_what_a_kernel_reads(void **state)
{
    static const char body[] = MAT "%a = cos(%w)\n%v = transpose(%a, perm=[1, 0])\n%y = mul(%a, %a)\n"
                                   "%dx = matmul(%v, %dy)\nreturn %y, %dx\n";
    SAVES("torch", body, "a");
    SAVES_AT(GCUT_TORCH_LIST, body, "");
}

/* %x1 is read by %p at once and by %q after a product: %q is banned, its neighbour %p is not. */
static void torch_bans_uses_far_apart(void **state)
{
    static const char body[] =
        MAT "%x1 = cos(%x)\n%p = sin(%x1)\n%m = matmul(%p, %w)\n%n = tanh(%m)\n%q = add(%x1, "
            "%n)\n%y = cos(%q)\n%d1 = mul(%dy, %q)\n%d2 = mul(%d1, %p)\n%dx = mul(%d2, %x1)\n"
            "return %y, %dx\n";
    SAVES("torch", body, "q");
    /* Without the rule nothing forbids to compute %q from %m, which must be kept instead: it is materialised,
     * so its weight is half of what the closer %n and %q have. */
    SAVES_AT(GCUT_TORCH_LIST, body, "m");
}

/* Of a chain of fusible ops the 101st after the start is banned and starts another. */
static void torch_cuts_long_chains(void **state)
{
    gcut_arena *a = ((world *)*state)->env->arena;
    SAVES("torch", cosines(a, 101), "");
    SAVES("torch", cosines(a, 120), "v101");
    SAVES_AT(GCUT_TORCH_LIST, cosines(a, 120), "");
}

/* 1.1 for each op of distance, 2 for what is not in memory anyway; one who reads it backwards counts as 1. */
static void torch_guesses_weights(void **state)
{
    /* 64 KiB / 4: a mask of 4 Ki bool bytes, 16 ops upstream of the 16 KiB of floats that are made of it. */
    gcut_text t = {.arena = ((world *)*state)->env->arena};
    gcut_text_add(&t, MAT "%%m = matmul(%%x, %%w)\n%%mask = gt(%%m, %%x)\n%%v0 = cast(%%mask, to=\"f32\")\n");
    for (int i = 1; i < 32; i++) gcut_text_add(&t, "%%v%d = cos(%%v%d)\n", i, i - 1);
    gcut_text_add(&t, "%%y = mul(%%v31, %%x)\n%%dx = mul(%%dy, %%v31)\nreturn %%y, %%dx\n");
    SAVES("torch", t.at, "v31"); /* 4096 * 1.1^33 > 16384 * 1.1 */
    /* Two ops upstream the mask is the smaller one. */
    SAVES("torch",
          MAT "%m = matmul(%x, %w)\n%mask = gt(%m, %x)\n%v = cast(%mask, to=\"f32\")\n%y = mul(%v, %x)\n"
              "%dx = mul(%dy, %v)\nreturn %y, %dx\n",
          "mask");
}

static void constraints_come_before_torch(void **state)
{
    static const char body[] =
        MAT "%a = matmul(%x, %w) #must_recompute\n%b1 = cos(%a) #must_save\n%y = sin(%b1)\n"
            "%d1 = mul(%dy, %a)\n%dx = mul(%d1, %b1)\nreturn %y, %dx\n";
    SAVES("torch", body, "b1");
    SAVES("torch:0", body, "b1");
}

static void torch_budgets(void **state)
{
    SAVES("torch:1", products, "a c d e");
    SAVES("torch:0", products, "");
    /* Of four equal products, of equal size and value, a quarter of what is saved is one: the first. */
    const gcut_plan *p = plan(*state, "torch:0.5", products);
    assert_that(p->saved_bytes, <=, 2 * 64 * 64 * 4);
    assert_that(p->saved_bytes, >, 0);
}

/* ---- the knapsack ---- */

static double best_of_all(const double *size, const double *value, uint32_t n, double room)
{
    double best = 0;
    for (uint32_t s = 0; s < 1u << n; s++) {
        double bytes = 0, sum = 0;
        for (uint32_t i = 0; i < n; i++)
            if (s >> i & 1) bytes += nearbyint(size[i] * 1e4), sum += value[i];
        if (bytes <= nearbyint(room * 1e4) && sum > best) best = sum;
    }
    return best;
}

static void knapsack_is_exact(void **state)
{
    gcut_arena *a = ((world *)*state)->env->arena;
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        TRY("round %d", (int)round);
        double size[12], value[12], sum = 0, bytes = 0;
        uint32_t n = 1 + (uint32_t)round % 12;
        for (uint32_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size[i] = (double)(seed >> 40 & 0xffff) / 65536 * 0.4;
            value[i] = 1 + (double)(seed >> 20 & 0xff);
        }
        double room = 0.1 + 0.8 * (double)(seed >> 50 & 0xff) / 256;
        bool *kept = gcut_torch_knapsack(a, size, value, n, room);
        for (uint32_t i = 0; i < n; i++)
            if (kept[i]) sum += value[i], bytes += nearbyint(size[i] * 1e4);
        assert_that(bytes, <=, nearbyint(room * 1e4));
        assert_that(sum, ==, best_of_all(size, value, n, room));
    }
}

/* What rounds to nothing is kept whatever the room: 5000 items of half a step are a quarter of the range. */
static void knapsack_rounds_dust_away(void **state)
{
    gcut_arena *a = ((world *)*state)->env->arena;
    double *size = gcut_calloc(a, 5000, sizeof *size), *value = gcut_calloc(a, 5000, sizeof *value);
    for (int i = 0; i < 5000; i++) size[i] = 0.00004999, value[i] = 1;
    bool *kept = gcut_torch_knapsack(a, size, value, 5000, 0.01);
    for (int i = 0; i < 5000; i++) assert_true(kept[i]);
}

/* ---- against PyTorch itself ---- */

static const char cos_of_cos[] = "gcut 1\nfunc @f[N in 1..](param %x: f32[N]) -> (out loss: f32[]) {\n"
                                 "%a = cos(%x)\n%b = cos(%a)\n%loss = sum(%b)\nreturn %loss\n}\n";
static const char six[] =
    "gcut 1\nfunc @f[N in 1..](param %w: f32[256, 256], input %x: f32[N, 256]) -> (out loss: "
    "f32[]) {\n%h = matmul(%x, %w)\n%a = tanh(%h)\n%b = mul(%a, %a)\n%c = relu(%b)\n"
    "%d = exp(%c)\n%loss = sum(%d)\nreturn %loss\n}\n";
static const char chain[] = "gcut 1\nfunc @f[N in 1..](param %w: f32[64, 64], input %x: f32[N, 64]) -> (out "
                            "loss: f32[]) {\n%y0 = mul(%x, %w)\n"
                            "%a0 = tanh(%y0)\n%b0 = exp(%a0)\n%c0 = sigmoid(%b0)\n%y1 = mul(%c0, %w)\n"
                            "%a1 = tanh(%y1)\n%b1 = exp(%a1)\n%c1 = sigmoid(%b1)\n%y2 = mul(%c1, %w)\n"
                            "%a2 = tanh(%y2)\n%b2 = exp(%a2)\n%c2 = sigmoid(%b2)\n%y3 = mul(%c2, %w)\n"
                            "%a3 = tanh(%y3)\n%b3 = exp(%a3)\n%c3 = sigmoid(%b3)\n%y4 = mul(%c3, %w)\n%loss "
                            "= sum(%y4)\nreturn %loss\n}\n";

static gcut_graph *graph_of(gcut_ctx *ctx, const char *name, const char *size)
{
    const model *m = model_find(name);
    int64_t parameters;
    if (m) return model_graph(m, model_size(m, size), GCUT_F32, ctx, &parameters);
    const char *source = !strcmp(name, "six") ? six : !strcmp(name, "chain") ? chain : cos_of_cos;
    char path[] = "/tmp/gcut_policies_XXXXXX";
    int fd = mkstemp(path);
    assert_that(fd, >=, 0);
    assert_that(write(fd, source, strlen(source)), ==, (ssize_t)strlen(source));
    close(fd);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    unlink(path);
    return g;
}

typedef struct asked {
    const char *name, *size;
    gcut_size at[2];
    const gcut_jnode *line;
} asked;

static asked read_line(const gcut_jnode *line)
{
    asked q = {gcut_jstr(gcut_jneed(line, "model")),
               gcut_jstr(gcut_jneed(line, "size")),
               {{"N", gcut_jint(gcut_jneed(line, "N"))}, {"T", gcut_jint(gcut_jneed(line, "T"))}},
               line};
    return q;
}

static const gcut_plan *plan_of(gcut_ctx *ctx, const asked *q, const char *policy)
{
    gcut_options o = TEST_OPTIONS;
    o.policy = policy;
    o.at = q->at;
    o.nat = q->at[1].value ? 2 : 1;
    gcut_graph *g = graph_of(ctx, q->name, q->size);
    const gcut_plan *p = g ? gcut_plan_new(g, &o) : NULL;
    if (!p) fail_msg("%s %s, %s: %s", q->name, q->size, policy, gcut_last_error(ctx));
    return p;
}

/* The same with a byte for each bool, as PyTorch stores them. */
static int64_t unpacked_under(gcut_ctx *ctx, const asked *q, const char *policy)
{
    const gcut_plan *p = plan_of(ctx, q, policy);
    int64_t sum = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++)
        if (p->value[v].decision == GCUT_PLAN_SAVED)
            sum += p->value[v].bytes * (p->value[v].format == GCUT_FORMAT_BITS ? 8 : 1);
    return sum;
}

static FILE *results; /* what GCUT_BLESS=1 writes */
static const char results_head[] =
    "# Saved bytes, beside PyTorch\n\n"
    "What crosses from the forward to the backward graph, without parameters and inputs: PyTorch's "
    "partitioner at its\n"
    "defaults (`tests/reference/torch_partition.py`) and the minimum cut at the default price of a byte with "
    "the\n"
    "shipped machine model. The last column is what the forward graph leaves in the memory of a gradient, a "
    "result of\n"
    "the step: it crosses too, and takes no memory of its own.\n"
    "Written by `GCUT_BLESS=1 tests/run test_policies`.\n\n"
    "| model | N | T | PyTorch | gradcut | ratio | in gradients |\n|---|---|---|---|---|---|---|\n";

typedef void check_fn(gcut_ctx *ctx, const asked *q);

typedef struct reading {
    world *w;
    check_fn *check;
} reading;

static void each_line(void *arg)
{
    const reading *r = arg;
    const gcut_jnode *cases = gcut_jneed(
        gcut_json_read(r->w->env->arena, GCUT_SOURCE_DIR "/tests/reference/torch_partition.json", 1 << 20),
        "cases");
    for (uint32_t i = 0; i < gcut_jcount(cases); i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        asked q = read_line(gcut_jat(cases, i));
        r->check(ctx, &q);
        gcut_ctx_free(ctx);
    }
}

/* ---- at budget 1, and under the others ---- */

static int64_t number(const asked *q, const char *key)
{
    return gcut_jint(gcut_jneed(q->line, key));
}

static int64_t theirs_under(const asked *q, const char *budget)
{
    return gcut_jint(gcut_jneed(gcut_jneed(q->line, "saved"), budget));
}

/* Without a budget: to the byte, once what ours are whole for and PyTorch's second layouts are set aside.  At
 * tiny sizes (8 channels) statistics of rows weigh an eighth of the rows, and which of them are cheapest to
 * keep depends on how a norm is written; the derivative of pooling keeps other things. */
static void compare(gcut_ctx *ctx, const asked *q)
{
    bool tiny = !strcmp(q->size, "tiny");
    int64_t theirs = theirs_under(q, "1") - number(q, "rows") - number(q, "copies");
    int64_t ours = unpacked_under(ctx, q, "torch"), off = tiny ? theirs / 16 : 0;
    if (llabs(ours - theirs) > off)
        fail_msg("%s %s: %lld bytes, PyTorch %lld", q->name, q->size, (long long)ours, (long long)theirs);
}

static void torch_saves_what_pytorch_saves(void **state)
{
    reading r = {*state, compare};
    must(r.w->env, each_line, &r);
}

/* Under a budget what is set aside above may or may not be among what is kept.  And PyTorch's attention is
 * compute-intensive on a GPU only: where these numbers come from it may be computed again for nothing, which
 * shows in BERT, where the budget leaves that to the rules alone. */
static void compare_budgets(gcut_ctx *ctx, const asked *q)
{
    const gcut_jnode *all = gcut_jneed(q->line, "saved");
    int64_t aside = number(q, "rows") + number(q, "copies"), most = theirs_under(q, "1");
    bool tiny = !strcmp(q->size, "tiny"), bert = !strcmp(q->name, "bert");
    for (uint32_t k = 1; k < all->n; k++) {
        char policy[40];
        snprintf(policy, sizeof policy, "torch:%s", all->u.item[k].key);
        int64_t theirs = gcut_jint(&all->u.item[k]), ours = unpacked_under(ctx, q, policy);
        int64_t above = tiny ? most / 16 : bert ? theirs / 8 : 0, below = tiny ? most / 16 + aside : aside;
        if (ours > theirs + above || ours < theirs - below)
            fail_msg("%s %s, %s: %lld bytes, PyTorch %lld", q->name, q->size, policy, (long long)ours,
                     (long long)theirs);
    }
}

static void torch_budgets_keep_what_pytorch_keeps(void **state)
{
    reading r = {*state, compare_budgets};
    must(r.w->env, each_line, &r);
}

/* ---- the minimum cut against PyTorch ---- */

static bool is_transformer(const asked *q)
{
    return q->at[1].value || !strcmp(q->name, "vit");
}

static int64_t in_gradients(const gcut_plan *p)
{
    int64_t sum = 0;
    for (gcut_ref v = 1; v < p->joint->values.n; v++) {
        if (p->value[v].decision != GCUT_PLAN_SAVED || p->value[v].format != GCUT_FORMAT_GRAD) continue;
        const gcut_type *t = gcut_type_of(p->joint, v);
        int64_t bytes = gcut_dtype_bytes(t->dtype);
        for (uint32_t d = 0; d < t->rank; d++) bytes *= t->dim[d]; /* of a parameter: known sizes */
        sum += bytes;
    }
    return sum;
}

/* The minimum cut at the default lambda keeps at most 0.7 of what PyTorch keeps on transformers.  At tiny
 * sizes the batch has to be large, since at a small one a kernel costs more than the bytes that it spares; that of byte GPT-2
 * is one whose step L3 does not hold, since saving takes less time in L3. */
static void compare_min_cut(gcut_ctx *ctx, const asked *q)
{
    const gcut_plan *p = plan_of(ctx, q, "mincut");
    int64_t ours = p->saved_bytes, theirs = theirs_under(q, "1");
    bool small = !strcmp(q->size, "tiny") && q->at[0].value < 1000;
    if (!is_transformer(q) || small) return;
    if (10 * ours > 7 * theirs)
        fail_msg("%s %s: %lld bytes, PyTorch %lld", q->name, q->size, (long long)ours, (long long)theirs);
    if (!results) return;
    fprintf(results, "| %s %s | %lld | %lld | %lld | %lld | %.3f | %lld |\n", q->name, q->size,
            (long long)q->at[0].value, (long long)q->at[1].value, (long long)theirs, (long long)ours,
            (double)ours / (double)theirs, (long long)in_gradients(p));
}

static void min_cut_keeps_less(void **state)
{
    reading r = {*state, compare_min_cut};
    if (getenv("GCUT_BLESS")) results = fopen(GCUT_SOURCE_DIR "/bench/results/saved.md", "w");
    if (results) fputs(results_head, results);
    must(r.w->env, each_line, &r);
    if (results) fclose(results);
    results = NULL;
}

static int start(void **state)
{
    world *w = test_calloc(1, sizeof *w);
    w->env = gcut_env_new(NULL, NULL);
    *state = w;
    return 0;
}

static int stop(void **state)
{
    world *w = *state;
    gcut_env_free(w->env);
    test_free(w);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

/* Both gradients of w come from the loss head, whose nodes are marked; algebra takes their common factor, the cotangent, out of
 * their sum, a new node. */
static void torch_takes_sums_of_heads(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const char *source = "gcut 1\nfunc @head(param %w: f64[2, 8]) -> (out loss: f64[]) {\n"
                         "  %p = matmul(%w, %w, ta=true)\n  %loss = sum(%p)\n  return %loss\n}\n";
    gcut_graph *g = gcut_parse(ctx, source, strlen(source), "head", NULL);
    gcut_plan *p = gcut_plan_new(g, &(gcut_options){.policy = "torch"});
    if (!p) fail_msg("%s", gcut_last_error(ctx));
    gcut_plan_free(p);
    gcut_ctx_free(ctx);
}

/* An op that is new has no line in partition/policies/policy_torch_ops.c so far. */
static void every_op_has_a_kind(void **state)
{
    (void)state;
    for (int op = 0; op < GCUT_NOPS; op++)
        if (gcut_torch_of((gcut_op)op) == GCUT_TORCH_UNKNOWN)
            fail_msg("'%s' has no line in partition/policies/policy_torch_ops.c",
                     gcut_op_get((gcut_op)op)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_a_kind),
                                       TEST(names),
                                       TEST(manual),
                                       TEST(every_second),
                                       TEST(attention_core),
                                       TEST(square_root),
                                       TEST(segments_are_lazy),
                                       TEST(torch_recomputes_chains),
                                       TEST(torch_bans_products_and_randomness),
                                       TEST(torch_bans_reductions),
                                       TEST(torch_bans_what_a_kernel_reads),
                                       TEST(torch_bans_uses_far_apart),
                                       TEST(torch_cuts_long_chains),
                                       TEST(torch_guesses_weights),
                                       cmocka_unit_test(torch_takes_sums_of_heads),
                                       TEST(constraints_come_before_torch),
                                       TEST(torch_budgets),
                                       TEST(knapsack_is_exact),
                                       TEST(knapsack_rounds_dust_away),
                                       TEST(torch_saves_what_pytorch_saves),
                                       TEST(torch_budgets_keep_what_pytorch_keeps),
                                       TEST(min_cut_keeps_less)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
