/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the values of a step hold before the first call.
 */
#ifndef GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H
#define GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H

#include "driver/pipeline/pipeline.h"

/* How a value begins that the caller neither binds nor writes to. */
typedef struct gcut_initial {
    const gcut_data *declared; /* as a `data` declaration says; NULL = as below */
    bool drawn;                /* random, of the step's seed and its name: floats normal(0, 1), ... */
    int64_t lo, hi;            /* ... integers in [lo, hi) */
    double number;             /* else every element */
} gcut_initial;
/* Of a parameter of p's joint graph. */
gcut_initial gcut_initial_of(const gcut_pipeline *p, const gcut_param *param);
/* Is it for the caller to give its values before each step: an input of the function, or the cotangent of a
 * result that is no scalar? */
bool gcut_caller_gives(const gcut_pipeline *p, const gcut_param *param);

/* One for each binding of p's program, in the same order; allocated in `a`. */
const gcut_contents *gcut_pipeline_contents(const gcut_pipeline *p, gcut_arena *a);

#endif
