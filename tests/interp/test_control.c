/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow: text, verifier, interpreter against closed forms, passes.
 */
#include "harness.h"

#include <math.h>

#include "interp/interp.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "text/text.h"

typedef struct job {
    gcut_env *env;
    const char *text;
    gcut_module *m;
    gcut_array in[4], out[4];
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->m = gcut_parse_module(j->env, j->env->arena, "t.gcut", j->text, strlen(j->text));
    gcut_verify_module(j->m);
}

static gcut_graph *last(const job *j)
{
    return j->m->graphs.at[j->m->graphs.n - 1];
}

/* Forward again after every pass that looks into regions: the same values. */
static void interpret(void *arg)
{
    job *j = arg;
    gcut_interp(last(j), GCUT_EXACT, j->env->arena, j->in, j->out, NULL);
}

static void print(void *arg)
{
    job *j = arg;
    gcut_text t = {.arena = j->env->arena};
    gcut_print_graphs(j->m->graphs.at, j->m->graphs.n, NULL, &t);
    j->text = t.at;
}

static void passes(void *arg)
{
    job *j = arg;
    gcut_graph *g = gcut_pass_fold(last(j), "folded");
    g = gcut_pass_cse(g, "cse");
    g = gcut_pass_dce(g, "dce");
    g = gcut_pass_expand(g, "expanded", NULL);
    gcut_verify(g);
}

static gcut_array floats(gcut_env *env, uint32_t rank, const int64_t *dim, const double *x)
{
    gcut_array a = gcut_array_new(env->arena, GCUT_F64, rank, dim);
    for (int64_t k = 0; k < a.n; k++) a.u.f[k] = x[k];
    return a;
}

static gcut_array truth(gcut_env *env, bool b)
{
    gcut_array a = gcut_array_new(env->arena, GCUT_BOOL, 0, NULL);
    a.u.i[0] = b;
    return a;
}

/* c' = a c + x, y = c' + b: the final c is a^T c0 + sum a^(T-1-t) x_t. */
static const char linear[] =
    "gcut 1\n"
    "func @f[T](param %a: f64[], input %c0: f64[2], input %xs: f64[T, 2], input %b: f64[2])\n"
    "    -> (out last: f64[2], out ys: f64[T, 2]) {\n"
    "  %aw = broadcast(%a, shape=[2], axes=[])\n"
    "  %last: f64[2], %ys: f64[T, 2] = scan(%c0, %xs, carries=1) body(%c: f64[2], %x: f64[2]) {\n"
    "    %ac = mul(%aw, %c)\n"
    "    %next = add(%ac, %x)\n"
    "    %y = add(%next, %b)\n"
    "    yield %next, %y\n"
    "  }\n"
    "  return %last, %ys\n"
    "}\n";

static void check_linear(job *j, int64_t steps, bool reverse)
{
    double a = 0.5, c[2] = {1, -2}, x[20], b[2] = {10, 20};
    for (int k = 0; k < 20; k++) x[k] = sin(k);
    j->in[0] = floats(j->env, 0, NULL, &a);
    j->in[1] = floats(j->env, 1, (int64_t[]){2}, c);
    j->in[2] = floats(j->env, 2, (int64_t[]){steps, 2}, x);
    j->in[3] = floats(j->env, 1, (int64_t[]){2}, b);
    must(j->env, interpret, j);
    for (int64_t s = 0; s < steps; s++)
        for (int i = 0; i < 2; i++) {
            int64_t t = reverse ? steps - 1 - s : s;
            c[i] = a * c[i] + x[2 * t + i];
            assert_true(fabs(j->out[1].u.f[2 * t + i] - (c[i] + b[i])) < 1e-15);
        }
    for (int i = 0; i < 2; i++) assert_true(fabs(j->out[0].u.f[i] - c[i]) < 1e-15);
}

static void scan_is_a_recurrence(void **state)
{
    job j = {.env = *state, .text = linear};
    must(j.env, parse, &j);
    for (int64_t steps = 0; steps <= 10; steps += 5) check_linear(&j, steps, false);
    must(j.env, passes, &j);
    check_linear(&j, 7, false);
    j.text = gcut_printf(j.env->arena, "%.*scarries=1, reverse=true%s",
                         (int)(strstr(linear, "carries=1") - linear), linear,
                         strstr(linear, "carries=1") + strlen("carries=1"));
    must(j.env, parse, &j);
    check_linear(&j, 6, true);
}

/* Stacked along another axis, over nothing but a length, with a scan inside. */
static const char nested[] = "gcut 1\n"
                             "func @f[T in 1..](input %x: f64[3], input %k: f64[T]) -> (out y: f64[3, T]) {\n"
                             "  %z = full(shape=[], value=0.0, dtype=\"f64\")\n"
                             "  %n: f64[], %y: f64[3, T] = scan(%z, carries=1, axis=1, length=T) body(%i) {\n"
                             "    %p, %q = scan(%i, %k, carries=1) body(%s, %e) {\n"
                             "      %se = add(%s, %e)\n"
                             "      yield %se, %e\n"
                             "    }\n"
                             "    %w = broadcast(%p, shape=[3], axes=[])\n"
                             "    %xp = mul(%w, %x)\n"
                             "    yield %p, %xp\n"
                             "  }\n"
                             "  return %y\n"
                             "}\n";

static void check_nested(job *j)
{
    double x[] = {1, 2, -3}, k[] = {1, 2, 3, 4};
    j->in[0] = floats(j->env, 1, (int64_t[]){3}, x);
    j->in[1] = floats(j->env, 1, (int64_t[]){4}, k);
    must(j->env, interpret, j);
    for (int i = 0; i < 3; i++)
        for (int t = 0; t < 4; t++) assert_true(j->out[0].u.f[4 * i + t] == 10 * (t + 1) * x[i]);
}

static void scans_nest(void **state)
{
    job j = {.env = *state, .text = nested};
    must(j.env, parse, &j);
    check_nested(&j);
    must(j.env, passes, &j);
    check_nested(&j);
    /* the inner scan's stack, which nobody reads, is gone, and the outer one keeps both results */
    const gcut_graph *g = last(&j);
    const gcut_node *outer = gcut_node_at(g, g->nodes.n - 1);
    assert_int_equal(outer->op, GCUT_OP_scan);
    const gcut_graph *body = gcut_region_at(g, outer, 0)->body;
    assert_int_equal(gcut_node_at(body, 0)->op, GCUT_OP_scan);
    assert_int_equal(gcut_node_at(body, 0)->nres, 1);
}

static const char choice[] =
    "gcut 1\n"
    "func @f[N](input %p: bool[], input %x: f64[N]) -> (out y: f64[N], out s: f64[]) {\n"
    "  %y, %s = if(%p) then {\n"
    "    %e = exp(%x)\n"
    "    %t = sum(%e)\n"
    "    yield %e, %t\n"
    "  } else {\n"
    "    %m = neg(%x)\n"
    "    %u = sum(%x)\n"
    "    yield %m, %u\n"
    "  }\n"
    "  return %y, %s\n"
    "}\n";

static void if_chooses(void **state)
{
    job j = {.env = *state, .text = choice};
    must(j.env, parse, &j);
    double x[] = {0, 1};
    for (int round = 0; round < 2; round++) {
        for (int p = 0; p < 2; p++) {
            j.in[0] = truth(j.env, p);
            j.in[1] = floats(j.env, 1, (int64_t[]){2}, x);
            must(j.env, interpret, &j);
            assert_true(j.out[0].u.f[1] == (p ? exp(1) : -1));
            assert_true(j.out[1].u.f[0] == (p ? 1 + exp(1) : 1));
        }
        if (round == 0) must(j.env, passes, &j);
    }
}

/* Heron's iteration for the root of x, until it is good. */
static const char heron[] = "gcut 1\n"
                            "func @f(input %x: f64[]) -> (out r: f64[], out n: i64[]) {\n"
                            "  %zero = full(shape=[], value=0, dtype=\"i64\")\n"
                            "  %r, %n = while(%x, %zero%s) cond(%a, %i) {\n"
                            "    %aa = mul(%a, %a)\n"
                            "    %d0 = sub(%aa, %x)\n"
                            "    %d = abs(%d0)\n"
                            "    %more = gt(%d, 1e-9:f64)\n"
                            "    yield %more\n"
                            "  } body(%b, %k) {\n"
                            "    %q = div(%x, %b)\n"
                            "    %sum = add(%b, %q)\n"
                            "    %half = mul(%sum, 0.5:f64)\n"
                            "    %k1 = add(%k, 1:i64)\n"
                            "    yield %half, %k1\n"
                            "  }\n"
                            "  return %r, %n\n"
                            "}\n";

static const char *with_bound(gcut_env *env, const char *bound)
{
    const char *at = strstr(heron, "%zero%s)");
    return gcut_printf(env->arena, "%.*s%%zero%s%s", (int)(at - heron), heron, bound, at + strlen("%zero%s"));
}

static void while_repeats(void **state)
{
    job j = {.env = *state};
    double x = 2;
    for (int bounded = 0; bounded < 2; bounded++) {
        j.text = with_bound(j.env, bounded ? ", bound=2" : "");
        must(j.env, parse, &j);
        j.in[0] = floats(j.env, 0, NULL, &x);
        must(j.env, interpret, &j);
        assert_true(bounded ? fabs(j.out[0].u.f[0] - 17.0 / 12) < 1e-15
                            : fabs(j.out[0].u.f[0] - sqrt(2)) < 1e-9);
        if (bounded) assert_int_equal(j.out[1].u.i[0], 2);
        must(j.env, passes, &j);
        must(j.env, interpret, &j);
        assert_true(bounded ? fabs(j.out[0].u.f[0] - 17.0 / 12) < 1e-15
                            : fabs(j.out[0].u.f[0] - sqrt(2)) < 1e-9);
    }
}

static const char called[] =
    "gcut 1\n"
    "func @twice[N in 1..8, M](input %x: f64[N, M]) -> (out y: f64[M], out z: f64[N, 2*M]) {\n"
    "  %d = add(%x, %x)\n"
    "  %y = sum(%d, axes=[0])\n"
    "  %z = concat(%x, %x, axis=1)\n"
    "  return %y, %z\n"
    "}\n"
    "func @f[M in 1..4, N](input %v: f64[M, N], input %p: bool[]) -> (out a: f64[N], out b: f64[M, 2*N]) {\n"
    "  %a: f64[N], %b: f64[M, 2*N] = if(%p) then {\n"
    "    %y: f64[N], %z: f64[M, 2*N] = call(@twice, %v)\n"
    "    yield %y, %z\n"
    "  } else {\n"
    "    %y2: f64[N], %z2: f64[M, 2*N] = call(@twice, %v)\n"
    "    yield %y2, %z2\n"
    "  }\n"
    "  return %a, %b\n"
    "}\n";

static void call_renames_sizes(void **state)
{
    job j = {.env = *state, .text = called};
    double x[] = {1, 2, 3, 4, 5, 6};
    must(j.env, parse, &j);
    j.in[0] = floats(j.env, 2, (int64_t[]){2, 3}, x);
    j.in[1] = truth(j.env, true);
    must(j.env, interpret, &j);
    assert_that(j.out[0].u.f[0], ==, 10);
    assert_that(j.out[0].u.f[2], ==, 18);
    assert_int_equal(j.out[1].dim[1], 6);
    must(j.env, passes, &j);
    must(j.env, interpret, &j);
    assert_true(j.out[0].u.f[1] == 14);
}

static void text_is_a_fixed_point(void **state)
{
    const char *const all[] = {linear, nested, choice, called, with_bound(*state, ", bound=3")};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        TRY("case %zu", k);
        job j = {.env = *state, .text = all[k]};
        must(j.env, parse, &j);
        must(j.env, print, &j);
        const char *first = j.text;
        must(j.env, parse, &j);
        must(j.env, print, &j);
        assert_string_equal(j.text, first);
        must(j.env, passes, &j); /* bodies made by passes print as well */
        must(j.env, print, &j);
        first = j.text;
        must(j.env, parse, &j);
        must(j.env, print, &j);
        assert_string_equal(j.text, first);
    }
}

/* ---- what is refused ---- */

static void wrong_text_is_refused(void **state)
{
    (void)state;
#define F "gcut 1\nfunc @f[T](input %x: f64[3], input %s: f64[T, 3], input %p: bool[]) -> () {\n"
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        {F "%y = scan(%x, %s, carries=1) body(%c, %e) {\nyield %e\n}\n%z = neg(%e)\nreturn\n}\n",
         "the value %e is not defined", 6},
        {F "%y = scan(%x, %s, carries=1) body(%x, %e) {\nyield %e\n}\nreturn\n}\n",
         "%x is defined a second time", 3},
        {F "%y = scan(%x, %s, carries=1) body(%c) {\nyield %c\n}\nreturn\n}\n", "takes 2 arguments, found 1",
         3},
        {F "%y = scan(%x, %s, carries=1) body(%c, %e) {\n%t = sum(%e)\nyield %t\n}\nreturn\n}\n",
         "the body's yield 1 is f64[], expected f64[3]", 3},
        {F "%y = scan(%x, %s, carries=1) body(%c, %e) {\n%t = neg(%e)\n}\nreturn\n}\n", "expected 'yield'",
         5},
        {F "%y = scan(%x, carries=1) body(%c) {\nyield %c\n}\nreturn\n}\n", "needs the attribute 'length'",
         3},
        {F "%y = scan(%x, %s, carries=3) body(%c, %e) {\nyield %c\n}\nreturn\n}\n", "fewer than carries=3",
         3},
        {F "%y = if(%x) then {\nyield %x\n} else {\nyield %x\n}\nreturn\n}\n", "the condition is f64[3]", 3},
        {F "%y = if(%p) then {\nyield %x\n}\nreturn\n}\n", "expected the region 'else'", 6},
        {F "%y = if(%p) then {\nyield %x\n} else {\nyield %s\n}\nreturn\n}\n",
         "the 'else' region's yield 1 is f64[T, 3], expected f64[3]", 3},
        {F "%y = if(%p) then {\n%a = neg(%x)\nyield %a\n} else {\n%a = neg(%x)\nyield %a\n}\nreturn\n}\n",
         "%a is defined a second time", 7},
        {F "%y = while(%x) cond(%a) {\n%b = sum(%a)\nyield %b\n} body(%c) {\nyield %c\n}\nreturn\n}\n",
         "'cond' yields f64[], expected bool[]", 3},
        {F "%y = neg(%x) then {\nyield %x\n}\nreturn\n}\n", "takes no region", 3},
        {F "%y = call(@g, %x)\nreturn\n}\n", "the function @g is not defined", 3},
        {F "%y = call(@f, %x)\nreturn\n}\n", "@f calls itself", 3},
        {"gcut 1\nfunc @g[N in 5..](input %x: f64[N]) -> (out y: f64[N]) {\nreturn %x\n}\nfunc @f(input %x: "
         "f64[3]) -> () {\n"
         "%y = call(@g, %x)\nreturn\n}\n",
         "can never be equal", 6},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        job j = {.env = gcut_env_new(NULL, NULL), .text = cases[k].text};
        gcut_status s = gcut_protect(j.env, parse, &j);
        if (s == GCUT_OK || !j.env->ndiags || !strstr(j.env->diags[0].message, cases[k].message) ||
            j.env->diags[0].at.line != cases[k].line)
            fail_msg("case %zu: expected \"%s\" in line %d, found \"%s\" in line %d", k, cases[k].message,
                     cases[k].line, j.env->ndiags ? j.env->diags[0].message : "nothing",
                     j.env->ndiags ? j.env->diags[0].at.line : 0);
        gcut_env_free(j.env);
    }
}

static int setup(void **state)
{
    return (*state = gcut_env_new(NULL, NULL)) ? 0 : -1;
}
static int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scan_is_a_recurrence),  TEST(scans_nest),         TEST(if_chooses),
        TEST(while_repeats),         TEST(call_renames_sizes), TEST(text_is_a_fixed_point),
        TEST(wrong_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
