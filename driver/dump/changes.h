/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a pass changed, line by line of the text IR.
 */
#ifndef GCUT_DRIVER_DUMP_CHANGES_H
#define GCUT_DRIVER_DUMP_CHANGES_H

#include "base/arena.h"

/* The values that only one of two texts of graphs defines, "-" before and "+" after, and "~" those that both define in
 * another way.  Values whose names differ by numbers alone, of the same op, are one line.  Locations are not compared. */
void gcut_write_changes(const char *before, const char *after, gcut_text *out);

#endif
