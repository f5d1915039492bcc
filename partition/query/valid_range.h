/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For which sizes a plan stays the cheapest.
 */
#ifndef GCUT_PARTITION_QUERY_VALID_RANGE_H
#define GCUT_PARTITION_QUERY_VALID_RANGE_H

#include "partition/partition.h"

/* Of a plan under the minimum cut's policy, or a plan file of one; the plans of its loop iterations must be
 * the cheapest as well.  At most some forty cuts for each symbol.  Memory from `arena`. */
const gcut_plan_validity *gcut_plan_valid_sizes(const gcut_plan *plan, gcut_arena *arena);

#endif
