/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the rules of ops see: one node of a model that is being imported.  A rule reads attributes and inputs and sets
 * every output that the node names, as a value of the graph or as a constant.
 */
#ifndef GCUT_IMPORT_ONNX_NODE_H
#define GCUT_IMPORT_ONNX_NODE_H

#include "graph/build.h"
#include "import/onnx/model.h"

typedef struct gcut_onnx gcut_onnx;             /* the import of a model */
typedef struct gcut_onnx_scope gcut_onnx_scope; /* the names that a node sees */

typedef struct gcut_onnx_node {
    gcut_onnx *o;
    gcut_onnx_scope *scope;
    const Onnx__NodeProto *p;
    gcut_build b;
    gcut_op op; /* the column of its row; GCUT_NOPS: none */
    int64_t opset;
    bool folding; /* into constants: b.g is a graph of this node alone */
} gcut_onnx_node;

typedef void gcut_onnx_rule(gcut_onnx_node *n);
typedef struct gcut_onnx_row {
    const char *name;
    gcut_onnx_rule *rule;
    gcut_op op; /* that the rule makes; GCUT_NOPS: not one op */
    bool folds; /* a node on constants is computed at import */
} gcut_onnx_row;
/* NULL: the op is not supported. */
const gcut_onnx_row *gcut_onnx_row_of(const char *domain, const char *op);

/* ---- errors, at the node ---- */

#define GCUT_ONNX_FAIL(n, status, ...)                                                                       \
    gcut_fail((n)->b.g->module->env, (status), gcut_loc_place((n)->b.g->module, (n)->b.loc),                 \
              gcut_onnx_called(n), __VA_ARGS__)
#define GCUT_ONNX_WRONG(n, ...) GCUT_ONNX_FAIL(n, GCUT_ETYPE, __VA_ARGS__)
#define GCUT_ONNX_UNSUPPORTED(n, ...) GCUT_ONNX_FAIL(n, GCUT_EUNSUPPORTED, __VA_ARGS__)
/* "it is the node 'Conv_3', of the op Conv, version 11" */
const char *gcut_onnx_called(const gcut_onnx_node *n);

/* ---- bounds (import.h) ---- */

/* Both count towards what the file may make, and throw GCUT_EUNSUPPORTED beyond it. */
void gcut_onnx_count_nodes(gcut_onnx *o, uint64_t n);
void gcut_onnx_count_elements(gcut_onnx *o, uint64_t n);

/* ---- attributes ---- */

const Onnx__AttributeProto *gcut_onnx_attr(const gcut_onnx_node *n, const char *name); /* NULL: not given */
int64_t gcut_onnx_int(const gcut_onnx_node *n, const char *name, int64_t otherwise);
double gcut_onnx_float(const gcut_onnx_node *n, const char *name, double otherwise);
/* Item k of a list of floats. */
double gcut_onnx_float_item(const gcut_onnx_node *n, const char *name, uint32_t k, double otherwise);
const char *gcut_onnx_text(const gcut_onnx_node *n, const char *name, const char *otherwise);
/* gcut_onnx_int and gcut_onnx_ints clamp to [-2^60, 2^60]: sums of up to seven such numbers fit in an int64_t.  No size, axis
 * or padding of a model is as large. */
#define GCUT_ONNX_INT_MAX (INT64_C(1) << 60)
typedef struct gcut_onnx_list {
    const int64_t *at; /* NULL: not given */
    uint32_t n;
} gcut_onnx_list;
gcut_onnx_list gcut_onnx_ints(const gcut_onnx_node *n, const char *name);
static inline int64_t gcut_onnx_item(gcut_onnx_list list, uint32_t k, int64_t otherwise)
{
    return k < list.n ? list.at[k] : otherwise;
}

/* ---- inputs ---- */

bool gcut_onnx_has(const gcut_onnx_node *n, uint32_t i);
uint32_t gcut_onnx_inputs(const gcut_onnx_node *n); /* with those that are left out */
/* Input i as a value of the graph. */
gcut_ref gcut_onnx_in(gcut_onnx_node *n, uint32_t i);
/* The same, a float initializer becoming a state. */
gcut_ref gcut_onnx_in_state(gcut_onnx_node *n, uint32_t i);
gcut_type gcut_onnx_type(const gcut_onnx_node *n, gcut_ref v);
/* The contents of input i, or NULL: they are not known.  Elements of an integer may be sizes (gcut_dim). */
const gcut_array *gcut_onnx_known(gcut_onnx_node *n, uint32_t i);
/* The same, also of an initializer and of an input that has a constant in the options. */
const gcut_array *gcut_onnx_maybe(gcut_onnx_node *n, uint32_t i);
/* The same of an input that must be known. */
const gcut_array *gcut_onnx_need(gcut_onnx_node *n, uint32_t i, const char *what);
/* The one element of input i, which must be known, and no symbolic size. */
gcut_num gcut_onnx_need_number(gcut_onnx_node *n, uint32_t i, const char *what);
/* Integers from input i, else from the attribute, as `axes` and others became inputs; at NULL: neither is given.  Items may
 * be sizes (gcut_dim). */
gcut_onnx_list gcut_onnx_input_or_attr(gcut_onnx_node *n, uint32_t i, const char *name);
/* Throws where v has another number of axes. */
void gcut_onnx_need_rank(const gcut_onnx_node *n, gcut_ref v, uint32_t rank, const char *what);
/* A size that is stated: a number of 0 or more, or an expression. */
gcut_dim gcut_onnx_need_size(const gcut_onnx_node *n, int64_t d);
/* The axis counted from 0. */
uint32_t gcut_onnx_axis(const gcut_onnx_node *n, int64_t axis, uint32_t rank);

/* ---- outputs ---- */

bool gcut_onnx_wants(const gcut_onnx_node *n, uint32_t k);
void gcut_onnx_set(gcut_onnx_node *n, uint32_t k, gcut_ref v);
void gcut_onnx_set_known(gcut_onnx_node *n, uint32_t k, const gcut_array *x);
void gcut_onnx_set_numbers(gcut_onnx_node *n, uint32_t k, const gcut_array *x); /* none of them is a size */

/* ---- values ---- */

/* A constant as a value of the graph. */
gcut_ref gcut_onnx_constant(gcut_onnx_node *n, const gcut_array *x);
gcut_array gcut_onnx_array(gcut_onnx_node *n, gcut_dtype t, uint32_t rank, const int64_t *dim); /* zeroed */
gcut_ref gcut_onnx_node_new(gcut_onnx_node *n, gcut_op op, const gcut_ref *x, uint32_t nx, const gcut_attr *a,
                            uint32_t na);
/* The lowest value of a number or an expression; one that is noted is the size of an axis, and not below 0. */
int64_t gcut_onnx_lowest(const gcut_onnx_node *n, int64_t x);
void gcut_onnx_note_axis(gcut_onnx_node *n, gcut_dim d);
gcut_dim gcut_onnx_dim(const gcut_onnx_node *n, gcut_dim_op op, gcut_dim a, gcut_dim b);
/* Is it an expression over symbols?  Other elements are numbers, negative ones included, such as the INT64_MIN + 1 by which
 * PyTorch's exporter ends a slice that goes backwards. */
static inline bool gcut_onnx_is_symbolic(int64_t x)
{
    return gcut_dim_may_be_expression(x);
}
/* A number below 0, which no size is. */
static inline bool gcut_onnx_is_negative(int64_t x)
{
    return x < 0 && !gcut_onnx_is_symbolic(x);
}
/* Does each of n integers follow from the one before by adding the same integer? */
bool gcut_onnx_is_progression(const int64_t *at, int64_t n);
/* start, start + step, … */
gcut_ref gcut_onnx_progression(gcut_onnx_node *n, gcut_dtype t, gcut_dim count, gcut_num start,
                               gcut_num step);
/* A number as a scalar of the dtype, spread to the shape where there is one. */
gcut_ref gcut_onnx_number(gcut_onnx_node *n, gcut_dtype t, const gcut_type *shape, double x);
gcut_ref gcut_onnx_binary(gcut_onnx_node *n, gcut_op op, gcut_ref x, gcut_ref y); /* broadcasts */
gcut_ref gcut_onnx_reshape(gcut_onnx_node *n, gcut_ref x, const gcut_dim *dim, uint32_t rank);
/* x with a new axis of size 1; without an axis, whose size is 1. */
gcut_ref gcut_onnx_insert_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis);
gcut_ref gcut_onnx_remove_axis(gcut_onnx_node *n, gcut_ref x, uint32_t axis);
gcut_ref gcut_onnx_clamp_node(gcut_onnx_node *n, gcut_ref x, double lo, double hi);
/* x[start, limit) along the axis, with a step of 1 or more. */
gcut_ref gcut_onnx_slice(gcut_onnx_node *n, gcut_ref x, uint32_t axis, gcut_dim start, gcut_dim limit,
                         gcut_dim step);
gcut_ref gcut_onnx_flip(gcut_onnx_node *n, gcut_ref x, uint32_t axis); /* reverses the axis */
gcut_ref gcut_onnx_concat(gcut_onnx_node *n, const gcut_ref *x, uint32_t nx, uint32_t axis);
/* Padding with one number; NULL: none on that side. */
gcut_ref gcut_onnx_pad(gcut_onnx_node *n, gcut_ref x, const gcut_dim *low, const gcut_dim *high,
                       gcut_num value);
/* reduces over the axes in `mask` */
gcut_ref gcut_onnx_reduce(gcut_onnx_node *n, gcut_op op, gcut_ref x, uint32_t mask, bool keep);
/* 0, 1, … along the axis of a shape, as i64. */
gcut_ref gcut_onnx_iota(gcut_onnx_node *n, const gcut_type *shape, uint32_t axis);
/* The number of elements along axes from..to-1. */
gcut_dim gcut_onnx_numel(const gcut_onnx_node *n, const gcut_type *t, uint32_t from, uint32_t to);

/* ---- bodies ---- */

/* Imports a subgraph whose inputs are bound to x, values of `body`, which captures what it reads of the graphs around it;
 * 0 is the constant true, the condition of a loop.  iteration: the number of the iteration, i64[], a parameter that is made
 * when a draw needs it where it is 0; NULL: the body is not repeated.  out has room for its outputs, NULL: they are left as
 * they are.  Returns the subgraph's names. */
gcut_onnx_scope *gcut_onnx_body(gcut_onnx_node *n, const Onnx__GraphProto *p, gcut_graph *body,
                                const gcut_ref *x, uint32_t nx, gcut_ref *iteration, gcut_ref *out);

#endif
