/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who holds the peak: the step of the timeline at which the arena holds the most, and what is alive then.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "machine/lower/memory/placement.h"
#include "machine/lower/memory/workspace.h"

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

/* As placed: in whole lines. */
static int64_t placed_bytes(const gcut_program *p, const gcut_buffer *buf, const gcut_dim_binding *at,
                            uint32_t nat, int threads)
{
    return gcut_bytes_lines(p->module->env, p->module->file, buf->name,
                            gcut_buffer_bytes(p, buf, at, nat, threads));
}

static bool has_range(const gcut_buffer *buf)
{
    return buf->kind == GCUT_BUFFER_ARENA && buf->birth >= 0;
}

int64_t *gcut_program_alive(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                            gcut_arena *arena, uint32_t *nsteps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (has_range(&p->buffers.at[i]) && (uint32_t)p->buffers.at[i].death >= n)
            n = (uint32_t)p->buffers.at[i].death + 1;
    int64_t *alive = gcut_calloc(arena, (size_t)n + 1, sizeof *alive);
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *buf = &p->buffers.at[i];
        if (!has_range(buf)) continue;
        const int64_t bytes = placed_bytes(p, buf, at, nat, threads);
        alive[buf->birth] += bytes;
        alive[buf->death + 1] -= bytes;
    }
    for (uint32_t s = 1; s < n; s++) alive[s] += alive[s - 1];
    *nsteps = n;
    return alive;
}

gcut_alternatives gcut_program_alternatives(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat,
                                            int threads, gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(p->module->env, arena);
    uint32_t nsteps;
    const int64_t *alive = gcut_program_alive(p, at, nat, threads, scratch, &nsteps);
    int64_t *least = gcut_memdup(scratch, alive, ((size_t)nsteps + 1) * sizeof *least);
    gcut_alternatives out = {0};
    GCUT_VEC(gcut_alternative) all = {0};
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        const gcut_lowered *h = p->lowered.at[k];
        for (uint32_t i = 0; h->g && i < h->order.n; i++) {
            const gcut_kernel *u = &h->kernels.at[h->order.at[i]];
            const int64_t elements = gcut_workspace_difference(h, h->order.at[i]);
            if (elements == 0) continue;
            const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
            const int64_t bytes = elements * gcut_dtype_bytes(gcut_type_of(h->g, n->res0)->dtype);
            least[u->step] -= bytes;
            *GCUT_PUSH(arena, &all) =
                (gcut_alternative){h->g->values.at[n->res0].name, bytes, alive[u->step]};
        }
    }
    for (uint32_t s = 0; s < nsteps; s++) {
        if (alive[s] > out.most) out.most = alive[s];
        if (least[s] > out.least) out.least = least[s];
    }
    out.at = all.at;
    out.n = all.n;
    gcut_arena_free(scratch);
    return out;
}

gcut_peak gcut_program_peak(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                            gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(p->module->env, arena);
    uint32_t nsteps;
    const int64_t *alive = gcut_program_alive(p, at, nat, threads, scratch, &nsteps);
    gcut_peak out = {0};
    for (uint32_t s = 0; s < nsteps; s++)
        if (alive[s] > out.alive_bytes) out.alive_bytes = alive[s], out.step = (int)s;
    out.holder = gcut_calloc(arena, p->buffers.n + 1, sizeof *out.holder);
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *buf = &p->buffers.at[i];
        const int64_t bytes = has_range(buf) ? placed_bytes(p, buf, at, nat, threads) : 0;
        if (bytes == 0 || buf->birth > out.step || buf->death < out.step) continue;
        out.holder[out.n++] = (gcut_holder){.name = buf->name,
                                            .bytes = bytes,
                                            .saved = buf->saved,
                                            .made_by = doing(p, arena, buf->birth),
                                            .last_read_by = doing(p, arena, buf->death),
                                            .index = i,
                                            .birth = buf->birth,
                                            .death = buf->death};
    }
    qsort(out.holder, out.n, sizeof *out.holder, larger);
    out.at = doing(p, arena, out.step);
    out.backward = p->lowered.at[GCUT_BACKWARD]->g && out.step >= p->lowered.at[GCUT_BACKWARD]->first;
    gcut_arena_free(scratch);
    return out;
}
