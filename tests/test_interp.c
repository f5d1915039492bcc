/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reference interpreter against values worked out by hand (a row for every
 * op of the table), and the composites against their textbook formulas in long
 * double, whose exponents are wide enough that nothing needs a max shift.
 */
#include "harness.h"

#include "graph/interp.h"
#include "graph/passes.h"

#define INF ((double)INFINITY)
#define NaN ((double)NAN)
#define ROOM 64

/* ---- running a text ---- */

typedef struct job {
    gcut_env *env;
    const char *text;
    gcut_precision prec;
    const int64_t *sizes; /* of every axis of every parameter; NULL when all are constants */
    const double *in;     /* all parameters, one after the other */
    bool expand;          /* decompose every composite first */
    gcut_array out;
    gcut_graph *ran;
} job;

static void set(gcut_array *x, int64_t k, double v)
{
    if (gcut_dtype_is_float(x->dtype))
        x->u.f[k] = v;
    else
        x->u.i[k] = (int64_t)v;
}

static double get(const gcut_array *x, int64_t k)
{
    return gcut_dtype_is_float(x->dtype) ? x->u.f[k] : (double)x->u.i[k];
}

static void run_body(void *arg)
{
    job *j = arg;
    gcut_arena *a = j->env->arena;
    gcut_module *m = gcut_parse(j->env, a, "t.gcut", j->text, strlen(j->text));
    gcut_graph *g = m->graphs.at[0];
    if (j->expand) g = gcut_pass_expand(g, "expanded", NULL);
    gcut_verify(g);
    j->ran = g;
    gcut_array params[8];
    const double *in = j->in;
    const int64_t *size = j->sizes;
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[k].value);
        int64_t dim[GCUT_MAX_RANK];
        for (uint32_t r = 0; r < t->rank; r++) dim[r] = size ? *size++ : t->dim[r];
        params[k] = gcut_array_new(a, t->dtype, t->rank, dim);
        for (int64_t i = 0; i < params[k].n; i++) set(&params[k], i, in ? *in++ : 0);
    }
    gcut_interp(g, j->prec, a, params, &j->out, NULL);
}

static void run(job *j)
{
    must(j->env, run_body, j);
}

/* Runs what must fail, and checks the status and that the message says all of `words`. */
static void refuse(job *j, gcut_status status, int line, const char *const *words)
{
    assert_int_equal(gcut_protect(j->env, run_body, j), status);
    assert_int_equal(j->env->ndiags, 1);
    const gcut_diag *d = &j->env->diags[0];
    assert_int_equal(d->status, status);
    if (line) assert_int_equal(d->at.line, line);
    for (; *words; words++)
        if (!strstr(d->message, *words)) fail_msg("'%s' does not say '%s'", d->message, *words);
    gcut_diags_clear(j->env);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
    *state = gcut_env_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}

static void check_close(double got, double want, double tol, const char *what, int64_t k)
{
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tol * fmax(1, fabs(want))) return;
    fail_msg("%s: element %lld is %.17g, expected %.17g", what, (long long)k, got, want);
}

/* ---- a row for every op ---- */

typedef struct sample {
    const char *params, *result, *expr; /* result: the type of %y, then other results with their types */
    double in[ROOM];
    int n;
    double out[ROOM];
} sample;

#define IN(...)                                                                                              \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define OUT(...)                                                                                             \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                                                 \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define F1 "input %a: f64[3]"
#define F2 "input %a: f64[3], input %b: f64[3]"
#define I2 "input %a: i32[3], input %b: i32[3]"
#define B2 "input %a: bool[4], input %b: bool[4]"

static const sample samples[] = {
    {F1, "f64[3]", "neg(%a)", IN(1, -2, 0.5), OUT(-1, 2, -0.5)},
    {"input %a: i8[2]", "i8[2]", "neg(%a)", IN(-128, 5), OUT(-128, -5)},
    {"input %a: i64[1]", "i64[1]", "neg(%a)", IN(-0x1p63), OUT(-0x1p63)},
    {F1, "f64[3]", "abs(%a)", IN(-1.5, 2, -INF), OUT(1.5, 2, INF)},
    {"input %a: i32[2]", "i32[2]", "abs(%a)", IN(-7, 7), OUT(7, 7)},
    {F1, "f64[3]", "sign(%a)", IN(-3, 0, NaN), OUT(-1, 0, NaN)},
    {"input %a: i32[3]", "i32[3]", "sign(%a)", IN(-3, 0, 9), OUT(-1, 0, 1)},
    {F1, "f64[3]", "exp(%a)", IN(0, 1, -INF), OUT(1, 2.718281828459045, 0)},
    {F1, "f64[3]", "expm1(%a)", IN(0, 1e-20, 1), OUT(0, 1e-20, 1.718281828459045)},
    {F1, "f64[3]", "log(%a)", IN(1, 10, 0), OUT(0, 2.302585092994046, -INF)},
    {F1, "f64[3]", "log1p(%a)", IN(0, 1e-20, 1), OUT(0, 1e-20, 0.6931471805599453)},
    {F1, "f64[3]", "sqrt(%a)", IN(9, 2, -1), OUT(3, 1.4142135623730951, NaN)},
    {F1, "f64[3]", "rsqrt(%a)", IN(4, 0.25, 0), OUT(0.5, 2, INF)},
    {F1, "f64[3]", "sin(%a)", IN(0, 1, -1), OUT(0, 0.8414709848078965, -0.8414709848078965)},
    {F1, "f64[3]", "cos(%a)", IN(0, 1, -1), OUT(1, 0.5403023058681398, 0.5403023058681398)},
    {F1, "f64[3]", "tanh(%a)", IN(0, 1, -INF), OUT(0, 0.7615941559557649, -1)},
    {F1, "f64[3]", "sigmoid(%a)", IN(0, 1, -1000), OUT(0.5, 0.7310585786300049, 0)},
    {F1, "f64[3]", "erf(%a)", IN(0, 1, -INF), OUT(0, 0.8427007929497149, -1)},
    {F1, "f64[3]", "relu(%a)", IN(-1, 2, NaN), OUT(0, 2, NaN)},
    {"input %a: i32[2]", "i32[2]", "relu(%a)", IN(-3, 3), OUT(0, 3)},
    {F1, "f64[3]", "gelu(%a)", IN(0, 1, -1), OUT(0, 0.8413447460685429, -0.15865525393145707)},
    {F1, "f64[3]", "gelu(%a, approx=\"tanh\")", IN(0, 1, -1),
     OUT(0, 0.8411919906082768, -0.15880800939172324)},
    {F1, "f64[3]", "silu(%a)", IN(0, 1, -1), OUT(0, 0.7310585786300049, -0.2689414213699951)},
    {F1, "f64[3]", "softplus(%a)", IN(0, 1000, -1000), OUT(0.6931471805599453, 1000, 0)},
    {"input %a: f64[4]", "f64[4]", "elu(%a, alpha=2)", IN(0, 1, -1, -INF),
     OUT(0, 1, -1.2642411176571153, -2)},
    {"input %a: f64[4]", "f64[4]", "leaky_relu(%a)", IN(0, 1, -1, NaN), OUT(0, 1, -0.01, NaN)},
    {"input %a: f64[5]", "f64[5]", "hardsigmoid(%a)", IN(-3, 0, 1.5, 3, NaN), OUT(0, 0.5, 0.75, 1, NaN)},
    {"input %a: f64[6]", "f64[6]", "hardswish(%a)", IN(-3, -1.5, 0, 3, -INF, INF),
     OUT(0, -0.375, 0, 3, 0, INF)},
    {F1, "f64[3]", "mish(%a)", IN(0, 1, -1), OUT(0, 0.8650983882673103, -0.30340146137410895)},
    {F1, "f64[3]", "tan(%a)", IN(0, 1, -1), OUT(0, 1.5574077246549023, -1.5574077246549023)},
    {F1, "f64[3]", "floor(%a)", IN(1.5, -1.5, 2), OUT(1, -2, 2)},
    {F1, "f64[3]", "ceil(%a)", IN(1.5, -1.5, 2), OUT(2, -1, 2)},
    {"input %a: f64[4]", "f64[4]", "round(%a)", IN(0.5, 1.5, 2.5, -0.7), OUT(0, 2, 2, -1)},
    {"input %a: bool[2]", "bool[2]", "not(%a)", IN(0, 1), OUT(1, 0)},
    {"input %a: i32[2]", "i32[2]", "not(%a)", IN(0, 5), OUT(-1, -6)},
    {"input %a: u8[2]", "u8[2]", "not(%a)", IN(0, 5), OUT(255, 250)},
    {F1, "bool[3]", "isnan(%a)", IN(1, NaN, INF), OUT(0, 1, 0)},
    {"input %a: f64[6]", "i8[6]", "cast(%a, to=\"i8\")", IN(1.9, -1.9, 300, -300, NaN, INF),
     OUT(1, -1, 127, -128, 0, 127)},
    {"input %a: i32[3]", "u8[3]", "cast(%a, to=\"u8\")", IN(-1, 256, 7), OUT(255, 0, 7)},
    {"input %a: i32[2]", "f64[2]", "cast(%a, to=\"f64\")", IN(-1, 7), OUT(-1, 7)},
    {F1, "bool[3]", "cast(%a, to=\"bool\")", IN(0.25, 0, NaN), OUT(1, 0, 1)},
    {F1, "f64[3]", "stop_gradient(%a)", IN(1, 2, 3), OUT(1, 2, 3)},
    {F2, "f64[3]", "add(%a, %b)", IN(1, 2, INF, 3, 4, -INF), OUT(4, 6, NaN)},
    {"input %a: i8[2], input %b: i8[2]", "i8[2]", "add(%a, %b)", IN(127, -128, 1, -1), OUT(-128, 127)},
    {F2, "f64[3]", "sub(%a, %b)", IN(1, 2, 3, 3, 4, 5), OUT(-2, -2, -2)},
    {"input %a: u8[1], input %b: u8[1]", "u8[1]", "sub(%a, %b)", IN(3, 4), OUT(255)},
    {F2, "f64[3]", "mul(%a, %b)", IN(1, 2, 3, 3, 4, 5), OUT(3, 8, 15)},
    {"input %a: i32[1], input %b: i32[1]", "i32[1]", "mul(%a, %b)", IN(65536, 65537), OUT(65536)},
    {F2, "f64[3]", "div(%a, %b)", IN(1, 2, 0, 4, 0, 0), OUT(0.25, INF, NaN)},
    {I2, "i32[3]", "div(%a, %b)", IN(7, -7, 7, 2, 2, -2), OUT(3, -4, -4)},
    {"input %a: i32[1], input %b: i32[1]", "i32[1]", "div(%a, %b)", IN(-2147483648.0, -1),
     OUT(-2147483648.0)},
    {"input %a: i64[1], input %b: i64[1]", "i64[1]", "div(%a, %b)", IN(-0x1p63, -1), OUT(-0x1p63)},
    {F2, "f64[3]", "pow(%a, %b)", IN(2, 9, 0, 10, 0.5, 0), OUT(1024, 3, 1)},
    {F2, "f64[3]", "max(%a, %b)", IN(1, NaN, 3, 2, 0, NaN), OUT(2, NaN, NaN)},
    {I2, "i32[3]", "max(%a, %b)", IN(1, 2, 3, 3, 2, 1), OUT(3, 2, 3)},
    {F2, "f64[3]", "min(%a, %b)", IN(1, NaN, 3, 2, 0, NaN), OUT(1, NaN, NaN)},
    {I2, "i32[3]", "min(%a, %b)", IN(1, 2, 3, 3, 2, 1), OUT(1, 2, 1)},
    {F2, "f64[3]", "mod(%a, %b)", IN(5.5, -5.5, 5.5, 2, 2, -2), OUT(1.5, 0.5, -0.5)},
    {I2, "i32[3]", "mod(%a, %b)", IN(7, -7, 7, 3, 3, -3), OUT(1, 2, -2)},
    {B2, "bool[4]", "and(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 0, 0, 1)},
    {I2, "i32[3]", "and(%a, %b)", IN(6, -1, 0, 3, 5, 9), OUT(2, 5, 0)},
    {B2, "bool[4]", "or(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 1, 1, 1)},
    {B2, "bool[4]", "xor(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 1, 1, 0)},
    {F2, "bool[3]", "eq(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(1, 0, 0)},
    {B2, "bool[4]", "eq(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(1, 0, 0, 1)},
    {F2, "bool[3]", "ne(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(0, 1, 1)},
    {F2, "bool[3]", "lt(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(0, 1, 0)},
    {F2, "bool[3]", "le(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(1, 1, 0)},
    {F2, "bool[3]", "gt(%a, %b)", IN(1, 4, NaN, 1, 3, NaN), OUT(0, 1, 0)},
    {F2, "bool[3]", "ge(%a, %b)", IN(1, 4, NaN, 1, 3, NaN), OUT(1, 1, 0)},
    {I2, "bool[3]", "lt(%a, %b)", IN(1, 2, 3, 2, 2, 2), OUT(1, 0, 0)},
    {"input %p: bool[2], input %a: f64[2], input %b: f64[2]", "f64[2]", "select(%p, %a, %b)",
     IN(1, 0, 1, 2, 3, 4), OUT(1, 4)},
    {"input %p: bool[2], input %a: i32[2], input %b: i32[2]", "i32[2]", "select(%p, %a, %b)",
     IN(1, 0, 1, 2, 3, 4), OUT(1, 4)},
    {"input %a: f64[4]", "f64[4]", "clamp(%a, lo=-1, hi=2)", IN(-5, 0.5, 9, NaN), OUT(-1, 0.5, 2, NaN)},
    {F1, "f64[3]", "clamp(%a, lo=0)", IN(-5, 0.5, 9), OUT(0, 0.5, 9)},
    {"input %a: i32[3]", "i32[3]", "clamp(%a, hi=2)", IN(-5, 1, 9), OUT(-5, 1, 2)},
    {"input %a: f64[2, 3]", "f64[3, 2]", "reshape(%a, shape=[3, 2])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 2, 3, 4, 5, 6)},
    {"input %a: f64[2, 3]", "f64[3, 2]", "transpose(%a, perm=[1, 0])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 4, 2, 5, 3, 6)},
    {"input %a: f64[2, 1, 3]", "f64[3, 2, 1]", "transpose(%a, perm=[2, 0, 1])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 4, 2, 5, 3, 6)},
    {"input %a: f64[2]", "f64[3, 2]", "broadcast(%a, shape=[3, 2], axes=[1])", IN(1, 2),
     OUT(1, 2, 1, 2, 1, 2)},
    {"input %a: f64[2, 1]", "f64[2, 3]", "broadcast(%a, shape=[2, 3], axes=[0, 1])", IN(1, 2),
     OUT(1, 1, 1, 2, 2, 2)},
    {"input %a: f64[]", "f64[2]", "broadcast(%a, shape=[2], axes=[])", IN(7), OUT(7, 7)},
    {"input %a: f64[2, 5]", "f64[1, 2]", "slice(%a, start=[1, 0], limit=[2, 4], step=[1, 2])",
     IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), OUT(6, 8)},
    {"input %a: i32[4]", "i32[2]", "slice(%a, start=[1], limit=[3])", IN(1, 2, 3, 4), OUT(2, 3)},
    {F1, "f64[8]", "pad(%a, low=[1], high=[2], interior=[1], value=9)", IN(1, 2, 3),
     OUT(9, 1, 9, 2, 9, 3, 9, 9)},
    {"input %a: i32[1, 2]", "i32[2, 3]", "pad(%a, low=[1, 0], high=[0, 1])", IN(1, 2), OUT(0, 0, 0, 1, 2, 0)},
    {"input %a: f64[2, 1], input %b: f64[2, 2]", "f64[2, 3]", "concat(%a, %b, axis=1)", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 3, 4, 2, 5, 6)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "flip(%a, axes=[1])", IN(1, 2, 3, 4, 5, 6), OUT(3, 2, 1, 6, 5, 4)},
    {"input %a: bool[2, 5]", "u8[2]", "pack_bits(%a)", IN(1, 0, 1, 1, 0, 0, 0, 0, 1, 1), OUT(13, 3)},
    {"input %a: bool[]", "u8[1]", "pack_bits(%a)", IN(1), OUT(1)},
    {"input %a: u8[2]", "bool[3, 3]", "unpack_bits(%a, shape=[3, 3])", IN(13, 255),
     OUT(1, 0, 1, 1, 0, 0, 0, 0, 1)},
    {F1, "i64[]", "dim(of=12)", IN(1, 2, 3), OUT(12)},
    {F1, "f64[2]", "full(shape=[2], value=2.5, dtype=\"f64\")", IN(0), OUT(2.5, 2.5)},
    {F1, "i64[1]", "full(shape=[1], value=-3, dtype=\"i64\")", IN(0), OUT(-3)},
    {F1, "bool[1]", "full(shape=[1], value=1, dtype=\"bool\")", IN(0), OUT(1)},
    {F1, "i32[2, 3]", "iota(shape=[2, 3], axis=1)", IN(0), OUT(0, 1, 2, 0, 1, 2)},
    {F1, "f64[2, 2]", "iota(shape=[2, 2], axis=0, dtype=\"f64\")", IN(0), OUT(0, 0, 1, 1)},
    {"input %a: f64[2, 3]", "f64[]", "sum(%a)", IN(1, 2, 3, 4, 5, 6), OUT(21)},
    {"input %a: f64[2, 3]", "f64[3]", "sum(%a, axes=[0])", IN(1, 2, 3, 4, 5, 6), OUT(5, 7, 9)},
    {"input %a: f64[2, 3]", "f64[2, 1]", "sum(%a, axes=[1], keep=true)", IN(1, 2, 3, 4, 5, 6), OUT(6, 15)},
    {"input %a: i8[3]", "i8[]", "sum(%a)", IN(100, 100, 100), OUT(44)},
    {"input %a: f64[2, 3]", "f64[2]", "mean(%a, axes=[1])", IN(1, 2, 3, 4, 5, 6), OUT(2, 5)},
    {"input %a: f64[2, 3]", "f64[1, 1]", "mean(%a, keep=true)", IN(1, 2, 3, 4, 5, 6), OUT(3.5)},
    {"input %a: f64[2, 3]", "f64[2]", "max_reduce(%a, axes=[1])", IN(1, 3, 2, 4, NaN, 6), OUT(3, NaN)},
    {"input %a: i32[3]", "i32[]", "max_reduce(%a)", IN(-5, -2, -9), OUT(-2)},
    {"input %a: i16[0]", "i16[]", "max_reduce(%a)", IN(0), OUT(-32768)},
    {"input %a: f64[2, 3]", "f64[2]", "min_reduce(%a, axes=[1])", IN(1, 3, 2, 4, NaN, 6), OUT(1, NaN)},
    {"input %a: u8[3]", "u8[]", "min_reduce(%a)", IN(5, 2, 9), OUT(2)},
    {"input %a: f64[2, 3]", "f64[2]", "prod(%a, axes=[1])", IN(1, 2, 3, 4, NaN, 6), OUT(6, NaN)},
    {"input %a: f64[0, 2]", "f64[1, 2]", "prod(%a, axes=[0], keep=true)", IN(0), OUT(1, 1)},
    {"input %a: i8[3]", "i8[]", "prod(%a)", IN(100, 3, 3), OUT(-124)},
    {"input %a: f64[3, 3]", "i64[3]", "argmax(%a, axis=1)", IN(1, 3, 3, 4, NaN, NaN, -INF, -INF, -INF),
     OUT(1, 1, 0)},
    {"input %a: i32[2, 2]", "i64[2]", "argmax(%a, axis=0)", IN(5, -1, 5, 2), OUT(0, 1)},
    {"input %a: f64[2, 3]", "i64[2]", "argmin(%a, axis=1)", IN(3, 1, 1, NaN, INF, 2), OUT(1, 0)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "cumsum(%a, axis=1)", IN(1, 2, 3, 4, NaN, 6),
     OUT(1, 3, 6, 4, NaN, NaN)},
    {"input %a: f64[3, 2]", "f64[3, 2]", "cumsum(%a, axis=0, reverse=true)", IN(1, 2, 3, 4, 5, 6),
     OUT(9, 12, 8, 10, 5, 6)},
    {"input %a: i8[3]", "i8[3]", "cumsum(%a, axis=0)", IN(100, 100, 100), OUT(100, -56, 44)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "cumprod(%a, axis=1)", IN(1, 2, 3, 4, 0, 6), OUT(1, 2, 6, 4, 0, 0)},
    {"input %a: i32[3, 2]", "i32[3, 2]", "cumprod(%a, axis=0, reverse=true)", IN(1, 2, 3, 4, 5, 6),
     OUT(15, 48, 15, 24, 5, 6)},
    {"input %a: f64[2, 2], input %b: f64[2, 2]", "f64[2, 2]", "matmul(%a, %b)", IN(1, 2, 3, 4, 5, 6, 7, 8),
     OUT(19, 22, 43, 50)},
    {"input %a: f64[3, 2], input %b: f64[1, 3]", "f64[2, 1]", "matmul(%a, %b, ta=true, tb=true)",
     IN(1, 2, 3, 4, 5, 6, 1, 10, 100), OUT(531, 642)},
    {"input %a: f64[2, 1, 2], input %b: f64[2, 2, 1]", "f64[2, 1, 1]", "matmul(%a, %b)",
     IN(1, 2, 3, 4, 5, 6, 7, 8), OUT(17, 53)},
    {"input %a: f64[2, 0], input %b: f64[0, 1]", "f64[2, 1]", "matmul(%a, %b)", IN(0), OUT(0, 0)},
    {"input %x: f64[1, 1, 3, 3], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]", "conv2d(%x, %w)",
     IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 0, 1), OUT(6, 8, 12, 14)},
    {"input %x: f64[1, 1, 3, 3], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]",
     "conv2d(%x, %w, stride=[2, 2], pad=[1, 0, 0, 1])", IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4),
     OUT(11, 9, 67, 33)},
    {"input %x: f64[1, 2, 1, 2], input %w: f64[2, 1, 1, 1]", "f64[1, 2, 1, 2]", "conv2d(%x, %w, groups=2)",
     IN(1, 2, 3, 4, 10, 100), OUT(10, 20, 300, 400)},
    {"input %x: f64[1, 1, 1, 3], input %w: f64[1, 1, 1, 2]", "f64[1, 1, 1, 1]",
     "conv2d(%x, %w, dilation=[1, 2])", IN(1, 2, 3, 1, 10), OUT(31)},
    {"input %d: f64[1, 1, 2, 2], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 3, 3]",
     "conv2d_input(%d, %w, shape=[3, 3])", IN(1, 2, 3, 4, 1, 10, 100, 1000),
     OUT(1, 12, 20, 103, 1234, 2040, 300, 3400, 4000)},
    {"input %x: f64[1, 1, 3, 3], input %d: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]",
     "conv2d_weight(%x, %d, window=[2, 2])", IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 10, 100, 1000),
     OUT(5421, 6532, 8754, 9865)},
    {"input %x: f64[1, 1, 1, 2], input %w: f64[1, 1, 1, 2]", "f64[1, 1, 1, 5]",
     "conv_transpose2d(%x, %w, stride=[1, 2], output_pad=[0, 1])", IN(1, 2, 1, 10), OUT(1, 10, 2, 20, 0)},
    {"input %x: f64[1, 1, 2, 4]", "f64[1, 1, 1, 2]", "max_pool2d(%x, window=[2, 2])",
     IN(1, 5, NaN, 2, 3, 4, 9, 9), OUT(5, NaN)},
    {"input %x: f64[1, 1, 1, 3]", "f64[1, 1, 1, 3]",
     "max_pool2d(%x, window=[1, 2], stride=[1, 1], pad=[0, 1, 0, 0])", IN(-3, -1, -2), OUT(-3, -1, -1)},
    {"input %x: f64[1, 1, 1, 4], input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 4]",
     "max_pool2d_grad(%x, %d, window=[1, 2])", IN(2, 2, 1, NaN, 10, 20), OUT(10, 0, 0, 20)},
    {"input %x: f64[1, 1, 1, 3], input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 3]",
     "max_pool2d_grad(%x, %d, window=[1, 2], stride=[1, 1])", IN(1, 3, 2, 10, 20), OUT(0, 30, 0)},
    {"input %x: f64[1, 1, 1, 3], input %t: f64[1, 1, 1, 3]", "f64[1, 1, 1, 2]",
     "max_pool2d_take(%x, %t, window=[1, 2], stride=[1, 1])", IN(1, 3, 2, 7, 8, 9), OUT(8, 8)},
    {"input %x: f64[1, 1, 2, 2]", "f64[1, 1, 1, 1]", "avg_pool2d(%x, window=[2, 2])", IN(1, 2, 3, 6), OUT(3)},
    {"input %x: f64[1, 1, 1, 2]", "f64[1, 1, 1, 2]", "avg_pool2d(%x, window=[1, 2], pad=[0, 1, 0, 1])",
     IN(4, 8), OUT(2, 4)},
    {"input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 3]",
     "avg_pool2d_grad(%d, shape=[1, 3], window=[1, 2], stride=[1, 1])", IN(2, 4), OUT(1, 3, 2)},
    {"input %a: f64[3, 2], input %i: i32[2, 1]", "f64[2, 1, 2]", "take(%a, %i)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(5, 6, 1, 2)},
    {"input %a: f64[2, 3], input %i: i64[2]", "f64[2, 2]", "take(%a, %i, axis=1)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(3, 1, 6, 4)},
    {"input %a: f64[2, 3], input %i: i32[2]", "f64[2]", "pick(%a, %i, axis=1)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(3, 4)},
    {"input %a: i32[2, 3], input %i: i32[3]", "i32[3]", "pick(%a, %i, axis=0)", IN(1, 2, 3, 4, 5, 6, 1, 0, 1),
     OUT(4, 2, 6)},
    {"input %a: f64[3, 2], input %i: i32[2], input %u: f64[2, 2]", "f64[3, 2]", "scatter_add(%a, %i, %u)",
     IN(1, 2, 3, 4, 5, 6, 1, 1, 10, 20, 30, 40), OUT(1, 2, 43, 64, 5, 6)},
    {"input %a: i8[3], input %i: i32[2], input %u: i8[2]", "i8[3]", "scatter_add(%a, %i, %u)",
     IN(127, 0, 0, 0, 2, 1, 5), OUT(-128, 0, 5)},
    {"input %i: i32[3]", "i32[3]", "bounded(%i, of=5)", IN(0, 4, 2), OUT(0, 4, 2)},
    /* JAX's words 0 to 3 of key 42, from tests/reference/threefry.txt. */
    {"input %k: i64[2], input %i: i64[2]", "f64[2]", "random(%k, %i, dtype=\"f64\")", IN(42, 42, 1, 0),
     OUT(0.015010069515314584, 0.4267275666499091)},
    {"input %k: i64[2], input %i: i64[2]", "f32[2]", "random(%k, %i)", IN(42, 42, 0, 3),
     OUT(0.48870962858200073, 0.5610161423683167)},
    {"input %k: i64[1], input %i: i64[1]", "i64[1]", "random(%k, %i, dtype=\"i64\")", IN(42, 1),
     OUT(2.7688691087759872e+17)},
    {"input %k: i64[]", "f32[1, 2]", "uniform(%k, shape=[1, 2])", IN(42),
     OUT(0.48870962858200073, 0.6797971725463867)},
    {"input %k: i64[]", "f64[]", "uniform(%k, shape=[], lo=-1, hi=3, dtype=\"f64\")", IN(42),
     OUT(0.7069102665996363)},
    {"input %k: i64[]", "f64[2]", "normal(%k, shape=[2], mean=1, std=0.5, dtype=\"f64\")", IN(42),
     OUT(1.5250999858351757, 0.917379745238486)},
    {"input %k: i64[]", "i64[2]", "key_split(%k, n=2)", IN(42),
     OUT(7.87173421118771e+18, 2.7688691087759872e+17)},
    {"input %a: f64[4], input %k: i64[]", "f64[4]", "dropout(%a, %k, p=0.5)", IN(1, 2, 3, 4, 42),
     OUT(0.0, 4.0, 6.0, 8.0)},
    {"input %a: f64[2], input %k: i64[]", "f64[2]", "dropout(%a, %k, p=0)", IN(1, 2, 42), OUT(1.0, 2.0)},
    {"input %a: f64[2, 2]", "f64[2, 2]", "softmax(%a, axis=1)", IN(0, 0, 1e4, -1e4), OUT(0.5, 0.5, 1, 0)},
    {"input %a: f64[2]", "f64[2]", "log_softmax(%a, axis=0)", IN(1e4, -1e4), OUT(0, -2e4)},
    {"input %a: f64[2, 2]", "f64[2]", "logsumexp(%a, axes=[1])", IN(0, 0, 1e4, 1e4),
     OUT(0.6931471805599453, 10000.693147180559945)},
    {"input %a: f64[2], input %g: f64[2], input %b: f64[2]", "f64[2]", "layer_norm(%a, %g, %b, eps=0)",
     IN(1, 3, 10, 20, 1, 2), OUT(-9, 22)},
    {"input %a: f64[2], input %g: f64[2]", "f64[2]", "rms_norm(%a, %g, eps=0)", IN(3, 3, 1, 2), OUT(1, 2)},
    {"input %a: f64[2, 1], input %g: f64[1], input %b: f64[1], input %m: f64[1], input %v: f64[1]",
     "f64[2, 1], %n: f64[1], %w: f64[1]", "batch_norm(%a, %g, %b, %m, %v, eps=0)", IN(1, 3, 10, 1, 0, 0),
     OUT(-9, 11)},
    {"input %a: f64[1, 4], input %g: f64[4], input %b: f64[4]", "f64[1, 4]",
     "group_norm(%a, %g, %b, groups=2, eps=0)", IN(1, 3, 6, 2, 1, 2, 3, 4, 0, 0, 0, 1), OUT(-1, 2, 3, -3)},
    {"input %a: f64[1, 2, 2], input %g: f64[2], input %b: f64[2]", "f64[1, 2, 2]",
     "instance_norm(%a, %g, %b, eps=0)", IN(1, 3, 6, 2, 1, 2, 0, 1), OUT(-1, 1, 3, -1)},
    {"input %a: f64[1, 1, 1, 2]", "f64[1, 1, 2, 4]", "upsample(%a, factor=[2, 2])", IN(1, 2),
     OUT(1, 1, 2, 2, 1, 1, 2, 2)},
    {"input %a: f64[1, 1, 2, 1]", "f64[1, 1, 4, 3]", "upsample(%a, factor=[2, 3], mode=\"bilinear\")",
     IN(0, 4), OUT(0, 0, 0, 1, 1, 1, 3, 3, 3, 4, 4, 4)},
    {"input %a: f64[2, 2], input %t: i32[2]", "f64[]", "cross_entropy(%a, %t)", IN(0, 0, 0, 0, 1, 0),
     OUT(0.6931471805599453)},
    {"input %a: f64[2], input %b: f64[2]", "f64[]", "mse(%a, %b)", IN(1, 2, 4, 6), OUT(12.5)},
    {"input %q: f64[1, 1, 1, 1], input %k: f64[1, 1, 2, 1], input %v: f64[1, 1, 2, 1]", "f64[1, 1, 1, 1]",
     "attention(%q, %k, %v)", IN(1, 0, 0, 4, 8), OUT(6)},
    /* P = (1, 1)/2, dP = (4, 8) dy, dS = (-1, 1) dy, dq = -2 + 6 */
    {"input %q: f64[1, 1, 1, 1], input %k: f64[1, 1, 2, 1], input %v: f64[1, 1, 2, 1], "
     "input %d: f64[1, 1, 1, 1]",
     "f64[1, 1, 1, 1], %dk: f64[1, 1, 2, 1], %dv: f64[1, 1, 2, 1]", "attention_grad(%q, %k, %v, %d)",
     IN(0, 2, 6, 4, 8, 1), OUT(4)},
};

static bool is_of(const sample *s, const char *op)
{
    size_t n = strlen(op);
    return strncmp(s->expr, op, n) == 0 && s->expr[n] == '(';
}

static void every_op_has_a_sample(void **state)
{
    (void)state;
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (gcut_op_get((gcut_op)op)->emit == GCUT_EMIT_REGION) continue; /* test_control */
        bool found = false;
        for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
            found = found || is_of(&samples[k], gcut_op_get((gcut_op)op)->name);
        if (!found) fail_msg("no sample for '%s'", gcut_op_get((gcut_op)op)->name);
    }
}

/* Hand-computed decimals have 16 digits; f64 libm is good to an ulp or two. */
static void samples_are_right(void **state)
{
    gcut_env *env = *state;
    char text[1024];
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
        for (int expand = 0; expand < 2; expand++) {
            const sample *s = &samples[k];
            const char *more = strstr(s->result, ", %");
            snprintf(text, sizeof text,
                     "gcut 1\nfunc @f(%s) -> (out y: %.*s) {\n  %%y: %s = %s\n  return %%y\n}\n", s->params,
                     (int)(more ? (size_t)(more - s->result) : strlen(s->result)), s->result, s->result,
                     s->expr);
            job j = {.env = env, .text = text, .in = s->in, .expand = expand};
            j.prec = expand ? GCUT_STATED : GCUT_EXACT;
            run(&j);
            assert_int_equal(j.out.n, s->n);
            for (int i = 0; i < s->n; i++) check_close(get(&j.out, i), s->out[i], 4e-16, s->expr, i);
        }
}

/* ---- composites against their formulas ---- */

/* Rows of three: ordinary, far apart, all large, all small, with -inf, and nothing but -inf. */
static const double rows[] = {0.3,  -1.2,     2.5,  1e4, -1e4,      0, 1e4,       1e4,       1e4 - 1,
                              -1e4, -1e4 + 2, -1e4, 1,   -INFINITY, 2, -INFINITY, -INFINITY, -INFINITY};
#define NROWS 6

static const double *rows_through(gcut_env *env, const char *expr, const char *type)
{
    char text[512];
    snprintf(text, sizeof text,
             "gcut 1\nfunc @f(input %%a: f64[6, 3]) -> (out y: %s) {\n  %%y: %s = %s\n  return %%y\n}\n",
             type, type, expr);
    job j = {.env = env, .text = text, .in = rows};
    run(&j);
    return j.out.u.f;
}

static void softmax_family(void **state)
{
    const double *soft = rows_through(*state, "softmax(%a, axis=1)", "f64[6, 3]");
    const double *logs = rows_through(*state, "log_softmax(%a, axis=1)", "f64[6, 3]");
    const double *lse = rows_through(*state, "logsumexp(%a, axes=[1], keep=true)", "f64[6, 1]");
    for (int r = 0; r < NROWS; r++) {
        long double sum = 0;
        for (int c = 0; c < 3; c++) sum += expl((long double)rows[3 * r + c]);
        check_close(lse[r], (double)logl(sum), 1e-15, "logsumexp", r);
        for (int c = 0; c < 3; c++) {
            long double x = rows[3 * r + c];
            /* Nothing but -inf is 0 / 0 and -inf - -inf: NaN, as in PyTorch. */
            check_close(soft[3 * r + c], (double)(expl(x) / sum), 1e-15, "softmax", 3 * r + c);
            check_close(logs[3 * r + c], (double)(x - logl(sum)), 1e-12, "log_softmax", 3 * r + c);
        }
    }
}

static void infinite_logits(void **state)
{
    job j = {.env = *state,
             .in = (double[]){INF, 0, INF, INF},
             .text = "gcut 1\nfunc @f(input %a: f64[2, 2]) -> (out y: f64[2]) {\n"
                     "  %y: f64[2] = logsumexp(%a, axes=[1])\n  return %y\n}\n"};
    run(&j);
    assert_true(j.out.u.f[0] == INF && j.out.u.f[1] == INF);
}

static void norms(void **state)
{
    static const double in[] = {1, 2, 4, -3, 1e3, 1e3, 0.5, 2, -1, 0.1, 0.2, 0.3};
    job ln = {.env = *state,
              .in = in,
              .text = "gcut 1\nfunc @f(input %a: f64[2, 3], input %g: f64[3], input %b: f64[3]) -> (out y: "
                      "f64[2, 3]) {\n"
                      "  %y: f64[2, 3] = layer_norm(%a, %g, %b, eps=0.01)\n  return %y\n}\n"};
    job rms = {.env = *state,
               .in = in,
               .text = "gcut 1\nfunc @f(input %a: f64[2, 3], input %g: f64[3]) -> (out y: f64[2, 3]) {\n"
                       "  %y: f64[2, 3] = rms_norm(%a, %g)\n  return %y\n}\n"};
    run(&ln);
    run(&rms);
    for (int r = 0; r < 2; r++) {
        const double *x = in + 3 * r;
        long double mean = ((long double)x[0] + x[1] + x[2]) / 3, square = 0, var = 0;
        for (int c = 0; c < 3; c++) {
            var += (x[c] - mean) * (x[c] - mean) / 3;
            square += (long double)x[c] * x[c] / 3;
        }
        for (int c = 0; c < 3; c++) {
            double want = (double)((x[c] - mean) / sqrtl(var + 0.01L) * in[6 + c] + in[9 + c]);
            check_close(ln.out.u.f[3 * r + c], want, 1e-14, "layer_norm", 3 * r + c);
            want = (double)(x[c] / sqrtl(square + 1e-5L) * in[6 + c]);
            check_close(rms.out.u.f[3 * r + c], want, 1e-14, "rms_norm", 3 * r + c);
        }
    }
}

/* The labels pick a row's class; label `ignore` drops the row, also one whose logits are all -inf. */
static double loss_of(gcut_env *env, const char *attrs, const double labels[NROWS])
{
    char text[512];
    double in[3 * NROWS + NROWS];
    memcpy(in, rows, sizeof rows);
    memcpy(in + 3 * NROWS, labels, NROWS * sizeof *labels);
    snprintf(text, sizeof text,
             "gcut 1\nfunc @f(input %%a: f64[6, 3], input %%t: i64[6]) -> (out y: f64[]) {\n"
             "  %%y: f64[] = cross_entropy(%%a, %%t%s)\n  return %%y\n}\n",
             attrs);
    job j = {.env = env, .text = text, .in = in};
    run(&j);
    job e = {.env = env, .text = text, .in = in, .expand = true};
    run(&e);
    check_close(e.out.u.f[0], j.out.u.f[0], 0, "expanded cross_entropy", 0);
    return j.out.u.f[0];
}

static double loss_formula(double smooth, double ignore, const double labels[NROWS])
{
    long double loss = 0;
    int n = 0;
    for (int r = 0; r < NROWS; r++) {
        if (labels[r] == ignore) continue;
        long double sum = 0, even = 0;
        for (int c = 0; c < 3; c++) sum += expl((long double)rows[3 * r + c]);
        for (int c = 0; c < 3; c++) even += (rows[3 * r + c] - logl(sum)) / 3;
        loss -= (1 - (long double)smooth) * (rows[3 * r + (int)labels[r]] - logl(sum));
        if (smooth > 0) loss -= smooth * even;
        n++;
    }
    return (double)(loss / n);
}

static void cross_entropies(void **state)
{
    static const double some[] = {2, 0, 1, 1, 2, -100}, few[] = {0, 1, 2, 0, 7, 7};
    static const double none[] = {-100, -100, -100, -100, -100, -100};
    check_close(loss_of(*state, "", some), loss_formula(0, -100, some), 1e-14, "cross_entropy", 0);
    check_close(loss_of(*state, ", ignore=7", few), loss_formula(0, 7, few), 1e-14, "ignore", 0);
    check_close(loss_of(*state, ", ignore=7, smooth=0.1", few), loss_formula(0.1, 7, few), 1e-14, "smooth",
                0);
    assert_true(isnan(loss_of(*state, "", none)));
}

/* B=1, H=4 heads over G=2 groups, T=2 queries, S=3 keys, D=2. */
enum { H = 4, G = 2, T = 2, S = 3, D = 2 };

static void attention_formula(const double *q, const double *k, const double *v, const double *bias,
                              bool causal, long double scale, double *out)
{
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = h / (H / G);
            long double w[S], sum = 0;
            for (int s = 0; s < S; s++) {
                long double dot = 0;
                for (int d = 0; d < D; d++)
                    dot += (long double)q[(h * T + t) * D + d] * k[(g * S + s) * D + d];
                dot = dot * scale + (bias ? bias[(h * T + t) * S + s] : 0);
                w[s] = causal && s > t + (S - T) ? 0 : expl(dot);
                sum += w[s];
            }
            for (int d = 0; d < D; d++) {
                long double y = 0;
                for (int s = 0; s < S; s++) y += w[s] / sum * v[(g * S + s) * D + d];
                out[(h * T + t) * D + d] = (double)y;
            }
        }
}

static void attentions(void **state)
{
    double in[H * T * D + 2 * G * S * D + H * T * S], want[H * T * D];
    const double *q = in, *k = q + H * T * D, *v = k + G * S * D, *bias = v + G * S * D;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) in[i] = sin(1.7 * (double)i) * 2;
    static const struct {
        const char *attrs;
        bool bias, causal;
        double scale;
    } cases[] = {{"", false, false, 0},
                 {", causal=true", false, true, 0},
                 {", causal=true, scale=0.3", true, true, 0.3},
                 {", scale=2", true, false, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int symbolic = 0; symbolic < 2; symbolic++) {
            char text[1024];
            snprintf(text, sizeof text,
                     symbolic
                         ? "gcut 1\nfunc @f[T, S, D](input %%q: f64[1, 4, T, D], input %%k: f64[1, 2, S, D], "
                           "input %%v: f64[1, 2, S, D]%s) -> (out y: f64[1, 4, T, D]) {\n"
                           "  %%y = attention(%%q, %%k, %%v%s%s)\n  return %%y\n}\n"
                         : "gcut 1\nfunc @f(input %%q: f64[1, 4, 2, 2], input %%k: f64[1, 2, 3, 2], "
                           "input %%v: f64[1, 2, 3, 2]%s) -> (out y: f64[1, 4, 2, 2]) {\n"
                           "  %%y = attention(%%q, %%k, %%v%s%s)\n  return %%y\n}\n",
                     !cases[c].bias ? ""
                     : symbolic     ? ", input %b: f64[1, 4, T, S]"
                                    : ", input %b: f64[1, 4, 2, 3]",
                     cases[c].bias ? ", %b" : "", cases[c].attrs);
            static const int64_t sizes[] = {1, 4, 2, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 4, 2, 3};
            long double scale = cases[c].scale != 0 ? (long double)cases[c].scale : 1 / sqrtl(D);
            attention_formula(q, k, v, cases[c].bias ? bias : NULL, cases[c].causal, scale, want);
            for (int expand = 0; expand < 2; expand++) {
                job j = {.env = *state, .text = text, .in = in, .expand = expand, .sizes = sizes};
                run(&j);
                assert_int_equal(j.out.n, H * T * D);
                for (int i = 0; i < H * T * D; i++) check_close(j.out.u.f[i], want[i], 1e-14, text, i);
            }
        }
}

/* More queries than keys: the first T - S see no key, so their rows are NaN; the others are untouched. */
static void causal_without_keys(void **state)
{
    job j = {
        .env = *state,
        .in = (double[]){1, 1, 5, 7},
        .text = "gcut 1\nfunc @f(input %q: f64[1, 1, 2, 1], input %k: f64[1, 1, 1, 1], input %v: f64[1, 1, "
                "1, 1]) "
                "-> (out y: f64[1, 1, 2, 1]) {\n  %y = attention(%q, %k, %v, causal=true)\n  return %y\n}\n"};
    run(&j);
    assert_true(isnan(j.out.u.f[0]));
    assert_true(j.out.u.f[1] == 7);
}

/* ---- expansion ---- */

static void expansion_keeps_names(void **state)
{
    job j = {.env = *state,
             .expand = true,
             .in = (double[]){1, 2, 3, 4, 5, 6, 0, 2},
             .text =
                 "gcut 1\nfunc @f(input %x: f32[2, 3], input %t: i32[2]) -> (out y: f32[]) {\n"
                 "  %y.softmax: f32[2, 3] = relu(%x)\n  %s: f32[2, 3] = softmax(%y.softmax, axis=1)\n"
                 "  %s.exp: f32[2, 3] = neg(%s)\n  %y: f32[] = cross_entropy(%s.exp, %t)\n  return %y\n}\n"};
    run(&j);
    static const char *const names[] = {"x", "t", "y.softmax", "s", "s.exp", "y"};
    static const gcut_op ops[] = {0, 0, GCUT_OP_relu, GCUT_OP_div, GCUT_OP_neg, GCUT_OP_div};
    for (size_t k = 0; k < 6; k++) {
        gcut_ref v = gcut_graph_find(j.ran, names[k]);
        assert_true(v != 0);
        if (k >= 2) assert_int_equal(gcut_def(j.ran, v)->op, ops[k]);
    }
    for (uint32_t n = 0; n < j.ran->nodes.n; n++)
        assert_false(gcut_op_get((gcut_op)j.ran->nodes.at[n].op)->composite);
    assert_int_equal(j.ran->module->graphs.n, 2); /* the scratch graphs are gone */
}

/* ---- precision ---- */

static uint32_t next_random(uint32_t *s)
{
    return *s = *s * 1664525u + 1013904223u;
}

/* One rounding of a double result is the float result: 53 >= 2 * 24 + 2 (Figueroa 1995). */
static void stated_f32_is_float_arithmetic(void **state)
{
    static const char *const ops[] = {"add(%a, %b)", "mul(%a, %b)", "div(%a, %b)", "sqrt(%a)"};
    double in[2 * 500];
    uint32_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        uint32_t bits = next_random(&seed) & 0x7fffffffu;
        float f;
        memcpy(&f, &bits, sizeof f);
        in[i] = (double)f;
    }
    for (int op = 0; op < 4; op++) {
        char text[256];
        snprintf(text, sizeof text,
                 "gcut 1\nfunc @f(input %%a: f32[500], input %%b: f32[500]) -> (out y: f32[500]) {\n"
                 "  %%y: f32[500] = %s\n  return %%y\n}\n",
                 ops[op]);
        job j = {.env = *state, .text = text, .prec = GCUT_STATED, .in = in};
        run(&j);
        for (int i = 0; i < 500; i++) {
            volatile float a = (float)in[i], b = (float)in[500 + i];
            float want = op == 0 ? a + b : op == 1 ? a * b : op == 2 ? a / b : sqrtf(a);
            check_close(j.out.u.f[i], (double)want, 0, ops[op], i);
        }
    }
}

static void stated_rounds_once(void **state)
{
    /* In f32, 2^24 + 1 + 1 stays at 2^24 when rounded at each step and is 2^24 + 2 when rounded once. */
    job j = {
        .env = *state,
        .prec = GCUT_STATED,
        .in = (double[]){16777216, 1, 1},
        .text =
            "gcut 1\nfunc @f(input %a: f32[3]) -> (out y: f32[]) {\n  %y: f32[] = sum(%a)\n  return %y\n}\n"};
    run(&j);
    assert_true(j.out.u.f[0] == 16777218);
    /* A mean of halves whose sum leaves the range of f16. */
    job h = {.env = *state,
             .prec = GCUT_STATED,
             .in = (double[]){60000, 60000, 60000},
             .text = "gcut 1\nfunc @f(input %a: f16[3]) -> (out y: f16[]) {\n  %y: f16[] = mean(%a)\n  "
                     "return %y\n}\n"};
    run(&h);
    assert_true(h.out.u.f[0] == 60000);
    job c = {
        .env = *state,
        .prec = GCUT_STATED,
        .in = (double[]){0x1p62},
        .text =
            "gcut 1\nfunc @f(input %a: i64[]) -> (out y: f32[]) {\n  %o = full(shape=[], value=274877906945, "
            "dtype=\"i64\")\n  %b = add(%a, %o)\n  %y = cast(%b, to=\"f32\")\n  return %y\n}\n"};
    run(&c); /* 2^62 + 2^38 + 1 is just above a tie of f32; through f64 it would become the tie */
    assert_true(c.out.u.f[0] == 0x1p62 + 0x1p39);
}

/* The value of a half, from its definition. */
static double half_value(unsigned bits, int fraction_bits, int bias)
{
    int e = (int)(bits & 0x7fff) >> fraction_bits, f = (int)(bits & ((1u << fraction_bits) - 1));
    int sign = bits & 0x8000 ? -1 : 1;
    if (e == 0x7fff >> fraction_bits) return f ? NaN : sign * INF;
    double m = ldexp((double)f, -fraction_bits) + (e > 0);
    return sign * ldexp(m, (e > 0 ? e : 1) - bias);
}

/* Every number, every midpoint between neighbours, and the doubles on both sides of it. */
static void check_half(gcut_env *env, gcut_dtype t, int fraction_bits, int bias)
{
    unsigned top = 0x7fffu >> fraction_bits << fraction_bits;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        uint16_t packed = (uint16_t)bits, back;
        gcut_array x = gcut_array_load(env->arena, t, 0, NULL, &packed);
        double v = half_value(bits, fraction_bits, bias);
        if (t == GCUT_bf16) {
            uint32_t wide = bits << 16;
            float f;
            memcpy(&f, &wide, sizeof f);
            check_close((double)f, v, 0, "bf16 is the top of f32", bits);
        }
        check_close(x.u.f[0], v, 0, "load", bits);
        gcut_array_store(&x, &back);
        if (isnan(v))
            assert_true(isnan(half_value(back, fraction_bits, bias)));
        else
            assert_int_equal(back, bits);
        check_close(gcut_round_to(v, t), v, 0, "round", bits);
        if (bits >= top) continue;
        /* Beyond the largest number the next one would be 2^(emax + 1), and rounding there means overflow. */
        double above = bits + 1 == top ? ldexp(1, bias + 1) : half_value(bits + 1, fraction_bits, bias);
        double over = bits + 1 == top ? INF : above, middle = v / 2 + above / 2, even = bits & 1 ? over : v;
        for (int sign = -1; sign <= 1; sign += 2) {
            check_close(gcut_round_to(sign * middle, t), sign * even, 0, "tie", bits);
            check_close(gcut_round_to(sign * nextafter(middle, 0), t), sign * v, 0, "below a tie", bits);
            check_close(gcut_round_to(sign * nextafter(middle, INF), t), sign * over, 0, "above a tie", bits);
        }
    }
    assert_true(isnan(gcut_round_to(NaN, t)));
    assert_true(signbit(gcut_round_to(-1e-300, t)));
    assert_true(gcut_round_to(1e300, t) == INF);
}

static void halves(void **state)
{
    check_half(*state, GCUT_f16, 10, 15);
    check_half(*state, GCUT_bf16, 7, 127);
}

/* ---- errors ---- */

#define TAKE(expr, i)                                                                                        \
    "gcut 1\nfunc @f(input %a: f32[2, 3], input %i: " i ", input %u: f32[2, 3]) -> (out y: f32[]) {\n"       \
    "  %z = " expr "\n  %y = sum(%z)\n  return %y\n}\n"

static void indices_out_of_range(void **state)
{
    double in[6 + 2 + 6] = {0};
    job take = {.env = *state, .in = in, .text = TAKE("take(%a, %i)", "i32[2]")};
    job scatter = {.env = *state, .in = in, .text = TAKE("scatter_add(%a, %i, %u)", "i64[2]")};
    job pick = {.env = *state, .in = in, .text = TAKE("pick(%a, %i, axis=1)", "i32[2]")};
    job loss = {.env = *state, .in = in, .text = TAKE("cross_entropy(%a, %i)", "i32[2]")};
    in[7] = 2;
    refuse(&take, GCUT_EINDEX, 3, WORDS("'take'", "index 2", "[0, 2)", "axis 0"));
    refuse(&scatter, GCUT_EINDEX, 3, WORDS("'scatter_add'", "index 2", "[0, 2)"));
    run(&pick);
    in[7] = -1;
    refuse(&take, GCUT_EINDEX, 3, WORDS("'take'", "index -1", "[0, 2)"));
    refuse(&pick, GCUT_EINDEX, 3, WORDS("'pick'", "index -1", "[0, 3)", "axis 1"));
    refuse(&loss, GCUT_EINDEX, 3, WORDS("'pick'", "index -1", "[0, 3)"));
    /* What differentiation and lowering see, the decomposition, refuses the same. */
    loss.expand = true;
    refuse(&loss, GCUT_EINDEX, 3, WORDS("'bounded'", "index -1", "[0, 3)"));
    in[7] = -100;
    run(&loss);
}

static void division_by_zero(void **state)
{
    job j = {.env = *state,
             .in = (double[]){1, 2, 3, 0},
             .text = "gcut 1\nfunc @f(input %a: i32[2], input %b: i32[2]) -> (out y: i32[2]) {\n"
                     "  %y = div(%a, %b)\n  return %y\n}\n"};
    refuse(&j, GCUT_ECHECK, 3, WORDS("'div'", "division by zero", "element 1"));
    j.text = "gcut 1\nfunc @f(input %a: i32[2], input %b: i32[2]) -> (out y: i32[2]) {\n"
             "  %y = mod(%a, %b)\n  return %y\n}\n";
    refuse(&j, GCUT_ECHECK, 3, WORDS("'mod'", "division by zero"));
}

/* ---- binding sizes ---- */

#define BIND                                                                                                 \
    "gcut 1\nfunc @f[N in 2..8 mult 2, M](input %a: f32[2*N+1, M], input %b: f32[M, N]) -> (out y: i64[]) "  \
    "{\n"                                                                                                    \
    "  %y = dim(of=10*N+M)\n  return %y\n}\n"
#define SOLVE                                                                                                \
    "gcut 1\nfunc @f[N, M](input %a: f32[2*N+1, M], input %b: f32[3*M-N]) -> (out y: i64[]) {\n"             \
    "  %y = dim(of=100*N+M)\n  return %y\n}\n"
#define CHAIN                                                                                                \
    "gcut 1\nfunc @f[N, M](input %b: f32[3*M-N], input %a: f32[2*N+1]) -> (out y: i64[]) {\n"                \
    "  %y = dim(of=100*N+M)\n  return %y\n}\n"
#define FLOOR                                                                                                \
    "gcut 1\nfunc @f[N](input %a: f32[div(N, 2)]) -> (out y: i64[]) {\n  %y = dim(of=N)\n  return %y\n}\n"
#define CHECK                                                                                                \
    "gcut 1\nfunc @f[N, M](input %a: f32[N], input %b: f32[M]) -> (out y: f32[N]) {\n"                       \
    "  %y = add(%a, %b)\n  return %y\n}\n"

static void sizes_are_bound(void **state)
{
    job j = {.env = *state, .text = BIND, .sizes = (int64_t[]){9, 5, 5, 4}};
    run(&j);
    assert_int_equal(j.out.u.i[0], 45);
    job s = {.env = *state, .text = SOLVE, .sizes = (int64_t[]){7, 5, 12}};
    run(&s);
    assert_int_equal(s.out.u.i[0], 305);
    job c = {.env = *state, .text = CHAIN, .sizes = (int64_t[]){12, 7}};
    run(&c);
    assert_int_equal(c.out.u.i[0], 305);
    job e = {.env = *state, .text = CHECK, .sizes = (int64_t[]){3, 3}};
    run(&e);
    assert_int_equal(e.out.n, 3);
}

static void sizes_are_refused(void **state)
{
    job j = {.env = *state, .text = BIND};
    j.sizes = (int64_t[]){8, 5, 5, 4};
    refuse(&j, GCUT_EDIM, 0, WORDS("%a", "axis 0", "2*N+1", "9", "8"));
    j.sizes = (int64_t[]){9, 5, 6, 4};
    refuse(&j, GCUT_EDIM, 0, WORDS("%b", "axis 0", "M = 5", "6"));
    j.sizes = (int64_t[]){21, 5, 5, 10};
    refuse(&j, GCUT_EDIM, 0, WORDS("N = 10", "2..8"));
    j.sizes = (int64_t[]){7, 5, 5, 3};
    refuse(&j, GCUT_EDIM, 0, WORDS("N = 3", "multiple of 2"));
    job s = {.env = *state, .text = SOLVE, .sizes = (int64_t[]){8, 5, 12}};
    refuse(&s, GCUT_EDIM, 0, WORDS("%a", "axis 0"));
    job f = {.env = *state, .text = FLOOR, .sizes = (int64_t[]){4}};
    refuse(&f, GCUT_EDIM, 0, WORDS("div(N", "depends on N"));
    f.text = "gcut 1\nfunc @f[N](input %a: f32[N]) -> (out y: i64[]) {\n  %y = dim(of=N-5)\n  return %y\n}\n";
    refuse(&f, GCUT_EDIM, 3, WORDS("below 0"));
    job e = {.env = *state, .text = CHECK, .sizes = (int64_t[]){3, 1}};
    refuse(&e, GCUT_EDIM, 3, WORDS("N = 3", "M = 1", "equal"));
    job k = {
        .env = *state,
        .sizes = (int64_t[]){3, 3},
        .text = "gcut 1\nfunc @f(input %a: f32[3], input %b: f32[4]) -> (out a: f32[3]) {\n  return %a\n}\n"};
    refuse(&k, GCUT_EDIM, 0, WORDS("%b", "expected 4", "found 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_sample),
        cmocka_unit_test_setup_teardown(samples_are_right, setup, teardown),
        cmocka_unit_test_setup_teardown(softmax_family, setup, teardown),
        cmocka_unit_test_setup_teardown(infinite_logits, setup, teardown),
        cmocka_unit_test_setup_teardown(norms, setup, teardown),
        cmocka_unit_test_setup_teardown(cross_entropies, setup, teardown),
        cmocka_unit_test_setup_teardown(attentions, setup, teardown),
        cmocka_unit_test_setup_teardown(causal_without_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(expansion_keeps_names, setup, teardown),
        cmocka_unit_test_setup_teardown(stated_f32_is_float_arithmetic, setup, teardown),
        cmocka_unit_test_setup_teardown(stated_rounds_once, setup, teardown),
        cmocka_unit_test_setup_teardown(halves, setup, teardown),
        cmocka_unit_test_setup_teardown(indices_out_of_range, setup, teardown),
        cmocka_unit_test_setup_teardown(division_by_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_are_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
