/* SPDX-License-Identifier: MIT
 *
 * Elements of an array with strides, in row-major order.
 */
#ifndef GCUT_KERNELS_RT_MOVE_STRIDED_H
#define GCUT_KERNELS_RT_MOVE_STRIDED_H

#include <stdint.h>

/* Of element number q. */
static inline int64_t strided_offset(int64_t q, int rank, const int64_t *dim, const int64_t *stride)
{
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; d--) {
        offset += q % dim[d] * stride[d];
        q /= dim[d];
    }
    return offset;
}

/* The array as rows along its last axis, whose elements are `step` apart.  A scalar is one row of one. */
typedef struct strided {
    int rank;
    const int64_t *dim, *stride;
    int64_t rows, columns, step;
} strided;

static inline strided strided_rows(int rank, const int64_t *dim, const int64_t *stride)
{
    strided s = {rank, dim, stride, 1, rank ? dim[rank - 1] : 1, rank ? stride[rank - 1] : 1};
    for (int d = 0; d < rank - 1; d++) s.rows *= dim[d];
    return s;
}

static inline int64_t strided_row(const strided *s, int64_t row)
{
    return strided_offset(row, s->rank - 1, s->dim, s->stride);
}

#endif
