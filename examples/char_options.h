/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line of char_gpt.
 */
#ifndef EXAMPLES_CHAR_OPTIONS_H
#define EXAMPLES_CHAR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct settings {
    int64_t layers, heads, channels, context, batch, every, threads, seed, sample;
    int64_t steps; /* < 0: until the seconds are over */
    double seconds, lr, lambda;
    const char *file, *policy, *backend, *dump_gcut, *dump_run;
    bool table, help;
} settings;

/* Prints the usage and exits, or dies, when there is nothing to run. */
settings settings_parse(int argc, char **argv);

#endif
