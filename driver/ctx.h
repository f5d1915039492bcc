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

#endif
