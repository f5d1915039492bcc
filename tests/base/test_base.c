/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arenas, the catch frame, diagnostics and the JSON writer.
 */
#include "harness.h"

#include "base/json.h"
#include "base/units.h"

/* ---- an allocator that counts what is live and fails at a chosen call ---- */

typedef struct heap {
    int64_t live, calls, fail_at; /* fail_at 0: never */
} heap;

static void *heap_alloc(void *user, void *block, size_t size)
{
    heap *h = user;
    if (size == 0) {
        h->live -= block != NULL;
        free(block);
        return NULL;
    }
    if (++h->calls == h->fail_at) return NULL;
    void *p = realloc(block, size);
    h->live += !block && p;
    return p;
}

typedef struct world {
    gcut_env *env;
    int log[8], nlog;
} world;

static void in_env(void (*body)(void *))
{
    world w = {.env = gcut_env_new(NULL, NULL)};
    must(w.env, body, &w);
    gcut_env_free(w.env);
}

/* ---- arenas ---- */

static void blocks_body(void *arg)
{
    world *w = arg;
    gcut_arena *a = gcut_arena_new(w->env, NULL);
    unsigned char *piece[400];
    size_t size[400];
    for (int i = 0; i < 400; i++) {
        size[i] = (size_t)(i % 40 == 39 ? 100000 : i * 7 % 300);
        piece[i] = gcut_alloc(a, size[i]);
        assert_int_equal((uintptr_t)piece[i] % 16, 0);
        memset(piece[i], i, size[i]);
    }
    for (int i = 0; i < 400; i++)
        for (size_t k = 0; k < size[i]; k++) assert_int_equal(piece[i][k], i & 255);
    unsigned char *zero = gcut_calloc(a, 1000, 3);
    for (int i = 0; i < 3000; i++) assert_int_equal(zero[i], 0);
    assert_string_equal(gcut_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(gcut_printf(a, "%d-%s", 7, "x"), "7-x");
    assert_non_null(gcut_memdup(a, NULL, 0));
    assert_ptr_equal(gcut_arena_env(a), w->env);
    gcut_arena_free(a);
    gcut_arena_free(NULL);
}
static void test_blocks(void **state)
{
    (void)state;
    in_env(blocks_body);
}

typedef struct note {
    world *w;
    int id;
} note;

static void write_note(void *arg)
{
    note *n = arg;
    n->w->log[n->w->nlog++] = n->id;
}

/* The newest child first, each with its own cleanups last to first, then the parent's. */
static void defer_body(void *arg)
{
    world *w = arg;
    note n[] = {{w, 0}, {w, 1}, {w, 2}, {w, 3}, {w, 4}, {w, 5}};
    gcut_arena *root = gcut_arena_new(w->env, NULL);
    gcut_arena_defer(root, write_note, &n[0]);
    gcut_arena *old = gcut_arena_new(w->env, root), *middle = gcut_arena_new(w->env, root);
    gcut_arena *new = gcut_arena_new(w->env, root);
    gcut_arena_defer(old, write_note, &n[1]);
    gcut_arena_defer(old, write_note, &n[2]);
    gcut_arena_defer(new, write_note, &n[3]);
    gcut_arena_defer(middle, write_note, &n[4]);
    gcut_arena_defer(root, write_note, &n[5]);
    gcut_arena_free(middle);
    assert_int_equal(w->nlog, 1);
    gcut_arena_free(root);
    const int want[] = {4, 3, 2, 1, 5, 0};
    assert_int_equal(w->nlog, 6);
    assert_memory_equal(w->log, want, sizeof want);
}
static void test_defer(void **state)
{
    (void)state;
    in_env(defer_body);
}

static void vec_body(void *arg)
{
    world *w = arg;
    GCUT_VEC(uint64_t) a = {0}, b = {0};
    gcut_text t = {.arena = w->env->arena};
    gcut_names names = {.arena = w->env->arena};
    for (uint64_t i = 0; i < 20000; i++) {
        *GCUT_PUSH(w->env->arena, &a) = i;
        if (i % 3 == 0) *GCUT_PUSH(w->env->arena, &b) = ~i;
        gcut_text_add(&t, "%c", 'a' + (int)(i % 26));
        if (i % 1000 == 0) gcut_text_add(&t, "%0300d", 1);
    }
    for (uint64_t i = 0; i < a.n; i++) assert_true(a.at[i] == i);
    for (uint64_t i = 0; i < b.n; i++) assert_true(b.at[i] == ~(3 * i));
    assert_int_equal(t.n, 20000 + 20 * 300);
    assert_int_equal(strlen(t.at), t.n);
    const char *first[2000];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 2000; i++) {
            char buf[32];
            size_t n = (size_t)snprintf(buf, sizeof buf, "name%d", i);
            const char *s = gcut_intern(&names, buf, n);
            if (round == 0) first[i] = s;
            assert_string_equal(s, buf);
            assert_ptr_equal(s, first[i]);
        }
    assert_int_equal(names.n, 2000);
    assert_ptr_not_equal(gcut_intern(&names, "a\0b", 3), gcut_intern(&names, "a\0c", 3));
    assert_string_equal(gcut_intern(&names, "", 0), "");
}
static void test_vec(void **state)
{
    (void)state;
    in_env(vec_body);
}

static void huge_body(void *arg)
{
    gcut_calloc(((world *)arg)->env->arena, SIZE_MAX / 2, 4);
}
static void huge_text_body(void *arg)
{
    gcut_text t = {.arena = ((world *)arg)->env->arena};
    gcut_text_addn(&t, "", SIZE_MAX - 8);
}

static void test_overflow(void **state)
{
    (void)state;
    world w = {.env = gcut_env_new(NULL, NULL)};
    assert_int_equal(gcut_protect(w.env, huge_body, &w), GCUT_ENOMEM);
    assert_int_equal(gcut_protect(w.env, huge_text_body, &w), GCUT_ENOMEM);
    gcut_env_free(w.env);
}

/* ---- every allocation fails once, nothing leaks, a later run succeeds ---- */

typedef struct sweep {
    gcut_env *env;
    int opened, closed;
} sweep;

static void close_it(void *arg)
{
    ((sweep *)arg)->closed++;
}

static void sweep_body(void *arg)
{
    sweep *s = arg;
    gcut_arena *a = gcut_arena_new(s->env, s->env->arena);
    for (int i = 0; i < 40; i++) {
        gcut_arena *child = gcut_arena_new(s->env, a);
        s->opened++;
        gcut_arena_defer(child, close_it, s);
        gcut_printf(child, "%0*d", i * 100 + 1, 0);
    }
    gcut_names names = {.arena = a};
    for (int i = 0; i < 300; i++) {
        const char *name = gcut_printf(a, "n%d", i);
        gcut_intern(&names, name, strlen(name));
    }
    gcut_source_add(s->env, "f", "one\ntwo\n", 8);
    for (int i = 0; i < 60; i++)
        gcut_report(s->env, GCUT_ETYPE, (gcut_place){"f", 2, 1}, "hint", "message %d", i);
    gcut_arena_free(a);
    gcut_fail(s->env, GCUT_ESYNTAX, (gcut_place){"f", 1, 1}, NULL, "the end");
}

static void test_sweep(void **state)
{
    (void)state;
    int64_t k = 1, failed = 0;
    for (gcut_status last = GCUT_ENOMEM; last != GCUT_ESYNTAX; k++) {
        heap h = {.fail_at = k};
        sweep s = {.env = gcut_env_new(heap_alloc, &h)};
        last = GCUT_ENOMEM;
        if (s.env) {
            last = gcut_protect(s.env, sweep_body, &s);
            assert_null(s.env->catcher);
            assert_true(last == GCUT_ENOMEM || last == GCUT_ESYNTAX);
            gcut_env_free(s.env);
        }
        failed += last == GCUT_ENOMEM;
        assert_int_equal(s.opened, s.closed);
        assert_int_equal(h.live, 0);
    }
    assert_true(failed > 60);
}

/* ---- catching ---- */

static void throw_dim(void *arg)
{
    gcut_throw(((world *)arg)->env, GCUT_EDIM);
}

static void nest_body(void *arg)
{
    world *w = arg;
    jmp_buf *mine = w->env->catcher;
    assert_int_equal(gcut_protect(w->env, throw_dim, w), GCUT_EDIM);
    assert_ptr_equal(w->env->catcher, mine);
    gcut_throw(w->env, GCUT_EIO);
}

static void test_nest(void **state)
{
    (void)state;
    world w = {.env = gcut_env_new(NULL, NULL)};
    assert_int_equal(gcut_protect(w.env, nest_body, &w), GCUT_EIO);
    assert_null(w.env->catcher);
    gcut_env_free(w.env);
}

/* ---- diagnostics ---- */

static size_t requested;

static void *add_requests(void *user, void *block, size_t size)
{
    (void)user;
    requested += size;
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

static void same_name_body(void *arg)
{
    gcut_env *env = ((world *)arg)->env;
    enum { N = 1 << 16, TIMES = 200 };
    char *text = calloc(1, N);
    assert_non_null(text);
    requested = 0;
    for (size_t i = 0; i < TIMES; i++) gcut_source_add(env, "a.gcut", text, i % 2 ? N : 100);
    assert_true(requested < 2 * N);
    for (size_t i = 0; i < TIMES; i++) gcut_source_add(env, "b.gcut", text, (i + 1) * (N / TIMES));
    assert_true(requested < 8 * N);
    free(text);
}

/* Texts of one name, small and large in turn or ever larger, take no more than a few of the largest. */
static void test_same_name(void **state)
{
    (void)state;
    world w = {.env = gcut_env_new(add_requests, NULL)};
    must(w.env, same_name_body, &w);
    gcut_env_free(w.env);
}

/* Of a line of a megabyte a part is quoted, whose characters are whole and whose caret stands where it
 * should. */
static void long_lines_body(void *arg)
{
    gcut_env *env = ((world *)arg)->env;
    enum { N = 1 << 20 };
    char *line = malloc(N + 1);
    assert_non_null(line);
    for (size_t i = 0; i < N; i += 2) memcpy(line + i, "\xC3\xA9", 2); /* each a character of two bytes */
    gcut_source_add(env, "a.gcut", line, N);
    static const int columns[] = {1, 81, 82, 83, 163, 5000, N - 159, N - 80, N - 1, N, N + 1, N + 50, 0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        TRY("column %zu", i);
        int col = columns[i];
        bool inside = col > 0 && col <= N;
        memcpy(line + (inside ? (col - 1) / 2 * 2 : 0), "!?", 2);
        gcut_source_add(env, "a.gcut", line, N);
        gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 1, col}, NULL, "here");
        const gcut_diag *d = &env->diags[env->ndiags - 1];
        const char *s = d->source;
        size_t n = strlen(s);
        assert_that(n, >, 80);
        assert_that(n, <, 200);
        assert_true(!memcmp(s, "...", 3) == (col > 82)); /* a cut is between characters */
        for (const char *c = s; *c;) {
            bool two = *c == '\xC3';
            assert_true(two ? c[1] == '\xA9' : *c == '.' || *c == '!' || *c == '?');
            c += 1 + two;
        }
        if (inside) assert_int_equal(s[d->caret - 1], col % 2 ? '!' : '?');
        if (col > N) assert_true(d->caret > (int)n);
        assert_non_null(gcut_diag_text(env->arena, d));
        for (size_t k = 0; k < N; k += 2) memcpy(line + k, "\xC3\xA9", 2);
    }
    free(line);
    gcut_report(env, GCUT_ETYPE, (gcut_place){0}, NULL, "no value %%%0*d: why", 100000, 7);
    const char *m = env->diags[env->ndiags - 1].message;
    assert_that(strlen(m), <, 5000);
    assert_true(!strncmp(m, "no value %0", 11));
    assert_true(strstr(m, "0...0"));
    assert_string_equal(m + strlen(m) - 7, "07: why");
}

static void test_long_lines(void **state)
{
    (void)state;
    world w = {.env = gcut_env_new(NULL, NULL)};
    must(w.env, long_lines_body, &w);
    gcut_env_free(w.env);
}

static void diags_body(void *arg)
{
    gcut_env *env = ((world *)arg)->env;
    const char *text = "first\n\tx = \xC3\xA9\xC3\xA9 + y\r\nlast\x1b[31m";
    gcut_source_add(env, "a.gcut", text, strlen(text));
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 2, 13}, "write z", "no %s here", "y");
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 1, 0}, NULL, "whole line");
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 3, 99}, NULL, "beyond the end");
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 4, 1}, NULL, "no such line");
    gcut_report(env, GCUT_EIO, (gcut_place){"b.gcut", 4, 1}, NULL, "no such source");
    gcut_report(env, GCUT_EUSAGE, (gcut_place){0}, "do", "no place");
    static const char *const want[] = {
        "a.gcut:2:13: error: no y here\n  \tx = \xC3\xA9\xC3\xA9 + y\n  \t         ^\n  hint: write z\n",
        "a.gcut:1: error: whole line\n  first\n",
        "a.gcut:3:99: error: beyond the end\n  last?[31m\n           ^\n",
        "a.gcut:4:1: error: no such line\n",
        "b.gcut:4:1: error: no such source\n",
        "error: no place\n  hint: do\n",
    };
    assert_int_equal(env->ndiags, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(gcut_diag_text(env->arena, &env->diags[i]), want[i]);
    assert_int_equal(env->diags[4].status, GCUT_EIO);

    /* A file read again: shorter, then longer. */
    gcut_source_add(env, "a.gcut", "new", 3);
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 1, 1}, NULL, "m");
    assert_string_equal(env->diags[6].source, "new");
    gcut_source_add(env, "a.gcut", "longer than it was\n", 19);
    gcut_report(env, GCUT_ETYPE, (gcut_place){"a.gcut", 1, 1}, NULL, "m");
    assert_string_equal(env->diags[7].source, "longer than it was");
    assert_string_equal(env->diags[6].source, "new");
    /* A name cannot begin a line of its own, or speak to the terminal. */
    gcut_report(env, GCUT_ETYPE, (gcut_place){0}, "one\ntwo\r\x1b[1m", "'%s'", "a\nb\x1b[31m\t\x7f\xC3\xA9");
    assert_string_equal(env->diags[8].message, "'a?b?[31m??\xC3\xA9'");
    assert_string_equal(env->diags[8].hint, "one\ntwo??[1m");
    gcut_diags_clear(env);
    assert_int_equal(env->ndiags, 0);
}
static void test_diags(void **state)
{
    (void)state;
    in_env(diags_body);
}

/* ---- JSON ---- */

static void sample(gcut_json *j)
{
    gcut_json_object(j);
    gcut_json_key(j, "none"), gcut_json_array(j), gcut_json_end(j);
    gcut_json_key(j, "list"), gcut_json_array(j);
    gcut_json_int(j, INT64_MIN);
    gcut_json_bool(j, true);
    gcut_json_str(j, NULL);
    gcut_json_object(j);
    gcut_json_end(j);
    gcut_json_end(j);
    gcut_json_key(j, "s"), gcut_json_str(j, "a\"b");
    gcut_json_end(j);
}

static void json_body(void *arg)
{
    gcut_arena *a = ((world *)arg)->env->arena;
    gcut_text wide = {.arena = a}, tight = {.arena = a};
    gcut_json j = {.out = &wide}, k = {.out = &tight, .compact = true};
    sample(&j);
    sample(&k);
    assert_string_equal(tight.at,
                        "{\"none\":[],\"list\":[-9223372036854775808,true,null,{}],\"s\":\"a\\\"b\"}");
    assert_string_equal(wide.at,
                        "{\n  \"none\": [],\n  \"list\": [\n    -9223372036854775808,\n    true,\n    null,\n"
                        "    {}\n  ],\n  \"s\": \"a\\\"b\"\n}");
}
static void test_json(void **state)
{
    (void)state;
    in_env(json_body);
}

static void strings_body(void *arg)
{
    static const struct {
        const char *in, *out;
        size_t n;
    } row[] = {
        {"\b\f\n\r\t\\/", "\"\\b\\f\\n\\r\\t\\\\/\"", 7},
        {"\x01\x1f\x7f\0", "\"\\u0001\\u001f\\u007f\\u0000\"", 4},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", 9},
        {"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"", 2},                                 /* overlong */
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", 3},                 /* surrogate */
        {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", 4}, /* > U+10FFFF */
        {"a\xE2\x82", "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"", 3},                               /* cut off */
        {"\xFFz", "\"\xEF\xBF\xBDz\"", 2},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        TRY("row %zu", i);
        gcut_text t = {.arena = ((world *)arg)->env->arena};
        gcut_json_strn(&(gcut_json){.out = &t}, row[i].in, row[i].n);
        assert_string_equal(t.at, row[i].out);
    }
}
static void test_strings(void **state)
{
    (void)state;
    in_env(strings_body);
}

static const char *real_text(gcut_arena *a, double x)
{
    gcut_text t = {.arena = a};
    gcut_json_real(&(gcut_json){.out = &t}, x);
    return t.at;
}

static void reals_body(void *arg)
{
    gcut_arena *a = ((world *)arg)->env->arena;
    assert_string_equal(real_text(a, 0.1), "0.1");
    assert_string_equal(real_text(a, -0.0), "-0");
    assert_string_equal(real_text(a, 100000), "100000");
    assert_string_equal(real_text(a, 1e22), "1e+22");
    assert_string_equal(real_text(a, 5e-324), "5e-324");
    assert_string_equal(real_text(a, NAN), "null");
    assert_string_equal(real_text(a, -INFINITY), "null");
    uint64_t bits = 88172645463325252;
    for (int i = 0; i < 3000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        const char *s = real_text(a, x);
        assert_true(strtod(s, NULL) == x);
        /* No shorter one: with a digit less it reads back as something else. */
        const char *p = s + strspn(s, "-0.");
        int digits = 0;
        for (; *p && *p != 'e'; p++) digits += *p != '.';
        char shorter[40];
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, x);
        if (digits > 1 && strpbrk(s, ".e")) assert_true(strtod(shorter, NULL) != x);
    }
}
static void test_reals(void **state)
{
    (void)state;
    in_env(reals_body);
}

static void units_body(void *arg)
{
    gcut_arena *a = ((world *)arg)->env->arena;
    assert_string_equal(gcut_count_text(a, -1234567), "-1,234,567");
    assert_string_equal(gcut_bytes_short(a, 0), "0 bytes");
    assert_string_equal(gcut_bytes_short(a, 1023), "1023 bytes");
    assert_string_equal(gcut_bytes_short(a, 1024), "1.0 KiB");
    assert_string_equal(gcut_bytes_short(a, 0x1p62), "4.0 EiB");
    assert_string_equal(gcut_bytes_text(a, 1023), "1,023 bytes");
    assert_string_equal(gcut_bytes_text(a, 34048), "34,048 bytes (33.2 KiB)");
    assert_string_equal(gcut_bytes_text(a, 1), "1 byte");
    assert_string_equal(gcut_bytes_short(a, 1), "1 byte");
    assert_string_equal(gcut_time_text(a, 999.4), "999 ns");
    assert_string_equal(gcut_time_text(a, 999.7), "1 us");
    assert_string_equal(gcut_time_text(a, 5.843e13), "58430 s");
    assert_string_equal(gcut_three_digits(a, 999.4), "999");
    assert_string_equal(gcut_three_digits(a, 1000), "1000");
    assert_string_equal(gcut_three_digits(a, 8.224), "8.22");
    assert_string_equal(gcut_time_text(a, 1234), "1.23 us");
    assert_string_equal(gcut_time_text_to(a, 210, 3), "210 ns");
}
static void test_units(void **state)
{
    (void)state;
    in_env(units_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),     cmocka_unit_test(test_defer),     cmocka_unit_test(test_vec),
        cmocka_unit_test(test_overflow),   cmocka_unit_test(test_sweep),     cmocka_unit_test(test_nest),
        cmocka_unit_test(test_long_lines), cmocka_unit_test(test_same_name), cmocka_unit_test(test_diags),
        cmocka_unit_test(test_json),       cmocka_unit_test(test_strings),   cmocka_unit_test(test_reals),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
