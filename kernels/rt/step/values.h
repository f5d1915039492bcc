/* SPDX-License-Identifier: MIT
 *
 * Rows of a step's table of values; see gradcut/rt_values.h.
 */
#ifndef GCUT_KERNELS_RT_STEP_VALUES_H
#define GCUT_KERNELS_RT_STEP_VALUES_H

#include "gradcut/gradcut_rt.h"

/* Is it part of what training goes on from? */
int gcut_rt_row_persists(const gcut_rt_row *r);
/* The size of axis d, and of all axes together. */
int64_t gcut_rt_row_dim(const gcut_rt_table *t, const void *plan, const gcut_rt_row *r, int d);
int64_t gcut_rt_row_elements(const gcut_rt_table *t, const void *plan, const gcut_rt_row *r);
/* Pointer number k of a NAME_io. */
void *gcut_rt_row_pointer(const void *io, int k);

#endif
