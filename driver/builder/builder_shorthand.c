/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gradcut/shorthand.h: ops with fewer or friendlier arguments than the table has.
 */
#include "driver/builder/builder_op.h"

gcut_val gcut_const_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, double value)
{
    return gcut_full_at(at, g, dtype, GCUT_SCALAR, value);
}

static void do_scale(void *arg)
{
    call *c = arg;
    locate(c);
    c->out = gcut_bscale(&c->b, c->in[0].id, c->number);
}

gcut_val gcut_scale_at(gcut_here at, gcut_val x, double factor)
{
    return gcut_builder_run_on(at, "scale", do_scale, &(call){.in = {x}, .number = factor}, 1);
}

/* ---- products ---- */

/* The rows of x, of rank above 2, as one matrix: [B, T, K] is [B*T, K]. */
static gcut_ref as_rows(call *c, gcut_ref x, const gcut_type *t)
{
    gcut_dim all[] = {1, t->dim[t->rank - 1]};
    for (int d = 0; d < t->rank - 1; d++)
        all[0] = gcut_dim_make(c->g->module->dims, GCUT_DIM_MUL, all[0], t->dim[d]);
    return gcut_breshape(&c->b, x, all, 2);
}

static void do_matmul(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_ref a = c->in[0].id, b = c->in[1].id;
    gcut_type t = *gcut_type_of(c->g, a);
    bool rows = t.rank > 2 && gcut_type_of(c->g, b)->rank == 2 && !c->flag[0];
    if (rows) a = as_rows(c, a, &t);
    c->out = gcut_bmatmul(&c->b, a, b, c->flag[0], c->flag[1]);
    if (!rows) return;
    t.dim[t.rank - 1] = gcut_type_of(c->g, c->out)->dim[1];
    c->out = gcut_breshape(&c->b, c->out, t.dim, t.rank);
}

gcut_val gcut_matmul_at(gcut_here at, gcut_val a, gcut_val b, bool ta, bool tb)
{
    return gcut_builder_run_on(at, "matmul", do_matmul, &(call){.in = {a, b}, .flag = {ta, tb}}, 2);
}

typedef struct einsum_job {
    call c;
    const gcut_val *in;
    int n;
} einsum_job;

static void do_einsum(void *arg)
{
    einsum_job *j = arg;
    call *c = &j->c;
    const gcut_ref *in = gcut_builder_refs(c->g->module->arena, c->g, j->in, j->n);
    locate(c);
    if (!c->name) WRONG(c, NULL, "'einsum': the equation is NULL");
    c->out = gcut_beinsum(&c->b, c->name, in, (uint32_t)j->n);
}

gcut_val gcut_einsum_at(gcut_here at, const char *equation, const gcut_val *in, int n)
{
    einsum_job j = {.c = {.name = equation}, .in = in, .n = n};
    return gcut_builder_run(at, gcut_builder_operands(at, "einsum", in, n), do_einsum, &j.c);
}

/* ---- slices ---- */

/* shape.dim[0] <= index < shape.dim[1] along the axis; the whole of every other axis. */
static void do_slice(void *arg)
{
    call *c = arg;
    locate(c);
    gcut_type t = *gcut_type_of(c->g, c->in[0].id);
    gcut_dim start[GCUT_MAX_RANK] = {0}, limit[GCUT_MAX_RANK];
    int axis = gcut_builder_axis(c->g, c->at, "slice", c->in[0].id, c->axis);
    memcpy(limit, t.dim, sizeof limit);
    for (int k = 0; k < 2; k++) gcut_builder_check_size(c->g, c->at, "op", "slice", c->shape.dim[k]);
    start[axis] = c->shape.dim[0];
    limit[axis] = c->shape.dim[1];
    c->out = gcut_bslice(&c->b, c->in[0].id, start, limit, NULL);
}

gcut_val gcut_slice_at(gcut_here at, gcut_val x, int axis, gcut_dim from, gcut_dim to)
{
    return gcut_builder_run_on(at, "slice", do_slice,
                               &(call){.in = {x}, .axis = axis, .shape = GCUT_SHAPE(from, to)}, 1);
}

gcut_val gcut_concat_at(gcut_here at, const gcut_val *in, int n, int axis)
{
    if (n <= 0) return (gcut_val){0};
    return gcut_builder_op(at, NULL, GCUT_OP_concat, in, n,
                           (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_key_of_at(gcut_here at, gcut_val keys, int i)
{
    gcut_val one = gcut_slice_at(at, keys, 0, i, (gcut_dim)i + 1);
    return gcut_reshape_at(at, one, GCUT_SCALAR);
}

/* ---- ops of several results ---- */

/* Results 1 to n of the node whose first result is y. */
static gcut_val with_results(gcut_val y, gcut_val *more, uint32_t n)
{
    for (uint32_t k = 0; more && k < n; k++)
        more[k] = y.id ? gcut_val_of(y.graph, y.id + 1 + k) : (gcut_val){0};
    return y;
}

gcut_val gcut_topk_at(gcut_here at, gcut_val x, gcut_dim k, int axis, bool largest, gcut_val *indices)
{
    gcut_val y = gcut_builder_op(at, NULL, GCUT_OP_topk, &x, 1,
                                 (gcut_op_attr[]){{.key = GCUT_KEY_k, .u.i = k},
                                                  {.key = GCUT_KEY_axis, .u.i = axis},
                                                  {.key = GCUT_KEY_largest, .u.b = largest}},
                                 3);
    return with_results(y, indices, 1);
}

gcut_val gcut_rnn_at(gcut_here at, gcut_val x, gcut_val h, gcut_val wx, gcut_val wh, gcut_val bx, gcut_val bh,
                     const char *mode, bool reverse, gcut_val *last)
{
    const gcut_val y = gcut_builder_op(
        at, NULL, GCUT_OP_rnn, (gcut_val[]){x, h, wx, wh, bx, bh}, 6,
        (gcut_op_attr[]){{.key = GCUT_KEY_mode, .u.s = mode}, {.key = GCUT_KEY_reverse, .u.b = reverse}}, 2);
    return with_results(y, last, 1);
}

gcut_val gcut_gru_at(gcut_here at, gcut_val x, gcut_val h, gcut_val wx, gcut_val wh, gcut_val bx, gcut_val bh,
                     bool reverse, gcut_val *last)
{
    const gcut_val y = gcut_builder_op(at, NULL, GCUT_OP_gru, (gcut_val[]){x, h, wx, wh, bx, bh}, 6,
                                       (gcut_op_attr[]){{.key = GCUT_KEY_reverse, .u.b = reverse}}, 1);
    return with_results(y, last, 1);
}

gcut_val gcut_lstm_at(gcut_here at, gcut_val x, gcut_val h, gcut_val c, gcut_val wx, gcut_val wh, gcut_val bx,
                      gcut_val bh, bool reverse, gcut_val last[2])
{
    const gcut_val y = gcut_builder_op(at, NULL, GCUT_OP_lstm, (gcut_val[]){x, h, c, wx, wh, bx, bh}, 7,
                                       (gcut_op_attr[]){{.key = GCUT_KEY_reverse, .u.b = reverse}}, 1);
    return with_results(y, last, 2);
}

gcut_val gcut_batch_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, gcut_val mean,
                            gcut_val var, double eps, double momentum, gcut_val next[2])
{
    gcut_val y = gcut_builder_op(
        at, NULL, GCUT_OP_batch_norm, (gcut_val[]){x, gain, bias, mean, var}, 5,
        (gcut_op_attr[]){{.key = GCUT_KEY_eps, .u.f = eps}, {.key = GCUT_KEY_momentum, .u.f = momentum}}, 2);
    return with_results(y, next, 2);
}

/* A pair as an attribute: a single number applies to both axes; two zeros mean the default. */
static gcut_op_attr pair(gcut_attr_key key, const int64_t *given)
{
    gcut_op_attr a = {.key = key, .zero_is_default = true};
    if (given[0] || given[1]) a.u.l = GCUT_SHAPE(given[0], given[1] ? given[1] : given[0]);
    return a;
}

static gcut_op_attr padding(const int64_t *given)
{
    return (gcut_op_attr){.key = GCUT_KEY_pad, .u.l = GCUT_SHAPE(given[0], given[1], given[2], given[3])};
}

static gcut_val convolve(gcut_here at, gcut_op op, gcut_val x, gcut_val w, const gcut_conv *how)
{
    gcut_op_attr a[] = {pair(GCUT_KEY_stride, how->stride),
                        pair(GCUT_KEY_dilation, how->dilation),
                        padding(how->pad),
                        {.key = GCUT_KEY_groups, .u.i = how->groups ? how->groups : 1},
                        pair(GCUT_KEY_output_pad, how->output_pad)};
    bool more = op == GCUT_OP_conv_transpose2d || how->output_pad[0] || how->output_pad[1];
    if (more && how->output_pad[0] && !how->output_pad[1]) a[4].u.l.dim[1] = 0; /* 0 is meant */
    return gcut_builder_op(at, NULL, op, (gcut_val[]){x, w}, 2, a, more ? 5 : 4);
}

gcut_val gcut_conv2d_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv how)
{
    return convolve(at, GCUT_OP_conv2d, x, w, &how);
}

gcut_val gcut_conv_transpose2d_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv how)
{
    return convolve(at, GCUT_OP_conv_transpose2d, x, w, &how);
}

static gcut_val pool(gcut_here at, gcut_op op, gcut_val x, const gcut_pool *how)
{
    gcut_op_attr a[] = {pair(GCUT_KEY_window, how->window), pair(GCUT_KEY_stride, how->stride),
                        padding(how->pad)};
    return gcut_builder_op(at, NULL, op, &x, 1, a, 3);
}

gcut_val gcut_max_pool2d_at(gcut_here at, gcut_val x, gcut_pool how)
{
    return pool(at, GCUT_OP_max_pool2d, x, &how);
}

gcut_val gcut_avg_pool2d_at(gcut_here at, gcut_val x, gcut_pool how)
{
    return pool(at, GCUT_OP_avg_pool2d, x, &how);
}
