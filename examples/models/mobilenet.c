/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * MobileNetV2: blocks that widen, filter each channel on its own, and narrow
 * again without a non-linearity.
 *
 * Sandler, Howard, Zhu, Zhmoginov & Chen, "MobileNetV2: Inverted Residuals and
 * Linear Bottlenecks", CVPR 2018.
 */
#include "models.h"

/* A row of the paper's table 2. */
typedef struct row {
    int64_t widen, channels, repeats, stride;
} row;

typedef struct shape {
    int64_t image, first, last, classes, stride; /* of the first convolution */
    row rows[8];                                 /* repeats 0 ends them */
} shape;

static gcut_val relu6(gcut_val x)
{
    return net_apply("clamp", x, "lo=0.0, hi=6.0");
}

static gcut_val block(net *n, gcut_val x, int64_t widen, int64_t out, int64_t stride)
{
    int64_t in = gcut_shape_of(x).dim[1], wide = in * widen;
    gcut_val y = x;
    if (widen != 1) y = relu6(net_batch_norm(n, "bn0", net_conv(n, "widen", y, wide, (conv){.kernel = 1})));
    y = net_conv(n, "depth", y, wide, (conv){.kernel = 3, .stride = stride, .pad = 1, .groups = wide});
    y = relu6(net_batch_norm(n, "bn1", y));
    y = net_batch_norm(n, "bn2", net_conv(n, "narrow", y, out, (conv){.kernel = 1}));
    return stride == 1 && in == out ? gcut_add(x, y) : y;
}

void mobilenet_build(net *n, int size)
{
    static const shape shapes[] = {
        {32,
         32,
         1280,
         10,
         1,
         {{1, 16, 1, 1},
          {6, 24, 2, 1},
          {6, 32, 3, 2},
          {6, 64, 4, 2},
          {6, 96, 3, 1},
          {6, 160, 3, 2},
          {6, 320, 1, 1}}},
        {224,
         32,
         1280,
         1000,
         2,
         {{1, 16, 1, 1},
          {6, 24, 2, 2},
          {6, 32, 3, 2},
          {6, 64, 4, 2},
          {6, 96, 3, 1},
          {6, 160, 3, 2},
          {6, 320, 1, 1}}},
        {8, 4, 8, 4, 1, {{1, 4, 1, 1}, {2, 6, 1, 2}}},
    };
    const shape *s = &shapes[size];
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, 3, s->image, s->image));
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch), s->classes);
    net_scope(n, "first");
    x = net_conv(n, "conv", x, s->first, (conv){.kernel = 3, .stride = s->stride, .pad = 1});
    x = relu6(net_batch_norm(n, "bn", x));
    for (int64_t i = 0, k = 0; s->rows[i].repeats; i++)
        for (int64_t b = 0; b < s->rows[i].repeats; b++) {
            net_scope(n, "block%lld", (long long)k++);
            x = block(n, x, s->rows[i].widen, s->rows[i].channels, b ? 1 : s->rows[i].stride);
        }
    net_scope(n, "last");
    x = relu6(net_batch_norm(n, "bn", net_conv(n, "conv", x, s->last, (conv){.kernel = 1})));
    x = net_linear(n, "fc", gcut_mean(x, 2, 3), s->classes, 0);
    net_loss(n, x, t);
}
