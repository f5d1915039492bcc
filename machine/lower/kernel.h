/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One kernel of a lowered graph.
 *
 * What every kernel has stands first; what belongs to one kind is in that kind's arm of the union, and is
 * read only after `kind` was looked at.
 *
 * A LOOP covers `numel` elements in row-major order, seen as `rows` rows of `inner` elements; its members sit
 * on one of these levels:
 *
 *   FULL    one element per element of the loop
 *   ROW     one per row (what a row reduction gives, and arithmetic on it)
 *   COLUMN  a reduction over the rows, one per column: complete only after the kernel
 *   TOTAL   a reduction over everything: complete only after the kernel
 */
#ifndef GCUT_MACHINE_LOWER_KERNEL_H
#define GCUT_MACHINE_LOWER_KERNEL_H

#include "graph/graph.h"
#include "machine/lower/kernel_sizes.h"

typedef enum gcut_level {
    GCUT_LEVEL_NONE,
    GCUT_LEVEL_FULL,
    GCUT_LEVEL_ROW,
    GCUT_LEVEL_COLUMN,
    GCUT_LEVEL_TOTAL
} gcut_level;

typedef enum gcut_kernel_kind {
#define KIND(id, name, class, packed) GCUT_KERNEL_##id,
#include "machine/lower/kernel_kinds.def"
#undef KIND
} gcut_kernel_kind;

static inline const gcut_op_info *gcut_op_of(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op);
}

typedef struct gcut_kernel_facts {
    const char *name, *class;
    uint32_t packed;
} gcut_kernel_facts;
/* By kind. */
extern const gcut_kernel_facts gcut_kernel_table[];

typedef struct gcut_loop_kernel {
    gcut_dim numel, inner, rows; /* inner and rows are GCUT_DIM_BAD while undecided */
    bool flat;                   /* one stretch of numel elements, cut into chunks of GCUT_CHUNK */
    bool blocked;                /* has COLUMN or TOTAL members, so rows go in a fixed number of blocks */
    bool recomputed;             /* some member is a second copy: marked #recomputed(k) */
    bool complete;    /* a recomputed loop that has a reader: it accepts no further members, which would delay
                         that reader */
    bool called;      /* the loop of a prologue: a product calls it, and it is in no order */
    uint32_t product; /* the GEMM on whose tiles it runs, as its epilogue; or GCUT_NONE */
} gcut_loop_kernel;

struct gcut_prologue;
typedef struct gcut_gemm_kernel {
    unsigned sums; /* nodes.at[1] is the sum over k of this operand, GCUT_RT_SUMS_…; 0: there is none */
    struct gcut_prologue *prologue; /* computes an operand while it is packed; NULL: memory has both */
} gcut_gemm_kernel;

typedef struct gcut_copy_kernel {
    gcut_ref value;
    uint32_t to;          /* the buffer */
    uint32_t runs_before; /* the node right before which it runs; GCUT_NONE = right after its value */
    uint32_t source; /* the COPY kernel that saved the value, whose buffer is read instead; or GCUT_NONE */
} gcut_copy_kernel;

typedef struct gcut_kernel {
    gcut_kernel_kind kind;
    bool dead;                 /* merged into another, or empty */
    GCUT_VEC(uint32_t) nodes;  /* in graph order; empty for COPY */
    GCUT_VEC(uint32_t) before; /* kernels that must run first although nothing is read from them */
    uint32_t *operand_copy;    /* neither LOOP nor COPY: by operand, the COPY that stores it, or GCUT_NONE */
    /* Buffers, or GCUT_NONE (memory/workspace.h): one in which each thread has a share, of rows or blocks of
     * scores; and one for all threads, of partial results of blocks of rows or panels of a convolution. */
    uint32_t workspace_each, workspace_all;
    int step, end; /* its step of the timeline, and the one after its bodies' last */
    union {
        gcut_loop_kernel loop;
        gcut_gemm_kernel gemm;
        struct {
            uint32_t omitted; /* bits: results that nobody reads and the kernel does not write */
        } attention;          /* and ATTENTION_GRAD */
        struct {
            GCUT_VEC(uint32_t) bodies; /* a lowered graph for each region, in the node's order */
        } region;
        gcut_copy_kernel copy;
    };
} gcut_kernel;

/* An operand of a product that is computed while it is packed (prologue.c). */
typedef struct gcut_prologue {
    uint32_t operand; /* of the product: which */
    gcut_ref v;       /* the value, read as it is, row by row, and by this product alone */
    gcut_kernel loop; /* over the rows of v; its members compute v for the product, which calls it */
    bool ends_rows;   /* a loop after the product takes whole rows of it */
    int64_t most;     /* packings of an element that cost no more than storing it does */
    uint32_t buffer;  /* of v, where the product packs more often, or not at all */
} gcut_prologue;

static inline bool gcut_kernel_is_attention(const gcut_kernel *k)
{
    return k->kind == GCUT_KERNEL_ATTENTION || k->kind == GCUT_KERNEL_ATTENTION_GRAD;
}
/* Result k is not written. */
static inline bool gcut_kernel_omits(const gcut_kernel *k, uint32_t result)
{
    return gcut_kernel_is_attention(k) && k->attention.omitted >> result & 1;
}
static inline const gcut_prologue *gcut_kernel_prologue(const gcut_kernel *k)
{
    return k->kind == GCUT_KERNEL_GEMM ? k->gemm.prologue : NULL;
}
/* The prologue, if it computes that operand. */
static inline const gcut_prologue *gcut_operand_prologue(const gcut_kernel *k, uint32_t operand)
{
    const gcut_prologue *c = gcut_kernel_prologue(k);
    return c && c->operand == operand ? c : NULL;
}
/* The COPY kernel that is read instead of operand k; GCUT_NONE: none. */
static inline uint32_t gcut_kernel_copied(const gcut_kernel *k, uint32_t operand)
{
    return k->operand_copy ? k->operand_copy[operand] : GCUT_NONE;
}
/* GCUT_RT_SUMS_…, 0: it makes no sum. */
static inline unsigned gcut_kernel_sums(const gcut_kernel *k)
{
    return k->kind == GCUT_KERNEL_GEMM ? k->gemm.sums : 0;
}
/* The node that a kernel, no COPY, is named after: its last one, but of a product that has a sum the product.
 */
static inline uint32_t gcut_kernel_result(const gcut_kernel *k)
{
    return k->nodes.at[gcut_kernel_sums(k) ? 0 : k->nodes.n - 1];
}

#endif
