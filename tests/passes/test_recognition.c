/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What other programs write for composite ops becomes these ops and computes the same; what is not quite that stays.
 */
#include "interp.h"

#include "interp/initial_values.h"

typedef struct form {
    const char *what;
    const char *op;   /* that the graph has afterwards; NULL: nothing is recognised */
    const char *attr; /* in its line; NULL: any */
    const char *text; /* the body */
} form;

#define C(name, shape, value) "%" name ": f32[" shape "] = full(shape=[" shape "], value=" value ")\n"
#define X "2, 4, 6"
#define ROOT(eps) /* mean of squares of d, and its root */                                                   \
    "%s = mul(%d, %d)\n%m2 = mean(%s, axes=[2], keep=true)\n" C("e", "2, 4, 1", eps) "%v = add(%m2, %e)\n"
#define CENTRED                                                                                              \
    "%m1 = mean(%x, axes=[2], keep=true)\n%mb = broadcast(%m1, shape=[" X "], axes=[0, 1, 2])\n"             \
    "%d = sub(%x, %mb)\n"
#define ALONG(name, of) "%" name " = broadcast(%" of ", shape=[" X "], axes=[2])\n"
#define WIDE(name, of) "%" name " = broadcast(%" of ", shape=[" X "], axes=[0, 1, 2])\n"
#define Q "1, 2, 5, 5"
#define SCORES "%kt = transpose(%k, perm=[0, 1, 3, 2])\n%qk = matmul(%q, %kt)\n"
#define NORM_OF_SCORES(axes) /* of the scores' last axis, whose mean has the axes `axes` */                  \
    SCORES "%m1 = mean(%qk, axes=[3])\n%mb = broadcast(%m1, shape=[" Q "], axes=[" axes                      \
           "])\n%d = sub(%qk, %mb)\n"                                                                        \
           "%s = mul(%d, %d)\n%m2 = mean(%s, axes=[3], keep=true)\n" C(                                      \
               "e", "1, 2, 5, 1",                                                                            \
               "1e-3") "%v = add(%m2, %e)\n%root = sqrt(%v)\n%rb = broadcast(%root, shape=[" Q               \
                       "], axes=[0, 1, 2, 3])\n"                                                             \
                       "%n = div(%d, %rb)\n" C("g5", "5", "2.0")                                             \
                           C("b5", "5", "3.0") "%gb = broadcast(%g5, shape=[" Q                              \
                                               "], axes=[3])\n%bb = broadcast(%b5, shape=[" Q                \
                                               "], axes=[3])\n%ng = mul(%n, %gb)\n%all = add(%ng, %bb)\n%r " \
                                               "= slice(%all, start=[0, 0, 0, 0], limit=[1, 2, 5, 3])\n"
#define MASK(low)                                                                                            \
    "%i = iota(shape=[5, 5], axis=0)\n%j = iota(shape=[5, 5], axis=1)\n%above = gt(%j, %i)\n" C("o", "5, 5", \
                                                                                                "0.0")       \
        C("inf", "5, 5", low) "%tri = select(%above, %inf, %o)\n%mask = broadcast(%tri, shape=[" Q           \
                              "], axes=[2, 3])\n"

static const form forms[] = {
    {"silu", "silu", NULL, "%s = sigmoid(%x)\n%r = mul(%s, %x)\n"},
    {"sigmoid of another value", NULL, NULL, "%s = sigmoid(%y)\n%r = mul(%s, %x)\n"},
    {"gelu, divided", "gelu", NULL,
     C("c", X, "1.4142135381698608") C("o", X, "1.0")
         C("h", X,
           "0.5") "%a = div(%x, %c)\n%z = erf(%a)\n%d = add(%z, %o)\n%e = mul(%x, %d)\n%r = mul(%e, %h)\n"},
    {"gelu, multiplied first", "gelu", NULL,
     C("c", X, "0.7071067690849304") C("o", X, "1.0")
         C("h", X,
           "0.5") "%a = mul(%c, %x)\n%z = erf(%a)\n%d = add(%o, %z)\n%e = mul(%h, %x)\n%r = mul(%e, %d)\n"},
    {"gelu with another factor", NULL, NULL,
     C("c", X, "0.7") C("o", X, "1.0")
         C("h", X,
           "0.5") "%a = mul(%c, %x)\n%z = erf(%a)\n%d = add(%o, %z)\n%e = mul(%h, %x)\n%r = mul(%e, %d)\n"},
    {"gelu, half of it missing", NULL, NULL,
     C("c", X, "0.7071067690849304")
         C("o", X, "1.0") "%a = mul(%c, %x)\n%z = erf(%a)\n%d = add(%o, %z)\n%r = mul(%x, %d)\n"},
    {"gelu by tanh", "gelu", "tanh",
     C("c", X, "0.7978845834732056") C("o", X, "1.0") C("h", X, "0.5")
         C("cube", X,
           "0.044714998453855515") "%x2 = mul(%x, %x)\n%x3 = mul(%x2, %x)\n%kx = mul(%x3, %cube)\n%in = "
                                   "add(%x, "
                                   "%kx)\n%cin = mul(%in, %c)\n"
                                   "%t = tanh(%cin)\n%d = add(%t, %o)\n%e = mul(%x, %h)\n%r = mul(%e, %d)\n"},
    {"layer norm", "layer_norm", "eps=0.001",
     CENTRED ROOT("1e-3") "%root = sqrt(%v)\n" WIDE("rb", "root") "%n = div(%d, %rb)\n" ALONG("gb", "g")
         ALONG("bb", "b") "%ng = mul(%n, %gb)\n%r = add(%ng, %bb)\n"},
    {"layer norm of four axes", "layer_norm", "eps=0.001", NORM_OF_SCORES("0, 1, 2")},
    {"layer norm of means along another axis", "rms_norm", NULL, NORM_OF_SCORES("0, 1, 3")},
    {"layer norm by rsqrt", "layer_norm", NULL,
     CENTRED ROOT("1e-5") "%root = rsqrt(%v)\n" WIDE("rb", "root") "%n = mul(%d, %rb)\n" ALONG("gb", "g")
         ALONG("bb", "b") "%ng = mul(%gb, %n)\n%r = add(%bb, %ng)\n"},
    {"layer norm of another mean", "rms_norm", NULL,
     "%m1 = mean(%y, axes=[2], keep=true)\n" WIDE("mb", "m1") "%d = sub(%x, %mb)\n" ROOT(
         "1e-5") "%root = sqrt(%v)\n" WIDE("rb", "root") "%n = div(%d, %rb)\n" ALONG("gb", "g")
         ALONG("bb", "b") "%ng = mul(%n, %gb)\n%r = add(%ng, %bb)\n"},
    {"rms norm", "rms_norm", "eps=1",
     "%o = sub(%x, %y)\n%d = add(%o, %y)\n" ROOT("1e-6")
         C("one", "2, 4, 1", "1.0") "%root = sqrt(%v)\n%inv = div(%one, %root)\n" WIDE(
             "ib", "inv") "%n = mul(%d, %ib)\n" ALONG("gb", "g") "%r = mul(%gb, %n)\n"},
    {"rms norm over another axis", NULL, NULL,
     "%d = neg(%x)\n%s = mul(%d, %d)\n%m2 = mean(%s, axes=[1], keep=true)\n" C(
         "e", "2, 1, 6",
         "1e-6") "%v = add(%m2, %e)\n%root = rsqrt(%v)\n" WIDE("ib",
                                                               "root") "%n = mul(%d, %ib)\n" ALONG("gb",
                                                                                                   "g") "%r "
                                                                                                        "= "
                                                                                                        "mul("
                                                                                                        "%gb,"
                                                                                                        " %n)"
                                                                                                        "\n"},
    {"attention", "attention", "scale=1", SCORES "%p = softmax(%qk, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention, scaled, with a bias", "attention", "scale=0.25",
     SCORES C("c", Q, "4.0") "%qs = div(%qk, %c)\n%qb = add(%qs, %bias)\n%p = softmax(%qb, axis=3)\n%r = "
                             "matmul(%p, %w)\n"},
    {"attention, causal", "attention", "causal=true",
     SCORES MASK("-inf") "%qb = add(%mask, %qk)\n%p = softmax(%qb, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention, causal, of chosen scores", "attention", "causal=true",
     SCORES "%i = iota(shape=[1, 1, 8, 8], axis=2)\n%j = iota(shape=[1, 1, 8, 8], axis=3)\n%le = le(%j, %i)\n"
            "%corner = slice(%le, start=[0, 0, 0, 0], limit=[1, 1, 5, 5])\n"
            "%keep = broadcast(%corner, shape=[" Q "], axes=[0, 1, 2, 3])\n" C(
                "low", Q,
                "-1e38") "%qb = select(%keep, %qk, %low)\n%p = softmax(%qb, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention, chosen from another corner", NULL, NULL,
     SCORES "%i = iota(shape=[1, 1, 8, 8], axis=2)\n%j = iota(shape=[1, 1, 8, 8], axis=3)\n%le = le(%j, %i)\n"
            "%corner = slice(%le, start=[0, 0, 1, 0], limit=[1, 1, 6, 5])\n"
            "%keep = broadcast(%corner, shape=[" Q "], axes=[0, 1, 2, 3])\n" C(
                "low", Q,
                "-1e38") "%qb = select(%keep, %qk, %low)\n%p = softmax(%qb, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention with a mask that leaves something", "attention", "%mask",
     SCORES MASK("-3.0") "%qb = add(%mask, %qk)\n%p = softmax(%qb, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention, factors of both operands", "attention", "scale=0.125",
     C("c", "1, 2, 5, 3", "0.25")
         C("h", "1, 2, 3, 5", "0.5") "%qs = mul(%q, %c)\n%kt = transpose(%k, perm=[0, 1, 3, 2])\n%ks = "
                                     "mul(%h, %kt)\n%qk = matmul(%qs, %ks)\n"
                                     "%p = softmax(%qk, axis=3)\n%r = matmul(%p, %w)\n"},
    {"attention by another transpose", "attention", NULL,
     "%k0 = transpose(%k, perm=[0, 2, 1, 3])\n%kt = transpose(%k0, perm=[0, 2, 3, 1])\n%qk = matmul(%q, "
     "%kt)\n"
     "%p = softmax(%qk, axis=3)\n%r = matmul(%p, %w)\n"},
    {"softmax over another axis", NULL, NULL, SCORES "%p = softmax(%qk, axis=2)\n%r = matmul(%p, %w)\n"},
};

typedef struct trial {
    gcut_env *env;
    const form *f;
} trial;

/* By the interpreter in f64, on random values. */
static gcut_array result_of(const gcut_graph *g, gcut_arena *a)
{
    gcut_array in[16], out;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[i].value);
        in[i] = gcut_random_array(a, t->dtype, t->rank, t->dim, 7, g->values.at[g->params.at[i].value].name,
                                  0, 1);
    }
    gcut_interp(g, GCUT_EXACT, a, in, &out, NULL);
    return out;
}

static bool is_composite(const char *line, const char *op)
{
    char call[64];
    snprintf(call, sizeof call, " = %s(", op);
    return strstr(line, call) != NULL;
}

static void check(void *arg)
{
    trial *t = arg;
    gcut_arena *a = t->env->arena;
    const char *text =
        gcut_printf(a,
                    "gcut 1\nfunc @f(input %%x: f32[" X "], input %%y: f32[" X
                    "], input %%g: f32[6], input %%b: f32[6], input %%q: f32[1, 2, 5, 3],\n"
                    " input %%k: f32[1, 2, 5, 3], input %%w: f32[1, 2, 5, 3], input %%bias: f32[" Q
                    "]) -> (out r: f32[%s]) {\n%sreturn %%r\n}\n",
                    strstr(t->f->text, "matmul") ? "1, 2, 5, 3" : X, t->f->text);
    gcut_module *m = gcut_parse_module(t->env, a, "t.gcut", text, strlen(text));
    gcut_graph *g = m->graphs.at[0], *y = gcut_pass_recognize(g, "recognised");
    gcut_verify(y);
    y = gcut_pass_dce(y, "live");
    gcut_verify(y);
    gcut_text printed = {.arena = a};
    static const char *const ops[] = {"silu", "gelu", "layer_norm", "rms_norm", "attention"};
    gcut_print_graph(y, &(gcut_print_options){.no_loc = true}, &printed);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const bool want = t->f->op && !strcmp(ops[i], t->f->op);
        if (is_composite(printed.at, ops[i]) != want)
            fail_msg("%s: %s is %sthere:\n%s", t->f->what, ops[i], want ? "not " : "", printed.at);
    }
    if (t->f->attr && !strstr(printed.at, t->f->attr))
        fail_msg("%s: there is no '%s':\n%s", t->f->what, t->f->attr, printed.at);
    const gcut_array before = result_of(g, a), after = result_of(y, a);
    assert_int_equal(before.n, after.n);
    for (int64_t k = 0; k < before.n; k++)
        if (!(fabs(before.u.f[k] - after.u.f[k]) <= 1e-6 * (1 + fabs(before.u.f[k]))))
            fail_msg("%s: element %lld is %.9g, %.9g before", t->f->what, (long long)k, after.u.f[k],
                     before.u.f[k]);
}

static void composites_are_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        trial t = {.env = gcut_env_new(NULL, NULL), .f = &forms[i]};
        must(t.env, check, &t);
        gcut_env_free(t.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(composites_are_recognised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
