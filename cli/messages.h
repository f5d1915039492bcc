/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the command prints to standard error.
 */
#ifndef GCUT_CLI_MESSAGES_H
#define GCUT_CLI_MESSAGES_H

#include "cli/exit_codes.h"
#include "gradcut/gradcut.h"

/* Prints the messages of the last failed call to stderr; returns the exit code of its status. */
int gcut_cli_failed(gcut_ctx *ctx);
/* Prints an error of the command line itself to stderr. */
void gcut_cli_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The nearest word of the list, for hints on a typing mistake; NULL when none is near. */
const char *gcut_cli_nearest(const char *word, const char *const *list, size_t n);
/* a, b and c in one string from malloc; NULL after an error message. */
char *gcut_cli_join(const char *a, const char *b, const char *c);

#endif
