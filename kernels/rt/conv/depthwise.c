/* SPDX-License-Identifier: MIT
 *
 * Convolutions of groups of one channel (depthwise ones): every row of a result is a sum of shifted rows.
 */
#include "kernels/rt/conv/depthwise.h"

#include "kernels/rt/isa.h"

/* Picoseconds of a multiply-add, for the choice of threads. */
enum { TAP_PS = 150 };
/* Shifted rows that are added up in one pass over a row. */
enum { PASS = 64 };

#define KERNEL "kernels/rt/conv/depthwise_rows_kernel.h"
#include "kernels/rt/each_kernel.h"

#define T float
#define TYPE f32
#include "kernels/rt/conv/depthwise_type.h"

#define T double
#define TYPE f64
#include "kernels/rt/conv/depthwise_type.h"
