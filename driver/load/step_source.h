/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C of a step: as the files NAME.c and NAME.h, or as one translation unit.
 */
#ifndef GCUT_DRIVER_LOAD_STEP_SOURCE_H
#define GCUT_DRIVER_LOAD_STEP_SOURCE_H

#include "driver/pipeline/pipeline.h"

/* step.h and step.c of a program as one translation unit. */
typedef struct gcut_c_source {
    gcut_text text;
    uint32_t parts; /* it can be compiled in 1 to GCUT_MOST_PARTS parts */
} gcut_c_source;

/* Allocates in `a`. */
gcut_c_source gcut_step_source(const gcut_pipeline *p, gcut_arena *a);
/* Writes base.c and base.h, where the step has the name that base ends in. */
void gcut_write_c(const gcut_pipeline *p, const char *base);

#endif
