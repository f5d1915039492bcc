/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameters of the functions of gradcut/ops.h, from the op table: tests/graph/test_ops_header.c writes the functions,
 * driver/calls/ calls of them.
 *
 * A function takes its operands, then its attributes: dtype and shape first, the others as in the table.
 *
 *   required, or ALWAYS in attrs.def   a parameter
 *   the only other one                 a parameter that calls may leave out
 *   several others                     one struct gcut_<op>_options, whose zeros are the defaults, which calls may
 *                                      leave out; operands that may be missing are in it too
 *   a single list                      the macro's remaining arguments: gcut_reshape(x, N, 784)
 *   a reduction                        the macro's remaining arguments are the axes, none for all: gcut_sum(x, 0);
 *                                      with `keep=true` it is gcut_sum_keep
 */
#ifndef GCUT_DRIVER_BUILDER_OP_SIGNATURE_H
#define GCUT_DRIVER_BUILDER_OP_SIGNATURE_H

#include "graph/graph.h"

typedef struct gcut_op_signature {
    gcut_op op;
    const gcut_op_info *info;
    const char *name; /* without gcut_ */
    char operand[4][16];
    uint32_t nin, nmay; /* operands always there, and those that may be missing, after them */
    const gcut_attr_spec *must[8], *may[8];
    uint32_t nmust, nmay_attrs;
    bool reduction;
} gcut_op_signature;

/* Of an op that has a c_name. */
gcut_op_signature gcut_op_signature_of(const gcut_module *m, gcut_op op);
bool gcut_signature_has_struct(const gcut_op_signature *s);
bool gcut_signature_has_default(const gcut_op_signature *s); /* one parameter that calls may leave out */
/* Its macro takes a list as its last arguments. */
bool gcut_signature_is_open(const gcut_op_signature *s);

static inline bool gcut_attr_is_list(gcut_attr_key key)
{
    return gcut_attr_kind_of(key) == GCUT_ATTR_KIND_DIMS;
}

#endif
