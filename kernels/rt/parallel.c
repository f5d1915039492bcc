/* SPDX-License-Identifier: MIT
 *
 * How many threads a kernel is worth, and the checks of a step's arguments.
 */
#include "gradcut/gradcut_rt.h"

/* Handing a kernel to a team takes some 0.3 us, and moving its data between caches more: below this much work
 * per thread it does not pay. */
#define GRAIN_PS INT64_C(3000000)

int gcut_rt_worth(int threads, int64_t n, int64_t ps)
{
    if (threads <= 1 || n <= 0) return 1;
    if (n > INT64_MAX / (ps > 0 ? ps : 1)) return threads;
    int64_t most = n * ps / GRAIN_PS;
    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

static int overlap(const void *a, int64_t na, const void *b, int64_t nb)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return na > 0 && nb > 0 && x < y + (uintptr_t)nb && y < x + (uintptr_t)na;
}

int gcut_rt_spans(const gcut_rt_argument *a, int n, const int64_t *size, const void *io, unsigned halves,
                  gcut_rt_span *s)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (!(a[i].halves & halves)) continue;
        s[k] = (gcut_rt_span){NULL, size[a[i].size], a[i].name, a[i].align, a[i].written};
        /* Pointers to objects of any type look the same. */
        memcpy(&s[k++].at, (const char *)io + a[i].offset, sizeof s->at);
    }
    return k;
}

gcut_rt_status gcut_rt_check(const gcut_rt_span *s, int n, const void *arena, int64_t arena_bytes,
                             gcut_rt_error *err)
{
    if (arena_bytes > 0 && !arena) return gcut_rt_fail(err, GCUT_RT_ENULL, "arena", "", 0, 0, 0);
    if (arena_bytes > 0 && (uintptr_t)arena % 64)
        return gcut_rt_fail(err, GCUT_RT_EALIGN, "arena", "", 0, 0, 64);
    for (int i = 0; i < n; i++) {
        if (s[i].bytes == 0) continue;
        if (!s[i].at) return gcut_rt_fail(err, GCUT_RT_ENULL, s[i].name, "", 0, 0, 0);
        if ((uintptr_t)s[i].at % (unsigned)s[i].align)
            return gcut_rt_fail(err, GCUT_RT_EALIGN, s[i].name, "", 0, 0, s[i].align);
        if (overlap(s[i].at, s[i].bytes, arena, arena_bytes))
            return gcut_rt_fail(err, GCUT_RT_EOVERLAP, s[i].name, "", 0, 0, 0);
        for (int j = 0; j < n && s[i].written; j++)
            if (j != i && overlap(s[i].at, s[i].bytes, s[j].at, s[j].bytes))
                return gcut_rt_fail(err, GCUT_RT_EOVERLAP, s[i].name, "", 0, 0, 0);
    }
    return GCUT_RT_OK;
}
