/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A variational autoencoder: Gaussian code, Bernoulli pixels, the negative
 * evidence bound per picture.
 *
 * Kingma & Welling, "Auto-Encoding Variational Bayes", ICLR 2014.
 */
#include "models.h"

/* Minus the log likelihood of x in 0..1 under sigmoid(y), summed over all pixels: log(1 + e^y) - x y. */
static gcut_val reconstruction(gcut_val y, gcut_val x)
{
    gcut_val xy = gcut_mul(x, y);
    return gcut_sum(gcut_sub(gcut_softplus_at(GCUT_HERE, y), xy), 0, 1);
}

/* KL(N(m, e^v) || N(0, 1)) summed over all codes: (m^2 + e^v - 1 - v) / 2. */
static gcut_val divergence(gcut_val mean, gcut_val log_var)
{
    gcut_val d = gcut_sub(gcut_exp(log_var), log_var);
    d = gcut_sub(d, gcut_const(mean.graph, gcut_dtype_of(mean), 1));
    d = gcut_add(d, gcut_mul(mean, mean));
    return gcut_scale(gcut_sum(d, 0, 1), 0.5);
}

void vae_build(net *n, int size)
{
    static const struct {
        int64_t pixels, hidden, code;
    } dims[] = {{784, 400, 20}, {25, 10, 3}};
    int64_t pixels = dims[size].pixels, code = dims[size].code;
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, pixels));
    gcut_val key = gcut_rng(n->g, "key");
    net_scope(n, "encoder");
    gcut_val h = gcut_relu(net_linear(n, "fc", x, dims[size].hidden, 0));
    gcut_val mean = net_linear(n, "mean", h, code, 0), log_var = net_linear(n, "log_var", h, code, 0);
    /* z = mean + std noise: the noise is a function of the key, so the gradient passes by it. */
    gcut_val noise = gcut_cast(gcut_normal(key, GCUT_F32, GCUT_SHAPE(n->batch, code), 0, 1), n->dtype);
    gcut_val z = gcut_add(mean, gcut_mul(noise, gcut_exp(gcut_scale(log_var, 0.5))));
    net_scope(n, "decoder");
    h = gcut_relu(net_linear(n, "fc", z, dims[size].hidden, 0));
    gcut_val y = net_linear(n, "pixels", h, pixels, 0);
    net_scope(n, "%s", "");
    y = net_wide(n, y);
    mean = net_wide(n, mean);
    log_var = net_wide(n, log_var);
    gcut_val bound = reconstruction(y, net_wide(n, x));
    bound = gcut_add(bound, divergence(mean, log_var));
    gcut_output(n->g, "loss", gcut_div(bound, net_batch_size(n)));
}
