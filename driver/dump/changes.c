/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a pass changed.
 */
#include "driver/dump/changes.h"

#include <stdlib.h>
#include <string.h>

#include "report/fold.h"

/* A line that defines a value: "  %h: f32[N] = relu(%z) !3". */
typedef struct line {
    const char *name, *text, *op; /* "h"; "f32[N] = relu(%z)"; "relu" */
} line;

typedef GCUT_VEC(line) lines;

static int by_name(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

/* The values that a line defines, "%last: f32[2], %all: f32[T, 2] = scan(%c, …": all have what makes them. */
static void read_line(gcut_arena *a, const char *s, size_t n, lines *l)
{
    char *text = gcut_strndup(a, s, n), *equals = strstr(text, " = ");
    if (!equals || text[strspn(text, " ")] != '%') return;
    char *location = strstr(equals, ") !");
    if (location) location[1] = 0;
    const char *op = gcut_strndup(a, equals + 3, strcspn(equals + 3, "("));
    for (const char *at = text; (at = strchr(at, '%')) && at < equals; at++) {
        const size_t name = strcspn(at + 1, ": ,"), type = strcspn(at, "]=") + 1;
        *GCUT_PUSH(a, l) =
            (line){gcut_strndup(a, at + 1, name),
                   gcut_printf(a, "%.*s%s", (int)(type - name - 1), at + name + 1, equals), op};
    }
}

static lines read_lines(gcut_arena *a, const char *text)
{
    lines l = {0};
    for (const char *s = text, *end; *s; s = end + (*end != 0)) {
        end = s + strcspn(s, "\n");
        read_line(a, s, (size_t)(end - s), &l);
    }
    if (l.n) qsort(l.at, l.n, sizeof *l.at, by_name);
    return l;
}

static void put_rows(char sign, const line *const *x, uint32_t n, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_row *row = gcut_calloc(a, n + 1u, sizeof *row);
    for (uint32_t i = 0; i < n; i++) row[i] = (gcut_row){x[i]->name, x[i]->op, 0};
    const gcut_folded f = gcut_fold(a, row, n, &(gcut_table_options){0}, false);
    for (uint32_t i = 0; i < f.n; i++) {
        const gcut_row_group *g = &f.at[i];
        gcut_text_add(out, "  %c ", sign);
        if (g->n > 1) gcut_text_add(out, "%u x ", g->n);
        gcut_text_add(out, "%%%s %s\n", g->name, x[*g->row]->op);
    }
}

void gcut_write_changes(const char *before, const char *after, gcut_text *out)
{
    gcut_arena *a = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    gcut_text t = {.arena = a};
    const lines x = read_lines(a, before), y = read_lines(a, after);
    const line **gone = gcut_calloc(a, x.n + 1u, sizeof(*gone)),
               **come = gcut_calloc(a, y.n + 1u, sizeof(*come)),
               **other = gcut_calloc(a, y.n + 1u, sizeof(*other));
    uint32_t ngone = 0, ncome = 0, nother = 0;
    for (uint32_t i = 0, k = 0; i < x.n || k < y.n;) {
        const int names = i == x.n ? 1 : k == y.n ? -1 : strcmp(x.at[i].name, y.at[k].name);
        if (names < 0)
            gone[ngone++] = &x.at[i++];
        else if (names > 0)
            come[ncome++] = &y.at[k++];
        else {
            if (strcmp(x.at[i].text, y.at[k].text) != 0) other[nother++] = &y.at[k];
            i++, k++;
        }
    }
    put_rows('-', gone, ngone, &t);
    put_rows('+', come, ncome, &t);
    put_rows('~', other, nother, &t);
    if (t.n)
        gcut_text_addn(out, t.at, t.n);
    else
        gcut_text_add(out, "  no value\n");
    gcut_arena_free(a);
}
