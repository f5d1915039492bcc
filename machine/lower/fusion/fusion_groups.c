/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Grouping: which nodes become one kernel.
 *
 * in:    a graph without composites.   out: L1: views, kernels, levels.   keeps: the graph.
 *
 * Greedy in graph order.  A pointwise node joins the loop kernel of one of its
 * operands and then pulls in the loop kernels of the others; a reduction joins
 * its operand's kernel when its axes are the kernel's columns (ROW), its rows
 * (COLUMN) or both (TOTAL).  Joining and merging never create a circle (L1c):
 * before each, no path may lead from the kernel out and back in.
 *
 * The order of a sum is a function of the summed value's shape alone, never of
 * what it is fused with, so that a sum computed again has the bits of the one
 * that was not saved: a ROW sum follows the columns, a COLUMN sum the rows, and
 * a TOTAL the flat order, which only flat kernels have.
 */
#include <stdlib.h>

#include "graph/external.h"
#include "graph/ops/node_facts.h"
#include "machine/lower/fusion/kernel_paths.h"
#include "machine/lower/fusion/loop_merge.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/lower.h"
#include "machine/lower/region.h"

static gcut_kernel *kernel_at(const gcut_lowered *h, uint32_t u)
{
    return &h->kernels.at[u];
}

static bool is_loop(const gcut_lowered *h, uint32_t u)
{
    return kernel_at(h, u)->kind == GCUT_KERNEL_LOOP && !kernel_at(h, u)->dead;
}

/* ---- joining ---- */

/* How a node of that many elements would sit in a loop. */
static gcut_reason level_in(const gcut_kernel *u, gcut_dim numel, gcut_level *level)
{
    *level = GCUT_LEVEL_FULL;
    if (u->kind != GCUT_KERNEL_LOOP) return GCUT_REASON_producer_stores;
    if (u->nodes.n >= GCUT_MAX_MEMBERS) return GCUT_REASON_members;
    if (u->loop.complete) return GCUT_REASON_complete;
    if (numel == u->loop.numel) return GCUT_REASON_fused;
    *level = GCUT_LEVEL_ROW;
    if (u->loop.flat || u->loop.inner == GCUT_DIM_BAD || numel != u->loop.rows) return GCUT_REASON_elements;
    return GCUT_REASON_fused;
}

/* Node n can be a member of u at *level: every operand is readable there, and there is no cycle. */
static gcut_reason decide_join(const gcut_lowered *h, uint32_t kernel, const gcut_node *n, gcut_level *level)
{
    const gcut_kernel *u = kernel_at(h, kernel);
    const gcut_dim numel = gcut_type_numel(h->g->module, gcut_type_of(h->g, n->res0));
    const gcut_reason r = level_in(u, numel, level);
    if (r != GCUT_REASON_fused) return r;
    if (h->unfused) return GCUT_REASON_unfused;
    if (u->loop.flat && !gcut_loop_is_long(h, numel) && !gcut_kernel_takes_evenly(h, u, n, numel))
        return GCUT_REASON_uneven;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(h->g, n, k);
        if (gcut_kernel_access(h, u, v, *level) == GCUT_ACCESS_BLOCKED) return GCUT_REASON_other_elements;
        uint32_t s = gcut_kernel_source(h, v);
        if (s != GCUT_NONE && s != kernel && gcut_kernel_reaches(h, kernel, s, false))
            return GCUT_REASON_cycle;
    }
    return GCUT_REASON_fused;
}

static void join(gcut_lowered *h, uint32_t u, uint32_t node, gcut_level level)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_kernel_place(h, u, node);
    *GCUT_PUSH(h->g->module->arena, &kernel_at(h, u)->nodes) = node;
    h->kernel_of[n->res0] = u;
    h->level[n->res0] = level;
}

/* All members of loop b can become members of loop a. */
static gcut_reason decide_merge(const gcut_lowered *h, uint32_t a, uint32_t b)
{
    const gcut_reason r = gcut_loops_match(h, a, b);
    if (r != GCUT_REASON_fused) return r;
    return gcut_kernel_reaches(h, a, b, true) || gcut_kernel_reaches(h, b, a, true) ? GCUT_REASON_cycle : r;
}

static void pull_in(gcut_lowered *h, uint32_t u, uint32_t node)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    for (uint32_t k = 0; k < n->nargs; k++) {
        uint32_t s = gcut_kernel_source(h, gcut_arg(h->g, n, k));
        if (s == GCUT_NONE || s == u) continue;
        const gcut_reason r = decide_merge(h, u, s);
        gcut_set_reason(h, node, k, r);
        if (r == GCUT_REASON_fused) gcut_loops_merge(h, u, s);
    }
}

/* The latest loop of an operand that takes the node; GCUT_NONE: none does. */
static uint32_t decide_point(const gcut_lowered *h, const gcut_node *n, gcut_level *level)
{
    uint32_t best = GCUT_NONE;
    for (uint32_t k = 0; k < n->nargs; k++) {
        uint32_t s = gcut_kernel_source(h, gcut_arg(h->g, n, k));
        gcut_level l;
        if (s == GCUT_NONE || (best != GCUT_NONE && s <= best)) continue;
        if (decide_join(h, s, n, &l) == GCUT_REASON_fused) best = s, *level = l;
    }
    return best;
}

static void group_point(gcut_lowered *h, uint32_t node)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_level level = GCUT_LEVEL_FULL;
    uint32_t u = decide_point(h, n, &level);
    if (u == GCUT_NONE) {
        u = gcut_kernel_new(h, GCUT_KERNEL_LOOP, GCUT_NONE);
        kernel_at(h, u)->loop.numel = gcut_type_numel(h->g->module, gcut_type_of(h->g, n->res0));
    }
    join(h, u, node, level);
    pull_in(h, u, node);
}

static gcut_dim product(gcut_lowered *h, const gcut_type *t, uint32_t mask)
{
    gcut_dim n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        if (mask >> d & 1) n = gcut_dim_times(h->g->module, n, t->dim[d]);
    return n;
}

/* The kernel of x can take a reduction of x with these rows and columns (EVERY: over all of it, in flat order).  Loops
 * without columns have no elements, whatever the number of their rows is, so that rows are compared, too. */
static gcut_reason decide_reduce(const gcut_lowered *h, gcut_ref x, gcut_axes_position how, gcut_dim rows,
                                 gcut_dim inner)
{
    const uint32_t kernel = gcut_kernel_source(h, x);
    if (kernel == GCUT_NONE || kernel_at(h, kernel)->kind != GCUT_KERNEL_LOOP)
        return GCUT_REASON_producer_stores;
    if (h->unfused) return GCUT_REASON_unfused;
    const gcut_kernel *u = kernel_at(h, kernel);
    const bool open = u->loop.inner == GCUT_DIM_BAD;
    if (u->nodes.n >= GCUT_MAX_MEMBERS) return GCUT_REASON_members;
    if (h->level[h->view[x].root] != GCUT_LEVEL_FULL) return GCUT_REASON_other_elements;
    if (!gcut_view_identity(h->g, gcut_type_of(h->g, x), &h->view[x])) return GCUT_REASON_other_elements;
    if (how == GCUT_EVERY && open)
        return gcut_loop_is_long(h, u->loop.numel) || gcut_kernel_is_even(h, u, u->loop.numel)
                   ? GCUT_REASON_fused
                   : GCUT_REASON_uneven;
    if (how == GCUT_EVERY) return u->loop.flat ? GCUT_REASON_fused : GCUT_REASON_rows;
    const bool same = u->loop.inner == inner && u->loop.rows == rows;
    return !u->loop.flat && (open || same) ? GCUT_REASON_fused : GCUT_REASON_rows;
}

/* A kernel that is not a loop reads memory: operands that are computed constants, or that it needs packed and
 * are not, or that are stored in fewer bits, are stored for it first. */
static uint32_t group_other(gcut_lowered *h, gcut_kernel_kind kind, uint32_t node)
{
    gcut_arena *a = h->g->module->arena;
    const gcut_node *n = gcut_node_at(h->g, node);
    uint32_t *copies = gcut_calloc(a, n->nargs + 1, sizeof *copies);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(h->g, n, k);
        bool computed = gcut_root_is_iota(h, h->view[v].root) || gcut_root_is_const(h, h->view[v].root);
        bool whole = gcut_view_whole(h->g->module, gcut_type_of(h->g, v), &h->view[v]);
        bool packed = gcut_kernel_table[kind].packed >> k & 1 || h->view[v].widens || h->view[v].bits;
        bool carried = kind == GCUT_KERNEL_REGION && k < gcut_region_shape_of(h->g, n).carries;
        copies[k] = GCUT_NONE;
        gcut_set_reason(h, node, k, GCUT_REASON_consumer_reads_memory);
        if (!carried && !(computed && !(kind == GCUT_KERNEL_SCATTER && k == 0)) && (whole || !packed))
            continue;
        copies[k] = gcut_kernel_new(h, GCUT_KERNEL_COPY, GCUT_NONE);
        gcut_kernel_place(h, copies[k], node);
        kernel_at(h, copies[k])->copy.value = v;
        if (carried) kernel_at(h, copies[k])->copy.runs_before = node;
    }
    uint32_t u = gcut_kernel_new(h, kind, node);
    gcut_kernel_place(h, u, node);
    kernel_at(h, u)->operand_copy = copies;
    for (uint32_t k = 0; k < n->nargs; k++)
        if (copies[k] != GCUT_NONE) *GCUT_PUSH(a, &kernel_at(h, u)->before) = copies[k];
    for (uint32_t k = 0; k < n->nres; k++) h->kernel_of[n->res0 + k] = u;
    return u;
}

static void group_reduce(gcut_lowered *h, uint32_t node)
{
    gcut_graph *g = h->g;
    const gcut_node *n = gcut_node_at(g, node);
    gcut_ref x = gcut_arg(g, n, 0);
    const gcut_type *t = gcut_type_of(g, x);
    uint32_t mask = gcut_attr_axes(g, n), all = (1u << t->rank) - 1;
    gcut_dim numel = gcut_type_numel(g->module, t), inner = GCUT_DIM_BAD, rows = GCUT_DIM_BAD;
    gcut_axes_position how = gcut_axes_position_of(t, mask);
    if (how == GCUT_MIDDLE) {
        group_other(h, GCUT_KERNEL_REDUCE, node);
        gcut_set_reason(h, node, 0, GCUT_REASON_middle_axes);
        return;
    }
    if (how != GCUT_EVERY) {
        inner = product(h, t, how == GCUT_TRAILING ? mask : all & ~mask);
        rows = product(h, t, how == GCUT_TRAILING ? all & ~mask : mask);
    }
    uint32_t kernel = gcut_kernel_source(h, x);
    const gcut_reason r = decide_reduce(h, x, how, rows, inner);
    gcut_set_reason(h, node, 0, r);
    if (r != GCUT_REASON_fused) {
        kernel = gcut_kernel_new(h, GCUT_KERNEL_LOOP, GCUT_NONE);
        kernel_at(h, kernel)->loop.numel = numel;
    }
    gcut_kernel *u = kernel_at(h, kernel);
    if (how == GCUT_EVERY) {
        gcut_loop_make_flat(h, kernel_at(h, kernel));
    } else if (u->loop.inner == GCUT_DIM_BAD) {
        u->loop.inner = inner;
        u->loop.rows = rows;
    }
    if (gcut_node_ends_kernel(g, n)) u->loop.blocked = true;
    join(h, kernel, node,
         how == GCUT_TRAILING  ? GCUT_LEVEL_ROW
         : how == GCUT_LEADING ? GCUT_LEVEL_COLUMN
                               : GCUT_LEVEL_TOTAL);
}

/* Who reads the values of the graph. */
typedef struct readers {
    uint32_t *uses; /* by value: reads of nodes and results */
    uint32_t *node; /* by value: the last node that reads it; GCUT_NONE: none does */
    bool *
        memory; /* by value: something other than a loop reads it, directly or by a view, or it is a result */
} readers;

/* A product whose only reader is a transposition is written in the transposed order at once. */
static gcut_ref only_transpose(const gcut_lowered *h, const readers *r, gcut_ref v)
{
    if (r->uses[v] != 1 || r->node[v] == GCUT_NONE || h->unfused) return 0;
    const gcut_node *n = gcut_node_at(h->g, r->node[v]);
    return gcut_attr_get(h->g, n, GCUT_KEY_perm) ? n->res0 : 0;
}

static void write_transposed(gcut_lowered *h, uint32_t u, gcut_ref v, const readers *r)
{
    gcut_ref t = only_transpose(h, r, v);
    if (!t) return;
    const gcut_dim *perm = gcut_attr_get(h->g, gcut_def(h->g, t), GCUT_KEY_perm)->u.dims;
    h->view[t] = gcut_view_contiguous(h->g->module, gcut_type_of(h->g, t), t);
    h->kernel_of[t] = u;
    h->view[v].root = t;
    for (uint32_t d = 0; d < gcut_type_of(h->g, t)->rank; d++)
        h->view[v].stride[perm[d]] = h->view[t].stride[d];
}

static void group_attention(gcut_lowered *h, gcut_kernel_kind kind, uint32_t node, const readers *r)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    uint32_t u = group_other(h, kind, node);
    for (uint32_t k = 0; k < n->nres; k++) {
        if (!r->uses[n->res0 + k] && n->nres > 1) kernel_at(h, u)->attention.omitted |= 1u << k;
        write_transposed(h, u, n->res0 + k, r);
    }
}
static void group_view(gcut_lowered *h, uint32_t node)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_ref x = gcut_arg(h->g, n, 0);
    if (h->kernel_of[n->res0] != GCUT_NONE) return; /* stored by its product already */
    gcut_view v;
    if (gcut_view_through(h->g, n, &h->view[x], &v))
        h->view[n->res0] = v;
    else
        group_point(h, node); /* a copy in row-major order: elementwise on the linear index */
}

/* Kernels that are not pure run in the order of the graph. */
static void group_external(gcut_lowered *h, uint32_t node)
{
    uint32_t u = group_other(h, GCUT_KERNEL_EXTERNAL, node), last = GCUT_NONE;
    if (!gcut_node_has_effects(h->g, gcut_node_at(h->g, node))) return;
    for (uint32_t k = u; k-- > 0 && last == GCUT_NONE;)
        if (kernel_at(h, k)->kind == GCUT_KERNEL_EXTERNAL &&
            gcut_node_has_effects(h->g, gcut_node_at(h->g, kernel_at(h, k)->nodes.at[0])))
            last = k;
    if (last != GCUT_NONE) *GCUT_PUSH(h->g->module->arena, &kernel_at(h, u)->before) = last;
}

static void group_region(gcut_lowered *h, uint32_t node)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    if (!gcut_region_at(h->g, n, 0)->body->is_body)
        gcut_fail(h->g->module->env, GCUT_EUNSUPPORTED, gcut_loc_place(h->g->module, n->loc),
                  "run it with --backend planned", "there is no kernel for '%s'", gcut_op_of(n)->name);
    group_other(h, GCUT_KERNEL_REGION, node);
    gcut_region_views(h, n);
}

/* A 16-bit float widened for loops alone is read as it is stored, and converted there: no kernel, no memory.
 */
static void group_cast(gcut_lowered *h, uint32_t node, const bool *reads_memory)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_ref x = gcut_arg(h->g, n, 0), root = h->view[x].root;
    bool widens = gcut_dtype_is_16bit_float(gcut_type_of(h->g, x)->dtype) &&
                  gcut_type_of(h->g, n->res0)->dtype == GCUT_F32 && !reads_memory[n->res0];
    if (!widens || gcut_root_is_const(h, root) || gcut_root_is_iota(h, root)) {
        group_point(h, node);
        return;
    }
    h->view[n->res0] = h->view[x];
    h->view[n->res0].widens = true;
}

/* Bits are read as they are stored, one at a time: no kernel, no memory. */
static void group_unpack(gcut_lowered *h, uint32_t node)
{
    gcut_module *m = h->g->module;
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_ref x = gcut_arg(h->g, n, 0), root = h->view[x].root;
    const gcut_view *from = &h->view[x];
    bool one = gcut_type_of(h->g, x)->dim[0] == 1 || from->stride[0] == 1;
    if (!one || gcut_root_is_const(h, root) || gcut_root_is_iota(h, root)) {
        group_other(h, GCUT_KERNEL_UNPACK, node);
        return;
    }
    gcut_view v = gcut_view_contiguous(m, gcut_type_of(h->g, n->res0), root);
    v.offset = gcut_dim_times(m, from->offset, 8);
    v.bits = true;
    h->view[n->res0] = v;
}

/* Every result of a node is a root of its own.  Only kernels of one node may have several. */
static void view_results(gcut_lowered *h, const gcut_node *n)
{
    gcut_emit e = gcut_op_of(n)->emit;
    GCUT_ASSERT(n->nres == 1 || (e != GCUT_EMIT_POINT && e != GCUT_EMIT_REDUCE && e != GCUT_EMIT_VIEW));
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
        h->view[v] = gcut_view_contiguous(h->g->module, gcut_type_of(h->g, v), v);
}

static void group_node(gcut_lowered *h, uint32_t node, const readers *r)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    view_results(h, n);
    switch (gcut_op_of(n)->emit) {
    case GCUT_EMIT_POINT:
    case GCUT_EMIT_BOUNDED: group_point(h, node); break;
    case GCUT_EMIT_CAST: group_cast(h, node, r->memory); break;
    case GCUT_EMIT_REDUCE: group_reduce(h, node); break;
    case GCUT_EMIT_VIEW: group_view(h, node); break;
    case GCUT_EMIT_GEMM: write_transposed(h, group_other(h, GCUT_KERNEL_GEMM, node), n->res0, r); break;
    case GCUT_EMIT_CONST: break;
    case GCUT_EMIT_IOTA:
        h->view[n->res0] = (gcut_view){.root = n->res0};
        h->view[n->res0].stride[gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim] = 1;
        break;
    case GCUT_EMIT_PAD: group_other(h, GCUT_KERNEL_PAD, node); break;
    case GCUT_EMIT_CONCAT: group_other(h, GCUT_KERNEL_CONCAT, node); break;
    case GCUT_EMIT_FLIP: group_other(h, GCUT_KERNEL_FLIP, node); break;
    case GCUT_EMIT_TAKE: group_other(h, GCUT_KERNEL_TAKE, node); break;
    case GCUT_EMIT_SCATTER: group_other(h, GCUT_KERNEL_SCATTER, node); break;
    case GCUT_EMIT_PACK: group_other(h, GCUT_KERNEL_PACK, node); break;
    case GCUT_EMIT_UNPACK: group_unpack(h, node); break;
    case GCUT_EMIT_CUMSUM: group_other(h, GCUT_KERNEL_CUMSUM, node); break;
    case GCUT_EMIT_ARGSORT: group_other(h, GCUT_KERNEL_ARGSORT, node); break;
    case GCUT_EMIT_EXTERNAL: group_external(h, node); break;
    case GCUT_EMIT_CONV: group_other(h, GCUT_KERNEL_CONV, node); break;
    case GCUT_EMIT_POOL: group_other(h, GCUT_KERNEL_POOL, node); break;
    case GCUT_EMIT_ATTENTION: group_attention(h, GCUT_KERNEL_ATTENTION, node, r); break;
    case GCUT_EMIT_ATTENTION_GRAD: group_attention(h, GCUT_KERNEL_ATTENTION_GRAD, node, r); break;
    case GCUT_EMIT_REGION: group_region(h, node); break;
    case GCUT_EMIT_EXPAND: GCUT_NEVER("composites are expanded before lowering"); break;
    }
}

/* ---- the graph ---- */

/* By value: does something other than a loop read it, directly or by a view, or is it a result? */
static bool *memory_readers(const gcut_lowered *h, gcut_arena *a)
{
    const gcut_graph *g = h->g;
    bool *reads = gcut_calloc(a, g->values.n, sizeof *reads);
    for (uint32_t i = 0; i < g->results.n; i++) reads[g->results.at[i].value] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool loop = gcut_op_of(n)->emit == GCUT_EMIT_VIEW ? !reads[n->res0] : gcut_node_takes_in(g, n);
        for (uint32_t k = 0; !loop && k < n->nargs; k++) reads[gcut_arg(g, n, k)] = true;
    }
    return reads;
}

static readers readers_of(const gcut_lowered *h, gcut_arena *a)
{
    const gcut_graph *g = h->g;
    readers r = {gcut_count_uses(g, a), gcut_alloc(a, g->values.n * sizeof *r.node), memory_readers(h, a)};
    for (gcut_ref v = 0; v < g->values.n; v++) r.node[v] = GCUT_NONE;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; k < gcut_node_at(g, i)->nargs; k++)
            r.node[gcut_arg(g, gcut_node_at(g, i), k)] = i;
    return r;
}

/* A second copy, #recomputed(k), is wanted where the schedule has it: once it is read, its kernel is
 * complete.
 */
static void complete_kernels(gcut_lowered *h, const gcut_node *n)
{
    uint32_t own = h->kernel_of[n->res0];
    for (uint32_t k = 0; k < n->nargs; k++) {
        uint32_t s = gcut_kernel_source(h, gcut_arg(h->g, n, k));
        if (s != GCUT_NONE && s != own && is_loop(h, s) && kernel_at(h, s)->loop.recomputed)
            kernel_at(h, s)->loop.complete = true;
    }
    if (own == GCUT_NONE || !is_loop(h, own)) return;
    const gcut_mark *m = gcut_mark_find(&n->marks, GCUT_MARK_recomputed);
    kernel_at(h, own)->loop.recomputed |= m && m->nargs;
}

void gcut_make_fusion_groups(gcut_program *p, gcut_lowered *h)
{
    gcut_graph *g = h->g;
    gcut_arena *a = p->module->arena;
    gcut_arena *scratch = gcut_arena_new(p->module->env, a);
    uint32_t nv = g->values.n;
    h->view = gcut_calloc(a, nv, sizeof *h->view);
    h->kernel_of = gcut_calloc(a, nv, sizeof *h->kernel_of);
    h->level = gcut_calloc(a, nv, sizeof *h->level);
    h->reason = gcut_calloc(a, g->args.n + 1, sizeof *h->reason);
    h->memory_reason = gcut_calloc(a, nv, sizeof *h->memory_reason);
    h->walks = gcut_walks_new(a);
    h->buffer = gcut_calloc(a, nv, sizeof *h->buffer);
    for (gcut_ref v = 0; v < nv; v++) h->kernel_of[v] = h->buffer[v] = GCUT_NONE;
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        h->view[v] = gcut_view_contiguous(g->module, gcut_type_of(g, v), v);
    }
    if (h->parent != GCUT_NONE) gcut_region_params(p, h);
    const readers r = readers_of(h, scratch);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        group_node(h, i, &r);
        if (gcut_node_at(g, i)->nres) complete_kernels(h, gcut_node_at(g, i));
    }
    gcut_arena_free(scratch);
    gcut_kernels_placed(h);
    gcut_reads_build(h);
}
