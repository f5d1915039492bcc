/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completion scripts for bash, zsh and fish, made from the tables of commands and options.  The files in
 * cli/completions are their output; tests/cli/test_completion.c compares the two.
 */
#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

/* ---- common to all shells ---- */

static const char written[] =
    "# SPDX-License-Identifier: GPL-3.0-or-later\n"
    "# Written by `gradcut help --completion %s`; tests/cli/test_completion.c compares.\n";

/* What the shell proposes for an option's value, or for an operand. */
typedef enum proposal { NO_VALUE, NOTHING, WORDS, FILES, FOLDERS } proposal;

static proposal proposal_of(const gcut_option_row *o)
{
    switch (o->kind) {
    case GCUT_KIND_FLAG: return NO_VALUE;
    case GCUT_KIND_FILE: return FILES;
    case GCUT_KIND_FOLDER: return FOLDERS;
    default: return *o->words ? WORDS : NOTHING;
    }
}

/* True if the option may be given more than once, as lists may. */
static bool is_repeatable(const gcut_option_row *o)
{
    return o->count != 0;
}

static const char *pattern_of(const gcut_cli_command *cmd)
{
    static const char *const pattern[] = {
        [GCUT_OPERANDS_MODEL] = "*.gcut",  [GCUT_OPERANDS_VALUE] = "*.gcut", [GCUT_OPERANDS_PLANS] = "*.json",
        [GCUT_OPERANDS_CLAIM] = "*.[gj]*", [GCUT_OPERANDS_ONNX] = "*.onnx",  [GCUT_OPERANDS_NONE] = ""};
    return pattern[cmd->operands];
}

/* Prints "a, b, c" as "a b c", without words that have a capital: those are patterns, such as torch:B. */
static void print_words(FILE *out, const char *words)
{
    const char *space = "";
    for (size_t n; *words; words += n, words += strspn(words, ", ")) {
        bool form = false;
        n = strcspn(words, ",");
        for (size_t i = 0; i < n; i++) form |= isupper((unsigned char)words[i]) != 0;
        if (form) continue;
        fprintf(out, "%s%.*s", space, (int)n, words);
        space = " ";
    }
}

static void print_commands(FILE *out)
{
    for (int i = 0; i < GCUT_NCOMMANDS; i++) fprintf(out, "%s%s", i ? " " : "", gcut_commands[i].name);
}

static bool has_operand(const gcut_cli_command *cmd, const char *pattern)
{
    return cmd->operands == GCUT_OPERANDS_CLAIM || !strcmp(pattern_of(cmd), pattern);
}

/* Prints the commands that take option i or, for i < 0, those that have an operand like `pattern`. */
static void print_takers(FILE *out, int i, const char *pattern, const char *separator)
{
    const char *before = "";
    for (int k = 0; k < GCUT_NCOMMANDS; k++) {
        const gcut_cli_command *cmd = &gcut_commands[k];
        if (i >= 0 ? !gcut_cli_takes(cmd, i) : !has_operand(cmd, pattern)) continue;
        fprintf(out, "%s%s", before, cmd->name);
        before = separator;
    }
}

/* Prints text for inside '...': a backslash before `special` characters, and `quote` for a quote. */
static void print_quoted(FILE *out, const char *text, const char *special, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs(quote, out);
            continue;
        }
        if (strchr(special, *text)) fputc('\\', out);
        fputc(*text, out);
    }
}

/* ---- bash ---- */

static const char bash_head[] =
    "\n"
    "# Sets COMPREPLY to what `compgen` with these options says of the word at the cursor.\n"
    "_gradcut_reply()\n"
    "{\n"
    "    [[ $1 == -W ]] || compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_gradcut()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} options='' files=''\n";

static const char bash_words[] =
    "    COMPREPLY=()\n"
    "    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
    "    1:*) _gradcut_reply -W \"$commands help --help --version\"; return ;;\n"
    "    2:help) _gradcut_reply -W \"$commands\"; return ;;\n"
    "    esac\n"
    "    # The '=' of --name=value is a word of its own; that of NAME=VALUE belongs to a value.\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == '=' ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "        [[ $prev == -* ]] || return\n"
    "    fi\n"
    "    case $prev in\n";

static const char bash_tail[] = "    esac\n"
                                "    if [[ $cur == -* ]]; then\n"
                                "        _gradcut_reply -W \"$options\"\n"
                                "    elif [[ $files ]]; then\n"
                                "        _gradcut_reply -f -X \"!$files\" -o plusdirs\n"
                                "    fi\n"
                                "} &&\n"
                                "    complete -F _gradcut gradcut\n";

static void print_bash_value(FILE *out, const gcut_option_row *o)
{
    proposal p = proposal_of(o);
    if (p == NO_VALUE) return;
    fputs("    ", out);
    if (o->letter) fprintf(out, "-%c | ", o->letter);
    fprintf(out, "--%s) ", o->name);
    if (p == WORDS) {
        fputs("_gradcut_reply -W '", out);
        print_words(out, o->words);
        fputs("'; ", out);
    } else if (p != NOTHING) {
        fputs(p == FILES ? "_gradcut_reply -f; " : "_gradcut_reply -d; ", out);
    }
    fputs("return ;;\n", out);
}

static void print_bash_command(FILE *out, const gcut_cli_command *cmd)
{
    const char *space = "";
    fprintf(out, "    %s) files='%s' options='", cmd->name, pattern_of(cmd));
    for (int i = 0; i < GCUT_NOPTIONS; i++) {
        const gcut_option_row *o = &gcut_option_rows[i];
        if (!gcut_cli_takes(cmd, i)) continue;
        fprintf(out, "%s--%s", space, o->name);
        space = " ";
        if (o->letter) fprintf(out, " -%c", o->letter);
    }
    fputs("' ;;\n", out);
}

static void print_bash(FILE *out)
{
    fprintf(out, written, "bash");
    fputs(bash_head, out);
    fputs("    local commands='", out);
    print_commands(out);
    fputs("'\n", out);
    fputs(bash_words, out);
    for (int i = 0; i < GCUT_NOPTIONS; i++) print_bash_value(out, &gcut_option_rows[i]);
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (int i = 0; i < GCUT_NCOMMANDS; i++) print_bash_command(out, &gcut_commands[i]);
    fputs(bash_tail, out);
}

/* ---- zsh: one specification for _arguments each ---- */

static const char zsh_head[] =
    "    )\n"
    "    if ((CURRENT == 2)); then\n"
    "        _describe -t commands command subcommands\n"
    "        _arguments '--help[print the commands]' '--version[print the version]'\n"
    "        return\n"
    "    fi\n"
    "    shift words\n"
    "    ((CURRENT--))\n"
    "    local subcommand=$words[1]\n"
    "    if [[ $subcommand == help ]]; then\n"
    "        ((CURRENT == 2)) && _describe -t commands command subcommands\n"
    "        return\n"
    "    fi\n";

/* [help]:ARGUMENT:what to propose */
static void print_zsh_value(FILE *out, const gcut_option_row *o)
{
    proposal p = proposal_of(o);
    fputc('[', out);
    print_quoted(out, o->help, "[]\\", "'\\''");
    fputc(']', out);
    if (p == NO_VALUE) return;
    fputc(':', out);
    print_quoted(out, o->argument, ":\\", "'\\''");
    fputs(p == FILES ? ":_files" : p == FOLDERS ? ":_files -/" : p == WORDS ? ":(" : ": ", out);
    if (p != WORDS) return;
    print_words(out, o->words);
    fputc(')', out);
}

static void print_zsh_option(FILE *out, int i)
{
    const gcut_option_row *o = &gcut_option_rows[i];
    bool value = proposal_of(o) != NO_VALUE;
    fputs("    case $subcommand in (", out);
    print_takers(out, i, NULL, "|");
    fputs(") specs+=(", out);
    if (o->letter) {
        fprintf(out, "'(-%c --%s)-%c%s", o->letter, o->name, o->letter, value ? "+" : "");
        print_zsh_value(out, o);
        fprintf(out, "' '(-%c --%s)", o->letter, o->name);
    } else {
        fprintf(out, "'%s", is_repeatable(o) ? "*" : "");
    }
    fprintf(out, "--%s%s", o->name, value ? "=" : "");
    print_zsh_value(out, o);
    fputs("') ;; esac\n", out);
}

static void print_zsh_operands(FILE *out, const gcut_cli_command *cmd)
{
    if (cmd->operands == GCUT_OPERANDS_NONE) return;
    const bool claim = cmd->operands == GCUT_OPERANDS_CLAIM;
    fprintf(out, "    %s) specs+=('1:FILE:_files -g \"%s\"' ", cmd->name, claim ? "*.json" : pattern_of(cmd));
    if (claim)
        fputs("'2:FILE:_files -g \"*.gcut\"' '3:@function: '", out);
    else if (cmd->operands == GCUT_OPERANDS_ONNX)
        fputs("", out);
    else if (cmd->operands == GCUT_OPERANDS_PLANS)
        fprintf(out, "'2:FILE:_files -g \"%s\"'", pattern_of(cmd));
    else
        fputs(cmd->operands == GCUT_OPERANDS_VALUE ? "'2:VALUE: ' '3:@function: '" : "'2:@function: '", out);
    fputs(") ;;\n", out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef gradcut\n", out);
    fprintf(out, written, "zsh");
    fputs("\n_gradcut()\n{\n    local -a subcommands specs\n    subcommands=(\n", out);
    for (int i = 0; i < GCUT_NCOMMANDS; i++) {
        fprintf(out, "        '%s:", gcut_commands[i].name);
        print_quoted(out, gcut_commands[i].does, ":\\", "'\\''");
        fputs("'\n", out);
    }
    fputs("        'help:print the options of a command'\n", out);
    fputs(zsh_head, out);
    for (int i = 0; i < GCUT_NOPTIONS; i++) print_zsh_option(out, i);
    fputs("    case $subcommand in\n", out);
    for (int i = 0; i < GCUT_NCOMMANDS; i++) print_zsh_operands(out, &gcut_commands[i]);
    fputs("    esac\n    _arguments -s $specs\n}\n\n_gradcut \"$@\"\n", out);
}

/* ---- fish ---- */

static void print_fish_option(FILE *out, int i)
{
    const gcut_option_row *o = &gcut_option_rows[i];
    fputs("complete -c gradcut -n '__fish_seen_subcommand_from ", out);
    print_takers(out, i, NULL, " ");
    fprintf(out, "' -l %s", o->name);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    switch (proposal_of(o)) {
    case NO_VALUE: break;
    case NOTHING: fputs(" -x", out); break;
    case FILES: fputs(" -r -F", out); break;
    case FOLDERS: fputs(" -x -a '(__fish_complete_directories)'", out); break;
    case WORDS:
        fputs(" -x -a '", out);
        print_words(out, o->words);
        fputc('\'', out);
    }
    fputs(" -d '", out);
    print_quoted(out, o->help, "\\", "\\'");
    fputs("'\n", out);
}

static void print_fish_operand(FILE *out, const char *pattern)
{
    fputs("complete -c gradcut -n '__fish_seen_subcommand_from ", out);
    print_takers(out, -1, pattern, " ");
    fprintf(out, "' -k -a '(__fish_complete_suffix %s | string match -er \"(/|[.]%s)\\$\")'\n", pattern + 1,
            pattern + 2);
}

static void print_fish(FILE *out)
{
    fprintf(out, written, "fish");
    fputs("\ncomplete -c gradcut -f\n", out);
    for (int i = 0; i < GCUT_NCOMMANDS; i++) {
        fprintf(out, "complete -c gradcut -n __fish_use_subcommand -a %s -d '", gcut_commands[i].name);
        print_quoted(out, gcut_commands[i].does, "\\", "\\'");
        fputs("'\n", out);
    }
    fputs("complete -c gradcut -n __fish_use_subcommand -a help -d 'print the options of a command'\n"
          "complete -c gradcut -n __fish_use_subcommand -l help -d 'print the commands'\n"
          "complete -c gradcut -n __fish_use_subcommand -l version -d 'print the version'\n"
          "complete -c gradcut -n '__fish_seen_subcommand_from help' -a '",
          out);
    print_commands(out);
    fputs("'\n", out);
    print_fish_operand(out, "*.gcut");
    print_fish_operand(out, "*.json");
    for (int i = 0; i < GCUT_NOPTIONS; i++) print_fish_option(out, i);
}

int gcut_cli_completion(FILE *out, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (int i = 0; shell && i < 3; i++) {
        if (strcmp(shell, shells[i].name) != 0) continue;
        shells[i].print(out);
        return EXIT_FINE;
    }
    gcut_cli_complain("help --completion: %s%s%s; give bash, zsh or fish",
                      shell ? "there is no '" : "the shell is missing", shell ? shell : "", shell ? "'" : "");
    return EXIT_USAGE;
}
