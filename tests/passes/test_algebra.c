/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identities of real numbers: every row of passes/algebra.def, where results agree and where they do not;
 * what stays; graphs with and without them, by the interpreter in f64, and derivatives against central
 * differences.  In the pipeline: test_algebra_steps.c.
 */
#define _GNU_SOURCE
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "quotation.h"

typedef struct job {
    gcut_env *env;
    gcut_arena *arena;
    const void *arg;
} job;

static void with_env(void (*body)(void *), const void *arg)
{
    job j = {.env = gcut_env_new(NULL, NULL), .arg = arg};
    j.arena = j.env->arena;
    must(j.env, body, &j);
    gcut_env_free(j.env);
}

static gcut_graph *folded(gcut_graph *g)
{
    gcut_graph *f = gcut_pass_fold(g, "folded"), *c = gcut_pass_cse(f, "shared"),
               *d = gcut_pass_dce(c, "live");
    for (gcut_graph *const *x = (gcut_graph *[]){f, c, d, NULL}; *x; x++) {
        gcut_verify(*x);
        gcut_module_unlist(g->module, *x);
    }
    return d;
}

/* As the pipeline applies it. */
static gcut_graph *rewritten(gcut_graph *g, gcut_rewritings *done)
{
    const gcut_value_names keep = {0};
    const uint32_t n = done->n;
    gcut_graph *before = folded(g), *out = gcut_pass_algebra(before, "algebra", &keep, done);
    assert_int_equal(out == before, done->n == n);
    if (out == before) return out;
    gcut_verify(out);
    gcut_module_unlist(g->module, out);
    return folded(out);
}

/* ---- the rows ---- */

/* Over x, y, z [4, 5] and u, v [5], in the order of the table. */
typedef struct row {
    const char *pattern, *body, *ops;
    double at[3];         /* where results differ: x, then y and u, then z and v; ... */
    double before, after; /* ... the results there, in f32 */
} row;

#define CONST(name, value) "%" name " = full(shape=[4, 5], value=" value ", dtype=\"@\") "
#define SPREAD(name, of) "%" name " = broadcast(%" of ", shape=[4, 5], axes=[1]) "
#define UV SPREAD("p", "u") SPREAD("q", "v")
static const row rows[] = {
    {"log(exp(x))", "%p = exp(%x) %r = log(%p)", "", {1000}, INFINITY, 1000},
    {"exp(log(x))", "%p = log(%x) %r = exp(%p)", "", {-2}, NAN, -2},
    {"sqrt(x) * sqrt(x)", "%p = sqrt(%x) %r = mul(%p, %p)", "", {-2}, NAN, -2},
    {"x * y / y", "%p = mul(%x, %y) %r = div(%p, %y)", "", {7, 0}, NAN, 7},
    {"x / y * y", "%p = div(%x, %y) %r = mul(%p, %y)", "", {7, 0}, NAN, 7},
    {"x / (y / z)", "%p = div(%y, %z) %r = div(%x, %p)", "mul div", {1e-30, 1e-30, 1e30}, INFINITY, 1e30},
    {"x / y / z", "%p = div(%x, %y) %r = div(%p, %z)", "mul div", {1e30, 1e-30, 1e30}, INFINITY, 1e30},
    {"x * (1 / y)",
     CONST("o", "1.0") "%p = div(%o, %y) %r = mul(%x, %p)",
     "div",
     {1e-10, 1e-39},
     INFINITY,
     1e29},
    {"x ^ 2", CONST("a", "2.0") "%r = pow(%x, %a)", "mul", {0}, 0, 0},
    {"x ^ 3", CONST("a", "3.0") "%r = pow(%x, %a)", "mul mul", {0}, 0, 0},
    {"x ^ -1", CONST("a", "-1.0") "%r = pow(%x, %a)", "full div", {0}, 0, 0},
    {"exp(x) * exp(y)", "%p = exp(%x) %q = exp(%y) %r = mul(%p, %q)", "add exp", {200, -200}, NAN, 1},
    {"a * (b * x)",
     CONST("a", "1e30") CONST("b", "1e-25") "%p = mul(%a, %x) %r = mul(%b, %p)",
     "full mul",
     {1e20},
     INFINITY,
     1e25},
    {"-(a * x)", CONST("a", "3.0") "%p = mul(%a, %x) %r = neg(%p)", "full mul", {0}, 0, 0},
    {"a * -x", CONST("a", "3.0") "%p = neg(%x) %r = mul(%a, %p)", "full mul", {0}, 0, 0},
    {"a * x + b * x",
     CONST("a", "3.5") CONST("b", "-2.0") "%p = mul(%a, %x) %q = mul(%b, %x) %r = add(%p, %q)",
     "full mul",
     {2e38},
     NAN,
     3e38},
    {"a * x - b * x",
     CONST("a", "3.5") CONST("b", "2.0") "%p = mul(%a, %x) %q = mul(%b, %x) %r = sub(%p, %q)",
     "full mul",
     {2e38},
     NAN,
     3e38},
    {"a * x + x",
     CONST("a", "-2.5") "%p = mul(%a, %x) %r = add(%p, %x)",
     "full mul",
     {2e38},
     -INFINITY,
     -3e38},
    {"a * x - x", CONST("a", "2.5") "%p = mul(%a, %x) %r = sub(%p, %x)", "full mul", {2e38}, INFINITY, 3e38},
    {"x - a * x",
     CONST("a", "2.5") "%p = mul(%a, %x) %r = sub(%x, %p)",
     "full mul",
     {2e38},
     -INFINITY,
     -3e38},
    {"x * y + x * z",
     "%p = mul(%x, %y) %q = mul(%x, %z) %r = add(%p, %q)",
     "add mul",
     {1e30, 1e10, -1e10},
     NAN,
     0},
    {"x * y - x * z",
     "%p = mul(%x, %y) %q = mul(%x, %z) %r = sub(%p, %q)",
     "sub mul",
     {1e30, 1e10, 1e10},
     NAN,
     0},
    {"x * [y] + x * [y]",
     SPREAD("p", "u") "%q = mul(%x, %p) %r = add(%q, %q)",
     "full mul broadcast mul",
     {1e-30, 2e38},
     4e8,
     INFINITY},
    {"a * [x]", CONST("a", "3.0") SPREAD("p", "u") "%r = mul(%a, %p)", "full mul broadcast", {0}, 0, 0},
    {"[x] * [y]", UV "%r = mul(%p, %q)", "mul broadcast", {0}, 0, 0},
    {"[x] / [y]", UV "%r = div(%p, %q)", "div broadcast", {0}, 0, 0},
    {"[x] + [y]", UV "%r = add(%p, %q)", "add broadcast", {0}, 0, 0},
    {"[x] * (y * [z])",
     UV "%s = mul(%x, %q) %r = mul(%p, %s)",
     "mul broadcast mul",
     {1e20, 1e-30, 1e20},
     INFINITY,
     1e10},
    {"x / [y]",
     SPREAD("p", "u") "%r = div(%x, %p)",
     "full div broadcast mul",
     {1e-10, 1e-39},
     1e29,
     INFINITY},
};
enum { NROWS = sizeof rows / sizeof *rows };

/* The body with operands exchanged in those sums and products that have a bit in `order`, and the dtype for
 * @. */
static const char *ordered(gcut_arena *a, const char *body, unsigned order, const char *dtype)
{
    gcut_text t = {.arena = a};
    unsigned bit = 1;
    for (const char *s = body; *s;) {
        char x[16], y[16];
        if ((!strncmp(s, "add(", 4) || !strncmp(s, "mul(", 4)) &&
            sscanf(s + 4, "%15[^,], %15[^)])", x, y) == 2) {
            const bool swap = (order & bit) != 0;
            gcut_text_add(&t, "%.3s(%s, %s)", s, swap ? y : x, swap ? x : y);
            s = strchr(s, ')') + 1;
            bit *= 2;
        } else {
            gcut_text_add(&t, *s == '@' ? "%s" : "%.1s", *s == '@' ? dtype : s);
            s++;
        }
    }
    return t.at;
}

static unsigned orders_of(const char *body)
{
    unsigned n = 1;
    for (const char *s = body; *s; s++) n <<= !strncmp(s, "add(", 4) || !strncmp(s, "mul(", 4);
    return n;
}

static gcut_graph *graph_of(const job *j, const char *body, const char *dtype)
{
    const char *text = gcut_printf(
        j->arena,
        "gcut 1\nfunc @f(input %%x: %s[4, 5], input %%y: %s[4, 5], input %%z: %s[4, 5], input %%u: %s[5], "
        "input %%v: %s[5]) -> (out r: %s[4, 5]) {\n%s\nreturn %%r\n}\n",
        dtype, dtype, dtype, dtype, dtype, dtype, body);
    return gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text))->graphs.at[0];
}

static const double specials[] = {0.0,   -0.0,  1,        -1,        0.1, -2.5, 3e38,
                                  -3e38, 1e-45, INFINITY, -INFINITY, NAN, 7,    0.5};
enum { NSPECIALS = sizeof specials / sizeof *specials };

/* The k-th array of parameters: all pairs of special values, and of the three numbers. */
static gcut_array *filled(const job *j, const gcut_graph *g, const double at[3], int shift, uint64_t *seed)
{
    gcut_array *in = gcut_calloc(j->arena, g->params.n + 1u, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const uint32_t which = k < 3 ? k : k - 2;
        in[k] = array_for(j->arena, g, gcut_type_of(g, g->params.at[k].value), 1);
        for (int64_t i = 0; i < in[k].n; i++) {
            double x = at     ? at[which]
                       : seed ? 0.5 + 1.5 * next_unit(seed)
                              : specials[(size_t)(i + (which ? shift : 0)) % NSPECIALS];
            in[k].u.f[i] = gcut_round_to(x, in[k].dtype);
        }
    }
    return in;
}

/* The tolerance is relative to the numbers, or to `least` where they are smaller. */
static bool near(double x, double y, double tol, double least)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return x == y || fabs(x - y) <= tol * fmax(least, fmax(fabs(x), fabs(y)));
}

static void assert_near(const job *j, const gcut_graph *g, const gcut_graph *h, gcut_precision p,
                        const gcut_array *in, double tol)
{
    gcut_array *x = run_graph(j->arena, g, p, in), *y = run_graph(j->arena, h, p, in);
    assert_int_equal(g->results.n, h->results.n);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_string_equal(g->results.at[k].name, h->results.at[k].name);
        assert_int_equal(x[k].n, y[k].n);
        for (int64_t i = 0; i < x[k].n; i++)
            if (!near(x[k].u.f[i], y[k].u.f[i], tol, p == GCUT_EXACT))
                fail_msg("%s[%d]: %.17g became %.17g", g->results.at[k].name, (int)i, x[k].u.f[i],
                         y[k].u.f[i]);
    }
}

static void row_body(void *arg)
{
    const job *j = arg;
    const row *r = j->arg;
    const gcut_identity *rule = &gcut_identities[r - rows];
    uint64_t seed = 11;
    TRY("%s", r->pattern);
    assert_string_equal(rule->pattern, r->pattern);
    for (unsigned order = 0; order < orders_of(r->body); order++) {
        gcut_rewritings done = {0};
        gcut_graph *g = graph_of(j, ordered(j->arena, r->body, order, "f64"), "f64"),
                   *h = rewritten(g, &done);
        assert_string_equal(ops_of(j->arena, h), r->ops);
        assert_true(done.n >= 1 && done.at[0].by == rule);
        assert_string_equal(done.at[0].value, "r");
        for (int k = 0; k < 10; k++) assert_near(j, g, h, GCUT_EXACT, filled(j, g, NULL, 0, &seed), 1e-14);
        g = graph_of(j, ordered(j->arena, r->body, order, "f32"), "f32");
        done.n = 0;
        h = rewritten(g, &done);
        for (int shift = 0; !*rule->differs && shift < NSPECIALS; shift++)
            assert_near(j, g, h, GCUT_STATED, filled(j, g, NULL, shift, NULL), 3e-7);
        if (!*rule->differs) continue;
        const gcut_array *in = filled(j, g, r->at, 0, NULL);
        double before = run_graph(j->arena, g, GCUT_STATED, in)->u.f[0];
        double after = run_graph(j->arena, h, GCUT_STATED, in)->u.f[0];
        assert_true(near(before, r->before, 1e-5, 0) && near(after, r->after, 1e-5, 0));
        assert_false(near(before, after, 1e-5, 0));
    }
}

static void every_rule(void **state)
{
    (void)state;
    assert_int_equal(NROWS, gcut_nidentities);
    for (size_t i = 0; i < NROWS; i++) with_env(row_body, &rows[i]);
}

/* ---- what stays ---- */

typedef struct still {
    const char *why, *dtype, *body;
} still;

static const still stays[] = {
    {"a mark constrains that node", "f32", "%p = exp(%x) #must_save %r = log(%p)"},
    {"a mark constrains that node", "f32", "%p = exp(%x) %r = log(%p) #must_recompute"},
    {"integers divide otherwise", "i32", "%p = div(%x, %y) %r = mul(%p, %y)"},
    {"integers wrap around", "i32", "%p = mul(%x, %y) %r = div(%p, %y)"},
    {"the product of the factors overflows", "f32",
     CONST("a", "1e30") CONST("b", "2e30") "%p = mul(%a, %x) %r = mul(%b, %p)"},
    {"a product of f16 overflows easily", "f16", "%p = div(%x, %y) %r = div(%p, %z)"},
    {"both exponentials are needed", "f32",
     "%p = exp(%x) %q = exp(%y) %s = mul(%p, %q) %t = sin(%p) %w = cos(%q) %k = add(%s, %t) %r = add(%k, "
     "%w)"},
    {"both products are needed", "f32",
     "%p = mul(%x, %y) %q = mul(%x, %z) %s = add(%p, %q) %t = max(%p, %q) %r = max(%s, %t)"},
    {"the broadcasts differ", "f32",
     "%p = broadcast(%u, shape=[4, 5], axes=[1]) %k = slice(%v, start=[0], limit=[4]) "
     "%q = broadcast(%k, shape=[4, 5], axes=[0]) %r = mul(%p, %q)"},
};

static void stays_body(void *arg)
{
    const job *j = arg;
    const still *s = j->arg;
    gcut_rewritings done = {0};
    gcut_graph *g = graph_of(j, ordered(j->arena, s->body, 0, s->dtype), s->dtype);
    rewritten(g, &done);
    if (done.n) fail_msg("%s: %s = %s", s->why, done.at[0].by->pattern, done.at[0].by->becomes);
}

/* Sizes that only run time can compare are not equal: a value of the wrong shape would be a result. */
static void sizes_body(void *arg)
{
    const job *j = arg;
    const char text[] =
        "gcut 1\nfunc @f[N in 1.., M in 1..](input %x: f32[N], input %y: f32[M]) -> (out r: f32[N]) {\n"
        "%p = mul(%x, %y) %r = div(%p, %y)\nreturn %r\n}\n"
        "func @g[N in 1.., M in 1..](input %x: f32[N], input %y: f32[M]) -> (out r: f32[M]) {\n"
        "%p = mul(%y, %x) %r = div(%p, %x)\nreturn %r\n}\n";
    const gcut_module *m = gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text));
    for (uint32_t i = 0; i < 2; i++) {
        gcut_rewritings done = {0};
        gcut_graph *h = rewritten(m->graphs.at[i], &done);
        assert_true(gcut_type_equal(gcut_type_of(h, h->results.at[0].value),
                                    gcut_type_of(m->graphs.at[i], m->graphs.at[i]->results.at[0].value)));
        assert_int_equal(done.n, 0);
    }
}

static void the_rest_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) with_env(stays_body, &stays[i]);
    with_env(sizes_body, NULL);
}

/* ---- bodies, chains ---- */

/* A body that two nodes share is rewritten, once each. */
static void body_body(void *arg)
{
    const job *j = arg;
    const char text[] = "gcut 1\nfunc @f(input %x: f64[3], input %n: f64[5, 3]) -> (out r: f64[3]) {\n"
                        "%r, %s = scan(%x, %n, carries=1) body(%c: f64[3], %e: f64[3]) {\n"
                        "%p = exp(%e) %q = log(%p) %k = add(%c, %q)\nyield %k, %k }\n"
                        "return %r\n}\n";
    gcut_graph *g = gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text))->graphs.at[0];
    gcut_rewritings done = {0};
    const gcut_graph *h = rewritten(g, &done);
    assert_int_equal(done.n, 1);
    assert_string_equal(ops_of(j->arena, h->regions.at[0].body), "add");
    gcut_array *in = gcut_calloc(j->arena, 2, sizeof *in);
    uint64_t seed = 5;
    for (uint32_t k = 0; k < 2; k++) {
        in[k] = array_for(j->arena, g, gcut_type_of(g, g->params.at[k].value), 1);
        for (int64_t i = 0; i < in[k].n; i++) in[k].u.f[i] = next_unit(&seed);
    }
    assert_near(j, g, h, GCUT_EXACT, in, 1e-14);
}

/* What a replacement makes is matched again: of a chain of factors and inverses one factor is left. */
static void chain_body(void *arg)
{
    const job *j = arg;
    enum { LINKS = 3000 };
    gcut_text t = {.arena = j->arena};
    gcut_text_add(&t, "%%a = full(shape=[4, 5], value=2.0, dtype=\"f64\")\n"
                      "%%b = full(shape=[4, 5], value=0.5, dtype=\"f64\")\n%%p0 = neg(%%x)\n");
    for (int i = 1; i <= LINKS; i++)
        gcut_text_add(&t, "%%q%d = mul(%%p%d, %%%c) %%e%d = exp(%%q%d) %%p%d = log(%%e%d)\n", i, i - 1,
                      i % 2 ? 'a' : 'b', i, i, i, i);
    gcut_text_add(&t, "%%r = mul(%%p%d, %%a)", LINKS);
    gcut_graph *g = graph_of(j, t.at, "f64");
    gcut_rewritings done = {0};
    const gcut_graph *h = rewritten(g, &done);
    uint64_t seed = 3;
    assert_string_equal(ops_of(j->arena, h), "full mul");
    assert_that(done.n, <=, 3 * LINKS);
    assert_near(j, g, h, GCUT_EXACT, filled(j, g, NULL, 0, &seed), 1e-12);
}

static void bodies_and_chains(void **state)
{
    (void)state;
    with_env(body_body, NULL);
    with_env(chain_body, NULL);
}

/* ---- random graphs ---- */

/* Positive values, with bounds: without cancellation results agree to some digits less than 16. */
typedef struct positive {
    gcut_ref v;
    double lo, hi;
} positive;

typedef struct positives {
    gcut_build b;
    positive at[64];
    uint32_t n;
    uint64_t seed;
} positives;

static uint32_t roll(positives *p, uint32_t n)
{
    return (uint32_t)(next_unit(&p->seed) * n);
}

static bool is_row(const positives *p, const positive *x)
{
    return gcut_type_of(p->b.g, x->v)->rank == 1;
}

static positive spread(positives *p, positive x)
{
    if (is_row(p, &x)) x.v = gcut_bbroadcast(&p->b, x.v, (gcut_dim[]){4, 5}, 2, (gcut_dim[]){1});
    return x;
}

static positive combined(positives *p, gcut_op op, positive x, positive y)
{
    gcut_ref v = gcut_b2(&p->b, op, x.v, y.v);
    if (op == GCUT_OP_add) return (positive){v, x.lo + y.lo, x.hi + y.hi};
    if (op == GCUT_OP_mul) return (positive){v, x.lo * y.lo, x.hi * y.hi};
    return (positive){v, x.lo / y.hi, x.hi / y.lo};
}

static positive positive_node(positives *p)
{
    static const double factors[] = {0.5, 2, 3, 0.1}, powers[] = {2, 3, -1};
    const positive x = p->at[roll(p, p->n)];
    positive y = p->at[roll(p, p->n)], c = {0};
    const gcut_op op = (gcut_op[]){GCUT_OP_add, GCUT_OP_mul, GCUT_OP_mul, GCUT_OP_div}[roll(p, 4)];
    gcut_build *b = &p->b;
    switch (roll(p, 8)) {
    case 0:
        c.lo = c.hi = factors[roll(p, 4)];
        c.v = gcut_bconst(b, x.v, c.lo);
        return roll(p, 2) ? combined(p, op, x, c) : combined(p, op, c, x);
    case 1:
        if (x.hi > 20) return x;
        return (positive){gcut_b1(b, GCUT_OP_log, gcut_b1(b, GCUT_OP_exp, x.v)), x.lo, x.hi};
    case 2: return (positive){gcut_b1(b, GCUT_OP_exp, gcut_b1(b, GCUT_OP_log, x.v)), x.lo, x.hi};
    case 3: return (positive){gcut_b1(b, GCUT_OP_sqrt, x.v), sqrt(x.lo), sqrt(x.hi)};
    case 4:
        c.lo = powers[roll(p, 3)];
        c.v = gcut_b2(b, GCUT_OP_pow, x.v, gcut_bconst(b, x.v, c.lo));
        return (positive){c.v, pow(c.lo < 0 ? x.hi : x.lo, c.lo), pow(c.lo < 0 ? x.lo : x.hi, c.lo)};
    case 5: /* (x op y) / y, and its like */
        if (is_row(p, &x) != is_row(p, &y)) return x;
        y = combined(p, roll(p, 2) ? GCUT_OP_mul : GCUT_OP_div, x, y);
        return combined(p, roll(p, 2) ? GCUT_OP_mul : GCUT_OP_div, y, p->at[roll(p, p->n)].v == x.v ? x : y);
    default:
        return is_row(p, &x) && is_row(p, &y) ? combined(p, op, x, y)
                                              : combined(p, op, spread(p, x), spread(p, y));
    }
}

typedef struct tally {
    uint64_t seed;
    uint32_t applied[NROWS]; /* by rule */
} tally;

static gcut_graph *random_graph(positives *p, gcut_module *m)
{
    const gcut_type whole = {.dtype = GCUT_F64, .rank = 2, .dim = {4, 5}},
                    line = {.dtype = GCUT_F64, .rank = 1, .dim = {5}};
    gcut_graph *g = p->b.g = gcut_graph_create(m, "f");
    for (uint32_t k = 0; k < 4; k++)
        p->at[p->n++] = (positive){gcut_param_new(g, GCUT_ROLE_param, (const char *[]){"x", "y", "u", "v"}[k],
                                                  k < 2 ? &whole : &line),
                                   0.5, 2};
    while (p->n < 24) {
        positive x = positive_node(p);
        if (x.lo > 1e-3 && x.hi < 1e3)
            p->at[p->n++] = x;
        else
            p->at[p->n++] = p->at[roll(p, 4)];
    }
    gcut_ref loss = gcut_breduce(&p->b, GCUT_OP_sum, p->at[p->n - 1].v, is_row(p, &p->at[p->n - 1]) ? 1 : 3);
    for (uint32_t k = 2; k < 8; k++) {
        const positive *x = &p->at[p->n - k];
        loss =
            gcut_b2(&p->b, GCUT_OP_add, loss, gcut_breduce(&p->b, GCUT_OP_sum, x->v, is_row(p, x) ? 1 : 3));
    }
    gcut_result_new(g, GCUT_ROLE_out, "loss", loss);
    return g;
}

/* Forward graphs agree, and so do joint graphs of both, rewritten again; gradients are those of central
 * differences of the graph as it was. */
static void random_body(void *arg)
{
    job *j = arg;
    tally *t = (tally *)(uintptr_t)j->arg;
    TRY("seed %d", (int)t->seed);
    positives p = {.seed = t->seed};
    gcut_graph *g = random_graph(&p, gcut_module_new(j->env, j->arena));
    gcut_rewritings done = {0};
    gcut_verify(g);
    gcut_graph *h = rewritten(g, &done);
    gcut_graph *dg = gcut_joint(g, &(gcut_joint_options){.loss = "loss"}, "dg");
    gcut_graph *dh = gcut_joint(h, &(gcut_joint_options){.loss = "loss"}, "dh"), *k = rewritten(dh, &done);
    for (uint32_t i = 0; i < done.n; i++) t->applied[done.at[i].by - gcut_identities]++;
    gcut_array *in = gcut_calloc(j->arena, 4, sizeof *in);
    for (uint32_t i = 0; i < 4; i++) {
        in[i] = array_for(j->arena, g, gcut_type_of(g, g->params.at[i].value), 1);
        for (int64_t e = 0; e < in[i].n; e++) in[i].u.f[e] = 0.5 + 1.5 * next_unit(&t->seed);
    }
    assert_near(j, g, h, GCUT_EXACT, in, 1e-13);
    gcut_array *with = with_cotangent(j->arena, dg, in), *x = run_graph(j->arena, dg, GCUT_EXACT, with),
               *y = run_graph(j->arena, k, GCUT_EXACT, with), *dir = directions(j->arena, g, in, &t->seed);
    double along = 0, size = 0;
    for (uint32_t r = 1; r < dg->results.n; r++)
        for (int64_t e = 0; e < x[r].n; e++) {
            const uint32_t of = find_param(g, dg->results.at[r].name);
            assert_string_equal(dg->results.at[r].name, k->results.at[r].name);
            if (fabs(x[r].u.f[e] - y[r].u.f[e]) > 1e-9 * fmax(1, fabs(x[r].u.f[e])))
                fail_msg("grad %s: %.17g became %.17g", dg->results.at[r].name, x[r].u.f[e], y[r].u.f[e]);
            along += y[r].u.f[e] * dir[of].u.f[e];
            size += fabs(y[r].u.f[e] * dir[of].u.f[e]);
        }
    double want = derivative_along(j->arena, g, 0, in, dir);
    if (fabs(along - want) > 1e-6 * fmax(1, size))
        fail_msg("the derivative is %.17g, not %.17g", along, want);
}

static void random_graphs(void **state)
{
    (void)state;
    tally t = {0};
    for (uint64_t seed = 1; seed <= 300; seed++) {
        t.seed = seed;
        with_env(random_body, &t);
    }
    uint32_t applied = 0; /* without a subtraction, a sign or a product of exponentials */
    for (uint32_t i = 0; i < NROWS; i++) applied += t.applied[i] > 0;
    assert_that(applied, >=, NROWS - 8);
}

/* ---- doc/kernels.md ---- */

static void quote(void *arg)
{
    const job *j = arg;
    gcut_text t = {.arena = j->arena};
    gcut_text_add(&t, "| | becomes | differs by more than rounding where |\n|---|---|---|\n");
    for (uint32_t i = 0; i < gcut_nidentities; i++)
        gcut_text_add(&t, "| `%s` | `%s` | %s |\n", gcut_identities[i].pattern, gcut_identities[i].becomes,
                      *gcut_identities[i].differs ? gcut_identities[i].differs : "nowhere");
    must_quote(j->env, "doc/kernels.md", "<!-- of passes/algebra.def, by test_algebra -->\n",
               "<!-- end of the identities -->\n", t.at);
}

static void page_quotes_the_table(void **state)
{
    (void)state;
    with_env(quote, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(bodies_and_chains),
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(page_quotes_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
