/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lines of the text IR, with what the plan and the kernels say of the values that they define.
 */
#include <string.h>

#include "report/page/page.h"

/* ---- names ---- */

/* A name's part of the text: it is followed by something that no name has. */
static size_t name_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
}

int64_t gcut_page_find(const gcut_page_lines *l, const char *name, size_t length)
{
    return gcut_name_index_find(&l->names, name, length);
}

static gcut_page_line *line_of(gcut_page_lines *l, const char *name)
{
    const int64_t found = gcut_page_find(l, name, strlen(name));
    return found < 0 ? &l->other : &l->at[found];
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
        if (*s == '%') gcut_name_index_add(r->a, &r->l->names, s + 1, name_length(s + 1), line);
}

/* "  %a: f32[], %b: f32[] = op(…)"; lines of regions are in the scope of the line that begins them. */
static void read_body(reading *r, gcut_page_line *x, uint32_t line)
{
    const char *equals = strstr(x->at, " = "), *name = x->at + strspn(x->at, " ");
    const bool defines = *name == '%' && equals && equals < x->at + x->length;
    if (defines) add_names(r, name, equals, line);
    if (defines && name == x->at + 2) {
        x->name = name + 1;
        x->scope = gcut_scope_length(x->name, name_length(x->name));
    } else if (line > 0 && (!strncmp(x->at, "   ", 3) || !strncmp(x->at, "  }", 3))) {
        x->scope = x[-1].scope;
        x->name = x[-1].name;
    }
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
    gcut_name_index_sort(&l.names);
    add_plan(&l, page->plan);
    add_kernels(&l, page->fusion);
    return l;
}
