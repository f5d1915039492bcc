/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The function that those of gradcut/ops.h call: any op of the table, with attributes as C values (the form
 * column of graph/ops/attrs.def).
 */
#ifndef GCUT_DRIVER_BUILDER_BUILDER_OP_H
#define GCUT_DRIVER_BUILDER_BUILDER_OP_H

#include "driver/builder/builder.h"

/* An attribute; the form of its key selects the member of u. */
typedef struct gcut_op_attr {
    gcut_attr_key key;
    bool zero_is_default; /* 0, NULL or no sizes mean the op table's default; GCUT_ZERO means 0 */
    union {
        int64_t i;     /* AXIS, SIZE */
        gcut_shape l;  /* AXES, SIZES */
        double f;      /* NUMBER */
        bool b;        /* FLAG */
        const char *s; /* TEXT */
        gcut_dtype t;  /* DTYPE */
    } u;
} gcut_op_attr;

/* Adds the op on n operands, to g where it has none; returns the first of its results, which have
 * consecutive ids. */
gcut_val gcut_builder_op(gcut_here at, gcut_graph *g, gcut_op op, const gcut_val *in, int n,
                         const gcut_op_attr *arg, int nargs);

/* A number as an attribute of an op of that dtype: an integer op gets an integer, if the number is one. */
gcut_attr gcut_builder_number(gcut_attr_key key, gcut_dtype t, double f);

#endif
