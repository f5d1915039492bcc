/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decompositions of ops on images, [N, C, H, W].
 */
#include "graph/decompose/decompose_rule.h"

#include <string.h>

/* x with `axis` repeated: [.., n, f, ..], element k of the new axis being a copy. */
static gcut_ref phases(gcut_build *b, gcut_ref x, uint32_t axis, gcut_dim factor, gcut_type *wide)
{
    gcut_type t = type_of(b, x);
    gcut_dim axes[GCUT_MAX_RANK];
    *wide = (gcut_type){.dtype = t.dtype, .rank = (uint8_t)(t.rank + 1)};
    for (uint32_t d = 0; d < t.rank; d++) {
        axes[d] = d <= axis ? d : d + 1;
        wide->dim[axes[d]] = t.dim[d];
    }
    wide->dim[axis + 1] = factor;
    return gcut_bbroadcast(b, x, wide->dim, wide->rank, axes);
}

/* [.., n, f, ..] -> [.., n f, ..] */
static gcut_ref join_phases(gcut_build *b, gcut_ref x, uint32_t axis)
{
    gcut_type t = type_of(b, x), to = {.rank = (uint8_t)(t.rank - 1)};
    for (uint32_t d = 0; d < to.rank; d++) to.dim[d] = t.dim[d <= axis ? d : d + 1];
    to.dim[axis] = gcut_dim_make(b->g->module->dims, GCUT_DIM_MUL, t.dim[axis], t.dim[axis + 1]);
    return gcut_breshape(b, x, to.dim, to.rank);
}

/* Element i is x's element i - 1 (next: i + 1) along axis; the first (last) stays. */
static gcut_ref neighbour(gcut_build *b, gcut_ref x, uint32_t axis, bool next)
{
    gcut_type t = type_of(b, x);
    gcut_dims *ds = b->g->module->dims;
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK], n = t.dim[axis];
    memcpy(limit, t.dim, sizeof limit);
    gcut_dim less = gcut_dim_make(ds, GCUT_DIM_SUB, n, 1);
    start[axis] = next ? 1 : 0;
    limit[axis] = next ? n : less;
    gcut_ref most = gcut_bslice(b, x, start, limit, NULL);
    start[axis] = next ? less : 0;
    limit[axis] = next ? n : 1;
    gcut_ref edge = gcut_bslice(b, x, start, limit, NULL);
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return gcut_node_new(b->g, GCUT_OP_concat, next ? (gcut_ref[]){most, edge} : (gcut_ref[]){edge, most}, 2,
                         &a, 1, b->loc, b->name);
}

/* Phase k of pixel i lies at i + o, o = (k + 1/2) / f - 1/2, and so between i and its neighbour on the side
 * of o: y = (1 - |o|) x[i] + |o| x[i -+ 1]. */
static gcut_ref bilinear(gcut_build *b, gcut_ref x, uint32_t axis, gcut_dim factor)
{
    gcut_type wide;
    gcut_ref here = phases(b, x, axis, factor, &wide);
    gcut_ref before = phases(b, neighbour(b, x, axis, false), axis, factor, &wide);
    gcut_ref after = phases(b, neighbour(b, x, axis, true), axis, factor, &wide);
    gcut_type index = wide;
    index.dtype = GCUT_I64;
    gcut_ref k = gcut_biota(b, &index, (int)axis + 1);
    gcut_ref half = gcut_bconst(b, k, (double)(factor - 1));
    gcut_ref low = gcut_b2(b, GCUT_OP_lt, gcut_bscale(b, k, 2), half);
    gcut_ref whole = gcut_bfull(b, &wide, (double)factor);
    gcut_ref at = gcut_b2(b, GCUT_OP_div, gcut_baddc(b, gcut_bconvert(b, k, wide.dtype), 0.5), whole);
    gcut_ref o = gcut_b1(b, GCUT_OP_abs, gcut_baddc(b, at, -0.5));
    gcut_ref near = gcut_b2(b, GCUT_OP_mul, gcut_b2(b, GCUT_OP_sub, gcut_bconst(b, o, 1), o), here);
    gcut_ref far = gcut_b2(b, GCUT_OP_mul, o, gcut_bselect(b, low, before, after));
    return join_phases(b, gcut_b2(b, GCUT_OP_add, near, far), axis);
}

/* One axis after the other.  Bilinear is PyTorch's with align_corners=False: pixels are squares, and beyond
 * the centres of the outermost ones their value stays. */
gcut_ref gcut_decompose_upsample(composite *c)
{
    bool nearest = !strcmp(attr(c, GCUT_KEY_mode)->u.str, "nearest");
    const gcut_dim factor[] = {attr(c, GCUT_KEY_factor)->u.dims[0], attr(c, GCUT_KEY_factor)->u.dims[1]};
    gcut_ref y = c->x[0];
    for (uint32_t k = 0; k < 2; k++) {
        gcut_type wide;
        if (factor[k] == 1) continue;
        y = nearest ? join_phases(B, phases(B, y, 2 + k, factor[k], &wide), 2 + k)
                    : bilinear(B, y, 2 + k, factor[k]);
    }
    return y;
}
