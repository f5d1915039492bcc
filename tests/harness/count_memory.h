/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An allocator that counts bytes and refuses a request: gcut_env_new(count_memory, &counter).
 */
#ifndef GCUT_TESTS_COUNT_MEMORY_H
#define GCUT_TESTS_COUNT_MEMORY_H

#include <stdlib.h>

#include "base/env.h"

typedef struct memory_counter {
    size_t now, most; /* bytes that are allocated, and the most at a time */
    size_t limit;     /* more than that at a time stops the program; 0: no limit */
    long requests;    /* for memory, so far */
    long refused;     /* the request that gets none, counted from 1; 0: all get theirs */
} memory_counter;

static inline void *count_memory(void *user, void *block, size_t size)
{
    memory_counter *m = user;
    size_t *head = block ? (size_t *)block - 2 : NULL; /* the block's size; two words keep the alignment */
    const size_t before = head ? *head : 0;
    if (size == 0) {
        m->now -= before;
        free(head);
        return NULL;
    }
    if (++m->requests == m->refused) return NULL;
    GCUT_ASSERT(!m->limit || m->now - before + size <= m->limit);
    head = realloc(head, size + 2 * sizeof *head);
    if (!head) return NULL;
    *head = size;
    m->now += size - before;
    if (m->now > m->most) m->most = m->now;
    return head + 2;
}

#endif
