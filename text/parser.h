/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Interface between the files of the parser: recursive descent with one token of lookahead.  The first
 * error throws: no function here returns a failure.
 */
#ifndef GCUT_TEXT_PARSER_H
#define GCUT_TEXT_PARSER_H

#include "base/names.h"
#include "graph/graph.h"
#include "text/lexer.h"

#define GCUT_MAX_NESTING 64

/* A !n after an op, a function or a return.  Locations may be defined after their use, so ops first get
 * the place of their own line (`own`), for type errors, and the table replaces it at the end. */
typedef struct gcut_loc_use {
    gcut_graph *g;  /* NULL: a return, which has no location */
    gcut_locid own; /* 0: it is the location of g itself */
    uint64_t number;
    gcut_place at;
} gcut_loc_use;

/* A result that names a parameter; checked once all functions and pairs are read. */
typedef struct gcut_target_use {
    const gcut_graph *g;
    uint32_t result;
    gcut_token name;
} gcut_target_use;

typedef struct gcut_parser {
    gcut_env *env;
    gcut_arena *scratch; /* freed when the parser is done */
    gcut_module *m;
    gcut_graph *g;       /* the function or the body being read, NULL between functions */
    bool in_expression;  /* operands are expressions, bare names of values, and new inputs with a type */
    bool symbols_follow; /* in a pair or data: sizes are over symbols of functions, which may follow */
    gcut_lexer lx;
    gcut_token tok; /* the next token */
    int depth;
    struct gcut_statement *idle; /* those whose memory the next ops take (parse_op.c) */
    gcut_locid building;         /* location of the op whose node is under construction, 0 = none */
    GCUT_VEC(gcut_token) data;   /* the names of all data */
    GCUT_VEC(gcut_token) pairs;  /* the names of all pairs */
    GCUT_VEC(gcut_token) paired; /* the functions that they name, two each; these may be defined later */
    GCUT_VEC(gcut_target_use) targets;
    GCUT_VEC(gcut_loc_use) uses;
    gcut_map locs; /* the location table: ids by number */
    gcut_names
        taken; /* every %name of the function, read ahead for the first literal operand; n = 0: not yet */
    uint32_t fresh;     /* the last cN given to a literal operand */
    gcut_names defined; /* every %name defined so far in the function and its regions */
} gcut_parser;

/* ---- parse_token.c: tokens, errors, names ---- */
gcut_place gcut_parse_place(const gcut_parser *p, const gcut_token *t);
#define GCUT_PARSE_FAIL(p, tok, hint, ...)                                                                   \
    gcut_fail((p)->env, GCUT_ESYNTAX, gcut_parse_place(p, tok), hint, __VA_ARGS__)
/* "expected <what>, found <the next token>" */
_Noreturn void gcut_parse_unexpected(gcut_parser *p, const char *what);
void gcut_parse_advance(gcut_parser *p);
bool gcut_parse_at(const gcut_parser *p, char c);
bool gcut_parse_accept(gcut_parser *p, char c);
void gcut_parse_expect(gcut_parser *p, char c, const char *what);
bool gcut_parse_at_word(const gcut_parser *p, const char *word);
bool gcut_parse_accept_word(gcut_parser *p, const char *word);
/* Takes a token of that kind; `what` describes it in the error. */
gcut_token gcut_parse_take(gcut_parser *p, gcut_tok kind, const char *what);
/* The text without its sigil, interned in the module. */
const char *gcut_parse_name(gcut_parser *p, const gcut_token *t);
const char *gcut_parse_text(gcut_parser *p, const gcut_token *t);
void gcut_parse_deeper(gcut_parser *p);
/* An integer 0..max. */
int64_t gcut_parse_integer(gcut_parser *p, int64_t max, const char *what);

/* "did you mean '<sigil>name'?", or NULL. */
const char *gcut_parse_nearest_hint(gcut_parser *p, const gcut_nearest *near, const char *sigil);

/* parse_op.c: an expression up to the end of the text, built in p->g. */
gcut_ref gcut_parse_whole_expression(gcut_parser *p);

/* parse_op.c: the attributes of `op` up to the end of the text, in the module's arena. */
gcut_attr *gcut_parse_attr_list(gcut_parser *p, gcut_op op, uint32_t *n);

/* ---- parse_mark.c ---- */

/* Those at the current token, which stand after such a thing. */
void gcut_parse_marks(gcut_parser *p, gcut_mark_place on, gcut_marks *marks);

/* ---- parse_type.c: dims, types, numbers ---- */
gcut_dim gcut_parse_dim(gcut_parser *p);
gcut_dtype gcut_parse_dtype(gcut_parser *p);
/* `open`: a ? is allowed and becomes a fresh symbol of the function. */
gcut_type gcut_parse_type(gcut_parser *p, bool open);
/* [-] number, inf or nan. */
gcut_num gcut_parse_number(gcut_parser *p);
bool gcut_parse_at_number(const gcut_parser *p);
/* Throws unless x is a value of dtype t; `where` is the token of the error. */
void gcut_parse_check_number(gcut_parser *p, const gcut_token *where, const gcut_num *x, gcut_dtype t);

/* ---- parse_op.c: one statement ---- */
/* Reads `%r: type = op(...)`, the next token being its first %name. */
void gcut_parse_op(gcut_parser *p);
gcut_ref gcut_parse_value(gcut_parser *p);
/* Throws when the function, or a region of it, has defined that name already. */
void gcut_parse_define(gcut_parser *p, const gcut_token *t, const char *name);

/* Reads `{`, ops, and the word that ends the block: `return` of a function, `yield` of a region.  `of`
 * describes the block in errors.  Returns the token of the word. */
gcut_token gcut_parse_block(gcut_parser *p, bool region, const char *of);

/* ---- parse_region.c: the bodies after an op ---- */
typedef struct gcut_parse_regions {
    uint32_t n;
    gcut_region at[2];
    gcut_ref *captured;
    uint32_t ncaptured;
} gcut_parse_regions;
/* Reads the regions of an op on these operands. */
void gcut_parse_op_regions(gcut_parser *p, gcut_op op, const gcut_ref *args, uint32_t nargs,
                           const gcut_attr *attrs, uint32_t nattrs, gcut_parse_regions *out);

/* ---- parse_func.c ---- */
void gcut_parse_func(gcut_parser *p);
/* A parameter from its type on: t, its name, and the colon have been read.  `open`: as of gcut_parse_type. */
gcut_ref gcut_parse_param(gcut_parser *p, gcut_role r, const gcut_token *t, const char *name, bool open);
/* Throws unless each `next` and `grad` names a parameter that it can be of. */
void gcut_parse_check_targets(gcut_parser *p);

/* ---- parse_loc.c: the location table ---- */
/* Takes a !n if there is one. */
void gcut_parse_loc_use(gcut_parser *p, gcut_graph *g, gcut_locid own);
void gcut_parse_locdef(gcut_parser *p);
void gcut_parse_locs_resolve(gcut_parser *p);

/* ---- parse_data.c ---- */
void gcut_parse_data(gcut_parser *p);
/* `splat(1)` and so on, for data whose type is known. */
void gcut_parse_contents(gcut_parser *p, gcut_data *d);
/* Throws unless each data has the name and type of a param, input or state of some function. */
void gcut_parse_check_data(gcut_parser *p);

#endif
