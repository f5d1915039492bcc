/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names compared: the one that a mistyped name probably means, for hints of error messages; names that match a
 * pattern.
 */
#ifndef GCUT_BASE_NAMES_H
#define GCUT_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* In the pattern * stands for any characters, ? for any one. */
bool gcut_name_matches(const char *pattern, const char *name);

/* The nearest of the names given so far; best NULL: none is near. */
typedef struct gcut_nearest {
    const char *wanted, *best;
    size_t distance;
} gcut_nearest;

gcut_nearest gcut_nearest_start(const char *wanted);
void gcut_nearest_add(gcut_nearest *near, const char *name);

#endif
