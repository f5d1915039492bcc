/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The interpreted backends, slowest and simplest first: eager runs the joint
 * graph straight from the sweep and keeps every value; joint runs it folded;
 * planned runs forward and backward graph, the second on nothing but what it is given.
 */
#include <string.h>

#include "driver/step.h"

static gcut_array load(const gcut_step *s, gcut_arena *a, const char *name, gcut_role role)
{
    for (uint32_t k = 0; k < s->nparams; k++) {
        const gcut_slot *x = &s->slot[k];
        if (x->role == role && !strcmp(x->name, name))
            return gcut_array_load(a, x->type.dtype, x->type.rank, x->dim, x->at);
    }
    GCUT_NEVER("a parameter of the forward or backward graph is one of the joint graph");
    return (gcut_array){0};
}

/* Stores after everything was read: a `next` result overwrites its parameter. */
static void store(gcut_step *s, const gcut_graph *g, const gcut_array *out)
{
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        for (uint32_t k = 0; k < s->nslots; k++) {
            const gcut_slot *x = &s->slot[k];
            bool grad =
                r->role == GCUT_ROLE_grad && x->role == GCUT_ROLE_grad && !strcmp(x->name + 5, r->name);
            bool plain = r->role == GCUT_ROLE_out && x->role == GCUT_ROLE_out && !strcmp(x->name, r->name);
            bool next =
                r->role == GCUT_ROLE_next && k < s->nparams && x->updated && !strcmp(x->name, r->name);
            if (grad || plain || next) gcut_array_store(&out[i], x->at);
        }
    }
}

static gcut_array *run(const gcut_step *s, gcut_arena *a, const gcut_graph *g, const gcut_graph *fwd,
                       const gcut_array *fwd_out, gcut_array **values)
{
    gcut_array *in = gcut_calloc(a, g->params.n + 1, sizeof *in);
    gcut_array *out = gcut_calloc(a, g->results.n + 1, sizeof *out);
    for (uint32_t i = 0; i < g->params.n; i++) {
        const char *name = g->values.at[g->params.at[i].value].name;
        bool given = false;
        for (uint32_t k = 0; fwd && g->params.at[i].role == GCUT_ROLE_saved && k < fwd->results.n; k++)
            if (fwd->results.at[k].role == GCUT_ROLE_saved && !strcmp(fwd->results.at[k].name, name)) {
                in[i] = fwd_out[k];
                given = true;
            }
        if (!given) in[i] = load(s, a, name, g->params.at[i].role);
    }
    if (values) *values = gcut_calloc(a, g->values.n, sizeof **values);
    gcut_interp_at(g, s->p->opt.f64 ? GCUT_EXACT : GCUT_STATED, a, in, s->size, s->nsizes, out,
                   values ? *values : NULL);
    return out;
}

void gcut_step_interpret(gcut_step *s, int which, gcut_array *values[2])
{
    gcut_arena *a = gcut_arena_new(s->env, s->memory);
    bool planned = s->p->opt.backend == GCUT_BACKEND_PLANNED && s->p->bwd,
         whole = which != GCUT_RT_FORWARD && s->p->bwd;
    const gcut_graph *g = planned                                   ? s->p->fwd
                          : !whole                                  ? s->p->folded
                          : s->p->opt.backend == GCUT_BACKEND_EAGER ? s->p->raw
                                                                    : s->p->joint;
    gcut_array *out = run(s, a, g, NULL, NULL, values ? &values[0] : NULL), *second = NULL;
    if (planned && whole) second = run(s, a, s->p->bwd, g, out, values ? &values[1] : NULL);
    store(s, g, out);
    if (second) store(s, s->p->bwd, second);
    if (!values) gcut_arena_free(a); /* else the values live until the sizes change */
}
