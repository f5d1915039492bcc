/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of C: types, names, numbers, expressions.
 */
#ifndef GCUT_KERNELS_EMIT_C_TEXT_H
#define GCUT_KERNELS_EMIT_C_TEXT_H

#include "graph/graph.h"

/* Marks: characters in a function that is being written, for what is known at its end (emitter.c) or at the
 * end of all functions (emit_source_lines.c). */
#define GCUT_C_LABEL "\1"   /* the function's label */
#define GCUT_C_SIZE "\2"    /* a number that the function takes: its expression, to GCUT_C_END */
#define GCUT_C_DIVISOR "\5" /* likewise, of one that divides what changes from row to row */
#define GCUT_C_END "\3"
#define GCUT_C_BUFFER "\13"   /* in front of an element of b, the buffers that the function takes */
#define GCUT_C_VARIABLES "\4" /* where the function declares the numbers that it takes, as n0, n1, … */
/* The same of one that describes a call, where each number stands in one place, as n[0], n[1], … */
#define GCUT_C_ARGUMENTS "\6"
#define GCUT_C_NAME "\10" /* a name of the user's follows, which stays whatever it is */
#define GCUT_C_LINE "\7"  /* a line of its own: the number of the source line of what follows */

/* As gcut_text_add, and each @ of fmt stands for the name that the step's names in C begin with. */
void gcut_c_add(gcut_text *t, const char *name, const char *fmt, ...) GCUT_PRINTF(3, 4);

typedef GCUT_VEC(const char *) gcut_strings;
/* The number of s among the strings, to which it is added unless it is there. */
uint32_t gcut_string_number(gcut_arena *a, gcut_strings *all, const char *s);

/* How a size is written: gcut_c_dim, gcut_c_size, … */
typedef const char *gcut_size_c(gcut_module *m, gcut_dim d);

const char *gcut_c_type(gcut_dtype t);                    /* float, int32_t, … */
const char *gcut_c_local(gcut_dtype t);                   /* of a variable: bool is int */
const char *gcut_c_name(gcut_arena *a, const char *name); /* a C identifier */
const char *gcut_c_dim(gcut_module *m, gcut_dim d);       /* over x->d_<symbol> */
/* In the function of a kernel: a number that it is given; a divisor, of type gcut_rt_divisor; a number that
 * equal functions have in common, where it is known. */
const char *gcut_c_size(gcut_module *m, gcut_dim d);
const char *gcut_c_offset(gcut_module *m, gcut_dim d);                  /* 0 is no number of the function */
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
/* "model.c:41:9", or "". */
const char *gcut_c_place(const gcut_graph *g, gcut_locid loc);

#endif
