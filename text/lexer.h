/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokens of the text IR.
 *
 * A sign is always a token of its own, except the one inside an exponent.  A
 * '.' belongs to a number only before a digit, so `1..` is a number and a
 * range.  Newlines and // comments are blanks.
 */
#ifndef GCUT_TEXT_LEXER_H
#define GCUT_TEXT_LEXER_H

#include "base/arena.h"

typedef enum gcut_tok {
    GCUT_TOK_END,
    GCUT_TOK_IDENT,  /* relu */
    GCUT_TOK_INT,    /* 12, 0xff: u */
    GCUT_TOK_FLOAT,  /* 1e-5, 0x1.8p3: f */
    GCUT_TOK_STRING, /* "a\n": gcut_lex_string */
    GCUT_TOK_VALUE,  /* %name */
    GCUT_TOK_GLOBAL, /* @name */
    GCUT_TOK_LOC,    /* !12: u */
    GCUT_TOK_MARK,   /* #name */
    GCUT_TOK_ARROW,  /* -> */
    GCUT_TOK_RANGE,  /* .. */
    GCUT_TOK_PUNCT   /* one of ( ) [ ] { } , : = + - * ?: c */
} gcut_tok;

typedef struct gcut_token {
    gcut_tok kind;
    char c;
    bool big; /* INT, LOC: does not fit u */
    int line, col;
    const char *at; /* its text, n bytes, sigil included; not NUL-terminated */
    size_t n;
    uint64_t u;
    double f; /* INT and FLOAT; INFINITY when out of range */
} gcut_token;

typedef struct gcut_lexer {
    gcut_env *env;
    const char *file;
    const char *at, *end; /* the next byte */
    const char *line_at;
    int line;
} gcut_lexer;

/* Throws GCUT_ESYNTAX unless the text is UTF-8 without NUL bytes; skips a byte order mark. */
void gcut_lex_start(gcut_lexer *lx, gcut_env *env, const char *file, const char *text, size_t size);
/* Throws GCUT_ESYNTAX at a byte that starts no token. */
gcut_token gcut_lex_next(gcut_lexer *lx);
/* Reads the token at the start of `tok` again as a bare name of [A-Za-z0-9_.]: names of results may look
 * like numbers. */
gcut_token gcut_lex_name(gcut_lexer *lx, const gcut_token *tok);
/* The decoded text of a STRING. */
char *gcut_lex_string(gcut_arena *arena, const gcut_token *tok);
/* Its inverse: s in quotes; bytes that are not UTF-8 and control characters as \xHH. */
void gcut_lex_quote(gcut_text *out, const char *s);

#define GCUT_MAX_NUMBER 1000
/* strtod of n <= GCUT_MAX_NUMBER bytes. */
double gcut_read_double(const char *s, size_t n);

#endif
