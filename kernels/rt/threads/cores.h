/* SPDX-License-Identifier: MIT
 *
 * How many cores the process may use.
 */
#ifndef KERNELS_RT_CORES_H
#define KERNELS_RT_CORES_H

int gcut_rt_cores(void); /* at least 1 */

#endif
