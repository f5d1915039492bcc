/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public builder's convolutions and pools.
 */
#include "driver/builder.h"

/* `c` is first: the body gets a pointer to it. */
typedef struct window_call {
    call c;
    gcut_conv conv;
    gcut_pool pool;
} window_call;

/* A pair as an attribute; its zeros are what nobody gave. */
static gcut_attr pair(const call *c, gcut_attr_key key, const int64_t *given, gcut_dim absent)
{
    gcut_dim d[2] = {given[0] ? given[0] : absent};
    d[1] = given[1] ? given[1] : given[0] ? d[0] : absent;
    if (d[0] < 0 || d[1] < 0) usage(c, "strides, dilations and windows are positive numbers");
    return gcut_attr_dims(c->b.g->module, key, d, 2);
}

static gcut_attr padding(const call *c, gcut_attr_key key, const int64_t *given, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (given[i] < 0) usage(c, "padding is not negative (slice cuts)");
    return gcut_attr_dims(c->b.g->module, key, given, n);
}

static void do_conv(void *arg)
{
    window_call *v = arg;
    call *c = &v->c;
    locate(c);
    if (v->conv.groups < 0) usage(c, "groups is a positive number");
    gcut_attr a[5] = {pair(c, GCUT_A_stride, v->conv.stride, 1), padding(c, GCUT_A_pad, v->conv.pad, 4),
                      pair(c, GCUT_A_dilation, v->conv.dilation, 1),
                      gcut_attr_dim(GCUT_A_groups, v->conv.groups ? v->conv.groups : 1),
                      padding(c, GCUT_A_output_pad, v->conv.output_pad, 2)};
    gcut_ref in[2] = {c->in[0].id, c->in[1].id};
    bool plain = c->op == GCUT_OP_conv2d;
    if (plain && (v->conv.output_pad[0] || v->conv.output_pad[1]))
        usage(c, "output_pad belongs to gcut_conv_transpose2d");
    c->out = gcut_node_new(c->b.g, (gcut_op)c->op, in, 2, a, plain ? 4 : 5, c->b.loc, NULL);
}

gcut_val gcut_conv2d_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv how)
{
    return run(at, graph_of((gcut_val[]){x, w}, 2), do_conv,
               &(window_call){.c = {.op = GCUT_OP_conv2d, .in = {x, w}}, .conv = how}.c);
}

gcut_val gcut_conv_transpose2d_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv how)
{
    return run(at, graph_of((gcut_val[]){x, w}, 2), do_conv,
               &(window_call){.c = {.op = GCUT_OP_conv_transpose2d, .in = {x, w}}, .conv = how}.c);
}

static void do_pool(void *arg)
{
    window_call *v = arg;
    call *c = &v->c;
    locate(c);
    gcut_attr a[3] = {pair(c, GCUT_A_window, v->pool.window, 0), padding(c, GCUT_A_pad, v->pool.pad, 4)};
    bool strides = v->pool.stride[0] || v->pool.stride[1];
    if (strides) a[2] = pair(c, GCUT_A_stride, v->pool.stride, 1);
    c->out = gcut_node_new(c->b.g, (gcut_op)c->op, &c->in[0].id, 1, a, strides ? 3 : 2, c->b.loc, NULL);
}

gcut_val gcut_max_pool2d_at(gcut_here at, gcut_val x, gcut_pool how)
{
    return run(at, graph_of(&x, 1), do_pool,
               &(window_call){.c = {.op = GCUT_OP_max_pool2d, .in = {x}}, .pool = how}.c);
}

gcut_val gcut_avg_pool2d_at(gcut_here at, gcut_val x, gcut_pool how)
{
    return run(at, graph_of(&x, 1), do_pool,
               &(window_call){.c = {.op = GCUT_OP_avg_pool2d, .in = {x}}, .pool = how}.c);
}
