/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Marks: typed side data of parameters, results, ops, functions, pairs and data, from the table
 * graph/marks.def.
 */
#ifndef GCUT_GRAPH_MARK_H
#define GCUT_GRAPH_MARK_H

#include "base/arena.h"

typedef enum gcut_mark_name {
#define MARK(name, ...) GCUT_MARK_##name,
#include "graph/marks.def"
#undef MARK
    GCUT_NMARKS
} gcut_mark_name;

/* Where a mark may stand: a bit mask. */
typedef enum gcut_mark_place {
    GCUT_MARK_ON_PARAM = 1,
    GCUT_MARK_ON_RESULT = 2,
    GCUT_MARK_ON_OP = 4,
    GCUT_MARK_ON_FUNC = 8,
    GCUT_MARK_ON_PAIR = 16,
    GCUT_MARK_ON_DATA = 32,
    GCUT_MARK_MANY = 64 /* may be repeated */
} gcut_mark_place;

#define GCUT_MARK_MAX_ARGS 2

/* i: an integer, a size, the number of a kernel, or the id of a value of the graph; id 0 = a value of the
 * forward graph from which this backward graph was split, whose name is text. text: of a string or a name,
 * interned. */
typedef struct gcut_mark_arg {
    int64_t i;
    const char *text;
} gcut_mark_arg;

typedef struct gcut_mark {
    gcut_mark_name name;
    uint32_t nargs;
    gcut_mark_arg arg[GCUT_MARK_MAX_ARGS];
} gcut_mark;

typedef struct gcut_marks {
    uint32_t n;
    gcut_mark *at; /* in the module's arena; copies of a node share it */
} gcut_marks;

typedef struct gcut_mark_row {
    const char *name;
    unsigned on;      /* places */
    uint32_t least;   /* number of required arguments */
    const char *args; /* a letter for each */
} gcut_mark_row;

const gcut_mark_row *gcut_mark_get(gcut_mark_name name);
/* NULL when absent. */
const gcut_mark *gcut_mark_find(const gcut_marks *marks, gcut_mark_name name);
bool gcut_marks_equal(const gcut_marks *a, const gcut_marks *b);
void gcut_mark_add(gcut_arena *arena, gcut_marks *marks, gcut_mark mark);
/* The list is copied where it has such marks: copies of a node share it. */
void gcut_mark_remove(gcut_arena *arena, gcut_marks *marks, gcut_mark_name name);

#endif
