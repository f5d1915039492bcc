/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts with tables, printed as the caller's options say.
 */
#ifndef GCUT_DRIVER_INSPECT_TABLE_TEXT_H
#define GCUT_DRIVER_INSPECT_TABLE_TEXT_H

#include "driver/options/options.h"

/* What write(what, …) adds with the options, which were given with a struct of `size` bytes; the caller's (gcut_free).
 * NULL after a failure. */
char *gcut_table_text(gcut_env *env,
                      void (*write)(const void *what, const gcut_table_options *o, gcut_text *out),
                      const void *what, const gcut_table_options *given, size_t size);

#endif
