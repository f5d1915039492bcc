/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The files that write NAME.c.
 */
#ifndef GCUT_KERNELS_EMIT_EMIT_H
#define GCUT_KERNELS_EMIT_EMIT_H

#include "kernels/emit/c_text.h"
#include "kernels/emit/emitter.h"
#include "machine/lower/team.h"

/* emit_kernel.c: every kind but LOOP: the function, whose number it returns. */
uint32_t gcut_emit_kernel(gcut_emitter *e);
/* The pointer to operand k as the kernel reads it, packed; and to its result. */
const char *gcut_emit_operand(gcut_emitter *e, uint32_t k);
const char *gcut_emit_result(gcut_emitter *e);
/* emit_prologue.c: the function of a product's prologue, if it has one, first of all. */
void gcut_emit_prologue(gcut_emitter *e);
/* Is the buffer of the prologue empty?  Over x->d_<symbol> and nt. */
const char *gcut_prologue_fills_c(const gcut_lowered *h, uint32_t kernel, gcut_size_c *size);
/* emit_window.c: the calls of convolutions and pools. */
void gcut_emit_conv(gcut_emitter *e);
void gcut_emit_pool(gcut_emitter *e);

/* emit_table.c: the statements of init that lay out the arena, to its end; the function that checks the
 * arguments of a call: those of the graphs that run, for what a graph does not touch may be null. */
void gcut_emit_layout(const gcut_program *p, gcut_text *c);
void gcut_emit_check(const gcut_program *p, const gcut_emission *all, const char *name, gcut_text *c);

/* emit_team.c: the statements of init that set plan->team, over x->d_<symbol> and nt. */
void gcut_emit_team(const gcut_program *p, gcut_text *c);
/* gcut_team_at as an expression of C, over nt, too. */
const char *gcut_team_c(gcut_module *m, const gcut_team *c, gcut_size_c *size);

/* emit_graph.c: all kernels of a lowered graph in their order: functions and rows into e->all, what runs
 * these into `call`. */
void gcut_emit_lowered(const gcut_emitter *like, const gcut_lowered *h, gcut_text *call);

/* emit_launch.c: the table of launches. */
/* Where a buffer is when its kernel runs: a `void *`, or a `char *` for a part of one. */
const char *gcut_c_pointer(gcut_emitter *e, uint32_t buffer);
/* Numbers the places of all buffers. */
void gcut_number_places(const gcut_program *p, gcut_emission *all);
/* "4, 48, 49, 50, 53, 1, 32": the buffers and the numbers of e, as a row has them. */
const char *gcut_launch_args(gcut_emitter *e);
/* The row of a launch of that function, with the arguments of e, of its prologues and of its epilogue, when
 * there is one; `checks` rows of NAME_site follow for its index checks. */
void gcut_emit_launch(gcut_emitter *e, uint32_t function, uint32_t checks, gcut_emitter *epilogue,
                      const char *kind);
/* The row of NAME_site for an index check of node n. */
void gcut_emit_check_site(gcut_emitter *e, const gcut_node *n, gcut_dim limit);
/* A comment of one line: the kernel's number, kind, results and place. */
void gcut_c_comment(gcut_emitter *e, const char *kind, gcut_text *out);
/* The statement that runs the launches from that word of the table on, if there are any. */
void gcut_emit_run(gcut_emitter *e, uint32_t from);
/* A size where `call` is at: a number or x->size[k]. */
const char *gcut_call_size(gcut_emitter *e, gcut_dim d);

/* emit_source_lines.c: the mark, a line of its own, before C that computes a value of the source line of
 * loc, or, loc 0, that computes none; "" where no lines are asked for. */
const char *gcut_c_line(const gcut_emitter *e, gcut_locid loc);
/* NAME.c from its marked text: #line directives in the place of marks. */
void gcut_emit_lines(const gcut_emission *all, const char *name, const gcut_text *marked, gcut_text *c);

/* emit_parts.c: the functions of kernels, in parts that are compiled at once. */
/* How many parts, by the C alone, of which `rest` bytes are no kernels and belong to the first. */
uint32_t gcut_count_parts(const gcut_emission *all, size_t rest);
/* Declarations of all functions, and their definitions, part by part. */
void gcut_emit_functions(const gcut_emission *all, const char *name, uint32_t parts, size_t rest,
                         gcut_text *c);
/* NAME_functions, which NAME_code counts by: the functions of launches, NULL for the others. */
void gcut_emit_function_table(const gcut_emission *all, const char *name, gcut_text *c);

#endif
