/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a command's arguments by the table of options.def.
 */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define ONLY(cmd) (1u << GCUT_CMD_##cmd)
const gcut_option_row gcut_option_rows[GCUT_NOPTS] = {
#define OPT(id, name, letter, argument, commands, help) {name, letter, argument, commands, help},
#include "cli/options.def"
#undef OPT
};

const gcut_command gcut_commands[GCUT_NCMDS] = {
#define CMD(name, does) {#name, does, gcut_cmd_##name},
#include "cli/commands.def"
#undef CMD
};

const char *const gcut_backend_names[4] = {
    [GCUT_EAGER] = "eager",
    [GCUT_JOINT_BACKEND] = "joint",
    [GCUT_PLANNED] = "planned",
    [GCUT_COMPILED] = "compiled",
};
const char *const gcut_stage_names[4] = {
    [GCUT_STAGE_PRIMAL] = "primal",
    [GCUT_STAGE_JOINT] = "joint",
    [GCUT_STAGE_SPLIT] = "split",
    [GCUT_STAGE_KERNEL] = "kernel",
};

/* getopt's value of row i: above every letter. */
#define VAL(i) (256 + (i))

static bool takes(const gcut_command *cmd, int row)
{
    return gcut_option_rows[row].commands >> (cmd - gcut_commands) & 1;
}

/* ---- values of options: each returns false after a sentence ---- */

static bool take_int(const char *option, const char *s, int64_t lo, int64_t hi, int64_t *out)
{
    char *end;
    errno = 0;
    long long n = strtoll(s, &end, 10);
    if (end != s && !*end && !errno && n >= lo && n <= hi) {
        *out = n;
        return true;
    }
    if (hi == INT64_MAX)
        gcut_cli_complain("--%s: '%s' is not a whole number of at least %lld", option, s, (long long)lo);
    else
        gcut_cli_complain("--%s: '%s' is not a whole number from %lld to %lld", option, s, (long long)lo,
                          (long long)hi);
    return false;
}

static bool take_real(const char *option, const char *s, double *out)
{
    char *end;
    double x = strtod(s, &end);
    if (end != s && !*end && isfinite(x) && x >= 0) {
        *out = x;
        return true;
    }
    gcut_cli_complain("--%s: '%s' is not a finite number of at least 0", option, s);
    return false;
}

/* 64000000, 64MB, 200MiB, 1.5GiB: more than 0 bytes. */
static bool take_size(const char *option, const char *s, int64_t *out)
{
    static const struct {
        const char *suffix;
        double bytes;
    } unit[] = {{"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
    char *end;
    double x = strtod(s, &end);
    for (size_t i = 0; end != s && x > 0 && i < sizeof unit / sizeof *unit; i++)
        if (!strcmp(end, unit[i].suffix) && x * unit[i].bytes >= 1 && x * unit[i].bytes < 9e18) {
            *out = (int64_t)(x * unit[i].bytes);
            return true;
        }
    gcut_cli_complain("--%s: '%s' is not a size in bytes such as 64000000, 200MiB or 1.5GiB", option, s);
    return false;
}

static bool take_choice(const char *option, const char *s, const char *const *names, int n, int *out)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(s, names[i])) {
            *out = i;
            return true;
        }
    const char *near = gcut_cli_nearest(s, names, (size_t)n);
    if (near)
        gcut_cli_complain("--%s: there is no '%s', did you mean %s?", option, s, near);
    else
        gcut_cli_complain("--%s: there is no '%s'; see --help", option, s);
    return false;
}

static char *bare(char *name)
{
    return name + (*name == '%');
}

/* N=32,T=64 */
static bool take_at(gcut_cli *c, char *list)
{
    for (char *item; (item = strsep(&list, ","));) {
        char *eq = strchr(item, '=');
        if (!eq || eq == item) {
            gcut_cli_complain("--at: expected SYMBOL=SIZE, as in --at N=32, not '%s'", item);
            return false;
        }
        *eq = 0;
        int64_t n;
        if (!take_int("at", eq + 1, 0, INT64_MAX, &n)) return false;
        c->at[c->opt.nat++] = (gcut_size){item, n};
    }
    return true;
}

static bool take_feed(gcut_cli *c, char *arg)
{
    char *eq = strchr(arg, '=');
    if (!eq || eq == bare(arg) || !eq[1]) {
        gcut_cli_complain("--in: expected NAME=FILE.npy, not '%s'", arg);
        return false;
    }
    *eq = 0;
    c->feed[c->nfeed++] = (gcut_feed){bare(arg), eq + 1};
    return true;
}

/* %a,%b; the % may be left out. */
static bool take_names(const char *option, char *list, const char **names, size_t *n)
{
    for (char *item; (item = strsep(&list, ","));) {
        if (!*bare(item)) {
            gcut_cli_complain("--%s: expected the name of a value, as in --%s %%h", option, option);
            return false;
        }
        names[(*n)++] = bare(item);
    }
    return true;
}

static bool take(gcut_cli *c, int row, char *arg)
{
    const char *name = gcut_option_rows[row].name;
    gcut_options *o = &c->opt;
    int64_t n = 0;
    int choice = 0;
    bool ok = true;
    if (row == GCUT_OPT_POLICY || row == GCUT_OPT_LAMBDA || row == GCUT_OPT_SAVE_DTYPE) c->rule = name;
    switch (row) {
    case GCUT_OPT_WRT: ok = take_names(name, arg, c->wrt, &o->nwrt); break;
    case GCUT_OPT_LOSS: o->loss = bare(arg); break;
    case GCUT_OPT_FORWARD: o->forward_only = true; break;
    case GCUT_OPT_OPTIMIZER: o->optimizer = arg; break;
    case GCUT_OPT_POLICY: o->policy = arg; break;
    case GCUT_OPT_LAMBDA: ok = take_real(name, arg, &o->lambda); break;
    case GCUT_OPT_BUDGET: ok = take_size(name, arg, &o->budget); break;
    case GCUT_OPT_SAVED_BUDGET:
        o->saved_budget = 0;
        ok = !strcmp(arg, "0") || take_size(name, arg, &o->saved_budget);
        break;
    case GCUT_OPT_PLAN: o->plan = arg; break;
    case GCUT_OPT_SAVE_DTYPE: o->save_dtype = arg; break;
    case GCUT_OPT_MACHINE: o->machine = arg; break;
    case GCUT_OPT_AT: ok = take_at(c, arg); break;
    case GCUT_OPT_SAVE: ok = take_names(name, arg, c->save, &o->nsave); break;
    case GCUT_OPT_RECOMPUTE: ok = take_names(name, arg, c->recompute, &o->nrecompute); break;
    case GCUT_OPT_THREADS: ok = take_int(name, arg, 1, 1024, &n), o->threads = (int)n; break;
    case GCUT_OPT_DUMP: o->dump = arg; break;
    case GCUT_OPT_STAGE:
        ok = take_choice(name, arg, gcut_stage_names, 4, &choice), c->stage = (gcut_stage_name)choice;
        break;
    case GCUT_OPT_NO_LOC: c->no_loc = true; break;
    case GCUT_OPT_SYM: o->symbolic = true; break;
    case GCUT_OPT_IN: ok = take_feed(c, arg); break;
    case GCUT_OPT_SEED: ok = take_int(name, arg, 0, INT64_MAX, &n), o->seed = (uint64_t)n; break;
    case GCUT_OPT_BACKEND:
        ok = take_choice(name, arg, gcut_backend_names, 4, &choice), o->backend = (gcut_backend)choice;
        break;
    case GCUT_OPT_EXACT: o->exact = true; break;
    case GCUT_OPT_STEPS: ok = take_int(name, arg, 1, 1000000, &c->steps); break;
    case GCUT_OPT_OUT: c->out = arg; break;
    case GCUT_OPT_TOL: ok = take_real(name, arg, &c->tol); break;
    case GCUT_OPT_SECONDS: ok = take_real(name, arg, &c->seconds); break;
    case GCUT_OPT_MEASURE: c->measure = true; break;
    case GCUT_OPT_ROUNDS: ok = take_int(name, arg, 1, 100000, &c->rounds); break;
    case GCUT_OPT_POINTS: ok = take_int(name, arg, 1, 10000, &c->points); break;
    case GCUT_OPT_CSV: c->csv = true; break;
    case GCUT_OPT_SVG: c->svg = arg; break;
    case GCUT_OPT_OUTPUT: c->output = arg; break;
    case GCUT_OPT_SHARED: c->shared = true; break;
    case GCUT_OPT_MODEL: c->file = arg; break;
    case GCUT_OPT_CLEAR: c->clear = true; break;
    case GCUT_OPT_JSON: c->json = true; break;
    case GCUT_OPT_HELP: c->help = true; break;
    }
    return ok;
}

/* ---- the walk ---- */

/* The row of a value of getopt_long; -1: none. */
static int row_of(int val)
{
    for (int i = 0; i < GCUT_NOPTS; i++)
        if (val && (val == VAL(i) || val == gcut_option_rows[i].letter)) return i;
    return -1;
}

/* An option that getopt_long does not know here: one of another command, or a typing mistake. */
static void refuse_unknown(const gcut_command *cmd, const char *word)
{
    const char *names[GCUT_NOPTS];
    char stem[64];
    size_t n = 0;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < GCUT_NOPTS; i++) {
        if (takes(cmd, i)) names[n++] = gcut_option_rows[i].name;
        if (strcmp(stem, gcut_option_rows[i].name)) continue;
        gcut_cli_complain("%s has no option --%s; see 'gradcut help %s'", cmd->name, stem, cmd->name);
        return;
    }
    const char *near = gcut_cli_nearest(stem, names, n);
    gcut_cli_complain("there is no option --%s%s%s%s; see 'gradcut help %s'", stem,
                      near ? ", did you mean --" : "", near ? near : "", near ? "?" : "", cmd->name);
}

/* Says what getopt_long, which returned what and set optopt, could not do with word. */
static void refuse(const gcut_command *cmd, int what, const char *word)
{
    int row = row_of(optopt);
    if (row >= 0 && takes(cmd, row)) {
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

bool gcut_cli_takes_file(const gcut_command *cmd)
{
    return cmd != &gcut_commands[GCUT_CMD_ops] && cmd != &gcut_commands[GCUT_CMD_calibrate] &&
           cmd != &gcut_commands[GCUT_CMD_cache];
}

/* [@function] of --model */
static bool take_function(gcut_cli *c, int n, char **word)
{
    if (n == 0) return true;
    if (n == 1 && c->file && word[0][0] == '@' && word[0][1]) {
        c->fn = word[0] + 1;
        return true;
    }
    if (c->cmd != &gcut_commands[GCUT_CMD_ops])
        gcut_cli_complain("%s takes no file: what is '%s'?", c->cmd->name, word[0]);
    else
        gcut_cli_complain("%s takes --model FILE and its @function: what is '%s'?", c->cmd->name,
                          word[n > 1]);
    return false;
}

/* B of cmp A B */
static bool take_second(gcut_cli *c, int n, char **word)
{
    if (n == 1)
        c->value = word[0];
    else
        gcut_cli_complain("cmp takes two plan files, as in cmp a.json b.json; see 'gradcut help cmp'");
    return n == 1;
}

/* [%value] of why, then [@function]: what stands behind the file. */
static bool take_rest(gcut_cli *c, int n, char **word)
{
    bool why = c->cmd == &gcut_commands[GCUT_CMD_why];
    int i = 0;
    if (why && i < n && word[i][0] != '@' && *bare(word[i])) c->value = bare(word[i++]);
    if (i < n && word[i][0] == '@' && word[i][1]) c->fn = word[i++] + 1;
    if (i < n)
        gcut_cli_complain("%s takes one file%s and one @function: what is '%s'?", c->cmd->name,
                          why ? ", one %value" : "", word[i]);
    else if (why && !c->value)
        gcut_cli_complain("why needs a value, as in why FILE %%h; see 'gradcut help why'");
    return i == n && (!why || c->value);
}

/* FILE, then the rest */
static bool take_operands(gcut_cli *c, int n, char **word)
{
    if (c->help) return true;
    if (!gcut_cli_takes_file(c->cmd)) return take_function(c, n, word);
    if (n < 1) {
        gcut_cli_complain("%s needs a file; see 'gradcut help %s'", c->cmd->name, c->cmd->name);
        return false;
    }
    c->file = word[0];
    if (c->cmd == &gcut_commands[GCUT_CMD_cmp]) return take_second(c, n - 1, word + 1);
    return take_rest(c, n - 1, word + 1);
}

static bool make_room(gcut_cli *c, int argc, char **argv)
{
    size_t n = (size_t)argc;
    for (int i = 0; i < argc; i++)
        for (const char *s = argv[i]; *s; s++) n += *s == ',';
    c->at = calloc(n, sizeof *c->at);
    c->feed = calloc(n, sizeof *c->feed);
    c->save = calloc(n, sizeof *c->save);
    c->recompute = calloc(n, sizeof *c->recompute);
    c->wrt = calloc(n, sizeof *c->wrt);
    c->opt.at = c->at;
    c->opt.save = c->save;
    c->opt.recompute = c->recompute;
    c->opt.wrt = c->wrt;
    return c->at && c->feed && c->save && c->recompute && c->wrt;
}

/* The options of one command, as getopt_long wants them. */
static void list_options(const gcut_command *cmd, struct option *longs, char *letters)
{
    *letters++ = ':'; /* tell a missing value from an unknown option */
    for (int i = 0; i < GCUT_NOPTS; i++) {
        const gcut_option_row *o = &gcut_option_rows[i];
        if (!takes(cmd, i)) continue;
        *longs++ = (struct option){o->name, o->argument ? required_argument : no_argument, NULL, VAL(i)};
        if (o->letter) *letters++ = (char)o->letter;
        if (o->letter && o->argument) *letters++ = ':';
    }
    *longs = (struct option){0};
    *letters = 0;
}

int gcut_cli_parse(gcut_cli *c, const gcut_command *cmd, int argc, char **argv)
{
    struct option longs[GCUT_NOPTS + 1];
    char letters[2 * GCUT_NOPTS + 2];
    *c = (gcut_cli){
        .cmd = cmd, .opt = GCUT_OPTIONS_DEFAULT, .steps = 1, .rounds = 11, .points = 12, .tol = -1};
    if (cmd - gcut_commands == GCUT_CMD_bench) c->steps = 20;
    if (!make_room(c, argc, argv)) {
        gcut_cli_complain("out of memory");
        return EXIT_INPUT;
    }
    list_options(cmd, longs, letters);
    opterr = 0;
    for (int val; (val = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (val == '?' || val == ':') {
            refuse(cmd, val, argv[optind - 1]);
            return EXIT_USAGE;
        }
        if (!take(c, row_of(val), optarg)) return EXIT_USAGE;
    }
    if (c->opt.plan && c->rule) {
        gcut_cli_complain("--plan %s says what --%s would: leave one of the two out", c->opt.plan, c->rule);
        return EXIT_USAGE;
    }
    return take_operands(c, argc - optind, argv + optind) ? 0 : EXIT_USAGE;
}

void gcut_cli_free(gcut_cli *c)
{
    free(c->at);
    free(c->feed);
    free(c->save);
    free(c->recompute);
    free(c->wrt);
}
