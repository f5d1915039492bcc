/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights in, out and of two steps.  What does not fit is found before any value is set.
 */
#include "driver/load/weights.h"

#include <string.h>

#include "driver/exchange/matching.h"
#include "graph/ops/dtype_info.h"

void gcut_step_set_weights(gcut_step *s, gcut_tensor_file *f, const gcut_load_options *how)
{
    gcut_arena *a = gcut_arena_new(s->env, s->arena);
    gcut_wanted *w = gcut_calloc(a, (size_t)s->nslots + 1, sizeof *w);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_slot *x = &s->slot[i];
        if (gcut_slot_persists(x))
            w[n++] = (gcut_wanted){.name = x->name, .type = &x->type, .required = x->role == GCUT_ROLE_param};
    }
    gcut_match_tensors(s->p->primal, f, how, false, w, n);
    for (uint32_t i = 0; i < n; i++) {
        const gcut_tensor *t = w[i].found;
        int64_t bytes;
        if (!t) continue;
        void *at = gcut_step_room(s, w[i].name, (int)t->rank, t->dim, &bytes);
        gcut_tensor_copy(s->env, f, t, w[i].type->dtype, at);
    }
    gcut_arena_free(a);
}

gcut_tensor gcut_slot_tensor(const gcut_slot *x)
{
    gcut_tensor t = {.name = x->name,
                     .dtype = x->type.dtype,
                     .rank = x->type.rank,
                     .n = x->bytes / gcut_dtype_bytes(x->type.dtype),
                     .data = x->at};
    memcpy(t.dim, x->dim, sizeof t.dim);
    return t;
}

gcut_tensors gcut_step_weights(gcut_step *s, gcut_arena *a)
{
    gcut_tensors out = {0};
    for (uint32_t i = 0; i < s->nslots; i++)
        if (gcut_slot_persists(&s->slot[i])) *GCUT_PUSH(a, &out) = gcut_slot_tensor(&s->slot[i]);
    return out;
}

/* ---- of two steps ---- */

/* NULL: training has no such value. */
static const gcut_slot *same_value(gcut_step *training, const gcut_slot *x)
{
    const gcut_slot *of = gcut_slot_find(training, x->name);
    bool same =
        of && gcut_slot_persists(of) && of->type.dtype == x->type.dtype && of->type.rank == x->type.rank;
    for (uint32_t d = 0; same && d < x->type.rank; d++) {
        const gcut_dim a = of->type.dim[d], b = x->type.dim[d];
        same = !gcut_dim_known(a) || !gcut_dim_known(b) || a == b;
    }
    return same ? of : NULL;
}

void gcut_step_share(gcut_step *s, gcut_step *training)
{
    gcut_arena *scratch = gcut_arena_new(s->env, s->arena);
    gcut_text lines = {.arena = scratch};
    const gcut_slot **of = gcut_calloc(scratch, (size_t)s->nslots + 1, sizeof *of);
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_slot *x = &s->slot[i];
        if (!gcut_slot_persists(x)) continue;
        of[i] = same_value(training, x);
        if (!of[i] && x->role != GCUT_ROLE_rng)
            gcut_text_add(&lines, "%s%s, %s", lines.n ? "\n" : "", x->name,
                          gcut_type_text(scratch, s->p->module, &x->type));
    }
    if (lines.n)
        gcut_fail(s->env, GCUT_ETYPE, (gcut_place){0}, lines.at,
                  "the step of @%s lacks values of @%s to share", training->p->primal->name,
                  s->p->primal->name);
    for (uint32_t i = 0; i < s->nslots; i++) s->slot[i].shared = of[i];
    s->training = training;
    s->ready = false;
    gcut_arena_free(scratch);
}
