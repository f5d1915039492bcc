/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dumps: what every pass makes, in a folder.
 */
#ifndef GCUT_DRIVER_DUMP_DUMP_H
#define GCUT_DRIVER_DUMP_DUMP_H

#include "driver/options/options.h"
#include "driver/pipeline/pass.h"

struct gcut_pipeline;

/* The folder of the options, or of GRADCUT_DUMP; NULL = they name none. */
const char *gcut_dump_folder(const gcut_settings *opt);
/* Makes that folder; NULL = none is named. */
struct gcut_dump *gcut_dump_new(const struct gcut_pipeline *p);
/* Writes the graphs that a pass made to a file, and adds it to the index. */
void gcut_dump_pass(const struct gcut_pipeline *p, const gcut_pass_run *r);
/* Writes the plan and the C of a pipeline that ran. */
void gcut_dump_rest(const struct gcut_pipeline *p);

#endif
