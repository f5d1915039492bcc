/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Walks from a kernel to what it depends on.
 */
#include "kernels/lower/fusion/kernel_paths.h"

#include "kernels/lower/fusion/reads.h"

void gcut_kernel_raise(gcut_lowered *h, uint32_t from, uint32_t to)
{
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        gcut_kernel *u = &h->kernels.at[kernel];
        if (u->top >= from && u->top < to) u->top = to;
    }
}

/* A kernel was seen by the walk whose number it has. */
struct gcut_walks {
    uint32_t number;
    uint32_t n, cap;
    uint32_t *at;                 /* by kernel */
    GCUT_VEC(uint32_t) unvisited; /* seen, with dependencies that were not looked at */
};

struct gcut_walks *gcut_walks_new(gcut_arena *a)
{
    return gcut_calloc(a, 1, sizeof(struct gcut_walks));
}

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
    if (w->seen->at[kernel] == w->seen->number || w->h->kernels.at[kernel].top < w->bottom) return;
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
    else if (h->kernels.at[to].top >= w.bottom)
        for (uint32_t s; (s = gcut_kernel_deps(h, to, &cursor)) != GCUT_NONE;)
            if (s != from) see(&w, s);
    return reaches(&w);
}
