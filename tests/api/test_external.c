/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * External kernels: what they are given and give, in every backend with 1 and 2 threads; how often and in
 * what order they run; what the plan makes of their purity and cost; the same from C; from the cache; what is
 * refused.
 */
#define _GNU_SOURCE
#include "backends.h"
#include "cases.h"

#include <ftw.h>

#include "gradcut/gradcut_rt.h"

static const char *const backend_names[] = {"compiled", "eager", "joint", "planned"};
static const char *const policies[] = {"mincut", "save-all", "recompute-all", "sqrt", "torch"};
#define NPOLICIES (sizeof policies / sizeof *policies)

/* ---- kernels ---- */

static int64_t numel(const gcut_rt_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->dim[d];
    return n;
}

static int calls, calls_back; /* of cube, of cube_vjp */

static void cube(const gcut_rt_external *c)
{
    const float *x = c->in[0].at;
    float *y = c->out[0].at;
    calls++;
    for (int64_t i = 0, n = numel(&c->out[0]); i < n; i++) y[i] = x[i] * x[i] * x[i];
}

static void cube_vjp(const gcut_rt_external *c)
{
    const float *x = c->in[0].at, *dy = c->in[1].at;
    float *dx = c->out[0].at;
    calls_back++;
    for (int64_t i = 0, n = numel(&c->out[0]); i < n; i++) dx[i] = 3 * x[i] * x[i] * dy[i];
}

/* Appends its operand's first element to the log, and gives how many there are. */
static float journal[64];
static int written;

static void note(const gcut_rt_external *c)
{
    if (written < 64) journal[written++] = *(const float *)c->in[0].at;
    *(int64_t *)c->out[0].at = written;
}

/* ---- runs ---- */

#define CUBE(pure)                                                                                           \
    "func @cube[N](input %x: f32[N]) -> (out y: f32[N]) {\n"                                                 \
    "  %y: f32[N] = external(%x, kernel=\"cube\", flops=2*N, bytes=8*N, pure=" pure ")\n"                    \
    "  return %y\n"                                                                                          \
    "}\n"                                                                                                    \
    "func @cube.vjp[N](input %x: f32[N], cotan %dy: f32[N]) -> (grad x: f32[N]) {\n"                         \
    "  %dx: f32[N] = external(%x, %dy, kernel=\"cube_vjp\", flops=3*N, bytes=12*N, pure=" pure ")\n"         \
    "  return %dx\n"                                                                                         \
    "}\n"

/* a = w t, q = a^3, loss = sum(q^2): dw = 2 q * 3 a^2 * t, in that order of roundings. */
#define MODEL(pure)                                                                                          \
    CUBE(pure)                                                                                               \
    "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"                                \
    "  %a = mul(%w, %t) %q = call(@cube, %a, vjp=@cube.vjp) %e = mul(%q, %q) %loss = sum(%e)\n"              \
    "  return %loss\n"                                                                                       \
    "}\n"

static float want(float w, float t)
{
    const float a = w * t, q = a * a * a;
    return 3 * a * a * (q + q) * t;
}

static gcut_ctx *new_ctx(void)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    assert_non_null(ctx);
    assert_int_equal(gcut_external(ctx, "cube", cube), GCUT_OK);
    assert_int_equal(gcut_external(ctx, "cube_vjp", cube_vjp), GCUT_OK);
    assert_int_equal(gcut_external(ctx, "note", note), GCUT_OK);
    return ctx;
}

static gcut_step *step_with(gcut_ctx *ctx, gcut_graph *g, int backend, int threads, const char *policy,
                            bool forward)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = (gcut_backend)backend;
    o.threads = threads;
    o.policy = policy;
    o.forward_only = forward;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s, %s: %s", backend_names[backend], policy ? policy : "", gcut_last_error(ctx));
    return s;
}

enum { MOST = 30000 };
static float w[MOST], t[MOST];

static void fill(void)
{
    for (int i = 0; i < MOST; i++) w[i] = sinf(0.7f * (float)i + 0.3f), t[i] = cosf(0.37f * (float)i);
}

static void check_gradient(gcut_ctx *ctx, gcut_step *s, int n, const char *what)
{
    assert_ok(ctx, gcut_bind(s, "w", w, n));
    assert_ok(ctx, gcut_bind(s, "t", t, n));
    assert_ok(ctx, gcut_run(s));
    const float *dw = gcut_step_value(s, "grad.w")->at;
    for (int i = 0; i < n; i++)
        if (dw[i] != want(w[i], t[i]))
            fail_msg("%s: dw[%d] is %.9g, expected %.9g", what, i, (double)dw[i], (double)want(w[i], t[i]));
}

/* The bits of the same arithmetic in C. */
static void values_and_gradients(void **state)
{
    (void)state;
    fill();
    for (int pure = 0; pure < 2; pure++)
        for (int b = 0; b < 4; b++)
            for (int threads = 1; threads <= 2; threads++) {
                TRY("pure %d, %d threads", pure, threads);
                gcut_ctx *ctx = new_ctx();
                gcut_graph *g = graph_from(ctx, pure ? MODEL("true") : MODEL("false"));
                gcut_step *s = step_with(ctx, g, b, threads, NULL, false);
                check_gradient(ctx, s, MOST, backend_names[b]);
                check_gradient(ctx, s, 5, backend_names[b]);
                gcut_ctx_free(ctx);
            }
}

/* What is not pure runs once in a step, whoever plans; what is pure as often as the plan says. */
static void runs_as_often_as_planned(void **state)
{
    (void)state;
    fill();
    for (int pure = 0; pure < 2; pure++)
        for (int b = 0; b < 4; b++)
            for (size_t k = 0; k < NPOLICIES; k++) {
                gcut_ctx *ctx = new_ctx();
                gcut_graph *g = graph_from(ctx, pure ? MODEL("true") : MODEL("false"));
                gcut_step *s = step_with(ctx, g, b, 2, policies[k], false);
                calls = calls_back = 0;
                check_gradient(ctx, s, 100, policies[k]);
                bool planned = b == GCUT_BACKEND_COMPILED || b == GCUT_BACKEND_PLANNED;
                int expected = pure && planned && !strcmp(policies[k], "recompute-all") ? 2 : 1;
                bool free = pure && planned && strcmp(policies[k], "recompute-all") &&
                            strcmp(policies[k], "save-all");
                if (!(free ? calls == 1 || calls == 2 : calls == expected) || calls_back != 1)
                    fail_msg("%s, %s, pure=%d: %d and %d calls, expected %d and 1", backend_names[b],
                             policies[k], pure, calls, calls_back, expected);
                gcut_ctx_free(ctx);
            }
}

/* The cut recomputes what is declared to be cheap, and saves what is declared to be dear. */
static void the_cut_goes_by_the_declared_cost(void **state)
{
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        gcut_ctx *ctx = new_ctx();
        char text[sizeof MODEL("true") + 64];
        const char *at = strstr(MODEL("true"), "flops=2*N, bytes=8*N");
        snprintf(text, sizeof text, "%.*sflops=%s%s", (int)(at - MODEL("true")), MODEL("true"),
                 dear ? "900000*N, bytes=8*N" : "N, bytes=4*N", at + strlen("flops=2*N, bytes=8*N"));
        gcut_options o = TEST_OPTIONS;
        gcut_size n = {"N", 100000};
        o.at = &n;
        o.nat = 1;
        gcut_plan *plan = gcut_plan_new(graph_from(ctx, text), &o);
        if (!plan) fail_msg("%s", gcut_last_error(ctx));
        char *said = gcut_plan_text(plan, NULL);
        const char *saved = strstr(said, "saved for backward: "), *again = strstr(said, "recomputed: ");
        const char *q = saved ? strstr(saved, "%q ") : NULL;
        assert_true(saved && again && q);
        if (dear ? q > again : q < again) fail_msg("dear=%d:\n%s", dear, said);
        gcut_free(said);
        gcut_plan_free(plan);
        gcut_ctx_free(ctx);
    }
}

/* ---- effects ---- */

/* Neither result nor order of operands decides: the first two have equal operands, nothing reads the last. */
static const char journaled[] =
    "func @f[N](param %w: f32[4], input %t: f32[4]) -> (out k: i64[], out loss: f32[]) {\n"
    "  %t1: i64[] = external(%t, kernel=\"note\")\n"
    "  %t2: i64[] = external(%t, kernel=\"note\")\n"
    "  %w1: i64[] = external(%w, kernel=\"note\")\n"
    "  %a = mul(%w, %t)\n"
    "  %a1: i64[] = external(%a, kernel=\"note\")\n"
    "  %b = add(%a, %a)\n"
    "  %t3: i64[] = external(%t, kernel=\"note\")\n"
    "  %s = sum(%b)\n"
    "  %k = add(%t2, %t1)\n"
    "  return %k, %s\n"
    "}\n";

static void effects_keep_their_order_and_number(void **state)
{
    (void)state;
    char text[sizeof journaled];
    const char *hole = strstr(journaled, "[N]");
    snprintf(text, sizeof text, "%.*s%s", (int)(hole - journaled), journaled, hole + 3);
    for (int forward = 0; forward < 2; forward++)
        for (int b = 0; b < 4; b++)
            for (size_t k = 0; k < NPOLICIES; k++) {
                TRY("%s, %s, forward %d", backend_names[b], policies[k], forward);
                gcut_ctx *ctx = new_ctx();
                gcut_step *s = step_with(ctx, graph_from(ctx, text), b, 2, policies[k], forward);
                float x[4] = {3, 1, 1, 1}, y[4] = {5, 1, 1, 1};
                assert_ok(ctx, gcut_bind(s, "w", x, 4));
                assert_ok(ctx, gcut_bind(s, "t", y, 4));
                for (int run = 0; run < 2; run++) {
                    static const float expected[] = {5, 5, 3, 15, 5};
                    written = 0;
                    assert_ok(ctx, forward ? gcut_run_forward(s) : gcut_run(s));
                    if (written != 5 || memcmp(journal, expected, sizeof expected) != 0)
                        fail_msg("%s, %s: %d calls, of %g %g %g %g %g", backend_names[b], policies[k],
                                 written, (double)journal[0], (double)journal[1], (double)journal[2],
                                 (double)journal[3], (double)journal[4]);
                    assert_int_equal(*(const int64_t *)gcut_step_value(s, "k")->at, 3);
                }
                gcut_ctx_free(ctx);
            }
}

/* Pure ones are ordinary values: equal ones are one, unused ones are none. */
static void pure_kernels_are_values(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(
        ctx,
        "func @f[N](input %x: f32[N]) -> (out y: f32[N]) {\n"
        "  %a: f32[N] = external(%x, kernel=\"cube\", pure=true) %b: f32[N] = external(%x, kernel=\"cube\", "
        "pure=true)\n"
        "  %c: f32[N] = external(%b, kernel=\"cube\", pure=true) %y = add(%a, %b)\n"
        "  return %y\n"
        "}\n");
    gcut_step *s = step_with(ctx, g, GCUT_BACKEND_COMPILED, 1, NULL, true);
    float x[] = {1, 2, 3};
    assert_ok(ctx, gcut_bind(s, "x", x, 3));
    calls = 0;
    assert_ok(ctx, gcut_run_forward(s));
    assert_int_equal(calls, 1);
    assert_true(((const float *)gcut_step_value(s, "y")->at)[2] == 54);
    gcut_ctx_free(ctx);
}

/* ---- what a kernel is given ---- */

static int faults;
static bool is_tensor(const gcut_rt_tensor *x, int dtype, int rank, int64_t d0, int64_t d1)
{
    return x->dtype == dtype && x->rank == rank && (rank < 1 || x->dim[0] == d0) &&
           (rank < 2 || x->dim[1] == d1);
}

/* x [3, N] transposed, a slice of it, an integer, a bool row, a bf16 value, a constant, a scalar. */
static void look(const gcut_rt_external *c)
{
    const gcut_rt_tensor *in = c->in, *out = c->out;
    const int64_t n = in[0].dim[0];
    faults += !(c->nin == 7 && c->nout == 3 && c->threads >= 1);
    faults += !(is_tensor(&in[0], GCUT_RT_F32, 2, n, 3) && is_tensor(&in[1], GCUT_RT_F32, 2, 2, n));
    faults += !(is_tensor(&in[2], GCUT_RT_I32, 1, n, 0) && is_tensor(&in[3], GCUT_RT_BOOL, 1, n, 0));
    faults += !(is_tensor(&in[4], GCUT_RT_BF16, 1, n, 0) && is_tensor(&in[5], GCUT_RT_F32, 1, n, 0));
    faults += !is_tensor(&in[6], GCUT_RT_F64, 0, 0, 0);
    faults += !(is_tensor(&out[0], GCUT_RT_F64, 2, n, 2) && is_tensor(&out[1], GCUT_RT_BF16, 1, n, 0));
    faults += !is_tensor(&out[2], GCUT_RT_BOOL, 0, 0, 0);
    const float *xt = in[0].at, *rows = in[1].at, *half = in[5].at;
    double *y = out[0].at;
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = (double)xt[3 * i] + 10.0 * (double)xt[3 * i + 2] + ((const int32_t *)in[2].at)[i] +
                   *(const double *)in[6].at;
        y[2 * i + 1] = rows[i] - rows[n + i] + ((const uint8_t *)in[3].at)[i] + half[i];
        ((uint16_t *)out[1].at)[i] = ((const uint16_t *)in[4].at)[i];
    }
    *(uint8_t *)out[2].at = 1;
}

static const char all_kinds[] =
    "func @f[N](input %x: f32[3, N], input %i: i32[N] #range(0, 9), input %d: f64[]) -> (out y: f64[N, 2], "
    "out h: "
    "f32[N], out p: bool[]) {\n"
    "  %xt = transpose(%x, perm=[1, 0]) %rows = slice(%x, start=[1, 0], limit=[3, N])\n"
    "  %r0 = slice(%x, start=[0, 0], limit=[1, N]) %r = reshape(%r0, shape=[N]) %b = cast(%r, to=bf16)\n"
    "  %z = full(shape=[N], value=0, dtype=f32) %pos = gt(%r, %z) %half = full(shape=[N], value=0.5, "
    "dtype=f32)\n"
    "  %y: f64[N, 2], %hb: bf16[N], %p: bool[] = external(%xt, %rows, %i, %pos, %b, %half, %d, "
    "kernel=\"look\", "
    "pure=true)\n"
    "  %h = cast(%hb, to=f32)\n"
    "  return %y, %h, %p\n"
    "}\n";

static void tensors_are_packed_and_typed(void **state)
{
    (void)state;
    for (int b = 0; b < 4; b++)
        for (int64_t n = 0; n <= 5; n += 5) {
            TRY("%s, n %d", backend_names[b], (int)n);
            gcut_ctx *ctx = new_ctx();
            assert_int_equal(gcut_external(ctx, "look", look), GCUT_OK);
            gcut_step *s = step_with(ctx, graph_from(ctx, all_kinds), b, 2, NULL, true);
            float x[15];
            int32_t i[5] = {1, 2, 3, 4, 5};
            double d = 0.25;
            for (int k = 0; k < 15; k++) x[k] = (float)(k % 4) - 1;
            assert_ok(ctx, gcut_bind(s, "x", x, 3, n));
            assert_ok(ctx, gcut_bind(s, "i", i, n));
            assert_ok(ctx, gcut_bind(s, "d", &d));
            faults = 0;
            assert_ok(ctx, gcut_run_forward(s));
            assert_int_equal(faults, 0);
            const double *y = gcut_step_value(s, "y")->at;
            const float *h = gcut_step_value(s, "h")->at;
            for (int64_t k = 0; k < n; k++) {
                assert_true(y[2 * k] == (double)x[k] + 10.0 * (double)x[2 * n + k] + i[k] + d);
                assert_true(y[2 * k + 1] == x[n + k] - x[2 * n + k] + (x[k] > 0) + 0.5);
                assert_true(h[k] == x[k]);
            }
            assert_int_equal(*(const uint8_t *)gcut_step_value(s, "p")->at, 1);
            gcut_ctx_free(ctx);
        }
}

/* In the steps of a loop, whose derivative runs it again. */
static void pure_kernels_in_loops(void **state)
{
    (void)state;
    fill();
    for (int b = 0; b < 4; b++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = graph_from(
            ctx,
            CUBE("true") "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
                         "  %z = full(shape=[], value=0, dtype=f32) %w2 = reshape(%w, shape=[N, 1]) %t2 = "
                         "reshape(%t, shape=[N, 1])\n"
                         "  %all = scan(%w2, %t2, carries=0) body(%x, %y) {\n"
                         "    %a = mul(%x, %y) %q = call(@cube, %a, vjp=@cube.vjp) %e = mul(%q, %q)\n"
                         "    yield %e\n"
                         "  }\n"
                         "  %loss = sum(%all)\n"
                         "  return %loss\n"
                         "}\n");
        check_gradient(ctx, step_with(ctx, g, b, 2, NULL, false), 20, backend_names[b]);
        gcut_ctx_free(ctx);
    }
}

/* ---- from C ---- */

static void the_same_from_c(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f");
    gcut_dim n = gcut_dim_sym(g, "N", 0, GCUT_DIM_MAX);
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(n)), y[2];
    const gcut_dtype dtypes[] = {GCUT_F32, GCUT_I64};
    const gcut_shape shapes[] = {GCUT_SHAPE(n), GCUT_SCALAR};
    gcut_call_external(g,
                       &(gcut_external_call){.kernel = "pair",
                                             .in = &x,
                                             .nin = 1,
                                             .dtypes = dtypes,
                                             .shapes = shapes,
                                             .nout = 2,
                                             .flops = gcut_dim_mul(g, 2, n),
                                             .pure = true},
                       y);
    gcut_output(g, "y", gcut_name(y[0], "y"));
    gcut_output(g, "k", gcut_name(y[1], "k"));
    if (!gcut_graph_ok(g)) fail_msg("%s", gcut_last_error(ctx));
    gcut_graph *read =
        graph_from(ctx, "func @f[N](input %x: f32[N]) -> (out y: f32[N], out k: i64[]) {\n"
                        "  %y: f32[N], %k: i64[] = external(%x, kernel=\"pair\", flops=2*N, pure=true)\n"
                        "  return %y, %k\n"
                        "}\n");
    gcut_options o = TEST_OPTIONS;
    char *one = gcut_show(g, &o, GCUT_STAGE_PRIMAL, false),
         *other = gcut_show(read, &o, GCUT_STAGE_PRIMAL, false);
    if (!one || !other) fail_msg("%s", gcut_last_error(ctx));
    assert_string_equal(one, other);
    gcut_free(one);
    gcut_free(other);
    gcut_ctx_free(ctx);
}

/* ---- from the cache; ahead of time: tests/aot/external.c ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

static void twice(const gcut_rt_external *c)
{
    const float *x = c->in[0].at;
    for (int64_t i = 0; i < numel(&c->out[0]); i++) ((float *)c->out[0].at)[i] = 2 * x[i];
}

/* The cache has names, not addresses: another context's function of that name is called. */
static void from_the_cache(void **state)
{
    (void)state;
    char folder[] = "/tmp/gradcut-external-XXXXXX";
    const char *const names[] = {"GRADCUT_CACHE", "XDG_CACHE_HOME"};
    char *kept[2];
    for (int k = 0; k < 2; k++) kept[k] = getenv(names[k]) ? strdup(getenv(names[k])) : NULL;
    assert_non_null(mkdtemp(folder));
    unsetenv("GRADCUT_CACHE");
    setenv("XDG_CACHE_HOME", folder, 1);
    static const char text[] = "gcut 1\nfunc @f[N](input %x: f32[N]) -> (out y: f32[N]) {\n"
                               "  %y: f32[N] = external(%x, kernel=\"cube\", pure=true)\n  return %y\n}\n";
    for (int run = 0; run < 2; run++) {
        gcut_ctx *ctx = new_ctx();
        if (run) assert_int_equal(gcut_external(ctx, "cube", twice), GCUT_OK);
        gcut_graph *g = gcut_parse(ctx, text, GCUT_TO_NUL, "cached.gcut", NULL);
        if (!g) fail_msg("%s", gcut_last_error(ctx));
        gcut_step *s = step_with(ctx, g, GCUT_BACKEND_COMPILED, 1, NULL, true);
        float x[] = {3, 4};
        assert_ok(ctx, gcut_bind(s, "x", x, 2));
        assert_ok(ctx, gcut_run_forward(s));
        assert_true(((const float *)gcut_step_value(s, "y")->at)[0] == (run ? 6 : 27));
        gcut_cache_info *cache = gcut_cache_look(ctx);
        assert_true(cache && cache->steps == 1 && (cache->hits > 0) == (run > 0));
        gcut_free(cache);
        if (run) { /* nobody's function is no step, cached or not */
            assert_int_equal(gcut_external(ctx, "cube", NULL), GCUT_OK);
            gcut_options o = TEST_OPTIONS;
            o.forward_only = true;
            o.threads = 1;
            assert_null(gcut_compile(g, &o));
            assert_non_null(strstr(gcut_last_error(ctx), "the kernel 'cube' is not registered"));
        }
        gcut_ctx_free(ctx);
    }
    for (int k = 0; k < 2; k++) {
        kept[k] ? setenv(names[k], kept[k], 1) : unsetenv(names[k]);
        free(kept[k]);
    }
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The emitter numbers variables of its own that are called so. */
static void names_like_our_variables(void **state)
{
    (void)state;
    static const char text[] = "func @f(param %w: f32[2]) -> (out a: f32[2], out b: f32[2]) {\n"
                               "  %a: f32[2] = external(%w, kernel=\"sum1\", flops=2, bytes=16, pure=true)\n"
                               "  %b: f32[2] = external(%w, kernel=\"sum2\", flops=2, bytes=16, pure=true)\n"
                               "  return %a, %b\n}\n";
    gcut_ctx *ctx = new_ctx();
    assert_int_equal(gcut_external(ctx, "sum1", cube), GCUT_OK);
    assert_int_equal(gcut_external(ctx, "sum2", twice), GCUT_OK);
    gcut_step *s = step_with(ctx, graph_from(ctx, text), GCUT_BACKEND_COMPILED, 1, NULL, true);
    float x[2] = {3, 5};
    assert_ok(ctx, gcut_bind(s, "w", x, 2));
    assert_ok(ctx, gcut_run_forward(s));
    const float *a = gcut_step_value(s, "a")->at, *b = gcut_step_value(s, "b")->at;
    assert_true(a[0] == 27 && a[1] == 125);
    assert_true(b[0] == 6 && b[1] == 10);
    gcut_ctx_free(ctx);
}

/* ---- what is refused ---- */

static const struct {
    const char *text, *error, *hint;
} unreadable[] = {
    {"func @f[N](input %x: f32[N]) -> (out y: f32[N]) { %y = external(%x, kernel=\"cube\") return %y }\n",
     "'external': the types of its results cannot be inferred",
     "write them: %y: f32[N] = external(…, kernel=\"cube\")"},
    {"func @f[N](input %x: f32[N]) -> (out y: f32[N]) { %y: f32[N] = external(%x, kernel=\"a-b\") return %y "
     "}\n",
     "\"a-b\" is not the name of a C function", "letters, digits and _ alone"},
    {"func @f[N](input %x: f32[N]) -> (out y: f32[N]) { %y: f32[N] = external(%x) return %y }\n",
     "'external' needs the attribute 'kernel'", NULL},
    {"func @f[N](input %x: f32[N]) -> (out y: f32[N]) {\n"
     "  %y = scan(%x, carries=0) body(%e) { %r: f32[] = external(%e, kernel=\"cube\") yield %r } return %y "
     "}\n",
     "'scan': an external kernel that is not pure cannot stand in the body of a loop or branch",
     "say pure=true where its results depend on its operands alone"},
    {"func @g[N](input %x: f32[N]) -> (out y: f32[N]) { %y: f32[N] = external(%x, kernel=\"cube\") return %y "
     "}\n"
     "func @f[N](input %x: f32[N], input %p: bool[]) -> (out y: f32[N]) {\n"
     "  %y = if(%p) then { %r = call(@g, %x) yield %r } else { yield %x } return %y }\n",
     "'if': an external kernel that is not pure cannot stand in the body of a loop or branch", NULL},
};

static void what_cannot_be_read(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof unreadable / sizeof *unreadable; k++) {
        gcut_ctx *ctx = new_ctx();
        assert_null(load_text(ctx, unreadable[k].text));
        const char *said = gcut_last_error(ctx);
        if (!strstr(said, unreadable[k].error) || (unreadable[k].hint && !strstr(said, unreadable[k].hint)))
            fail_msg("%zu: expected \"%s\", found\n%s", k, unreadable[k].error, said);
        gcut_ctx_free(ctx);
    }
}

static void assert_refused(gcut_ctx *ctx, gcut_status status, const char *what)
{
    if (gcut_last_status(ctx) != status || !strstr(gcut_last_error(ctx), what))
        fail_msg("expected \"%s\", found %s", what, gcut_last_error(ctx));
}

/* Names that emitted C has for something else. */
static void what_cannot_be_named(void **state)
{
    (void)state;
    static const char *const names[] = {"int", "class", "NULL", "gcut_rt_max", "_exit", "zz_init"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.forward_only = true;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        TRY("name %zu", k);
        char text[256];
        snprintf(text, sizeof text,
                 "func @f[N](input %%x: f32[N]) -> (out y: f32[N]) {\n"
                 "  %%y: f32[N] = external(%%x, kernel=\"%s\", flops=N*N*N*N)\n  return %%y\n}\n",
                 names[k]);
        assert_int_equal(gcut_emit_files(graph_from(ctx, text), &o, "zz", false), GCUT_EUNSUPPORTED);
        assert_refused(ctx, GCUT_EUNSUPPORTED, "emitted C cannot call a function");
        assert_refused(ctx, GCUT_EUNSUPPORTED, names[k]);
    }
    gcut_ctx_free(ctx);
}

/* A cost that overflows far above the plan's sizes, where the plan is looked at too, is no error. */
static void costs_of_other_sizes(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_plan *p = gcut_plan_new(
        graph_from(ctx, "func @f[N](param %w: f32[N], input %x: f32[N]) -> (out loss: f32[]) {\n"
                        "  %c: f32[N] = external(%x, kernel=\"cube\", flops=N*N*N*N, pure=true)\n"
                        "  %y = mul(%c, %w)\n  %loss = sum(%y)\n  return %loss\n}\n"),
        NULL);
    if (!p || !gcut_plan_valid_at(p)) fail_msg("%s", gcut_last_error(ctx));
    gcut_plan_free(p);
    gcut_ctx_free(ctx);
}

static void what_cannot_be_compiled(void **state)
{
    (void)state;
    gcut_options o = TEST_OPTIONS;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    for (int b = 0; b < 4; b++) {
        TRY("backend %d", b);
        o.backend = (gcut_backend)b;
        assert_null(gcut_compile(graph_from(ctx, MODEL("true")), &o));
        assert_refused(ctx, GCUT_EUSAGE, "'external': the kernel 'cube' is not registered");
        assert_refused(ctx, GCUT_EUSAGE, "register it before: gcut_external(ctx, \"cube\", cube)");
    }
    gcut_ctx_free(ctx);

    ctx = new_ctx();
    assert_null(gcut_compile(
        graph_from(ctx, "func @f[N](param %w: f32[N]) -> (out loss: f32[]) {\n"
                        "  %y: f32[N] = external(%w, kernel=\"cube\", pure=true) %loss = sum(%y)\n"
                        "  return %loss }\n"),
        NULL));
    assert_refused(ctx, GCUT_EGRAD,
                   "'external' has no derivative of its own: how the results of 'cube' depend on");
    assert_refused(ctx, GCUT_EGRAD, "state the derivative: call(@f, …, vjp=@f.vjp)");

    const char *const again[] = {"%q"};
    o = TEST_OPTIONS;
    o.recompute = again;
    o.nrecompute = 1;
    assert_null(gcut_plan_new(graph_from(ctx, MODEL("false")), &o));
    assert_refused(ctx, GCUT_EPLAN,
                   "%q cannot be recomputed: the external kernel 'cube' is not pure, and runs once");
    gcut_plan *plan = gcut_plan_new(graph_from(ctx, MODEL("true")), &o);
    if (!plan) fail_msg("%s", gcut_last_error(ctx));
    gcut_plan_free(plan);
    gcut_explanation *why = gcut_explain(graph_from(ctx, MODEL("false")), &TEST_OPTIONS, "%q");
    if (!why) fail_msg("%s", gcut_last_error(ctx));
    if (!strstr(why->text, "made by an external kernel that is not pure and runs once"))
        fail_msg("%s", why->text);
    gcut_free(why);
    assert_int_equal(gcut_emit_files(graph_from(ctx, MODEL("true")), NULL, "/tmp/gradcut_never", true),
                     GCUT_EUNSUPPORTED);
    assert_refused(ctx, GCUT_EUNSUPPORTED, "would need the external kernel 'cube', which no library has");
    assert_refused(ctx, GCUT_EUNSUPPORTED, "write C instead and link it with a program that has cube");
    gcut_ctx_free(ctx);
}

/* In a graph under construction the derivative of a call stands beside it, and so would its kernel again. */
static void what_cannot_be_built(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_graph_new(ctx, "f"), *f = gcut_function(g, "cube");
    const gcut_dtype dtype = GCUT_F32;
    const gcut_shape shape = GCUT_SHAPE(4);
    gcut_val x = gcut_input(f, "x", GCUT_F32, shape), y, v = gcut_input(g, "v", GCUT_F32, shape), q, dv;
    gcut_call_external(
        f,
        &(gcut_external_call){
            .kernel = "cube", .in = &x, .nin = 1, .dtypes = &dtype, .shapes = &shape, .nout = 1},
        &y);
    gcut_output(f, "y", y);
    gcut_call(g, f, &v, 1, &q, 1);
    gcut_val loss = gcut_sum(q);
    gcut_grad(loss, &v, 1, &dv);
    assert_refused(ctx, GCUT_EGRAD,
                   "differentiating it here would run its external kernel, which is not pure, again");
    gcut_ctx_free(ctx);

    ctx = new_ctx();
    g = gcut_graph_new(ctx, "f");
    v = gcut_input(g, "v", GCUT_F32, shape);
    int line = __LINE__ + 1;
    gcut_call_external(
        g, &(gcut_external_call){.in = &v, .nin = 1, .dtypes = &dtype, .shapes = &shape, .nout = 1}, &y);
    char place[64];
    snprintf(place, sizeof place, "test_external.c:%d", line);
    assert_refused(ctx, GCUT_EUSAGE, "gcut_call_external: the name of the kernel is NULL");
    assert_refused(ctx, GCUT_EUSAGE, place);
    assert_int_equal(y.id, 0);
    gcut_ctx_free(ctx);
    assert_int_equal(gcut_external(NULL, "cube", cube), GCUT_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients),
        cmocka_unit_test(runs_as_often_as_planned),
        cmocka_unit_test(the_cut_goes_by_the_declared_cost),
        cmocka_unit_test(effects_keep_their_order_and_number),
        cmocka_unit_test(pure_kernels_are_values),
        cmocka_unit_test(tensors_are_packed_and_typed),
        cmocka_unit_test(pure_kernels_in_loops),
        cmocka_unit_test(the_same_from_c),
        cmocka_unit_test(from_the_cache),
        cmocka_unit_test(names_like_our_variables),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(what_cannot_be_compiled),
        cmocka_unit_test(what_cannot_be_named),
        cmocka_unit_test(costs_of_other_sizes),
        cmocka_unit_test(what_cannot_be_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
