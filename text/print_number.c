/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Floats as the shortest decimal that reads back equal.
 */
#include "text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Digits d (no point) times 10^(e - n + 1), laid out plainly or with an exponent; always a float to a reader.
 */
static void put_digits(gcut_text *out, const char *d, int n, int e)
{
    if (e < -4 || e > 15) {
        gcut_text_add(out, n > 1 ? "%c.%se%d" : "%c%se%d", d[0], d + 1, e);
    } else if (e < 0) {
        gcut_text_add(out, "0.%.*s%s", -e - 1, "0000", d);
    } else if (n <= e + 1) {
        gcut_text_add(out, "%s%.*s.0", d, e + 1 - n, "000000000000000");
    } else {
        gcut_text_add(out, "%.*s.%s", e + 1, d, d + e + 1);
    }
}

void gcut_print_double(double x, gcut_dtype t, gcut_text *out)
{
    char buf[40], digits[20];
    if (!gcut_dtype_is_float(t) && x == floor(x) && fabs(x) < 0x1p63) {
        gcut_text_add(out, "%" PRId64, (int64_t)x);
        return;
    }
    x = gcut_round_to(x, t);
    if (isnan(x)) {
        gcut_text_add(out, "nan");
        return;
    }
    if (signbit(x)) gcut_text_add(out, "-");
    x = fabs(x);
    if (isinf(x)) {
        gcut_text_add(out, "inf");
        return;
    }
    for (int p = 0; p < 17; p++) {
        snprintf(buf, sizeof buf, "%.*e", p, x);
        if (gcut_round_to(strtod(buf, NULL), t) == x) break;
    }
    int n = 0, e = 0;
    for (const char *s = buf; *s; s++) {
        if (*s == 'e') {
            e = atoi(s + 1);
            break;
        }
        if (*s >= '0' && *s <= '9') digits[n++] = *s;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    digits[n] = '\0';
    put_digits(out, digits, n, e);
}
