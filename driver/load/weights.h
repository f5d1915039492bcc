/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameters, states and keys of a step: from a file of tensors, as one, and those of another step.
 */
#ifndef GCUT_DRIVER_LOAD_WEIGHTS_H
#define GCUT_DRIVER_LOAD_WEIGHTS_H

#include "driver/load/step.h"
#include "gradcut/train.h"
#include "import/tensor_file.h"

/* Sets the values of the step that the file has, all or none of them.  Throws GCUT_ETYPE with a list of all that does not
 * fit, GCUT_EUSAGE for a malformed list of names. */
void gcut_step_set_weights(gcut_step *s, gcut_tensor_file *f, const gcut_load_options *how);
/* The value of a prepared step as a tensor, whose data are the step's memory. */
gcut_tensor gcut_slot_tensor(const gcut_slot *x);
/* The parameters, states and keys of a prepared step; their data are the step's memory.  Names and list in `a`. */
gcut_tensors gcut_step_weights(gcut_step *s, gcut_arena *a);
/* Binds the parameters, states and keys of s to those of `training`, at each gcut_step_prepare anew, since these may
 * move.  Throws GCUT_ETYPE with a list of the parameters and states that training does not have. */
void gcut_step_share(gcut_step *s, gcut_step *training);

#endif
