/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lowered program, shared by the files of this room.
 *
 * Every value has a view: a root value that owns storage, plus offset and
 * strides in elements over the value's own shape.  A unit is one kernel.  A
 * loop unit covers `numel` elements in row-major order, seen as rows of `inner`
 * elements; its members sit on one of these levels:
 *
 *   FULL   one element per element of the unit
 *   ROW    one per row (what a row reduction gives, and arithmetic on it)
 *   COLUMN a reduction over the rows, one per column: complete only after the unit
 *   TOTAL  a reduction over everything: complete only after the unit
 *
 * Invariants:
 *   K1  a unit reads a root made by another unit only after that unit ran
 *   K2  the unit graph is acyclic, with the in-place edges (every reader of a
 *       parameter before the unit that overwrites it) included
 *   K3  a root is stored contiguously in the shape of its value, but for an operand of a concat that is made
 *       in its place (concat.c)
 */
#ifndef GCUT_KERNELS_LOWER_H
#define GCUT_KERNELS_LOWER_H

#include "kernels/kernels.h"

typedef struct gcut_view {
    gcut_ref root; /* owner of the storage; an iota is its own virtual storage: the address is the value */
    gcut_dim offset;
    gcut_dim stride[GCUT_MAX_RANK];
    bool bits; /* the storage is u8 and the value bool: offset and strides count bits, and readers take one */
    bool widens; /* the storage is f16 or bf16 and the value f32: whoever reads it converts */
} gcut_view;

typedef enum gcut_level { GCUT_L_NONE, GCUT_L_FULL, GCUT_L_ROW, GCUT_L_COLUMN, GCUT_L_TOTAL } gcut_level;

typedef enum gcut_unit_kind {
    GCUT_U_LOOP,
    GCUT_U_GEMM,
    GCUT_U_REDUCE, /* reduction over axes that are neither leading nor trailing */
    GCUT_U_PAD,
    GCUT_U_CONCAT,
    GCUT_U_FLIP,
    GCUT_U_TAKE,
    GCUT_U_SCATTER,
    GCUT_U_PACK,
    GCUT_U_UNPACK, /* where the bits do not lie one after the other; else they are read as they are */
    GCUT_U_CONV,
    GCUT_U_POOL,
    GCUT_U_ATTENTION,
    GCUT_U_ATTENTION_GRAD,
    GCUT_U_CUMSUM,
    GCUT_U_EXTERNAL,
    GCUT_U_REGION, /* if, while, scan: its bodies are halves of their own (region.c) */
    GCUT_U_COPY    /* a result that must be written somewhere of its own */
} gcut_unit_kind;

typedef struct gcut_unit {
    gcut_unit_kind kind;
    bool dead;                /* merged into another */
    bool again;               /* some member is a second copy: marked #recomputed(k) */
    bool closed;              /* such a LOOP that another unit reads: who joins it now would delay that one */
    GCUT_VEC(uint32_t) nodes; /* in graph order; empty for COPY */
    gcut_dim numel, inner, rows; /* LOOP; inner == GCUT_DIM_BAD while undecided */
    bool flat;                   /* LOOP: one stretch of numel elements, cut into chunks of GCUT_CHUNK */
    bool blocked;              /* LOOP: has COLUMN or TOTAL members, so rows go in a fixed number of blocks */
    GCUT_VEC(uint32_t) before; /* units that must run first although nothing is read from them */
    uint32_t
        *operand_copy;  /* other kinds than LOOP: by operand, the COPY unit that stores it, or GCUT_NONE */
    gcut_ref copy_from; /* COPY: the value */
    uint32_t copy_to;   /* COPY: the buffer */
    uint32_t copy_late; /* COPY: the node right before which it runs; GCUT_NONE = right after its value */
    uint32_t
        copy_aside; /* COPY: the unit that set the value aside, whose buffer is read instead; or GCUT_NONE */
    uint32_t scratch;  /* buffer of per-thread row scratch, or GCUT_NONE */
    uint32_t left_out; /* bits: results that nobody reads and the kernel does not write */
    uint32_t partial;  /* buffer of per-block partial results, or a convolution's workspace, or GCUT_NONE */
    unsigned sums; /* GEMM: nodes.at[1] is the sum over k of this operand, GCUT_RT_SUMS_…; 0: there is none */
    GCUT_VEC(uint32_t) bodies; /* REGION: a half for each region, in the node's order */
    struct gcut_chain
        *chain[2];      /* GEMM, by operand: what computes it while it is packed; NULL: memory has it */
    uint32_t seen, top; /* of group.c, where units depend on which */
    int step, end;      /* its step of the timeline, and the one after its bodies' last */
} gcut_unit;

#define GCUT_CHUNK 4096 /* elements of a flat unit that one row holds */
#define GCUT_BLOCKS                                                                                          \
    16                /* blocks of rows of a blocked unit: fixed, so that results do not depend on threads   \
                       */
#define GCUT_LANES 64 /* accumulators of a float row reduction */

typedef enum gcut_place_kind {
    GCUT_P_BOUND, /* the caller's: index into bindings */
    GCUT_P_ARENA,
    GCUT_P_PART /* what one iteration of a loop reads or writes of another buffer */
} gcut_place_kind;

typedef struct gcut_buffer {
    gcut_place_kind kind;
    uint32_t binding;
    gcut_dtype dtype;
    gcut_dim count; /* elements; of one thread's share when crew is a unit */
    uint32_t crew;  /* unit (of half `half`) whose every thread has a share; GCUT_NONE = one for all */
    uint32_t half;
    uint32_t whole; /* PART: the buffer that it is a part of */
    gcut_dim start,
        step; /* PART: iteration i begins at element start + i * step; `half` is the loop's body */
    bool saved;
    uint32_t product; /* of half `half`: the unit that this is the room of an operand of, + 1; 0 = none */
    uint32_t operand; /* which one */
    int birth, death; /* steps of the program's timeline; -1 = never used */
    const char *name;
} gcut_buffer;

/* How a size is written: gcut_c_dim, gcut_c_size, … */
typedef const char *gcut_size_c(gcut_module *m, gcut_dim d);

typedef struct gcut_half {
    uint32_t index;    /* among the program's */
    bool unfused;      /* as the program is */
    gcut_graph *g;     /* NULL: there is none */
    gcut_view *view;   /* by value */
    uint32_t *unit_of; /* by value: the unit that stores or computes this root, GCUT_NONE for params/consts */
    gcut_level *level; /* by value, for roots in loop units */
    uint32_t *buffer;  /* by root value: buffer, or GCUT_NONE = lives in registers */
    GCUT_VEC(gcut_unit) units;
    GCUT_VEC(uint32_t) order; /* live units as they run */
    uint32_t *saved;          /* by result: the buffer of a `saved` one, or of a condition */
    uint32_t walks;           /* walks over its units so far */
    int first, end;           /* its steps of the timeline: first..end-1 */
    uint32_t parent,
        owner;       /* a body: the half and the REGION unit there that it belongs to; else GCUT_NONE */
    uint32_t region; /* a body: which region of the node */
} gcut_half;

enum { GCUT_FORWARD, GCUT_BACKWARD, GCUT_NHALVES };

struct gcut_program {
    gcut_module *module;
    const gcut_dim_binding
        *at; /* the sizes and threads that it is to be fast at, 0 = unknown; it is right at all */
    uint32_t nat;
    int threads;
    bool unfused;                 /* no unit takes a second node, and no result the memory of an operand */
    bool apart;                   /* saved values are in a block of their own */
    GCUT_VEC(gcut_half *) halves; /* GCUT_FORWARD, GCUT_BACKWARD, then the bodies of regions */
    GCUT_VEC(gcut_binding_info) bindings;
    GCUT_VEC(gcut_buffer) buffers;
};

/* lower.c: bytes of a buffer, every thread's share together. */
int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads);

/* lower.c: gcut_program_memory, and by buffer the offset that the emitted code has, where it is placed, else
 * GCUT_UNPLACED; offset may be NULL. */
#define GCUT_UNPLACED INT64_MIN
gcut_memory gcut_program_place(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                               int64_t *offset);

/* view.c */
gcut_view gcut_view_contiguous(gcut_module *m, const gcut_type *t, gcut_ref root);
/* The view of a VIEW op's result over what `in` (of type `from`) views; false: a reshape that strides cannot
 * express. */
bool gcut_view_through(gcut_graph *g, const gcut_node *n, const gcut_view *in, gcut_view *out);
/* Element k is element k of the storage, which may have more of them: a slice that begins where it does. */
bool gcut_view_packed(gcut_module *m, const gcut_type *t, const gcut_view *v);
/* The same, and the storage has no others. */
bool gcut_view_identity(const gcut_graph *g, const gcut_type *t, const gcut_view *v);
/* Who reads memory can read the storage as it stands: packed, in the value's dtype and not as bits. */
bool gcut_view_whole(gcut_module *m, const gcut_type *t, const gcut_view *v);
/* Row-major rows of `inner` elements of shape t: element (r, c) is root[r] whatever c. */
bool gcut_view_row_repeat(gcut_module *m, const gcut_type *t, const gcut_view *v, gcut_dim inner);
/* Axes begin..end of t as one axis: false unless their strides chain. *size, *stride of the merged axis. */
bool gcut_view_collapse(gcut_module *m, const gcut_type *t, const gcut_view *v, uint32_t begin, uint32_t end,
                        gcut_dim *size, gcut_dim *stride);
/* The first axis of the suffix of t that holds exactly `inner` elements; rank+1 when there is none. */
uint32_t gcut_view_split(gcut_module *m, const gcut_type *t, gcut_dim inner);

/* unit.c: what units read and depend on. */
uint32_t gcut_unit_new(gcut_half *h, gcut_unit_kind kind, uint32_t node);
/* True when unit `to` depends on unit `from`, through at least one other unit when `indirect`. */
bool gcut_unit_reaches(gcut_half *h, uint32_t from, uint32_t to, bool indirect);
/* While nodes are placed in graph order, `top` of a unit is no less than any node of the units that it
 * depends on, its own included: what depends on `from` has a top of at least from's last node, and no walk
 * goes below it. Node n is later than all before it, so a unit that takes it depends on nothing later; what
 * may depend on that unit, all with a top of at least the unit's own, is raised with it. */
void gcut_unit_raise(gcut_half *h, uint32_t from, uint32_t to);
typedef struct gcut_cursor {
    uint32_t i, k;      /* node, operand */
    uint32_t link, arg; /* of its chain: node, operand */
    uint32_t copy;      /* the COPY unit that is read instead of what was found last, or GCUT_NONE */
} gcut_cursor;
/* The next value that the nodes of a unit read, those of its chains included and of its own members too, from
 * *at (start at {0}); false at the end. */
bool gcut_unit_read(const gcut_half *h, uint32_t unit, gcut_cursor *at, gcut_ref *v);
/* Where it is. */
uint32_t gcut_read_buffer(const gcut_half *h, const gcut_cursor *at, gcut_ref v);
/* The next unit that `unit` depends on, from *at (start at {0}); GCUT_NONE at the end. Repeats are
 * possible. */
uint32_t gcut_unit_deps(const gcut_half *h, uint32_t unit, gcut_cursor *at);
/* The node that a unit, no COPY, is named after: its last one, but of a product that has a sum the product.
 */
static inline uint32_t gcut_unit_result(const gcut_unit *u)
{
    return u->nodes.at[u->sums ? 0 : u->nodes.n - 1];
}
/* The unit that stores what v views; GCUT_NONE for parameters, constants and iotas. */
uint32_t gcut_unit_source(const gcut_half *h, gcut_ref v);
bool gcut_root_is_const(const gcut_half *h, gcut_ref root);
bool gcut_root_is_iota(const gcut_half *h, gcut_ref root);

/* prologue.c: operands that are computed while they are packed. */
typedef struct gcut_chain {
    gcut_ref v;               /* the value, read as it is, row by row, and by this product alone */
    GCUT_VEC(uint32_t) nodes; /* that compute it, operands first */
    gcut_dim rows, inner;
    bool ends_rows; /* a loop behind the product takes whole rows of it */
    int64_t most;   /* packings of an element that cost no more than storing it does */
    uint32_t room;  /* its buffer where the product packs more often, or not at all */
} gcut_chain;
static inline const gcut_chain *gcut_unit_chain(const gcut_unit *u, uint32_t k)
{
    return k < 2 ? u->chain[k] : NULL;
}
/* Does it compute the root? */
bool gcut_chain_has(const gcut_half *h, const gcut_chain *c, gcut_ref root);
/* Once grouped: decides the chains of all products; loops lose what only a chain computes. */
void gcut_prologues(const gcut_program *p, gcut_half *h);
/* The half with a chain as one more loop unit; nothing but what is read of a chain holds in it. */
gcut_half gcut_chain_half(const gcut_half *h, const gcut_chain *c, gcut_arena *a, uint32_t *unit);
typedef struct gcut_product {
    gcut_dim m, n, k, csa; /* csa: elements of A from one step of k to the next */
    int size;              /* bytes of an element */
} gcut_product;
gcut_product gcut_product_of(const gcut_half *h, uint32_t unit);
/* How often the product packs each element of operand k as it computes it, and the room is empty; 0: the
 * operand is made in its room, and packed from there. */
int64_t gcut_chain_packings(const gcut_half *h, uint32_t unit, uint32_t k, const gcut_dim_binding *at,
                            uint32_t nat, int threads);
/* Is the room empty?  Over x->d_<symbol> and nt. */
const char *gcut_chain_fills_c(const gcut_half *h, uint32_t unit, uint32_t k, gcut_size_c *size);

/* How `v`, operand of a member of loop unit u, is read there. */
typedef enum gcut_access {
    GCUT_X_CONST,
    GCUT_X_IOTA,
    GCUT_X_FULL,
    GCUT_X_ROW,
    GCUT_X_LOAD,
    GCUT_X_BLOCKED
} gcut_access;
gcut_access gcut_unit_access(const gcut_half *h, uint32_t u, gcut_ref v, gcut_level user);
/* Every operand that loop u reads from memory steps evenly along its last `inner` elements. */
bool gcut_unit_is_even(const gcut_half *h, uint32_t u, gcut_dim inner);
/* And so it would with node n. */
bool gcut_unit_takes_evenly(const gcut_half *h, uint32_t u, const gcut_node *n, gcut_dim inner);

/* group.c: fills view, unit_of, level, units of a half. */
void gcut_group(gcut_program *p, gcut_half *h);

/* sums.c: sums over rows become part of the products that contract these rows; once units are grouped. */
void gcut_move_sums(gcut_half *h);
/* What such a product adds up besides; 0 for nothing. */
gcut_ref gcut_unit_sum(const gcut_half *h, uint32_t unit);

/* place.c: buffers, in-place results.  The forward graph is placed before the backward graph, a half before
 * the bodies in it. */
void gcut_place_half(gcut_program *p, gcut_half *h);
/* concat.c: operands of a concat that loops compute in its place; once results have theirs. */
void gcut_place_concats(gcut_program *p, gcut_half *h);
/* Operand k of the CONCAT unit is made where it belongs. */
bool gcut_concat_has(const gcut_half *h, uint32_t unit, uint32_t k);
/* update.c: what a unit adds rows to, or multiplies by a number, is made where the result will be, when
 * nothing else reads it. */
void gcut_place_changed(gcut_program *p, gcut_half *h);
/* The number by which the LOOP unit multiplies what is in its result's memory already, and does no more:
 * there is nothing to do when it is 1.  0: it is no such unit. */
gcut_ref gcut_scaling_factor(const gcut_half *h, uint32_t unit);
/* The SCATTER unit adds its rows to what is in its result's memory already. */
bool gcut_scatter_is_inplace(const gcut_half *h, uint32_t unit);
/* Nothing is left to do, and there is no launch: all operands of a concat are made where they belong. */
bool gcut_unit_is_idle(const gcut_half *h, uint32_t unit);
/* order.c: running order. */
void gcut_order_half(gcut_program *p, gcut_half *h);
/* Steps of the timeline from `first` on, and the lifetimes of buffers: a body's units take the steps after
 * their owner's.  Returns the step after the last. */
int gcut_time_half(gcut_program *p, gcut_half *h, int first);

/* inplace.c: results take the memory of operands that die as they are made. */
void gcut_share_buffers(gcut_program *p);

/* region.c: the bodies of if, while and scan. */
/* Operands and results of a region node by what they are to its bodies. */
typedef struct gcut_region_shape {
    uint32_t test;    /* leading operands that no body sees: the predicate of an `if` */
    uint32_t carries; /* operands, and as many leading results, that an iteration updates */
    uint32_t xs;      /* operands of which an iteration sees one part */
} gcut_region_shape;
gcut_region_shape gcut_region_shape_of(const gcut_graph *g, const gcut_node *n);
/* Group: the stacked results of a scan are stored with their axis outermost. */
void gcut_region_views(gcut_half *h, const gcut_node *n);
/* Place, in the half around: results get their memory and the initial values of carries go there. */
void gcut_region_carries(gcut_program *p, gcut_half *h);
/* Group, in a body: views and buffers of its parameters.  Place: its results. */
void gcut_region_params(gcut_program *p, gcut_half *body);
void gcut_region_results(gcut_program *p, gcut_half *body);

/* place.c, for region.c. */
uint32_t gcut_place_buffer(gcut_program *p, gcut_buffer b);
/* Memory of its own for the storage behind v, unless it has some. */
void gcut_place_store(gcut_program *p, gcut_half *h, gcut_ref v);
/* Result v goes to that buffer, written directly or by a copy. */
void gcut_place_at(gcut_half *h, gcut_ref v, uint32_t to);
/* update.c: values that overwrite the parameters in those buffers, all at once. */
typedef struct gcut_update {
    gcut_ref v;
    uint32_t to;
} gcut_update;
void gcut_place_updates(gcut_program *p, gcut_half *h, const gcut_update *u, uint32_t n);
/* The parameter of this half that lives in a buffer, or 0. */
gcut_ref gcut_place_param(const gcut_half *h, uint32_t buffer);
/* place.c, for update.c: a buffer in the arena for a value of type t. */
uint32_t gcut_place_arena(gcut_program *p, const gcut_type *t, const char *name);
/* The storage behind v may become a buffer: made by a unit of this half, whole, and not placed yet. */
bool gcut_place_can_own(const gcut_half *h, gcut_ref v);
/* A new unit that copies v there. */
uint32_t gcut_place_copy(gcut_half *h, gcut_ref v, uint32_t to);

/* ---- emission ---- */

/* A kernel is a function of the buffers and the numbers (sizes, strides, offsets) that it is given, so that
 * units that differ in nothing else (the layers of a transformer, the stages of a convolutional network)
 * share one: NAME_f<number>, emitted once.  Launches are numbered k0, k1, … in running order; each is a row
 * of the table NAME_code, which gcut_rt_launch runs.
 *
 * A number that a function takes stands in its text as \2<expression>\3, or \5<expression>\3 where it divides
 * what changes from row to row; \4 is where the function declares what it takes.  gcut_c_function replaces
 * them, numbers counted in order of appearance. */
typedef enum gcut_function_type {
    GCUT_F_KERNEL, /* gcut_rt_kernel_fn: of a launch */
    GCUT_F_TILE,   /* gcut_rt_tile_fn, NAME_f<label>_rows: called by a product for its tiles */
    GCUT_F_FILL    /* gcut_rt_fill_fn: called by a product for an operand */
} gcut_function_type;

typedef struct gcut_function {
    const char *text;  /* with \1 where the label goes */
    const char *label; /* "3_h2": its number and the last value that its first kernel makes */
    const char *about; /* the comment in front of it */
    uint64_t hash;
    gcut_function_type type;
} gcut_function;

typedef GCUT_VEC(gcut_function) gcut_functions;
typedef GCUT_VEC(const char *) gcut_strings;

/* What all kernels of a program are emitted into. */
typedef struct gcut_emission {
    gcut_functions functions; /* emitted so far */
    gcut_text code;           /* the rows of NAME_code */
    gcut_text sites;          /* the rows of NAME_site, one for each index check */
    uint32_t words, nsites;   /* so many numbers, and rows, so far */
    uint32_t most;            /* numbers of a row, at most */
    gcut_strings sizes;       /* the expressions of GCUT_RT_SIZE(0), … over x->d_<symbol> */
    uint32_t *place;          /* by buffer: its index in gcut_rt_call.at */
    uint32_t nslots, nplaces; /* places of the arena's buffers, which come first; all of them */
    uint32_t nvalues;         /* room of `local` and `seen`, gcut_emission_room */
    const char **local;       /* by value: NULL, but inside gcut_c_function its number there */
    bool *seen;               /* by value: false, but inside a loop that reads it */
    uint32_t *number;         /* by buffer: of the loop being written, gcut_loop.number */
    bool line;                /* lines have marks of the source lines in `lines`, emit_line.c */
    GCUT_VEC(gcut_place) lines;
} gcut_emission;

typedef struct gcut_emitter {
    const gcut_program *p;
    const gcut_half *h;
    uint32_t unit;
    uint32_t number;    /* of the launch: k<number> */
    const char *prefix; /* the program's name as a C identifier */
    gcut_emission *all;
    gcut_text *body;         /* the function being written */
    gcut_text *call;         /* the body of NAME_half<k>, or of a region inside it */
    GCUT_VEC(uint32_t) args; /* the buffers behind b[0], b[1], … of this launch */
    gcut_strings numbers;    /* the expressions behind n[0], n[1], …, once its function is emitted */
    struct {
        uint32_t function;
        const char *args; /* as the launch's row has them */
    } fill[2];            /* a product's chains, by operand */
} gcut_emitter;

/* loop.c: row scratch (bytes per thread) and partial results (bytes in all) of a LOOP unit; 0 = none. */
void gcut_loop_workspace(const gcut_half *h, uint32_t unit, gcut_dim *scratch, gcut_dim *partial,
                         gcut_module *m);
/* attention.c: bytes per thread, and who takes part, of an ATTENTION or ATTENTION_GRAD unit. */
gcut_dim gcut_attention_workspace(const gcut_half *h, uint32_t unit);
#define GCUT_MADD_PS 15 /* of a multiply-add, when deciding how many threads a kernel deserves */
/* How many threads take part in a unit's launch: known exactly beforehand, so that workspace is. */
typedef struct gcut_crew {
    gcut_dim n, rows;
    int64_t ps; /* predicted cost of an element, picoseconds */
    bool blocked;
    bool tiled;   /* runs behind a product on tiles when there are rows enough, */
    bool columns; /* or on any tiles */
    gcut_dim k;   /* tiled: the contracted size */
} gcut_crew;
gcut_crew gcut_loop_crew(const gcut_half *h, uint32_t unit);
gcut_crew gcut_attention_crew(const gcut_half *h, uint32_t unit);
/* Of whichever kind the unit is. */
gcut_crew gcut_unit_crew(const gcut_half *h, uint32_t unit);
int gcut_crew_at(gcut_module *m, const gcut_crew *c, const gcut_dim_binding *at, uint32_t nat, int threads);
const char *gcut_crew_c(gcut_module *m, const gcut_crew *c, gcut_size_c *size); /* over nt, too */
/* epilogue.c */
/* Row r of the loop unit reads row r of the product and no other: it can run tile by tile right behind it. */
bool gcut_is_epilogue(const gcut_half *h, uint32_t gemm, uint32_t unit);
/* No row of the epilogue is more than the sum of its columns: a tile may be any part of the product. */
bool gcut_takes_columns(const gcut_half *h, uint32_t unit);
/* Flat loops behind a product of their shape get its rows, so that they can be its epilogue; once ordered. */
void gcut_shape_epilogues(gcut_half *h);
/* emit_unit.c: every kind but LOOP: the function, whose number it returns. */
uint32_t gcut_emit_unit(gcut_emitter *e);
/* What it is called, for comments; whether it checks indexes. */
const char *gcut_unit_kind_name(const gcut_unit *u);
bool gcut_unit_indexes(const gcut_unit *u);
/* The functions of a product's chains, first of all; how many there are. */
void gcut_emit_chains(gcut_emitter *e);
uint32_t gcut_chains(const gcut_emitter *e);
/* The pointer to operand k as the unit reads it, packed; and to its result. */
const char *gcut_emit_operand(gcut_emitter *e, uint32_t k);
const char *gcut_emit_result(gcut_emitter *e);
/* emit_window.c: the calls of convolutions and pools. */
void gcut_emit_conv(gcut_emitter *e);
void gcut_emit_pool(gcut_emitter *e);
/* Elements of workspace that a convolution needs. */
gcut_dim gcut_conv_workspace(const gcut_half *h, uint32_t unit);

/* emit_table.c: the statements of init that lay out the arena, to its end; the function that checks the
 * arguments of a call: those of the halves that run, for what a half does not touch may be null. */
void gcut_emit_layout(const gcut_program *p, gcut_text *c);
void gcut_emit_check(const gcut_program *p, const char *name, gcut_text *c);

/* emit_team.c: the statements of init that set plan->team, over x->d_<symbol> and nt. */
void gcut_emit_team(const gcut_program *p, gcut_text *c);

/* emit_half.c: all units of a half in their order: functions and rows into e->all, what runs these into
 * `call`. */
void gcut_emit_half(const gcut_emitter *like, const gcut_half *h, gcut_text *call);

/* emit_launch.c: the table of launches. */
/* Numbers the places of all buffers. */
void gcut_number_places(const gcut_program *p, gcut_emission *all);
/* "4, 48, 49, 50, 53, 1, 32": the buffers and the numbers of e, as a row has them. */
const char *gcut_launch_args(gcut_emitter *e);
/* The row of a launch of that function, with the arguments of e, of its chains and of its epilogue, when
 * there is one; so many rows of NAME_site follow for its index checks. */
void gcut_emit_launch(gcut_emitter *e, uint32_t function, uint32_t checks, gcut_emitter *epilogue,
                      const char *kind);
/* The row of NAME_site for an index check of node n. */
void gcut_emit_check_site(gcut_emitter *e, const gcut_node *n, gcut_dim limit);
/* A comment of one line: the unit's number, kind, results and place. */
void gcut_c_comment(gcut_emitter *e, const char *kind, gcut_text *out);
/* The statement that runs the launches from that word of the table on, if there are any. */
void gcut_emit_run(gcut_emitter *e, uint32_t from);
/* A size where `call` is at: a number or x->size[k]. */
const char *gcut_call_size(gcut_emitter *e, gcut_dim d);
/* The number of an expression over x->d_<symbol> among the sizes of the call. */
uint32_t gcut_size_number(gcut_emission *all, gcut_arena *a, const char *expression);

/* emit_line.c: the mark, a line of its own, before C that computes a value of the source line behind loc, or,
 * loc 0, that computes none; "" where no lines are asked for. */
const char *gcut_c_line(const gcut_emitter *e, gcut_locid loc);
/* NAME.c from its marked text: #line directives in the place of marks. */
void gcut_emit_lines(const gcut_emission *all, const char *name, const gcut_text *marked, gcut_text *c);

/* emit_parts.c: the functions of kernels, in parts that are compiled at once. */
/* How many parts, by the C alone, of which `rest` bytes are no kernels and belong to the first. */
uint32_t gcut_count_parts(const gcut_emission *all, size_t rest);
/* Declarations of all functions, and their definitions, part by part. */
void gcut_emit_functions(const gcut_emission *all, const char *name, uint32_t parts, size_t rest,
                         gcut_text *c);
/* NAME_functions, which NAME_code counts by: the functions of launches, NULL for the others. */
void gcut_emit_function_table(const gcut_emission *all, const char *name, gcut_text *c);

/* emit_text.c: pieces of C. */
const char *gcut_c_type(gcut_dtype t);                    /* float, int32_t, … */
const char *gcut_c_local(gcut_dtype t);                   /* of a variable: bool is int */
const char *gcut_c_name(gcut_arena *a, const char *name); /* a C identifier */
const char *gcut_c_dim(gcut_module *m, gcut_dim d);       /* over x->d_<symbol> */
/* In the function of a kernel: a number that it is given; a divisor, of type gcut_rt_divisor; a number that
 * equal functions have in common, where it is known. */
const char *gcut_c_size(gcut_module *m, gcut_dim d);
const char *gcut_c_named(gcut_module *m, const char *name, gcut_dim d); /* once, wherever it stands */
const char *gcut_c_divisor(gcut_module *m, gcut_dim d);
const char *gcut_c_kept(gcut_module *m, gcut_dim d);
const char *gcut_c_number(gcut_module *m, double x, gcut_dtype t);
/* A NUM attribute of node n, which has it, as a constant of dtype t. */
const char *gcut_c_attr(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t);
/* The scalar expression of a constant root (full, dim). */
const char *gcut_c_const(const gcut_graph *g, gcut_ref root);
/* The expression of POINT node n on operand expressions arg[]. */
const char *gcut_c_expr(const gcut_graph *g, const gcut_node *n, const char *const *arg);
/* b[k], the argument of this launch that stands for a buffer. */
const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer);
/* Where a buffer is when its unit runs: a `void *`, or a `char *` for a part of one. */
const char *gcut_c_pointer(gcut_emitter *e, uint32_t buffer);
/* Makes room for what the emission has by value and by buffer of e's graph. */
void gcut_emission_room(gcut_emitter *e);
/* Ends the function in e->body: numbers its variables from 0 in order of appearance, or with lines calls them
 * by their values, and adds it unless an equal one exists. Returns its number; \1 in the text stands for its
 * label. */
uint32_t gcut_c_function(gcut_emitter *e, gcut_function_type type);
/* "model.c:41:9", or "". */
const char *gcut_c_place(const gcut_graph *g, gcut_locid loc);
/* Gives every binding its member name of NAME_io. */
void gcut_c_fields(gcut_program *p);

#endif
