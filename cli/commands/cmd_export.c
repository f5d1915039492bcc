/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut export`: a function as it is evaluated, as an ONNX model, or its weights in the model that it comes from.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "gradcut/train.h"

static void print_info(const gcut_cli *c, const gcut_export_info *i)
{
    printf("%s: %zu nodes of opset %" PRId64 "; %zu initializer%s, of which params have %" PRId64
           " elements; %zu input%s, %zu output%s; ",
           c->output, i->nodes, i->opset, i->initializers, i->initializers == 1 ? "" : "s", i->elements,
           i->inputs, i->inputs == 1 ? "" : "s", i->outputs, i->outputs == 1 ? "" : "s");
    gcut_cli_bytes(stdout, i->bytes);
    puts("");
    if (i->draws)
        printf("note: %zu input%s %s drawn at random in the function\n", i->draws, i->draws == 1 ? "" : "s",
               i->draws == 1 ? "is" : "are");
    if (i->outside) printf("the elements are in %s.data, which must stay beside the model\n", c->output);
}

static void print_json(const gcut_cli *c, const gcut_export_info *i)
{
    gcut_cli_json("{\"nodes\": $i, \"opset\": $i, \"inputs\": $i, \"outputs\": $i, \"initializers\": $i, ",
                  (int64_t)i->nodes, i->opset, (int64_t)i->inputs, (int64_t)i->outputs,
                  (int64_t)i->initializers);
    gcut_cli_json("\"elements\": $i, \"draws\": $i, \"bytes\": $i, \"files\": [$s", i->elements,
                  (int64_t)i->draws, i->bytes, c->output);
    char *data = i->outside ? gcut_cli_join(c->output, ".data", "") : NULL;
    if (data) gcut_cli_json(", $s", data);
    free(data);
    puts("]}");
}

int gcut_cmd_export(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g)
{
    const gcut_export_options how = {.weights = c->weights,
                                     .rename = c->rename,
                                     .convert = c->convert,
                                     .partial = c->partial,
                                     .into = c->into};
    gcut_export_info *info;
    if (!gcut_cli_make_folder_of(c->output)) return EXIT_INPUT;
    if (gcut_export_onnx(g, c->output, &how, &info) != GCUT_OK) return gcut_cli_failed(ctx);
    (c->json ? print_json : print_info)(c, info);
    gcut_free(info);
    return EXIT_FINE;
}
