/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ResNet-18 and 34: blocks of two convolutions around which the input passes
 * unchanged, batch normalisation with running statistics.
 *
 * He, Zhang, Ren & Sun, "Deep Residual Learning for Image Recognition", CVPR
 * 2016.  For CIFAR's images the first layer is a plain 3 by 3 convolution.
 */
#include "models.h"

typedef struct shape {
    int64_t image, channels, classes;
    bool large;        /* images of ImageNet: a stem of stride 4 */
    int64_t blocks[4]; /* of each stage; 0 ends them */
} shape;

static gcut_val block(net *n, gcut_val x, int64_t out, int64_t stride)
{
    bool changes = stride != 1 || gcut_shape_of(x).dim[1] != out;
    gcut_val y = net_conv(n, "conv1", x, out, (conv){.kernel = 3, .stride = stride, .pad = 1});
    y = gcut_relu(net_batch_norm(n, "bn1", y));
    y = net_batch_norm(n, "bn2", net_conv(n, "conv2", y, out, (conv){.kernel = 3, .pad = 1}));
    if (changes)
        x = net_batch_norm(n, "bn0", net_conv(n, "conv0", x, out, (conv){.kernel = 1, .stride = stride}));
    return gcut_relu(gcut_add(x, y));
}

static gcut_val stem(net *n, gcut_val x, const shape *s)
{
    conv c = s->large ? (conv){.kernel = 7, .stride = 2, .pad = 3} : (conv){.kernel = 3, .pad = 1};
    x = gcut_relu(net_batch_norm(n, "bn", net_conv(n, "conv", x, s->channels, c)));
    return s->large ? net_apply("max_pool2d", x, "window=[3, 3], stride=[2, 2], pad=[1, 1, 1, 1]") : x;
}

void resnet_build(net *n, int size)
{
    static const shape shapes[] = {
        {32, 64, 10, false, {2, 2, 2, 2}}, /* 18 layers for CIFAR */
        {224, 64, 1000, true, {2, 2, 2, 2}},
        {224, 64, 1000, true, {3, 4, 6, 3}},
        {8, 4, 4, false, {1, 1}},
    };
    const shape *s = &shapes[size];
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, 3, s->image, s->image));
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch), s->classes);
    net_scope(n, "stem");
    x = stem(n, x, s);
    for (int64_t stage = 0, out = s->channels; stage < 4; stage++, out *= 2)
        for (int64_t b = 0; b < s->blocks[stage]; b++) {
            net_scope(n, "stage%lld.%lld", (long long)stage, (long long)b);
            x = block(n, x, out, stage && !b ? 2 : 1);
        }
    net_scope(n, "head");
    x = net_linear(n, "fc", gcut_mean(x, 2, 3), s->classes, 0);
    net_loss(n, x, t);
}
