/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A vision transformer.
 *
 * Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image
 * Recognition at Scale", ICLR 2021.  S/16 is DeiT's (Touvron et al., ICML 2021).
 */
#include "models.h"

typedef struct shape {
    int64_t image, patch, channels, layers, heads, classes;
} shape;

/* x[N, 3, H, W] -> [N, H/p * W/p, 3 p p]: one row per patch, in the order of a convolution's weights. */
static gcut_val patches(gcut_val x, int64_t p)
{
    gcut_shape s = gcut_shape_of(x);
    int64_t c = s.dim[1], h = s.dim[2] / p, w = s.dim[3] / p;
    x = gcut_transpose(gcut_reshape(x, s.dim[0], c, h, p, w, p), 0, 2, 4, 1, 3, 5);
    return gcut_reshape(x, s.dim[0], h * w, c * p * p);
}

static gcut_val block(net *n, gcut_val x, const shape *s)
{
    x = gcut_add(x, net_self_attention(n, net_layer_norm(n, "ln1", x), s->heads, false, 0, 0));
    gcut_val h = gcut_gelu(net_linear(n, "fc1", net_layer_norm(n, "ln2", x), 4 * s->channels, 0));
    return gcut_add(x, net_linear(n, "fc2", h, s->channels, 0));
}

void vit_build(net *n, int size)
{
    static const shape shapes[] = {
        {32, 4, 128, 6, 4, 10}, /* for CIFAR's images */
        {224, 16, 384, 12, 6, 1000} /* S/16 */,
        {8, 4, 8, 1, 2, 4},
    };
    const shape *s = &shapes[size];
    int64_t c = s->channels, rows = s->image / s->patch * (s->image / s->patch);
    gcut_val x = net_x(n, GCUT_SHAPE(n->batch, 3, s->image, s->image));
    gcut_val t = net_ids(n, "t", GCUT_SHAPE(n->batch), s->classes);
    net_scope(n, "embedding");
    x = net_linear(n, "patch", patches(x, s->patch), c, 0);
    gcut_val first = net_splat(n, "", "class", GCUT_SHAPE(1, 1, c), 0);
    gcut_val token[] = {net_apply("broadcast", first, "shape=[N, 1, %lld], axes=[0, 1, 2]", (long long)c), x};
    x = gcut_add(gcut_concat(token, 2, 1), net_normal(n, "", "position", GCUT_SHAPE(1 + rows, c), 0.02));
    for (int64_t l = 0; l < s->layers; l++) {
        net_scope(n, "block%lld", (long long)l);
        x = block(n, x, s);
    }
    net_scope(n, "head");
    x = gcut_reshape(gcut_slice(net_layer_norm(n, "ln", x), 1, 0, 1), n->batch, c);
    net_loss(n, net_linear(n, "fc", x, s->classes, 0), t);
}
