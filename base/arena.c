/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arenas, growable arrays and text, interned names.
 *
 * An arena is a list of blocks.  Small requests are cut from the newest chunk;
 * chunks double up to CHUNK_MAX, so a graph of any size costs few allocations
 * and a small arena stays small.  A request that would waste a good part of a
 * chunk gets a block of its own and leaves the current chunk open.
 *
 * Whatever takes more than LARGE bytes has a block of its own: an array of that size is resized and freed
 * without its arena.
 */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#define ALIGN 16u
#define CHUNK_MIN ((size_t)1 << 10)
#define CHUNK_MAX ((size_t)1 << 18)
#define LARGE (CHUNK_MAX / 4)

typedef struct block {
    _Alignas(ALIGN) struct block *next;
    struct block *prev;
} block;

typedef struct deferred {
    struct deferred *next;
    void (*undo)(void *);
    void *what;
} deferred;

struct gcut_arena {
    gcut_env *env;
    gcut_arena *parent;
    gcut_arena *child;       /* the newest one */
    gcut_arena *prev, *next; /* siblings: prev is newer */
    block blocks;            /* the list, a circle from here to here: a block leaves it without its arena */
    char *at, *end;          /* what is left of the current chunk */
    size_t chunk;            /* size of the next one */
    deferred *defers;
};

gcut_arena *gcut_arena_new(gcut_env *env, gcut_arena *parent)
{
    gcut_arena *a = gcut_env_alloc(env, NULL, sizeof *a);
    if (!a) gcut_throw(env, GCUT_ENOMEM);
    *a = (gcut_arena){.env = env, .parent = parent, .chunk = CHUNK_MIN};
    a->blocks = (block){&a->blocks, &a->blocks};
    if (!parent) return a;
    a->next = parent->child;
    if (a->next) a->next->prev = a;
    parent->child = a;
    return a;
}

static void unlink_child(gcut_arena *a)
{
    if (a->prev)
        a->prev->next = a->next;
    else if (a->parent)
        a->parent->child = a->next;
    if (a->next) a->next->prev = a->prev;
}

/* Children go first and cleanups before memory: both may still look at what this arena holds. */
void gcut_arena_free(gcut_arena *a)
{
    if (!a) return;
    while (a->child) gcut_arena_free(a->child);
    while (a->defers) {
        deferred *d = a->defers;
        a->defers = d->next;
        d->undo(d->what);
    }
    unlink_child(a);
    gcut_env *env = a->env;
    for (block *b = a->blocks.next, *next; b != &a->blocks; b = next) {
        next = b->next;
        gcut_env_alloc(env, b, 0);
    }
    gcut_env_alloc(env, a, 0);
}

gcut_env *gcut_arena_env(const gcut_arena *arena)
{
    return arena->env;
}

/* ---- blocks ---- */

static char *block_new(gcut_arena *a, size_t size)
{
    block *b = gcut_env_alloc(a->env, NULL, sizeof *b + size);
    if (!b) return NULL;
    *b = (block){a->blocks.next, &a->blocks};
    b->next->prev = b->prev->next = b;
    return (char *)(b + 1);
}

static size_t rounded(size_t size)
{
    return size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
}

/* NULL when memory is missing. */
static void *try_alloc(gcut_arena *a, size_t size)
{
    if (size > PTRDIFF_MAX - 4 * ALIGN) return NULL;
    size = rounded(size);
    if (size > LARGE) return block_new(a, size);
    if (size > (size_t)(a->end - a->at)) {
        if (size > a->chunk / 4) return block_new(a, size);
        char *chunk = block_new(a, a->chunk);
        if (!chunk) return NULL;
        a->at = chunk;
        a->end = chunk + a->chunk;
        if (a->chunk < CHUNK_MAX) a->chunk *= 2;
    }
    void *p = a->at;
    a->at += size;
    return p;
}

void *gcut_alloc(gcut_arena *arena, size_t size)
{
    void *p = try_alloc(arena, size);
    if (!p) gcut_throw(arena->env, GCUT_ENOMEM);
    return p;
}

void *gcut_calloc(gcut_arena *arena, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) gcut_throw(arena->env, GCUT_ENOMEM);
    return memset(gcut_alloc(arena, bytes), 0, bytes);
}

void *gcut_memdup(gcut_arena *arena, const void *src, size_t size)
{
    void *p = gcut_alloc(arena, size);
    return size ? memcpy(p, src, size) : p;
}

char *gcut_strndup(gcut_arena *arena, const char *s, size_t n)
{
    if (n == SIZE_MAX) gcut_throw(arena->env, GCUT_ENOMEM);
    char *p = gcut_alloc(arena, n + 1);
    if (n) memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

const char *gcut_without_ending(gcut_arena *arena, const char *s, const char *ending)
{
    const size_t n = strlen(s), m = strlen(ending);
    return n > m && !strcmp(s + n - m, ending) ? gcut_strndup(arena, s, n - m) : s;
}

char *gcut_vprintf(gcut_arena *arena, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) gcut_throw(arena->env, GCUT_ENOMEM);
    char *s = gcut_alloc(arena, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    return s;
}

char *gcut_printf(gcut_arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = gcut_vprintf(arena, fmt, ap);
    va_end(ap);
    return s;
}

void gcut_arena_defer(gcut_arena *arena, void (*undo)(void *), void *what)
{
    deferred *d = try_alloc(arena, sizeof *d);
    if (!d) {
        undo(what);
        gcut_throw(arena->env, GCUT_ENOMEM);
    }
    *d = (deferred){arena->defers, undo, what};
    arena->defers = d;
}

/* ---- growing ---- */

void gcut_release(gcut_arena *arena, void *at, size_t size)
{
    if (!at || rounded(size) <= LARGE) return;
    block *b = (block *)at - 1;
    b->next->prev = b->prev;
    b->prev->next = b->next;
    gcut_env_alloc(arena->env, b, 0);
}

/* Large arrays are resized.  Of others, the newest allocation of the current chunk grows in place; any other is
 * copied.  Sizes double, so the abandoned copies of a growing array take at most as much as the array. */
static void *grow(gcut_arena *a, void *old, size_t used, size_t had, size_t size)
{
    size_t old_room = old ? rounded(had) : 0, more = rounded(size) - old_room;
    if (old_room > LARGE) {
        block *b = gcut_env_alloc(a->env, (block *)old - 1, sizeof *b + rounded(size));
        if (!b) gcut_throw(a->env, GCUT_ENOMEM);
        b->next->prev = b->prev->next = b;
        return b + 1;
    }
    if (old && a->at && (char *)old + old_room == a->at && rounded(size) <= LARGE &&
        more <= (size_t)(a->end - a->at)) {
        a->at += more;
        return old;
    }
    void *p = gcut_alloc(a, size);
    if (used) memcpy(p, old, used);
    return p;
}

void *gcut_vec_reserve(gcut_arena *arena, void *at, uint32_t n, uint32_t *cap, size_t item)
{
    if (n < *cap) return at;
    if (*cap > UINT32_MAX / 2 || *cap > (size_t)PTRDIFF_MAX / 4 / item) gcut_throw(arena->env, GCUT_ENOMEM);
    uint32_t bigger = *cap ? 2 * *cap : 8;
    at = grow(arena, at, n * item, *cap * item, bigger * item);
    *cap = bigger;
    return at;
}

/* Room for n more characters and the terminating NUL. */
static void text_room(gcut_text *t, size_t n)
{
    if (n >= (size_t)PTRDIFF_MAX / 4 - t->n) gcut_throw(t->arena->env, GCUT_ENOMEM);
    if (t->n + n < t->cap) return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap <= t->n + n) cap *= 2;
    t->at = grow(t->arena, t->at, t->n, t->cap, cap);
    t->cap = cap;
    t->at[t->n] = '\0';
}

void gcut_text_add(gcut_text *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t room = t->cap - t->n;
    int n = vsnprintf(room ? t->at + t->n : NULL, room, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n >= room) {
        /* Undo the cut-off attempt, so that a throw leaves the text as it was. */
        if (room) t->at[t->n] = '\0';
        text_room(t, (size_t)n);
        vsnprintf(t->at + t->n, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (n < 0) gcut_throw(t->arena->env, GCUT_ENOMEM);
    t->n += (size_t)n;
}

void gcut_text_addn(gcut_text *t, const char *s, size_t n)
{
    text_room(t, n);
    if (n) memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = '\0';
}

/* ---- names ---- */

/* What precedes an interned string in memory. */
typedef struct name_head {
    uint64_t hash;
    size_t n;
} name_head;

static uint64_t hash_of(const char *s, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

static const name_head *head_of(const char *name)
{
    return (const name_head *)(const void *)name - 1;
}

static void rehash(gcut_names *names)
{
    uint32_t cap = names->cap ? 2 * names->cap : 64;
    const char **slot = gcut_calloc(names->arena, cap, sizeof *slot);
    for (uint32_t i = 0; i < names->cap; i++) {
        if (!names->slot[i]) continue;
        uint32_t k = (uint32_t)head_of(names->slot[i])->hash & (cap - 1);
        while (slot[k]) k = (k + 1) & (cap - 1);
        slot[k] = names->slot[i];
    }
    gcut_release(names->arena, names->slot, names->cap * sizeof *slot);
    names->slot = slot;
    names->cap = cap;
}

/* The slot of the text, or the free one where it belongs. */
static uint32_t slot_of(const gcut_names *names, uint64_t hash, const char *s, size_t n)
{
    uint32_t k = (uint32_t)hash & (names->cap - 1);
    for (; names->slot[k]; k = (k + 1) & (names->cap - 1)) {
        const name_head *head = head_of(names->slot[k]);
        if (head->hash == hash && head->n == n && (n == 0 || !memcmp(names->slot[k], s, n))) break;
    }
    return k;
}

const char *gcut_interned(const gcut_names *names, const char *s, size_t n)
{
    return names->cap ? names->slot[slot_of(names, hash_of(s, n), s, n)] : NULL;
}

const char *gcut_intern(gcut_names *names, const char *s, size_t n)
{
    if (names->n >= names->cap / 2) rehash(names);
    uint64_t h = hash_of(s, n);
    uint32_t k = slot_of(names, h, s, n);
    if (names->slot[k]) return names->slot[k];
    if (n > PTRDIFF_MAX / 2) gcut_throw(names->arena->env, GCUT_ENOMEM);
    name_head *head = gcut_alloc(names->arena, sizeof *head + n + 1);
    *head = (name_head){h, n};
    char *copy = (char *)(head + 1);
    if (n) memcpy(copy, s, n);
    copy[n] = '\0';
    names->slot[k] = copy;
    names->n++;
    return copy;
}
