/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes as rows of a table (pass_table.c), and the loop that runs them (pass_loop.c).
 */
#ifndef GCUT_DRIVER_PIPELINE_PASS_H
#define GCUT_DRIVER_PIPELINE_PASS_H

#include "graph/graph.h"

struct gcut_pipeline;

/* What the rows of the table make, one group after the other: the members of gcut_pipeline of that name. */
typedef enum gcut_pass_group {
    GCUT_MAKES_PRIMAL,
    GCUT_MAKES_FOLDED,
    GCUT_MAKES_RAW,
    GCUT_MAKES_JOINT,
    GCUT_MAKES_PLANNED,
    GCUT_MAKES_SPLIT,
    GCUT_MAKES_KERNELS,
    GCUT_MAKES_PROGRAM,
    GCUT_NGROUPS
} gcut_pass_group;
/* "primal", "joint", "split", "kernel", "C": the stage of the text IR, or the language, that it is in. */
const char *gcut_pass_stage(gcut_pass_group group);

/* One pass at one place of the pipeline.  It works on one graph, or on a forward and a backward graph g[0]
 * and g[1], of which g[1] is NULL while there is one. */
typedef struct gcut_pass_row {
    const char *name;
    char letter; /* in the names of dumped files; the same wherever the pass runs */
    gcut_pass_group makes;
    /* Whether it runs, asked once for neighbours with the same condition; NULL = always. */
    bool (*when)(const struct gcut_pipeline *p, const gcut_graph *g);
    bool optional; /* results are the same without it: --without */
    /* One of the two is there: a function of each graph, or one that reads and writes the pipeline too. */
    gcut_graph *(*each)(gcut_graph *g, const char *name);
    void (*run)(struct gcut_pipeline *p, gcut_graph *g[2]);
    void (*verify)(const gcut_graph *g); /* of what it made; NULL = nothing new */
    const char *help;
} gcut_pass_row;

typedef struct gcut_pass_table {
    const gcut_pass_row *row; /* in running order, group by group */
    uint32_t n;
} gcut_pass_table;
extern const gcut_pass_table gcut_passes;

/* A pass that ran. */
typedef struct gcut_pass_run {
    const gcut_pass_row *row;
    gcut_graph *in[2], *out[2];
    uint64_t nodes_in, nodes_out; /* with those of bodies */
    int64_t ns;
} gcut_pass_run;
typedef GCUT_VEC(gcut_pass_run) gcut_pass_runs;

/* Throws GCUT_EUSAGE where the options leave out what is no pass, or one that has to run. */
void gcut_passes_check_without(const struct gcut_pipeline *p);
/* Applies the rows of a group, but for those whose condition does not hold or that the options leave out.
 * Each is verified.  What is made and not left in g at the end is taken from the module's list of functions.
 */
void gcut_passes_apply(struct gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2]);
/* The same without a record: for graphs beside those of the pipeline. */
void gcut_passes_apply_aside(struct gcut_pipeline *p, gcut_pass_group group, gcut_graph *g[2]);

/* Nanoseconds of a clock that only goes forward. */
int64_t gcut_pass_clock(void);
/* Tells the pass hook of work behind the passes that began at `start` of that clock. */
void gcut_pass_tell(gcut_env *env, const char *function, const char *what, int64_t start);

#endif
