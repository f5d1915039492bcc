/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room graph/: the intermediate representation.
 *
 *   takes:  ops, types, attributes and bodies from the parser (text/), the public builder (driver/builder/)
 *           and the passes
 *   gives:  typed graphs, verified on request; symbolic sizes; facts about ops and dtypes; decompositions of
 *           composite ops; copies and rewriting of graphs
 *   keeps:  G1 to G10 below; ids of existing values and nodes; a node and its bodies once they are created, until
 *           gcut_bodies_canonical replaces the bodies of a new graph
 *
 *   dim/        sizes: normal forms of expressions over symbols, bounds, substitution
 *   ops/        the op table ops.def, shape rules, einsum, counts of multiply-adds
 *   decompose/  decompositions of composite ops
 */

/* The graph.  A module is a list of named graphs (functions) over one table of
 * dims, names and locations.
 *
 *   gcut_graph
 *   ├─ params[]   role, value                   (param input state rng cotan saved)
 *   ├─ nodes[]    ┌ op | args ─▶ args[] pool   value ids
 *   │             │ attrs ─▶ attrs[] pool      sorted by key; defaults are not stored
 *   │             │ marks ─▶ marks[] pool
 *   │             │ regions ─▶ regions[] pool  each a graph of its own
 *   │             └ res0..res0+nres-1 ─▶ values[]
 *   ├─ values[]   name, type, def (node or GCUT_NONE for a parameter)
 *   └─ results[]  role, name, value             (out grad saved next)
 *
 * A region (the body of a loop, an arm of a conditional) is closed.  The parameters of its graph are the
 * arguments that the op passes, then the values that it captures from the graph around it, which are the
 * last `ncaptured` operands of its node; its results are the values that it yields.  So every graph is a
 * straight line, and a pass that ignores control flow is right on each.  A body is not in the module's
 * list.  It is immutable: copies of its node may share it, until gcut_bodies_canonical gives each its own.
 * The regions of a
 * `call` are functions of the module: the one called and, optionally, its derivative (graph/custom.h).
 *
 * References are indices; building a node may move every array, so a pointer into one does not survive the
 * next gcut_node_new.  Id 0 of values is never used: a gcut_ref of 0 is "no value".
 *
 * Invariants (graph/verify.c has one function for each, G6 and G9 in verify_interface.c):
 *   G1  every operand is defined before its user (topological order), in scope
 *   G2  operand count, and attributes by key and kind, are those of the op table
 *   G3  every result type equals what the shape rule infers
 *   G4  value names are non-empty, unique in the graph, of [A-Za-z0-9_.], and by_name finds each value
 *   G5  every symbol in a type is declared, declarations have lo <= hi, mult >= 1
 *   G6  an rng parameter is i64[] or i64[n]; results name values in scope of equal type; `next w`
 *       names a param or state of its type, `grad w` a param, input or state of its type; names
 *       unique per role
 *   G7  locations exist and refer backwards
 *   G8  a node has the regions that its op has; a body takes the arguments of the op and then the captured
 *       values, each of the operand's type; its run-time checks are also its owner's, and it is not nested
 *       in itself; a call has a function of the module
 *   G9  the two functions of a pair are two, and agree: fwd's `saved` results are bwd's `saved` parameters by name and
 *       type; what is late is of bwd alone; bwd reads no #transient parameter; symbols are declared alike
 *   G10 #adjoint is of a scan, and names a result of a scan before it, or what the forward graph saved of one;
 *       #cotan is of a float scalar 1, not in a body, and names a value of its type before it
 */
#ifndef GCUT_GRAPH_GRAPH_H
#define GCUT_GRAPH_GRAPH_H

#include "base/map.h"
#include "graph/dim/dim.h"
#include "graph/mark.h"
#include "graph/ops/dtype_info.h"
#include "graph/ops/op_info.h"

/* ---- values and nodes ---- */

typedef uint32_t gcut_ref; /* value id; 0 = none */
#define GCUT_NONE UINT32_MAX
typedef uint32_t gcut_locid; /* 0 = unknown */

typedef struct gcut_type {
    gcut_dtype dtype;
    uint8_t rank;
    gcut_dim dim[GCUT_MAX_RANK];
} gcut_type;

/* A hash table of the types of a module's values. */
typedef struct gcut_type_table {
    const gcut_type **slot;
    uint32_t n, cap; /* cap: a power of two, or 0 */
} gcut_type_table;

typedef struct gcut_value {
    const char *name;      /* interned */
    const gcut_type *type; /* interned: equal types of a module are one */
    uint32_t def;          /* node, or GCUT_NONE: parameter */
    uint32_t index;        /* which result of def / which parameter */
    bool made_up;          /* the name is generated (names.c) */
} gcut_value;

/* A number as written: integers keep all 64 bits. */
typedef struct gcut_num {
    bool is_int;
    int64_t i;
    double f; /* always set; == i when is_int */
} gcut_num;

typedef struct gcut_attr {
    gcut_attr_key key;
    gcut_attr_kind kind;
    uint32_t n; /* DIMS: how many */
    union {
        gcut_dim dim;
        const gcut_dim *dims; /* in the module's arena */
        gcut_num num;
        bool flag;
        const char *str; /* interned */
    } u;
} gcut_attr;

struct gcut_graph;

typedef struct gcut_region {
    struct gcut_graph *body;
} gcut_region;

typedef struct gcut_node {
    uint16_t op; /* gcut_op */
    uint16_t nres;
    gcut_ref res0;
    uint32_t arg0, nargs;
    uint32_t attr0, nattrs;
    uint32_t reg0, nregs;
    uint32_t ncaptured; /* trailing operands that are the captured values of its regions */
    gcut_locid loc;
    gcut_marks marks;
} gcut_node;

/* ---- functions and bodies ---- */

typedef enum gcut_role {
    GCUT_ROLE_param,
    GCUT_ROLE_input,
    GCUT_ROLE_state,
    GCUT_ROLE_rng,
    GCUT_ROLE_cotan,
    GCUT_ROLE_saved, /* parameter of a backward graph, and result of a forward graph */
    GCUT_ROLE_out,
    GCUT_ROLE_grad,
    GCUT_ROLE_next,
    GCUT_NROLES
} gcut_role;
const char *gcut_role_name(gcut_role r);
/* May its parameters have initial contents? */
static inline bool gcut_role_has_data(gcut_role r)
{
    return r == GCUT_ROLE_param || r == GCUT_ROLE_input || r == GCUT_ROLE_state;
}

typedef struct gcut_param {
    gcut_role role;
    gcut_ref value;
    gcut_marks marks;
} gcut_param;

typedef struct gcut_result {
    gcut_role role;
    const char *name;
    gcut_ref value;
    gcut_marks marks;
} gcut_result;

/* Sizes that must be equal at run time because they could not be decided. */
typedef struct gcut_dim_check {
    gcut_dim a, b;
    gcut_locid loc;
} gcut_dim_check;

/* A value of the graph around a body under construction, and the parameter that stands for it inside. */
typedef struct gcut_capture {
    gcut_ref outer, inner;
} gcut_capture;

typedef struct gcut_module gcut_module;

/* A hash table of values by the names that they have (graph/names.c). */
typedef struct gcut_name_table {
    gcut_ref *slot;
    uint32_t n, cap; /* cap: a power of two, or 0 */
} gcut_name_table;

typedef struct gcut_graph {
    gcut_module *module;
    const char *name;
    gcut_marks marks;
    gcut_locid loc;
    GCUT_VEC(gcut_dim_decl) decls;
    GCUT_VEC(gcut_param) params;
    GCUT_VEC(gcut_result) results;
    GCUT_VEC(gcut_value) values; /* values.at[0] is unused */
    GCUT_VEC(gcut_node) nodes;
    GCUT_VEC(gcut_ref) args;
    GCUT_VEC(gcut_attr) attrs;
    GCUT_VEC(gcut_region) regions;
    GCUT_VEC(gcut_dim_check) checks;
    gcut_map decl_of; /* of a symbol: its declaration, + 1 */
    gcut_name_table by_name;
    gcut_map last_number; /* of a name: the last number appended to it (graph/names.c) */
    /* A graph that is copied, with its declarations: none of its names is made up, for copies want them. */
    const struct gcut_graph *copy_of;
    bool failed;                     /* a public builder call on it failed */
    const gcut_diag *failure;        /* what the first one said; NULL: nothing, or memory was short */
    const char *scope;               /* of the public builder: goes into locations */
    bool is_body;                    /* of a region: not in the module's list */
    struct gcut_graph *outer;        /* a body under construction: the graph around it */
    uint32_t nopen;                  /* bodies under construction inside of it, by functions of the caller */
    GCUT_VEC(gcut_capture) captures; /* … and what it has captured so far */
    /* Contents of its values while it is built (driver/trace/computed.h); NULL: it has none. */
    struct gcut_computed *computed;
} gcut_graph;

/* ---- modules ---- */

/* A line of a user's file, with an optional scope; a `call` is derived from other locations: name(args). */
typedef struct gcut_loc {
    const char *name;  /* the file; of a call grad, remat, saved, or any other word of the text */
    const char *scope; /* NULL or "mlp/fc1" */
    const gcut_locid *args;
    const char *text; /* of a call: "Relu_17" of onnx("Relu_17"), NULL = none */
    uint32_t nargs;
    int line, col;
    bool call;
} gcut_loc;

/* The words of the text IR. */
typedef enum gcut_data_kind {
    GCUT_DATA_splat,
    GCUT_DATA_dense,
    GCUT_DATA_file,
    GCUT_DATA_normal,
    GCUT_DATA_uniform,
    GCUT_NDATA_KINDS
} gcut_data_kind;
const char *gcut_data_kind_name(gcut_data_kind k);

typedef struct gcut_data {
    const char *name;
    gcut_type type;
    gcut_data_kind kind;
    uint32_t nnums;
    const double *nums;
    const char *file, *key; /* GCUT_DATA_file */
    gcut_marks marks;
} gcut_data;

typedef struct gcut_pair {
    const char *name;
    const char *fwd, *bwd;
    gcut_marks marks;
} gcut_pair;

/* One attribute an op accepts, read from its spec string in ops.def. */
typedef struct gcut_attr_spec {
    gcut_attr_key key;
    bool required, has_default;
    gcut_attr value; /* the default */
} gcut_attr_spec;

typedef struct gcut_op_spec {
    uint32_t n;
    gcut_attr_spec *at;
} gcut_op_spec;

struct gcut_module {
    gcut_env *env;
    gcut_arena *arena;
    gcut_names names;
    gcut_type_table types;
    gcut_dims *dims;
    gcut_op_spec *specs;     /* by op */
    const char *file;        /* where it was read from, or NULL */
    GCUT_VEC(gcut_loc) locs; /* at[0] is "unknown" */
    GCUT_VEC(gcut_data) data;
    GCUT_VEC(gcut_graph *) graphs;
    gcut_map
        by_name; /* of a name that graphs had: the place of one of them in the list, + 1, until one is removed */
    GCUT_VEC(gcut_pair) pairs;
};

/* ---- reading ---- */

static inline const gcut_node *gcut_node_at(const gcut_graph *g, uint32_t n)
{
    return &g->nodes.at[n];
}
static inline const gcut_type *gcut_type_of(const gcut_graph *g, gcut_ref v)
{
    return g->values.at[v].type;
}
static inline gcut_ref gcut_arg(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    return g->args.at[n->arg0 + k];
}
/* The node that defines v, or NULL for a parameter. */
static inline const gcut_node *gcut_def(const gcut_graph *g, gcut_ref v)
{
    uint32_t d = g->values.at[v].def;
    return d == GCUT_NONE ? NULL : &g->nodes.at[d];
}
static inline const gcut_region *gcut_region_at(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    return &g->regions.at[n->reg0 + k];
}
/* The operand of n that parameter i of its region's `body` stands for. */
static inline uint32_t gcut_region_operand(const gcut_node *n, const gcut_graph *body, uint32_t i)
{
    uint32_t given = body->params.n - n->ncaptured;
    return i < given ? i : n->nargs - n->ncaptured + (i - given);
}
/* The value of that name, 0 = none. */
gcut_ref gcut_graph_find(const gcut_graph *g, const char *name);

/* Is a parameter or result there with the backward call alone: a cotangent, a gradient, an input or an `out`
 * result marked #late? */
static inline bool gcut_is_late(gcut_role role, const gcut_marks *m)
{
    return role == GCUT_ROLE_cotan || role == GCUT_ROLE_grad || gcut_mark_find(m, GCUT_MARK_late);
}
static inline bool gcut_param_is_late(const gcut_param *p)
{
    return gcut_is_late(p->role, &p->marks);
}
/* Does the backward graph give it: a gradient, a next value, an `out` result marked #late? */
static inline bool gcut_result_is_late(const gcut_result *r)
{
    return r->role != GCUT_ROLE_out || gcut_mark_find(&r->marks, GCUT_MARK_late);
}
/* The caller may overwrite its memory before the backward call: #transient, on an input, a key or an `out`
 * result. */
static inline bool gcut_is_transient(const gcut_marks *m)
{
    return gcut_mark_find(m, GCUT_MARK_transient) != NULL;
}
/* Where forward and backward are separate calls: must a parameter or result be in memory during that one? */
static inline bool gcut_in_call(gcut_role role, const gcut_marks *m, bool backward)
{
    return backward ? !gcut_is_transient(m) : !gcut_is_late(role, m);
}

/* Is an operand of n, or a result, in the set of values `in`, which is by value id? */
static inline bool gcut_any_arg(const gcut_graph *g, const gcut_node *n, const bool *in)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (in[gcut_arg(g, n, k)]) return true;
    return false;
}
static inline bool gcut_any_result(const gcut_node *n, const bool *in)
{
    for (uint32_t k = 0; k < n->nres; k++)
        if (in[n->res0 + k]) return true;
    return false;
}

/* ---- queries (graph/queries.c) ---- */

/* The parameter of that name, NULL = none. */
const gcut_param *gcut_param_find(const gcut_graph *g, const char *name);
/* The op that defines v, or the role of a parameter, as text. */
const char *gcut_maker_name(const gcut_graph *g, gcut_ref v);
/* Is v zeros: a constant 0, or a view of one? */
bool gcut_is_zero(const gcut_graph *g, gcut_ref v);
bool gcut_takes_saved(const gcut_graph *g); /* as a parameter */
/* Is g, or the function around a body under construction, the forward or the backward graph of a split?  It
 * is when it has `saved` results or parameters, is marked #fwd or #bwd, or a pair names it so. */
bool gcut_is_forward(const gcut_graph *g);
bool gcut_is_backward(const gcut_graph *g);

/* The pair of the module whose backward graph is g; NULL = none. */
const gcut_pair *gcut_pair_of(const gcut_graph *g);
/* The graphs of that pair, two; without a pair g alone, one. */
uint32_t gcut_pair_graphs(gcut_graph *g, gcut_graph *out[2]);

/* Adds to a set of values, by value id, all that depend on them. */
void gcut_add_dependents(const gcut_graph *g, bool *in);
/* The same with all that they are computed from. */
void gcut_add_dependences(const gcut_graph *g, bool *in);
/* By value: how often nodes and results read it. */
uint32_t *gcut_count_uses(const gcut_graph *g, gcut_arena *a);
/* By node: is it determined by sizes alone (a constant, or elementwise arithmetic and views of such values)? */
bool *gcut_sizes_only(const gcut_graph *g, gcut_arena *a);

/* Do f and g have equal parameters, nodes and results under equal ids, bodies included?  Names are ignored. */
bool gcut_graph_same(const gcut_graph *f, const gcut_graph *g);
/* The same, whatever their results are; those of bodies count. */
bool gcut_graph_same_nodes(const gcut_graph *f, const gcut_graph *g);

/* ---- attributes (graph/attr.c) ---- */

/* The attribute, or its default from the op table; NULL when optional and absent. */
const gcut_attr *gcut_attr_get(const gcut_graph *g, const gcut_node *n, gcut_attr_key key);
/* The same among those at[0..n-1] of a node of that op. */
const gcut_attr *gcut_attr_among(const gcut_module *m, gcut_op op, const gcut_attr *at, uint32_t n,
                                 gcut_attr_key key);
bool gcut_attr_flag(const gcut_graph *g, const gcut_node *n, gcut_attr_key key); /* false when absent */
double gcut_attr_num(const gcut_graph *g, const gcut_node *n,
                     gcut_attr_key key); /* must be present or defaulted */
/* Reduction axes as a bit mask over the operand's axes; absent = all. */
uint32_t gcut_attr_axes(const gcut_graph *g, const gcut_node *n);
/* NULL: the op has no such attribute. */
const gcut_attr_spec *gcut_attr_spec_of(const gcut_module *m, gcut_op op, gcut_attr_key key);

gcut_attr gcut_attr_dim(gcut_attr_key k, gcut_dim d);
gcut_attr gcut_attr_dims(gcut_module *m, gcut_attr_key k, const gcut_dim *d, uint32_t n); /* copies */
gcut_attr gcut_attr_bool(gcut_attr_key k, bool b);
gcut_attr gcut_attr_real(gcut_attr_key k, double f);
gcut_attr gcut_attr_int(gcut_attr_key k, int64_t i);
gcut_attr gcut_attr_str(gcut_module *m, gcut_attr_key k, const char *s);
bool gcut_attr_equal(const gcut_attr *a, const gcut_attr *b);
bool gcut_attrs_equal(const gcut_graph *f, const gcut_node *a, const gcut_graph *g, const gcut_node *b);
/* Equal ops, attributes and types of results; operands, marks and regions are not looked at. */
bool gcut_nodes_alike(const gcut_graph *f, const gcut_node *a, const gcut_graph *g, const gcut_node *b);

/* ---- types ---- */

/* Can sizes a and b never be equal? */
static inline bool gcut_dims_differ(const gcut_graph *g, gcut_dim a, gcut_dim b)
{
    return gcut_dim_compare(g->module->dims, a, b, g->decls.at, g->decls.n) == GCUT_DIM_DIFFERS;
}
/* Equal dtypes and ranks, and sizes that are equal or may be. */
bool gcut_types_may_agree(const gcut_graph *g, const gcut_type *a, const gcut_type *b);
/* t with its symbols replaced. */
gcut_type gcut_type_substitute(gcut_module *m, gcut_type t, const gcut_dim_subst *s, uint32_t n,
                               gcut_place place);
bool gcut_type_equal(const gcut_type *a, const gcut_type *b); /* dtype and normal forms */
bool gcut_shape_equal(const gcut_type *a, const gcut_type *b);
gcut_dim gcut_type_numel(gcut_module *m, const gcut_type *t);
void gcut_type_print(const gcut_module *m, const gcut_type *t, gcut_text *out); /* f32[N, 256] */
const char *gcut_type_text(gcut_arena *a, const gcut_module *m, const gcut_type *t);

/* ---- appending to a graph (graph/construction.c) ---- */

/* A new value that is a parameter.  Its name must be new to the graph: a generated name gives way to it, any
 * other duplicate throws. */
gcut_ref gcut_param_new(gcut_graph *g, gcut_role role, const char *name, const gcut_type *type);
void gcut_result_new(gcut_graph *g, gcut_role role, const char *name, gcut_ref value);
void gcut_decl_add(gcut_graph *g, gcut_dim_decl decl);
const gcut_dim_decl *gcut_decl_find(const gcut_graph *g, gcut_dim sym); /* NULL: it is not declared */
/* dst gets the declarations of src (same module). */
void gcut_decls_copy(gcut_graph *dst, const gcut_graph *src);
/* Sizes a and b must agree: no-op when equal, throws when they cannot be, else records a run-time check. */
void gcut_dim_require(gcut_graph *g, gcut_dim a, gcut_dim b, gcut_locid loc, const char *what);

/* Requires in dst what src requires at run time; their sizes are the same. */
void gcut_checks_copy(gcut_graph *dst, const gcut_graph *src);

/* Checks operands and attributes against the op table, infers the result types by the shape rule, appends
 * the node and its results.  Attributes that equal their default are dropped. name NULL = one that is
 * generated (names.c), else made unique.  Returns the first result.  Throws GCUT_ETYPE with a diagnostic
 * at `loc`. */
gcut_ref gcut_node_new(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t nargs,
                       const gcut_attr *attrs, uint32_t nattrs, gcut_locid loc, const char *name);
/* The same, with result types known beforehand: throws unless they equal the inferred ones
 * (undecided dims become run-time checks). types may be NULL. */
gcut_ref gcut_node_typed(gcut_graph *g, gcut_op op, const gcut_ref *args, uint32_t nargs,
                         const gcut_attr *attrs, uint32_t nattrs, gcut_locid loc, const char *name,
                         const gcut_type *types, uint32_t ntypes);
/* All inputs of a node's construction.  The two functions above are short forms; nodes with regions need
 * this one. */
typedef struct gcut_node_spec {
    gcut_op op;
    const gcut_ref *args; /* the captured values last */
    uint32_t nargs, ncaptured;
    const gcut_attr *attrs;
    uint32_t nattrs;
    const gcut_region *regions;
    uint32_t nregs;
    gcut_locid loc;
    const char *name;         /* of the first result, and base of the others' names; NULL = generated */
    const gcut_type *types;   /* NULL, or one per result */
    const char *const *names; /* NULL, or one per type */
    uint32_t ntypes;
} gcut_node_spec;
gcut_ref gcut_node_make(gcut_graph *g, const gcut_node_spec *s);
/* The spec of node n of g without names and types; its lists are g's own. */
gcut_node_spec gcut_node_spec_of(const gcut_graph *g, const gcut_node *n);
/* Copies node n of src to dst with other operands and the same op, attributes and regions, and with the
 * marks that gcut_marks_carry gives for `map`; name NULL = same name made unique. */
gcut_ref gcut_node_copy(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                        const gcut_ref *map, gcut_locid loc, const char *name);
/* The same, each result with a name of its own, made unique. */
gcut_ref gcut_node_copy_as(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                           const gcut_ref *map, gcut_locid loc, const char *const *names);

/* The marks of a node of src for its copy in dst, where map, by value of src, says what became of the values
 * that they name: 0 of a value and of every other result of its node = it is not there.  map NULL: the copy
 * is in src itself, or no mark names a value (graph/mark_table.c). */
gcut_marks gcut_marks_carry(const gcut_graph *dst, const gcut_graph *src, const gcut_marks *marks,
                            const gcut_ref *map);

/* ---- regions (graph/regions/) ---- */

/* The number of arguments that the op passes to each region, for a node with `nargs` operands that are not
 * captured. */
uint32_t gcut_region_nargs(gcut_op op, uint32_t nargs);
/* Number of carried values of a scan or while node. */
uint32_t gcut_node_carries(const gcut_graph *g, const gcut_node *n);
/* The number of iterations of a scan: its attribute, else the length of its first sliced operand. */
gcut_dim gcut_scan_length(const gcut_graph *g, const gcut_node *n);
#define GCUT_WHILE_RUNS 64 /* assumed iterations of a `while` without a bound */
/* The assumed number of runs of a body at these sizes: 1/2 for each arm of an `if`, GCUT_WHILE_RUNS for a
 * `while` without a bound.  Throws GCUT_EDIM where a length has no value. */
double gcut_region_runs(const gcut_graph *g, const gcut_node *n, const gcut_dim_binding *at, uint32_t nat);

/* An empty body of a node of `outer`: its declarations, no parameters. */
gcut_graph *gcut_body_new(gcut_graph *outer);
/* The parameter of `body` that stands for value v of the graph around it; made when v is new to it. */
gcut_ref gcut_body_capture(gcut_graph *body, gcut_ref v);
/* Ends the construction of bodies of one node: gives all of them parameters for everything that any of them
 * captured, in one order after their nargs[k] arguments.  Returns the captured values of the outer graph, in
 * the module's arena. */
gcut_ref *gcut_bodies_close(gcut_graph *const *bodies, const uint32_t *nargs, uint32_t n,
                            uint32_t *ncaptured);
/* One more value that a body yields, under a name of its own. */
void gcut_body_yield(gcut_graph *body, gcut_ref v);
/* Replaces the bodies of g's nodes by canonical copies (canonical_bodies.c): printing g and reading it back gives the
 * same ids and names.  Values and nodes of g keep their ids; nodes lose operands that they captured twice or in vain. */
void gcut_bodies_canonical(gcut_graph *g);

/* ---- modules and their functions ---- */

gcut_module *gcut_module_new(gcut_env *env, gcut_arena *parent);
/* The copy of g, a function, in a new module under `parent`, with the functions that it calls, the pair whose
 * backward graph it is, and the contents of its parameters.  Ids of values, nodes, locations and dims are those of g. */
gcut_graph *gcut_module_clone(const gcut_graph *g, gcut_arena *parent);
/* The copy of g, a function of another module, beside the functions of `to`, with those that it calls, under names that
 * are new there. */
gcut_graph *gcut_function_copy(const gcut_graph *g, gcut_module *to);
gcut_graph *gcut_graph_create(gcut_module *m, const char *name); /* appended to m; throws on a duplicate */
/* What a pass over src writes to: a graph of that name in the module, or a body when src is one. */
gcut_graph *gcut_graph_like(const gcut_graph *src, const char *name);
gcut_graph *gcut_module_find(const gcut_module *m, const char *name); /* the first of that name */
/* Appends g, which has a name. */
void gcut_module_list(gcut_module *m, gcut_graph *g);
void gcut_graph_rename(gcut_graph *g, const char *name);
/* "BASE.SUFFIX", with a number appended where a function of m has that name. */
const char *gcut_module_unused(const gcut_module *m, const char *base, const char *suffix);
/* Removes g from the list of m; its memory lives as long as m. */
void gcut_module_unlist(gcut_module *m, const gcut_graph *g);
/* The same, and empties g, which nothing reads any more: its lists are freed, but for small ones and its bodies,
 * which other graphs may share. */
void gcut_graph_drop(gcut_graph *g);
/* Does g have a parameter of the name and type of d that may have initial contents? */
bool gcut_data_is_of(const gcut_data *d, const gcut_graph *g);

/* ---- names and locations ---- */

const gcut_type *gcut_intern_type(gcut_module *m, const gcut_type *t);
const char *gcut_intern_name(gcut_module *m, const char *s); /* interned */
/* `base`, or base.1, base.2, …: a name that no value of g has. */
const char *gcut_name_fresh(gcut_graph *g, const char *base);
/* No other value of g has that name. */
void gcut_value_rename(gcut_graph *g, gcut_ref v, const char *name);

gcut_locid gcut_loc_file(gcut_module *m, const char *file, int line, int col, const char *scope);
/* grad(!1), remat(!1).  Equal locations that are made shortly after each other share an id. */
gcut_locid gcut_loc_call(gcut_module *m, const char *fn, const gcut_locid *args, uint32_t n);
/* The first user line of a location, looking through grad/remat. */
gcut_place gcut_loc_place(const gcut_module *m, gcut_locid loc);
/* The source position of the node that makes v; of a parameter, that of no location. */
gcut_place gcut_where_of(const gcut_graph *g, gcut_ref v);

#endif
