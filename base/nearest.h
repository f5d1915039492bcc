/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The name that a mistyped one probably means, for hints of error messages.
 */
#ifndef GCUT_BASE_NEAREST_H
#define GCUT_BASE_NEAREST_H

#include <stddef.h>

/* The nearest of the names given so far; best NULL: none is near. */
typedef struct gcut_nearest {
    const char *wanted, *best;
    size_t distance;
} gcut_nearest;

gcut_nearest gcut_nearest_start(const char *wanted);
void gcut_nearest_add(gcut_nearest *near, const char *name);

#endif
