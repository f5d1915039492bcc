/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one function behind those of gradcut/ops.h: any op of the table, with
 * attributes as C has them (the form column of graph/ops/attrs.def).
 */
#ifndef GCUT_DRIVER_BUILDER_BUILDER_OP_H
#define GCUT_DRIVER_BUILDER_BUILDER_OP_H

#include "driver/builder/builder.h"

/* An attribute; which member of u it is follows from the key's form. */
typedef struct gcut_op_attr {
    gcut_attr_key key;
    bool zero_is_default; /* 0, NULL, no sizes: leave it to the op table; GCUT_ZERO: the number 0 */
    union {
        int64_t i;     /* AXIS, SIZE */
        gcut_shape l;  /* AXES, SIZES */
        double f;      /* NUMBER */
        bool b;        /* FLAG */
        const char *s; /* TEXT */
        gcut_dtype t;  /* DTYPE */
    } u;
} gcut_op_attr;

/* The op on n operands, in g where there are none; the first of its results, which have consecutive ids. */
gcut_val gcut_builder_op(gcut_here at, gcut_graph *g, gcut_op op, const gcut_val *in, int n,
                         const gcut_op_attr *arg, int nargs);

#endif
