/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For LD_PRELOAD: counts every allocation of a program and prints the number when it ends.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* glibc exports its own allocator under these names, so nothing has to be looked up. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long calls;

#define SEEN __attribute__((visibility("default")))

SEEN void *malloc(size_t n)
{
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(n);
}

SEEN void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(n, size);
}

SEEN void *realloc(void *p, size_t n)
{
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(p, n);
}

SEEN void *aligned_alloc(size_t align, size_t n)
{
    atomic_fetch_add(&calls, 1);
    return __libc_memalign(align, n);
}

SEEN int posix_memalign(void **out, size_t align, size_t n)
{
    atomic_fetch_add(&calls, 1);
    *out = __libc_memalign(align, n);
    return *out ? 0 : 12; /* ENOMEM */
}

__attribute__((destructor)) static void report(void)
{
    char line[40];
    int n = snprintf(line, sizeof line, "%ld allocations\n", atomic_load(&calls));
    if (write(2, line, (size_t)n) != n) _exit(1);
}
