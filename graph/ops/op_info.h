/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The op table as data: ops, the keys of their attributes, and what the columns of ops.def say about an op.
 * What depends on a node is in node_facts.h.
 */
#ifndef GCUT_GRAPH_OPS_OP_INFO_H
#define GCUT_GRAPH_OPS_OP_INFO_H

#include "gradcut/dtype.h"
#include "graph/dim/dim.h"

struct gcut_graph;
struct gcut_node;

typedef enum gcut_op {
#define OP(name, ...) GCUT_OP_##name,
#include "graph/ops/ops.def"
#undef OP
    GCUT_NOPS
} gcut_op;

typedef enum gcut_class {
    GCUT_CLASS_POINTWISE,
    GCUT_CLASS_REDUCTION,
    GCUT_CLASS_CONTRACTION,
    GCUT_CLASS_VIEW,
    GCUT_CLASS_INDEX,
    GCUT_CLASS_CONSTANT,
    GCUT_CLASS_CONTROL
} gcut_class;

/* Ops whose result has the shape of every operand, by their shape rule. */
typedef enum gcut_elementwise {
    GCUT_ELEMENTWISE_NO,
    GCUT_ELEMENTWISE_same, /* the result has the dtype of the operands */
    GCUT_ELEMENTWISE_test, /* it is bool */
    GCUT_ELEMENTWISE_cast, /* of the dtype of an attribute, as of random */
    GCUT_ELEMENTWISE_random,
    GCUT_ELEMENTWISE_select /* of the branches */
} gcut_elementwise;

/* How a common factor of operands comes out of an op: the column `linear` of the op table. */
typedef enum gcut_linear {
    GCUT_LINEAR_NO,
    GCUT_LINEAR_MAP,
    GCUT_LINEAR_SUM,
    GCUT_LINEAR_PRODUCT,
    GCUT_LINEAR_DIVIDEND,
    GCUT_LINEAR_CHOICE
} gcut_linear;

typedef enum gcut_emit {
    GCUT_EMIT_POINT,
    GCUT_EMIT_CAST,
    GCUT_EMIT_BOUNDED,
    GCUT_EMIT_VIEW,
    GCUT_EMIT_REDUCE,
    GCUT_EMIT_GEMM,
    GCUT_EMIT_CONST,
    GCUT_EMIT_IOTA,
    GCUT_EMIT_PAD,
    GCUT_EMIT_CONCAT,
    GCUT_EMIT_FLIP,
    GCUT_EMIT_TAKE,
    GCUT_EMIT_SCATTER,
    GCUT_EMIT_PACK,
    GCUT_EMIT_UNPACK,
    GCUT_EMIT_CUMSUM,
    GCUT_EMIT_ARGSORT,
    GCUT_EMIT_CONV,
    GCUT_EMIT_POOL,
    GCUT_EMIT_ATTENTION,
    GCUT_EMIT_ATTENTION_GRAD,
    GCUT_EMIT_EXTERNAL,
    GCUT_EMIT_EXPAND,
    GCUT_EMIT_REGION
} gcut_emit;

/* The kernel of a contraction; its time in the machine model is listed under this key. */
typedef enum gcut_way {
    GCUT_WAY_none, /* no contraction */
    GCUT_WAY_gemm,
    GCUT_WAY_conv_y, /* a convolution for its result, for its operand, for its weight */
    GCUT_WAY_conv_x,
    GCUT_WAY_conv_w,
    GCUT_WAY_attention,
    GCUT_WAY_attention_grad
} gcut_way;

/* The number of multiply-adds of a contraction: times * dim[0] * dim[1] * … */
typedef struct gcut_madds {
    double times;
    uint32_t n;
    gcut_dim dim[2 * GCUT_MAX_RANK];
} gcut_madds;
typedef gcut_madds gcut_madds_fn(const struct gcut_graph *g, const struct gcut_node *n);
/* multiply_adds.c: the rules of the cost column. */
gcut_madds_fn gcut_madds_matmul, gcut_madds_attention, gcut_madds_conv2d, gcut_madds_conv2d_weight,
    gcut_madds_recurrent;

typedef struct gcut_op_info {
    const char *name;
    uint8_t lo, hi; /* operands; hi 255 = any */
    char dtypes;    /* 'F' 'N' 'B' 'X' 'I' 'K' '-' */
    bool composite; /* has a decomposition */
    gcut_elementwise elementwise;
    const char *attrs;
    gcut_class class;
    gcut_linear linear;
    int cost_ps;
    gcut_madds_fn *madds; /* graph/ops/multiply_adds.c; NULL unless a contraction */
    gcut_way way;
    gcut_emit emit;
    const char *cexpr;
    const char *vjp_rule, *kernel; /* the columns vjp and emit as they are written */
    const char *doc;
    /* Its function in C: "" gcut_<name>, "other" gcut_<other>; NULL: none is generated */
    const char *c_name;
    const char *c_operands; /* what that calls its operands, "x, i"; of others "HAND" or "INTERNAL" */
    const char *c_calls;    /* of a HAND: as the column api has them, between `|`; else "" */
} gcut_op_info;

const gcut_op_info *gcut_op_get(gcut_op op);
/* The reason why an op's derivative is 0 everywhere or does not exist, as the end of a sentence; NULL for
 * every other op. */
const char *gcut_op_why_zero(const gcut_op_info *info);
bool gcut_op_parse(const char *name, size_t n, gcut_op *out); /* false: unknown */
/* The name of region k of an op; NULL when the op has fewer. */
const char *gcut_op_region(gcut_op op, uint32_t k);
/* The number of required regions of the op; optional ones come after them. */
uint32_t gcut_op_regions(gcut_op op);

/* ---- keys of attributes ---- */

typedef enum gcut_attr_key {
#define ATTR(name, ...) GCUT_KEY_##name,
#include "graph/ops/attrs.def"
#undef ATTR
    GCUT_NATTRS
} gcut_attr_key;

typedef enum gcut_attr_kind {
    GCUT_ATTR_KIND_DIM,
    GCUT_ATTR_KIND_DIMS,
    GCUT_ATTR_KIND_NUM,
    GCUT_ATTR_KIND_BOOL,
    GCUT_ATTR_KIND_STR
} gcut_attr_kind;

/* The C type of an attribute's parameter, from graph/ops/attrs.def. */
typedef enum gcut_attr_form {
    GCUT_ATTR_FORM_AXIS,
    GCUT_ATTR_FORM_AXES,
    GCUT_ATTR_FORM_SIZE,
    GCUT_ATTR_FORM_SIZES,
    GCUT_ATTR_FORM_NUMBER,
    GCUT_ATTR_FORM_FLAG,
    GCUT_ATTR_FORM_TEXT,
    GCUT_ATTR_FORM_DTYPE
} gcut_attr_form;

gcut_attr_kind gcut_attr_kind_of(gcut_attr_key key);
gcut_attr_form gcut_attr_form_of(gcut_attr_key key);
const char *gcut_attr_name(gcut_attr_key key);
bool gcut_attr_parse(const char *name, size_t n, gcut_attr_key *out);

#endif
