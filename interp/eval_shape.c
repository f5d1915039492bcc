/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Evaluators of data movement and constants.
 */
#include "interp/eval.h"

void gcut_eval_reshape(gcut_eval *e)
{
    if (e->arg[0].n != e->out.n)
        gcut_fail(e->g->module->env, GCUT_EDIM, gcut_eval_place(e), NULL,
                  "reshape: %lld elements do not fit a shape of %lld", (long long)e->arg[0].n,
                  (long long)e->out.n);
    for (int64_t k = 0; k < e->out.n; k++) gcut_eval_put(&e->out, k, &e->arg[0], k);
}

void gcut_eval_transpose(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    int64_t perm[GCUT_MAX_RANK], to[GCUT_MAX_RANK], from[GCUT_MAX_RANK] = {0};
    gcut_eval_dims(e, GCUT_KEY_perm, perm);
    for (int64_t k = 0; k < e->out.n; k++) {
        gcut_eval_unravel(&e->out, k, to);
        for (uint32_t r = 0; r < x->rank; r++) from[perm[r]] = to[r];
        gcut_eval_put(&e->out, k, x, gcut_eval_ravel(x, from));
    }
}

/* An operand axis of size 1 repeats along the axis it lands on. */
void gcut_eval_broadcast(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    int64_t axes[GCUT_MAX_RANK], to[GCUT_MAX_RANK], from[GCUT_MAX_RANK];
    gcut_eval_dims(e, GCUT_KEY_axes, axes);
    for (int64_t k = 0; k < e->out.n; k++) {
        gcut_eval_unravel(&e->out, k, to);
        for (uint32_t r = 0; r < x->rank; r++) from[r] = x->dim[r] == 1 ? 0 : to[axes[r]];
        gcut_eval_put(&e->out, k, x, gcut_eval_ravel(x, from));
    }
}

void gcut_eval_slice(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    int64_t start[GCUT_MAX_RANK], limit[GCUT_MAX_RANK], step[GCUT_MAX_RANK], to[GCUT_MAX_RANK];
    gcut_eval_dims(e, GCUT_KEY_start, start);
    gcut_eval_dims(e, GCUT_KEY_limit, limit);
    if (!gcut_eval_dims(e, GCUT_KEY_step, step))
        for (uint32_t r = 0; r < x->rank; r++) step[r] = 1;
    for (uint32_t r = 0; r < x->rank; r++)
        if (start[r] > limit[r] || limit[r] > x->dim[r])
            gcut_fail(e->g->module->env, GCUT_EDIM, gcut_eval_place(e), NULL,
                      "slice: axis %u has size %lld, which does not hold %lld..%lld", (unsigned)r,
                      (long long)x->dim[r], (long long)start[r], (long long)limit[r]);
    for (int64_t k = 0; k < e->out.n; k++) {
        gcut_eval_unravel(&e->out, k, to);
        for (uint32_t r = 0; r < x->rank; r++) to[r] = start[r] + to[r] * step[r];
        gcut_eval_put(&e->out, k, x, gcut_eval_ravel(x, to));
    }
}

static void fill(gcut_array *out, gcut_num value)
{
    for (int64_t k = 0; k < out->n; k++) {
        if (gcut_dtype_is_float(out->dtype))
            out->u.f[k] = value.f;
        else if (out->dtype == GCUT_BOOL)
            out->u.i[k] = value.f != 0;
        else
            out->u.i[k] = value.is_int ? value.i : gcut_eval_truncate(value.f, out->dtype);
    }
}

/* Element i of an axis lands on low + i * (interior + 1). */
void gcut_eval_pad(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    int64_t low[GCUT_MAX_RANK], gap[GCUT_MAX_RANK] = {0}, at[GCUT_MAX_RANK];
    gcut_eval_dims(e, GCUT_KEY_low, low);
    gcut_eval_dims(e, GCUT_KEY_interior, gap);
    fill(&e->out, gcut_attr_get(e->g, e->node, GCUT_KEY_value)->u.num);
    for (int64_t k = 0; k < x->n; k++) {
        gcut_eval_unravel(x, k, at);
        for (uint32_t r = 0; r < x->rank; r++) at[r] = low[r] + at[r] * (gap[r] + 1);
        gcut_eval_put(&e->out, gcut_eval_ravel(&e->out, at), x, k);
    }
}

void gcut_eval_concat(gcut_eval *e)
{
    uint32_t axis = gcut_eval_axis(e);
    int64_t at[GCUT_MAX_RANK], offset = 0;
    for (uint32_t j = 0; j < e->nargs; j++) {
        const gcut_array *x = &e->arg[j];
        for (int64_t k = 0; k < x->n; k++) {
            gcut_eval_unravel(x, k, at);
            at[axis] += offset;
            gcut_eval_put(&e->out, gcut_eval_ravel(&e->out, at), x, k);
        }
        offset += x->dim[axis];
    }
}

void gcut_eval_flip(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    uint32_t axes = gcut_attr_axes(e->g, e->node);
    int64_t at[GCUT_MAX_RANK];
    for (int64_t k = 0; k < x->n; k++) {
        gcut_eval_unravel(x, k, at);
        for (uint32_t r = 0; r < x->rank; r++)
            if (axes >> r & 1) at[r] = x->dim[r] - 1 - at[r];
        gcut_eval_put(&e->out, gcut_eval_ravel(x, at), x, k);
    }
}

/* Element k is bit k % 8 of byte k / 8; the bits after the last element are 0. */
void gcut_eval_pack_bits(gcut_eval *e)
{
    const gcut_array *x = &e->arg[0];
    for (int64_t k = 0; k < x->n; k++) e->out.u.i[k / 8] += x->u.i[k] * ((int64_t)1 << k % 8);
}

void gcut_eval_unpack_bits(gcut_eval *e)
{
    for (int64_t k = 0; k < e->out.n; k++) e->out.u.i[k] = e->arg[0].u.i[k / 8] / ((int64_t)1 << k % 8) % 2;
}

void gcut_eval_dim(gcut_eval *e)
{
    gcut_dim of = gcut_attr_get(e->g, e->node, GCUT_KEY_of)->u.dim;
    e->out.u.i[0] = gcut_eval_size(e->g, of, e->bind, e->nbind, e->node->loc);
}

void gcut_eval_full(gcut_eval *e)
{
    fill(&e->out, gcut_attr_get(e->g, e->node, GCUT_KEY_value)->u.num);
}

void gcut_eval_iota(gcut_eval *e)
{
    gcut_eval_split s = gcut_eval_around(&e->out, gcut_eval_axis(e));
    for (int64_t k = 0; k < e->out.n; k++) {
        int64_t i = k / s.inner % s.n;
        if (gcut_dtype_is_float(e->out.dtype))
            e->out.u.f[k] = (double)i;
        else
            e->out.u.i[k] = i;
    }
}
