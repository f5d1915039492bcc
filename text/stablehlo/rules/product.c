/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products and convolutions.
 */
#include "text/stablehlo/writer.h"

void gcut_hlo_matmul(gcut_hlo *w, const char *as)
{
    (void)as;
    const gcut_type a = gcut_hlo_operand_type(w, 0), b = gcut_hlo_operand_type(w, 1),
                    to = gcut_hlo_result_type(w, 0);
    const bool ta = gcut_attr_flag(w->g, w->n, GCUT_KEY_ta), tb = gcut_attr_flag(w->g, w->n, GCUT_KEY_tb);
    const uint32_t batch = a.rank - 2u;
    int64_t axes[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < batch; d++) axes[d] = d;
    gcut_text batching = {.arena = w->a};
    gcut_text_add(&batching, "%s", "");
    if (batch)
        gcut_text_add(&batching, "batching_dims = [%s] x [%s], ", gcut_hlo_list(w, axes, batch),
                      gcut_hlo_list(w, axes, batch));
    gcut_hlo_let(w, gcut_hlo_own(w, 0),
                 "stablehlo.dot_general %s, %s, %scontracting_dims = [%u] x [%u] : (%s, %s) -> %s",
                 gcut_hlo_operand(w, 0), gcut_hlo_operand(w, 1), batching.at,
                 (unsigned)(ta ? batch : batch + 1), (unsigned)(tb ? batch + 1 : batch), gcut_hlo_type(w, &a),
                 gcut_hlo_type(w, &b), gcut_hlo_type(w, &to));
}

/* ---- convolutions ---- */

typedef struct windows {
    int64_t stride[2], pad[4], dilation[2]; /* pad: top, left, bottom, right */
    int64_t groups;
} windows;

static windows windows_of(const gcut_hlo *w)
{
    windows x;
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_stride), x.stride);
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_pad), x.pad);
    gcut_hlo_sizes(w, gcut_attr_get(w->g, w->n, GCUT_KEY_dilation), x.dilation);
    x.groups = gcut_hlo_size(w, gcut_attr_get(w->g, w->n, GCUT_KEY_groups)->u.dim);
    return x;
}

typedef struct convolution {
    const char *axes; /* of both operands and of the result: "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]" */
    int64_t stride[2], low[2], high[2], dilate_x[2], dilate_w[2];
    bool reverse; /* the window */
    int64_t groups, batch_groups;
} convolution;

static void put(gcut_hlo *w, const convolution *c, const char *x, const gcut_type *tx, const char *f,
                const gcut_type *tf)
{
    const gcut_type to = gcut_hlo_result_type(w, 0);
    const char *flag = c->reverse ? "true" : "false";
    gcut_hlo_let(
        w, gcut_hlo_own(w, 0),
        "stablehlo.convolution(%s, %s) dim_numbers = %s, window = {stride = [%s], pad = [[%lld, %lld], "
        "[%lld, %lld]], lhs_dilate = [%s], rhs_dilate = [%s], reverse = [%s, %s]} {batch_group_count = "
        "%lld : i64, feature_group_count = %lld : i64} : (%s, %s) -> %s",
        x, f, c->axes, gcut_hlo_list(w, c->stride, 2), (long long)c->low[0], (long long)c->high[0],
        (long long)c->low[1], (long long)c->high[1], gcut_hlo_list(w, c->dilate_x, 2),
        gcut_hlo_list(w, c->dilate_w, 2), flag, flag, (long long)c->batch_groups, (long long)c->groups,
        gcut_hlo_type(w, tx), gcut_hlo_type(w, tf), gcut_hlo_type(w, &to));
}

void gcut_hlo_conv(gcut_hlo *w, const char *as)
{
    (void)as;
    const windows p = windows_of(w);
    const gcut_type x = gcut_hlo_operand_type(w, 0), f = gcut_hlo_operand_type(w, 1);
    put(w,
        &(convolution){.axes = "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                       .stride = {p.stride[0], p.stride[1]},
                       .low = {p.pad[0], p.pad[1]},
                       .high = {p.pad[2], p.pad[3]},
                       .dilate_x = {1, 1},
                       .dilate_w = {p.dilation[0], p.dilation[1]},
                       .groups = p.groups,
                       .batch_groups = 1},
        gcut_hlo_operand(w, 0), &x, gcut_hlo_operand(w, 1), &f);
}

/* The weight [O, C/groups, KH, KW] with the channels of each group's operand first: [O/groups, C, KH, KW]. */
static const char *by_group(gcut_hlo *w, const char *f, gcut_type *t, int64_t groups)
{
    const int64_t out = t->dim[0] / groups, in = t->dim[1];
    const gcut_type split = {t->dtype, 5, {groups, out, in, t->dim[2], t->dim[3]}},
                    turned = {t->dtype, 5, {out, groups, in, t->dim[2], t->dim[3]}},
                    to = {t->dtype, 4, {out, groups * in, t->dim[2], t->dim[3]}};
    if (groups == 1) return f;
    f = gcut_hlo_reshape(w, NULL, f, t, &split);
    f = gcut_hlo_let(w, NULL, "stablehlo.transpose %s, dims = [1, 0, 2, 3, 4] : (%s) -> %s", f,
                     gcut_hlo_type(w, &split), gcut_hlo_type(w, &turned));
    *t = to;
    return gcut_hlo_reshape(w, NULL, f, &turned, &to);
}

/* y, its elements apart by the stride, with the window reversed: padded so that the result has its size. */
void gcut_hlo_conv_input(gcut_hlo *w, const char *as)
{
    (void)as;
    const windows p = windows_of(w);
    const gcut_type y = gcut_hlo_operand_type(w, 0), to = gcut_hlo_result_type(w, 0);
    gcut_type f = gcut_hlo_operand_type(w, 1);
    convolution c = {.axes = "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
                     .stride = {1, 1},
                     .reverse = true,
                     .groups = p.groups,
                     .batch_groups = 1};
    for (uint32_t k = 0; k < 2; k++) {
        const int64_t reach = (f.dim[2 + k] - 1) * p.dilation[k], wide = (y.dim[2 + k] - 1) * p.stride[k] + 1;
        c.dilate_x[k] = p.stride[k];
        c.dilate_w[k] = p.dilation[k];
        c.low[k] = reach - p.pad[k];
        c.high[k] = to.dim[2 + k] + reach - wide - c.low[k];
    }
    const char *weight = by_group(w, gcut_hlo_operand(w, 1), &f, p.groups);
    put(w, &c, gcut_hlo_operand(w, 0), &y, weight, &f);
}

/* Each channel of x is an image of N channels, over which the N channels of each channel of y go as a window whose elements
 * are apart by the stride; groups are groups of the images. */
void gcut_hlo_conv_weight(gcut_hlo *w, const char *as)
{
    (void)as;
    const windows p = windows_of(w);
    const gcut_type x = gcut_hlo_operand_type(w, 0), y = gcut_hlo_operand_type(w, 1),
                    to = gcut_hlo_result_type(w, 0);
    convolution c = {
        .axes = "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]", .groups = 1, .batch_groups = p.groups};
    for (uint32_t k = 0; k < 2; k++) {
        const int64_t wide = (y.dim[2 + k] - 1) * p.stride[k] + 1;
        c.stride[k] = p.dilation[k];
        c.dilate_x[k] = 1;
        c.dilate_w[k] = p.stride[k];
        c.low[k] = p.pad[k];
        c.high[k] = (to.dim[2 + k] - 1) * p.dilation[k] + wide - x.dim[2 + k] - p.pad[k];
    }
    put(w, &c, gcut_hlo_operand(w, 0), &x, gcut_hlo_operand(w, 1), &y);
}
