/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room kernels/: programs as C, and the library that it calls.
 *
 *   takes:  a program, whose kernels, order, buffers and offsets are decided; what values hold at first
 *   gives:  a C file and its header
 *   keeps:  the program; the bits of the interpreter for f32 where an op fixes its order of sums; the same C for
 *           the same input
 *
 *   emit/   C: functions, tables, entry points
 *   rt/     the run-time library that emitted C calls; it includes nothing of the compiler (doc/runtime.md)
 */
#ifndef GCUT_KERNELS_KERNELS_H
#define GCUT_KERNELS_KERNELS_H

#include "machine/program.h"

/* What a value that the caller binds holds before the first step, as a row of the emitted table has it. */
typedef struct gcut_contents {
    gcut_rt_contents kind;
    double number[3];
    const double *list; /* of a dense one */
    uint32_t n;
    const char *file, *key; /* NULL but for GCUT_RT_FILE; key may be NULL there */
} gcut_contents;

/* What is known of an emitted NAME.c. */
typedef struct gcut_emitted {
    uint32_t parts; /* in which NAME.c can be compiled at once: with -DGCUT_RT_PART=0, 1, … */
    size_t include, behind_include; /* in NAME.c, of the line that includes NAME.h */
    bool has_externals;             /* it calls kernels of the program's own */
} gcut_emitted;
/* NAME.c and NAME.h, where `file` is NAME; bytes depend on the program, the contents (one for each of
 * gcut_program_bindings), that C identifier and `line` alone.  A plan with a profile has its launches timed
 * (gcut_rt_profile).  line: #line directives give what computes a value the source line of that value, and
 * every other line its number in NAME.c; variables are called by their values, so kernels of other values
 * share no function. */
gcut_emitted gcut_emit_c(const gcut_program *p, const gcut_contents *contents, const char *file, bool line,
                         gcut_text *c, gcut_text *header);
#define GCUT_MOST_PARTS 8

#endif
