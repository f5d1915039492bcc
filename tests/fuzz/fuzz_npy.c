/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer entry of .npy files: what is read has as many elements as its shape says, each can be read, and
 * what is written of it is read as the same again.
 */
#include <string.h>

#include "base/arena.h"
#include "fuzz.h"
#include "interp/eval.h"
#include "import/npy.h"

static void read_npy(void *arg)
{
    const input *in = arg;
    gcut_tensor x = gcut_npy_parse(in->env->arena, "fuzz.npy", in->data, in->size);
    int64_t n = 1;
    for (uint32_t r = 0; r < x.rank; r++)
        n *= x.dim[r] != 0; /* of sizes beside a 0 the product may overflow */
    for (uint32_t r = 0; r < x.rank && n; r++) n *= x.dim[r];
    GCUT_ASSERT(n == x.n);
    gcut_array a = gcut_array_load(in->env->arena, x.dtype, x.rank, x.dim, x.data);
    size_t bytes = (size_t)(x.n * gcut_dtype_bytes(x.dtype));
    char *back = gcut_alloc(in->env->arena, bytes + 1);
    gcut_array_store(&a, back);
    if (!gcut_dtype_is_float(x.dtype))
        GCUT_ASSERT(!memcmp(back, x.data, bytes)); /* a NaN may lose its payload */
}

static void fuzz(input *in)
{
    if (gcut_protect(in->env, read_npy, in) != GCUT_OK) check_refusal(in->env, 1);
}
