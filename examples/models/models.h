/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The models of this folder: one file each, one row each in models.c.
 */
#ifndef EXAMPLES_MODELS_MODELS_H
#define EXAMPLES_MODELS_MODELS_H

#include "data.h"
#include "net.h"

#define MAX_SIZES 8

typedef struct model {
    const char *name, *paper;
    const char *sizes[MAX_SIZES];    /* the first is the default; "tiny" is for tests */
    void (*build)(net *n, int size); /* index of a size; ends with an output "loss" */
    void (*fill)(data *d, gcut_step *step);
    int64_t batch, length; /* by default; length 0: the model has no symbol T */
    const char *optimizer;
    double rate;
} model;

extern const model models[];
extern const size_t nmodels;
const model *model_find(const char *name);        /* NULL: none */
int model_size(const model *m, const char *size); /* -1: none */

/* Builds into a new graph of ctx, parameters and activations of that dtype; NULL on any error
 * (gcut_last_error). */
gcut_graph *model_graph(const model *m, int size, gcut_dtype dtype, gcut_ctx *ctx, int64_t *parameters);

#define MODEL(name) void name##_build(net *n, int size);
MODEL(mlp)
MODEL(autoencoder)
MODEL(vae)
MODEL(lenet)
MODEL(resnet)
MODEL(mobilenet)
MODEL(unet)
MODEL(vit)
MODEL(gpt2)
MODEL(bert)
MODEL(llama)
MODEL(rnn)
MODEL(lstm)
#undef MODEL

#endif
