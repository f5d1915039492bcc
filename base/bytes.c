/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is said where a number of bytes does not fit.
 */
#include "base/bytes.h"

_Noreturn void gcut_bytes_overflow(gcut_env *env, const char *file, const char *what)
{
    gcut_fail(env, GCUT_EDIM, (gcut_place){.file = file}, "plan for smaller sizes",
              "%s would take more than 2^63 - 1 bytes", what);
}
