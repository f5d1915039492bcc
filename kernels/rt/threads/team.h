/* SPDX-License-Identifier: MIT
 *
 * How long the threads of a team compute.
 */
#ifndef GCUT_KERNELS_RT_THREADS_TEAM_H
#define GCUT_KERNELS_RT_THREADS_TEAM_H

#include <stdint.h>

/* From now on, for what this thread launches: ns[t] grows by how long thread t computes parts of kernels, for t from 1 to
 * below `threads`; ns[0] falls by how long this thread waits for others.  NULL: nothing is timed. */
void gcut_rt_team_times(int64_t *ns, int threads);

#endif
