/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What profiles of steps in this process and of steps elsewhere have in common.
 */
#ifndef GCUT_DRIVER_MEASURE_PROFILE_H
#define GCUT_DRIVER_MEASURE_PROFILE_H

#include "driver/pipeline/pipeline.h"

/* Of the time in a step: ns[0] the least, ns[1..3] the quartiles.  share: by thread, of the time; NULL = not known. */
const gcut_kernel_time *gcut_profile_kernel(gcut_arena *keep, const gcut_cost *c, const double ns[4],
                                            const double *share, int threads);
/* Of what the profile is, and the limits of the machine model. */
void gcut_profile_origin(const gcut_pipeline *p, const gcut_dim_binding *size, uint32_t nsizes, int threads,
                         gcut_arena *keep, gcut_arena *scratch, gcut_profile *out);

#endif
