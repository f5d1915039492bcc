/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of marks, and lists of them.
 */
#include "graph/mark.h"

#include <string.h>

#include "graph/graph.h"

#define PARAM GCUT_MARK_ON_PARAM
#define RESULT GCUT_MARK_ON_RESULT
#define OP GCUT_MARK_ON_OP
#define FUNC GCUT_MARK_ON_FUNC
#define PAIR GCUT_MARK_ON_PAIR
#define DATA GCUT_MARK_ON_DATA
#define MANY GCUT_MARK_MANY

static const gcut_mark_row rows[] = {
#define MARK(name, on, least, args) {#name, on, least, args},
#include "graph/marks.def"
#undef MARK
};

const gcut_mark_row *gcut_mark_get(gcut_mark_name name)
{
    return &rows[name];
}

const gcut_mark *gcut_mark_find(const gcut_marks *marks, gcut_mark_name name)
{
    for (uint32_t i = 0; i < marks->n; i++)
        if (marks->at[i].name == name) return &marks->at[i];
    return NULL;
}

void gcut_mark_add(gcut_arena *arena, gcut_marks *marks, gcut_mark mark)
{
    gcut_mark *at = gcut_alloc(arena, (marks->n + 1) * sizeof *at);
    if (marks->n) memcpy(at, marks->at, marks->n * sizeof *at);
    at[marks->n] = mark;
    *marks = (gcut_marks){marks->n + 1, at};
}

void gcut_mark_remove(gcut_arena *arena, gcut_marks *marks, gcut_mark_name name)
{
    gcut_marks out = {0};
    if (!gcut_mark_find(marks, name)) return;
    for (uint32_t i = 0; i < marks->n; i++)
        if (marks->at[i].name != name) gcut_mark_add(arena, &out, marks->at[i]);
    *marks = out;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool gcut_marks_equal(const gcut_marks *a, const gcut_marks *b)
{
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const gcut_mark *x = &a->at[i], *y = &b->at[i];
        if (x->name != y->name || x->nargs != y->nargs) return false;
        for (uint32_t k = 0; k < x->nargs; k++)
            if (x->arg[k].i != y->arg[k].i || !same_text(x->arg[k].text, y->arg[k].text)) return false;
    }
    return true;
}

/* ---- copies of nodes ---- */

/* The value that replaces v in dst; if there is none, that of another result of v's node. */
static gcut_ref moved(const gcut_graph *dst, const gcut_graph *src, gcut_ref v, const gcut_ref *map)
{
    const gcut_node *n = gcut_def(src, v);
    if (map[v] || !n) return map[v];
    for (uint32_t k = 0; k < n->nres; k++)
        if (map[n->res0 + k] && gcut_def(dst, map[n->res0 + k])) return map[n->res0 + k];
    return 0;
}

gcut_marks gcut_marks_carry(const gcut_graph *dst, const gcut_graph *src, const gcut_marks *marks,
                            const gcut_ref *map)
{
    gcut_marks out = *marks;
    for (uint32_t i = 0; map && i < marks->n; i++)
        for (uint32_t k = 0; k < marks->at[i].nargs; k++) {
            const gcut_mark_arg *a = &marks->at[i].arg[k];
            if (rows[marks->at[i].name].args[k] != 'v' || !a->i) continue;
            const gcut_ref v = moved(dst, src, (gcut_ref)a->i, map);
            if (out.at == marks->at) out.at = gcut_memdup(src->module->arena, out.at, out.n * sizeof *out.at);
            out.at[i].arg[k] = (gcut_mark_arg){v, v ? NULL : src->values.at[a->i].name};
        }
    return out;
}
