/* SPDX-License-Identifier: MIT
 *
 * Writing past the caches.
 *
 * An ordinary store to a line that is in no cache reads it from memory first.  Stores of whole lines that go
 * to memory by themselves do not, and leave in the caches what is there.  They pay for what is larger than
 * the last cache and would be gone from it before it is read.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/isa.h"

enum { LINE = 64 };

/* ---- from which size on ---- */

#define L3_BYTES (INT64_C(32) << 20) /* where CPUID does not say */
/* In a virtual machine it may list the cache of a whole socket, of which the cores at hand fill a part. */
#define MOST_BYTES (INT64_C(64) << 20)

#ifdef __x86_64__
/* The largest cache that the leaf of CPUID lists, or 0.  sysconf adds up all those of a socket, of which one
 * core fills but its own. */
static int64_t listed(unsigned leaf)
{
    int64_t most = 0;
    for (unsigned i = 0; i < 16; i++) {
        unsigned a, b, c, d;
        if (!__get_cpuid_count(leaf, i, &a, &b, &c, &d) || !(a & 31)) break;
        int64_t ways = (b >> 22) + 1, parts = (b >> 12 & 1023) + 1, line = (b & 4095) + 1;
        most = gcut_rt_max(most, ways * parts * line * ((int64_t)c + 1));
    }
    return most;
}

#endif

static int64_t last_cache(void)
{
#ifdef __x86_64__
    enum { INTEL = 4 };
    const unsigned amd = 0x8000001D;
    return gcut_rt_min(gcut_rt_max(listed(INTEL), listed(amd)), MOST_BYTES);
#else
    return 0;
#endif
}

static int64_t decided(void)
{
    const char *told = getenv("GRADCUT_STREAM_BYTES");
    char *end = NULL;
    int64_t n = told ? strtoll(told, &end, 10) : 0;
    if (n <= 0 || *end) n = last_cache(); /* there is no way to report an error here */
    return n > 0 ? n : L3_BYTES;
}

/* Asking takes a microsecond, and fifty of them in a virtual machine. */
int64_t gcut_rt_stream_bytes(void)
{
    static _Atomic int64_t known;
    int64_t n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n) return n;
    n = decided();
    atomic_store_explicit(&known, n, memory_order_relaxed);
    return n;
}

/* ---- lines ---- */

#ifdef __x86_64__
/* n bytes, whole lines; d begins one. */
#define LINES(isa, vec, load, store)                                                                         \
    TARGET_##isa static void lines_##isa(char *d, const char *s, size_t n)                                   \
    {                                                                                                        \
        for (size_t i = 0; i < n; i += LINE)                                                                 \
            for (size_t k = 0; k < LINE; k += sizeof(vec))                                                   \
                store((vec *)(void *)(d + i + k), load((const vec *)(const void *)(s + i + k)));             \
    }
LINES(base, __m128i, _mm_loadu_si128, _mm_stream_si128)
LINES(avx2, __m256i, _mm256_loadu_si256, _mm256_stream_si256)
LINES(avx512, __m512i, _mm512_loadu_si512, _mm512_stream_si512)
#undef LINES
#else
static void lines_base(char *d, const char *s, size_t n)
{
    memcpy(d, s, n);
}
#endif
OVERRIDES(lines);

void gcut_rt_streamed(void)
{
#ifdef __x86_64__
    _mm_sfence();
#endif
}

void gcut_rt_stream(void *dst, const void *src, int64_t bytes)
{
    char *d = dst;
    const char *s = src;
    size_t n = (size_t)bytes, head = -(uintptr_t)d % LINE;
    if (bytes <= 0) return;
    if (head > n) head = n;
    size_t whole = (n - head) / LINE * LINE;
    memcpy(d, s, head);
    if (whole) lines[gcut_rt_isa()](d + head, s + head, whole);
    memcpy(d + head + whole, s + head + whole, n - head - whole);
}
