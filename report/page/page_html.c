/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts and tables as HTML.
 */
#include <stdarg.h>
#include <string.h>

#include "report/page/page.h"
#include "report/svg.h"

void gcut_page_text(gcut_text *out, const char *s)
{
    gcut_svg_escaped(out, s);
}

void gcut_page_say(gcut_text *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    gcut_page_text(out, gcut_vprintf(out->arena, format, list));
    va_end(list);
}

/* The line of the value that the text begins with: "%h2", "%h2 relu"; -1: it begins with none.  *length: of "%h2". */
static int64_t line_of(const gcut_page_lines *l, const char *s, size_t *length)
{
    if (*s != '%') return -1;
    *length = 1 + strcspn(s + 1, " ,*'");
    return s[*length] == '*' ? -1 : gcut_page_find(l, s + 1, *length - 1);
}

/* Blanks in short cells hold, so that "1.8 ns/B" is one line. */
static void put_short(const char *s, gcut_text *out)
{
    const bool hold = strlen(s) <= 20;
    for (size_t n; *s; s += n) {
        n = strcspn(s, " ");
        if (n) gcut_page_text(out, gcut_strndup(out->arena, s, n));
        if (s[n] == ' ') gcut_text_add(out, hold ? "&nbsp;" : " ");
        n += s[n] == ' ';
    }
}

static void put_cell(const gcut_page_lines *l, const char *s, gcut_text *out)
{
    size_t n = 0;
    const int64_t line = line_of(l, s, &n);
    if (line >= 0) {
        gcut_text_add(out, "<a href=\"#v%lld\">", (long long)line);
        gcut_page_text(out, gcut_strndup(out->arena, s, n));
        gcut_text_add(out, "</a>");
        s += n;
    }
    put_short(s, out);
}

void gcut_page_value(const gcut_page_lines *l, const char *name, gcut_text *out)
{
    put_cell(l, gcut_printf(out->arena, "%%%s", name), out);
}

/* A right column has numbers.  End tags that HTML lets one omit are omitted. */
void gcut_page_table(const gcut_table *t, const gcut_page_lines *l, const char *caption, gcut_text *out)
{
    gcut_text_add(out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
    gcut_page_text(out, caption);
    gcut_text_add(out, "\"><table class=\"sort\">\n<caption>");
    gcut_page_text(out, caption);
    gcut_text_add(out, "</caption>\n");
    for (uint32_t r = 0; r < t->nrows; r++) {
        gcut_text_add(out, r == 0 ? "<thead><tr>" : r == 1 ? "</thead><tbody>\n<tr>" : "<tr>");
        for (uint32_t c = 0; c < t->ncols; c++) {
            const char *s = t->cell.at[r * t->ncols + c];
            if (!gcut_table_has(t, c)) continue;
            gcut_text_add(out, "<%s%s>", r ? "td" : "th scope=\"col\"",
                          t->right >> c & 1 ? " class=\"n\"" : "");
            if (s) put_cell(l, s, out);
        }
        gcut_text_add(out, "\n");
    }
    gcut_text_add(out, "</table></div>\n");
    if (t->left) {
        gcut_text_add(out, "<p class=\"left\">left out: ");
        gcut_page_text(out, t->left);
        gcut_text_add(out, "</p>\n");
    }
}
