/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_einsum against NumPy's values (tests/reference/einsum.py), against the definition as one loop over all
 * letters on random equations, and its gradient against central differences; with known and symbolic sizes.
 */
#include "harness.h"

#include <ctype.h>

#include "gradcut/gradcut.h"
#include "public.h"

enum { MAX_TERMS = 6, MAX_ELEMENTS = 20000 };

typedef struct problem {
    char equation[64];
    int64_t size[128]; /* by letter */
    int nterms;
    char term[MAX_TERMS][16], output[16];
} problem;

static void split(problem *p)
{
    const char *s = p->equation;
    p->nterms = 0;
    for (;;) {
        size_t n = strcspn(s, ",-");
        snprintf(p->term[p->nterms++], sizeof p->term[0], "%.*s", (int)n, s);
        s += n;
        if (*s != ',') break;
        s++;
    }
    if (*s) {
        snprintf(p->output, sizeof p->output, "%s", s + 2);
        return;
    }
    int k = 0, count[128] = {0};
    for (s = p->equation; *s; s++) count[(unsigned char)*s]++;
    for (int c = 'A'; c <= 'z'; c++)
        if (isalpha(c) && count[c] == 1) p->output[k++] = (char)c;
    p->output[k] = '\0';
}

static int64_t elements(const problem *p, const char *term)
{
    int64_t n = 1;
    for (; *term; term++) n *= p->size[(unsigned char)*term];
    return n;
}

static double operand_at(int k, int64_t i)
{
    return (double)((7 * i + 3 * k) % 11 - 5) / 4;
}

/* The definition: every assignment of all letters adds one product to one element. */
static void naive(const problem *p, double *out)
{
    char all[64] = "";
    size_t n = 0;
    for (const char *s = p->equation; *s; s++)
        if (isalpha((unsigned char)*s) && !strchr(all, *s)) all[n++] = *s;
    int64_t total = elements(p, all), at[128] = {0};
    memset(out, 0, (size_t)elements(p, p->output) * sizeof *out);
    for (int64_t k = 0; k < total; k++) {
        int64_t q = k, where = 0;
        double product = 1;
        for (const char *c = all; *c; c++)
            at[(unsigned char)*c] = q % p->size[(unsigned char)*c], q /= p->size[(unsigned char)*c];
        for (int t = 0; t < p->nterms; t++) {
            int64_t i = 0;
            for (const char *c = p->term[t]; *c; c++)
                i = i * p->size[(unsigned char)*c] + at[(unsigned char)*c];
            product *= operand_at(t, i);
        }
        for (const char *c = p->output; *c; c++)
            where = where * p->size[(unsigned char)*c] + at[(unsigned char)*c];
        out[where] += product;
    }
}

static gcut_graph *build(gcut_ctx *ctx, const problem *p, bool symbolic)
{
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_val in[MAX_TERMS];
    gcut_dim dim[128] = {0};
    for (const char *s = p->equation; *s; s++) {
        char name[3] = {'n', *s, 0};
        if (isalpha((unsigned char)*s) && !dim[(unsigned char)*s])
            dim[(unsigned char)*s] = symbolic ? gcut_dim_sym(g, name, 0, 1000) : p->size[(unsigned char)*s];
    }
    for (int t = 0; t < p->nterms; t++) {
        char name[] = {'x', (char)('0' + t), 0};
        gcut_shape shape = {.rank = (int)strlen(p->term[t])};
        for (int d = 0; d < shape.rank; d++) shape.dim[d] = dim[(unsigned char)p->term[t][d]];
        in[t] = gcut_param(g, name, GCUT_F64, shape);
    }
    gcut_val y = gcut_einsum_at(GCUT_HERE, p->equation, in, p->nterms);
    gcut_output(g, "y", y);
    return g;
}

static void check(const problem *p, bool symbolic, gcut_backend backend, const double *want)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.backend = backend;
    o.forward_only = true;
    gcut_graph *g = build(ctx, p, symbolic);
    gcut_step *s = gcut_compile(g, &o);
    double *data[MAX_TERMS];
    if (!s) fail_msg("%s: %s", p->equation, gcut_last_error(ctx));
    for (int t = 0; t < p->nterms; t++) {
        char name[] = {'x', (char)('0' + t), 0};
        int64_t shape[16], n = elements(p, p->term[t]);
        int rank = (int)strlen(p->term[t]);
        for (int d = 0; d < rank; d++) shape[d] = p->size[(unsigned char)p->term[t][d]];
        data[t] = malloc((size_t)n * sizeof **data + 8);
        assert_non_null(data[t]);
        for (int64_t i = 0; i < n; i++) data[t][i] = operand_at(t, i);
        assert_int_equal(gcut_bind_n(s, name, data[t], rank, shape), GCUT_OK);
    }
    if (gcut_run(s) != GCUT_OK) fail_msg("%s: %s", p->equation, gcut_last_error(ctx));
    gcut_value_info y;
    assert_true(value_of(s, "y", &y));
    assert_int_equal(y.rank, strlen(p->output));
    for (int d = 0; d < y.rank; d++) assert_int_equal(y.dim[d], p->size[(unsigned char)p->output[d]]);
    for (int64_t i = 0, n = elements(p, p->output); i < n; i++)
        if (((double *)y.at)[i] != want[i]) /* every sum is exact */
            fail_msg("%s%s [%lld]: %g, expected %g", p->equation, symbolic ? ", symbolic" : "", (long long)i,
                     ((double *)y.at)[i], want[i]);
    for (int t = 0; t < p->nterms; t++) free(data[t]);
    gcut_ctx_free(ctx);
}

static void numpys_values(void **state)
{
    (void)state;
    static double want[MAX_ELEMENTS], ours[MAX_ELEMENTS];
    char sizes[128], shape[64];
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/einsum.txt", "r");
    assert_non_null(f);
    problem p = {0};
    int cases = 0;
    while (fscanf(f, "%63s %127s %63s", p.equation, sizes, shape) == 3) {
        for (char *s = strtok(sizes, ","); s; s = strtok(NULL, ","))
            if (isalpha((unsigned char)*s)) p.size[(unsigned char)*s] = strtoll(s + 2, NULL, 10);
        split(&p);
        int64_t n = elements(&p, p.output);
        assert_that(n, <=, MAX_ELEMENTS);
        for (int64_t i = 0; i < n; i++) assert_int_equal(fscanf(f, "%lf", &want[i]), 1);
        naive(&p, ours);
        assert_memory_equal(ours, want, (size_t)n * sizeof *want); /* our definition is NumPy's */
        check(&p, false, GCUT_BACKEND_EAGER, want);
        check(&p, true, GCUT_BACKEND_EAGER, want);
        if (cases++ % 6 == 0) check(&p, true, GCUT_BACKEND_COMPILED, want);
    }
    fclose(f);
    assert_that(cases, >=, 35);
}

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 40) % below;
}

static void invent(problem *p, uint64_t *seed)
{
    static const char letters[] = "abcdxY";
    int n = 0, terms = 1 + (int)draw(seed, 3);
    *p = (problem){0};
    for (int k = 0; k < 6; k++) p->size[(unsigned char)letters[k]] = draw(seed, 12) ? 1 + draw(seed, 4) : 0;
    for (int t = 0; t < terms; t++) {
        if (t) p->equation[n++] = ',';
        for (unsigned k = draw(seed, 5); k > 0; k--) p->equation[n++] = letters[draw(seed, 6)];
    }
    if (draw(seed, 4)) {
        char inputs[64];
        memcpy(inputs, p->equation, sizeof inputs);
        n += snprintf(p->equation + n, 3, "->");
        for (int k = 0, from = (int)draw(seed, 6); k < 6; k++) {
            char c = letters[(from + k * 5) % 6];
            if (strchr(inputs, c) && draw(seed, 2)) p->equation[n++] = c;
        }
    }
    split(p);
}

static void random_equations(void **state)
{
    (void)state;
    static double want[MAX_ELEMENTS];
    uint64_t seed = 1;
    for (int k = 0; k < 400; k++) {
        problem p;
        invent(&p, &seed);
        TRY("equation %d, %s", k, p.equation);
        naive(&p, want);
        check(&p, k & 1, GCUT_BACKEND_EAGER, want);
        if (k % 100 == 7) check(&p, k & 1, GCUT_BACKEND_COMPILED, want);
    }
}

/* The gradient of sum(y^2). */
static void gradients(void **state)
{
    (void)state;
    static const char *const equations[] = {"bij,bjk->ik", "iij->j", "ab,bc,ca->", "bi,bj->bij", "abc,c->b"};
    for (size_t k = 0; k < sizeof equations / sizeof *equations; k++) {
        problem p = {0};
        snprintf(p.equation, sizeof p.equation, "%s", equations[k]);
        for (int c = 'a'; c <= 'z'; c++) p.size[c] = 2 + c % 3;
        split(&p);
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_graph_new(ctx, "f");
        gcut_val in[MAX_TERMS];
        for (int t = 0; t < p.nterms; t++) {
            char name[] = {'x', (char)('0' + t), 0};
            gcut_shape shape = {.rank = (int)strlen(p.term[t])};
            for (int d = 0; d < shape.rank; d++) shape.dim[d] = p.size[(unsigned char)p.term[t][d]];
            in[t] = gcut_param(g, name, GCUT_F64, shape);
        }
        gcut_val y = gcut_einsum_at(GCUT_HERE, p.equation, in, p.nterms), square = gcut_mul(y, y);
        gcut_output(g, "loss", *p.output ? gcut_apply(g, "sum", &square, 1, "") : square);
        gcut_check_report r = gradcheck(g, NULL, NULL, 0, 0);
        if (!r.text || !r.ok) fail_msg("%s: %s", equations[k], r.text ? r.text : gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

static void wrong_equations_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *equation, *says;
    } wrong[] = {
        {"ij", "1 terms for 2 operands"},
        {"ij,jk,kl", "more terms than the 2 operands"},
        {"ij,j", "2 axes, its term 1 letters"},
        {"ij,ik->jk", "einsum"}, /* 2 and 3 are not equal */
        {"ij,jk->il", "'l' of the output is in no operand"},
        {"ij,jk->ii", "'i' is twice in the output"},
        {"...j,jk", "an ellipsis"},
        {"i1,jk", "'1' is no letter"},
        {"ij,jk-ik", "'-' without '>'"},
        {"ij,jk->i,k", "',' after the output"},
        {"abcdefghi,jk", "more than 8 letters"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = gcut_graph_new(ctx, "f");
        gcut_val a = gcut_input(g, "a", GCUT_F32, GCUT_SHAPE(2, 3)),
                 b = gcut_input(g, "b", GCUT_F32, GCUT_SHAPE(3, 4));
        gcut_val y = gcut_einsum(wrong[i].equation, a, b);
        assert_int_equal(y.id, 0);
        assert_false(gcut_graph_ok(g));
        assert_int_equal(gcut_last_status(ctx), GCUT_ETYPE);
        if (!strstr(gcut_last_error(ctx), wrong[i].says))
            fail_msg("%s: %s", wrong[i].equation, gcut_last_error(ctx));
        if (!strstr(gcut_last_error(ctx), "test_einsum.c:")) fail_msg("no line: %s", gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

/* Attention's scores: one product over one batch axis, nothing else. */
static void no_detours(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_dim t = gcut_dim_sym(g, "T", 1, 512);
    gcut_val a = gcut_input(g, "a", GCUT_F32, GCUT_SHAPE(t, 16)),
             b = gcut_param(g, "b", GCUT_F32, GCUT_SHAPE(16, 4));
    gcut_output(g, "y", gcut_einsum("ti,io->to", a, b));
    const char *text = gcut_show(g, NULL, GCUT_STAGE_PRIMAL, false);
    assert_non_null(text);
    assert_non_null(strstr(text, "= matmul(%a, %b)"));
    assert_null(strstr(text, "reshape"));
    assert_null(strstr(text, "transpose"));
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpys_values), cmocka_unit_test(random_equations),
        cmocka_unit_test(gradients),     cmocka_unit_test(wrong_equations_are_refused),
        cmocka_unit_test(no_detours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
