/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A hash table from 64-bit keys to 32-bit values: open addressing, at most half full.
 */
#include "base/map.h"

/* The slot of the key, or the free one where it belongs. */
static gcut_map_slot *slot_of(const gcut_map *map, uint64_t key)
{
    uint32_t k = gcut_map_hash(key) & (map->cap - 1);
    while (map->slot[k].used && map->slot[k].key != key) k = (k + 1) & (map->cap - 1);
    return &map->slot[k];
}

uint32_t *gcut_map_at(gcut_arena *arena, gcut_map *map, uint64_t key)
{
    if (2 * (map->n + 1) > map->cap) {
        gcut_map bigger = {.n = map->n, .cap = map->cap ? 2 * map->cap : 16};
        bigger.slot = gcut_calloc(arena, bigger.cap, sizeof *bigger.slot);
        for (uint32_t k = 0; k < map->cap; k++)
            if (map->slot[k].used) *slot_of(&bigger, map->slot[k].key) = map->slot[k];
        gcut_release(arena, map->slot, map->cap * sizeof *map->slot);
        *map = bigger;
    }
    gcut_map_slot *s = slot_of(map, key);
    map->n += !s->used;
    s->used = true;
    s->key = key;
    return &s->value;
}

uint32_t gcut_map_get(const gcut_map *map, uint64_t key)
{
    return map->cap ? slot_of(map, key)->value : 0;
}
