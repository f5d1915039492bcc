/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .safetensors files: the tensors that are read lie one behind the other in the file, have as many
 * bytes as their shapes say, and what is written of them is read as the same again.  Nothing takes more than 100 bytes
 * of memory for each byte of a file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/dtype_info.h"
#include "import/safetensors.h"
#include "import/tensor_file.h"

/* Bytes that are allocated, and the most at a time. */
typedef struct counter {
    size_t now, most;
} counter;

static void *allocate(void *user, void *block, size_t size)
{
    counter *c = user;
    size_t *head = block ? (size_t *)block - 2 : NULL;
    if (head) c->now -= *head;
    if (size == 0) {
        free(head);
        return NULL;
    }
    head = realloc(head, size + 2 * sizeof *head);
    if (!head) return NULL;
    *head = size;
    c->now += size;
    if (c->now > c->most) c->most = c->now;
    return head + 2;
}

typedef struct job {
    gcut_env *env;
    const uint8_t *data;
    size_t size;
    gcut_tensor_file *file;
} job;

static void parse(void *arg)
{
    job *j = arg;
    j->file = gcut_tensor_file_parse(j->env->arena, "fuzz.safetensors", j->data, j->size);
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
    gcut_arena *a = j->env->arena;
    const char *end = NULL;
    gcut_tensors known = {0};
    for (uint32_t i = 0; i < j->file->tensor.n; i++) {
        const gcut_tensor *x = &j->file->tensor.at[i];
        GCUT_ASSERT(gcut_tensor_get(j->env, j->file, x->name) == x);
        GCUT_ASSERT(gcut_tensor_type_text(a, x) != NULL);
        if (x->foreign) {
            end = NULL;
            continue;
        }
        GCUT_ASSERT(!end || end == x->data);
        end = (const char *)x->data + x->n * gcut_dtype_bytes(x->dtype);
        GCUT_ASSERT(end <= (const char *)j->data + j->size);
        *GCUT_PUSH(a, &known) = *x;
        char *copy = gcut_alloc(a, (size_t)(x->n * 8) + 1);
        gcut_tensor_copy(j->env, j->file, x, gcut_dtype_is_float(x->dtype) ? GCUT_F64 : x->dtype, copy);
    }
    size_t n;
    const gcut_file_part *part = gcut_safetensors_parts(a, &known, &n);
    gcut_text all = {.arena = a};
    for (size_t i = 0; i < n; i++)
        if (part[i].n) gcut_text_addn(&all, part[i].at, part[i].n);
    const gcut_tensor_file *back = gcut_tensor_file_parse(a, "again", all.at, all.n);
    GCUT_ASSERT(back->tensor.n == known.n);
    for (uint32_t i = 0; i < known.n; i++)
        GCUT_ASSERT(same(&known.at[i], gcut_tensor_get(j->env, back, known.at[i].name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    counter c = {0};
    gcut_env *env = gcut_env_new(allocate, &c);
    if (!env) return 0;
    const size_t before = c.now;
    job j = {.env = env, .data = data, .size = size};
    const gcut_status status = gcut_protect(env, parse, &j);
    GCUT_ASSERT(c.most - before <= 100 * size + 65536);
    if (status == GCUT_OK) {
        GCUT_ASSERT(gcut_protect(env, check, &j) == GCUT_OK);
    } else {
        GCUT_ASSERT(env->ndiags == 1);
        GCUT_ASSERT(gcut_diag_text(env->arena, &env->diags[0]) != NULL);
    }
    gcut_env_free(env);
    return 0;
}
