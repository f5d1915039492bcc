/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parsed command line.
 */
#ifndef GCUT_CLI_OPTIONS_H
#define GCUT_CLI_OPTIONS_H

#include "gradcut/gradcut.h"

typedef enum gcut_command_id {
#define CMD(name, operands, does, example) GCUT_COMMAND_##name,
#include "cli/commands.def"
#undef CMD
    GCUT_NCOMMANDS
} gcut_command_id;

typedef enum gcut_operands {
    GCUT_OPERANDS_MODEL,
    GCUT_OPERANDS_VALUE,
    GCUT_OPERANDS_PLANS,
    GCUT_OPERANDS_CLAIM,
    GCUT_OPERANDS_ONNX,
    GCUT_OPERANDS_NONE
} gcut_operands;

typedef struct gcut_cli gcut_cli;

/* One function for each row of commands.def; g: the function that the operands name, NULL where they name
 * none.  Returns an exit code, its diagnostics already printed. */
#define CMD(name, operands, does, example)                                                                   \
    int gcut_cmd_##name(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g);
#include "cli/commands.def"
#undef CMD

typedef struct gcut_cli_command {
    const char *name;
    gcut_operands operands;
    const char *does, *example;
    int (*run)(gcut_ctx *ctx, const gcut_cli *c, gcut_graph *g);
} gcut_cli_command;
extern const gcut_cli_command gcut_commands[GCUT_NCOMMANDS];

typedef enum gcut_option_kind { /* see gradcut/options.def */
                                GCUT_KIND_FLAG,
                                GCUT_KIND_INT,
                                GCUT_KIND_INT64,
                                GCUT_KIND_UINT64,
                                GCUT_KIND_REAL,
                                GCUT_KIND_BYTES,
                                GCUT_KIND_TEXT,
                                GCUT_KIND_NAME,
                                GCUT_KIND_FILE,
                                GCUT_KIND_FOLDER,
                                GCUT_KIND_CHOICE,
                                GCUT_KIND_NAMES,
                                GCUT_KIND_GLOBS,
                                GCUT_KIND_SIZES,
                                GCUT_KIND_FEEDS
} gcut_option_kind;

/* The rows of gradcut/options.def, then those of cli/options.def. */
typedef struct gcut_option_row {
    gcut_option_kind kind;
    const char *name;
    int letter; /* 0 = none */
    const char *argument, *words;
    double lo, hi, constant;
    const char *unset;
    unsigned commands; /* bit GCUT_COMMAND_x: x takes it */
    const char *help;
    size_t offset, count; /* of the member and, of lists, of the number of items, in gcut_cli */
} gcut_option_row;

typedef enum gcut_option_id {
#define OPTION(member, ...) GCUT_OPTION_##member,
#include "gradcut/options.def"
#include "cli/options.def"
#undef OPTION
    GCUT_NOPTIONS
} gcut_option_id;
extern const gcut_option_row gcut_option_rows[GCUT_NOPTIONS];

typedef enum gcut_show_form { GCUT_SHOW_TEXT, GCUT_SHOW_C, GCUT_SHOW_STABLEHLO } gcut_show_form;

struct gcut_cli {
    const gcut_cli_command *cmd;
    const char *file, *fn; /* fn NULL = the last function */
    const char *value;     /* the second operand: a value's name without its %, or a file */
    gcut_options opt;      /* its lists are the command line's */
    bool given[GCUT_NOPTIONS];

    /* members of cli/options.def; 0 = not given */
    bool help, json, time_passes, passes, csv, no_loc, symbolic, shared, measure, clear, certificate, force,
        all, at_peak, map, no_frontier, tree, levels, convert, partial;
    gcut_stage_name stage;
    gcut_show_form as;
    const char *compare, *samples, *out, *most, *output, *svg, *model, *explain_cost, *match, *against, *why,
        *profile, *flame, *times, *weights, *rename, *save_weights, *into;
    int64_t steps, rounds, points, top, depth;
    double tol, seconds;
    const char *const *train;
    size_t ntrain;
    gcut_feed *feed;
    size_t nfeed;
};

/* Reads argv, whose strings it cuts at commas and at '=' and which must outlive c.  0, or an exit code after
 * a sentence to stderr.  Free it in either case. */
int gcut_cli_parse(gcut_cli *c, const gcut_cli_command *cmd, int argc, char **argv);
void gcut_cli_free(gcut_cli *c);
/* Does the command take the option? */
bool gcut_cli_takes(const gcut_cli_command *cmd, int option);
extern const char *const gcut_backend_names[4];
extern const char *const gcut_stage_names[5];

#endif
