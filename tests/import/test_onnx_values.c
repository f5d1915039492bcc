/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Results of small models of ONNX, as onnxruntime or the specification has them.  GCUT_ONNX_CASES=PATTERN runs those of
 * matching names alone, GCUT_KEEP_ONNX=FOLDER keeps the models.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "harness.h"

#include "base/names.h"
#include "graph/verify.h"
#include "import/onnx/import.h"
#include "import/tensor_file.h"
#include "interp/initial_values.h"
#include "onnx_text.h"

typedef struct world {
    gcut_env *env;
    const struct sample *sample;
} world;

FIXTURE(world)

typedef struct sample {
    const char *name, *model;
    const char *says; /* why it is refused, or does not run; NULL: it runs */
} sample;

static const gcut_array *contents_of(const onnx_text *t, const char *name)
{
    for (uint32_t i = 0; i < t->in.n; i++)
        if (!strcmp(t->in.at[i].name, name)) return &t->in.at[i].x;
    fail_msg("there is no input '%s'", name);
    return NULL;
}

/* What each parameter of the imported function holds. */
static gcut_array *parameters_of(const onnx_text *t, const gcut_graph *g, const gcut_tensor_file *file)
{
    const gcut_module *m = g->module;
    gcut_array *x = gcut_calloc(t->a, g->params.n + 1u, sizeof *x);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const char *name = g->values.at[g->params.at[i].value].name;
        const gcut_data *d = NULL;
        for (uint32_t k = 0; k < m->data.n; k++)
            if (!strcmp(m->data.at[k].name, name)) d = &m->data.at[k];
        if (d && d->kind == GCUT_DATA_file) {
            const gcut_tensor *of = gcut_tensor_get(m->env, file, d->key);
            x[i] = gcut_array_load(t->a, of->dtype, of->rank, of->dim, of->data);
        } else if (d) {
            x[i] = gcut_data_array(t->a, m, d, d->type.dim);
        } else if (g->params.at[i].role == GCUT_ROLE_rng) {
            x[i] = gcut_array_new(t->a, GCUT_I64, 0, NULL);
        } else {
            x[i] = *contents_of(t, name);
        }
    }
    return x;
}

static bool same_number(const gcut_array *x, const gcut_array *want, int64_t k)
{
    if (!gcut_dtype_is_float(x->dtype)) return x->u.i[k] == want->u.i[k];
    const double a = x->u.f[k], b = want->u.f[k];
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-5 * fabs(b) + 1e-7;
}

static void compare(const onnx_contents *want, const gcut_array *x)
{
    bool same = x->dtype == want->x.dtype && x->rank == want->x.rank;
    for (uint32_t r = 0; same && r < x->rank; r++) same = x->dim[r] == want->x.dim[r];
    if (!same)
        fail_msg("%s is %s with %lld elements along axis 0 of %u", want->name, gcut_dtype_name(x->dtype),
                 (long long)(x->rank ? x->dim[0] : 1), (unsigned)x->rank);
    for (int64_t k = 0; k < x->n; k++)
        if (!same_number(x, &want->x, k))
            fail_msg("%s[%lld] is %.17g (%lld), expected %.17g (%lld)", want->name, (long long)k, x->u.f[k],
                     (long long)x->u.i[k], want->x.u.f[k], (long long)want->x.u.i[k]);
}

static void write_model(const char *path, const msg *m)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m->at, 1, m->n, f), m->n);
    assert_int_equal(fclose(f), 0);
}

static void keep(const sample *s, const msg *m)
{
    const char *to = getenv("GCUT_KEEP_ONNX");
    char path[600];
    if (!to) return;
    snprintf(path, sizeof path, "%s/%s.onnx", to, s->name);
    write_model(path, m);
}

static void run_sample(void *arg)
{
    world *w = arg;
    gcut_arena *a = w->env->arena;
    const sample *s = w->sample;
    const onnx_text t = read_onnx_text(a, s->model);
    keep(s, &t.model);
    write_model("m.onnx", &t.model);
    const gcut_graph *g =
        gcut_onnx_import_model(gcut_onnx_open(a, "m.onnx"), gcut_module_new(w->env, a), "main", NULL).g;
    gcut_verify_module(g->module);
    gcut_array *out = gcut_calloc(a, g->results.n + 1u, sizeof *out);
    gcut_interp(g, GCUT_STATED, a, parameters_of(&t, g, gcut_tensor_file_open(a, "m.onnx")), out, NULL);
    for (uint32_t i = 0, k = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out) compare(&t.out.at[k++], &out[i]);
}

static void run_samples(world *w, const sample *all, size_t n)
{
    const char *only = getenv("GCUT_ONNX_CASES");
    for (size_t i = 0; i < n; i++) {
        if (only && !gcut_name_matches(only, all[i].name)) continue;
        TRY("%s", all[i].name);
        w->sample = &all[i];
        gcut_env_free(w->env);
        w->env = gcut_env_new(NULL, NULL);
        const gcut_status status = gcut_protect(w->env, run_sample, w);
        const char *said = w->env->ndiags ? gcut_diag_text(w->env->arena, &w->env->diags[0]) : "";
        if (all[i].says ? !strstr(said, all[i].says) : status != GCUT_OK)
            fail_msg("expected '%s', found status %d, '%s'", all[i].says ? all[i].says : "", (int)status,
                     said);
    }
}

#define SAMPLES(test, ...)                                                                                   \
    static void test(void **state)                                                                           \
    {                                                                                                        \
        static const sample all[] = {__VA_ARGS__};                                                           \
        run_samples(*state, all, sizeof all / sizeof *all);                                                  \
    }
#define GIVES(name, model)                                                                                   \
    {                                                                                                        \
        name, model, NULL                                                                                    \
    }
#define REFUSED(name, says, model)                                                                           \
    {                                                                                                        \
        name, model, says                                                                                    \
    }

/* ---- integers ---- */

SAMPLES(wide_integers,
        GIVES("add_low", "in x i64[2] {0 1}; init c i64[2] {-7046029254386353131 1}; y = Add(x, c)\n"
                         "out y i64[2] {-7046029254386353131 2}"),
        GIVES("add_odd", "in x i64[2] {0 1}; init c i64[2] {9007199254740993 5}; y = Add(x, c)\n"
                         "out y i64[2] {9007199254740993 6}"),
        GIVES("constants",
              "in x i64[4] {0 0 0 0}\n"
              "c = Constant() value=i64[4] {-7046029254386353131 9007199254740993 -3 4}; y = Add(x, c)\n"
              "out y i64[4] {-7046029254386353131 9007199254740993 -3 4}"),
        GIVES("full", "in x i64[2] {0 1}; init n i64[1] {2}\n"
                      "c = ConstantOfShape(n) value=i64[1] {9007199254740993}; y = Add(x, c)\n"
                      "out y i64[2] {9007199254740993 9007199254740994}"),
        GIVES("product", "in x i64[2] {0 1}; init a i64[2] {-5 3}; init b i64[2] {1152921504606846976 7}\n"
                         "c = Mul(a, b); d = Add(c, a); y = Add(x, d)\n"
                         "out y i64[2] {-5764607523034234885 25}"),
        GIVES("range", "in x i64[3] {0 0 0}; c = Range(a, b, s); y = Add(x, c)\n"
                       "init a i64[] {9007199254740993}; init b i64[] {9007199254740998}; init s i64[] {2}\n"
                       "out y i64[3] {9007199254740993 9007199254740995 9007199254740997}"),
        GIVES("pad",
              "in x i64[1] {1}; init p i64[2] {0 1}; init v i64[] {9007199254740993}; y = Pad(x, p, v)\n"
              "out y i64[2] {1 9007199254740993}"),
        GIVES("slice_all",
              "in x f32[N=3] {1 2 3}; s = Constant() value_ints=[-1]; a = Constant() value_ints=[0]\n"
              "e = Constant() value_ints=[-9223372036854775807]; y = Slice(x, s, e, a, s)\n"
              "out y f32[3] {3 2 1}"),
        GIVES("size_and_low", "in x f32[N=3] {1 2 3}; init c i64[1] {-7046029254386353131}\n"
                              "s = Shape(x); y = Add(s, c); out y i64[1] {-7046029254386353128}"))

/* ---- products ---- */

SAMPLES(
    products,
    GIVES("einsum_implicit", "in x f32[2,1,2] {1 2 3 4}; in z f32[2,2,1] {1 2 3 4}\n"
                             "y = Einsum(x, z) equation='...ij, ...jk'; out y f32[2,1,1] {5 25}"),
    GIVES("einsum_identity", "in x f32[2,3] {1 2 3 4 5 6}; y = Einsum(x) equation='...i'\n"
                             "out y f32[2,3] {1 2 3 4 5 6}"),
    GIVES("einsum_repeats", "in x f32[1,1,2] {1 2}; in z f32[4,2,1] {1 2 3 4 5 6 7 8}\n"
                            "y = Einsum(x, z) equation='...ij,...jk->...ik'; out y f32[4,1,1] {5 11 17 23}"),
    GIVES("einsum_ranks",
          "in x f32[2,1,2] {1 2 3 4}; in z f32[2] {1 2}; y = Einsum(x, z) equation='a...,...->...a'\n"
          "out y f32[1,2,2] {1 3 4 8}"),
    GIVES("integers_wrap",
          "in x i32[1,1] {65536}; in z i32[1,1] {65536}; y = MatMul(x, z); out y i32[1,1] {0}"),
    GIVES("integers_wide", "in x i64[1,2] {9007199254740993 1}; in z i64[2,2] {1 2 3 4}; y = MatMul(x, z)\n"
                           "out y i64[1,2] {9007199254740996 18014398509481990}"),
    GIVES("integers_batch", "in x i32[2,1,1,2] {1 2 3 4}; in z i32[2,2,1] {1 2 3 4}; y = MatMul(x, z)\n"
                            "out y i32[2,2,1,1] {5 11 11 25}"),
    GIVES("integers_vector", "in x i32[2] {1 2}; in z i32[2] {3 4}; y = MatMul(x, z); out y i32[] {11}"),
    GIVES("integers_gemm", "in x i64[2,1] {1 2}; in z i64[2,2] {9007199254740993 2 3 4}; in c i64[2] {1 1}\n"
                           "y = Gemm(x, z, c) transA=1 transB=0; out y i64[1,2] {9007199254741000 11}"),
    REFUSED("einsum_ellipses", "has two ellipses",
            "in x f32[1,1,1,1,1,1,1,2] {1 2}; y = Einsum(x) equation='...a...'; out y f32[2] {1 2}"),
    REFUSED("einsum_few", "more axes than its operand",
            "in x f32[2] {1 2}; y = Einsum(x) equation='...ab'; out y f32[2] {1 2}"))

/* ---- functions of the model ---- */

#define LEAKY "function f(a) -> (b) al=0.5 { b = LeakyRelu(a) alpha=@al }\nin x f32[2] {-1 2}\n"

SAMPLES(functions, GIVES("attribute_default", LEAKY "y = f(x); out y f32[2] {-0.5 2}"),
        GIVES("attribute_given", LEAKY "y = f(x) al=0.25; out y f32[2] {-0.25 2}"),
        GIVES("attribute_passed", LEAKY "function g(a) -> (b) be=0.75 { b = f(a) al=@be }\n"
                                        "y = g(x); out y f32[2] {-0.75 2}"),
        GIVES("attribute_in_branch",
              "function f(p, a) -> (b) al=0.5 { b = If(p) then_branch={ c = LeakyRelu(a) alpha=@al; out c }"
              " else_branch={ d = Identity(a); out d } }\n"
              "in x f32[2] {-1 2}; in p bool[] {1}; y = f(p, x); out y f32[2] {-0.5 2}"))

/* ---- pools ---- */

#define SQUARE "in x f32[1,1,3,3] {1 2 3 4 5 6 7 8 9}\n"

SAMPLES(pools,
        GIVES("lp_dilated", "opset 18\n" SQUARE "y = LpPool(x) kernel_shape=[2,2] dilations=[2,2] p=1\n"
                            "out y f32[1,1,1,1] {20}"),
        GIVES("lp_ceil",
              "opset 18\n" SQUARE "y = LpPool(x) kernel_shape=[2,2] strides=[2,2] ceil_mode=1 p=1\n"
              "out y f32[1,1,2,2] {12 9 15 9}"),
        GIVES("average_dilated",
              "opset 19\n" SQUARE "y = AveragePool(x) kernel_shape=[2,2] dilations=[2,2] pads=[1,0,0,0]\n"
              "out y f32[1,1,2,1] {5 5}"))

/* ---- loops ---- */

/* 2 where iterations drop other elements, 0 where all drop the same. */
#define DROPS                                                                                                \
    "p = Constant() value_float=0.5; t = Constant() value=bool[] {1}; w = Constant() value_float=1.0\n"      \
    "e = Expand(w, k); d = Dropout(e, p, t)\n"
#define ZEROS_8 " 0 0 0 0 0 0 0 0"
#define ZEROS_36 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 " 0 0 0 0"
#define ZEROS_64 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8 ZEROS_8
#define DIFFERENCE                                                                                           \
    "h = ReduceMax(s) axes=[0] keepdims=0; l = ReduceMin(s) axes=[0] keepdims=0; m = Sub(h, l)\n"            \
    "y = ReduceMax(m) axes=[0] keepdims=0; out y f32[] {2}"

SAMPLES(loops,
        GIVES("drop_loop", "init n i64[] {3}; init k i64[1] {64}\n"
                           "s = Loop(n, _) body={ in i; in c; " DROPS " out c; out d }\n" DIFFERENCE),
        GIVES("drop_old", "opset 6\nin z f32[1] {1}; e = Constant() value=f32[8] {1 1 1 1 1 1 1 1}\n"
                          "d = Dropout(e); o = Dropout(e) is_test=1; f = Sub(o, d); g = Abs(f)\n"
                          "m = ReduceMax(g) axes=[0]; y = Add(m, z); out y f32[1] {2}"),
        GIVES("drop_scan", "in x f32[3] {1 2 3}; init k i64[1] {64}\n"
                           "s = Scan(x) num_scan_inputs=1 body={ in z; " DROPS " out d }\n" DIFFERENCE),
        GIVES("drop_while",
              "in n i64[] {2}; in b f32[64] {" ZEROS_64 "}; in a f32[64] {" ZEROS_64 "}; init k i64[1] {64}\n"
              "q, r = Loop(n, _, a, b) body={ in i; in c; in u; in v; " DROPS
              " g = Identity(u); out c; out d; out g }\n"
              "f = Constant() value_ints=[1, 64]; q2 = Reshape(q, f); r2 = Reshape(r, f)\n"
              "s = Concat(q2, r2) axis=0\n" DIFFERENCE),
        GIVES("drop_nested",
              "in x f32[1] {1}; init n i64[] {3}; init k i64[1] {64}\n"
              "t0, s0 = Loop(n, _, x) body={ in i; in c; in v; z = Add(v, v)\n"
              "  s1 = Scan(x) num_scan_inputs=1 body={ in zz; " DROPS " out d }; out c; out z; out s1 }\n"
              "f = Constant() value_ints=[3, 64]; s = Reshape(s0, f)\n" DIFFERENCE))

/* ---- recurrent layers ---- */

SAMPLES(recurrent_layers,
        GIVES("rnn_alpha",
              "in x f32[2,1,1] {-1 -1}; init w f32[1,1,1] {1}; init r f32[1,1,1] {0.5}\n"
              "y, h = RNN(x, w, r) hidden_size=1 activations=['LeakyRelu'] activation_alpha=[0.5]\n"
              "out y f32[2,1,1,1] {-0.5 -0.625}"),
        GIVES("rnn_alphas", "in x f32[1,1,1] {-1}; init w f32[2,1,1] {1 1}; init r f32[2,1,1] {0 0}\n"
                            "y, h = RNN(x, w, r) hidden_size=1 direction='bidirectional' "
                            "activations=['LeakyRelu', 'Elu'] activation_alpha=[0.5, 2.0]\n"
                            "out y f32[1,2,1,1] {-0.5 -1.2642411}"))

/* ---- slices and pads ---- */

#define FIVE "in x f32[N=5] {0 1 2 3 4}\n"
#define ABCDE "in x f32[5] {0 1 2 3 4}\n"
#define THREE "in x f32[N=3] {0 1 2}\n"
#define AXES "init a i64[1] {0}\n"

SAMPLES(slices,
        GIVES("back_below", ABCDE AXES "init s i64[1] {-10}; init e i64[1] {-11}; init t i64[1] {-1}\n"
                                       "y = Slice(x, s, e, a, t); out y f32[1] {0}"),
        GIVES("back_symbolic_size", FIVE AXES "init s i64[1] {3}; init e i64[1] {0}; init t i64[1] {-2}\n"
                                              "y = Slice(x, s, e, a, t); out y f32[2] {3 1}"),
        GIVES("back_symbolic_ends", THREE AXES "init s i64[1] {-2}; init e i64[1] {-9}; init t i64[1] {-1}\n"
                                               "y = Slice(x, s, e, a, t); out y f32[2] {1 0}"),
        GIVES("back_symbolic_beyond", THREE AXES "init s i64[1] {7}; init e i64[1] {0}; init t i64[1] {-1}\n"
                                                 "y = Slice(x, s, e, a, t); out y f32[2] {2 1}"),
        GIVES("back_below_symbolic", THREE AXES "init s i64[1] {-7}; init e i64[1] {-9}; init t i64[1] {-1}\n"
                                                "y = Slice(x, s, e, a, t); out y f32[1] {0}"),
        GIVES("back_symbolic_start",
              ABCDE AXES "in z f32[M=3] {0 0 0}; init e i64[1] {-2147483648}; init t i64[1] {-1}\n"
                         "s = Shape(z); y = Slice(x, s, e, a, t); out y f32[4] {3 2 1 0}"),
        GIVES("back_symbolic_end", ABCDE AXES "in z f32[M=2] {0 0}; init s i64[1] {-1}; init t i64[1] {-1}\n"
                                              "e = Shape(z); y = Slice(x, s, e, a, t); out y f32[2] {4 3}"),
        GIVES("last_five", THREE "init s i64[1] {-5}; init e i64[1] {2147483647}\n"
                                 "y = Slice(x, s, e); out y f32[3] {0 1 2}"),
        GIVES("last_two", FIVE "init s i64[1] {-2}; init e i64[1] {2147483647}; y = Slice(x, s, e)\n"
                               "out y f32[2] {3 4}"),
        GIVES("without_last_five", THREE "init s i64[1] {0}; init e i64[1] {-5}; y = Slice(x, s, e)\n"
                                         "out y f32[0] {}"),
        GIVES("from_value", FIVE "in s i64[1] {2}; init two i64[1] {2}; e = Add(s, two); y = Slice(x, s, e)\n"
                                 "out y f32[2] {2 3}"),
        GIVES("from_value_back", FIVE AXES
              "in s i64[1] {-6}; init i i64[1] {1}; init t i64[1] {2}; b = Add(i, s); c = Add(b, t)\n"
              "d = Add(t, c); y = Slice(x, b, d, a, t); out y f32[2] {0 2}"),
        REFUSED("from_value_to_end", "--in s=FILE.npy",
                FIVE "in s i64[1] {2}; init e i64[1] {5}; y = Slice(x, s, e); out y f32[3] {2 3 4}"),
        GIVES("pad_symbolic",
              THREE "in z f32[M=2] {0 0}; init o i64[1] {0}; s = Shape(z); p = Concat(o, s) axis=0\n"
                    "y = Pad(x, p); out y f32[5] {0 1 2 0 0}"),
        GIVES("pad_edge_symbolic", THREE "in z f32[M=2] {0 0}; s = Shape(z); p = Concat(s, s) axis=0\n"
                                         "y = Pad(x, p) mode='edge'; out y f32[7] {0 0 0 1 2 2 2}"),
        GIVES("pad_reflect_symbolic",
              THREE "in z f32[M=2] {0 0}; init o i64[1] {0}; s = Shape(z); p = Concat(s, o) axis=0\n"
                    "y = Pad(x, p) mode='reflect'; out y f32[5] {2 1 0 1 2}"),
        GIVES("cumsum_empty",
              "in x f32[0] {}; init a i64[] {0}; y = CumSum(x, a) exclusive=1; out y f32[0] {}"))

/* ---- shapes ---- */

SAMPLES(
    shapes,
    GIVES("expand_one", "in x f32[1] {3}; in z f32[M=4] {0 0 0 0}; s = Shape(z); y = Expand(x, s)\n"
                        "out y f32[4] {3 3 3 3}"),
    GIVES("expand_equal", "in x f32[N=2] {3 4}; in z f32[M=2] {0 0}; s = Shape(z); y = Expand(x, s)\n"
                          "out y f32[2] {3 4}"),
    REFUSED("split_negative", "expected a size, found -1",
            "in x f32[4] {1 2 3 4}; init s i64[2] {-1 5}; y, z = Split(x, s); out y f32[1] {1}"),
    REFUSED("split_less", "sizes 2 and 4",
            "in x f32[4] {1 2 3 4}; init s i64[2] {1 1}; y, z = Split(x, s); out y f32[1] {1}"),
    REFUSED("sequence_negative", "expected a size, found -1",
            "in x f32[4] {1 2 3 4}; init s i64[2] {-1 5}; init i i64[] {0}; z = SplitToSequence(x, s)\n"
            "y = SequenceAt(z, i); out y f32[1] {1}"),
    REFUSED("insert_twice", "an axis is inserted twice",
            "in x f32[1] {1}; init a i64[2] {0 0}; y = Unsqueeze(x, a); out y f32[1,1,1] {1}"),
    REFUSED("image_negative", "expected a size, found -5",
            "opset 18\nin x f32[1,9,4] {" ZEROS_36
            "}; init i i64[1] {-5}; init b i64[1] {9}; y = Col2Im(x, i, b)\n"
            "out y f32[1] {1}"),
    REFUSED("image_pads", "expected pads of 0 or more",
            "opset 18\nin x f32[1,9,4] {" ZEROS_36 "}; init i i64[2] {4 5}; init b i64[2] {3 3}\n"
            "y = Col2Im(x, i, b) pads=[-1,0,1,0]; out y f32[1] {1}"),
    REFUSED("image_missing", "the shape of a block is missing",
            "opset 18\nin x f32[1,9,4] {" ZEROS_36
            "}; init i i64[2] {4 5}; y = Col2Im(x, i); out y f32[1] {1}"),
    REFUSED("one_hot_scalar", "expected two values of 1 axes, found 0",
            "in x i64[1] {0}; init d i64[] {2}; init v f32[] {1}; y = OneHot(x, d, v); out y f32[1,2] {1 0}"),
    REFUSED(
        "grid_batch", "sizes 1 and 2",
        "in x f32[2,1,1,1] {1 2}; in g f32[1,1,1,2] {0 0}; y = GridSample(x, g); out y f32[2,1,1,1] {1 2}"),
    REFUSED("regions_integers", "expected regions of floats",
            "in x f32[1,1,1,1] {1}; init r i64[1,4] {0 0 1 1}; in b i64[1] {0}; y = RoiAlign(x, r, b)\n"
            "out y f32[1,1,1,1] {1}"),
    REFUSED(
        "drop_ratio_integer", "below 1, not 1",
        "in x f32[2] {1 2}; init r i64[] {1}; init t bool[] {1}; y = Dropout(x, r, t); out y f32[2] {1 2}"),
    REFUSED("expand_symbol", "N = 1 and M = 4",
            "in x f32[N=1] {3}; in z f32[M=4] {0 0 0 0}; s = Shape(z); y = Expand(x, s)\n"
            "out y f32[4] {3 3 3 3}"),
    REFUSED("expand_other", "sizes 3 and 4",
            "in x f32[3] {3 4 5}; init s i64[1] {4}; y = Expand(x, s); out y f32[4] {3 4 5 6}"))

/* ---- elementwise ---- */

SAMPLES(elementwise,
        GIVES("divide_lowest", "in x i8[4] {-128 -128 127 -7}; in z i8[4] {3 -3 -2 7}; y = Div(x, z)\n"
                               "out y i8[4] {-42 42 -63 -1}"),
        GIVES("divide_32", "in x i32[3] {-2147483648 -7 7}; in z i32[] {3}; y = Div(x, z)\n"
                           "out y i32[3] {-715827882 -2 2}"),
        GIVES("remainder_32", "in x i32[5] {-2147483648 -7 7 -6 0}; in z i32[] {3}; y = Mod(x, z) fmod=1\n"
                              "out y i32[5] {-2 -1 1 0 0}"),
        GIVES("shrink_integers",
              "in x i32[3] {3 -3 1}; y = Shrink(x) lambd=1.5 bias=1.5; out y i32[3] {1 -1 0}"),
        GIVES("celu", "in x f32[3] {5 -1 0}; y = Celu(x) alpha=2.0; out y f32[3] {5 -0.7869387 0}"),
        GIVES("celu_below", "in x f32[3] {5 -1 0}; y = Celu(x) alpha=-1.0; out y f32[3] {5 -1.7182818 0}"),
        GIVES("remainder_infinite", "in x f32[4] {3 -3 5.5 -5.5}; in z f32[4] {inf inf 2 -2}\n"
                                    "y = Mod(x, z) fmod=1; out y f32[4] {3 -3 1.5 -1.5}"))

/* ---- sizes: y has as many elements as s says ---- */

#define TWO "in x f32[N=2] {0 1}; init w f32[1] {3}; n = Shape(x)\n"

SAMPLES(sizes,
        GIVES("max_below",
              TWO "init c i64[1] {5}; init d i64[1] {-1}; init e i64[1] {4}\n"
                  "a = Sub(n, c); b = Max(a, d); s = Add(b, e); y = Expand(w, s); out y f32[3] {3 3 3}"),
        GIVES("min_below",
              TWO "init c i64[1] {5}; init d i64[1] {-1}; init e i64[1] {4}\n"
                  "a = Sub(n, c); b = Min(a, d); s = Add(b, e); y = Expand(w, s); out y f32[1] {3}"),
        GIVES("quotient_below", TWO "init c i64[1] {5}; init d i64[1] {2}; init e i64[1] {4}\n"
                                    "a = Sub(n, c); b = Div(a, d); s = Add(b, e); y = Expand(w, s)\n"
                                    "out y f32[3] {3 3 3}"),
        GIVES("remainder_below", TWO "init c i64[1] {5}; init d i64[1] {2}; init e i64[1] {2}\n"
                                     "a = Sub(n, c); b = Mod(a, d); s = Add(b, e); y = Expand(w, s)\n"
                                     "out y f32[3] {3 3 3}"),
        GIVES("number_below", TWO "init c i64[1] {1}; a = Add(n, c); s = Sub(n, a); y = Reshape(x, s)\n"
                                  "out y f32[2] {0 1}"),
        GIVES("sum_below", TWO "init c i64[1] {1}; init z i64[1] {0}; a = Sub(c, n); b = Sub(n, c)\n"
                               "d = Add(n, c); e = Sub(b, d); f = Add(a, b); g = Add(e, d); h = Sub(g, f)\n"
                               "y = Expand(w, h); out y f32[1] {3}"),
        GIVES("equal_below", TWO "init c i64[1] {3}; init d i64[1] {-1}; a = Sub(n, c); y = Equal(a, d)\n"
                                 "out y bool[1] {1}"))

/* ---- symbols ---- */

SAMPLES(names_of_sizes,
        GIVES("symbols_alike", "in x f32[s - 1=3] {1 2 3}; in z f32[s + 1=2] {4 5}; in v f32[s___1=1] {6}\n"
                               "y = Concat(x, z, v) axis=0; out y f32[6] {1 2 3 4 5 6}"),
        GIVES("symbols_equal",
              "in x f32[s/1=2] {1 2}; in z f32[s/1=2] {4 5}; y = Add(x, z); out y f32[2] {5 7}"))

/* ---- indices ---- */

#define MATRIX "in x f32[2,3] {0 1 2 3 4 5}\n"

SAMPLES(indices,
        GIVES("scatter_bools", "in x bool[2,2] {0 0 0 1}; in i i64[1,2] {1 0}; in u bool[1,2] {1 1}\n"
                               "y = ScatterElements(x, i, u); out y bool[2,2] {0 1 1 1}"),
        GIVES("scatter_nd_bools", "in x bool[2,2] {0 0 0 1}; in i i64[1,1] {1}; in u bool[1,2] {1 0}\n"
                                  "y = ScatterND(x, i, u); out y bool[2,2] {0 0 1 0}"),
        GIVES("gather_smaller",
              MATRIX "init i i64[1,2] {-1 0}; y = GatherElements(x, i) axis=1; out y f32[1,2] {2 0}"),
        GIVES("gather_rows", MATRIX "in i i64[3,2] {1 0 -1 1 0 -2}; y = GatherElements(x, i) axis=0\n"
                                    "out y f32[3,2] {3 1 3 4 0 1}"),
        REFUSED("gather_beyond", "index 5",
                MATRIX "init i i64[1,1] {5}; y = GatherElements(x, i) axis=1\n"
                       "out y f32[1,1] {5}"),
        REFUSED("gather_wide", "sizes 3 and 4",
                MATRIX "in i i64[1,4] {0 0 0 0}; y = GatherElements(x, i) axis=0\n"
                       "out y f32[1,4] {0 1 2 0}"),
        REFUSED("gather_rank", "expected indices of 1 axes, found 2",
                "in x f32[4] {0 1 2 3}; init i i64[2,3] {0 1 2 1 2 3}; y = GatherElements(x, i)\n"
                "out y f32[2,3] {0 1 2 1 2 3}"),
        REFUSED("gather_nd_beyond", "index 5",
                MATRIX "init i i64[1,2] {0 5}; y = GatherND(x, i); out y f32[1] {5}"),
        REFUSED("scatter_beyond", "index 4",
                MATRIX "in i i64[1,1] {4}; in u f32[1,1] {9}\n"
                       "y = ScatterElements(x, i, u) axis=1; out y f32[2,3] {0 0 0 0 0 0}"),
        REFUSED("scatter_nd_beyond", "index -5",
                MATRIX "in i i64[1,2] {1 -8}; in u f32[1] {9}\n"
                       "y = ScatterND(x, i, u); out y f32[2,3] {0 0 0 0 0 0}"),
        REFUSED("scatter_rank", "expected indices of 1 axes, found 2",
                "in x f32[4] {0 1 2 3}; in i i64[1,1] {1}; in u f32[1,1] {9}; y = ScatterElements(x, i, u)\n"
                "out y f32[4] {0 9 2 3}"),
        REFUSED("reverse_beyond", "index 3",
                MATRIX "init l i64[2] {4 1}\n"
                       "y = ReverseSequence(x, l) time_axis=1 batch_axis=0\n"
                       "out y f32[2,3] {0 0 0 0 0 0}"))

/* ---- what counts as 0, whatever it is ---- */

SAMPLES(infinite,
        GIVES("ignored_label",
              "in x f32[2,2] {-inf 0 -1 -2}; in t i64[2] {-1 1}\n"
              "y = NegativeLogLikelihoodLoss(x, t) ignore_index=-1 reduction='sum'; out y f32[] {2}"),
        GIVES("ignored_mean", "in x f32[2,2] {-inf 0 -1 -2}; in t i64[2] {-1 1}\n"
                              "y = NegativeLogLikelihoodLoss(x, t) ignore_index=-1; out y f32[] {2}"),
        GIVES("grid_border", "in x f32[1,1,2,2] {inf 1 1 1}; in g f32[1,1,2,2] {-5 -5 0.5 0.5}\n"
                             "y = GridSample(x, g) padding_mode='zeros'; out y f32[1,1,1,2] {0 1}"),
        GIVES("grid_nearest",
              "in x f32[1,1,2,2] {inf 1 1 1}; in g f32[1,1,2,2] {-5 -5 0.5 0.5}\n"
              "y = GridSample(x, g) padding_mode='zeros' mode='nearest'; out y f32[1,1,1,2] {0 1}"))

/* ---- norms ---- */

SAMPLES(norms,
        GIVES("batch_mixed", "in x f16[2,2,1] {1 2 3 4}; in g f16[2] {1 2}; in b f16[2] {0 1}; in m f32[2] "
                             "{1 2}; in v f32[2] {4 1}\n"
                             "y = BatchNormalization(x, g, b, m, v) epsilon=0.0; out y f16[2,2,1] {0 1 1 5}"),
        GIVES("batch_mixed_training",
              "in x f16[2,2,1] {1 2 3 4}; in g f16[2] {1 2}; in b f16[2] {0 1}; in m f32[2] {1 2}; in v "
              "f32[2] {4 1}\n"
              "y, n, w = BatchNormalization(x, g, b, m, v) epsilon=0.0 training_mode=1 momentum=0.5\n"
              "out y f16[2,2,1] {-1 -1 1 3}; out n f32[2] {1.5 2.5}; out w f32[2] {2.5 1}"),
        GIVES("layer_statistics", "in x f16[1,2] {1 3}; in g f16[2] {1 1}\n"
                                  "y, m, i = LayerNormalization(x, g) epsilon=0.0\n"
                                  "out y f16[1,2] {-1 1}; out m f32[1,1] {2}; out i f32[1,1] {1}"),
        GIVES("layer_one_bias", "in x f32[1,2] {1 3}; in g f32[2] {1 1}; in b f32[1] {2}\n"
                                "y = LayerNormalization(x, g, b) epsilon=0.0; out y f32[1,2] {1 3}"),
        GIVES("rms_one_scale", "opset 23\nin x f32[1,2] {3 3}; in g f32[1] {2}\n"
                               "y = RMSNormalization(x, g) epsilon=0.0; out y f32[1,2] {2 2}"),
        GIVES("lp_zero", "in x f32[2,2] {0 0 3 4}; y = LpNormalization(x); out y f32[2,2] {0 0 0.6 0.8}"),
        GIVES("l1_zero",
              "in x f32[2,2] {0 0 3 -1}; y = LpNormalization(x) p=1; out y f32[2,2] {0 0 0.75 -0.25}"))

/* ---- subgraphs ---- */

/* The body of a loop whose condition turns out not to be constant is imported once. */
static void import_loop(void *arg)
{
    world *w = arg;
    gcut_arena *a = w->env->arena;
    const onnx_text t = read_onnx_text(a, "in x f32[1] {1}; init n i64[] {10}; init l f32[1] {20}\n"
                                          "y = Loop(n, _, x) body={ in i; in c; in v; a = Add(v, v); b = "
                                          "Dropout(a); d = Less(b, l); out d; out b }\n"
                                          "out y f32[1] {32}");
    gcut_onnx_file *f = gcut_onnx_of_bytes(a, "m.onnx", t.model.at, t.model.n);
    assert_int_equal(gcut_onnx_import_model(f, gcut_module_new(w->env, a), "main", NULL).dropouts, 1);
}

static void body_once(void **state)
{
    world *w = *state;
    must(w->env, import_loop, w);
}

/* Of a condition that the caller gives, too, only one branch is imported: here they have different shapes. */
static void import_branch(void *arg)
{
    world *w = arg;
    gcut_arena *a = w->env->arena;
    const onnx_text t = read_onnx_text(a, "in x f32[3] {1 2 3}; in p bool[] {1}\n"
                                          "y = If(p) then_branch={ b = Neg(x); out b }"
                                          " else_branch={ init z f32[2] {7 8}; c = Identity(z); out c }\n"
                                          "out y f32[3] {-1 -2 -3}");
    const gcut_onnx_constant_input p = {"p", {.dtype = GCUT_BOOL, .n = 1, .data = &(unsigned char){1}}};
    const gcut_onnx_options opt = {.constant = &p, .nconstants = 1};
    gcut_onnx_file *f = gcut_onnx_of_bytes(a, "m.onnx", t.model.at, t.model.n);
    const gcut_onnx_import i = gcut_onnx_import_model(f, gcut_module_new(w->env, a), "main", &opt);
    assert_true(i.specialized[0]);
    assert_int_equal(i.g->nodes.n, 1);
    assert_int_equal(gcut_node_at(i.g, 0)->op, GCUT_OP_neg);
}

static void branch_given(void **state)
{
    world *w = *state;
    must(w->env, import_branch, w);
}

SAMPLES(subgraphs,
        GIVES("branch_initializer", "in x f32[3] {1 2 3}; in p bool[] {1}\n"
                                    "y = If(p) then_branch={ init w f32[3] {1 2 4}; a = Add(x, w); out a }"
                                    " else_branch={ init w f32[3] {5 5 6}; b = Sub(x, w); out b }\n"
                                    "out y f32[3] {2 4 7}"),
        GIVES("loop_initializer",
              "in x f32[3] {1 2 3}; init n i64[] {2}\n"
              "y = Loop(n, _, x) body={ in i; in c; in v; init w f32[3] {1 2 4}; a = Add(v, w);"
              " out c; out a }\n"
              "out y f32[3] {3 6 11}"),
        GIVES("branch_shape",
              "in x f32[N=3] {1 2 3}; init p bool[] {1}; init z i64[1] {4}; init w f32[1] {7}\n"
              "s = If(p) then_branch={ a = Shape(x); out a } else_branch={ b = Identity(z); out b }\n"
              "y = Expand(w, s); out y f32[3] {7 7 7}"),
        GIVES("branch_parameter",
              "in x f32[3] {1 2 3}; init p bool[] {1}; init w f32[3] {1 2 4}\n"
              "s = If(p) then_branch={ a = Identity(w); out a } else_branch={ b = Identity(x); out b }\n"
              "t = Add(x, w); y = Mul(s, t); out y f32[3] {2 8 28}"),
        GIVES("loop_condition",
              "in x f32[1] {1}; init n i64[] {10}; init l f32[1] {20}\n"
              "y = Loop(n, _, x) body={ in i; in c; in v; a = Add(v, v); d = Less(a, l); out d; out a }\n"
              "out y f32[1] {32}"),
        GIVES("loop_iteration", "in x i64[1] {0}; in p bool[] {1}; in n i64[] {4}\n"
                                "y = Loop(n, p, x) body={ in i; in c; in v; a = Add(v, i); out c; out a }\n"
                                "out y i64[1] {6}"),
        GIVES("loop_never", "in x i64[1] {5}; in p bool[] {0}; in n i64[] {4}\n"
                            "y = Loop(n, p, x) body={ in i; in c; in v; a = Add(v, i); out c; out a }\n"
                            "out y i64[1] {5}"))

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(wide_integers), WITH_FIXTURE(products),       WITH_FIXTURE(functions),
        WITH_FIXTURE(pools),         WITH_FIXTURE(loops),          WITH_FIXTURE(recurrent_layers),
        WITH_FIXTURE(slices),        WITH_FIXTURE(shapes),         WITH_FIXTURE(elementwise),
        WITH_FIXTURE(sizes),         WITH_FIXTURE(names_of_sizes), WITH_FIXTURE(indices),
        WITH_FIXTURE(infinite),      WITH_FIXTURE(norms),          WITH_FIXTURE(subgraphs),
        WITH_FIXTURE(body_once),     WITH_FIXTURE(branch_given),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
