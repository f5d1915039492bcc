/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Short forms of gcut_node_new for code that writes algebra: VJP rules,
 * decompositions, optimizers, the public builder.  No implicit broadcasting:
 * elementwise operands must already have one shape, which gcut_bbroadcast_all gives them.  Every call throws on
 * a type error.  A gcut_build carries where new nodes go and what they are called.
 */
#ifndef GCUT_GRAPH_BUILD_H
#define GCUT_GRAPH_BUILD_H

#include "graph/graph.h"

typedef struct gcut_build {
    gcut_graph *g;
    gcut_locid loc;
    const char *name; /* base of new names; NULL = generated */
} gcut_build;

gcut_ref gcut_b1(gcut_build *b, gcut_op op, gcut_ref x);
gcut_ref gcut_b2(gcut_build *b, gcut_op op, gcut_ref x, gcut_ref y);
gcut_ref gcut_bselect(gcut_build *b, gcut_ref p, gcut_ref x, gcut_ref y);
gcut_ref gcut_bconvert(gcut_build *b, gcut_ref x, gcut_dtype to); /* x itself when it has that dtype */
/* The integer that a number stands for: truncated, the nearest one of 64 bits where it is none, 0 for a NaN. */
int64_t gcut_binteger(double x);
/* A number rounded to an integer, up or down, and clamped to the range of an integer dtype. */
int64_t gcut_bround_integer(gcut_num x, bool up, gcut_dtype t);
/* A constant of the shape and dtype of `like`. */
gcut_ref gcut_bconst(gcut_build *b, gcut_ref like, double value);
gcut_ref gcut_bfull(gcut_build *b, const gcut_type *type, double value);
gcut_ref gcut_bfull_of(gcut_build *b, const gcut_type *type, gcut_num value); /* all 64 bits of an integer */
/* A number as an attribute for elements of dtype t. */
gcut_attr gcut_bnumber(gcut_attr_key key, gcut_dtype t, gcut_num x);
gcut_ref gcut_biota(gcut_build *b, const gcut_type *type, int axis); /* type->dtype: an integer */
gcut_ref gcut_bscale(gcut_build *b, gcut_ref x, double factor);      /* x * factor */
gcut_ref gcut_baddc(gcut_build *b, gcut_ref x, double term);         /* x + term */
gcut_ref gcut_breshape(gcut_build *b, gcut_ref x, const gcut_dim *shape, uint32_t rank);
gcut_ref gcut_btranspose(gcut_build *b, gcut_ref x, const gcut_dim *perm); /* as many as x has axes */
/* x with its axis `axis` first, the others in their order; `back` undoes it. */
gcut_ref gcut_baxis_first(gcut_build *b, gcut_ref x, uint32_t axis, bool back);
gcut_ref gcut_bbroadcast(gcut_build *b, gcut_ref x, const gcut_dim *shape, uint32_t rank,
                         const gcut_dim *axes);
/* sum / max_reduce / min_reduce / mean / logsumexp over the axes in `mask`, dropped from the shape. */
gcut_ref gcut_breduce(gcut_build *b, gcut_op op, gcut_ref x, uint32_t mask);
/* Broadcasts r, a result reduced over `mask` without keep, back to the shape of `like`. */
gcut_ref gcut_bexpand(gcut_build *b, gcut_ref r, gcut_ref like, uint32_t mask);
gcut_ref gcut_bmatmul(gcut_build *b, gcut_ref x, gcut_ref y, bool tx, bool ty);
gcut_ref gcut_bslice(gcut_build *b, gcut_ref x, const gcut_dim *start, const gcut_dim *limit,
                     const gcut_dim *step);
gcut_ref gcut_bpad(gcut_build *b, gcut_ref x, const gcut_dim *low, const gcut_dim *high,
                   const gcut_dim *interior);
gcut_ref gcut_btake(gcut_build *b, gcut_ref x, gcut_ref i, int axis);
gcut_ref gcut_bscatter_add(gcut_build *b, gcut_ref x, gcut_ref i, gcut_ref u, int axis);

/* A size as a value of that dtype: a scalar, repeated to the shape where there is one (not NULL). */
gcut_ref gcut_bsize(gcut_build *b, gcut_dim d, gcut_dtype t, const gcut_type *shape);
/* v times a size. */
gcut_ref gcut_btimes(gcut_build *b, gcut_ref v, gcut_dim d);

/* The linear index of an element with these indices, of one type, along n axes of these sizes. */
gcut_ref gcut_blinear_index(gcut_build *b, const gcut_ref *index, const gcut_dim *size, uint32_t n);

/* The indices i; one that is not below d is reported. */
gcut_ref gcut_bbounded(gcut_build *b, gcut_ref i, gcut_dim d);

/* x's size along the axes of `mask` as a value of x's dtype, a scalar (full when known, dim + cast when
 * symbolic) broadcast to the shape of `like`. */
gcut_ref gcut_bcount(gcut_build *b, gcut_ref x, uint32_t mask, gcut_ref like);

/* NumPy's broadcasting of operands that may differ in shape: axes are aligned at the end, and only the literal size 1 and
 * missing axes repeat.  x repeated to a shape; x itself where it has it. */
gcut_ref gcut_bspread(gcut_build *b, gcut_ref x, const gcut_type *shape);
/* Replaces the operands by such of their common shape; throws GCUT_ETYPE, in the name of `op`, where there is none. */
void gcut_bbroadcast_all(gcut_build *b, const char *op, gcut_ref *x, uint32_t n);

/* Ends the construction of these bodies (gcut_bodies_close) and appends the node that has them, with a generated name.  Returns
 * its first result. */
gcut_ref gcut_bregion_node(gcut_build *b, gcut_op op, const gcut_ref *args, uint32_t nargs,
                           gcut_graph *const *body, uint32_t nbodies, const gcut_attr *attrs,
                           uint32_t nattrs);

/* einsum.c: NumPy's notation, with or without "->", without ellipsis.  All axes of one letter have one
 * size. */
gcut_ref gcut_beinsum(gcut_build *b, const char *spec, const gcut_ref *v, uint32_t n);

#endif
