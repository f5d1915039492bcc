/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dimensions: random expressions against their direct evaluation, laws of
 * algebra as equal handles, bounds against samples, text that reads back.
 */
#include "harness.h"

#include "graph/dim/dim.h"

#define NSYMS 4

typedef struct fixture {
    gcut_env *env;
    gcut_arena *arena;
    gcut_dims *t;
    gcut_dim sym[NSYMS];
    uint64_t seed;
    void (*body)(struct fixture *);
} fixture;

static void enter(void *arg)
{
    fixture *f = arg;
    f->arena = gcut_arena_new(f->env, f->env->arena);
    f->t = gcut_dims_new(f->arena);
    static const char *const names[NSYMS] = {"N", "B", "H", "T"};
    for (int i = 0; i < NSYMS; i++) f->sym[i] = gcut_dim_symbol(f->t, names[i]);
    f->body(f);
}

static void run(void (*body)(fixture *))
{
    fixture f = {.env = gcut_env_new(NULL, NULL), .seed = 42, .body = body};
    must(f.env, enter, &f);
    gcut_env_free(f.env);
}

static uint32_t roll(fixture *f, uint32_t n)
{
    f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(f->seed >> 33) % n;
}

/* ---- trees, evaluated as written ---- */

typedef struct tree {
    int op; /* -1: constant, -2: symbol, else gcut_dim_op */
    int64_t value;
    int sym;
    struct tree *a, *b;
} tree;

static tree *grow(fixture *f, int depth)
{
    tree *t = gcut_calloc(f->arena, 1, sizeof *t);
    if (depth == 0 || roll(f, 6) == 0) {
        t->op = roll(f, 2) ? -1 : -2;
        t->value = roll(f, 9);
        t->sym = (int)roll(f, NSYMS);
        return t;
    }
    t->op = (int)roll(f, 8);
    t->a = grow(f, depth - 1);
    t->b = grow(f, depth - 1);
    return t;
}

/* Floor of the true quotient by search from the truncated one: independent of the code under test. */
static int64_t floor_of(int64_t a, int64_t b)
{
    return (int64_t)floorl((long double)a / (long double)b);
}

static bool direct(const tree *t, const int64_t *sym, int64_t *out)
{
    if (t->op < 0) return *out = t->op == -1 ? t->value : sym[t->sym], true;
    int64_t a, b;
    if (!direct(t->a, sym, &a) || !direct(t->b, sym, &b)) return false;
    if (llabs(a) > 1000000 || llabs(b) > 1000000) return false;
    if (b == 0 && (t->op == GCUT_DIM_DIV || t->op == GCUT_DIM_CEILDIV || t->op == GCUT_DIM_MOD)) return false;
    switch ((gcut_dim_op)t->op) {
    case GCUT_DIM_ADD: *out = a + b; break;
    case GCUT_DIM_SUB: *out = a - b; break;
    case GCUT_DIM_MUL: *out = a * b; break;
    case GCUT_DIM_DIV: *out = floor_of(a, b); break;
    case GCUT_DIM_CEILDIV: *out = -floor_of(-a, b); break;
    case GCUT_DIM_MOD: *out = a - floor_of(a, b) * b; break;
    case GCUT_DIM_MIN: *out = a < b ? a : b; break;
    case GCUT_DIM_MAXOF: *out = a > b ? a : b; break;
    }
    return true;
}

typedef struct making {
    fixture *f;
    const tree *t;
    gcut_dim out;
} making;

static gcut_dim make(fixture *f, const tree *t)
{
    if (t->op == -1) return t->value;
    if (t->op == -2) return f->sym[t->sym];
    gcut_dim a = make(f, t->a), b = make(f, t->b);
    return gcut_dim_make(f->t, (gcut_dim_op)t->op, a, b);
}

static void make_body(void *arg)
{
    making *m = arg;
    m->out = make(m->f, m->t);
}

/* False when the expression is refused (a negative constant, a division by 0). */
static bool try_make(fixture *f, const tree *t, gcut_dim *out)
{
    making m = {f, t, 0};
    gcut_status s = gcut_protect(f->env, make_body, &m);
    if (s != GCUT_OK) {
        assert_int_equal(s, GCUT_ETYPE);
        assert_int_equal(f->env->ndiags, 1);
        gcut_diags_clear(f->env);
    }
    *out = m.out;
    return s == GCUT_OK;
}

static void sample(fixture *f, int64_t *value, gcut_dim_binding *b)
{
    for (int i = 0; i < NSYMS; i++) {
        value[i] = roll(f, 3) ? 2 + roll(f, 18) : roll(f, 3);
        b[i] = (gcut_dim_binding){f->sym[i], value[i]};
    }
}

/* ---- text back into a tree's worth of calls: the grammar of doc, in 30 lines ---- */

typedef struct reader {
    fixture *f;
    const char *s;
} reader;

static gcut_dim read_sum(reader *r);

static gcut_dim read_factor(reader *r)
{
    if (*r->s >= '0' && *r->s <= '9') return strtoll(r->s, (char **)&r->s, 10);
    static const char *const fn[] = {"div(", "ceildiv(", "mod(", "min(", "max("};
    for (int i = 0; i < 5; i++) {
        if (strncmp(r->s, fn[i], strlen(fn[i])) != 0) continue;
        r->s += strlen(fn[i]);
        gcut_dim a = read_sum(r);
        assert_int_equal(*r->s++, ',');
        gcut_dim b = read_sum(r);
        assert_int_equal(*r->s++, ')');
        return gcut_dim_make(r->f->t, (gcut_dim_op)(GCUT_DIM_DIV + i), a, b);
    }
    size_t n = strspn(r->s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    assert_that(n, >, 0);
    const char *name = gcut_strndup(r->f->arena, r->s, n);
    r->s += n;
    return gcut_dim_symbol(r->f->t, name);
}

static gcut_dim read_term(reader *r)
{
    gcut_dim d = read_factor(r);
    while (*r->s == '*') {
        r->s++;
        d = gcut_dim_make(r->f->t, GCUT_DIM_MUL, d, read_factor(r));
    }
    return d;
}

static gcut_dim read_sum(reader *r)
{
    gcut_dim d = read_term(r);
    while (*r->s == '+' || *r->s == '-') {
        gcut_dim_op op = *r->s++ == '+' ? GCUT_DIM_ADD : GCUT_DIM_SUB;
        d = gcut_dim_make(r->f->t, op, d, read_term(r));
    }
    return d;
}

static const char *text_of(fixture *f, gcut_dim d)
{
    gcut_text t = {.arena = f->arena};
    gcut_dim_print(f->t, d, &t);
    return t.at;
}

/* ---- tests ---- */

static void random_body(fixture *f)
{
    uint32_t made = 0, compared = 0;
    for (int round = 0; round < 20000; round++) {
        TRY("round %d", (int)round);
        const tree *t = grow(f, 1 + (int)roll(f, 4));
        gcut_dim d;
        if (!try_make(f, t, &d)) continue;
        made++;
        reader r = {f, text_of(f, d)};
        if (read_sum(&r) != d) fail_msg("%s does not read back", text_of(f, d));
        assert_int_equal(*r.s, '\0');
        for (int k = 0; k < 5; k++) {
            int64_t value[NSYMS], want, got, lo, hi;
            gcut_dim_binding b[NSYMS];
            sample(f, value, b);
            if (!direct(t, value, &want)) continue;
            compared++;
            bool ok = gcut_dim_eval(f->t, d, b, NSYMS, &got);
            if (ok != (want >= 0) || (ok && got != want))
                fail_msg("%s is %lld, not %lld", text_of(f, d), (long long)(ok ? got : -1), (long long)want);
            gcut_dim_decl decl[NSYMS];
            for (int i = 0; i < NSYMS; i++)
                decl[i] = (gcut_dim_decl){f->sym[i], value[i] - roll(f, 3), value[i] + roll(f, 3), 1};
            gcut_dim_range(f->t, d, decl, NSYMS, &lo, &hi);
            if (want < lo || want > hi)
                fail_msg("%s = %lld is not in %lld..%lld", text_of(f, d), (long long)want, (long long)lo,
                         (long long)hi);
        }
    }
    assert_that(made, >, 10000);
    assert_that(compared, >, 30000);
}
static void test_random(void **state)
{
    (void)state;
    run(random_body);
}

/* Never EQUAL or DIFFERS against the evidence of a sample. */
static void compare_body(fixture *f)
{
    uint32_t differs = 0, same = 0;
    for (int round = 0; round < 20000; round++) {
        TRY("round %d", (int)round);
        const tree *s = grow(f, 2), *t = grow(f, 2);
        gcut_dim a, b;
        if (!try_make(f, s, &a) || !try_make(f, t, &b)) continue;
        gcut_dim_decl decl[NSYMS];
        for (int i = 0; i < NSYMS; i++) decl[i] = (gcut_dim_decl){f->sym[i], 4, 40, 1 + roll(f, 4)};
        gcut_dim_cmp cmp = gcut_dim_compare(f->t, a, b, decl, NSYMS);
        differs += cmp == GCUT_DIM_DIFFERS && (a < 0 || b < 0);
        same += cmp == GCUT_DIM_EQUAL;
        assert_int_equal(cmp == GCUT_DIM_EQUAL, a == b);
        for (int k = 0; k < 20; k++) {
            int64_t value[NSYMS], x, y;
            for (int i = 0; i < NSYMS; i++)
                value[i] = decl[i].mult * ((4 + decl[i].mult - 1) / decl[i].mult + roll(f, 5));
            if (!direct(s, value, &x) || !direct(t, value, &y)) continue;
            if (cmp == GCUT_DIM_EQUAL) assert_int_equal(x, y);
            if (cmp == GCUT_DIM_DIFFERS) assert_int_not_equal(x, y);
        }
    }
    assert_that(differs, >, 100);
    assert_that(same, >, 100);
}
static void test_compare(void **state)
{
    (void)state;
    run(compare_body);
}

static void laws_body(fixture *f)
{
    static const struct {
        const char *a, *b;
    } law[] = {
        {"N*B+H", "H+B*N"},
        {"2*N+1-N", "N+1"},
        {"N*B*H-H*B*N+5", "5"},
        {"div(6*N,4)", "N+div(N,2)"},
        {"div(4*N+6,4)", "N+1"},
        {"div(div(N,2),3)", "div(N,6)"},
        {"div(div(N,2)+1,3)", "div(N+2,6)"},
        {"div(N+1,2)", "ceildiv(N,2)"},
        {"div(N-1,2)+1", "ceildiv(N,2)"},
        {"ceildiv(2*N+1,4)", "1+div(N,2)"},
        {"mod(5*N,4)", "mod(N,4)"},
        {"mod(4*N+6,4)", "2"},
        {"mod(2*N,4)", "2*mod(N,2)"},
        {"mod(2*N+3,4)", "2*mod(N+1,2)+1"},
        {"div(N*B,N)", "B"},
        {"div(N*B+N+H,N)", "B+1+div(H,N)"},
        {"mod(N*B,B)", "0"},
        {"ceildiv(N*B+H,B)", "N+ceildiv(H,B)"},
        {"min(N,max(B,H))", "min(max(H,B),N)"},
        {"min(N,min(B,H))", "min(min(N,B),H)"},
        {"min(N+3,N)", "N"},
        {"max(N,N+3)", "N+3"},
        {"min(min(N,B),N+1)", "min(B,N)"},
        {"min(7,3)", "3"},
    };
    for (size_t i = 0; i < sizeof law / sizeof *law; i++) {
        reader a = {f, law[i].a}, b = {f, law[i].b};
        gcut_dim x = read_sum(&a), y = read_sum(&b);
        if (x != y) fail_msg("%s = %s, but %s = %s", law[i].a, text_of(f, x), law[i].b, text_of(f, y));
    }
    /* (N+B)*(H+T) divided by either factor; no reader for parentheses here. */
    gcut_dim p = gcut_dim_make(f->t, GCUT_DIM_ADD, f->sym[0], f->sym[1]);
    gcut_dim q = gcut_dim_make(f->t, GCUT_DIM_ADD, f->sym[2], f->sym[3]);
    gcut_dim pq = gcut_dim_make(f->t, GCUT_DIM_MUL, p, q);
    assert_int_equal(gcut_dim_make(f->t, GCUT_DIM_DIV, pq, p), q);
    assert_int_equal(gcut_dim_make(f->t, GCUT_DIM_DIV, pq, q), p);
    assert_int_equal(gcut_dim_make(f->t, GCUT_DIM_MOD, pq, q), 0);
}
static void test_laws(void **state)
{
    (void)state;
    run(laws_body);
}

static void print_body(fixture *f)
{
    static const struct {
        const char *in, *text, *c;
    } row[] = {
        {"128", "128", "INT64_C(128)"},
        {"N", "N", "d_N"},
        {"1+N*2", "2*N+1", "(2*d_N+1)"},
        {"B-2*N", "B-2*N", "(d_B-2*d_N)"},
        {"0-N", "0-N", "(0-d_N)"},
        {"3-N*N", "3-N*N", "(3-d_N*d_N)"},
        {"ceildiv(H,2)", "ceildiv(H,2)", "gcut_rt_ceildiv(d_H, 2)"},
        {"div(H,N+1)", "div(H,N+1)", "gcut_rt_floordiv(d_H, d_N+1)"},
        {"max(mod(H,3),min(N,B))", "max(mod(H,3),min(B,N))",
         "gcut_rt_max(gcut_rt_mod(d_H, 3), gcut_rt_min(d_B, d_N))"},
        {"5000000000*N", "5000000000*N", "(INT64_C(5000000000)*d_N)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        TRY("row %zu", i);
        reader r = {f, row[i].in};
        gcut_dim d = read_sum(&r);
        gcut_text c = {.arena = f->arena};
        gcut_dim_print_c(f->t, d, "d_", &c);
        assert_string_equal(text_of(f, d), row[i].text);
        assert_string_equal(c.at, row[i].c);
    }
}
static void test_print(void **state)
{
    (void)state;
    run(print_body);
}

/* The text must not depend on which symbol was named first. */
static void order_body(fixture *f)
{
    gcut_dims *t = gcut_dims_new(f->arena);
    gcut_dim z = gcut_dim_symbol(t, "Z"), a = gcut_dim_symbol(t, "A");
    gcut_dim h = gcut_dim_make(t, GCUT_DIM_DIV, z, 3), g = gcut_dim_make(t, GCUT_DIM_DIV, a, 3);
    gcut_dim d = gcut_dim_make(t, GCUT_DIM_ADD, gcut_dim_make(t, GCUT_DIM_ADD, h, z),
                               gcut_dim_make(t, GCUT_DIM_MUL, g, a));
    gcut_text text = {.arena = f->arena};
    gcut_dim_print(t, d, &text);
    assert_string_equal(text.at, "A*div(A,3)+Z+div(Z,3)");
    gcut_dim out[GCUT_DIM_MAX_SYMBOLS];
    assert_int_equal(gcut_dim_symbols(t, d, out), 2);
    assert_int_equal(out[0], z); /* order of first interning */
    assert_int_equal(out[1], a);
    assert_int_equal(gcut_dim_symbols(t, 7, out), 0);
    assert_string_equal(gcut_dim_symbol_name(t, z), "Z");
    assert_null(gcut_dim_symbol_name(t, h));
    assert_null(gcut_dim_symbol_name(t, 3));
}
static void test_order(void **state)
{
    (void)state;
    run(order_body);
}

static void refuse(fixture *f, gcut_dim_op op, gcut_dim a, gcut_dim b, const char *part)
{
    tree x = {.op = -1, .value = a}, y = {.op = -1, .value = b}, t = {.op = (int)op, .a = &x, .b = &y};
    making m = {f, &t, 0};
    assert_int_equal(gcut_protect(f->env, make_body, &m), GCUT_ETYPE);
    assert_int_equal(f->env->ndiags, 1);
    assert_non_null(strstr(f->env->diags[0].message, part));
    gcut_diags_clear(f->env);
}

typedef struct valuing {
    fixture *f;
    gcut_dim d;
    const gcut_dim_binding *b;
} valuing;

static void value_body(void *arg)
{
    const valuing *v = arg;
    gcut_dim_at(v->f->t, v->d, v->b, 1, (gcut_place){.file = "a.gcut", .line = 3, .col = 5});
}

/* d has no value where b is bound: the message, and the hint or NULL. */
static void lacks(fixture *f, gcut_dim d, const gcut_dim_binding *b, const char *message, const char *hint)
{
    assert_int_equal(gcut_protect(f->env, value_body, &(valuing){f, d, b}), GCUT_EDIM);
    assert_int_equal(f->env->ndiags, 1);
    const gcut_diag *diag = &f->env->diags[0];
    assert_string_equal(diag->message, message);
    assert_int_equal(diag->at.line, 3);
    if (hint)
        assert_string_equal(diag->hint, hint);
    else
        assert_null(diag->hint);
    gcut_diags_clear(f->env);
}

static void limits_body(fixture *f)
{
    gcut_dim n = f->sym[0], big = INT64_MAX, out;
    int64_t value;
    refuse(f, GCUT_DIM_ADD, big, 1, "64 bits");
    refuse(f, GCUT_DIM_MUL, big / 2, 3, "64 bits");
    refuse(f, GCUT_DIM_SUB, 3, 4, "negative");
    refuse(f, GCUT_DIM_DIV, 3, 0, "divided by zero");
    refuse(f, GCUT_DIM_MOD, n, 0, "divided by zero");
    refuse(f, GCUT_DIM_MUL, gcut_dim_make(f->t, GCUT_DIM_MUL, n, big), 2, "64 bits");

    gcut_dim_binding b = {n, INT64_C(4000000000)};
    gcut_dim square = gcut_dim_make(f->t, GCUT_DIM_MUL, n, n);
    assert_false(gcut_dim_eval(f->t, square, &b, 1, &value));    /* 1.6e19 */
    assert_false(gcut_dim_eval(f->t, f->sym[1], &b, 1, &value)); /* unbound */
    b.value = 3;
    assert_false(gcut_dim_eval(f->t, gcut_dim_make(f->t, GCUT_DIM_SUB, n, 5), &b, 1, &value));
    b.value = 0;
    assert_false(gcut_dim_eval(f->t, gcut_dim_make(f->t, GCUT_DIM_DIV, f->sym[1], n), &b, 1, &value));
    assert_true(gcut_dim_eval(f->t, 9, NULL, 0, &value));
    assert_that(value, ==, 9);
    assert_that(gcut_dim_at(f->t, n, &(gcut_dim_binding){n, 7}, 1, (gcut_place){0}), ==, 7);
    b.value = INT64_C(4000000000);
    lacks(f, square, &b, "the size N*N has no value here: it divides by zero, or is below 0 or beyond 2^63",
          NULL);
    lacks(f, gcut_dim_make(f->t, GCUT_DIM_ADD, n, f->sym[1]), &b,
          "the size B+N has no value here, because B has none",
          "give every symbol a value, such as --at B=32");

    /* An expression that doubles at each step is refused long before it fills memory. */
    tree sum = {.op = -2, .sym = 0}, *at = &sum;
    for (int i = 0; i < 40; i++) {
        tree *up = gcut_calloc(f->arena, 1, sizeof *up), *other = gcut_calloc(f->arena, 1, sizeof *other);
        *other = (tree){
            .op = GCUT_DIM_DIV, .a = at, .b = gcut_memdup(f->arena, &(tree){.op = -2, .sym = 1}, sizeof sum)};
        *up = (tree){.op = GCUT_DIM_MUL, .a = at, .b = other};
        at = up;
        if (!try_make(f, at, &out)) return;
    }
    fail_msg("no limit was met");
}
static void test_limits(void **state)
{
    (void)state;
    run(limits_body);
}

static void ranges_body(fixture *f)
{
    gcut_dim n = f->sym[0], m = f->sym[1];
    gcut_dim_decl d[] = {{n, 1, INT64_MAX, 4}, {m, 2, 8, 1}};
    int64_t lo, hi;
    gcut_dim_range(f->t, gcut_dim_make(f->t, GCUT_DIM_MUL, n, n), d, 2, &lo, &hi);
    assert_that(lo, ==, 1);
    assert_that(hi, ==, INT64_MAX);
    gcut_dim_range(f->t, gcut_dim_make(f->t, GCUT_DIM_MUL, m, m), d, 2, &lo, &hi);
    assert_that(lo, ==, 4);
    assert_that(hi, ==, 64);
    gcut_dim_range(f->t, gcut_dim_make(f->t, GCUT_DIM_MOD, n, m), d, 2, &lo, &hi);
    assert_that(lo, ==, 0);
    assert_that(hi, ==, 7);
    gcut_dim_range(f->t, f->sym[2], d, 2, &lo, &hi);
    assert_that(lo, ==, 0);
    assert_that(hi, ==, INT64_MAX);

    gcut_dim twice = gcut_dim_make(f->t, GCUT_DIM_MUL, n, 2), odd = gcut_dim_make(f->t, GCUT_DIM_ADD, n, 6);
    assert_int_equal(gcut_dim_compare(f->t, n, 0, d, 2), GCUT_DIM_DIFFERS); /* range */
    assert_int_equal(gcut_dim_compare(f->t, n, 6, d, 2), GCUT_DIM_DIFFERS); /* multiple */
    assert_int_equal(gcut_dim_compare(f->t, n, 8, d, 2), GCUT_DIM_UNDECIDED);
    assert_int_equal(gcut_dim_compare(f->t, twice, odd, d, 2), GCUT_DIM_DIFFERS); /* 2N = N + 6: N = 6 */
    assert_int_equal(gcut_dim_compare(f->t, twice, n, d, 2), GCUT_DIM_DIFFERS);
    assert_int_equal(gcut_dim_compare(f->t, n, m, d, 2), GCUT_DIM_UNDECIDED);
    assert_int_equal(gcut_dim_compare(f->t, n, m, NULL, 0), GCUT_DIM_UNDECIDED);
}
static void test_ranges(void **state)
{
    (void)state;
    run(ranges_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random), cmocka_unit_test(test_compare), cmocka_unit_test(test_laws),
        cmocka_unit_test(test_print),  cmocka_unit_test(test_order),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests_name("dim", tests, NULL, NULL);
}
