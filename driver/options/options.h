/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options as the user gives them, and as the library works with them.
 */
#ifndef GCUT_DRIVER_OPTIONS_OPTIONS_H
#define GCUT_DRIVER_OPTIONS_OPTIONS_H

#include "base/hash.h"
#include "driver/ctx.h"

/* Options whose defaults are resolved: `policy` is set, `lambda` is not 0, `forward_only` holds where `eval`
 * does, `apart` is false where there is no backward graph; all other members are as the user gives them. */
typedef gcut_options gcut_settings;

/* Resolves the user's options, `size` bytes (NULL = none).  Throws GCUT_EUSAGE, naming the option, its value
 * and its range, or a member that this library does not know.  Strings and lists stay the user's. */
gcut_settings gcut_settings_of(gcut_env *env, const gcut_options *opt, size_t size);
/* A copy with its strings and lists. */
gcut_settings gcut_settings_copy(gcut_arena *a, const gcut_settings *s);
/* The same, asking for the plan of a policy at the given lambda and nothing else about plans: no limit, no
 * plan file, no forced value, no rounding, no dump. */
gcut_settings gcut_settings_plain(const gcut_settings *s, const char *policy);
/* Adds every member that has a row in gradcut/options.def. */
void gcut_settings_hash(gcut_hash *h, const gcut_settings *s);

/* The same for options of tables. */
gcut_table_options gcut_table_options_of(gcut_env *env, const gcut_table_options *given, size_t size);

/* The price of a saved byte in ns. */
static inline double gcut_settings_price(const gcut_settings *s)
{
    return s->lambda == GCUT_LAMBDA_FASTEST ? 0 : s->lambda;
}

#endif
