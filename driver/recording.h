/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which functions this thread records (driver/trace/), for calls that they may not make.
 */
#ifndef GCUT_DRIVER_RECORDING_H
#define GCUT_DRIVER_RECORDING_H

#include "base/env.h"

/* A function is called now, to be recorded as the graph `name`, by the function whose canonical frame address is `frame`.
 * Throws GCUT_EUNSUPPORTED where too many record each other.  Returns what gcut_recording_end takes. */
int gcut_recording_begin(gcut_env *env, const char *name, uintptr_t frame);
/* What it did that is refused; "": nothing. */
typedef struct gcut_refused {
    char what[64];
} gcut_refused;
/* It has returned. */
gcut_refused gcut_recording_end(int number);

/* The name of the innermost function that is recorded while this is called, of any context; the recording fails, since the
 * function does what is refused: "runs a step".  NULL: none is. */
const char *gcut_recording_refuses(const char *what);
/* The same as an error: throws GCUT_EUSAGE in env. */
void gcut_refuse_recording(gcut_env *env, const char *what);
#define GCUT_OUTSIDE_RECORDING "do it before or after gcut_trace or gcut_jit_call"

#endif
