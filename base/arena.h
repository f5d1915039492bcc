/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arenas: memory that is freed together, with cleanups for what is not memory.
 * Nothing here returns NULL; a failed allocation throws GCUT_ENOMEM.
 */
#ifndef GCUT_BASE_ARENA_H
#define GCUT_BASE_ARENA_H

#include "base/env.h"

/* A child is freed with its parent at the latest; parent NULL = a root. */
gcut_arena *gcut_arena_new(gcut_env *env, gcut_arena *parent);
void gcut_arena_free(gcut_arena *arena); /* NULL is fine */
gcut_env *gcut_arena_env(const gcut_arena *arena);

/* 16-byte aligned; contents undefined / zero. n*size is overflow-checked. */
void *gcut_alloc(gcut_arena *arena, size_t size);
void *gcut_calloc(gcut_arena *arena, size_t n, size_t size);
void *gcut_memdup(gcut_arena *arena, const void *src, size_t size);
char *gcut_strndup(gcut_arena *arena, const char *s, size_t n);
/* "f" of "f.joint" and ".joint"; s itself where it does not end so. */
const char *gcut_without_ending(gcut_arena *arena, const char *s, const char *ending);
char *gcut_printf(gcut_arena *arena, const char *fmt, ...) GCUT_PRINTF(2, 3);
char *gcut_vprintf(gcut_arena *arena, const char *fmt, va_list ap);

/* Ends the use of an array of `size` bytes from this arena: its memory is freed at once where it is large, with
 * the arena where it is not. */
void gcut_release(gcut_arena *arena, void *at, size_t size);

/* undo(what) runs when the arena is freed, last deferred first.  If recording
 * it fails for lack of memory, undo runs at once and GCUT_ENOMEM is thrown. */
void gcut_arena_defer(gcut_arena *arena, void (*undo)(void *), void *what);

/* Growable array in an arena:  GCUT_VEC(int) v = {0}; *GCUT_PUSH(arena, &v) = 3;
 * PUSH may move v.at and free where it was: pointers into it do not survive, indices do. */
#define GCUT_VEC(T)                                                                                          \
    struct {                                                                                                 \
        T *at;                                                                                               \
        uint32_t n, cap;                                                                                     \
    }
#define GCUT_PUSH(arena, v)                                                                                  \
    ((v)->at = gcut_vec_reserve((arena), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at), (v)->at + (v)->n++)
void *gcut_vec_reserve(gcut_arena *arena, void *at, uint32_t n, uint32_t *cap, size_t item);

/* Growable text. at is always NUL-terminated once anything was added. */
typedef struct gcut_text {
    gcut_arena *arena;
    char *at;
    size_t n, cap;
} gcut_text;
void gcut_text_add(gcut_text *t, const char *fmt, ...) GCUT_PRINTF(2, 3);
void gcut_text_addn(gcut_text *t, const char *s, size_t n);

/* Interned strings: equal text, equal pointer, for as long as the arena lives. */
typedef struct gcut_names {
    gcut_arena *arena;
    const char **slot;
    uint32_t n, cap; /* cap: a power of two, or 0 */
} gcut_names;
const char *gcut_intern(gcut_names *names, const char *s, size_t n);
/* The interned string of that text; NULL where there is none. */
const char *gcut_interned(const gcut_names *names, const char *s, size_t n);

#endif
