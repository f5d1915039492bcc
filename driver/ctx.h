/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room driver/: the public API (gradcut.h) over all compiler rooms.
 *
 *   takes:  calls of a program; a graph from the builder or from text, gcut_options
 *   gives:  stages, plans, reports, C files, and steps that run
 *   keeps:  the user's graph, which it only reads; a failure is recorded in the context, and nothing leaks
 *
 *   builder/   graph construction from C, op by op
 *   calls/     a graph as C: the calls that build it
 *   trace/     C functions as graphs: values computed at once, recordings, entries compiled for each call
 *   options/   what the user asks for, with defaults resolved: options, sizes, machine model
 *   pipeline/  the passes from a graph to a program, and the search for a plan within a budget
 *   dump/      what every pass makes, in a folder
 *   certificate/ what proves a plan's claims, in its file, and its check
 *   exchange/  models of ONNX and their weights, in and out
 *   load/      the C compiler, the cache, steps: binding, memory, running
 *   measure/   timing: calibration, profiles, measured frontiers
 *   inspect/   structures that describe a graph, a plan or a program, and their texts
 *   api/       the remaining entry points: graphs, plans and files, checks, comparisons
 *
 * This header has what the entry points share: guarded calls, sized structures, results that the caller
 * frees.
 */
#ifndef GCUT_DRIVER_CTX_H
#define GCUT_DRIVER_CTX_H

#include <string.h>

#include "gradcut/gradcut.h"
#include "graph/graph.h"

struct gcut_ctx {
    gcut_env *env;
};

/* Runs body(arg) in env; records any failure there and returns false. */
static inline bool gcut_guard(gcut_env *env, void (*body)(void *), void *arg)
{
    return gcut_protect(env, body, arg) == GCUT_OK;
}

/* Runs body(arg) with a new arena at *arena, a child of env's; after a failure *arena is freed and NULL. */
bool gcut_guard_in(gcut_env *env, gcut_arena **arena, void (*body)(void *), void *arg);

/* Records that `argument` of the public function `call` is NULL, in env or, where that is NULL too, for
 * gcut_last_error(NULL).  GCUT_EUSAGE. */
gcut_status gcut_refuse_null(gcut_env *env, const char *call, const char *argument);
/* Sets what gcut_last_error(NULL) and gcut_last_status(NULL) return on this thread; returns status. */
gcut_status gcut_orphan_error(gcut_status status, const char *text);
/* Leaves the public function with `failure` when x is NULL. */
#define GCUT_NEED(env, x, failure)                                                                           \
    do {                                                                                                     \
        if (!(x)) {                                                                                          \
            gcut_refuse_null(env, __func__, #x);                                                             \
            return failure;                                                                                  \
        }                                                                                                    \
    } while (0)

/* Copies the caller's structure, `size` bytes at `given` (NULL = none), to *own; members beyond `size` are
 * zero. Throws GCUT_EUSAGE when bytes beyond own_size, members that this library does not know, are not zero.
 * `what` is the type's name. */
void gcut_copy_known(gcut_env *env, const char *what, const void *given, size_t size, void *own,
                     size_t own_size);
#define GCUT_COPY_KNOWN(env, type, given, size, own)                                                         \
    gcut_copy_known(env, #type, given, size, own, sizeof(type))
/* Asserts that a type has no padding at its end, so that a new member changes its size. */
#define GCUT_ENDS_WITH(type, last)                                                                           \
    _Static_assert(offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type),                         \
                   #type " has bytes after its last member")

/* An environment variable; NULL where it is not set or empty, and in a setuid program, which must not trust
 * its environment. */
const char *gcut_variable(const char *name);

/* An object that the caller frees by gcut_free, under construction. */
typedef struct gcut_made {
    void *object;        /* zero bytes */
    gcut_arena *keep;    /* freed with the object: what its members point to */
    gcut_arena *scratch; /* freed after the body */
} gcut_made;
/* Makes an object of `size` bytes, which body(arg, …) fills.  NULL after a failure. */
void *gcut_made_by(gcut_env *env, size_t size, void (*body)(void *arg, const gcut_made *m), void *arg);
/* A string that the caller frees: what write(arg, …) adds to a text in a scratch arena.  NULL after a
 * failure. */
char *gcut_string_by(gcut_env *env, void (*write)(void *arg, gcut_text *out), void *arg);

/* A copy of s in the arena; NULL for NULL. */
static inline const char *gcut_keep(gcut_arena *a, const char *s)
{
    return s ? gcut_strndup(a, s, strlen(s)) : NULL;
}
/* A structure in the arena, from its initializers. */
#define GCUT_NEW(arena, type, ...) ((type *)gcut_memdup((arena), &(type){__VA_ARGS__}, sizeof(type)))
/* Sets a member that points to n pointers: item i is the expression `item` of i.  The list has room for one
 * more, so that an empty one is not NULL. */
#define GCUT_LIST(arena, list, n, item)                                                                      \
    do {                                                                                                     \
        const void **at_ = gcut_calloc((arena), (size_t)(n) + 1, sizeof *at_);                               \
        for (uint32_t i = 0; i < (n); i++) at_[i] = (item);                                                  \
        (list) = (void *)at_;                                                                                \
    } while (0)
static inline bool gcut_has_suffix(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n > k && !strcmp(s + n - k, suffix);
}

#endif
