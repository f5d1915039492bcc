/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is measured, with times that a test gives: gcut_frontier_new_sized and gcut_compare_sized.
 */
#ifndef GCUT_DRIVER_API_TIMED_H
#define GCUT_DRIVER_API_TIMED_H

#include "driver/measure/rounds.h"

gcut_frontier *gcut_frontier_timed(const gcut_timer *timer, size_t size, size_t how_size, gcut_graph *g,
                                   const gcut_options *opt, const gcut_frontier_options *how);
gcut_comparison *gcut_compare_timed(const gcut_timer *timer, size_t size, size_t how_size, gcut_graph *g,
                                    const gcut_options *opt, const gcut_compare_options *how);

#endif
