/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every op where an axis has no elements.  Each sample of grad_samples.h is tried once for each size that its
 * parameters name, that size replaced by the constant 0 wherever it stands, and once with its symbol N = 0;
 * the four backends agree on values and gradients.  A sample that the shape rules refuse so is not tried, but
 * each op has one that they take, except those of `undefined`.
 */
#include "harness.h"

#include <ctype.h>
#include <unistd.h>

#include "grad_samples.h"
#include "gradcut/gradcut.h"
#include "public.h"
#include "nightly.h"

static char path[] = "/tmp/gradcut_empty_XXXXXX";

/* An argument of no elements has no index. */
static const gcut_op undefined[] = {GCUT_OP_argmax, GCUT_OP_argmin};

/* ---- texts ---- */

typedef struct text {
    char at[16000];
    size_t n;
} text;

static void add(text *t, const char *fmt, ...) GCUT_PRINTF(2, 3);
static void add(text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(t->at + t->n, sizeof t->at - t->n, fmt, ap);
    va_end(ap);
    assert_that(n, >=, 0);
    assert_that(t->n + (size_t)n, <, sizeof t->at);
    t->n += (size_t)n;
}

static size_t word(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    return n;
}

/* Sizes of a type, or of an attribute that gives sizes; others, such as axes and strides, stay. */
static bool begins_sizes(const char *from, const char *bracket)
{
    static const char *const before[] = {"shape=", "window=", "limit=", ": f32", ": f64", ": i32", ": i64"};
    for (size_t k = 0; k < sizeof before / sizeof *before; k++) {
        size_t n = strlen(before[k]);
        if ((size_t)(bracket - from) >= n && !memcmp(bracket - n, before[k], n)) return true;
    }
    return false;
}

/* s with %names numbered, and the size `zero` (NULL: none) replaced by 0. */
static void add_changed(text *t, const char *s, const char *zero, size_t number)
{
    bool sizes = false;
    for (const char *c = s; *c;) {
        size_t n = word(c);
        if (*c == '%') {
            n = word(c + 1);
            add(t, "%%%.*s_%zu", (int)n, c + 1, number);
            c += n + 1;
            continue;
        }
        if (*c == '[') sizes = begins_sizes(s, c);
        if (*c == ']') sizes = false;
        bool named = n == 1 && *c == 'N',
             of = c > s + 2 && (!memcmp(c - 3, "of=", 3) || !memcmp(c - 2, "n=", 2));
        if (n && zero && (sizes || of || named) && strlen(zero) == n && !memcmp(c, zero, n))
            add(t, "0");
        else
            add(t, "%.*s", (int)(n ? n : 1), c);
        c += n ? n : 1;
    }
}

/* "param %a: …" of a float, "input %i: … #range(0, bound)" of an integer. */
static void add_params(text *t, const sample *s, const char *zero, size_t number)
{
    for (const char *p = s->params; *p;) {
        size_t n = 0;
        for (int depth = 0; p[n] && (p[n] != ',' || depth); n++) depth += (p[n] == '[') - (p[n] == ']');
        char one[200];
        assert_true(n < sizeof one);
        snprintf(one, sizeof one, "%.*s", (int)n, p);
        bool real = strstr(one, ": f") != NULL;
        add(t, ", %s ", real ? "param" : "input");
        add_changed(t, one, zero, number);
        if (!real && s->bound) add(t, " #range(0, %d)", s->bound);
        p += n;
        p += strspn(p, ", ");
    }
}

typedef struct variant {
    const sample *s;
    char zero[24]; /* the size that becomes 0; "": none, N is 0 */
} variant;

static const char *zero_of(const variant *v)
{
    return *v->zero ? v->zero : NULL;
}

/* Some variants in one function, and the loss of all. */
static void write_function(text *t, const variant *v, size_t n)
{
    t->n = 0;
    add(t, "gcut 1\nfunc @f[N in 0..64](param %%n: f32[N]");
    for (size_t k = 0; k < n; k++) add_params(t, v[k].s, zero_of(&v[k]), k);
    add(t, ")\n    -> (out loss: f32[]) {\n  %%l_0 = sum(%%n)\n");
    for (size_t k = 0; k < n; k++) {
        add(t, "  ");
        add_changed(t, v[k].s->body, zero_of(&v[k]), k);
        add(t,
            "\n  %%c_%zu = cast(%%y_%zu, to=\"f32\") %%q_%zu.2 = mul(%%c_%zu, %%c_%zu) %%s_%zu.2 = "
            "sum(%%q_%zu.2)\n  %%l_%zu = add(%%l_%zu, %%s_%zu.2)\n",
            k, k, k, k, k, k, k, k + 1, k, k);
    }
    add(t, "  return %%l_%zu\n}\n", n);
}

static gcut_graph *load(gcut_ctx *ctx, const text *t)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(t->at, 1, t->n, f), t->n);
    assert_int_equal(fclose(f), 0);
    return gcut_load(ctx, path, NULL);
}

/* ---- variants ---- */

static gcut_options options(gcut_size *at, gcut_backend backend)
{
    gcut_options o = UNREFINED_OPTIONS;
    o.at = at;
    o.nat = 1;
    o.threads = 2;
    o.backend = backend;
    return o;
}

static gcut_status run_with(gcut_ctx *ctx, gcut_graph *g, gcut_backend backend, int64_t size)
{
    gcut_size at = {"N", size};
    gcut_options o = options(&at, backend);
    gcut_step *s = gcut_compile(g, &o);
    if (s) gcut_run(s);
    gcut_status status = gcut_last_status(ctx);
    gcut_clear_errors(ctx);
    gcut_step_free(s);
    return status;
}

/* The parser refuses v, with a place; or a run does, in every backend, since sizes differ or indices point
 * nowhere.
 */
static bool is_refused(const variant *v, int64_t size)
{
    static text t;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    write_function(&t, v, 1);
    gcut_graph *g = load(ctx, &t);
    if (!g && (!strstr(gcut_last_error(ctx), path) || !strstr(gcut_last_error(ctx), "^")))
        fail_msg("no place in: %s\n%s", gcut_last_error(ctx), t.at);
    gcut_status s = g ? run_with(ctx, g, GCUT_BACKEND_EAGER, size) : GCUT_OK;
    if (s != GCUT_OK) {
        if (s != GCUT_EDIM && s != GCUT_EINDEX) fail_msg("eager gives status %d:\n%s", (int)s, t.at);
        gcut_status other = run_with(ctx, g, GCUT_BACKEND_COMPILED, size);
        if (other != s) fail_msg("eager gives status %d, compiled %d:\n%s", (int)s, (int)other, t.at);
    }
    gcut_ctx_free(ctx);
    return !g || s != GCUT_OK;
}

static size_t sizes_of(const sample *s, variant *out, size_t room)
{
    size_t n = 0;
    for (const char *c = s->params; *c;) {
        size_t k = word(c);
        bool inside = false;
        for (const char *b = c; b > s->params && *b != ']'; b--) inside = inside || *b == '[';
        bool seen = *c == '0' || !inside || k == 0;
        for (size_t i = 0; i < n; i++)
            seen = seen || (strlen(out[i].zero) == k && !memcmp(out[i].zero, c, k));
        if (!seen) {
            assert_that(n, <, room);
            assert_that(k, <, sizeof out->zero);
            out[n] = (variant){.s = s};
            memcpy(out[n++].zero, c, k);
        }
        c += k ? k : 1;
    }
    return n;
}

/* ---- runs ---- */

/* No warning about what is declared for elements that there are none of, or divides by their number. */
static void emit_without_warnings(gcut_ctx *ctx, gcut_graph *g, const text *t)
{
    char step[sizeof path + 8], cmd[400];
    snprintf(step, sizeof step, "%s_step", path);
    if (gcut_emit_files(g, NULL, step, false) != GCUT_OK) fail_msg("%s\n%s", gcut_last_error(ctx), t->at);
    snprintf(cmd, sizeof cmd,
             "${CC:-cc} -std=c17 -Wall -Wextra -Werror -Wno-unknown-pragmas -I%s/include -fsyntax-only %s.c; "
             "s=$?; "
             "rm -f %s.c %s.h; exit $s",
             GCUT_SOURCE_DIR, step, step, step);
    if (system(cmd) != 0) fail_msg("the emitted C has warnings:\n%s", t->at);
}

static void agree(const variant *v, size_t n, int64_t size)
{
    static text t;
    if (n == 0) return;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_size at = {"N", size};
    gcut_options o = options(&at, GCUT_BACKEND_COMPILED);
    write_function(&t, v, n);
    gcut_graph *g = load(ctx, &t);
    gcut_check_report r = {0};
    if (g) r = crosscheck(g, &o, NULL, 0, 0);
    if (!r.text || !r.ok)
        fail_msg("N = %lld: %s\n%s", (long long)size, r.text ? r.text : gcut_last_error(ctx), t.at);
    emit_without_warnings(ctx, g, &t);
    gcut_ctx_free(ctx);
}

enum { BATCH = 24 };

static void batches(const variant *v, size_t n, int64_t size)
{
    for (size_t k = 0; k < n; k += BATCH)
        if (in_turn(k / BATCH, 3)) agree(v + k, n - k < BATCH ? n - k : BATCH, size);
}

static void every_op_takes_an_empty_axis(void **state)
{
    (void)state;
    static variant constant[NSAMPLES * 8], symbolic[NSAMPLES];
    size_t nc = 0, ns = 0, taken[GCUT_NOPS] = {0}, missing = 0;
    for (size_t i = 0; i < NSAMPLES; i++) {
        variant v[8];
        size_t n = sizes_of(&samples[i], v, 8);
        for (size_t k = 0; k < n; k++) {
            if (is_refused(&v[k], 3)) continue;
            taken[samples[i].op]++;
            constant[nc++] = v[k];
        }
        variant at0 = {.s = &samples[i]};
        if (*samples[i].dims && !is_refused(&at0, 0)) symbolic[ns++] = at0;
    }
    for (size_t k = 0; k < sizeof undefined / sizeof *undefined; k++) taken[undefined[k]]++;
    for (uint32_t op = 0; op < GCUT_OP_if; op++)
        if (!taken[op]) missing++, print_error("no sample of %s has an empty axis\n", gcut_op_get(op)->name);
    assert_int_equal(missing, 0);
    batches(constant, nc, 3);
    batches(symbolic, ns, 0);
}

/* ---- control flow ---- */

/* Iterations of none, and bodies over nothing; after the name of the function. */
static const char *const loops[] = {
    "(param %c0: f32[4], param %xs: f32[4, N], param %k: f32[4]) -> (out loss: f32[], out ys: f32[4, N]) {\n"
    "  %c, %ys = scan(%c0, %xs, carries=1, axis=1) body(%before, %x) {\n"
    "    %sum = add(%before, %x)\n"
    "    %next = sin(%sum)\n"
    "    %y = mul(%next, %k)\n"
    "    yield %next, %y\n"
    "  }\n"
    "  %q = mul(%c, %c)\n"
    "  %s = sum(%q)\n"
    "  %t = sum(%ys)\n"
    "  %loss = add(%s, %t)\n"
    "  return %loss, %ys\n"
    "}\n",
    "(param %c0: f32[4], param %k: f32[4]) -> (out loss: f32[]) {\n"
    "  %c = scan(%c0, carries=1, length=N) body(%before) {\n"
    "    %sum = mul(%before, %k)\n"
    "    %next = sin(%sum)\n"
    "    yield %next\n"
    "  }\n"
    "  %q = mul(%c, %c)\n"
    "  %loss = sum(%q)\n"
    "  return %loss\n"
    "}\n",
    "(param %c0: f32[N, 3], param %k: f32[N, 3], param %xs: f32[5, N, 3]) -> (out loss: f32[]) {\n"
    "  %c, %ys = scan(%c0, %xs, carries=1) body(%before, %x) {\n"
    "    %a = mul(%before, %k)\n"
    "    %b = softmax(%a, axis=0)\n"
    "    %next = add(%b, %x)\n"
    "    %y = sum(%next, axes=[0])\n"
    "    yield %next, %y\n"
    "  }\n"
    "  %q = sum(%c)\n"
    "  %r = sum(%ys)\n"
    "  %loss = add(%q, %r)\n"
    "  return %loss\n"
    "}\n",
    "(param %x: f32[3], param %e: f32[3, N]) -> (out loss: f32[], out d: f32[3, N]) {\n"
    "  %i0 = full(shape=[], value=0, dtype=\"i32\")\n"
    "  %i, %v, %f = while(%i0, %x, %e, bound=N) cond(%a, %b, %g) {\n"
    "    %lim = full(shape=[], value=5, dtype=\"i32\")\n"
    "    %go = lt(%a, %lim)\n"
    "    yield %go\n"
    "  } body(%aa, %bb, %gg) {\n"
    "    %one = full(shape=[], value=1, dtype=\"i32\")\n"
    "    %n = add(%aa, %one)\n"
    "    %w = tanh(%bb)\n"
    "    %h = exp(%gg)\n"
    "    yield %n, %w, %h\n"
    "  }\n"
    "  %p = gt(%i, %i0)\n"
    "  %y, %d = if(%p) then {\n"
    "    %z = mul(%v, %v)\n"
    "    yield %z, %f\n"
    "  } else {\n"
    "    %m = sin(%f)\n"
    "    yield %v, %m\n"
    "  }\n"
    "  %u = sum(%d)\n"
    "  %t = sum(%y)\n"
    "  %loss = add(%t, %u)\n"
    "  return %loss, %d\n"
    "}\n",
};

static void loops_over_nothing_agree(void **state)
{
    (void)state;
    static text t;
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++)
        for (int way = 0; way < 3; way++) { /* N = 0 as a constant and as a size, N = 2 */
            t.n = 0;
            add(&t, "gcut 1\nfunc @f%s", way ? "[N in 0..]" : "");
            add_changed(&t, loops[k], way ? NULL : "N", k);
            gcut_ctx *ctx = gcut_ctx_new(NULL);
            gcut_size at = {"N", way == 2 ? 2 : 0};
            gcut_options o = options(&at, GCUT_BACKEND_COMPILED);
            o.nat = way > 0;
            gcut_graph *g = load(ctx, &t);
            gcut_check_report r = {0};
            if (g) r = crosscheck(g, &o, NULL, 0, 0);
            if (!r.text || !r.ok) fail_msg("%s\n%s", r.text ? r.text : gcut_last_error(ctx), t.at);
            emit_without_warnings(ctx, g, &t);
            gcut_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_takes_an_empty_axis),
        cmocka_unit_test(loops_over_nothing_agree),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
