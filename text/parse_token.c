/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Taking tokens, messages about unexpected tokens, hints with a nearest name.
 */
#include "text/parser.h"

#include <string.h>

#include "base/quote.h"

gcut_place gcut_parse_place(const gcut_parser *p, const gcut_token *t)
{
    return (gcut_place){p->lx.file, t->line, t->col};
}

/* A token as a reader would name it, cut at a character boundary. */
static const char *describe(gcut_parser *p, const gcut_token *t)
{
    if (t->kind == GCUT_TOK_END) return "the end of the file";
    size_t n = 0;
    while (n < t->n && n < 40) n += gcut_utf8_length(t->at + n, t->at + t->n);
    return gcut_printf(p->scratch, "'%.*s%s'", (int)n, t->at, n < t->n ? "…" : "");
}

_Noreturn void gcut_parse_unexpected(gcut_parser *p, const char *what)
{
    GCUT_PARSE_FAIL(p, &p->tok, NULL, "expected %s, found %s", what, describe(p, &p->tok));
}

void gcut_parse_advance(gcut_parser *p)
{
    p->tok = gcut_lex_next(&p->lx);
}

bool gcut_parse_at(const gcut_parser *p, char c)
{
    return p->tok.kind == GCUT_TOK_PUNCT && p->tok.c == c;
}

bool gcut_parse_accept(gcut_parser *p, char c)
{
    if (!gcut_parse_at(p, c)) return false;
    gcut_parse_advance(p);
    return true;
}

void gcut_parse_expect(gcut_parser *p, char c, const char *what)
{
    if (!gcut_parse_accept(p, c)) gcut_parse_unexpected(p, what);
}

bool gcut_parse_at_word(const gcut_parser *p, const char *word)
{
    return p->tok.kind == GCUT_TOK_IDENT && p->tok.n == strlen(word) && !memcmp(p->tok.at, word, p->tok.n);
}

bool gcut_parse_accept_word(gcut_parser *p, const char *word)
{
    if (!gcut_parse_at_word(p, word)) return false;
    gcut_parse_advance(p);
    return true;
}

gcut_token gcut_parse_take(gcut_parser *p, gcut_tok kind, const char *what)
{
    if (p->tok.kind != kind) gcut_parse_unexpected(p, what);
    gcut_token t = p->tok;
    gcut_parse_advance(p);
    return t;
}

const char *gcut_parse_name(gcut_parser *p, const gcut_token *t)
{
    size_t sigil = t->kind == GCUT_TOK_VALUE || t->kind == GCUT_TOK_GLOBAL || t->kind == GCUT_TOK_MARK;
    return gcut_intern(&p->m->names, t->at + sigil, t->n - sigil);
}

const char *gcut_parse_text(gcut_parser *p, const gcut_token *t)
{
    return gcut_intern_name(p->m, gcut_lex_string(p->scratch, t));
}

void gcut_parse_deeper(gcut_parser *p)
{
    if (++p->depth > GCUT_MAX_NESTING)
        GCUT_PARSE_FAIL(p, &p->tok, NULL, "expected at most %d levels of nesting", GCUT_MAX_NESTING);
}

int64_t gcut_parse_integer(gcut_parser *p, int64_t max, const char *what)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_INT, what);
    if (t.big || t.u > (uint64_t)max)
        GCUT_PARSE_FAIL(p, &t, NULL, "expected %s of at most %lld, found %s", what, (long long)max,
                        describe(p, &t));
    return (int64_t)t.u;
}

const char *gcut_parse_nearest_hint(gcut_parser *p, const gcut_nearest *near, const char *sigil)
{
    return near->best ? gcut_printf(p->scratch, "did you mean '%s%s'?", sigil, near->best) : NULL;
}
