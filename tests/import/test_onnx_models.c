/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The models of tests/onnx, which PyTorch's exporters wrote, against its loss, gradients and running statistics in the
 * files beside them (tests/import/train_torch_models.py --write-reference).
 */
#include "harness.h"

#include "gradcut/train.h"
#include "import/tensor_file.h"

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static void set_inputs(gcut_ctx *ctx, gcut_step *s, const gcut_tensors *file)
{
    for (uint32_t i = 0; i < file->n; i++) {
        const gcut_tensor *x = &file->at[i];
        if (begins(x->name, "in.") &&
            gcut_set_as(s, x->name + strlen("in."), x->dtype, x->data, (int)x->rank, x->dim) != GCUT_OK)
            fail_msg("%s", gcut_last_error(ctx));
    }
}

/* Of a float array whose elements have that dtype, at any address. */
static double element(gcut_dtype t, const void *at, int64_t k)
{
    double wide;
    float narrow;
    if (t == GCUT_F64) return memcpy(&wide, (const char *)at + (size_t)k * sizeof wide, sizeof wide), wide;
    memcpy(&narrow, (const char *)at + (size_t)k * sizeof narrow, sizeof narrow);
    return (double)narrow;
}

/* The step computes in f64 and its results are rounded to f32, as the reference's gradients are.  The model's own
 * constants were rounded as well, by the exporter. */
static void compare(const char *model, gcut_step *s, const gcut_tensor *want)
{
    const gcut_value_info *v =
        gcut_step_value(s, begins(want->name, "next.") ? want->name + strlen("next.") : want->name);
    double most = 0;
    if (!v) fail_msg("%s: there is no %s", model, want->name);
    assert_int_equal(v->rank, want->rank);
    for (uint32_t r = 0; r < want->rank; r++) assert_int_equal(v->dim[r], want->dim[r]);
    for (int64_t k = 0; k < want->n; k++) most = fmax(most, fabs(element(want->dtype, want->data, k)));
    for (int64_t k = 0; k < want->n; k++) {
        const double x = element(v->dtype, v->at, k), y = element(want->dtype, want->data, k);
        if (!(fabs(x - y) <= 1e-5 * most + 1e-8))
            fail_msg("%s: %s[%d] is %.9g, PyTorch has %.9g", model, want->name, (int)k, x, y);
    }
}

static void check(const char *model, const char *loss, size_t gradients, size_t statistics)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    const char *path = gcut_printf(env->arena, "%s/tests/onnx/%s", GCUT_SOURCE_DIR, model);
    gcut_tensor_file *file = gcut_tensor_file_open(env->arena, gcut_printf(env->arena, "%s.npz", path));
    for (uint32_t i = 0; i < file->tensor.n; i++) gcut_tensor_load(file, &file->tensor.at[i]);
    gcut_import_info *info;
    gcut_graph *g = gcut_import_onnx(ctx, gcut_printf(env->arena, "%s.onnx", path),
                                     &(gcut_import_options){.loss = loss}, &info);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    gcut_step *s = gcut_compile(g, &(gcut_options){.backend = GCUT_BACKEND_EAGER, .f64 = true});
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    set_inputs(ctx, s, &file->tensor);
    if (gcut_run(s) != GCUT_OK) fail_msg("%s", gcut_last_error(ctx));
    assert_int_equal(info->params, gradients);
    size_t grads = 0, nexts = 0;
    for (uint32_t i = 0; i < file->tensor.n; i++) {
        const gcut_tensor *x = &file->tensor.at[i];
        if (begins(x->name, "in.")) continue;
        grads += begins(x->name, "grad.");
        nexts += begins(x->name, "next.");
        compare(model, s, x);
    }
    assert_int_equal(grads, gradients);
    assert_int_equal(nexts, statistics);
    gcut_free(info);
    gcut_ctx_free(ctx);
    gcut_env_free(env);
}

/* Exported for training: BatchNormalization uses the statistics of the batch and updates the running ones. */
static void residual_network(void **state)
{
    (void)state;
    check("resnet", "cross_entropy(y, t: i64[N])", 29, 18);
}

/* An embedding whose transpose is the head, a mask that is an input, lengths that are symbols. */
static void encoder(void **state)
{
    (void)state;
    check("bert", "cross_entropy(y, t: i64[N, T])", 26, 0);
}

/* Rotary embedding, whose frequencies are a buffer and no parameter, and grouped queries. */
static void decoder(void **state)
{
    (void)state;
    check("llama", "cross_entropy(y, t: i64[N, T])", 12, 0);
}

/* Matrices that the exporter has transposed, of names of its own. */
static void pictures(void **state)
{
    (void)state;
    check("vit", "cross_entropy(y, t: i64[N])", 20, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residual_network),
        cmocka_unit_test(encoder),
        cmocka_unit_test(decoder),
        cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
