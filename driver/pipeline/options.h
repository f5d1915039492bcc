/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options as the user gives them, and as the library works with them.
 */
#ifndef GCUT_DRIVER_PIPELINE_OPTIONS_H
#define GCUT_DRIVER_PIPELINE_OPTIONS_H

#include "driver/ctx.h"

/* Options in which every default is written out, a type of its own, since a member may mean another thing
 * than the user's: policy and lambda are set, and lambda 0 is a price of 0.  Members are named as there. */
typedef struct gcut_settings {
    gcut_backend backend;
    gcut_unbound unbound;
    const char *policy;
    double lambda;
    int64_t budget; /* 0 = no limit */
    bool saved_limited;
    int64_t saved_budget; /* saved_limited: from 0 on */
    const char *plan, *save_dtype, *machine, *optimizer, *loss, *dump;
    const char *const *cotan, *const *wrt, *const *save, *const *recompute, *const *without;
    size_t ncotan, nwrt, nsave, nrecompute, nwithout;
    const gcut_size *at;
    size_t nat;
    int threads;
    uint64_t seed;
    bool keep_grads, forward_only, apart, f64, profile, line, unfused;
} gcut_settings;

/* From `size` bytes of the user's (opt NULL = none).  Throws GCUT_EUSAGE, naming the option, its value and
 * its range, or a member that this library does not know yet.  Strings and lists stay the user's. */
gcut_settings gcut_settings_of(gcut_env *env, const gcut_options *opt, size_t size);
/* With its strings and lists copied. */
gcut_settings gcut_settings_copy(gcut_arena *a, const gcut_settings *s);

#endif
