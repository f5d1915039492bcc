/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matching the tensors of a file with the parameters, states and keys that they are for.
 */
#ifndef GCUT_DRIVER_EXCHANGE_MATCHING_H
#define GCUT_DRIVER_EXCHANGE_MATCHING_H

#include "gradcut/train.h"
#include "graph/graph.h"
#include "import/tensor_file.h"

typedef struct gcut_wanted {
    const char *name;
    const gcut_type *type;
    bool required;            /* the file must have it, unless the options say `partial` */
    const gcut_tensor *found; /* set by gcut_match_tensors; NULL: the file has none */
} gcut_wanted;

/* Finds the tensor of each of w, and loads it.  `of`: the function, for messages.  Throws GCUT_ETYPE with a list of all
 * that does not fit: another shape or dtype, two tensors for one name, and, unless how->partial, one that the file must
 * have and lacks, and a tensor that is for none of w; GCUT_EUSAGE for a malformed list of names.  With
 * `skip_states` the states of an optimizer for params among w are skipped. */
void gcut_match_tensors(const gcut_graph *of, gcut_tensor_file *f, const gcut_load_options *how,
                        bool skip_states, gcut_wanted *w, uint32_t n);

#endif
