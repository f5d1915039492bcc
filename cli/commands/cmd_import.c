/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut import`: an ONNX model as text, with its weights beside it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "gradcut/train.h"

/* "m.safetensors" of "m.gcut", from malloc; NULL after an error message. */
static char *weights_of(const char *text)
{
    const char *dot = strrchr(text, '.'), *slash = strrchr(text, '/');
    const size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - text) : strlen(text);
    char *base = gcut_cli_join(text, "", "");
    if (!base) return NULL;
    base[n] = '\0';
    char *path = gcut_cli_join(base, ".safetensors", "");
    free(base);
    return path;
}

static void print_info(const gcut_cli *c, const gcut_import_info *i, const char *weights)
{
    printf("%s: %zu nodes became %zu; %zu param%s of %" PRId64 " elements, %zu state%s, %zu input%s\n",
           c->file, i->model_nodes, i->nodes, i->params, i->params == 1 ? "" : "s", i->elements, i->states,
           i->states == 1 ? "" : "s", i->inputs, i->inputs == 1 ? "" : "s");
    const char *before = "note: the model was exported for inference: ";
    if (i->batch_norms) {
        const char *s = i->batch_norms == 1 ? "s" : "";
        printf("%s%zu BatchNormalization use%s running statistics and never update%s them", before,
               i->batch_norms, s, s);
        before = ", ";
    }
    if (i->dropouts) printf("%s%zu Dropout drop%s nothing", before, i->dropouts, i->dropouts == 1 ? "s" : "");
    if (i->batch_norms || i->dropouts) puts("");
    if (weights) printf("%s, %s\n", c->output, weights);
}

static void print_json(const gcut_cli *c, const gcut_import_info *i, const char *weights)
{
    gcut_cli_json("{\"model_nodes\": $i, \"nodes\": $i, \"params\": $i, \"elements\": $i, \"states\": $i, "
                  "\"inputs\": $i, ",
                  (int64_t)i->model_nodes, (int64_t)i->nodes, (int64_t)i->params, i->elements,
                  (int64_t)i->states, (int64_t)i->inputs);
    gcut_cli_json("\"inference\": {\"batch_norms\": $i, \"dropouts\": $i}, \"files\": [",
                  (int64_t)i->batch_norms, (int64_t)i->dropouts);
    if (weights) gcut_cli_json("$s, $s", c->output, weights);
    puts("]}");
}

int gcut_cmd_import(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_import_options how = {.loss = c->opt.loss,
                                     .train = c->train,
                                     .ntrain = c->ntrain,
                                     .constant = c->feed,
                                     .nconstant = c->nfeed};
    gcut_import_info *info;
    g = gcut_import_onnx(ctx, c->file, &how, &info);
    if (!g) return gcut_cli_failed(ctx);
    char *weights = c->output ? weights_of(c->output) : NULL;
    if (c->output && (!weights || !gcut_cli_make_folder_of(c->output))) {
        free(weights);
        gcut_free(info);
        return EXIT_INPUT;
    }
    const bool saved = !c->output || gcut_save(g, c->output, weights) == GCUT_OK;
    if (saved) (c->json ? print_json : print_info)(c, info, weights);
    free(weights);
    gcut_free(info);
    return saved ? EXIT_FINE : gcut_cli_failed(ctx);
}
