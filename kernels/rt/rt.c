/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "gradcut/gradcut_rt.h"

#include <stdio.h>
#include <time.h>

gcut_rt_status gcut_rt_fail(gcut_rt_error *e, gcut_rt_status s, const char *what, const char *where,
                            int64_t found, int64_t lo, int64_t hi)
{
    if (e) *e = (gcut_rt_error){s, what, where, found, lo, hi};
    return s;
}

int gcut_rt_message(const gcut_rt_error *e, char *buf, size_t size)
{
    if (size > 0) *buf = '\0';
    const char *what = e->what && *e->what ? e->what : "a value", *where = e->where ? e->where : "";
    const char *colon = *where ? ": " : "";
    long long found = e->found, lo = e->lo, hi = e->hi;
    switch (e->status) {
    case GCUT_RT_OK: return snprintf(buf, size, "no error");
    case GCUT_RT_ENULL: return snprintf(buf, size, "%s%sthe pointer of %s is null", where, colon, what);
    case GCUT_RT_EDIM:
        return hi == lo + 1
                   ? snprintf(buf, size, "%s%ssize %s is %lld, but must be %lld", where, colon, what, found,
                              lo)
                   : snprintf(buf, size, "%s%ssize %s is %lld, but must be at least %lld and below %lld",
                              where, colon, what, found, lo, hi);
    case GCUT_RT_EALIGN:
        return snprintf(buf, size, "%s%s%s is not aligned as it must be", where, colon, what);
    case GCUT_RT_EOVERLAP: return snprintf(buf, size, "%s%s%s overlaps another buffer", where, colon, what);
    case GCUT_RT_EINDEX:
        return snprintf(buf, size, "%s%s%s: index %lld is outside of %lld..%lld", where, colon, what, found,
                        lo, hi - 1);
    }
    return snprintf(buf, size, "%s%sunknown status %d of %s", where, colon, (int)e->status, what);
}

void gcut_rt_lap(gcut_rt_profile *p, int k)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (k >= 0) {
        p->ns[k] += now - p->last;
        p->runs[k]++;
    }
    p->last = now;
}
