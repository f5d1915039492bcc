/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes as rows of a table (pass_table.c), and the loop that runs them (pass_loop.c).
 */
#ifndef GCUT_DRIVER_PIPELINE_PASS_H
#define GCUT_DRIVER_PIPELINE_PASS_H

#include "graph/graph.h"

struct gcut_pipeline;

/* What the rows of the table make, in running order.  All but SPLIT and KERNELS are members of gcut_pipeline
 * with these names; these two are its forward and backward graph. */
typedef enum gcut_pass_group {
    GCUT_MAKES_PRIMAL,
    GCUT_MAKES_FOLDED,
    GCUT_MAKES_RAW,
    GCUT_MAKES_JOINT,
    GCUT_MAKES_PLANNED,
    GCUT_MAKES_PLAN,
    GCUT_MAKES_SPLIT,
    GCUT_MAKES_KERNELS,
    GCUT_MAKES_PROGRAM,
    GCUT_NGROUPS
} gcut_pass_group;
/* "primal", "joint", "split" or "kernel": the stage of the text IR that a group's graphs are in. */
const char *gcut_passes_stage(gcut_pass_group group);

/* One pass at one place of the pipeline.  It takes one graph, g[0], where g[1] is NULL, or a forward and a
 * backward graph. */
typedef struct gcut_pass_row {
    const char *name;
    char letter; /* in the names of dumped files; the same wherever the pass runs */
    gcut_pass_group makes;
    /* Whether the pass runs, asked of each graph that it would get; of g[0] for `run`. */
    bool (*when)(const struct gcut_pipeline *p, const gcut_graph *g);
    bool optional; /* --without can leave it out: results stay the same up to rounding */
    /* One of the two is set: `each` maps one graph; `run` also reads and writes the pipeline. */
    gcut_graph *(*each)(gcut_graph *g, const char *name);
    void (*run)(struct gcut_pipeline *p, gcut_graph *g[2]);
    void (*verify)(const gcut_graph *g); /* checks its graphs; NULL = it makes none, or has done so */
    const char *help;
} gcut_pass_row;

/* Is the user's graph a joint graph already, of which the options ask no other derivative? */
bool gcut_passes_is_joint(const struct gcut_pipeline *p);
/* The condition of rows that run in every compilation. */
bool gcut_passes_always(const struct gcut_pipeline *p, const gcut_graph *g);

typedef struct gcut_pass_table {
    const gcut_pass_row *row; /* in running order, group by group */
    uint32_t n;
} gcut_pass_table;
extern const gcut_pass_table gcut_passes;

/* A pass that ran. */
typedef struct gcut_pass_run {
    const gcut_pass_row *row;
    gcut_graph *in[2], *out[2];
    uint64_t nodes_in, nodes_out; /* bodies included */
    int64_t ns;
} gcut_pass_run;
typedef GCUT_VEC(gcut_pass_run) gcut_pass_runs;

/* Throws GCUT_EUSAGE where the options leave out a pass that does not exist or is not optional. */
void gcut_passes_check_without(const struct gcut_pipeline *p);
/* The first pass of that name in the group `from` or one after it; NULL: there is none. */
const gcut_pass_row *gcut_passes_named(const struct gcut_pipeline *p, gcut_pass_group from, const char *name);
/* Runs the passes of a group, except those whose condition is false or that the options leave out, and
 * verifies each result, whose bodies are canonical.  Removes graphs that are not in g at the end from the
 * module's list of functions. */
void gcut_passes_apply(struct gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2]);
/* The same without a record, for graphs that are no stage of the pipeline. */
void gcut_passes_apply_aside(struct gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2]);

/* Monotonic clock, in nanoseconds. */
int64_t gcut_passes_clock(void);
/* Reports work that follows the passes, begun at `start` of that clock, to the pass hook. */
void gcut_passes_tell(gcut_env *env, const char *function, const char *what, int64_t start);

#endif
