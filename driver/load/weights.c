/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights in, out and of two steps.  A file or step is compared with the step as a whole before any value is set.
 */
#include "driver/load/weights.h"

#include <string.h>

#include "driver/exchange/renamings.h"
#include "graph/ops/dtype_info.h"

enum { LISTED = 100 }; /* lines of one message */

/* ---- what fits ---- */

typedef struct comparison {
    gcut_step *s;
    const gcut_tensor_file *f;
    const gcut_load_options *how;
    gcut_arena *a;
    const gcut_tensor **of; /* by slot: its tensor; NULL: the file has none */
    gcut_text lines;        /* what does not fit */
    uint32_t missing, left_over, twice, other_type, other_shape;
} comparison;

static void add_line(comparison *c, const char *line)
{
    const uint32_t n = c->missing + c->left_over + c->twice + c->other_type + c->other_shape;
    if (n <= LISTED) gcut_text_add(&c->lines, "%s%s", c->lines.n ? "\n" : "", line);
    if (n == LISTED + 1) gcut_text_add(&c->lines, "\nand more");
}

static const char *type_of(const comparison *c, const gcut_slot *x)
{
    return gcut_type_text(c->a, c->s->p->module, &x->type);
}

static bool same_shape(const gcut_slot *x, const gcut_tensor *t)
{
    bool same = t->rank == x->type.rank;
    for (uint32_t d = 0; same && d < t->rank; d++)
        same = !gcut_dim_known(x->type.dim[d]) || x->type.dim[d] == t->dim[d];
    return same;
}

static void compare_tensor(comparison *c, const gcut_renamings *rules, const gcut_tensor *t)
{
    const char *name = gcut_renamed(c->a, rules, t->name),
               *called = strcmp(name, t->name) ? gcut_printf(c->a, "%s (%s)", t->name, name) : name;
    const gcut_slot *x = gcut_slot_find(c->s, name);
    if (!x || !gcut_slot_persists(x)) {
        if (c->how->partial) return;
        c->left_over++;
        add_line(c, gcut_printf(c->a, "left over      %s, %s", called, gcut_tensor_type_text(c->a, t)));
        return;
    }
    const gcut_tensor **of = &c->of[x - c->s->slot];
    if (*of) {
        c->twice++;
        add_line(c, gcut_printf(c->a, "twice          %s: by %s and %s", name, (*of)->name, t->name));
        return;
    }
    *of = t;
    if (!same_shape(x, t)) {
        c->other_shape++;
        add_line(c, gcut_printf(c->a, "another shape  %s: %s, not %s", called, gcut_tensor_type_text(c->a, t),
                                type_of(c, x)));
    } else if (t->dtype != x->type.dtype && !(c->how->convert && gcut_tensor_converts(t, x->type.dtype))) {
        c->other_type++;
        add_line(c, gcut_printf(c->a, "another dtype  %s: %s, not %s", called, gcut_tensor_type_text(c->a, t),
                                type_of(c, x)));
    }
}

static void count(gcut_text *t, uint32_t n, const char *what)
{
    if (n) gcut_text_add(t, "%s%u %s", t->n ? ", " : "", n, what);
}

static _Noreturn void refuse(const comparison *c)
{
    gcut_text all = {.arena = c->a};
    count(&all, c->missing, "missing");
    count(&all, c->left_over, "left over");
    count(&all, c->twice, "given twice");
    count(&all, c->other_shape, "of another shape");
    count(&all, c->other_type, "of another dtype");
    gcut_fail(c->s->env, GCUT_ETYPE, (gcut_place){.file = c->f->name}, c->lines.at,
              "the weights in '%s' do not fit @%s: %s", c->f->name, c->s->p->primal->name, all.at);
}

void gcut_step_set_weights(gcut_step *s, gcut_tensor_file *f, const gcut_load_options *how)
{
    gcut_arena *a = gcut_arena_new(s->env, s->arena);
    comparison c = {.s = s, .f = f, .how = how, .a = a, .lines = {.arena = a}};
    const gcut_renamings rules = gcut_read_renamings(s->env, a, how->rename);
    c.of = gcut_calloc(a, (size_t)s->nslots + 1, sizeof *c.of);
    for (uint32_t i = 0; i < f->tensor.n; i++) compare_tensor(&c, &rules, &f->tensor.at[i]);
    for (uint32_t i = 0; i < s->nslots && !how->partial; i++) {
        const gcut_slot *x = &s->slot[i];
        if (x->role != GCUT_ROLE_param || c.of[i]) continue;
        c.missing++;
        add_line(&c, gcut_printf(a, "missing        %s, %s", x->name, type_of(&c, x)));
    }
    if (c.lines.n) refuse(&c);
    for (uint32_t i = 0; i < s->nslots; i++) /* what cannot be read is found before any value is set */
        if (c.of[i]) gcut_tensor_load(f, c.of[i]);
    for (uint32_t i = 0; i < s->nslots; i++) {
        const gcut_tensor *t = c.of[i];
        int64_t bytes;
        if (!t) continue;
        void *at = gcut_step_room(s, s->slot[i].name, (int)t->rank, t->dim, &bytes);
        gcut_tensor_copy(s->env, f, t, s->slot[i].type.dtype, at);
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
