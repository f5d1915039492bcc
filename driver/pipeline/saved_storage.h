/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests whether each saved value of a plan has a buffer of its own in the arena.
 */
#ifndef GCUT_DRIVER_PIPELINE_SAVED_STORAGE_H
#define GCUT_DRIVER_PIPELINE_SAVED_STORAGE_H

#include "driver/pipeline/pipeline.h"
#include "partition/cut/decisions.h"

/* True when every plan of the problem, which is of a graph of p, has each saved value in a buffer of its own
 * in the arena from the forward to the backward graph; its peak is then at least the resident bytes plus the
 * saved bytes.  False where kernels might store two saved values, or one and a result, in one buffer.  Adds
 * graphs to the module. */
bool gcut_saved_have_own_buffers(gcut_pipeline *p, const gcut_problem *problem);

#endif
