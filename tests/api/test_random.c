/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random values: the bits against JAX's, distributions against theory, the same
 * in every backend and when recomputed, and keys as the caller of a step sees
 * them.
 */
#include "backends.h"
#include "cases.h"
#include "interp/interp.h"
#include "public.h"

/* ---- bits ---- */

enum { WORDS = 70 };

static size_t words(int64_t *key, int64_t *counter, int64_t *bits)
{
    FILE *f = fopen(GCUT_SOURCE_DIR "/tests/reference/threefry.txt", "r");
    size_t n = 0;
    assert_non_null(f);
    while (n < WORDS && fscanf(f, "%" SCNd64 " %" SCNd64 " %" SCNd64, &key[n], &counter[n], &bits[n]) == 3)
        n++;
    fclose(f);
    return n;
}

static void bits_are_those_of_jax(void **state)
{
    (void)state;
    int64_t key[WORDS], counter[WORDS], want[WORDS], all[WORDS];
    float single[WORDS];
    double twice[WORDS];
    assert_int_equal(words(key, counter, want), WORDS);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g =
        graph_from(ctx, "func @f[N](rng %k: i64[N], input %i: i64[N]) -> (out a: i64[N], out s: f32[N], "
                        "out d: f64[N]) {\n  %a = random(%k, %i, dtype=\"i64\")\n  %s = random(%k, %i)\n"
                        "  %d = random(%k, %i, dtype=\"f64\")\n  return %a, %s, %d\n}\n");
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        gcut_step *s = forward_step(ctx, g, &backends[b]);
        gcut_bind(s, "k", key, WORDS);
        gcut_bind(s, "i", counter, WORDS);
        gcut_bind(s, "a", all, WORDS);
        gcut_bind(s, "s", single, WORDS);
        gcut_bind(s, "d", twice, WORDS);
        assert_ok(ctx, gcut_run(s));
        for (int k = 0; k < WORDS; k++) {
            uint64_t w = (uint64_t)want[k];
            assert_true(all[k] == want[k]);
            assert_true(twice[k] == ldexp((double)(w >> 11), -53));
            assert_true(single[k] == ldexpf((float)((uint32_t)(w >> 32 ^ w) >> 8), -24));
        }
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* ---- distributions ---- */

enum { DRAWS = 40000 };

/* Mean and variance within 5 standard errors of what they estimate; the key is fixed, so this never flickers.
 */
static void assert_moments(const float *x, double mean, double var, double fourth)
{
    double m = 0, v = 0;
    for (int i = 0; i < DRAWS; i++) m += (double)x[i] / DRAWS;
    for (int i = 0; i < DRAWS; i++) v += ((double)x[i] - mean) * ((double)x[i] - mean) / DRAWS;
    assert_true(fabs(m - mean) < 5 * sqrt(var / DRAWS));
    assert_true(fabs(v - var) < 5 * sqrt((fourth - var * var) / DRAWS));
}

static void distributions(void **state)
{
    (void)state;
    static float u[DRAWS], z[DRAWS], d[DRAWS];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "draw");
    gcut_val keys = gcut_key_split(gcut_rng(g, "key"), 3), one = gcut_const(g, GCUT_F32, 1);
    gcut_val ones =
        gcut_add(one, gcut_uniform(gcut_key_of(keys, 2), GCUT_F32, GCUT_SHAPE(DRAWS), -0.0, 1e-30));
    gcut_output(g, "u", gcut_uniform(gcut_key_of(keys, 0), GCUT_F32, GCUT_SHAPE(DRAWS), -1, 3));
    gcut_output(g, "z", gcut_normal(gcut_key_of(keys, 1), GCUT_F32, GCUT_SHAPE(200, DRAWS / 200), 2, 3));
    gcut_output(g, "d", gcut_dropout(ones, gcut_key_of(keys, 2), 0.25));
    gcut_step *s = forward_step(ctx, g, &backends[NBACKENDS - 1]);
    gcut_bind(s, "u", u, DRAWS);
    gcut_bind(s, "z", z, 200, DRAWS / 200);
    gcut_bind(s, "d", d, DRAWS);
    assert_ok(ctx, gcut_run(s));
    assert_moments(u, 1, 16.0 / 12, 256.0 / 80);
    assert_moments(z, 2, 9, 3 * 81);
    int kept = 0;
    for (int i = 0; i < DRAWS; i++) {
        assert_true(u[i] >= -1 && u[i] < 3 && isfinite(z[i]));
        assert_true(d[i] == 0 || d[i] == 1 / 0.75f);
        kept += d[i] != 0;
    }
    assert_true(fabs(kept - 0.75 * DRAWS) < 5 * sqrt(0.75 * 0.25 * DRAWS));
    gcut_step_free(s);
    gcut_ctx_free(ctx);
}

/* lo + (hi - lo) u rounds to hi for the largest u: the draw must not. */
static void uniform_is_half_open(void **state)
{
    (void)state;
    static float u[1 << 16];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g =
        graph_from(ctx, "func @f(rng %k: i64[]) -> (out u: f32[65536]) {\n"
                        "  %u = uniform(%k, shape=[65536], lo=16777215, hi=16777216)\n  return %u\n}\n");
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        gcut_step *s = forward_step(ctx, g, &backends[b]);
        gcut_bind(s, "u", u, 65536);
        assert_ok(ctx, gcut_run(s));
        for (int i = 0; i < 65536; i++) assert_true(u[i] == 16777215);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* A draw of halves is the draw of f32 rounded, below hi: bf16 keeps 8 bits, so 1 would come up once in 512.
 */
static void halves_are_rounded(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    static float u[N], z[N];
    static uint16_t h[N], n[N];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, "func @f(rng %k: i64[]) -> (out u: f32[65536], out h: bf16[65536],"
                                    " out z: f32[65536], out n: bf16[65536]) {\n"
                                    "  %u = uniform(%k, shape=[65536])\n"
                                    "  %h = uniform(%k, shape=[65536], dtype=bf16)\n"
                                    "  %z = normal(%k, shape=[65536])\n"
                                    "  %n = normal(%k, shape=[65536], dtype=bf16)\n"
                                    "  return %u, %h, %z, %n\n}\n");
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        int tops = 0;
        gcut_step *s = forward_step(ctx, g, &backends[b]);
        gcut_bind(s, "u", u, N);
        gcut_bind(s, "h", h, N);
        gcut_bind(s, "z", z, N);
        gcut_bind(s, "n", n, N);
        assert_ok(ctx, gcut_run(s));
        for (int i = 0; i < N; i++) {
            double want = gcut_round_to(u[i], GCUT_BF16), got, of_z;
            uint32_t bits = (uint32_t)h[i] << 16, nbits = (uint32_t)n[i] << 16;
            float f;
            memcpy(&f, &bits, sizeof f), got = f;
            memcpy(&f, &nbits, sizeof f), of_z = f;
            assert_true(got == (want == 1 ? 1 - 0x1p-8 : want));
            assert_true(of_z == gcut_round_to(z[i], GCUT_BF16));
            tops += want == 1;
        }
        assert_true(tops > 50 && tops < 250);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* ---- recomputation ---- */

static const char net[] =
    "func @net[N in 1..](param %w: f32[8, 8], input %x: f32[N, 8], rng %key: i64[]) -> (out loss: f32[]) {\n"
    "  %ks = key_split(%key, n=2)\n  %a = slice(%ks, start=[0], limit=[1])\n  %k1 = reshape(%a, shape=[])\n"
    "  %b = slice(%ks, start=[1], limit=[2])\n  %k2 = reshape(%b, shape=[])\n"
    "  %h = matmul(%x, %w)\n  %d = dropout(%h, %k1, p=0.3)\n  %t = tanh(%d)\n"
    "  %e = normal(%k2, shape=[N, 8], std=0.1)\n  %y = mul(%t, %e)\n  %z = matmul(%y, %w)\n"
    "  %v = dropout(%z, %k2, p=0.1)\n  %q = mul(%v, %v)\n  %loss = sum(%q)\n  return %loss\n}\n";

/* Saved or computed again, the bits of the gradient are the same. */
static void recomputed_is_saved(void **state)
{
    (void)state;
    static const char *const policies[] = {"save-all", "recompute-all", "mincut"};
    float x[5 * 8], grad[3][64];
    double loss[3];
    for (int i = 0; i < 40; i++) x[i] = sinf((float)i);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        if (backends[b].backend != GCUT_BACKEND_PLANNED && backends[b].backend != GCUT_BACKEND_COMPILED)
            continue;
        for (int p = 0; p < 3; p++) {
            float l;
            gcut_options o = TEST_OPTIONS;
            o.backend = backends[b].backend;
            o.policy = policies[p];
            gcut_step *s = gcut_compile(g, &o);
            assert_non_null(s);
            gcut_bind(s, "x", x, 5, 8);
            gcut_bind(s, "grad.w", grad[p], 8, 8);
            gcut_bind(s, "loss", &l);
            assert_ok(ctx, gcut_run(s));
            loss[p] = (double)l;
            assert_true(l > 0);
            gcut_step_free(s);
        }
        for (int p = 1; p < 3; p++) {
            assert_true(loss[p] == loss[0]);
            assert_memory_equal(grad[p], grad[0], sizeof grad[0]);
        }
    }
    gcut_ctx_free(ctx);
}

static void the_ladder_and_differences_agree(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    gcut_check_report r = crosscheck(g, NULL, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    r = gradcheck(g, NULL, NULL, 0, 0);
    if (!r.ok) fail_msg("%s%s", r.text ? r.text : "", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

/* ---- keys ---- */

static void a_key_is_the_callers_to_change(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, "func @f[N](rng %k: i64[], input %x: f32[N]) -> (out u: f32[N]) {\n"
                                    "  %u = uniform(%k, shape=[N])\n  return %u\n}\n");
    for (size_t b = 0; b < NBACKENDS; b++) {
        TRY("backend %zu", b);
        float x[6] = {0}, first[6], u[6];
        gcut_value_info key, again;
        gcut_step *s = forward_step(ctx, g, &backends[b]);
        gcut_bind(s, "x", x, 4);
        gcut_bind(s, "u", first, 4);
        assert_ok(ctx, gcut_run(s));
        assert_true(value_of(s, "k", &key));
        assert_string_equal(key.role, "rng");
        gcut_bind(s, "u", u, 4);
        assert_ok(ctx, gcut_run(s));
        assert_memory_equal(u, first, 4 * sizeof *u); /* the same key, the same numbers */
        int64_t now = ++*(int64_t *)key.at;
        assert_ok(ctx, gcut_run(s));
        assert_memory_not_equal(u, first, 4 * sizeof *u);
        memcpy(first, u, sizeof first);
        gcut_bind(s, "x", x, 6); /* other sizes: the key is kept, and so are the first numbers */
        gcut_bind(s, "u", u, 6);
        assert_ok(ctx, gcut_run(s));
        assert_true(value_of(s, "k", &again) && *(int64_t *)again.at == now);
        assert_memory_equal(u, first, 4 * sizeof *u);
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

static void the_first_key_comes_from_the_seed(void **state)
{
    (void)state;
    int64_t key[3];
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_from(ctx, net);
    for (int i = 0; i < 3; i++) {
        gcut_options o = TEST_OPTIONS;
        gcut_value_info v;
        o.backend = GCUT_BACKEND_EAGER;
        o.seed = i == 2 ? 8 : 7;
        gcut_step *s = gcut_compile(g, &o);
        assert_ok(ctx, gcut_prepare(s));
        assert_true(value_of(s, "key", &v));
        key[i] = *(int64_t *)v.at;
        gcut_step_free(s);
    }
    assert_true(key[0] == key[1] && key[0] != key[2]);
    gcut_ctx_free(ctx);
}

static void wrong_uses_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *head, *expr, *says;
    } cases[] = {
        {"rng %k: i64[]", "uniform(%k, shape=[2], lo=1, hi=1)", "must be below hi"},
        {"rng %k: i64[]", "uniform(%k, shape=[2], dtype=\"i32\")", "dtype must be a float"},
        {"rng %k: i64[]", "uniform(%k, shape=[2], hi=inf)", "hi must be finite"},
        {"rng %k: i64[]", "normal(%k, shape=[2], std=-1)", "must not be negative"},
        {"rng %k: i64[3]", "uniform(%k, shape=[2])", "a key and must be i64[]"},
        {"input %x: f32[2], rng %k: i64[]", "dropout(%x, %k, p=1)", "at least 0 and below 1"},
        {"input %x: f32[2], rng %k: i64[]", "dropout(%x, %k, p=-0.1)", "at least 0 and below 1"},
        {"input %x: f32[2], input %k: i32[]", "dropout(%x, %k, p=0.1)", "a key and must be i64[]"},
        {"rng %k: i64[2, 2]", "key_split(%k, n=2)", "a key is i64[], several are i64[n]"},
        {"rng %k: i64[2], input %i: i64[3]", "random(%k, %i)", "sizes 3 and 2"},
        {"rng %k: i64[2], input %i: i32[2]", "random(%k, %i)", "must be i64"},
        {"rng %k: i64[2]", "random(%k, %k, dtype=\"i32\")", "must be f32, f64 or i64"},
        {"rng %k: i32[]", "neg(%k)", "a key is i64[]"},
        {"rng %k: i64[2, 2]", "neg(%k)", "a key is i64[]"},
        {"input %x: f32[2]", "clamp(%x, lo=nan, hi=1)", "lo must be a number, not nan"},
        {"input %x: f32[2]", "clamp(%x, hi=nan)", "hi must be a number, not nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        snprintf(text, sizeof text, "func @f(%s) -> () {\n  %%y = %s\n  return\n}\n", cases[i].head,
                 cases[i].expr);
        gcut_graph *g = load_text(ctx, text);
        if (g) gcut_describe(g);
        if (!strstr(gcut_last_error(ctx), cases[i].says))
            fail_msg("%s: expected '%s' in: %s", cases[i].expr, cases[i].says, gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

static void the_builder_reports_the_callers_line(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_graph_new(ctx, "g");
    gcut_val k = gcut_rng(g, "k");
    gcut_dim n = gcut_dim_sym(g, "N", 1, 100);
    assert_true(gcut_normal(k, GCUT_F64, GCUT_SHAPE(n, 3), 0, 1).id != 0);
    assert_true(gcut_key_split(k, gcut_dim_mul(g, n, 2)).id != 0);
    assert_true(gcut_graph_ok(g));
    assert_true(gcut_uniform(k, GCUT_I32, GCUT_SHAPE(2), 0, 1).id == 0);
    assert_false(gcut_graph_ok(g));
    assert_non_null(strstr(gcut_last_error(ctx), "test_random.c"));
    assert_true(gcut_normal(k, GCUT_F64, GCUT_SHAPE(n, 3), 0, 1).id == 0);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_jax),
        cmocka_unit_test(distributions),
        cmocka_unit_test(uniform_is_half_open),
        cmocka_unit_test(halves_are_rounded),
        cmocka_unit_test(recomputed_is_saved),
        cmocka_unit_test(the_ladder_and_differences_agree),
        cmocka_unit_test(a_key_is_the_callers_to_change),
        cmocka_unit_test(the_first_key_comes_from_the_seed),
        cmocka_unit_test(wrong_uses_are_refused),
        cmocka_unit_test(the_builder_reports_the_callers_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
