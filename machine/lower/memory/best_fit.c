/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arena offsets of many buffers: what gcut_rt_place does in the order of birth, which is the only order that it
 * tries with more than a few thousand buffers.  It has no memory of its own, and looks at every living buffer
 * for each one that is born.  Here the gaps between the living are in a tree.
 *
 * All that live as a buffer is born overlap it in time, so they do not overlap each other in the arena: they are
 * a list by offset, whose neighbours have gaps between them.  The tightest gap that is large enough is taken,
 * the lowest of several; else the end of the list.
 */
#include "machine/lower/memory/best_fit.h"

#include <stdlib.h>

#include "base/bytes.h"

#define FEW INT64_C(6324) /* with more, n^2 / 2 steps are more than gcut_rt_place spends on other orders */
#define NONE UINT32_MAX

_Static_assert(FEW / 2 * FEW <= GCUT_RT_PLACE_STEPS, "gcut_rt_place tries other orders of FEW buffers");
_Static_assert((FEW + 1) * (FEW + 1) / 2 > GCUT_RT_PLACE_STEPS, "and of no more");
_Static_assert(GCUT_LINE == GCUT_RT_LINE, "both place buffers in the same lines");

/* The gap after a living buffer, of which there may be none; n stands for the beginning of the arena. */
typedef struct gap {
    int64_t start, size;
    uint32_t left, right; /* in the tree, by size, then start */
    uint32_t weight;      /* of the heap that the tree is, too */
} gap;

typedef struct placing {
    gcut_rt_buffer *b;
    gap *gap;              /* by buffer */
    uint32_t *prev, *next; /* by buffer: its living neighbours by offset */
    uint32_t root, last, n;
} placing;

static int64_t rounded(const gcut_rt_buffer *b)
{
    return (b->bytes + GCUT_LINE - 1) / GCUT_LINE * GCUT_LINE;
}

static int64_t end_of(const placing *p, uint32_t x)
{
    return x == p->n ? 0 : p->b[x].offset + rounded(&p->b[x]);
}

/* ---- the tree of gaps: a treap ---- */

static bool is_before(const gap *x, const gap *y)
{
    return x->size != y->size ? x->size < y->size : x->start < y->start;
}

/* The gaps of tree t before x go to *low, the others to *high. */
static void split(const placing *p, uint32_t t, const gap *x, uint32_t *low, uint32_t *high)
{
    while (t != NONE) {
        if (is_before(&p->gap[t], x)) {
            *low = t;
            low = &p->gap[t].right;
            t = *low;
        } else {
            *high = t;
            high = &p->gap[t].left;
            t = *high;
        }
    }
    *low = *high = NONE;
}

static void insert(placing *p, uint32_t x)
{
    uint32_t *at = &p->root;
    while (*at != NONE && p->gap[*at].weight > p->gap[x].weight)
        at = is_before(&p->gap[x], &p->gap[*at]) ? &p->gap[*at].left : &p->gap[*at].right;
    split(p, *at, &p->gap[x], &p->gap[x].left, &p->gap[x].right);
    *at = x;
}

static void take_out(placing *p, uint32_t x)
{
    uint32_t *at = &p->root, low = p->gap[x].left, high = p->gap[x].right;
    while (*at != x) at = is_before(&p->gap[x], &p->gap[*at]) ? &p->gap[*at].left : &p->gap[*at].right;
    while (low != NONE && high != NONE) {
        if (p->gap[low].weight > p->gap[high].weight) {
            *at = low;
            at = &p->gap[low].right;
            low = *at;
        } else {
            *at = high;
            at = &p->gap[high].left;
            high = *at;
        }
    }
    *at = low != NONE ? low : high;
}

/* The buffer with the tightest gap of at least that size; NONE. */
static uint32_t tightest(const placing *p, int64_t size)
{
    uint32_t best = NONE;
    for (uint32_t t = p->root; t != NONE;) {
        bool fits = p->gap[t].size >= size;
        if (fits) best = t;
        t = fits ? p->gap[t].left : p->gap[t].right;
    }
    return best;
}

/* ---- buffers ---- */

/* The gap after x becomes that up to its next neighbour. */
static void set_gap(placing *p, uint32_t x)
{
    const uint32_t y = p->next[x];
    if (p->gap[x].size) take_out(p, x);
    p->gap[x].start = end_of(p, x);
    p->gap[x].size = y == NONE ? 0 : p->b[y].offset - p->gap[x].start;
    if (p->gap[x].size) insert(p, x);
}

static void add(placing *p, uint32_t x)
{
    const uint32_t tight = tightest(p, rounded(&p->b[x])), under = tight == NONE ? p->last : tight;
    p->b[x].offset = end_of(p, under);
    p->prev[x] = under;
    p->next[x] = p->next[under];
    p->next[under] = x;
    if (p->next[x] == NONE)
        p->last = x;
    else
        p->prev[p->next[x]] = x;
    set_gap(p, under);
    set_gap(p, x);
}

static void drop(placing *p, uint32_t x)
{
    const uint32_t under = p->prev[x];
    if (p->gap[x].size) take_out(p, x);
    p->gap[x].size = 0;
    p->next[under] = p->next[x];
    if (p->next[x] == NONE)
        p->last = under;
    else
        p->prev[p->next[x]] = under;
    set_gap(p, under);
}

/* ---- orders ---- */

typedef struct entry {
    const gcut_rt_buffer *b;
    uint32_t i;
} entry;

/* As gcut_rt_place has it: the earlier, larger, longer-lived, first one. */
static int by_birth(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->b->birth != y->b->birth) return x->b->birth < y->b->birth ? -1 : 1;
    if (x->b->bytes != y->b->bytes) return x->b->bytes > y->b->bytes ? -1 : 1;
    if (x->b->death != y->b->death) return x->b->death > y->b->death ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static int by_death(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->b->death != y->b->death) return x->b->death < y->b->death ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static entry *sorted(gcut_arena *a, const gcut_rt_buffer *b, uint32_t n, uint32_t *count,
                     int (*order)(const void *, const void *))
{
    entry *out = gcut_alloc(a, ((size_t)n + 1) * sizeof *out);
    *count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (b[i].bytes > 0) out[(*count)++] = (entry){&b[i], i};
    qsort(out, *count, sizeof *out, order);
    return out;
}

int64_t gcut_place_buffers(gcut_arena *a, gcut_rt_buffer *b, uint32_t n)
{
    if (n <= FEW) return gcut_rt_place(b, (int)n);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(a), a);
    const size_t room = (size_t)n + 1;
    placing p = {.b = b, .root = NONE, .last = n, .n = n};
    p.gap = gcut_calloc(scratch, room, sizeof *p.gap);
    p.prev = gcut_alloc(scratch, room * sizeof *p.prev);
    p.next = gcut_alloc(scratch, room * sizeof *p.next);
    p.next[n] = NONE;
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t h = (i + 1) * UINT32_C(0x9E3779B1);
        p.gap[i].weight = (h ^ h >> 15) * UINT32_C(0x85EBCA77);
        if (i < n) b[i].offset = 0;
    }
    uint32_t count, gone = 0;
    const entry *born = sorted(scratch, b, n, &count, by_birth),
                *dead = sorted(scratch, b, n, &count, by_death);
    int64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t x = born[i].i;
        GCUT_ASSERT(b[x].birth <= b[x].death);
        for (; dead[gone].b->death < b[x].birth; gone++) drop(&p, dead[gone].i);
        add(&p, x);
        if (end_of(&p, x) > most) most = end_of(&p, x);
    }
    gcut_arena_free(scratch);
    return most;
}
