/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compares two plan files.
 *
 * They are equal when every value has the same decision, storage format and copies in both, in loop
 * iterations too. Bytes and times depend on the sizes of each file, so they are printed and not compared.
 */
#include "partition/report/plan_file.h"

#include <string.h>

typedef struct comparing {
    gcut_arena *arena;
    const gcut_plan_file *a, *b;
    gcut_plan_files_differ of;
} comparing;

/* ---- differences ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_line(const gcut_plan_line *a, const gcut_plan_line *b)
{
    if (a->decision != b->decision || strcmp(a->op, b->op) != 0 || a->nbefore != b->nbefore) return false;
    if (a->decision == GCUT_PLAN_SAVED && a->format != b->format) return false;
    for (uint32_t i = 0; i < a->nbefore; i++)
        if (!same_text(a->before[i], b->before[i])) return false;
    return true;
}

static const gcut_plan_line *find(const gcut_plan_part *p, uint32_t *from, const char *name)
{
    uint32_t n = p ? p->lines.n : 0;
    for (uint32_t k = 0; k < n; k++) { /* both files list values in one order: mostly the first hit */
        uint32_t i = (*from + k) % n;
        if (strcmp(p->lines.at[i].value, name) != 0) continue;
        *from = i + 1;
        return &p->lines.at[i];
    }
    return NULL;
}

static void compare_parts(comparing *c, const gcut_plan_part *a, const gcut_plan_part *b, const char *loop)
{
    uint32_t at = 0;
    for (uint32_t i = 0; a && i < a->lines.n; i++) {
        const gcut_plan_line *x = &a->lines.at[i], *y = find(b, &at, x->value);
        if (!y || !same_line(x, y))
            *GCUT_PUSH(c->arena, &c->of.values) = (gcut_plan_lines_differ){loop, x, y};
    }
    at = 0;
    for (uint32_t i = 0; b && i < b->lines.n; i++) {
        const gcut_plan_line *y = &b->lines.at[i];
        if (!find(a, &at, y->value))
            *GCUT_PUSH(c->arena, &c->of.values) = (gcut_plan_lines_differ){loop, NULL, y};
    }
}

/* The k-th step of that loop. */
static const gcut_plan_part *step_of(const gcut_plan_file *f, const char *loop, uint32_t k)
{
    for (uint32_t i = 0; i < f->steps.n; i++)
        if (!strcmp(f->steps.at[i].loop, loop) && k-- == 0) return &f->steps.at[i];
    return NULL;
}

static uint32_t earlier(const gcut_plan_file *f, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) n += !strcmp(f->steps.at[k].loop, f->steps.at[i].loop);
    return n;
}

static void compare_all(comparing *c)
{
    compare_parts(c, &c->a->whole, &c->b->whole, NULL);
    for (uint32_t i = 0; i < c->a->steps.n; i++) {
        const gcut_plan_part *s = &c->a->steps.at[i];
        compare_parts(c, s, step_of(c->b, s->loop, earlier(c->a, i)), s->loop);
    }
    for (uint32_t i = 0; i < c->b->steps.n; i++) {
        const gcut_plan_part *s = &c->b->steps.at[i];
        if (!step_of(c->a, s->loop, earlier(c->b, i))) compare_parts(c, NULL, s, s->loop);
    }
}

gcut_plan_files_differ gcut_plan_files_compare(const gcut_plan_file *a, const gcut_plan_file *b,
                                               gcut_arena *arena)
{
    comparing c = {.arena = arena, .a = a, .b = b};
    compare_all(&c);
    c.of.same_graph = !strcmp(a->whole.nodes_hash, b->whole.nodes_hash) || a->steps.n || b->steps.n;
    return c.of;
}
