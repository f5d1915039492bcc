/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A hash table from 64-bit keys, such as numbers and the addresses of interned names, to 32-bit values.
 */
#ifndef GCUT_BASE_MAP_H
#define GCUT_BASE_MAP_H

#include "base/arena.h"

typedef struct gcut_map_slot {
    uint64_t key;
    uint32_t value;
    bool used;
} gcut_map_slot;

/* {0} is empty. */
typedef struct gcut_map {
    gcut_map_slot *slot;
    uint32_t n, cap; /* cap: a power of two, or 0 */
} gcut_map;

/* The value of the key, which is added with the value 0 when it is new.  The pointer is valid until the next
 * call. */
uint32_t *gcut_map_at(gcut_arena *arena, gcut_map *map, uint64_t key);
/* The value of the key; 0 = not there. */
uint32_t gcut_map_get(const gcut_map *map, uint64_t key);

static inline uint64_t gcut_map_key(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

/* A key for a sequence: h = GCUT_FNV_BEGIN, then h = gcut_fnv(h, x) for each byte or word x (FNV-1a). */
#define GCUT_FNV_BEGIN UINT64_C(14695981039346656037)
static inline uint64_t gcut_fnv(uint64_t h, uint64_t x)
{
    return (h ^ x) * UINT64_C(1099511628211);
}

/* The high bits of a product, because the low bits of an address are its alignment. */
static inline uint32_t gcut_map_hash(uint64_t key)
{
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

#endif
