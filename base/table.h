/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text in columns: each as wide as its widest cell, two blanks between them, none at the end of a line.
 *
 * Where the lines are wider than a terminal, columns that matter less are left out, until the others fit with cells of
 * at least 24 characters; a line below the table names them.  Then the widest of the columns that may be cut are
 * cut: their longer cells end in "..".
 *
 *   gcut_table t = {.arena = a, .ncols = 2, .right = 1u << 1};
 *   gcut_table_row(&t, (const char *[]){"value", "bytes"});
 *   gcut_table_row(&t, (const char *[]){"%h", "4,096"});
 *   gcut_table_print(&t, 0, t.nrows, "  ", out);
 */
#ifndef GCUT_BASE_TABLE_H
#define GCUT_BASE_TABLE_H

#include "base/arena.h"

typedef struct gcut_table {
    gcut_arena *arena;
    uint32_t ncols, nrows;
    uint32_t right;      /* bit c: column c is set to the right */
    uint32_t cut;        /* bit c: its cells may be cut */
    bool bold;           /* the first row, the titles, by the escape sequences of terminals */
    int64_t columns;     /* of the terminal; 0 = no limit */
    const uint8_t *last; /* columns that may be left out, the first one first; nlast of them */
    uint32_t nlast;
    const char *left; /* what rows it lacks, a line below it: "81 tensors, 1,024 bytes"; NULL: none */
    GCUT_VEC(const char *) cell; /* row by row; NULL = empty */
} gcut_table;

/* ncols cells, whose texts must outlive the table. */
void gcut_table_row(gcut_table *t, const char *const *cell);
/* Prints rows from..to-1.  All rows determine the widths; a column that is empty in all rows but the
 * first, the titles, is omitted. */
void gcut_table_print(const gcut_table *t, uint32_t from, uint32_t to, const char *indent, gcut_text *out);
/* The whole table, indented by two; without rows below its titles only what it lacks. */
void gcut_table_print_all(const gcut_table *t, gcut_text *out);
/* Whether a column has a text below its title. */
bool gcut_table_has(const gcut_table *t, uint32_t column);

#endif
