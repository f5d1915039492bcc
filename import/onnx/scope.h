/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The state of an import: what values.c and walk.c share, and rules that ask where a value comes from.
 */
#ifndef GCUT_IMPORT_ONNX_SCOPE_H
#define GCUT_IMPORT_ONNX_SCOPE_H

#include "graph/names.h"
#include "import/onnx/import.h"
#include "import/onnx/node.h"

/* A list of values of the model. */
typedef struct gcut_onnx_sequence {
    struct gcut_onnx_value **at;
    uint32_t n;
} gcut_onnx_sequence;

/* A value of the model: a constant, an initializer that nothing has read yet, a value of a graph, or a sequence of these. */
typedef struct gcut_onnx_value {
    const char *name;
    const gcut_array
        *known; /* its contents; NULL: it is no constant, or is an initializer that is not loaded */
    const gcut_array *numbers; /* the same of numbers that `known` would take for expressions */
    const gcut_tensor *tensor; /* an initializer */
    const gcut_onnx_sequence *sequence;
    bool is_input; /* of the model */
    gcut_graph *g; /* where it is `ref`; a constant may be made again in another graph */
    gcut_ref ref;  /* 0: not yet */
} gcut_onnx_value;

/* The names of a graph, a subgraph or the body of a function. */
struct gcut_onnx_scope {
    gcut_onnx_scope *outer; /* of a subgraph */
    gcut_graph *g;
    const gcut_onnx_node *call; /* the call of the function around; NULL: none */
    const Onnx__FunctionProto *function;
    gcut_ref *iteration; /* of the body of a loop: as in gcut_onnx_body; NULL: it is none */
    Onnx__OperatorSetIdProto *const *opsets;
    size_t nopsets;
    int depth;
    gcut_map by_name;
    GCUT_VEC(gcut_onnx_value *) value;
};

enum gcut_onnx_kind { GCUT_ONNX_UNSAID, GCUT_ONNX_PARAMETER, GCUT_ONNX_BUFFER };

#define GCUT_ONNX_MOST_LISTED 1000 /* attributes of a node, opsets, symbols, checks of sizes */
#define GCUT_ONNX_MOST_FOLDED 16   /* outputs of an op that is computed at import */

struct gcut_onnx {
    gcut_onnx_file *f;
    gcut_arena *arena; /* of f */
    const gcut_onnx_options *opt;
    const Onnx__ModelProto *m;
    gcut_module *mod;
    gcut_graph *g;
    const char *file; /* in locations */
    gcut_names names; /* of the model */
    gcut_map
        kinds; /* of initializers by name, enum gcut_onnx_kind: what PyTorch's exporter says that they were */
    gcut_onnx_parameter_names parameters;
    gcut_map parameter_of;  /* of a name of the model: its place there, + 1 */
    gcut_name_set reserved; /* names of these parameters and of those that the import adds */
    size_t line;            /* nodes so far */
    size_t nodes, batch_norms, dropouts;
    uint64_t work;                      /* of what was computed at import */
    uint64_t nodes_made, elements_made; /* of GCUT_ONNX_MOST_NODES and _ELEMENTS */
    gcut_map symbol_of,
        symbol_names; /* by its name in the model, the place of a symbol, + 1; names that are taken */
    GCUT_VEC(gcut_dim) symbol;
    gcut_map axes;      /* symbolic sizes that a node has asked for */
    gcut_map updated;   /* running statistics: their values in the graph */
    gcut_map functions; /* of the model by domain and name; the number of each, from 1 */
    bool *specialized;
    GCUT_VEC(gcut_array) folded; /* contents of the parameters of the op that is computed at import */
    gcut_onnx_value folded_out[GCUT_ONNX_MOST_FOLDED];
};

/* Throws GCUT_ETYPE where the scope has a value of that name. */
gcut_onnx_value *gcut_onnx_define(gcut_onnx *o, gcut_onnx_scope *s, const char *name);
/* An initializer; those of a subgraph are constants. */
void gcut_onnx_define_initializer(gcut_onnx *o, gcut_onnx_scope *s, const Onnx__TensorProto *p);
/* Makes the parameter of an initializer that is to be one, before the value gets a second name: both then name that
 * parameter. */
void gcut_onnx_need_parameter(gcut_onnx *o, gcut_onnx_value *v);
/* The same value under another name. */
void gcut_onnx_define_as(gcut_onnx *o, gcut_onnx_scope *s, const char *name, gcut_onnx_value *of);
/* NULL: there is none, in the scope itself or in those around it either. */
gcut_onnx_value *gcut_onnx_find_here(gcut_onnx *o, const gcut_onnx_scope *s, const char *name);
gcut_onnx_value *gcut_onnx_find(gcut_onnx *o, gcut_onnx_scope *s, const char *name);
gcut_onnx_value *gcut_onnx_input(const gcut_onnx_node *n,
                                 uint32_t i); /* of a node; throws where it is missing */
gcut_onnx_scope *gcut_onnx_scope_new(gcut_onnx *o, gcut_onnx_scope *outer, gcut_graph *g);

/* A list of which each item is near enough (node.h); `symbols`: it may have sizes. */
gcut_onnx_list gcut_onnx_list_of(const gcut_onnx_node *n, const int64_t *at, size_t count, bool symbols);

/* Reads the kinds of initializers. */
void gcut_onnx_read_kinds(gcut_onnx *o, const Onnx__GraphProto *p);
/* A name of the model as one of the text IR: letters, digits, _ and . */
const char *gcut_onnx_as_name(gcut_onnx *o, const char *name);
/* Before any parameter: those of inputs and initializers have the names of gcut_onnx_name_parameters. */
void gcut_onnx_reserve_names(gcut_onnx *o, const Onnx__GraphProto *p);
/* The parameter of an input or initializer of the model, by its name; a value that has the parameter's name gets another. */
gcut_ref gcut_onnx_reserved_param(gcut_onnx *o, gcut_role role, const char *name, const gcut_type *type);
/* specialization.c: those of a value that is computed from inputs whose contents the options give alone; NULL: it is not,
 * or has too many elements.  *missing: an input that has no contents, where that is why, else NULL. */
const gcut_array *gcut_onnx_specialized(gcut_onnx_node *n, const gcut_onnx_value *v, const char **missing);
/* A value in the graph of a node; an initializer becomes a state where `state` says so. */
gcut_ref gcut_onnx_value_in(gcut_onnx_node *n, gcut_onnx_value *v, bool state);

#endif
