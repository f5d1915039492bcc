/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the checks share: a graph, values for its parameters, and a report.
 */
#ifndef GCUT_DRIVER_API_CHECK_H
#define GCUT_DRIVER_API_CHECK_H

#include "driver/load/step.h"

typedef struct gcut_trial {
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_feed *feed;
    size_t nfeed;
    double tol; /* 0 = the check's own */
    /* set by gcut_trial_report */
    gcut_settings options;
    gcut_check_report *out; /* which lives as long as `keep` */
    gcut_arena *keep;
    gcut_env *env;
    gcut_arena *a; /* scratch, which the body's steps are made in too */
} gcut_trial;

/* The caller's options for one backend, without a dump. */
gcut_settings gcut_trial_options(const gcut_trial *c, gcut_backend b);
/* A step on the feed, prepared; what is not fed is drawn from the same seed in every step. */
gcut_step *gcut_trial_step(const gcut_trial *c, gcut_graph *g, const gcut_settings *opt);
/* What a prepared step holds in that slot. */
gcut_array gcut_trial_array(gcut_arena *a, const gcut_slot *x);
/* Runs body on a trial, whose first members are set; NULL after a failure.  The caller's (gcut_free). */
gcut_check_report *gcut_trial_report(gcut_trial *c, void (*body)(void *));

#endif
