/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An allocator that counts the blocks that are in use: gcut_ctx_new(&(gcut_allocator){count_blocks,
 * &counter}).
 */
#ifndef GCUT_TESTS_COUNT_BLOCKS_H
#define GCUT_TESTS_COUNT_BLOCKS_H

#include <stdlib.h>

typedef struct block_counter {
    long blocks;
} block_counter;

static inline void *count_blocks(void *user, void *block, size_t size)
{
    block_counter *c = user;
    if (!size) {
        c->blocks -= block != NULL;
        free(block);
        return NULL;
    }
    void *new = realloc(block, size);
    c->blocks += !block && new;
    return new;
}

#endif
