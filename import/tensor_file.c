/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of tensors of any format, and their elements in any dtype.
 */
#include "import/tensor_file.h"

#include <string.h>

#include "base/names.h"
#include "graph/ops/dtype_info.h"
#include "import/npy.h"
#include "import/npz.h"
#include "import/onnx/model.h"
#include "import/safetensors.h"

/* Elements of one copy.  Of a mapped file, the pages of at most one copy are in memory. */
enum { BLOCK = 1 << 18 };

/* ---- files ---- */

/* "w" of "weights/w.npy". */
static const char *stem(gcut_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return gcut_without_ending(arena, slash ? slash + 1 : path, ".npy");
}

gcut_tensor_file *gcut_tensor_file_parse(gcut_arena *arena, const char *name, const void *bytes, size_t size)
{
    gcut_tensor_file *f = gcut_calloc(arena, 1, sizeof *f);
    const char *p = bytes;
    f->name = name;
    if (size >= 6 && !memcmp(p, "\x93NUMPY", 6)) {
        gcut_tensor x = gcut_npy_parse(arena, name, bytes, size);
        x.name = stem(arena, name);
        *GCUT_PUSH(arena, &f->tensor) = x;
    } else if (size > 8 && p[8] == '{') {
        gcut_safetensors_parse(arena, name, bytes, size, &f->tensor);
    } else if (size >= 4 && (!memcmp(p, "PK\003\004", 4) || !memcmp(p, "PK\005\006", 4))) {
        f->npz = gcut_npz_parse(arena, name, bytes, size, &f->tensor);
    } else {
        gcut_fail(gcut_arena_env(arena), GCUT_EIO, (gcut_place){.file = name}, NULL,
                  "'%s' is neither a .safetensors nor a .npz nor a .npy file", name);
    }
    return f;
}

/* The initializers of a model. */
static gcut_tensor_file *open_model(gcut_arena *arena, const char *path)
{
    gcut_tensor_file *f = gcut_calloc(arena, 1, sizeof *f);
    gcut_onnx_file *model = gcut_onnx_open(arena, path);
    const Onnx__ModelProto *m = gcut_onnx_model(model);
    f->name = path;
    f->file = model->file;
    for (size_t i = 0; m->graph && i < m->graph->n_initializer; i++)
        *GCUT_PUSH(arena, &f->tensor) = gcut_onnx_tensor(model, m->graph->initializer[i]);
    return f;
}

gcut_tensor_file *gcut_tensor_file_open(gcut_arena *arena, const char *path)
{
    const size_t n = strlen(path);
    if (n > 5 && !strcmp(path + n - 5, ".onnx")) return open_model(arena, path);
    const gcut_file_bytes bytes = gcut_file_map(arena, path);
    gcut_tensor_file *f = gcut_tensor_file_parse(arena, path, bytes.at, bytes.n);
    f->file = bytes;
    return f;
}

const gcut_tensor *gcut_tensor_get(gcut_env *env, const gcut_tensor_file *f, const char *name)
{
    const gcut_place place = {.file = f->name};
    if (!name && f->tensor.n == 1) return &f->tensor.at[0];
    if (!name)
        gcut_fail(env, GCUT_EIO, place, "name one of them: file(\"FILE\", \"NAME\")", "'%s' has %u tensors",
                  f->name, f->tensor.n);
    gcut_nearest near = gcut_nearest_start(name);
    for (uint32_t i = 0; i < f->tensor.n; i++) {
        if (!strcmp(f->tensor.at[i].name, name)) return &f->tensor.at[i];
        gcut_nearest_add(&near, f->tensor.at[i].name);
    }
    gcut_fail(env, GCUT_EIO, place,
              near.best ? gcut_printf(env->arena, "did you mean '%s'?", near.best) : NULL,
              "'%s' has no tensor '%s'", f->name, name);
}

const gcut_tensor *gcut_tensors_find(const gcut_tensors *x, const char *name)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (!strcmp(x->at[i].name, name)) return &x->at[i];
    return NULL;
}

/* ---- elements ---- */

void gcut_tensor_load(gcut_tensor_file *f, const gcut_tensor *x)
{
    const uint32_t i = (uint32_t)(x - f->tensor.at);
    if (f->npz && !x->data && !x->foreign) gcut_npz_load(f->npz, &f->file, i, &f->tensor.at[i]);
}

const char *gcut_tensor_type_text(gcut_arena *a, const gcut_tensor *x)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "%s[", x->foreign ? x->foreign : gcut_dtype_name(x->dtype));
    for (uint32_t r = 0; r < x->rank; r++) gcut_text_add(&t, r ? ", %lld" : "%lld", (long long)x->dim[r]);
    gcut_text_addn(&t, "]", 1);
    return t.at;
}

bool gcut_tensor_converts(const gcut_tensor *x, gcut_dtype to)
{
    return !x->foreign && gcut_dtype_is_float(x->dtype) && gcut_dtype_is_float(to);
}

void gcut_tensor_copy(gcut_env *env, gcut_tensor_file *f, const gcut_tensor *x, gcut_dtype to, void *at)
{
    if (x->dtype != to && !gcut_tensor_converts(x, to))
        gcut_fail(env, GCUT_ETYPE, (gcut_place){.file = f ? f->name : NULL}, NULL,
                  "elements of %s cannot be converted to %s",
                  x->foreign ? x->foreign : gcut_dtype_name(x->dtype), gcut_dtype_name(to));
    if (f) gcut_tensor_load(f, x);
    const size_t width = (size_t)gcut_dtype_bytes(x->dtype), to_width = (size_t)gcut_dtype_bytes(to);
    for (int64_t k = 0; k < x->n; k += BLOCK) {
        const int64_t n = x->n - k < BLOCK ? x->n - k : BLOCK;
        const char *from = (const char *)x->data + (size_t)k * width;
        char *out = (char *)at + (size_t)k * to_width;
        if (x->dtype == to) {
            memcpy(out, from, (size_t)n * width);
        } else {
            gcut_arena *block = gcut_arena_new(env, env->arena);
            gcut_array v = gcut_array_load(block, x->dtype, 1, &n, from);
            v.dtype = to;
            gcut_array_store(&v, out);
            gcut_arena_free(block);
        }
        if (f) gcut_file_drop_pages(&f->file, from, (size_t)n * width);
    }
}

gcut_tensor gcut_tensor_as(gcut_arena *a, gcut_tensor_file *f, const gcut_tensor *x, gcut_dtype to)
{
    gcut_tensor out = *x;
    if (x->dtype == to) return out;
    void *at = gcut_calloc(a, (size_t)x->n + 1, (size_t)gcut_dtype_bytes(to));
    gcut_tensor_copy(gcut_arena_env(a), f, x, to, at);
    out.dtype = to;
    out.data = at;
    return out;
}

void gcut_tensors_write(gcut_env *env, const char *path, const gcut_tensors *x)
{
    const size_t n = strlen(path);
    if (n >= 4 && !strcmp(path + n - 4, ".npz"))
        gcut_npz_write(env, path, x);
    else
        gcut_safetensors_write(env, path, x);
}
