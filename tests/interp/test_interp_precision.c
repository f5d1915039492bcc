/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the interpreter rounds when every value has its stated precision: once, to
 * nearest, as float and the halves do.
 */
#include "interp.h"

static uint32_t next_random(uint32_t *s)
{
    return *s = *s * 1664525u + 1013904223u;
}

/* One rounding of a double result is the float result: 53 >= 2 * 24 + 2 (Figueroa 1995). */
static void stated_f32_is_float_arithmetic(void **state)
{
    static const char *const ops[] = {"add(%a, %b)", "mul(%a, %b)", "div(%a, %b)", "sqrt(%a)"};
    double in[2 * 500];
    uint32_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        uint32_t bits = next_random(&seed) & 0x7fffffffu;
        float f;
        memcpy(&f, &bits, sizeof f);
        in[i] = (double)f;
    }
    for (int op = 0; op < 4; op++) {
        char text[256];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(input %%a: f32[500], input %%b: f32[500]) -> (out y: f32[500]) {\n"
                 "  %%y: f32[500] = %s\n  return %%y\n}\n",
                 ops[op]);
        job j = {.env = *state, .text = text, .prec = GCUT_STATED, .in = in};
        run(&j);
        for (int i = 0; i < 500; i++) {
            volatile float a = (float)in[i], b = (float)in[500 + i];
            float want = op == 0 ? a + b : op == 1 ? a * b : op == 2 ? a / b : sqrtf(a);
            check_close(j.out.u.f[i], (double)want, 0, ops[op], i);
        }
    }
}

static void stated_rounds_once(void **state)
{
    /* In f32, 2^24 + 1 + 1 stays at 2^24 when rounded at each step and is 2^24 + 2 when rounded once. */
    job j = {
        .env = *state,
        .prec = GCUT_STATED,
        .in = (double[]){16777216, 1, 1},
        .text =
            "gcut 1\nfunc @f(input %a: f32[3]) -> (out y: f32[]) {\n  %y: f32[] = sum(%a)\n  return %y\n}\n"};
    run(&j);
    assert_true(j.out.u.f[0] == 16777218);
    /* A mean of halves whose sum leaves the range of f16. */
    job h = {.env = *state,
             .prec = GCUT_STATED,
             .in = (double[]){60000, 60000, 60000},
             .text = "gcut 1\nfunc @f(input %a: f16[3]) -> (out y: f16[]) {\n  %y: f16[] = mean(%a)\n  "
                     "return %y\n}\n"};
    run(&h);
    assert_true(h.out.u.f[0] == 60000);
    job c = {
        .env = *state,
        .prec = GCUT_STATED,
        .in = (double[]){0x1p62},
        .text =
            "gcut 1\nfunc @f(input %a: i64[]) -> (out y: f32[]) {\n  %o = full(shape=[], value=274877906945, "
            "dtype=\"i64\")\n  %b = add(%a, %o)\n  %y = cast(%b, to=\"f32\")\n  return %y\n}\n"};
    run(&c); /* 2^62 + 2^38 + 1 is just above a tie of f32; through f64 it would become the tie */
    assert_true(c.out.u.f[0] == 0x1p62 + 0x1p39);
}

/* The value of a half, from its definition. */
static double half_value(unsigned bits, int fraction_bits, int bias)
{
    int e = (int)(bits & 0x7fff) >> fraction_bits, f = (int)(bits & ((1u << fraction_bits) - 1));
    int sign = bits & 0x8000 ? -1 : 1;
    if (e == 0x7fff >> fraction_bits) return f ? NaN : sign * INF;
    double m = ldexp((double)f, -fraction_bits) + (e > 0);
    return sign * ldexp(m, (e > 0 ? e : 1) - bias);
}

/* Every number, every midpoint between neighbours, and the doubles on both sides of it. */
static void check_half(gcut_env *env, gcut_dtype t, int fraction_bits, int bias)
{
    unsigned top = 0x7fffu >> fraction_bits << fraction_bits;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t packed = (uint16_t)bits, back;
        gcut_array x = gcut_array_load(env->arena, t, 0, NULL, &packed);
        double v = half_value(bits, fraction_bits, bias);
        if (t == GCUT_BF16) {
            uint32_t wide = bits << 16;
            float f;
            memcpy(&f, &wide, sizeof f);
            check_close((double)f, v, 0, "bf16 is the top of f32", bits);
        }
        check_close(x.u.f[0], v, 0, "load", bits);
        gcut_array_store(&x, &back);
        if (isnan(v))
            assert_true(isnan(half_value(back, fraction_bits, bias)));
        else
            assert_int_equal(back, bits);
        check_close(gcut_round_to(v, t), v, 0, "round", bits);
        if (bits >= top) continue;
        /* Beyond the largest number the next one would be 2^(emax + 1), and rounding there means overflow. */
        double above = bits + 1 == top ? ldexp(1, bias + 1) : half_value(bits + 1, fraction_bits, bias);
        double over = bits + 1 == top ? INF : above, middle = v / 2 + above / 2, even = bits & 1 ? over : v;
        for (int sign = -1; sign <= 1; sign += 2) {
            check_close(gcut_round_to(sign * middle, t), sign * even, 0, "tie", bits);
            check_close(gcut_round_to(sign * nextafter(middle, 0), t), sign * v, 0, "below a tie", bits);
            check_close(gcut_round_to(sign * nextafter(middle, INF), t), sign * over, 0, "above a tie", bits);
        }
    }
    assert_true(isnan(gcut_round_to(NaN, t)));
    assert_true(signbit(gcut_round_to(-1e-300, t)));
    assert_true(gcut_round_to(1e300, t) == INF);
}

static void halves(void **state)
{
    check_half(*state, GCUT_F16, 10, 15);
    check_half(*state, GCUT_BF16, 7, 127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(stated_f32_is_float_arithmetic),
        WITH_FIXTURE(stated_rounds_once),
        WITH_FIXTURE(halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
