/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BERT's encoder under the masked-language-model loss: labels of -100 are not
 * asked for.  Layer norms last, the head's table is the embedding.
 *
 * Devlin, Chang, Lee & Toutanova, "BERT: Pre-training of Deep Bidirectional
 * Transformers for Language Understanding", NAACL 2019.
 */
#include "models.h"

#define DEVIATION 0.02

typedef struct shape {
    int64_t layers, heads, channels, vocabulary, context;
} shape;

static gcut_val embed(net *n, const shape *s, gcut_val table, gcut_val ids, gcut_val segments,
                      gcut_dim length)
{
    gcut_val x = gcut_take(table, ids, 0);
    x = gcut_add(x, net_embedding(n, "segment", segments, 2, s->channels, DEVIATION));
    gcut_val position = net_normal(n, "", "position", GCUT_SHAPE(s->context, s->channels), DEVIATION);
    return net_layer_norm(n, "ln", gcut_add(x, gcut_slice(position, 0, 0, length)));
}

static gcut_val block(net *n, gcut_val x, const shape *s)
{
    gcut_val y = net_self_attention(n, x, s->heads, false, DEVIATION, DEVIATION);
    x = net_layer_norm(n, "ln1", gcut_add(x, y));
    y = gcut_gelu(net_linear(n, "fc1", x, 4 * s->channels, DEVIATION));
    return net_layer_norm(n, "ln2", gcut_add(x, net_linear(n, "fc2", y, s->channels, DEVIATION)));
}

void bert_build(net *n, int size)
{
    static const shape shapes[] = {
        {2, 2, 128, 30522, 512},    /* "tiny" of Turc et al., 2019 */
        {12, 12, 768, 30522, 512},  /* base */
        {24, 16, 1024, 30522, 512}, /* large */
        {1, 2, 8, 48, 16},
    };
    const shape *s = &shapes[size];
    gcut_dim length = gcut_dim_sym(n->g, "T", 1, s->context);
    gcut_val ids = net_ids(n, "ids", GCUT_SHAPE(n->batch, length), s->vocabulary);
    gcut_val segments = net_ids(n, "segments", GCUT_SHAPE(n->batch, length), 2);
    gcut_val labels = net_ids(n, "labels", GCUT_SHAPE(n->batch, length), s->vocabulary);
    net_scope(n, "embedding");
    gcut_val table = net_normal(n, "", "token", GCUT_SHAPE(s->vocabulary, s->channels), DEVIATION);
    gcut_val x = embed(n, s, table, ids, segments, length);
    for (int64_t l = 0; l < s->layers; l++) {
        net_scope(n, "block%lld", (long long)l);
        x = block(n, x, s);
    }
    net_scope(n, "head");
    x = net_layer_norm(n, "ln", gcut_gelu(net_linear(n, "fc", x, s->channels, DEVIATION)));
    gcut_val bias = net_splat(n, "", "b", GCUT_SHAPE(s->vocabulary), 0);
    gcut_val logits = gcut_add(gcut_matmul_t(x, table, false, true), bias);
    gcut_output(n->g, "loss", gcut_cross_entropy(logits, labels));
}
