/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Assertions that say of which case they are, and of which values.  Included after cmocka.h, whose assertions
 * it wraps.
 *
 * A loop over seeds, random graphs or sizes begins with
 *
 *   TRY("seed %d", seed);
 *
 * and what fails from there to the end of the block prints that first.  assert_that(x, <=, y) and
 * assert_within(x, y, tolerance) print the values.
 */
#ifndef GCUT_TESTS_CASES_H
#define GCUT_TESTS_CASES_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char tried_case[256];

__attribute__((format(printf, 1, 2))) static inline int try_case(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(tried_case, sizeof tried_case, fmt, ap);
    va_end(ap);
    return 0;
}

static inline void end_case(const int *unused)
{
    (void)unused;
    *tried_case = '\0';
}

/* A test that failed left its blocks by a jump. */
static inline void tell_case(void)
{
    if (*tried_case) print_error("with %s:\n", tried_case);
    *tried_case = '\0';
}

#define TRY(...) __attribute__((cleanup(end_case), unused)) const int try_case_ = try_case(__VA_ARGS__)

/* The operands are evaluated again where it fails. */
#define assert_that(x, op, y)                                                                                \
    do {                                                                                                     \
        if (!((x)op(y)))                                                                                     \
            fail_msg("%s:%d: not %s %s %s: %.17g and %.17g", __FILE__, __LINE__, #x, #op, #y, (double)(x),   \
                     (double)(y));                                                                           \
    } while (0)

/* |x - y| <= tolerance, which no NaN is. */
#define assert_within(x, y, tolerance)                                                                       \
    do {                                                                                                     \
        const double left_ = (x), right_ = (y), most_ = (tolerance);                                         \
        if (!(fabs(left_ - right_) <= most_))                                                                \
            fail_msg("%s:%d: %s is %.17g, %s is %.17g, which is not within %.3g", __FILE__, __LINE__, #x,    \
                     left_, #y, right_, most_);                                                              \
    } while (0)

/* ---- cmocka's, which tell the case ---- */

#undef fail_msg
#undef assert_true
#undef assert_false
#undef assert_non_null
#undef assert_null
#undef assert_int_equal
#undef assert_string_equal
#undef assert_memory_equal
#define fail_msg(...)                                                                                        \
    do {                                                                                                     \
        tell_case();                                                                                         \
        print_error("ERROR: ");                                                                              \
        print_error(__VA_ARGS__);                                                                            \
        print_error("\n");                                                                                   \
        fail();                                                                                              \
    } while (0)
#define told_unless(c) ((c) ? (void)0 : tell_case())
#define wrong_unless(c, text) ((c) ? (void)0 : (tell_case(), _assert_true(0, text, __FILE__, __LINE__)))
#define assert_true(c) wrong_unless(c, #c)
#define assert_false(c) wrong_unless(!(c), "not " #c)
#define assert_non_null(c) wrong_unless((c) != NULL, #c " != NULL")
#define assert_null(c) wrong_unless((c) == NULL, #c " == NULL")
#define assert_int_equal(a, b)                                                                               \
    do {                                                                                                     \
        const LargestIntegralType left_ = cast_to_largest_integral_type(a),                                  \
                                  right_ = cast_to_largest_integral_type(b);                                 \
        told_unless(left_ == right_);                                                                        \
        _assert_int_equal(left_, right_, __FILE__, __LINE__);                                                \
    } while (0)
#define assert_string_equal(a, b)                                                                            \
    do {                                                                                                     \
        const char *left_ = (a), *right_ = (b);                                                              \
        told_unless(!strcmp(left_, right_));                                                                 \
        _assert_string_equal(left_, right_, __FILE__, __LINE__);                                             \
    } while (0)
#define assert_memory_equal(a, b, size)                                                                      \
    do {                                                                                                     \
        const void *left_ = (a), *right_ = (b);                                                              \
        const size_t size_ = (size);                                                                         \
        told_unless(!memcmp(left_, right_, size_));                                                          \
        _assert_memory_equal(left_, right_, size_, __FILE__, __LINE__);                                      \
    } while (0)

#endif
