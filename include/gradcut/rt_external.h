/* SPDX-License-Identifier: MIT
 *
 * External kernels: C functions of the program's own that a step calls.
 */
#ifndef GRADCUT_RT_EXTERNAL_H
#define GRADCUT_RT_EXTERNAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operand or a result: row-major and packed. */
typedef struct gcut_rt_tensor {
    void *at;  /* aligned as its elements are; of an operand, to be read only */
    int dtype; /* GCUT_RT_F32, … (gradcut/rt_values.h) */
    int rank;
    int64_t dim[8];
} gcut_rt_tensor;

/* One call.  The kernel writes every element of every result, and keeps no pointer.  Operands and results lie
 * apart; two operands may be one.  It is called on one thread of the step, whose others wait. */
typedef struct gcut_rt_external {
    const gcut_rt_tensor *in, *out;
    int nin, nout;
    int threads; /* of the step; the kernel may start that many */
} gcut_rt_external;

typedef void gcut_rt_external_fn(const gcut_rt_external *call);

#ifdef __cplusplus
}
#endif

#endif
