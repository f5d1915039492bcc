/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room cli/: the command `gradcut`, a client of the public API alone.
 *
 *   takes:  argv; the tables commands.def and options.def, from which help and completions are made too
 *   gives:  text or --json on standard output, messages on standard error, an exit code (EXIT_*)
 *   keeps:  nothing: one context a run; files are written only where an option names them
 */
#ifndef GCUT_CLI_CLI_H
#define GCUT_CLI_CLI_H

#include <stdio.h>

#include "cli/messages.h"
#include "cli/options.h"

/* Prints the text of a report or, with --json, its JSON, and frees the report; returns `code`. */
int gcut_cli_print(const gcut_cli *c, void *made, const char *text, const char *json, int code);

/* help.c */
void gcut_cli_help(FILE *out);
void gcut_cli_help_command(FILE *out, const gcut_cli_command *cmd);

/* completion.c.  Prints the completion script of a shell (bash, zsh or fish); an exit code, after an error
 * message when it is not 0. */
int gcut_cli_completion(FILE *out, const char *shell);

/* folder.c.  Makes the folder and its parents; false after an error message. */
bool gcut_cli_make_folder(const char *path);
/* The same for the folder of a file. */
bool gcut_cli_make_folder_of(const char *path);

/* terminal.c.  From now on the library's progress is shown on a line of standard error where that is a terminal, once a
 * second has passed. */
void gcut_cli_progress_begin(gcut_ctx *ctx);
/* Removes that line: before anything else is printed. */
void gcut_cli_progress_end(void);

/* terminal.c.  Whether what is written there may have colour. */
bool gcut_cli_coloured(FILE *to);
/* Writes a message to standard error, with its "error:", "hint:" or "note:" in colour where there may be. */
void gcut_cli_say(const char *text);

/* crash.c.  Keeps the words of the command line, before they are parsed; from _ready on an internal error writes a
 * script that replays it, with the model of that file; NULL: there is none. */
void gcut_cli_crash_begin(int argc, char **argv);
void gcut_cli_crash_ready(const char *file);
void gcut_cli_crash_end(void);

/* times.c.  Prints the passes that run from now on to standard error; call begin before other hooks are set.
 */
void gcut_cli_times_begin(gcut_ctx *ctx);
void gcut_cli_times_end(void);
extern gcut_hooks gcut_cli_hooks; /* of the command; one that sets another member keeps the others */

/* cmd_compare.c.  bench --compare: an exit code. */
int gcut_cli_compare(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g);

/* cmd_fixed.c.  bench --fix: an exit code. */
int gcut_cli_fixed(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g);

/* print.c.  How tables are printed: by the options, and as wide as standard output where that is a terminal. */
gcut_table_options gcut_cli_table(const gcut_cli *c);
/* Prints, or writes to a file, a text that the library has made, and frees it; NULL after an error of the library. */
int gcut_cli_print_made(gcut_ctx *ctx, char *text);
int gcut_cli_write_made(gcut_ctx *ctx, const char *path, char *text);
/* Writes a text to a file, which is replaced as a whole; an exit code, after an error message when it is not 0. */
int gcut_cli_write(gcut_ctx *ctx, const char *path, const char *text);
/* Prints JSON to standard output: `form` with the next argument for each of $s, a string (in
 * quotes; bytes that are not UTF-8 become U+FFFD, NULL becomes null), $i, an int64_t, and $x, a double (null
 * unless finite). */
void gcut_cli_json(const char *form, ...);
/* "34,048 bytes (33.2 KiB)" */
void gcut_cli_bytes(FILE *out, int64_t n);
/* A scalar in the fewest digits that read back equal; in JSON, infinities and NaN are null. */
void gcut_cli_scalar(FILE *out, const gcut_value_info *v, bool json);

#endif
