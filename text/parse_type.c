/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dims, types and numbers.
 */
#include "text/parser.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- dims ---- */

static gcut_dim make(gcut_parser *p, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(p->m->dims, op, a, b);
}

static gcut_dim symbol(gcut_parser *p, const gcut_token *t)
{
    const char *name = gcut_parse_name(p, t);
    if (p->symbols_follow) return gcut_dim_symbol(p->m->dims, name);
    gcut_dim sym = gcut_dim_symbol(p->m->dims, name);
    if (gcut_decl_find(p->g, sym)) return sym;
    gcut_nearest near = gcut_nearest_start(name);
    for (uint32_t i = 0; i < p->g->decls.n; i++)
        gcut_nearest_add(&near, gcut_dim_symbol_name(p->m->dims, p->g->decls.at[i].sym));
    const char *hint = gcut_parse_nearest_hint(p, &near, "");
    if (!hint) hint = gcut_printf(p->scratch, "declare it: func @%s[%s in 1..](…)", p->g->name, name);
    GCUT_PARSE_FAIL(p, t, hint, "the size '%s' is not declared by @%s", name, p->g->name);
}

static gcut_dim dim_call(gcut_parser *p, gcut_dim_op op)
{
    gcut_token name = p->tok;
    gcut_parse_advance(p);
    gcut_parse_expect(p, '(', "'(' and two sizes");
    gcut_dim a = gcut_parse_dim(p);
    gcut_parse_expect(p, ',', "',' and the second size");
    gcut_token second = p->tok;
    gcut_dim b = gcut_parse_dim(p);
    gcut_parse_expect(p, ')', "')' after the second size");
    if (b == 0 && (op == GCUT_DIM_DIV || op == GCUT_DIM_CEILDIV || op == GCUT_DIM_MOD))
        GCUT_PARSE_FAIL(p, &second, NULL, "'%.*s' divides by zero", (int)name.n, name.at);
    return make(p, op, a, b);
}

static gcut_dim factor(gcut_parser *p)
{
    static const struct {
        const char *name;
        gcut_dim_op op;
    } calls[] = {{"div", GCUT_DIM_DIV},
                 {"ceildiv", GCUT_DIM_CEILDIV},
                 {"mod", GCUT_DIM_MOD},
                 {"min", GCUT_DIM_MIN},
                 {"max", GCUT_DIM_MAXOF}};
    if (p->tok.kind == GCUT_TOK_INT) return gcut_parse_integer(p, GCUT_DIM_MAX, "a size");
    if (p->tok.kind == GCUT_TOK_IDENT) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (gcut_parse_at_word(p, calls[i].name)) return dim_call(p, calls[i].op);
        gcut_token t = p->tok;
        gcut_parse_advance(p);
        return symbol(p, &t);
    }
    if (!gcut_parse_at(p, '(')) gcut_parse_unexpected(p, "a size");
    gcut_parse_advance(p);
    gcut_dim d = gcut_parse_dim(p);
    gcut_parse_expect(p, ')', "')'");
    return d;
}

static gcut_dim term(gcut_parser *p)
{
    gcut_dim d = factor(p);
    while (gcut_parse_accept(p, '*')) d = make(p, GCUT_DIM_MUL, d, factor(p));
    return d;
}

/* Positive and negative terms are summed separately, so that `2-5+N` never passes through a negative size. */
gcut_dim gcut_parse_dim(gcut_parser *p)
{
    gcut_token first = p->tok;
    gcut_parse_deeper(p);
    gcut_dim plus = 0, minus = 0;
    bool negative = gcut_parse_accept(p, '-');
    do {
        gcut_dim t = term(p);
        if (negative)
            minus = make(p, GCUT_DIM_ADD, minus, t);
        else
            plus = make(p, GCUT_DIM_ADD, plus, t);
        negative = gcut_parse_accept(p, '-');
    } while (negative || gcut_parse_accept(p, '+'));
    p->depth--;
    if (gcut_dim_known(plus) && gcut_dim_known(minus) && minus > plus)
        GCUT_PARSE_FAIL(p, &first, NULL, "a size or an axis cannot be negative, found -%lld",
                        (long long)(minus - plus));
    return minus == 0 ? plus : make(p, GCUT_DIM_SUB, plus, minus);
}

/* ---- types ---- */

gcut_dtype gcut_parse_dtype(gcut_parser *p)
{
    gcut_dtype t;
    if (p->tok.kind != GCUT_TOK_IDENT) gcut_parse_unexpected(p, "a dtype such as f32");
    const char *name = gcut_parse_name(p, &p->tok);
    if (!gcut_dtype_parse(name, &t)) {
        gcut_text all = {.arena = p->scratch};
        for (int i = 0; i < GCUT_NDTYPES; i++) gcut_text_add(&all, " %s", gcut_dtype_name((gcut_dtype)i));
        GCUT_PARSE_FAIL(p, &p->tok, gcut_printf(p->scratch, "the dtypes are%s", all.at),
                        "expected a dtype such as f32, found '%s'", name);
    }
    gcut_parse_advance(p);
    return t;
}

/* A ? is a symbol that no declaration of the function and no older ? uses. */
static gcut_dim fresh_symbol(gcut_parser *p)
{
    for (uint32_t k = 1;; k++) {
        gcut_dim sym = gcut_dim_symbol(p->m->dims, gcut_printf(p->scratch, "d%u", k));
        if (gcut_decl_find(p->g, sym)) continue;
        gcut_decl_add(p->g, (gcut_dim_decl){.sym = sym, .lo = 0, .hi = GCUT_DIM_MAX, .mult = 1});
        return sym;
    }
}

static gcut_dim type_dim(gcut_parser *p, bool open)
{
    if (!gcut_parse_at(p, '?')) return gcut_parse_dim(p);
    if (!open)
        GCUT_PARSE_FAIL(p, &p->tok, p->g ? "leave the type of a result out and it is inferred" : NULL,
                        "expected a size: '?' is for the types of parameters");
    gcut_parse_advance(p);
    return fresh_symbol(p);
}

gcut_type gcut_parse_type(gcut_parser *p, bool open)
{
    gcut_type t = {.dtype = gcut_parse_dtype(p)};
    gcut_parse_expect(p, '[', "'[' after the dtype");
    while (!gcut_parse_at(p, ']')) {
        if (t.rank == GCUT_MAX_RANK)
            GCUT_PARSE_FAIL(p, &p->tok, NULL, "expected at most %d axes in a type", GCUT_MAX_RANK);
        t.dim[t.rank++] = type_dim(p, open);
        if (!gcut_parse_accept(p, ',')) break;
        if (gcut_parse_at(p, ']')) gcut_parse_unexpected(p, "a size after ','");
    }
    gcut_parse_expect(p, ']', "',' or ']' after a size");
    if (gcut_parse_at(p, '{'))
        GCUT_PARSE_FAIL(
            p, &p->tok,
            "leave the {...} out; where the axes are wanted in another order, write the type that "
            "way and transpose(%x, perm=[...])",
            "a type has no physical order: every value is row-major");
    return t;
}

/* ---- numbers ---- */

bool gcut_parse_at_number(const gcut_parser *p)
{
    return p->tok.kind == GCUT_TOK_INT || p->tok.kind == GCUT_TOK_FLOAT || gcut_parse_at(p, '-') ||
           gcut_parse_at_word(p, "inf") || gcut_parse_at_word(p, "nan");
}

gcut_num gcut_parse_number(gcut_parser *p)
{
    gcut_num x = {0};
    bool negative = gcut_parse_accept(p, '-');
    gcut_token t = p->tok;
    if (gcut_parse_accept_word(p, "inf")) {
        x.f = (double)INFINITY;
    } else if (gcut_parse_accept_word(p, "nan")) {
        x.f = (double)NAN;
    } else if (t.kind == GCUT_TOK_FLOAT) {
        gcut_parse_advance(p);
        x.f = t.f;
        if (isinf(x.f)) GCUT_PARSE_FAIL(p, &t, "infinity is written inf", "the number is too large for f64");
    } else {
        gcut_parse_take(p, GCUT_TOK_INT, "a number");
        if (t.big || t.u > (uint64_t)INT64_MAX + negative)
            GCUT_PARSE_FAIL(p, &t, "write it with a '.' to make it a float",
                            "the integer does not fit 64 bits");
        x.is_int = true;
        x.i = negative ? (int64_t)(0 - t.u) : (int64_t)t.u;
        x.f = (double)x.i;
        return x;
    }
    if (negative) x.f = -x.f;
    return x;
}

void gcut_parse_check_number(gcut_parser *p, const gcut_token *where, const gcut_num *x, gcut_dtype t)
{
    if (gcut_dtype_is_float(t)) return;
    if (!x->is_int)
        GCUT_PARSE_FAIL(p, where, NULL, "expected an integer for %s, found a float", gcut_dtype_name(t));
    int64_t lo, hi;
    gcut_dtype_bounds(t, &lo, &hi);
    if (x->i < lo || x->i > hi)
        GCUT_PARSE_FAIL(p, where, NULL,
                        "%" PRId64 " is outside of %s, which goes from %" PRId64 " to %" PRId64, x->i,
                        gcut_dtype_name(t), lo, hi);
}
