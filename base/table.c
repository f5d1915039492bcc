/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Columns of text.
 */
#include "base/table.h"

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

/* 0: omitted. */
static int width_of(const gcut_table *t, uint32_t c)
{
    int widest = 0, below_title = 0;
    for (uint32_t r = 0; r < t->nrows; r++) {
        int w = characters(t->cell.at[r * t->ncols + c]);
        if (w > widest) widest = w;
        if (r > 0 && w > below_title) below_title = w;
    }
    return below_title ? widest : 0;
}

void gcut_table_print(const gcut_table *t, uint32_t from, uint32_t to, const char *indent, gcut_text *out)
{
    int *width = gcut_calloc(t->arena, (size_t)t->ncols + 1, sizeof *width);
    for (uint32_t c = 0; c < t->ncols; c++) width[c] = width_of(t, c);
    for (uint32_t r = from; r < to; r++) {
        int blanks = 0; /* pending before the next text */
        gcut_text_add(out, "%s", indent);
        for (uint32_t c = 0; c < t->ncols; c++) {
            const char *s = t->cell.at[r * t->ncols + c];
            int gap = width[c] - characters(s);
            bool right = t->right >> c & 1;
            if (!width[c]) continue;
            if (s && *s) {
                gcut_text_add(out, "%*s%s", blanks + (right ? gap : 0), "", s);
                blanks = right ? 0 : gap;
            } else {
                blanks += gap;
            }
            blanks += 2;
        }
        gcut_text_add(out, "\n");
    }
}
