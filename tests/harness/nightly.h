/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What takes long is tried in part by the tests, and whole by the target `nightly`, which sets GCUT_NIGHTLY.
 */
#ifndef GCUT_TESTS_NIGHTLY_H
#define GCUT_TESTS_NIGHTLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline bool nightly(void)
{
    const char *s = getenv("GCUT_NIGHTLY");
    return s && *s;
}

/* Whether case k is tried.  With AddressSanitizer a test takes four times as long as without, and its cases differ in
 * values rather than in the code that they reach: there one case of `every` is tried. */
static inline bool in_turn(size_t k, size_t every)
{
#ifdef __SANITIZE_ADDRESS__
    return k % every == 0 || nightly();
#else
    (void)k, (void)every;
    return true;
#endif
}

/* Rounds of random cases: `usual`, three times as many nightly, a third with AddressSanitizer. */
static inline int rounds(int usual)
{
    return nightly() ? 3 * usual : in_turn(1, 3) ? usual : usual / 3;
}

/* A reference loop that a test compares with: what is sanitized is what it is compared with. */
#define REFERENCE __attribute__((no_sanitize("address"), no_sanitize("undefined")))

#endif
