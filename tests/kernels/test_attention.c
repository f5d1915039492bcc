/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * attention and attention_grad as kernels: against their formulas in long double, against PyTorch (values
 * from tests/reference/attention.py) and against themselves, at sizes around the blocks of the kernel.
 */
#include "harness.h"

#include "gradcut/gradcut.h"
#include "public.h"

typedef struct problem {
    int64_t B, H, G, T, S, D, E;
    bool f64, causal, bias;
    double scale; /* 0 = 1 / sqrt D */
} problem;

enum { Q, K, V, BIAS, SEED, NIN, Y = NIN, DQ, DK, DV, DBIAS, NALL };
static const char *const names[NALL] = {"q", "k", "v", "b", "t", "y", "grad.q", "grad.k", "grad.v", "grad.b"};

static void shape_of(const problem *p, int what, int64_t dim[4])
{
    static const char axes[NALL][5] = {"BHTD", "BGSD", "BGSE", "BHTS", "BHTE",
                                       "BHTE", "BHTD", "BGSD", "BGSE", "BHTS"};
    for (int d = 0; d < 4; d++) {
        char c = axes[what][d];
        dim[d] = c == 'B'   ? p->B
                 : c == 'H' ? p->H
                 : c == 'G' ? p->G
                 : c == 'T' ? p->T
                 : c == 'S' ? p->S
                 : c == 'D' ? p->D
                            : p->E;
    }
}

static int64_t count(const problem *p, int what)
{
    int64_t dim[4];
    shape_of(p, what, dim);
    return dim[0] * dim[1] * dim[2] * dim[3];
}

/* ---- the formulas ---- */

typedef struct arrays {
    double *at[NALL];
} arrays;

static void arrays_new(const problem *p, arrays *x)
{
    for (int i = 0; i < NALL; i++) x->at[i] = calloc((size_t)count(p, i) + 1, sizeof(double));
}

static void arrays_free(arrays *x)
{
    for (int i = 0; i < NALL; i++) free(x->at[i]);
}

static int64_t index_of(const problem *p, int what, int64_t b, int64_t h, int64_t row)
{
    int64_t dim[4];
    shape_of(p, what, dim);
    if (what == K || what == V || what == DK || what == DV) h /= p->H / p->G;
    return ((b * dim[1] + h) * dim[2] + row) * dim[3];
}

/* One query: row P of the probabilities, then everything that comes from it. */
static void formula_row(const problem *p, const arrays *x, int64_t b, int64_t h, int64_t t, long double *P,
                        long double *dS)
{
    const double *q = x->at[Q] + index_of(p, Q, b, h, t), *bias = x->at[BIAS] + index_of(p, BIAS, b, h, t);
    const double *dy = x->at[SEED] + index_of(p, SEED, b, h, t);
    double *y = x->at[Y] + index_of(p, Y, b, h, t), *dq = x->at[DQ] + index_of(p, DQ, b, h, t);
    int64_t seen = p->causal ? t + 1 + p->S - p->T : p->S;
    long double scale = p->scale != 0 ? (long double)p->scale : 1 / sqrtl((long double)p->D);
    long double top = -INFINITY, sum = 0, rows = 0;
    for (int64_t s = 0; s < p->S; s++) {
        const double *k = x->at[K] + index_of(p, K, b, h, s);
        P[s] = 0;
        for (int64_t d = 0; d < p->D; d++) P[s] += (long double)q[d] * k[d];
        P[s] = s < seen ? P[s] * scale + (p->bias ? bias[s] : 0) : -INFINITY;
        if (P[s] > top) top = P[s];
    }
    for (int64_t s = 0; s < p->S; s++) sum += P[s] = expl(P[s] - top);
    for (int64_t s = 0; s < p->S; s++) {
        const double *v = x->at[V] + index_of(p, V, b, h, s);
        double *dv = x->at[DV] + index_of(p, DV, b, h, s);
        P[s] /= sum;
        dS[s] = 0;
        for (int64_t e = 0; e < p->E; e++) {
            y[e] += (double)(P[s] * v[e]);
            dv[e] += (double)(P[s] * dy[e]);
            dS[s] += (long double)dy[e] * v[e];
        }
        rows += P[s] * dS[s];
    }
    for (int64_t s = 0; s < p->S; s++) {
        const double *k = x->at[K] + index_of(p, K, b, h, s);
        double *dk = x->at[DK] + index_of(p, DK, b, h, s);
        dS[s] = s < seen ? P[s] * (dS[s] - rows) : 0;
        x->at[DBIAS][index_of(p, DBIAS, b, h, t) + s] = (double)dS[s];
        for (int64_t d = 0; d < p->D; d++) {
            dq[d] += (double)(dS[s] * k[d] * scale);
            dk[d] += (double)(dS[s] * q[d] * scale);
        }
    }
}

static void formula(const problem *p, const arrays *x)
{
    long double *P = calloc((size_t)p->S * 2 + 1, sizeof *P);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t t = 0; t < p->T; t++) formula_row(p, x, b, h, t, P, P + p->S);
    free(P);
}

/* ---- the library ---- */

/* loss = sum(y t) of an attention with symbolic T and S.  wrt: letters of what is differentiated. */
static gcut_graph *model(gcut_ctx *ctx, const problem *p, const char *wrt)
{
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_dim T = gcut_dim_sym(g, "T", 0, GCUT_DIM_MAX), S = gcut_dim_sym(g, "S", 0, GCUT_DIM_MAX);
    gcut_val in[NIN];
    for (int i = 0; i < NIN; i++) {
        int64_t dim[4];
        gcut_shape shape = {.rank = 4};
        shape_of(p, i, dim);
        for (int d = 0; d < 4; d++) shape.dim[d] = dim[d];
        shape.dim[2] = i == K || i == V ? S : T;
        if (i == BIAS) shape.dim[3] = S;
        if (i == BIAS && !p->bias) continue;
        int type = p->f64 ? GCUT_F64 : GCUT_F32;
        in[i] = strchr(wrt, *names[i]) ? gcut_param(g, names[i], type, shape)
                                       : gcut_input(g, names[i], type, shape);
    }
    char attrs[64];
    snprintf(attrs, sizeof attrs, p->scale != 0 ? "causal=%s, scale=%.17g" : "causal=%s",
             p->causal ? "true" : "false", p->scale);
    gcut_val y = gcut_apply(g, "attention", in, p->bias ? 4 : 3, attrs);
    gcut_output(g, "y", y);
    gcut_output(g, "loss", gcut_sum(gcut_mul(y, in[SEED])));
    if (!gcut_graph_ok(g)) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

typedef struct run {
    gcut_step *step;
    void *data[NIN];
} run;

static void put(const problem *p, void *to, int64_t i, double x)
{
    if (p->f64)
        ((double *)to)[i] = x;
    else
        ((float *)to)[i] = (float)x;
}
static double get(const problem *p, const void *from, int64_t i)
{
    return p->f64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

/* Binds and runs at the sizes of p. */
static void run_at(gcut_ctx *ctx, run *r, const problem *p, const arrays *x)
{
    for (int i = 0; i < NIN; i++) {
        int64_t dim[4], n = count(p, i);
        shape_of(p, i, dim);
        if (i == BIAS && !p->bias) continue;
        free(r->data[i]);
        r->data[i] = aligned_alloc(64, (size_t)(n / 8 * 64 + 64));
        for (int64_t k = 0; k < n; k++) put(p, r->data[i], k, x->at[i][k]);
        if (gcut_bind_n(r->step, names[i], r->data[i], 4, dim) != GCUT_OK)
            fail_msg("%s", gcut_last_error(ctx));
    }
    if (gcut_run(r->step) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_stats st = *gcut_step_stats(r->step);
    assert_true(st.peak_bytes <= st.predicted_bytes);
}

static run run_new(gcut_ctx *ctx, const problem *p, const char *wrt, int threads, gcut_backend backend)
{
    gcut_options opt = TEST_OPTIONS;
    opt.threads = threads;
    opt.backend = backend;
    opt.loss = "loss";
    run r = {.step = gcut_compile(model(ctx, p, wrt), &opt)};
    if (!r.step) fail_msg("%s", gcut_last_error(ctx));
    return r;
}

static void run_free(run *r)
{
    gcut_step_free(r->step);
    for (int i = 0; i < NIN; i++) free(r->data[i]);
}

/* ---- comparing ---- */

static uint64_t seed = 1;
static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

static void fill(const problem *p, arrays *x)
{
    for (int i = 0; i < NIN; i++)
        for (int64_t k = 0; k < count(p, i); k++) x->at[i][k] = p->f64 ? uniform() : (double)(float)uniform();
}

static const char *describe(const problem *p)
{
    static char text[160];
    snprintf(text, sizeof text, "B=%d H=%d G=%d T=%d S=%d D=%d E=%d %s%s%s scale=%g", (int)p->B, (int)p->H,
             (int)p->G, (int)p->T, (int)p->S, (int)p->D, (int)p->E, p->f64 ? "f64" : "f32",
             p->causal ? " causal" : "", p->bias ? " bias" : "", p->scale);
    return text;
}

/* Every result that the step has, against x; errors relative to the largest element. */
static void compare(const problem *p, const run *r, const arrays *x, double tol)
{
    int seen = 0;
    for (int i = Y; i < NALL; i++) {
        gcut_value_info v;
        double top = 1e-3;
        int64_t n = count(p, i);
        if (!value_of(r->step, names[i], &v)) continue;
        seen++;
        assert_int_equal(v.bytes, n * (p->f64 ? 8 : 4));
        for (int64_t k = 0; k < n; k++)
            if (fabs(x->at[i][k]) > top) top = fabs(x->at[i][k]);
        for (int64_t k = 0; k < n; k++) {
            double got = get(p, v.at, k), want = x->at[i][k];
            if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= tol * top))
                fail_msg("%s: %s[%d] is %.9g, not %.9g", describe(p), names[i], (int)k, got, want);
        }
    }
    assert_true(seen >= 2);
}

static double tolerance(const problem *p)
{
    return p->f64 ? 1e-13 : 1e-5;
}

/* ---- tests ---- */

/* Sizes at, below and beyond blocks of queries and lanes of keys, empty ones, more queries than keys. */
static const int64_t sizes[][2] = {{1, 1},   {1, 40},  {3, 2},   {2, 3},   {0, 3},   {3, 0},  {31, 31},
                                   {32, 32}, {33, 33}, {64, 65}, {65, 64}, {7, 130}, {97, 5}, {128, 128}};

static void test_formulas(void **state)
{
    (void)state;
    static const problem problems[] = {
        {.B = 2, .H = 2, .G = 2, .D = 8, .E = 8, .causal = true},
        {.B = 1, .H = 4, .G = 2, .D = 5, .E = 3, .bias = true},
        {.B = 2, .H = 3, .G = 1, .D = 32, .E = 40, .causal = true, .bias = true, .scale = 0.5},
        {.B = 1, .H = 2, .G = 2, .D = 1, .E = 1, .f64 = true},
        {.B = 2, .H = 4, .G = 2, .D = 6, .E = 4, .f64 = true, .causal = true, .bias = true, .scale = -0.3},
    };
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        problem p = problems[k];
        run r = run_new(ctx, &p, k == 2 ? "qkv" : "qkvb", 2, GCUT_BACKEND_COMPILED);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            arrays x;
            p.T = sizes[i][0], p.S = sizes[i][1];
            arrays_new(&p, &x);
            fill(&p, &x);
            formula(&p, &x);
            run_at(ctx, &r, &p, &x);
            compare(&p, &r, &x, tolerance(&p));
            arrays_free(&x);
        }
        run_free(&r);
        gcut_ctx_free(ctx);
    }
}

/* One operand alone: the others' results are left out of the kernel. */
static void test_parts(void **state)
{
    (void)state;
    static const char *const wrt[] = {"q", "k", "v", "b", "qb"};
    for (size_t k = 0; k < sizeof wrt / sizeof *wrt; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        problem p = {.B = 1, .H = 2, .G = 1, .T = 35, .S = 40, .D = 4, .E = 3, .causal = true, .bias = true};
        arrays x;
        run r = run_new(ctx, &p, wrt[k], 2, GCUT_BACKEND_COMPILED);
        arrays_new(&p, &x);
        fill(&p, &x);
        formula(&p, &x);
        run_at(ctx, &r, &p, &x);
        compare(&p, &r, &x, tolerance(&p));
        arrays_free(&x);
        run_free(&r);
        gcut_ctx_free(ctx);
    }
}

/* Logits of 1e4, masks of -inf by way of the bias, and a row that is masked altogether. */
static void test_extremes(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        problem p = {.B = 1, .H = 2, .G = 2, .T = 34, .S = 50, .D = 4, .E = 4, .bias = true, .scale = 1};
        arrays x;
        run r = run_new(ctx, &p, "qkvb", 2, GCUT_BACKEND_COMPILED);
        arrays_new(&p, &x);
        fill(&p, &x);
        for (int64_t i = 0; i < count(&p, BIAS); i++)
            if (k == 0)
                x.at[BIAS][i] = i % 7 == 3 ? 1e4 : i % 7 == 5 ? -1e4 : x.at[BIAS][i];
            else if (i % 3 || (k == 2 && i / p.S == 40))
                x.at[BIAS][i] = -INFINITY;
        formula(&p, &x);
        run_at(ctx, &r, &p, &x);
        /* Next to 1e4 an f32 has three digits after the point. */
        compare(&p, &r, &x, k == 0 ? 2e-3 : tolerance(&p));
        arrays_free(&x);
        run_free(&r);
        gcut_ctx_free(ctx);
    }
}

/* A copy of every result, one after the other. */
static unsigned char *results(const run *r, size_t *n)
{
    unsigned char *all = NULL;
    *n = 0;
    for (int i = Y; i < NALL; i++) {
        gcut_value_info v;
        if (!value_of(r->step, names[i], &v)) continue;
        all = realloc(all, *n + (size_t)v.bytes + 1);
        memcpy(all + *n, v.at, (size_t)v.bytes);
        *n += (size_t)v.bytes;
    }
    return all;
}

static void test_threads(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    problem p = {.B = 2, .H = 6, .G = 3, .T = 150, .S = 150, .D = 16, .E = 16, .causal = true};
    arrays x;
    arrays_new(&p, &x);
    fill(&p, &x);
    unsigned char *want = NULL;
    size_t n0 = 0;
    for (int threads = 1; threads <= 3; threads++) {
        run r = run_new(ctx, &p, "qkv", threads, GCUT_BACKEND_COMPILED);
        size_t n;
        run_at(ctx, &r, &p, &x);
        unsigned char *got = results(&r, &n);
        if (want) {
            assert_int_equal(n, n0);
            assert_memory_equal(got, want, n);
            free(got);
        } else {
            want = got;
            n0 = n;
        }
        run_free(&r);
    }
    free(want);
    arrays_free(&x);
    gcut_ctx_free(ctx);
}

/* At T = S the step takes memory in proportion to T: nowhere is there a T x S matrix. */
static void test_memory(void **state)
{
    (void)state;
    static const problem p = {.B = 1, .H = 2, .G = 2, .D = 8, .E = 8, .causal = true};
    int64_t peak[3];
    for (int k = 0; k < 3; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        int64_t n = 2048 << k;
        gcut_size at[] = {{"T", n}, {"S", n}};
        gcut_options opt = TEST_OPTIONS;
        opt.at = at;
        opt.nat = 2;
        opt.threads = 2;
        opt.loss = "loss";
        const gcut_plan *plan = gcut_plan_new(model(ctx, &p, "qkv"), &opt);
        if (!plan) fail_msg("%s", gcut_last_error(ctx));
        peak[k] = gcut_plan_look(plan)->peak_bytes;
        assert_true(peak[k] < n * n * 4);
        gcut_ctx_free(ctx);
    }
    assert_int_equal(peak[2] - peak[1], 2 * (peak[1] - peak[0]));
}

/* A line of attention.txt: the case, what it is, its elements. */
static void read_reference(const char *what, const problem *p, arrays *x)
{
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/attention.txt", "r");
    static const char *const keys[] = {"y", "dq", "dk", "dv", "db"};
    char name[32], key[8];
    int found = 0;
    assert_non_null(f);
    while (fscanf(f, "%31s %7s", name, key) == 2) {
        int i = 0;
        while (strcmp(keys[i], key) != 0) i++;
        problem of = *p;
        if (strcmp(name, what) != 0) of.G = !strcmp(name, "groups") ? 2 : !strcmp(name, "everything") ? 1 : 4;
        for (int64_t k = 0; k < count(&of, Y + i); k++) {
            double e;
            assert_int_equal(fscanf(f, "%lf", &e), 1);
            if (!strcmp(name, what)) x->at[Y + i][k] = e;
        }
        found += !strcmp(name, what);
    }
    fclose(f);
    assert_true(found >= 4);
}

static void test_pytorch(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t G;
        bool causal, bias;
        double scale;
    } cases[] = {{"plain", 4, false, false, 0},
                 {"causal", 4, true, false, 0},
                 {"groups", 2, true, false, 0.3},
                 {"bias", 4, false, true, 0},
                 {"everything", 1, true, true, 1.5}};
    static const double waves[NIN] = {0.7, 0.9, 1.1, 1.7, 1.3};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int backend = GCUT_BACKEND_JOINT; backend <= GCUT_BACKEND_COMPILED;
             backend += GCUT_BACKEND_COMPILED - GCUT_BACKEND_JOINT) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            problem p = {1, 4, cases[c].G, 3, 5, 4, 2, true, cases[c].causal, cases[c].bias, cases[c].scale};
            arrays x;
            run r = run_new(ctx, &p, "qkvb", 1, (gcut_backend)backend);
            arrays_new(&p, &x);
            for (int i = 0; i < NIN; i++)
                for (int64_t k = 0; k < count(&p, i); k++) x.at[i][k] = sin(waves[i] * (double)k + 1);
            read_reference(cases[c].name, &p, &x);
            run_at(ctx, &r, &p, &x);
            compare(&p, &r, &x, 1e-13);
            arrays_free(&x);
            run_free(&r);
            gcut_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formulas), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_extremes), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_memory),   cmocka_unit_test(test_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
