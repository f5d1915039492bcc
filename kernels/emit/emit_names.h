/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the user in emitted C.
 *
 *   the step NAME    NAME_plan, NAME_init, …; step_NAME_plan, … where C, POSIX or our library has names that
 *                    begin so
 *   a value x        the member x of NAME_io, and grad_x for its gradient
 *   a value NAN      the member v_NAN, and beside it NAN as far as that is no macro: see gcut_c_fields
 *   a size N         d_N, real_N
 *
 * No macro of the headers of C17 and POSIX.1-2008 is spelled as one of these (tests/aot/names_test.sh).
 */
#ifndef GCUT_KERNELS_EMIT_EMIT_NAMES_H
#define GCUT_KERNELS_EMIT_EMIT_NAMES_H

#include "kernels/kernels.h"

/* What the names of the step `name` begin with in C: `name`, or step_<name>. */
const char *gcut_c_prefix(gcut_arena *a, const char *name);

/* May a function of the caller's be called s beside the step with that prefix: no keyword of C or C++,
 * nothing that begins as names of the step, of our library or of the compiler do, and no capitals alone, as
 * macros? */
bool gcut_c_is_free(const char *prefix, const char *s);

/* The member of NAME_io of a binding: a C identifier, unique, and never a macro of C or POSIX; and another
 * name of it, where that is no macro; "" = none. */
typedef struct gcut_field {
    const char *name, *alias;
} gcut_field;
/* By binding. */
gcut_field *gcut_c_fields(const gcut_program *p);

#endif
