/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The error of a number of bytes above 2^63 - 1.
 */
#include "base/bytes.h"

_Noreturn void gcut_bytes_overflow(gcut_env *env, const char *file, const char *what)
{
    gcut_fail(env, GCUT_EDIM, (gcut_place){.file = file}, "plan for smaller sizes",
              "%s would take more than 2^63 - 1 bytes", what);
}
