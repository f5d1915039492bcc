/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of kernels, cut into parts that C compilers take at once: each function is in one part, and
 * declared in all of them.  The first part has all that is no kernel besides.
 */
#include <string.h>

#include "kernels/emit/emit.h"

/* What the C compiler takes its time for, in bytes of kernels, some 30 us each.  Reading the headers takes as
 * long as 1000 of them. */
enum {
    PART = 4096,     /* at least in each part */
    REST = 2500,     /* what every step has besides, */
    REST_SHARE = 20, /* bytes of its tables that count as one byte of code */
    LINE = 100       /* columns of a list of functions */
};

/* ---- the cut ---- */

static size_t weight_of_rest(size_t bytes)
{
    return REST + bytes / REST_SHARE;
}

static size_t weight(const gcut_emission *all, size_t rest)
{
    size_t n = weight_of_rest(rest);
    for (uint32_t i = 0; i < all->functions.n; i++) n += strlen(all->functions.at[i].text);
    return n;
}

uint32_t gcut_count_parts(const gcut_emission *all, size_t rest)
{
    const size_t n = weight(all, rest) / PART, most = all->functions.n ? GCUT_MOST_PARTS : 1;
    return (uint32_t)(n < 1 ? 1 : n > most ? most : n);
}

/* The function after the last one of each part: in their order, cut where the weight so far is nearest to an
 * equal share. */
static void cut(const gcut_emission *all, uint32_t parts, size_t rest, uint32_t *end)
{
    const size_t whole = weight(all, rest);
    size_t before = weight_of_rest(rest);
    uint32_t k = 0;
    for (uint32_t i = 0; i < all->functions.n; i++) {
        const size_t n = strlen(all->functions.at[i].text);
        while (k + 1 < parts && (before + n / 2) * parts >= whole * (k + 1)) end[k++] = i;
        before += n;
    }
    while (k < parts) end[k++] = all->functions.n;
}

/* ---- C ---- */

/* One more name of a list, on a new line when this one is full. */
static void list(gcut_text *c, size_t *column, const char *between, const char *name, const char *label,
                 const char *suffix)
{
    const size_t n = strlen(name) + strlen(label) + strlen(suffix) + 4;
    const bool full = *column + n > LINE;
    gcut_c_add(c, name, "%s%s@_f%s%s", between, full ? "\n    " : *between ? " " : "", label, suffix);
    *column = full ? 4 + n : *column + n;
}

static void declare(const gcut_emission *all, const char *name, gcut_text *c)
{
    static const struct {
        const char *type, *suffix;
    } types[] = {[GCUT_FUNCTION_KERNEL] = {"gcut_rt_kernel_fn", ""},
                 [GCUT_FUNCTION_TILE] = {"gcut_rt_tile_fn", "_rows"},
                 [GCUT_FUNCTION_FILL] = {"gcut_rt_fill_fn", ""}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        size_t column = 0;
        for (uint32_t i = 0; i < all->functions.n; i++) {
            if (all->functions.at[i].type != t) continue;
            const bool first = column == 0;
            if (first) gcut_text_add(c, "GCUT_RT_LOCAL %s ", types[t].type);
            if (first) column = strlen("GCUT_RT_LOCAL ") + strlen(types[t].type) + 1;
            list(c, &column, first ? "" : ",", name, all->functions.at[i].label, types[t].suffix);
        }
        if (column) gcut_text_add(c, ";\n");
    }
    gcut_text_add(c, "\n");
}

static void define(const gcut_function *f, gcut_text *c)
{
    gcut_text_add(c, "%s", f->about);
    for (const char *s = f->text; *s; s++)
        if (*s == *GCUT_C_LABEL)
            gcut_text_add(c, "%s", f->label);
        else
            gcut_text_addn(c, s, 1);
}

void gcut_emit_functions(const gcut_emission *all, const char *name, uint32_t parts, size_t rest,
                         gcut_text *c)
{
    uint32_t end[GCUT_MOST_PARTS], i = 0;
    cut(all, parts, rest, end);
    declare(all, name, c);
    for (uint32_t k = 0; k < parts; k++) {
        if (i == end[k]) continue;
        gcut_text_add(c, "#if GCUT_RT_HAS_PART(%u)\n\n", k);
        while (i < end[k]) define(&all->functions.at[i++], c);
        gcut_text_add(c, "#endif\n\n");
    }
}

void gcut_emit_function_table(const gcut_emission *all, const char *name, gcut_text *c)
{
    size_t column = LINE; /* the first entry begins a line */
    gcut_c_add(c, name, "static gcut_rt_kernel_fn *const @_functions[] = {");
    for (uint32_t i = 0; i < all->functions.n; i++) {
        const gcut_function *f = &all->functions.at[i];
        if (f->type == GCUT_FUNCTION_KERNEL)
            list(c, &column, i ? "," : "", name, f->label, "");
        else
            gcut_text_add(c, "%s NULL", i ? "," : "");
    }
    gcut_text_add(c, "%s\n    NULL,\n};\n\n", all->functions.n ? "," : "");
}
