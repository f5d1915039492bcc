/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions that are exported as ONNX models and imported again: the interpreter's results are equal, and a second trip
 * changes nothing.  onnx_export_test.sh compares with onnxruntime.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "harness.h"
#include "public.h"

#include <glob.h>

#include "driver/exchange/contents.h"
#include "gradcut/train.h"
#include "import/onnx/export/export.h"
#include "import/onnx/import.h"
#include "interp/initial_values.h"
#include "graph/verify.h"
#include "passes/passes.h"

typedef struct trip {
    gcut_env *env;
    gcut_arena *a;
    const char *file, *fn; /* a function of a file of text */
    gcut_graph *g;         /* as it is evaluated */
    gcut_array *values;    /* all of g, by id */
    gcut_array *out;
    gcut_open_files open;
} trip;

/* 4, 8, 12, … within what is declared */
static int64_t size_of(const gcut_graph *g, uint32_t k)
{
    const gcut_dim_decl d = g->decls.at[k];
    int64_t n = 4 * (1 + (int64_t)k);
    if (n > d.hi) n = d.hi;
    return n - n % d.mult;
}

static gcut_array contents(trip *t, const gcut_graph *g, const char *name)
{
    const gcut_module *m = g->module;
    for (uint32_t i = 0; i < m->data.n; i++) {
        if (strcmp(m->data.at[i].name, name)) continue;
        const gcut_tensor x = gcut_data_contents(t->a, m, &m->data.at[i], &t->open);
        return gcut_array_load(t->a, x.dtype, x.rank, x.dim, x.data);
    }
    return (gcut_array){0};
}

static bool has_contents(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->module->data.n; i++)
        if (!strcmp(g->module->data.at[i].name, name)) return true;
    return false;
}

static gcut_array random_values(trip *t, const gcut_graph *g, const gcut_type *type, const char *name)
{
    gcut_dim_binding at[16];
    int64_t dim[GCUT_MAX_RANK];
    for (uint32_t k = 0; k < g->decls.n; k++) at[k] = (gcut_dim_binding){g->decls.at[k].sym, size_of(g, k)};
    for (uint32_t r = 0; r < type->rank; r++)
        dim[r] = gcut_dim_at(g->module->dims, type->dim[r], at, g->decls.n, (gcut_place){0});
    return gcut_random_array(t->a, type->dtype, type->rank, dim, 1, name, 0, 2);
}

static void interpret(trip *t)
{
    const gcut_graph *g = t->g;
    gcut_array *in = gcut_calloc(t->a, g->params.n + 1u, sizeof *in);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_ref v = g->params.at[i].value;
        const char *name = g->values.at[v].name;
        in[i] = has_contents(g, name) ? contents(t, g, name) : random_values(t, g, gcut_type_of(g, v), name);
    }
    t->values = gcut_calloc(t->a, g->values.n, sizeof *t->values);
    t->out = gcut_calloc(t->a, g->results.n + 1u, sizeof *t->out);
    gcut_interp(g, GCUT_EXACT, t->a, in, t->out, t->values);
}

/* Inputs of the imported graph are parameters of the function, or what it draws. */
static gcut_array *interpret_again(trip *t, const gcut_graph *g)
{
    gcut_array *in = gcut_calloc(t->a, g->params.n + 1u, sizeof *in),
               *out = gcut_calloc(t->a, g->results.n + 1u, sizeof *out);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const char *name = g->values.at[g->params.at[i].value].name;
        if (has_contents(g, name)) {
            in[i] = contents(t, g, name);
            continue;
        }
        const gcut_ref v = gcut_graph_find(t->g, name);
        if (!v) fail_msg("@%s: there is no %%%s to be an input", t->g->name, name);
        in[i] = t->values[v];
    }
    gcut_interp(g, GCUT_EXACT, t->a, in, out, NULL);
    return out;
}

static bool near(double x, double y)
{
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-7 + 1e-5 * fabs(y);
}

static void compare(const trip *t, const gcut_graph *g, const gcut_array *out)
{
    assert_int_equal(g->results.n, t->g->results.n);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_array *x = &out[i], *y = &t->out[i];
        const char *name = t->g->results.at[i].name;
        if (x->dtype != y->dtype || x->rank != y->rank || x->n != y->n)
            fail_msg("@%s: %s is of another type", t->fn, name);
        for (uint32_t r = 0; r < x->rank; r++) assert_int_equal(x->dim[r], y->dim[r]);
        for (int64_t k = 0; k < x->n; k++)
            if (gcut_dtype_is_float(x->dtype) ? !near(x->u.f[k], y->u.f[k]) : x->u.i[k] != y->u.i[k])
                fail_msg("%s, @%s: element %lld of %s is %g, not %g", t->file, t->fn, (long long)k, name,
                         gcut_dtype_is_float(x->dtype) ? x->u.f[k] : (double)x->u.i[k],
                         gcut_dtype_is_float(x->dtype) ? y->u.f[k] : (double)y->u.i[k]);
    }
}

static void go(void *arg)
{
    trip *t = arg;
    gcut_module *m = gcut_parse_file(t->env, t->a, t->file);
    gcut_graph *g = gcut_module_find(m, t->fn);
    t->g = gcut_pass_evaluation(g, gcut_module_unused(m, g->name, "eval"));
    interpret(t);
    assert_int_equal(gcut_export_onnx(g, "m.onnx", NULL, NULL), GCUT_OK);
    gcut_module *again = gcut_module_new(t->env, t->a);
    const gcut_onnx_import made = gcut_onnx_import_model(gcut_onnx_open(t->a, "m.onnx"), again, "main", NULL);
    gcut_verify_module(again);
    compare(t, made.g, interpret_again(t, made.g));
}

/* Every function of the file. */
static void go_all(const char *file)
{
    gcut_env *list = gcut_env_new(NULL, NULL);
    const gcut_module *m = gcut_parse_file(list, list->arena, file);
    for (uint32_t i = 0; i < m->graphs.n; i++) {
        trip t = {.env = gcut_env_new(NULL, NULL), .file = file, .fn = m->graphs.at[i]->name};
        t.a = t.env->arena;
        must(t.env, go, &t);
        gcut_env_free(t.env);
    }
    gcut_env_free(list);
}

static void models(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/examples/*.gcut", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) go_all(files.gl_pathv[i]);
    globfree(&files);
}

static void ops(void **state)
{
    (void)state;
    go_all(GCUT_SOURCE_DIR "/tests/import/export_ops.gcut");
}

/* ---- a second trip ---- */

/* The text of what is imported from m.onnx in the folder; g is its graph. */
static char *imported(gcut_ctx *ctx, const char *where, gcut_graph **g)
{
    char path[64];
    snprintf(path, sizeof path, "%s/m.onnx", where);
    *g = gcut_import_onnx(ctx, path, NULL, NULL);
    if (!*g) fail_msg("%s", gcut_last_error(ctx));
    gcut_text text = {.arena = (*g)->module->arena};
    gcut_print_graph(*g, &(gcut_print_options){.no_loc = true}, &text);
    return text.at;
}

/* The second import and the third are equal: the first one's ops are those of ONNX. */
static void trip_thrice(const char *path, bool from_onnx)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    char *text[4] = {NULL};
    const char *name = path;
    gcut_graph *g = from_onnx ? gcut_import_onnx(ctx, path, NULL, NULL) : gcut_load(ctx, path, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    for (int k = 1; k < 4; k++) {
        char where[2] = {(char)('0' + k), 0}, file[16];
        snprintf(file, sizeof file, "%s/m.onnx", where);
        if (gcut_export_onnx(g, file, NULL, NULL) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
        text[k] = imported(ctx, where, &g);
    }
    if (strcmp(text[2], text[3])) {
        print_error("%s:\n", name);
        assert_string_equal(text[2], text[3]);
    }
    gcut_ctx_free(ctx);
}

static void fixed_points(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp",  "lenet", "resnet", "mobilenet", "gpt2",       "llama",
                                        "lstm", "rnn",   "vae",    "unet",      "autoencoder"};
    mkdir("1", 0700);
    mkdir("2", 0700);
    mkdir("3", 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[500];
        snprintf(path, sizeof path, GCUT_SOURCE_DIR "/tests/models/%s.gcut", names[i]);
        trip_thrice(path, false);
    }
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/onnx/*.onnx", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) trip_thrice(files.gl_pathv[i], true);
    globfree(&files);
}

/* ---- the table ---- */

/* Each op has one row, or none and a decomposition. */
static void every_op(void **state)
{
    (void)state;
    int rows[GCUT_NOPS] = {0};
#define RULE(op, rule, as) rows[GCUT_OP_##op]++;
#define REFUSE(op, why) rows[GCUT_OP_##op]++;
#include "import/onnx/export/ops.def"
#undef RULE
#undef REFUSE
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        if (rows[op] > 1 || (!rows[op] && !info->composite)) fail_msg("%s has %d rows", info->name, rows[op]);
        assert_int_equal(gcut_onnx_expands((gcut_op)op), !rows[op]);
    }
}

/* ---- weights, errors, files ---- */

#define ONE                                                                                                  \
    "gcut 1\nfunc @f[N](input %x: f32[N, 2], param %w: f32[2, 3]) -> (out y: f32[N, 3]) {\n"                 \
    "  %y = matmul(%x, %w)\n  return %y\n}\n"

static void refuses(gcut_ctx *ctx, gcut_graph *g, const gcut_export_options *how, gcut_status status,
                    const char *said)
{
    gcut_export_info *info;
    assert_int_equal(gcut_export_onnx(g, "no.onnx", how, &info), status);
    assert_null(info);
    if (!strstr(gcut_last_error(ctx), said)) fail_msg("no '%s': %s", said, gcut_last_error(ctx));
    assert_int_not_equal(access("no.onnx", F_OK), 0);
}

static void weights(void **state)
{
    (void)state;
    static const float w[] = {1, 2, 3, 4, 5, 6};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, ONE, GCUT_TO_NUL, "one.gcut", NULL);
    write_npy("model.w.npy", "<f4", "(2, 3)", w, sizeof w);
    write_npy("narrow.npy", "<f4", "(3,)", w, 3 * sizeof *w);
    refuses(ctx, g, NULL, GCUT_ETYPE, "there are no contents for %w");
    refuses(ctx, g, &(gcut_export_options){.weights = "model.w.npy"}, GCUT_ETYPE, "left over");
    refuses(ctx, g, &(gcut_export_options){.weights = "narrow.npy", .rename = "narrow=w"}, GCUT_ETYPE,
            "another shape");
    gcut_export_info *info;
    const gcut_export_options how = {.weights = "model.w.npy", .rename = "model.*=*"};
    assert_int_equal(gcut_export_onnx(g, "w.onnx", &how, &info), GCUT_OK);
    assert_int_equal(info->initializers, 1);
    assert_int_equal(info->elements, 6);
    assert_int_equal(info->opset, 17);
    gcut_free(info);
    gcut_arena *a = gcut_arena_new(g->module->env, NULL);
    const gcut_tensor_file *f = gcut_tensor_file_open(a, "w.onnx");
    assert_memory_equal(gcut_tensor_get(g->module->env, f, "w")->data, w, sizeof w);
    gcut_arena_free(a);
    /* Of the model itself, too, and the bytes are the same. */
    assert_int_equal(gcut_export_onnx(g, "again.onnx", &(gcut_export_options){.weights = "w.onnx"}, NULL),
                     GCUT_OK);
    assert_int_equal(system("cmp -s w.onnx again.onnx"), 0);
    gcut_ctx_free(ctx);
}

/* Weights that a step with an optimizer has saved have its states beside them, which a model has no use for. */
static void trained(void **state)
{
    (void)state;
    static const char *const optimizer[] = {"sgd(lr=0.1)", "momentum(lr=0.1)", "adamw(lr=0.1)"};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g =
        gcut_parse(ctx,
                   "gcut 1\nfunc @t(param %w: bf16[2, 3]) -> (out loss: bf16[]) {\n%loss = sum(%w)\n"
                   "return %loss\n}\n",
                   GCUT_TO_NUL, "t.gcut", NULL);
    for (size_t k = 0; k < sizeof optimizer / sizeof *optimizer; k++) {
        gcut_step *s =
            gcut_compile(g, &(gcut_options){.backend = GCUT_BACKEND_EAGER, .optimizer = optimizer[k]});
        assert_non_null(s);
        assert_int_equal(gcut_run(s), GCUT_OK);
        assert_int_equal(gcut_save_weights(s, "trained.safetensors"), GCUT_OK);
        if (gcut_export_onnx(g, "trained.onnx", &(gcut_export_options){.weights = "trained.safetensors"},
                             NULL))
            fail_msg("%s: %s", optimizer[k], gcut_last_error(ctx));
        refuses(ctx, g, &(gcut_export_options){.weights = "trained.safetensors", .rename = "w=u"}, GCUT_ETYPE,
                "left over");
        gcut_step_free(s);
    }
    gcut_ctx_free(ctx);
}

/* The weights that a step has now. */
static void of_a_step(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4}, w[] = {6, 5, 4, 3, 2, 1};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, ONE, GCUT_TO_NUL, "one.gcut", NULL);
    gcut_step *s = gcut_compile(g, &(gcut_options){.backend = GCUT_BACKEND_EAGER, .forward_only = true});
    assert_non_null(s);
    assert_int_equal(gcut_set(s, "w", w, 2, 3), GCUT_OK);
    assert_int_equal(gcut_set(s, "x", x, 2, 2), GCUT_OK);
    if (gcut_export_step(s, "step.onnx") != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    gcut_arena *a = gcut_arena_new(g->module->env, NULL);
    const gcut_tensor_file *f = gcut_tensor_file_open(a, "step.onnx");
    assert_memory_equal(gcut_tensor_get(g->module->env, f, "w")->data, w, sizeof w);
    gcut_arena_free(a);
    gcut_ctx_free(ctx);
}

static void unsupported(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx,
                               "gcut 1\nfunc @f(input %x: bool[9]) -> (out y: u8[2]) {\n"
                               "  %y = pack_bits(%x)\n  return %y\n}\n",
                               GCUT_TO_NUL, "bits.gcut", NULL);
    refuses(ctx, g, NULL, GCUT_EUNSUPPORTED, "ONNX cannot express %y of the op pack_bits");
    g = gcut_parse(ctx,
                   "gcut 1\nfunc @f[N](input %x: f32[2*N]) -> (out y: i64[]) {\n"
                   "  %y = dim(of=N)\n  return %y\n}\n",
                   GCUT_TO_NUL, "size.gcut", NULL);
    refuses(ctx, g, NULL, GCUT_EUNSUPPORTED, "no input of @f has the size N");
    g = gcut_parse(ctx,
                   "gcut 1\nfunc @f[N](input %x: f32[N], rng %key: i64[]) -> (out y: f32[N]) {\n"
                   "  %y = scan(%x, carries=1, length=3) body(%c: f32[N]) {\n"
                   "    %u = uniform(%key, shape=[N])\n    %s = add(%c, %u)\n    yield %s\n  }\n"
                   "  return %y\n}\n",
                   GCUT_TO_NUL, "body.gcut", NULL);
    refuses(ctx, g, NULL, GCUT_EUNSUPPORTED, "a draw within a body cannot be an input");
    gcut_ctx_free(ctx);
}

/* A shape is read once, whatever is computed from it: a Shape; two nodes, a Squeeze and an Identity for each result. */
static void sizes(void **state)
{
    (void)state;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx,
                               "gcut 1\nfunc @f[N](input %x: f32[N]) -> (out a: i64[], out b: i64[]) {\n"
                               "  %a = dim(of=3*N+1)\n  %b = dim(of=2*N+2)\n  return %a, %b\n}\n",
                               GCUT_TO_NUL, "sizes.gcut", NULL);
    gcut_export_info *info;
    assert_int_equal(gcut_export_onnx(g, "sizes.onnx", NULL, &info), GCUT_OK);
    assert_int_equal(info->nodes, 1 + 2 * 4);
    gcut_free(info);
    gcut_ctx_free(ctx);
}

/* A model of which the elements are in a file beside it. */
static void beside(void *arg)
{
    trip *t = arg;
    gcut_module *m = gcut_parse_module(t->env, t->a, "one.gcut", ONE, strlen(ONE));
    gcut_graph *g = m->graphs.at[0];
    gcut_tensors x = {0};
    float *w = gcut_calloc(t->a, 600, sizeof *w);
    for (int k = 0; k < 600; k++) w[k] = (float)k;
    *GCUT_PUSH(t->a, &x) =
        (gcut_tensor){.name = "w", .dtype = GCUT_F32, .rank = 2, .dim = {2, 300}, .n = 600, .data = w};
    const gcut_onnx_export made = gcut_onnx_export_model(g, t->a, &x, "large.onnx", 2000);
    assert_string_equal(made.outside, "large.onnx.data");
    const gcut_tensor_file *f = gcut_tensor_file_open(t->a, "large.onnx");
    assert_memory_equal(gcut_tensor_get(t->env, f, "w")->data, w, 2400);
}

static void outside(void **state)
{
    (void)state;
    trip t = {.env = gcut_env_new(NULL, NULL)};
    t.a = t.env->arena;
    must(t.env, beside, &t);
    gcut_env_free(t.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models),       cmocka_unit_test(ops),
                                       cmocka_unit_test(fixed_points), cmocka_unit_test(every_op),
                                       cmocka_unit_test(weights),      cmocka_unit_test(trained),
                                       cmocka_unit_test(of_a_step),    cmocka_unit_test(unsupported),
                                       cmocka_unit_test(sizes),        cmocka_unit_test(outside)};
    return cmocka_run_group_tests(tests, start, finish);
}
