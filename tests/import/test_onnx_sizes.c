/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes that models of ONNX compute of shapes: expressions over symbols stay what they are, whatever the dtype of the
 * integers that hold them.
 */
#include "harness.h"

#include "import/onnx/import.h"
#include "onnx_file.h"

typedef struct world {
    gcut_env *env;
    int dtype;
} world;

FIXTURE(world)

/* y = Expand(w, Cast(Concat(Cast(Shape(x)), Cast(Shape(x))))) of x: f32[N] */
static void import_body(void *arg)
{
    const world *w = arg;
    gcut_arena *a = w->env->arena;
    const int64_t one = 1;
    msg g = new_msg(a), t = tensor_of(a, "w", FLOAT, &one, 1), n;
    counted(&t, 9, "\0\0\x80\x3f", 4);
    message(&g, INITIALIZER, &t);
    put_value(a, &g, INPUT, "x", -1);
    put_value(a, &g, OUTPUT, "y", -1);
    put_node(a, &g, "Shape", "x", "s");
    n = node_of(a, "Cast", "s", "c");
    put_int(a, &n, "to", w->dtype);
    message(&g, NODE, &n);
    n = node_of(a, "Concat", "c c", "d");
    put_int(a, &n, "axis", 0);
    message(&g, NODE, &n);
    n = node_of(a, "Cast", "d", "e");
    put_int(a, &n, "to", INT64);
    message(&g, NODE, &n);
    put_node(a, &g, "Expand", "w e", "y");
    const msg m = model_of(a, &g, 13);
    gcut_onnx_file *f = gcut_onnx_of_bytes(a, "m.onnx", m.at, m.n);
    const gcut_onnx_import got = gcut_onnx_import_model(f, gcut_module_new(w->env, a), "main", NULL);
    const gcut_type *type = gcut_type_of(got.g, got.g->results.at[0].value);
    assert_string_equal(gcut_type_text(a, got.g->module, type), "f32[N, N]");
}

static void dtypes(void **state)
{
    world *w = *state;
    static const int integers[] = {INT64, 6 /* int32 */};
    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
        w->dtype = integers[k];
        must(w->env, import_body, w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FIXTURE(dtypes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
