/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options as the user gives them, and as the library works with them.
 */
#ifndef GCUT_DRIVER_OPTIONS_H
#define GCUT_DRIVER_OPTIONS_H

#include "driver/ctx.h"

/* Options in which every default is written out: policy and lambda are set, lambda 0 is a price of 0, and
 * saved_budget is -1 where there is none.  Every gcut_options inside of the library is one of these. */

/* From `size` bytes of the user's (opt NULL = none).  Throws GCUT_EUSAGE, naming the option, its value and
 * its range, or a member that this library does not know yet.  Strings and lists stay the user's. */
gcut_options gcut_options_read(gcut_env *env, const gcut_options *opt, size_t size);
/* With its strings and lists copied. */
gcut_options gcut_options_copy(gcut_arena *a, const gcut_options *opt);

#endif
