/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sibling fusion: elementwise loops that read the same values, and nothing of each other, become one.
 *
 * in:  L6.   out: L7: fewer loops.   keeps: buffers, but for workspace; the order of the kernels that stay.
 *
 * Loop b moves up to loop a, an earlier one that reads one of its operands, which is then read once.  At no step more
 * bytes are alive for it: each result of b in the arena has memory of its own, and stands for an operand of b of its
 * dtype, element by element, that nobody else reads after a.
 *
 *   from a to b   the operand was alive, now the result is
 *   at a          the result may lie over the operand, as at b before (memory/shared_buffers.c): all members are
 *                 elementwise, so each element is read before it is written.  What a makes has the operands that die at
 *                 a, as before
 */
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/fusion/loop_merge.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/lower.h"
#include "machine/lower/memory/buffers.h"

#define LATER GCUT_NONE /* the place of a kernel that was not looked at yet */

typedef struct siblings {
    gcut_program *p;
    gcut_lowered *h;
    uint32_t *place;     /* by kernel: its place among those that were looked at and stay */
    uint32_t *into;      /* by kernel: the loop that took its members, or itself */
    uint32_t *times;     /* by root: the kernels that read it and were not looked at yet */
    uint32_t *last;      /* by root: the last kernel so far that reads it, GCUT_NONE: none does */
    uint32_t *last_loop; /* by root: the last elementwise loop so far that reads it element by element */
    uint32_t *roots;     /* by buffer of the program: how many roots of this graph are in it */
    bool *region;        /* by root: a loop's or a branch's body may read a part of it */
    uint32_t *seen;      /* by root: scratch of find_reads */
    GCUT_VEC(uint32_t) order;
} siblings;

static const gcut_kernel *kernel_at(const siblings *s, uint32_t u)
{
    return &s->h->kernels.at[u];
}

static bool is_elementwise(const siblings *s, uint32_t kernel)
{
    const gcut_kernel *u = kernel_at(s, kernel);
    if (u->kind != GCUT_KERNEL_LOOP || u->loop.blocked) return false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(s->h->g, u->nodes.at[i]);
        if (s->h->level[n->res0] != GCUT_LEVEL_FULL || gcut_op_of(n)->emit == GCUT_EMIT_REDUCE) return false;
    }
    return true;
}

/* Operand x.v of a member of loop u is read from memory, one element for each element of the loop. */
static bool reads_evenly(const gcut_lowered *h, const gcut_kernel *u, const gcut_use *x)
{
    const gcut_type *t = gcut_type_of(h->g, x->v);
    return gcut_kernel_access(h, u, x->v, GCUT_LEVEL_FULL) == GCUT_ACCESS_LOAD &&
           gcut_type_numel(h->g->module, t) == u->loop.numel && gcut_view_identity(h->g, t, &h->view[x->v]);
}

/* ---- the decision ---- */

/* All that loop b waits for runs before loop a. */
static bool may_run_there(const siblings *s, uint32_t a, uint32_t b)
{
    gcut_cursor at = {0};
    for (uint32_t d; (d = gcut_kernel_deps(s->h, b, &at)) != GCUT_NONE;)
        if (s->place[s->into[d]] >= s->place[a]) return false;
    return true;
}

/* Every read of the root by that loop is of one element for each element. */
static bool all_even(const siblings *s, uint32_t loop, gcut_ref root)
{
    const gcut_lowered *h = s->h;
    for (gcut_use x = {0}; gcut_next_use(h, kernel_at(s, loop), &x);)
        if (h->view[x.v].root == root && (h->view[x.v].widens || !reads_evenly(h, kernel_at(s, loop), &x)))
            return false;
    return true;
}

static uint32_t product_before(const siblings *s, uint32_t place)
{
    const uint32_t u = place ? s->order.at[place - 1] : GCUT_NONE;
    return u != GCUT_NONE && kernel_at(s, u)->kind == GCUT_KERNEL_GEMM ? u : GCUT_NONE;
}

/* The memory of the root, an operand of b, is free after a once b runs there, and a result may lie over it (the
 * conditions of memory/shared_buffers.c). */
static bool dies_there(const siblings *s, gcut_ref root, uint32_t a, uint32_t b)
{
    const gcut_lowered *h = s->h;
    const uint32_t buffer = h->buffer[root], product = product_before(s, s->place[a]);
    if (buffer == GCUT_NONE || s->roots[buffer] != 1 || h->reads->is_result[root] || s->region[root])
        return false;
    const gcut_buffer *x = &s->p->buffers.at[buffer];
    if (x->kind != GCUT_BUFFER_ARENA || (x->saved && s->p->apart)) return false;
    if (s->times[root] != 1 || (s->last[root] != GCUT_NONE && s->place[s->last[root]] > s->place[a]))
        return false;
    if (product != GCUT_NONE && gcut_reads(h, product, root) > 0) return false;
    return all_even(s, a, root) && all_even(s, b, root);
}

/* Each result of b in the arena has an operand that dies, of its dtype. */
static bool frees_enough(const siblings *s, uint32_t a, uint32_t b, gcut_arena *scratch)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = kernel_at(s, b);
    int wants[GCUT_NDTYPES] = {0}, all = 0;
    GCUT_VEC(gcut_ref) counted = {0};
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_ref v = gcut_node_at(h->g, u->nodes.at[i])->res0;
        if (h->buffer[v] == GCUT_NONE) continue;
        const gcut_buffer *x = &s->p->buffers.at[h->buffer[v]];
        if (x->kind == GCUT_BUFFER_PART || s->roots[h->buffer[v]] != 1)
            return false; /* as parts of a concat */
        if (x->kind == GCUT_BUFFER_ARENA) wants[gcut_type_of(h->g, v)->dtype]++, all++;
    }
    for (gcut_use x = {0}; gcut_next_use(h, u, &x) && all > 0;) {
        const gcut_ref root = h->view[x.v].root;
        const gcut_dtype t = gcut_type_of(h->g, root)->dtype;
        if (wants[t] == 0 || !reads_evenly(h, u, &x) || !dies_there(s, root, a, b)) continue;
        bool seen = false;
        for (uint32_t i = 0; i < counted.n && !seen; i++) seen = counted.at[i] == root;
        if (seen) continue;
        *GCUT_PUSH(scratch, &counted) = root;
        wants[t]--;
        all--;
    }
    return all == 0;
}

/* Of the product that ran right before that place, what speaks against the loop as its epilogue. */
static gcut_reason as_epilogue(const siblings *s, uint32_t place, uint32_t loop)
{
    const uint32_t product = product_before(s, place);
    return product == GCUT_NONE ? GCUT_REASON_not_adjacent
                                : gcut_decide_epilogue(s->h, product, kernel_at(s, loop));
}

/* Products have the same epilogues as before: b is none, a stays one, and the kernel after b, which then comes right
 * after the one before b, becomes none; its results and the product's operands would be alive together. */
static bool keeps_epilogues(const siblings *s, uint32_t a, uint32_t b, uint32_t next)
{
    if (as_epilogue(s, s->order.n, b) == GCUT_REASON_fused) return false;
    if (next != GCUT_NONE && kernel_at(s, next)->kind == GCUT_KERNEL_LOOP &&
        as_epilogue(s, s->order.n, next) == GCUT_REASON_fused)
        return false;
    if (as_epilogue(s, s->place[a], a) != GCUT_REASON_fused) return true;
    const gcut_reason r = as_epilogue(s, s->place[a], b);
    return r == GCUT_REASON_fused ||
           r == GCUT_REASON_not_adjacent; /* the latter: it reads nothing of the product */
}

/* The kernel after b is a loop that reads what b makes, as soon as it is made (launch_order.c). */
static bool is_read_next(const siblings *s, uint32_t b, uint32_t next)
{
    gcut_cursor at = {0};
    if (next == GCUT_NONE || kernel_at(s, next)->kind != GCUT_KERNEL_LOOP) return false;
    for (uint32_t d; (d = gcut_kernel_deps(s->h, next, &at)) != GCUT_NONE;)
        if (d == b) return true;
    return false;
}

static bool decide(const siblings *s, uint32_t a, uint32_t b, uint32_t next, gcut_arena *scratch)
{
    return gcut_loops_match(s->h, a, b) == GCUT_REASON_fused && may_run_there(s, a, b) &&
           !is_read_next(s, b, next) && frees_enough(s, a, b, scratch) && keeps_epilogues(s, a, b, next);
}

/* The latest loop that takes the members of b; GCUT_NONE: none does. */
static uint32_t sibling_of(const siblings *s, uint32_t b, uint32_t next, gcut_arena *scratch)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = kernel_at(s, b);
    for (uint32_t below = LATER;;) {
        uint32_t latest = GCUT_NONE;
        for (gcut_use x = {0}; gcut_next_use(h, u, &x);) {
            if (!reads_evenly(h, u, &x)) continue;
            const uint32_t a = s->last_loop[h->view[x.v].root];
            if (a == GCUT_NONE || s->place[a] >= below) continue;
            if (latest == GCUT_NONE || s->place[a] > s->place[latest]) latest = a;
        }
        if (latest == GCUT_NONE || decide(s, latest, b, next, scratch)) return latest;
        below = s->place[latest];
    }
}

/* ---- the execution ---- */

static void join(siblings *s, uint32_t a, uint32_t b)
{
    gcut_reads_remove(s->h, a);
    gcut_reads_remove(s->h, b);
    gcut_loops_merge(s->h, a, b);
    gcut_reads_add(s->h, a);
    gcut_assign_workspace(s->p, s->h, a);
    s->into[b] = a;
}

/* Loop u, which is at its place, reads its operands. */
static void note_loop(siblings *s, uint32_t u)
{
    const gcut_lowered *h = s->h;
    for (gcut_use x = {0}; gcut_next_use(h, kernel_at(s, u), &x);) {
        uint32_t *last = &s->last_loop[h->view[x.v].root];
        if (!reads_evenly(h, kernel_at(s, u), &x)) continue;
        if (*last == GCUT_NONE || s->place[*last] < s->place[u]) *last = u;
    }
}

typedef GCUT_VEC(gcut_ref) roots;

static void add_once(const siblings *s, uint32_t kernel, gcut_ref root, roots *out, gcut_arena *a)
{
    if (s->seen[root] != kernel) *GCUT_PUSH(a, out) = root;
    s->seen[root] = kernel;
}

/* What the kernel reads from memory, each once; asked of each kernel once. */
static void find_reads(const siblings *s, uint32_t kernel, roots *out, gcut_arena *a)
{
    const gcut_lowered *h = s->h;
    const gcut_kernel *u = kernel_at(s, kernel);
    gcut_cursor at = {0};
    out->n = 0;
    if (u->kind == GCUT_KERNEL_COPY && u->copy.source == GCUT_NONE)
        add_once(s, kernel, h->view[u->copy.value].root, out, a);
    for (gcut_ref v; gcut_kernel_read(h, kernel, &at, &v);)
        if (gcut_kernel_source(h, v) != kernel) add_once(s, kernel, h->view[v].root, out, a);
}

static uint32_t *none(gcut_arena *a, size_t n)
{
    uint32_t *out = gcut_alloc(a, (n + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = GCUT_NONE;
    return out;
}

static siblings begin(gcut_program *p, gcut_lowered *h, gcut_arena *a)
{
    const size_t values = h->g->values.n;
    siblings s = {.p = p, .h = h, .place = none(a, h->kernels.n), .into = none(a, h->kernels.n)};
    s.last = none(a, values);
    s.last_loop = none(a, values);
    s.seen = none(a, values);
    s.times = gcut_calloc(a, values, sizeof *s.times);
    s.roots = gcut_calloc(a, p->buffers.n + 1u, sizeof *s.roots);
    s.region = gcut_calloc(a, values, sizeof *s.region);
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        gcut_cursor at = {0};
        s.into[u] = u;
        for (gcut_ref v; h->kernels.at[u].kind == GCUT_KERNEL_REGION && gcut_kernel_read(h, u, &at, &v);)
            s.region[h->view[v].root] = true;
    }
    for (gcut_ref v = 1; v < values; v++) {
        s.times[v] = h->reads->of[v].n;
        if (h->view[v].root == v && h->buffer[v] != GCUT_NONE) s.roots[h->buffer[v]]++;
    }
    return s;
}

void gcut_join_siblings(gcut_program *p, gcut_lowered *h)
{
    if (h->unfused || p->unjoined || h->parent != GCUT_NONE)
        return; /* in a body no result lies over an operand */
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    siblings s = begin(p, h, a);
    roots read = {0};
    for (uint32_t i = 0; i < h->order.n; i++) {
        const uint32_t u = h->order.at[i], next = i + 1 < h->order.n ? h->order.at[i + 1] : GCUT_NONE;
        find_reads(&s, u, &read, a);
        const bool loop = is_elementwise(&s, u);
        const uint32_t sibling = loop ? sibling_of(&s, u, next, a) : GCUT_NONE,
                       now = sibling == GCUT_NONE ? u : sibling;
        if (sibling != GCUT_NONE) {
            join(&s, sibling, u);
        } else {
            s.place[u] = s.order.n;
            *GCUT_PUSH(a, &s.order) = u;
        }
        if (loop) note_loop(&s, now);
        for (uint32_t k = 0; k < read.n; k++) {
            uint32_t *last = &s.last[read.at[k]];
            s.times[read.at[k]]--;
            if (*last == GCUT_NONE || s.place[*last] < s.place[now]) *last = now;
        }
    }
    h->order.n = s.order.n;
    for (uint32_t i = 0; i < s.order.n; i++) h->order.at[i] = s.order.at[i];
    for (uint32_t u = 0; u < h->kernels.n; u++)
        for (uint32_t k = 0; k < h->kernels.at[u].before.n; k++)
            h->kernels.at[u].before.at[k] = s.into[h->kernels.at[u].before.at[k]];
    gcut_arena_free(a);
}
