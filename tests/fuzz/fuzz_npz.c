/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .npz files: each tensor that is read has as many bytes as its shape says, and opening a file takes at
 * most 100 bytes of memory for each of its bytes, and reading an element no more than its header says, libzip's memory
 * included.
 */
#include "fuzz.h"
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
    const input *in;
    gcut_tensor_file *file;
    const gcut_tensor *x;
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->file = gcut_tensor_file_parse(j->in->env->arena, "fuzz.npz", j->in->data, j->in->size);
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
    gcut_env *env = j->in->env;
    gcut_arena *a = gcut_arena_new(env, env->arena);
    const gcut_tensor *x = j->x;
    GCUT_ASSERT(gcut_tensor_get(env, j->file, x->name) == x);
    GCUT_ASSERT(gcut_tensor_type_text(a, x) != NULL);
    if (x->data && x->n < 1 << 20) {
        char *copy = gcut_alloc(a, (size_t)(x->n * 8) + 1);
        gcut_tensor_copy(env, j->file, x, gcut_dtype_is_float(x->dtype) ? GCUT_F64 : x->dtype, copy);
    }
    gcut_arena_free(a);
}

static void fuzz(input *in)
{
    static int hooked;
    if (!hooked) hooked = __sanitizer_install_malloc_and_free_hooks(add, drop);
    job j = {.in = in};
    size_t before = now;
    most = now;
    gcut_status status = gcut_protect(in->env, parse, &j);
    GCUT_ASSERT(most - before <= 100 * in->size + CONSTANT);
    if (status != GCUT_OK) {
        check_refusal(in->env, 1);
        return;
    }
    for (uint32_t i = 0; i < j.file->tensor.n; i++) {
        j.x = &j.file->tensor.at[i];
        const size_t bytes = j.x->foreign ? 0 : (size_t)(j.x->n * gcut_dtype_bytes(j.x->dtype));
        most = before = now;
        status = gcut_protect(in->env, load, &j);
        GCUT_ASSERT(most - before <= 2 * bytes + CONSTANT);
        if (status != GCUT_OK) check_refusal(in->env, 1);
        gcut_diags_clear(in->env);
        GCUT_ASSERT(gcut_protect(in->env, use, &j) == GCUT_OK);
    }
}
