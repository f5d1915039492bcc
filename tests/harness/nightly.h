/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What takes long is tried in part by the tests, and whole by the target `nightly`, which sets GCUT_NIGHTLY.
 */
#ifndef GCUT_TESTS_NIGHTLY_H
#define GCUT_TESTS_NIGHTLY_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool nightly(void)
{
    const char *s = getenv("GCUT_NIGHTLY");
    return s && *s;
}

#endif
