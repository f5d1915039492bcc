/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where everything lives: bound buffers, arena buffers, in-place results.
 *
 * in:  a grouped half.   out: its buffers and bindings, edges that keep old values readable.
 */
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/lower.h"

/* ---- bindings ---- */

static uint32_t binding(gcut_program *p, gcut_role role, const char *name, const gcut_type *t)
{
    for (uint32_t i = 0; i < p->bindings.n; i++)
        if (p->bindings.at[i].role == role && !strcmp(p->bindings.at[i].name, name)) return i;
    *GCUT_PUSH(p->module->arena, &p->bindings) = (gcut_binding_info){.name = name, .role = role, .type = *t};
    return p->bindings.n - 1;
}

uint32_t gcut_place_buffer(gcut_program *p, gcut_buffer b)
{
    b.birth = b.death = -1;
    *GCUT_PUSH(p->module->arena, &p->buffers) = b;
    return p->buffers.n - 1;
}

/* The buffer of a binding; each binding has one. */
static uint32_t bound(gcut_program *p, uint32_t which)
{
    for (uint32_t i = 0; i < p->buffers.n; i++)
        if (p->buffers.at[i].kind == GCUT_P_BOUND && p->buffers.at[i].binding == which) return i;
    const gcut_binding_info *info = &p->bindings.at[which];
    return gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_BOUND,
                                              .binding = which,
                                              .crew = GCUT_NONE,
                                              .dtype = info->type.dtype,
                                              .count = gcut_type_numel(p->module, &info->type),
                                              .name = info->name});
}

static uint32_t arena_buffer(gcut_program *p, const gcut_type *t, const char *name)
{
    return gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_ARENA,
                                              .crew = GCUT_NONE,
                                              .dtype = t->dtype,
                                              .count = gcut_type_numel(p->module, t),
                                              .name = name});
}

/* The binding of the param or state called `name`, whichever half reads it. */
static uint32_t binding_named(gcut_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->bindings.n; i++)
        if ((p->bindings.at[i].role == GCUT_ROLE_param || p->bindings.at[i].role == GCUT_ROLE_state) &&
            !strcmp(p->bindings.at[i].name, name))
            return i;
    return GCUT_NONE;
}

/* The buffer of the forward half's saved value of that name. */
static uint32_t saved_buffer(gcut_program *p, const char *name)
{
    const gcut_graph *f = p->halves.at[GCUT_FORWARD]->g;
    for (uint32_t i = 0; i < f->results.n; i++)
        if (f->results.at[i].role == GCUT_ROLE_saved && !strcmp(f->results.at[i].name, name))
            return p->halves.at[GCUT_FORWARD]->saved[i];
    GCUT_NEVER("the backward half reads only what the forward half saved");
    return GCUT_NONE;
}

static void bind_params(gcut_program *p, gcut_half *h)
{
    for (uint32_t i = 0; i < h->g->params.n; i++) {
        const gcut_param *q = &h->g->params.at[i];
        const gcut_value *v = &h->g->values.at[q->value];
        /* A backward half given as a function of its own has its saved values bound like inputs. */
        h->buffer[q->value] = q->role == GCUT_ROLE_saved && h->index == GCUT_BACKWARD
                                  ? saved_buffer(p, v->name)
                                  : bound(p, binding(p, q->role, v->name, &v->type));
    }
}

/* ---- results ---- */

/* The storage behind v may become that buffer: made by a unit of this half, whole, and not placed yet. */
static bool can_own(const gcut_half *h, gcut_ref v)
{
    gcut_ref r = h->view[v].root;
    return gcut_unit_source(h, v) != GCUT_NONE && h->buffer[r] == GCUT_NONE && !h->view[v].widens &&
           !h->view[v].bits && gcut_view_identity(h->g, gcut_type_of(h->g, v), &h->view[v]);
}

static uint32_t copy_unit(gcut_half *h, gcut_ref v, uint32_t to)
{
    uint32_t u = gcut_unit_new(h, GCUT_U_COPY, GCUT_NONE);
    h->units.at[u].copy_from = v;
    h->units.at[u].copy_to = to;
    return u;
}

void gcut_place_at(gcut_half *h, gcut_ref v, uint32_t to)
{
    if (can_own(h, v))
        h->buffer[h->view[v].root] = to;
    else
        copy_unit(h, v, to);
}

/* A saved value: the storage that a result or parameter has anyway, else the arena. */
static uint32_t place_saved(gcut_program *p, gcut_half *h, gcut_ref v, const char *name)
{
    gcut_ref r = h->view[v].root;
    const gcut_type *t = gcut_type_of(h->g, v);
    if (h->buffer[r] != GCUT_NONE && gcut_view_whole(h->g->module, t, &h->view[v])) return h->buffer[r];
    uint32_t b = arena_buffer(p, t, name);
    p->buffers.at[b].saved = true;
    gcut_place_at(h, v, b);
    return b;
}

static bool reads_root(const gcut_half *h, uint32_t unit, gcut_ref root)
{
    const gcut_unit *u = &h->units.at[unit];
    if (u->dead) return false;
    if (u->kind == GCUT_U_COPY) return u->copy_aside == GCUT_NONE && h->view[u->copy_from].root == root;
    gcut_cursor at = {0};
    for (gcut_ref v; gcut_unit_read(h, unit, &at, &v);)
        if (h->view[v].root == root) return true;
    return false;
}

/* Unit u may overwrite `old` while it makes r: it reads old only at the very element it then writes. */
static bool pointwise_over(const gcut_half *h, uint32_t unit, gcut_ref r, gcut_ref old)
{
    const gcut_unit *u = &h->units.at[unit];
    if (u->kind == GCUT_U_REGION) return false; /* carries begin with a copy to their result's memory */
    if (!reads_root(h, unit, old)) return true;
    if (u->kind != GCUT_U_LOOP || h->level[r] != GCUT_L_FULL) return false;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(h->g, n, k);
            if (h->view[v].root != old) continue;
            gcut_level l = h->level[n->res0];
            const gcut_type *t = gcut_type_of(h->g, v);
            if (!gcut_view_identity(h->g, t, &h->view[v])) return false;
            if (gcut_type_numel(h->g->module, t) != u->numel) return false;
            /* Later phases of a row would read what an earlier phase overwrote. */
            if (l != GCUT_L_FULL) return false;
        }
        if (h->level[n->res0] == GCUT_L_ROW) return false;
    }
    return true;
}

static uint32_t next_buffer(gcut_program *p, gcut_half *h, const gcut_result *res)
{
    uint32_t which = binding_named(p, res->name);
    if (which == GCUT_NONE) which = binding(p, GCUT_ROLE_state, res->name, gcut_type_of(h->g, res->value));
    p->bindings.at[which].written = true;
    return bound(p, which);
}

/* The parameter of this half that lives in a buffer, or 0. */
static gcut_ref param_in(const gcut_half *h, uint32_t buffer)
{
    for (uint32_t i = 0; i < h->g->params.n; i++)
        if (h->buffer[h->g->params.at[i].value] == buffer) return h->g->params.at[i].value;
    return 0;
}

/* `next w`: in place when every reader of the old value can run before, else by a copy after all of them.  A
 * copy never reads what another `next` overwrites: a value that is itself a parameter was set aside before
 * (place_nexts). */
static void place_next(gcut_half *h, gcut_ref v, uint32_t to, uint32_t aside)
{
    gcut_ref old = param_in(h, to), r = h->view[v].root;
    uint32_t u = gcut_unit_source(h, v);
    bool direct = aside == GCUT_NONE && can_own(h, v) && (!old || pointwise_over(h, u, r, old));
    for (uint32_t x = 0; direct && old && x < h->units.n; x++)
        if (x != u && reads_root(h, x, old) && gcut_unit_reaches(h, u, x, false)) direct = false;
    if (direct) {
        h->buffer[r] = to;
    } else {
        u = copy_unit(h, v, to);
        h->units.at[u].copy_aside = aside;
        if (aside != GCUT_NONE) *GCUT_PUSH(h->g->module->arena, &h->units.at[u].before) = aside;
    }
    for (uint32_t x = 0; old && x < h->units.n; x++)
        if (x != u && reads_root(h, x, old)) *GCUT_PUSH(h->g->module->arena, &h->units.at[u].before) = x;
}

void gcut_place_updates(gcut_program *p, gcut_half *h, const gcut_update *u, uint32_t n)
{
    gcut_graph *g = h->g;
    uint32_t *aside = gcut_calloc(p->module->arena, n + 1, sizeof *aside);
    for (uint32_t i = 0; i < n; i++) {
        gcut_ref v = u[i].v;
        aside[i] = GCUT_NONE;
        if (gcut_def(g, h->view[v].root) == NULL)
            aside[i] = copy_unit(h, v, arena_buffer(p, gcut_type_of(g, v), g->values.at[v].name));
    }
    for (uint32_t i = 0; i < n; i++) place_next(h, u[i].v, u[i].to, aside[i]);
}

static void place_nexts(gcut_program *p, gcut_half *h)
{
    gcut_graph *g = h->g;
    gcut_update *u = gcut_calloc(p->module->arena, g->results.n + 1, sizeof *u);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next)
            u[n++] = (gcut_update){g->results.at[i].value, next_buffer(p, h, &g->results.at[i])};
    gcut_place_updates(p, h, u, n);
}

static void place_results(gcut_program *p, gcut_half *h)
{
    gcut_graph *g = h->g;
    h->saved = gcut_calloc(p->module->arena, g->results.n + 1, sizeof *h->saved);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role != GCUT_ROLE_out && r->role != GCUT_ROLE_grad) continue;
        uint32_t b = binding(p, r->role, r->name, gcut_type_of(g, r->value));
        p->bindings.at[b].written = true;
        gcut_place_at(h, r->value, bound(p, b));
    }
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_saved)
            h->saved[i] = place_saved(p, h, g->results.at[i].value, g->results.at[i].name);
    place_nexts(p, h);
}

/* Memory of its own for the storage behind v, unless it has some. */
void gcut_place_store(gcut_program *p, gcut_half *h, gcut_ref v)
{
    gcut_ref r = h->view[v].root;
    if (h->buffer[r] == GCUT_NONE)
        h->buffer[r] = arena_buffer(p, gcut_type_of(h->g, r), h->g->values.at[r].name);
}

/* Roots that another unit reads, or that exist only after their unit, need memory. */
static void place_temporaries(gcut_program *p, gcut_half *h)
{
    gcut_graph *g = h->g;
    for (uint32_t u = 0; u < h->units.n; u++) {
        gcut_unit *w = &h->units.at[u];
        if (w->dead) continue;
        if (w->kind == GCUT_U_COPY) {
            if (w->copy_to == GCUT_NONE)
                w->copy_to = arena_buffer(p, gcut_type_of(g, w->copy_from), g->values.at[w->copy_from].name);
            if (gcut_unit_source(h, w->copy_from) != GCUT_NONE) gcut_place_store(p, h, w->copy_from);
        }
        gcut_cursor at = {0};
        for (gcut_ref v; gcut_unit_read(h, u, &at, &v);) {
            uint32_t s = gcut_unit_source(h, v);
            if (s != GCUT_NONE && s != u) gcut_place_store(p, h, v);
        }
        for (uint32_t i = 0; i < w->nodes.n; i++) {
            const gcut_node *n = gcut_node_at(g, w->nodes.at[i]);
            for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) {
                if (w->left_out && w->left_out >> (v - n->res0) & 1) continue;
                gcut_level l = h->level[h->view[v].root];
                if (w->kind != GCUT_U_LOOP || l == GCUT_L_COLUMN || l == GCUT_L_TOTAL)
                    gcut_place_store(p, h, v);
            }
        }
    }
}

/* A share for every thread that takes part in unit u. */
static uint32_t shares(gcut_program *p, const gcut_half *h, uint32_t u, gcut_dim bytes, const char *name)
{
    if (bytes == 0) return GCUT_NONE;
    return gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_ARENA,
                                              .dtype = GCUT_u8,
                                              .count = bytes,
                                              .crew = u,
                                              .half = h->index,
                                              .name = name});
}

/* The workspace of a convolution is one for all threads. */
static void place_conv(gcut_program *p, gcut_half *h, uint32_t u)
{
    gcut_dim count = gcut_conv_workspace(h, u);
    if (count == 0) return;
    gcut_ref y = gcut_node_at(h->g, h->units.at[u].nodes.at[0])->res0;
    h->units.at[u].partial = gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_ARENA,
                                                                .crew = GCUT_NONE,
                                                                .dtype = gcut_type_of(h->g, y)->dtype,
                                                                .count = count,
                                                                .name = "convolution workspace"});
}

/* Where a product puts an operand that it would compute as it packs, should that be better. */
static void place_rooms(gcut_program *p, const gcut_half *h, uint32_t u)
{
    for (uint32_t k = 0; k < 2; k++) {
        gcut_chain *c = h->units.at[u].chain[k];
        if (!c) continue;
        const gcut_type *t = gcut_type_of(h->g, c->v);
        c->room = gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_ARENA,
                                                     .crew = GCUT_NONE,
                                                     .dtype = t->dtype,
                                                     .count = gcut_type_numel(p->module, t),
                                                     .half = h->index,
                                                     .product = u + 1,
                                                     .operand = k,
                                                     .name = h->g->values.at[c->v].name});
    }
}

static void place_workspace(gcut_program *p, gcut_half *h)
{
    for (uint32_t u = 0; u < h->units.n; u++) {
        gcut_unit *w = &h->units.at[u];
        if (w->dead) continue;
        if (w->kind == GCUT_U_ATTENTION || w->kind == GCUT_U_ATTENTION_GRAD)
            w->scratch = shares(p, h, u, gcut_attention_workspace(h, u), "blocks of scores");
        if (w->kind == GCUT_U_CONV) place_conv(p, h, u);
        if (w->kind == GCUT_U_GEMM) place_rooms(p, h, u);
        if (w->kind != GCUT_U_LOOP) continue;
        gcut_dim scratch, partial;
        gcut_loop_workspace(h, u, &scratch, &partial, p->module);
        w->scratch = shares(p, h, u, scratch, "row scratch");
        if (partial != 0)
            w->partial = gcut_place_buffer(p, (gcut_buffer){.kind = GCUT_P_ARENA,
                                                            .crew = GCUT_NONE,
                                                            .dtype = GCUT_u8,
                                                            .count = partial,
                                                            .name = "partial sums"});
    }
}

void gcut_place_half(gcut_program *p, gcut_half *h)
{
    if (h->parent == GCUT_NONE) {
        bind_params(p, h);
        place_results(p, h);
    } else {
        gcut_region_results(p, h);
    }
    gcut_region_carries(p, h);
    gcut_place_concats(p, h);
    place_temporaries(p, h);
    place_workspace(p, h);
}
