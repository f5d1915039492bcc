/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages that quote what the code says.
 */
#ifndef TESTS_HARNESS_QUOTATION_H
#define TESTS_HARNESS_QUOTATION_H
#include "harness.h"

#include "base/file.h"

/* The page (its path from the root of the sources) has `want` between the first `begin` and the next `end`;
 * GCUT_BLESS=1 writes it there.  Throws where the page cannot be read. */
static inline void must_quote(gcut_env *env, const char *page, const char *begin, const char *end,
                              const char *want)
{
    const char *path = gcut_printf(env->arena, GCUT_SOURCE_DIR "/%s", page);
    size_t n, size = strlen(want);
    const char *text = gcut_file_read(env->arena, path, 1 << 20, &n);
    const char *from = strstr(text, begin), *to = from ? strstr(from + strlen(begin), end) : NULL;
    if (!to) fail_msg("%s has no place between\n%sand\n%s", page, begin, end);
    from += strlen(begin);
    if ((size_t)(to - from) == size && !memcmp(from, want, size)) return;
    if (!getenv("GCUT_BLESS"))
        fail_msg("%s says\n%.*s\nand should say (GCUT_BLESS=1 writes it)\n%s", page, (int)(to - from), from,
                 want);
    gcut_text t = {.arena = env->arena};
    gcut_text_addn(&t, text, (size_t)(from - text));
    gcut_text_addn(&t, want, size);
    gcut_text_addn(&t, to, n - (size_t)(to - text));
    gcut_file_write(env, path, t.at, t.n);
}

#endif
