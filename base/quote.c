/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8 characters, and string literals of C.
 */
#include <string.h>

#include "base/quote.h"

size_t gcut_utf8_length(const char *s, const char *end)
{
    unsigned char c = (unsigned char)*s;
    size_t n = c < 0x80                ? 1
               : c >= 0xC2 && c < 0xE0 ? 2
               : c >= 0xE0 && c < 0xF0 ? 3
               : c >= 0xF0 && c < 0xF5 ? 4
                                       : 0;
    if (n == 0 || (size_t)(end - s) < n) return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xC0) != 0x80) return 0;
    unsigned char d = n > 1 ? (unsigned char)s[1] : 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) || (c == 0xF0 && d < 0x90) ||
        (c == 0xF4 && d > 0x8F))
        return 0;
    return n;
}

/* C0, DEL, and C1 in two bytes. */
static bool is_control(const char *s)
{
    unsigned char c = (unsigned char)*s;
    return c < ' ' || c == 0x7F || (c == 0xC2 && (unsigned char)s[1] < 0xA0);
}

/* Quotes, backslashes and question marks (trigraphs) are escaped, printable text and UTF-8 are copied,
 * every other byte is written in octal. */
void gcut_text_add_literal(gcut_text *t, const char *s)
{
    const char *end = s + strlen(s);
    gcut_text_add(t, "\"");
    while (s < end) {
        size_t n = is_control(s) ? 0 : gcut_utf8_length(s, end);
        if (!n)
            gcut_text_add(t, "\\%03o", (unsigned char)*s);
        else
            gcut_text_add(t, "%s%.*s", strchr("\"\\?", *s) ? "\\" : "", (int)n, s);
        s += n ? n : 1;
    }
    gcut_text_add(t, "\"");
}
