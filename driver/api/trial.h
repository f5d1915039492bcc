/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the checks share: a graph, values for its parameters, and a report.
 */
#ifndef GCUT_DRIVER_API_TRIAL_H
#define GCUT_DRIVER_API_TRIAL_H

#include "base/json.h"
#include "driver/load/step.h"

/* Contents of a value, in memory. */
typedef struct gcut_given {
    const char *name;
    const void *at;
    int rank;
    const int64_t *dim;
} gcut_given;

typedef struct gcut_trial {
    gcut_graph *g;
    const gcut_options *opt; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_feed *feed;
    size_t nfeed;
    const gcut_given *given; /* beside `feed` */
    size_t ngiven;
    double tol; /* 0 = the default of the check */
    /* set by gcut_trial_report */
    gcut_settings options;
    gcut_check_report *out; /* freed with `keep` */
    gcut_arena *keep;
    gcut_env *env;
    gcut_arena *a; /* scratch; steps are made in it */
} gcut_trial;

/* The caller's options with another backend, without a dump. */
gcut_settings gcut_trial_options(const gcut_trial *c, gcut_backend b);
/* A prepared step with the fed values; values that are not fed are drawn from the same seed in every step. */
gcut_step *gcut_trial_step(const gcut_trial *c, gcut_graph *g, const gcut_settings *opt);
/* The contents of that slot in a prepared step. */
gcut_array gcut_trial_array(gcut_arena *a, const gcut_slot *x);
/* Records the error of a value in the report if it is the largest so far; index -1 counts as 0. */
void gcut_trial_worst(const gcut_trial *c, const char *value, double rel, int64_t index);
/* Begins the JSON of the report, an object that is left open. */
void gcut_trial_json(const gcut_trial *c, gcut_json *j);
/* Runs body on a trial whose first members are set by the public function `call`.  The caller frees the
 * report (gcut_free); NULL after a failure. */
gcut_check_report *gcut_trial_report(const char *call, gcut_trial *c, void (*body)(gcut_trial *c));

/* What gcut_crosscheck does with a trial. */
void gcut_crosscheck_trial(gcut_trial *c);

/* A sentence on the values that identities of real numbers replaced; nothing where there are none. */
void gcut_trial_tell_rewritten(const gcut_pipeline *p, gcut_text *out);

#endif
