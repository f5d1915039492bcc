/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lowered graphs, their buffers, and the program that they are of.
 *
 * Every value has a view of the root that owns its storage (view.h).  Nodes that compute are in kernels
 * (kernel.h); a root that another kernel reads is stored in a buffer.  Lowering goes through ten states,
 * each made by one pass, which keeps what held before:
 *
 *   state              pass                 what is there from then on
 *   L1 fusion groups   fusion_groups.c      view, kernel_of, level; kernels; the read index (reads.h)
 *   L2 row sums        row_sums.c           products that make the sums of operands over rows, too
 *   L3 loop columns    loop_columns.c       rows and columns of every loop
 *   L4 prologues       prologue.c           operands that products compute while they pack them
 *   L5 buffers         buffer_assignment.c  buffers, bindings, copies; with it region.c, updates_in_place.c, concat.c
 *   L6 launch order    launch_order.c       the order of kernels
 *   L7 sibling loops   sibling_loops.c      fewer loops: some that read the same values are one
 *   L8 epilogues       epilogue.c           loops that run on the tiles of a product
 *   L9 live ranges     live_ranges.c        steps, live ranges of buffers
 *   L10 shared buffers shared_buffers.c     results over operands that die as they are made
 *
 * Invariants, one function each in verify_lowered.c, which lower.c calls after every pass in debug builds,
 * sanitized builds and tests:
 *
 *   L1a  a node that computes is a member of one live kernel, which kernel_of of its results names; members
 *        are in graph order, and a dead kernel has none
 *   L1b  what a member of a loop reads is in memory, a number, or at hand in the loop
 *   L1c  no kernel depends on itself, by whatever others: in-place edges (every reader of a parameter before
 *        the kernel that overwrites it) included
 *   L1d  the read index has the reads of live kernels from memory, and no others
 *   L2a  a kernel that is neither LOOP nor COPY has one node, but a product that makes a sum two: the second
 *        sums up the operand that `sums` says, over rows
 *   L3a  rows times columns of a loop are its elements, unless it is flat; it is blocked if, and only if, it
 *        has COLUMN or TOTAL members
 *   L4a  a product computes an operand elementwise, for itself alone
 *   L5a  what a kernel reads of another, a parameter or a result has a buffer, of its dtype and, unless it
 *        is a part of a concat or a saved value's beginning, its elements
 *   L6a  the order has every live kernel once, after all that it depends on
 *   L8a  an epilogue runs right after its product and has its rows and columns
 *   L9a  the buffers that a kernel reads or writes are alive at its step
 *   L9b  the buffers of saved values are alive at the first step of the backward graph
 *   L10a a kernel finds in a buffer what was written there for it, and no epilogue writes what its product
 *        still reads
 *
 * Names in lower/, cost/ and emit/: p is the program, h a lowered graph, g its graph and m its module; u is a
 * kernel, or its index where no pointer to it is at hand; n a node, v a value, t a type, x an operand, use or
 * member of a loop; e an emitter, w the writer or walk of the file, and the weight
 * of a convolution.
 */
#ifndef GCUT_MACHINE_LOWER_LOWERED_H
#define GCUT_MACHINE_LOWER_LOWERED_H

#include "machine/lower/kernel.h"
#include "machine/program.h"
#include "machine/lower/view.h"

typedef enum gcut_buffer_kind {
    GCUT_BUFFER_BOUND, /* the caller's: index into bindings */
    GCUT_BUFFER_ARENA,
    GCUT_BUFFER_PART /* what one iteration of a loop reads or writes of another buffer */
} gcut_buffer_kind;

typedef struct gcut_buffer {
    gcut_buffer_kind kind;
    uint32_t binding; /* BOUND */
    gcut_dtype dtype;
    gcut_dim count;     /* elements; of one thread's share where shared_by is a kernel */
    uint32_t graph;     /* index of the lowered graph that shared_by, packed_by, start and step are of */
    uint32_t shared_by; /* the kernel of whose team every thread has a share; GCUT_NONE: no shares */
    /* The product whose prologue's operand is stored here where computing it once and packing it from
     * memory is the better way (gcut_prologue_packings; empty else); GCUT_NONE: no product. */
    uint32_t packed_by;
    uint32_t whole;       /* PART: the buffer that it is a part of */
    gcut_dim start, step; /* PART: iteration i begins at element start + i * step; `graph` is the body */
    bool saved;           /* crosses from the forward to the backward graph */
    bool workspace;       /* of a kernel: it holds no value */
    int birth, death;     /* live range, in steps of the program's timeline; -1 = never used */
    const char *name;
} gcut_buffer;

typedef struct gcut_lowered {
    uint32_t index;                    /* among the program's */
    bool unfused;                      /* as the program is */
    const gcut_thresholds *thresholds; /* the program's, */
    const gcut_dim_binding *at;        /* and its sizes */
    uint32_t nat;
    gcut_graph *g;   /* NULL: there is none */
    gcut_view *view; /* by value */
    /* By value: the kernel that stores or computes this root, GCUT_NONE for params and consts. */
    uint32_t *kernel_of;
    gcut_level *level; /* by value, for roots in loops */
    uint8_t *reason;   /* by operand, as in g->args: a gcut_reason (reason.h) */
    /* By value: a gcut_reason why it is not made in the memory of what it updates or, of a sum over rows,
     * by a product. */
    uint8_t *memory_reason;
    uint32_t *buffer; /* by root value: buffer, or GCUT_NONE = lives in registers */
    GCUT_VEC(gcut_kernel) kernels;
    struct gcut_read_index *reads; /* reads.h; NULL while nodes are grouped */
    GCUT_VEC(uint32_t) order;      /* live kernels as they run */
    gcut_map result_of;            /* by role and name: a result of the forward or backward graph, + 1 */
    uint32_t *saved; /* by result: the buffer of a `saved` one; of a while's, that of its condition */
    struct gcut_walks *walks; /* scratch of gcut_kernel_reaches */
    int first, end;           /* its steps of the timeline: first..end-1 */
    /* A body: the graph and the REGION kernel there that it belongs to; else GCUT_NONE. */
    uint32_t parent, owner;
    uint32_t region; /* a body: which region of the node */
} gcut_lowered;

struct gcut_program {
    gcut_module *module;
    /* The sizes and threads that it is to be fast at, 0 = unknown; right at all. */
    const gcut_dim_binding *at;
    uint32_t nat;
    int threads;
    gcut_thresholds thresholds; /* of the machine that it is to be fast on */
    bool unfused;               /* no kernel takes a second node, and no result the memory of an operand */
    bool unjoined;              /* sibling loops stay apart */
    bool verifies;              /* every state is verified */
    bool apart;                 /* saved values are in a block of their own */
    GCUT_VEC(gcut_lowered *) lowered; /* GCUT_FORWARD, GCUT_BACKWARD, then the bodies of regions */
    GCUT_VEC(gcut_binding_info) bindings;
    gcut_map binding_of;      /* by role and name: a binding, + 1 */
    GCUT_VEC(uint32_t) bound; /* by binding: its buffer, or GCUT_NONE */
    GCUT_VEC(gcut_buffer) buffers;
};

/* ---- what kernels read ---- */

bool gcut_root_is_const(const gcut_lowered *h, gcut_ref root);
bool gcut_root_is_iota(const gcut_lowered *h, gcut_ref root);
/* Does a member of the kernel compute the root? */
bool gcut_kernel_has(const gcut_lowered *h, const gcut_kernel *u, gcut_ref root);
/* The kernel that stores what v views; GCUT_NONE for parameters, constants and iotas. */
uint32_t gcut_kernel_source(const gcut_lowered *h, gcut_ref v);
/* What a product that makes a sum adds up; 0 for nothing. */
gcut_ref gcut_kernel_sum(const gcut_lowered *h, uint32_t kernel);

/* Value v, operand k of node n, which is member i of a kernel. */
typedef struct gcut_use {
    uint32_t i, k, next; /* next: operand */
    const gcut_node *n;
    gcut_ref v;
} gcut_use;
/* The next one, from {0} on; false at the end. */
bool gcut_next_use(const gcut_lowered *h, const gcut_kernel *u, gcut_use *x);

typedef struct gcut_cursor {
    gcut_use use, link; /* link: of the prologue that computes the operand */
    bool prologue;      /* what was found last is read by a prologue */
    uint32_t copy;      /* the COPY kernel that is read instead of what was found last, or GCUT_NONE */
    uint32_t before;    /* of gcut_kernel_deps: kernels besides those that are read */
} gcut_cursor;
/* The next value that the nodes of a kernel read, those of its prologues included and of its own members too,
 * from *at (start at {0}); false at the end. */
bool gcut_kernel_read(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at, gcut_ref *v);
/* The buffer that it is read from. */
uint32_t gcut_read_buffer(const gcut_lowered *h, const gcut_cursor *at, gcut_ref v);
/* Does the kernel read that buffer? */
bool gcut_kernel_reads_buffer(const gcut_lowered *h, uint32_t kernel, uint32_t buffer);
/* The buffer that a COPY reads. */
uint32_t gcut_copy_buffer(const gcut_lowered *h, const gcut_kernel *copy);
/* The next kernel that `kernel` depends on, from *at (start at {0}); GCUT_NONE at the end. Repeats are
 * possible. */
uint32_t gcut_kernel_deps(const gcut_lowered *h, uint32_t kernel, gcut_cursor *at);

/* How `v`, operand of a member of loop u, is read there. */
typedef enum gcut_access {
    GCUT_ACCESS_CONST,
    GCUT_ACCESS_IOTA,
    GCUT_ACCESS_FULL,
    GCUT_ACCESS_ROW,
    GCUT_ACCESS_LOAD,
    GCUT_ACCESS_BLOCKED
} gcut_access;
gcut_access gcut_kernel_access(const gcut_lowered *h, const gcut_kernel *u, gcut_ref v, gcut_level user);
/* Some result of the loop is complete with a row. */
bool gcut_kernel_has_rows(const gcut_lowered *h, const gcut_kernel *loop);
/* Every operand that loop u reads from memory steps evenly along its last `inner` elements. */
bool gcut_kernel_is_even(const gcut_lowered *h, const gcut_kernel *u, gcut_dim inner);
/* And so it would with node n. */
bool gcut_kernel_takes_evenly(const gcut_lowered *h, const gcut_kernel *u, const gcut_node *n,
                              gcut_dim inner);

/* What one element of that op's result takes a core. */
static inline int gcut_op_ps(const gcut_lowered *h, const gcut_node *n)
{
    return h->thresholds->op_ps[n->op];
}
static inline bool gcut_op_is_long(const gcut_lowered *h, const gcut_node *n)
{
    return gcut_op_ps(h, n) >= h->thresholds->ps[GCUT_THRESHOLD_long];
}

/* ---- making kernels ---- */

uint32_t gcut_kernel_new(gcut_lowered *h, gcut_kernel_kind kind, uint32_t node);

#endif
