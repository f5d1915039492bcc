/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Room base/: memory, errors, files, hashes, JSON and columns of text, for every other room.
 *
 *   takes:  an allocator and hooks of the host program
 *   gives:  arenas, vectors, text and interned names (arena.h); diagnostics with file, line and hint, and
 *           the only way out of a failed operation (this file); whole files; hash tables; BLAKE2b; a JSON
 *           reader and writer; columns of text; the nearest of some names
 *   keeps:  no function returns NULL for lack of memory; nothing outlives its arena
 *
 * Failure discipline.  Code below the public API never checks an allocation and never unwinds by hand.  On
 * an error it calls gcut_throw, or gcut_fail, which records a diagnostic first; control returns to the
 * innermost gcut_protect.  Three rules make that safe; doc/hacking.md, E3, lists the callers of gcut_protect:
 *
 *   E1  every block of memory belongs to an arena (base/arena.h);
 *   E2  every other resource (FILE*, foreign handle, shared object) is handed
 *       to gcut_arena_defer in the statement after it was acquired;
 *   E3  gcut_protect is the only caller of setjmp.
 *
 * Locale.  Inside of the outermost gcut_protect the thread's locale is "C", so that printf, strtod and the
 * libraries built on them use one number format.  Hooks and the allocator run in the host's locale.
 */
#ifndef GCUT_BASE_ENV_H
#define GCUT_BASE_ENV_H

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gradcut/status.h"

#define GCUT_PRINTF(f, a) __attribute__((format(printf, f, a)))

typedef struct gcut_arena gcut_arena;

/* Same contract as realloc; size 0 frees and returns NULL. */
typedef void *(*gcut_alloc_fn)(void *user, void *block, size_t size);

/* A place in a user's file.  line and col count from 1; 0 = unknown. */
typedef struct gcut_place {
    const char *file;
    int line, col;
} gcut_place;

typedef struct gcut_diag {
    gcut_status status;
    gcut_place at;
    const char *message; /* one sentence, no newline */
    const char *hint;    /* NULL or what to do about it; may have several lines */
    const char
        *source; /* NULL or the offending line, without its newline; of a long line the part around at.col */
    int caret;   /* at.col in it */
    const char *text; /* the result of gcut_diag_text; NULL until first asked for */
} gcut_diag;

/* Text that diagnostics quote from; registered by the reader of a file. */
typedef struct gcut_source {
    const char *file;
    const char *text;
    size_t size, room; /* of text: bytes, and capacity */
    struct gcut_source *next;
} gcut_source;

struct gcut_pass_time;

/* Callbacks of the host program during long operations; members may be NULL. */
typedef struct gcut_hook {
    bool (*progress)(void *user, const char *what, size_t done, size_t total);
    void (*log)(void *user, const char *sentence);
    void *user;
    void (*pass)(void *user, const struct gcut_pass_time *time); /* of gradcut.h */
} gcut_hook;

typedef struct gcut_env {
    gcut_alloc_fn alloc;
    void *alloc_user;
    jmp_buf *catcher;   /* innermost gcut_protect, NULL outside of any */
    locale_t host;      /* the caller's locale, inside of gcut_protect */
    gcut_status status; /* what the throw in flight carries */
    gcut_arena *arena;  /* lives as long as the environment */
    gcut_arena *diag_arena;
    gcut_diag *diags;
    uint32_t ndiags, cap_diags;
    uint32_t first;          /* diags[first..) are of the current outermost gcut_protect */
    uint32_t last_first;     /* diags[last_first..) are of the last outermost gcut_protect that failed */
    gcut_status last_status; /* what it returned; GCUT_OK when none failed since gcut_diags_clear */
    uint32_t cleared;        /* how often gcut_diags_clear was called */
    const char *last_text;   /* those diagnostics as text; NULL until first asked for */
    gcut_source *sources;
    /* The place and the hint of an error that states none; gcut_protect restores them when it returns. */
    gcut_place place;
    const char *place_hint;
    gcut_hook hook;
    struct gcut_external *externals; /* C functions of the host program that a training step calls
                                      * (graph/external.h) */
    uint32_t serial;                 /* the next unique number within the environment */
} gcut_env;

/* alloc NULL = realloc/free.  Returns NULL when memory for it is missing. */
gcut_env *gcut_env_new(gcut_alloc_fn alloc, void *user);
void gcut_env_free(gcut_env *env);
/* The environment's allocator, in the host's locale. */
void *gcut_env_alloc(gcut_env *env, void *block, size_t size);

/* Runs body(arg); returns GCUT_OK or what was thrown inside it. Nests. */
gcut_status gcut_protect(gcut_env *env, void (*body)(void *), void *arg);
_Noreturn void gcut_throw(gcut_env *env, gcut_status status);

/* Records a diagnostic and goes on (the verifier reports several). */
void gcut_report(gcut_env *env, gcut_status status, gcut_place at, const char *hint, const char *fmt, ...)
    GCUT_PRINTF(5, 6);
/* Records a diagnostic and throws its status. hint may be NULL. */
_Noreturn void gcut_fail(gcut_env *env, gcut_status status, gcut_place at, const char *hint, const char *fmt,
                         ...) GCUT_PRINTF(5, 6);
/* Sets the place and the source line of a recorded diagnostic. */
void gcut_diag_locate(gcut_env *env, gcut_diag *d, gcut_place at);
void gcut_diags_clear(gcut_env *env);
/* Removes all but the first n, after a failed part of an operation that continues. */
void gcut_diags_drop(gcut_env *env, uint32_t n);
/* Tells the progress hook; throws GCUT_ECANCELLED when it says so. */
void gcut_env_progress(gcut_env *env, const char *what, size_t done, size_t total);
/* Tells the pass hook. */
void gcut_env_pass(gcut_env *env, const struct gcut_pass_time *time);
/* A sentence for the log hook. */
void gcut_env_log(gcut_env *env, const char *fmt, ...) GCUT_PRINTF(2, 3);
/* Text and file name are copied. */
void gcut_source_add(gcut_env *env, const char *file, const char *text, size_t size);

/* "file:line:col: error: message\n  source line\n  ^\n  hint: …\n" into the arena. */
const char *gcut_diag_text(gcut_arena *arena, const gcut_diag *diag);

/* Our own bug: prints the broken invariant and aborts.  Never for user input. */
_Noreturn void gcut_bug(const char *file, int line, const char *what);
/* A place that cannot be reached. */
#define GCUT_NEVER(what) gcut_bug(__FILE__, __LINE__, what)
#define GCUT_ASSERT(x) ((x) ? (void)0 : gcut_bug(__FILE__, __LINE__, #x))

#endif
