/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Import of an ONNX model as a function of a module.  Inputs and initializers become parameters, nodes ops.  Whatever
 * follows from constants and sizes alone is computed meanwhile, so that the computation of shapes becomes no ops.
 */
#ifndef GCUT_IMPORT_ONNX_IMPORT_H
#define GCUT_IMPORT_ONNX_IMPORT_H

#include "graph/graph.h"
#include "import/onnx/model.h"

typedef struct gcut_onnx_constant_input {
    const char *name; /* of an input of the model */
    gcut_tensor value;
} gcut_onnx_constant_input;

typedef struct gcut_onnx_options {
    const char *const *train; /* as in gcut_import_options */
    size_t ntrain;
    const gcut_onnx_constant_input *constant; /* what inputs hold that sizes are made of */
    size_t nconstants;
} gcut_onnx_options;

typedef struct gcut_onnx_import {
    gcut_graph *g;
    size_t nodes;                 /* of the model, those of its subgraphs and functions included */
    size_t batch_norms, dropouts; /* that the model has in the mode for inference */
    bool *specialized;            /* by constant of the options: sizes were made of it */
} gcut_onnx_import;

/* What a model may make of each byte of its file, so that functions that call each other, or constants that are computed,
 * cannot take any amount of time and memory: nodes of the model, a function's with each call, and of the graph; elements of
 * constants that are loaded or computed.  Beyond that the import throws GCUT_EUNSUPPORTED. */
#define GCUT_ONNX_MOST_NODES(bytes) (8192 + (uint64_t)(bytes))
#define GCUT_ONNX_MOST_ELEMENTS(bytes) ((UINT64_C(1) << 20) + 16 * (uint64_t)(bytes))
/* The memory of an import, at most: what is unpacked, the graph and the constants. */
#define GCUT_ONNX_MOST_MEMORY(bytes)                                                                         \
    (GCUT_ONNX_GROWTH * (uint64_t)(bytes) + 2048 * GCUT_ONNX_MOST_NODES(bytes) +                             \
     16 * GCUT_ONNX_MOST_ELEMENTS(bytes))

/* The function @name in m, a new module, which gets the name of the file.  Contents of parameters refer to the model's
 * file, in which they have the names of its initializers.  Throws GCUT_EUNSUPPORTED with a list of all ops that are missing,
 * GCUT_ETYPE where the model contradicts itself or an op. */
gcut_onnx_import gcut_onnx_import_model(gcut_onnx_file *f, gcut_module *m, const char *name,
                                        const gcut_onnx_options *opt);

/* An input or initializer of a model, and the name of the parameter that it becomes, where it becomes one: letters, digits,
 * _ and . */
typedef struct gcut_onnx_parameter_name {
    const char *of, *own;
} gcut_onnx_parameter_name;
typedef struct gcut_onnx_parameter_names {
    gcut_onnx_parameter_name *at;
    uint32_t ninputs,
        n; /* inputs that are no initializers, and with them the initializers, in the model's order */
} gcut_onnx_parameter_names;
/* Own names are unique, and follow from the graph alone. */
gcut_onnx_parameter_names gcut_onnx_name_parameters(gcut_arena *a, const Onnx__GraphProto *p);
/* A name of the model as one of the text IR: a leading '/' is left out, and what the text IR lacks becomes '.' or '_'. */
const char *gcut_onnx_text_name(gcut_arena *a, const char *name);

/* An op that the model uses, and whether it can be imported. */
typedef struct gcut_onnx_use {
    const char *domain, *op; /* "" is ONNX's own domain */
    size_t nodes;
    bool supported;
    const char *first; /* the name of the first node */
} gcut_onnx_use;
typedef GCUT_VEC(gcut_onnx_use) gcut_onnx_uses;
/* Sorted by domain and name; in the arena of f. */
gcut_onnx_uses gcut_onnx_ops_of(gcut_onnx_file *f, const Onnx__ModelProto *m);

#endif
