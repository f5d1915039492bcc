/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .npy files: what is read has as many elements as its shape says, each can be read, and
 * what is written of it is read as the same again.
 */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "interp/eval.h"
#include "import/npy.h"

typedef struct job {
    gcut_env *env;
    const uint8_t *data;
    size_t size;
} job;

static void read_npy(void *arg)
{
    const job *j = arg;
    gcut_tensor x = gcut_npy_parse(j->env->arena, "fuzz.npy", j->data, j->size);
    int64_t n = 1;
    for (uint32_t r = 0; r < x.rank; r++) n = x.dim[r] == 0 ? 0 : n * x.dim[r];
    GCUT_ASSERT(n == x.n);
    gcut_array a = gcut_array_load(j->env->arena, x.dtype, x.rank, x.dim, x.data);
    size_t bytes = (size_t)(x.n * gcut_dtype_bytes(x.dtype));
    char *back = gcut_alloc(j->env->arena, bytes + 1);
    gcut_array_store(&a, back);
    if (!gcut_dtype_is_float(x.dtype))
        GCUT_ASSERT(!memcmp(back, x.data, bytes)); /* a NaN may lose its payload */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gcut_env *env = gcut_env_new(NULL, NULL);
    if (!env) return 0;
    job j = {.env = env, .data = data, .size = size};
    if (gcut_protect(env, read_npy, &j) != GCUT_OK) {
        GCUT_ASSERT(env->ndiags == 1);
        GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[0]) != NULL);
    }
    gcut_env_free(env);
    return 0;
}
