/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command lines that make a shared object of a step.
 */
#ifndef GCUT_DRIVER_LOAD_C_COMMANDS_H
#define GCUT_DRIVER_LOAD_C_COMMANDS_H

#include "base/arena.h"

typedef struct gcut_command {
    gcut_arena *arena;
    char **argv; /* ends in NULL; NULL while there are no words */
    uint32_t n, room;
    const char *output; /* the file that it makes */
} gcut_command;

void gcut_command_add(gcut_command *l, const char *word);
/* GRADCUT_CC, else the compiler that gradcut was configured for. */
const char *gcut_c_compiler(void);
/* Its words alone. */
gcut_command gcut_compiler_command(gcut_arena *a);
/* Compiles standard input: part `part` of a source that has several, or all of it. */
#define GCUT_ALL_PARTS UINT32_MAX
gcut_command gcut_compile_command(gcut_arena *a, uint32_t part, const char *object);
/* A step that this process loads is linked with the shared run-time library: linking then takes almost no
 * time, and memory holds the library once.  An object that is written to a file contains the library. */
gcut_command gcut_link_command(gcut_arena *a, const char *const *object, uint32_t n, const char *shared,
                               bool load);

#endif
