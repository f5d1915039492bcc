/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of gcut_pass_recognize share: one node of the source, and matching on the nodes before it.
 */
#ifndef GCUT_PASSES_RECOGNITION_H
#define GCUT_PASSES_RECOGNITION_H

#include "graph/build.h"
#include "graph/rewrite.h"

typedef struct gcut_recognition {
    gcut_rewrite rw;
    uint32_t n;   /* the current node of rw.src; it has one result */
    gcut_build b; /* for nodes of rw.dst that replace it, with its name and location */
} gcut_recognition;

/* The node of the source that makes v, if it is of that op and without marks; else NULL. */
const gcut_node *gcut_made_by_op(const gcut_recognition *r, gcut_ref v, gcut_op op);
/* Operand k of the node that makes v. */
gcut_ref gcut_operand_of(const gcut_recognition *r, gcut_ref v, uint32_t k);
/* Is every element of v the same number? */
bool gcut_is_number(const gcut_recognition *r, gcut_ref v, double *x);

/* recognition_triangle.c: are the last two axes of v one size, and is v, which repeats over all others, `kept` up to their
 * diagonal, and at most `most` beyond it? */
bool gcut_is_triangle(const gcut_recognition *r, gcut_ref v, double kept, double most);
/* recognition_attention.c: the value of rw.dst that replaces a product of softmax, or 0. */
gcut_ref gcut_recognize_attention(gcut_recognition *r);

#endif
