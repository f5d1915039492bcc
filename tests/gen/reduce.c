/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: reductions and what is made of them: norms, losses.
 */
#include "gen/gen.h"

#include <math.h>

void make_reduce(graph_gen *r, gcut_op op)
{
    bool exact = gen_wants_exact(r, op), adds = op == GCUT_OP_sum;
    const bool deviation =
        op == GCUT_OP_std; /* that of equal elements has no derivative: those of a leaf differ */
    const gcut_type rows = {gen_any_real(r), 2, {gen_any_dim(r, 64), 4}};
    uint32_t x = deviation ? gen_leaf(r, &rows) : gen_operand(r, gcut_op_get(op)->dtypes, 0, exact), n = 0,
             na = 0;
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_dim axes[GCUT_MAX_RANK];
    double over = 1;
    bool all = gen_draw(r, 5) == 0;
    for (uint32_t d = 0; d < t.rank; d++) {
        bool empty = gen_may_be_empty(r, t.dim[d]) && !adds; /* nothing has no largest element */
        /* The derivative of a product takes n^2 steps. */
        if (op == GCUT_OP_prod && (!gcut_dim_known(t.dim[d]) || over * (double)t.dim[d] > 16)) empty = true;
        all = all && !empty;
        if (empty || (gen_coin(r) && !(deviation && d == 1))) continue;
        axes[n++] = d;
        over *= (double)gen_nominal(r, t.dim[d]);
    }
    gcut_attr a[3];
    if (op == GCUT_OP_var || op == GCUT_OP_std)
        a[na++] = gcut_attr_int(GCUT_KEY_correction, 0); /* 1 makes 0 / 0 of one element */
    if (!all) a[na++] = gen_dims(r, GCUT_KEY_axes, axes, n);
    if (gen_coin(r)) a[na++] = gcut_attr_bool(GCUT_KEY_keep, gen_coin(r));
    if (gen_has_kink(op) && !r->item[x].exact) r->kinked = true;
    gcut_ref in = op == GCUT_OP_prod ? gen_factors(r, gen_use(r, x)) : gen_use(r, x);
    double mag = r->item[x].mag * (adds ? all ? gen_elements(r, &t) : over : 1);
    if (op == GCUT_OP_logsumexp) mag += 9;
    if (op == GCUT_OP_var || op == GCUT_OP_std) mag = 4 * r->item[x].mag * r->item[x].mag;
    gen_keep(r, gen_node(r, op, &in, 1, a, na), mag, r->item[x].exact && gen_is_exact(op));
}

/* An operand with an axis that is never empty; -1 when the one drawn has none. */
int gen_solid_axis(graph_gen *r, uint32_t x)
{
    gcut_type t = gen_type_of(r, r->item[x].v);
    for (uint32_t k = 0, from = gen_draw(r, t.rank); k < t.rank; k++) {
        uint32_t d = (from + k) % t.rank;
        if (!gen_may_be_empty(r, t.dim[d])) return (int)d;
    }
    return -1;
}

/* Of exact values: rounding may not decide. */
static void make_sorted(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, gen_wants_exact(r, op));
    gcut_type t = gen_type_of(r, r->item[x].v);
    const uint32_t axis = gen_draw(r, t.rank);
    gcut_attr a[3] = {gcut_attr_dim(GCUT_KEY_axis, axis)};
    uint32_t n = 1;
    if (gen_coin(r))
        a[n++] = gcut_attr_bool(op == GCUT_OP_topk ? GCUT_KEY_largest : GCUT_KEY_descending, gen_coin(r));
    if (op == GCUT_OP_topk) {
        const gcut_dim least = gcut_dim_known(t.dim[axis])        ? t.dim[axis]
                               : gen_may_be_empty(r, t.dim[axis]) ? 0
                                                                  : 1;
        a[n++] = gcut_attr_dim(GCUT_KEY_k, gen_coin(r) ? t.dim[axis] : gen_draw(r, (uint32_t)least + 1));
    }
    gcut_ref in = gen_use(r, x), y = gen_node(r, op, &in, 1, a, n);
    if (op == GCUT_OP_argsort)
        gen_keep(r, y, (double)gen_nominal(r, t.dim[axis]), true);
    else
        gen_moved(r, x, y);
    if (op == GCUT_OP_topk && gen_coin(r)) gen_keep(r, y + 1, (double)gen_nominal(r, t.dim[axis]), true);
}

void make_argsort(graph_gen *r, gcut_op op)
{
    make_sorted(r, op);
}

void make_topk(graph_gen *r, gcut_op op)
{
    make_sorted(r, op);
}

void make_axis(graph_gen *r, gcut_op op)
{
    if (op == GCUT_OP_sort) {
        make_sorted(r, op);
        return;
    }
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_attr a[2] = {gcut_attr_dim(GCUT_KEY_axis, axis), gcut_attr_bool(GCUT_KEY_reverse, gen_coin(r))};
    bool running = gcut_op_get(op)->dtypes == 'N'; /* cumsum, cumprod; the others are softmaxes */
    double n = (double)gen_nominal(r, t.dim[axis]), mag = r->item[x].mag + 4;
    if (op == GCUT_OP_cumprod && (!gcut_dim_known(t.dim[axis]) || n > 5)) return; /* takes n^2 steps */
    gcut_ref in = op == GCUT_OP_cumprod ? gen_factors(r, gen_use(r, x)) : gen_use(r, x);
    if (op == GCUT_OP_cumsum) mag = r->item[x].mag * n;
    gen_keep(r, gen_node(r, op, &in, 1, a, running ? 2 : 1), mag, false);
}

/* Of exact values: rounding may not decide. */
void make_arg(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, gen_wants_exact(r, op));
    int axis = gen_solid_axis(r, x);
    if (axis < 0) return;
    gcut_attr a = gcut_attr_dim(GCUT_KEY_axis, axis);
    gcut_type t = gen_type_of(r, r->item[x].v);
    gcut_ref in = gen_use(r, x);
    gen_keep(r, gen_node(r, op, &in, 1, &a, 1), (double)gen_nominal(r, t.dim[axis]), true);
}

void make_upsample(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_image(r, gcut_op_get(op)->dtypes, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (gen_elements(r, &t) > GEN_CAP / 2 || gen_may_be_empty(r, t.dim[2]) || gen_may_be_empty(r, t.dim[3]))
        return;
    gcut_dim factor[2] = {1 + gen_draw(r, 3), 1 + gen_draw(r, 3)};
    gcut_attr a[2] = {gen_dims(r, GCUT_KEY_factor, factor, 2),
                      gcut_attr_str(gen_module_of(r), GCUT_KEY_mode, gen_coin(r) ? "nearest" : "bilinear")};
    gcut_ref in = gen_use(r, x);
    gen_keep(r, gen_node(r, op, &in, 1, a, 2), r->item[x].mag, false);
}

void make_resized(graph_gen *r, gcut_op op)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    const bool resizes = op == GCUT_OP_resize;
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, op == GCUT_OP_adaptive_max_pool);
    gcut_type t = gen_type_of(r, r->item[x].v);
    const uint32_t n = 1 + gen_draw(r, t.rank < 2 ? t.rank : 2);
    gcut_dim shape[2];
    double room = GEN_CAP / fmax(1, gen_elements(r, &t));
    for (uint32_t k = 0; k < n; k++) {
        const gcut_dim old = t.dim[t.rank - n + k];
        if (gen_may_be_empty(r, old)) return;
        shape[k] = gen_draw(r, 4) ? 1 + gen_draw(r, (uint32_t)fmax(1, fmin(room, 9))) : old;
        room /= fmax(1, (double)gen_nominal(r, shape[k]));
    }
    gcut_attr a[3] = {gen_dims(r, GCUT_KEY_shape, shape, n)};
    if (resizes) {
        a[1] = gcut_attr_str(gen_module_of(r), GCUT_KEY_mode, modes[gen_draw(r, 3)]);
        a[2] = gcut_attr_bool(GCUT_KEY_align_corners, gen_coin(r));
    }
    gcut_ref in = gen_use(r, x);
    gen_keep(r, gen_node(r, op, &in, 1, a, resizes ? 3 : 1), 4 * r->item[x].mag, false);
}

void make_prelu(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 2, gen_wants_exact(r, op));
    gcut_type t = gen_type_of(r, r->item[x].v),
              c = {.dtype = t.dtype, .rank = 1, .dim = {gen_coin(r) ? t.dim[1] : 1}};
    if (!r->item[x].exact) r->kinked = true;
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_leaf(r, &c))};
    gen_keep(r, gen_node(r, op, in, 2, NULL, 0), 2 * r->item[x].mag, false);
}

/* A row of equal values has variance 0 and divides by sqrt(eps): a small eps would amplify rounding there, so
 * only leaves, whose rows differ, get one. */
void make_norm(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false), n = gcut_op_get(op)->lo;
    gcut_type t = gen_type_of(r, r->item[x].v),
              last = {.dtype = t.dtype, .rank = 1, .dim = {t.dim[t.rank - 1]}};
    if (gen_may_be_empty(r, last.dim[0])) return;
    bool small =
        gen_coin(r) && !gcut_def(r->b.g, r->item[x].v) && gcut_dim_known(last.dim[0]) && last.dim[0] > 4;
    gcut_attr a = gcut_attr_real(GCUT_KEY_eps, small ? 1e-5 : 0.0625);
    gcut_ref in[3] = {gen_use(r, x)};
    for (uint32_t k = 1; k < n; k++) in[k] = gen_use(r, gen_leaf(r, &last));
    gen_keep(r, gen_node(r, op, in, n, &a, 1), 3, false);
}

/* x [N, C, ...] with leaves for the vectors over its channels. */
static uint32_t channels(graph_gen *r, gcut_op op, uint32_t rank, gcut_ref *in)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, rank, false);
    gcut_type t = gen_type_of(r, r->item[x].v), c = {.dtype = t.dtype, .rank = 1, .dim = {t.dim[1]}};
    for (uint32_t d = 0; d < t.rank; d++)
        if (gen_may_be_empty(r, t.dim[d])) return GCUT_NONE;
    in[0] = gen_use(r, x);
    for (uint32_t k = 1; k < gcut_op_get(op)->lo; k++) in[k] = gen_use(r, gen_leaf(r, &c));
    return x;
}

void make_batch_norm(graph_gen *r, gcut_op op)
{
    gcut_ref in[5];
    gcut_attr a[2] = {gcut_attr_real(GCUT_KEY_eps, 0.0625), gcut_attr_real(GCUT_KEY_momentum, 0.25)};
    uint32_t x = channels(r, op, 2, in);
    if (x == GCUT_NONE) return;
    double mag = r->item[x].mag;
    gcut_ref y = gen_node(r, op, in, 5, a, 1 + gen_draw(r, 2));
    gen_keep(r, y, 3, false);
    gen_keep(r, y + 1, 1 + mag, false);
    gen_keep(r, y + 2, 1 + 2 * mag * mag, false);
}

void make_channel_norm(graph_gen *r, gcut_op op)
{
    bool groups = op == GCUT_OP_group_norm;
    gcut_ref in[3];
    uint32_t x = channels(r, op, groups ? 2 : 3, in), n = 1;
    if (x == GCUT_NONE) return;
    gcut_type t = gen_type_of(r, in[0]);
    gcut_attr a[2] = {gcut_attr_real(GCUT_KEY_eps, 0.0625)};
    if (groups)
        a[n++] = gcut_attr_dim(GCUT_KEY_groups, gcut_dim_known(t.dim[1]) && t.dim[1] % 2 == 0 ? 2 : 1);
    gen_keep(r, gen_node(r, op, in, 3, a, n), 3, false);
}

void make_cross_entropy(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 1, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    for (uint32_t d = 0; d < t.rank; d++)
        if (gen_may_be_empty(r, t.dim[d])) return;
    gcut_ref in[2] = {gen_use(r, x), gen_indices(r, t.rank - 1u, t.dim, t.dim[t.rank - 1])};
    gcut_attr a[2];
    uint32_t n = 0;
    if (op == GCUT_OP_cross_entropy && gen_coin(r)) a[n++] = gcut_attr_real(GCUT_KEY_smooth, 0.125);
    if (gen_draw(r, 3) == 0) a[n++] = gcut_attr_int(GCUT_KEY_ignore, 3);
    gen_keep(r, gen_node(r, op, in, 2, a, n), 4, false);
}

void make_mse(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 0, false), y = gen_matching(r, x, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    for (uint32_t d = 0; d < t.rank; d++)
        if (gen_may_be_empty(r, t.dim[d])) return;
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, y)};
    const gcut_attr delta = gcut_attr_real(GCUT_KEY_delta, 0.5);
    gen_keep(r, gen_node(r, op, in, 2, &delta, op == GCUT_OP_huber && gen_coin(r)), 16, false);
}
