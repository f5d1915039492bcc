/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where everything lives: bound buffers, arena buffers, in-place results.
 *
 * in:  L4.   out: L5: buffers, bindings and copies, edges that keep old values readable.   keeps: members.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/lower.h"
#include "machine/lower/memory/buffers.h"
#include "machine/lower/memory/concat.h"
#include "machine/lower/memory/updates_in_place.h"
#include "machine/lower/memory/workspace.h"
#include "machine/lower/region.h"

/* ---- bindings ---- */

/* Interned names are aligned, and there are fewer roles than bytes between two of them. */
static uint64_t key_of(const gcut_program *p, gcut_role role, const char *name)
{
    return gcut_map_key(gcut_intern_name(p->module, name)) + role;
}

/* GCUT_NONE: there is none. */
static uint32_t find_binding(const gcut_program *p, gcut_role role, const char *name)
{
    return gcut_map_get(&p->binding_of, key_of(p, role, name)) - 1;
}

/* GCUT_NONE: there is none. */
static uint32_t find_result(const gcut_program *p, const gcut_lowered *h, gcut_role role, const char *name)
{
    return gcut_map_get(&h->result_of, key_of(p, role, name)) - 1;
}

void gcut_index_results(const gcut_program *p, gcut_lowered *h)
{
    for (uint32_t i = h->g->results.n; i-- > 0;) {
        const gcut_result *r = &h->g->results.at[i];
        *gcut_map_at(p->module->arena, &h->result_of, key_of(p, r->role, r->name)) = i + 1;
    }
}

static uint32_t binding(gcut_program *p, gcut_role role, const char *name, const gcut_type *t)
{
    const uint32_t known = find_binding(p, role, name);
    if (known != GCUT_NONE) return known;
    *GCUT_PUSH(p->module->arena, &p->bindings) = (gcut_binding_info){.name = name, .role = role, .type = *t};
    *GCUT_PUSH(p->module->arena, &p->bound) = GCUT_NONE;
    *gcut_map_at(p->module->arena, &p->binding_of, key_of(p, role, name)) = p->bindings.n;
    return p->bindings.n - 1;
}

/* The buffer of a binding; each binding has one. */
static uint32_t bound(gcut_program *p, uint32_t which)
{
    if (p->bound.at[which] != GCUT_NONE) return p->bound.at[which];
    const gcut_binding_info *info = &p->bindings.at[which];
    const uint32_t b = gcut_buffer_new(p, GCUT_BUFFER_BOUND, info->type.dtype,
                                       gcut_type_numel(p->module, &info->type), info->name);
    p->buffers.at[b].binding = which;
    return p->bound.at[which] = b;
}

/* The buffer of the forward graph's saved value of that name. */
static uint32_t saved_buffer(gcut_program *p, const char *name)
{
    const gcut_lowered *f = p->lowered.at[GCUT_FORWARD];
    const uint32_t k = find_result(p, f, GCUT_ROLE_saved, name);
    GCUT_ASSERT(k != GCUT_NONE); /* the backward graph reads only what the forward graph saved */
    return f->saved[k];
}

static void bind_params(gcut_program *p, gcut_lowered *h)
{
    for (uint32_t i = 0; i < h->g->params.n; i++) {
        const gcut_param *q = &h->g->params.at[i];
        const gcut_value *v = &h->g->values.at[q->value];
        /* A backward graph given as a function of its own has its saved values bound like inputs. */
        h->buffer[q->value] = q->role == GCUT_ROLE_saved && h->index == GCUT_BACKWARD
                                  ? saved_buffer(p, v->name)
                                  : bound(p, binding(p, q->role, v->name, v->type));
    }
}

/* ---- results ---- */

static uint32_t result_buffer(gcut_program *p, gcut_role role, const char *name, const gcut_type *t)
{
    uint32_t which = binding(p, role, name, t);
    p->bindings.at[which].written = true;
    return bound(p, which);
}

/* The gradient of that type which the backward graph makes of a saved value, as its mark says, and nothing
 * else is in; NULL: none. */
static const char *gradient_of(const gcut_program *p, const gcut_result *saved, const gcut_type *t)
{
    const gcut_mark *m = gcut_mark_find(&saved->marks, GCUT_MARK_grad);
    const gcut_graph *b = p->lowered.at[GCUT_BACKWARD]->g;
    if (!m || !b || find_binding(p, GCUT_ROLE_grad, m->arg[0].text) != GCUT_NONE) return NULL;
    const uint32_t k = find_result(p, p->lowered.at[GCUT_BACKWARD], GCUT_ROLE_grad, m->arg[0].text);
    if (k == GCUT_NONE || !gcut_type_equal(gcut_type_of(b, b->results.at[k].value), t)) return NULL;
    return b->results.at[k].name;
}

/* By value: it is returned as #transient.  One that is returned under several names is kept if all of them are. */
static bool *transient_results(gcut_arena *a, const gcut_graph *g)
{
    bool *out = gcut_calloc(a, g->values.n, sizeof *out);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (gcut_is_transient(&g->results.at[i].marks)) out[g->results.at[i].value] = true;
    return out;
}

/* Is the buffer memory of the caller's which may hold something else when the backward call comes? */
static bool is_transient(const gcut_program *p, const gcut_lowered *h, uint32_t buffer, const bool *transient)
{
    const gcut_buffer *b = &p->buffers.at[buffer];
    if (b->kind != GCUT_BUFFER_BOUND) return false;
    const gcut_binding_info *x = &p->bindings.at[b->binding];
    const gcut_param *q = gcut_param_find(h->g, x->name);
    if (q && q->role == x->role) return gcut_is_transient(&q->marks);
    const uint32_t k = find_result(p, h, x->role, x->name);
    return k != GCUT_NONE && transient[h->g->results.at[k].value];
}

/* A saved value: the storage that a result or parameter has anyway and keeps, also the gradient that will be
 * made of it, else the arena. */
static uint32_t assign_saved(gcut_program *p, gcut_lowered *h, const gcut_result *res, const bool *transient)
{
    gcut_ref r = h->view[res->value].root;
    const gcut_type *t = gcut_type_of(h->g, res->value);
    const char *grad = gradient_of(p, res, t);
    if (h->buffer[r] != GCUT_NONE && !is_transient(p, h, h->buffer[r], transient) &&
        gcut_view_whole(h->g->module, t, &h->view[res->value]))
        return h->buffer[r];
    uint32_t b = grad ? result_buffer(p, GCUT_ROLE_grad, grad, t) : gcut_buffer_in_arena(p, t, res->name);
    p->buffers.at[b].saved = !grad;
    gcut_store_in(h, res->value, b);
    return b;
}

/* Of a `next` result: that of the param or state of its name, whichever graph reads it. */
static uint32_t next_buffer(gcut_program *p, gcut_lowered *h, const gcut_result *res)
{
    const bool param = find_binding(p, GCUT_ROLE_param, res->name) != GCUT_NONE;
    return result_buffer(p, param ? GCUT_ROLE_param : GCUT_ROLE_state, res->name,
                         gcut_type_of(h->g, res->value));
}

/* Of an `out` or `grad` result. */
static uint32_t own_buffer(gcut_program *p, const gcut_lowered *h, const gcut_result *res)
{
    return result_buffer(p, res->role, res->name, gcut_type_of(h->g, res->value));
}

/* `next` results, and gradients that the forward graph has begun. */
static void assign_nexts(gcut_program *p, gcut_lowered *h)
{
    gcut_graph *g = h->g;
    gcut_update *u = gcut_calloc(p->module->arena, g->results.n + 1, sizeof *u);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role == GCUT_ROLE_next)
            u[n++] = (gcut_update){r->value, next_buffer(p, h, r)};
        else if (r->role == GCUT_ROLE_grad && gcut_param_in(h, own_buffer(p, h, r)))
            u[n++] = (gcut_update){r->value, own_buffer(p, h, r)};
    }
    gcut_store_updates(p, h, u, n);
}

static void assign_results(gcut_program *p, gcut_lowered *h)
{
    gcut_graph *g = h->g;
    const bool *transient = transient_results(p->module->arena, g);
    h->saved = gcut_calloc(p->module->arena, g->results.n + 1, sizeof *h->saved);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role != GCUT_ROLE_out && r->role != GCUT_ROLE_grad) continue;
        uint32_t b = own_buffer(p, h, r);
        if (!gcut_param_in(h, b)) gcut_store_in(h, r->value, b);
    }
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_saved)
            h->saved[i] = assign_saved(p, h, &g->results.at[i], transient);
    assign_nexts(p, h);
}

/* Roots that another kernel reads, or that exist only after their kernel, need memory. */
static void assign_temporaries(gcut_program *p, gcut_lowered *h)
{
    gcut_graph *g = h->g;
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        gcut_kernel *u = &h->kernels.at[kernel];
        if (u->dead) continue;
        if (u->kind == GCUT_KERNEL_COPY) {
            if (u->copy.to == GCUT_NONE)
                u->copy.to =
                    gcut_buffer_in_arena(p, gcut_type_of(g, u->copy.value), g->values.at[u->copy.value].name);
            if (gcut_kernel_source(h, u->copy.value) != GCUT_NONE) gcut_store_in_arena(p, h, u->copy.value);
        }
        gcut_cursor at = {0};
        for (gcut_ref v; gcut_kernel_read(h, kernel, &at, &v);) {
            uint32_t s = gcut_kernel_source(h, v);
            if (s != GCUT_NONE && s != kernel) gcut_store_in_arena(p, h, v);
        }
        for (uint32_t i = 0; i < u->nodes.n; i++) {
            const gcut_node *n = gcut_node_at(g, u->nodes.at[i]);
            for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
                if (gcut_kernel_omits(u, v - n->res0)) continue;
                gcut_level l = h->level[h->view[v].root];
                if (u->kind != GCUT_KERNEL_LOOP || l == GCUT_LEVEL_COLUMN || l == GCUT_LEVEL_TOTAL)
                    gcut_store_in_arena(p, h, v);
            }
        }
    }
}

void gcut_assign_workspace(gcut_program *p, gcut_lowered *h, uint32_t kernel)
{
    gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_workspace x = gcut_workspace_of(h, kernel);
    u->workspace_each = u->workspace_all = GCUT_NONE;
    if (x.each != 0) {
        u->workspace_each = gcut_buffer_new(p, GCUT_BUFFER_ARENA, GCUT_U8, x.each, x.each_name);
        p->buffers.at[u->workspace_each].shared_by = kernel;
        p->buffers.at[u->workspace_each].graph = h->index;
        p->buffers.at[u->workspace_each].workspace = true;
    }
    if (x.all != 0) {
        u->workspace_all = gcut_buffer_new(p, GCUT_BUFFER_ARENA, x.type, x.all, x.all_name);
        p->buffers.at[u->workspace_all].workspace = true;
    }
}

/* Workspace; and where a product puts an operand that it would compute as it packs, should that be better. */
static void assign_workspaces(gcut_program *p, gcut_lowered *h)
{
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        gcut_kernel *u = &h->kernels.at[kernel];
        if (u->dead) continue;
        if (gcut_kernel_prologue(u)) {
            gcut_prologue *c = u->gemm.prologue;
            c->buffer = gcut_buffer_in_arena(p, gcut_type_of(h->g, c->v), h->g->values.at[c->v].name);
            p->buffers.at[c->buffer].graph = h->index;
            p->buffers.at[c->buffer].packed_by = kernel;
        }
        gcut_assign_workspace(p, h, kernel);
    }
}

void gcut_assign_buffers(gcut_program *p, gcut_lowered *h)
{
    if (h->parent == GCUT_NONE) {
        bind_params(p, h);
        gcut_reads_bind(h, p->buffers.n);
        assign_results(p, h);
    } else {
        gcut_reads_bind(h, p->buffers.n);
        gcut_region_results(p, h);
    }
    gcut_region_carries(p, h);
    gcut_store_in_concats(p, h);
    gcut_store_changed(p, h);
    assign_temporaries(p, h);
    assign_workspaces(p, h);
}
