/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrent language models: layers that are scans over the positions of
 * sequences of any length.
 *
 * rnn   Elman, "Finding Structure in Time", Cognitive Science 14, 1990
 * lstm  Hochreiter & Schmidhuber, "Long Short-Term Memory", Neural Computation
 *       9, 1997; with forget gates (Gers, Schmidhuber & Cummins, 2000), as a
 *       language model: Zaremba, Sutskever & Vinyals, "Recurrent Neural Network
 *       Regularization", 2014
 */
#include <math.h>

#include "models.h"

/* The k-th of the four gates in a row of 4 h numbers. */
static gcut_val gate(gcut_val all, int k, int64_t h)
{
    return gcut_slice(all, -1, k * h, (k + 1) * h);
}

/* u[h, k h] takes the output before a step to what it adds to the k gates. */
typedef struct cell {
    gcut_val u;
    int64_t h;
} cell;

typedef struct kind {
    int gates, carries; /* carried from step to step; the first is the output */
    gcut_body *step;
} kind;

/* in: the output before [N, h], what x adds [N, h]; out: the output, and again, which is stacked. */
static void elman_step(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body;
    const cell *s = user;
    gcut_val from_before = gcut_matmul(in[0], s->u);
    out[0] = out[1] = gcut_tanh(gcut_add(in[1], from_before));
}

/* in: the output before [N, h], the cell before [N, h], what x adds to the gates [N, 4h]; out: output and
 * cell, and the output again, which is stacked. */
static void lstm_step(void *user, gcut_graph *body, const gcut_val *in, gcut_val *out)
{
    (void)body;
    const cell *s = user;
    gcut_val all = gcut_add(in[2], gcut_matmul(in[0], s->u));
    gcut_val input = gcut_sigmoid(gate(all, 0, s->h)), forget = gcut_sigmoid(gate(all, 1, s->h));
    gcut_val candidate = gcut_tanh(gate(all, 2, s->h)), output = gcut_sigmoid(gate(all, 3, s->h));
    gcut_val kept = gcut_mul(forget, in[1]);
    out[1] = gcut_add(kept, gcut_mul(input, candidate));
    out[0] = out[2] = gcut_mul(output, gcut_tanh(out[1]));
}

/* x[N, T, in] -> [N, T, h].  What depends on x alone is one product for all positions. */
static gcut_val layer(net *n, const kind *k, gcut_val x, int64_t h)
{
    int64_t wide = k->gates * h;
    gcut_val from_x = net_linear(n, "x", x, wide, 0);
    cell c = {net_normal(n, "h", "w", GCUT_SHAPE(h, wide), sqrt(1.0 / (double)h)), h};
    gcut_val zero = net_zeros(n, "N, %lld", (long long)h), out[3];
    gcut_loop loop = {.carry = (gcut_val[]){zero, zero},
                      .ncarry = k->carries,
                      .body = k->step,
                      .user = &c,
                      .xs = &from_x,
                      .nxs = 1,
                      .nys = 1,
                      .axis = 1};
    gcut_scan(n->g, &loop, out);
    return out[k->carries];
}

typedef struct shape {
    int layers;
    int64_t embedding, channels, vocabulary;
} shape;

static void language_model(net *n, const kind *k, const shape *s)
{
    int64_t vocabulary = s->vocabulary;
    gcut_dim length = gcut_dim_sym(n->g, "T", 1, GCUT_DIM_MAX);
    gcut_val ids = net_ids(n, "ids", GCUT_SHAPE(n->batch, length), vocabulary);
    gcut_val labels = net_ids(n, "labels", GCUT_SHAPE(n->batch, length), vocabulary);
    net_scope(n, "embedding");
    gcut_val x = net_embedding(n, "token", ids, vocabulary, s->embedding, 1);
    for (int l = 0; l < s->layers; l++) {
        net_scope(n, "layer%d", l);
        x = layer(n, k, x, s->channels);
    }
    net_scope(n, "head");
    net_loss(n, net_linear(n, "fc", x, vocabulary, 0), labels);
}

static const shape shapes[] = {
    {2, 128, 128, 256},
    {2, 650, 650, 10000},
    {1, 128, 256, 65}, /* for the characters of a play */
    {1, 6, 6, 48},
};

void rnn_build(net *n, int size)
{
    language_model(n, &(kind){1, 1, elman_step}, &shapes[size]);
}

void lstm_build(net *n, int size)
{
    language_model(n, &(kind){4, 2, lstm_step}, &shapes[size]);
}
