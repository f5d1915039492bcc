/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokens of the text IR.
 */
#include "text/lexer.h"

#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

#define FAIL(lx, where, hint, ...) gcut_fail((lx)->env, GCUT_ESYNTAX, place_of(lx, where), hint, __VA_ARGS__)

static gcut_place place_of(const gcut_lexer *lx, const char *where)
{
    return (gcut_place){lx->file, lx->line, (int)(where - lx->line_at) + 1};
}

/* ASCII only: <ctype.h> follows the locale. */
static bool digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool name_char(char c)
{
    return digit(c) || letter(c) || c == '.';
}

static int hex_value(char c)
{
    if (digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

double gcut_read_double(const char *s, size_t n)
{
    char text[GCUT_MAX_NUMBER + 1];
    GCUT_ASSERT(n <= GCUT_MAX_NUMBER);
    memcpy(text, s, n);
    text[n] = '\0';
    return strtod(text, NULL);
}

static void next_line(gcut_lexer *lx, const char *newline)
{
    lx->line++;
    lx->line_at = newline + 1;
}

void gcut_lex_start(gcut_lexer *lx, gcut_env *env, const char *file, const char *text, size_t size)
{
    static const char bom[] = "\xEF\xBB\xBF";
    if (size >= 3 && !memcmp(text, bom, 3)) {
        text += 3;
        size -= 3;
    }
    *lx = (gcut_lexer){.env = env, .file = file, .at = text, .end = text + size, .line_at = text, .line = 1};
    for (const char *s = text; s < lx->end;) {
        size_t n = gcut_utf8_length(s, lx->end);
        if (*s == '\0') FAIL(lx, s, NULL, "expected text, found a NUL byte");
        if (n == 0)
            FAIL(lx, s, "save the file as UTF-8", "expected UTF-8 text, found the byte 0x%02x",
                 (unsigned char)*s);
        if (*s == '\n') next_line(lx, s);
        s += n;
    }
    lx->line = 1;
    lx->line_at = text;
}

/* Newlines and comments are blanks. */
static void skip_blanks(gcut_lexer *lx)
{
    for (; lx->at < lx->end; lx->at++) {
        char c = *lx->at;
        if (c == '\n') {
            next_line(lx, lx->at);
        } else if (c == '/' && lx->end - lx->at > 1 && lx->at[1] == '/') {
            const char *eol = memchr(lx->at, '\n', (size_t)(lx->end - lx->at));
            lx->at = (eol ? eol : lx->end) - 1;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            break;
        }
    }
}

static const char *skip_digits(const gcut_lexer *lx, const char *s, bool hex)
{
    while (s < lx->end && (hex ? hex_value(*s) >= 0 : digit(*s))) s++;
    return s;
}

/* s is after the integer part.  Returns s itself when there is no fraction. */
static const char *skip_fraction(const gcut_lexer *lx, const char *s, bool hex)
{
    if (lx->end - s < 2 || s[0] != '.' || !(hex ? hex_value(s[1]) >= 0 : digit(s[1]))) return s;
    return skip_digits(lx, s + 1, hex);
}

static const char *skip_exponent(const gcut_lexer *lx, const char *s, bool hex)
{
    if (s == lx->end || (*s | 0x20) != (hex ? 'p' : 'e')) return s;
    const char *e = s + 1;
    if (e < lx->end && (*e == '+' || *e == '-')) e++;
    return e < lx->end && digit(*e) ? skip_digits(lx, e, false) : s;
}

static void read_integer(gcut_token *t, const char *s, const char *end, unsigned base)
{
    for (; s < end; s++)
        if (__builtin_mul_overflow(t->u, base, &t->u) ||
            __builtin_add_overflow(t->u, (unsigned)hex_value(*s), &t->u))
            t->big = true;
}

static void lex_number(gcut_lexer *lx, gcut_token *t)
{
    bool hex = lx->end - t->at > 2 && t->at[0] == '0' && (t->at[1] | 0x20) == 'x' && hex_value(t->at[2]) >= 0;
    const char *digits = t->at + (hex ? 2 : 0), *whole = skip_digits(lx, digits, hex);
    const char *s = skip_exponent(lx, skip_fraction(lx, whole, hex), hex);
    if (s < lx->end && letter(*s)) {
        while (s < lx->end && name_char(*s)) s++;
        FAIL(lx, t->at, NULL, "expected a number, found '%.*s'", s - t->at > 40 ? 40 : (int)(s - t->at),
             t->at);
    }
    if (s - t->at > GCUT_MAX_NUMBER)
        FAIL(lx, t->at, NULL, "expected a number of at most %d characters", GCUT_MAX_NUMBER);
    t->kind = s > whole ? GCUT_TOK_FLOAT : GCUT_TOK_INT;
    t->n = (size_t)(s - t->at);
    t->f = gcut_read_double(t->at, t->n);
    if (t->kind == GCUT_TOK_INT) read_integer(t, digits, whole, hex ? 16 : 10);
    lx->at = s;
}

static void lex_string(gcut_lexer *lx, gcut_token *t)
{
    const char *s = t->at + 1;
    for (; s < lx->end && *s != '"' && *s != '\n'; s++) {
        if (*s != '\\') continue;
        if (++s == lx->end) break;
        if (strchr("\"\\ntr", *s)) continue;
        if (*s != 'x')
            FAIL(lx, s - 1, "the escapes are \\\" \\\\ \\n \\t \\r and \\xHH",
                 "expected an escape, found '\\%.*s'", (int)gcut_utf8_length(s, lx->end), s);
        if (lx->end - s < 3 || hex_value(s[1]) < 0 || hex_value(s[2]) < 0)
            FAIL(lx, s - 1, NULL, "expected two hexadecimal digits after \\x");
        if (s[1] == '0' && s[2] == '0') FAIL(lx, s - 1, NULL, "a string cannot contain a NUL byte");
        s += 2;
    }
    if (s == lx->end || *s == '\n')
        FAIL(lx, t->at, "write a line break inside a string as \\n",
             "expected '\"' before the end of the line");
    t->kind = GCUT_TOK_STRING;
    lx->at = s + 1;
    t->n = (size_t)(lx->at - t->at);
}

char *gcut_lex_string(gcut_arena *arena, const gcut_token *tok)
{
    char *out = gcut_alloc(arena, tok->n), *o = out;
    for (const char *s = tok->at + 1; s < tok->at + tok->n - 1; s++) {
        if (*s != '\\') {
            *o++ = *s;
            continue;
        }
        switch (*++s) {
        case 'n': *o++ = '\n'; break;
        case 't': *o++ = '\t'; break;
        case 'r': *o++ = '\r'; break;
        case 'x':
            *o++ = (char)(hex_value(s[1]) * 16 + hex_value(s[2]));
            s += 2;
            break;
        default: *o++ = *s;
        }
    }
    *o = '\0';
    return out;
}

void gcut_lex_quote(gcut_text *out, const char *s)
{
    const char *end = s + strlen(s);
    gcut_text_add(out, "\"");
    while (s < end) {
        size_t n = gcut_utf8_length(s, end);
        if (*s == '"' || *s == '\\')
            gcut_text_add(out, "\\%c", *s);
        else if (*s == '\n')
            gcut_text_add(out, "\\n");
        else if (*s == '\t')
            gcut_text_add(out, "\\t");
        else if (*s == '\r')
            gcut_text_add(out, "\\r");
        else if (n == 0 || (unsigned char)*s < 0x20 || *s == 0x7f)
            gcut_text_add(out, "\\x%02x", (unsigned char)*s);
        else
            gcut_text_addn(out, s, n);
        s += n ? n : 1;
    }
    gcut_text_add(out, "\"");
}

/* %name @name #name !12 */
static void lex_sigil(gcut_lexer *lx, gcut_token *t)
{
    static const struct {
        char sigil;
        gcut_tok kind;
        const char *what;
    } sigils[] = {{'%', GCUT_TOK_VALUE, "a value name such as %x"},
                  {'@', GCUT_TOK_GLOBAL, "a global name such as @f"},
                  {'#', GCUT_TOK_MARK, "a mark name such as #saved"},
                  {'!', GCUT_TOK_LOC, "a location number such as !1"}};
    size_t k = 0;
    while (sigils[k].sigil != *t->at) k++;
    bool number = *t->at == '!';
    const char *s = t->at + 1;
    while (s < lx->end && (number ? digit(*s) : name_char(*s))) s++;
    if (s == t->at + 1 || (number && s < lx->end && name_char(*s)))
        FAIL(lx, t->at, NULL, "expected %s, found '%.*s'", sigils[k].what,
             s < lx->end && name_char(*s) ? 2 : 1, t->at);
    t->kind = sigils[k].kind;
    t->n = (size_t)(s - t->at);
    if (number) read_integer(t, t->at + 1, s, 10);
    lx->at = s;
}

gcut_token gcut_lex_name(gcut_lexer *lx, const gcut_token *tok)
{
    gcut_token t = *tok;
    const char *s = t.at;
    while (s < lx->end && name_char(*s)) s++;
    if (s == t.at) return t;
    t.kind = GCUT_TOK_IDENT;
    t.n = (size_t)(s - t.at);
    lx->at = s;
    return t;
}

static void lex_punct(gcut_lexer *lx, gcut_token *t)
{
    char c = *t->at, next = lx->end - t->at > 1 ? t->at[1] : '\0';
    if ((c == '-' && next == '>') || (c == '.' && next == '.')) {
        t->kind = c == '-' ? GCUT_TOK_ARROW : GCUT_TOK_RANGE;
        t->n = 2;
    } else if (strchr("()[]{},:=+-*?", c)) {
        t->kind = GCUT_TOK_PUNCT;
        t->c = c;
        t->n = 1;
    } else if ((unsigned char)c < 0x20 || c == 0x7f) {
        FAIL(lx, t->at, NULL, "unexpected control character 0x%02x", (unsigned)c);
    } else {
        FAIL(lx, t->at, c == ';' ? "statements end with their line; comments start with //" : NULL,
             "unexpected character '%.*s'", (int)gcut_utf8_length(t->at, lx->end), t->at);
    }
    lx->at += t->n;
}

gcut_token gcut_lex_next(gcut_lexer *lx)
{
    skip_blanks(lx);
    gcut_token t = {.at = lx->at, .line = lx->line, .col = place_of(lx, lx->at).col};
    if (lx->at == lx->end) return t;
    char c = *t.at;
    if (digit(c))
        lex_number(lx, &t);
    else if (letter(c))
        t = gcut_lex_name(lx, &t);
    else if (c == '"')
        lex_string(lx, &t);
    else if (strchr("%@#!", c))
        lex_sigil(lx, &t);
    else
        lex_punct(lx, &t);
    return t;
}
