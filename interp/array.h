/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Concrete arrays, and how exactly the interpreter computes them.
 */
#ifndef GCUT_INTERP_ARRAY_H
#define GCUT_INTERP_ARRAY_H

#include "graph/graph.h"

/* A concrete array, row-major.  Floats of every dtype are held as double, everything else as int64_t. */
typedef struct gcut_array {
    gcut_dtype dtype;
    uint8_t rank;
    int64_t dim[GCUT_MAX_RANK];
    int64_t n; /* product of dim */
    union {
        double *f;
        int64_t *i;
        void *at;
    } u;
} gcut_array;

gcut_array gcut_array_new(gcut_arena *a, gcut_dtype t, uint32_t rank, const int64_t *dim); /* zeroed */
/* From / to packed memory of the dtype itself (float, int32_t, …).  store rounds to nearest even. */
gcut_array gcut_array_load(gcut_arena *a, gcut_dtype t, uint32_t rank, const int64_t *dim,
                           const void *packed);
void gcut_array_store(const gcut_array *x, void *packed);
gcut_num gcut_array_number(const gcut_array *x, int64_t k); /* element k */

typedef enum gcut_precision {
    GCUT_EXACT, /* every float computed and kept in f64 */
    GCUT_STATED /* every op's result rounded to its stated dtype */
} gcut_precision;

#endif
