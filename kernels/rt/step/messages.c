/* SPDX-License-Identifier: MIT
 *
 * What went wrong in a step, noted where it is found, and as a sentence for the caller.
 */
#include "gradcut/gradcut_rt.h"

#include <stdio.h>

gcut_rt_status gcut_rt_fail(gcut_rt_error *e, gcut_rt_status s, const char *what, const char *where,
                            int64_t found, int64_t lo, int64_t hi)
{
    if (e) *e = (gcut_rt_error){s, what, where, found, lo, hi};
    return s;
}

/* hi is 1 more than the axis, 0 when the value is not there at all. */
static int other_message(const gcut_rt_error *e, char *buf, size_t size)
{
    static const char *const begin = "the block is of another step, or of other sizes:";
    if (!*e->what) return snprintf(buf, size, "%s it has more values", begin);
    if (!e->hi) return snprintf(buf, size, "%s it has no %s of this type in its place", begin, e->what);
    return snprintf(buf, size, "%s axis %lld of %s has size %lld there, and %lld here", begin,
                    (long long)e->hi - 1, e->what, (long long)e->found, (long long)e->lo);
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
        if (hi == INT64_MAX)
            return snprintf(buf, size, "%s%ssize %s is %lld, but must be at least %lld", where, colon, what,
                            found, lo);
        return hi == lo + 1
                   ? snprintf(buf, size, "%s%ssize %s is %lld, but must be %lld", where, colon, what, found,
                              lo)
                   : snprintf(buf, size, "%s%ssize %s is %lld, but must be at least %lld and below %lld",
                              where, colon, what, found, lo, hi);
    case GCUT_RT_EALIGN:
        return snprintf(buf, size, "%s%s%s is not aligned as it must be", where, colon, what);
    case GCUT_RT_EOVERLAP:
        return *where ? snprintf(buf, size, "the memory of %s, which the step writes, overlaps that of %s",
                                 what, where)
                      : snprintf(buf, size, "the memory of %s overlaps the arena", what);
    case GCUT_RT_EINDEX:
        return snprintf(buf, size, "%s%s%s: index %lld is outside of %lld..%lld", where, colon, what, found,
                        lo, hi - 1);
    case GCUT_RT_EFILE:
        return snprintf(buf, size, "the initial contents of %s are in the file '%s', which the caller loads",
                        what, where);
    case GCUT_RT_EBLOCK:
        return hi ? snprintf(buf, size, "the block %s: %lld, not %lld", what, found, lo)
                  : snprintf(buf, size, "the block %s", what);
    case GCUT_RT_EOTHER: return other_message(e, buf, size);
    case GCUT_RT_EVERSION:
        return snprintf(buf, size,
                        "the step was written for version %lld of gradcut_rt, and is linked with version "
                        "%lld: compile the model again",
                        found, lo);
    }
    return snprintf(buf, size, "%s%sunknown status %d of %s", where, colon, (int)e->status, what);
}
