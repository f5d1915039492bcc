/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chooses the machine model that gives prices and predictions.
 */
#ifndef GCUT_DRIVER_OPTIONS_MACHINE_CHOICE_H
#define GCUT_DRIVER_OPTIONS_MACHINE_CHOICE_H

#include "machine/machine.h"

/* `named` (gcut_options.machine), else GRADCUT_MACHINE, else what calibrate wrote, else the shipped model.
 * "shipped" names that one.  Throws GCUT_EIO and GCUT_ESYNTAX for a file that is no model. */
const gcut_machine_model *gcut_machine_find(gcut_arena *arena, const char *named);
/* The file of that model; "shipped" where that one is named, NULL where it is taken for lack of any other. */
const char *gcut_machine_path(gcut_arena *arena, const char *named);
/* Where calibrate writes, and where the model is looked for: $XDG_CONFIG_HOME/gradcut/machine.json, else
 * ~/.config/gradcut/machine.json; NULL when there is no home. */
const char *gcut_machine_home(gcut_arena *arena);

#endif
