/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phases of a loop kernel, and what crosses them.
 */
#include "machine/lower/fusion/loop_phases.h"

#include <string.h>

#include "base/bytes.h"

gcut_loop_node *gcut_loop_member(const gcut_loop_analysis *l, gcut_ref v)
{
    const gcut_ref root = l->h->view[v].root;
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (l->at[mid].v < root)
            low = mid + 1;
        else
            high = mid;
    }
    return low < l->n && l->at[low].v == root ? &l->at[low] : NULL;
}

gcut_access gcut_loop_access(const gcut_loop_analysis *l, const gcut_loop_node *user, gcut_ref v)
{
    gcut_level at = user->level == GCUT_LEVEL_ROW && !user->reduces ? GCUT_LEVEL_ROW : GCUT_LEVEL_FULL;
    return gcut_kernel_access(l->h, l->u, v, at);
}

gcut_loop_node *gcut_loop_producer(const gcut_loop_analysis *l, const gcut_loop_node *x, uint32_t k)
{
    const gcut_ref v = gcut_arg(l->g, x->n, k);
    return gcut_loop_access(l, x, v) == GCUT_ACCESS_FULL ? gcut_loop_member(l, v) : NULL;
}

static void set_phase(gcut_loop_analysis *l, gcut_loop_node *x)
{
    bool full = x->level == GCUT_LEVEL_FULL || x->reduces;
    const int kept = l->h->thresholds->ps[GCUT_THRESHOLD_kept];
    x->phase = full ? 0 : -1;
    for (uint32_t k = 0; k < x->n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, x->n, k);
        gcut_access a = gcut_loop_access(l, x, v);
        if (a != GCUT_ACCESS_FULL && a != GCUT_ACCESS_ROW) continue;
        const gcut_loop_node *o = gcut_loop_member(l, v);
        int p = a == GCUT_ACCESS_ROW && full ? o->phase + 1 : o->phase;
        if (p > x->phase) x->phase = p;
        if (a == GCUT_ACCESS_FULL && x->chain_ps < kept)
            x->chain_ps += o->chain_ps; /* beyond, how much does not matter */
    }
    x->chain_ps += gcut_op_ps(l->h, x->n);
    if (full && x->phase + 1 > l->phases) l->phases = x->phase + 1;
}

/* Marks FULL values of an earlier phase that phase p reads in the end, looking through recomputation; says
 * whether there were new ones.  `visited` is by member: a value may be read along many paths. */
static bool mark_crossing(const gcut_loop_analysis *l, const gcut_loop_node *x, int p, bool *visited)
{
    const int kept = l->h->thresholds->ps[GCUT_THRESHOLD_kept];
    bool changed = false;
    if (visited[x - l->at]) return false;
    visited[x - l->at] = true;
    for (uint32_t k = 0; k < x->n->nargs; k++) {
        gcut_loop_node *o = gcut_loop_producer(l, x, k);
        if (!o) continue;
        if (o->phase < p && !o->crosses) {
            o->crosses = changed = true;
            o->keep = gcut_loop_stored(l, o) != GCUT_NONE ? GCUT_STORED
                      : o->chain_ps > kept                ? GCUT_SCRATCH
                                                          : GCUT_RECOMPUTE;
        }
        if (o->phase == p || o->keep == GCUT_RECOMPUTE) changed |= mark_crossing(l, o, p, visited);
    }
    return changed;
}

/* One round over all phases; what becomes scratch is a new sink of its own phase. */
static bool mark_round(const gcut_loop_analysis *l, bool *visited)
{
    bool changed = false;
    for (int p = 0; p < l->phases; p++) {
        memset(visited, 0, l->n * sizeof *visited);
        for (uint32_t i = 0; i < l->n; i++)
            if (gcut_loop_sink(l, &l->at[i], p)) changed |= mark_crossing(l, &l->at[i], p, visited);
    }
    return changed;
}

bool gcut_loop_sink(const gcut_loop_analysis *l, const gcut_loop_node *x, int p)
{
    if (x->phase != p) return false;
    if (x->reduces) return true;
    return x->level == GCUT_LEVEL_FULL && (gcut_loop_stored(l, x) != GCUT_NONE || x->keep == GCUT_SCRATCH);
}

gcut_loop_analysis gcut_loop_analyse(gcut_arena *a, const gcut_lowered *h, uint32_t kernel,
                                     const gcut_prologue *prologue)
{
    gcut_loop_analysis l = {.h = h, .g = h->g, .m = h->g->module, .kernel = kernel, .prologue = prologue};
    l.u = prologue ? &prologue->loop : &h->kernels.at[kernel];
    l.n = l.u->nodes.n;
    l.at = gcut_calloc(a, l.n + 1, sizeof *l.at);
    for (uint32_t i = 0; i < l.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, l.u->nodes.at[i]);
        l.at[i] = (gcut_loop_node){.n = n,
                                   .v = n->res0,
                                   .dtype = gcut_type_of(h->g, n->res0)->dtype,
                                   .level = h->level[n->res0],
                                   .reduces = gcut_op_of(n)->emit == GCUT_EMIT_REDUCE,
                                   .keep = GCUT_RECOMPUTE};
        GCUT_ASSERT(i == 0 || l.at[i - 1].v < n->res0); /* gcut_loop_member searches */
    }
    for (uint32_t i = 0; i < l.n; i++) set_phase(&l, &l.at[i]);
    bool *visited = gcut_calloc(a, l.n + 1, sizeof *visited);
    while (mark_round(&l, visited)) continue;
    return l;
}

/* A row that is constantly empty has one line, so that there is a buffer for what the emitted code declares.
 */
gcut_dim gcut_loop_row_bytes(const gcut_loop_analysis *l, gcut_dtype t)
{
    if (l->u->loop.inner == 0) return GCUT_LINE;
    gcut_dim n = gcut_dim_times(l->m, l->u->loop.inner, gcut_dtype_bytes(t));
    return gcut_dim_times(l->m, gcut_dim_make(l->m->dims, GCUT_DIM_CEILDIV, n, GCUT_LINE), GCUT_LINE);
}

gcut_dim gcut_loop_blocks(gcut_module *m, const gcut_kernel *u)
{
    return gcut_dim_make(m->dims, GCUT_DIM_MAXOF, 1,
                         gcut_dim_make(m->dims, GCUT_DIM_MIN, u->loop.rows, GCUT_BLOCKS));
}

gcut_dim gcut_loop_partial_bytes(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    gcut_dim one = x->level == GCUT_LEVEL_COLUMN ? gcut_loop_row_bytes(l, x->dtype) : GCUT_LINE;
    return gcut_dim_times(l->m, one, gcut_loop_blocks(l->m, l->u));
}
