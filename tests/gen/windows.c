/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs: products, convolutions, pools and attention.
 */
#include "gen/gen.h"

#include <math.h>
#include <string.h>

void make_matmul(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_operand(r, gcut_op_get(op)->dtypes, 2, false), ta = gen_coin(r), tb = gen_coin(r);
    gcut_type t = gen_type_of(r, r->item[x].v), u = t;
    uint32_t k = t.rank;
    gcut_dim inner = t.dim[k - 1 - ta];
    gcut_ref in[2] = {gen_use(r, x)};
    double mag = r->item[x].mag;
    if (gen_draw(r, 6) == 0) { /* x by itself */
        in[1] = in[0];
        tb = !ta;
        mag *= mag;
    } else {
        u.dim[k - 2 + tb] = inner;
        u.dim[k - 1 - tb] = gen_any_dim(r, 130);
        while (gen_nominal(r, u.dim[k - 1 - tb]) > 1 &&
               (gen_elements(r, &u) > GEN_CAP ||
                gen_elements(r, &t) * (double)gen_nominal(r, u.dim[k - 1 - tb]) > 4e5))
            u.dim[k - 1 - tb] = gen_any_dim(r, gen_nominal(r, u.dim[k - 1 - tb]) / 2 + 1),
                          u.dim[k - 2 + tb] = inner;
        in[1] = gen_use(r, gen_leaf(r, &u));
    }
    gcut_attr a[2] = {gcut_attr_bool(GCUT_KEY_ta, ta), gcut_attr_bool(GCUT_KEY_tb, tb)};
    gcut_ref v = gen_node(r, op, in, 2, a, 2);
    double over = (double)gen_nominal(r, inner);
    if (over > 2) v = gcut_bscale(&r->b, v, 1 / sqrt(over));
    gen_keep(r, v, 2 * mag, false);
}

/* ---- windows ---- */

/* An image, stride, dilation, padding and window that fit: attributes into a, sizes of the places into y. */
typedef struct window {
    gcut_type x, y;
    uint32_t n; /* axes that it slides over */
    gcut_dim k[3], pad[6], stride[3], dilation[3], groups;
} window;

/* A window lies on an element at least. */
static bool has_no_pixels(const graph_gen *r, const gcut_type *x)
{
    for (uint32_t d = 2; d < x->rank; d++)
        if (gen_may_be_empty(r, x->dim[d])) return true;
    return false;
}

static window any_window(graph_gen *r, gcut_type x, bool dilates)
{
    window w = {.x = x, .y = x, .n = x.rank - 2u, .groups = 1};
    for (uint32_t d = 0; d < w.n; d++) {
        int64_t lo, hi;
        gcut_dim_range(gen_module_of(r)->dims, x.dim[2 + d], r->b.g->decls.at, r->b.g->decls.n, &lo, &hi);
        w.stride[d] = 1 + gen_draw(r, 3);
        w.dilation[d] = dilates && gen_draw(r, 4) == 0 ? 2 : 1;
        w.k[d] = 1 + gen_draw(r, 3);
        w.pad[d] = gen_draw(r, (uint32_t)w.k[d]);
        w.pad[d + w.n] = gen_draw(r, (uint32_t)w.k[d]);
        int64_t least = lo + w.pad[d] + w.pad[d + w.n];
        if (w.dilation[d] * (w.k[d] - 1) + 1 > least) w.k[d] = 1, w.pad[d] = w.pad[d + w.n] = 0;
        gcut_dim room = gen_combine(r, GCUT_DIM_ADD, x.dim[2 + d], w.pad[d] + w.pad[d + w.n]);
        room = gen_combine(r, GCUT_DIM_SUB, room, w.dilation[d] * (w.k[d] - 1) + 1);
        w.y.dim[2 + d] = gen_combine(r, GCUT_DIM_ADD, gen_combine(r, GCUT_DIM_DIV, room, w.stride[d]), 1);
    }
    return w;
}

static uint32_t conv_attrs(graph_gen *r, const window *w, gcut_attr *a)
{
    a[0] = gen_dims(r, GCUT_KEY_stride, w->stride, w->n);
    a[1] = gen_dims(r, GCUT_KEY_pad, w->pad, 2 * w->n);
    a[2] = gen_dims(r, GCUT_KEY_dilation, w->dilation, w->n);
    a[3] = gcut_attr_dim(GCUT_KEY_groups, w->groups);
    return 4;
}

/* A convolution on an operand for the image (or for y), the rest leaves; its channels decide the groups. */
typedef struct conv {
    window w;
    gcut_type weight;
    double terms; /* of an element of y */
} conv;

static conv any_conv(graph_gen *r, gcut_type x)
{
    conv c = {.w = any_window(r, x, true)};
    gcut_dim channels = x.dim[1], each = 1 + gen_draw(r, 3);
    if (gcut_dim_known(channels) && channels > 0 && gen_coin(r)) c.w.groups = channels;
    if (channels == 8 && gen_coin(r)) c.w.groups = 4;
    gcut_dim in = gen_combine(r, GCUT_DIM_DIV, channels, c.w.groups);
    c.w.y.dim[1] = each * c.w.groups;
    c.weight = (gcut_type){.dtype = x.dtype, .rank = x.rank, .dim = {c.w.y.dim[1], in}};
    memcpy(c.weight.dim + 2, c.w.k, c.w.n * sizeof *c.w.k);
    c.terms = gen_elements(r, &c.weight) / (double)c.w.y.dim[1];
    return c;
}

static void keep_sum(graph_gen *r, gcut_ref v, double mag, double terms)
{
    if (terms > 2) v = gcut_bscale(&r->b, v, 1 / sqrt(terms));
    gen_keep(r, v, 2 * mag, false);
}

static void convolution(graph_gen *r, gcut_op op, uint32_t x)
{
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (has_no_pixels(r, &t)) return;
    conv c = any_conv(r, t);
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_leaf(r, &c.weight))};
    gcut_attr a[4];
    if (gen_elements(r, &c.w.y) > 4 * GEN_CAP) return;
    keep_sum(r, gen_node(r, op, in, 2, a, conv_attrs(r, &c.w, a)), r->item[x].mag, c.terms);
}

void make_conv2d(graph_gen *r, gcut_op op)
{
    convolution(r, op, gen_image(r, gcut_op_get(op)->dtypes, false));
}

/* A leaf with one to three axes for a window. */
static uint32_t any_image(graph_gen *r)
{
    gcut_type t = gen_any_type(r, gen_any_real(r), 3);
    if (t.rank == 4 && gen_coin(r)) t.dim[t.rank++] = 1 + gen_draw(r, 3);
    return gen_leaf(r, &t);
}

void make_conv_nd(graph_gen *r, gcut_op op)
{
    convolution(r, op, any_image(r));
}

void make_conv2d_input(graph_gen *r, gcut_op op)
{
    gcut_type x = gen_any_type(r, gen_any_real(r), 4);
    if (has_no_pixels(r, &x)) return;
    conv c = any_conv(r, x);
    if (gen_elements(r, &c.w.y) > GEN_CAP) return;
    uint32_t y = gen_coin(r) ? gen_leaf(r, &c.w.y) : gen_repeated(r, &c.w.y);
    gcut_ref in[2] = {gen_use(r, y), gen_use(r, gen_leaf(r, &c.weight))};
    gcut_attr a[5];
    uint32_t n = conv_attrs(r, &c.w, a);
    a[n++] = gen_dims(r, GCUT_KEY_shape, x.dim + 2, 2);
    keep_sum(r, gen_node(r, op, in, 2, a, n), 1,
             gen_elements(r, &c.weight) / (double)gen_nominal(r, c.weight.dim[1]));
}

void make_conv2d_weight(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_image(r, gcut_op_get(op)->dtypes, false);
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (has_no_pixels(r, &t)) return;
    conv c = any_conv(r, t);
    if (gen_elements(r, &c.w.y) > GEN_CAP) return;
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_coin(r) ? gen_leaf(r, &c.w.y) : gen_repeated(r, &c.w.y))};
    gcut_attr a[5];
    uint32_t n = conv_attrs(r, &c.w, a);
    a[n++] = gen_dims(r, GCUT_KEY_window, c.w.k, 2);
    keep_sum(r, gen_node(r, op, in, 2, a, n), r->item[x].mag,
             gen_elements(r, &c.w.y) / (double)gen_nominal(r, c.w.y.dim[1]));
}

static void transposed(graph_gen *r, gcut_op op, uint32_t x)
{
    gcut_type t = gen_type_of(r, r->item[x].v), w = {.dtype = t.dtype, .rank = t.rank, .dim = {t.dim[1], 2}};
    for (uint32_t d = 0; d < t.rank; d++)
        if (gen_may_be_empty(r, t.dim[d])) return;
    const uint32_t n = t.rank - 2u;
    gcut_dim pad[6] = {0}, stride[3], more[3], dilation[3];
    const gcut_dim groups = gcut_dim_known(t.dim[1]) && gen_coin(r) ? t.dim[1] : 1;
    for (uint32_t d = 0; d < n; d++) {
        w.dim[2 + d] = 1 + gen_draw(r, 3);
        stride[d] = 1 + gen_draw(r, 2);
        more[d] = gen_coin(r) ? 0 : gen_draw(r, 3);
        dilation[d] = 1 + (gen_draw(r, 4) == 0);
        if (w.dim[2 + d] > 1) pad[d] = gen_draw(r, 2);
    }
    /* products, and elements of the result */
    if (gen_elements(r, &t) * gen_elements(r, &w) / (double)gen_nominal(r, t.dim[1]) > 16 * GEN_CAP ||
        gen_elements(r, &t) * (double)groups / (double)gen_nominal(r, t.dim[1]) > GEN_CAP)
        return;
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_leaf(r, &w))};
    gcut_attr a[5] = {gen_dims(r, GCUT_KEY_stride, stride, n), gen_dims(r, GCUT_KEY_pad, pad, 2 * n),
                      gen_dims(r, GCUT_KEY_output_pad, more, n), gen_dims(r, GCUT_KEY_dilation, dilation, n),
                      gcut_attr_dim(GCUT_KEY_groups, groups)};
    keep_sum(r, gen_node(r, op, in, 2, a, 5), r->item[x].mag, gen_elements(r, &w) / 2 / (double)groups);
}

void make_conv_transpose2d(graph_gen *r, gcut_op op)
{
    transposed(r, op, gen_image(r, gcut_op_get(op)->dtypes, false));
}

void make_conv_transpose_nd(graph_gen *r, gcut_op op)
{
    transposed(r, op, any_image(r));
}

static uint32_t pool_attrs(graph_gen *r, const window *w, gcut_attr *a)
{
    a[0] = gen_dims(r, GCUT_KEY_window, w->k, w->n);
    a[1] = gen_dims(r, GCUT_KEY_pad, w->pad, 2 * w->n);
    a[2] = gen_dims(r, GCUT_KEY_stride, w->stride, w->n);
    return 3;
}

/* Which element is the largest may not be decided by rounding: the image of a max_pool's kin is exact. */
void make_pool(graph_gen *r, gcut_op op)
{
    bool steps = gen_has_kink(op) || gen_has_step(op);
    uint32_t x = gen_image(r, gcut_op_get(op)->dtypes, steps), n = gcut_op_get(op)->lo;
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (has_no_pixels(r, &t)) return;
    window w = any_window(r, t, false);
    gcut_ref in[2] = {gen_use(r, x), n == 2 ? gen_use(r, gen_matching(r, x, false)) : 0};
    gcut_attr a[3];
    gen_keep(r, gen_node(r, op, in, n, a, pool_attrs(r, &w, a)), n == 2 ? 4 : r->item[x].mag, false);
}

void make_pool_nd(graph_gen *r, gcut_op op)
{
    uint32_t x = any_image(r), n;
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (has_no_pixels(r, &t)) return;
    window w = any_window(r, t, false);
    gcut_ref in = gen_use(r, x);
    gcut_attr a[5];
    bool known = true;
    for (uint32_t d = 2; d < t.rank; d++) known = known && gcut_dim_known(t.dim[d]);
    n = pool_attrs(r, &w, a);
    a[n++] = gcut_attr_bool(GCUT_KEY_ceil, known && gen_coin(r));
    if (op == GCUT_OP_avg_pool_nd) a[n++] = gcut_attr_bool(GCUT_KEY_skip_pad, gen_coin(r));
    gen_keep(r, gen_node(r, op, &in, 1, a, n), r->item[x].mag, false);
}

void make_pool_grad(graph_gen *r, gcut_op op)
{
    uint32_t x = gen_image(r, gcut_op_get(op)->dtypes, true);
    gcut_type t = gen_type_of(r, r->item[x].v);
    if (has_no_pixels(r, &t)) return;
    window w = any_window(r, t, false);
    gcut_ref in[2] = {gen_use(r, x), gen_use(r, gen_coin(r) ? gen_leaf(r, &w.y) : gen_repeated(r, &w.y))};
    gcut_attr a[3];
    gen_keep(r, gen_node(r, op, in, 2, a, pool_attrs(r, &w, a)), 9, false);
}

void make_unpool(graph_gen *r, gcut_op op)
{
    gcut_type x = gen_any_type(r, gen_any_real(r), 4);
    if (has_no_pixels(r, &x)) return;
    window w = any_window(r, x, false);
    gcut_ref in = gen_use(r, gen_coin(r) ? gen_leaf(r, &w.y) : gen_repeated(r, &w.y));
    gcut_attr a[4];
    uint32_t n = pool_attrs(r, &w, a);
    a[n++] = gen_dims(r, GCUT_KEY_shape, x.dim + 2, 2);
    gen_keep(r, gen_node(r, op, &in, 1, a, n), 9, false);
}

/* q, k, v and sometimes a bias, whose number is returned, and the type of y. */
static uint32_t attention_operands(graph_gen *r, gcut_ref *in, gcut_type *y)
{
    static const int64_t heads[] = {1, 2, 4};
    gcut_dim B = gen_any_dim(r, 2), H = heads[gen_draw(r, 3)], G = heads[gen_draw(r, 3)],
             D = heads[gen_draw(r, 3)] * 2;
    gcut_dim T = gen_any_dim(r, 32), S = gen_coin(r) ? T : gen_any_dim(r, 32), E = gen_coin(r) ? D : 3;
    if (H % G) G = 1;
    gcut_dtype t = gen_any_real(r);
    gcut_type q = {.dtype = t, .rank = 4, .dim = {B, H, T, D}},
              k = {.dtype = t, .rank = 4, .dim = {B, G, S, D}};
    gcut_type v = {.dtype = t, .rank = 4, .dim = {B, G, S, E}},
              bias = {.dtype = t, .rank = 4, .dim = {B, H, T, S}};
    *y = (gcut_type){.dtype = t, .rank = 4, .dim = {B, H, T, E}};
    in[0] = gen_use(r, gen_leaf(r, &q));
    in[1] = gen_use(r, gen_leaf(r, &k));
    in[2] = gen_use(r, gen_leaf(r, &v));
    if (gen_coin(r)) in[0] = gcut_b1(&r->b, GCUT_OP_tanh, in[0]);
    if (gen_draw(r, 3)) return 3;
    in[3] = gen_use(r, gen_coin(r) ? gen_leaf(r, &bias) : gen_repeated(r, &bias));
    return 4;
}

void make_attention(graph_gen *r, gcut_op op)
{
    gcut_type y;
    gcut_ref in[4];
    uint32_t n = attention_operands(r, in, &y);
    gcut_attr a[2] = {gcut_attr_bool(GCUT_KEY_causal, gen_coin(r)), gcut_attr_real(GCUT_KEY_scale, 0.5)};
    gen_keep(r, gen_node(r, op, in, n, a, 1 + gen_draw(r, 2)), 1, false);
}

/* Any of its results may stay unused. */
void make_attention_grad(graph_gen *r, gcut_op op)
{
    gcut_type y;
    gcut_ref in[5];
    uint32_t n = attention_operands(r, in, &y), some = 1 + gen_draw(r, (1u << n) - 1);
    gcut_attr a[2] = {gcut_attr_bool(GCUT_KEY_causal, gen_coin(r)), gcut_attr_real(GCUT_KEY_scale, 0.5)};
    in[n] = gen_use(r, gen_leaf(r, &y));
    gcut_ref d = gen_node(r, op, in, n + 1, a, 1 + gen_draw(r, 2));
    for (uint32_t k = 0; k < n; k++)
        if (some >> k & 1) gen_keep(r, d + k, k == 0 || k == 3 ? 2 : 16, false);
}
