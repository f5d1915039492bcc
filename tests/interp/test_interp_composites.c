/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The composites as the interpreter runs them against their textbook formulas in
 * long double, whose exponents are wide enough that nothing needs a max shift;
 * and what their expansion keeps.
 */
#include "interp.h"

/* Rows of three: ordinary, far apart, all large, all small, with -inf, and nothing but -inf. */
static const double rows[] = {0.3,  -1.2,     2.5,  1e4, -1e4,      0, 1e4,       1e4,       1e4 - 1,
                              -1e4, -1e4 + 2, -1e4, 1,   -INFINITY, 2, -INFINITY, -INFINITY, -INFINITY};
#define NROWS 6

static const double *rows_through(gcut_env *env, const char *expr, const char *type)
{
    char text[512];
    snprintf(text, sizeof text,
             "gcut 1\nfunc @f(input %%a: f64[6, 3]) -> (out y: %s) {\n  %%y: %s = %s\n  return %%y\n}\n",
             type, type, expr);
    job j = {.env = env, .text = text, .in = rows};
    run(&j);
    return j.out.u.f;
}

static void softmax_family(void **state)
{
    const double *soft = rows_through(*state, "softmax(%a, axis=1)", "f64[6, 3]");
    const double *logs = rows_through(*state, "log_softmax(%a, axis=1)", "f64[6, 3]");
    const double *lse = rows_through(*state, "logsumexp(%a, axes=[1], keep=true)", "f64[6, 1]");
    for (int r = 0; r < NROWS; r++) {
        long double sum = 0;
        for (int c = 0; c < 3; c++) sum += expl((long double)rows[3 * r + c]);
        check_close(lse[r], (double)logl(sum), 1e-15, "logsumexp", r);
        for (int c = 0; c < 3; c++) {
            long double x = rows[3 * r + c];
            /* Nothing but -inf is 0 / 0 and -inf - -inf: NaN, as in PyTorch. */
            check_close(soft[3 * r + c], (double)(expl(x) / sum), 1e-15, "softmax", 3 * r + c);
            check_close(logs[3 * r + c], (double)(x - logl(sum)), 1e-12, "log_softmax", 3 * r + c);
        }
    }
}

static void infinite_logits(void **state)
{
    job j = {.env = *state,
             .in = (double[]){INF, 0, INF, INF},
             .text = "gcut 1\nfunc @f(input %a: f64[2, 2]) -> (out y: f64[2]) {\n"
                     "  %y: f64[2] = logsumexp(%a, axes=[1])\n  return %y\n}\n"};
    run(&j);
    assert_that(j.out.u.f[0], ==, INF);
    assert_that(j.out.u.f[1], ==, INF);
}

static void norms(void **state)
{
    static const double in[] = {1, 2, 4, -3, 1e3, 1e3, 0.5, 2, -1, 0.1, 0.2, 0.3};
    job ln = {.env = *state,
              .in = in,
              .text = "gcut 1\nfunc @f(input %a: f64[2, 3], input %g: f64[3], input %b: f64[3]) -> (out y: "
                      "f64[2, 3]) {\n"
                      "  %y: f64[2, 3] = layer_norm(%a, %g, %b, eps=0.01)\n  return %y\n}\n"};
    job rms = {.env = *state,
               .in = in,
               .text = "gcut 1\nfunc @f(input %a: f64[2, 3], input %g: f64[3]) -> (out y: f64[2, 3]) {\n"
                       "  %y: f64[2, 3] = rms_norm(%a, %g)\n  return %y\n}\n"};
    run(&ln);
    run(&rms);
    for (int r = 0; r < 2; r++) {
        const double *x = in + 3 * r;
        long double mean = ((long double)x[0] + x[1] + x[2]) / 3, square = 0, var = 0;
        for (int c = 0; c < 3; c++) {
            var += (x[c] - mean) * (x[c] - mean) / 3;
            square += (long double)x[c] * x[c] / 3;
        }
        for (int c = 0; c < 3; c++) {
            double want = (double)((x[c] - mean) / sqrtl(var + 0.01L) * in[6 + c] + in[9 + c]);
            check_close(ln.out.u.f[3 * r + c], want, 1e-14, "layer_norm", 3 * r + c);
            want = (double)(x[c] / sqrtl(square + 1e-5L) * in[6 + c]);
            check_close(rms.out.u.f[3 * r + c], want, 1e-14, "rms_norm", 3 * r + c);
        }
    }
}

/* The labels pick a row's class; label `ignore` drops the row, also one whose logits are all -inf. */
static double loss_of(gcut_env *env, const char *attrs, const double labels[NROWS])
{
    char text[512];
    double in[3 * NROWS + NROWS];
    memcpy(in, rows, sizeof rows);
    memcpy(in + 3 * NROWS, labels, NROWS * sizeof *labels);
    snprintf(text, sizeof text,
             "gcut 1\nfunc @f(input %%a: f64[6, 3], input %%t: i64[6]) -> (out y: f64[]) {\n"
             "  %%y: f64[] = cross_entropy(%%a, %%t%s)\n  return %%y\n}\n",
             attrs);
    job j = {.env = env, .text = text, .in = in};
    run(&j);
    job e = {.env = env, .text = text, .in = in, .expand = true};
    run(&e);
    check_close(e.out.u.f[0], j.out.u.f[0], 0, "expanded cross_entropy", 0);
    return j.out.u.f[0];
}

static double loss_formula(double smooth, double ignore, const double labels[NROWS])
{
    long double loss = 0;
    int n = 0;
    for (int r = 0; r < NROWS; r++) {
        if (labels[r] == ignore) continue;
        long double sum = 0, even = 0;
        for (int c = 0; c < 3; c++) sum += expl((long double)rows[3 * r + c]);
        for (int c = 0; c < 3; c++) even += (rows[3 * r + c] - logl(sum)) / 3;
        loss -= (1 - (long double)smooth) * (rows[3 * r + (int)labels[r]] - logl(sum));
        if (smooth > 0) loss -= smooth * even;
        n++;
    }
    return (double)(loss / n);
}

static void cross_entropies(void **state)
{
    static const double some[] = {2, 0, 1, 1, 2, -100}, few[] = {0, 1, 2, 0, 7, 7};
    static const double none[] = {-100, -100, -100, -100, -100, -100};
    check_close(loss_of(*state, "", some), loss_formula(0, -100, some), 1e-14, "cross_entropy", 0);
    check_close(loss_of(*state, ", ignore=7", few), loss_formula(0, 7, few), 1e-14, "ignore", 0);
    check_close(loss_of(*state, ", ignore=7, smooth=0.1", few), loss_formula(0.1, 7, few), 1e-14, "smooth",
                0);
    assert_true(isnan(loss_of(*state, "", none)));
}

/* B=1, H=4 heads over G=2 groups, T=2 queries, S=3 keys, D=2. */
enum { H = 4, G = 2, T = 2, S = 3, D = 2 };

static void attention_formula(const double *q, const double *k, const double *v, const double *bias,
                              bool causal, long double scale, double *out)
{
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = h / (H / G);
            long double w[S], sum = 0;
            for (int s = 0; s < S; s++) {
                long double dot = 0;
                for (int d = 0; d < D; d++)
                    dot += (long double)q[(h * T + t) * D + d] * k[(g * S + s) * D + d];
                dot = dot * scale + (bias ? bias[(h * T + t) * S + s] : 0);
                w[s] = causal && s > t + (S - T) ? 0 : expl(dot);
                sum += w[s];
            }
            for (int d = 0; d < D; d++) {
                long double y = 0;
                for (int s = 0; s < S; s++) y += w[s] / sum * v[(g * S + s) * D + d];
                out[(h * T + t) * D + d] = (double)y;
            }
        }
}

static void attentions(void **state)
{
    double in[H * T * D + 2 * G * S * D + H * T * S], want[H * T * D];
    const double *q = in, *k = q + H * T * D, *v = k + G * S * D, *bias = v + G * S * D;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) in[i] = sin(1.7 * (double)i) * 2;
    static const struct {
        const char *attrs;
        bool bias, causal;
        double scale;
    } cases[] = {{"", false, false, 0},
                 {", causal=true", false, true, 0},
                 {", causal=true, scale=0.3", true, true, 0.3},
                 {", scale=2", true, false, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int symbolic = 0; symbolic < 2; symbolic++) {
            char text[1024];
            snprintf(text, sizeof text,
                     symbolic
                         ? "gcut 1\nfunc @f[T, S, D](input %%q: f64[1, 4, T, D], input %%k: f64[1, 2, S, D], "
                           "input %%v: f64[1, 2, S, D]%s) -> (out y: f64[1, 4, T, D]) {\n"
                           "  %%y = attention(%%q, %%k, %%v%s%s)\n  return %%y\n}\n"
                         : "gcut 1\nfunc @f(input %%q: f64[1, 4, 2, 2], input %%k: f64[1, 2, 3, 2], "
                           "input %%v: f64[1, 2, 3, 2]%s) -> (out y: f64[1, 4, 2, 2]) {\n"
                           "  %%y = attention(%%q, %%k, %%v%s%s)\n  return %%y\n}\n",
                     !cases[c].bias ? ""
                     : symbolic     ? ", input %b: f64[1, 4, T, S]"
                                    : ", input %b: f64[1, 4, 2, 3]",
                     cases[c].bias ? ", %b" : "", cases[c].attrs);
            static const int64_t sizes[] = {1, 4, 2, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 4, 2, 3};
            long double scale = cases[c].scale != 0 ? (long double)cases[c].scale : 1 / sqrtl(D);
            attention_formula(q, k, v, cases[c].bias ? bias : NULL, cases[c].causal, scale, want);
            for (int expand = 0; expand < 2; expand++) {
                job j = {.env = *state, .text = text, .in = in, .expand = expand, .sizes = sizes};
                run(&j);
                assert_int_equal(j.out.n, H * T * D);
                for (int i = 0; i < H * T * D; i++) check_close(j.out.u.f[i], want[i], 1e-14, text, i);
            }
        }
}

/* More queries than keys: the first T - S see no key, so their rows are NaN; the others are untouched. */
static void causal_without_keys(void **state)
{
    job j = {
        .env = *state,
        .in = (double[]){1, 1, 5, 7},
        .text = "gcut 1\nfunc @f(input %q: f64[1, 1, 2, 1], input %k: f64[1, 1, 1, 1], input %v: f64[1, 1, "
                "1, 1]) "
                "-> (out y: f64[1, 1, 2, 1]) {\n  %y = attention(%q, %k, %v, causal=true)\n  return %y\n}\n"};
    run(&j);
    assert_true(isnan(j.out.u.f[0]));
    assert_that(j.out.u.f[1], ==, 7);
}

/* ---- expansion ---- */

static void expansion_keeps_names(void **state)
{
    job j = {.env = *state,
             .expand = true,
             .in = (double[]){1, 2, 3, 4, 5, 6, 0, 2},
             .text =
                 "gcut 1\nfunc @f(input %x: f32[2, 3], input %t: i32[2]) -> (out y: f32[]) {\n"
                 "  %y.softmax: f32[2, 3] = relu(%x)\n  %s: f32[2, 3] = softmax(%y.softmax, axis=1)\n"
                 "  %s.exp: f32[2, 3] = neg(%s)\n  %y: f32[] = cross_entropy(%s.exp, %t)\n  return %y\n}\n"};
    run(&j);
    static const char *const names[] = {"x", "t", "y.softmax", "s", "s.exp", "y"};
    static const gcut_op ops[] = {0, 0, GCUT_OP_relu, GCUT_OP_div, GCUT_OP_neg, GCUT_OP_div};
    for (size_t k = 0; k < 6; k++) {
        gcut_ref v = gcut_graph_find(j.ran, names[k]);
        assert_that(v, !=, 0);
        if (k >= 2) assert_int_equal(gcut_def(j.ran, v)->op, ops[k]);
    }
    for (uint32_t n = 0; n < j.ran->nodes.n; n++)
        assert_false(gcut_op_get((gcut_op)j.ran->nodes.at[n].op)->composite);
    assert_int_equal(j.ran->module->graphs.n, 2); /* the scratch graphs are gone */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(softmax_family),        WITH_FIXTURE(infinite_logits), WITH_FIXTURE(norms),
        WITH_FIXTURE(cross_entropies),       WITH_FIXTURE(attentions),      WITH_FIXTURE(causal_without_keys),
        WITH_FIXTURE(expansion_keeps_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
