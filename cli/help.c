/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts from the two tables, and hints from any list of words.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define WORD_MAX 32 /* longer words get no hint */

/* "  -o, --output PATH      help" */
static void print_option(FILE *out, const gcut_option_row *o)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    if (o->letter)
        fprintf(out, "  -%c, %-20s %s\n", o->letter, left, o->help);
    else
        fprintf(out, "      %-20s %s\n", left, o->help);
}

static const char *operands_of(const gcut_command *cmd)
{
    if (!gcut_cli_takes_file(cmd)) return "";
    if (cmd == &gcut_commands[GCUT_CMD_cmp]) return "A.json B.json ";
    return cmd == &gcut_commands[GCUT_CMD_why] ? "FILE %VALUE [@function] " : "FILE [@function] ";
}

void gcut_cli_help_command(FILE *out, const gcut_command *cmd)
{
    fprintf(out, "usage: gradcut %s %s[option...]\n\n%s\n\noptions:\n", cmd->name, operands_of(cmd),
            cmd->does);
    for (int i = 0; i < GCUT_NOPTS; i++)
        if (gcut_option_rows[i].commands >> (cmd - gcut_commands) & 1)
            print_option(out, &gcut_option_rows[i]);
}

void gcut_cli_help(FILE *out)
{
    fputs("usage: gradcut COMMAND FILE [@function] [option...]\n"
          "       gradcut help COMMAND\n"
          "       gradcut --help | --version\n"
          "\n"
          "FILE is text IR (.gcut), - the standard input; without @function its last function is meant.\n"
          "\n"
          "commands:\n",
          out);
    for (int i = 0; i < GCUT_NCMDS; i++)
        fprintf(out, "  %-10s %s\n", gcut_commands[i].name, gcut_commands[i].does);
    fputs("\noptions, not each for every command:\n", out);
    for (int i = 0; i < GCUT_NOPTS; i++) print_option(out, &gcut_option_rows[i]);
    fputs("\nexit status: 0 fine, 1 a check failed, 2 wrong usage, 3 unsupported,\n"
          "             4 wrong input, or a file or tool that failed\n",
          out);
}

/* Levenshtein's distance: how many letters to insert, delete or replace. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], nb = strlen(b);
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *gcut_cli_nearest(const char *word, const char *const *list, size_t n)
{
    const char *found = NULL;
    size_t best = strlen(word) / 3 + 2; /* a distance must stay below this */
    if (strlen(word) > WORD_MAX) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) > WORD_MAX) continue;
        size_t d = distance(word, list[i]);
        if (d >= best || d >= strlen(list[i])) continue;
        best = d;
        found = list[i];
    }
    return found;
}
