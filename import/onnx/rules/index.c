/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elements at indices that are values.  What takes or sets single elements does so in the operand as one axis, at linear
 * indices, so that `take` and `scatter_add`, which are each other's derivatives, are all that is needed.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* i64 indices along an axis of size d; negative ones count from the end. */
static gcut_ref indices(gcut_onnx_node *n, gcut_ref i, gcut_dim d)
{
    i = gcut_bconvert(&n->b, i, GCUT_I64);
    const gcut_type t = gcut_onnx_type(n, i);
    gcut_ref size = gcut_bsize(&n->b, d, GCUT_I64, &t);
    gcut_ref negative = gcut_b2(&n->b, GCUT_OP_lt, i, gcut_bconst(&n->b, i, 0));
    return gcut_bselect(&n->b, negative, gcut_b2(&n->b, GCUT_OP_add, i, size), i);
}

/* The same of an input, where constants need no code. */
static gcut_ref indices_in(gcut_onnx_node *n, uint32_t k, gcut_dim d)
{
    const gcut_array *x = n->folding ? NULL : gcut_onnx_known(n, k);
    if (!x || gcut_dtype_is_float(x->dtype)) return indices(n, gcut_onnx_in(n, k), d);
    gcut_array i = gcut_onnx_array(n, GCUT_I64, x->rank, x->dim);
    for (int64_t e = 0; e < x->n; e++) {
        i.u.i[e] = x->u.i[e];
        if (i.u.i[e] < 0 && !gcut_onnx_is_symbolic(i.u.i[e])) {
            if (!gcut_dim_known(d)) return indices(n, gcut_onnx_in(n, k), d);
            i.u.i[e] += d;
        }
    }
    return gcut_onnx_constant(n, &i);
}

void gcut_onnx_gather(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    const gcut_array *at = n->folding ? NULL : gcut_onnx_known(n, 1);
    if (at && at->rank == 0 && !gcut_dtype_is_float(at->dtype) && !gcut_onnx_has_symbols(at)) {
        /* One constant index is a slice. */
        gcut_dim dim[GCUT_MAX_RANK], k = at->u.i[0];
        if (k < -GCUT_ONNX_INT_MAX) GCUT_ONNX_WRONG(n, "there is no element %lld", (long long)k);
        if (k < 0) k = gcut_onnx_dim(n, GCUT_DIM_SUB, t.dim[axis], -k);
        for (uint32_t r = 0, j = 0; r < t.rank; r++)
            if (r != axis) dim[j++] = t.dim[r];
        gcut_ref y = gcut_onnx_slice(n, x, axis, k, gcut_onnx_dim(n, GCUT_DIM_ADD, k, 1), 1);
        gcut_onnx_set(n, 0, gcut_onnx_reshape(n, y, dim, t.rank - 1u));
        return;
    }
    gcut_onnx_set(n, 0, gcut_btake(&n->b, x, indices_in(n, 1, t.dim[axis]), (int)axis));
}

/* ---- slices whose start is computed ---- */

/* The number that all elements of a constant have; NULL: the value is no constant. */
static const gcut_num *number_of(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *node = gcut_def(g, v);
    return node && node->op == GCUT_OP_full ? &gcut_attr_get(g, node, GCUT_KEY_value)->u.num : NULL;
}

/* v = the returned value + constants, whose sum is added to *sum. */
static gcut_ref without_numbers(const gcut_graph *g, gcut_ref v, int64_t *sum)
{
    for (const gcut_node *node; (node = gcut_def(g, v));) {
        if (node->op == GCUT_OP_reshape || node->op == GCUT_OP_broadcast) {
            v = gcut_arg(g, node, 0);
            continue;
        }
        if (node->op != GCUT_OP_add) break;
        const gcut_ref x = gcut_arg(g, node, 0), y = gcut_arg(g, node, 1);
        const gcut_num *of_x = number_of(g, x), *c = of_x ? of_x : number_of(g, y);
        if (!c || !c->is_int || llabs(c->i) > GCUT_ONNX_INT_MAX || llabs(*sum) > GCUT_ONNX_INT_MAX) break;
        *sum += c->i;
        v = of_x ? y : x;
    }
    return v;
}

/* x[i:i + 2]: a slice along one axis whose end is its start plus a constant.  False for any other.  ONNX shortens a slice that
 * leaves the axis; a step has sizes that are known before it, and stops with an error of the index there. */
bool gcut_onnx_slice_at(gcut_onnx_node *n)
{
    gcut_ref start = gcut_onnx_in(n, 1), end = gcut_onnx_in(n, 2);
    const gcut_onnx_list axes = gcut_onnx_input_or_attr(n, 3, "axes"),
                         step = gcut_onnx_input_or_attr(n, 4, "steps");
    const int64_t by = gcut_onnx_item(step, 0, 1);
    int64_t low = 0, high = 0;
    if (without_numbers(n->b.g, start, &low) != without_numbers(n->b.g, end, &high)) return false;
    const gcut_type t = gcut_onnx_type(n, start);
    if (t.rank != 1 || t.dim[0] != 1 || high < low || by < 1 || gcut_onnx_is_symbolic(by)) return false;
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type tx = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_item(axes, 0, 0), tx.rank);
    gcut_ref at = gcut_onnx_progression(n, GCUT_I64, (high - low + by - 1) / by, (gcut_num){.is_int = true},
                                        (gcut_num){true, by, (double)by});
    at = gcut_onnx_binary(n, GCUT_OP_add, indices(n, start, tx.dim[axis]), at);
    gcut_onnx_set(n, 0, gcut_btake(&n->b, x, at, (int)axis));
    return true;
}

/* ---- linear indices ---- */

/* The linear index into an operand of type t of the element at `along` along the axis, and along the others at the place
 * that the index itself has. */
static gcut_ref linear_along(gcut_onnx_node *n, gcut_ref along, const gcut_type *t, uint32_t axis)
{
    const gcut_type ti = gcut_onnx_type(n, along);
    gcut_ref index[GCUT_MAX_RANK];
    for (uint32_t r = 0; r < t->rank; r++) index[r] = r == axis ? along : gcut_onnx_iota(n, &ti, r);
    return gcut_blinear_index(&n->b, index, t->dim, t->rank);
}

static gcut_ref flat(gcut_onnx_node *n, gcut_ref x)
{
    const gcut_type t = gcut_onnx_type(n, x);
    return gcut_onnx_reshape(n, x, (gcut_dim[]){gcut_onnx_numel(n, &t, 0, t.rank)}, 1);
}

/* Throws unless there are as many axes as of t, and no index is beyond t along the other axes. */
static void need_indices(gcut_onnx_node *n, gcut_ref i, const gcut_type *t, uint32_t axis)
{
    const gcut_type ti = gcut_onnx_type(n, i);
    gcut_onnx_need_rank(n, i, t->rank, "indices");
    for (uint32_t r = 0; r < t->rank; r++)
        if (r != axis)
            gcut_dim_require(n->b.g, gcut_onnx_dim(n, GCUT_DIM_MIN, ti.dim[r], t->dim[r]), ti.dim[r],
                             n->b.loc, n->p->op_type);
}

static gcut_ref take_along(gcut_onnx_node *n, gcut_ref x, gcut_ref i, uint32_t axis)
{
    const gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    return gcut_onnx_node_new(n, GCUT_OP_take_along, (gcut_ref[]){x, i}, 2, &a, 1);
}

void gcut_onnx_gather_elements(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    gcut_ref at = indices_in(n, 1, t.dim[axis]);
    need_indices(n, at, &t, axis);
    for (uint32_t r = 0; r < t.rank; r++)
        if (r != axis) x = gcut_onnx_slice(n, x, r, 0, gcut_onnx_type(n, at).dim[r], 1);
    gcut_onnx_set(n, 0, take_along(n, x, at, axis));
}

/* The numbers of the rows that the vectors along the last axis of i select: rows are along axes `batch` to batch + k - 1 of
 * an operand of type t, as one axis with those of the batch. */
static gcut_ref rows_named(gcut_onnx_node *n, gcut_ref i, const gcut_type *t, uint32_t batch, uint32_t k)
{
    const gcut_type ti = gcut_onnx_type(n, i);
    gcut_type shape = ti;
    gcut_ref index[GCUT_MAX_RANK];
    shape.rank--;
    for (uint32_t r = 0; r < batch; r++) index[r] = gcut_onnx_iota(n, &shape, r);
    for (uint32_t r = batch; r < batch + k; r++) {
        gcut_ref at = gcut_onnx_slice(n, i, ti.rank - 1u, r - batch, r - batch + 1, 1);
        at = indices(n, gcut_onnx_reshape(n, at, shape.dim, shape.rank), t->dim[r]);
        index[r] =
            gcut_bbounded(&n->b, at, t->dim[r]); /* another index could make up for one that is too large */
    }
    return batch + k ? gcut_blinear_index(&n->b, index, t->dim, batch + k)
                     : gcut_onnx_number(n, GCUT_I64, &shape, 0);
}

static uint32_t index_length(const gcut_onnx_node *n, const gcut_type *ti, uint32_t most)
{
    if (ti->rank == 0 || !gcut_dim_known(ti->dim[ti->rank - 1]) || ti->dim[ti->rank - 1] > most)
        GCUT_ONNX_WRONG(n, "expected indices whose last axis has at most %u", (unsigned)most);
    return (uint32_t)ti->dim[ti->rank - 1];
}

/* x as rows of its axes from `axis` on. */
static gcut_ref as_rows(gcut_onnx_node *n, gcut_ref x, const gcut_type *t, uint32_t axis)
{
    gcut_dim dim[GCUT_MAX_RANK + 1] = {gcut_onnx_numel(n, t, 0, axis)};
    uint32_t rank = 1;
    for (uint32_t r = axis; r < t->rank; r++) dim[rank++] = t->dim[r];
    return gcut_onnx_reshape(n, x, dim, rank);
}

void gcut_onnx_gather_nd(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), i = gcut_onnx_in(n, 1);
    const gcut_type t = gcut_onnx_type(n, x), ti = gcut_onnx_type(n, i);
    const uint32_t batch = (uint32_t)gcut_onnx_int(n, "batch_dims", 0);
    if (batch >= t.rank || batch >= ti.rank)
        GCUT_ONNX_WRONG(n, "there are not %u axes of a batch", (unsigned)batch);
    const uint32_t k = index_length(n, &ti, t.rank - batch);
    gcut_onnx_set(n, 0, gcut_btake(&n->b, as_rows(n, x, &t, batch + k), rows_named(n, i, &t, batch, k), 0));
}

/* ---- setting elements ---- */

/* x, a list of rows, with the updates at the rows that i names.  Where several set one row, the result is undefined as it
 * is in ONNX: their sum. */
static gcut_ref set_rows(gcut_onnx_node *n, gcut_ref x, gcut_ref i, gcut_ref u, const char *how)
{
    const gcut_type t = gcut_onnx_type(n, x), ti = gcut_onnx_type(n, i);
    if (t.dtype == GCUT_BOOL) { /* which scatter_add does not add */
        gcut_ref y = set_rows(n, gcut_bconvert(&n->b, x, GCUT_U8), i, gcut_bconvert(&n->b, u, GCUT_U8), how);
        return gcut_onnx_convert(n, y, GCUT_BOOL);
    }
    if (!strcmp(how, "add")) return gcut_bscatter_add(&n->b, x, i, u, 0);
    if (strcmp(how, "none"))
        GCUT_ONNX_UNSUPPORTED(n, "there is no reduction '%s' of elements that are set", how);
    gcut_type counts = {GCUT_I32, 1, {t.dim[0]}}, ones = ti;
    ones.dtype = GCUT_I32;
    gcut_ref count =
        gcut_bscatter_add(&n->b, gcut_bfull(&n->b, &counts, 0), i, gcut_bfull(&n->b, &ones, 1), 0);
    gcut_ref is_set = gcut_b2(&n->b, GCUT_OP_gt, count, gcut_bconst(&n->b, count, 0));
    gcut_ref set = gcut_bscatter_add(&n->b, gcut_bconst(&n->b, x, 0), i, u, 0);
    return gcut_bselect(&n->b, gcut_bbroadcast(&n->b, is_set, t.dim, t.rank, (gcut_dim[]){0}), set, x);
}

/* By multiplication, or the larger or smaller of all: one update after the other. */
static gcut_ref combine_rows(gcut_onnx_node *n, gcut_ref x, gcut_ref i, gcut_ref u, const char *how)
{
    const gcut_op op = !strcmp(how, "mul") ? GCUT_OP_mul : !strcmp(how, "max") ? GCUT_OP_max : GCUT_OP_min;
    const gcut_type t = gcut_onnx_type(n, x), ti = gcut_onnx_type(n, i);
    gcut_dim dim[GCUT_MAX_RANK] = {gcut_onnx_numel(n, &ti, 0, ti.rank)};
    for (uint32_t r = 1; r < t.rank; r++) dim[r] = t.dim[r];
    i = flat(n, i);
    u = gcut_onnx_reshape(n, u, dim, t.rank);
    gcut_type row = t;
    for (uint32_t r = 1; r < t.rank; r++) row.dim[r - 1] = t.dim[r];
    row.rank--;
    gcut_graph *body = gcut_body_new(n->b.g);
    gcut_onnx_node inside = *n;
    inside.b.g = body;
    gcut_ref old = gcut_param_new(body, GCUT_ROLE_input, "old", &t),
             at = gcut_param_new(body, GCUT_ROLE_input, "at", &(gcut_type){.dtype = GCUT_I64}),
             new = gcut_param_new(body, GCUT_ROLE_input, "update", &row);
    gcut_ref hit = gcut_onnx_binary(&inside, GCUT_OP_eq,
                                    gcut_onnx_iota(&inside, &(gcut_type){GCUT_I64, 1, {t.dim[0]}}, 0), at);
    gcut_ref all = gcut_onnx_binary(&inside, op, old, new);
    gcut_body_yield(
        body,
        gcut_bselect(&inside.b, gcut_bbroadcast(&inside.b, hit, t.dim, t.rank, (gcut_dim[]){0}), all, old));
    const gcut_attr carries = gcut_attr_dim(GCUT_KEY_carries, 1);
    return gcut_bregion_node(&n->b, GCUT_OP_scan, (gcut_ref[]){x, i, u}, 3, &body, 1, &carries, 1);
}

static bool combines(const char *how)
{
    return !strcmp(how, "mul") || !strcmp(how, "max") || !strcmp(how, "min");
}

void gcut_onnx_scatter_elements(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), u = gcut_onnx_in(n, 2);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    const char *how = gcut_onnx_text(n, "reduction", "none");
    gcut_ref i = indices_in(n, 1, t.dim[axis]);
    need_indices(n, i, &t, axis);
    gcut_ref at = flat(n, linear_along(n, gcut_bbounded(&n->b, i, t.dim[axis]), &t, axis));
    gcut_ref y = (combines(how) ? combine_rows : set_rows)(n, flat(n, x), at, flat(n, u), how);
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, y, t.dim, t.rank));
}

void gcut_onnx_scatter_nd(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), i = gcut_onnx_in(n, 1), u = gcut_onnx_in(n, 2);
    const gcut_type t = gcut_onnx_type(n, x), ti = gcut_onnx_type(n, i);
    const uint32_t k = index_length(n, &ti, t.rank);
    const char *how = gcut_onnx_text(n, "reduction", "none");
    gcut_ref y = (combines(how) ? combine_rows : set_rows)(n, as_rows(n, x, &t, k),
                                                           rows_named(n, i, &t, 0, k), u, how);
    gcut_onnx_set(n, 0, gcut_onnx_reshape(n, y, t.dim, t.rank));
}

/* ---- others ---- */

/* A new axis that holds one value at the index and the other elsewhere. */
void gcut_onnx_one_hot(gcut_onnx_node *n)
{
    const gcut_array *depth = gcut_onnx_need(n, 1, "the depth");
    gcut_ref values = gcut_onnx_in(n, 2), i = gcut_onnx_in(n, 0);
    const bool is_real = gcut_dtype_is_float(depth->dtype);
    if (depth->n != 1 || (is_real && !(fabs(depth->u.f[0]) < 0x1p60)))
        GCUT_ONNX_WRONG(n, "expected one number for the depth");
    const gcut_dim d = gcut_onnx_need_size(n, is_real ? (int64_t)depth->u.f[0] : depth->u.i[0]);
    i = indices(n, i, d);
    gcut_onnx_need_rank(n, values, 1, "two values");
    gcut_type t = gcut_onnx_type(n, i),
              to = {.dtype = gcut_onnx_type(n, values).dtype, .rank = (uint8_t)(t.rank + 1)};
    if (to.rank > GCUT_MAX_RANK) GCUT_ONNX_UNSUPPORTED(n, "the result has more than %d axes", GCUT_MAX_RANK);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", -1), to.rank);
    gcut_dim axes[GCUT_MAX_RANK];
    for (uint32_t r = 0, k = 0; r < to.rank; r++) {
        if (r != axis) axes[k] = r;
        to.dim[r] = r == axis ? d : t.dim[k++];
    }
    gcut_ref hit = gcut_b2(&n->b, GCUT_OP_eq, gcut_bbroadcast(&n->b, i, to.dim, to.rank, axes),
                           gcut_onnx_iota(n, &to, axis));
    gcut_ref off = gcut_onnx_reshape(n, gcut_onnx_slice(n, values, 0, 0, 1, 1), NULL, 0),
             on = gcut_onnx_reshape(n, gcut_onnx_slice(n, values, 0, 1, 2, 1), NULL, 0);
    gcut_onnx_set(n, 0,
                  gcut_bselect(&n->b, hit, gcut_bspread(&n->b, on, &to), gcut_bspread(&n->b, off, &to)));
}

/* The slices at which a constant condition holds. */
void gcut_onnx_compress(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_array *keep = gcut_onnx_need(n, 1, "the condition");
    const bool whole = !gcut_onnx_attr(n, "axis");
    if (gcut_dtype_is_float(keep->dtype)) GCUT_ONNX_WRONG(n, "expected a condition of bool");
    if (whole) x = flat(n, x);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t axis = gcut_onnx_axis(n, gcut_onnx_int(n, "axis", 0), t.rank);
    int64_t count = 0;
    for (int64_t k = 0; k < keep->n; k++) count += keep->u.i[k] != 0;
    gcut_array at = gcut_onnx_array(n, GCUT_I64, 1, &count);
    for (int64_t k = 0, j = 0; k < keep->n; k++)
        if (keep->u.i[k]) at.u.i[j++] = k;
    gcut_onnx_set(n, 0, gcut_btake(&n->b, x, gcut_onnx_constant(n, &at), (int)axis));
}

/* The first elements along the time axis in reverse, as many as a length says for each of the batch. */
void gcut_onnx_reverse_sequence(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0), length = gcut_bconvert(&n->b, gcut_onnx_in(n, 1), GCUT_I64);
    const gcut_type t = gcut_onnx_type(n, x);
    const uint32_t time = gcut_onnx_axis(n, gcut_onnx_int(n, "time_axis", 0), t.rank),
                   batch = gcut_onnx_axis(n, gcut_onnx_int(n, "batch_axis", 1), t.rank);
    gcut_onnx_need_rank(n, length, 1, "lengths");
    gcut_ref at = gcut_onnx_iota(n, &t, time);
    gcut_ref len = gcut_bbroadcast(&n->b, length, t.dim, t.rank, (gcut_dim[]){batch});
    gcut_ref back = gcut_b2(&n->b, GCUT_OP_sub, gcut_baddc(&n->b, len, -1), at);
    at = gcut_bselect(&n->b, gcut_b2(&n->b, GCUT_OP_lt, at, len), back, at);
    gcut_onnx_set(n, 0, take_along(n, x, at, time));
}

/* Before version 10 the number of elements is an attribute. */
void gcut_onnx_top_k(gcut_onnx_node *n)
{
    gcut_ref x = gcut_onnx_in(n, 0);
    const gcut_type t = gcut_onnx_type(n, x);
    const gcut_onnx_list k = gcut_onnx_has(n, 1) ? gcut_onnx_input_or_attr(n, 1, "k")
                                                 : (gcut_onnx_list){(int64_t[]){gcut_onnx_int(n, "k", 0)}, 1};
    if (k.n != 1 || (k.at[0] < 0 && !gcut_onnx_is_symbolic(k.at[0])))
        GCUT_ONNX_WRONG(n, "expected one number of elements");
    const gcut_attr a[] = {
        gcut_attr_dim(GCUT_KEY_k, k.at[0]),
        gcut_attr_dim(GCUT_KEY_axis, gcut_onnx_axis(n, gcut_onnx_int(n, "axis", -1), t.rank)),
        gcut_attr_bool(GCUT_KEY_largest, gcut_onnx_int(n, "largest", 1) != 0)};
    gcut_ref y = gcut_onnx_node_new(n, GCUT_OP_topk, &x, 1, a, 3);
    gcut_onnx_set(n, 0, y);
    gcut_onnx_set(n, 1, y + 1);
}
