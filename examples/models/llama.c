/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama's decoder: RMS norms, rotary positions, gated SiLU, keys and values
 * shared by groups of heads.
 *
 * Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023.
 * Rotary positions: Su et al., "RoFormer", 2021, in the half-split form.
 * SwiGLU: Shazeer, "GLU Variants Improve Transformer", 2020.
 * Grouped queries: Ainslie et al., EMNLP 2023.
 */
#include <math.h>
#include <stdio.h>

#include "models.h"

#define DEVIATION 0.02

typedef struct shape {
    int64_t layers, heads, groups, channels, hidden, vocabulary, context;
    double theta; /* base of the rotary wavelengths */
    bool tied;    /* the head is the embedding */
} shape;

typedef struct rotary {
    gcut_val cosine, sine; /* [T, D/2] */
} rotary;

/* Angle of position t and pair k: t theta^(-2k/D). */
static rotary rotary_new(net *n, const shape *s)
{
    int64_t half = s->channels / s->heads / 2;
    char attrs[96];
    snprintf(attrs, sizeof attrs, "shape=[T, %lld], axis=0, dtype=\"f32\"", (long long)half);
    gcut_val t = gcut_apply(n->g, "iota", NULL, 0, attrs);
    snprintf(attrs, sizeof attrs, "shape=[%lld], axis=0, dtype=\"f32\"", (long long)half);
    gcut_val k = gcut_apply(n->g, "iota", NULL, 0, attrs);
    gcut_val angle = gcut_mul(t, gcut_exp(gcut_scale(k, -log(s->theta) / (double)half)));
    rotary r = {.cosine = gcut_cast(gcut_cos(angle), n->dtype)};
    r.sine = gcut_cast(gcut_sin(angle), n->dtype);
    return r;
}

/* Turns the pairs (x[k], x[k + D/2]) of x[N, heads, T, D] by their angles. */
static gcut_val rotate(gcut_val x, rotary r)
{
    int64_t d = gcut_shape_of(x).dim[3];
    gcut_val a = gcut_slice(x, 3, 0, d / 2), b = gcut_slice(x, 3, d / 2, d);
    gcut_val ac = gcut_mul(a, r.cosine), bs = gcut_mul(b, r.sine);
    gcut_val bc = gcut_mul(b, r.cosine), as = gcut_mul(a, r.sine);
    gcut_val turned[] = {gcut_sub(ac, bs), bc};
    turned[1] = gcut_add(bc, as);
    return gcut_concat(turned, 2, 3);
}

static gcut_val norm(net *n, const char *layer, gcut_val x, const shape *s)
{
    return gcut_rms_norm(x, net_splat(n, layer, "g", GCUT_SHAPE(s->channels), 1), 1e-5);
}

static gcut_val attention(net *n, gcut_val x, const shape *s, rotary r)
{
    int64_t shared = s->channels / s->heads * s->groups;
    gcut_val q = net_split_heads(net_linear_plain(n, "attn.q", x, s->channels, DEVIATION), s->heads);
    gcut_val k = net_split_heads(net_linear_plain(n, "attn.k", x, shared, DEVIATION), s->groups);
    gcut_val v = net_split_heads(net_linear_plain(n, "attn.v", x, shared, DEVIATION), s->groups);
    q = rotate(q, r);
    k = rotate(k, r);
    gcut_val y = net_join_heads(gcut_attention(q, k, v, (gcut_attention_options){.causal = true}));
    return net_linear_plain(n, "attn.out", y, s->channels, DEVIATION);
}

static gcut_val block(net *n, gcut_val x, const shape *s, rotary r)
{
    x = gcut_add(x, attention(n, norm(n, "ln1", x, s), s, r));
    gcut_val h = norm(n, "ln2", x, s);
    gcut_val gate = gcut_silu(net_linear_plain(n, "mlp.gate", h, s->hidden, DEVIATION));
    gcut_val up = net_linear_plain(n, "mlp.up", h, s->hidden, DEVIATION);
    return gcut_add(x, net_linear_plain(n, "mlp.down", gcut_mul(gate, up), s->channels, DEVIATION));
}

void llama_build(net *n, int size)
{
    static const shape shapes[] = {
        {4, 4, 2, 128, 344, 256, 256, 1e4, true},           /* for bytes */
        {6, 6, 6, 288, 768, 32000, 256, 1e4, true},         /* 15M: Karpathy's stories */
        {16, 32, 8, 2048, 8192, 128256, 8192, 5e5, true},   /* 1B: Llama 3.2 */
        {32, 32, 8, 4096, 14336, 128256, 8192, 5e5, false}, /* 8B: Llama 3 */
        {1, 4, 2, 16, 12, 48, 16, 1e4, true},
    };
    const shape *s = &shapes[size];
    gcut_dim length = gcut_dim_sym(n->g, "T", 1, s->context);
    gcut_val ids = net_ids(n, "ids", GCUT_SHAPE(n->batch, length), s->vocabulary);
    gcut_val labels = net_ids(n, "labels", GCUT_SHAPE(n->batch, length), s->vocabulary);
    net_scope(n, "embedding");
    gcut_val table = net_normal(n, "", "token", GCUT_SHAPE(s->vocabulary, s->channels), DEVIATION);
    gcut_val x = gcut_take(table, ids, 0);
    rotary r = rotary_new(n, s);
    for (int64_t l = 0; l < s->layers; l++) {
        net_scope(n, "block%lld", (long long)l);
        x = block(n, x, s, r);
    }
    net_scope(n, "head");
    x = norm(n, "ln", x, s);
    gcut_val logits =
        s->tied ? gcut_matmul_t(x, table, false, true) : net_linear_plain(n, "", x, s->vocabulary, DEVIATION);
    net_loss(n, logits, labels);
}
