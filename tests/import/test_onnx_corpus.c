/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of tests/corpus, with which the fuzzer begins and some of which it has found: each is imported, or refused with a
 * sentence.
 */
#include "harness.h"

#include "import/onnx/import.h"

typedef struct world {
    gcut_env *env;
    const char *path;
} world;

FIXTURE(world)

static void import_body(void *arg)
{
    const world *w = arg;
    gcut_arena *a = w->env->arena;
    gcut_onnx_import_model(gcut_onnx_open(a, w->path), gcut_module_new(w->env, a), "main", NULL);
}

static void models(void **state)
{
    world *w = *state;
    static const struct {
        const char *name;
        gcut_status status;
        const char *says;
    } cases[] = {
        {"functions", GCUT_OK, NULL},
        {"sizes", GCUT_OK, NULL},
        {"loop", GCUT_OK, NULL},
        {"resize_to_none", GCUT_OK, NULL},
        {"resize", GCUT_EUNSUPPORTED, "expected an axis that gets at most 2^31 times shorter"},
        {"resize_far", GCUT_EUNSUPPORTED,
         "the 121 bytes of the model would become more than 1050512 elements of constants"},
        {"pad_by_size", GCUT_EUNSUPPORTED, "the value of the padding follows from sizes that are symbols"},
        {"col2im", GCUT_ETYPE,
         "expected blocks of 1 to 1024, strides of 1 or more, and dilations of 1 to 2^31"},
        {"split_to_sequence", GCUT_EUNSUPPORTED,
         "the 95 bytes of the model would become more than 8287 nodes"},
        {"dft", GCUT_EUNSUPPORTED, "axis 1 is too long"},
        {"reflection_pad", GCUT_OK, NULL}, /* of PyTorch: slices end at INT64_MIN + 1 */
        {"negative_group", GCUT_ETYPE, "expected a 'group' of 1 or more"},
        {"tile_far", GCUT_ETYPE,
         "the size arithmetic leaves 64 bits: (4611686018427387904) * (4611686018427387904)"},
        {"roi_align", GCUT_ETYPE, "expected the images of the regions of 1 axes, found 4"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("%s", cases[i].name);
        const uint32_t before = w->env->ndiags;
        w->path = gcut_printf(w->env->arena, GCUT_SOURCE_DIR "/tests/corpus/%s.onnx", cases[i].name);
        assert_int_equal(gcut_protect(w->env, import_body, w), cases[i].status);
        if (!cases[i].says) continue;
        assert_string_equal(w->env->diags[before].message, cases[i].says);
        assert_non_null(w->env->diags[before].at.file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_FIXTURE(models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
