/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file is compared as a whole, so that one message lists all that does not fit.
 */
#include "driver/exchange/matching.h"

#include <string.h>

#include "autodiff/autodiff.h"
#include "driver/exchange/renamings.h"

enum { LISTED = 100 }; /* lines of one message */

typedef struct comparison {
    const gcut_graph *of;
    const gcut_load_options *how;
    bool skip_states; /* of an optimizer */
    gcut_wanted *wanted;
    uint32_t nwanted;
    gcut_arena *a;
    gcut_text lines; /* what does not fit */
    uint32_t missing, left_over, twice, other_type, other_shape;
} comparison;

/* One more of what `count` counts. */
static void add_line(comparison *c, uint32_t *count, const char *line)
{
    ++*count;
    const uint32_t n = c->missing + c->left_over + c->twice + c->other_type + c->other_shape;
    if (n <= LISTED) gcut_text_add(&c->lines, "%s%s", c->lines.n ? "\n" : "", line);
    if (n == LISTED + 1) gcut_text_add(&c->lines, "\nand more");
}

static const char *type_of(const comparison *c, const gcut_wanted *w)
{
    return gcut_type_text(c->a, c->of->module, w->type);
}

static gcut_wanted *find(const comparison *c, const char *name)
{
    for (uint32_t i = 0; i < c->nwanted; i++)
        if (!strcmp(c->wanted[i].name, name)) return &c->wanted[i];
    return NULL;
}

static bool is_update_state(const comparison *c, const char *name)
{
    bool is = gcut_is_update_state(name, NULL);
    for (uint32_t i = 0; !is && i < c->nwanted; i++) is = gcut_is_update_state(name, c->wanted[i].name);
    return is;
}

static bool same_shape(const gcut_type *t, const gcut_tensor *x)
{
    bool same = t->rank == x->rank;
    for (uint32_t r = 0; same && r < x->rank; r++)
        same = !gcut_dim_known(t->dim[r]) || t->dim[r] == x->dim[r];
    return same;
}

static void compare_tensor(comparison *c, const gcut_renamings *rules, const gcut_tensor *x)
{
    const char *name = gcut_renamed(c->a, rules, x->name),
               *called = strcmp(name, x->name) ? gcut_printf(c->a, "%s (%s)", x->name, name) : name,
               *found = gcut_tensor_type_text(c->a, x);
    gcut_wanted *w = find(c, name);
    if (!w) {
        if (!c->how->partial && !(c->skip_states && is_update_state(c, name)))
            add_line(c, &c->left_over, gcut_printf(c->a, "left over      %s, %s", called, found));
    } else if (w->found) {
        add_line(c, &c->twice,
                 gcut_printf(c->a, "twice          %s: by %s and %s", name, w->found->name, x->name));
    } else {
        const bool dtype =
            x->dtype == w->type->dtype || (c->how->convert && gcut_tensor_converts(x, w->type->dtype));
        w->found = x;
        if (!same_shape(w->type, x))
            add_line(c, &c->other_shape,
                     gcut_printf(c->a, "another shape  %s: %s, not %s", called, found, type_of(c, w)));
        else if (!dtype)
            add_line(c, &c->other_type,
                     gcut_printf(c->a, "another dtype  %s: %s, not %s", called, found, type_of(c, w)));
    }
}

static void add_count(gcut_text *t, uint32_t n, const char *what)
{
    if (n) gcut_text_add(t, "%s%u %s", t->n ? ", " : "", n, what);
}

static _Noreturn void refuse(const comparison *c, const gcut_tensor_file *f)
{
    gcut_text all = {.arena = c->a};
    add_count(&all, c->missing, "missing");
    add_count(&all, c->left_over, "left over");
    add_count(&all, c->twice, "given twice");
    add_count(&all, c->other_shape, "of another shape");
    add_count(&all, c->other_type, "of another dtype");
    gcut_fail(c->of->module->env, GCUT_ETYPE, (gcut_place){.file = f->name}, c->lines.at,
              "the weights in '%s' do not fit @%s: %s", f->name, c->of->name, all.at);
}

void gcut_match_tensors(const gcut_graph *of, gcut_tensor_file *f, const gcut_load_options *how,
                        bool skip_states, gcut_wanted *w, uint32_t n)
{
    gcut_arena *a = gcut_arena_new(of->module->env, of->module->arena);
    comparison c = {.of = of,
                    .how = how,
                    .skip_states = skip_states,
                    .wanted = w,
                    .nwanted = n,
                    .a = a,
                    .lines = {.arena = a}};
    const gcut_renamings rules = gcut_read_renamings(of->module->env, a, how->rename);
    for (uint32_t i = 0; i < f->tensor.n; i++) compare_tensor(&c, &rules, &f->tensor.at[i]);
    for (uint32_t i = 0; i < n && !how->partial; i++)
        if (w[i].required && !w[i].found)
            add_line(&c, &c.missing, gcut_printf(a, "missing        %s, %s", w[i].name, type_of(&c, &w[i])));
    if (c.lines.n) refuse(&c, f);
    for (uint32_t i = 0; i < n; i++)
        if (w[i].found) gcut_tensor_load(f, w[i].found);
    gcut_arena_free(a);
}
