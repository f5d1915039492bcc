/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values and gradients of single ops against PyTorch's, in every backend: the
 * functions and the numbers are those of tests/reference/ops.py, with ordinary
 * operands, and extremes.py, with large, equal, infinite and NaN ones.
 */
#include "backends.h"
#include "graph/graph.h"
#include "public.h"

enum { MAX_VALUES = 400, MAX_ELEMENTS = 256, MAX_LINE = 1 << 15 };

typedef struct expected {
    char name[32];
    int64_t n;
    double x[MAX_ELEMENTS];
} expected;

/* The function's text up to its closing brace, then one expected value per line. */
static size_t read_all(const char *path, char *text, size_t room, expected *e)
{
    FILE *f = fopen(path, "r");
    char line[MAX_LINE];
    size_t n = 0;
    assert_non_null(f);
    text[0] = '\0';
    do {
        assert_non_null(fgets(line, sizeof line, f));
        assert_true(strlen(text) + strlen(line) < room);
        strcat(text, line);
    } while (line[0] != '}');
    while (n < MAX_VALUES && fscanf(f, "%31s %" SCNd64, e[n].name, &e[n].n) == 2) {
        assert_true(e[n].n <= MAX_ELEMENTS);
        for (int64_t i = 0; i < e[n].n; i++) assert_int_equal(fscanf(f, "%lf", &e[n].x[i]), 1);
        n++;
    }
    assert_true(n < MAX_VALUES); /* none is left */
    fclose(f);
    return n;
}

static double element(const gcut_value_info *v, int64_t i)
{
    return v->dtype == GCUT_F64 ? ((const double *)v->at)[i] : (double)((const float *)v->at)[i];
}

static void put(const gcut_value_info *v, int64_t i, double x)
{
    if (v->dtype == GCUT_F64)
        ((double *)v->at)[i] = x;
    else
        ((float *)v->at)[i] = (float)x;
}

typedef double fill_fn(int param, int64_t i);

static double sine(int param, int64_t i)
{
    return 1.7 * sin(0.61 * (double)i + param);
}

static double rows(int param, int64_t i)
{
    static const double at[] = {
        1e4,  -1e4, 0,         1e4, 3,         3,         3,         3,         -1e4,      -1e4 + 1, -1e4,
        -1e4, 1,    -INFINITY, 2,   -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, INFINITY, 1,
        2,    3,    NAN,       1,   2,         3,         INFINITY,  INFINITY,  0,         -INFINITY};
    (void)param;
    return at[i];
}

static void fill(gcut_step *s, fill_fn *with)
{
    int k = 0;
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        gcut_value_info v = *gcut_step_value_at(s, i);
        if (strcmp(v.role, "param") != 0 && strcmp(v.role, "input") != 0) continue;
        int64_t n = v.bytes / (v.dtype == GCUT_F64 ? 8 : 4);
        for (int64_t j = 0; j < n; j++) put(&v, j, with(k, j));
        k++;
    }
}

static bool near(double got, double want, double tol)
{
    return isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tol;
}

/* The largest finite value among those around element i: of its row of four where rows are far apart. */
static double scale_at(const expected *e, int64_t i, bool by_row)
{
    double scale = 1;
    for (int64_t k = 0; k < e->n; k++)
        if (isfinite(e->x[k]) && (!by_row || (e->n == 32 ? k / 4 == i / 4 : k == i)))
            scale = fmax(scale, fabs(e->x[k]));
    return scale;
}

static void check(gcut_step *s, const char *backend, const expected *e, size_t n, double tol, bool by_row)
{
    for (size_t k = 0; k < n; k++) {
        gcut_value_info v;
        if (!value_of(s, e[k].name, &v)) fail_msg("%s: no value %s", backend, e[k].name);
        for (int64_t i = 0; i < e[k].n; i++)
            if (!near(element(&v, i), e[k].x[i], tol * scale_at(&e[k], i, by_row)))
                fail_msg("%s: %s[%d] is %.17g, expected %.17g", backend, e[k].name, (int)i, element(&v, i),
                         e[k].x[i]);
    }
}

/* "f64" -> "f32" */
static void narrow(char *text)
{
    for (char *p = text; (p = strstr(p, "f64")) != NULL;) memcpy(p, "f32", 3);
}

static char text[1 << 16];
static expected values[MAX_VALUES];

typedef struct reference {
    const char *path;
    fill_fn *with;
    bool by_row;
} reference;

static const reference ordinary = {GCUT_SOURCE_DIR "/tests/reference/ops.txt", sine, false};
static const reference extreme = {GCUT_SOURCE_DIR "/tests/reference/extremes.txt", rows, true};

static void run(gcut_ctx *ctx, gcut_graph *g, const backend_case *b, const reference *r, size_t n, double tol)
{
    gcut_step *s = step_of(ctx, g, b, false, NULL);
    assert_ok(ctx, gcut_prepare(s));
    fill(s, r->with);
    assert_ok(ctx, gcut_run(s));
    check(s, b->name, values, n, tol, r->by_row);
    gcut_step_free(s);
}

static void in_f64(const reference *r)
{
    size_t n = read_all(r->path, text, sizeof text, values);
    assert_true(n > 25);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, text);
    for (size_t b = 0; b < NBACKENDS; b++) run(ctx, g, &backends[b], r, n, 1e-11);
    gcut_ctx_free(ctx);
}

/* tol is a part of the largest element around each. */
static void in_f32(const reference *r, double tol)
{
    size_t n = read_all(r->path, text, sizeof text, values);
    narrow(text);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, text);
    run(ctx, g, &backends[1], r, n, tol);
    run(ctx, g, &backends[NBACKENDS - 1], r, n, tol);
    gcut_ctx_free(ctx);
}

/* ---- every op is somewhere ---- */

static bool file_has(const char *name, const char *word)
{
    static char all[1 << 18];
    char path[256];
    snprintf(path, sizeof path, "%s/tests/reference/%s", GCUT_SOURCE_DIR, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    all[fread(all, 1, sizeof all - 1, f)] = '\0';
    fclose(f);
    return strstr(all, word) != NULL;
}

/* The script that asks PyTorch for it, or what its derivative is checked as a part of. */
static void every_derivative_has_a_reference(void **state)
{
    (void)state;
    static const char *const scripts[] = {"ops.txt", "conv.py", "attention.py"};
    static const struct {
        const char *op, *why;
    } others[] = {{"conv2d_input", "conv2d by x"},
                  {"conv2d_weight", "conv2d by w"},
                  {"max_pool2d_grad", "max_pool2d"},
                  {"max_pool2d_take", "second order: test_conv"},
                  {"avg_pool2d_grad", "avg_pool2d"},
                  {"attention_grad", "attention"},
                  {"external", "a function of the program's own: test_external"},
                  {"dropout", "its mask is no PyTorch's: test_random, and BERT in test_models"}};
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        char word[64];
        bool found = gcut_op_why_zero(info) != NULL || info->emit == GCUT_EMIT_REGION;
        snprintf(word, sizeof word, "%s(", info->name);
        for (size_t i = 0; !found && i < sizeof scripts / sizeof *scripts; i++)
            found = file_has(scripts[i], word);
        for (size_t i = 0; !found && i < sizeof others / sizeof *others; i++)
            found = !strcmp(others[i].op, info->name);
        if (!found) fail_msg("no script in tests/reference has '%s'", info->name);
    }
}

static void ordinary_f64(void **state)
{
    (void)state;
    in_f64(&ordinary);
}
static void ordinary_f32(void **state)
{
    (void)state;
    in_f32(&ordinary, 2e-5); /* for tan, near its pole */
}
static void extreme_f64(void **state)
{
    (void)state;
    in_f64(&extreme);
}
static void extreme_f32(void **state)
{
    (void)state;
    in_f32(&extreme, 3e-4); /* e^(x - y) with x and y near 1e4, where floats are 1e-3 apart */
}

/* No row at all, and one: the sums over none are 0, the product 1. */
static void empty_and_single(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(
        ctx,
        "func @f[N in 0..](param %x: f32[N, 4, 2, 2], param %g: f32[4], rng %k: i64[]) -> (out loss: f32[], "
        "out p: f32[4, 2, 2], out c: f32[N, 4, 2, 2], out a: i64[N, 2, 2], out u: f32[N]) {\n"
        "  %p = prod(%x, axes=[0])\n  %c = cumsum(%x, axis=0)\n  %a = argmax(%x, axis=1)\n"
        "  %q = cumprod(%c, axis=0, reverse=true)\n  %d = dropout(%q, %k, p=0.5)\n"
        "  %n = group_norm(%d, %g, %g, groups=2)\n  %i = instance_norm(%n, %g, %g)\n"
        "  %b = upsample(%i, factor=[2, 2], mode=\"bilinear\")\n  %e = elu(%b)\n"
        "  %loss = sum(%e)\n  %u = uniform(%k, shape=[N])\n  return %loss, %p, %c, %a, %u\n}\n");
    for (size_t b = 0; b < NBACKENDS; b++) {
        gcut_step *s = step_of(ctx, g, &backends[b], false, NULL);
        for (int64_t n = 0; n < 2; n++) {
            float x[16], p[16], dg[4], loss;
            for (int i = 0; i < 16; i++) x[i] = (float)i - 7.5f;
            gcut_bind(s, "x", x, n, 4, 2, 2);
            gcut_bind(s, "p", p, 4, 2, 2);
            gcut_bind(s, "grad.g", dg, 4);
            gcut_bind(s, "loss", &loss);
            assert_ok(ctx, gcut_run(s));
            for (int i = 0; i < 16; i++) assert_true(p[i] == (n ? x[i] : 1));
            for (int i = 0; i < 4 && n == 0; i++) assert_true(dg[i] == 0);
            assert_true(n ? isfinite(loss) : loss == 0);
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_derivative_has_a_reference),
                                       cmocka_unit_test(empty_and_single),
                                       cmocka_unit_test(ordinary_f64),
                                       cmocka_unit_test(ordinary_f32),
                                       cmocka_unit_test(extreme_f64),
                                       cmocka_unit_test(extreme_f32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
