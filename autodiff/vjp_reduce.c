/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of the reductions and of the composites built on them.
 */
#include "autodiff/vjp.h"

#define B (&c->b)

static uint32_t axes_mask(gcut_vjp *c)
{
    return gcut_attr_axes(c->b.g, gcut_node_at(c->b.g, c->node));
}

static uint32_t axis_mask(gcut_vjp *c)
{
    return 1u << gcut_vjp_attr(c, GCUT_KEY_axis)->u.dim;
}

static gcut_ref mul(gcut_vjp *c, gcut_ref a, gcut_ref b)
{
    return gcut_b2(B, GCUT_OP_mul, a, b);
}
static gcut_ref sub(gcut_vjp *c, gcut_ref a, gcut_ref b)
{
    return gcut_b2(B, GCUT_OP_sub, a, b);
}

gcut_ref gcut_vjp_unreduce(gcut_vjp *c, gcut_ref r, uint32_t mask)
{
    gcut_type x = *gcut_vjp_type(c, c->x[0]);
    gcut_dim kept[GCUT_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < x.rank; d++)
        if (!(mask >> d & 1)) kept[n++] = x.dim[d];
    if (gcut_vjp_type(c, r)->rank != n)
        r = gcut_breshape(B, r, kept, n); /* drops the axes that `keep` kept */
    return mask ? gcut_bexpand(B, r, c->x[0], mask) : r;
}

/* y = sum x: dx = dy, repeated */
void gcut_vjp_sum(gcut_vjp *c)
{
    gcut_vjp_give(c, 0, gcut_vjp_unreduce(c, c->dy, axes_mask(c)));
}

/* y = max x: dx = (x == y) ? dy / how many elements equal y : 0 */
static void extremum(gcut_vjp *c)
{
    uint32_t mask = axes_mask(c);
    gcut_ref hit = gcut_b2(B, GCUT_OP_eq, c->x[0], gcut_vjp_unreduce(c, c->y, mask));
    gcut_ref ones = gcut_bconvert(B, hit, gcut_vjp_type(c, c->y)->dtype);
    gcut_ref count = gcut_vjp_unreduce(c, gcut_breduce(B, GCUT_OP_sum, ones, mask), mask);
    gcut_ref share = gcut_b2(B, GCUT_OP_div, gcut_vjp_unreduce(c, c->dy, mask), count);
    gcut_vjp_give(c, 0, gcut_bselect(B, hit, share, gcut_bconst(B, share, 0)));
}

void gcut_vjp_max_reduce(gcut_vjp *c)
{
    extremum(c);
}
void gcut_vjp_min_reduce(gcut_vjp *c)
{
    extremum(c);
}

/* y = softmax x: dx = y * (dy - sum(dy * y)) */
void gcut_vjp_softmax(gcut_vjp *c)
{
    uint32_t mask = axis_mask(c);
    gcut_ref inner = gcut_breduce(B, GCUT_OP_sum, mul(c, c->dy, c->y), mask);
    gcut_vjp_give(c, 0, mul(c, c->y, sub(c, c->dy, gcut_vjp_unreduce(c, inner, mask))));
}

/* y = log softmax x: dx = dy - e^y * sum(dy) */
void gcut_vjp_log_softmax(gcut_vjp *c)
{
    uint32_t mask = axis_mask(c);
    gcut_ref total = gcut_vjp_unreduce(c, gcut_breduce(B, GCUT_OP_sum, c->dy, mask), mask);
    gcut_vjp_give(c, 0, sub(c, c->dy, mul(c, gcut_b1(B, GCUT_OP_exp, c->y), total)));
}

/* y = log sum e^x: dx = dy * e^(x - y) */
void gcut_vjp_logsumexp(gcut_vjp *c)
{
    uint32_t mask = axes_mask(c);
    gcut_ref soft = gcut_b1(B, GCUT_OP_exp, sub(c, c->x[0], gcut_vjp_unreduce(c, c->y, mask)));
    gcut_vjp_give(c, 0, mul(c, gcut_vjp_unreduce(c, c->dy, mask), soft));
}

/* y = sum of x up to each: dx = the sum of dy from each on */
void gcut_vjp_cumsum(gcut_vjp *c)
{
    const gcut_node *n = gcut_node_at(c->b.g, c->node);
    gcut_attr a[] = {*gcut_attr_get(c->b.g, n, GCUT_KEY_axis),
                     gcut_attr_bool(GCUT_KEY_reverse, !gcut_attr_flag(c->b.g, n, GCUT_KEY_reverse))};
    gcut_vjp_give(c, 0, gcut_node_new(c->b.g, GCUT_OP_cumsum, &c->dy, 1, a, 2, c->b.loc, c->b.name));
}

/* The axes in mask last, as one: [rows, n]; *perm is the order of axes before they are merged. */
static gcut_ref rows_of(gcut_vjp *c, gcut_ref x, uint32_t mask, gcut_dim *perm, gcut_dim *rows)
{
    gcut_type t = *gcut_vjp_type(c, x);
    gcut_dims *ds = c->b.g->module->dims;
    uint32_t n = 0;
    rows[0] = rows[1] = 1;
    for (uint32_t last = 0; last < 2; last++)
        for (uint32_t d = 0; d < t.rank; d++)
            if ((mask >> d & 1) == last) {
                perm[n++] = d;
                rows[last] = gcut_dim_make(ds, GCUT_DIM_MUL, rows[last], t.dim[d]);
            }
    return gcut_breshape(B, gcut_btranspose(B, x, perm), rows, 2);
}

/* y = product of x: dx[i] = dy * product over j of (j == i ? 1 : x[j]), over [rows, i, j]. y / x[i] would
 * be NaN at x[i] = 0, and so would the second derivative of a form with zeros treated apart; this form has
 * the right derivatives of every order. */
void gcut_vjp_prod(gcut_vjp *c)
{
    gcut_type t = *gcut_vjp_type(c, c->x[0]), moved = {.rank = t.rank};
    gcut_dim perm[GCUT_MAX_RANK], back[GCUT_MAX_RANK], rows[2];
    gcut_ref x = rows_of(c, c->x[0], axes_mask(c), perm, rows);
    gcut_type wide = {.dtype = GCUT_I64, .rank = 3, .dim = {rows[0], rows[1], rows[1]}};
    gcut_ref all = gcut_bbroadcast(B, x, wide.dim, 3, (gcut_dim[]){0, 2});
    gcut_ref column = gcut_biota(B, &wide, 2), row = gcut_biota(B, &wide, 1);
    gcut_ref self = gcut_b2(B, GCUT_OP_eq, row, column);
    gcut_ref others =
        gcut_breduce(B, GCUT_OP_prod, gcut_bselect(B, self, gcut_bconst(B, all, 1), all), 1u << 2);
    for (uint32_t d = 0; d < t.rank; d++) {
        moved.dim[d] = t.dim[perm[d]];
        back[perm[d]] = d;
    }
    others = gcut_btranspose(B, gcut_breshape(B, others, moved.dim, t.rank), back);
    gcut_vjp_give(c, 0, mul(c, gcut_vjp_unreduce(c, c->dy, axes_mask(c)), others));
}
