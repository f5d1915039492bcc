/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options as the user gives them, and as the library works with them.
 */
#ifndef GCUT_DRIVER_PIPELINE_OPTIONS_H
#define GCUT_DRIVER_PIPELINE_OPTIONS_H

#include "driver/ctx.h"

/* Options after every default was resolved.  A type of its own, because a member may mean something else
 * than in gcut_options: policy and lambda are set, and lambda 0 is a price of 0. */
typedef struct gcut_settings {
    gcut_backend backend;
    gcut_unbound unbound;
    const char *policy;
    double lambda;
    int64_t budget; /* 0 = no limit */
    bool saved_limited;
    int64_t saved_budget; /* where saved_limited: 0 or more */
    const char *plan, *save_dtype, *machine, *optimizer, *loss, *dump;
    const char *const *cotan, *const *wrt, *const *save, *const *recompute, *const *without;
    size_t ncotan, nwrt, nsave, nrecompute, nwithout;
    const gcut_size *at;
    size_t nat;
    int threads;
    uint64_t seed;
    bool keep_grads, forward_only, apart, f64, profile, line, unfused;
} gcut_settings;

/* Resolves the user's options, `size` bytes (NULL = none).  Throws GCUT_EUSAGE, naming the option, its value
 * and its range, or a member that this library does not know.  Strings and lists stay the user's. */
gcut_settings gcut_settings_of(gcut_env *env, const gcut_options *opt, size_t size);
/* A copy with its strings and lists. */
gcut_settings gcut_settings_copy(gcut_arena *a, const gcut_settings *s);

#endif
