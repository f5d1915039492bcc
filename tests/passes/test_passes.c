/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fold, cse and dce: which nodes remain, and with the interpreter as the judge,
 * that every result keeps its value bit for bit, on special values, on the
 * corpus and on random graphs.
 */
#include "oracle.h"

#include <dirent.h>

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

/* ---- comparing ---- */

static const double specials[] = {0.0,   -0.0,  1,        -1,        0.1, -2.5, 3e38,
                                  -3e38, 1e-45, INFINITY, -INFINITY, NAN, 7,    0.5};
static const int64_t wholes[] = {0, 1, -1, INT32_MAX, INT32_MIN, 100, -128, 127, 5};

static gcut_array *special_params(gcut_arena *a, const gcut_graph *g, int64_t n, uint32_t shift)
{
    gcut_array *in = gcut_calloc(a, g->params.n + 1u, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), n);
        for (int64_t i = 0; i < in[k].n; i++) {
            uint64_t at = (uint64_t)i * (k % 2 ? 5 : 1) + k * 3 + shift;
            if (gcut_dtype_is_float(in[k].dtype))
                in[k].u.f[i] =
                    gcut_round_to(specials[at % (sizeof specials / sizeof *specials)], in[k].dtype);
            else if (in[k].dtype == GCUT_BOOL)
                in[k].u.i[i] = at % 2;
            else
                in[k].u.i[i] = in[k].dtype == GCUT_I8 ? (int8_t)wholes[at % 9] : wholes[at % 9];
        }
    }
    return in;
}

static bool same_bits(const gcut_array *x, const gcut_array *y)
{
    if (x->dtype != y->dtype || x->n != y->n || x->rank != y->rank ||
        memcmp(x->dim, y->dim, x->rank * sizeof *x->dim))
        return false;
    for (int64_t k = 0; k < x->n; k++) {
        if (!gcut_dtype_is_float(x->dtype)) {
            if (x->u.i[k] != y->u.i[k]) return false;
        } else if (!(isnan(x->u.f[k]) && isnan(y->u.f[k])) &&
                   memcmp(&x->u.f[k], &y->u.f[k], sizeof(double)) != 0) {
            return false;
        }
    }
    return true;
}

static const char *text_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(g, &(gcut_print_options){.no_loc = true}, &t);
    return t.at;
}

static void assert_same(gcut_arena *a, const gcut_graph *g, const gcut_graph *h, const gcut_array *in)
{
    gcut_array *x = run_graph(a, g, GCUT_STATED, in), *y = run_graph(a, h, GCUT_STATED, in);
    assert_int_equal(g->results.n, h->results.n);
    for (uint32_t k = 0; k < g->results.n; k++) {
        assert_int_equal(g->results.at[k].role, h->results.at[k].role);
        assert_string_equal(g->results.at[k].name, h->results.at[k].name);
        if (!same_bits(&x[k], &y[k]))
            fail_msg("result %s changed\n%s\nbecame\n%s", g->results.at[k].name, text_of(a, g),
                     text_of(a, h));
    }
}

static gcut_graph *parse(job *j, const char *text)
{
    return gcut_parse_module(j->env, j->arena, "t.gcut", text, strlen(text))->graphs.at[0];
}

/* ---- folding, rule by rule ---- */

typedef struct row {
    const char *type, *body, *ops;
} row;

#define F "f32[N, 6]"
#define CONST(name, value) "%" name " = full(shape=[N, 6], value=" value ") "
static const row rows[] = {
    {F, "%a = neg(%x) %r = neg(%a)", ""},
    {F, "%a = neg(%x) %b = neg(%a) %r = neg(%b)", "neg"},
    {F, CONST("a", "0.0") "%r = neg(%a)", "full"},
    {"i8[5]", "%a = full(shape=[5], value=-128, dtype=\"i8\") %r = neg(%a)", "full"},
    {F, "%a = neg(%x) %r = abs(%a)", "abs"},
    {F, "%a = abs(%x) %b = neg(%a) %r = abs(%b)", "abs"},
    {"i8[5]", "%a = neg(%k) %r = abs(%a)", "abs"},
    {F, "%a = relu(%x) %r = relu(%a)", "relu"},
    {F, "%a = sign(%x) %r = sign(%a)", "sign"},
    {F, "%a = round(%x) %r = round(%a)", "round"},
    {F, "%a = floor(%x) %r = ceil(%a)", "floor ceil"},
    {"bool[N, 6]", "%a = not(%p) %r = not(%a)", ""},
    {"i32[7]", "%a = not(%i) %r = not(%a)", ""},

    {F, "%r = cast(%x, to=\"f32\")", ""},
    {"bf16[8]", "%a = cast(%h, to=\"f32\") %r = cast(%a, to=\"bf16\")", ""},
    {"f64[8]", "%a = cast(%h, to=\"f32\") %r = cast(%a, to=\"f64\")", "cast"},
    {F, "%a = cast(%x, to=\"bf16\") %r = cast(%a, to=\"f32\")", "cast cast"},
    {"i32[7]", "%a = cast(%i, to=\"f32\") %r = cast(%a, to=\"i32\")", "cast cast"},
    {"i8[5]", "%a = cast(%k, to=\"u8\") %r = cast(%a, to=\"i8\")", "cast cast"},
    {"f32[5]", "%a = cast(%k, to=\"i64\") %r = cast(%a, to=\"f32\")", "cast"},
    {"bf16[N, 6]", CONST("a", "0.1") "%r = cast(%a, to=\"bf16\")", "full"},
    {"i8[N, 6]", CONST("a", "300.7") "%r = cast(%a, to=\"i8\")", "full"},
    {"bool[N, 6]", CONST("a", "-0.0") "%r = cast(%a, to=\"bool\")", "full"},
    {"f32[]", "%a = full(shape=[], value=9007199254740993, dtype=\"i64\") %r = cast(%a, to=\"f32\")",
     "full cast"},

    {F, CONST("a", "0.0") "%r = add(%x, %a)", "full add"}, /* -0 + 0 is 0 */
    {F, CONST("a", "-0.0") "%r = add(%x, %a)", ""},
    {F, CONST("a", "-0.0") "%r = add(%a, %x)", ""},
    {F, CONST("a", "0.0") "%r = sub(%x, %a)", ""},
    {F, CONST("a", "-0.0") "%r = sub(%x, %a)", "full sub"}, /* -0 - -0 is 0 */
    {F, CONST("a", "0.0") "%r = sub(%a, %x)", "full sub"},
    {F, "%r = sub(%x, %x)", "sub"},
    {F, "%a = neg(%y) %r = add(%x, %a)", "sub"},
    {F, "%a = neg(%x) %r = add(%a, %y)", "sub"},
    {F, "%a = neg(%y) %r = sub(%x, %a)", "add"},
    {"i8[5]", "%a = neg(%k) %r = add(%k, %a)", "sub"},
    {F, CONST("a", "1.0") "%r = mul(%a, %x)", ""},
    {F, CONST("a", "-1.0") "%r = mul(%x, %a)", "neg"},
    {F, CONST("a", "0.0") "%r = mul(%x, %a)", "full mul"},
    {F, "%a = neg(%x) %b2 = neg(%y) %r = mul(%a, %b2)", "mul"},
    {F, "%a = neg(%x) %b2 = neg(%y) %r = div(%a, %b2)", "div"},
    {F, CONST("a", "1.0") "%r = div(%x, %a)", ""},
    {F, CONST("a", "1.0") "%r = div(%a, %x)", "full div"},
    {"i32[7]", "%a = full(shape=[7], value=0, dtype=\"i32\") %r = add(%i, %a)", ""},
    {"i32[7]", "%a = full(shape=[7], value=0, dtype=\"i32\") %r = mul(%i, %a)", "full"},
    {"i32[7]", "%a = full(shape=[7], value=-1, dtype=\"i32\") %r = mul(%i, %a)", "neg"},
    {"i8[5]", "%a = full(shape=[5], value=100, dtype=\"i8\") %r = add(%a, %a)", "full"},
    {"i8[5]",
     "%a = full(shape=[5], value=-7, dtype=\"i8\") %c = full(shape=[5], value=2, dtype=\"i8\") %r = div(%a, "
     "%c)",
     "full"},
    {F, CONST("a", "0.1") CONST("c", "0.2") "%r = add(%a, %c)", "full"},
    {F, CONST("a", "0.1") CONST("c", "3.0") "%r = div(%a, %c)", "full"},
    {F, CONST("a", "1e30") "%r = mul(%a, %a)", "full"},
    {F, CONST("a", "0.0") "%r = div(%a, %a)", "full"},
    {"bf16[8]",
     "%a = full(shape=[8], value=0.1, dtype=\"bf16\") %c = full(shape=[8], value=7.3, dtype=\"bf16\") "
     "%d = mul(%a, %c) %r = sub(%d, %c)",
     "full"},
    {F, CONST("a", "1.0") "%r = pow(%x, %a)", ""},
    {F, CONST("a", "0.0") "%r = pow(%x, %a)", "full"},
    {F, "%r = max(%x, %x)", ""},
    {F, "%r = min(%x, %y)", "min"},
    {"bool[7]", "%r = eq(%i, %i)", "full"},
    {"bool[7]", "%r = ne(%i, %i)", "full"},
    {"bool[N, 6]", "%r = ge(%x, %x)", "ge"}, /* not of NaN */
    {"bool[N, 6]", "%r = ne(%x, %x)", "ne"},
    {"bool[N, 6]", "%r = lt(%x, %x)", "full"},
    {"bool[N, 6]", "%r = le(%x, %y)", "le"},
    {F, "%r = clamp(%x)", ""},
    {F, "%r = clamp(%x, lo=0.0)", "clamp"},
    {F, "%a = full(shape=[N, 6], value=1, dtype=\"bool\") %r = select(%a, %x, %y)", ""},
    {F, "%r = select(%p, %y, %y)", ""},
    {F, "%a = not(%p) %r = select(%a, %x, %y)", "select"},

    {F, "%r = reshape(%x, shape=[N, 6])", ""},
    {F, "%a = reshape(%x, shape=[6, N]) %r = reshape(%a, shape=[N, 6])", ""},
    {"f32[N, 2, 3]", "%a = reshape(%x, shape=[6*N]) %r = reshape(%a, shape=[N, 2, 3])", "reshape"},
    {"f32[6*N]", CONST("a", "0.3") "%r = reshape(%a, shape=[6*N])", "full"},
    {F, "%a = transpose(%x, perm=[1, 0]) %r = transpose(%a, perm=[1, 0])", ""},
    {F, "%r = transpose(%x, perm=[0, 1])", ""},
    {"f32[2, N, 3]",
     "%a = reshape(%x, shape=[N, 2, 3]) %b2 = transpose(%a, perm=[2, 0, 1]) %r = transpose(%b2, perm=[2, 1, "
     "0])",
     "reshape transpose"},
    {"f32[6, N]", CONST("a", "0.3") "%r = transpose(%a, perm=[1, 0])", "full"},
    {"f32[8, 5]",
     "%a = cast(%h, to=\"f32\") %b2 = broadcast(%a, shape=[5, 8], axes=[1]) %r = transpose(%b2, perm=[1, 0])",
     "cast broadcast"},
    {"f32[6, 4, N]", "%a = broadcast(%x, shape=[4, N, 6], axes=[1, 2]) %r = transpose(%a, perm=[2, 0, 1])",
     "broadcast transpose"},
    {F, "%r = broadcast(%x, shape=[N, 6], axes=[0, 1])", ""},
    {"bf16[2, 3, 8]",
     "%a = broadcast(%h, shape=[3, 8], axes=[1]) %r = broadcast(%a, shape=[2, 3, 8], axes=[1, 2])",
     "broadcast"},
    {F, "%a = full(shape=[], value=2.5) %r = broadcast(%a, shape=[N, 6], axes=[])", "full"},
    {"i32[3, N, 2]", "%a = iota(shape=[3, 2], axis=1) %r = broadcast(%a, shape=[3, N, 2], axes=[0, 2])",
     "iota"},
    {"i32[3, N]", "%a = iota(shape=[3, 1], axis=0) %r = broadcast(%a, shape=[3, N], axes=[0, 1])", "iota"},
    {"i32[3, N]", "%a = iota(shape=[3, 1], axis=1) %r = broadcast(%a, shape=[3, N], axes=[0, 1])", "full"},
    {F, "%r = slice(%x, start=[0, 0], limit=[N, 6])", ""},
    {F, "%r = slice(%x, start=[0, 0], limit=[N, 6], step=[1, 1])", ""},
    {"f32[N, 3]", "%r = slice(%x, start=[0, 0], limit=[N, 6], step=[1, 2])", "slice"},
    {"f32[2]", "%a = full(shape=[5], value=0.3) %r = slice(%a, start=[1], limit=[4], step=[2])", "full"},
    {F, "%r = pad(%x, low=[0, 0], high=[0, 0], interior=[0, 0])", ""},
    {"f32[N+1, 6]", "%r = pad(%x, low=[0, 0], high=[1, 0])", "pad"},
    {"f32[9]", "%a = full(shape=[5], value=0.5) %r = pad(%a, low=[1], high=[3], value=0.5)", "full"},
    {"f32[9]", "%a = full(shape=[5], value=0.5) %r = pad(%a, low=[1], high=[3])", "full pad"},
    {"f32[6]", "%a = full(shape=[5], value=-0.0) %r = pad(%a, low=[1], high=[0])", "full pad"},
    {F, "%r = concat(%x, axis=0)", ""},
    {"f32[7]", "%a = full(shape=[5], value=0.5) %c = full(shape=[2], value=0.5) %r = concat(%a, %c, axis=0)",
     "full"},
    {"f32[7]", "%a = full(shape=[5], value=0.0) %c = full(shape=[2], value=-0.0) %r = concat(%a, %c, axis=0)",
     "full full concat"},
    {F, "%a = flip(%x, axes=[1]) %r = flip(%a, axes=[1])", ""},
    {F, "%a = flip(%x, axes=[1]) %r = flip(%a, axes=[0])", "flip flip"},
    {F, "%r = flip(%x, axes=[])", ""},
    {"i64[]", "%r = dim(of=12)", "full"},
    {"i64[]", "%r = dim(of=N)", "dim"},
    {"i32[3, 1]", "%r = iota(shape=[3, 1], axis=1)", "full"},
    {F, "%r = sum(%x, axes=[])", "full add"}, /* a sum starts at 0: -0 becomes 0 */
    {"i32[7]", "%r = sum(%i, axes=[])", ""},
    {F, "%r = max_reduce(%x, axes=[])", ""},
    {"f32[N]", "%r = min_reduce(%x, axes=[1])", "min_reduce"},

    /* A mark constrains that node. */
    {F, "%a = neg(%x) #must_save %r = neg(%a)", "neg neg"},
    {F, "%a = neg(%x) %r = neg(%a) #must_recompute", "neg neg"},
};

static void row_body(void *arg)
{
    job *j = arg;
    const row *r = j->arg;
    gcut_graph *g = parse(
        j, gcut_printf(j->arena,
                       "gcut 1\nfunc @f[N in 2..](input %%x: f32[N, 6], input %%y: f32[N, 6], "
                       "input %%h: bf16[8], input %%i: i32[7], input %%k: i8[5], input %%p: bool[N, 6]) "
                       "-> (out r: %s) {\n %s\n return %%r\n}\n",
                       r->type, r->body));
    gcut_verify(g);
    gcut_graph *folded = gcut_pass_fold(g, "folded"), *live = gcut_pass_dce(folded, "live");
    gcut_verify(folded);
    gcut_verify(live);
    for (uint32_t shift = 0; shift < 3; shift++) {
        gcut_array *in = special_params(j->arena, g, 5, shift);
        assert_same(j->arena, g, folded, in);
        assert_same(j->arena, g, live, in);
    }
    if (strcmp(ops_of(j->arena, live), r->ops) != 0)
        fail_msg("%s\n  leaves '%s', not '%s'", r->body, ops_of(j->arena, live), r->ops);
}

static void fold_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) with_env(row_body, &rows[i]);
}

/* ---- common subexpressions and dead code ---- */

static const char twice[] =
    "gcut 1\n"
    "func @f[N in 2..](input %x: f32[N, 6], input %y: f32[N, 6]) -> (out r: f32[N, 6], out s: f32[]) {\n"
    "  %c1 = full(shape=[N, 6], value=2.0)\n"
    "  %a = add(%x, %c1) !1\n"
    "  %c2 = full(shape=[N, 6], value=2.0)\n"
    "  %b = add(%x, %c2) !2\n"
    "  %z1 = full(shape=[N, 6], value=0.0)\n"
    "  %z2 = full(shape=[N, 6], value=-0.0)\n"
    "  %d = mul(%a, %z1)\n"
    "  %e = mul(%b, %z2)\n"
    "  %m = mul(%a, %y) #note(\"one\")\n"
    "  %n = mul(%b, %y)\n"
    "  %s1 = sum(%d, axes=[0, 1])\n"
    "  %s2 = sum(%e)\n"
    "  %dead = exp(%e)\n"
    "  %t = add(%d, %e)\n"
    "  %u = add(%m, %n)\n"
    "  %r = add(%t, %u)\n"
    "  %s = add(%s1, %s2)\n"
    "  return %r, %s\n"
    "}\n"
    "loc !1 = \"m.c\":1:1\n"
    "loc !2 = \"m.c\":2:1\n";

static void cse_body(void *arg)
{
    job *j = arg;
    gcut_graph *g = parse(j, twice), *h = gcut_pass_cse(g, "h");
    gcut_verify(h);
    /* c2 and b go; the zeros differ by sign, m by its mark. */
    assert_string_equal(ops_of(j->arena, h),
                        "full add full full mul mul mul mul sum sum exp add add add add");
    assert_int_equal(gcut_graph_find(h, "b"), 0);
    gcut_ref a = gcut_graph_find(h, "a");
    assert_int_equal(gcut_loc_place(h->module, gcut_def(h, a)->loc).line, 1);
    assert_non_null(gcut_mark_find(&gcut_def(h, gcut_graph_find(h, "m"))->marks, GCUT_MARK_note));
    assert_int_equal(gcut_pass_cse(h, "again")->nodes.n, h->nodes.n);
    assert_same(j->arena, g, h, special_params(j->arena, g, 3, 0));
}
/* Two loops with bodies of their own are one where the bodies are equal, marks included. */
static void cse_of_loops(void *arg)
{
    job *j = arg;
    static const char fmt[] =
        "gcut 1\nfunc @f(param %%w: f32[4], input %%xs: f32[3, 4]) -> (out a: f32[4], out b: f32[4]) {\n"
        "  %%a: f32[4] = scan(%%w, %%xs, carries=1) body(%%c: f32[4], %%x: f32[4]) {\n"
        "    %%p = mul(%%c, %%x)\n    %%q = %s(%%p)\n    yield %%q\n  }\n"
        "  %%b: f32[4] = scan(%%w, %%xs, carries=1) body(%%d: f32[4], %%y: f32[4]) {\n"
        "    %%r = mul(%%d, %%y)\n    %%s = tanh(%%r) %s\n    yield %%s\n  }\n"
        "  return %%a, %%b\n}\n";
    static const struct {
        const char *op, *mark;
        uint32_t loops;
    } cases[] = {{"tanh", "", 1}, {"sin", "", 2}, {"tanh", "#must_recompute", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcut_graph *g = parse(j, gcut_printf(j->arena, fmt, cases[i].op, cases[i].mark));
        TRY("%s %s", cases[i].op, cases[i].mark);
        assert_int_equal(gcut_pass_cse(g, "h")->nodes.n, cases[i].loops);
    }
}

static void cse(void **state)
{
    (void)state;
    with_env(cse_body, NULL);
    with_env(cse_of_loops, NULL);
}

static void dce_body(void *arg)
{
    job *j = arg;
    gcut_graph *g =
        parse(j, "gcut 1\n"
                 "func @f[N in 2..](param %w: f32[N] #must_save, input %x: f32[N], input %unused: i32[3]) -> "
                 "(out r: f32[N] #note(\"mine\"), next w: f32[N]) #note(\"entry\") {\n"
                 "  %d1 = exp(%x)\n"
                 "  %d2 = mul(%d1, %x)\n"
                 "  %v7 = add(%w, %x)\n"
                 "  return %v7, %x\n"
                 "}\n");
    gcut_graph *h = gcut_pass_dce(g, "h");
    gcut_verify(h);
    assert_string_equal(ops_of(j->arena, h), "add");
    assert_int_equal(h->params.n, 3);
    assert_non_null(gcut_mark_find(&h->params.at[0].marks, GCUT_MARK_must_save));
    assert_non_null(gcut_mark_find(&h->results.at[0].marks, GCUT_MARK_note));
    assert_non_null(gcut_mark_find(&h->marks, GCUT_MARK_note));
    assert_int_equal(h->decls.n, 1);
    assert_int_equal(h->decls.at[0].lo, 2);
    assert_string_equal(h->values.at[h->results.at[0].value].name, "v7");
    assert_int_equal(g->nodes.n, 3); /* a pass never mutates */
    assert_same(j->arena, g, h, special_params(j->arena, g, 3, 0));
}
static void dce(void **state)
{
    (void)state;
    with_env(dce_body, NULL);
}

/* Loops within loops: each reads a carried value only because of what the one inside needs, so that what is
 * needed is found from the inside out. */
static void deep_body(void *arg)
{
    job *j = arg;
    enum { DEPTH = 40 };
    gcut_text t = {.arena = j->arena};
    gcut_text_add(&t, "gcut 1\nfunc @f(input %%w: f32[4]) -> (out r: f32[4]) {\n");
    for (int k = 0; k < DEPTH; k++) {
        const char *x = k ? gcut_printf(j->arena, "a%d", k - 1) : "w";
        gcut_text_add(&t,
                      "%%s%d, %%t%d, %%dead%d = scan(%%%s, %%%s, %%w, carries=3, length=1) "
                      "body(%%a%d: f32[4], %%b%d: f32[4], %%d%d: f32[4]) {\n",
                      k, k, k, x, x, k, k, k);
    }
    for (int k = DEPTH; k-- > 0;)
        gcut_text_add(&t, "%%q%d = mul(%%%s, %%b%d) %%e%d = neg(%%d%d) yield %%q%d, %%a%d, %%e%d }\n", k,
                      k == DEPTH - 1 ? "w" : gcut_printf(j->arena, "s%d", k + 1), k, k, k, k, k, k);
    gcut_text_add(&t, "return %%s0\n}\n");
    gcut_graph *g = parse(j, t.at), *h = gcut_pass_dce(g, "h");
    gcut_verify(h);
    assert_same(j->arena, g, h, special_params(j->arena, g, 1, 0));
    for (const gcut_graph *body = h; body->regions.n; body = body->regions.at[0].body)
        assert_int_equal(gcut_node_carries(body, &body->nodes.at[0]), 2);
}
static void dce_of_nested_loops(void **state)
{
    (void)state;
    with_env(deep_body, NULL);
}

/* The test of sizes that only run time can decide outlives the node that asked for it. */
static void checks_body(void *arg)
{
    job *j = arg;
    gcut_graph *g =
        parse(j, "gcut 1\n"
                 "func @f[N in 2.., M in 2..](input %x: f32[N], input %y: f32[M]) -> (out r: f32[N]) {\n"
                 "  %d = add(%x, %y)\n"
                 "  return %x\n"
                 "}\n");
    assert_int_equal(g->checks.n, 1);
    gcut_graph *h = gcut_pass_dce(gcut_pass_cse(gcut_pass_fold(g, "a"), "b"), "c");
    assert_int_equal(h->nodes.n, 0);
    assert_int_equal(h->checks.n, 1);
    const int64_t *dims[] = {(int64_t[]){3}, (int64_t[]){4}};
    gcut_dim_binding b[4];
    gcut_bind_dims(h, dims, NULL, 0, b, 4); /* throws */
}
static void checks(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    job j = {.env = env, .arena = env->arena};
    assert_int_equal(gcut_protect(env, checks_body, &j), GCUT_EDIM);
    gcut_env_free(env);
}

/* ---- whole programs ---- */

static gcut_array *plain_params(gcut_arena *a, const gcut_graph *g, int64_t n)
{
    uint64_t seed = 7;
    gcut_array *in = gcut_calloc(a, g->params.n + 1u, sizeof *in);
    for (uint32_t k = 0; k < g->params.n; k++) {
        in[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), n);
        for (int64_t i = 0; i < in[k].n; i++) {
            double u = next_unit(&seed);
            if (gcut_dtype_is_float(in[k].dtype))
                in[k].u.f[i] = gcut_round_to(2 * u - 1, in[k].dtype);
            else
                in[k].u.i[i] = u < 0.5;
        }
    }
    return in;
}

static void corpus_body(void *arg)
{
    job *j = arg;
    gcut_module *m = gcut_parse_file(j->env, j->arena, j->arg);
    uint32_t n = m->graphs.n;
    gcut_verify_module(m);
    for (uint32_t i = 0; i < n; i++) {
        gcut_graph *g = m->graphs.at[i];
        gcut_graph *f = gcut_pass_fold(g, gcut_printf(j->arena, "%s.fold", g->name));
        gcut_graph *c = gcut_pass_cse(f, gcut_printf(j->arena, "%s.cse", g->name));
        gcut_graph *d = gcut_pass_dce(c, gcut_printf(j->arena, "%s.dce", g->name));
        gcut_verify(f);
        gcut_verify(c);
        gcut_verify(d);
        assert_that(d->nodes.n, <=, g->nodes.n);
        assert_same(j->arena, g, d, plain_params(j->arena, g, 4));
    }
}

static void corpus(void **state)
{
    (void)state;
    DIR *dir = opendir(GCUT_SOURCE_DIR "/tests/corpus");
    assert_non_null(dir);
    int seen = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".gcut") != 0) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/tests/corpus/%s", GCUT_SOURCE_DIR, e->d_name);
        with_env(corpus_body, path);
        seen++;
    }
    closedir(dir);
    assert_that(seen, >=, 3);
}

/* ---- random graphs ---- */

static uint32_t roll(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(next_unit(seed) * n);
}

/* One node on values of g, of a kind that rules apply to often; shapes are [2, 3], [3, 2], [6], [2], [3] and
 * []. */
static gcut_ref random_node(gcut_build *b, uint64_t *seed)
{
    gcut_graph *g = b->g;
    gcut_ref x, y = 0;
    do x = 1 + roll(seed, g->values.n - 1);
    while (gcut_type_of(g, x)->dtype != GCUT_F32);
    gcut_type t = *gcut_type_of(g, x);
    for (int tries = 0; tries < 20 && !y; tries++) {
        gcut_ref v = 1 + roll(seed, g->values.n - 1);
        if (gcut_type_equal(gcut_type_of(g, v), &t)) y = v;
    }
    if (!y) y = x;
    gcut_dim perm[] = {1, 0}, two[] = {2, 3}, flat = 6, axis = 1;
    static const gcut_op unary[] = {GCUT_OP_neg, GCUT_OP_neg, GCUT_OP_abs, GCUT_OP_relu,
                                    GCUT_OP_stop_gradient};
    static const gcut_op binary[] = {GCUT_OP_add, GCUT_OP_sub, GCUT_OP_mul, GCUT_OP_div, GCUT_OP_max};
    switch (roll(seed, 10)) {
    case 0:
    case 1: return gcut_b1(b, unary[roll(seed, 5)], x);
    case 2:
    case 3:
    case 4: return gcut_b2(b, binary[roll(seed, 5)], x, y);
    case 5: return gcut_bconst(b, x, specials[roll(seed, sizeof specials / sizeof *specials)]);
    case 6: return t.rank == 2 ? gcut_btranspose(b, x, perm) : gcut_b1(b, GCUT_OP_neg, x);
    case 7:
        if (t.rank == 0) return gcut_bbroadcast(b, x, two, 2, NULL);
        if (t.rank == 1 && t.dim[0] == 3) return gcut_bbroadcast(b, x, two, 2, &axis);
        if (t.rank == 1 && t.dim[0] == 2) return gcut_bbroadcast(b, x, two, 2, (gcut_dim[]){0});
        return gcut_breshape(b, x, t.rank == 2 ? &flat : two, t.rank == 2 ? 1 : 2);
    case 8:
        return t.rank == 2 ? gcut_breduce(b, GCUT_OP_sum, x, roll(seed, 4))
                           : gcut_breduce(b, GCUT_OP_sum, x, 0);
    default: {
        gcut_ref p = gcut_b2(b, GCUT_OP_lt, x, y);
        return gcut_bselect(b, roll(seed, 2) ? p : gcut_b1(b, GCUT_OP_not, p), x, y);
    }
    }
}

static void random_body(void *arg)
{
    job *j = arg;
    uint64_t seed = *(const uint64_t *)j->arg;
    TRY("seed %d", (int)seed);
    gcut_module *m = gcut_module_new(j->env, j->arena);
    gcut_graph *g = gcut_graph_create(m, "f");
    gcut_build b = {.g = g};
    const gcut_type types[] = {{.dtype = GCUT_F32, .rank = 2, .dim = {2, 3}},
                               {.dtype = GCUT_F32, .rank = 1, .dim = {3}},
                               {.dtype = GCUT_F32}};
    for (int k = 0; k < 3; k++)
        gcut_param_new(g, GCUT_ROLE_input, gcut_printf(j->arena, "p%d", k), &types[k]);
    for (int k = 0; k < 30; k++) {
        gcut_ref v = random_node(&b, &seed);
        if (k % 4 == 3) gcut_result_new(g, GCUT_ROLE_out, gcut_printf(j->arena, "r%d", k), v);
    }
    gcut_verify(g);
    gcut_graph *f = gcut_pass_fold(g, "fold"), *c = gcut_pass_cse(f, "cse"), *d = gcut_pass_dce(c, "dce");
    gcut_verify(f);
    gcut_verify(c);
    gcut_verify(d);
    gcut_verify(gcut_pass_fold(d, "fold2"));
    for (uint32_t shift = 0; shift < 2; shift++) {
        gcut_array *in = special_params(j->arena, g, 1, shift);
        assert_same(j->arena, g, f, in);
        assert_same(j->arena, f, c, in);
        assert_same(j->arena, c, d, in);
    }
}

static void random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) with_env(random_body, &seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fold_rules),          cmocka_unit_test(cse),    cmocka_unit_test(dce),
        cmocka_unit_test(dce_of_nested_loops), cmocka_unit_test(checks), cmocka_unit_test(corpus),
        cmocka_unit_test(random_graphs),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
