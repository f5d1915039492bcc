/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Columns of text.
 */
#include "base/table.h"

#include <limits.h>
#include <string.h>

void gcut_table_row(gcut_table *t, const char *const *cell)
{
    for (uint32_t c = 0; c < t->ncols; c++) *GCUT_PUSH(t->arena, &t->cell) = cell[c];
    t->nrows++;
}

/* Characters of UTF-8, not bytes. */
static int characters(const char *s)
{
    int n = 0;
    for (; s && *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

bool gcut_table_has(const gcut_table *t, uint32_t column)
{
    bool any = false;
    for (uint32_t r = 1; r < t->nrows && !any; r++) {
        const char *s = t->cell.at[r * t->ncols + column];
        any = s && *s;
    }
    return any;
}

/* 0: omitted. */
static int width_of(const gcut_table *t, uint32_t c)
{
    int widest = 0;
    for (uint32_t r = 0; r < t->nrows; r++) {
        int w = characters(t->cell.at[r * t->ncols + c]);
        if (w > widest) widest = w;
    }
    return gcut_table_has(t, c) ? widest : 0;
}

enum { GAP = 2, NARROWEST = 8, COMFORTABLE = 24 /* of a column that is cut */ };

/* Of a line, with columns that may be cut no wider than that. */
static int64_t line_width(const gcut_table *t, const int *width, int indent, int most)
{
    int64_t all = indent - GAP;
    for (uint32_t c = 0; c < t->ncols; c++)
        if (width[c]) all += GAP + (t->cut >> c & 1 && width[c] > most ? most : width[c]);
    return all;
}

/* Leaves columns out and narrows others until a line fits. */
static void fit(const gcut_table *t, int *width, int indent)
{
    if (t->columns <= 0) return;
    for (uint32_t k = 0; k < t->nlast && line_width(t, width, indent, COMFORTABLE) > t->columns; k++)
        width[t->last[k]] = 0;
    while (line_width(t, width, indent, INT_MAX) > t->columns) {
        uint32_t widest = t->ncols;
        for (uint32_t c = 0; c < t->ncols; c++)
            if (t->cut >> c & 1 && width[c] > NARROWEST && (widest == t->ncols || width[c] > width[widest]))
                widest = c;
        if (widest == t->ncols) return;
        width[widest]--;
    }
}

/* "  no room for: type, at" */
static void print_left_out(const gcut_table *t, const int *width, const char *indent, gcut_text *out)
{
    uint32_t n = 0;
    for (uint32_t k = 0; t->columns > 0 && k < t->nlast; k++)
        if (!width[t->last[k]] && width_of(t, t->last[k]))
            gcut_text_add(out, "%s%s%s", n ? "" : indent, n ? ", " : "no room for: ", t->cell.at[t->last[k]]),
                n++;
    if (n) gcut_text_add(out, "\n");
}

/* The cell in that width. */
static const char *cut(gcut_arena *a, const char *s, int width)
{
    const char *end = s;
    if (characters(s) <= width) return s;
    for (int n = 0; *end; end++) {
        n += ((unsigned char)*end & 0xC0) != 0x80;
        if (n > width - 2) break; /* the first byte of the first character that is left out */
    }
    return gcut_printf(a, "%.*s..", (int)(end - s), s);
}

void gcut_table_print(const gcut_table *t, uint32_t from, uint32_t to, const char *indent, gcut_text *out)
{
    int *width = gcut_calloc(t->arena, (size_t)t->ncols + 1, sizeof *width);
    for (uint32_t c = 0; c < t->ncols; c++) width[c] = width_of(t, c);
    fit(t, width, (int)strlen(indent));
    for (uint32_t r = from; r < to; r++) {
        int blanks = 0; /* pending before the next text */
        gcut_text_add(out, "%s%s", indent, t->bold && !r ? "\033[1m" : "");
        for (uint32_t c = 0; c < t->ncols; c++) {
            if (!width[c]) continue;
            const char *s = cut(t->arena, t->cell.at[r * t->ncols + c], width[c]);
            int gap = width[c] - characters(s);
            bool right = t->right >> c & 1;
            if (s && *s) {
                gcut_text_add(out, "%*s%s", blanks + (right ? gap : 0), "", s);
                blanks = right ? 0 : gap;
            } else {
                blanks += gap;
            }
            blanks += GAP;
        }
        gcut_text_add(out, t->bold && !r ? "\033[0m\n" : "\n");
    }
    print_left_out(t, width, indent, out);
}

void gcut_table_print_all(const gcut_table *t, gcut_text *out)
{
    if (t->nrows > 1) gcut_table_print(t, 0, t->nrows, "  ", out);
    if (t->left) gcut_text_add(out, "  left out: %s\n", t->left);
}
