/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The nodes of one graph appended to another, with other sizes and names, calls inlined or kept.
 */
#ifndef GCUT_PASSES_INLINING_H
#define GCUT_PASSES_INLINING_H

#include "graph/graph.h"
#include "graph/ops/infer.h"

typedef enum gcut_inlined_calls {
    GCUT_INLINE_NONE,
    GCUT_INLINE_UNDERIVED, /* those that state no derivative */
    GCUT_INLINE_ALL
} gcut_inlined_calls;

typedef struct gcut_inliner {
    gcut_graph *dst;
    const gcut_graph *f;
    gcut_call_sizes sizes; /* f's symbols in terms of dst's; another symbol stands for itself */
    const char *prefix;    /* of value names; NULL = the names stay */
    const char **own;      /* by value of f: its name in dst, or NULL; the array may be NULL */
    gcut_ref *map;         /* by value of f: the caller maps the parameters */
    gcut_inlined_calls calls;
    const char *what; /* who requires f's run-time checks, in messages */
    gcut_locid loc;   /* of the call that is inlined, or of f: the place of such a message */
} gcut_inliner;

/* A type of f in dst. */
gcut_type gcut_inline_type(const gcut_inliner *s, gcut_type t);
/* Appends f's nodes and run-time checks, and fills the map.  Throws GCUT_ETYPE where sizes contradict a shape
 * rule. */
void gcut_inline_nodes(gcut_inliner *s);

#endif
