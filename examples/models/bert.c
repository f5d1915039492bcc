/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BERT's encoder under the masked-language-model loss: labels of -100 are not
 * asked for.  Layer norms last, the head's table is the embedding, a tenth of
 * every sublayer's result is dropped.
 *
 * Devlin, Chang, Lee & Toutanova, "BERT: Pre-training of Deep Bidirectional
 * Transformers for Language Understanding", NAACL 2019.
 */
#include "models.h"

typedef struct shape {
    int64_t layers, heads, channels, vocabulary, context;
    double deviation; /* of initial weights */
} shape;

#define DROPPED 0.1 /* part of the activations that a step leaves out */

/* The model under construction; every dropout has a key of its own. */
typedef struct bert {
    net *n;
    const shape *s;
    gcut_dim length;
    gcut_val keys;
    int dropped;
} bert;

static gcut_val drop(bert *b, gcut_val x)
{
    return gcut_dropout(x, gcut_key_of(b->keys, b->dropped++), DROPPED);
}

static gcut_val embed(bert *b, gcut_val table, gcut_val ids, gcut_val segments)
{
    int64_t c = b->s->channels;
    gcut_val x = gcut_take(table, ids, 0);
    x = gcut_add(x, net_embedding(b->n, "segment", segments, 2, c, b->s->deviation));
    gcut_val position = net_normal(b->n, "", "position", GCUT_SHAPE(b->s->context, c), b->s->deviation);
    return drop(b, net_layer_norm(b->n, "ln", gcut_add(x, gcut_slice(position, 0, 0, b->length))));
}

static gcut_val block(bert *b, gcut_val x)
{
    int64_t c = b->s->channels;
    gcut_val y = net_self_attention(b->n, x, b->s->heads, false, b->s->deviation, b->s->deviation);
    x = net_layer_norm(b->n, "ln1", gcut_add(x, drop(b, y)));
    y = gcut_gelu(net_linear(b->n, "fc1", x, 4 * c, b->s->deviation));
    y = drop(b, net_linear(b->n, "fc2", y, c, b->s->deviation));
    return net_layer_norm(b->n, "ln2", gcut_add(x, y));
}

void bert_build(net *n, int size)
{
    static const shape shapes[] = {
        {2, 2, 128, 30522, 512, 0.02},    /* "tiny" of Turc et al., 2019 */
        {12, 12, 768, 30522, 512, 0.02},  /* base */
        {24, 16, 1024, 30522, 512, 0.02}, /* large */
        {1, 2, 8, 48, 16, 0.2},
    };
    const shape *s = &shapes[size];
    bert b = {.n = n, .s = s, .length = gcut_dim_sym(n->g, "T", 1, s->context)};
    gcut_val ids = net_ids(n, "ids", GCUT_SHAPE(n->batch, b.length), s->vocabulary);
    gcut_val segments = net_ids(n, "segments", GCUT_SHAPE(n->batch, b.length), 2);
    gcut_val labels = net_ids(n, "labels", GCUT_SHAPE(n->batch, b.length), s->vocabulary);
    b.keys = gcut_key_split(gcut_rng(n->g, "key"), 1 + 2 * s->layers);
    net_scope(n, "embedding");
    gcut_val table = net_normal(n, "", "token", GCUT_SHAPE(s->vocabulary, s->channels), s->deviation);
    gcut_val x = embed(&b, table, ids, segments);
    for (int64_t l = 0; l < s->layers; l++) {
        net_scope(n, "block%lld", (long long)l);
        x = block(&b, x);
    }
    net_scope(n, "head");
    x = net_layer_norm(n, "ln", gcut_gelu(net_linear(n, "fc", x, s->channels, s->deviation)));
    gcut_val bias = net_splat(n, "", "b", GCUT_SHAPE(s->vocabulary), 0);
    net_loss(n, gcut_add(gcut_matmul_t(x, table, false, true), bias), labels);
}
