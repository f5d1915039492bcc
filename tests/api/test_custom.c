/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Calls that state their derivative, through the public API: values of closed form in every backend, with 1
 * and 2 threads; the same from text and from C; what gradcheck says of them.
 * tests/autodiff/test_control_grad.c compares first and second derivatives with central differences.
 */
#include "backends.h"

#include "custom.h"

static const char *const backend_names[] = {"compiled", "eager", "joint", "planned"};

/* ---- one run ---- */

typedef struct trial {
    const char *text;
    gcut_graph *g; /* NULL: made from the text */
    gcut_ctx *ctx;
    int64_t n; /* size of N */
    int backend, threads;
    const char *policy;
} trial;

static void wrong(const trial *c, const char *what)
{
    fail_msg("%s, %d threads, N=%d, %s: %s", backend_names[c->backend], c->threads, (int)c->n,
             c->policy ? c->policy : "mincut", what);
}

static void bind(gcut_step *s, const char *name, float *x, int64_t n)
{
    if (gcut_bind(s, name, x, n) != GCUT_OK) fail_msg("cannot bind %s", name);
}

enum { MOST = 40000 };
static float w[MOST], t[MOST], dw[MOST], derived[MOST];

/* Runs the step on w and t and copies the gradient by w to dw. */
static void gradient(const trial *c, float *loss)
{
    gcut_ctx *ctx = c->ctx ? c->ctx : gcut_ctx_new(NULL);
    gcut_graph *g = c->g ? c->g : graph_from(ctx, c->text);
    gcut_options o = TEST_OPTIONS;
    gcut_size at = {"N", c->n};
    o.backend = (gcut_backend)c->backend;
    o.threads = c->threads;
    o.policy = c->policy;
    o.at = &at;
    o.nat = 1;
    gcut_step *s = gcut_compile(g, &o);
    if (!s) wrong(c, gcut_last_error(ctx));
    bind(s, "w", w, c->n);
    bind(s, "t", t, c->n);
    assert_ok(ctx, gcut_run(s));
    const gcut_value_info *v = gcut_step_value(s, "grad.w");
    assert_non_null(v);
    assert_int_equal(v->bytes, c->n * (int64_t)sizeof *dw);
    memcpy(dw, v->at, (size_t)v->bytes);
    *loss = *(const float *)gcut_step_value(s, "loss")->at;
    gcut_step_free(s);
    if (!c->ctx) gcut_ctx_free(ctx);
}

/* The first element of dw that is not want(w, t). */
static void expect(const trial *c, float (*want)(float w, float t), float tolerance)
{
    for (int64_t i = 0; i < c->n; i++) {
        char what[80];
        snprintf(what, sizeof what, "dw[%d] is %.9g, expected %.9g", (int)i, (double)dw[i],
                 (double)want(w[i], t[i]));
        if (!(fabsf(dw[i] - want(w[i], t[i])) <= tolerance)) wrong(c, what);
    }
}

static void fill(void)
{
    for (int i = 0; i < MOST; i++) {
        w[i] = 3 * sinf(0.7f * (float)i + 0.3f);
        t[i] = cosf(0.37f * (float)i);
    }
}

/* want: element i of the gradient.  Exact: every step of it is one rounding. */
static void in_every_backend(const char *text, float (*want)(float w, float t), float tolerance)
{
    static const int64_t sizes[] = {1, 7, MOST};
    static const char *const policies[] = {NULL, "save-all", "recompute-all"};
    fill();
    for (int b = 0; b < 4; b++)
        for (int threads = 1; threads <= 2; threads++)
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                trial c = {
                    .text = text, .n = sizes[k], .backend = b, .threads = threads, .policy = policies[k]};
                float loss;
                gradient(&c, &loss);
                expect(&c, want, tolerance);
            }
}

/* ---- straight-through, reversal ---- */

static const char straight[] =
    STE "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
        "  %q = call(@ste, %w, vjp=@ste.vjp) %d = mul(%q, %t) %e = mul(%d, %d) %loss = sum(%e)\n"
        "  return %loss\n"
        "}\n";

static float of_straight(float x, float y)
{
    float d = floorf(x + 0.5f) * y;
    return (d + d) * y;
}

static void straight_through(void **state)
{
    (void)state;
    in_every_backend(straight, of_straight, 0);
}

/* In a scan over rows of one element: what is opened there is opened in the body. */
static const char straight_scan[] =
    STE "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
        "  %z = full(shape=[1], value=0, dtype=\"f32\") %w2 = reshape(%w, shape=[N, 1]) %t2 = reshape(%t, "
        "shape=[N, 1])\n"
        "  %sum, %all = scan(%z, %w2, %t2, carries=1) body(%c, %x, %y) {\n"
        "    %q = call(@ste, %x, vjp=@ste.vjp) %d = mul(%q, %y) %e = mul(%d, %d) %n = add(%c, %e)\n"
        "    yield %n, %e\n"
        "  }\n"
        "  %loss = sum(%all)\n"
        "  return %loss\n"
        "}\n";

static void straight_through_in_a_scan(void **state)
{
    (void)state;
    fill();
    for (int b = 0; b < 4; b++)
        for (int threads = 1; threads <= 2; threads++) {
            trial c = {.text = straight_scan, .n = 50, .backend = b, .threads = threads};
            float loss;
            gradient(&c, &loss);
            expect(&c, of_straight, 0);
        }
}

/* Identity, and -0.5 dy; %w goes by it once and past it once. */
static const char reversal[] =
    "func @turn[N](input %x: f32[N], input %by: f32[]) -> (out y: f32[N]) {\n"
    "  return %x\n"
    "}\n"
    "func @turn.vjp[N](input %by: f32[], cotan %dy: f32[N]) -> (grad x: f32[N]) {\n"
    "  %n = neg(%by) %nb = broadcast(%n, shape=[N], axes=[]) %dx = mul(%nb, %dy)\n"
    "  return %dx\n"
    "}\n"
    "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
    "  %by = full(shape=[], value=0.5, dtype=\"f32\") %y = call(@turn, %w, %by, vjp=@turn.vjp)\n"
    "  %a = mul(%y, %t) %b = mul(%w, %t) %c = mul(%b, %b) %d = add(%a, %c) %loss = sum(%d)\n"
    "  return %loss\n"
    "}\n";

static float of_reversal(float x, float y)
{
    return -0.5f * y + 2 * x * y * y;
}

static void gradient_reversal(void **state)
{
    (void)state;
    in_every_backend(reversal, of_reversal, 4e-6f);
}

/* ---- a stated derivative that is the derived one ---- */

static const char square[] = "func @sq[N](input %x: f32[N], input %y: f32[N]) -> (out z: f32[N]) {\n"
                             "  %e = exp(%x) %z = mul(%e, %y)\n"
                             "  return %z\n"
                             "}\n"
                             "func @sq.vjp[N](input %x: f32[N], input %y: f32[N], cotan %dz: f32[N])\n"
                             "    -> (grad y: f32[N], grad x: f32[N]) {\n"
                             "  %e = exp(%x) %de = mul(%dz, %y) %dx = mul(%de, %e) %dy = mul(%dz, %e)\n"
                             "  return %dy, %dx\n"
                             "}\n"
                             "func @f[N](param %w: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
                             "  %s = sin(%w) %z = call(@sq, %s, %t%s) %c = mul(%z, %w) %loss = sum(%c)\n"
                             "  return %loss\n"
                             "}\n";

static void what_is_stated_equals_what_is_derived(void **state)
{
    (void)state;
    fill();
    for (int b = 0; b < 4; b++)
        for (int threads = 1; threads <= 2; threads++) {
            char text[2][sizeof square + 16];
            const char *hole = strstr(square, "%s)");
            float loss[2];
            for (int k = 0; k < 2; k++) {
                snprintf(text[k], sizeof text[k], "%.*s%s%s", (int)(hole - square), square,
                         k ? ", vjp=@sq.vjp" : "", hole + 2);
                trial c = {.text = text[k], .n = 999, .backend = b, .threads = threads};
                gradient(&c, &loss[k]);
                if (!k) memcpy(derived, dw, sizeof dw);
            }
            assert_memory_equal(dw, derived, 999 * sizeof *dw);
            assert_memory_equal(&loss[0], &loss[1], sizeof *loss);
        }
}

/* ---- an implicit layer: gradcheck compares, crosscheck too ---- */

static const char implicit[] =
    "func @solve[N](param %w: f32[N, N], input %x: f32[N]) -> (out y: f32[N]) {\n"
    "  %y0 = full(shape=[N], value=0, dtype=\"f32\") %k0 = full(shape=[], value=0, dtype=\"i64\")\n"
    "  %y, %k = while(%y0, %k0) cond(%a, %i) { %go = lt(%i, 200:i64) yield %go }\n"
    "    body(%b, %j) { %c = reshape(%b, shape=[N, 1]) %p = matmul(%w, %c) %q = reshape(%p, shape=[N])\n"
    "      %r = add(%q, %x) %t = tanh(%r) %n = add(%j, 1:i64) yield %t, %n }\n"
    "  return %y\n"
    "}\n"
    "func @solve.vjp[N](param %w: f32[N, N], input %y: f32[N], cotan %dy: f32[N])\n"
    "    -> (grad w: f32[N, N], grad x: f32[N]) {\n"
    "  %yy = mul(%y, %y) %one = full(shape=[N], value=1, dtype=\"f32\") %s = sub(%one, %yy)\n"
    "  %v, %k = while(%dy, 0:i64) cond(%a, %i) { %go = lt(%i, 200:i64) yield %go }\n"
    "    body(%b, %j) { %sb = mul(%s, %b) %c = reshape(%sb, shape=[1, N]) %p = matmul(%c, %w)\n"
    "      %q = reshape(%p, shape=[N]) %r = add(%q, %dy) %n = add(%j, 1:i64) yield %r, %n }\n"
    "  %dx = mul(%s, %v) %col = reshape(%dx, shape=[N, 1]) %row = reshape(%y, shape=[1, N])\n"
    "  %dw = matmul(%col, %row)\n"
    "  return %dw, %dx\n"
    "}\n"
    "func @f[N in 1..9](param %w: f32[N, N], param %x: f32[N], input %t: f32[N]) -> (out loss: f32[]) {\n"
    "  %q = full(shape=[N, N], value=0.1, dtype=\"f32\") %wq = mul(%w, %q)\n"
    "  %y = call(@solve, %wq, %x, vjp=@solve.vjp) %z = call(@solve, %wq, %y, vjp=@solve.vjp)\n"
    "  %c = mul(%z, %t) %e = exp(%c) %loss = sum(%e)\n"
    "  return %loss\n"
    "}\n";

static void implicit_layers(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++)
        for (int64_t n = 1; n <= 9; n += 4) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_graph *g = graph_from(ctx, implicit);
            gcut_options o = TEST_OPTIONS;
            gcut_size at = {"N", n};
            o.at = &at;
            o.nat = 1;
            o.threads = threads;
            gcut_check_report r = gradcheck(g, &o, NULL, 0, 0);
            if (!r.ok) fail_msg("N=%d: %s%s", (int)n, r.text ? r.text : "", gcut_last_error(ctx));
            r = crosscheck(g, &o, NULL, 0, 0);
            if (!r.ok) fail_msg("N=%d: %s%s", (int)n, r.text ? r.text : "", gcut_last_error(ctx));
            gcut_ctx_free(ctx);
        }
}

static void gradcheck_says_what_is_stated(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {{straight, "DIFFERS, by way of @ste, whose derivative is stated: @ste.vjp, "},
                 {straight_scan, "DIFFERS, by way of @ste, whose derivative is stated: @ste.vjp, "}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        gcut_graph *g = graph_from(ctx, cases[k].text);
        gcut_options o = TEST_OPTIONS;
        gcut_check_report r = gradcheck(g, &o, NULL, 0, 0);
        if (!r.text) fail_msg("%s", gcut_last_error(ctx));
        assert_false(r.ok);
        if (!strstr(r.text, cases[k].want)) fail_msg("expected \"%s\" in\n%s", cases[k].want, r.text);
        gcut_ctx_free(ctx);
    }
}

/* ---- from C ---- */

/* Two names for one graph: its text is that of the one that was read. */
static void the_same_from_c(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    functions s = straight_functions(ctx);
    gcut_dim n = gcut_dim_sym(s.g, "N", 0, GCUT_DIM_MAX);
    gcut_val v = gcut_param(s.g, "w", GCUT_F32, GCUT_SHAPE(n)),
             x = gcut_input(s.g, "t", GCUT_F32, GCUT_SHAPE(n)), q;
    gcut_custom(s.g, s.f, s.vjp, &v, 1, &q, 1);
    gcut_val d = gcut_name(gcut_mul(gcut_name(q, "q"), x), "d"), e = gcut_name(gcut_mul(d, d), "e");
    gcut_output(s.g, "loss", gcut_name(gcut_sum(e), "loss"));
    if (!gcut_graph_ok(s.g)) fail_msg("%s", gcut_last_error(ctx));
    gcut_options o = TEST_OPTIONS;
    char *built = gcut_show(s.g, &o, GCUT_STAGE_PRIMAL, false);
    char *read = gcut_show(graph_from(ctx, straight), &o, GCUT_STAGE_PRIMAL, false);
    if (!built || !read) fail_msg("%s", gcut_last_error(ctx));
    assert_string_equal(built, read);
    assert_non_null(strstr(built, "%q: f32[N] = call(@ste, %w, vjp=@ste.vjp)"));
    gcut_free(built);
    gcut_free(read);
    fill();
    float loss;
    gradient(&(trial){.g = s.g, .ctx = ctx, .n = 33}, &loss);
    for (int i = 0; i < 33; i++) assert_true(dw[i] == of_straight(w[i], t[i]));
    gcut_ctx_free(ctx);
}

/* The loss is sum(q^3 / 6), q = round(w) with the derivative 1: it has the gradient q^2 / 2 and, where what
 * the gradient saved of q has that derivative again, the curvature q.  The tangent of q is that of w. */
static void derivatives_of_derivatives(void **state)
{
    (void)state;
    fill();
    for (int b = 0; b < 4; b++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        functions s = straight_functions(ctx);
        gcut_val v = gcut_input(s.g, "w", GCUT_F32, GCUT_SHAPE(9)),
                 along = gcut_input(s.g, "t", GCUT_F32, GCUT_SHAPE(9));
        gcut_val q, dx, curve, tangent;
        gcut_custom(s.g, s.f, s.vjp, &v, 1, &q, 1);
        gcut_val loss = gcut_sum(gcut_scale(gcut_mul(q, gcut_mul(q, q)), 1.0 / 6));
        gcut_grad(loss, &v, 1, &dx);
        gcut_hvp(loss, &v, 1, &along, &curve);
        gcut_jvp(&q, 1, &v, &along, 1, &tangent);
        gcut_output(s.g, "dx", dx);
        gcut_output(s.g, "curve", curve);
        gcut_output(s.g, "tangent", tangent);
        gcut_options o = TEST_OPTIONS;
        o.backend = (gcut_backend)b;
        o.forward_only = true;
        gcut_step *step = gcut_compile(s.g, &o);
        if (!step) fail_msg("%s", gcut_last_error(ctx));
        bind(step, "w", w, 9);
        bind(step, "t", t, 9);
        assert_ok(ctx, gcut_run_forward(step));
        const float *gx = gcut_step_value(step, "dx")->at, *hx = gcut_step_value(step, "curve")->at,
                    *tx = gcut_step_value(step, "tangent")->at;
        for (int i = 0; i < 9; i++) {
            float r = floorf(w[i] + 0.5f);
            if (!(fabsf(gx[i] - r * r / 2) <= 1e-5f && fabsf(hx[i] - r * t[i]) <= 1e-5f && tx[i] == t[i]))
                fail_msg("%s, element %d: gradient %g, expected %g; curvature %g, expected %g; tangent %g, "
                         "expected %g",
                         backend_names[b], i, (double)gx[i], (double)(r * r / 2), (double)hx[i],
                         (double)(r * t[i]), (double)tx[i], (double)t[i]);
        }
        gcut_ctx_free(ctx);
    }
}

/* ---- what the plan says ---- */

/* The values of both functions are planned one by one, under the names that calls give them. */
static void values_of_both_are_planned(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    char text[sizeof square + 16];
    const char *hole = strstr(square, "%s)");
    snprintf(text, sizeof text, "%.*s, vjp=@sq.vjp%s", (int)(hole - square), square, hole + 2);
    gcut_graph *g = graph_from(ctx, text);
    gcut_options o = TEST_OPTIONS;
    const char *const save[] = {"%z.e"};
    o.save = save;
    o.nsave = 1;
    gcut_plan *plan = gcut_plan_new(g, &o);
    if (!plan) fail_msg("%s", gcut_last_error(ctx));
    char *saved = gcut_plan_saved_text(plan, NULL);
    if (!saved || !strstr(saved, "%z.e")) fail_msg("%s", saved ? saved : gcut_last_error(ctx));
    gcut_free(saved);
    gcut_plan_free(plan);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_through),
        cmocka_unit_test(straight_through_in_a_scan),
        cmocka_unit_test(gradient_reversal),
        cmocka_unit_test(what_is_stated_equals_what_is_derived),
        cmocka_unit_test(implicit_layers),
        cmocka_unit_test(gradcheck_says_what_is_stated),
        cmocka_unit_test(the_same_from_c),
        cmocka_unit_test(derivatives_of_derivatives),
        cmocka_unit_test(values_of_both_are_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
