/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the public builder share: one call on its way through
 * gcut_protect, sticky and located at the caller's line.
 */
#ifndef GCUT_DRIVER_BUILDER_H
#define GCUT_DRIVER_BUILDER_H

#include <string.h>

#include "driver/ctx.h"
#include "graph/build.h"

/* One builder call on its way through gcut_protect. */
typedef struct call {
    gcut_here at;
    gcut_build b;
    gcut_val in[4];
    int op, dtype, axis;
    gcut_shape shape;
    bool flag[2];
    double number;
    const char *name;
    gcut_role role;
    gcut_ref out;
    void (*body)(void *); /* set by run */
} call;

/* Builds at the caller's line; null when an operand is or becomes null.  Operands from graphs around g, a
 * body under construction, are captured first. */
gcut_val gcut_builder_run(gcut_here at, gcut_graph *g, void (*body)(void *), call *c);
static inline gcut_val run(gcut_here at, gcut_graph *g, void (*body)(void *), call *c)
{
    return gcut_builder_run(at, g, body, c);
}

/* What v is called in g: v itself, or the parameter of g that captures it.  Throws when v is of no graph
 * around g. */
gcut_ref gcut_builder_ref(gcut_graph *g, gcut_val v);
/* The same for n values, in `a`. */
gcut_ref *gcut_builder_refs(gcut_arena *a, gcut_graph *g, const gcut_val *v, int n);

static inline void locate(call *c)
{
    c->b.loc = gcut_loc_file(c->b.g->module, c->at.file, c->at.line, 0, c->b.g->scope);
}

static inline _Noreturn void usage(const call *c, const char *what)
{
    gcut_fail(c->b.g->module->env, GCUT_EUSAGE, (gcut_place){c->at.file, c->at.line, 0}, NULL, "%s", what);
}

/* Where an op on these operands goes: the innermost of their graphs, if it sees all the others.  NULL when an
 * operand is null, or the graphs are not nested. */
gcut_graph *gcut_builder_graph(const gcut_val *in, int n);
static inline gcut_graph *graph_of(const gcut_val *in, int n)
{
    return gcut_builder_graph(in, n);
}

/* Letters, digits, _ and . as in the text IR. */
static inline bool is_name(const char *s)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    return s && *s && strspn(s, letters) == strlen(s);
}

/* Axis numbers below zero count from the end. */
static inline int axis_of(const call *c, gcut_ref x, int64_t axis)
{
    int rank = gcut_type_of(c->b.g, x)->rank;
    if (axis < -rank || axis >= rank) usage(c, "not an axis of the operand");
    return (int)(axis < 0 ? axis + rank : axis);
}

#endif
