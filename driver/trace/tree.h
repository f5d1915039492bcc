/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings of one function as a tree: they agree up to the gcut_cond whose outcomes differ, and branch there.
 */
#ifndef GCUT_DRIVER_TRACE_TREE_H
#define GCUT_DRIVER_TRACE_TREE_H

#include "driver/trace/record.h"

#define GCUT_MOST_BRANCHES 64 /* of one recording */
#define GCUT_MOST_PATHS 256   /* of one function */
#define GCUT_SYMBOL_LEAST 2   /* a size of 1 may broadcast, and one of 0 be empty: these stay numbers */

/* What is recorded from a branch, or from the start, to the next gcut_cond or the end. */
typedef struct gcut_path {
    const gcut_graph *of;     /* a recording that goes through it */
    uint32_t begin, end;      /* its nodes in `of` */
    gcut_ref cond;            /* the value that decides, 0: the function ends here */
    gcut_locid loc;           /* of the gcut_cond */
    struct gcut_path *arm[2]; /* by outcome; NULL: not recorded */
    bool last;                /* the outcome that the values of the last recording led to */
} gcut_path;

/* Node n of a recording: "file.c:12: `%y = exp(%x)`". */
const char *gcut_recorded_op(const gcut_graph *g, uint32_t n, gcut_arena *a);

/* Adds a recording to *tree, which is NULL at first.  true: its path is new.  Throws GCUT_EUSAGE, with both ops, where this
 * recording does something else after the same outcomes than an earlier one: the function depends on more than its
 * arguments. */
bool gcut_tree_add(gcut_path **tree, const gcut_record *r);
/* Is the path of a recording in the tree?  Then its outcomes become the last ones.  Of another module, and not compared. */
bool gcut_tree_follow(gcut_path *tree, const gcut_record *r);
/* A hash of what gcut_tree_graph makes: which arms there are, and which of them are the last ones. */
uint64_t gcut_tree_choice(const gcut_path *tree);
/* The outcomes that lead to the first arm that is not recorded, *n of them; NULL: every arm is. */
const bool *gcut_tree_missing(const gcut_path *tree, gcut_arena *a, uint32_t *n);
/* The outcomes of recording k of those in the tree, from left to right, *n of them; NULL: there are fewer. */
const bool *gcut_tree_outcomes(const gcut_path *tree, gcut_arena *a, uint32_t k, uint32_t *n);
/* The tree as one function of the module, of that name: both arms as `if` regions where they are recorded and have the
 * same results, else the arm of the last recording; and unrolled loops as scans.  *guarded: it has a result `guard`
 * behind the others, a bool scalar that is false where the values lead to an arm that is not there. */
gcut_graph *gcut_tree_graph(const gcut_path *tree, const char *name, bool *guarded);

/* A size that is `first` in one recording and `second` in another. */
typedef struct gcut_varied {
    gcut_dim symbol; /* of the module of both */
    int64_t first, second;
} gcut_varied;

/* driver/trace/generalise.c: *out becomes what two recordings of one module have in common, with the n symbols in place of
 * numbers.  Returns NULL, or a sentence about where they differ in more than sizes.  Throws where no op has such types. */
const char *gcut_generalised(gcut_record *out, const gcut_record *first, const gcut_record *second,
                             const gcut_varied *of, uint32_t n, gcut_arena *a);

/* driver/trace/comparison.c: did a recording with symbols, which is in the tree, do what `now` did at sizes that are numbers?
 * NULL: it did, as far as the outcomes of `now` are recorded; else a sentence with the line.  The recordings may be of two
 * modules. */
const char *gcut_tree_differs(const gcut_path *tree, const gcut_record *now, const gcut_dim_binding *bind,
                              uint32_t nbind, gcut_arena *a);

#endif
