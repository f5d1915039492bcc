/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of models.
 */
#include "models.h"

#include <string.h>

/* clang-format off */
const model models[] = {
    {"mlp", "Rumelhart et al. 1986", {"784-512-512-10", "784-500-10", "16-32-4", "tiny"}, mlp_build, data_images, 64, 0, "adamw", 1e-3},
    {"autoencoder", "Hinton & Salakhutdinov 2006", {"784", "tiny"}, autoencoder_build, data_pictures, 64, 0, "adamw", 2e-3},
    {"vae", "Kingma & Welling 2014", {"784-400-20", "tiny"}, vae_build, data_pictures, 64, 0, "adamw", 1e-3},
    {"lenet", "LeCun et al. 1998", {"28", "tiny"}, lenet_build, data_images, 64, 0, "adamw", 1e-3},
    {"resnet", "He et al. 2016", {"18-cifar", "18", "34", "tiny"}, resnet_build, data_images, 16, 0, "momentum", 1e-2},
    {"mobilenet", "Sandler et al. 2018", {"cifar", "224", "tiny"}, mobilenet_build, data_images, 16, 0, "adamw", 1e-3},
    {"unet", "Ronneberger et al. 2015", {"64", "256", "tiny"}, unet_build, data_masks, 4, 0, "adamw", 1e-3},
    {"vit", "Dosovitskiy et al. 2021", {"cifar", "S/16", "tiny"}, vit_build, data_images, 16, 0, "adamw", 1e-3},
    {"gpt2", "Radford et al. 2019", {"bytes", "124M", "355M", "774M", "1558M", "6x384", "tiny"}, gpt2_build, data_tokens, 8, 64, "adamw", 1e-3},
    {"bert", "Devlin et al. 2019", {"small", "base", "large", "tiny"}, bert_build, data_cloze, 8, 64, "adamw", 1e-3},
    {"llama", "Touvron et al. 2023", {"bytes", "15M", "1B", "8B", "tiny"}, llama_build, data_tokens, 8, 64, "adamw", 1e-3},
    {"rnn", "Elman 1990", {"bytes", "medium", "characters", "tiny"}, rnn_build, data_tokens, 8, 64, "adamw", 2e-3},
    {"lstm", "Hochreiter & Schmidhuber 1997", {"bytes", "medium", "characters", "tiny"}, lstm_build, data_tokens, 8, 64, "adamw", 2e-3},
};
/* clang-format on */
const size_t nmodels = sizeof models / sizeof *models;

const model *model_find(const char *name)
{
    for (size_t i = 0; i < nmodels; i++)
        if (!strcmp(models[i].name, name)) return &models[i];
    return NULL;
}

int model_size(const model *m, const char *size)
{
    for (int i = 0; i < MAX_SIZES && m->sizes[i]; i++)
        if (!strcmp(m->sizes[i], size)) return i;
    return -1;
}

gcut_graph *model_graph(const model *m, int size, gcut_dtype dtype, gcut_ctx *ctx, int64_t *parameters)
{
    net n = net_new(ctx, m->name, dtype);
    if (!n.g) return NULL;
    m->build(&n, size);
    *parameters = n.parameters;
    return gcut_graph_ok(n.g) ? n.g : NULL;
}
