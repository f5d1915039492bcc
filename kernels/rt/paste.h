/* SPDX-License-Identifier: MIT
 *
 * Names of the instances of a template: x_f32, x_f32_avx2.
 */
#ifndef GCUT_KERNELS_RT_PASTE_H
#define GCUT_KERNELS_RT_PASTE_H

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

#endif
