/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Source lines of the model in emitted C: #line directives, by which a debugger stops at a line of the model.
 *
 * While C is written, a line GCUT_C_LINE "<k>\n" says that the lines after it compute a value of source
 * line k of all->lines, counted from 1; 0 says that they are lines of NAME.c.  Marks are part of a
 * function's text, which kernels that share it have in common.  Once all of NAME.c is written,
 * gcut_emit_lines replaces the marks by as many directives as are needed: before a line of C whose file and
 * number are not those that the compiler has counted to.
 */
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "kernels/emit/emit.h"

const char *gcut_c_line(const gcut_emitter *e, gcut_locid loc)
{
    gcut_emission *all = e->all;
    gcut_arena *a = e->p->module->arena;
    if (!all->line) return "";
    gcut_place at = gcut_loc_place(e->p->module, loc);
    if (!loc || !at.file || at.line <= 0) return GCUT_C_LINE "0\n";
    uint32_t k = 0;
    while (k < all->lines.n && (all->lines.at[k].file != at.file || all->lines.at[k].line != at.line)) k++;
    if (k == all->lines.n) *GCUT_PUSH(a, &all->lines) = at;
    return gcut_printf(a, GCUT_C_LINE "%u\n", k + 1);
}

/* ---- directives ---- */

/* A line of C as a compiler reports it; file NULL: NAME.c. */
typedef struct position {
    const char *file;
    uint32_t line;
} position;

/* in: all of NAME.c with marks, from its first line on, each line ended. */
void gcut_emit_lines(const gcut_emission *all, const char *name, const gcut_text *marked, gcut_text *c)
{
    const char *own = gcut_printf(marked->arena, "%s.c", name);
    uint32_t number = 1, k = 0;     /* of the next line of NAME.c; of the mark in force */
    position counted = {.line = 1}; /* what the compiler takes the next line for */
    for (const char *s = marked->at; *s;) {
        const char *mark = s + strspn(s, " ");
        size_t n = strcspn(s, "\n") + 1;
        if (*mark == *GCUT_C_LINE) {
            k = (uint32_t)strtoul(mark + 1, NULL, 10);
        } else {
            position at = {NULL, number};
            if (k) at = (position){all->lines.at[k - 1].file, (uint32_t)all->lines.at[k - 1].line};
            if (at.file != counted.file || at.line != counted.line) {
                number++;
                if (!k) at.line++; /* the directive takes a line itself */
                gcut_text_add(c, "#line %u ", at.line);
                gcut_text_add_literal(c, k ? at.file : own);
                gcut_text_add(c, "\n");
            }
            gcut_text_addn(c, s, n);
            number++;
            counted = (position){at.file, at.line + 1};
        }
        s += n;
    }
}
