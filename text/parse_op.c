/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One op: binds, operands, literals, attributes, marks, location.  What an op accepts is read from the op
 * table; two ops have a syntax of their own: full, which literal operands become, and call, with its function
 * and its derivative.
 */
#include "text/parser.h"

#include <string.h>

typedef struct bind {
    gcut_token tok;
    const char *name;
    bool typed;
    gcut_type type;
} bind;

/* An operand: a value, or (value 0) a literal, which becomes a `full` once all operands are known. */
typedef struct operand {
    gcut_ref value;
    gcut_num num;
    gcut_dtype dtype;
} operand;

typedef struct gcut_statement {
    gcut_op op;
    gcut_graph *callee, *vjp; /* of a call; vjp NULL = that of the callee's ops */
    gcut_token name;          /* the op's name: the place of errors and of the node's own location */
    gcut_locid own;
    GCUT_VEC(bind) binds;
    GCUT_VEC(operand) args;
    GCUT_VEC(gcut_attr) attrs;
    gcut_token num_dtype;    /* after the number of an attribute: value=1.0:f16; kind END when none */
    gcut_dtype dtype;        /* num_dtype as a dtype */
    GCUT_VEC(gcut_ref) refs; /* of the node: operands, types and names of results */
    GCUT_VEC(gcut_type) types;
    GCUT_VEC(const char *) names;
    struct gcut_statement *next; /* of those that wait */
} statement;

/* A statement that has been read lends its lists to a later one: an op takes no memory of its own.  Those of ops
 * with regions are in use while the ops of the regions are read. */
static statement *begin(gcut_parser *p)
{
    statement *s = p->idle;
    if (s)
        p->idle = s->next;
    else
        s = gcut_calloc(p->scratch, 1, sizeof *s);
    s->callee = s->vjp = NULL;
    s->num_dtype = (gcut_token){0};
    s->binds.n = s->args.n = s->attrs.n = s->refs.n = s->types.n = s->names.n = 0;
    return s;
}

static void end(gcut_parser *p, statement *s)
{
    s->next = p->idle;
    p->idle = s;
}

/* The value of that name in g, or captured from the graphs around it. */
static gcut_ref lookup(gcut_graph *g, const char *name)
{
    gcut_ref v = gcut_graph_find(g, name);
    if (v || !g->outer) return v;
    v = lookup(g->outer, name);
    return v ? gcut_body_capture(g, v) : 0;
}

static gcut_ref named_value(gcut_parser *p, const gcut_token *t, const char *name)
{
    gcut_ref v = lookup(p->g, name);
    if (v) return v;
    gcut_nearest near = gcut_nearest_start(name);
    for (const gcut_graph *g = p->g; g; g = g->outer)
        for (gcut_ref u = 1; u < g->values.n; u++) gcut_nearest_add(&near, g->values.at[u].name);
    GCUT_PARSE_FAIL(p, t, gcut_parse_nearest_hint(p, &near, "%"),
                    p->in_expression ? "@%s has no value %%%s"
                                     : "%.0sthe value %%%s is not defined before this line",
                    p->g->name, name);
}

gcut_ref gcut_parse_value(gcut_parser *p)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_VALUE, "a value such as %x");
    return named_value(p, &t, gcut_parse_name(p, &t));
}

/* The line of the op that defined the name in this graph or an outer one; 0 = a parameter, or a name in a
 * region that has ended. */
static int line_of(const gcut_parser *p, const char *name)
{
    for (const gcut_graph *g = p->g; g; g = g->outer) {
        gcut_ref v = gcut_graph_find(g, name);
        const gcut_node *def = v ? gcut_def(g, v) : NULL;
        if (def) return gcut_loc_place(p->m, def->loc).line;
    }
    return 0;
}

void gcut_parse_define(gcut_parser *p, const gcut_token *t, const char *name)
{
    uint32_t before = p->defined.n;
    gcut_intern(&p->defined, name, strlen(name));
    if (p->defined.n > before) return;
    int line = line_of(p, name);
    gcut_ref v = gcut_graph_find(p->g, name);
    GCUT_PARSE_FAIL(p, t,
                    line                  ? gcut_printf(p->scratch, "the first one is in line %d", line)
                    : v && !p->g->is_body ? gcut_printf(p->scratch, "it is a parameter of @%s", p->g->name)
                                          : "names are unique in a function, those of its regions included",
                    "%%%s is defined a second time", name);
}

/* ---- left of '=' ---- */

static void read_binds(gcut_parser *p, statement *s)
{
    do {
        bind b = {.tok = gcut_parse_take(p, GCUT_TOK_VALUE, "the name of a result, such as %y")};
        b.name = gcut_parse_name(p, &b.tok);
        gcut_parse_define(p, &b.tok, b.name);
        if (gcut_parse_accept(p, ':')) {
            b.typed = true;
            b.type = gcut_parse_type(p, false);
        }
        *GCUT_PUSH(p->scratch, &s->binds) = b;
    } while (gcut_parse_accept(p, ','));
    gcut_parse_expect(
        p, '=', s->binds.at[s->binds.n - 1].typed ? "'=' and an op" : "':' and a type, or '=' and an op");
}

const char *gcut_op_nearest(const char *name)
{
    gcut_nearest near = gcut_nearest_start(name);
    for (int op = 0; op < GCUT_NOPS; op++) gcut_nearest_add(&near, gcut_op_get((gcut_op)op)->name);
    return near.best;
}

static void find_op(gcut_parser *p, statement *s)
{
    if (!gcut_op_parse(s->name.at, s->name.n, &s->op)) {
        const char *name = gcut_parse_name(p, &s->name);
        const char *best = gcut_op_nearest(name);
        const char *hint = best ? gcut_printf(p->scratch, "did you mean '%s'?", best) : NULL;
        GCUT_PARSE_FAIL(p, &s->name, hint ? hint : "doc/ops.md lists them all", "there is no op '%s'", name);
    }
    s->own = gcut_loc_file(p->m, p->lx.file, s->name.line, s->name.col, NULL);
}

static void read_op_name(gcut_parser *p, statement *s)
{
    s->name = gcut_parse_take(p, GCUT_TOK_IDENT, "the name of an op, such as add");
    find_op(p, s);
}

/* ---- operands ---- */

static gcut_ref call_in_expression(gcut_parser *p, gcut_token *name);

static void read_literal(gcut_parser *p, statement *s)
{
    gcut_token t = p->tok;
    operand o = {.num = gcut_parse_number(p)};
    gcut_parse_expect(p, ':', "':' and the dtype of the literal, as in 2.0:f32");
    o.dtype = gcut_parse_dtype(p);
    gcut_parse_check_number(p, &t, &o.num, o.dtype);
    *GCUT_PUSH(p->scratch, &s->args) = o;
}

/* A name that is unused in the whole function: its names are read ahead, once. */
static const char *literal_name(gcut_parser *p)
{
    if (!p->taken.n) {
        gcut_lexer ahead = p->lx;
        for (gcut_token t = p->tok; t.kind != GCUT_TOK_END; t = gcut_lex_next(&ahead)) {
            if (t.kind == GCUT_TOK_VALUE) gcut_intern(&p->taken, t.at + 1, t.n - 1);
            if (t.kind == GCUT_TOK_IDENT && t.n == 6 && !memcmp(t.at, "return", 6)) break;
        }
        gcut_intern(&p->taken, "", 0);
    }
    for (;;) {
        const char *name = gcut_printf(p->scratch, "c%u", ++p->fresh);
        uint32_t before = p->taken.n;
        gcut_intern(&p->taken, name, strlen(name));
        if (p->taken.n == before) continue;
        gcut_intern(&p->defined, name, strlen(name));
        return name;
    }
}

/* A literal of an elementwise op has the shape of its first value operand, any other one is a scalar. */
static void make_literal(gcut_parser *p, statement *s, operand *o)
{
    gcut_type like = {0};
    for (uint32_t i = 0; gcut_op_get(s->op)->elementwise && i < s->args.n; i++)
        if (s->args.at[i].value) {
            like = *gcut_type_of(p->g, s->args.at[i].value);
            break;
        }
    gcut_attr attrs[] = {gcut_attr_dims(p->m, GCUT_KEY_shape, like.dim, like.rank),
                         gcut_dtype_is_float(o->dtype) ? gcut_attr_real(GCUT_KEY_value, o->num.f)
                                                       : gcut_attr_int(GCUT_KEY_value, o->num.i),
                         gcut_attr_str(p->m, GCUT_KEY_dtype, gcut_dtype_name(o->dtype))};
    o->value = gcut_node_new(p->g, GCUT_OP_full, NULL, 0, attrs, 3, s->own, literal_name(p));
}

/* ---- attributes ---- */

static const char *keys_hint(gcut_parser *p, const statement *s, const char *key)
{
    const gcut_op_spec *spec = &p->m->specs[s->op];
    gcut_nearest near = gcut_nearest_start(key);
    gcut_text all = {.arena = p->scratch};
    for (uint32_t i = 0; i < spec->n; i++) {
        gcut_nearest_add(&near, gcut_attr_name(spec->at[i].key));
        gcut_text_add(&all, "%s %s", i ? "," : "", gcut_attr_name(spec->at[i].key));
    }
    if (near.best) return gcut_parse_nearest_hint(p, &near, "");
    return spec->n ? gcut_printf(p->scratch, "it has%s", all.at) : "it takes no attributes";
}

static gcut_attr_key read_key(gcut_parser *p, const statement *s, const gcut_token *t)
{
    gcut_attr_key key = GCUT_NATTRS;
    const char *name = gcut_parse_name(p, t);
    if (!gcut_attr_parse(t->at, t->n, &key) || !gcut_attr_spec_of(p->m, s->op, key))
        GCUT_PARSE_FAIL(p, t, keys_hint(p, s, name), "'%s' has no attribute '%s'", gcut_op_get(s->op)->name,
                        name);
    for (uint32_t i = 0; i < s->attrs.n; i++)
        if (s->attrs.at[i].key == key) GCUT_PARSE_FAIL(p, t, NULL, "the attribute '%s' is given twice", name);
    return key;
}

/* Axes count from 0: a '-' is most likely meant to count from the last. */
static gcut_dim read_axis(gcut_parser *p, gcut_attr_key key)
{
    bool axis = key == GCUT_KEY_axis || key == GCUT_KEY_axes || key == GCUT_KEY_perm;
    if (axis && gcut_parse_at(p, '-'))
        GCUT_PARSE_FAIL(p, &p->tok, "the last axis of a value of rank r is r-1",
                        "axes count from 0 in the text, a negative one is not allowed");
    return gcut_parse_dim(p);
}

static gcut_attr read_list(gcut_parser *p, gcut_attr_key key)
{
    GCUT_VEC(gcut_dim) list = {0};
    gcut_parse_expect(p, '[', "a list such as [2, 3]");
    if (!gcut_parse_at(p, ']')) {
        do *GCUT_PUSH(p->scratch, &list) = read_axis(p, key);
        while (gcut_parse_accept(p, ','));
    }
    gcut_parse_expect(p, ']', "',' or ']' in the list");
    return gcut_attr_dims(p->m, key, list.at, list.n);
}

static gcut_attr read_num(gcut_parser *p, statement *s, gcut_attr_key key)
{
    if (!gcut_parse_at_number(p)) gcut_parse_unexpected(p, "a number");
    gcut_attr a = {.key = key, .kind = GCUT_ATTR_KIND_NUM, .u.num = gcut_parse_number(p)};
    if (gcut_parse_accept(p, ':')) {
        s->num_dtype = p->tok;
        s->dtype = gcut_parse_dtype(p);
    }
    return a;
}

/* A dtype counts as a string. */
static gcut_attr read_str(gcut_parser *p, gcut_attr_key key)
{
    gcut_token t = p->tok;
    if (t.kind == GCUT_TOK_STRING) {
        gcut_parse_advance(p);
        return gcut_attr_str(p->m, key, gcut_parse_text(p, &t));
    }
    if (t.kind != GCUT_TOK_IDENT) gcut_parse_unexpected(p, "a string");
    gcut_dtype d;
    if (!gcut_dtype_parse(gcut_parse_name(p, &t), &d))
        gcut_parse_unexpected(p, "a string in quotes or a dtype");
    gcut_parse_advance(p);
    return gcut_attr_str(p->m, key, gcut_dtype_name(d));
}

static void read_attr(gcut_parser *p, statement *s, const gcut_token *t)
{
    gcut_attr a;
    gcut_attr_key key = read_key(p, s, t);
    switch (gcut_attr_kind_of(key)) {
    case GCUT_ATTR_KIND_DIM: a = gcut_attr_dim(key, read_axis(p, key)); break;
    case GCUT_ATTR_KIND_DIMS: a = read_list(p, key); break;
    case GCUT_ATTR_KIND_NUM: a = read_num(p, s, key); break;
    case GCUT_ATTR_KIND_BOOL:
        a = gcut_attr_bool(key, gcut_parse_at_word(p, "true"));
        if (!a.u.flag && !gcut_parse_at_word(p, "false")) gcut_parse_unexpected(p, "true or false");
        gcut_parse_advance(p);
        break;
    case GCUT_ATTR_KIND_STR:
    default: a = read_str(p, key);
    }
    *GCUT_PUSH(p->scratch, &s->attrs) = a;
}

/* The dtype after a number must be the dtype that the op computes in; `full` takes it as its dtype
 * attribute. */
static void check_num_dtype(gcut_parser *p, statement *s)
{
    if (s->num_dtype.kind == GCUT_TOK_END) return;
    const char *name = gcut_dtype_name(s->dtype), *other = NULL;
    if (s->op == GCUT_OP_full) {
        for (uint32_t i = 0; i < s->attrs.n; i++)
            if (s->attrs.at[i].key == GCUT_KEY_dtype) other = s->attrs.at[i].u.str;
        if (!other) *GCUT_PUSH(p->scratch, &s->attrs) = gcut_attr_str(p->m, GCUT_KEY_dtype, name);
    } else if (s->args.n && s->args.at[0].value) {
        other = gcut_dtype_name(gcut_type_of(p->g, s->args.at[0].value)->dtype);
    }
    if (other && strcmp(other, name) != 0)
        GCUT_PARSE_FAIL(p, &s->num_dtype, NULL, "'%s' works in %s here, not in %s", gcut_op_get(s->op)->name,
                        other, name);
}

/* ---- the whole ---- */

/* A function of the module that is defined before this line, so that no function calls itself. */
static gcut_graph *read_function(gcut_parser *p, const char *what)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_GLOBAL, what);
    const char *name = gcut_parse_name(p, &t);
    gcut_graph *f = gcut_module_find(p->m, name);
    const gcut_graph *self = p->g;
    while (self->outer) self = self->outer;
    if (f == self) GCUT_PARSE_FAIL(p, &t, "use scan or while", "@%s calls itself", name);
    if (!f)
        GCUT_PARSE_FAIL(p, &t, "a function stands before those that call it",
                        "the function @%s is not defined before this line", name);
    return f;
}

/* vjp=@g after the operands of a call. */
static void read_vjp(gcut_parser *p, statement *s, const gcut_token *key)
{
    if (s->vjp) GCUT_PARSE_FAIL(p, key, NULL, "'call': attribute 'vjp' is given twice");
    s->vjp = read_function(p, "the function that is the derivative, such as @f.vjp");
}

/* In an expression, the operand that begins with the word t, which is taken; 0: it is the key of an attribute. */
static gcut_ref word_operand(gcut_parser *p, gcut_token *t)
{
    if (gcut_parse_at(p, '(')) return call_in_expression(p, t);
    if (gcut_parse_at(p, '=')) return 0;
    const char *name = gcut_parse_name(p, t);
    if (!gcut_parse_accept(p, ':')) return named_value(p, t, name);
    return gcut_parse_param(p, GCUT_ROLE_input, t, name, false);
}

/* The first token decides: a value or a number is an operand, a word is the key of an attribute. */
static void read_arg(gcut_parser *p, statement *s)
{
    gcut_token t = p->tok;
    if (p->in_expression && t.kind == GCUT_TOK_IDENT) {
        p->tok = t = gcut_lex_name(&p->lx, &t);
        gcut_parse_advance(p);
        gcut_ref v = word_operand(p, &t);
        if (v) {
            if (s->attrs.n)
                GCUT_PARSE_FAIL(p, &t, NULL, "expected an attribute: operands come before attributes");
            *GCUT_PUSH(p->scratch, &s->args) = (operand){.value = v};
            return;
        }
        gcut_parse_advance(p); /* the = */
        read_attr(p, s, &t);
        return;
    }
    if (t.kind == GCUT_TOK_VALUE || gcut_parse_at_number(p)) {
        if (s->attrs.n || s->vjp)
            GCUT_PARSE_FAIL(p, &t, NULL, "expected an attribute: operands come before attributes");
        if (t.kind == GCUT_TOK_VALUE)
            *GCUT_PUSH(p->scratch, &s->args) = (operand){.value = gcut_parse_value(p)};
        else
            read_literal(p, s);
        return;
    }
    if (t.kind != GCUT_TOK_IDENT)
        gcut_parse_unexpected(p, "an operand such as %x or an attribute such as axis=0");
    gcut_parse_advance(p);
    if (!gcut_parse_accept(p, '='))
        GCUT_PARSE_FAIL(p, &t,
                        gcut_graph_find(p->g, gcut_parse_name(p, &t))
                            ? gcut_printf(p->scratch, "did you mean '%%%s'?", gcut_parse_name(p, &t))
                            : "values are written with a sigil, %x; attributes are written key=value",
                        "expected an operand or an attribute, found '%.*s'", t.n > 40 ? 40 : (int)t.n, t.at);
    if (s->op == GCUT_OP_call && !strcmp(gcut_parse_name(p, &t), "vjp"))
        read_vjp(p, s, &t);
    else
        read_attr(p, s, &t);
}

static void read_args(gcut_parser *p, statement *s)
{
    gcut_parse_expect(p, '(', "'(' and operands");
    bool more = !gcut_parse_at(p, ')');
    if (s->op == GCUT_OP_call) {
        s->callee = read_function(p, "the function to call, such as @f");
        more = gcut_parse_accept(p, ',');
    }
    if (more) {
        do read_arg(p, s);
        while (gcut_parse_accept(p, ','));
    }
    gcut_parse_expect(p, ')', "',' or ')'");
}

/* Returns the number of results; the last nodes of the graph make them. */
static uint32_t build(gcut_parser *p, statement *s)
{
    gcut_parse_regions regions = {0};
    uint32_t typed = 0;
    for (uint32_t i = 0; i < s->args.n; i++)
        if (!s->args.at[i].value) make_literal(p, s, &s->args.at[i]);
    for (uint32_t i = 0; i < s->args.n; i++) *GCUT_PUSH(p->scratch, &s->refs) = s->args.at[i].value;
    for (uint32_t i = 0; i < s->binds.n; i++) {
        *GCUT_PUSH(p->scratch, &s->types) = s->binds.at[i].type;
        *GCUT_PUSH(p->scratch, &s->names) = s->binds.at[i].name;
        typed += s->binds.at[i].typed;
    }
    if (typed && typed < s->binds.n)
        GCUT_PARSE_FAIL(p, &s->binds.at[0].tok, NULL, "give the types of all results or of none");
    if (s->callee)
        regions = (gcut_parse_regions){.n = s->vjp ? 2 : 1, .at = {{s->callee}, {s->vjp}}};
    else
        gcut_parse_op_regions(p, s->op, s->refs.at, s->refs.n, s->attrs.at, s->attrs.n, &regions);
    for (uint32_t i = 0; i < regions.ncaptured; i++) *GCUT_PUSH(p->scratch, &s->refs) = regions.captured[i];
    gcut_node_spec spec = {.op = s->op,
                           .args = s->refs.at,
                           .nargs = s->refs.n,
                           .ncaptured = regions.ncaptured,
                           .attrs = s->attrs.at,
                           .nattrs = s->attrs.n,
                           .regions = regions.at,
                           .nregs = regions.n,
                           .loc = s->own,
                           .types = typed ? s->types.at : NULL,
                           .names = s->names.at,
                           .ntypes = s->types.n};
    p->building = s->own;
    gcut_node_make(p->g, &spec);
    p->building = 0;
    return p->g->nodes.at[p->g->nodes.n - 1].nres;
}

/* op(operands, attributes) with one result, whose name has been read. */
static gcut_ref call_in_expression(gcut_parser *p, gcut_token *name)
{
    statement *s = begin(p);
    gcut_parse_deeper(p);
    s->name = *name;
    find_op(p, s);
    read_args(p, s);
    check_num_dtype(p, s);
    if (build(p, s) != 1)
        GCUT_PARSE_FAIL(p, name, NULL, "'%s' has several results, and an expression has one",
                        gcut_op_get(s->op)->name);
    end(p, s);
    p->depth--;
    return p->g->nodes.at[p->g->nodes.n - 1].res0;
}

gcut_ref gcut_parse_whole_expression(gcut_parser *p)
{
    p->in_expression = true;
    gcut_token t = p->tok;
    if (t.kind != GCUT_TOK_IDENT)
        gcut_parse_unexpected(p, "an op such as cross_entropy, or the name of a value");
    p->tok = t = gcut_lex_name(&p->lx, &t);
    gcut_parse_advance(p);
    gcut_ref v = word_operand(p, &t);
    if (!v || p->tok.kind != GCUT_TOK_END) gcut_parse_unexpected(p, "the end of the expression");
    return v;
}

static void build_statement(gcut_parser *p, statement *s)
{
    const uint32_t nres = build(p, s);
    if (nres != s->binds.n)
        GCUT_PARSE_FAIL(p, &s->binds.at[0].tok, NULL, "'%s' has %u result%s, found names for %u",
                        gcut_op_get(s->op)->name, nres, nres == 1 ? "" : "s", s->binds.n);
}

void gcut_parse_op(gcut_parser *p)
{
    statement *s = begin(p);
    read_binds(p, s);
    read_op_name(p, s);
    read_args(p, s);
    check_num_dtype(p, s);
    build_statement(p, s);
    gcut_parse_marks(p, GCUT_MARK_ON_OP, &p->g->nodes.at[p->g->nodes.n - 1].marks);
    gcut_parse_loc_use(p, p->g, s->own);
    end(p, s);
}

gcut_token gcut_parse_block(gcut_parser *p, bool region, const char *of)
{
    const char *const kind[] = {"function", "region"}, *const end[] = {"return", "yield"};
    gcut_parse_expect(
        p, '{',
        gcut_printf(p->scratch, "'{' and the %s", region ? "ops of the region" : "body of the function"));
    for (;;) {
        gcut_token kw = p->tok;
        if (kw.kind == GCUT_TOK_VALUE)
            gcut_parse_op(p);
        else if (gcut_parse_accept_word(p, end[region]))
            return kw;
        else if (gcut_parse_at(p, '}'))
            GCUT_PARSE_FAIL(p, &kw, NULL, "expected '%s' before the end of %s", end[region], of);
        else if (gcut_parse_at_word(p, end[!region]))
            GCUT_PARSE_FAIL(p, &kw, gcut_printf(p->scratch, "a %s ends with '%s'", kind[region], end[region]),
                            "'%s' ends a %s, not a %s", end[!region], kind[!region], kind[region]);
        else
            gcut_parse_unexpected(
                p, gcut_printf(p->scratch, "an op such as '%%y = relu(%%x)' or '%s'", end[region]));
    }
}

gcut_attr *gcut_parse_attr_list(gcut_parser *p, gcut_op op, uint32_t *n)
{
    statement s = {.op = op};
    for (bool more = p->tok.kind != GCUT_TOK_END; more;) {
        gcut_token t = gcut_parse_take(p, GCUT_TOK_IDENT, "an attribute such as axis=0");
        gcut_parse_expect(p, '=', "'=' and a value");
        read_attr(p, &s, &t);
        more = p->tok.kind != GCUT_TOK_END;
        if (more) gcut_parse_expect(p, ',', "',' or the end");
    }
    check_num_dtype(p, &s);
    *n = s.attrs.n;
    return gcut_memdup(p->m->arena, s.attrs.at, s.attrs.n * sizeof *s.attrs.at);
}
