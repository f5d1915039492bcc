/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room text/: the text form of the IR, its parser and its printer (grammar: doc/ir.md).
 *
 *   takes:  text, from memory or a file; graphs and modules to print
 *   gives:  a module, or the first error with its line, column and a hint; canonical text
 *   keeps:  print(parse(t)) is a fixed point; names, marks, locations, and the bits of numbers
 */
#ifndef GCUT_TEXT_TEXT_H
#define GCUT_TEXT_TEXT_H

#include "graph/graph.h"
#include "graph/names.h"

/* Reads a whole module; file is the name for diagnostics.  Throws GCUT_ESYNTAX or GCUT_ETYPE after
 * recording a diagnostic at file:line:col.  The text need not outlive the call. */
gcut_module *gcut_parse_module(gcut_env *env, gcut_arena *parent, const char *file, const char *text,
                               size_t size);
/* Reads the file at path, "-" = standard input.  Throws GCUT_EIO. */
gcut_module *gcut_parse_file(gcut_env *env, gcut_arena *parent, const char *path);

/* The attributes of one op, "axis=1, keep=true", over the sizes of g; in the module's arena.  `at` is the
 * place of the text in the user's source. */
gcut_attr *gcut_parse_attrs(gcut_graph *g, gcut_op op, gcut_place at, const char *text, uint32_t *n);

/* Builds an expression in g, a function, and returns its value: "cross_entropy(logits, t: i64[N], smooth=0.1)".  An
 * operand is an expression, the name of a value of g, or a new input with its type and marks.  `what` is the name of the
 * text for diagnostics. */
gcut_ref gcut_parse_expression(gcut_graph *g, const char *what, const char *text);

/* The op whose name is most like this one; NULL when none is. */
const char *gcut_op_nearest(const char *name);
/* Declares `data @name: type = contents` in the module; `at` is the place of the contents in the user's
 * source. */
void gcut_parse_data_text(gcut_module *m, const char *name, const gcut_type *type, gcut_place at,
                          const char *contents);

typedef struct gcut_print_options {
    bool no_loc;      /* leave the location table and !n out */
    const char *name; /* of the first graph in the text; NULL = its own */
    const char *pass; /* beside `name`: the argument of a mark #pass of the first graph; NULL = no mark */
    const gcut_pair
        *pair; /* what is printed for two graphs, with its names for them; NULL = their pairs in the module */
} gcut_print_options;

/* Prints graphs of one module with the functions that they call, their data, their pairs and the locations
 * used. */
void gcut_print_graphs(gcut_graph *const *g, uint32_t n, const gcut_print_options *opt, gcut_text *out);
void gcut_print_graph(const gcut_graph *g, const gcut_print_options *opt, gcut_text *out);
/* One node's line, without indent, newline or location: for diagnostics and emitted comments. */
void gcut_print_node(const gcut_graph *g, uint32_t n, gcut_text *out);
/* An attribute's value, as after "axes=", and contents, as after "data @w: f32[4] = ". */
void gcut_print_attr(const gcut_module *m, const gcut_attr *a, gcut_text *out);
/* "axes=[0], keep=true", with `sep` before the first one; how many. */
uint32_t gcut_print_attrs(const gcut_graph *g, const gcut_node *n, const char *sep, gcut_text *out);
/* The names by which the text has the values of a body of n, by value id, and which `taken`, the names of the function so
 * far, gets.  A captured value has its outer name: from `called`, or where that is NULL its own in g.  Others keep their
 * own, unless it is taken, as in a graph built in C or between passes, whose bodies are not canonical. */
const char *const *gcut_print_body_names(gcut_name_set *taken, const gcut_graph *g, const char *const *called,
                                         const gcut_node *n, const gcut_graph *body);
/* Argument k of a mark, of a node of g or of anything else (NULL), as it is written. */
void gcut_print_mark_arg(const gcut_module *m, const gcut_graph *g, const gcut_mark *mark, uint32_t k,
                         gcut_text *out);
void gcut_print_contents(const gcut_data *d, gcut_text *out);
/* Shortest decimal that reads back equal at the dtype; inf, -inf, nan as such. */
void gcut_print_double(double x, gcut_dtype t, gcut_text *out);

#endif
