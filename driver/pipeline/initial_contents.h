/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the values of a compiled step hold before the first call.
 */
#ifndef GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H
#define GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H

#include "driver/pipeline/pipeline.h"

/* The declared contents of a parameter; NULL where there are none. */
const gcut_data *gcut_pipeline_data(const gcut_pipeline *p, const char *name);
/* #range(lo, hi) on an integer parameter, else 0..1: index 0 is always valid. */
typedef struct gcut_int_range {
    int64_t lo, hi;
} gcut_int_range;
gcut_int_range gcut_marked_range(const gcut_marks *marks);

/* One for each binding of p's program, in the same order; allocated in `a`. */
const gcut_contents *gcut_pipeline_contents(const gcut_pipeline *p, gcut_arena *a);

#endif
