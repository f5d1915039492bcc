/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the public builder share: one builder call, which runs under gcut_protect.  A failure
 * marks the graph, and its diagnostic has the caller's line.
 */
#ifndef GCUT_DRIVER_BUILDER_BUILDER_H
#define GCUT_DRIVER_BUILDER_BUILDER_H

#include <string.h>

#include "driver/ctx.h"
#include "driver/trace/computed.h"
#include "graph/build.h"

/* One builder call. */
typedef struct call {
    gcut_here at; /* this and the next two are set by gcut_builder_run */
    gcut_graph *g;
    gcut_build b;
    gcut_val in[4];
    int op, axis;
    gcut_dtype dtype;
    gcut_shape shape;
    bool flag[2];
    double number;
    const char *name;
    gcut_role role;
    gcut_ref out;
    void (*body)(void *);
} call;

/* Throws GCUT_EUSAGE at the caller's line; j has the members `at` and `g`. */
#define WRONG(j, hint, ...)                                                                                  \
    gcut_fail((j)->g->module->env, GCUT_EUSAGE, (gcut_place){(j)->at.file, (j)->at.line, 0}, hint,           \
              __VA_ARGS__)

/* Leaves the builder call `name`_at with `failure` when its graph is NULL. */
#define GCUT_NEED_GRAPH(g, failure)                                                                          \
    do {                                                                                                     \
        if (!(g)) {                                                                                          \
            gcut_refuse_no_graph(__func__);                                                                  \
            return failure;                                                                                  \
        }                                                                                                    \
    } while (0)
void gcut_refuse_no_graph(const char *function);

/* A call on g has failed: later ones on it, and on the graphs around it, do nothing.  An eager graph stays usable. */
void gcut_builder_failed(gcut_graph *g);

/* Throws GCUT_EUSAGE while a function of the caller builds a body of g, or g is a body: `function` would free what it builds. */
void gcut_refuse_open_body(const gcut_graph *g, const char *function);

/* Runs the body of a builder call made at `at` on g: a failure marks g, and a diagnostic without a line gets
 * the caller's.  Returns false at once when an earlier call on g failed. */
bool gcut_guard_at(gcut_here at, gcut_graph *g, void (*body)(void *), void *arg);

/* Runs body, which builds at the caller's line; returns null when an operand is null, or after a failure.
 * Captures operands of graphs around g, a body under construction, first. */
gcut_val gcut_builder_run(gcut_here at, gcut_graph *g, void (*body)(void *), call *c);
/* The same in the graph to which an op on the first n operands of c belongs (gcut_builder_operands). */
gcut_val gcut_builder_run_on(gcut_here at, const char *op, void (*body)(void *), call *c, int n);

/* Value v of g as callers have it. */
static inline gcut_val gcut_val_of(gcut_graph *g, gcut_ref v)
{
    return (gcut_val){g, v, g->computed ? gcut_computed_generation(g->computed, v) : 0};
}
/* Is it a value of its graph?  Not where it is null, or was removed by gcut_forget. */
static inline bool gcut_val_exists(gcut_val v)
{
    return v.id && v.graph && v.id < v.graph->values.n &&
           v.generation == gcut_val_of(v.graph, v.id).generation;
}
/* A hint for one that is not null and does not exist; NULL: none. */
static inline const char *gcut_val_hint(gcut_val v)
{
    return v.graph->computed ? "gcut_forget has removed it" : NULL;
}

/* The id of v in g: v itself, or the parameter of g that captures it.  Throws when v is of no graph around
 * g. */
gcut_ref gcut_builder_ref(gcut_graph *g, gcut_val v);
/* The same for n values, in `a`. */
gcut_ref *gcut_builder_refs(gcut_arena *a, gcut_graph *g, const gcut_val *v, int n);

/* The caller's line, in the scope of g. */
static inline gcut_locid gcut_builder_loc(gcut_here at, const gcut_graph *g)
{
    return gcut_loc_file(g->module, at.file, at.line, 0, g->scope);
}

static inline void locate(call *c)
{
    c->b.loc = gcut_builder_loc(c->at, c->g);
}

/* The graph to which an op on these operands belongs: the innermost of theirs, if it sees all the others.
 * Returns NULL without an error when all are null or the graph of one has failed; else NULL and an error at
 * `at` that names the operand: null, no value of its graph, or of a graph that does not see the others. */
gcut_graph *gcut_builder_operands(gcut_here at, const char *op, const gcut_val *in, int n);
/* Has the list `name`, an argument of `function`, n elements?  NULL instead of a list and a negative n are errors of g;
 * without g nothing is said. */
bool gcut_builder_list(gcut_here at, gcut_graph *g, const char *function, const char *name, const void *list,
                       int n);
/* Are all n values of g or of graphs around it? */
bool gcut_builder_sees(const gcut_graph *g, const gcut_val *in, int n);
/* "%x f32[3, 4]" */
const char *gcut_builder_show(const gcut_graph *g, gcut_ref v);
/* Throws unless d is symbolic or at least 0; kind and name are for the message: "op" "iota". */
void gcut_builder_check_size(gcut_graph *g, gcut_here at, const char *kind, const char *name, gcut_dim d);
/* The axis of x, counted from 0; a negative axis counts from the end.  Throws when x has no such axis. */
int gcut_builder_axis(gcut_graph *g, gcut_here at, const char *op, gcut_ref x, int64_t axis);

/* Letters, digits, _ and . as in the text IR. */
static inline bool is_name(const char *s)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    return s && *s && strspn(s, letters) == strlen(s);
}

static inline bool is_dtype(gcut_dtype t)
{
    return (int)t >= 0 && (int)t < GCUT_NDTYPES;
}

#endif
