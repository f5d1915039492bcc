/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files: a plan written as JSON, to be read, compared, edited and replayed.
 *
 *   {"graph_hash": …, "nodes_hash": …, "policy": "mincut", "lambda": 0.05, "at": {"N": 32}, …,
 *    "values": [{"value":"h1","op":"add","type":"f32[N, 256]","bytes":32768,"fate":"saved","form":"plain",…},
 *               {"value":"h2","op":"relu",…,"fate":"recomputed","before":["%dx3"]}],
 *    "steps": [{"loop": "h", "values": […]}]}
 *
 * `values` has a line for each value that is saved or recomputed, in the graph's order; `before` names the
 * backward values before which one more copy is made ("results": at the end).  `steps` has the plans of the
 * steps of loops.  What else a plan's JSON has is for readers, and not read here; an edit of its lists
 * `saved` and `recomputed` is refused.
 */
#ifndef GCUT_PARTITION_REPORT_PLAN_FILE_H
#define GCUT_PARTITION_REPORT_PLAN_FILE_H

#include "base/json_read.h"
#include "partition/cut/decisions.h"
#include "partition/report/plan_queries.h"

typedef struct gcut_plan_line {
    const char *value, *op, *type; /* the type in symbols */
    gcut_plan_decision decision;   /* SAVED or RECOMPUTED */
    bool has_format;               /* a SAVED value's form is given; else it is the cheapest */
    gcut_format format;
    bool forced;
    int64_t bytes;
    double ns;                 /* of saving or of all its copies, at lambda 0 */
    const char *const *before; /* names of backward values, NULL for the end; nbefore of them */
    uint32_t nbefore;
    const char *where; /* "values[3]" of a file */
} gcut_plan_line;
typedef GCUT_VEC(gcut_plan_line) gcut_plan_lines;

typedef struct gcut_plan_part {
    const char *path;
    const char *loop; /* a step of it; NULL = the whole graph */
    const char *graph_hash, *nodes_hash;
    gcut_plan_lines lines;
    bool taken; /* a step: some loop follows it already */
} gcut_plan_part;

typedef struct gcut_plan_at {
    const char *name;
    int64_t size;
} gcut_plan_at;

typedef struct gcut_plan_file {
    const char *path;
    const char *policy; /* as --policy takes it */
    double lambda;
    const char *save_dtype;                /* NULL = none */
    int64_t saved_bytes, peak_bytes;       /* peak -1: not known */
    double recompute_ns, cost_ns, step_ns; /* step NAN: not known */
    GCUT_VEC(gcut_plan_at) at;
    gcut_plan_part whole;
    GCUT_VEC(gcut_plan_part) steps;
} gcut_plan_file;

/* Throws GCUT_EIO, GCUT_ESYNTAX.  Memory from `arena`. */
gcut_plan_file *gcut_plan_file_parse(gcut_arena *arena, const char *name, const char *text, size_t n);
gcut_plan_file *gcut_plan_file_read(gcut_arena *arena, const char *path);
/* "saved" or "recomputed": a file says nothing else of a value. */
const char *gcut_decision_name(gcut_plan_decision d);

/* As if the file said the other decision of that value; nothing where it says nothing about it. */
void gcut_plan_file_flip(gcut_plan_file *f, const char *value);

/* The lines that a plan's file has, in the graph's order.  Memory from `arena`. */
gcut_plan_lines gcut_plan_lines_of(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena);
/* FNV-1a over the canonical text of a graph without locations; and over its nodes, operands and names alone:
 * the same for other sizes. */
const char *gcut_graph_hash(const gcut_graph *g, gcut_arena *arena);
const char *gcut_nodes_hash(const gcut_graph *g, gcut_arena *arena);

/* FNV-1a, as sixteen digits. */
const char *gcut_plan_hash(const char *text, size_t n, gcut_arena *arena);

/* partition/report/plan_replay.c: gcut_plan_make under options.file, by that part of it; NULL = the whole
 * graph.  Throws GCUT_EPLAN when the part is about another graph, naming the first difference, or asks for
 * what cannot be.
 */
gcut_plan *gcut_plan_follow(gcut_graph *joint, const gcut_plan_options *opt, const gcut_plan_part *part);
/* The plan of a step of that loop which no other loop took; NULL = the file has none. */
gcut_plan_part *gcut_plan_file_step(gcut_plan_file *f, const char *loop);

/* A value that two plan files treat differently; a or b NULL: it has no line there. */
typedef struct gcut_plan_lines_differ {
    const char *loop; /* of whose iteration it is a value; NULL: of the whole graph */
    const gcut_plan_line *a, *b;
} gcut_plan_lines_differ;
typedef struct gcut_plan_files_differ {
    bool same_graph;
    GCUT_VEC(gcut_plan_lines_differ) values;
} gcut_plan_files_differ;
/* partition/report/plan_comparison.c.  Lines are those of the files. */
gcut_plan_files_differ gcut_plan_files_compare(const gcut_plan_file *a, const gcut_plan_file *b,
                                               gcut_arena *arena);

/* plan_lists.c: the lists `saved` and `recomputed` of a plan file, which are for readers: an edit of them is
 * refused. */
/* Over the names in both lists, and which of the saved values are forced. */
const char *gcut_plan_lists_hash(const gcut_graph *g, const gcut_refs *saved, const gcut_refs *recomputed,
                                 const gcut_decision *decision, gcut_arena *arena);
/* Throws GCUT_ESYNTAX where the lists of the file were edited or, in a file without their hash, contradict
 * the lines of the part. */
void gcut_plan_lists_check(const gcut_jnode *file, const gcut_plan_part *part, gcut_arena *arena);

#endif
