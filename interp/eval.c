/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Helpers of the evaluators: arrays and their packed form, wrapping of integers, and attributes as
 * concrete numbers.
 */
#include "interp/eval.h"

#include <string.h>

/* ---- integers ---- */

int64_t gcut_eval_wrap(int64_t x, gcut_dtype t)
{
    switch (t) {
    case GCUT_BOOL: return x & 1;
    case GCUT_I8: return (int8_t)(uint8_t)x;
    case GCUT_I16: return (int16_t)(uint16_t)x;
    case GCUT_I32: return (int32_t)(uint32_t)x;
    case GCUT_U8: return (uint8_t)x;
    default: return x;
    }
}

int64_t gcut_eval_truncate(double x, gcut_dtype t)
{
    int64_t lo, hi;
    gcut_dtype_bounds(t, &lo, &hi);
    if (isnan(x)) return 0;
    /* (double)INT64_MAX is 2^63, one more than any i64, hence >= and <=. */
    return x >= (double)hi ? hi : x <= (double)lo ? lo : (int64_t)x;
}

/* ---- attributes ---- */

gcut_place gcut_eval_place(const gcut_eval *e)
{
    return gcut_loc_place(e->g->module, e->node->loc);
}

int64_t gcut_eval_size(const gcut_graph *g, gcut_dim d, const gcut_dim_binding *bind, uint32_t nbind,
                       gcut_locid loc)
{
    const gcut_module *m = g->module;
    int64_t out;
    if (gcut_dim_known(d)) return d;
    if (gcut_dim_eval(m->dims, d, bind, nbind, &out)) return out;
    const char *unbound = gcut_dim_unbound(m->dims, d, bind, nbind);
    if (unbound)
        gcut_fail(m->env, GCUT_EDIM, gcut_loc_place(m, loc), NULL,
                  "the size %s depends on %s, which no parameter's shape determines",
                  gcut_dim_text(m->arena, m->dims, d), unbound);
    return gcut_dim_at(m->dims, d, bind, nbind, gcut_loc_place(m, loc));
}

bool gcut_eval_dims(const gcut_eval *e, gcut_attr_key key, int64_t *out)
{
    const gcut_attr *a = gcut_attr_get(e->g, e->node, key);
    if (!a) return false;
    for (uint32_t k = 0; k < a->n; k++)
        out[k] = gcut_eval_size(e->g, a->u.dims[k], e->bind, e->nbind, e->node->loc);
    return true;
}

uint32_t gcut_eval_axis(const gcut_eval *e)
{
    return (uint32_t)gcut_attr_get(e->g, e->node, GCUT_KEY_axis)->u.dim;
}

int64_t gcut_eval_index(const gcut_eval *e, int64_t i, int64_t n)
{
    const gcut_attr *axis = gcut_attr_get(e->g, e->node, GCUT_KEY_axis);
    const char *op = gcut_op_get((gcut_op)e->node->op)->name;
    if (i >= 0 && i < n) return i;
    if (axis)
        gcut_fail(e->g->module->env, GCUT_EINDEX, gcut_eval_place(e), NULL,
                  "'%s': index %lld is outside of [0, %lld), the range of axis %lld", op, (long long)i,
                  (long long)n, (long long)axis->u.dim);
    gcut_fail(e->g->module->env, GCUT_EINDEX, gcut_eval_place(e), NULL,
              "'%s': index %lld is outside of [0, %lld)", op, (long long)i, (long long)n);
}
