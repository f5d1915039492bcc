/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hoists products with a weight, and their bias, above a gather: from the gathered rows to the rows of the
 * table.
 *
 *   in:    any graph, and the sizes to optimise for
 *   out:   the same values up to the rounding of products; the index checks are the same
 *   keeps: parameters, results, names of values that a result needs, marks, locations, run-time checks
 *
 * An embedding with few rows and many indices has repeated rows:
 *
 *   take(E, i) W + b = take(E W + b, i)
 *
 * The derivatives by E and W become products with as many rows as E, after the gradients of equal rows are
 * added up.  The rewrite is right at all sizes; it is done when, at the given sizes, the table has at most
 * half as many rows as there are indices (REPEATS).  Other ops are not hoisted: at a row that no index names
 * they may be infinite, or report an error.
 *
 * Where such rows are transposed, or a scan slices them along another axis than the first, the indices, which are
 * smaller, are transposed instead, so that the rows are gathered in the order in which they are read.
 *
 * Rows that no index names are computed too.  They do not occur in results, but the derivative of W
 * multiplies them by 0: an infinity or a NaN in them becomes a NaN there.
 */
#include "passes/passes.h"
#include "graph/rewrite.h"

/* The smallest number of indices per row of the table for which the rewrite is done. */
enum { REPEATS = 2 };

/* A value of src whose rows, along its last axis, are take(table, index), in the order of the index. */
typedef struct gathered {
    gcut_ref table, index; /* of dst; table 0: not a gather */
    gcut_locid loc;        /* of the gather */
    bool moved;            /* a product has been hoisted */
} gathered;

typedef struct mover {
    gcut_rewrite rw;
    gathered *of;   /* by value of src */
    uint32_t *uses; /* by value of src */
    const gcut_dim_binding *at;
    uint32_t nat;
} mover;

static const gathered *rows_of(const mover *m, gcut_ref v)
{
    return m->of[v].table ? &m->of[v] : NULL;
}

static bool size_at(const mover *m, gcut_dim d, int64_t *out)
{
    return gcut_dim_eval(m->rw.src->module->dims, d, m->at, m->nat, out);
}

/* A name for a new value that replaces v, unused in src. */
static const char *name_of(const mover *m, gcut_ref v, const char *what)
{
    return gcut_printf(m->rw.dst->module->arena, "%s.%s", m->rw.src->values.at[v].name, what);
}

/* Is t the shape of a gather along the first axis: the index's shape and one more axis? */
static bool is_indexed(const gcut_type *t, const gcut_type *index)
{
    bool alike = t->rank == index->rank + 1u;
    for (uint32_t d = 0; alike && d < index->rank; d++) alike = t->dim[d] == index->dim[d];
    return alike;
}

/* ---- ops that create rows, and ops that preserve them ---- */

static void begin_rows(mover *m, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    const gcut_type *table = gcut_type_of(g, gcut_arg(g, n, 0)), *index = gcut_type_of(g, gcut_arg(g, n, 1));
    int64_t rows, indices;
    if (table->rank != 2 || index->rank == 0 || gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim != 0) return;
    if (!size_at(m, table->dim[0], &rows) || !size_at(m, gcut_type_numel(g->module, index), &indices)) return;
    if (rows > indices / REPEATS) return;
    m->of[n->res0] = (gathered){m->rw.map[gcut_arg(g, n, 0)], m->rw.map[gcut_arg(g, n, 1)], n->loc, false};
}

/* The number of rows along the last axis. */
static gcut_dim rows_in(const mover *m, const gcut_type *t)
{
    gcut_dim rows = 1;
    for (uint32_t d = 0; d + 1u < t->rank; d++)
        rows = gcut_dim_make(m->rw.src->module->dims, GCUT_DIM_MUL, rows, t->dim[d]);
    return rows;
}

/* A reshape that preserves the last axis and the number of rows; sizes of 0 allow more rows. */
static void keep_rows(mover *m, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    const gcut_type *from = gcut_type_of(g, gcut_arg(g, n, 0)), *to = gcut_type_of(g, n->res0);
    if (!rows_of(m, gcut_arg(g, n, 0)) || to->rank == 0) return;
    if (to->dim[to->rank - 1] == from->dim[from->rank - 1] && rows_in(m, to) == rows_in(m, from))
        m->of[n->res0] = m->of[gcut_arg(g, n, 0)];
}

/* A transpose that leaves the last axis where it is transposes the indices instead, which are smaller. */
static void transpose_rows(mover *m, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    const gcut_ref v = gcut_arg(g, n, 0);
    const gathered *rows = rows_of(m, v);
    const gcut_dim *perm = gcut_attr_get(g, n, GCUT_KEY_perm)->u.dims;
    const uint32_t last = gcut_type_of(g, v)->rank - 1u;
    if (!rows || perm[last] != last || !is_indexed(gcut_type_of(g, v), gcut_type_of(m->rw.dst, rows->index)))
        return;
    gcut_build b = {.g = m->rw.dst, .loc = n->loc, .name = name_of(m, n->res0, "index")};
    m->of[n->res0] = *rows;
    m->of[n->res0].index = gcut_btranspose(&b, rows->index, perm);
}

/* ---- moving ---- */

/* Replaces the result of node n by the rows of `table`, in the node's type. */
static bool use_rows(mover *m, uint32_t id, gcut_ref table, const gathered *like)
{
    const gcut_value *v = &m->rw.src->values.at[gcut_node_at(m->rw.src, id)->res0];
    bool whole = is_indexed(v->type, gcut_type_of(m->rw.dst, like->index));
    const char *name = whole ? v->name : name_of(m, gcut_node_at(m->rw.src, id)->res0, "rows");
    gcut_build b = {.g = m->rw.dst, .loc = like->loc, .name = name};
    gcut_ref rows = gcut_btake(&b, table, like->index, 0);
    if (!whole) {
        b.loc = gcut_node_at(m->rw.src, id)->loc;
        b.name = v->name;
        rows = gcut_breshape(&b, rows, v->type->dim, v->type->rank);
    }
    m->of[gcut_node_at(m->rw.src, id)->res0] = (gathered){table, like->index, like->loc, true};
    gcut_rewrite_use(&m->rw, id, rows);
    return true;
}

static bool move_product(mover *m, uint32_t id, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    const gathered *rows = rows_of(m, gcut_arg(g, n, 0));
    if (!rows || gcut_attr_flag(g, n, GCUT_KEY_ta) || gcut_type_of(g, n->res0)->rank != 2) return false;
    gcut_build b = {.g = m->rw.dst, .loc = n->loc, .name = name_of(m, n->res0, "table")};
    gcut_ref w = gcut_rewrite_arg(&m->rw, id, 1);
    gcut_ref table = gcut_bmatmul(&b, rows->table, w, false, gcut_attr_flag(g, n, GCUT_KEY_tb));
    return use_rows(m, id, table, &(gathered){0, rows->index, rows->loc, true});
}

/* The vector that v repeats along the last axis; 0 if it does not repeat one. */
static gcut_ref repeated(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    if (!n || n->op != GCUT_OP_broadcast || n->marks.n) return 0;
    const gcut_attr *axes = gcut_attr_get(g, n, GCUT_KEY_axes);
    return axes->n == 1 && axes->u.dims[0] == gcut_type_of(g, v)->rank - 1u ? gcut_arg(g, n, 0) : 0;
}

/* Hoists a bias of a product, when the product has no other reader. */
static bool move_bias(mover *m, uint32_t id, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    for (uint32_t k = 0; k < 2; k++) {
        gcut_ref v = gcut_arg(g, n, k), bias = repeated(g, gcut_arg(g, n, 1 - k));
        const gathered *rows = rows_of(m, v);
        if (!rows || !rows->moved || m->uses[v] != 1 || !bias) continue;
        gcut_type t = *gcut_type_of(m->rw.dst, rows->table);
        gcut_build b = {.g = m->rw.dst, .loc = n->loc, .name = name_of(m, n->res0, "table")};
        gcut_ref addend = gcut_bbroadcast(&b, m->rw.map[bias], t.dim, 2, (gcut_dim[]){1});
        gcut_ref table = gcut_b2(&b, GCUT_OP_add, rows->table, addend);
        return use_rows(m, id, table, &(gathered){0, rows->index, rows->loc, true});
    }
    return false;
}

/* ---- scans ---- */

/* Gathers rows that a scan slices along an axis of the index in iteration order. */
static void order_steps(mover *m, const gcut_node *n)
{
    const gcut_graph *g = m->rw.src;
    uint32_t axis = (uint32_t)gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim;
    for (uint32_t k = gcut_node_carries(g, n); axis && k < n->nargs - n->ncaptured; k++) {
        gcut_ref v = gcut_arg(g, n, k);
        const gathered *rows = rows_of(m, v);
        if (!rows || !rows->moved || m->uses[v] != 1) continue;
        const gcut_type *index = gcut_type_of(m->rw.dst, rows->index);
        if (axis >= index->rank || !is_indexed(gcut_type_of(g, v), index)) continue;
        gcut_build b = {.g = m->rw.dst, .loc = rows->loc, .name = name_of(m, v, "steps")};
        gcut_ref turned = gcut_baxis_first(&b, rows->index, axis, false);
        m->rw.map[v] = gcut_baxis_first(&b, gcut_btake(&b, rows->table, turned, 0), axis, true);
    }
}

static bool move(mover *m, uint32_t id)
{
    const gcut_node *n = gcut_node_at(m->rw.src, id);
    if (n->marks.n) return false;
    switch (n->op) {
    case GCUT_OP_matmul: return move_product(m, id, n);
    case GCUT_OP_add: return move_bias(m, id, n);
    case GCUT_OP_scan: order_steps(m, n); return false;
    default: return false;
    }
}

gcut_graph *gcut_pass_gather(gcut_graph *g, const char *name, const gcut_dim_binding *at, uint32_t nat)
{
    mover m = {.rw = gcut_rewrite_begin(g, name), .at = at, .nat = nat};
    m.of = gcut_calloc(m.rw.scratch, g->values.n, sizeof *m.of);
    m.uses = gcut_count_uses(g, m.rw.scratch);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (move(&m, i)) continue;
        gcut_rewrite_copy(&m.rw, i);
        const gcut_node *n = gcut_node_at(g, i);
        if (n->op == GCUT_OP_take && n->marks.n == 0) begin_rows(&m, n);
        if (n->op == GCUT_OP_reshape && n->marks.n == 0) keep_rows(&m, n);
        if (n->op == GCUT_OP_transpose && n->marks.n == 0) transpose_rows(&m, n);
    }
    return gcut_rewrite_end(&m.rw);
}
