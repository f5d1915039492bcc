/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels read what others write.  Several may write parts of one buffer, as of a concatenation; a kernel that
 * writes all of it, and reads nothing of it, begins another value.  That a buffer is used again makes no kernel wait.  All
 * kernels of a loop or a branch are one: it reads and writes what they do.
 */
#include "driver/inspect/of_pipeline.h"

typedef GCUT_VEC(uint32_t) list;

typedef struct waiting {
    gcut_arena *a;
    const gcut_costs *costs;
    const gcut_placed *buffer;
    list *writers;   /* by buffer, of its present value: kernels in running order, of a loop its first one */
    uint32_t *first; /* by kernel: the first one of its loop, else itself */
    uint32_t *seen;  /* by kernel: the last one that was found to wait for it, + 1 */
} waiting;

static uint32_t whole_of(const waiting *w, uint32_t b)
{
    while (w->buffer[b].in == GCUT_PLACED_PART) b = w->buffer[b].whole;
    return b;
}

static void find_loops(waiting *w)
{
    for (uint32_t i = 0; i < w->costs->n; i++) {
        const gcut_cost *c = &w->costs->at[i], *before = i ? c - 1 : NULL;
        const bool same = before && c->loop && c->loop == before->loop && c->graph == before->graph;
        w->first[i] = same ? w->first[i - 1] : i;
    }
}

/* The kernel writes to buffer b. */
static void write(waiting *w, const gcut_term *x, uint32_t b, uint32_t kernel)
{
    list *to = &w->writers[b];
    if (x->read == 0 && x->written >= (double)w->buffer[b].bytes) to->n = 0;
    if (!to->n || to->at[to->n - 1] != kernel) *GCUT_PUSH(w->a, to) = kernel;
}

static void wait_for(waiting *w, uint32_t kernel, const list *before, list *out)
{
    for (uint32_t i = 0; i < before->n; i++) {
        const uint32_t x = before->at[i];
        if (x == kernel || w->seen[x] == kernel + 1) continue;
        w->seen[x] = kernel + 1;
        *GCUT_PUSH(w->a, out) = x;
    }
}

/* What kernel i waits for, where nothing before it in its loop has waited for it. */
static void look(waiting *w, uint32_t i, list *out)
{
    const gcut_cost *c = &w->costs->at[i];
    const uint32_t kernel = w->first[i];
    for (uint32_t r = 0; r < c->nruns; r++)
        for (uint32_t t = 0; t < c->run[r].nterms; t++) {
            const gcut_term *x = &c->run[r].term[t];
            if (x->kind != GCUT_TERM_TRAFFIC) continue;
            if (x->read > 0) wait_for(w, kernel, &w->writers[whole_of(w, x->buffer)], out);
        }
    for (uint32_t r = 0; r < c->nruns; r++)
        for (uint32_t t = 0; t < c->run[r].nterms; t++) {
            const gcut_term *x = &c->run[r].term[t];
            if (x->kind != GCUT_TERM_TRAFFIC) continue;
            if (x->written > 0) write(w, x, whole_of(w, x->buffer), kernel);
        }
}

const gcut_kernel_wait *gcut_kernel_waits(const gcut_costs *costs, const gcut_placed *buffer,
                                          uint32_t nbuffers, gcut_arena *keep, size_t *n)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(keep), keep);
    waiting w = {.a = a, .costs = costs, .buffer = buffer};
    GCUT_VEC(gcut_kernel_wait) out = {0};
    w.writers = gcut_calloc(a, nbuffers + 1u, sizeof *w.writers);
    w.first = gcut_calloc(a, costs->n + 1u, sizeof *w.first);
    w.seen = gcut_calloc(a, costs->n + 1u, sizeof *w.seen);
    find_loops(&w);
    for (uint32_t i = 0; i < costs->n; i++) {
        list before = {0};
        look(&w, i, &before);
        for (uint32_t k = 0; k < before.n; k++)
            *GCUT_PUSH(keep, &out) = (gcut_kernel_wait){w.first[i], before.at[k]};
    }
    gcut_arena_free(a);
    *n = out.n;
    return out.at;
}
