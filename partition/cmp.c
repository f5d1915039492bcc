/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two plan files on one axis.
 *
 * They say the same when every value has the same fate, form and copies in both, in the steps of loops too.
 * Bytes and times are of the sizes of each file, so they are shown and not compared.
 */
#include "partition/plan_file.h"

#include <math.h>
#include <string.h>

#include "base/table.h"
#include "partition/form.h"
#include "partition/report.h"

/* A value that the two files treat differently; a or b NULL: it has no line there. */
typedef struct difference {
    const char *loop;
    const gcut_plan_line *a, *b;
} difference;

typedef GCUT_VEC(difference) differences;

typedef struct comparing {
    gcut_arena *arena;
    const gcut_plan_file *a, *b;
    differences of;
} comparing;

/* ---- what differs ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_line(const gcut_plan_line *a, const gcut_plan_line *b)
{
    if (a->fate != b->fate || strcmp(a->op, b->op) != 0 || a->nbefore != b->nbefore) return false;
    if (a->fate == GCUT_F_SAVED && a->form != b->form) return false;
    for (uint32_t i = 0; i < a->nbefore; i++)
        if (!same_text(a->before[i], b->before[i])) return false;
    return true;
}

static const gcut_plan_line *find(const gcut_plan_part *p, uint32_t *from, const char *name)
{
    uint32_t n = p ? p->lines.n : 0;
    for (uint32_t k = 0; k < n; k++) { /* both files list values in one order: the next is mostly the one */
        uint32_t i = (*from + k) % n;
        if (strcmp(p->lines.at[i].value, name) != 0) continue;
        *from = i + 1;
        return &p->lines.at[i];
    }
    return NULL;
}

static void compare_parts(comparing *c, const gcut_plan_part *a, const gcut_plan_part *b, const char *loop)
{
    uint32_t at = 0;
    for (uint32_t i = 0; a && i < a->lines.n; i++) {
        const gcut_plan_line *x = &a->lines.at[i], *y = find(b, &at, x->value);
        if (!y || !same_line(x, y)) *GCUT_PUSH(c->arena, &c->of) = (difference){loop, x, y};
    }
    at = 0;
    for (uint32_t i = 0; b && i < b->lines.n; i++) {
        const gcut_plan_line *y = &b->lines.at[i];
        if (!find(a, &at, y->value)) *GCUT_PUSH(c->arena, &c->of) = (difference){loop, NULL, y};
    }
}

/* The k-th step of that loop. */
static const gcut_plan_part *step_of(const gcut_plan_file *f, const char *loop, uint32_t k)
{
    for (uint32_t i = 0; i < f->steps.n; i++)
        if (!strcmp(f->steps.at[i].loop, loop) && k-- == 0) return &f->steps.at[i];
    return NULL;
}

static uint32_t earlier(const gcut_plan_file *f, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) n += !strcmp(f->steps.at[k].loop, f->steps.at[i].loop);
    return n;
}

static void compare_all(comparing *c)
{
    compare_parts(c, &c->a->whole, &c->b->whole, NULL);
    for (uint32_t i = 0; i < c->a->steps.n; i++) {
        const gcut_plan_part *s = &c->a->steps.at[i];
        compare_parts(c, s, step_of(c->b, s->loop, earlier(c->a, i)), s->loop);
    }
    for (uint32_t i = 0; i < c->b->steps.n; i++) {
        const gcut_plan_part *s = &c->b->steps.at[i];
        if (!step_of(c->a, s->loop, earlier(c->b, i))) compare_parts(c, NULL, s, s->loop);
    }
}

/* ---- text ---- */

enum { COL_VALUE, COL_OP, COL_A, COL_B, COL_BYTES_A, COL_BYTES_B, COL_NS_A, COL_NS_B, NCOLS };
static const char *const titles[NCOLS] = {"value", "op", "A", "B", "bytes A", "bytes B", "time A", "time B"};

static const char *fate_text(const comparing *c, const gcut_plan_line *l)
{
    if (!l) return "-";
    const char *name = gcut_fate_name(l->fate);
    if (l->fate == GCUT_F_SAVED && l->form != GCUT_FORM_PLAIN)
        return gcut_printf(c->arena, "%s as %s", name, gcut_form_name(l->form));
    return l->nbefore ? gcut_printf(c->arena, "%s %u times", name, l->nbefore + 1) : name;
}

static int64_t line_bytes(const gcut_plan_line *l)
{
    return l && l->fate == GCUT_F_SAVED ? l->bytes : 0;
}

static void fill_row(const comparing *c, const difference *d, const char **cell)
{
    const gcut_plan_line *any = d->a ? d->a : d->b;
    cell[COL_VALUE] = d->loop ? gcut_printf(c->arena, "%%%s in a step of %%%s", any->value, d->loop)
                              : gcut_printf(c->arena, "%%%s", any->value);
    cell[COL_OP] = d->a && d->b && strcmp(d->a->op, d->b->op) != 0
                       ? gcut_printf(c->arena, "%s against %s", d->a->op, d->b->op)
                       : any->op;
    cell[COL_A] = fate_text(c, d->a);
    cell[COL_B] = fate_text(c, d->b);
    cell[COL_BYTES_A] = gcut_report_exact(c->arena, line_bytes(d->a));
    cell[COL_BYTES_B] = gcut_report_exact(c->arena, line_bytes(d->b));
    cell[COL_NS_A] = d->a ? gcut_report_time(c->arena, d->a->ns) : "-";
    cell[COL_NS_B] = d->b ? gcut_report_time(c->arena, d->b->ns) : "-";
}

static void print_table(const comparing *c, gcut_text *out)
{
    gcut_table t = {.arena = c->arena, .ncols = NCOLS, .right = ~0u << COL_BYTES_A};
    gcut_table_row(&t, titles);
    for (uint32_t i = 0; i < c->of.n; i++) {
        const char *cell[NCOLS];
        fill_row(c, &c->of.at[i], cell);
        gcut_table_row(&t, cell);
    }
    gcut_table_print(&t, 0, t.nrows, "  ", out);
}

static void print_head(const char *which, const gcut_plan_file *f, gcut_text *out)
{
    gcut_text_add(out, "%s: %s, %s, lambda %g ns/B", which, f->path, f->policy, f->lambda);
    for (uint32_t i = 0; i < f->at.n; i++)
        gcut_text_add(out, "%s%s=%lld", i ? ", " : ", at ", f->at.at[i].name, (long long)f->at.at[i].size);
    gcut_text_add(out, "\n");
}

static void print_bytes(const char *what, int64_t a, int64_t b, gcut_text *out)
{
    if (a < 0 || b < 0) return;
    gcut_text_add(out, "%s: %lld, %lld (%+lld)\n", what, (long long)a, (long long)b, (long long)(b - a));
}

static void print_time(const comparing *c, const char *what, double a, double b, gcut_text *out)
{
    if (isnan(a) || isnan(b)) return;
    gcut_text_add(out, "%s: %s, %s (%s%s)\n", what, gcut_report_time(c->arena, a),
                  gcut_report_time(c->arena, b), b < a ? "-" : "+", gcut_report_time(c->arena, fabs(b - a)));
}

static bool same_graph(const comparing *c)
{
    return !strcmp(c->a->whole.nodes_hash, c->b->whole.nodes_hash) || c->a->steps.n || c->b->steps.n;
}

static void print_text(const comparing *c, gcut_text *out)
{
    print_head("A", c->a, out);
    print_head("B", c->b, out);
    if (!same_graph(c)) gcut_text_add(out, "they are plans of different graphs\n");
    if (c->of.n == 0)
        gcut_text_add(out, "every value has the same fate\n");
    else
        gcut_text_add(out, "%u value%s differ%s:\n", c->of.n, c->of.n == 1 ? "" : "s",
                      c->of.n == 1 ? "s" : "");
    if (c->of.n) print_table(c, out);
    print_bytes("saved bytes", c->a->saved_bytes, c->b->saved_bytes, out);
    print_bytes("peak bytes", c->a->peak_bytes, c->b->peak_bytes, out);
    print_time(c, "recompute", c->a->recompute_ns, c->b->recompute_ns, out);
    print_time(c, "cost", c->a->cost_ns, c->b->cost_ns, out);
    print_time(c, "step", c->a->step_ns, c->b->step_ns, out);
}

/* ---- JSON ---- */

static void json_side(gcut_json *j, const char *key, const gcut_plan_line *l)
{
    gcut_json_key(j, key);
    if (!l) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_key_str(j, "fate", gcut_fate_name(l->fate));
    gcut_json_key_str(j, "form", l->fate == GCUT_F_SAVED ? gcut_form_name(l->form) : NULL);
    gcut_json_key_int(j, "bytes", line_bytes(l));
    gcut_json_key_real(j, "ns", l->ns);
    gcut_json_key_int(j, "copies", l->fate == GCUT_F_SAVED ? 0 : (int64_t)l->nbefore + 1);
    gcut_json_end(j);
}

static void json_totals(gcut_json *j, const char *key, const gcut_plan_file *f)
{
    gcut_json_key(j, key);
    gcut_json_object(j);
    gcut_json_key_str(j, "file", f->path);
    gcut_json_key_str(j, "policy", f->policy);
    gcut_json_key_real(j, "lambda", f->lambda);
    gcut_json_key_int(j, "saved_bytes", f->saved_bytes);
    gcut_json_key(j, "peak_bytes");
    if (f->peak_bytes < 0)
        gcut_json_null(j);
    else
        gcut_json_int(j, f->peak_bytes);
    gcut_json_key_real(j, "recompute_ns", f->recompute_ns);
    gcut_json_key_real(j, "cost_ns", f->cost_ns);
    gcut_json_key_real(j, "step_ns", f->step_ns);
    gcut_json_end(j);
}

static void print_json(const comparing *c, bool equal, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_key_bool(&j, "equal", equal);
    gcut_json_key_bool(&j, "same_graph", same_graph(c));
    json_totals(&j, "a", c->a);
    json_totals(&j, "b", c->b);
    gcut_json_key(&j, "values");
    gcut_json_array(&j);
    for (uint32_t i = 0; i < c->of.n; i++) {
        const difference *d = &c->of.at[i];
        gcut_json_object(&j);
        gcut_json_key_str(&j, "value", (d->a ? d->a : d->b)->value);
        gcut_json_key_str(&j, "op", (d->a ? d->a : d->b)->op);
        gcut_json_key_str(&j, "loop", d->loop);
        json_side(&j, "a", d->a);
        json_side(&j, "b", d->b);
        gcut_json_end(&j);
    }
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}

bool gcut_plan_files_compare(const gcut_plan_file *a, const gcut_plan_file *b, bool json, gcut_text *out)
{
    comparing c = {.arena = out->arena, .a = a, .b = b};
    compare_all(&c);
    bool equal = c.of.n == 0 && same_graph(&c);
    if (json)
        print_json(&c, equal, out);
    else
        print_text(&c, out);
    return equal;
}
