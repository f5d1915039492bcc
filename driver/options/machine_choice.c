/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chooses the machine model that gives prices and predictions.
 */
#include "driver/options/machine_choice.h"

#include <string.h>
#include <unistd.h>

#include "driver/ctx.h"

/* A path in XDG_CONFIG_HOME that is not absolute counts as not set, as the XDG base directories say. */
const char *gcut_machine_home(gcut_arena *arena)
{
    const char *config = gcut_variable("XDG_CONFIG_HOME"), *home = gcut_variable("HOME");
    if (config && *config == '/') return gcut_printf(arena, "%s/gradcut/machine.json", config);
    return home ? gcut_printf(arena, "%s/.config/gradcut/machine.json", home) : NULL;
}

const char *gcut_machine_path(gcut_arena *arena, const char *named)
{
    const char *path = named ? named : gcut_variable("GRADCUT_MACHINE");
    if (path) return path;
    path = gcut_machine_home(arena);
    return path && access(path, F_OK) == 0 ? path : NULL;
}

const gcut_machine_model *gcut_machine_find(gcut_arena *arena, const char *named)
{
    const char *path = gcut_machine_path(arena, named);
    if (!path || !strcmp(path, "shipped")) return gcut_machine_model_shipped();
    return gcut_machine_read(arena, path);
}
