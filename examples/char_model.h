/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A GPT as gradcut graphs over one set of weights.
 */
#ifndef EXAMPLES_CHAR_MODEL_H
#define EXAMPLES_CHAR_MODEL_H

#include "gradcut/gradcut.h"
#include "random.h"

typedef struct weight {
    char name[40];
    int rank;
    int64_t dim[2];
    float *at;
} weight;

typedef struct model {
    int64_t layers, heads, channels, context, vocabulary;
    rng random; /* of the initial weights */
    weight *weights;
    size_t n, room;
} model;

/* ids, labels i32[B, context] -> out loss; B is a symbol.  The first graph of a model makes its weights. NULL
 * on error. */
gcut_graph *model_training_graph(model *m, gcut_ctx *ctx);
/* ids i32[1, context] -> out logits f32[context, vocabulary] */
gcut_graph *model_logits_graph(model *m, gcut_ctx *ctx);

/* Binds every weight of the model to the parameter of its name. */
gcut_status model_bind(const model *m, gcut_step *step);
int64_t model_parameters(const model *m);
void model_free(model *m);

#endif
