/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the interpreter checks before and while it runs: sizes bound to those of the
 * arrays, indices, divisors.
 */
#include "interp.h"

#define TAKE(expr, i)                                                                                        \
    "gcut 1\nfunc @f(input %a: f32[2, 3], input %i: " i ", input %u: f32[2, 3]) -> (out y: f32[]) {\n"       \
    "  %z = " expr "\n  %y = sum(%z)\n  return %y\n}\n"

static void indices_out_of_range(void **state)
{
    double in[6 + 2 + 6] = {0};
    job take = {.env = *state, .in = in, .text = TAKE("take(%a, %i)", "i32[2]")};
    job scatter = {.env = *state, .in = in, .text = TAKE("scatter_add(%a, %i, %u)", "i64[2]")};
    job pick = {.env = *state, .in = in, .text = TAKE("pick(%a, %i, axis=1)", "i32[2]")};
    job loss = {.env = *state, .in = in, .text = TAKE("cross_entropy(%a, %i)", "i32[2]")};
    in[7] = 2;
    refuse(&take, GCUT_EINDEX, 3, WORDS("'take'", "index 2", "[0, 2)", "axis 0"));
    refuse(&scatter, GCUT_EINDEX, 3, WORDS("'scatter_add'", "index 2", "[0, 2)"));
    run(&pick);
    in[7] = -1;
    refuse(&take, GCUT_EINDEX, 3, WORDS("'take'", "index -1", "[0, 2)"));
    refuse(&pick, GCUT_EINDEX, 3, WORDS("'pick'", "index -1", "[0, 3)", "axis 1"));
    refuse(&loss, GCUT_EINDEX, 3, WORDS("'pick'", "index -1", "[0, 3)"));
    /* What differentiation and lowering see, the decomposition, refuses the same. */
    loss.expand = true;
    refuse(&loss, GCUT_EINDEX, 3, WORDS("'bounded'", "index -1", "[0, 3)"));
    in[7] = -100;
    run(&loss);
}

static void division_by_zero(void **state)
{
    job j = {.env = *state,
             .in = (double[]){1, 2, 3, 0},
             .text = "gcut 1\nfunc @f(input %a: i32[2], input %b: i32[2]) -> (out y: i32[2]) {\n"
                     "  %y = div(%a, %b)\n  return %y\n}\n"};
    refuse(&j, GCUT_ECHECK, 3, WORDS("'div'", "division by zero", "element 1"));
    j.text = "gcut 1\nfunc @f(input %a: i32[2], input %b: i32[2]) -> (out y: i32[2]) {\n"
             "  %y = mod(%a, %b)\n  return %y\n}\n";
    refuse(&j, GCUT_ECHECK, 3, WORDS("'mod'", "division by zero"));
}

/* ---- binding sizes ---- */

#define BIND                                                                                                 \
    "gcut 1\nfunc @f[N in 2..8 mult 2, M](input %a: f32[2*N+1, M], input %b: f32[M, N]) -> (out y: i64[]) "  \
    "{\n"                                                                                                    \
    "  %y = dim(of=10*N+M)\n  return %y\n}\n"
#define SOLVE                                                                                                \
    "gcut 1\nfunc @f[N, M](input %a: f32[2*N+1, M], input %b: f32[3*M-N]) -> (out y: i64[]) {\n"             \
    "  %y = dim(of=100*N+M)\n  return %y\n}\n"
#define CHAIN                                                                                                \
    "gcut 1\nfunc @f[N, M](input %b: f32[3*M-N], input %a: f32[2*N+1]) -> (out y: i64[]) {\n"                \
    "  %y = dim(of=100*N+M)\n  return %y\n}\n"
#define FLOOR                                                                                                \
    "gcut 1\nfunc @f[N](input %a: f32[div(N, 2)]) -> (out y: i64[]) {\n  %y = dim(of=N)\n  return %y\n}\n"
#define CHECK                                                                                                \
    "gcut 1\nfunc @f[N, M](input %a: f32[N], input %b: f32[M]) -> (out y: f32[N]) {\n"                       \
    "  %y = add(%a, %b)\n  return %y\n}\n"

static void sizes_are_bound(void **state)
{
    job j = {.env = *state, .text = BIND, .sizes = (int64_t[]){9, 5, 5, 4}};
    run(&j);
    assert_int_equal(j.out.u.i[0], 45);
    job s = {.env = *state, .text = SOLVE, .sizes = (int64_t[]){7, 5, 12}};
    run(&s);
    assert_int_equal(s.out.u.i[0], 305);
    job c = {.env = *state, .text = CHAIN, .sizes = (int64_t[]){12, 7}};
    run(&c);
    assert_int_equal(c.out.u.i[0], 305);
    job e = {.env = *state, .text = CHECK, .sizes = (int64_t[]){3, 3}};
    run(&e);
    assert_int_equal(e.out.n, 3);
}

static void sizes_are_refused(void **state)
{
    job j = {.env = *state, .text = BIND};
    j.sizes = (int64_t[]){8, 5, 5, 4};
    refuse(&j, GCUT_EDIM, 0, WORDS("%a", "axis 0", "2*N+1", "9", "8"));
    j.sizes = (int64_t[]){9, 5, 6, 4};
    refuse(&j, GCUT_EDIM, 0, WORDS("%b", "axis 0", "M = 5", "6"));
    j.sizes = (int64_t[]){21, 5, 5, 10};
    refuse(&j, GCUT_EDIM, 0, WORDS("N = 10", "2..8"));
    j.sizes = (int64_t[]){7, 5, 5, 3};
    refuse(&j, GCUT_EDIM, 0, WORDS("N = 3", "multiple of 2"));
    job s = {.env = *state, .text = SOLVE, .sizes = (int64_t[]){8, 5, 12}};
    refuse(&s, GCUT_EDIM, 0, WORDS("%a", "axis 0"));
    job f = {.env = *state, .text = FLOOR, .sizes = (int64_t[]){4}};
    refuse(&f, GCUT_EDIM, 0, WORDS("div(N", "depends on N"));
    f.text = "gcut 1\nfunc @f[N](input %a: f32[N]) -> (out y: i64[]) {\n  %y = dim(of=N-5)\n  return %y\n}\n";
    refuse(&f, GCUT_EDIM, 3, WORDS("below 0"));
    job e = {.env = *state, .text = CHECK, .sizes = (int64_t[]){3, 1}};
    refuse(&e, GCUT_EDIM, 3, WORDS("N = 3", "M = 1", "equal"));
    e.text = "gcut 1\nfunc @f[N](input %a: f32[N, 4], input %b: f32[N]) -> (out y: f32[N, 4]) {\n"
             "  %c = broadcast(%b, shape=[N, 4], axes=[1])\n  %y = add(%a, %c)\n  return %y\n}\n";
    e.sizes = (int64_t[]){3, 4, 3};
    refuse(&e, GCUT_EDIM, 3, WORDS("sizes 4 and N = 3 must be equal"));
    job k = {
        .env = *state,
        .sizes = (int64_t[]){3, 3},
        .text = "gcut 1\nfunc @f(input %a: f32[3], input %b: f32[4]) -> (out a: f32[3]) {\n  return %a\n}\n"};
    refuse(&k, GCUT_EDIM, 0, WORDS("%b", "expected 4", "found 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(indices_out_of_range),
        WITH_FIXTURE(division_by_zero),
        WITH_FIXTURE(sizes_are_bound),
        WITH_FIXTURE(sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
