/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights that are exported into the model that their function was imported from: what is imported again is the same
 * function with these weights, and all other bytes of the model are kept.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "harness.h"

#include <glob.h>

#include "driver/exchange/contents.h"
#include "gradcut/train.h"
#include "import/onnx/export/replaced_elements.h"
#include "import/tensor_file.h"
#include "onnx_file.h"

typedef struct world {
    gcut_env *env;
} world;

FIXTURE(world)

enum {
    INT8 = 3,
    INT16 = 5,
    INT32 = 6,
    BOOL = 9,
    FLOAT16 = 10,
    DOUBLE = 11,
    UINT32 = 12,
    UINT64 = 13,
    BFLOAT16 = 16
};
enum { FLOAT8 = 17 }; /* which gradcut does not have */

/* ---- files ---- */

static msg bytes_of(gcut_arena *a, const char *path)
{
    msg m = new_msg(a);
    size_t n;
    const char *at = gcut_file_read(a, path, 1 << 26, &n);
    gcut_text_addn(&m, at, n);
    return m;
}

static void write_bytes(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    fclose(f);
}

static bool same_bytes(gcut_arena *a, const char *path, const char *other)
{
    const msg x = bytes_of(a, path), y = bytes_of(a, other);
    return x.n == y.n && !memcmp(x.at, y.at, x.n);
}

/* ---- a function, its model, and other weights ---- */

static char *text_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_text text = {.arena = a};
    gcut_print_graph(g, &(gcut_print_options){0}, &text);
    return text.at;
}

/* What the graph has from files: of its initializers. */
static gcut_tensors contents_of(gcut_arena *a, const gcut_graph *g)
{
    gcut_tensors x = {0};
    gcut_open_files open = {0};
    for (uint32_t i = 0; i < g->module->data.n; i++)
        if (g->module->data.at[i].kind == GCUT_DATA_file)
            *GCUT_PUSH(a, &x) = gcut_data_contents(a, g->module, &g->module->data.at[i], &open);
    return x;
}

/* The lowest bit of each element is another one. */
static gcut_tensor perturbed(gcut_arena *a, gcut_tensor x)
{
    const size_t width = (size_t)gcut_dtype_bytes(x.dtype);
    char *at = gcut_alloc(a, (size_t)x.n * width + 1);
    if (x.n) memcpy(at, x.data, (size_t)x.n * width);
    for (int64_t k = 0; k < x.n; k++) at[(size_t)k * width] ^= 1;
    x.data = at;
    return x;
}

static void same_tensors(const gcut_tensors *x, const gcut_tensors *y)
{
    assert_int_equal(x->n, y->n);
    for (uint32_t i = 0; i < x->n; i++) {
        const gcut_tensor *l = &x->at[i], *r = &y->at[i];
        TRY("%s", l->name);
        assert_string_equal(l->name, r->name);
        assert_int_equal(l->dtype, r->dtype);
        assert_int_equal(l->n, r->n);
        if (l->dtype != GCUT_NO_DTYPE && l->n)
            assert_memory_equal(l->data, r->data, (size_t)l->n * (size_t)gcut_dtype_bytes(l->dtype));
    }
}

typedef struct trip {
    gcut_arena *a;
    const char *path;
    bool trained; /* it has params or states */
    bool same;    /* its own weights give the same bytes */
    char why[200];
} trip;

static void export_into(gcut_ctx *ctx, gcut_graph *g, const char *weights, const char *into, const char *out)
{
    if (gcut_export_onnx(g, out, &(gcut_export_options){.weights = weights, .into = into}, NULL) != GCUT_OK)
        fail_msg("%s", gcut_last_error(ctx));
}

/* Into out/, as a file of the same name, which the text has.  False: it is not imported. */
static bool go(trip *t)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const char *slash = strrchr(t->path, '/');
    const char *out = gcut_printf(t->a, "out/%s", slash ? slash + 1 : t->path);
    gcut_graph *g = gcut_import_onnx(ctx, t->path, NULL, NULL);
    if (!g) snprintf(t->why, sizeof t->why, "%s", gcut_last_error(ctx));
    if (!g) return gcut_ctx_free(ctx), false;
    const gcut_tensors own = contents_of(t->a, g);
    gcut_tensors other = {0};
    for (uint32_t i = 0; i < own.n; i++) *GCUT_PUSH(t->a, &other) = perturbed(t->a, own.at[i]);
    t->trained = own.n;
    if (own.n) {
        mkdir("out", 0700);
        export_into(ctx, g, NULL, t->path, out);
        t->same = same_bytes(t->a, t->path, out);
        gcut_tensors_write(gcut_arena_env(t->a), "other.safetensors", &other);
        export_into(ctx, g, "other.safetensors", t->path, out);
        gcut_graph *again = gcut_import_onnx(ctx, out, NULL, NULL);
        if (!again) fail_msg("%s", gcut_last_error(ctx));
        assert_string_equal(text_of(t->a, again), text_of(t->a, g));
        const gcut_tensors got = contents_of(t->a, again);
        same_tensors(&got, &other);
        export_into(ctx, g, NULL, out, "back.onnx");
        if (t->same) assert_true(same_bytes(t->a, t->path, "back.onnx"));
    }
    gcut_ctx_free(ctx);
    return true;
}

/* ---- models of exporters ---- */

static void models(void **state)
{
    world *w = *state;
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/onnx/*.onnx", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/examples/*.onnx", GLOB_APPEND, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/corpus/*.onnx", GLOB_APPEND, NULL, &files), 0);
    size_t trained = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        TRY("%s", files.gl_pathv[i]);
        trip t = {.a = w->env->arena, .path = files.gl_pathv[i]};
        if (!go(&t)) continue;
        trained += t.trained;
        assert_true(t.same == t.trained);
    }
    assert_that(trained, >=, 5);
    globfree(&files);
}

/* The number between two remarks of doc/onnx.md. */
static int page_says(gcut_arena *a, const char *remark)
{
    const char *page = bytes_of(a, GCUT_SOURCE_DIR "/doc/onnx.md").at,
               *begin = gcut_printf(a, "<!-- %s -->", remark), *at = strstr(page, begin);
    assert_non_null(at);
    return atoi(at + strlen(begin));
}

static void of_the_suite(void **state)
{
    world *w = *state;
    static const char *const folders[] = {"pytorch-converted", "pytorch-operator"};
    int trained = 0, same = 0;
    for (size_t k = 0; k < 2; k++) {
        glob_t files;
        const char *pattern =
            gcut_printf(w->env->arena, "/usr/share/libonnx-testdata/data/%s/*/model.onnx", folders[k]);
        if (glob(pattern, 0, NULL, &files)) skip();
        for (size_t i = 0; i < files.gl_pathc; i++) {
            TRY("%s", files.gl_pathv[i]);
            trip t = {.a = gcut_arena_new(w->env, NULL), .path = files.gl_pathv[i]};
            if (go(&t)) trained += t.trained, same += t.same;
            gcut_arena_free(t.a);
        }
        globfree(&files);
    }
    printf("%d of %d models are the same\n", same, trained);
    assert_int_equal(same, trained);
    assert_int_equal(page_says(w->env->arena, "into"), same);
}

/* ---- every storage of elements ---- */

/* An initializer of three elements; `raw` or a list, packed or one by one. */
enum storage { RAW, PACKED, SINGLE };

static void put_elements(gcut_arena *a, msg *graph, const char *name, int dtype, enum storage as,
                         unsigned width, unsigned list, const int64_t *x)
{
    const int64_t three = 3;
    msg t = tensor_of(a, name, dtype, &three, 1), packed = new_msg(a);
    const bool is_fixed = list == GCUT_ONNX_FLOAT_DATA || list == GCUT_ONNX_DOUBLE_DATA;
    text(&t, 12, "a doc string");
    for (int k = 0; k < 3; k++) {
        if (as == RAW || (as == PACKED && is_fixed))
            gcut_text_addn(&packed, (const char *)&x[k], width);
        else if (as == PACKED)
            varint(&packed, (uint64_t)x[k]);
        else if (is_fixed)
            varint(&t, list << 3 | (width == 4 ? 5u : 1u)), gcut_text_addn(&t, (const char *)&x[k], width);
        else
            number(&t, list, x[k]);
    }
    if (as != SINGLE) message(&t, as == RAW ? 9 : list, &packed);
    text(&t, 999, "of a later schema");
    message(graph, INITIALIZER, &t);
}

static msg every_storage(gcut_arena *a, bool singles)
{
    static const int64_t floats[] = {0x3f800000, 0x40000000, 0x7f}, doubles[] = {0x3ff0000000000000, 1, 2},
                         halves[] = {0x3c00, 0xffff, 0}, signs[] = {-128, 127, -1}, bools[] = {0, 1, 1},
                         large[] = {INT64_MIN, INT64_MAX, 300}, words[] = {0xffff, 256, 0};
    static const struct {
        int dtype;
        unsigned width, list;
        const int64_t *x;
    } all[] = {{FLOAT, 4, 4, floats},    {DOUBLE, 8, 10, doubles}, {FLOAT16, 2, 5, halves},
               {BFLOAT16, 2, 5, halves}, {INT8, 1, 5, signs},      {INT16, 2, 5, signs},
               {INT32, 4, 5, signs},     {UINT8, 1, 5, bools},     {BOOL, 1, 5, bools},
               {INT64, 8, 7, large},     {UINT16, 2, 5, words},    {UINT32, 4, 11, words},
               {UINT64, 8, 11, words}};
    msg g = graph_of(a);
    put_node(a, &g, "Relu", "x", "y");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int as = RAW; as <= (singles ? SINGLE : PACKED); as++)
            put_elements(a, &g, gcut_printf(a, "w%zu.%d", i, as), all[i].dtype, (enum storage)as,
                         all[i].width, all[i].list, all[i].x);
    number(&g, 998, 1);
    msg m = model_of(a, &g, 17);
    text(&m, 6, "a doc string");
    text(&m, 997, "of a later schema");
    return m;
}

static gcut_tensors initializers(gcut_onnx_file *f)
{
    gcut_tensors x = {0};
    const Onnx__GraphProto *g = gcut_onnx_model(f)->graph;
    for (size_t i = 0; i < g->n_initializer; i++)
        *GCUT_PUSH(f->arena, &x) = gcut_onnx_tensor(f, g->initializer[i]);
    return x;
}

typedef struct storage_job {
    gcut_env *env;
    bool singles;
} storage_job;

static void replace_all(void *arg)
{
    const storage_job *j = arg;
    gcut_arena *a = j->env->arena;
    const msg m = every_storage(a, j->singles);
    gcut_onnx_file *f = gcut_onnx_of_bytes(a, "m.onnx", m.at, m.n);
    const gcut_tensors own = initializers(f);
    gcut_tensors other = {0};
    for (uint32_t i = 0; i < own.n; i++) *GCUT_PUSH(a, &other) = perturbed(a, own.at[i]);
    const gcut_onnx_replaced made = gcut_onnx_replace_elements(f, a, &other, "other.onnx");
    assert_null(made.outside);
    gcut_onnx_file *again = gcut_onnx_open(a, "other.onnx");
    assert_int_equal(again->file.n, made.bytes);
    const gcut_tensors got = initializers(again);
    same_tensors(&got, &other);
    /* Back: the same bytes where elements were in the packed form, which is written. */
    gcut_onnx_replace_elements(f, a, &own, "own.onnx");
    gcut_onnx_replace_elements(again, a, &own, "back.onnx");
    assert_true(same_bytes(a, "own.onnx", "back.onnx"));
    const msg back = bytes_of(a, "back.onnx");
    if (!j->singles) assert_int_equal(back.n, m.n);
    if (!j->singles) assert_memory_equal(back.at, m.at, m.n);
    assert_non_null(memmem(back.at, back.n, "of a later schema", 17));
}

/* A u16 of the model is an i64 of the function. */
static void replace_too_large(void *arg)
{
    const storage_job *j = arg;
    gcut_arena *a = j->env->arena;
    const msg m = every_storage(a, false);
    gcut_onnx_file *f = gcut_onnx_of_bytes(a, "m.onnx", m.at, m.n);
    const gcut_tensors own = initializers(f);
    gcut_tensors other = {0};
    for (uint32_t i = 0; i < own.n; i++)
        if (!strcmp(own.at[i].name, "w10.1")) *GCUT_PUSH(a, &other) = own.at[i];
    assert_int_equal(other.n, 1);
    other.at[0].data = (const int64_t[]){1, 65536, 2};
    gcut_onnx_replace_elements(f, a, &other, "no.onnx");
}

static void storages(void **state)
{
    world *w = *state;
    must(w->env, replace_all, &(storage_job){w->env, false});
    must(w->env, replace_all, &(storage_job){w->env, true});
    assert_int_equal(gcut_protect(w->env, replace_too_large, &(storage_job){w->env, false}), GCUT_ETYPE);
    assert_string_equal(w->env->diags[0].message,
                        "element 1 of 'w10.1', 65536, is no number of the initializer's type uint16");
}

/* ---- names ---- */

/* Names that are one name of the text IR, taken by initializers, inputs, outputs of nodes and made-up names. */
static void names_alike(void **state)
{
    world *w = *state;
    gcut_arena *a = w->env->arena;
    static const char *const name[] = {"a.b", "/a/b", "a/b", "onnx::Add_1", "relu", "s.1"};
    static const int64_t x[] = {0x3f800000, 0x40000000, 0x7f};
    msg g = new_msg(a);
    put_value(a, &g, INPUT, "s", 3);
    put_value(a, &g, OUTPUT, "y", 3);
    put_node(a, &g, "Relu", "s", "//a/b");
    put_node(a, &g, "Relu", "//a/b", "onnx__Add_1");
    put_node(a, &g, "Softplus", "onnx__Add_1", "sum0");
    for (int k = 5; k >= 0; k--) /* used in another order than they have in the file */
        put_node(a, &g, "Add", gcut_printf(a, "sum%d %s", 5 - k, name[k]),
                 k ? gcut_printf(a, "sum%d", 6 - k) : "y");
    for (int k = 0; k < 6; k++) {
        int64_t own[3];
        for (int i = 0; i < 3; i++) own[i] = x[i] + 2 * k;
        put_elements(a, &g, name[k], FLOAT, RAW, 4, 4, own);
    }
    const msg m = model_of(a, &g, 13);
    write_bytes("alike.onnx", m.at, m.n);
    trip t = {.a = a, .path = "alike.onnx"};
    if (!go(&t)) fail_msg("%s", t.why);
    assert_true(t.trained && t.same);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const gcut_graph *f = gcut_import_onnx(ctx, "alike.onnx", NULL, NULL);
    static const char *const own[] = {"a.b", "a.b.1", "a.b.2", "onnx__Add_1", "relu", "s.1"};
    for (int k = 0; k < 6; k++) {
        TRY("%s", own[k]);
        assert_non_null(gcut_param_find(f, own[k]));
    }
    gcut_ctx_free(ctx);
}

/* ---- external data ---- */

static void add_entry(gcut_arena *a, msg *tensor, const char *key, const char *value_)
{
    msg e = new_msg(a);
    text(&e, 1, key);
    text(&e, 2, value_);
    message(tensor, GCUT_ONNX_EXTERNAL_DATA, &e);
}

static msg external(gcut_arena *a, const char *name, int dtype, int64_t n, const char *file,
                    const char *offset)
{
    msg t = tensor_of(a, name, dtype, &n, 1);
    add_entry(a, &t, "location", file);
    add_entry(a, &t, "note", "kept");
    add_entry(a, &t, "checksum", "of the old elements");
    add_entry(a, &t, "offset", offset);
    number(&t, GCUT_ONNX_DATA_LOCATION, 1);
    return t;
}

/* w is trained, s in a node and k, of a type that gradcut lacks and up to the end of the file, are not. */
static void write_external(gcut_arena *a, const char *path, const char *file)
{
    const msg w = external(a, "w", FLOAT, 4, file, "0"), k = external(a, "k", FLOAT8, 3, file, "32"),
              s = external(a, "", FLOAT, 4, file, "16");
    msg g = graph_of(a), c = node_of(a, "Constant", "", "s"), attr = new_msg(a);
    text(&attr, 1, "value");
    message(&attr, 5, &s);
    number(&attr, 20, 4);
    message(&c, 5, &attr);
    message(&g, NODE, &c);
    put_node(a, &g, "Add", "x w", "z");
    put_node(a, &g, "Mul", "z s", "y");
    message(&g, INITIALIZER, &w);
    message(&g, INITIALIZER, &k);
    const msg m = model_of(a, &g, 13);
    write_bytes(path, m.at, m.n);
}

static void refuses_into(gcut_ctx *ctx, gcut_graph *g, const gcut_export_options *how, const char *out,
                         gcut_status status, const char *said)
{
    gcut_export_info *info;
    if (gcut_export_onnx(g, out, how, &info) != status) fail_msg("another status: %s", gcut_last_error(ctx));
    assert_null(info);
    if (!strstr(gcut_last_error(ctx), said)) fail_msg("no '%s': %s", said, gcut_last_error(ctx));
}

static void outside(void **state)
{
    world *w = *state;
    gcut_arena *a = w->env->arena;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    float elements[] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
    memcpy(&elements[8], "\1\2\3", 3);
    mkdir("m", 0700);
    mkdir("o", 0700);
    write_bytes("m/data", elements, 35);
    write_external(a, "m/m.onnx", "data");
    gcut_graph *g = gcut_import_onnx(ctx, "m/m.onnx", NULL, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    const float other[] = {-1, -2, -3, -4};
    write_npy("w.npy", "<f4", "(4,)", other, sizeof other);
    gcut_export_info *info;
    const gcut_export_options how = {.weights = "w.npy", .into = "m/m.onnx"};
    if (gcut_export_onnx(g, "o/m.onnx", &how, &info) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    assert_true(info->outside);
    assert_int_equal(info->initializers, 1);
    assert_int_equal(info->elements, 4);
    assert_int_equal(info->nodes, 3);
    assert_int_equal(info->opset, 13);
    const msg model = bytes_of(a, "o/m.onnx"), data = bytes_of(a, "o/m.onnx.data");
    assert_int_equal(info->bytes, model.n + data.n);
    gcut_free(info);
    /* The node is before the initializers; each is aligned. */
    assert_int_equal(data.n, 128 + 3);
    assert_memory_equal(data.at, &elements[4], 16);
    assert_memory_equal(data.at + 64, other, 16);
    assert_memory_equal(data.at + 128, "\1\2\3", 3);
    assert_null(memmem(model.at, model.n, "checksum", 8));
    assert_non_null(memmem(model.at, model.n, "kept", 4));
    gcut_graph *again = gcut_import_onnx(ctx, "o/m.onnx", NULL, NULL);
    if (!again) fail_msg("%s", gcut_last_error(ctx));
    assert_string_equal(text_of(a, again), text_of(a, g));
    assert_memory_equal(contents_of(a, again).at[0].data, other, sizeof other);
    /* Into itself: the former data stay. */
    const msg before = bytes_of(a, "m/data");
    assert_int_equal(gcut_export_onnx(g, "m/m.onnx", &how, NULL), GCUT_OK);
    assert_true(same_bytes(a, "m/m.onnx", "o/m.onnx"));
    assert_memory_equal(bytes_of(a, "m/data").at, before.at, before.n);
    /* But not where these would be written to, by this name or another. */
    static const char *const itself[] = {"m/m.onnx", "m/n.onnx", "m/m.onnx.data"};
    assert_int_equal(symlink("m.onnx.data", "m/n.onnx.data"), 0);
    for (int k = 0; k < 3; k++)
        refuses_into(ctx, g, &how, itself[k], GCUT_EIO, "'m/m.onnx.data', which would be overwritten");
    assert_true(same_bytes(a, "m/m.onnx", "o/m.onnx") && same_bytes(a, "m/m.onnx.data", "o/m.onnx.data"));
    rename("m/m.onnx", "m/p.onnx.data");
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "m/p.onnx.data"}, "m/p.onnx",
                 GCUT_EIO, "the model itself would be overwritten");
    /* Tensors that share all bytes of a file. */
    msg graph = graph_of(a);
    put_node(a, &graph, "Add", "x w", "y");
    for (int k = 0; k < 40; k++) {
        const msg t = external(a, k ? gcut_printf(a, "w%d", k) : "w", FLOAT, k ? 1 << 14 : 4, "data", "0");
        message(&graph, INITIALIZER, &t);
    }
    const msg bomb = model_of(a, &graph, 13);
    write_bytes("m/bomb.onnx", bomb.at, bomb.n);
    write_bytes("m/data", gcut_calloc(a, 1 << 14, 4), 1 << 16);
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "m/bomb.onnx"}, "no.onnx",
                 GCUT_EIO, "more than 16 times");
    write_bytes("m/data", elements, 8);
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "m/bomb.onnx"}, "no.onnx",
                 GCUT_EIO, "which has 8");
    assert_int_not_equal(access("no.onnx", F_OK) & access("no.onnx.data", F_OK), 0);
    gcut_ctx_free(ctx);
}

/* ---- what does not fit ---- */

static const char function[] =
    "gcut 1\nfunc @f(input %x: f32[4], param %w: f32[4], state %s: f32[4], state %k: f32[4]) ->"
    " (out y: f32[4], next s: f32[4]) {\n  %z = add(%x, %w)\n  %u = add(%s, %k)\n"
    "  %y = mul(%z, %u)\n  return %y, %y\n}\n";

/* An initializer of four zeros. */
static void put_tensor(gcut_arena *a, msg *graph, const char *name)
{
    const int64_t four = 4;
    msg t = tensor_of(a, name, FLOAT, &four, 1);
    counted(&t, 9, ((const float[4]){0}), 16);
    message(graph, INITIALIZER, &t);
}

/* A model of that function, of zeros. */
static msg model_with(gcut_arena *a, int dtype, const char *const *name, int n, int64_t size, int width)
{
    static const char zeros[64];
    msg g = graph_of(a);
    put_node(a, &g, "Relu", "x", "y");
    for (int k = 0; k < n; k++) {
        msg t = tensor_of(a, name[k], dtype, &size, 1);
        counted(&t, 9, zeros, (size_t)(size * width));
        message(&g, INITIALIZER, &t);
    }
    return model_of(a, &g, 13);
}

static void misfits(void **state)
{
    world *w = *state;
    gcut_arena *a = w->env->arena;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_parse(ctx, function, GCUT_TO_NUL, "f.gcut", NULL);
    static const float x[] = {1, 2.0001f, 3, 4};
    const gcut_tensor t = {.name = "w", .dtype = GCUT_F32, .rank = 1, .dim = {4}, .n = 4, .data = x};
    gcut_tensors all = {0};
    static const char *const name[] = {"w", "s", "unread"}, *const twice[] = {"w", "s", "w"};
    for (int k = 0; k < 2; k++) {
        *GCUT_PUSH(a, &all) = t;
        all.at[k].name = name[k];
    }
    gcut_tensors_write(w->env, "all.npz", &all);
    all.n = 1;
    gcut_tensors_write(w->env, "one.npz", &all);
    all.at[0].name = "s";
    gcut_tensors_write(w->env, "s.npz", &all);
    write_npy("w.npy", "<f4", "(4,)", x, sizeof x);
    const gcut_export_options how = {.weights = "all.npz", .into = "m.onnx"};
#define MODEL(...)                                                                                           \
    do {                                                                                                     \
        const msg made_ = model_with(a, __VA_ARGS__);                                                        \
        write_bytes("m.onnx", made_.at, made_.n);                                                            \
    } while (0)
    /* Of the model: a param and a state that is updated must be there, another state need not. */
#define REFUSED(says, ...)                                                                                   \
    do {                                                                                                     \
        MODEL(__VA_ARGS__);                                                                                  \
        refuses_into(ctx, g, &how, "no.onnx", GCUT_ETYPE, says);                                             \
    } while (0)
    REFUSED("do not fit @f: 2 missing", FLOAT, name, 0, 4, 4);
    REFUSED("2 of another shape", FLOAT, name, 3, 3, 4);
    REFUSED("two initializers of the model have the name 'w'", FLOAT, twice, 3, 4, 4);
    REFUSED("2 of another dtype", INT64, name, 3, 4, 8);
    REFUSED("another dtype  w: string[4], not f32[4]", STRING, name, 3, 4, 4);
    REFUSED("2 of another dtype", FLOAT16, name, 3, 4, 2);
    const gcut_export_options rounded = {.weights = "all.npz", .into = "m.onnx", .convert = true};
    assert_int_equal(gcut_export_onnx(g, "half.onnx", &rounded, NULL), GCUT_OK);
    const gcut_tensor *got = gcut_tensor_get(w->env, gcut_tensor_file_open(a, "half.onnx"), "w");
    assert_memory_equal(got->data, ((const uint16_t[]){0x3c00, 0x4000, 0x4200, 0x4400}), 8);
    /* Of the weights. */
    MODEL(FLOAT, name, 3, 4, 4);
    refuses_into(ctx, g, &(gcut_export_options){.weights = "s.npz", .into = "m.onnx"}, "no.onnx", GCUT_ETYPE,
                 "1 missing");
    refuses_into(ctx, g, &(gcut_export_options){.weights = "half.onnx", .into = "m.onnx"}, "no.onnx",
                 GCUT_ETYPE, "1 left over, 2 of another dtype");
    refuses_into(ctx, g, &(gcut_export_options){.into = "m.onnx"}, "no.onnx", GCUT_ETYPE,
                 "no contents for %w");
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "none.onnx"}, "no.onnx", GCUT_EIO,
                 "No such file");
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "w.npy"}, "no.onnx", GCUT_ESYNTAX,
                 "no ONNX file");
    write_bytes("empty.onnx", "", 0);
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "empty.onnx"}, "no.onnx",
                 GCUT_ESYNTAX, "the file is empty");
    write_bytes("empty.onnx", "\x08\x08", 2);
    refuses_into(ctx, g, &(gcut_export_options){.weights = "w.npy", .into = "empty.onnx"}, "no.onnx",
                 GCUT_ESYNTAX, "has no graph");
    /* What has no contents stays. */
    assert_int_equal(
        gcut_export_onnx(g, "one.onnx", &(gcut_export_options){.weights = "one.npz", .into = "m.onnx"}, NULL),
        GCUT_OK);
    const gcut_tensor_file *f = gcut_tensor_file_open(a, "one.onnx");
    assert_memory_equal(gcut_tensor_get(w->env, f, "w")->data, x, sizeof x);
    assert_memory_equal(gcut_tensor_get(w->env, f, "s")->data, ((const float[4]){0}), sizeof x);
    /* A field twice: of a tensor, of which readers take the last, and of the model, which they merge. */
    const int64_t four = 4;
    const gcut_export_options own = {.weights = "one.npz", .into = "twice.onnx", .partial = true};
    msg graph = graph_of(a), x_twice = tensor_of(a, "w", FLOAT, &four, 1), model = bytes_of(a, "m.onnx");
    counted(&x_twice, 9, x, sizeof x);
    counted(&x_twice, 9, x, sizeof x);
    message(&graph, INITIALIZER, &x_twice);
    put_tensor(a, &graph, "s");
    const msg tensor_twice = model_of(a, &graph, 13);
    write_bytes("twice.onnx", tensor_twice.at, tensor_twice.n);
    refuses_into(ctx, g, &own, "no.onnx", GCUT_ESYNTAX, "has the field 'raw_data' twice");
    graph = graph_of(a);
    message(&model, 7, &graph);
    write_bytes("twice.onnx", model.at, model.n);
    refuses_into(ctx, g, &own, "no.onnx", GCUT_ESYNTAX, "has the field 'graph' twice");
    assert_int_not_equal(access("no.onnx", F_OK), 0);
    gcut_ctx_free(ctx);
}

/* Cut anywhere: refused.  Any bit of another value: refused in one sentence, or a model is written. */
static void damaged(void **state)
{
    world *w = *state;
    gcut_arena *a = w->env->arena;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    static const int64_t x[] = {0x3c00, 0xffff, 0};
    msg g = new_msg(a);
    put_node(a, &g, "Relu", "w", "y");
    put_elements(a, &g, "w", FLOAT, RAW, 4, 4, x);
    put_elements(a, &g, "h", FLOAT16, PACKED, 2, 5, x);
    put_value(a, &g, OUTPUT, "y", 3);
    const msg m = model_of(a, &g, 13);
    gcut_graph *f = gcut_parse(ctx,
                               "gcut 1\nfunc @f(param %w: f32[3], state %h: f16[3]) -> (out y: f32[3]) {\n"
                               "  %k = cast(%h, to=f32)\n  %y = add(%w, %k)\n  return %y\n}\n"
                               "data @w: f32[3] = dense([1, 2, 3])\ndata @h: f16[3] = dense([1, 2, 3])\n",
                               GCUT_TO_NUL, "f.gcut", NULL);
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    const gcut_export_options how = {.into = "m.onnx"};
    write_bytes("m.onnx", m.at, m.n);
    if (gcut_export_onnx(f, "ok.onnx", &how, NULL) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    for (size_t n = 0; n < m.n; n++) {
        write_bytes("m.onnx", m.at, n);
        assert_int_not_equal(gcut_export_onnx(f, "no.onnx", &how, NULL), GCUT_OK);
    }
    assert_int_not_equal(access("no.onnx", F_OK), 0);
    for (size_t at = 0; at < m.n; at++)
        for (int k = 0; k < 8; k += 3) {
            char *copy = gcut_memdup(a, m.at, m.n);
            copy[at] ^= (char)(1 << k);
            write_bytes("m.onnx", copy, m.n);
            const gcut_status status = gcut_export_onnx(f, "maybe.onnx", &how, NULL);
            assert_true(status == GCUT_OK || *gcut_last_error(ctx));
        }
    gcut_ctx_free(ctx);
}

/* ---- memory ---- */

static void *allocate(void *user, void *block, size_t size)
{
    long *left = user;
    if (size && (*left)-- == 0) return NULL;
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

/* Each request for memory refused in turn. */
static void no_memory(void **state)
{
    (void)state;
    long refused = 0;
    for (gcut_status status = GCUT_ENOMEM; status != GCUT_OK; refused++) {
        long left = refused;
        gcut_env *env = gcut_env_new(allocate, &left);
        if (!env) continue;
        status = gcut_protect(env, replace_all, &(storage_job){env, false});
        assert_true(status == GCUT_OK || status == GCUT_ENOMEM);
        gcut_env_free(env);
    }
    assert_true(refused > 40);
}

/* ---- the command ---- */

static void command(void **state)
{
    (void)state;
    const char *const digits = GCUT_SOURCE_DIR "/examples/digits.onnx";
    free(fine(ARGV("import", digits, "-o", "digits.gcut")));
    char *said = fine(
        ARGV("export", "digits.gcut", "--weights", "digits.safetensors", "--into", digits, "-o", "d.onnx"));
    begins(
        said,
        "d.onnx: 6 nodes of opset 20; 8 initializers, of which params have 1386 elements; 1 input, 1 output");
    free(said);
    assert_int_equal(system("cmp -s d.onnx " GCUT_SOURCE_DIR "/examples/digits.onnx"), 0);
    refused(4, "8 missing|0.weight",
            ARGV("export", "digits.gcut", "--into", GCUT_SOURCE_DIR "/tests/onnx/vit.onnx", "-o", "d.onnx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(models),      WITH_FIXTURE(of_the_suite),  WITH_FIXTURE(storages),
        WITH_FIXTURE(names_alike), WITH_FIXTURE(outside),       WITH_FIXTURE(misfits),
        WITH_FIXTURE(damaged),     cmocka_unit_test(no_memory), cmocka_unit_test(command)};
    return cmocka_run_group_tests(tests, start, finish);
}
