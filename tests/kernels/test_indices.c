/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Indices and empty sizes in every backend: repeated indices give the same bits for any number of threads,
 * one that is out of range is reported with its op, line and value, and every family of ops has its NumPy
 * result where an axis has no elements.
 */
#include "harness.h"

#include <unistd.h>

#include "gradcut/gradcut.h"
#include "public.h"

static char path[] = "/tmp/gradcut-edges-XXXXXX";

static gcut_graph *graph_of(gcut_ctx *ctx, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s\n%s", gcut_last_error(ctx), text);
    return g;
}

static const gcut_backend backends[] = {GCUT_BACKEND_EAGER, GCUT_BACKEND_JOINT, GCUT_BACKEND_PLANNED,
                                        GCUT_BACKEND_COMPILED};

/* ---- repeated indices ---- */

/* Rows of %t are read and, in the backward graph, added to; most indices repeat many times. */
static const char repeated[] =
    "gcut 1\n"
    "func @f[N in 0..](param %t: f32[40, 24], param %u: f32[N, 24], input %i: i64[N], input %w: f32[N, 24])\n"
    "    -> (out loss: f32[], out s: f32[40, 24]) {\n"
    "  %r = take(%t, %i) %p = mul(%r, %w) %q = add(%p, %u) %s = scatter_add(%t, %i, %q) %e = mul(%s, %s)\n"
    "  %loss = sum(%e) return %loss, %s\n"
    "}\n";

enum { N = 6000, MAX_THREADS = 4 };

static void repeated_indices_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const names[] = {"loss", "s", "grad.t", "grad.u"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = graph_of(ctx, repeated);
    static int64_t index[N];
    static float u[N * 24], w[N * 24];
    uint64_t seed = 1;
    for (int k = 0; k < N; k++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        index[k] = (int64_t)(seed >> 60) * (int64_t)(k % 3); /* 31 of the rows, 0 more than others */
    }
    for (int k = 0; k < N * 24; k++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        u[k] = (float)(int32_t)(seed >> 32) * 0x1p-31f;
        w[k] = (float)(k % 7 - 3) / 3;
    }
    void *first[4] = {0};
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        gcut_options o = TEST_OPTIONS;
        o.threads = threads;
        o.loss = "loss";
        gcut_step *s = gcut_compile(g, &o);
        if (!s) fail_msg("%s", gcut_last_error(ctx));
        assert_int_equal(gcut_bind(s, "i", index, N), GCUT_OK);
        assert_int_equal(gcut_bind(s, "u", u, N, 24), GCUT_OK);
        assert_int_equal(gcut_bind(s, "w", w, N, 24), GCUT_OK);
        assert_int_equal(gcut_run(s), GCUT_OK);
        for (int k = 0; k < 4; k++) {
            gcut_value_info v;
            assert_true(value_of(s, names[k], &v));
            if (threads == 1) {
                first[k] = malloc((size_t)v.bytes);
                assert_non_null(first[k]);
                memcpy(first[k], v.at, (size_t)v.bytes);
            } else if (memcmp(first[k], v.at, (size_t)v.bytes) != 0) {
                fail_msg("%s with %d threads differs", names[k], threads);
            }
        }
        gcut_step_free(s);
    }
    for (int k = 0; k < 4; k++) free(first[k]);
    gcut_ctx_free(ctx);
}

/* ---- indices out of range ---- */

typedef struct stray {
    const char *op; /* what the message names */
    const char *body;
    int line; /* of the op */
} stray;

#define STRAY(op, types, body)                                                                               \
    {                                                                                                        \
        op,                                                                                                  \
            "gcut 1\nfunc @f(param %t: f32[6, 3], input %i: " types ") -> (out loss: f32[]) {\n"             \
            "  %a = exp(%t)\n" body "\n  %loss = sum(%y)\n  return %loss\n}\n",                              \
            4                                                                                                \
    }

static const stray strays[] = {
    STRAY("take", "i32[5]", "  %y = take(%a, %i)"),
    STRAY("take", "i64[5]", "  %y = take(%a, %i)"),
    STRAY("scatter_add", "i32[5]", "  %u = take(%a, %z) %y = scatter_add(%a, %i, %u)"),
    STRAY("scatter_add", "i64[5]", "  %u = take(%a, %z) %y = scatter_add(%a, %i, %u)"),
    STRAY("bounded", "i32[5]",
          "  %j = bounded(%i, of=6) %c = cast(%j, to=\"f32\") %s = sum(%a) "
          "%r = broadcast(%s, shape=[5], axes=[]) %y = add(%c, %r)"),
    STRAY("pick", "i32[6]", "  %y = pick(%a, %i, axis=1)"),
    STRAY("take_along", "i32[5]",
          "  %k = reshape(%i, shape=[5, 1]) %h = slice(%a, start=[0, 1], limit=[6, 2]) "
          "%y = take_along(%h, %k, axis=0)"),
    STRAY("cross_entropy", "i64[6]", "  %y = cross_entropy(%a, %i)"),
};

/* %z, some indices that are right, without another input. */
static char *with_z(const char *text)
{
    static char out[2000];
    const char *at = strstr(text, "%z");
    if (!at) return strcpy(out, text);
    const char *line = strstr(text, "  %u = take");
    bool wide = strstr(text, "i64[5]") != NULL;
    snprintf(out, sizeof out, "%.*s  %%z = iota(shape=[5], dtype=\"%s\")%s", (int)(line - text), text,
             wide ? "i64" : "i32", line + 1);
    return out;
}

/* A bad index at place `where`, and a worse one after it: the first is named, by every number of threads. */
static void check_stray(const stray *x, gcut_ctx *ctx, gcut_step *s, int64_t bad, int where)
{
    bool wide = strstr(x->body, "i64[") != NULL;
    int64_t n = strstr(x->body, "[6]") ? 6 : 5, i64[6] = {0, 1, 2, 1, 0, 2};
    int32_t i32[6];
    i64[where] = bad;
    if (where + 1 < n) i64[n - 1] = 77777;
    for (int k = 0; k < 6; k++) i32[k] = (int32_t)i64[k];
    assert_int_equal(gcut_bind_n(s, "i", wide ? (void *)i64 : (void *)i32, 1, &n), GCUT_OK);
    assert_int_equal(gcut_run(s), GCUT_EINDEX);
    const char *said = gcut_last_error(ctx);
    char number[32], line[80];
    snprintf(number, sizeof number, "index %lld", (long long)bad);
    snprintf(line, sizeof line, "%s:%d:", path, x->line);
    if (!strstr(said, number) || !strstr(said, line))
        fail_msg("%s: expected %s and %s in: %s", x->op, number, line, said);
    assert_int_equal(gcut_last_status(ctx), GCUT_EINDEX);
    gcut_clear_errors(ctx);
    i64[where] = i64[n - 1] = 1; /* the step is usable afterwards */
    i32[where] = i32[n - 1] = 1;
    assert_int_equal(gcut_run(s), GCUT_OK);
}

static void stray_indices_are_named(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof strays / sizeof *strays; k++)
        for (size_t b = 0; b < 4; b++) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_options o = TEST_OPTIONS;
            o.backend = backends[b];
            o.threads = 1 + (int)(k % 3);
            gcut_step *s = gcut_compile(graph_of(ctx, with_z(strays[k].body)), &o);
            if (!s) fail_msg("%s: %s", strays[k].op, gcut_last_error(ctx));
            check_stray(&strays[k], ctx, s, -3, 1);
            check_stray(&strays[k], ctx, s, 6, 4);
            gcut_ctx_free(ctx);
        }
}

/* ---- axes without elements ---- */

/* %x: f32[N, 3], %e: f32[0, 3], %v: f32[N], %i: i32[N], %w: f32[3, 4]; the line makes %y, whose sum is the
 * loss. */
static const char *const families[] = {
    "%y = exp(%x)",
    "%a = gelu(%e) %y = sum(%a, axes=[0])",
    "%a = max_reduce(%x, axes=[1]) %y = mul(%a, %v)",
    "%y = sum(%e, axes=[1], keep=true)",
    "%y = logsumexp(%x, axes=[1])",
    "%y = softmax(%x, axis=1)",
    "%y = log_softmax(%e, axis=0)",
    "%y = matmul(%x, %w)",
    "%y = matmul(%x, %x, ta=true)",
    "%y = matmul(%x, %x, tb=true)",
    "%a = matmul(%e, %w) %y = matmul(%a, %a, ta=true)",
    "%y = transpose(%x, perm=[1, 0])",
    "%a = reshape(%x, shape=[3*N]) %y = mul(%a, %a)",
    "%a = reshape(%e, shape=[3, 0]) %y = concat(%a, %a, axis=1)",
    "%y = broadcast(%v, shape=[2, N, 3], axes=[1])",
    "%a = slice(%x, start=[0, 1], limit=[N, 1]) %y = exp(%a)",
    "%a = slice(%x, start=[0, 2], limit=[N, 3]) %y = mul(%a, %a)",
    "%y = slice(%w, start=[1, 0], limit=[1, 4], step=[2, 3])",
    "%a = pad(%x, low=[1, 0], high=[2, 1], value=2.5) %y = mul(%a, %a)",
    "%a = pad(%e, low=[0, 0], high=[0, 0], interior=[2, 1]) %y = exp(%a)",
    "%a = concat(%x, %e, axis=0) %y = concat(%a, %x, axis=0)",
    "%a = flip(%x, axes=[0, 1]) %y = mul(%a, %x)",
    "%a = flip(%e, axes=[0]) %y = exp(%a)",
    "%y = take(%w, %i)",
    "%y = take(%w, %i, axis=1)",
    "%a = take(%w, %i) %z = full(shape=[3, 4], value=1.0) %y = scatter_add(%z, %i, %a)",
    "%y = pick(%x, %i, axis=1)",
    "%k = reshape(%i, shape=[N, 1]) %y = take_along(%x, %k, axis=1)",
    "%y = sort(%x, axis=0)",
    "%a = sort(%e, axis=0, descending=true) %y = exp(%a)",
    "%a, %j = topk(%x, k=2, axis=1) %b = cast(%j, to=\"f32\") %y = mul(%a, %b)",
    "%a = iota(shape=[N, 2], axis=0) %b = cast(%a, to=\"f32\") %y = exp(%b)",
    "%a = gt(%x, %x) %z = full(shape=[N, 3], value=2.0) %y = select(%a, %x, %z)",
    "%g = full(shape=[3], value=1.0) %y = layer_norm(%x, %g, %g)",
    "%g = full(shape=[3], value=1.0) %y = rms_norm(%e, %g)",
    "%a = cast(%x, to=\"bf16\") %b = mul(%a, %a) %y = cast(%b, to=\"f32\")",
    "%a = cast(%e, to=\"f16\") %b = matmul(%a, %a, ta=true) %y = cast(%b, to=\"f32\")",
    "%q = reshape(%x, shape=[1, 1, N, 3]) %y = attention(%q, %q, %q)",
    "%q = reshape(%x, shape=[1, 1, N, 3]) %y = attention(%q, %q, %q, causal=true)",
};

/* The line with a number after the names that it makes. */
static void numbered(char *out, const char *line, size_t k)
{
    for (; *line; line++) {
        *out++ = *line;
        if (line[0] != '%' || strchr("xeviw", line[1])) continue;
        *out++ = *++line;
        out += sprintf(out, "%zu", k);
    }
    *out = '\0';
}

/* Some families in one function. */
static gcut_graph *several(gcut_ctx *ctx, size_t from, size_t to)
{
    static char text[8000], line[400];
    int n = snprintf(
        text, sizeof text,
        "gcut 1\nfunc @f[N in 0..64](param %%x: f32[N, 3], param %%e: f32[0, 3], param %%v: f32[N],\n"
        "    input %%i: i32[N] #range(0, 3), param %%w: f32[3, 4]) -> (out loss: f32[]) {\n"
        "  %%l%zu = sum(%%x)\n",
        from);
    for (size_t k = from; k < to; k++) {
        numbered(line, families[k], k);
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  %s\n  %%s%zu = sum(%%y%zu) %%l%zu = add(%%l%zu, %%s%zu)\n", line, k, k, k + 1, k, k);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "  %%loss = mul(%%l%zu, %%l%zu)\n  return %%loss\n}\n",
                  to, to);
    assert_true(n < (int)sizeof text);
    return graph_of(ctx, text);
}

/* Gradients of every size, in every backend; what is empty gives the neutral element, and a product over no
 * elements 0. */
static void empty_axes_are_computed(void **state)
{
    (void)state;
    const size_t all = sizeof families / sizeof *families, batch = 9;
    for (size_t from = 0; from < all; from += batch)
        for (int64_t n = 0; n < 2; n++) {
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_size at = {"N", n};
            gcut_options o = TEST_OPTIONS;
            o.at = &at;
            o.nat = 1;
            o.threads = 2;
            o.policy = n & 1 ? "recompute-all" : "save-all";
            size_t to = from + batch < all ? from + batch : all;
            gcut_check_report r = crosscheck(several(ctx, from, to), &o, NULL, 0, 0);
            if (!r.text || !r.ok)
                fail_msg("N = %lld: %s\n%s", (long long)n, families[from],
                         r.text ? r.text : gcut_last_error(ctx));
            gcut_ctx_free(ctx);
        }
}

/* Slices that NumPy has and the IR says otherwise: the message says how. */
static void slices_are_refused_with_advice(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"%y = slice(%w, start=[2, 0], limit=[0, 4], step=[-1, 1])", "cannot be negative"},
        {"%y = slice(%w, start=[0, 0], limit=[3, 4], step=[0, 1])", "flip reverses"},
        {"%y = slice(%w, start=[2, 0], limit=[1, 4])", "slice"},
        {"%y = slice(%w, start=[0, 0], limit=[4, 4])", "slice"},
        {"%y = slice(%w, start=[-1, 0], limit=[3, 4])", "slice"},
        {"%y = take(%e, %i, axis=2)", "take"},
        {"%y = take_along(%w, %i, axis=0)", "must have the rank of"},
        {"%y, %j = topk(%w, k=4, axis=0)", "4 is beyond the size 3"},
        {"%y, %j = topk(%w, k=-1, axis=0)", "topk"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        gcut_ctx *ctx = gcut_ctx_new(NULL);
        char text[400];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(param %%w: f32[3, 4], param %%e: f32[0, 3], input %%i: i32[2]) -> (out "
                 "loss: f32[]) {\n"
                 "  %s\n  %%loss = sum(%%y)\n  return %%loss\n}\n",
                 wrong[k][0]);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
        assert_null(gcut_load(ctx, path, NULL));
        if (!strstr(gcut_last_error(ctx), wrong[k][1]) || !strstr(gcut_last_error(ctx), ":3:"))
            fail_msg("%s: %s", wrong[k][0], gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_indices_do_not_depend_on_threads),
        cmocka_unit_test(stray_indices_are_named),
        cmocka_unit_test(empty_axes_are_computed),
        cmocka_unit_test(slices_are_refused_with_advice),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
