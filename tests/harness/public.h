/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Short forms of calls that many tests make of the public API.
 */
#ifndef GCUT_TESTS_PUBLIC_H
#define GCUT_TESTS_PUBLIC_H

#include <stdio.h>
#include <stdlib.h>

#include "gradcut/gradcut.h"

/* Tests compare backends on whatever values there are. */
#define TEST_OPTIONS ((gcut_options){.unbound = GCUT_UNBOUND_RANDOM})

/* The plan of the cut alone.  The search by flips takes most of the time of a small step, and tests that ask nothing of the
 * plan leave it out. */
static const char *const refine_pass[] = {"refine"};
#define UNREFINED .without = refine_pass, .nwithout = 1
#define UNREFINED_OPTIONS ((gcut_options){.unbound = GCUT_UNBOUND_RANDOM, UNREFINED})

/* false: no such value. */
static inline bool value_of(gcut_step *s, const char *name, gcut_value_info *out)
{
    const gcut_value_info *v = gcut_step_value(s, name);
    *out = v ? *v : (gcut_value_info){0};
    return v != NULL;
}

/* Empty after a failure.  Its texts live as long as the context. */
static inline gcut_check_report crosscheck(gcut_graph *g, const gcut_options *o, const gcut_feed *feed,
                                           size_t n, double tol)
{
    const gcut_check_report *r = gcut_crosscheck(g, o, feed, n, tol);
    return r ? *r : (gcut_check_report){0};
}

static inline gcut_check_report gradcheck(gcut_graph *g, const gcut_options *o, const gcut_feed *feed,
                                          size_t n, double tol)
{
    const gcut_check_report *r = gcut_gradcheck(g, o, feed, n, tol);
    return r ? *r : (gcut_check_report){0};
}

/* Writes what the library made, and frees it; nothing for NULL. */
static inline void print_text(FILE *out, char *made)
{
    if (made) fputs(made, out);
    gcut_free(made);
}

#endif
