/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A function of the graph as C that builds it by calls of the public API: what the files of this folder share.
 *
 * Every function of the graph is a C function, every body of a region another one; a body gets what it reads of the
 * functions around it by a structure.  A value is a variable, declared where something reads it.
 */
#ifndef GCUT_DRIVER_CALLS_CALLS_H
#define GCUT_DRIVER_CALLS_CALLS_H

#include "driver/ctx.h"
#include "graph/names.h"

/* `type var = text;`, or `text;` where nothing reads var, or it is NULL. */
typedef struct gcut_calls_line {
    const char *type, *var, *text;
    bool used;
} gcut_calls_line;

typedef GCUT_VEC(gcut_calls_line) gcut_calls_lines;

/* A function of the graph in the file. */
typedef struct gcut_calls_function {
    const gcut_graph *g;
    const char *name;
    GCUT_VEC(uint32_t) callees; /* numbers of functions that it or a body of it calls */
} gcut_calls_function;

typedef struct gcut_calls_file {
    const gcut_module *m;
    gcut_arena *a;
    gcut_text *out;
    gcut_name_set taken;                    /* names of C functions and structures */
    GCUT_VEC(gcut_calls_function) function; /* callees first */
    gcut_map number;                        /* of a function, by its address, + 1 */
} gcut_calls_file;

/* The C function of a graph, or of a body. */
typedef struct gcut_calls_scope {
    gcut_calls_file *file;
    const gcut_graph *g;
    const char *name;          /* of the function of the graph */
    gcut_name_set *text_names; /* of the function in the text IR, bodies included */
    gcut_name_set *taken;      /* names of variables, of all bodies */
    const char *const *called; /* by value: its name in the text IR; NULL = its own */
    gcut_calls_lines lines;
    uint32_t *line_of; /* by value, its line + 1 */
    gcut_map other;    /* of a symbol, or of the address of a function that is called: its line + 1 */
    bool uses_graph;   /* the variable g */
    /* Of a body: */
    struct gcut_calls_scope *outer;
    const gcut_node *node;    /* in outer->g */
    gcut_calls_lines reads;   /* variables of scopes around it: type and var */
    gcut_calls_lines *handed; /* those of all bodies of the node */
} gcut_calls_scope;

/* ---- call_text.c ---- */

/* A variable, or another identifier, named after a value or a function. */
const char *gcut_calls_identifier(gcut_name_set *taken, const char *name);
/* The names of variables that the C functions have themselves, in `a`. */
gcut_name_set gcut_calls_reserved(gcut_arena *a);
/* A string literal. */
const char *gcut_calls_quoted(gcut_arena *a, const char *s);
/* Prints a statement in lines of at most 100 columns; strings are cut, too. */
void gcut_calls_put(gcut_text *out, const char *statement);

/* ---- call_scope.c ---- */

/* The name of v in the text IR. */
const char *gcut_calls_called(const gcut_calls_scope *s, gcut_ref v);
/* Throws GCUT_EUNSUPPORTED: "%h of @f in C: the builder has no call for <what>"; v 0: of the function itself. */
_Noreturn void gcut_calls_refuse(const gcut_calls_scope *s, gcut_ref v, const char *fmt, ...)
    GCUT_PRINTF(3, 4);

void gcut_calls_add(gcut_calls_scope *s, const char *text);
/* Adds the declaration of a variable, by default not used; the number of its line, + 1. */
uint32_t gcut_calls_declare(gcut_calls_scope *s, const char *type, const char *var, const char *text);
/* The same of value v, which it names: gcut_name(text, "h"). */
void gcut_calls_define(gcut_calls_scope *s, gcut_ref v, const char *text);

/* Variables that are read here. */
const char *gcut_calls_value(gcut_calls_scope *s, gcut_ref v);
const char *gcut_calls_graph(gcut_calls_scope *s); /* "g" */
const char *gcut_calls_callee(gcut_calls_scope *s, const gcut_graph *f);
/* "(const gcut_val[]){h1, h2}" of n values, and with their number after it */
const char *gcut_calls_list(gcut_calls_scope *s, const gcut_ref *v, uint32_t n);
const char *gcut_calls_values(gcut_calls_scope *s, const gcut_ref *v, uint32_t n);

/* Is there a call for it? */
bool gcut_calls_has_size(const gcut_calls_scope *s, gcut_dim d);
const char *gcut_calls_size(gcut_calls_scope *s, gcut_dim d);
/* "N, 256" */
const char *gcut_calls_sizes(gcut_calls_scope *s, const gcut_dim *d, uint32_t n);
/* "GCUT_F32" */
const char *gcut_calls_dtype(gcut_arena *a, gcut_dtype t);
/* "GCUT_SHAPE(N, 256)" of value v; throws where there is no call for a size. */
const char *gcut_calls_shape(gcut_calls_scope *s, gcut_ref v);

/* ---- call_ops.c ---- */

/* Is v an argument of the body that is its own, or computed in it?  Not: captured. */
bool gcut_calls_is_own(const gcut_calls_scope *s, gcut_ref v);
/* Adds the call that makes a node without regions, and its results. */
void gcut_calls_op(gcut_calls_scope *s, const gcut_node *n);
/* Declares an array for the results of n from the one of that number on, or a variable for a single one; the argument of
 * the call that fills it. */
const char *gcut_calls_results(gcut_calls_scope *s, const gcut_node *n, uint32_t from);
/* Takes the results out of what that returned. */
void gcut_calls_take_results(gcut_calls_scope *s, const gcut_node *n, uint32_t from, const char *array);

/* ---- call_regions.c ---- */

/* Adds the nodes of s->g. */
void gcut_calls_block(gcut_calls_scope *s);
/* Prints the lines of s. */
void gcut_calls_put_lines(const gcut_calls_scope *s, gcut_text *out);

/* ---- call_functions.c ---- */

/* Prints the file that builds g, after the functions that it calls.  Throws GCUT_EUNSUPPORTED for what the public API
 * cannot build. */
void gcut_calls_print(const gcut_graph *g, gcut_text *out);

#endif
