/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who holds the peak: the step of the timeline at which the arena holds the most, and what is alive then.
 */
#include <stdlib.h>

#include "kernels/lower/memory/placement.h"

static int larger(const void *a, const void *b)
{
    const gcut_holder *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->birth != y->birth ? (x->birth > y->birth) - (x->birth < y->birth)
                                : (x->index > y->index) - (x->index < y->index);
}

/* The kernel that runs at a step: of the innermost graph that has it. */
static const gcut_kernel *kernel_at(const gcut_program *p, int step, const gcut_lowered **in)
{
    const gcut_kernel *found = NULL;
    for (uint32_t k = 0; k < p->lowered.n; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        if (!h->g || step < h->first || step >= h->end) continue;
        for (uint32_t i = 0; i < h->order.n; i++) {
            const gcut_kernel *u = &h->kernels.at[h->order.at[i]];
            if (u->step > step || step >= u->end) continue;
            found = u;
            *in = h;
        }
    }
    return found;
}

/* "%h3 matmul": the last value a kernel makes. */
static const char *doing(const gcut_program *p, gcut_arena *a, int step)
{
    const gcut_lowered *h = NULL;
    const gcut_kernel *u = kernel_at(p, step, &h);
    if (!u) return "nothing";
    if (u->kind == GCUT_KERNEL_COPY) return gcut_printf(a, "%%%s copy", h->g->values.at[u->copy.value].name);
    const gcut_node *n = gcut_node_at(h->g, gcut_kernel_result(u));
    return gcut_printf(a, "%%%s %s", n->nres ? h->g->values.at[n->res0].name : "?", gcut_op_of(n)->name);
}

/* The first step at which the most bytes are alive. */
static int fullest(const gcut_holder *b, uint32_t n, int nsteps, gcut_arena *scratch, int64_t *most)
{
    int64_t *change = gcut_calloc(scratch, (size_t)nsteps + 2, sizeof *change), alive = 0;
    int best = 0;
    *most = 0;
    for (uint32_t i = 0; i < n; i++) {
        change[b[i].birth] += b[i].bytes;
        change[b[i].death + 1] -= b[i].bytes;
    }
    for (int s = 0; s < nsteps; s++) {
        alive += change[s];
        if (alive <= *most) continue;
        *most = alive;
        best = s;
    }
    return best;
}

gcut_peak gcut_program_peak(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                            gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(p->module->env, arena);
    gcut_holder *b = gcut_calloc(scratch, p->buffers.n + 1, sizeof *b);
    uint32_t n = 0;
    int nsteps = 0;
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *buf = &p->buffers.at[i];
        if (buf->kind != GCUT_BUFFER_ARENA || buf->birth < 0) continue;
        b[n++] = (gcut_holder){.name = buf->name,
                               .bytes = (gcut_buffer_bytes(p, buf, at, nat, threads) + 63) / 64 * 64,
                               .saved = buf->saved,
                               .index = i,
                               .birth = buf->birth,
                               .death = buf->death};
        if (buf->death >= nsteps) nsteps = buf->death + 1;
    }
    gcut_peak out = {0};
    out.step = fullest(b, n, nsteps, scratch, &out.alive_bytes);
    out.holder = gcut_calloc(arena, n + 1, sizeof *out.holder);
    for (uint32_t i = 0; i < n; i++) {
        if (b[i].bytes == 0 || b[i].birth > out.step || b[i].death < out.step) continue;
        out.holder[out.n] = b[i];
        out.holder[out.n].made_by = doing(p, arena, b[i].birth);
        out.holder[out.n++].last_read_by = doing(p, arena, b[i].death);
    }
    qsort(out.holder, out.n, sizeof *out.holder, larger);
    out.at = doing(p, arena, out.step);
    out.backward = p->lowered.at[GCUT_BACKWARD]->g && out.step >= p->lowered.at[GCUT_BACKWARD]->first;
    gcut_arena_free(scratch);
    return out;
}
