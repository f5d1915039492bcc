/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the peak of every plan of a joint graph.
 */
#ifndef GCUT_DRIVER_SEARCH_PEAK_BOUND_H
#define GCUT_DRIVER_SEARCH_PEAK_BOUND_H

#include "driver/pipeline/pipeline.h"

/* Bytes of the whole step, at the sizes of p, that every plan of p->joint needs: resident bytes, and the most
 * that one contraction reads and writes beside them.  p is at JOINT; adds a graph to its module.  The proof
 * is in peak_bound.c. */
int64_t gcut_peak_bound(gcut_pipeline *p);

#endif
