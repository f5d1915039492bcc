/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a command's arguments by the table of options.def.
 */
#define _GNU_SOURCE
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

#define ONLY(cmd) (1u << GCUT_COMMAND_##cmd)
#define RUNNING (ONLY(run) | ONLY(bench) | ONLY(prof) | ONLY(crosscheck) | ONLY(gradcheck))
#define PLANNED                                                                                              \
    (ONLY(show) | ONLY(dot) | ONLY(grad) | ONLY(plan) | ONLY(saved) | ONLY(why) | ONLY(mem) | ONLY(fuse) |   \
     ONLY(lint) | ONLY(report) | ONLY(certify) | ONLY(frontier) | ONLY(fit) | ONLY(compile) | RUNNING)
/* frontier tries every policy and budget itself, certify follows a plan file, and both write no stage, as fit,
 * which makes plans for a budget at several sizes. */
#define LIMITED (PLANNED & ~ONLY(certify) & ~ONLY(frontier))
#define DECIDED (LIMITED & ~ONLY(fit))
#define FORWARD                                                                                              \
    (ONLY(show) | ONLY(fuse) | ONLY(lint) | ONLY(compile) | ONLY(run) | ONLY(bench) | ONLY(prof) |           \
     ONLY(crosscheck))
/* Those that print tables of values. */
#define TABLES                                                                                               \
    (ONLY(show) | ONLY(plan) | ONLY(saved) | ONLY(mem) | ONLY(fuse) | ONLY(lint) | ONLY(diff) | ONLY(prof))
#define EVERY ((1u << GCUT_NCOMMANDS) - 1)

/* The offset of a list's number of items; 0 for other kinds. */
#define COUNT_FLAG(m) 0
#define COUNT_INT(m) 0
#define COUNT_INT64(m) 0
#define COUNT_UINT64(m) 0
#define COUNT_REAL(m) 0
#define COUNT_BYTES(m) 0
#define COUNT_TEXT(m) 0
#define COUNT_NAME(m) 0
#define COUNT_FILE(m) 0
#define COUNT_FOLDER(m) 0
#define COUNT_CHOICE(m) 0
#define COUNT_NAMES(m) offsetof(gcut_cli, COUNT(m))
#define COUNT_GLOBS(m) offsetof(gcut_cli, COUNT(m))
#define COUNT_SIZES(m) offsetof(gcut_cli, COUNT(m))
#define COUNT_FEEDS(m) offsetof(gcut_cli, COUNT(m))

#define ROW(path, member, kind, name, letter, argument, words, lo, hi, constant, unset, commands, help)      \
    {GCUT_KIND_##kind,                                                                                       \
     name,                                                                                                   \
     letter,                                                                                                 \
     argument,                                                                                               \
     words,                                                                                                  \
     (double)(lo),                                                                                           \
     (double)(hi),                                                                                           \
     (double)(constant),                                                                                     \
     unset,                                                                                                  \
     commands,                                                                                               \
     help,                                                                                                   \
     offsetof(gcut_cli, path),                                                                               \
     COUNT_##kind(member)},
const gcut_option_row gcut_option_rows[GCUT_NOPTIONS] = {
#define COUNT(m) opt.n##m
#define OPTION(member, ...) ROW(opt.member, member, __VA_ARGS__)
#include "gradcut/options.def"
#undef OPTION
#undef COUNT
#define COUNT(m) n##m
#define OPTION(member, ...) ROW(member, member, __VA_ARGS__)
#include "cli/options.def"
#undef OPTION
};
#undef ROW
#undef COUNT

const gcut_cli_command gcut_commands[GCUT_NCOMMANDS] = {
#define CMD(name, operands, does, example) {#name, GCUT_OPERANDS_##operands, does, example, gcut_cmd_##name},
#include "cli/commands.def"
#undef CMD
};

const char *const gcut_backend_names[4] = {
    [GCUT_BACKEND_COMPILED] = "compiled",
    [GCUT_BACKEND_EAGER] = "eager",
    [GCUT_BACKEND_JOINT] = "joint",
    [GCUT_BACKEND_PLANNED] = "planned",
};
const char *const gcut_stage_names[5] = {
    [GCUT_STAGE_PRIMAL] = "primal", [GCUT_STAGE_JOINT] = "joint",   [GCUT_STAGE_SPLIT] = "split",
    [GCUT_STAGE_KERNEL] = "kernel", [GCUT_STAGE_MEMORY] = "memory",
};

/* The value that getopt_long returns for row i: above every letter. */
#define VAL(i) (256 + (i))

bool gcut_cli_takes(const gcut_cli_command *cmd, int option)
{
    return gcut_option_rows[option].commands >> (cmd - gcut_commands) & 1;
}

/* ---- values of options: each returns false after an error message ---- */

static bool take_integer(const gcut_option_row *o, const char *s, int64_t *out)
{
    /* If the member's 0 means the default, `constant` is what stores a value of 0. */
    int64_t lo = o->constant != 0 ? 0 : (int64_t)o->lo, hi = o->hi >= 9e18 ? INT64_MAX : (int64_t)o->hi;
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    if (end != s && !*end && !errno && n >= lo && n <= hi) {
        *out = n == 0 ? (int64_t)o->constant : n;
        return true;
    }
    if (hi == INT64_MAX)
        gcut_cli_complain("--%s: '%s' is not a whole number of at least %lld", o->name, s, (long long)lo);
    else
        gcut_cli_complain("--%s: '%s' is not a whole number from %lld to %lld", o->name, s, (long long)lo,
                          (long long)hi);
    return false;
}

static bool take_real(const gcut_option_row *o, const char *s, double *out)
{
    char *end;
    double x = strtod(s, &end);
    if (end != s && !*end && isfinite(x) && ((x == 0 && o->constant != 0) || (x >= o->lo && x <= o->hi))) {
        *out = x == 0 ? o->constant : x;
        return true;
    }
    gcut_cli_complain("--%s: '%s' is not a number from %g to %g", o->name, s, o->constant != 0 ? 0 : o->lo,
                      o->hi);
    return false;
}

/* 64000000, 64MB, 200MiB, 1.5GiB: more than 0 bytes; or the option's word for its constant.  Units are powers
 * of 1000 and of 1024, in the case of their standards, except that K is accepted for k. */
static bool take_bytes(const gcut_option_row *o, const char *s, int64_t *out)
{
    static const struct {
        const char *suffix;
        double bytes;
    } unit[] = {{"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9}};
    char *end;
    double x = strtod(s, &end);
    if (o->constant != 0 && !strcmp(s, *o->words ? o->words : "0")) {
        *out = (int64_t)o->constant;
        return true;
    }
    for (size_t i = 0; end != s && x > 0 && i < sizeof unit / sizeof *unit; i++)
        if (!strcmp(end, unit[i].suffix) && x * unit[i].bytes >= 1 && x * unit[i].bytes < 9e18) {
            *out = (int64_t)(x * unit[i].bytes);
            return true;
        }
    gcut_cli_complain(
        "--%s: '%s' is not a size in bytes such as 64000000, 200MiB or 1.5GiB%s%s; units are B, KB, "
        "MB, GB (of 1000) and KiB, MiB, GiB (of 1024)",
        o->name, s, *o->words ? ", nor " : "", o->words);
    return false;
}

/* The i-th word of "a, b, c" as a new string; NULL past the last, or when memory is short. */
static char *word_at(const char *words, int i)
{
    while (i-- > 0 && words) {
        words = strstr(words, ", ");
        if (words) words += 2;
    }
    return words && *words ? strndup(words, strcspn(words, ",")) : NULL;
}

/* Stores the index of the word in the option's list. */
static bool take_choice(const gcut_option_row *o, const char *s, int *out)
{
    char *word[16] = {0};
    int n = 0, found = -1;
    while (n < 16 && (word[n] = word_at(o->words, n))) n++;
    for (int i = 0; i < n; i++)
        if (!strcmp(s, word[i])) found = i;
    if (found < 0) {
        const char *near = gcut_cli_nearest(s, (const char *const *)word, (size_t)n);
        gcut_cli_complain("--%s: there is no '%s'%s%s%s there are %s", o->name, s,
                          near ? ", did you mean " : "", near ? near : "", near ? "?" : ";", o->words);
    }
    for (int i = 0; i < n; i++) free(word[i]);
    *out = found;
    return found >= 0;
}

static char *bare(char *name)
{
    return name + (*name == '%');
}

/* Grows a list by one item and returns that item; NULL after an error message. */
static void *grow(void *list, size_t *n, size_t item)
{
    void *old;
    memcpy(&old, list, sizeof old); /* whatever it points to */
    void *more = realloc(old, (*n + 1) * item);
    if (!more) {
        gcut_cli_complain("out of memory");
        return NULL;
    }
    memcpy(list, &more, sizeof more);
    return (char *)more + (*n)++ * item;
}

/* N=32,T=64 */
static bool take_sizes(const gcut_option_row *o, char *list, gcut_size **at, size_t *n)
{
    for (char *item; (item = strsep(&list, ","));) {
        char *eq = strchr(item, '=');
        int64_t size;
        if (!eq || eq == item) {
            gcut_cli_complain("--%s: expected SYMBOL=SIZE, as in --%s N=32, not '%s'", o->name, o->name,
                              item);
            return false;
        }
        *eq = 0;
        if (!take_integer(o, eq + 1, &size)) return false;
        for (size_t k = 0; k < *n; k++)
            if (!strcmp((*at)[k].name, item)) {
                gcut_cli_complain("--%s: the size of %s is given twice, %lld and %lld", o->name, item,
                                  (long long)(*at)[k].value, (long long)size);
                return false;
            }
        gcut_size *to = grow(at, n, sizeof *to);
        if (!to) return false;
        *to = (gcut_size){item, size};
    }
    return true;
}

static bool take_feed(const gcut_option_row *o, char *arg, gcut_feed **at, size_t *n)
{
    char *eq = strchr(arg, '=');
    if (!eq || eq == bare(arg) || !eq[1]) {
        gcut_cli_complain("--%s: expected NAME=FILE.npy, not '%s'", o->name, arg);
        return false;
    }
    *eq = 0;
    gcut_feed *to = grow(at, n, sizeof *to);
    if (to) *to = (gcut_feed){bare(arg), eq + 1};
    return to != NULL;
}

/* %a,%b; the % may be left out. */
static bool take_names(const gcut_option_row *o, char *list, const char ***at, size_t *n)
{
    for (char *item; (item = strsep(&list, ","));) {
        if (!*bare(item)) {
            if (*o->words)
                gcut_cli_complain("--%s: expected names out of %s", o->name, o->words);
            else
                gcut_cli_complain("--%s: expected the name of a value, as in --%s %%h", o->name, o->name);
            return false;
        }
        const char **to = grow(at, n, sizeof *to);
        if (!to) return false;
        *to = bare(item);
    }
    return true;
}

static bool take(gcut_cli *c, int option, char *arg)
{
    const gcut_option_row *o = &gcut_option_rows[option];
    void *to = (char *)c + o->offset;
    size_t *n = (size_t *)((char *)c + o->count);
    int64_t x = 0;
    if (c->given[option] && !o->count && o->kind != GCUT_KIND_FLAG) {
        gcut_cli_complain("--%s is given twice, and has one value: leave one of the two out", o->name);
        return false;
    }
    c->given[option] = true;
    switch (o->kind) {
    case GCUT_KIND_FLAG: return *(bool *)to = true;
    case GCUT_KIND_INT: return take_integer(o, arg, &x) && (*(int *)to = (int)x, true);
    case GCUT_KIND_INT64: return take_integer(o, arg, to);
    case GCUT_KIND_UINT64: return take_integer(o, arg, &x) && (*(uint64_t *)to = (uint64_t)x, true);
    case GCUT_KIND_REAL: return take_real(o, arg, to);
    case GCUT_KIND_BYTES: return take_bytes(o, arg, to);
    case GCUT_KIND_TEXT:
    case GCUT_KIND_FILE:
    case GCUT_KIND_FOLDER: return *(const char **)to = arg, true;
    case GCUT_KIND_NAME: return *(const char **)to = bare(arg), true;
    case GCUT_KIND_CHOICE: return take_choice(o, arg, to); /* an enum has the size of an int */
    case GCUT_KIND_NAMES:
    case GCUT_KIND_GLOBS: return take_names(o, arg, to, n);
    case GCUT_KIND_SIZES: return take_sizes(o, arg, to, n);
    case GCUT_KIND_FEEDS: return take_feed(o, arg, to, n);
    }
    return false;
}

/* ---- the arguments ---- */

/* The row of a value that getopt_long returned; -1: none. */
static int row_of(int val)
{
    for (int i = 0; i < GCUT_NOPTIONS; i++)
        if (val && (val == VAL(i) || val == gcut_option_rows[i].letter)) return i;
    return -1;
}

/* An option that getopt_long does not know here: one of another command, or a typing mistake. */
static void refuse_unknown(const gcut_cli_command *cmd, const char *word)
{
    const char *names[GCUT_NOPTIONS];
    char stem[64];
    size_t n = 0;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < GCUT_NOPTIONS; i++) {
        if (gcut_cli_takes(cmd, i)) names[n++] = gcut_option_rows[i].name;
        if (strcmp(stem, gcut_option_rows[i].name)) continue;
        gcut_cli_complain("%s has no option --%s; see 'gradcut help %s'", cmd->name, stem, cmd->name);
        return;
    }
    const char *near = gcut_cli_nearest(stem, names, n);
    gcut_cli_complain("there is no option --%s%s%s%s; see 'gradcut help %s'", stem,
                      near ? ", did you mean --" : "", near ? near : "", near ? "?" : "", cmd->name);
}

/* Reports why getopt_long, which returned `what` and set optopt, refused `word`. */
static void refuse(const gcut_cli_command *cmd, int what, const char *word)
{
    int row = row_of(optopt);
    if (row >= 0 && gcut_cli_takes(cmd, row)) {
        const gcut_option_row *o = &gcut_option_rows[row];
        if (what == ':')
            gcut_cli_complain("--%s needs a value, %s", o->name, o->argument);
        else
            gcut_cli_complain("--%s takes no value", o->name);
    } else if (optopt)
        gcut_cli_complain("%s has no option -%c; see 'gradcut help %s'", cmd->name, optopt, cmd->name);
    else
        refuse_unknown(cmd, word + 2);
}

/* Reads the words after the options of a command without operands: those of --model, FILE [@function], which may stand
 * there too. */
static bool take_function(gcut_cli *c, int n, char **word)
{
    if (n == 0) return true;
    if (!c->model && gcut_cli_takes(c->cmd, GCUT_OPTION_model) && word[0][0] != '@') {
        c->model = word[0];
        return take_function(c, n - 1, word + 1);
    }
    if (n == 1 && c->model && word[0][0] == '@' && word[0][1]) {
        c->fn = word[0] + 1;
        return true;
    }
    if (gcut_cli_takes(c->cmd, GCUT_OPTION_model))
        gcut_cli_complain("%s takes one file and its @function: unexpected argument '%s'", c->cmd->name,
                          word[n > 1]);
    else
        gcut_cli_complain("%s takes no file: unexpected argument '%s'", c->cmd->name, word[0]);
    return false;
}

/* Reads the second of two plan files. */
static bool take_second(gcut_cli *c, int n, char **word)
{
    if (n == 1)
        c->value = word[0];
    else
        gcut_cli_complain("%s takes two plan files, as in %s a.json b.json; see 'gradcut help %s'",
                          c->cmd->name, c->cmd->name, c->cmd->name);
    return n == 1;
}

/* Reads the words after FILE: [%value], then [@function]. */
static bool take_rest(gcut_cli *c, int n, char **word)
{
    bool value = c->cmd->operands == GCUT_OPERANDS_VALUE || c->why; /* the second one of --why */
    int i = 0;
    if (value && i < n && word[i][0] != '@' && *bare(word[i])) c->value = bare(word[i++]);
    if (i < n && word[i][0] == '@' && word[i][1]) c->fn = word[i++] + 1;
    if (i < n)
        gcut_cli_complain("%s takes one file%s and one @function: unexpected argument '%s'", c->cmd->name,
                          value ? ", one %value" : "", word[i]);
    else if (value && !c->value && c->why)
        gcut_cli_complain(
            "--why takes two values, the one that is made and the one whose op reads it: --why %%a %%b");
    else if (value && !c->value)
        gcut_cli_complain("%s needs a value, as in %s FILE %%h; see 'gradcut help %s'", c->cmd->name,
                          c->cmd->name, c->cmd->name);
    return i == n && (!value || c->value);
}

/* Reads PLAN, which the command follows, then as take_rest. */
static bool take_claim(gcut_cli *c, int n, char **word)
{
    if (n < 1) {
        gcut_cli_complain(
            "%s takes a plan file and a model, as in %s plan.json model.gcut; see 'gradcut help %s'",
            c->cmd->name, c->cmd->name, c->cmd->name);
        return false;
    }
    c->opt.plan = c->file;
    c->file = word[0];
    return take_rest(c, n - 1, word + 1);
}

/* Reads FILE and the words after it. */
static bool take_operands(gcut_cli *c, int n, char **word)
{
    if (c->help) return true;
    if (c->cmd->operands == GCUT_OPERANDS_NONE) return take_function(c, n, word);
    if (n < 1) {
        gcut_cli_complain("%s needs a file; see 'gradcut help %s'", c->cmd->name, c->cmd->name);
        return false;
    }
    c->file = word[0];
    if (c->cmd->operands == GCUT_OPERANDS_CLAIM) return take_claim(c, n - 1, word + 1);
    if (c->cmd->operands == GCUT_OPERANDS_ONNX) {
        if (n > 1) gcut_cli_complain("%s takes one file: unexpected argument '%s'", c->cmd->name, word[1]);
        return n == 1;
    }
    return c->cmd->operands == GCUT_OPERANDS_PLANS ? take_second(c, n - 1, word + 1)
                                                   : take_rest(c, n - 1, word + 1);
}

/* Reports an option that sets what the plan file sets. */
static bool contradicts_plan(const gcut_cli *c)
{
    static const int says[] = {GCUT_OPTION_policy, GCUT_OPTION_lambda, GCUT_OPTION_save_dtype};
    for (size_t i = 0; c->opt.plan && i < sizeof says / sizeof *says; i++) {
        if (!c->given[says[i]]) continue;
        gcut_cli_complain("--plan %s says what --%s would: leave one of the two out", c->opt.plan,
                          gcut_option_rows[says[i]].name);
        return true;
    }
    return false;
}

/* Options that exclude each other, or say nothing without another one. */
static bool fit_each_other(const gcut_cli *c)
{
    const bool bench = c->cmd->run == gcut_cmd_bench, frontier = c->cmd->run == gcut_cmd_frontier,
               table = c->top || c->match || c->all;
    const struct {
        bool wrong;
        const char *says;
    } rules[] = {
        {c->explain_cost && (c->output || c->certificate || c->symbolic),
         "--explain-cost prints no plan: leave -o, --certificate and --symbolic out"},
        {c->certificate && !c->output && !c->json,
         "--certificate is part of the plan's JSON: give -o FILE or --json"},
        {c->why && c->json, "--why prints a text: leave --json out, or --why for the JSON of all pairs"},
        {c->why && table, "--why prints no table: leave --all, --top and --match out"},
        {c->map && c->against, "--map is of one arena: leave --against out"},
        {c->at_peak && c->map, "mem prints either --at-peak or --map"},
        {c->json && (c->map || c->at_peak), "mem --json has all of it: leave --at-peak and --map out"},
        {c->json && c->csv, "either --json or --csv is printed: leave one of the two out"},
        {c->tree && c->levels, "show prints either --tree or --levels"},
        {(c->tree || c->levels) && c->given[GCUT_OPTION_as],
         "--tree and --levels are not of a form: leave --as out"},
        {c->as == GCUT_SHOW_C && c->stage, "--as c is of the primal stage: leave other stages out"},
        {(c->tree || c->levels) && c->given[GCUT_OPTION_stage],
         "--tree and --levels are of no stage: leave --stage out"},
        {c->times && (c->given[GCUT_OPTION_steps] || c->nfeed),
         "--times has the times of a step that ran elsewhere: leave --steps and --in out"},
        {(c->rename || c->partial || (c->convert && !c->into)) && !c->weights,
         "--rename, --convert and --partial say how a file of weights is read: give --weights"},
        {frontier && c->rounds && !c->measure, "--rounds says how often plans are measured: give --measure"},
        {frontier && c->samples && !c->measure, "frontier has no samples without --measure"},
        {c->no_frontier && c->points, "--points are of the frontier: leave --no-frontier out"},
        {bench && c->csv && (c->opt.nfix || c->compare),
         "bench has CSV of one step's kernels: leave --csv, or --compare and --fix, out"},
        {bench && c->opt.nfix && c->samples && !c->compare,
         "bench has no samples of two steps: leave --samples or --fix out"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].wrong) continue;
        gcut_cli_complain("%s", rules[i].says);
        return false;
    }
    return true;
}

/* What one command asks of its options. */
static bool fits_command(const gcut_cli *c)
{
    if (c->cmd->run == gcut_cmd_compile && !c->output)
        gcut_cli_complain("compile needs -o DIR/NAME: it writes NAME.c and NAME.h there, or NAME.so");
    else if (c->cmd->run == gcut_cmd_export && !c->output)
        gcut_cli_complain("export needs -o M.onnx, the model that it writes");
    else if (c->cmd->run == gcut_cmd_fit && !c->given[GCUT_OPTION_budget])
        gcut_cli_complain("fit needs --budget SIZE, the bytes that the peak of a training step may take");
    else if (c->opt.forward_only && c->given[GCUT_OPTION_optimizer])
        gcut_cli_complain(
            "--forward makes no gradients, which --optimizer updates by: leave one of the two out");
    else
        return true;
    return false;
}

/* The options of one command, as getopt_long wants them. */
static void list_options(const gcut_cli_command *cmd, struct option *longs, char *letters)
{
    *letters++ = ':'; /* tell a missing value from an unknown option */
    for (int i = 0; i < GCUT_NOPTIONS; i++) {
        const gcut_option_row *o = &gcut_option_rows[i];
        if (!gcut_cli_takes(cmd, i)) continue;
        *longs++ = (struct option){o->name, *o->argument ? required_argument : no_argument, NULL, VAL(i)};
        if (o->letter) *letters++ = (char)o->letter;
        if (o->letter && *o->argument) *letters++ = ':';
    }
    *longs = (struct option){0};
    *letters = 0;
}

int gcut_cli_parse(gcut_cli *c, const gcut_cli_command *cmd, int argc, char **argv)
{
    struct option longs[GCUT_NOPTIONS + 1];
    char letters[2 * GCUT_NOPTIONS + 2];
    *c = (gcut_cli){.cmd = cmd, .opt = {.unbound = GCUT_UNBOUND_RANDOM}};
    list_options(cmd, longs, letters);
    opterr = 0;
    for (int val; (val = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (val == '?' || val == ':') {
            refuse(cmd, val, argv[optind - 1]);
            return EXIT_USAGE;
        }
        if (!take(c, row_of(val), optarg)) return EXIT_USAGE;
    }
    if (!take_operands(c, argc - optind, argv + optind) || contradicts_plan(c)) return EXIT_USAGE;
    return c->help || (fits_command(c) && fit_each_other(c)) ? 0 : EXIT_USAGE;
}

void gcut_cli_free(gcut_cli *c)
{
    for (int i = 0; i < GCUT_NOPTIONS; i++)
        if (gcut_option_rows[i].count) {
            void *list;
            memcpy(&list, (char *)c + gcut_option_rows[i].offset, sizeof list);
            free(list);
        }
}
