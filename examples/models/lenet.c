/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LeNet-5: two convolutions, each with a mean over squares of 2 by 2, and three
 * dense layers; all of the sixteen maps see all of the six.
 *
 * LeCun, Bottou, Bengio & Haffner, "Gradient-Based Learning Applied to Document
 * Recognition", Proc. IEEE 86, 1998.
 */
#include "models.h"

void lenet_build(net *n, int size)
{
    static const struct {
        int64_t image, kernel, pad, maps[2], dense[2], classes;
    } dims[] = {{28, 5, 2, {6, 16}, {120, 84}, 10}, {8, 3, 1, {2, 3}, {6, 5}, 4}};
    int64_t image = dims[size].image, k = dims[size].kernel;
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, 1, image, image));
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch), dims[size].classes);
    net_scope(n, "features");
    x = gcut_tanh(
        net_conv_bias(n, "conv0", x, dims[size].maps[0], (conv){.kernel = k, .pad = dims[size].pad}));
    x = net_apply("avg_pool2d", x, "window=[2, 2]");
    x = gcut_tanh(net_conv_bias(n, "conv1", x, dims[size].maps[1], (conv){.kernel = k}));
    x = net_flatten(net_apply("avg_pool2d", x, "window=[2, 2]"));
    net_scope(n, "classifier");
    x = gcut_tanh(net_linear(n, "fc0", x, dims[size].dense[0], 0));
    x = gcut_tanh(net_linear(n, "fc1", x, dims[size].dense[1], 0));
    net_loss(n, net_linear(n, "fc2", x, dims[size].classes, 0), t);
}
