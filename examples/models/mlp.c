/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A multi-layer perceptron.
 *
 * Rumelhart, Hinton & Williams, "Learning Representations by Back-propagating
 * Errors", Nature 323, 1986; with rectifiers (Nair & Hinton, ICML 2010).
 */
#include <math.h>

#include "models.h"

void mlp_build(net *n, int size)
{
    static const struct {
        int64_t features, hidden, layers, classes;
    } dims[] = {{784, 512, 2, 10}, {784, 500, 1, 10}, {16, 32, 1, 4}, {6, 8, 2, 4}};
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, dims[size].features));
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch), dims[size].classes);
    for (int64_t l = 0; l < dims[size].layers; l++) {
        double in = (double)(l ? dims[size].hidden : dims[size].features);
        net_scope(n, "layer%lld", (long long)l);
        x = gcut_relu(net_linear(n, "fc", x, dims[size].hidden, sqrt(2 / in))); /* keeps the variance */
    }
    net_scope(n, "%s", "");
    net_loss(n, net_linear(n, "head", x, dims[size].classes, 0), t);
}
