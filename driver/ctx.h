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

/* A structure that the caller filled, of `size` bytes at `given` (NULL = none), in the *own of this library:
 * members that `size` does not reach are zero.  Throws GCUT_EUSAGE when a member behind *own, which this
 * library does not know, is set.  `what` is the type's name. */
void gcut_copy_known(gcut_env *env, const char *what, const void *given, size_t size, void *own,
                     size_t own_size);
#define GCUT_COPY_KNOWN(env, type, given, size, own)                                                         \
    gcut_copy_known(env, #type, given, size, own, sizeof(type))
/* Of a type that GCUT_COPY_KNOWN reads: its last member ends where it ends, so that a later one enlarges it.
 */
#define GCUT_ENDS_WITH(type, last)                                                                           \
    _Static_assert(offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type),                         \
                   #type " has bytes behind its last member")

/* What the caller frees by gcut_free: `size` bytes of zeros, filled by body(arg), which finds them at *slot
 * and puts everything that they point to into gcut_made_arena.  NULL after a failure. */
void *gcut_made_by(gcut_env *env, size_t size, void **slot, void (*body)(void *), void *arg);
gcut_arena *gcut_made_arena(void *made);
/* A string that the caller frees.  Throws. */
char *gcut_made_string(gcut_env *env, const gcut_text *t);

#endif
