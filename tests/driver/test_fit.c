/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_fit against every size, one by one: it finds the largest for which gcut_plan_new keeps the budget, with the
 * same plan, and the best rate of those it tried.  A peak that is known in closed form; sizes that the graph does
 * not allow; what it refuses.
 */
#include "gradcut/fit.h"
#include "harness.h"

#include <math.h>
#include <stdlib.h>

#include "public.h"

enum { THREADS = 2 };

static gcut_options options(int64_t budget)
{
    return (gcut_options){.budget = budget, .threads = THREADS};
}

static gcut_graph *parse(gcut_ctx *ctx, const char *text)
{
    gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "fit.gcut", NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

/* The plan of that size alone; NULL: refused. */
static gcut_plan *plan_at(gcut_graph *g, gcut_options o, const char *symbol, int64_t n)
{
    o.at = &(gcut_size){symbol, n};
    o.nat = 1;
    return gcut_plan_new(g, &o);
}

/* ---- every size ---- */

enum { MOST = 40 };

/* A size that was tried says what the plan of that size says; NULL: it was refused. */
static void is_the_plan(const gcut_fitted *f, const gcut_fit_try *t, gcut_plan *plan)
{
    if (!plan == t->fits) fail_msg("%s=%lld: %s", f->symbol, (long long)t->size, t->refused);
    assert_true(!t->refused == t->fits);
    if (!plan) {
        assert_that(t->peak_bytes, >, f->budget);
        assert_true(t->bound_bytes >= 0 && t->bound_bytes <= t->peak_bytes);
        return;
    }
    const gcut_plan_info *info = gcut_plan_look(plan);
    char *file = gcut_plan_json(plan);
    assert_string_equal(t->plan, file);
    assert_true(t->peak_bytes <= f->budget && t->peak_bytes == info->peak_bytes);
    assert_true(t->step_ns == info->step_ns && t->per_second == (double)t->size / info->step_ns * 1e9);
    gcut_free(file);
}

/* allowed: sizes at which the graph is one. */
static void as_every_size(const char *text, const char *symbol, int64_t budget, int64_t most,
                          bool (*allowed)(int64_t n))
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parse(ctx, text);
    const gcut_options o = options(budget);
    gcut_plan *plan[MOST + 1] = {0};
    int64_t largest = 0;
    for (int64_t n = 1; n <= most; n++)
        if (allowed(n) && (plan[n] = plan_at(g, o, symbol, n))) largest = n;
    gcut_clear_errors(ctx);
    gcut_fitted *f = gcut_fit(g, &o, &(gcut_fit_options){.symbol = symbol, .most = most});
    if (!f) fail_msg("%lld fits: %s", (long long)largest, gcut_last_error(ctx));
    assert_int_equal(gcut_error_count(ctx), 0); /* those of refused sizes are part of the answer */
    assert_int_equal(f->largest->size, largest);
    const gcut_fit_try *best = NULL;
    int64_t before = 0;
    for (size_t i = 0; i < f->n; i++) {
        const gcut_fit_try *t = f->tried[i];
        assert_true(t->size > before && t->size <= most && allowed(t->size));
        before = t->size;
        is_the_plan(f, t, plan[t->size]);
        if (t->fits && (!best || t->per_second > best->per_second)) best = t;
    }
    assert_ptr_equal(f->best, best);
    int64_t next = largest + 1;
    while (next <= most && !allowed(next)) next++;
    if (next <= most) {
        assert_int_equal(f->next->size, next);
        assert_true(f->adjacent && !f->next->fits);
    } else {
        assert_null(f->next);
        assert_true(f->looked == f->most && f->most <= most);
    }
    gcut_ctx_free(ctx);
}

static bool any(int64_t n)
{
    return n > 0;
}

static const char closed[] = "gcut 1\nfunc @f[N in 1..](param %x: f32[N, 16]) -> (out loss: f32[]) {\n"
                             "  %y = exp(%x)\n  %loss = sum(%y)\n  return %loss\n}\n";

static const char layers[] =
    "gcut 1\nfunc @f[N in 1..](param %w: f32[8, 8], input %x: f32[N, 8]) -> (out loss: f32[]) {\n"
    "  %a = matmul(%x, %w)\n  %b = tanh(%a)\n  %c = matmul(%b, %w)\n  %d = tanh(%c)\n"
    "  %e = matmul(%d, %w)\n  %f = tanh(%e)\n  %s = mul(%f, %f)\n  %loss = sum(%s)\n  return %loss\n}\n";

/* A loop of N iterations. */
static const char loop[] =
    "gcut 1\nfunc @f[N in 1..](param %w: f32[8, 8], input %xs: f32[N, 2, 8], input %s0: f32[2, 8]) -> (out "
    "loss: f32[]) {\n"
    "  %last = scan(%s0, %xs, carries=1) body(%s: f32[2, 8], %x: f32[2, 8]) {\n"
    "    %p = matmul(%s, %w)\n    %q = add(%p, %x)\n    %r = tanh(%q)\n    yield %r\n  }\n"
    "  %m = mul(%last, %last)\n  %loss = sum(%m)\n  return %loss\n}\n";

static void finds_the_largest(void **state)
{
    (void)state;
    as_every_size(layers, "N", 1900, 24, any);
    as_every_size(layers, "N", 3333, 24, any);
    as_every_size(loop, "N", 2600, 24, any);
    as_every_size(loop, "N", 3100, 24, any);
}

/* x and its gradient of 64 N bytes, the loss and its cotangent, and a line for each block of chunks of 256 rows. */
static int64_t closed_peak(int64_t n)
{
    const int64_t chunks = (n + 255) / 256;
    return 8 + 128 * n + 64 * (chunks < 16 ? chunks : 16);
}

static void closed_form(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parse(ctx, closed);
    for (int64_t budget = closed_peak(1) - 1; budget < 40000000; budget = budget * 3 + 7) {
        int64_t want = (budget - 8) / 128;
        while (want && closed_peak(want) > budget) want--;
        const gcut_options o = options(budget);
        gcut_fitted *f = gcut_fit(g, &o, NULL); /* of the only symbol */
        if (!want) {
            assert_null(f);
            assert_int_equal(gcut_last_status(ctx), GCUT_EPLAN);
            if (!strstr(gcut_last_error(ctx),
                        "no N fits: at N=1, the smallest, @f does not run in the budget of 199"))
                fail_msg("%s", gcut_last_error(ctx));
            continue;
        }
        assert_int_equal(f->largest->size, want);
        assert_int_equal(f->largest->peak_bytes, closed_peak(want));
        assert_int_equal(f->next->size, want + 1);
        assert_int_equal(f->next->peak_bytes, closed_peak(want + 1));
        assert_that(f->n, <, 60);
        gcut_free(f);
    }
    gcut_ctx_free(ctx);
}

/* ---- sizes that the graph does not allow ---- */

static bool from_five(int64_t n)
{
    return n >= 5;
}

static bool sixes(int64_t n)
{
    return n % 6 == 0 && n >= 12 && n <= 30;
}

static bool eight(int64_t n)
{
    return n == 8;
}

static bool from_four(int64_t n)
{
    return n >= 4;
}

static const char window[] =
    "gcut 1\nfunc @f[N in 1..](param %w: f32[2, 1, 5, 5], input %x: f32[1, 1, N, N]) -> (out loss: f32[]) "
    "{\n  %h = conv2d(%x, %w)\n  %s = mul(%h, %h)\n  %loss = sum(%s)\n  return %loss\n}\n";
static const char less[] =
    "gcut 1\nfunc @f[N in 1..](param %w: f32[4, 8], input %x: f32[N, 4]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n  %a = slice(%h, start=[2, 0], limit=[N-2, 8])\n"
    "  %b = slice(%h, start=[3, 0], limit=[N-1, 8])\n  %s = mul(%a, %b)\n  %loss = sum(%s)\n"
    "  return %loss\n}\n";
static const char multiples[] =
    "gcut 1\nfunc @f[N in 8..32 mult 6](param %w: f32[4, 8], input %x: f32[N, 4]) -> (out loss: f32[]) {\n"
    "  %h = matmul(%x, %w)\n  %y = exp(%h)\n  %loss = sum(%y)\n  return %loss\n}\n";
static const char pair[] =
    "gcut 1\nfunc @f[N in 1.., M in 1..](param %w: f32[4, 8], input %x: f32[N, 4], input %y: f32[2*M, 8]) "
    "-> (out loss: f32[]) {\n  %h = matmul(%x, %w)\n  %d = sub(%h, %y)\n  %s = mul(%d, %d)\n"
    "  %loss = sum(%s)\n  return %loss\n}\n";

static void skips_sizes(void **state)
{
    (void)state;
    as_every_size(window, "N", 8000, 30, from_five);
    as_every_size(window, "N", 100000, 30, from_five); /* all of them */
    as_every_size(less, "N", 3000, 30, from_four);
    as_every_size(multiples, "N", 3000, 40, sixes);
    as_every_size(multiples, "N", 2000, 40, sixes);
    as_every_size(pair, "N", 100000, 40, eight); /* M=4 */
}

/* ---- what it refuses ---- */

static void refuses(gcut_ctx *ctx, gcut_graph *g, gcut_options o, gcut_fit_options how, gcut_status status,
                    const char *sentence)
{
    gcut_clear_errors(ctx);
    assert_null(gcut_fit(g, &o, &how));
    assert_int_equal(gcut_last_status(ctx), status);
    if (!strstr(gcut_last_error(ctx), sentence))
        fail_msg("'%s' is not in: %s", sentence, gcut_last_error(ctx));
}

static bool cancel(void *user, const char *what, size_t done, size_t total)
{
    (void)user, (void)total;
    return !strcmp(what, "trying sizes") && done == 3;
}

static void says_why_not(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = parse(ctx, layers);
    const gcut_size four = {"N", 4};
    gcut_options o = options(100000), at = o, fix = o;
    at.at = fix.fix = &four, at.nat = fix.nfix = 1;
    refuses(ctx, g, options(0), (gcut_fit_options){0}, GCUT_EUSAGE,
            "budget (budget, --budget), which is not set");
    refuses(ctx, g, options(GCUT_BUDGET_MIN), (gcut_fit_options){0}, GCUT_EUSAGE,
            "the smallest peak at each size");
    refuses(ctx, g, o, (gcut_fit_options){.symbol = "n"}, GCUT_EUSAGE,
            "did you mean N? sizes of @f: N in 1..");
    refuses(ctx, g, o, (gcut_fit_options){.most = -1}, GCUT_EUSAGE, "how.most cannot be -1");
    refuses(ctx, g, at, (gcut_fit_options){0}, GCUT_EUSAGE, "cannot be 4 (at, --at)");
    refuses(ctx, g, fix, (gcut_fit_options){0}, GCUT_EUSAGE, "cannot be the constant 4 (fix, --fix)");
    refuses(ctx, g, options(300), (gcut_fit_options){0}, GCUT_EPLAN, "no N fits: at N=1, the smallest, @f");
    refuses(ctx, g, options(300), (gcut_fit_options){0}, GCUT_EPLAN,
            "parameters, states, inputs and results");
    o.plan = "no.json";
    refuses(ctx, g, o, (gcut_fit_options){0}, GCUT_EUSAGE, "--plan and --budget both");
    o.plan = NULL;
    gcut_ctx_set_hooks(ctx, &(gcut_hooks){.progress = cancel});
    refuses(ctx, g, o, (gcut_fit_options){0}, GCUT_ECANCELLED, "");
    gcut_ctx_set_hooks(ctx, NULL);
    refuses(ctx, parse(ctx, multiples), o, (gcut_fit_options){.most = 11}, GCUT_EDIM,
            "the smallest N of @f is 12: there is none up to 11");
    refuses(ctx, parse(ctx, pair), o, (gcut_fit_options){0}, GCUT_EUSAGE, "@f has 2 sizes: name the one");
    refuses(ctx, parse(ctx, pair), o, (gcut_fit_options){"N", 7}, GCUT_EDIM,
            "allows no N from 1 to 7: at N=1, the sizes N = 1 and 2*M = 8 must be equal here");
    refuses(ctx, parse(ctx, window), o, (gcut_fit_options){"N", 4}, GCUT_EDIM,
            "at N=1, the size N-4 has no value");
    at.at = &(gcut_size){"M", 9};
    gcut_fitted *f = gcut_fit(parse(ctx, pair), &at, &(gcut_fit_options){"N", 0});
    assert_int_equal(f->largest->size, 18);
    assert_true(!f->next && f->looked > 1000000 && f->nat == 1 && f->at[0].value == 9);
    assert_null(gcut_fit(NULL, &o, NULL));
    assert_non_null(strstr(gcut_last_error(NULL), "gcut_fit: its argument `g` is NULL"));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_largest),
        cmocka_unit_test(closed_form),
        cmocka_unit_test(skips_sizes),
        cmocka_unit_test(says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
