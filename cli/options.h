/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line, read.
 */
#ifndef GCUT_CLI_OPTIONS_H
#define GCUT_CLI_OPTIONS_H

#include "gradcut/gradcut.h"

enum {
#define CMD(name, does) GCUT_CMD_##name,
#include "cli/commands.def"
#undef CMD
    GCUT_NCMDS
};

typedef struct gcut_cli gcut_cli;

typedef struct gcut_command {
    const char *name, *does;
    int (*run)(gcut_ctx *ctx, const gcut_cli *c);
} gcut_command;
extern const gcut_command gcut_commands[GCUT_NCMDS];

typedef struct gcut_option_row {
    const char *name;
    int letter;           /* 0 = none */
    const char *argument; /* NULL = a flag */
    unsigned commands;    /* bit GCUT_CMD_x: x takes it */
    const char *help;
} gcut_option_row;

enum {
#define OPT(id, name, letter, argument, commands, help) GCUT_OPT_##id,
#include "cli/options.def"
#undef OPT
    GCUT_NOPTS
};
extern const gcut_option_row gcut_option_rows[GCUT_NOPTS];

struct gcut_cli {
    const gcut_command *cmd;
    const char *file, *fn; /* fn NULL = the last function */
    const char *value;     /* the second operand: of why a value, without its %, of cmp a file */
    gcut_options opt;      /* its lists point to the arrays below */
    bool help, json, csv, no_loc, shared, measure, clear;
    gcut_stage_name stage;
    const char *out, *output; /* --out, -o */
    const char *svg;
    const char *rule; /* the last option that says how to plan, which a plan file says too; or NULL */
    int64_t steps, rounds, points;
    double tol;     /* < 0: the check's own */
    double seconds; /* 0: the default */

    /* Each has room for one item per argument and per comma, which no command line exceeds. */
    gcut_size *at;
    gcut_feed *feed;
    const char **save, **recompute, **wrt;
    size_t nfeed;
};

/* Reads argv, whose strings it cuts at commas and at '=' and which must outlive c.  0, or an exit code after
 * a sentence to stderr.  Free it in either case. */
int gcut_cli_parse(gcut_cli *c, const gcut_command *cmd, int argc, char **argv);
void gcut_cli_free(gcut_cli *c);
/* Is its first operand a file? */
bool gcut_cli_takes_file(const gcut_command *cmd);

extern const char *const gcut_backend_names[4];
extern const char *const gcut_stage_names[4];

#endif
