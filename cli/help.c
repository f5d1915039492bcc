/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Prints help texts made from the two tables, and finds hints for misspelt words.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define WORD_MAX 32 /* longer words get no hint */

/* Prints what follows the help text of an option: " (bf16, …; default: 0.05)". */
static void print_range(FILE *out, const gcut_option_row *o)
{
    bool words = *o->words && o->kind != GCUT_KIND_FLAG, unset = *o->unset != 0;
    if (words || unset)
        fprintf(out, " (%s%s%s%s)", words ? o->words : "", words && unset ? "; " : "",
                unset ? "default: " : "", o->unset);
}

/* "  -o, --output PATH      help" */
static void print_option(FILE *out, const gcut_option_row *o)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", o->name, *o->argument ? " " : "", o->argument);
    if (o->letter)
        fprintf(out, "  -%c, %-20s %s", o->letter, left, o->help);
    else
        fprintf(out, "      %-20s %s", left, o->help);
    print_range(out, o);
    fputc('\n', out);
}

static const char *operands_of(const gcut_cli_command *cmd)
{
    static const char *const text[] = {[GCUT_OPERANDS_MODEL] = "FILE [@function] ",
                                       [GCUT_OPERANDS_VALUE] = "FILE %VALUE [@function] ",
                                       [GCUT_OPERANDS_PLANS] = "A.json B.json ",
                                       [GCUT_OPERANDS_CLAIM] = "PLAN.json FILE [@function] ",
                                       [GCUT_OPERANDS_ONNX] = "M.onnx ",
                                       [GCUT_OPERANDS_NONE] = ""};
    return text[cmd->operands];
}

void gcut_cli_help_command(FILE *out, const gcut_cli_command *cmd)
{
    fprintf(out, "usage: gradcut %s %s[option...]\n\n%s\n\noptions:\n", cmd->name, operands_of(cmd),
            cmd->does);
    for (int i = 0; i < GCUT_NOPTIONS; i++)
        if (gcut_cli_takes(cmd, i)) print_option(out, &gcut_option_rows[i]);
    fprintf(out, "\nexample:\n");
    for (const char *s = cmd->example; *s;) { /* several commands are one a line */
        const size_t n = strcspn(s, ";");
        fprintf(out, "  %.*s\n", (int)n, s);
        s += n + strspn(s + n, "; ");
    }
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
    for (int i = 0; i < GCUT_NCOMMANDS; i++)
        fprintf(out, "  %-10s %s\n", gcut_commands[i].name, gcut_commands[i].does);
    fputs("\noptions, not each for every command:\n", out);
    for (int i = 0; i < GCUT_NOPTIONS; i++) print_option(out, &gcut_option_rows[i]);
    fputs("\nexit status: 0 fine, 1 a check failed, 2 wrong usage, 3 unsupported,\n"
          "             4 wrong input, or a file or tool that failed\n",
          out);
}

/* Levenshtein's distance: the number of letters to insert, delete or replace. */
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
