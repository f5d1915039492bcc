/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A loop writes its result over an operand that dies in it.
 *
 * in:  L9 of all graphs.   out: L10: two buffers of the arena become one where the second begins as the
 *      first ends, at a loop that reads every element of the first before it writes that of the second.
 *
 * Within a column a loop stores only after it has computed everything, so what matters is the phase: nothing
 * may read the operand after the phase that stores the result, and a reduction of that phase may not read it
 * at all.  Only buffers of the forward and the backward graph themselves take part; a body's may be written
 * many times.
 */
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/fusion/loop_phases.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/lower.h"

/* The loop kernel reads old, element for element, and never after r is stored. */
static bool reads_before(const gcut_loop_analysis *l, const gcut_loop_node *r, gcut_ref old)
{
    bool reads = false;
    for (gcut_use use = {0}; gcut_next_use(l->h, l->u, &use);) {
        const gcut_loop_node *x = &l->at[use.i];
        const gcut_view *view = &l->h->view[use.v];
        const gcut_type *t = gcut_type_of(l->g, use.v);
        /* What is computed again in a later phase reads its operands there. */
        if (x->level == GCUT_LEVEL_FULL && x->crosses && x->keep == GCUT_RECOMPUTE &&
            r->phase + 1 < l->phases)
            return false;
        if (view->root != old) continue;
        if (!gcut_view_identity(l->g, t, view) || view->widens) return false;
        if (gcut_type_numel(l->m, t) != l->u->loop.numel) return false;
        if (x->level != GCUT_LEVEL_FULL && !x->reduces) return false;
        if (x->reduces ? x->phase >= r->phase : x->phase > r->phase) return false;
        reads = true;
    }
    return reads;
}

static bool of_arena(const gcut_program *p, uint32_t b)
{
    return b != GCUT_NONE && p->buffers.at[b].kind == GCUT_BUFFER_ARENA &&
           p->buffers.at[b].shared_by == GCUT_NONE;
}

/* Values, or results, of one graph by their buffer: lists, so that a merge costs as much as it renames. */
typedef struct names {
    uint32_t *buffer; /* by value or result */
    uint32_t *first;  /* by buffer: index + 1; 0 = none */
    uint32_t *next;   /* by index: likewise */
} names;

typedef struct sharing {
    gcut_program *p;
    bool *pinned;          /* by buffer: somebody's part, or a copy's; not traced here */
    GCUT_VEC(names) names; /* of every graph */
} sharing;

static bool *find_pinned(gcut_arena *a, const gcut_program *p)
{
    bool *pinned = gcut_calloc(a, p->buffers.n + 1, sizeof *pinned);
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == GCUT_BUFFER_PART) pinned[p->buffers.at[i].whole] = true;
    for (uint32_t k = 0; k < p->lowered.n; k++)
        for (uint32_t u = 0; u < p->lowered.at[k]->kernels.n; u++) {
            const gcut_kernel *x = &p->lowered.at[k]->kernels.at[u];
            if (x->kind == GCUT_KERNEL_COPY && x->copy.to != GCUT_NONE) pinned[x->copy.to] = true;
        }
    return pinned;
}

static void index_names(sharing *s, gcut_arena *a, uint32_t *buffer, uint32_t from, uint32_t n)
{
    names x = {buffer, gcut_calloc(a, s->p->buffers.n + 1, sizeof *x.first),
               gcut_calloc(a, n + 1, sizeof *x.next)};
    for (uint32_t i = from; i < n; i++) {
        if (buffer[i] == GCUT_NONE) continue;
        x.next[i] = x.first[buffer[i]];
        x.first[buffer[i]] = i + 1;
    }
    *GCUT_PUSH(a, &s->names) = x;
}

/* Every mention of buffer `from` becomes one of `to`, which lives on as it did. */
static void merge(const sharing *s, uint32_t from, uint32_t to)
{
    gcut_buffer *a = &s->p->buffers.at[from], *b = &s->p->buffers.at[to];
    if (a->death > b->death) b->death = a->death;
    b->saved |= a->saved;
    a->birth = a->death = -1;
    a->saved = false;
    for (uint32_t k = 0; k < s->names.n; k++) {
        const names *x = &s->names.at[k];
        for (uint32_t at = x->first[from], after; at; at = after) {
            after = x->next[at - 1];
            x->buffer[at - 1] = to;
            x->next[at - 1] = x->first[to];
            x->first[to] = at;
        }
        x->first[from] = 0;
    }
}

/* r may be written over `old`, operand of its loop, which dies in it. */
static gcut_reason decide(const sharing *s, const gcut_loop_analysis *l, const gcut_loop_node *r,
                          gcut_ref old, uint32_t before)
{
    const uint32_t b = l->h->buffer[old];
    if (!of_arena(s->p, b) || b == l->h->buffer[r->v]) return GCUT_REASON_none_dies;
    const gcut_buffer *from = &s->p->buffers.at[b], *to = &s->p->buffers.at[l->h->buffer[r->v]];
    if (from->birth >= l->u->step || from->death != l->u->step || from->dtype != to->dtype ||
        from->count != to->count)
        return GCUT_REASON_none_dies;
    if (!reads_before(l, r, old)) return GCUT_REASON_reads_elsewhere;
    /* A product that runs interleaved with the kernel, tile by tile, reads its operands until the end. */
    if (before != GCUT_NONE && gcut_is_epilogue(l->h, before, l->kernel) &&
        gcut_kernel_reads_buffer(l->h, before, b))
        return GCUT_REASON_overwrites_operand;
    return s->pinned[b] ? GCUT_REASON_no_storage : GCUT_REASON_fused;
}

/* The buffer of the first such operand, or GCUT_NONE; *why: the last refusal. */
static uint32_t dying_operand(const sharing *s, const gcut_loop_analysis *l, const gcut_loop_node *r,
                              uint32_t before, gcut_reason *why)
{
    *why = GCUT_REASON_none_dies;
    for (gcut_use use = {0}; gcut_next_use(l->h, l->u, &use);) {
        const gcut_ref old = l->h->view[use.v].root;
        const gcut_reason x = decide(s, l, r, old, before);
        if (x != GCUT_REASON_none_dies) *why = x;
        if (x == GCUT_REASON_fused) return l->h->buffer[old];
    }
    return GCUT_NONE;
}

static void share_kernel(const sharing *s, gcut_lowered *h, uint32_t kernel, uint32_t before)
{
    const gcut_program *p = s->p;
    gcut_arena *scratch = gcut_arena_new(p->module->env, p->module->arena);
    gcut_loop_analysis l = gcut_loop_analyse(scratch, h, kernel, NULL);
    for (uint32_t i = 0; i < l.n; i++) {
        const gcut_loop_node *r = &l.at[i];
        uint32_t to = h->buffer[r->v];
        if (r->level != GCUT_LEVEL_FULL || r->reduces || !of_arena(p, to)) continue;
        int first = before != GCUT_NONE && gcut_is_epilogue(h, before, kernel) ? l.u->step - 1 : l.u->step;
        if (p->buffers.at[to].birth != first || s->pinned[to]) continue;
        gcut_reason why;
        uint32_t from = dying_operand(s, &l, r, before, &why);
        if (h->memory_reason[r->v] == GCUT_REASON_fused) h->memory_reason[r->v] = (uint8_t)why;
        if (from != GCUT_NONE) merge(s, to, from);
    }
    gcut_arena_free(scratch);
}

void gcut_share_buffers(gcut_program *p)
{
    if (p->unfused) return;
    gcut_arena *scratch = gcut_arena_new(p->module->env, p->module->arena);
    sharing s = {.p = p, .pinned = find_pinned(scratch, p)};
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        gcut_lowered *h = p->lowered.at[k];
        if (h->g) index_names(&s, scratch, h->buffer, 1, h->g->values.n);
        if (h->g && h->saved && k < GCUT_STEP_GRAPHS) index_names(&s, scratch, h->saved, 0, h->g->results.n);
    }
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        gcut_lowered *h = p->lowered.at[k];
        for (uint32_t i = 0; h->g && i < h->order.n; i++)
            if (h->kernels.at[h->order.at[i]].kind == GCUT_KERNEL_LOOP)
                share_kernel(&s, h, h->order.at[i], i ? h->order.at[i - 1] : GCUT_NONE);
    }
    gcut_arena_free(scratch);
}
