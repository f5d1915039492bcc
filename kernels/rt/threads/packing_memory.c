/* SPDX-License-Identifier: MIT
 *
 * A list of free blocks under a lock.  Thread-local memory would not do: it dies with its thread, or with
 * the library while the thread lives on, and no order of the two frees it safely everywhere.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise */
#endif
#include "kernels/rt/threads/packing_memory.h"

#include <pthread.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum { ALIGN = 64 };
/* Blocks of a huge page or more lie on them: panels are read in strides that miss the TLB otherwise. */
#define HUGE_PAGE ((size_t)2 << 20)

typedef struct gcut_rt_packing_block block;
struct gcut_rt_packing_block {
    block *next;
    size_t bytes;
    pthread_t last; /* who gave it back: it may still be in that thread's caches */
    void *at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block *unused; /* under lock */

/* Held by who borrows the reserve, until it is given back. */
static pthread_mutex_t reserved = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(ALIGN) char reserve[GCUT_RT_RESERVE];

/* The first free block that is large enough, of this thread or else of any; else any free one, else NULL. */
static block *take(size_t bytes)
{
    const pthread_t me = pthread_self();
    pthread_mutex_lock(&lock);
    block **p = &unused;
    for (block **q = &unused, *b; (b = *q); q = &b->next) {
        if (b->bytes < bytes) continue;
        if ((*p)->bytes < bytes || pthread_equal(b->last, me)) p = q;
        if (pthread_equal(b->last, me)) break;
    }
    block *b = *p;
    if (b) *p = b->next;
    pthread_mutex_unlock(&lock);
    return b;
}

static void drop(block *b)
{
    free(b->at);
    free(b);
}

static block *make(size_t bytes)
{
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGN;
    block *b = malloc(sizeof *b);
    if (!b) return NULL;
    b->bytes = (bytes + align - 1) / align * align;
    b->at = aligned_alloc(align, b->bytes);
    if (!b->at) {
        free(b);
        return NULL;
    }
#if defined __linux__ && defined MADV_HUGEPAGE
    if (align == HUGE_PAGE) (void)madvise(b->at, b->bytes, MADV_HUGEPAGE); /* advice: it may be refused */
#endif
    return b;
}

gcut_rt_packing_memory gcut_rt_borrow(size_t bytes)
{
    block *b = take(bytes);
    if (b && b->bytes < bytes) {
        drop(b);
        b = NULL;
    }
    if (!b) b = make(bytes);
    if (!b) {
        pthread_mutex_lock(&reserved);
        return (gcut_rt_packing_memory){reserve, sizeof reserve, NULL};
    }
    return (gcut_rt_packing_memory){b->at, b->bytes, b};
}

void gcut_rt_give_back(gcut_rt_packing_memory w)
{
    block *b = w.block;
    if (!b) {
        pthread_mutex_unlock(&reserved);
        return;
    }
    b->last = pthread_self();
    pthread_mutex_lock(&lock);
    b->next = unused;
    unused = b;
    pthread_mutex_unlock(&lock);
}

/* At the end of the process other threads may still run steps: they hold blocks, and take new ones. */
__attribute__((destructor)) static void free_unused(void)
{
    pthread_mutex_lock(&lock);
    block *all = unused;
    unused = NULL;
    pthread_mutex_unlock(&lock);
    while (all) {
        block *b = all;
        all = b->next;
        drop(b);
    }
}

/* ---- fork ---- */

/* A child has no thread but the one that forked: the list must be whole then, and who held the reserve will
 * not give it back. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    pthread_mutex_unlock(&lock);
    (void)pthread_mutex_init(&reserved, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}
