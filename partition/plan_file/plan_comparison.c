/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Compares two plan files.
 *
 * They are equal when every value has the same decision, storage format and copies in both, in loop
 * iterations too, and the same convolutions take less workspace. Bytes and times depend on the sizes of each
 * file, so they are printed and not compared.
 */
#include "partition/plan_file/plan_file.h"

#include <string.h>

typedef GCUT_VEC(const gcut_plan_difference *) differences;

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_line(const gcut_replay_line *a, const gcut_replay_line *b)
{
    if (a->decision != b->decision || strcmp(a->op, b->op) != 0 || a->nbefore != b->nbefore) return false;
    if (!same_text(a->storage, b->storage)) return false;
    for (size_t i = 0; i < a->nbefore; i++)
        if (!same_text(a->before[i], b->before[i])) return false;
    return true;
}

static const gcut_replay_line *find(const gcut_plan_part *p, uint32_t *from, const char *name)
{
    uint32_t n = p ? p->lines.n : 0;
    for (uint32_t k = 0; k < n; k++) { /* both files list values in one order: mostly the first hit */
        uint32_t i = (*from + k) % n;
        if (strcmp(p->lines.at[i]->name, name) != 0) continue;
        *from = i + 1;
        return p->lines.at[i];
    }
    return NULL;
}

static void add(differences *out, gcut_arena *arena, const char *loop, const gcut_replay_line *a,
                const gcut_replay_line *b)
{
    gcut_plan_difference one = {loop, a, b};
    *GCUT_PUSH(arena, out) = gcut_memdup(arena, &one, sizeof one);
}

/* a or b NULL: the file has no such part. */
static void compare_parts(differences *out, gcut_arena *arena, const gcut_plan_part *a,
                          const gcut_plan_part *b, const char *loop)
{
    uint32_t at = 0;
    for (uint32_t i = 0; a && i < a->lines.n; i++) {
        const gcut_replay_line *x = a->lines.at[i], *y = find(b, &at, x->name);
        if (!y || !same_line(x, y)) add(out, arena, loop, x, y);
    }
    at = 0;
    for (uint32_t i = 0; b && i < b->lines.n; i++)
        if (!find(a, &at, b->lines.at[i]->name)) add(out, arena, loop, NULL, b->lines.at[i]);
}

/* The plan in `other` of the iteration whose plan is f->iterations.at[i]: of the same loop, and with as many
 * plans of that loop before it. */
static const gcut_plan_part *match(const gcut_plan_file *other, const gcut_plan_file *f, uint32_t i)
{
    const char *loop = f->iterations.at[i].loop;
    uint32_t before = 0;
    for (uint32_t k = 0; k < i; k++) before += !strcmp(f->iterations.at[k].loop, loop);
    for (uint32_t k = 0; k < other->iterations.n; k++)
        if (!strcmp(other->iterations.at[k].loop, loop) && before-- == 0) return &other->iterations.at[k];
    return NULL;
}

/* Both lists are in the graph's order. */
static bool same_names(const gcut_plan_part *a, const gcut_plan_part *b)
{
    if (a->nless_workspace != b->nless_workspace) return false;
    for (uint32_t i = 0; i < a->nless_workspace; i++)
        if (strcmp(a->less_workspace[i], b->less_workspace[i]) != 0) return false;
    return true;
}

void gcut_plan_files_compare(const gcut_plan_file *a, const gcut_plan_file *b, gcut_arena *arena,
                             gcut_plan_diff *out)
{
    differences all = {0};
    compare_parts(&all, arena, &a->whole, &b->whole, NULL);
    for (uint32_t i = 0; i < a->iterations.n; i++)
        compare_parts(&all, arena, &a->iterations.at[i], match(b, a, i), a->iterations.at[i].loop);
    for (uint32_t i = 0; i < b->iterations.n; i++)
        if (!match(a, b, i)) compare_parts(&all, arena, NULL, &b->iterations.at[i], b->iterations.at[i].loop);
    out->a = &a->head;
    out->b = &b->head;
    out->same_graph = !strcmp(a->whole.nodes_hash, b->whole.nodes_hash) || a->iterations.n || b->iterations.n;
    out->equal = out->same_graph && !all.n && same_names(&a->whole, &b->whole);
    out->difference = all.at;
    out->n = all.n;
}
