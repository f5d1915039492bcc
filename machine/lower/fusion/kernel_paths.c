/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Walks from a kernel to what it depends on.
 */
#include "machine/lower/fusion/kernel_paths.h"

#include "machine/lower/fusion/reads.h"

/* Kernels of equal top are a tree of a union-find forest.  Its root knows the top, and the root of the next higher
 * one, which may have come below another root since. */
typedef struct place {
    uint32_t parent, top, next; /* parent GCUT_NONE: a root; top GCUT_NONE: not placed */
} place;

/* A kernel was seen by the walk whose number it has. */
struct gcut_walks {
    uint32_t number;
    uint32_t n, cap;
    uint32_t *at;                 /* by kernel */
    GCUT_VEC(uint32_t) unvisited; /* seen, with dependencies that were not looked at */
    GCUT_VEC(place) places;       /* by kernel */
    uint32_t last;                /* the root of the highest top */
    bool complete;                /* nodes are no longer placed */
};

struct gcut_walks *gcut_walks_new(gcut_arena *a)
{
    struct gcut_walks *w = gcut_calloc(a, 1, sizeof *w);
    w->last = GCUT_NONE;
    return w;
}

/* ---- tops ---- */

static uint32_t root_of(struct gcut_walks *w, uint32_t kernel)
{
    for (uint32_t up; (up = w->places.at[kernel].parent) != GCUT_NONE; kernel = up)
        if (w->places.at[up].parent != GCUT_NONE) w->places.at[kernel].parent = w->places.at[up].parent;
    return kernel;
}

static uint32_t top_of(const gcut_lowered *h, uint32_t kernel)
{
    struct gcut_walks *w = h->walks;
    return w->complete || kernel >= w->places.n ? GCUT_NONE : w->places.at[root_of(w, kernel)].top;
}

/* The kernels from the top of `low` to that of `high` get that of `high`. */
static void raise(struct gcut_walks *w, uint32_t low, uint32_t high)
{
    const uint32_t end = root_of(w, high);
    for (uint32_t r = root_of(w, low); r != end;) {
        const uint32_t next = root_of(w, w->places.at[r].next);
        w->places.at[r].parent = end;
        r = next;
    }
}

void gcut_kernel_place(gcut_lowered *h, uint32_t kernel, uint32_t node)
{
    struct gcut_walks *w = h->walks;
    while (w->places.n <= kernel)
        *GCUT_PUSH(h->g->module->arena, &w->places) = (place){GCUT_NONE, GCUT_NONE, GCUT_NONE};
    place *p = &w->places.at[kernel];
    if (p->parent != GCUT_NONE || p->top != GCUT_NONE) {
        raise(w, kernel, w->last);
        w->places.at[w->last].top = node;
    } else if (w->last != GCUT_NONE && w->places.at[w->last].top == node) {
        p->parent = w->last;
    } else {
        p->top = node;
        if (w->last != GCUT_NONE) w->places.at[w->last].next = kernel;
        w->last = kernel;
    }
}

void gcut_kernels_join(gcut_lowered *h, uint32_t a, uint32_t b)
{
    if (h->walks->complete) return;
    if (top_of(h, a) < top_of(h, b))
        raise(h->walks, a, b);
    else
        raise(h->walks, b, a);
}

void gcut_kernels_placed(gcut_lowered *h)
{
    h->walks->complete = true;
}

/* ---- walks ---- */

typedef struct walk {
    const gcut_lowered *h;
    uint32_t target, bottom;
    struct gcut_walks *seen;
} walk;

/* Begins a walk that looks for kernel `from`. */
static walk begin_walk(const gcut_lowered *h, uint32_t from)
{
    const gcut_kernel *u = &h->kernels.at[from];
    struct gcut_walks *seen = h->walks;
    while (seen->n < h->kernels.n) *GCUT_PUSH(h->g->module->arena, seen) = 0;
    seen->number++;
    seen->unvisited.n = 0;
    return (walk){h, from, u->nodes.n ? u->nodes.at[u->nodes.n - 1] : 0, seen};
}

/* The walk goes through that kernel. */
static void see(const walk *w, uint32_t kernel)
{
    if (w->seen->at[kernel] == w->seen->number || top_of(w->h, kernel) < w->bottom) return;
    w->seen->at[kernel] = w->seen->number;
    *GCUT_PUSH(w->h->g->module->arena, &w->seen->unvisited) = kernel;
}

/* Does a kernel that was seen depend on the target? */
static bool reaches(const walk *w)
{
    while (w->seen->unvisited.n) {
        const uint32_t kernel = w->seen->unvisited.at[--w->seen->unvisited.n];
        gcut_cursor cursor = {0};
        for (uint32_t s; (s = gcut_kernel_deps(w->h, kernel, &cursor)) != GCUT_NONE; see(w, s))
            if (s == w->target) return true;
    }
    return false;
}

bool gcut_kernel_reaches_reader(const gcut_lowered *h, uint32_t from, gcut_ref root)
{
    const gcut_readers *r = &h->reads->of[root];
    const walk w = begin_walk(h, from);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->at[i].kernel != from) see(&w, r->at[i].kernel);
    return reaches(&w);
}

bool gcut_reader_reaches(const gcut_lowered *h, gcut_ref root, uint32_t to)
{
    const gcut_readers *r = &h->reads->of[root];
    for (uint32_t i = 0; i < r->n; i++)
        if (gcut_kernel_reaches(h, r->at[i].kernel, to, false)) return true;
    return false;
}

bool gcut_kernel_reaches(const gcut_lowered *h, uint32_t from, uint32_t to, bool indirect)
{
    const walk w = begin_walk(h, from);
    gcut_cursor cursor = {0};
    if (!indirect && from == to) return true;
    if (!indirect)
        see(&w, to);
    else if (top_of(h, to) >= w.bottom)
        for (uint32_t s; (s = gcut_kernel_deps(h, to, &cursor)) != GCUT_NONE;)
            if (s != from) see(&w, s);
    return reaches(&w);
}
