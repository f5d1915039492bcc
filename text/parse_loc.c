/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Locations: their uses, their table, and the resolution of uses by the table.
 */
#include "text/parser.h"

#include <limits.h>
#include <string.h>

static void check_number(gcut_parser *p, const gcut_token *t)
{
    if (t->big) GCUT_PARSE_FAIL(p, t, NULL, "expected a location number of at most 64 bits");
}

void gcut_parse_loc_use(gcut_parser *p, gcut_graph *g, gcut_locid own)
{
    if (p->tok.kind != GCUT_TOK_LOC) return;
    check_number(p, &p->tok);
    *GCUT_PUSH(p->scratch, &p->uses) =
        (gcut_loc_use){.g = g, .own = own, .number = p->tok.u, .at = gcut_parse_place(p, &p->tok)};
    gcut_parse_advance(p);
}

/* "file":line[:col] ["scope"]; the string has been read. */
static gcut_locid file_loc(gcut_parser *p, const char *file)
{
    int line, col = 0;
    const char *scope = NULL;
    gcut_parse_expect(p, ':', "':' and a line number");
    line = (int)gcut_parse_integer(p, INT_MAX, "a line number");
    if (gcut_parse_accept(p, ':')) col = (int)gcut_parse_integer(p, INT_MAX, "a column number");
    if (p->tok.kind == GCUT_TOK_STRING) {
        scope = gcut_parse_text(p, &p->tok);
        gcut_parse_advance(p);
    }
    return gcut_loc_file(p->m, file, line, col, scope);
}

/* fn(!1, !2, "text"): earlier locations, and one text at most. */
static gcut_locid call_loc(gcut_parser *p, const char *fn)
{
    GCUT_VEC(gcut_locid) args = {0};
    const char *text = NULL;
    gcut_parse_expect(p, '(', "'(' and locations");
    do {
        gcut_token t = p->tok;
        if (t.kind == GCUT_TOK_STRING && !text) {
            text = gcut_parse_text(p, &t);
        } else if (t.kind == GCUT_TOK_LOC) {
            check_number(p, &t);
            gcut_locid id = gcut_map_get(&p->locs, t.u);
            if (!id)
                GCUT_PARSE_FAIL(p, &t, "a location refers to those of earlier lines",
                                "the location !%llu is not defined before this line",
                                (unsigned long long)t.u);
            *GCUT_PUSH(p->scratch, &args) = id;
        } else {
            gcut_parse_unexpected(p, text ? "a location such as !1" : "a location such as !1 or a string");
        }
        gcut_parse_advance(p);
    } while (gcut_parse_accept(p, ','));
    gcut_parse_expect(p, ')', "',' or ')'");
    if (!text) return gcut_loc_call(p->m, fn, args.at, args.n);
    gcut_loc l = {.call = true, .name = fn, .nargs = args.n, .text = text};
    if (args.n) l.args = gcut_memdup(p->m->arena, args.at, args.n * sizeof *args.at);
    *GCUT_PUSH(p->m->arena, &p->m->locs) = l;
    return p->m->locs.n - 1;
}

void gcut_parse_locdef(gcut_parser *p)
{
    gcut_locid id;
    gcut_parse_advance(p);
    gcut_token number = gcut_parse_take(p, GCUT_TOK_LOC, "a location number such as !1");
    check_number(p, &number);
    if (!number.u)
        GCUT_PARSE_FAIL(p, &number, NULL, "the location !0 is the unknown one, and has no definition");
    if (gcut_map_get(&p->locs, number.u))
        GCUT_PARSE_FAIL(p, &number, NULL, "the location !%llu is already defined",
                        (unsigned long long)number.u);
    gcut_parse_expect(p, '=', "'='");
    gcut_token t = p->tok;
    if (t.kind != GCUT_TOK_STRING && t.kind != GCUT_TOK_IDENT)
        gcut_parse_unexpected(p, "a location such as \"f.c\":12:3 or grad(!1)");
    gcut_parse_advance(p);
    if (t.kind == GCUT_TOK_STRING)
        id = file_loc(p, gcut_parse_text(p, &t));
    else
        id = call_loc(p, gcut_parse_name(p, &t));
    *gcut_map_at(p->scratch, &p->locs, number.u) = id;
}

#define UNKNOWN UINT32_MAX /* in the table of resolved locations, where 0 is: none is given */

/* Nesting is bounded by the parser. */
static void resolve(gcut_graph *g, const gcut_locid *to)
{
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        gcut_node *node = &g->nodes.at[n];
        if (to[node->loc]) node->loc = to[node->loc] == UNKNOWN ? 0 : to[node->loc];
        for (uint32_t k = 0; k < node->nregs; k++)
            if (g->regions.at[node->reg0 + k].body->is_body) resolve(g->regions.at[node->reg0 + k].body, to);
    }
    for (uint32_t c = 0; c < g->checks.n; c++)
        if (to[g->checks.at[c].loc] && to[g->checks.at[c].loc] != UNKNOWN)
            g->checks.at[c].loc = to[g->checks.at[c].loc];
}

/* Every op has an `own` location with its line and column, so one table maps all uses.  The mapping is
 * applied once, not transitively: an entry of the table may have the line and column of another op. */
void gcut_parse_locs_resolve(gcut_parser *p)
{
    gcut_locid *to = gcut_calloc(p->scratch, p->m->locs.n, sizeof *to);
    for (uint32_t i = 0; i < p->uses.n; i++) {
        const gcut_loc_use *u = &p->uses.at[i];
        gcut_locid id = u->number ? gcut_map_get(&p->locs, u->number) : UNKNOWN;
        if (!id)
            gcut_fail(p->env, GCUT_ESYNTAX, u->at,
                      gcut_printf(p->scratch, "add a line: loc !%llu = \"file.c\":1:1",
                                  (unsigned long long)u->number),
                      "the location !%llu is not defined in this file", (unsigned long long)u->number);
        if (u->own)
            to[u->own] = id;
        else if (u->g)
            u->g->loc = id == UNKNOWN ? 0 : id;
    }
    for (uint32_t i = 0; i < p->m->graphs.n; i++) resolve(p->m->graphs.at[i], to);
}
