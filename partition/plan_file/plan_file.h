/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files: a plan written as JSON, to be read, compared, edited and replayed.
 *
 *   {"graph_hash": …, "nodes_hash": …, "policy": "mincut", "lambda": 0.05, "at": {"N": 32}, …,
 *    "values": [{"value":"h1","op":"add","type":"f32[N, 256]","bytes":32768,"fate":"saved","form":"plain",…},
 *               {"value":"h2","op":"relu",…,"fate":"recomputed","before":["%dx3"]}],
 *    "less_workspace": ["dw3"],
 *    "steps": [{"loop": "h", "values": […]}]}
 *
 * `values` has a line for each value that is saved or recomputed, in the graph's order; `before` names the
 * backward values before which one more copy is made ("results": at the end).  `less_workspace`, which may be
 * missing, names the convolutions that take the algorithm with less workspace.  `steps` has the plans of the
 * iterations of loops.  What else a plan's JSON has is for readers, and not read here; an edit of its lists
 * `saved` and `recomputed` is refused.
 */
#ifndef GCUT_PARTITION_PLAN_FILE_PLAN_FILE_H
#define GCUT_PARTITION_PLAN_FILE_PLAN_FILE_H

#include "base/json_read.h"
#include "partition/query/plan_queries.h"

/* The lines of a file.  `storage` of a SAVED value is NULL where the file leaves the format to the replay. */
typedef GCUT_VEC(const gcut_replay_line *) gcut_plan_lines;

typedef struct gcut_plan_part {
    const char *path;
    const char *where; /* of its `values`: "" or "steps[1]." */
    const char *loop;  /* an iteration of it; NULL = the whole graph */
    const char *graph_hash, *nodes_hash;
    gcut_plan_lines lines;
    const char *const *less_workspace; /* names of convolutions; of the whole graph alone */
    uint32_t nless_workspace;
    bool taken; /* an iteration: some loop replays it already */
} gcut_plan_part;

typedef struct gcut_plan_file {
    gcut_plan_side head;    /* policy as --policy takes it */
    const char *save_dtype; /* NULL = none */
    gcut_plan_part whole;
    GCUT_VEC(gcut_plan_part) iterations;
} gcut_plan_file;

/* Throws GCUT_EIO, GCUT_ESYNTAX.  Memory from `arena`. */
gcut_plan_file *gcut_plan_file_parse(gcut_arena *arena, const char *name, const char *text, size_t n);
gcut_plan_file *gcut_plan_file_read(gcut_arena *arena, const char *path);
/* Throws GCUT_ESYNTAX unless the JSON of a plan is of the format that this version reads, GCUT_PLAN_FORMAT; without the
 * member it is. */
void gcut_plan_format_check(const gcut_jnode *v);
/* "saved" or "recomputed": a file says nothing else of a value. */
const char *gcut_decision_name(gcut_plan_decision d);

/* As if the file said the other decision of that value; nothing where it says nothing about it.  The new line
 * is allocated in `arena`. */
void gcut_plan_file_flip(gcut_plan_file *f, const char *value, gcut_arena *arena);

/* The lines of a plan's file in the order of the graph.  Memory from `arena`. */
gcut_plan_lines gcut_plan_lines_of(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena);
/* The lines of a loop's iteration: saved values, then recomputed ones in the order of the backward graph of its split.
 * The order of the iteration's graph would depend on whether a dump after the plan was planned again. */
gcut_plan_lines gcut_plan_lines_of_iteration(const gcut_plan *plan, const gcut_problem *p, gcut_arena *arena);
/* FNV-1a over the canonical text of a graph without locations; and over its nodes, operands and names alone:
 * the same for other sizes. */
const char *gcut_graph_hash(const gcut_graph *g, gcut_arena *arena);
const char *gcut_nodes_hash(const gcut_graph *g, gcut_arena *arena);

/* FNV-1a, as sixteen digits. */
const char *gcut_plan_hash(const char *text, size_t n, gcut_arena *arena);

/* "steps[1].values[3]": line i of the part, for messages. */
const char *gcut_plan_line_path(const gcut_plan_part *part, uint32_t i, gcut_arena *arena);

/* plan_replay.c: gcut_plan_make under options.file, by that part of it; NULL = the whole graph.  Throws
 * GCUT_EPLAN when the part is about another graph, naming the first difference, or asks for what cannot
 * be. */
gcut_plan *gcut_plan_replay(gcut_graph *joint, const gcut_plan_options *opt, const gcut_plan_part *part);
/* The plan of an iteration of that loop which no other loop took; NULL = the file has none. */
gcut_plan_part *gcut_plan_file_iteration(gcut_plan_file *f, const char *loop);

/* plan_comparison.c: fills all of `out` but its texts; it refers to both files. */
void gcut_plan_files_compare(const gcut_plan_file *a, const gcut_plan_file *b, gcut_arena *arena,
                             gcut_plan_diff *out);

/* plan_lists.c: the lists `saved` and `recomputed` of a plan file, which are for readers: an edit of them is
 * refused. */
/* Over the names in both lists, and which of the saved values are forced. */
const char *gcut_plan_lists_hash(const gcut_graph *g, const gcut_refs *saved, const gcut_refs *recomputed,
                                 const gcut_decision *decision, gcut_arena *arena);
/* Throws GCUT_ESYNTAX where the lists of the file were edited or, in a file without their hash, contradict
 * the lines of the part. */
void gcut_plan_lists_check(const gcut_jnode *file, const gcut_plan_part *part, gcut_arena *arena);

#endif
