/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dtypes as data, from dtype.def, and the values that they hold.
 */
#ifndef GCUT_GRAPH_OPS_DTYPE_INFO_H
#define GCUT_GRAPH_OPS_DTYPE_INFO_H

#include "gradcut/dtype.h"

#include <stdbool.h>
#include <stdint.h>

const char *gcut_dtype_name(gcut_dtype t);
int64_t gcut_dtype_bytes(gcut_dtype t);
bool gcut_dtype_is_float(gcut_dtype t);
bool gcut_dtype_is_16bit_float(gcut_dtype t); /* f16 or bf16 */
bool gcut_dtype_is_int(gcut_dtype t);         /* signed or unsigned, not bool */
/* x rounded to dtype t (f32, bf16, …), as a double. */
double gcut_round_to(double x, gcut_dtype t);
/* The smallest and the largest value of an integer dtype or bool. */
void gcut_dtype_bounds(gcut_dtype t, int64_t *lo, int64_t *hi);
bool gcut_dtype_parse(const char *s, gcut_dtype *out);

#endif
