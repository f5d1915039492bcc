/* SPDX-License-Identifier: MIT
 *
 * How many cores the process may use.
 */
#ifndef GCUT_KERNELS_RT_THREADS_CORES_H
#define GCUT_KERNELS_RT_THREADS_CORES_H

int gcut_rt_cores(void); /* at least 1 */

#endif
