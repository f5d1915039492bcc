/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A GPT as gradcut graphs over one set of weights.
 *
 * Radford, Wu, Child, Luan, Amodei & Sutskever, "Language Models are
 * Unsupervised Multitask Learners", 2019: layer norms before attention and
 * before the MLP, learned positions.  The head has weights of its own.
 */
#include "char_model.h"

#include <string.h>

#include "die.h"

/* One graph under construction. */
typedef struct build {
    model *m;
    gcut_graph *g;
    gcut_dim batch;    /* B */
    gcut_dim rows;     /* B * context: activations are [rows, channels] */
    const char *scope; /* prefix of weight names: "b0.", … */
} build;

/* ---- weights ---- */

static int64_t count(const weight *w)
{
    return w->dim[0] * (w->rank == 2 ? w->dim[1] : 1);
}

/* A new weight: std 0 means that every element is `mean`. */
static weight *create(model *m, const char *name, gcut_shape shape, double mean, double std)
{
    if (m->n == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->weights = realloc(m->weights, m->room * sizeof *m->weights);
        if (!m->weights) die("out of memory");
    }
    weight *w = &m->weights[m->n++];
    *w = (weight){.rank = shape.rank, .dim = {shape.dim[0], shape.rank == 2 ? shape.dim[1] : 1}};
    snprintf(w->name, sizeof w->name, "%s", name);
    size_t bytes = (size_t)count(w) * sizeof *w->at;
    w->at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!w->at) die("out of memory");
    for (int64_t i = 0; i < count(w); i++)
        w->at[i] = (float)(mean + (std != 0 ? std * rng_normal(&m->random) : 0));
    return w;
}

/* The parameter of that name in this graph; its weight is made by the first graph that asks. */
static gcut_val param(build *b, const char *name, gcut_shape shape, double mean, double std)
{
    char full[sizeof((weight *)0)->name];
    snprintf(full, sizeof full, "%s%s", b->scope, name);
    bool known = false;
    for (size_t i = 0; i < b->m->n; i++) known = known || !strcmp(b->m->weights[i].name, full);
    if (!known) create(b->m, full, shape, mean, std);
    return gcut_param(b->g, full, GCUT_F32, shape);
}

/* ---- layers ---- */

#define STD 0.02 /* of initial weights, as in GPT-2 */

static gcut_val norm(build *b, gcut_val x, const char *gain, const char *bias)
{
    gcut_shape shape = GCUT_SHAPE(b->m->channels);
    gcut_val g = param(b, gain, shape, 1,
                       0); /* not as arguments: the order of parameters is to be the same everywhere */
    return gcut_layer_norm(x, g, param(b, bias, shape, 0, 0), 1e-5);
}

static gcut_val linear(build *b, gcut_val x, const char *w, const char *bias, int64_t in, int64_t out,
                       double std)
{
    gcut_val y = gcut_matmul(x, param(b, w, GCUT_SHAPE(in, out), 0, std));
    return gcut_add(y, param(b, bias, GCUT_SHAPE(out), 0, 0));
}

/* [rows, channels] -> [B, heads, context, channels / heads] */
static gcut_val split_heads(build *b, gcut_val x)
{
    const model *m = b->m;
    return gcut_transpose(gcut_reshape(x, b->batch, m->context, m->heads, m->channels / m->heads), 0, 2, 1,
                          3);
}

static gcut_val attention(build *b, gcut_val x, double residual)
{
    int64_t c = b->m->channels;
    gcut_val q = split_heads(b, linear(b, x, "wq", "bq", c, c, STD));
    gcut_val k = split_heads(b, linear(b, x, "wk", "bk", c, c, STD));
    gcut_val v = split_heads(b, linear(b, x, "wv", "bv", c, c, STD));
    gcut_val y =
        gcut_transpose(gcut_attention(q, k, v, (gcut_attention_options){.causal = true}), 0, 2, 1, 3);
    return linear(b, gcut_reshape(y, b->rows, c), "wo", "bo", c, c, residual);
}

static gcut_val mlp(build *b, gcut_val x, double residual)
{
    int64_t c = b->m->channels;
    gcut_val h = gcut_gelu(linear(b, x, "w1", "b1", c, 4 * c, STD));
    return linear(b, h, "w2", "b2", 4 * c, c, residual);
}

/* Projections that add to the residual stream start smaller, so that its variance does not grow with the
 * depth: there are two per layer. */
static gcut_val block(build *b, gcut_val x, int64_t layer)
{
    double residual = STD / sqrt(2 * (double)b->m->layers);
    char scope[48], prefix[24];
    snprintf(prefix, sizeof prefix, "b%lld.", (long long)layer);
    b->scope = prefix;
    snprintf(scope, sizeof scope, "block%lld/attention", (long long)layer);
    gcut_scope(b->g, scope);
    x = gcut_add(x, attention(b, norm(b, x, "ln1.g", "ln1.b"), residual));
    snprintf(scope, sizeof scope, "block%lld/mlp", (long long)layer);
    gcut_scope(b->g, scope);
    x = gcut_add(x, mlp(b, norm(b, x, "ln2.g", "ln2.b"), residual));
    b->scope = "";
    return x;
}

/* ids i32[B, context] -> logits f32[rows, vocabulary] */
static gcut_val logits(build *b, gcut_val ids)
{
    const model *m = b->m;
    gcut_scope(b->g, "embedding");
    gcut_val token = gcut_take(param(b, "wte", GCUT_SHAPE(m->vocabulary, m->channels), 0, STD), ids, 0);
    gcut_val x = gcut_add(token, param(b, "wpe", GCUT_SHAPE(m->context, m->channels), 0, STD));
    x = gcut_reshape(x, b->rows, m->channels);
    for (int64_t l = 0; l < m->layers; l++) x = block(b, x, l);
    gcut_scope(b->g, "head");
    x = norm(b, x, "lnf.g", "lnf.b");
    return gcut_matmul(x, param(b, "head", GCUT_SHAPE(m->channels, m->vocabulary), 0, STD));
}

/* ---- graphs ---- */

gcut_graph *model_training_graph(model *m, gcut_ctx *ctx)
{
    build b = {.m = m, .g = gcut_graph_new(ctx, "char_gpt"), .scope = ""};
    if (!b.g) return NULL;
    b.batch = gcut_dim_sym(b.g, "B", 1, GCUT_DIM_MAX);
    b.rows = gcut_dim_mul(b.g, b.batch, m->context);
    gcut_val ids = gcut_input(b.g, "ids", GCUT_I32, GCUT_SHAPE(b.batch, m->context));
    gcut_val labels = gcut_input(b.g, "labels", GCUT_I32, GCUT_SHAPE(b.batch, m->context));
    gcut_val y = logits(&b, ids);
    gcut_output(b.g, "loss", gcut_cross_entropy(y, gcut_reshape(labels, b.rows)));
    return gcut_graph_ok(b.g) ? b.g : NULL;
}

gcut_graph *model_logits_graph(model *m, gcut_ctx *ctx)
{
    build b = {
        .m = m, .g = gcut_graph_new(ctx, "char_gpt_logits"), .batch = 1, .rows = m->context, .scope = ""};
    if (!b.g) return NULL;
    gcut_val ids = gcut_input(b.g, "ids", GCUT_I32, GCUT_SHAPE(1, m->context));
    gcut_output(b.g, "logits", logits(&b, ids));
    return gcut_graph_ok(b.g) ? b.g : NULL;
}

gcut_status model_bind(const model *m, gcut_step *step)
{
    gcut_status s = GCUT_OK;
    for (size_t i = 0; i < m->n && s == GCUT_OK; i++)
        s = gcut_bind_n(step, m->weights[i].name, m->weights[i].at, m->weights[i].rank, m->weights[i].dim);
    return s;
}

int64_t model_parameters(const model *m)
{
    int64_t n = 0;
    for (size_t i = 0; i < m->n; i++) n += count(&m->weights[i]);
    return n;
}

void model_free(model *m)
{
    for (size_t i = 0; i < m->n; i++) free(m->weights[i].at);
    free(m->weights);
}
