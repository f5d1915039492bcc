/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is where in memory, for init and for those who look at a program.
 */
#include "machine/lower/memory/placement.h"

#include "base/bytes.h"
#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/prologue.h"
#include "machine/lower/memory/best_fit.h"
#include "machine/lower/team.h"

int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads)
{
    gcut_env *env = p->module->env;
    const char *file = p->module->file;
    int64_t n = gcut_dim_at(p->module->dims, b->count, at, nat, (gcut_place){.file = file});
    n = gcut_bytes_mul(env, file, b->name, n, gcut_dtype_bytes(b->dtype));
    if (b->packed_by != GCUT_NONE &&
        gcut_prologue_packings(p->lowered.at[b->graph], b->packed_by, at, nat, threads) > 0)
        n = 0;
    if (b->shared_by != GCUT_NONE) {
        gcut_team team = gcut_kernel_team(p->lowered.at[b->graph], b->shared_by);
        n = gcut_bytes_mul(env, file, b->name, gcut_bytes_lines(env, file, b->name, n),
                           gcut_team_at(p->module, &team, at, nat, threads));
    }
    return n;
}

static const char buffers[] = "the memory of all kernels together";

gcut_memory gcut_arena_layout(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                              int64_t *offset)
{
    gcut_memory mem = {0};
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    gcut_rt_buffer *b = gcut_calloc(a, p->buffers.n + 1, sizeof *b);
    gcut_rt_slot *slot = gcut_calloc(a, p->buffers.n + 1, sizeof *slot);
    int n = 0;
    int64_t all = 0; /* no offset in the arena is beyond it */
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *buf = &p->buffers.at[i];
        if (buf->kind != GCUT_BUFFER_ARENA) continue;
        int64_t bytes = gcut_buffer_bytes(p, buf, at, nat, threads);
        all = gcut_bytes_add(p->module->env, p->module->file, buffers, all,
                             gcut_bytes_lines(p->module->env, p->module->file, buffers, bytes));
        if (buf->saved) mem.saved_bytes += bytes;
        if (buf->birth < 0) continue;
        b[n].bytes = bytes;
        b[n].birth = buf->birth;
        b[n].death = buf->death;
        slot[n++].saved = buf->saved;
    }
    if (p->apart) {
        gcut_rt_apart calls = gcut_rt_place_apart(slot, b, n, p->lowered.at[GCUT_BACKWARD]->first);
        mem = (gcut_memory){calls.arena, calls.saved, {calls.forward, calls.backward}};
    } else {
        mem.arena_bytes = gcut_place_buffers(a, b, (uint32_t)n);
    }
    n = 0;
    for (uint32_t i = 0; offset && i < p->buffers.n; i++)
        offset[i] = p->buffers.at[i].kind == GCUT_BUFFER_ARENA && p->buffers.at[i].birth >= 0
                        ? b[n++].offset
                        : GCUT_NOT_PLACED;
    gcut_arena_free(a);
    return mem;
}

gcut_memory gcut_program_memory(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    return gcut_arena_layout(p, at, nat, threads, NULL);
}

static int64_t size_of(const gcut_program *p, gcut_dim d, const gcut_dim_binding *at, uint32_t nat)
{
    int64_t n = -1;
    return gcut_dim_eval(p->module->dims, d, at, nat, &n) ? n : -1;
}

static gcut_placed_in place_of(const gcut_program *p, const gcut_buffer *b)
{
    if (b->kind == GCUT_BUFFER_ARENA) return p->apart && b->saved ? GCUT_PLACED_BLOCK : GCUT_PLACED_ARENA;
    return b->kind == GCUT_BUFFER_BOUND ? GCUT_PLACED_BOUND : GCUT_PLACED_PART;
}

gcut_placed *gcut_program_placement(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat,
                                    int threads, gcut_arena *a, uint32_t *n, gcut_memory *memory)
{
    gcut_placed *out = gcut_calloc(a, (size_t)p->buffers.n + 1, sizeof *out);
    int64_t *offset = gcut_calloc(a, (size_t)p->buffers.n + 1, sizeof *offset);
    *memory = gcut_arena_layout(p, at, nat, threads, offset);
    *n = p->buffers.n;
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *b = &p->buffers.at[i];
        out[i] = (gcut_placed){.in = place_of(p, b),
                               .name = b->name,
                               .dtype = b->dtype,
                               .bytes = gcut_buffer_bytes(p, b, at, nat, threads),
                               .offset = -1,
                               .birth = b->birth,
                               .death = b->death,
                               .saved = b->saved,
                               .workspace = b->workspace,
                               .whole = b->kind == GCUT_BUFFER_PART ? b->whole : GCUT_NONE};
        /* gcut_rt_place_apart writes an offset in the block as -1 - offset. */
        if (offset[i] != GCUT_NOT_PLACED)
            out[i].offset = out[i].in == GCUT_PLACED_BLOCK ? -1 - offset[i] : offset[i];
        if (b->kind == GCUT_BUFFER_BOUND) out[i].binding = &p->bindings.at[b->binding];
        if (b->kind == GCUT_BUFFER_PART) {
            out[i].start = size_of(p, b->start, at, nat);
            out[i].step = size_of(p, b->step, at, nat);
        }
    }
    return out;
}
