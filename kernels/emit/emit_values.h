/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a step's values in emitted C, and the functions around it; gradcut/rt_values.h says what they
 * do.
 */
#ifndef GCUT_KERNELS_EMIT_EMIT_VALUES_H
#define GCUT_KERNELS_EMIT_EMIT_VALUES_H

#include "kernels/kernels.h"

/* Their declarations, for a step whose names begin with `name`. */
void gcut_emit_values_header(const gcut_program *p, const char *name, gcut_text *header);
/* contents[i] is that of binding i. */
void gcut_emit_values(const gcut_program *p, const gcut_contents *contents, const char *name, gcut_text *c);

#endif
