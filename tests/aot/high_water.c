/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For LD_PRELOAD: how many bytes a program has allocated at once.  Every block has its size in front of it,
 * so bytes are counted as they were asked for.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* glibc exports its own allocator under these names, so nothing has to be looked up. */
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

#define SEEN __attribute__((visibility("default")))
#define MAGIC UINT64_C(0x68696768776174e5)

/* The 32 bytes in front of a block; what the dynamic linker allocated before us has none, and is never freed.
 */
typedef struct head {
    void *raw;
    size_t size;
    uint64_t magic, unused;
} head;

static atomic_llong now, high;

static void *take(size_t align, size_t n)
{
    if (align < 16) align = 16;
    if (n > SIZE_MAX - align - sizeof(head)) return NULL;
    char *raw = __libc_malloc(n + align + sizeof(head));
    if (!raw) return NULL;
    char *at = (char *)(((uintptr_t)raw + sizeof(head) + align - 1) & ~(uintptr_t)(align - 1));
    ((head *)(void *)at)[-1] = (head){raw, n, MAGIC, 0};
    long long in_use = atomic_fetch_add(&now, (long long)n) + (long long)n, seen = atomic_load(&high);
    while (in_use > seen && !atomic_compare_exchange_weak(&high, &seen, in_use)) continue;
    return at;
}

static head *head_of(void *p)
{
    head *h = p ? (head *)p - 1 : NULL;
    return h && h->magic == MAGIC ? h : NULL;
}

SEEN void free(void *p)
{
    head *h = head_of(p);
    if (!h) return;
    atomic_fetch_sub(&now, (long long)h->size);
    h->magic = 0;
    __libc_free(h->raw);
}

SEEN void *malloc(size_t n)
{
    return take(16, n);
}

SEEN void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    void *p = take(16, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

SEEN void *realloc(void *p, size_t n)
{
    head *h = head_of(p);
    if (p && n == 0) {
        free(p);
        return NULL;
    }
    void *q = take(16, n);
    if (q && h) memcpy(q, p, h->size < n ? h->size : n);
    if (q) free(p);
    return q;
}

SEEN void *aligned_alloc(size_t align, size_t n)
{
    return take(align, n);
}

SEEN void *memalign(size_t align, size_t n)
{
    return take(align, n);
}

SEEN int posix_memalign(void **out, size_t align, size_t n)
{
    *out = take(align, n);
    return *out ? 0 : 12; /* ENOMEM */
}

SEEN size_t malloc_usable_size(void *p)
{
    head *h = head_of(p);
    return h ? h->size : 0;
}

/* The mark falls to what is in use, which is returned. */
SEEN long long high_water_reset(void);
SEEN long long high_water_reset(void)
{
    atomic_store(&high, atomic_load(&now));
    return atomic_load(&now);
}

SEEN long long high_water(void);
SEEN long long high_water(void)
{
    return atomic_load(&high);
}
