/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * func @f[dims](params) -> (results) { ... }
 */
#include "text/parser.h"
#include "graph/verify.h"

#include <string.h>

/* A result as declared in the header; `return` names its value later. */
typedef struct header_result {
    gcut_role role;
    const char *name;
    gcut_token at; /* the name's */
    gcut_type type;
    gcut_marks marks;
} header_result;

typedef struct header_results {
    GCUT_VEC(header_result) all;
    gcut_map roles; /* of a name: a bit for each role in which it is a result */
} header_results;

static void dim_decl(gcut_parser *p)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_IDENT, "the name of a size");
    const char *name = gcut_parse_name(p, &t);
    if (strchr(name, '.')) GCUT_PARSE_FAIL(p, &t, NULL, "the name of a size has no '.', unlike '%s'", name);
    gcut_dim_decl d = {.sym = gcut_dim_symbol(p->m->dims, name), .lo = 0, .hi = GCUT_DIM_MAX, .mult = 1};
    if (gcut_decl_find(p->g, d.sym)) GCUT_PARSE_FAIL(p, &t, NULL, "the size '%s' is declared twice", name);
    if (gcut_parse_accept_word(p, "in")) {
        d.lo = gcut_parse_integer(p, GCUT_DIM_MAX, "the smallest size");
        if (p->tok.kind != GCUT_TOK_RANGE) gcut_parse_unexpected(p, "'..' after the smallest size");
        gcut_parse_advance(p);
        gcut_token hi = p->tok;
        if (hi.kind == GCUT_TOK_INT) d.hi = gcut_parse_integer(p, GCUT_DIM_MAX, "the largest size");
        if (d.lo > d.hi)
            GCUT_PARSE_FAIL(p, &hi, NULL, "the range of '%s' is empty: %lld is less than %lld", name,
                            (long long)d.hi, (long long)d.lo);
    }
    gcut_token mult = p->tok;
    if (gcut_parse_accept_word(p, "mult")) {
        mult = p->tok;
        d.mult = gcut_parse_integer(p, GCUT_DIM_MAX, "what the size is a multiple of");
        if (d.mult == 0) GCUT_PARSE_FAIL(p, &mult, NULL, "a size cannot be a multiple of 0");
        if (d.hi / d.mult * d.mult < d.lo)
            GCUT_PARSE_FAIL(p, &mult, NULL,
                            "the range of '%s' is empty: no multiple of %lld is in %lld..%lld", name,
                            (long long)d.mult, (long long)d.lo, (long long)d.hi);
    }
    gcut_decl_add(p->g, d);
}

static void dim_decls(gcut_parser *p)
{
    if (!gcut_parse_accept(p, '[') || gcut_parse_accept(p, ']')) return;
    do dim_decl(p);
    while (gcut_parse_accept(p, ','));
    gcut_parse_expect(p, ']', "',' or ']' after the declaration of a size");
}

/* The roles from..to-1 are legal here; saved is both. */
static gcut_role role(gcut_parser *p, gcut_role from, gcut_role to, const char *what)
{
    for (gcut_role r = from; r < to; r++)
        if (gcut_parse_accept_word(p, gcut_role_name(r))) return r;
    gcut_text all = {.arena = p->scratch};
    for (gcut_role r = from; r < to; r++)
        gcut_text_add(&all, "%s%s", r == from ? "" : r + 1 == to ? " or " : ", ", gcut_role_name(r));
    gcut_parse_unexpected(p, gcut_printf(p->scratch, "the role of a %s (%s)", what, all.at));
}

gcut_ref gcut_parse_param(gcut_parser *p, gcut_role r, const gcut_token *t, const char *name, bool open)
{
    const gcut_ref same = gcut_graph_find(p->g, name);
    if (same)
        GCUT_PARSE_FAIL(p, t, "give one of them another name", "there is already a %s %%%s",
                        gcut_def(p->g, same) ? "value" : "parameter", name);
    gcut_type type = gcut_parse_type(p, open);
    gcut_parse_define(p, t, name);
    const gcut_ref v = gcut_param_new(p->g, r, name, &type);
    gcut_param *made = &p->g->params.at[p->g->params.n - 1];
    gcut_parse_marks(p, GCUT_MARK_ON_PARAM, &made->marks);
    const char *fault = gcut_param_fault(p->scratch, p->g, made);
    if (fault) gcut_fail(p->env, GCUT_ETYPE, gcut_parse_place(p, t), NULL, "%s", fault);
    return v;
}

static void params(gcut_parser *p)
{
    gcut_parse_expect(p, '(',
                      p->g->decls.n ? "'(' and the parameters" : "'(' and the parameters, or '[' and sizes");
    if (gcut_parse_accept(p, ')')) return;
    do {
        gcut_role r = role(p, GCUT_ROLE_param, GCUT_ROLE_out, "parameter");
        gcut_token t = gcut_parse_take(p, GCUT_TOK_VALUE, "the name of a parameter, such as %x");
        const char *name = gcut_parse_name(p, &t);
        gcut_parse_expect(p, ':', "':' and the type of the parameter");
        gcut_parse_param(p, r, &t, name, true);
    } while (gcut_parse_accept(p, ','));
    gcut_parse_expect(p, ')', "',' or ')' after a parameter");
}

static void results(gcut_parser *p, header_results *out)
{
    if (p->tok.kind != GCUT_TOK_ARROW) gcut_parse_unexpected(p, "'->' and the results");
    gcut_parse_advance(p);
    gcut_parse_expect(p, '(', "'(' and the results");
    if (gcut_parse_accept(p, ')')) return;
    do {
        header_result r = {.role = role(p, GCUT_ROLE_saved, GCUT_NROLES, "result")};
        gcut_token t = gcut_lex_name(&p->lx, &p->tok);
        if (t.kind != GCUT_TOK_IDENT) gcut_parse_unexpected(p, "the name of a result, without a sigil");
        gcut_parse_advance(p);
        r.name = gcut_parse_name(p, &t);
        r.at = t;
        uint32_t *roles = gcut_map_at(p->scratch, &out->roles, gcut_map_key(r.name));
        if (*roles >> r.role & 1)
            GCUT_PARSE_FAIL(p, &t, "give one of them another name", "there is already a result '%s %s'",
                            gcut_role_name(r.role), r.name);
        *roles |= 1u << r.role;
        gcut_parse_expect(p, ':', "':' and the type of the result");
        r.type = gcut_parse_type(p, false);
        gcut_parse_marks(p, GCUT_MARK_ON_RESULT, &r.marks);
        *GCUT_PUSH(p->scratch, &out->all) = r;
    } while (gcut_parse_accept(p, ','));
    gcut_parse_expect(p, ')', "',' or ')' after a result");
}

/* The word `return` has been read; kw is its token. */
static void read_return(gcut_parser *p, const gcut_token *kw, const header_results *want)
{
    uint32_t n = 0;
    /* If there is nothing to return, a value in a later line is the start of an op after `return`. */
    while (p->tok.kind == GCUT_TOK_VALUE && (want->all.n || p->tok.line == kw->line)) {
        gcut_token t = p->tok;
        gcut_ref v = gcut_parse_value(p);
        if (n < want->all.n) {
            const header_result *r = &want->all.at[n];
            if (!gcut_type_equal(&r->type, gcut_type_of(p->g, v)))
                gcut_fail(p->env, GCUT_ETYPE, gcut_parse_place(p, &t), NULL,
                          "the result '%s %s' is declared %s, but %.*s is %s", gcut_role_name(r->role),
                          r->name, gcut_type_text(p->scratch, p->m, &r->type), (int)t.n, t.at,
                          gcut_type_text(p->scratch, p->m, gcut_type_of(p->g, v)));
            gcut_result_new(p->g, r->role, r->name, v);
            p->g->results.at[n].marks = r->marks;
            if (r->role == GCUT_ROLE_next || r->role == GCUT_ROLE_grad || r->marks.n)
                *GCUT_PUSH(p->scratch, &p->targets) = (gcut_target_use){p->g, n, r->at};
        }
        n++;
        if (!gcut_parse_accept(p, ',')) break;
        if (p->tok.kind != GCUT_TOK_VALUE) gcut_parse_unexpected(p, "a value such as %x after ','");
    }
    if (n != want->all.n)
        GCUT_PARSE_FAIL(p, kw, NULL, "@%s declares %u result%s, but returns %u", p->g->name, want->all.n,
                        want->all.n == 1 ? "" : "s", n);
    gcut_parse_loc_use(p, NULL, 0);
    if (!gcut_parse_at(p, '}')) gcut_parse_unexpected(p, "'}' after the return");
    gcut_parse_advance(p);
}

void gcut_parse_func(gcut_parser *p)
{
    header_results want = {0};
    gcut_parse_advance(p);
    gcut_token name = gcut_parse_take(p, GCUT_TOK_GLOBAL, "the name of the function, such as @f");
    if (gcut_module_find(p->m, gcut_parse_name(p, &name)))
        GCUT_PARSE_FAIL(p, &name, "give one of them another name", "there is already a function %.*s",
                        (int)name.n, name.at);
    p->g = gcut_graph_create(p->m, gcut_parse_name(p, &name));
    p->taken = (gcut_names){.arena = p->scratch};
    p->defined = (gcut_names){.arena = p->scratch};
    p->fresh = 0;
    dim_decls(p);
    params(p);
    results(p, &want);
    gcut_parse_marks(p, GCUT_MARK_ON_FUNC, &p->g->marks);
    gcut_parse_loc_use(p, p->g, 0);
    gcut_token kw = gcut_parse_block(p, false, gcut_printf(p->scratch, "@%s", p->g->name));
    read_return(p, &kw, &want);
    p->g = NULL;
}

/* A hint for an invalid target: another name, another role, or another type. */
static const char *target_hint(gcut_parser *p, const gcut_graph *g, const gcut_result *r)
{
    gcut_nearest near = gcut_nearest_start(r->name);
    bool next = r->role == GCUT_ROLE_next;
    if (r->role == GCUT_ROLE_out) return "leave one of the two marks out";
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *q = &g->params.at[i];
        const char *name = g->values.at[q->value].name;
        bool target =
            q->role == GCUT_ROLE_param || q->role == GCUT_ROLE_state || (!next && q->role == GCUT_ROLE_input);
        if (!strcmp(name, r->name))
            return target ? gcut_printf(p->scratch, "the %s of %%%s has its type",
                                        next ? "next value" : "gradient", name)
                          : gcut_printf(p->scratch, "declare `state %%%s`, or return it as `out`", name);
        if (target) gcut_nearest_add(&near, name);
    }
    const char *meant = gcut_parse_nearest_hint(p, &near, "");
    if (meant) return meant;
    return gcut_printf(p->scratch, "`%s w` is of the parameter %%w; any other result is `out`",
                       gcut_role_name(r->role));
}

void gcut_parse_check_targets(gcut_parser *p)
{
    for (uint32_t i = 0; i < p->targets.n; i++) {
        const gcut_target_use *u = &p->targets.at[i];
        const gcut_result *r = &u->g->results.at[u->result];
        const char *fault = gcut_result_fault(p->scratch, u->g, r);
        if (fault)
            gcut_fail(p->env, GCUT_ETYPE, gcut_parse_place(p, &u->name), target_hint(p, u->g, r), "%s",
                      fault);
    }
}
