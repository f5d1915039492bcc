/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the values of a compiled step hold before the first call.
 */
#ifndef GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H
#define GCUT_DRIVER_PIPELINE_INITIAL_CONTENTS_H

#include "driver/pipeline/pipeline.h"

/* One for each binding of p's program, in the same order; allocated in `a`. */
const gcut_contents *gcut_pipeline_contents(const gcut_pipeline *p, gcut_arena *a);

#endif
