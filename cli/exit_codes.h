/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The exit codes of the command (doc/gradcut.1).
 */
#ifndef GCUT_CLI_EXIT_CODES_H
#define GCUT_CLI_EXIT_CODES_H

enum {
    EXIT_FINE,
    EXIT_CHECK,       /* a check failed, or no plan fits */
    EXIT_USAGE,       /* wrong usage */
    EXIT_UNSUPPORTED, /* valid, but not supported */
    EXIT_INPUT        /* wrong input, or a file or tool that failed */
};

#endif
