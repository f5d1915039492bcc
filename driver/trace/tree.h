/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings of one function as a tree: they agree up to the gcut_cond whose outcomes differ, and branch there.
 */
#ifndef GCUT_DRIVER_TRACE_TREE_H
#define GCUT_DRIVER_TRACE_TREE_H

#include "driver/trace/record.h"

#define GCUT_MOST_BRANCHES 64 /* of one recording */
#define GCUT_MOST_PATHS 256   /* of one function */

/* What is recorded from a branch, or from the start, to the next gcut_cond or the end. */
typedef struct gcut_path {
    const gcut_graph *of;     /* a recording that goes through it */
    uint32_t begin, end;      /* its nodes in `of` */
    gcut_ref cond;            /* the value that decides, 0: the function ends here */
    gcut_locid loc;           /* of the gcut_cond */
    struct gcut_path *arm[2]; /* by outcome; NULL: not recorded */
    bool last;                /* the outcome of the last recording */
} gcut_path;

/* Adds a recording to *tree, which is NULL at first.  Throws GCUT_EUSAGE where the function did something else before than
 * after the same outcomes, with both ops: it depends on more than its arguments. */
void gcut_tree_add(gcut_path **tree, const gcut_record *r);
/* The outcomes that lead to an arm that is not recorded, of the recordings that begin with the n outcomes `from`; NULL:
 * there is none.  *n becomes their number. */
const bool *gcut_tree_missing(const gcut_path *tree, gcut_arena *a, uint32_t *n);
/* The outcomes of recording k of those in the tree, from left to right, *n of them; NULL: there are fewer. */
const bool *gcut_tree_outcomes(const gcut_path *tree, gcut_arena *a, uint32_t k, uint32_t *n);
/* The tree as one function of the module, of that name: both arms as `if` regions where they are recorded and have the same
 * results, else the arm of the last recording; and unrolled loops as scans.  *guarded: it has a result `guard` behind the others, a bool scalar that is
 * false where the values lead to an arm that is not there. */
gcut_graph *gcut_tree_graph(const gcut_path *tree, const char *name, bool *guarded);

#endif
