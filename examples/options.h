/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Command lines of the examples: a table of options over a struct of settings.
 */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gradcut/gradcut.h"

typedef struct option {
    const char *name;
    enum { WHOLE, REAL, WORD, FLAG } kind; /* of the member: int64_t, double, const char *, bool */
    size_t at;                             /* offset of the member */
    int64_t lo;                            /* smallest allowed */
    const char *help;
} option;

/* Options of argv go into `settings`; everything else must be the one `operand`, stored there.  Dies on what
 * it does not know; prints the usage and exits on --help, which every table has. */
void options_parse(const option *table, size_t n, void *settings, const char **operand, const char *usage,
                   int argc, char **argv);

/* eager, joint, planned or compiled; dies otherwise. */
gcut_backend backend_of(const char *name);

#endif
