/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reductions, and what is normalised by them along axes.
 */
#include "import/onnx/rules.h"

/* The axes of a reduction; none are all, unless the model says that none are none. */
static uint32_t reduced(gcut_onnx_node *n, uint32_t rank)
{
    const gcut_onnx_list axes = gcut_onnx_input_or_attr(n, 1, "axes");
    if (axes.n) return gcut_onnx_axes_mask(n, axes, rank);
    return gcut_onnx_int(n, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
}

static bool keeps(const gcut_onnx_node *n)
{
    return gcut_onnx_int(n, "keepdims", 1) != 0;
}

/* The sum along axes, squared, of magnitudes and so on: a function before a reduction and one after it. */
static void reduce(gcut_onnx_node *n, gcut_ref x, gcut_op op, gcut_op behind)
{
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_dtype work =
        gcut_dtype_is_float(t.dtype) || (op != GCUT_OP_mean && behind == GCUT_NOPS) ? t.dtype : GCUT_F64;
    const bool is_bool = work == GCUT_BOOL; /* of the largest and the smallest */
    gcut_ref y = gcut_onnx_reduce(n, op, gcut_bconvert(&n->b, x, is_bool ? GCUT_U8 : work),
                                  reduced(n, t.rank), keeps(n));
    if (behind != GCUT_NOPS) y = gcut_b1(&n->b, behind, y);
    gcut_onnx_set(n, 0, gcut_bconvert(&n->b, y, t.dtype));
}

void gcut_onnx_reduce_by(gcut_onnx_node *n)
{
    reduce(n, gcut_onnx_in(n, 0), n->op, GCUT_NOPS);
}

void gcut_onnx_reduce_l1(gcut_onnx_node *n)
{
    reduce(n, gcut_b1(&n->b, GCUT_OP_abs, gcut_onnx_in(n, 0)), GCUT_OP_sum, GCUT_NOPS);
}

static gcut_ref square(gcut_onnx_node *n, gcut_ref x)
{
    return gcut_b2(&n->b, GCUT_OP_mul, x, x);
}

void gcut_onnx_reduce_l2(gcut_onnx_node *n)
{
    reduce(n, square(n, gcut_onnx_in(n, 0)), GCUT_OP_sum, GCUT_OP_sqrt);
}

void gcut_onnx_reduce_sum_square(gcut_onnx_node *n)
{
    reduce(n, square(n, gcut_onnx_in(n, 0)), GCUT_OP_sum, GCUT_NOPS);
}

void gcut_onnx_reduce_log_sum(gcut_onnx_node *n)
{
    reduce(n, gcut_onnx_in(n, 0), GCUT_OP_sum, GCUT_OP_log);
}

void gcut_onnx_reduce_log_sum_exp(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_dtype t = gcut_onnx_type(n, x).dtype;
    if (!gcut_dtype_is_float(t)) x = gcut_bconvert(&n->b, x, GCUT_F64);
    gcut_onnx_set(n, 0,
                  gcut_bconvert(&n->b,
                                gcut_onnx_reduce(n, GCUT_OP_logsumexp, x,
                                                 reduced(n, gcut_onnx_type(n, x).rank), keeps(n)),
                                t));
}

/* ---- indices of extremes ---- */

static gcut_ref along(gcut_onnx_node *n, gcut_op op, gcut_ref x, uint32_t axis)
{
    const gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return gcut_onnx_node_new(n, op, &x, 1, &a, 1);
}

/* The last of several equal ones is the first of the flipped operand. */
void gcut_onnx_arg(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    const bool last = gcut_onnx_int(n, "select_last_index", 0);
    gcut_ref i = along(n, n->op, last ? gcut_onnx_flip(n, x, axis) : x, axis);
    if (last) {
        const gcut_type ti = gcut_onnx_type(n, i);
        const gcut_dim end = gcut_onnx_dim(n, GCUT_DIM_SUB, t.dim[axis], 1);
        i = gcut_b2(&n->b, GCUT_OP_sub, gcut_bsize(&n->b, end, GCUT_I64, &ti), i);
    }
    gcut_type kept = t;
    kept.dim[axis] = 1;
    gcut_onnx_set(n, 0, keeps(n) ? gcut_onnx_reshape(n, i, kept.dim, t.rank) : i);
}

/* ---- softmax and its kin ---- */

/* Before version 13 the axes from `axis` on are one.  n->op NOPS: 1 at the first largest element, else 0. */
void gcut_onnx_softmax(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", n->opset < 13 ? 1 : -1), t.rank);
    const bool flat = n->opset < 13 && axis + 1 < t.rank;
    if (flat) {
        gcut_dim dim[] = {gcut_onnx_numel(n, &t, 0, axis), gcut_onnx_numel(n, &t, axis, t.rank)};
        x = gcut_onnx_reshape(n, x, dim, 2);
        axis = 1;
    }
    const gcut_type work = gcut_onnx_type(n, x);
    gcut_ref y;
    if (n->op == GCUT_NOPS) {
        gcut_ref first = along(n, GCUT_OP_argmax, x, axis);
        gcut_ref hit = gcut_b2(&n->b, GCUT_OP_eq, gcut_onnx_iota(n, &work, axis),
                               gcut_bexpand(&n->b, first, x, 1u << axis));
        y = gcut_bconvert(&n->b, hit, t.dtype);
    } else {
        y = along(n, n->op, x, axis);
    }
    gcut_onnx_set(n, 0, flat ? gcut_onnx_reshape(n, y, t.dim, t.rank) : y);
}

/* ---- norms ---- */

void gcut_onnx_lp_normalization(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t mask = 1u << gcut_onnx_axis(n, gcut_onnx_int(n, "axis", -1), t.rank);
    const int64_t p = gcut_onnx_int(n, "p", 2);
    if (p != 1 && p != 2) GCUT_ONNX_UNSUPPORTED(n, "expected p = 1 or 2");
    gcut_ref size =
        gcut_onnx_reduce(n, GCUT_OP_sum, p == 1 ? gcut_b1(&n->b, GCUT_OP_abs, x) : square(n, x), mask, false);
    gcut_ref zero = gcut_bconst(&n->b, size, 0); /* which the elements are, too */
    size = gcut_bselect(&n->b, gcut_b2(&n->b, GCUT_OP_eq, size, zero), gcut_bconst(&n->b, size, 1), size);
    if (p == 2) size = gcut_b1(&n->b, GCUT_OP_sqrt, size);
    gcut_onnx_set(n, 0, gcut_b2(&n->b, GCUT_OP_div, x, gcut_bexpand(&n->b, size, x, mask)));
}

/* (x - mean) / sqrt(mean of (x - mean)^2 + eps) over the axes of the mask. */
static gcut_ref normalised(gcut_onnx_node *n, gcut_ref x, uint32_t mask, double eps, gcut_ref *mean,
                           gcut_ref *inverse)
{
    *mean = gcut_onnx_reduce(n, GCUT_OP_mean, x, mask, true);
    gcut_ref centred = gcut_onnx_binary(n, GCUT_OP_sub, x, *mean);
    gcut_ref var = gcut_onnx_reduce(n, GCUT_OP_mean, square(n, centred), mask, true);
    *inverse = gcut_b1(&n->b, GCUT_OP_rsqrt, eps ? gcut_baddc(&n->b, var, eps) : var);
    return gcut_onnx_binary(n, GCUT_OP_mul, centred, *inverse);
}

void gcut_onnx_mean_variance(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), mean, inverse;
    const uint32_t rank = gcut_onnx_type(n, x).rank;
    const gcut_onnx_list axes = gcut_onnx_ints(n, "axes");
    const uint32_t mask = gcut_onnx_axes_mask(
        n, axes.at ? axes : (gcut_onnx_list){(int64_t[]){0, 2, 3}, rank < 4 ? 1u : 3u}, rank);
    gcut_onnx_set(n, 0, normalised(n, x, mask, 0, &mean, &inverse));
}

static bool is_vector(const gcut_onnx_node *n, gcut_ref v, gcut_dim size)
{
    const gcut_type t = gcut_onnx_type(n, v);
    return t.rank == 1 && t.dim[0] == size;
}

/* The ops of the table are over the last axis. */
void gcut_onnx_layer_normalization(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), gain = gcut_onnx_in(n, 1), mean = 0, inverse = 0, y,
             bias = gcut_onnx_has(n, 2) ? gcut_onnx_in(n, 2) : 0;
    const gcut_dtype stash = gcut_onnx_dtype_attr(n, "stash_type", 1); /* of the statistics */
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", -1), t.rank);
    const double eps = gcut_onnx_float(n, "epsilon", 1e-5);
    const gcut_attr a = gcut_attr_real(GCUT_KEY_eps, eps);
    const bool statistics = gcut_onnx_wants(n, 1) || gcut_onnx_wants(n, 2);
    if (axis + 1u == t.rank && !statistics && is_vector(n, gain, t.dim[axis]) &&
        (!bias || is_vector(n, bias, t.dim[axis]))) {
        gcut_ref v[] = {x, gain, bias ? bias : gcut_bconst(&n->b, gain, 0)};
        gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_layer_norm, v, 3, &a, 1));
        return;
    }
    if (gcut_dtype_bytes(stash) > gcut_dtype_bytes(t.dtype)) x = gcut_bconvert(&n->b, x, stash);
    y = normalised(n, x, ((1u << t.rank) - 1) & ~((1u << axis) - 1), eps, &mean, &inverse);
    y = gcut_onnx_binary(n, GCUT_OP_mul, gcut_bconvert(&n->b, y, t.dtype), gain);
    gcut_onnx_set(n, 0, bias ? gcut_onnx_binary(n, GCUT_OP_add, y, bias) : y);
    gcut_onnx_set(n, 1, gcut_bconvert(&n->b, mean, stash));
    gcut_onnx_set(n, 2, gcut_bconvert(&n->b, inverse, stash));
}

void gcut_onnx_rms_normalization(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), gain = gcut_onnx_in(n, 1);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", -1), t.rank);
    const double eps = gcut_onnx_float(n, "epsilon", 1e-5);
    const gcut_attr a = gcut_attr_real(GCUT_KEY_eps, eps);
    if (axis + 1u == t.rank && is_vector(n, gain, t.dim[axis])) {
        gcut_onnx_set(n, 0, gcut_onnx_node_new(n, GCUT_OP_rms_norm, (gcut_ref[]){x, gain}, 2, &a, 1));
        return;
    }
    gcut_ref mean =
        gcut_onnx_reduce(n, GCUT_OP_mean, square(n, x), ((1u << t.rank) - 1) & ~((1u << axis) - 1), true);
    gcut_ref y =
        gcut_onnx_binary(n, GCUT_OP_mul, x, gcut_b1(&n->b, GCUT_OP_rsqrt, gcut_baddc(&n->b, mean, eps)));
    gcut_onnx_set(n, 0, gcut_onnx_binary(n, GCUT_OP_mul, y, gain));
}

/* ---- sums up to each element ---- */

void gcut_onnx_cumsum(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_array *at = gcut_onnx_need(n, 1, "the axis");
    const uint32_t axis = gcut_onnx_axis(n, at->n == 1 ? at->u.i[0] : INT64_MAX, t.rank);
    const bool reverse = gcut_onnx_int(n, "reverse", 0);
    const gcut_attr a[] = {gcut_attr_dim(GCUT_KEY_axis, axis), gcut_attr_bool(GCUT_KEY_reverse, reverse)};
    gcut_ref y = gcut_onnx_node_new(n, GCUT_OP_cumsum, &x, 1, a, 2);
    if (gcut_onnx_int(n, "exclusive", 0) &&
        t.dim[axis] != 0) { /* without the element itself: shifted by one, and 0 */
        gcut_dim one[GCUT_MAX_RANK] = {0};
        const gcut_dim d = t.dim[axis];
        one[axis] = 1;
        y = reverse ? gcut_onnx_slice(n, y, axis, 1, d, 1)
                    : gcut_onnx_slice(n, y, axis, 0, gcut_onnx_dim(n, GCUT_DIM_SUB, d, 1), 1);
        y = reverse ? gcut_onnx_pad(n, y, NULL, one, (gcut_num){0})
                    : gcut_onnx_pad(n, y, one, NULL, (gcut_num){0});
    }
    gcut_onnx_set(n, 0, y);
}
