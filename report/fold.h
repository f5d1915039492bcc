/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folded tables: rows that say the same of values whose names differ by numbers alone are one row.
 *
 *     %block0.mlp.fc.add, %block1.mlp.fc.add, … %block11.mlp.fc.add     ->     %block*.mlp.fc.add, 12 rows
 */
#ifndef GCUT_REPORT_FOLD_H
#define GCUT_REPORT_FOLD_H

#include "base/arena.h"
#include "gradcut/plan.h"

typedef struct gcut_row {
    const char *name; /* of the value; without its % */
    const char *like; /* only rows of which this is equal are folded */
    int64_t amount;   /* bytes, or whatever the table is about */
} gcut_row;

typedef struct gcut_row_group {
    const char *name; /* of its rows, with * for a number that is not the same in all of them */
    uint32_t n;
    const uint32_t *row; /* in their order */
    int64_t amount;      /* of all of them */
} gcut_row_group;

typedef struct gcut_folded {
    uint32_t n;
    const gcut_row_group *at;
    uint32_t left; /* rows that `match` and `top` leave out, and their amount */
    int64_t left_amount;
} gcut_folded;

/* Groups of three rows and more are folded, unless o->all; in the order of their first rows or, by_amount, the largest
 * first. */
gcut_folded gcut_fold(gcut_arena *a, const gcut_row *row, uint32_t n, const gcut_table_options *o,
                      bool by_amount);
/* s with * for every number: of names that rows may differ in. */
const char *gcut_without_numbers(gcut_arena *a, const char *s);
/* The different ones among the texts of a group's rows, two at most: "relu", "relu, gelu", "relu, gelu +3". */
const char *gcut_group_text(gcut_arena *a, const gcut_row_group *g, const char *const *text);
/* The same for names: where they differ by numbers alone "%dblock*.ln1 mul", with * for a number that is not the same. */
const char *gcut_group_name(gcut_arena *a, const gcut_row_group *g, const char *const *name);
/* "12 x 12,582,912"; "12" where its rows have different sizes; "" for a group of one row. */
const char *gcut_group_each(gcut_arena *a, const gcut_row_group *g, const gcut_row *row);
/* Of gcut_table: "81 tensors, 1,024 bytes (1.0 KiB)"; NULL where nothing is left out. */
const char *gcut_left_text(gcut_arena *a, const gcut_folded *f, const char *what);

#endif
