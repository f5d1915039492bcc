/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers with their units.
 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gcut_count_text(gcut_arena *a, int64_t n)
{
    char digits[32], out[48];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n), k = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-') out[k++] = ',';
        out[k++] = digits[i];
    }
    return gcut_strndup(a, out, (size_t)k);
}

const char *gcut_bytes_short(gcut_arena *a, double bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    while (bytes >= 1024 && u < 6) bytes /= 1024, u++;
    if (bytes == 1 && !u) return "1 byte";
    return gcut_printf(a, u ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
}

const char *gcut_bytes_text(gcut_arena *a, int64_t n)
{
    if (n == 1) return "1 byte";
    if (n < 1024) return gcut_printf(a, "%s bytes", gcut_count_text(a, n));
    return gcut_printf(a, "%s bytes (%s)", gcut_count_text(a, n), gcut_bytes_short(a, (double)n));
}

const char *gcut_time_text_to(gcut_arena *a, double ns, int digits)
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    const double most = 1e3 - 0.5 * pow(10, 3 - digits); /* what is rounded to 1000 has the next unit */
    int u = 0;
    while (u < 3 && ns >= most) ns /= 1e3, u++;
    return ns < most ? gcut_printf(a, "%.*g %s", digits, ns, unit[u])
                     : gcut_printf(a, "%.0f %s", ns, unit[u]);
}

const char *gcut_time_text(gcut_arena *a, double ns)
{
    return gcut_time_text_to(a, ns, ns < 1e9 ? 3 : 4);
}

const char *gcut_three_digits(gcut_arena *a, double x)
{
    return gcut_printf(a, x < 999.5 ? "%.3g" : "%.0f", x);
}

const char *gcut_short_real(gcut_arena *a, double x)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.1e", x); /* -1.3e+02 */
    const char *e = strchr(digits, 'e');
    const int exponent = e ? atoi(e + 1) : 0;
    if (!e || exponent > 15 || exponent < -6) return gcut_printf(a, "%.2g", x);
    return exponent < 2 ? gcut_printf(a, "%.2g", x) : gcut_printf(a, "%.0f", strtod(digits, NULL));
}
