/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .safetensors files: the tensors that are read lie one after the other in the file, have as many
 * bytes as their shapes say, and what is written of them is read as the same again.  Nothing takes more than 100 bytes
 * of memory for each byte of a file.
 */
#include <string.h>

#include "fuzz.h"
#include "graph/ops/dtype_info.h"
#include "import/safetensors.h"
#include "import/tensor_file.h"

typedef struct job {
    const input *in;
    gcut_tensor_file *file;
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->file = gcut_tensor_file_parse(j->in->env->arena, "fuzz.safetensors", j->in->data, j->in->size);
}

static bool same(const gcut_tensor *x, const gcut_tensor *y)
{
    return x->dtype == y->dtype && x->rank == y->rank && x->n == y->n &&
           !memcmp(x->dim, y->dim, x->rank * sizeof *x->dim) &&
           !memcmp(x->data, y->data, (size_t)(x->n * gcut_dtype_bytes(x->dtype)));
}

static void check(void *arg)
{
    job *j = arg;
    gcut_env *env = j->in->env;
    gcut_arena *a = env->arena;
    const char *end = NULL;
    gcut_tensors known = {0};
    for (uint32_t i = 0; i < j->file->tensor.n; i++) {
        const gcut_tensor *x = &j->file->tensor.at[i];
        GCUT_ASSERT(gcut_tensor_get(env, j->file, x->name) == x);
        GCUT_ASSERT(gcut_tensor_type_text(a, x) != NULL);
        if (x->foreign) {
            end = NULL;
            continue;
        }
        GCUT_ASSERT(!end || end == x->data);
        end = (const char *)x->data + x->n * gcut_dtype_bytes(x->dtype);
        GCUT_ASSERT(end <= j->in->data + j->in->size);
        *GCUT_PUSH(a, &known) = *x;
        char *copy = gcut_alloc(a, (size_t)(x->n * 8) + 1);
        gcut_tensor_copy(env, j->file, x, gcut_dtype_is_float(x->dtype) ? GCUT_F64 : x->dtype, copy);
    }
    size_t n;
    const gcut_file_part *part = gcut_safetensors_parts(a, &known, &n);
    gcut_text all = {.arena = a};
    for (size_t i = 0; i < n; i++)
        if (part[i].n) gcut_text_addn(&all, part[i].at, part[i].n);
    const gcut_tensor_file *back = gcut_tensor_file_parse(a, "again", all.at, all.n);
    GCUT_ASSERT(back->tensor.n == known.n);
    for (uint32_t i = 0; i < known.n; i++)
        GCUT_ASSERT(same(&known.at[i], gcut_tensor_get(env, back, known.at[i].name)));
}

static void fuzz(input *in)
{
    const size_t before = in->memory.now;
    job j = {.in = in};
    const gcut_status status = gcut_protect(in->env, parse, &j);
    GCUT_ASSERT(in->memory.most - before <= 100 * in->size + 65536);
    if (status == GCUT_OK)
        GCUT_ASSERT(gcut_protect(in->env, check, &j) == GCUT_OK);
    else
        check_refusal(in->env, 1);
}
