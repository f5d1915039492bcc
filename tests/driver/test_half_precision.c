/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * f16 and bf16 in compiled steps: models trained in them against f32, what only moves elements against the
 * bits that went in, conversions and constants against the interpreter, and what they save.
 */
#include "harness.h"

#include <unistd.h>

#include "gradcut/gradcut.h"
#include "gradcut/gradcut_rt.h"
#include "public.h"

static char path[] = "/tmp/gradcut-half-XXXXXX";

/* The text with every DT replaced by a dtype. */
static gcut_graph *model(gcut_ctx *ctx, const char *text, const char *dtype)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (const char *s = text; *s; s++) {
        if (s[0] == 'D' && s[1] == 'T' && s++)
            fputs(dtype, f);
        else
            fputc(*s, f);
    }
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

static gcut_step *step_of(gcut_ctx *ctx, gcut_graph *g, gcut_options o)
{
    gcut_step *s = gcut_compile(g, &o);
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    return s;
}

static void run(gcut_ctx *ctx, gcut_step *s)
{
    if (gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
}

static gcut_value_info value(gcut_step *s, const char *name)
{
    gcut_value_info v;
    if (!value_of(s, name, &v)) fail_msg("no value %s", name);
    return v;
}

static double element(const gcut_value_info *v, int64_t i)
{
    switch (v->dtype) {
    case GCUT_F16: return (double)gcut_from_f16(((const uint16_t *)v->at)[i]);
    case GCUT_BF16: return (double)gcut_from_bf16(((const uint16_t *)v->at)[i]);
    case GCUT_F32: return (double)((const float *)v->at)[i];
    case GCUT_F64: return ((const double *)v->at)[i];
    default: fail_msg("not a float"); return 0;
    }
}

static int64_t count(const gcut_value_info *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dim[d];
    return n;
}

/* ---- training ---- */

static const char mlp[] =
    "gcut 1\n"
    "data @w1: DT[16, 48] = normal(1, 0.2)\n"
    "data @b1: DT[48] = splat(0.0)\n"
    "data @w2: DT[48, 5] = normal(2, 0.15)\n"
    "func @mlp[N in 1..](param %w1: DT[16, 48], param %b1: DT[48], param %w2: DT[48, 5],\n"
    "    input %x32: f32[N, 16], input %t: i32[N] #range(0, 5)) -> (out loss: f32[]) {\n"
    "  %x = cast(%x32, to=\"DT\") %h0 = matmul(%x, %w1) %b = broadcast(%b1, shape=[N, 48], axes=[1])\n"
    "  %h1 = add(%h0, %b) %h2 = gelu(%h1) %z0 = matmul(%h2, %w2) %z = cast(%z0, to=\"f32\")\n"
    "  %loss = cross_entropy(%z, %t) return %loss\n"
    "}\n";

static const char attention[] =
    "gcut 1\n"
    "data @g: DT[16] = splat(1.0)\n"
    "data @c: DT[16] = splat(0.0)\n"
    "data @wq: DT[16, 16] = normal(1, 0.3)\n"
    "data @wk: DT[16, 16] = normal(2, 0.3)\n"
    "data @wv: DT[16, 16] = normal(3, 0.3)\n"
    "data @wo: DT[16, 5] = normal(4, 0.3)\n"
    "func @block[N in 1..](param %g: DT[16], param %c: DT[16], param %wq: DT[16, 16], param %wk: DT[16, "
    "16],\n"
    "    param %wv: DT[16, 16], param %wo: DT[16, 5], input %x32: f32[N, 16], input %t: i32[N] #range(0, "
    "5))\n"
    "    -> (out loss: f32[]) {\n"
    "  %x = cast(%x32, to=\"DT\") %n = layer_norm(%x, %g, %c)\n"
    "  %q0 = matmul(%n, %wq) %k0 = matmul(%n, %wk) %v0 = matmul(%n, %wv)\n"
    "  %q1 = reshape(%q0, shape=[1, N, 4, 4]) %q = transpose(%q1, perm=[0, 2, 1, 3])\n"
    "  %k1 = reshape(%k0, shape=[1, N, 4, 4]) %k = transpose(%k1, perm=[0, 2, 1, 3])\n"
    "  %v1 = reshape(%v0, shape=[1, N, 4, 4]) %v = transpose(%v1, perm=[0, 2, 1, 3])\n"
    "  %o0 = attention(%q, %k, %v, causal=true) %o1 = transpose(%o0, perm=[0, 2, 1, 3])\n"
    "  %o = reshape(%o1, shape=[N, 16]) %r = add(%x, %o) %z0 = matmul(%r, %wo) %z = cast(%z0, to=\"f32\")\n"
    "  %loss = cross_entropy(%z, %t) return %loss\n"
    "}\n";

enum { STEPS = 120 };

typedef struct curve {
    double loss[STEPS];
    int64_t peak, predicted;
} curve;

static curve train(const char *text, const char *dtype, const char *optimizer)
{
    curve c = {{0}, 0, 0};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", 40};
    gcut_options o = TEST_OPTIONS;
    o.optimizer = optimizer;
    o.at = &at;
    o.nat = 1;
    o.threads = 2;
    gcut_step *s = step_of(ctx, model(ctx, text, dtype), o);
    for (int k = 0; k < STEPS; k++) {
        run(ctx, s);
        gcut_value_info v = value(s, "loss");
        c.loss[k] = element(&v, 0);
    }
    gcut_stats st = *gcut_step_stats(s);
    c.peak = st.peak_bytes;
    c.predicted = st.predicted_bytes;
    gcut_ctx_free(ctx);
    return c;
}

/* Bytes of every value that the backward graph reads; the planner may prefer to keep more of what is small.
 */
static int64_t kept(const char *text, const char *dtype)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", 40};
    gcut_options o = TEST_OPTIONS;
    o.at = &at;
    o.nat = 1;
    o.policy = "save-all";
    const gcut_plan *plan = gcut_plan_new(model(ctx, text, dtype), &o);
    assert_non_null(plan);
    int64_t bytes = gcut_plan_look(plan)->saved_bytes;
    gcut_ctx_free(ctx);
    return bytes;
}

/* Each forward pass rounds a few values of every layer to u = 2^-8 (bf16) or 2^-11 (f16), and the loss is a
 * mean over rows, so that it is off by a few u.  The parameters' master copies drift by rounded gradients
 * only. */
static void trained(const char *text, const char *optimizer)
{
    curve f32 = train(text, "f32", optimizer);
    static const struct {
        const char *name;
        double unit;
    } halves[] = {{"bf16", 0x1p-8}, {"f16", 0x1p-11}};
    assert_true(f32.loss[STEPS - 1] < 0.7 * f32.loss[0]);
    for (size_t i = 0; i < 2; i++) {
        curve c = train(text, halves[i].name, optimizer);
        for (int k = 0; k < STEPS; k++)
            if (!(fabs(c.loss[k] - f32.loss[k]) <= 8 * halves[i].unit * f32.loss[0]))
                fail_msg("%s, %s, step %d: loss %g, in f32 %g", halves[i].name, optimizer, k, c.loss[k],
                         f32.loss[k]);
        assert_true(kept(text, halves[i].name) < kept(text, "f32"));
        assert_int_equal(c.peak, c.predicted);
    }
}

static void training_follows_f32(void **state)
{
    (void)state;
    trained(mlp, "adamw(lr=3e-3)");
    trained(mlp, "momentum(lr=0.05)");
    trained(attention, "adamw(lr=1e-2)");
}

/* Steps of a thousandth of w's last digit add up. */
static void small_steps_are_not_lost(void **state)
{
    (void)state;
    static const char text[] = "gcut 1\ndata @w: bf16[3] = splat(1.0)\n"
                               "func @f(param %w: bf16[3]) -> (out loss: f32[]) {\n"
                               "  %v = cast(%w, to=\"f32\") %loss = sum(%v) return %loss\n}\n";
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    o.optimizer = "sgd(lr=0.00001)";
    gcut_step *s = step_of(ctx, model(ctx, text, ""), o);
    for (int k = 0; k < 1500; k++) run(ctx, s);
    gcut_value_info w = value(s, "w"), rest = value(s, "w.rest");
    assert_int_equal(rest.dtype, GCUT_F32);
    for (int64_t i = 0; i < 3; i++) {
        assert_true(fabs(element(&w, i) + element(&rest, i) - 0.985) <= 1500 * 0x1p-25);
        assert_true(element(&w, i) == 0.984375); /* the bf16 number next to it */
    }
    gcut_ctx_free(ctx);
}

/* ---- bits ---- */

typedef struct both {
    gcut_ctx *ctx;
    gcut_step *compiled, *planned;
} both;

static both both_of(const char *text, const char *dtype)
{
    both b = {.ctx = gcut_ctx_new(NULL)};
    gcut_options o = TEST_OPTIONS;
    gcut_graph *g = model(b.ctx, text, dtype);
    o.forward_only = true;
    b.compiled = step_of(b.ctx, g, o);
    o.backend = GCUT_BACKEND_EAGER;
    b.planned = step_of(b.ctx, g, o);
    return b;
}

static void feed(const both *b, const char *name, void *at, int64_t n)
{
    assert_int_equal(gcut_bind_n(b->compiled, name, at, 1, &n), GCUT_OK);
    assert_int_equal(gcut_bind_n(b->planned, name, at, 1, &n), GCUT_OK);
}

/* Every output, to the last bit; which NaN it is, is not defined for what was computed. */
static void same(const both *b, bool nan_bits)
{
    run(b->ctx, b->compiled);
    run(b->ctx, b->planned);
    for (size_t i = 0; i < gcut_step_value_count(b->compiled); i++) {
        gcut_value_info x = *gcut_step_value_at(b->compiled, i);
        if (strcmp(x.role, "out") != 0) continue;
        gcut_value_info y = value(b->planned, x.name);
        int64_t n = count(&x), size = n ? x.bytes / n : 0;
        bool real = x.dtype >= GCUT_F16;
        for (int64_t k = 0; k < n; k++) {
            if (!memcmp((char *)x.at + k * size, (char *)y.at + k * size, (size_t)size)) continue;
            if (real && !nan_bits && isnan(element(&x, k)) && isnan(element(&y, k))) continue;
            fail_msg("%s[%lld] differs from the interpreter's", x.name, (long long)k);
        }
    }
}

/* Every number of 16 bits through every conversion and everything that computes without rounding. */
static void every_half_converts_as_interpreted(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](input %x: DT[N]) -> (out a: f32[N], out b: f64[N], out c: i32[N], out d: "
        "i8[N],\n"
        "    out e: bool[N], out f: bf16[N], out g: f16[N], out h: bool[N], out i: DT[N], out j: DT[N], out "
        "k: DT[N],\n"
        "    out l: DT[N]) {\n"
        "  %a = cast(%x, to=\"f32\") %b = cast(%x, to=\"f64\") %c = cast(%x, to=\"i32\") %d = cast(%x, "
        "to=\"i8\")\n"
        "  %e = cast(%x, to=\"bool\") %f = cast(%x, to=\"bf16\") %g = cast(%x, to=\"f16\") %h = isnan(%x)\n"
        "  %i = relu(%x) %m = floor(%x) %j = max(%x, %m) %n = full(shape=[N], value=0.1, dtype=\"DT\")\n"
        "  %k = mul(%x, %n) %l = clamp(%x, lo=-0.1, hi=1000.7)\n"
        "  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l\n}\n";
    static uint16_t x[0x10000];
    for (int i = 0; i < 0x10000; i++) x[i] = (uint16_t)i;
    for (int k = 0; k < 2; k++) {
        both b = both_of(text, k ? "f16" : "bf16");
        feed(&b, "x", x, 0x10000);
        same(&b, false);
        gcut_ctx_free(b.ctx);
    }
}

/* Ties of both formats, their neighbours and random numbers, to both. */
static void every_dtype_converts_to_halves(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](input %x: f32[N], input %y: f64[N], input %i: i64[N], input %j: i16[N], "
        "input %p: u8[N])\n"
        "    -> (out a: DT[N], out b: DT[N], out c: DT[N], out d: DT[N], out e: DT[N], out f: DT[N]) {\n"
        "  %a = cast(%x, to=\"DT\") %b = cast(%y, to=\"DT\") %c = cast(%i, to=\"DT\") %d = cast(%j, "
        "to=\"DT\")\n"
        "  %e = cast(%p, to=\"DT\") %q = gt(%x, %a32) %f = cast(%q, to=\"DT\") return %a, %b, %c, %d, %e, "
        "%f\n}\n";
    enum { N = 20000 };
    static float x[N];
    static double y[N];
    static int64_t i[N];
    static int16_t j[N];
    static uint8_t p[N];
    uint64_t seed = 1;
    for (int k = 0; k < N; k++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t tie = (uint32_t)(seed >> 32) & (k & 1 ? 0xffffe000u : 0xffff0000u);
        tie |= k & 1 ? 0x1000u : 0x8000u;
        x[k] = gcut_float_f32(tie + (uint32_t)(k / 2 % 3) - 1);
        y[k] = k % 5 ? (double)gcut_float_f32(tie) * (1 + (k % 3 - 1) * 0x1p-52) : gcut_float_f64(seed);
        i[k] = (int64_t)seed >> k % 60;
        if (k % 3) i[k] &= -(INT64_C(1) << (k % 55));
        if (k % 3 == 1) i[k]++;
        j[k] = (int16_t)(seed >> 40);
        p[k] = (uint8_t)(seed >> 50);
    }
    char fixed[sizeof text + 64]; /* the comparison's other side is a constant */
    const char *cut = strstr(text, "%q = gt(%x, %a32)");
    snprintf(fixed, sizeof fixed, "%.*s%%z = full(shape=[N], value=0.5) %%q = gt(%%x, %%z)%s",
             (int)(cut - text), text, cut + strlen("%q = gt(%x, %a32)"));
    for (int k = 0; k < 2; k++) {
        both b = both_of(fixed, k ? "f16" : "bf16");
        feed(&b, "x", x, N);
        feed(&b, "y", y, N);
        feed(&b, "i", i, N);
        feed(&b, "j", j, N);
        feed(&b, "p", p, N);
        same(&b, false);
        gcut_ctx_free(b.ctx);
    }
}

/* What moves elements moves bits, NaNs with their payload too; constants and ramps are those of the dtype. */
static void moving_keeps_bits(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f[N in 1..](input %x: DT[N], input %k: i32[5] #range(0, 12)) -> (out a: DT[12, 4], "
        "out b: DT[6, 2],\n"
        "    out c: DT[14, 7], out d: DT[12, 8], out e: DT[12, 4], out f: DT[5, 4], out g: DT[N], out h: "
        "DT[7, 9],\n"
        "    out i: DT[300], out j: DT[2, 12, 4], out k2: DT[4, 12]) {\n"
        "  %y = slice(%x, start=[0], limit=[48]) %a = reshape(%y, shape=[12, 4])\n"
        "  %b = slice(%a, start=[0, 1], limit=[12, 4], step=[2, 2]) %c = pad(%a, low=[1, 2], high=[1, 1], "
        "value=0.1)\n"
        "  %d = concat(%a, %a, axis=1) %e = flip(%a, axes=[0, 1]) %f = take(%a, %k, axis=0) %g = "
        "stop_gradient(%x)\n"
        "  %h = full(shape=[7, 9], value=-0.3, dtype=\"DT\") %i = iota(shape=[300], dtype=\"DT\")\n"
        "  %j = broadcast(%a, shape=[2, 12, 4], axes=[1, 2]) %k2 = transpose(%a, perm=[1, 0])\n"
        "  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k2\n}\n";
    static uint16_t x[0x10000];
    for (int i = 0; i < 0x10000; i++) x[i] = (uint16_t)(i * 40503u);
    x[3] = 0x7fc0, x[5] = 0xfe00, x[7] = 1, x[8] = 0x8000, x[9] = 0x7c00, x[10] = 0xff80;
    static const uint16_t one[] = {0x3f80, 0x3c00};
    for (int k = 0; k < 2; k++) {
        both b = both_of(text, k ? "f16" : "bf16");
        feed(&b, "x", x, 0x10000);
        same(&b, false);
        gcut_value_info g = value(b.compiled, "g"), ramp = value(b.compiled, "i"), e = value(b.compiled, "e");
        assert_memory_equal(g.at, x, sizeof x);
        for (int i = 0; i < 48; i++) assert_int_equal(((uint16_t *)e.at)[i], x[47 - i]);
        assert_int_equal(((uint16_t *)ramp.at)[1], one[k]);
        gcut_ctx_free(b.ctx);
    }
}

/* A loss in bf16: the cotangent that nobody binds is 1 in its bits.  Reductions over every kind of axes,
 * products with flags and a scatter, whose sums are in f32 and exact here: small integers. */
static void sums_are_rounded_once(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\nfunc @f(param %x: DT[6, 5, 8], param %w: DT[8, 3], input %k: i32[5] #range(0, 6)) -> (out "
        "loss: DT[], out a: DT[6, 8],\n"
        "    out b: DT[6, 5], out c: DT[5, 8], out d: DT[30, 3], out e: DT[6, 3], out m: DT[5, 8]) {\n"
        "  %a = sum(%x, axes=[1]) %b = sum(%x, axes=[2]) %c = sum(%x, axes=[0]) %m = max_reduce(%x, "
        "axes=[0])\n"
        "  %f = reshape(%x, shape=[30, 8]) %d = matmul(%f, %w) %z = full(shape=[6, 3], value=1, "
        "dtype=\"DT\")\n"
        "  %d3 = slice(%d, start=[0, 0], limit=[5, 3]) %e = scatter_add(%z, %k, %d3, axis=0)\n"
        "  %s = sum(%a) %t = sum(%e) %p = mul(%s, %t) %q = sum(%d) %loss = add(%p, %q) return %loss, %a, %b, "
        "%c, %d, %e, %m\n}\n";
    for (int k = 0; k < 2; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = model(ctx, text, k ? "f16" : "bf16");
        gcut_step *s[2];
        static uint16_t x[240], w[24];
        static int32_t index[] = {0, 5, 5, 1, 5};
        for (int i = 0; i < 240; i++)
            x[i] = k ? gcut_to_f16_f32((float)(i * 7 % 11 - 5)) : gcut_to_bf16_f32((float)(i * 7 % 11 - 5));
        for (int i = 0; i < 24; i++)
            w[i] = k ? gcut_to_f16_f32((float)(i % 3)) : gcut_to_bf16_f32((float)(i % 3));
        for (int b = 0; b < 2; b++) {
            gcut_options o = TEST_OPTIONS;
            o.backend = b ? GCUT_BACKEND_COMPILED : GCUT_BACKEND_PLANNED;
            o.loss = "loss";
            s[b] = step_of(ctx, g, o);
            assert_int_equal(gcut_bind(s[b], "x", x, 6, 5, 8), GCUT_OK);
            assert_int_equal(gcut_bind(s[b], "w", w, 8, 3), GCUT_OK);
            assert_int_equal(gcut_bind(s[b], "k", index, 5), GCUT_OK);
            run(ctx, s[b]);
        }
        for (size_t i = 0; i < gcut_step_value_count(s[0]); i++) {
            gcut_value_info a = *gcut_step_value_at(s[0], i), b = *gcut_step_value_at(s[1], i);
            if (!strcmp(a.role, "out") || !strcmp(a.role, "grad"))
                for (int64_t e = 0; e < count(&a); e++)
                    if (element(&a, e) != element(&b, e))
                        fail_msg("%s[%lld]: %g, interpreted %g", a.name, (long long)e, element(&b, e),
                                 element(&a, e));
        }
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_follows_f32),
        cmocka_unit_test(small_steps_are_not_lost),
        cmocka_unit_test(every_half_converts_as_interpreted),
        cmocka_unit_test(every_dtype_converts_to_halves),
        cmocka_unit_test(moving_keeps_bits),
        cmocka_unit_test(sums_are_rounded_once),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
