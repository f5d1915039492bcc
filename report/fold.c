/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Folded tables.
 */
#include "report/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/units.h"

enum { LEAST = 3 /* rows of a group: two rows are easier to read than a pattern */ };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *gcut_without_numbers(gcut_arena *a, const char *s)
{
    char *out = gcut_strndup(a, s, strlen(s)), *to = out;
    while (*s) {
        *to++ = is_digit(*s) ? '*' : *s;
        for (s++; to[-1] == '*' && is_digit(*s);) s++;
    }
    *to = 0;
    return out;
}

/* The end of the number or of the other text that begins at s. */
static const char *run_end(const char *s)
{
    const bool number = is_digit(*s);
    while (*s && is_digit(*s) == number) s++;
    return s;
}

/* The name that two names without numbers alike have in common; `with` may have * already. */
static const char *common(gcut_arena *a, const char *with, const char *name)
{
    gcut_text t = {.arena = a};
    while (*name) {
        const char *end = run_end(name), *with_end = *with == '*' ? with + 1 : run_end(with);
        if (!is_digit(*name)) /* the other may have a * after this text */
            with_end = with + (end - name);
        const size_t n = (size_t)(end - name);
        if ((size_t)(with_end - with) == n && !memcmp(with, name, n))
            gcut_text_addn(&t, name, n);
        else
            gcut_text_add(&t, "*");
        name = end;
        with = with_end;
    }
    return t.at ? t.at : "";
}

/* ---- grouping ---- */

typedef struct folding {
    gcut_arena *a;
    const gcut_row *row;
    GCUT_VEC(uint32_t) kept; /* rows that match */
    uint32_t *group;         /* by kept row */
    uint32_t ngroups, *size; /* by group: rows */
} folding;

typedef struct keyed {
    const char *key;
    uint32_t i; /* index of a kept row */
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

static void group_rows(folding *f, bool all)
{
    const uint32_t n = f->kept.n;
    keyed *k = gcut_calloc(f->a, n + 1u, sizeof *k);
    f->group = gcut_calloc(f->a, n + 1u, sizeof *f->group);
    f->size = gcut_calloc(f->a, n + 1u, sizeof *f->size);
    for (uint32_t i = 0; i < n; i++) {
        const gcut_row *r = &f->row[f->kept.at[i]];
        const char *key = all ? "" : gcut_printf(f->a, "%s %s", gcut_without_numbers(f->a, r->name), r->like);
        k[i] = (keyed){key, i};
    }
    if (n) qsort(k, n, sizeof *k, by_key);
    for (uint32_t i = 0; i < n; i++) {
        const bool same = i && !all && !strcmp(k[i].key, k[i - 1].key);
        f->group[k[i].i] = same ? f->ngroups - 1 : f->ngroups++;
        f->size[f->ngroups - 1]++;
    }
}

/* Makes the rows of groups that are too small single ones; numbers the groups by their first rows. */
static void split_small(folding *f)
{
    uint32_t *now = gcut_calloc(f->a, f->ngroups + 1u, sizeof *now), n = 0;
    uint32_t *size = gcut_calloc(f->a, f->kept.n + 1u, sizeof *size);
    for (uint32_t i = 0; i < f->kept.n; i++) {
        const uint32_t g = f->group[i];
        if (f->size[g] < LEAST) {
            f->group[i] = n++;
        } else {
            if (!now[g]) now[g] = ++n;
            f->group[i] = now[g] - 1;
        }
        size[f->group[i]]++;
    }
    f->ngroups = n;
    f->size = size;
}

static int by_size(const void *a, const void *b)
{
    const gcut_row_group *x = a, *y = b;
    if (x->amount != y->amount) return x->amount > y->amount ? -1 : 1;
    return (*x->row > *y->row) - (*x->row < *y->row);
}

gcut_folded gcut_fold(gcut_arena *a, const gcut_row *row, uint32_t n, const gcut_table_options *o,
                      bool by_amount)
{
    folding f = {.a = a, .row = row};
    gcut_folded out = {0};
    const char *match = o->match && *o->match ? o->match + (*o->match == '%') : NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!match || gcut_name_matches(match, row[i].name))
            *GCUT_PUSH(a, &f.kept) = i;
        else
            out.left++, out.left_amount += row[i].amount;
    group_rows(&f, o->all);
    split_small(&f);
    gcut_row_group *g = gcut_calloc(a, f.ngroups + 1u, sizeof *g);
    for (uint32_t i = 0; i < f.kept.n; i++) {
        gcut_row_group *to = &g[f.group[i]];
        const gcut_row *r = &row[f.kept.at[i]];
        uint32_t *rows = to->n ? (uint32_t *)to->row : gcut_calloc(a, f.size[f.group[i]], sizeof *rows);
        to->row = rows;
        to->name = to->n ? common(a, to->name, r->name) : r->name;
        rows[to->n++] = f.kept.at[i];
        to->amount += r->amount;
    }
    if (by_amount && f.ngroups) qsort(g, f.ngroups, sizeof *g, by_size);
    out.n = o->top && o->top < f.ngroups ? (uint32_t)o->top : f.ngroups;
    for (uint32_t i = out.n; i < f.ngroups; i++) out.left += g[i].n, out.left_amount += g[i].amount;
    out.at = g;
    return out;
}

/* ---- texts ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *gcut_group_text(gcut_arena *a, const gcut_row_group *g, const char *const *text)
{
    const char **sorted = gcut_calloc(a, g->n, sizeof *sorted), *second = NULL;
    uint32_t n = 1;
    for (uint32_t i = 0; i < g->n; i++) {
        sorted[i] = text[g->row[i]] ? text[g->row[i]] : "";
        if (!second && strcmp(sorted[i], sorted[0]) != 0) second = sorted[i];
    }
    const char *first = sorted[0];
    if (!second) return first;
    qsort(sorted, g->n, sizeof *sorted, by_text);
    for (uint32_t i = 1; i < g->n; i++) n += strcmp(sorted[i], sorted[i - 1]) != 0;
    return n == 2 ? gcut_printf(a, "%s, %s", first, second)
                  : gcut_printf(a, "%s, %s +%u", first, second, n - 2);
}

const char *gcut_group_name(gcut_arena *a, const gcut_row_group *g, const char *const *name)
{
    const char *first = name[*g->row], *out = first;
    for (uint32_t i = 1; first && i < g->n; i++) {
        const char *s = name[g->row[i]];
        if (!s || strcmp(gcut_without_numbers(a, s), gcut_without_numbers(a, first)) != 0)
            return gcut_group_text(a, g, name);
        out = common(a, out, s);
    }
    return out;
}

const char *gcut_group_each(gcut_arena *a, const gcut_row_group *g, const gcut_row *row)
{
    if (g->n == 1) return "";
    for (uint32_t i = 1; i < g->n; i++)
        if (row[g->row[i]].amount != row[g->row[0]].amount) return gcut_printf(a, "%u", g->n);
    return gcut_printf(a, "%u x %s", g->n, gcut_count_text(a, row[g->row[0]].amount));
}

const char *gcut_left_text(gcut_arena *a, const gcut_folded *f, const char *what)
{
    return f->left ? gcut_printf(a, "%u %s%s, %s", f->left, what, f->left == 1 ? "" : "s",
                                 gcut_bytes_text(a, f->left_amount))
                   : NULL;
}
