/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums and products of numbers of bytes, none of them negative.
 */
#ifndef GCUT_BASE_BYTES_H
#define GCUT_BASE_BYTES_H

#include "base/env.h"

/* Throws GCUT_EDIM: the bytes of `what` do not fit in 64 bits. */
_Noreturn void gcut_bytes_overflow(gcut_env *env, const char *file, const char *what);

static inline int64_t gcut_bytes_add(gcut_env *env, const char *file, const char *what, int64_t a, int64_t b)
{
    int64_t n;
    if (__builtin_add_overflow(a, b, &n)) gcut_bytes_overflow(env, file, what);
    return n;
}

static inline int64_t gcut_bytes_mul(gcut_env *env, const char *file, const char *what, int64_t a, int64_t b)
{
    int64_t n;
    if (__builtin_mul_overflow(a, b, &n)) gcut_bytes_overflow(env, file, what);
    return n;
}

/* Bytes of a cache line.  Memory is placed in whole ones, and begins at one. */
#define GCUT_LINE 64

/* bytes rounded up to whole cache lines. */
static inline int64_t gcut_bytes_lines(gcut_env *env, const char *file, const char *what, int64_t bytes)
{
    return gcut_bytes_add(env, file, what, bytes, GCUT_LINE - 1) / GCUT_LINE * GCUT_LINE;
}

#endif
