/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Counts, bytes and times as readable text in arena `a`.
 */
#ifndef GCUT_BASE_UNITS_H
#define GCUT_BASE_UNITS_H

#include "base/arena.h"

const char *gcut_count_text(gcut_arena *a, int64_t n);     /* 34,048 */
const char *gcut_bytes_text(gcut_arena *a, int64_t bytes); /* 34,048 bytes (33.2 KiB) */
const char *gcut_bytes_short(gcut_arena *a, double bytes); /* 33.2 KiB; below 1024, 512 bytes */
const char *gcut_time_text(gcut_arena *a, double ns);      /* 1.23 us */
const char *gcut_three_digits(gcut_arena *a, double x);    /* 8.22, 293, 1210: three digits, no exponent */
const char *gcut_short_real(gcut_arena *a, double x);      /* 1.8, 0.079, 130: two digits, no exponent */
const char *gcut_time_text_to(gcut_arena *a, double ns, int digits);

#endif
