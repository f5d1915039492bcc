/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Marks, by the table graph/marks.def.
 */
#include <string.h>

#include "text/parser.h"

static const struct {
    gcut_mark_place on;
    const char *what;
} places[] = {{GCUT_MARK_ON_PARAM, "a parameter"}, {GCUT_MARK_ON_RESULT, "a result"},
              {GCUT_MARK_ON_OP, "an op"},          {GCUT_MARK_ON_FUNC, "a function"},
              {GCUT_MARK_ON_PAIR, "a pair"},       {GCUT_MARK_ON_DATA, "data"}};
#define NPLACES (sizeof places / sizeof *places)

/* "a parameter or an op" */
static const char *places_text(gcut_parser *p, unsigned on)
{
    gcut_text out = {.arena = p->scratch};
    for (size_t i = 0; i < NPLACES; i++) {
        if (!(on & places[i].on)) continue;
        on &= ~(unsigned)places[i].on;
        gcut_text_add(&out, "%s%s", out.n == 0 ? "" : on ? ", " : " or ", places[i].what);
    }
    return out.at;
}

/* The mark's usage: "#range(lo, hi)". */
static const char *usage(gcut_parser *p, gcut_mark_name name)
{
    const gcut_mark_row *row = gcut_mark_get(name);
    gcut_text out = {.arena = p->scratch};
    gcut_text_add(&out, "#%s", row->name);
    for (uint32_t k = 0; row->args[k]; k++) {
        const char *what = "";
        switch (row->args[k]) {
        case 'v': what = "%value"; break;
        case 'i': what = "integer"; break;
        case 'd': what = "size"; break;
        case 's': what = "\"text\""; break;
        case 'n': what = "name"; break;
        case 'k': what = "k0"; break;
        }
        gcut_text_add(&out, "%s%s", k ? ", " : "(", what);
    }
    if (*row->args)
        gcut_text_add(&out, ")%s", row->least ? "" : gcut_printf(p->scratch, " or #%s", row->name));
    return out.at;
}

static gcut_mark_name mark_name(gcut_parser *p, gcut_mark_place on)
{
    const gcut_token t = p->tok;
    const char *name = gcut_parse_name(p, &t), *what = places_text(p, on);
    gcut_nearest near = gcut_nearest_start(name);
    for (int k = 0; k < GCUT_NMARKS; k++) {
        const gcut_mark_row *row = gcut_mark_get((gcut_mark_name)k);
        if (!strcmp(row->name, name)) {
            if (row->on & on) return (gcut_mark_name)k;
            GCUT_PARSE_FAIL(p, &t, NULL, "#%s stands after %s, not after %s", name, places_text(p, row->on),
                            what);
        }
        if (row->on & on) gcut_nearest_add(&near, row->name);
    }
    const char *hint = gcut_parse_nearest_hint(p, &near, "#");
    GCUT_PARSE_FAIL(p, &t, hint ? hint : "a remark of your own is #note(\"text\")",
                    "there is no mark #%s of %s", name, what);
}

/* A backward graph may name values of its forward graph, which are not in it. */
static gcut_mark_arg value_arg(gcut_parser *p)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_VALUE, "a value such as %x");
    const char *name = gcut_parse_name(p, &t);
    gcut_ref v = gcut_graph_find(p->g, name);
    if (v || gcut_is_backward(p->g)) return (gcut_mark_arg){v, v ? NULL : gcut_intern_name(p->m, name)};
    gcut_nearest near = gcut_nearest_start(name);
    for (gcut_ref u = 1; u < p->g->values.n; u++) gcut_nearest_add(&near, p->g->values.at[u].name);
    GCUT_PARSE_FAIL(p, &t, gcut_parse_nearest_hint(p, &near, "%"),
                    "the value %%%s is not defined here before this mark", name);
}

static int64_t integer(gcut_parser *p)
{
    bool negative = gcut_parse_accept(p, '-');
    int64_t i = gcut_parse_integer(p, INT64_MAX, "an integer");
    return negative ? -i : i;
}

static int64_t kernel_number(gcut_parser *p)
{
    const gcut_token t = p->tok;
    int64_t n = 0;
    bool ok = t.kind == GCUT_TOK_IDENT && t.n > 1 && t.n < 12 && t.at[0] == 'k';
    for (size_t i = 1; ok && i < t.n; i++) {
        ok = t.at[i] >= '0' && t.at[i] <= '9';
        n = 10 * n + (t.at[i] - '0');
    }
    if (!ok) gcut_parse_unexpected(p, "a kernel such as k3");
    gcut_parse_advance(p);
    return n;
}

static const char *bare_name(gcut_parser *p)
{
    const gcut_token t = gcut_lex_name(&p->lx, &p->tok);
    if (t.kind != GCUT_TOK_IDENT) gcut_parse_unexpected(p, "a name, without a sigil");
    gcut_parse_advance(p);
    return gcut_parse_name(p, &t);
}

static gcut_mark_arg argument(gcut_parser *p, char kind)
{
    gcut_mark_arg a = {0};
    switch (kind) {
    case 'v': return value_arg(p);
    case 'i': a.i = integer(p); break;
    case 'd': a.i = gcut_parse_dim(p); break;
    case 'k': a.i = kernel_number(p); break;
    case 's': {
        gcut_token t = gcut_parse_take(p, GCUT_TOK_STRING, "a text in quotes");
        a.text = gcut_intern_name(p->m, gcut_parse_text(p, &t));
        break;
    }
    case 'n': a.text = bare_name(p); break;
    }
    return a;
}

static gcut_mark one(gcut_parser *p, gcut_mark_place on, const gcut_marks *marks)
{
    const gcut_token t = p->tok;
    gcut_mark mark = {.name = mark_name(p, on)};
    const gcut_mark_row *row = gcut_mark_get(mark.name);
    const char *want = usage(p, mark.name);
    if (!(row->on & GCUT_MARK_MANY) && gcut_mark_find(marks, mark.name))
        GCUT_PARSE_FAIL(p, &t, "write it once", "#%s is there already", row->name);
    gcut_parse_advance(p);
    if (gcut_parse_at(p, '(') && !*row->args)
        gcut_parse_unexpected(p, gcut_printf(p->scratch, "no argument: the mark is %s", want));
    if (gcut_parse_accept(p, '('))
        for (; row->args[mark.nargs]; mark.nargs++) {
            if (mark.nargs) gcut_parse_expect(p, ',', gcut_printf(p->scratch, "',': the mark is %s", want));
            mark.arg[mark.nargs] = argument(p, row->args[mark.nargs]);
        }
    if (mark.nargs) gcut_parse_expect(p, ')', gcut_printf(p->scratch, "')': the mark is %s", want));
    if (mark.nargs < row->least)
        GCUT_PARSE_FAIL(p, &t, gcut_printf(p->scratch, "write %s", want), "#%s lacks its arguments",
                        row->name);
    return mark;
}

void gcut_parse_marks(gcut_parser *p, gcut_mark_place on, gcut_marks *marks)
{
    GCUT_VEC(gcut_mark) all = {0};
    while (p->tok.kind == GCUT_TOK_MARK) {
        const gcut_mark next = one(p, on, marks);
        *GCUT_PUSH(p->m->arena, &all) = next;
        *marks = (gcut_marks){all.n, all.at};
    }
}
