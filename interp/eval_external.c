/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * External kernels in the interpreter: their functions, on packed copies of the arrays.
 */
#include <string.h>

#include "interp/eval.h"
#include "graph/external.h"

static gcut_rt_tensor tensor(gcut_arena *a, const gcut_array *x)
{
    size_t bytes = (size_t)x->n * (size_t)gcut_dtype_bytes(x->dtype);
    gcut_rt_tensor t = {.at = gcut_calloc(a, bytes + 1, 1), .dtype = (int)x->dtype, .rank = (int)x->rank};
    memcpy(t.dim, x->dim, x->rank * sizeof *t.dim);
    return t;
}

/* Kernels get the dtypes of the graph at every precision of the interpreter. */
void gcut_eval_external(gcut_eval *e)
{
    gcut_arena *a = gcut_arena_new(e->g->module->env, e->arena);
    gcut_rt_tensor *in = gcut_calloc(a, e->nargs + 1u, sizeof *in),
                   *out = gcut_calloc(a, e->node->nres, sizeof *out);
    gcut_rt_external_fn *fn = gcut_external_find(e->g->module->env, gcut_external_kernel(e->g, e->node));
    if (!fn) gcut_external_require(e->g);
    for (uint32_t k = 0; k < e->nargs; k++) {
        in[k] = tensor(a, &e->arg[k]);
        gcut_array_store(&e->arg[k], in[k].at);
    }
    for (uint32_t k = 0; k < e->node->nres; k++) out[k] = tensor(a, &e->outs[k]);
    fn(&(gcut_rt_external){in, out, (int)e->nargs, e->node->nres, 1});
    for (uint32_t k = 0; k < e->node->nres; k++) {
        gcut_array *y = &e->outs[k], got = gcut_array_load(a, y->dtype, y->rank, y->dim, out[k].at);
        if (gcut_dtype_is_float(y->dtype))
            memcpy(y->u.f, got.u.f, (size_t)y->n * sizeof *y->u.f);
        else
            memcpy(y->u.i, got.u.i, (size_t)y->n * sizeof *y->u.i);
    }
    gcut_arena_free(a);
}
