/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * doc/tracing.md: its C is part of examples/tracing.c, its output is what that program prints.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *contents(FILE *f)
{
    assert_non_null(f);
    char *text = NULL;
    size_t n = 0;
    if (getdelim(&text, &n, '\0', f) < 0) fail_msg("nothing was read");
    return text;
}

/* Each block of the page that begins so is in `source`; returns their number. */
static int blocks_are_in(const char *page, const char *fence, const char *source, const char *name)
{
    int n = 0;
    for (const char *at = page; (at = strstr(at, fence)); n++) {
        const char *begin = at + strlen(fence), *end = strstr(begin, "```");
        assert_non_null(end);
        char *block = strndup(begin, (size_t)(end - begin));
        if (!strstr(source, block)) fail_msg("%s does not have:\n%s\nbut:\n%s", name, block, source);
        free(block);
        at = end;
    }
    return n;
}

static void page_is_true(void **state)
{
    (void)state;
    FILE *f = fopen(GCUT_SOURCE_DIR "/doc/tracing.md", "r"),
         *c = fopen(GCUT_SOURCE_DIR "/examples/tracing.c", "r");
    FILE *p = popen("GRADCUT_CACHE=off " GCUT_BINARY_DIR "/examples/tracing", "r");
    char *page = contents(f), *source = contents(c), *output = contents(p);
    assert_int_equal(pclose(p), 0);
    assert_int_equal(blocks_are_in(page, "\n```c examples/tracing.c\n", source, "examples/tracing.c"), 8);
    assert_int_equal(blocks_are_in(page, "\n```text\n", output, "its output"), 8);
    fclose(f);
    fclose(c);
    free(page), free(source), free(output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(page_is_true)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
