/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-2, all published sizes: layer norms first, learned positions, a head
 * that is the embedding.  Sequences of any length up to the context.
 *
 * Radford, Wu, Child, Luan, Amodei & Sutskever, "Language Models are
 * Unsupervised Multitask Learners", 2019.
 */
#include <math.h>

#include "models.h"

#define DEVIATION 0.02

typedef struct shape {
    int64_t layers, heads, channels, vocabulary, context;
} shape;

/* What adds to the residual stream starts smaller, so that its variance does not grow with the depth. */
static gcut_val block(net *n, gcut_val x, const shape *s)
{
    double last = DEVIATION / sqrt(2 * (double)s->layers);
    x = gcut_add(x, net_self_attention(n, net_layer_norm(n, "ln1", x), s->heads, true, DEVIATION, last));
    gcut_val h = net_linear(n, "mlp.fc", net_layer_norm(n, "ln2", x), 4 * s->channels, DEVIATION);
    h = net_apply("gelu", h, "approx=\"tanh\"");
    return gcut_add(x, net_linear(n, "mlp.out", h, s->channels, last));
}

void gpt2_build(net *n, int size)
{
    static const shape shapes[] = {
        {4, 4, 128, 256, 256},                                    /* for bytes */
        {12, 12, 768, 50257, 1024},  {24, 16, 1024, 50257, 1024}, /* 124M, 355M */
        {36, 20, 1280, 50257, 1024}, {48, 25, 1600, 50257, 1024}, /* 774M, 1558M */
        {6, 6, 384, 65, 256},                                     /* for the characters of a play */
        {1, 2, 8, 48, 16},
    };
    const shape *s = &shapes[size];
    gcut_dim length = gcut_dim_sym(n->g, "T", 1, s->context);
    gcut_val ids = net_ids(n, "ids", GCUT_SHAPE(n->batch, length), s->vocabulary);
    gcut_val labels = net_ids(n, "labels", GCUT_SHAPE(n->batch, length), s->vocabulary);
    net_scope(n, "embedding");
    gcut_val table = net_normal(n, "", "token", GCUT_SHAPE(s->vocabulary, s->channels), DEVIATION);
    gcut_val position = net_normal(n, "", "position", GCUT_SHAPE(s->context, s->channels), DEVIATION / 2);
    gcut_val x = gcut_take(table, ids, 0);
    x = gcut_add(x, gcut_slice(position, 0, 0, length));
    for (int64_t l = 0; l < s->layers; l++) {
        net_scope(n, "block%lld", (long long)l);
        x = block(n, x, s);
    }
    net_scope(n, "head");
    gcut_val logits = gcut_matmul_t(net_layer_norm(n, "ln", x), table, false, true);
    net_loss(n, logits, labels);
}
