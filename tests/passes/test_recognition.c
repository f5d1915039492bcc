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

/* By the interpreter in f64, on random values; symbols are `size`. */
static gcut_array result_of(const gcut_graph *g, gcut_arena *a, int64_t size)
{
    gcut_array in[16], out;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[i].value);
        gcut_dim dims[GCUT_MAX_RANK];
        for (uint32_t d = 0; d < t->rank; d++) dims[d] = gcut_dim_known(t->dim[d]) ? t->dim[d] : size;
        in[i] =
            gcut_random_array(a, t->dtype, t->rank, dims, 7, g->values.at[g->params.at[i].value].name, 0, 1);
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

static void compare(const char *what, const gcut_graph *g, const gcut_graph *y, gcut_arena *a, int64_t size)
{
    const gcut_array before = result_of(g, a, size), after = result_of(y, a, size);
    assert_int_equal(before.n, after.n);
    for (int64_t k = 0; k < before.n; k++) {
        const double x = before.u.f[k], z = after.u.f[k];
        if (!(fabs(x - z) <= 1e-6 * (1 + fabs(x))) && !(isnan(x) && isnan(z)))
            fail_msg("%s: element %lld is %.9g, %.9g before", what, (long long)k, z, x);
    }
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
    compare(t->f->what, g, y, a, 1);
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

/* ---- masks over a symbol ---- */

/* %m: f32[T, T], which is added to the scores, of the indices %i of rows and %j of columns, of %one, %zero and %low, all
 * [T, T], and of an input %x: f32[T, T]. */
typedef struct mask {
    const char *what;
    bool causal;
    const char *text;
} mask;

#define CHOOSE "%m = select(%c, %zero, %low)\n"
#define FULL(name, value, dtype) "%" name " = full(shape=[T, T], value=" value ", dtype=\"" dtype "\")\n"
static const mask masks[] = {
    {"column <= row", true, "%c = le(%j, %i)\n" CHOOSE},
    {"row >= column", true, "%c = ge(%i, %j)\n" CHOOSE},
    {"not column > row", true, "%d = gt(%j, %i)\n%c = not(%d)\n" CHOOSE},
    {"not row < column", true, "%d = lt(%i, %j)\n%c = not(%d)\n" CHOOSE},
    {"column < row + 1", true, FULL("o", "1", "i32") "%i1 = add(%i, %o)\n%c = lt(%j, %i1)\n" CHOOSE},
    {"column + 1 > row + 1, chosen the other way", true,
     FULL("o", "1",
          "i32") "%i1 = add(%i, %o)\n%l = add(%o, %j)\n%c = gt(%l, %i1)\n%m = select(%c, %low, %zero)\n"},
    {"row + 1 > column", true, FULL("o", "1", "i32") "%i1 = add(%i, %o)\n%c = gt(%i1, %j)\n" CHOOSE},
    {"a triangle of ones that is 0", true,
     "%d = le(%j, %i)\n%n = select(%d, %one, %zero)\n%e = eq(%n, %zero)\n%m = select(%e, %low, %zero)\n"},
    {"times the lowest", true,
     "%d = le(%j, %i)\n%n = cast(%d, to=\"f32\")\n%o = sub(%one, %n)\n%m = mul(%o, %low)\n"},
    {"indices along one axis each", true,
     "%a = iota(shape=[T], dtype=\"i64\")\n%r1 = reshape(%a, shape=[T, 1])\n%q1 = reshape(%a, shape=[1, T])\n"
     "%rr = broadcast(%r1, shape=[T, T], axes=[0, 1])\n%cc = broadcast(%q1, shape=[T, T], axes=[0, 1])\n"
     "%c = le(%cc, %rr)\n" CHOOSE},
    {"of more axes", true,
     "%d = le(%j, %i)\n%e = reshape(%d, shape=[1, T, T])\n%f = select(%d, %zero, %low)\n"
     "%h = reshape(%f, shape=[1, T, T])\n%m = reshape(%h, shape=[T, T])\n"},
    {"indices so far away that their sums may overflow", false,
     "%a = iota(shape=[T, T], axis=0, dtype=\"i64\")\n%b1 = iota(shape=[T, T], axis=1, dtype=\"i64\")\n" FULL(
         "o", "4611686018427387904",
         "i64") "%a1 = add(%a, %o)\n%b2 = add(%b1, %o)\n%c = le(%b2, %a1)\n" CHOOSE},
    {"column < row", false, "%c = lt(%j, %i)\n" CHOOSE},
    {"column <= row + 1", false, FULL("o", "1", "i32") "%i1 = add(%i, %o)\n%c = le(%j, %i1)\n" CHOOSE},
    {"column >= row", false, "%c = ge(%j, %i)\n" CHOOSE},
    {"column == row", false, "%c = eq(%j, %i)\n" CHOOSE},
    {"column <= column", false, "%c = le(%j, %j)\n" CHOOSE},
    {"a triangle that is 1", false, "%c = le(%j, %i)\n%m = select(%c, %one, %low)\n"},
    {"a triangle that leaves something", false,
     FULL("lower", "-3.0", "f32") "%c = le(%j, %i)\n%m = select(%c, %zero, %lower)\n"},
    {"0 times infinity", false,
     FULL("inf", "-inf", "f32") "%d = gt(%j, %i)\n%n = cast(%d, to=\"f32\")\n%m = mul(%n, %inf)\n"},
    {"of an input", false, "%c = le(%j, %i)\n%m = select(%c, %x, %low)\n"},
    {"of both", false, "%d = le(%j, %i)\n%e = lt(%x, %zero)\n%c = and(%d, %e)\n" CHOOSE},
    {"indices along the same axis", false,
     "%a = iota(shape=[T], dtype=\"i64\")\n%r1 = reshape(%a, shape=[T, 1])\n"
     "%rr = broadcast(%r1, shape=[T, T], axes=[0, 1])\n%cc = broadcast(%a, shape=[T, T], axes=[0])\n"
     "%c = le(%cc, %rr)\n" CHOOSE},
};

typedef struct mask_trial {
    gcut_env *env;
    const mask *m;
} mask_trial;

static void check_mask(void *arg)
{
    const mask_trial *t = arg;
    gcut_arena *a = t->env->arena;
    const char *text =
        gcut_printf(a,
                    "gcut 1\nfunc @f[T in 1..](input %%q: f32[1, 2, T, 3], input %%k: f32[1, 2, T, 3], input "
                    "%%w: f32[1, 2, T, 3],\n"
                    " input %%x: f32[T, T]) -> (out r: f32[1, 2, T, 3]) {\n%s"
                    "%%i = iota(shape=[T, T], axis=0)\n%%j = iota(shape=[T, T], axis=1)\n%%one = "
                    "full(shape=[T, T], value=1.0)\n"
                    "%%zero = full(shape=[T, T], value=0.0)\n%%low = full(shape=[T, T], value=-3e38)\n%s"
                    "%%mm = broadcast(%%m, shape=[1, 2, T, T], axes=[2, 3])\n%%qb = add(%%qk, %%mm)\n"
                    "%%p = softmax(%%qb, axis=3)\n%%r = matmul(%%p, %%w)\nreturn %%r\n}\n",
                    SCORES, t->m->text);
    gcut_module *m = gcut_parse_module(t->env, a, "t.gcut", text, strlen(text));
    gcut_graph *g = m->graphs.at[0], *y = gcut_pass_dce(gcut_pass_recognize(g, "recognised"), "live");
    gcut_verify(y);
    gcut_text printed = {.arena = a};
    gcut_print_graph(y, &(gcut_print_options){.no_loc = true}, &printed);
    if (!strstr(printed.at, "attention(") || !strstr(printed.at, "causal=true") != !t->m->causal)
        fail_msg("%s: the attention is %scausal:\n%s", t->m->what, t->m->causal ? "not " : "", printed.at);
    for (int64_t size = 1; size <= 5; size++) compare(t->m->what, g, y, a, size);
}

static void causal_masks_of_any_size_are_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        mask_trial t = {.env = gcut_env_new(NULL, NULL), .m = &masks[i]};
        must(t.env, check_mask, &t);
        gcut_env_free(t.env);
    }
}

/* A broadcast of four equal sizes, whose operand lies along the first two axes. */
static void check_other_axes(void *arg)
{
    const mask_trial *t = arg;
    gcut_arena *a = t->env->arena;
    gcut_module *m = gcut_parse_module(t->env, a, "t.gcut", t->m->text, strlen(t->m->text));
    gcut_graph *g = m->graphs.at[0], *y = gcut_pass_dce(gcut_pass_recognize(g, "recognised"), "live");
    gcut_text printed = {.arena = a};
    gcut_print_graph(y, &(gcut_print_options){.no_loc = true}, &printed);
    if (strstr(printed.at, "causal=true")) fail_msg("a mask along other axes is causal:\n%s", printed.at);
    compare(t->m->what, g, y, a, 4);
}

#define EVERY(n) n ", " n ", " n ", " n
#define OTHER(f, n)                                                                                          \
    "gcut 1\nfunc @f" f "(input %q: f32[" EVERY(n) "], input %k: f32[" EVERY(n) "], input %w: f32[" EVERY(   \
        n) "])\n -> (out r: f32[" EVERY(n) "]) {\n" SCORES "%i = iota(shape=[" n ", " n                      \
                                           "], axis=0)\n%j = iota(shape=[" n ", " n                          \
                                           "], axis=1)\n%c = le(%j, %i)\n%z = full(shape=[" n ", " n         \
                                           "], value=0.0)\n%l = full(shape=[" n ", " n                       \
                                           "], value=-3e38)\n%m = select(%c, %z, %l)\n%mm = broadcast(%m, "  \
                                           "shape=[" EVERY(n) "], axes=[0, 1])\n"                            \
                                                              "%qb = add(%qk, %mm)\n%p = softmax(%qb, "      \
                                                              "axis=3)\n%r = matmul(%p, %w)\nreturn %r\n}\n"

static void a_mask_along_other_axes_is_not_causal(void **state)
{
    static const mask both[] = {{"of a known size", false, OTHER("", "4")},
                                {"of any size", false, OTHER("[T in 1..]", "T")}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        mask_trial t = {.env = gcut_env_new(NULL, NULL), .m = &both[k]};
        must(t.env, check_other_axes, &t);
        gcut_env_free(t.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(composites_are_recognised),
                                       cmocka_unit_test(causal_masks_of_any_size_are_recognised),
                                       cmocka_unit_test(a_mask_along_other_axes_is_not_causal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
