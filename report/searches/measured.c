/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured times: medians and ratios with their intervals, and every sample as CSV and JSON.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

const char *gcut_median_text(gcut_arena *a, double ns, double lo, double hi)
{
    if (isnan(ns)) return NULL;
    const char *text = gcut_time_text_to(a, ns, 4);
    if (isnan(lo)) return text;
    return gcut_printf(a, "%s (%s to %s)", text, gcut_time_text_to(a, lo, 4), gcut_time_text_to(a, hi, 4));
}

const char *gcut_ratio_text(gcut_arena *a, double ratio, double lo, double hi, bool separable)
{
    if (isnan(ratio)) return NULL;
    const char *text = gcut_printf(a, "%.3f", ratio);
    if (!isnan(lo)) text = gcut_printf(a, "%s (%.3f to %.3f)", text, lo, hi);
    return separable ? text : gcut_printf(a, "%s, not separable", text);
}

void gcut_write_rounds(int rounds, uint64_t seed, gcut_text *out)
{
    gcut_text_add(
        out,
        "%d round%s in random order, seed %llu; medians with intervals of 95 %%, of %d resamples of the "
        "rounds; not separable: the interval of the ratio contains 1",
        rounds, rounds == 1 ? "" : "s", (unsigned long long)seed, GCUT_RESAMPLES);
    if (rounds < GCUT_LEAST_ROUNDS)
        gcut_text_add(out, ", or is unknown, as for fewer than %d rounds", GCUT_LEAST_ROUNDS);
    gcut_text_add(out, "\n");
}

void gcut_write_again(const char *name, bool separable, gcut_text *out)
{
    if (separable)
        gcut_text_add(
            out, "%s again, the same plan, is separable from %s: no difference as small as theirs counts\n",
            name, name);
}

/* A field, in quotes when needed. */
void gcut_csv_string(gcut_text *out, const char *s)
{
    if (!strpbrk(s, ",\"\n\r")) {
        gcut_text_add(out, "%s", s);
        return;
    }
    gcut_text_add(out, "\"");
    for (; *s; s++) gcut_text_add(out, *s == '"' ? "\"\"" : "%c", *s);
    gcut_text_add(out, "\"");
}

void gcut_write_samples_csv(const gcut_sample *const *sample, size_t n, gcut_text *out)
{
    gcut_text_add(out, "round,turn,row,ns,name\n");
    for (size_t i = 0; i < n; i++) {
        const gcut_sample *s = sample[i];
        gcut_text_add(out, "%d,%d,%zu,%.0f,", s->round, s->turn, s->row, s->ns);
        gcut_csv_string(out, s->name);
        gcut_text_add(out, "\n");
    }
}

void gcut_json_samples(gcut_json *j, const gcut_sample *const *sample, size_t n)
{
    gcut_json_key_array(j, "samples");
    for (size_t i = 0; i < n; i++) {
        const gcut_sample *s = sample[i];
        gcut_json_object(j);
        gcut_json_members(j, "round:i turn:i row:i name:s ns:r", (int64_t)s->round, (int64_t)s->turn,
                          (int64_t)s->row, s->name, s->ns);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}
