/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Graphs as data: the result of gcut_stage_look of gradcut.h, a stage node by node.  Decisions and prices of
 * its values are in gradcut/plan.h, under the same names.
 *
 * Values are numbered from 0 in each graph: lists of operands, results and parameters have these numbers, the
 * indices of gcut_graph_info.value.  Everything lives as long as the gcut_stage_info that leads to it.
 */
#ifndef GRADCUT_NODES_H
#define GRADCUT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gradcut/dtype.h"
#include "gradcut/plan.h"
#include "gradcut/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GCUT_NO_INDEX SIZE_MAX /* there is none */

/* A #mark: its arguments as they are written. */
typedef struct gcut_mark_info {
    const char *name;
    const char *const *arg;
    size_t nargs;
} gcut_mark_info;

/* Which member of gcut_attr_info is set, besides `text`. */
typedef enum gcut_attr_type {
    GCUT_ATTR_SIZE = 0,   /* size: a size or the number of an axis */
    GCUT_ATTR_SIZES = 1,  /* sizes, n: sizes or numbers of axes */
    GCUT_ATTR_NUMBER = 2, /* number, and where is_integer integer */
    GCUT_ATTR_FLAG = 3,   /* flag */
    GCUT_ATTR_TEXT = 4,   /* string */
    GCUT_ATTR_DTYPE = 5   /* dtype */
} gcut_attr_type;

/* An attribute; those that the op has a default for are always listed.  Optional ones without a default are
 * left out where they are not given: a reduction without `axes` is over all axes, a `scan` without `length`
 * has as many iterations as its sliced operands have slices. */
typedef struct gcut_attr_info {
    const char *name; /* "axes" */
    gcut_attr_type type;
    bool is_default;  /* equal to the op's default: the text IR leaves it out */
    const char *text; /* as in the text IR, over symbols: "[N, 256]" */
    int64_t size;     /* at the sizes of the stage; -1: it has no value there */
    const int64_t *sizes;
    size_t n;
    double number;
    bool is_integer; /* written without a point: all 64 bits are in `integer` */
    int64_t integer;
    bool flag;
    const char *string;
    gcut_dtype dtype;
} gcut_attr_info;

struct gcut_graph_info;

/* A body of an if, while or scan, or the function that a call calls, or its stated derivative. */
typedef struct gcut_region_info {
    const char *kind; /* "then" "else" "cond" "body" "call" "vjp" */
    /* Its parameters are the arguments that the op hands it, then the captured operands of the node; its
     * results are what it yields.  Those of "vjp" go by name (doc/custom.md). */
    const struct gcut_graph_info *body;
} gcut_region_info;

typedef struct gcut_node_info {
    const char *op;        /* "matmul" */
    const size_t *operand; /* values */
    size_t noperands;
    size_t ncaptured;     /* the last ncaptured operands are read by the bodies alone, doc/ir.md */
    const size_t *result; /* values */
    size_t nresults;
    const gcut_attr_info *const *attr; /* in the order of the op table */
    size_t nattrs;
    const gcut_region_info *const *region;
    size_t nregions;
    const gcut_mark_info *const *mark;
    size_t nmarks;
    const char *where; /* "mlp.c:42 act": source line and scope; "-" = unknown */
    /* Of the kernel stage; -1: part of no kernel (a view, a constant), or another stage. */
    int kernel; /* k<kernel> of the emitted C; they run in the order of their numbers */
    int launch; /* as of gcut_kernel_time: of a product's epilogue the product, with which it is launched,
                   else the kernel itself */
} gcut_node_info;

/* Where a buffer of the kernel stage is. */
typedef enum gcut_storage {
    GCUT_STORAGE_ARENA = 0,
    GCUT_STORAGE_BOUND = 1, /* memory of a value that is bound to the step */
    GCUT_STORAGE_PART = 2,  /* what one iteration of a loop reads or writes of another buffer */
    GCUT_STORAGE_BLOCK = 3  /* the block of saved values: gcut_bind_saved */
} gcut_storage;

/* A buffer of the kernel stage, at the stage's sizes and threads. */
typedef struct gcut_buffer_info {
    gcut_storage storage;
    const char *name; /* BOUND: as gcut_step_value has it; else the value or the use that it was made for */
    gcut_dtype dtype;
    int64_t bytes;       /* 0: not needed at these sizes */
    int64_t offset;      /* ARENA, BLOCK: from its beginning, a multiple of 64; -1: no kernel uses it */
    int first, last;     /* k<first> to k<last> of the emitted C use it, and between them nothing else has its
                            bytes; -1: no kernel does */
    bool saved;          /* it crosses from the forward to the backward graph */
    size_t whole;        /* PART: the buffer that it is a part of, else GCUT_NO_INDEX; … */
    int64_t start, step; /* … of which iteration i begins at element start + i * step */
} gcut_buffer_info;

typedef struct gcut_graph_value {
    const char *name;
    const char *type; /* as in the text IR, over symbols: "f32[N, 256]" */
    gcut_dtype dtype;
    int rank;
    int64_t dim[GCUT_MAX_RANK];         /* at the sizes of the stage; -1: it has no value there */
    const char *formula[GCUT_MAX_RANK]; /* over symbols: "N", "2*N+1", "256" */
    int64_t elements, bytes;            /* of all, packed; -1: it has no size */
    size_t node;                        /* that computes it; GCUT_NO_INDEX: a parameter */
    size_t index;                       /* which result of the node, or which parameter */
    bool decided; /* of the split and the kernel stage; false: of a body, or an intermediate of a composite op
                     that the lowering expanded */
    gcut_plan_decision decision; /* where decided: as of gcut_plan_value; a constant is GCUT_PLAN_ALIVE */
    /* Of the kernel stage: element (i, j, …) is element start + i * stride[0] + j * stride[1] + … of the
     * buffer. */
    size_t buffer; /* GCUT_NO_INDEX: it has no memory: a constant, or computed where it is read */
    int64_t start, stride[GCUT_MAX_RANK];
    bool is_bits; /* a bool in a buffer of u8: start and strides count bits, the lowest of a byte first */
} gcut_graph_value;

/* The initial contents of a param, input or state, `data` in the text IR.  gcut_prepare of a step of any backend
 * makes the numbers. */
typedef struct gcut_data_info {
    const char *name, *type; /* of the parameter */
    const char *contents;    /* as gcut_initial takes it: "normal(1, 0.08)" */
    const char *kind;        /* "splat" "dense" "normal" "uniform" "file" */
    const double
        *number; /* what is in the brackets: one element, all elements, or the seed and two numbers */
    size_t n;
    const char *file, *key; /* of a file; else NULL, as key may be there */
} gcut_data_info;

typedef struct gcut_param_info {
    const char *role; /* "param" "input" "state" "rng" "cotan" "saved"; in a body "input" */
    size_t value;
    const gcut_data_info *data; /* NULL: nothing is declared */
    const gcut_mark_info *const *mark;
    size_t nmarks;
} gcut_param_info;

typedef struct gcut_result_info {
    const char *role; /* "out" "grad" "next" "saved"; in a body "out" */
    const char *name; /* of a next: of the param or state that takes it; of a grad: of what it is by */
    size_t value;
    const gcut_mark_info *const *mark;
    size_t nmarks;
} gcut_result_info;

typedef struct gcut_symbol_info {
    const char *name;
    int64_t lo, hi, multiple; /* GCUT_DIM_MAX: no upper limit */
    int64_t value;            /* at the sizes of the stage */
} gcut_symbol_info;

/* Two sizes that must be equal at run time. */
typedef struct gcut_check_info {
    const char *a_formula, *b_formula;
    int64_t a, b; /* at the sizes of the stage */
} gcut_check_info;

/* A function, or the body of a region. */
typedef struct gcut_graph_info {
    const char *name;
    const gcut_symbol_info *const *symbol;
    size_t nsymbols;
    const gcut_param_info *const *param;
    size_t nparams;
    const gcut_result_info *const *result;
    size_t nresults;
    const gcut_graph_value *const *value;
    size_t nvalues;
    const gcut_node_info *const *node; /* in the order of execution: operands come first */
    size_t nnodes;
    const gcut_check_info *const *check;
    size_t nchecks;
    const gcut_mark_info *const *mark; /* of a function */
    size_t nmarks;
} gcut_graph_info;

/* A value that was replaced, or computed another way, by an identity of real numbers (doc/kernels.md). */
typedef struct gcut_rewrite_info {
    const char *pattern, *becomes; /* "log(exp(x))", "x" */
    const char *value;
    const char *where; /* as of gcut_node_info */
} gcut_rewrite_info;

typedef struct gcut_stage_info {
    /* Of the primal stage: the functions that it calls, each before its callers, and the function itself
     * last. Of the joint stage one.  Of the split and the kernel stage the forward graph and, but where
     * options say forward_only, the backward graph. */
    const gcut_graph_info *const *graph;
    size_t n;
    const gcut_data_info *const *data; /* of all graphs */
    size_t ndata;
    /* Of the kernel stage: all buffers, and as of gcut_stats. */
    const gcut_buffer_info *const *buffer;
    size_t nbuffers;
    int64_t arena_bytes, saved_bytes;
    int threads;         /* for which the arena has workspace */
    const gcut_size *at; /* the sizes that everything is evaluated at, and planned for: one for each symbol */
    size_t nat;
    const gcut_rewrite_info *const *rewrite; /* in the order of the passes; none of the primal stage */
    size_t nrewrites;
} gcut_stage_info;

#ifdef __cplusplus
}
#endif

#endif
