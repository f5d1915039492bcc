/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pair as the step that is compiled: its graphs are differentiated, and which values are saved is decided.
 */
#ifndef GCUT_DRIVER_PIPELINE_GIVEN_PAIR_H
#define GCUT_DRIVER_PIPELINE_GIVEN_PAIR_H

#include "driver/pipeline/pipeline.h"

/* Throws GCUT_EUSAGE, naming the option, where the user's graph is the backward graph of a pair and the options
 * ask for other derivatives, another plan or another graph.  With options.forward_only it is a function like any
 * other. */
void gcut_given_check(const gcut_graph *user, const gcut_settings *o);
/* Sets p->given, and p->primal to the joint graph, where p->primal is the backward graph of a pair, unless
 * options.forward_only is set. */
void gcut_given_take(gcut_pipeline *p);
/* Throws GCUT_EUSAGE where the user's graph is the backward graph of a pair: it has no plan. */
void gcut_given_refuse(const gcut_graph *user);

#endif
