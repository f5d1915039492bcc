/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Around training: models of ONNX, evaluation with the parameters of a training step, and parameters, states and keys in
 * files.
 */
#ifndef GRADCUT_TRAIN_H
#define GRADCUT_TRAIN_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models of ONNX ---- */

typedef struct gcut_import_options {
    const char *name; /* of the function; NULL: the name of the file */
    /* The only result, called loss: an expression over values of the model; new inputs have types:
     * "cross_entropy(logits, t: i64[N])".  NULL: the model's outputs are results. */
    const char *loss;
    /* Patterns of initializers that are params.  None: those of which PyTorch's exporter says so and, where it says
     * nothing, all floats with an axis; running statistics are states. */
    const char *const *train;
    size_t ntrain;
    const gcut_feed *constant; /* contents of inputs that sizes are made of, such as the shape of a Reshape */
    size_t nconstant;
} gcut_import_options;

/* What an import did. */
typedef struct gcut_import_info {
    size_t model_nodes; /* of the model, its subgraphs and functions included */
    size_t nodes;       /* of the graph */
    size_t params, states, inputs;
    int64_t elements; /* of the params */
    /* Nodes in the mode for inference: they do not update statistics, and drop nothing. */
    size_t batch_norms, dropouts;
    size_t constants; /* inputs of the options that are part of the graph now */
} gcut_import_info;

/* The function of an ONNX model (opsets 6 and later).  What follows from constants and sizes alone is computed meanwhile.
 * Initial contents are read from the model's file, and from those beside it.  *info, where info is not NULL, is the
 * caller's (gcut_free), as the graph is (gcut_graph_free); NULL on error: GCUT_EUNSUPPORTED with a list of all ops that are
 * missing. */
GCUT_API gcut_graph *gcut_import_onnx_sized(size_t size, gcut_ctx *ctx, const char *path,
                                            const gcut_import_options *opt, gcut_import_info **info);
#define gcut_import_onnx(...) gcut_import_onnx_sized(sizeof(gcut_import_options), __VA_ARGS__)
/* Writes the text of a function, the functions that it calls and their data.  Contents from files, and lists of more than
 * 64 numbers, are written to one file of tensors, `weights`, from which the text has them; NULL: they stay where they
 * are.  The text names a file in its own folder without the folder.  Both are written as a whole or not at all. */
GCUT_API gcut_status gcut_save(gcut_graph *g, const char *path, const char *weights);
/* What of a model can be imported, before anything else is looked at: a table of its ops, or JSON.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API char *gcut_onnx_ops(gcut_ctx *ctx, const char *path, bool json);

typedef struct gcut_export_options {
    /* A file as of gcut_load_weights, or a model of ONNX; NULL: the contents that the graph declares. */
    const char *weights;
    const char *rename; /* FILE'S=FUNCTION'S names, as of gcut_load_options */
    bool convert;       /* floats of another dtype too, rounded to nearest even */
    bool partial;       /* parameters that the file lacks have the contents that the graph declares */
    /* The model of ONNX that the graph was imported from: instead of a model of the function, a copy of this one is written,
     * in which initializers that are params or states of the function have their contents.  All else stays as it is. */
    const char *into;
} gcut_export_options;

/* What an export did. */
typedef struct gcut_export_info {
    size_t nodes; /* of the model, its subgraphs included */
    size_t inputs, outputs;
    size_t initializers; /* params and states; of options.into, those whose contents were written */
    int64_t elements;    /* of the params */
    size_t draws;        /* inputs of the model that the function draws at random */
    int64_t opset;
    int64_t bytes; /* of all files */
    /* Elements are in the file `path`.data: a model has at most 2 GiB.  With options.into: where that model has some. */
    bool outside;
} gcut_export_info;

/* Writes the function as it is evaluated (gcut_eval) as an ONNX model, of opset 17, or of 18 where integers are combined
 * bit by bit.  Values, parameters and results keep their names.  What the function draws at random, and symbolic sizes,
 * become inputs of the model.  Each file is written as a whole or not at all.  *info, where info is not NULL, is the
 * caller's (gcut_free); NULL on error.  opt may be NULL.  GCUT_EUNSUPPORTED for an op that ONNX lacks; GCUT_ETYPE where
 * weights do not fit, or a parameter has no contents.
 *
 * With opt->into, names are mapped as an import maps them.  Elements that the model has in files beside it go to the file
 * `path`.data, with those that it does not train; its own files are not written to, unless `path` is the model itself, which
 * is replaced as a whole.  States that nothing updates may be constants of the import, and need no initializer.
 * GCUT_ESYNTAX where the file is no model; GCUT_ETYPE, with a list, for params, and states that the function updates, which
 * it lacks, and for initializers of another shape or, unless opt->convert, dtype; GCUT_EIO where a file of the model's data
 * would be overwritten. */
GCUT_API gcut_status gcut_export_onnx_sized(size_t size, gcut_graph *g, const char *path,
                                            const gcut_export_options *opt, gcut_export_info **info);
#define gcut_export_onnx(...) gcut_export_onnx_sized(sizeof(gcut_export_options), __VA_ARGS__)
/* The same of the function of a step, with the parameters and states that the step has now.  Prepares the step. */
GCUT_API gcut_status gcut_export_step(gcut_step *step, const char *path);

/* ---- StableHLO ---- */

/* The stage primal, joint or split as a StableHLO module, an MLIR text that XLA compiles, at the sizes of opt->at.  The
 * function is @main; of the stage split there are two, @fwd and @bwd, whose saved values are results of the first and
 * arguments of the second.  Arguments and results are in the order of gcut_show; attributes say their roles, and those of
 * results their names.  The caller's (gcut_free); NULL on error, with GCUT_EUNSUPPORTED for functions of the program's own
 * (gcut_external) and calls with a derivative of their own. */
GCUT_API char *gcut_stablehlo_sized(size_t size, gcut_graph *g, const gcut_options *opt,
                                    gcut_stage_name stage);
#define gcut_stablehlo(...) gcut_stablehlo_sized(sizeof(gcut_options), __VA_ARGS__)

/* ---- evaluation ---- */

/* The same function as it is evaluated, a graph of its own under the same name: dropout passes its operand on,
 * batch_norm normalises by its running statistics, and nothing is updated: without `next` values and gradients, and
 * without keys that only dropout reads.  Calls are inlined.  The caller's (gcut_graph_free); NULL on error, with
 * GCUT_ETYPE where no result is left.  options.eval compiles a graph so. */
GCUT_API gcut_graph *gcut_eval(gcut_graph *g);
/* From now on `step` reads the parameters and states of `training`, by name, where they are, also when they move there.
 * GCUT_ETYPE, with a list, where `training` has no value of that name and type.  GCUT_EUSAGE for steps of two contexts.
 * `training` must not be freed before `step`. */
GCUT_API gcut_status gcut_share(gcut_step *training, gcut_step *step);

/* ---- weights ---- */

/* rename has FILE'S=STEP'S names, separated by commas; one * on both sides stands for the same characters, and the first
 * rule that fits a name counts: "model.*=*,lm_head=head.w". */
typedef struct gcut_load_options {
    const char *rename; /* NULL: names are the same */
    bool convert;       /* floats of another dtype too, rounded to nearest even */
    bool partial; /* parameters that the file lacks keep their values, and what the step lacks is left out */
} gcut_load_options;

/* Sets parameters, states and keys from a file: .safetensors, .npz, or .npy, whose array is called as the file.  Every
 * parameter must be there, and nothing that is none of these values, unless opt->partial; states and keys that the file
 * lacks keep their values.  Sets all or, where something does not fit, none, with an error that lists all of it
 * (GCUT_ETYPE).  opt may be NULL. */
GCUT_API gcut_status gcut_load_weights_sized(size_t size, gcut_step *step, const char *path,
                                             const gcut_load_options *opt);
#define gcut_load_weights(...) gcut_load_weights_sized(sizeof(gcut_load_options), __VA_ARGS__)
/* The same of a file in memory, which is copied. */
GCUT_API gcut_status gcut_load_weights_from_sized(size_t size, gcut_step *step, const void *bytes, size_t n,
                                                  const gcut_load_options *opt);
#define gcut_load_weights_from(...) gcut_load_weights_from_sized(sizeof(gcut_load_options), __VA_ARGS__)
/* Writes parameters, states and keys as one file, as a whole or not at all: .npz, as numpy.savez does, where the path ends
 * so, else .safetensors.  GCUT_ETYPE for bf16 in .npz, since NumPy lacks it.  Prepares the step. */
GCUT_API gcut_status gcut_save_weights(gcut_step *step, const char *path);
/* The bytes of a .safetensors file of them, `*n`: the caller's (gcut_free); NULL on error. */
GCUT_API void *gcut_save_weights_to(gcut_step *step, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
