/* SPDX-License-Identifier: MIT
 *
 * Convolutions of groups of one channel (depthwise ones): every row of a result is a sum of shifted rows.
 */
#include "kernels/rt/conv/depthwise.h"

/* Picoseconds of a multiply-add, for the choice of threads. */
enum { TAP_PS = 150 };
/* Shifted rows that are added up in one pass over a row. */
enum { PASS = 64 };

#define KERNEL "kernels/rt/conv/depthwise_rows_kernel.h"
#include "kernels/rt/each_kernel.h"

#define TEMPLATE "kernels/rt/conv/depthwise_type.h"
#include "kernels/rt/each_type.h"
