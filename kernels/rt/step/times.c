/* SPDX-License-Identifier: MIT
 *
 * Times of launches as a file, which `gradcut prof --times` reads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "gradcut/gradcut_rt.h"

int gcut_rt_write_times(const char *path, const gcut_rt_profile *p, int launches, int64_t steps)
{
    FILE *f = fopen(path, "w");
    if (!f) return -1;
    int ok = fprintf(f, "{\"steps\": %" PRId64 ", \"launches\": [", steps) > 0;
    for (int k = 0; ok && k < launches; k++) {
        ok = fprintf(f, "%s\n[%" PRId64 ", %" PRId64, k ? "," : "", p->runs[k], p->ns[k]) > 0;
        for (int t = 0; ok && p->busy_ns && t < p->threads; t++)
            ok = fprintf(f, ", %" PRId64, p->busy_ns[(int64_t)k * p->threads + t]) > 0;
        ok = ok && fputs("]", f) >= 0;
    }
    ok = ok && fputs("]}\n", f) >= 0;
    const int why = errno;
    if (fclose(f) == 0 && ok) return 0;
    if (!ok) errno = why;
    return -1;
}
