/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identifiers, strings and long lines of C.
 */
#include "driver/calls/calls.h"

#include <ctype.h>

#include "base/c_names.h"
#include "base/quote.h"

#define COLUMNS 100

/* ---- identifiers ---- */

gcut_name_set gcut_calls_reserved(gcut_arena *a)
{
    static const char *const own[] = {"ctx", "g", "in", "out", "outer", "user"};
    gcut_name_set set = {.arena = a, .all = {.arena = a}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) gcut_name_set_add(&set, own[i]);
    return set;
}

const char *gcut_calls_identifier(gcut_name_set *taken, const char *name)
{
    char *s = gcut_printf(taken->arena, "%s", name);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    if (!isalpha((unsigned char)*s) || gcut_begins_with_word_of("gcut_ GCUT_ build_", s))
        s = gcut_printf(taken->arena, "v%s%s", isdigit((unsigned char)*s) ? "" : "_", s);
    if (gcut_is_c_keyword(s) || gcut_may_be_c_macro(s) || gcut_has_suffix(s, "_t")) /* a type of a header */
        s = gcut_printf(taken->arena, "%s_", s);
    for (;;) {
        const char *free = gcut_name_set_add(taken, s);
        if (!strchr(free, '.')) return free;
        s = gcut_printf(taken->arena, "%s", free);
        *strchr(s, '.') = '_';
    }
}

/* ---- strings ---- */

const char *gcut_calls_quoted(gcut_arena *a, const char *s)
{
    gcut_text t = {.arena = a};
    gcut_text_add_literal(&t, s);
    return t.at;
}

/* ---- lines ---- */

/* Where to break a line that begins at s, after a comma, and whether that is in a string; NULL = nowhere.  Of the places
 * in the second half of the line it is the last of those in the fewest brackets, else the last in the first half, else the
 * first one. */
static const char *place_to_break(const char *s, size_t room, bool in_string, bool *inside)
{
    const char *best = NULL;
    int depth = 0, least = 0;
    for (const char *c = s; *c; c++) {
        const size_t at = (size_t)(c - s);
        if (best && at >= room) break;
        if (in_string && *c == '\\')
            c++;
        else if (*c == '"')
            in_string = !in_string;
        else if (!in_string && strchr("({[", *c))
            depth++;
        else if (!in_string && strchr(")}]", *c))
            depth--;
        if (*c != ' ' || c == s || c[-1] != ',' || !c[1]) continue;
        if (best && (size_t)(best - s) > room / 2 && depth + in_string > least) continue;
        best = c + 1;
        least = depth + in_string;
        *inside = in_string;
    }
    return best;
}

void gcut_calls_put(gcut_text *out, const char *statement)
{
    const char *s = statement, *stop = s + strlen(s);
    size_t indent = 4;
    bool in_string = false;
    for (;;) {
        bool inside = false;
        const size_t room = COLUMNS - indent - in_string - 1; /* for quotes and the semicolon */
        const char *end = (size_t)(stop - s) > room ? place_to_break(s, room, in_string, &inside) : NULL;
        gcut_text_add(out, "%*s%s", (int)indent, "", in_string ? "\"" : "");
        if (!end) break;
        gcut_text_addn(out, s, (size_t)(end - s) - !inside);
        gcut_text_add(out, inside ? "\"\n" : "\n");
        in_string = inside;
        indent = 8;
        s = end;
    }
    gcut_text_add(out, "%s;\n", s);
}
