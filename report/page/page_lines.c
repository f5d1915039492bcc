/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lines of the text IR, with what the plan and the kernels say of the values that they define.
 */
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

/* ---- names ---- */

/* A name's part of the text: it is followed by something that no name has. */
static size_t name_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
}

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
    const int order = memcmp(a, b, na < nb ? na : nb);
    return order ? order : (na > nb) - (na < nb);
}

static int by_name(const void *a, const void *b)
{
    const gcut_page_name *x = a, *y = b;
    const int order = compare(x->at, x->length, y->at, y->length);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int64_t find_exactly(const gcut_page_lines *l, const char *name, size_t length)
{
    uint32_t lo = 0, hi = l->names.n;
    while (lo < hi) {
        const uint32_t mid = (lo + hi) / 2;
        const gcut_page_name *x = &l->names.at[mid];
        const int order = compare(name, length, x->at, x->length);
        if (!order) return x->line;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

static int64_t find_prefix(const gcut_page_lines *l, const char *name, size_t length)
{
    int64_t found = find_exactly(l, name, length);
    while (found < 0 && length > 0) {
        while (length > 0 && name[--length] != '.') {
        }
        if (length) found = find_exactly(l, name, length);
    }
    return found;
}

int64_t gcut_page_find(const gcut_page_lines *l, const char *name, size_t length)
{
    const int64_t found = find_prefix(l, name, length);
    return found < 0 && length > 1 && *name == 'd' ? find_prefix(l, name + 1, length - 1) : found;
}

static gcut_page_line *line_of(gcut_page_lines *l, const char *name)
{
    const int64_t found = gcut_page_find(l, name, strlen(name));
    return found < 0 ? &l->other : &l->at[found];
}

/* The scope of a name: "block0.attn" of "block0.attn.reshape.2", whose last number tells it from others. */
static size_t scope_length(const char *name, size_t length)
{
    size_t end = length;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') end--;
    if (end == length || end < 2 || name[end - 1] != '.')
        end = length;
    else
        end--;
    while (end > 0 && name[--end] != '.') {
    }
    return end;
}

/* ---- reading the text ---- */

typedef struct reading {
    const char *graph; /* whose function the plan is of */
    gcut_arena *a;
    gcut_page_lines *l;
    enum { BEFORE, HEAD, BODY, AFTER } where;
} reading;

static void add_names(reading *r, const char *s, const char *end, uint32_t line)
{
    for (; s < end; s++)
        if (*s == '%') *GCUT_PUSH(r->a, &r->l->names) = (gcut_page_name){s + 1, name_length(s + 1), line};
}

/* "  %a: f32[], %b: f32[] = op(…)"; regions are of the line that begins them. */
static void read_body(reading *r, gcut_page_line *x, uint32_t line)
{
    const char *equals = strstr(x->at, " = ");
    if (strncmp(x->at, "  %", 3) != 0 || !equals || equals >= x->at + x->length) {
        const bool inside = !strncmp(x->at, "   ", 3) || !strncmp(x->at, "  }", 3);
        if (!inside || line == 0) return;
        x->scope = x[-1].scope;
        x->name = x[-1].name;
        return;
    }
    x->name = x->at + 3;
    x->scope = scope_length(x->name, name_length(x->name));
    add_names(r, x->at, equals, line);
}

static void read_line(reading *r, uint32_t line)
{
    gcut_page_line *x = &r->l->at[line];
    const size_t n = strlen(r->graph);
    if (r->where == BEFORE && !strncmp(x->at, "func @", 6) && !strncmp(x->at + 6, r->graph, n) &&
        name_length(x->at + 6) == n)
        r->where = HEAD;
    if (r->where == BODY && *x->at == '}') r->where = AFTER;
    if (r->where == BODY) read_body(r, x, line);
    if (r->where != HEAD) return;
    add_names(r, x->at, x->at + x->length, line);
    if (x->length && x->at[x->length - 1] == '{') r->where = BODY;
}

/* ---- what the plan and the kernels say ---- */

static void add_plan(gcut_page_lines *l, const gcut_plan_info *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const gcut_plan_value *v = p->value[i];
        gcut_page_line *x = line_of(l, v->name);
        if (v->decision == GCUT_PLAN_SAVED) x->saved++, x->saved_bytes += v->bytes;
        if (v->decision != GCUT_PLAN_RECOMPUTED) continue;
        x->recomputed++;
        if (v->recompute_ns > 0) x->recompute_ns += v->copies * v->recompute_ns;
    }
}

static void add_kernels(gcut_page_lines *l, const gcut_fusion *f)
{
    for (size_t i = 0; i < f->nkernels; i++) {
        const gcut_fused_kernel *k = f->kernel[i];
        gcut_page_line *x = line_of(l, k->value);
        *(k->backward ? &x->backward_ns : &x->forward_ns) += k->ns;
    }
}

gcut_page_lines gcut_page_lines_of(const gcut_page *page, gcut_arena *a)
{
    gcut_page_lines l = {0};
    for (const char *s = page->text; *s; s++) l.n += *s == '\n';
    l.at = gcut_calloc(a, l.n + 1u, sizeof *l.at);
    reading r = {.graph = page->memory->graph, .a = a, .l = &l};
    const char *s = page->text;
    for (uint32_t i = 0; i < l.n; i++) {
        const char *end = strchr(s, '\n');
        l.at[i].at = s;
        l.at[i].length = (size_t)(end - s);
        read_line(&r, i);
        s = end + 1;
    }
    if (l.names.n) qsort(l.names.at, l.names.n, sizeof *l.names.at, by_name);
    add_plan(&l, page->plan);
    add_kernels(&l, page->fusion);
    return l;
}
