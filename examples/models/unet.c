/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * U-Net: down by maxima, up by transposed convolutions, and on every level a
 * bridge from the way down to the way up.  Borders are padded, so that the mask
 * has the image's size.
 *
 * Ronneberger, Fischer & Brox, "U-Net: Convolutional Networks for Biomedical
 * Image Segmentation", MICCAI 2015.
 */
#include "models.h"

#define LEVELS 4

/* Two convolutions of 3 by 3. */
static gcut_val twice(net *n, gcut_val x, int64_t out)
{
    x = gcut_relu(net_conv_bias(n, "conv0", x, out, (conv){.kernel = 3, .pad = 1}));
    return gcut_relu(net_conv_bias(n, "conv1", x, out, (conv){.kernel = 3, .pad = 1}));
}

void unet_build(net *n, int size)
{
    static const struct {
        int64_t image, channels, levels, classes;
    } dims[] = {{64, 16, 3, 2}, {256, 64, 4, 2}, {8, 3, 1, 2}};
    int64_t image = dims[size].image, c = dims[size].channels, levels = dims[size].levels;
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, 1, image, image)), bridge[LEVELS];
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch, image, image), dims[size].classes);
    for (int64_t l = 0; l < levels; l++) {
        net_scope(n, "down%lld", (long long)l);
        bridge[l] = twice(n, x, c << l);
        x = net_apply("max_pool2d", bridge[l], "window=[2, 2]");
    }
    net_scope(n, "bottom");
    x = twice(n, x, c << levels);
    for (int64_t l = levels; l-- > 0;) {
        net_scope(n, "up%lld", (long long)l);
        gcut_val both[] = {bridge[l], net_conv_transpose(n, "up", x, c << l, 2)};
        x = twice(n, gcut_concat(both, 2, 1), c << l);
    }
    net_scope(n, "head");
    x = net_conv_bias(n, "conv", x, dims[size].classes, (conv){.kernel = 1});
    net_loss(n, gcut_transpose(x, 0, 2, 3, 1), t);
}
