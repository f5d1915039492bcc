/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What kernels are emitted into.
 *
 * A kernel is a function of the buffers and the numbers (sizes, strides, offsets) that it is given, so that
 * kernels that differ in nothing else (the layers of a transformer, the stages of a convolutional network)
 * share one: NAME_f<number>, emitted once.  Launches are numbered k0, k1, … in running order; each is a row
 * of the table NAME_code, which gcut_rt_launch runs.
 *
 * What a function takes and its label are known at its end: until then its text has the marks of c_text.h.
 */
#ifndef GCUT_KERNELS_EMIT_EMITTER_H
#define GCUT_KERNELS_EMIT_EMITTER_H

#include "kernels/emit/c_text.h"
#include "kernels/emit/emit_names.h"
#include "machine/lower/lowered.h"

typedef enum gcut_function_type {
    GCUT_FUNCTION_KERNEL, /* gcut_rt_kernel_fn: of a launch */
    GCUT_FUNCTION_TILE,   /* gcut_rt_tile_fn, NAME_f<label>_rows: called by a product for its tiles */
    GCUT_FUNCTION_FILL    /* gcut_rt_fill_fn: called by a product for an operand */
} gcut_function_type;

typedef struct gcut_function {
    const char *text;  /* with GCUT_C_LABEL where the label goes */
    const char *label; /* "3_h2": its number and the last value that its first kernel makes */
    const char *about; /* the comment in front of it */
    uint64_t hash;
    gcut_function_type type;
} gcut_function;

typedef GCUT_VEC(gcut_function) gcut_functions;

/* What all kernels of a program are emitted into. */
typedef struct gcut_emission {
    gcut_functions functions; /* emitted so far */
    gcut_text code;           /* the rows of NAME_code */
    gcut_text sites;          /* the rows of NAME_site, one for each index check */
    uint32_t words, nsites;   /* numbers, and rows, that were written */
    uint32_t most;            /* numbers of a row, at most */
    gcut_strings sizes;       /* the expressions of GCUT_RT_SIZE(0), … over x->d_<symbol> */
    const gcut_field *field;  /* by binding */
    uint32_t *place;          /* by buffer: its index in gcut_rt_call.at */
    uint32_t nslots, nplaces; /* places of the arena's buffers, which come first; all of them */
    uint32_t nvalues;         /* room of `local` and `seen`, gcut_emission_reserve */
    const char **local;       /* by value: NULL, but inside gcut_c_function its number there */
    bool *seen;               /* by value: false, but inside a loop that reads it */
    uint32_t *number;         /* by buffer: of the loop being written, gcut_loop_writer.number */
    bool line;                /* lines have marks of the source lines in `lines`, emit_source_lines.c */
    GCUT_VEC(gcut_place) lines;
} gcut_emission;

typedef struct gcut_emitter {
    const gcut_program *p;
    const gcut_lowered *h;
    uint32_t kernel;
    const gcut_prologue *prologue; /* of the kernel, whose function is being written; NULL: its own is */
    uint32_t number;               /* of the launch: k<number> */
    const char *prefix;            /* the program's name as a C identifier */
    gcut_emission *all;
    gcut_text *body;         /* the function being written */
    gcut_text *call;         /* the body of NAME_half<k>, or of a region inside it */
    GCUT_VEC(uint32_t) args; /* the buffers of b[0], b[1], … of this launch */
    gcut_strings numbers;    /* the expressions of n[0], n[1], …, once its function is emitted */
    uint32_t fill;           /* the function of a product's prologue, */
    const char *fill_args;   /* and its arguments, as the launch's row has them */
} gcut_emitter;

/* Makes room for what the emission has by value and by buffer of e's graph. */
void gcut_emission_reserve(gcut_emitter *e);
/* b[k], the argument of this launch that stands for a buffer. */
const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer);
/* Ends the function in e->body: numbers its variables from 0 in order of appearance, or with lines calls them
 * by their values, replaces marks, and adds it unless an equal one exists.  Returns its number. */
uint32_t gcut_c_function(gcut_emitter *e, gcut_function_type type);

#endif
