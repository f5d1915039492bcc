/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The phases of a loop kernel, what crosses them, and the workspace that takes.
 */
#include "kernels/lower/fusion/loop.h"

#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/lower/c_text.h"
#include "kernels/lower/fusion/epilogue.h"
#include "kernels/lower/team.h"

#define CHEAP_PS 120 /* a chain up to this cost per element is computed again rather than kept */

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

static void set_phase(gcut_loop_analysis *l, gcut_loop_node *x)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    bool full = x->level == GCUT_LEVEL_FULL || x->reduces;
    x->phase = full ? 0 : -1;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        gcut_access a = gcut_loop_access(l, x, v);
        if (a != GCUT_ACCESS_FULL && a != GCUT_ACCESS_ROW) continue;
        const gcut_loop_node *o = gcut_loop_member(l, v);
        int p = a == GCUT_ACCESS_ROW && full ? o->phase + 1 : o->phase;
        if (p > x->phase) x->phase = p;
        if (a == GCUT_ACCESS_FULL && x->chain_ps < CHEAP_PS)
            x->chain_ps += o->chain_ps; /* beyond, how much does not matter */
    }
    x->chain_ps += gcut_op_get((gcut_op)n->op)->cost_ps;
    if (full && x->phase + 1 > l->phases) l->phases = x->phase + 1;
}

/* Marks FULL values of an earlier phase that phase p reads in the end, looking through recomputation. l->have
 * says which members this phase has visited: a value may be read along many paths. */
static void mark_crossing(gcut_loop_analysis *l, gcut_loop_node *x, int p, bool *changed)
{
    const gcut_node *n = gcut_node_at(l->g, x->node);
    if (l->have[x - l->at]) return;
    l->have[x - l->at] = true;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(l->g, n, k);
        if (gcut_loop_access(l, x, v) != GCUT_ACCESS_FULL) continue;
        gcut_loop_node *o = gcut_loop_member(l, v);
        if (o->phase < p && !o->crosses) {
            o->crosses = *changed = true;
            o->keep = gcut_loop_stored(l, o) != GCUT_NONE ? GCUT_STORED
                      : o->chain_ps > CHEAP_PS            ? GCUT_SCRATCH
                                                          : GCUT_RECOMPUTE;
        }
        if (o->phase == p || o->keep == GCUT_RECOMPUTE) mark_crossing(l, o, p, changed);
    }
}

/* One round over all phases; what becomes scratch is a new sink of its own phase. */
static bool mark_round(gcut_loop_analysis *l)
{
    bool changed = false;
    for (int p = 0; p < l->phases; p++) {
        memset(l->have, 0, l->n * sizeof *l->have);
        for (uint32_t i = 0; i < l->n; i++)
            if (gcut_loop_sink(l, &l->at[i], p)) mark_crossing(l, &l->at[i], p, &changed);
    }
    return changed;
}

bool gcut_loop_sink(const gcut_loop_analysis *l, const gcut_loop_node *x, int p)
{
    if (x->phase != p) return false;
    if (x->reduces) return true;
    return x->level == GCUT_LEVEL_FULL && (gcut_loop_stored(l, x) != GCUT_NONE || x->keep == GCUT_SCRATCH);
}

static gcut_loop_analysis analyse(gcut_arena *a, gcut_loop_analysis l)
{
    const gcut_lowered *h = l.h;
    l.g = h->g;
    l.m = h->g->module;
    l.n = l.u->nodes.n;
    l.at = gcut_calloc(a, l.n + 1, sizeof *l.at);
    l.have = gcut_calloc(a, l.n + 1, sizeof *l.have);
    for (uint32_t i = 0; i < l.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, l.u->nodes.at[i]);
        gcut_loop_node *x = &l.at[i];
        *x = (gcut_loop_node){
            .node = l.u->nodes.at[i], .v = n->res0, .level = h->level[n->res0], .keep = GCUT_RECOMPUTE};
        x->reduces = gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE;
        GCUT_ASSERT(i == 0 || l.at[i - 1].v < x->v); /* gcut_loop_member searches */
    }
    for (uint32_t i = 0; i < l.n; i++) set_phase(&l, &l.at[i]);
    while (mark_round(&l)) continue;
    return l;
}

gcut_loop_analysis gcut_loop_analyse(gcut_arena *a, const gcut_lowered *h, uint32_t kernel)
{
    return analyse(a, (gcut_loop_analysis){.h = h, .u = &h->kernels.at[kernel], .kernel = kernel});
}

gcut_loop_analysis gcut_loop_analyse_prologue(gcut_arena *a, const gcut_lowered *h, uint32_t gemm,
                                              const gcut_prologue *c)
{
    return analyse(a, (gcut_loop_analysis){.h = h, .u = &c->loop, .kernel = gemm, .prologue = c});
}

static int64_t local_bytes(const gcut_loop_analysis *l, gcut_ref v)
{
    return gcut_dtype_bytes(gcut_type_of(l->g, v)->dtype);
}

/* bytes of one row of v, in whole cache lines; a row that is constantly empty has one, so that there is a
 * buffer for what the emitted code declares */
gcut_dim gcut_loop_row_bytes(const gcut_loop_analysis *l, gcut_ref v)
{
    if (l->u->loop.inner == 0) return 64;
    gcut_dim n = gcut_dim_make(l->m->dims, GCUT_DIM_MUL, l->u->loop.inner, local_bytes(l, v));
    return gcut_dim_make(l->m->dims, GCUT_DIM_MUL, gcut_dim_make(l->m->dims, GCUT_DIM_CEILDIV, n, 64), 64);
}

gcut_dim gcut_loop_partial_bytes(const gcut_loop_analysis *l, const gcut_loop_node *x)
{
    gcut_dim one = x->level == GCUT_LEVEL_COLUMN ? gcut_loop_row_bytes(l, x->v) : 64;
    return gcut_dim_make(l->m->dims, GCUT_DIM_MUL, one, GCUT_BLOCKS);
}

void gcut_loop_workspace(const gcut_lowered *h, uint32_t kernel, gcut_dim *scratch, gcut_dim *partial,
                         gcut_module *m)
{
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    gcut_loop_analysis l = gcut_loop_analyse(a, h, kernel);
    *scratch = *partial = 0;
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i].keep == GCUT_SCRATCH)
            *scratch = gcut_dim_make(m->dims, GCUT_DIM_ADD, *scratch, gcut_loop_row_bytes(&l, l.at[i].v));
        if (gcut_loop_partial(&l.at[i]))
            *partial = gcut_dim_make(m->dims, GCUT_DIM_ADD, *partial, gcut_loop_partial_bytes(&l, &l.at[i]));
    }
    gcut_arena_free(a);
}

/* ---- team ---- */

static int64_t cost_of(const gcut_lowered *h, const gcut_kernel *u)
{
    int64_t ps = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++)
        ps +=
            gcut_op_get((gcut_op)gcut_node_at(h->g, u->nodes.at[i])->op)->cost_ps + 100; /* and its traffic */
    return ps;
}

gcut_team gcut_loop_team(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    gcut_team c = {
        .n = u->loop.numel, .rows = u->loop.rows, .ps = cost_of(h, u), .blocked = u->loop.blocked, .k = 0};
    if (u->loop.product == GCUT_NONE) return c;
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[u->loop.product].nodes.at[0]);
    c.tiled = true;
    c.columns = gcut_takes_columns(h, kernel);
    c.k = gcut_type_of(h->g, gcut_arg(h->g, n, 0))->dim[gcut_attr_flag(h->g, n, GCUT_KEY_ta) ? 0 : 1];
    return c;
}

static int64_t size_at(gcut_module *m, gcut_dim d, const gcut_dim_binding *at, uint32_t nat)
{
    int64_t n = 0;
    if (!gcut_dim_eval(m->dims, d, at, nat, &n))
        gcut_fail(m->env, GCUT_EDIM, (gcut_place){.file = m->file}, NULL,
                  "a size cannot be computed at these dimensions");
    return n;
}

int gcut_team_at(gcut_module *m, const gcut_team *c, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    int64_t n = size_at(m, c->n, at, nat), rows = size_at(m, c->rows, at, nat);
    if (c->tiled && c->columns)
        return gcut_rt_worth(threads, n, c->ps + GCUT_MADD_PS * size_at(m, c->k, at, nat));
    if (c->tiled)
        return gcut_rt_epilogue_threads(threads, n, c->ps, rows,
                                        c->ps + GCUT_MADD_PS * size_at(m, c->k, at, nat));
    return gcut_rt_threads_worth(threads, n, c->ps, c->blocked ? gcut_rt_min(rows, GCUT_BLOCKS) : rows);
}

const char *gcut_team_c(gcut_module *m, const gcut_team *c, gcut_size_c *size)
{
    bool once = size == gcut_c_size;
    const char *n = once ? gcut_c_named(m, "elements", c->n) : size(m, c->n);
    const char *rows = once ? gcut_c_named(m, "rows", c->rows) : size(m, c->rows);
    if (c->tiled && c->columns)
        return gcut_printf(m->arena, "gcut_rt_worth(nt, %s, %lld + %d * (%s))", n, (long long)c->ps,
                           GCUT_MADD_PS, size(m, c->k));
    if (c->tiled)
        return gcut_printf(m->arena, "gcut_rt_epilogue_threads(nt, %s, %lld, %s, %lld + %d * (%s))", n,
                           (long long)c->ps, rows, (long long)c->ps, GCUT_MADD_PS, size(m, c->k));
    const char *most = c->blocked ? gcut_printf(m->arena, "gcut_rt_min(%s, %d)", rows, GCUT_BLOCKS) : rows;
    return gcut_printf(m->arena, "gcut_rt_threads_worth(nt, %s, %lld, %s)", n, (long long)c->ps, most);
}
