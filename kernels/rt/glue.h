/* SPDX-License-Identifier: MIT
 *
 * Names of the instances of a template: x_f32, x_f32_avx2.
 */
#ifndef GCUT_KERNELS_RT_GLUE_H
#define GCUT_KERNELS_RT_GLUE_H

#define GLUE_(a, b) a##_##b
#define GLUE(a, b) GLUE_(a, b)

#endif
