/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lowering as a whole, and what it tells its callers.
 */
#include "kernels/lower/lower.h"

#include "base/bytes.h"
#include "gradcut/gradcut_rt.h"
#include "kernels/emit/emit_names.h"
#include "kernels/lower/memory/place.h"
#include "kernels/lower/fusion/prologue.h"
#include "kernels/lower/team.h"

#ifdef GCUT_DEBUG /* builds without optimisation, and sanitized ones */
#define VERIFIES true
#else
#define VERIFIES false
#endif

static gcut_lowered *add_graph(gcut_program *p, gcut_graph *g)
{
    gcut_lowered *h = gcut_calloc(p->module->arena, 1, sizeof *h);
    h->index = p->lowered.n;
    h->parent = h->owner = GCUT_NONE;
    h->unfused = p->unfused;
    h->g = g;
    *GCUT_PUSH(p->module->arena, &p->lowered) = h;
    return h;
}

static void (*const passes[])(gcut_program *, gcut_lowered *) = {
    gcut_group,         gcut_move_sums,     gcut_choose_columns, gcut_make_prologues,
    gcut_place_lowered, gcut_order_lowered, gcut_make_epilogues,
};

enum { NPASSES = sizeof passes / sizeof *passes, TIMED = NPASSES + 1, SHARED };

static void verify(const gcut_program *p, const gcut_lowered *h, int state)
{
    if (!p->verifies) return;
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    const char *fault = gcut_lowered_fault(p, h, state, a);
    if (fault) gcut_bug(__FILE__, __LINE__, fault);
    gcut_arena_free(a);
}

static void verify_all(const gcut_program *p, int state)
{
    for (uint32_t k = 0; k < p->lowered.n; k++)
        if (p->lowered.at[k]->g && p->lowered.at[k]->end) verify(p, p->lowered.at[k], state);
}

/* A graph, then the bodies in it: a body is placed over the memory of the graph around it. */
static void lower_graph(gcut_program *p, gcut_lowered *h)
{
    for (int i = 0; i < NPASSES; i++) {
        passes[i](p, h);
        verify(p, h, i + 1);
    }
    for (uint32_t u = 0; u < h->kernels.n; u++) {
        gcut_kernel *w = &h->kernels.at[u];
        if (w->kind != GCUT_KERNEL_REGION) continue;
        const gcut_node *n = gcut_node_at(h->g, w->nodes.at[0]);
        for (uint32_t k = 0; k < n->nregs; k++) {
            gcut_lowered *body = add_graph(p, gcut_region_at(h->g, n, k)->body);
            body->parent = h->index;
            body->owner = u;
            body->region = k;
            *GCUT_PUSH(p->module->arena, &w->region.bodies) = body->index;
            lower_graph(p, body);
        }
    }
}

gcut_program *gcut_lower(gcut_graph *fwd, gcut_graph *bwd, const gcut_dim_binding *at, uint32_t nat,
                         int threads, unsigned how)
{
    gcut_module *m = fwd->module;
    gcut_program *p = gcut_calloc(m->arena, 1, sizeof *p);
    p->module = m;
    p->at = at;
    p->nat = nat;
    p->threads = threads;
    p->unfused = how & GCUT_LOWER_UNFUSED;
    p->apart = bwd && how & GCUT_LOWER_APART;
    p->verifies = VERIFIES || how & GCUT_LOWER_VERIFY;
    int step = 0;
    add_graph(p, fwd);
    add_graph(p, bwd);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        if (!p->lowered.at[k]->g) continue;
        lower_graph(p, p->lowered.at[k]);
        step = gcut_time_lowered(p, p->lowered.at[k], step);
        verify_all(p, TIMED);
    }
    gcut_share_buffers(p);
    verify_all(p, SHARED);
    gcut_c_fields(p);
    return p;
}

const gcut_binding_info *gcut_program_bindings(const gcut_program *p, uint32_t *n)
{
    *n = p->bindings.n;
    return p->bindings.at;
}

/* ---- sizes ---- */

int64_t gcut_buffer_bytes(const gcut_program *p, const gcut_buffer *b, const gcut_dim_binding *at,
                          uint32_t nat, int threads)
{
    int64_t n = 0;
    if (!gcut_dim_eval(p->module->dims, b->count, at, nat, &n))
        gcut_fail(p->module->env, GCUT_EDIM, (gcut_place){.file = p->module->file}, NULL,
                  "the size of %%%s cannot be computed at these dimensions", b->name);
    gcut_env *env = p->module->env;
    const char *file = p->module->file;
    n = gcut_bytes_mul(env, file, b->name, n, gcut_dtype_bytes(b->dtype));
    if (b->product &&
        gcut_prologue_packings(p->lowered.at[b->graph], b->product - 1, b->operand, at, nat, threads) > 0)
        n = 0;
    if (b->team != GCUT_NONE) {
        gcut_team team = gcut_kernel_team(p->lowered.at[b->graph], b->team);
        n = gcut_bytes_mul(env, file, b->name, gcut_bytes_lines(env, file, b->name, n),
                           gcut_team_at(p->module, &team, at, nat, threads));
    }
    return n;
}

static const char buffers[] = "the memory of all kernels together";

gcut_memory gcut_program_memory(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads)
{
    return gcut_program_place(p, at, nat, threads, NULL);
}

static bool is_placed(const gcut_buffer *b)
{
    return b->kind == GCUT_BUFFER_ARENA && b->birth >= 0;
}

gcut_memory gcut_program_place(const gcut_program *p, const gcut_dim_binding *at, uint32_t nat, int threads,
                               int64_t *offset)
{
    gcut_memory mem = {0};
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    gcut_rt_buffer *b = gcut_calloc(a, p->buffers.n + 1, sizeof *b);
    gcut_rt_slot *slot = gcut_calloc(a, p->buffers.n + 1, sizeof *slot);
    int n = 0;
    int64_t all = 0; /* no place in the arena is behind it */
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
        mem.arena_bytes = gcut_rt_place(b, n);
    }
    n = 0;
    for (uint32_t i = 0; offset && i < p->buffers.n; i++)
        offset[i] = is_placed(&p->buffers.at[i]) ? b[n++].offset : GCUT_UNPLACED;
    gcut_arena_free(a);
    return mem;
}
