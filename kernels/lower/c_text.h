/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of C (emit_text.c).
 */
#ifndef GCUT_KERNELS_LOWER_C_TEXT_H
#define GCUT_KERNELS_LOWER_C_TEXT_H

#include "kernels/emit/emitter.h"

const char *gcut_c_type(gcut_dtype t);                    /* float, int32_t, … */
const char *gcut_c_local(gcut_dtype t);                   /* of a variable: bool is int */
const char *gcut_c_name(gcut_arena *a, const char *name); /* a C identifier */
const char *gcut_c_dim(gcut_module *m, gcut_dim d);       /* over x->d_<symbol> */
/* In the function of a kernel: a number that it is given; a divisor, of type gcut_rt_divisor; a number that
 * equal functions have in common, where it is known. */
const char *gcut_c_size(gcut_module *m, gcut_dim d);
const char *gcut_c_named(gcut_module *m, const char *name, gcut_dim d); /* once, wherever it stands */
const char *gcut_c_divisor(gcut_module *m, gcut_dim d);
const char *gcut_c_kept(gcut_module *m, gcut_dim d);
const char *gcut_c_number(gcut_module *m, double x, gcut_dtype t);
/* A NUM attribute of node n, which has it, as a constant of dtype t. */
const char *gcut_c_attr(const gcut_graph *g, const gcut_node *n, gcut_attr_key key, gcut_dtype t);
/* The scalar expression of a constant root (full, dim). */
const char *gcut_c_const(const gcut_graph *g, gcut_ref root);
/* The expression of POINT node n on operand expressions arg[]. */
const char *gcut_c_expr(const gcut_graph *g, const gcut_node *n, const char *const *arg);
/* b[k], the argument of this launch that stands for a buffer. */
const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer);
/* Where a buffer is when its kernel runs: a `void *`, or a `char *` for a part of one. */
const char *gcut_c_pointer(gcut_emitter *e, uint32_t buffer);
/* "model.c:41:9", or "". */
const char *gcut_c_place(const gcut_graph *g, gcut_locid loc);

#endif
