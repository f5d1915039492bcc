/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .npz files: each tensor that is read has as many bytes as its shape says, and opening a file takes at
 * most 100 bytes of memory for each of its bytes, and reading an element no more than its header says, libzip's memory
 * included.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/dtype_info.h"
#include "import/tensor_file.h"

/* Of clang's run-time library: called for all memory, also that of libzip. */
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
                                              void (*freed)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *);

/* Bytes that are allocated, and the most at a time. */
static size_t now, most;

static void add(const volatile void *block, size_t size)
{
    (void)block;
    now += size;
    if (now > most) most = now;
}

static void drop(const volatile void *block)
{
    if (block) now -= __sanitizer_get_allocated_size(block);
}

/* libzip's list of the 65,535 entries that the end of any file may promise, its buffers, and one head of a .npy file. */
enum { CONSTANT = 1 << 22 };

typedef struct job {
    gcut_env *env;
    const uint8_t *data;
    size_t size;
    gcut_tensor_file *file;
    const gcut_tensor *x;
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->file = gcut_tensor_file_parse(j->env->arena, "fuzz.npz", j->data, j->size);
}

static void load(void *arg)
{
    const job *j = arg;
    gcut_tensor_load(j->file, j->x);
}

/* Reads every byte. */
static void use(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, j->env->arena);
    const gcut_tensor *x = j->x;
    GCUT_ASSERT(gcut_tensor_get(j->env, j->file, x->name) == x);
    GCUT_ASSERT(gcut_tensor_type_text(a, x) != NULL);
    if (x->data && x->n < 1 << 20) {
        char *copy = gcut_alloc(a, (size_t)(x->n * 8) + 1);
        gcut_tensor_copy(j->env, j->file, x, gcut_dtype_is_float(x->dtype) ? GCUT_F64 : x->dtype, copy);
    }
    gcut_arena_free(a);
}

/* One sentence says why. */
static void refused(gcut_env *env)
{
    GCUT_ASSERT(env->ndiags == 1);
    GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[0]) != NULL);
    gcut_diags_clear(env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int hooked;
    if (!hooked) hooked = __sanitizer_install_malloc_and_free_hooks(add, drop);
    gcut_env *env = gcut_env_new(NULL, NULL);
    if (!env) return 0;
    job j = {.env = env, .data = data, .size = size};
    size_t before = now;
    most = now;
    gcut_status status = gcut_protect(env, parse, &j);
    GCUT_ASSERT(most - before <= 100 * size + CONSTANT);
    if (status != GCUT_OK) {
        refused(env);
        gcut_env_free(env);
        return 0;
    }
    for (uint32_t i = 0; i < j.file->tensor.n; i++) {
        j.x = &j.file->tensor.at[i];
        const size_t bytes = j.x->foreign ? 0 : (size_t)(j.x->n * gcut_dtype_bytes(j.x->dtype));
        most = before = now;
        status = gcut_protect(env, load, &j);
        GCUT_ASSERT(most - before <= 2 * bytes + CONSTANT);
        if (status != GCUT_OK) refused(env);
        GCUT_ASSERT(gcut_protect(env, use, &j) == GCUT_OK);
    }
    gcut_env_free(env);
    return 0;
}
