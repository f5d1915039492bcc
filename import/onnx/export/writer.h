/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What rules see: the model under construction, and one node of the graph.
 *
 * Values of a graph become tensors of the model under their names.  A value whose elements repeat along axes, as those of
 * `broadcast` and `full`, is kept as a smaller tensor, which ONNX's elementwise ops broadcast; gcut_onnx_whole expands it
 * where another op reads it.  Sizes, constants and what they are computed from are tensors of the outermost graph, which
 * subgraphs see.
 */
#ifndef GCUT_IMPORT_ONNX_EXPORT_WRITER_H
#define GCUT_IMPORT_ONNX_EXPORT_WRITER_H

#include "graph/graph.h"
#include "graph/names.h"
#include "import/onnx/export/export.h"
#include "import/onnx/model.h"

/* A value as a tensor that broadcasts to it, as in NumPy. */
typedef struct gcut_onnx_view {
    const char *name; /* NULL: the value is not written */
    uint32_t rank;    /* of the tensor: the last axes of the value */
    uint32_t
        repeated; /* axes of the value along which the tensor has size 1, or no axis, and the value has not */
    const char *whole; /* the tensor of the value's own shape; NULL: not yet */
} gcut_onnx_view;

typedef struct gcut_onnx_nodes {
    Onnx__NodeProto **at;
    uint32_t n, cap;
} gcut_onnx_nodes;

/* A graph that is being written: the function, or a body. */
typedef struct gcut_onnx_frame {
    const gcut_graph *g;
    gcut_onnx_view *view;                     /* by value */
    const char **own;                         /* by value: the name of its whole tensor */
    gcut_onnx_nodes *nodes;                   /* where its nodes go */
    const struct gcut_onnx_norm *const *norm; /* by node: the norm that it ends; NULL: none */
    const bool *absorbed;                     /* by node: it is a part of a norm */
} gcut_onnx_frame;

typedef struct gcut_onnx_constant_tensor {
    gcut_dtype dtype;
    uint32_t rank;
    int64_t n;
    const void *data;
    const char *name;
} gcut_onnx_constant_tensor;

/* Sizes as one tensor. */
typedef struct gcut_onnx_size_list {
    uint32_t n;
    gcut_dim d[2 * GCUT_MAX_RANK];
    const char *name;
} gcut_onnx_size_list;

typedef struct gcut_onnx_writer {
    gcut_env *env;
    gcut_arena *a;
    const gcut_graph *g; /* the function */
    int64_t opset;
    gcut_onnx_frame *top, *here;
    gcut_name_set names, node_names;
    GCUT_VEC(Onnx__ValueInfoProto *) inputs;
    GCUT_VEC(Onnx__TensorProto *) initializers;
    GCUT_VEC(gcut_file_part) data; /* of the initializers */
    GCUT_VEC(gcut_onnx_constant_tensor) constants;
    GCUT_VEC(gcut_ref)
    sized;          /* values of the function whose tensors are there from the start: sizes come from them */
    gcut_map sizes; /* of a dim: its name, the place in `size`, + 1 */
    gcut_map scalars; /* the same of sizes as scalars */
    GCUT_VEC(const char *) size;
    GCUT_VEC(gcut_onnx_size_list) lists;
    const char *base;      /* of the names of tensors that a rule makes */
    gcut_locid loc;        /* of the node */
    Onnx__NodeProto *last; /* which attributes are added to */
    size_t nodes, draws;
} gcut_onnx_writer;

typedef void gcut_onnx_export_rule(gcut_onnx_writer *w, const gcut_node *n, const char *as);
#define RULE(op, rule, as) gcut_onnx_export_rule gcut_export_##rule;
#define REFUSE(op, why)
#include "import/onnx/export/ops.def"
#undef RULE
#undef REFUSE

/* ---- table.c ---- */

/* Writes a node by its rule. */
void gcut_onnx_write_op(gcut_onnx_writer *w, const gcut_node *n);
_Noreturn void gcut_onnx_refuse(gcut_onnx_writer *w, const gcut_node *n, const char *why);

/* ---- nodes.c: nodes, attributes, types ---- */

/* A node of one output.  out NULL: a new name after that of the value that is being written; else a name that is taken.
 * Returns the name.  Inputs may be "", left out. */
const char *gcut_onnx_put(gcut_onnx_writer *w, const char *op, const char *out, const char *const *in,
                          uint32_t n);
static inline const char *gcut_onnx_put1(gcut_onnx_writer *w, const char *op, const char *out, const char *x)
{
    return gcut_onnx_put(w, op, out, &x, 1);
}
static inline const char *gcut_onnx_put2(gcut_onnx_writer *w, const char *op, const char *out, const char *x,
                                         const char *y)
{
    return gcut_onnx_put(w, op, out, (const char *const[]){x, y}, 2);
}
static inline const char *gcut_onnx_put3(gcut_onnx_writer *w, const char *op, const char *out, const char *x,
                                         const char *y, const char *z)
{
    return gcut_onnx_put(w, op, out, (const char *const[]){x, y, z}, 3);
}
/* One more output of the last node. */
void gcut_onnx_put_output(gcut_onnx_writer *w, const char *name);
void gcut_onnx_put_int(gcut_onnx_writer *w, const char *key, int64_t x);
void gcut_onnx_put_float(gcut_onnx_writer *w, const char *key, double x);
void gcut_onnx_put_text(gcut_onnx_writer *w, const char *key, const char *x);
void gcut_onnx_put_ints(gcut_onnx_writer *w, const char *key, const int64_t *x, size_t n);
void gcut_onnx_put_graph(gcut_onnx_writer *w, const char *key, Onnx__GraphProto *x);
const char *gcut_onnx_put_cast(gcut_onnx_writer *w, const char *out, const char *x, gcut_dtype to);
/* The dtype in which ONNX has that op for elements of t: i32 where it lacks t, whose integers wrap around in the cast back. */
gcut_dtype gcut_onnx_computed_in(const char *op, gcut_dtype t);
/* A name that no tensor has. */
const char *gcut_onnx_fresh(gcut_onnx_writer *w, const char *base);
int32_t gcut_onnx_data_type(gcut_dtype t);
Onnx__ValueInfoProto *gcut_onnx_value_info(gcut_onnx_writer *w, const char *name, const gcut_type *t);
/* A new message: GCUT_ONNX_MESSAGE(w, Onnx__NodeProto, ONNX__NODE_PROTO__INIT) */
#define GCUT_ONNX_MESSAGE(w, type, init) ((type *)gcut_memdup((w)->a, &(const type)init, sizeof(type)))

/* ---- constants.c ---- */

/* An initializer; elements in memory of the dtype, which is not copied. */
void gcut_onnx_add_initializer(gcut_onnx_writer *w, const char *name, gcut_dtype t, uint32_t rank,
                               const int64_t *dim, const void *data, size_t bytes);
const char *gcut_onnx_scalar(gcut_onnx_writer *w, gcut_dtype t, double x);
const char *gcut_onnx_scalar_of(gcut_onnx_writer *w, gcut_dtype t, gcut_num x);
const char *gcut_onnx_integers(gcut_onnx_writer *w, const int64_t *x, uint32_t n); /* i64[n] */
/* A size, and a list of sizes: i64[1], i64[n]. */
const char *gcut_onnx_put_size(gcut_onnx_writer *w, gcut_dim d);
const char *gcut_onnx_put_sizes(gcut_onnx_writer *w, const gcut_dim *d, uint32_t n);
const char *gcut_onnx_put_size_scalar(gcut_onnx_writer *w, gcut_dim d); /* i64[] */

/* ---- values.c ---- */

static inline const gcut_type *gcut_onnx_operand_type(const gcut_onnx_writer *w, const gcut_node *n,
                                                      uint32_t k)
{
    return gcut_type_of(w->here->g, gcut_arg(w->here->g, n, k));
}
const gcut_onnx_view *gcut_onnx_view_of(gcut_onnx_writer *w, gcut_ref v);
/* The tensor of the value's own shape. */
const char *gcut_onnx_whole(gcut_onnx_writer *w, gcut_ref v);
static inline const char *gcut_onnx_operand(gcut_onnx_writer *w, const gcut_node *n, uint32_t k)
{
    return gcut_onnx_whole(w, gcut_arg(w->here->g, n, k));
}
/* The name for result k of n. */
static inline const char *gcut_onnx_own(const gcut_onnx_writer *w, const gcut_node *n, uint32_t k)
{
    return w->here->own[n->res0 + k];
}
/* Result k of n is that tensor, whole. */
void gcut_onnx_set_whole(gcut_onnx_writer *w, const gcut_node *n, uint32_t k, const char *name);
void gcut_onnx_set_view(gcut_onnx_writer *w, const gcut_node *n, uint32_t k, gcut_onnx_view view);
/* A tensor reshaped; `from` NULL: its shape is not known. */
const char *gcut_onnx_reshaped(gcut_onnx_writer *w, const char *x, const gcut_type *from, const gcut_type *to,
                               const char *out);

/* ---- graph.c ---- */

/* A frame for a graph: names for its values. */
gcut_onnx_frame *gcut_onnx_frame_new(gcut_onnx_writer *w, const gcut_graph *g, gcut_onnx_nodes *nodes);
/* Writes the nodes of the frame that `live` says, all without it. */
void gcut_onnx_write_nodes(gcut_onnx_writer *w, const bool *live);

/* ---- norms.c: batch_norm by its running statistics ---- */

typedef struct gcut_onnx_norm {
    gcut_ref x, gain, bias, mean, var;
    double eps;
} gcut_onnx_norm;
void gcut_onnx_find_norms(gcut_onnx_writer *w, gcut_onnx_frame *f);
void gcut_onnx_write_norm(gcut_onnx_writer *w, const gcut_node *n, const gcut_onnx_norm *norm);

/* ---- unused.c ---- */

/* Removes nodes, and initializers of w, that no output of the model needs; counts the nodes of w. */
void gcut_onnx_drop_unused(gcut_onnx_writer *w, Onnx__GraphProto *g);

/* ---- model_file.c ---- */

/* Writes the message, and the initializers of w; returns the bytes of all files, and the name of the second in *outside. */
uint64_t gcut_onnx_write_file(gcut_onnx_writer *w, const Onnx__ModelProto *m, const char *path,
                              uint64_t largest, const char **outside);

#endif
