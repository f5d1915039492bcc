/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_rt_fill: every element, and nothing after the last, for sizes around its block.
 */
#include "harness.h"

#include "gradcut/gradcut_rt.h"

#define MOST 3000

static void filled(int64_t n, size_t size, const void *value)
{
    static unsigned char at[MOST * 8 + 8];
    memset(at, 0x5A, sizeof at);
    gcut_rt_fill(at, n, size, value);
    for (int64_t i = 0; i < n; i++) assert_memory_equal(at + (size_t)i * size, value, size);
    for (size_t i = (size_t)n * size; i < sizeof at; i++) assert_int_equal(at[i], 0x5A);
}

static void every_element(void **state)
{
    static const double doubles[] = {0, -0.0, 1.5, NAN};
    static const float floats[] = {0, -2.5F};
    static const uint16_t half = 0x3F80;
    static const uint8_t bytes[] = {0, 1};
    (void)state;
    for (int64_t n = 0; n <= MOST; n += n < 70 ? 1 : 97) {
        for (int k = 0; k < 4; k++) filled(n, 8, &doubles[k]);
        for (int k = 0; k < 2; k++) filled(n, 4, &floats[k]), filled(n, 1, &bytes[k]);
        filled(n, 2, &half);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_element)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
