/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reverse pass over one graph.
 *
 * The cotangent of a value is complete when every reader of it was visited.  Nodes are in topological
 * order, so one walk from the last to the first, calling each node's rule once, is enough.  A composite
 * without a VJP rule, a call without a custom derivative, and a bounded loop are decomposed when the walk
 * reaches them: the decomposition is appended as ordinary nodes, which the walk visits before it
 * continues.
 */
#include "autodiff/reverse.h"

#include <string.h>

#include "autodiff/autodiff.h"
#include "autodiff/stacked_scans.h"
#include "autodiff/vjp.h"
#include "graph/custom.h"
#include "graph/decompose/decompose.h"

static gcut_vjp_rule *const rules[GCUT_NOPS] = {
#define OP(name, operands, dtypes, attrs, shape, feval, ieval, vjp, ...) [GCUT_OP_##name] = gcut_vjp_##vjp,
#include "graph/ops/ops.def"
#undef OP
};

bool gcut_vjp_by_meaning(gcut_op op)
{
    return rules[op] == gcut_vjp_meaning;
}

gcut_locid gcut_grad_loc(gcut_module *m, gcut_locid loc)
{
    return loc ? gcut_loc_call(m, "grad", &loc, 1) : 0;
}

/* ---- what is wanted ---- */

static void mark_wanted(const gcut_graph *g, bool *wanted, uint32_t begin, uint32_t end)
{
    for (uint32_t n = begin; n < end; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        bool any = false, stated = gcut_node_vjp(g, node) != NULL;
        for (uint32_t k = 0; k < node->nargs; k++)
            any = any || (wanted[gcut_arg(g, node, k)] && (!stated || gcut_vjp_gives(g, node, k)));
        if (!any || rules[node->op] == gcut_vjp_zero) continue;
        for (uint32_t k = 0; k < node->nres; k++)
            wanted[node->res0 + k] = gcut_dtype_is_float(gcut_type_of(g, node->res0 + k)->dtype) &&
                                     (!stated || gcut_vjp_takes(g, node, k));
    }
}

bool *gcut_wanted(const gcut_graph *g, gcut_arena *a, const gcut_ref *x, uint32_t nx)
{
    bool *wanted = gcut_calloc(a, g->values.n, sizeof *wanted);
    for (uint32_t k = 0; k < nx; k++)
        if (x[k]) wanted[x[k]] = true;
    mark_wanted(g, wanted, 0, g->nodes.n);
    return wanted;
}

/* Extends the tables to the graph's last value; new entries are empty.  They double, so that a graph of calls or
 * composites, each of which extends them, takes linear time. */
static void reach(gcut_reverse *s)
{
    if (s->g->values.n <= s->nvalues) return;
    uint32_t n = 2 * s->g->values.n;
    bool *wanted = gcut_calloc(s->tmp, n, sizeof *wanted);
    gcut_ref *cotangent = gcut_calloc(s->tmp, n, sizeof *cotangent);
    memcpy(wanted, s->wanted, s->nvalues * sizeof *wanted);
    memcpy(cotangent, s->cotangent, s->nvalues * sizeof *cotangent);
    s->wanted = wanted;
    s->cotangent = cotangent;
    s->nvalues = n;
}

gcut_reverse gcut_reverse_new(gcut_graph *g, gcut_arena *tmp, const gcut_ref *x, uint32_t nx)
{
    return (gcut_reverse){.g = g,
                          .tmp = tmp,
                          .nvalues = g->values.n,
                          .wanted = gcut_wanted(g, tmp, x, nx),
                          .cotangent = gcut_calloc(tmp, g->values.n, sizeof(gcut_ref)),
                          .nnodes = g->nodes.n};
}

/* ---- accumulating cotangents ---- */

static gcut_ref plus(gcut_build *b, gcut_ref x, gcut_ref y);

/* The derivatives of slices are pads, whose sum is their concatenation when one ends where the other begins.
 */
typedef struct strip {
    gcut_ref x; /* what is padded with zeros */
    const gcut_dim *low, *high;
} strip;

static bool is_strip(const gcut_graph *g, gcut_ref v, strip *out)
{
    const gcut_node *n = gcut_def(g, v);
    if (!n || n->op != GCUT_OP_pad || gcut_attr_get(g, n, GCUT_KEY_interior)) return false;
    if (gcut_attr_num(g, n, GCUT_KEY_value) != 0) return false;
    *out = (strip){gcut_arg(g, n, 0), gcut_attr_get(g, n, GCUT_KEY_low)->u.dims,
                   gcut_attr_get(g, n, GCUT_KEY_high)->u.dims};
    return true;
}

/* The only axis along which a ends where b begins while all other bounds are equal; the rank when there is
 * none. */
static uint32_t axis_between(const gcut_graph *g, const strip *a, const strip *b)
{
    const gcut_type *x = gcut_type_of(g, a->x), *y = gcut_type_of(g, b->x);
    uint32_t axis = x->rank;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (a->low[d] == b->low[d] && a->high[d] == b->high[d] && x->dim[d] == y->dim[d]) continue;
        gcut_dim end = gcut_dim_make(g->module->dims, GCUT_DIM_ADD, a->low[d], x->dim[d]);
        if (axis != x->rank || end != b->low[d]) return x->rank;
        axis = d;
    }
    return axis;
}

/* Appends v, or the operands of the concat along the axis that it is. */
static uint32_t append(gcut_graph *g, gcut_ref v, uint32_t axis, gcut_ref *args, uint32_t n)
{
    const gcut_node *c = gcut_def(g, v);
    if (!c || c->op != GCUT_OP_concat || gcut_attr_get(g, c, GCUT_KEY_axis)->u.dim != axis) {
        args[n] = v;
        return n + 1;
    }
    for (uint32_t k = 0; k < c->nargs; k++) args[n + k] = gcut_arg(g, c, k);
    return n + c->nargs;
}

/* concat(x, y) along an axis; operands of an existing concat become operands. */
static gcut_ref join(gcut_build *b, gcut_ref x, gcut_ref y, uint32_t axis)
{
    const gcut_node *nx = gcut_def(b->g, x), *ny = gcut_def(b->g, y);
    const uint32_t most = (nx ? nx->nargs : 0) + (ny ? ny->nargs : 0) + 2;
    gcut_ref *args = gcut_calloc(b->g->module->arena, most, sizeof *args);
    gcut_attr along = gcut_attr_dim(GCUT_KEY_axis, axis);
    const uint32_t n = append(b->g, y, axis, args, append(b->g, x, axis, args, 0));
    return gcut_node_new(b->g, GCUT_OP_concat, args, n, &along, 1, b->loc, b->name);
}

/* The sum of two adjacent strips as one strip; 0 when they are not adjacent. */
static gcut_ref joined(gcut_build *b, gcut_ref x, gcut_ref y)
{
    strip s, t;
    gcut_dim high[GCUT_MAX_RANK];
    if (!is_strip(b->g, x, &s) || !is_strip(b->g, y, &t)) return 0;
    gcut_type type = *gcut_type_of(b->g, x);
    uint32_t axis = axis_between(b->g, &s, &t);
    if (axis == type.rank) return 0;
    memcpy(high, s.high, type.rank * sizeof *high);
    high[axis] = t.high[axis];
    gcut_ref sum = gcut_bpad(b, join(b, s.x, t.x, axis), s.low, high, NULL);
    return gcut_shape_equal(gcut_type_of(b->g, sum), &type) ? sum : 0;
}

enum { MOST_VISITS = 32 }; /* values of a sum that are compared with one that is added */

/* The sum of y and `sum`, where y is adjacent to it or to one of the values that it is a sum of; 0 when it is not.
 * At most *visits values are looked at, so that a sum of many takes linear time. */
static gcut_ref joined_into(gcut_build *b, gcut_ref sum, gcut_ref y, uint32_t *visits)
{
    if (!*visits) return 0;
    --*visits;
    gcut_ref v = joined(b, sum, y);
    if (!v) v = joined(b, y, sum);
    const gcut_node *n = v ? NULL : gcut_def(b->g, sum);
    if (!n || n->op != GCUT_OP_add) return v;
    const gcut_ref part[] = {gcut_arg(b->g, n, 0), gcut_arg(b->g, n, 1)};
    for (uint32_t k = 0; k < 2 && !v; k++)
        if ((v = joined_into(b, part[k], y, visits))) v = plus(b, part[1 - k], v);
    return v;
}

/* x + y where y is a scatter_add into zeros, as one scatter_add into x. 0 when y is none, or in a 16-bit
 * float, where a row added to a large sum is lost. */
static gcut_ref scattered(gcut_build *b, gcut_ref x, gcut_ref y)
{
    const gcut_node *n = gcut_def(b->g, y);
    gcut_dtype t = gcut_type_of(b->g, y)->dtype;
    if (!n || n->op != GCUT_OP_scatter_add || (t != GCUT_F32 && t != GCUT_F64)) return 0;
    if (!gcut_is_zero(b->g, gcut_arg(b->g, n, 0))) return 0;
    return gcut_bscatter_add(b, x, gcut_arg(b->g, n, 1), gcut_arg(b->g, n, 2),
                             (int)gcut_attr_get(b->g, n, GCUT_KEY_axis)->u.dim);
}

static gcut_ref plus(gcut_build *b, gcut_ref x, gcut_ref y)
{
    uint32_t visits = MOST_VISITS;
    strip s;
    gcut_ref sum = is_strip(b->g, y, &s) ? joined_into(b, x, y, &visits) : 0;
    if (!sum) sum = scattered(b, x, y);
    if (!sum) sum = scattered(b, y, x);
    return sum ? sum : gcut_b2(b, GCUT_OP_add, x, y);
}

/* Adds value to x's cotangent; called by gcut_vjp_give and for seeds. */
static void arrive(gcut_build *b, const bool *wanted, gcut_ref *cotangent, gcut_ref x, gcut_ref value)
{
    gcut_graph *g = b->g;
    gcut_type have = *gcut_type_of(g, value), want = *gcut_type_of(g, x);
    if (!wanted[x]) return;
    GCUT_ASSERT(have.dtype == want.dtype && have.rank == want.rank);
    for (uint32_t d = 0; d < want.rank; d++)
        gcut_dim_require(g, want.dim[d], have.dim[d], b->loc, "cotangent");
    /* The sizes may be equal only by a run-time check, as for a slice that inverts a pad with interior of
     * N elements.
     */
    if (!gcut_shape_equal(&have, &want)) value = gcut_breshape(b, value, want.dim, want.rank);
    gcut_ref sofar = cotangent[x];
    cotangent[x] = sofar ? plus(b, sofar, value) : value;
}

void gcut_vjp_give(gcut_vjp *c, uint32_t k, gcut_ref value)
{
    gcut_ref x = c->operand[k];
    if (c->x[k] != x && c->wanted[x]) value = gcut_bconvert(&c->b, value, gcut_type_of(c->b.g, x)->dtype);
    arrive(&c->b, c->wanted, c->cotangent, x, value);
}

/* Records y as the owner of the nodes built since the last call: y's node has the rule that built them. */
static void own(gcut_reverse *s, gcut_ref y)
{
    while (s->owner.n < s->g->nodes.n - s->nnodes) *GCUT_PUSH(s->tmp, &s->owner) = y;
}

void gcut_reverse_seed(gcut_reverse *s, gcut_ref y, gcut_ref dy)
{
    uint32_t def = s->g->values.at[y].def;
    gcut_locid loc = def == GCUT_NONE ? s->g->loc : gcut_node_at(s->g, def)->loc;
    gcut_build b = {.g = s->g, .loc = gcut_grad_loc(s->g->module, loc)};
    arrive(&b, s->wanted, s->cotangent, y, dy);
    own(s, y);
}

/* ---- the walk ---- */

/* The pool may move while a rule builds, so a rule reads a copy. */
static gcut_ref *own_args(gcut_reverse *s, const gcut_node *n)
{
    gcut_ref *args = gcut_alloc(s->tmp, (n->nargs + 1u) * sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) args[k] = gcut_arg(s->g, n, k);
    return args;
}

static void walk(gcut_reverse *s, uint32_t begin, uint32_t end);

/* Appends the decomposition of node n; the cotangents of its results become those of the values that
 * replace them. */
static void through_decomposition(gcut_reverse *s, uint32_t n, const gcut_ref *args)
{
    gcut_graph *g = s->g;
    gcut_node node = *gcut_node_at(g, n);
    gcut_build b = {.g = g, .loc = node.loc};
    gcut_ref *out = gcut_calloc(s->tmp, node.nres, sizeof *out);
    uint32_t begin = g->nodes.n;
    if (gcut_vjp_by_meaning((gcut_op)node.op))
        gcut_decompose(&b, g, n, args, out);
    else
        gcut_control_unfold(g, n, args, out);
    uint32_t end = g->nodes.n;
    own(s, node.res0);
    reach(s);
    mark_wanted(g, s->wanted, begin, end);
    for (uint32_t k = 0; k < node.nres; k++)
        if (s->cotangent[node.res0 + k]) gcut_reverse_seed(s, out[k], s->cotangent[node.res0 + k]);
    walk(s, begin, end);
}

/* Is n arithmetic in f16 or bf16?  Its rule computes in f32, like a decomposition.  Data movement, and
 * products, whose rules are products, have no intermediate values to round. */
static bool computes_wide(const gcut_graph *g, const gcut_node *n)
{
    gcut_class c = gcut_op_get((gcut_op)n->op)->class;
    return n->nres == 1 && gcut_dtype_is_16bit_float(gcut_type_of(g, n->res0)->dtype) &&
           (c == GCUT_CLASS_POINTWISE || c == GCUT_CLASS_REDUCTION);
}

static gcut_ref wide(gcut_vjp *c, gcut_ref v)
{
    return gcut_dtype_is_16bit_float(gcut_type_of(c->b.g, v)->dtype) ? gcut_bconvert(&c->b, v, GCUT_F32) : v;
}

static void widen(gcut_reverse *s, gcut_vjp *c)
{
    gcut_ref *x = gcut_alloc(s->tmp, (c->nx + 1u) * sizeof *x);
    for (uint32_t k = 0; k < c->nx; k++) x[k] = wide(c, c->operand[k]);
    c->x = x;
    c->y = wide(c, c->y);
    c->dy = wide(c, c->dy);
}

static void visit(gcut_reverse *s, uint32_t n)
{
    gcut_node node = *gcut_node_at(s->g, n);
    bool any = false;
    for (uint32_t k = 0; k < node.nres; k++) any = any || s->cotangent[node.res0 + k];
    if (!any) return;
    const gcut_ref *args = own_args(s, &node);
    if (gcut_vjp_by_meaning((gcut_op)node.op) || gcut_control_unfolds(s->g, n)) {
        through_decomposition(s, n, args);
        return;
    }
    gcut_vjp c = {.b = {.g = s->g, .loc = gcut_grad_loc(s->g->module, node.loc)},
                  .node = n,
                  .x = args,
                  .operand = args,
                  .nx = node.nargs,
                  .y = node.res0,
                  .dy = s->cotangent[node.res0],
                  .dys = s->cotangent + node.res0,
                  .ndys = node.nres,
                  .wanted = s->wanted,
                  .cotangent = s->cotangent};
    if (computes_wide(s->g, &node)) widen(s, &c);
    rules[node.op](&c);
    own(s, node.res0);
}

static void walk(gcut_reverse *s, uint32_t begin, uint32_t end)
{
    for (uint32_t n = end; n-- > begin;) visit(s, n);
}

void gcut_reverse_run(gcut_reverse *s)
{
    walk(s, 0, s->nnodes);
}

void gcut_reverse_mode(gcut_graph *g, const gcut_ref *y, const gcut_ref *dy, uint32_t ny, const gcut_ref *x,
                       uint32_t nx, gcut_ref *dx)
{
    gcut_module *m = g->module;
    gcut_arena *tmp = gcut_arena_new(m->env, m->arena);
    gcut_reverse s = gcut_reverse_new(g, tmp, x, nx);
    for (uint32_t k = 0; k < ny; k++)
        if (dy[k]) gcut_reverse_seed(&s, y[k], dy[k]);
    gcut_reverse_run(&s);
    for (uint32_t k = 0; k < nx; k++) dx[k] = s.cotangent[x[k]];
    gcut_arena_free(tmp);
}
