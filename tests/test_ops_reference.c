/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values and gradients of single ops against PyTorch's, in every backend: the
 * function and the numbers are those of tests/reference/ops.py.
 */
#include "backends.h"

enum { MAX_VALUES = 200, MAX_ELEMENTS = 256, MAX_LINE = 8192 };

typedef struct expected {
    char name[32];
    int64_t n;
    double x[MAX_ELEMENTS];
} expected;

/* The function's text up to its closing brace, then one expected value per line. */
static size_t read_all(char *text, size_t room, expected *e)
{
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/ops.txt", "r");
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
    fclose(f);
    return n;
}

static double element(const gcut_value_info *v, int64_t i)
{
    return v->dtype == GCUT_F64 ? ((const double *)v->at)[i] : (double)((const float *)v->at)[i];
}

static void fill_params(gcut_step *s)
{
    int k = 0;
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        gcut_value_info v = gcut_step_value_at(s, i);
        if (strcmp(v.role, "param") != 0) continue;
        int64_t n = v.bytes / (v.dtype == GCUT_F64 ? 8 : 4);
        for (int64_t j = 0; j < n; j++) {
            double x = 1.7 * sin(0.61 * (double)j + k);
            if (v.dtype == GCUT_F64)
                ((double *)v.at)[j] = x;
            else
                ((float *)v.at)[j] = (float)x;
        }
        k++;
    }
}

static void check(gcut_step *s, const char *backend, const expected *e, size_t n, double tol)
{
    for (size_t k = 0; k < n; k++) {
        gcut_value_info v;
        double scale = 1;
        if (!gcut_step_value(s, e[k].name, &v)) fail_msg("%s: no value %s", backend, e[k].name);
        for (int64_t i = 0; i < e[k].n; i++) scale = fmax(scale, fabs(e[k].x[i]));
        for (int64_t i = 0; i < e[k].n; i++)
            if (!(fabs(element(&v, i) - e[k].x[i]) <= tol * scale))
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

static void in_f64(void **state)
{
    (void)state;
    size_t n = read_all(text, sizeof text, values);
    assert_true(n > 50);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, text);
    for (size_t b = 0; b < NBACKENDS; b++) {
        gcut_step *s = step_of(ctx, g, &backends[b], false, NULL);
        assert_ok(ctx, gcut_prepare(s));
        fill_params(s);
        assert_ok(ctx, gcut_run(s));
        check(s, backends[b].name, values, n, 1e-11);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void compiled_in_f32(void **state)
{
    (void)state;
    size_t n = read_all(text, sizeof text, values);
    narrow(text);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_step *s = step_of(ctx, graph_from(ctx, text), &backends[NBACKENDS - 1], false, NULL);
    assert_ok(ctx, gcut_prepare(s));
    fill_params(s);
    assert_ok(ctx, gcut_run(s));
    check(s, "f32", values, n, 2e-5);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_f64), cmocka_unit_test(compiled_in_f32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
