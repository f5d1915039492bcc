/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A deep autoencoder: pictures through a narrow code and back.
 *
 * Hinton & Salakhutdinov, "Reducing the Dimensionality of Data with Neural
 * Networks", Science 313, 2006; rectifiers in place of the pre-training.
 */
#include "models.h"

void autoencoder_build(net *n, int size)
{
    static const struct {
        int64_t pixels, widths[4]; /* down to the code */
    } dims[] = {{784, {512, 256, 64, 16}}, {25, {12, 8, 6, 4}}};
    int64_t pixels = dims[size].pixels;
    const int64_t *w = dims[size].widths;
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, pixels)), h = x;
    net_scope(n, "encoder");
    h = gcut_relu(net_linear(n, "fc0", h, w[0], 0));
    h = gcut_relu(net_linear(n, "fc1", h, w[1], 0));
    h = gcut_relu(net_linear(n, "fc2", h, w[2], 0));
    h = net_linear(n, "code", h, w[3], 0);
    net_scope(n, "decoder");
    h = gcut_relu(net_linear(n, "fc2", h, w[2], 0));
    h = gcut_relu(net_linear(n, "fc1", h, w[1], 0));
    h = gcut_relu(net_linear(n, "fc0", h, w[0], 0));
    h = gcut_sigmoid(net_wide(n, net_linear(n, "pixels", h, pixels, 0)));
    net_scope(n, "%s", "");
    gcut_output(n->g, "loss", gcut_mse(h, net_wide(n, x)));
}
