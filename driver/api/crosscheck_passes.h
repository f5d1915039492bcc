/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the pass that changes a result.
 */
#ifndef GCUT_DRIVER_API_CROSSCHECK_PASSES_H
#define GCUT_DRIVER_API_CROSSCHECK_PASSES_H

#include "driver/api/trial.h"

/* The body of a trial (gcut_trial_report): interprets the graph after each of these passes on the trial's
 * values, up to the first pass that changes a result, which is the report's culprit.  Throws
 * GCUT_EUNSUPPORTED where an external kernel would run more than once. */
void gcut_crosscheck_passes(gcut_trial *t, const gcut_pass_table *passes);

#endif
