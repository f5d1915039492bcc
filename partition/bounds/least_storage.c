/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which values may lie in bound buffers, backwards from the results; bytes; and the minimum cut in front of the
 * operands of a kernel.
 */
#include "partition/bounds/least_storage.h"

#include <math.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "graph/ops/value_bytes.h"
#include "partition/cut/min_cut.h"
#include "partition/cut/prices.h"
#include "partition/cut/schedule.h"

/* May operand k of n share memory with result r of n? */
static bool shares_memory(const gcut_least_storage *f, const gcut_node *n, uint32_t k, gcut_ref r)
{
    if (gcut_node_class(n) == GCUT_CLASS_CONTRACTION) return false;
    if (gcut_node_class(n) == GCUT_CLASS_CONTROL || n->op == GCUT_OP_concat) return true;
    return f->bytes[gcut_arg(f->g, n, k)] == f->bytes[r];
}

static void find_readers(gcut_least_storage *f, gcut_arena *arena)
{
    const gcut_graph *g = f->g;
    for (uint32_t i = 0; i < g->params.n; i++)
        f->late[g->params.at[i].value] = gcut_param_is_late(&g->params.at[i]);
    gcut_add_dependents(g, f->late);
    bool *need = gcut_calloc(arena, g->values.n, sizeof *need);
    for (gcut_ref v = 1; v < g->values.n; v++) need[v] = gcut_value_runs_once(g, v);
    for (uint32_t i = 0; i < g->results.n; i++) need[g->results.at[i].value] = true;
    f->needed = gcut_needed_nodes(arena, g, need, NULL);
    for (uint32_t i = 0; i < g->results.n; i++) f->read[g->results.at[i].value] = true;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; f->needed[i] && k < gcut_node_at(g, i)->nargs; k++)
            f->read[gcut_arg(g, gcut_node_at(g, i), k)] = true;
}

static void find_resident(gcut_least_storage *f)
{
    const gcut_graph *g = f->g;
    for (gcut_ref v = 1; v < g->values.n; v++) f->resident[v] = !gcut_def(g, v);
    for (uint32_t i = 0; i < g->results.n; i++) f->resident[g->results.at[i].value] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        for (gcut_ref r = n->res0; r < n->res0 + n->nres; r++)
            for (uint32_t k = 0; f->resident[r] && k < n->nargs; k++)
                f->resident[gcut_arg(g, n, k)] |= shares_memory(f, n, k, r);
    }
}

gcut_least_storage gcut_least_storage_of(gcut_arena *arena, const gcut_graph *g, const gcut_dim_binding *at,
                                         uint32_t nat, bool rounds)
{
    const size_t n = g->values.n;
    gcut_least_storage f = {.g = g, .rounds = rounds};
    f.bytes = gcut_calloc(arena, n, sizeof *f.bytes);
    f.resident = gcut_calloc(arena, n, sizeof *f.resident);
    f.read = gcut_calloc(arena, n, sizeof *f.read);
    f.late = gcut_calloc(arena, n, sizeof *f.late);
    for (gcut_ref v = 1; v < n; v++) f.bytes[v] = gcut_value_bytes(g, v, at, nat);
    find_readers(&f, arena);
    find_resident(&f);
    return f;
}

int64_t gcut_least_bytes(const gcut_least_storage *f, gcut_ref v)
{
    gcut_dtype t = gcut_type_of(f->g, v)->dtype;
    if (f->resident[v]) return 0;
    if (t == GCUT_BOOL) return (f->bytes[v] + 7) / 8;
    if (t == GCUT_F32 && f->rounds) return (f->bytes[v] + 1) / 2;
    return f->bytes[v];
}

int64_t gcut_least_written(const gcut_least_storage *f, const gcut_node *n)
{
    int64_t sum = 0, least = INT64_MAX;
    for (gcut_ref r = n->res0; r < n->res0 + n->nres; r++) {
        int64_t bytes = f->resident[r] || !f->read[r] ? 0 : f->bytes[r];
        sum += bytes;
        if (bytes < least) least = bytes;
    }
    return f->late[n->res0] ? sum : least;
}

/* ---- operands ---- */

bool gcut_has_own_kernel(const gcut_node *n)
{
    return gcut_node_class(n) == GCUT_CLASS_CONTRACTION ||
           gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_POOL;
}

/* Its results are in memory, or may be computed from less than its operands. */
static bool ends_paths(const gcut_node *n)
{
    return gcut_has_own_kernel(n) || gcut_node_class(n) == GCUT_CLASS_CONTROL ||
           gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_EXPAND;
}

static void find_possible(const gcut_least_storage *f, uint32_t node, bool *may)
{
    const gcut_graph *g = f->g;
    const gcut_node *at = gcut_node_at(g, node);
    for (uint32_t k = 0; k < at->nargs; k++) may[gcut_arg(g, at, k)] = true;
    for (uint32_t i = node; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!gcut_any_result(n, may)) continue;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) may[v] = true;
        for (uint32_t k = 0; !ends_paths(n) && k < n->nargs; k++) may[gcut_arg(g, n, k)] = true;
    }
}

int64_t gcut_least_read(const gcut_least_storage *f, uint32_t node, bool *may, gcut_arena *arena)
{
    const gcut_graph *g = f->g;
    const gcut_node *at = gcut_node_at(g, node);
    gcut_arena *a = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_network *net = gcut_network_new(a, g->values.n);
    find_possible(f, node, may);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const int64_t bytes = gcut_least_bytes(f, v);
        if (may[v]) gcut_network_value(net, v, (double)bytes, bytes, 0, NULL);
    }
    for (uint32_t i = 0; i < node; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        const bool expanded = gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_EXPAND;
        gcut_ref res[GCUT_MAX_RESULTS];
        if (!gcut_any_result(n, may)) continue;
        for (uint32_t k = 0; k < n->nres; k++) res[k] = n->res0 + k;
        gcut_network_work(net, ends_paths(n) && !expanded ? INFINITY : 0, NULL, &g->args.at[n->arg0],
                          ends_paths(n) ? 0 : n->nargs, res, n->nres);
    }
    for (uint32_t k = 0; k < at->nargs; k++) gcut_network_read(net, gcut_arg(g, at, k), NULL);
    const int64_t bytes = (int64_t)ceil(gcut_solve(net, a).lower_bound); /* capacities are integers */
    gcut_arena_free(a);
    return bytes;
}
