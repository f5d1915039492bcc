/* SPDX-License-Identifier: MIT
 *
 * The checks of a step's sizes and arguments.
 */
#include "gradcut/gradcut_rt.h"

gcut_rt_status gcut_rt_fits(const double *bytes, int n, gcut_rt_error *err)
{
    for (int i = 0; i < n; i++) {
        if (bytes[i] < (double)GCUT_RT_MAX_BYTES) continue;
        int64_t found = bytes[i] < 0x1p63 ? (int64_t)bytes[i] : INT64_MAX;
        return gcut_rt_fail(err, GCUT_RT_EDIM, "in bytes of a value", "", found, 0, GCUT_RT_MAX_BYTES);
    }
    return GCUT_RT_OK;
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

enum { SORTED = 4096 };

/* Numbers of the spans that are not empty, by address; returns how many. */
static int sort(const gcut_rt_span *s, int n, uint16_t order[SORTED])
{
    /* Shell's sort with the gaps of Ciura 2001: in place, where qsort knows no context to compare by. */
    static const int gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    int m = 0;
    for (int i = 0; i < n; i++)
        if (s[i].bytes > 0) order[m++] = (uint16_t)i;
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int i = gaps[g], j; i < m; i++) {
            uint16_t x = order[i];
            for (j = i; j >= gaps[g] && (uintptr_t)s[order[j - gaps[g]]].at > (uintptr_t)s[x].at;
                 j -= gaps[g])
                order[j] = order[j - gaps[g]];
            order[j] = x;
        }
    return m;
}

/* No span that is written overlaps another one.  In the order of addresses a span overlaps one before it when
 * it begins before the furthest end so far: of all when it is written itself, else of those that are. */
static int disjoint(const gcut_rt_span *s, int n)
{
    uint16_t order[SORTED];
    uintptr_t all = 0, written = 0;
    if (n > SORTED) return 0;
    int m = sort(s, n, order);
    for (int i = 0; i < m; i++) {
        const gcut_rt_span *x = &s[order[i]];
        uintptr_t at = (uintptr_t)x->at, end = at + (uintptr_t)x->bytes;
        if (at < (x->written ? all : written)) return 0;
        if (end > all) all = end;
        if (x->written && end > written) written = end;
    }
    return 1;
}

/* The first written span that overlaps another one, *with, or -1. */
static int entangled(const gcut_rt_span *s, int n, int *with)
{
    if (disjoint(s, n)) return -1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n && s[i].written; j++) {
            *with = j;
            if (j != i && overlap(s[i].at, s[i].bytes, s[j].at, s[j].bytes)) return i;
        }
    return -1;
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
        if ((uintptr_t)s[i].at & (unsigned)(s[i].align - 1)) /* a power of two */
            return gcut_rt_fail(err, GCUT_RT_EALIGN, s[i].name, "", 0, 0, s[i].align);
        if (overlap(s[i].at, s[i].bytes, arena, arena_bytes))
            return gcut_rt_fail(err, GCUT_RT_EOVERLAP, s[i].name, "", 0, 0, 0);
    }
    int with, bad = entangled(s, n, &with);
    return bad < 0 ? GCUT_RT_OK : gcut_rt_fail(err, GCUT_RT_EOVERLAP, s[bad].name, s[with].name, 0, 0, 0);
}
