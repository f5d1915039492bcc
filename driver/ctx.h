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

/* The same with an arena of its own at *arena, a child of env's; freed and NULL after a failure. */
bool gcut_guard_in(gcut_env *env, gcut_arena **arena, void (*body)(void *), void *arg);
/* The same for a builder call made at `at` on g: a failure marks g, and a diagnostic that knows no line gets
 * the caller's.  False at once when a call on g failed before. */
bool gcut_guard_at(gcut_here at, gcut_graph *g, void (*body)(void *), void *arg);

/* Records that `argument` of the public function `call` is NULL, in env or, where that is NULL too, for
 * gcut_last_error(NULL).  GCUT_EUSAGE. */
gcut_status gcut_refuse_null(gcut_env *env, const char *call, const char *argument);
/* Leaves the public function with `failure` when x is NULL. */
#define GCUT_NEED(env, x, failure)                                                                           \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            gcut_refuse_null(env, __func__, #x);                                                             \
            return failure;                                                                                  \
        }                                                                                                    \
    } while (0)

/* What the caller frees by gcut_free: `size` bytes of zeros, filled by body(arg), which finds them at *slot
 * and puts everything that they point to into gcut_made_arena.  NULL after a failure. */
void *gcut_made_by(gcut_env *env, size_t size, void **slot, void (*body)(void *), void *arg);
gcut_arena *gcut_made_arena(void *made);
/* A string that the caller frees.  Throws. */
char *gcut_made_string(gcut_env *env, const gcut_text *t);

#endif
