/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which kernels read what others write.  Several kernels may write parts of one buffer, as of a concatenation.  A kernel
 * that writes a whole buffer without reading it starts a new value: reuse of memory is no dependence.  The kernels of
 * a loop or a branch count as one, which reads and writes what each of them does, and reads the predicate.
 */
#include "driver/inspect/of_pipeline.h"

typedef GCUT_VEC(uint32_t) list;

typedef struct tracing {
    gcut_arena *a;
    const gcut_placed *buffer;
    list *writers;  /* by buffer, of its present value: kernels in running order, of a loop its first one */
    uint32_t *seen; /* by kernel: the last one that was found to depend on it, + 1 */
} tracing;

static uint32_t whole_of(const tracing *t, uint32_t b)
{
    while (t->buffer[b].in == GCUT_PLACED_PART) b = t->buffer[b].whole;
    return b;
}

/* Adds to `on` the writers of buffer b, which `kernel` reads, unless it has them. */
static void add_writers(tracing *t, uint32_t b, uint32_t kernel, list *on)
{
    const list *writers = &t->writers[whole_of(t, b)];
    for (uint32_t i = 0; i < writers->n; i++) {
        const uint32_t x = writers->at[i];
        if (x == kernel || t->seen[x] == kernel + 1) continue;
        t->seen[x] = kernel + 1;
        *GCUT_PUSH(t->a, on) = x;
    }
}

static void add_write(tracing *t, const gcut_term *x, uint32_t kernel)
{
    const uint32_t b = whole_of(t, x->buffer);
    list *to = &t->writers[b];
    if (x->read == 0 && x->written > 0 && x->written >= (double)t->buffer[b].bytes) to->n = 0;
    if (!to->n || to->at[to->n - 1] != kernel) *GCUT_PUSH(t->a, to) = kernel;
}

/* Adds to `on` the writers of what launch c reads, then makes `kernel` a writer of what c writes.  kernel: the launch, or
 * the first one of its loop. */
static void trace(tracing *t, const gcut_cost *c, uint32_t kernel, list *on)
{
    for (uint32_t i = 0; i < c->npredicates; i++) add_writers(t, c->predicate[i], kernel, on);
    for (int writes = 0; writes < 2; writes++)
        for (uint32_t r = 0; r < c->nruns; r++)
            for (uint32_t k = 0; k < c->run[r].nterms; k++) {
                const gcut_term *x = &c->run[r].term[k];
                if (x->kind != GCUT_TERM_TRAFFIC) continue;
                /* Where the buffer has no bytes, the term does not say whether it is read or written. */
                const bool empty = x->read == 0 && x->written == 0;
                if (!writes && (x->read > 0 || empty)) add_writers(t, x->buffer, kernel, on);
                if (writes && (x->written > 0 || empty)) add_write(t, x, kernel);
            }
}

const gcut_kernel_dependence *gcut_kernel_dependences(const gcut_fusion *f, const gcut_costs *costs,
                                                      const gcut_placed *buffer, uint32_t nbuffers,
                                                      gcut_arena *keep, size_t *n)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(keep), keep);
    tracing t = {.a = a, .buffer = buffer};
    GCUT_VEC(gcut_kernel_dependence) out = {0};
    GCUT_ASSERT(f->nkernels == costs->n);
    t.writers = gcut_calloc(a, nbuffers + 1u, sizeof *t.writers);
    t.seen = gcut_calloc(a, costs->n + 1u, sizeof *t.seen);
    for (uint32_t i = 0; i < costs->n; i++) {
        const uint32_t kernel = (uint32_t)f->kernel[i]->first;
        list on = {0};
        trace(&t, &costs->at[i], kernel, &on);
        for (uint32_t k = 0; k < on.n; k++)
            *GCUT_PUSH(keep, &out) = (gcut_kernel_dependence){kernel, on.at[k]};
    }
    gcut_arena_free(a);
    *n = out.n;
    return out.at;
}
