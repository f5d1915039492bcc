/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loops that read the same values.
 *
 * in:  L6.   out: L7: no two loops that could be one walk the same operand.   keeps: buffers, but for workspace; the
 * order of all other kernels.
 *
 * The members of a loop move up to an earlier loop that reads one of its operands, which is then read once.  What they
 * make is in memory from there on, and what they were the last to read is dead from there on.  They move only where
 * that is no more bytes, so no plan needs more memory for it.
 */
#include <stdlib.h>

#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/fusion/loop_merge.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/lower.h"
#include "machine/lower/memory/buffers.h"

typedef struct siblings {
    gcut_program *p;
    gcut_lowered *h;
    uint32_t *place; /* by kernel: its place in the order; GCUT_NONE: it is in none */
    uint32_t *into;  /* by kernel: the loop that took its members, or itself */
    uint32_t *last;  /* by root: the last loop so far that reads it element by element; GCUT_NONE */
} siblings;

/* Operand x.v of a member of loop u is read from memory, one element for each element of the loop. */
static bool reads_evenly(const gcut_lowered *h, const gcut_kernel *u, const gcut_use *x)
{
    const gcut_type *t = gcut_type_of(h->g, x->v);
    return gcut_kernel_access(h, u, x->v, GCUT_LEVEL_FULL) == GCUT_ACCESS_LOAD &&
           gcut_type_numel(h->g->module, t) == u->loop.numel && gcut_view_identity(h->g, t, &h->view[x->v]);
}

/* All that loop b waits for runs before loop a. */
static bool may_run_there(const siblings *s, uint32_t a, uint32_t b)
{
    gcut_cursor at = {0};
    for (uint32_t d; (d = gcut_kernel_deps(s->h, b, &at)) != GCUT_NONE;)
        if (s->into[d] == a || s->place[s->into[d]] >= s->place[a]) return false;
    return true;
}

/* Bytes of the arena that the storage behind root takes; -1: not known. */
static int64_t arena_bytes(const siblings *s, gcut_ref root)
{
    const uint32_t b = s->h->buffer[root];
    int64_t n;
    if (b == GCUT_NONE || s->p->buffers.at[b].kind != GCUT_BUFFER_ARENA) return 0;
    const gcut_buffer *x = &s->p->buffers.at[b];
    if (!gcut_dim_eval(s->p->module->dims, x->count, s->h->at, s->h->nat, &n)) return -1;
    return n * gcut_dtype_bytes(x->dtype);
}

/* Nobody but loop b reads the root after loop a has run. */
static bool dies_there(const siblings *s, gcut_ref root, uint32_t a, uint32_t b)
{
    const gcut_readers *r = &s->h->reads->of[root];
    if (s->h->reads->is_result[root]) return false;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i].kernel != b && s->place[r->at[i].kernel] > s->place[a]) return false;
    return true;
}

/* Moving b to a makes no more bytes wait between the two than it frees there. */
static bool frees_enough(const siblings *s, uint32_t a, uint32_t b)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = &h->kernels.at[b];
    int64_t bytes = 0;
    GCUT_VEC(gcut_ref) counted = {0};
    gcut_arena *scratch = gcut_arena_new(h->g->module->env, h->g->module->arena);
    bool known = true;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const int64_t made = arena_bytes(s, gcut_node_at(h->g, u->nodes.at[i])->res0);
        known = known && made >= 0;
        bytes += made;
    }
    for (gcut_use x = {0}; gcut_next_use(h, u, &x) && known && bytes > 0;) {
        const gcut_ref root = h->view[x.v].root;
        bool seen = gcut_kernel_access(h, u, x.v, GCUT_LEVEL_FULL) != GCUT_ACCESS_LOAD;
        for (uint32_t i = 0; i < counted.n && !seen; i++) seen = counted.at[i] == root;
        if (seen || !dies_there(s, root, a, b)) continue;
        const int64_t freed = arena_bytes(s, root);
        if (freed > 0) bytes -= freed;
        *GCUT_PUSH(scratch, &counted) = root;
    }
    gcut_arena_free(scratch);
    return known && bytes <= 0;
}

/* The product right before place i of the order, whose epilogue the loop at that place may be; GCUT_NONE. */
static uint32_t product_before(const siblings *s, uint32_t i)
{
    const gcut_lowered *h = s->h;
    while (i-- > 0) {
        const uint32_t u = h->order.at[i];
        if (u == GCUT_NONE) continue;
        return h->kernels.at[u].kind == GCUT_KERNEL_GEMM ? u : GCUT_NONE;
    }
    return GCUT_NONE;
}

/* The loop with the members of both. */
static gcut_kernel both(const siblings *s, uint32_t a, uint32_t b, gcut_arena *scratch)
{
    gcut_kernel x = s->h->kernels.at[a];
    const gcut_kernel *y = &s->h->kernels.at[b];
    uint32_t *nodes = gcut_alloc(scratch, (x.nodes.n + y->nodes.n) * sizeof *nodes), n = 0;
    for (uint32_t i = 0, k = 0; i < x.nodes.n || k < y->nodes.n;) {
        const bool first = k == y->nodes.n || (i < x.nodes.n && x.nodes.at[i] < y->nodes.at[k]);
        nodes[n++] = first ? x.nodes.at[i++] : y->nodes.at[k++];
    }
    x.nodes.at = nodes;
    x.nodes.n = x.nodes.cap = n;
    x.loop.blocked |= y->loop.blocked;
    return x;
}

/* No epilogue is lost: b is none, and a stays one. */
static bool keeps_epilogues(const siblings *s, uint32_t a, uint32_t b)
{
    const uint32_t before_a = product_before(s, s->place[a]), before_b = product_before(s, s->place[b]);
    if (before_b != GCUT_NONE &&
        gcut_decide_epilogue(s->h, before_b, &s->h->kernels.at[b]) == GCUT_REASON_fused)
        return false;
    if (before_a == GCUT_NONE ||
        gcut_decide_epilogue(s->h, before_a, &s->h->kernels.at[a]) != GCUT_REASON_fused)
        return true;
    gcut_arena *scratch = gcut_arena_new(s->h->g->module->env, s->h->g->module->arena);
    const gcut_kernel u = both(s, a, b, scratch);
    const bool stays = gcut_decide_epilogue(s->h, before_a, &u) == GCUT_REASON_fused;
    gcut_arena_free(scratch);
    return stays;
}

/* The kernel behind b is a loop that reads what b makes, which is still in cache. */
static bool is_read_next(const siblings *s, uint32_t b)
{
    const gcut_lowered *h = s->h;
    uint32_t i = s->place[b] + 1;
    if (i >= h->order.n || h->kernels.at[h->order.at[i]].kind != GCUT_KERNEL_LOOP) return false;
    gcut_cursor at = {0};
    for (uint32_t d; (d = gcut_kernel_deps(h, h->order.at[i], &at)) != GCUT_NONE;)
        if (d == b) return true;
    return false;
}

static bool decide(const siblings *s, uint32_t a, uint32_t b)
{
    return gcut_loops_match(s->h, a, b) == GCUT_REASON_fused && may_run_there(s, a, b) &&
           !is_read_next(s, b) && frees_enough(s, a, b) && keeps_epilogues(s, a, b);
}

static void move(siblings *s, uint32_t a, uint32_t b)
{
    gcut_lowered *h = s->h;
    gcut_reads_remove(h, a);
    gcut_reads_remove(h, b);
    gcut_loops_merge(h, a, b);
    gcut_reads_add(h, a);
    gcut_assign_workspace(s->p, h, a);
    h->order.at[s->place[b]] = GCUT_NONE;
    s->place[b] = GCUT_NONE;
    s->into[b] = a;
}

/* The latest loop before b that reads an operand of it and takes its members; GCUT_NONE. */
static uint32_t sibling_of(const siblings *s, uint32_t b)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = &h->kernels.at[b];
    uint32_t latest = GCUT_NONE;
    for (gcut_use x = {0}; gcut_next_use(h, u, &x);) {
        if (!reads_evenly(h, u, &x)) continue;
        const uint32_t a = s->last[h->view[x.v].root];
        if (a != GCUT_NONE && a != b && (latest == GCUT_NONE || s->place[a] > s->place[latest])) latest = a;
    }
    return latest != GCUT_NONE && decide(s, latest, b) ? latest : GCUT_NONE;
}

void gcut_merge_siblings(gcut_program *p, gcut_lowered *h)
{
    if (h->unfused) return;
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    siblings s = {.p = p, .h = h};
    const size_t kernels = (size_t)h->kernels.n + 1, values = h->g->values.n;
    s.place = gcut_alloc(a, kernels * sizeof *s.place);
    s.into = gcut_alloc(a, kernels * sizeof *s.into);
    s.last = gcut_alloc(a, values * sizeof *s.last);
    for (uint32_t u = 0; u < h->kernels.n; u++) s.place[u] = GCUT_NONE, s.into[u] = u;
    for (gcut_ref v = 0; v < values; v++) s.last[v] = GCUT_NONE;
    for (uint32_t i = 0; i < h->order.n; i++) s.place[h->order.at[i]] = i;
    for (uint32_t i = 0; i < h->order.n; i++) {
        uint32_t u = h->order.at[i];
        if (h->kernels.at[u].kind != GCUT_KERNEL_LOOP) continue;
        const uint32_t sibling = sibling_of(&s, u);
        if (sibling != GCUT_NONE) move(&s, sibling, u), u = sibling;
        for (gcut_use x = {0}; gcut_next_use(h, &h->kernels.at[u], &x);)
            if (reads_evenly(h, &h->kernels.at[u], &x)) s.last[h->view[x.v].root] = u;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->order.n; i++)
        if (h->order.at[i] != GCUT_NONE) h->order.at[n++] = h->order.at[i];
    h->order.n = n;
    for (uint32_t u = 0; u < h->kernels.n; u++)
        for (uint32_t k = 0; k < h->kernels.at[u].before.n; k++)
            h->kernels.at[u].before.at[k] = s.into[h->kernels.at[u].before.at[k]];
    gcut_arena_free(a);
}
