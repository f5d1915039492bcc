/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether the bytes that a plan saves are bytes of the arena.
 */
#ifndef GCUT_DRIVER_PIPELINE_SAVED_STORAGE_H
#define GCUT_DRIVER_PIPELINE_SAVED_STORAGE_H

#include "driver/pipeline/pipeline.h"
#include "partition/cut/decisions.h"

/* Every plan of the problem, which is of a graph of p, has each saved value in a buffer of its own in the
 * arena, from the forward to the backward graph: so its peak is at least the resident bytes and those that it
 * saves. False where kernels might store two of them, or one and a result, in one buffer.  Adds graphs to the
 * module. */
bool gcut_saved_storage_is_apart(gcut_pipeline *p, const gcut_problem *problem);

#endif
