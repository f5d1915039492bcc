/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files behind the public API share.
 */
#ifndef GCUT_DRIVER_CTX_H
#define GCUT_DRIVER_CTX_H

#include "gradcut/gradcut.h"
#include "graph/graph.h"

struct gcut_ctx {
    gcut_env *env;
};

/* Runs body(arg) in env; any failure ends here, recorded. */
static inline bool gcut_guard(gcut_env *env, void (*body)(void *), void *arg)
{
    return gcut_protect(env, body, arg) == GCUT_OK;
}

/* The same for a builder call made at `at` on g: a failure marks g, and a diagnostic that knows no line gets
 * the caller's.  False at once when a call on g failed before. */
bool gcut_guard_at(gcut_here at, gcut_graph *g, void (*body)(void *), void *arg);

#endif
