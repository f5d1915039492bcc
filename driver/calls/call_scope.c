/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variables of a C function: values, sizes, graphs.
 */
#include "driver/calls/calls.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

const char *gcut_calls_called(const gcut_calls_scope *s, gcut_ref v)
{
    return s->called ? s->called[v] : s->g->values.at[v].name;
}

_Noreturn void gcut_calls_refuse(const gcut_calls_scope *s, gcut_ref v, const char *fmt, ...)
{
    const gcut_node *n = v ? gcut_def(s->g, v) : NULL;
    va_list ap;
    va_start(ap, fmt);
    const char *what = gcut_vprintf(s->file->a, fmt, ap);
    va_end(ap);
    gcut_fail(s->file->m->env, GCUT_EUNSUPPORTED, gcut_loc_place(s->file->m, n ? n->loc : s->g->loc),
              "--as text prints it", "%s%s@%s in C: the builder has no call for %s",
              v ? gcut_printf(s->file->a, "%%%s", gcut_calls_called(s, v)) : "", v ? " of " : "", s->g->name,
              what);
}

/* ---- lines ---- */

static uint32_t push(gcut_arena *a, gcut_calls_lines *lines, gcut_calls_line line)
{
    *GCUT_PUSH(a, lines) = line;
    return lines->n;
}

void gcut_calls_add(gcut_calls_scope *s, const char *text)
{
    push(s->file->a, &s->lines, (gcut_calls_line){.text = text});
}

uint32_t gcut_calls_declare(gcut_calls_scope *s, const char *type, const char *var, const char *text)
{
    return push(s->file->a, &s->lines, (gcut_calls_line){.type = type, .var = var, .text = text});
}

void gcut_calls_define(gcut_calls_scope *s, gcut_ref v, const char *text)
{
    const char *name = gcut_calls_called(s, v);
    const bool has_name = !s->outer && !gcut_def(s->g, v); /* a parameter */
    if (!has_name) text = gcut_printf(s->file->a, "gcut_name(%s, \"%s\")", text, name);
    s->line_of[v] = gcut_calls_declare(s, "gcut_val", gcut_calls_identifier(s->taken, name), text);
}

/* ---- variables ---- */

static void read_once(gcut_arena *a, gcut_calls_lines *lines, const char *type, const char *var)
{
    for (uint32_t i = 0; i < lines->n; i++)
        if (lines->at[i].var == var) return;
    push(a, lines, (gcut_calls_line){.type = type, .var = var});
}

/* A variable of a scope around a body. */
static const char *read_outer(gcut_calls_scope *s, const char *type, const char *var)
{
    read_once(s->file->a, &s->reads, type, var);
    read_once(s->file->a, s->handed, type, var);
    return var;
}

static const char *read_line(gcut_calls_scope *s, uint32_t line)
{
    s->lines.at[line - 1].used = true;
    return s->lines.at[line - 1].var;
}

const char *gcut_calls_value(gcut_calls_scope *s, gcut_ref v)
{
    if (s->line_of[v]) return read_line(s, s->line_of[v]);
    GCUT_ASSERT(s->outer && !gcut_def(s->g, v));
    const uint32_t k = gcut_region_operand(s->node, s->g, s->g->values.at[v].index);
    return read_outer(s, "gcut_val", gcut_calls_value(s->outer, gcut_arg(s->outer->g, s->node, k)));
}

const char *gcut_calls_graph(gcut_calls_scope *s)
{
    s->uses_graph = true;
    return "g";
}

/* A symbol or a function that is called. */
static const char *other(gcut_calls_scope *s, const char *type, uint64_t key)
{
    const uint32_t line = gcut_map_get(&s->other, key);
    if (line) return read_line(s, line);
    GCUT_ASSERT(s->outer);
    return read_outer(s, type, other(s->outer, type, key));
}

const char *gcut_calls_callee(gcut_calls_scope *s, const gcut_graph *f)
{
    return other(s, "gcut_graph *", gcut_map_key(f));
}

const char *gcut_calls_list(gcut_calls_scope *s, const gcut_ref *v, uint32_t n)
{
    gcut_text t = {.arena = s->file->a};
    if (!n) return "NULL";
    for (uint32_t i = 0; i < n; i++)
        gcut_text_add(&t, "%s%s", i ? ", " : "(const gcut_val[]){", gcut_calls_value(s, v[i]));
    gcut_text_add(&t, "}");
    return t.at;
}

const char *gcut_calls_values(gcut_calls_scope *s, const gcut_ref *v, uint32_t n)
{
    return gcut_printf(s->file->a, "%s, %u", gcut_calls_list(s, v, n), n);
}

/* ---- sizes ---- */

/* The scope NULL asks whether there is a call for it; the result is NULL where there is none. */
static const void *print_number(void *self, int64_t x)
{
    const gcut_calls_scope *s = self;
    return s ? gcut_printf(s->file->a, "%" PRId64, x) : "";
}

static const void *print_symbol(void *self, gcut_dim symbol)
{
    gcut_calls_scope *s = self;
    return s ? other(s, "gcut_dim", (uint64_t)symbol) : "";
}

static const void *print_binary(void *self, gcut_dim_op op, const void *a, const void *b, gcut_dim x)
{
    static const char *const names[] = {
        [GCUT_DIM_ADD] = "add", [GCUT_DIM_SUB] = "sub", [GCUT_DIM_MUL] = "mul", [GCUT_DIM_DIV] = "div"};
    gcut_calls_scope *s = self;
    (void)x;
    if (!a || !b || (size_t)op >= sizeof names / sizeof *names) return NULL;
    if (!s) return "";
    return gcut_printf(s->file->a, "gcut_dim_%s(%s, %s, %s)", names[op], gcut_calls_graph(s), (const char *)a,
                       (const char *)b);
}

static const char *visit(const gcut_calls_scope *s, gcut_dim d, gcut_calls_scope *out)
{
    return gcut_dim_visit(s->file->m->dims, d,
                          &(gcut_dim_visitor){out, print_number, print_symbol, print_binary});
}

bool gcut_calls_has_size(const gcut_calls_scope *s, gcut_dim d)
{
    return visit(s, d, NULL) != NULL;
}

const char *gcut_calls_size(gcut_calls_scope *s, gcut_dim d)
{
    return visit(s, d, s);
}

const char *gcut_calls_sizes(gcut_calls_scope *s, const gcut_dim *d, uint32_t n)
{
    gcut_text t = {.arena = s->file->a};
    for (uint32_t i = 0; i < n; i++) gcut_text_add(&t, "%s%s", i ? ", " : "", gcut_calls_size(s, d[i]));
    return n ? t.at : "";
}

/* ---- types ---- */

const char *gcut_calls_dtype(gcut_arena *a, gcut_dtype t)
{
    char *s = gcut_printf(a, "GCUT_%s", gcut_dtype_name(t));
    for (char *c = s; *c; c++) *c = (char)toupper((unsigned char)*c);
    return s;
}

const char *gcut_calls_shape(gcut_calls_scope *s, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(s->g, v);
    for (uint32_t d = 0; d < t->rank; d++)
        if (!gcut_calls_has_size(s, t->dim[d]))
            gcut_calls_refuse(s, v, "the size %s", gcut_dim_text(s->file->a, s->file->m->dims, t->dim[d]));
    if (!t->rank) return "GCUT_SCALAR";
    return gcut_printf(s->file->a, "GCUT_SHAPE(%s)", gcut_calls_sizes(s, t->dim, t->rank));
}
