/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The canonical text of a module.  Locations are numbered by their first use,
 * equal ones once, so that printing what was parsed from a print changes nothing.
 */
#include "text/text.h"

#include <inttypes.h>
#include <string.h>

#include "graph/names.h"
#include "text/lexer.h"

#define COLUMNS 110

typedef struct printer {
    const gcut_module *m;
    gcut_text *out;
    bool no_loc;
    const gcut_graph *named[2]; /* graphs that the text gives other names */
    const char *name[2];
    const char *pass; /* of named[0] */
    gcut_arena *scratch;
    uint32_t *number;  /* of a location id; 0 = not used so far */
    gcut_locid *order; /* by number: the location printed under it */
    uint32_t norder;
    uint32_t *slot; /* numbers, hashed by the location's contents */
    uint32_t mask;
    gcut_name_set names; /* of the function being printed */
} printer;

/* ---- locations ---- */

static printer start(const gcut_module *m, const gcut_print_options *opt, gcut_text *out)
{
    printer p = {.m = m, .out = out, .no_loc = opt && opt->no_loc, .mask = 15};
    p.scratch = gcut_arena_new(gcut_arena_env(out->arena), out->arena);
    if (p.no_loc) return p;
    while (p.mask / 2 < m->locs.n) p.mask = 2 * p.mask + 1;
    p.number = gcut_calloc(p.scratch, m->locs.n, sizeof *p.number);
    p.order = gcut_calloc(p.scratch, m->locs.n + 1, sizeof *p.order);
    p.slot = gcut_calloc(p.scratch, (size_t)p.mask + 1, sizeof *p.slot);
    return p;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * UINT64_C(0x9E3779B97F4A7C15) ^ (h >> 29);
}

/* Strings of a location are interned, so equal pointers are equal texts; arguments compare by number. */
static bool same_loc(const printer *p, const gcut_loc *a, const gcut_loc *b)
{
    if (a->call != b->call || a->name != b->name || a->line != b->line || a->col != b->col ||
        a->scope != b->scope || a->text != b->text || a->nargs != b->nargs)
        return false;
    for (uint32_t i = 0; i < a->nargs; i++)
        if (p->number[a->args[i]] != p->number[b->args[i]]) return false;
    return true;
}

/* Gives a location its number; its arguments must have theirs. */
static void give_number(printer *p, gcut_locid id)
{
    const gcut_loc *l = &p->m->locs.at[id];
    uint64_t h = mix(mix((uint64_t)l->line, (uint64_t)l->col), (uintptr_t)l->name);
    h = mix(mix(h, (uintptr_t)l->scope), (uintptr_t)l->text);
    for (uint32_t i = 0; i < l->nargs; i++) h = mix(h, p->number[l->args[i]]);
    uint32_t k = (uint32_t)(h >> 32) & p->mask;
    for (; p->slot[k]; k = (k + 1) & p->mask)
        if (same_loc(p, l, &p->m->locs.at[p->order[p->slot[k]]])) {
            p->number[id] = p->slot[k];
            return;
        }
    p->order[++p->norder] = id;
    p->slot[k] = p->number[id] = p->norder;
}

/* The number of a location.  Its arguments come before it in the table: a post-order walk with its own
 * stack, because a file may chain any number of locations.  It ends since references go to older ids (G7). */
static uint32_t number_of(printer *p, gcut_locid id)
{
    struct step {
        gcut_locid id;
        uint32_t next;
    };
    GCUT_VEC(struct step) stack = {0};
    if (p->number[id]) return p->number[id];
    *GCUT_PUSH(p->scratch, &stack) = (struct step){id, 0};
    while (stack.n) {
        struct step *top = &stack.at[stack.n - 1];
        const gcut_loc *l = &p->m->locs.at[top->id];
        if (top->next == l->nargs) {
            give_number(p, top->id);
            stack.n--;
            continue;
        }
        gcut_locid arg = l->args[top->next++];
        GCUT_ASSERT(arg && arg < top->id);
        if (!p->number[arg]) *GCUT_PUSH(p->scratch, &stack) = (struct step){arg, 0};
    }
    return p->number[id];
}

static void put_loc(printer *p, gcut_locid id)
{
    if (!p->no_loc && id) gcut_text_add(p->out, " !%u", number_of(p, id));
}

static void put_locdef(printer *p, uint32_t number)
{
    gcut_text *out = p->out;
    const gcut_loc *l = &p->m->locs.at[p->order[number]];
    gcut_text_add(out, "loc !%u = ", number);
    if (l->call) {
        gcut_text_add(out, "%s(", l->name);
        for (uint32_t i = 0; i < l->nargs; i++)
            gcut_text_add(out, "%s!%u", i ? ", " : "", p->number[l->args[i]]);
        if (l->text && l->nargs) gcut_text_add(out, ", ");
        if (l->text || !l->nargs) gcut_lex_quote(out, l->text ? l->text : "");
        gcut_text_add(out, ")");
    } else {
        gcut_lex_quote(out, l->name ? l->name : "");
        gcut_text_add(out, ":%d", l->line > 0 ? l->line : 0);
        if (l->col > 0) gcut_text_add(out, ":%d", l->col);
        if (l->scope) gcut_text_add(out, " ");
        if (l->scope) gcut_lex_quote(out, l->scope);
    }
    gcut_text_add(out, "\n");
}

static void finish(printer *p)
{
    for (uint32_t i = 1; i <= p->norder; i++) put_locdef(p, i);
    gcut_arena_free(p->scratch);
}

/* ---- parts ---- */

static void put_num(gcut_text *out, const gcut_num *x)
{
    if (x->is_int)
        gcut_text_add(out, "%" PRId64, x->i);
    else
        gcut_print_double(x->f, GCUT_F64, out);
}

void gcut_print_attr(const gcut_module *m, const gcut_attr *a, gcut_text *out)
{
    switch (a->kind) {
    case GCUT_ATTR_KIND_DIM: gcut_dim_print(m->dims, a->u.dim, out); break;
    case GCUT_ATTR_KIND_DIMS:
        gcut_text_add(out, "[");
        for (uint32_t i = 0; i < a->n; i++) {
            if (i) gcut_text_add(out, ", ");
            gcut_dim_print(m->dims, a->u.dims[i], out);
        }
        gcut_text_add(out, "]");
        break;
    case GCUT_ATTR_KIND_NUM: put_num(out, &a->u.num); break;
    case GCUT_ATTR_KIND_BOOL: gcut_text_add(out, a->u.flag ? "true" : "false"); break;
    case GCUT_ATTR_KIND_STR: gcut_lex_quote(out, a->u.str); break;
    }
}

/* Printed names of the values of a graph: by value id, NULL = their own names. */
typedef const char *const *names;

static const char *name_of(const gcut_graph *g, names called, gcut_ref v)
{
    return called ? called[v] : g->values.at[v].name;
}

static void put_mark_arg(const gcut_module *m, const gcut_graph *g, names called, const gcut_mark *mark,
                         uint32_t k, gcut_text *out)
{
    const gcut_mark_arg *a = &mark->arg[k];
    switch (gcut_mark_get(mark->name)->args[k]) {
    case 'v': gcut_text_add(out, "%%%s", a->i ? name_of(g, called, (gcut_ref)a->i) : a->text); break;
    case 'd': gcut_dim_print(m->dims, a->i, out); break;
    case 'i': gcut_text_add(out, "%" PRId64, a->i); break;
    case 'k': gcut_text_add(out, "k%" PRId64, a->i); break;
    case 's': gcut_lex_quote(out, a->text); break;
    case 'n': gcut_text_add(out, "%s", a->text); break;
    }
}

void gcut_print_mark_arg(const gcut_module *m, const gcut_graph *g, const gcut_mark *mark, uint32_t k,
                         gcut_text *out)
{
    put_mark_arg(m, g, NULL, mark, k, out);
}

/* g: the graph of the node that has them; NULL of anything else, whose marks name no value. */
static void put_marks(const gcut_module *m, const gcut_graph *g, names called, const gcut_marks *marks,
                      gcut_text *out)
{
    for (uint32_t i = 0; i < marks->n; i++) {
        const gcut_mark *mark = &marks->at[i];
        gcut_text_add(out, " #%s", gcut_mark_get(mark->name)->name);
        for (uint32_t k = 0; k < mark->nargs; k++) {
            gcut_text_add(out, k ? ", " : "(");
            put_mark_arg(m, g, called, mark, k, out);
        }
        if (mark->nargs) gcut_text_add(out, ")");
    }
}

uint32_t gcut_print_attrs(const gcut_graph *g, const gcut_node *n, const char *sep, gcut_text *out)
{
    const gcut_op_spec *spec = &g->module->specs[n->op];
    for (uint32_t k = 0; k < spec->n; k++) /* in the order of the op table */
        for (uint32_t i = 0; i < n->nattrs; i++) {
            if (g->attrs.at[n->attr0 + i].key != spec->at[k].key) continue;
            gcut_text_add(out, "%s%s=", sep, gcut_attr_name(spec->at[k].key));
            gcut_print_attr(g->module, &g->attrs.at[n->attr0 + i], out);
            sep = ", ";
        }
    return n->nattrs;
}

/* Results, op, operands and attributes: the part before regions and marks. */
static void put_op(const gcut_graph *g, names called, uint32_t id, gcut_text *out)
{
    const gcut_node *n = gcut_node_at(g, id);
    const char *sep = "";
    for (uint32_t k = 0; k < n->nres; k++) {
        gcut_text_add(out, "%s%%%s: ", k ? ", " : "", name_of(g, called, n->res0 + k));
        gcut_type_print(g->module, gcut_type_of(g, n->res0 + k), out);
    }
    gcut_text_add(out, " = %s(", gcut_op_get((gcut_op)n->op)->name);
    if (n->op == GCUT_OP_call) {
        gcut_text_add(out, "@%s", gcut_region_at(g, n, 0)->body->name);
        sep = ", ";
    }
    for (uint32_t k = 0; k < n->nargs - n->ncaptured; k++, sep = ", ")
        gcut_text_add(out, "%s%%%s", sep, name_of(g, called, gcut_arg(g, n, k)));
    if (gcut_print_attrs(g, n, sep, out)) sep = ", ";
    if (n->op == GCUT_OP_call && n->nregs > 1)
        gcut_text_add(out, "%svjp=@%s", sep, gcut_region_at(g, n, 1)->body->name);
    gcut_text_add(out, ")");
}

void gcut_print_node(const gcut_graph *g, uint32_t id, gcut_text *out)
{
    const gcut_node *n = gcut_node_at(g, id);
    put_op(g, NULL, id, out);
    for (uint32_t k = 0; k < n->nregs; k++)
        if (gcut_region_at(g, n, k)->body->is_body)
            gcut_text_add(out, " %s{…}", gcut_op_region((gcut_op)n->op, k));
    put_marks(g->module, g, NULL, &n->marks, out);
}

/* ---- regions ---- */

const char *const *gcut_print_body_names(gcut_name_set *taken, const gcut_graph *g, const char *const *called,
                                         const gcut_node *n, const gcut_graph *body)
{
    const char **inside = gcut_calloc(taken->arena, body->values.n, sizeof *inside);
    uint32_t given = body->params.n - n->ncaptured, own = n->nargs - n->ncaptured;
    for (uint32_t i = 0; i < n->ncaptured; i++)
        inside[body->params.at[given + i].value] = name_of(g, called, gcut_arg(g, n, own + i));
    for (gcut_ref v = 1; v < body->values.n; v++) {
        bool dropped =
            body->values.at[v].def == GCUT_NONE && (body->values.at[v].index >= body->params.n ||
                                                    body->params.at[body->values.at[v].index].value != v);
        if (!inside[v] && !dropped) inside[v] = gcut_name_set_add(taken, body->values.at[v].name);
    }
    return inside;
}

static void put_block(printer *p, const gcut_graph *g, names called, int indent);

static void put_region(printer *p, const gcut_graph *g, names called, const gcut_node *n, uint32_t k,
                       int indent)
{
    const gcut_region *r = gcut_region_at(g, n, k);
    names inside = gcut_print_body_names(&p->names, g, called, n, r->body);
    uint32_t given = r->body->params.n - n->ncaptured;
    gcut_text_add(p->out, " %s%s", gcut_op_region((gcut_op)n->op, k), given ? "(" : "");
    for (uint32_t i = 0; i < given; i++) {
        gcut_ref v = r->body->params.at[i].value;
        gcut_text_add(p->out, "%s%%%s: ", i ? ", " : "", inside[v]);
        gcut_type_print(p->m, gcut_type_of(r->body, v), p->out);
    }
    gcut_text_add(p->out, "%s {\n", given ? ")" : "");
    put_block(p, r->body, inside, indent + 2);
    gcut_text_add(p->out, "%*syield", indent + 2, "");
    for (uint32_t i = 0; i < r->body->results.n; i++)
        gcut_text_add(p->out, "%s%%%s", i ? ", " : " ", inside[r->body->results.at[i].value]);
    gcut_text_add(p->out, "\n%*s}", indent, "");
}

static void put_block(printer *p, const gcut_graph *g, names called, int indent)
{
    for (uint32_t id = 0; id < g->nodes.n; id++) {
        const gcut_node *n = gcut_node_at(g, id);
        gcut_text_add(p->out, "%*s", indent, "");
        put_op(g, called, id, p->out);
        for (uint32_t k = 0; k < n->nregs; k++)
            if (gcut_region_at(g, n, k)->body->is_body) put_region(p, g, called, n, k, indent);
        put_marks(p->m, g, called, &n->marks, p->out);
        put_loc(p, n->loc);
        if (!p->no_loc && !n->loc)
            gcut_text_add(p->out, " !0"); /* without it, the place in this text is meant */
        gcut_text_add(p->out, "\n");
    }
}

void gcut_print_contents(const gcut_data *d, gcut_text *out)
{
    bool seeded = d->kind == GCUT_DATA_normal || d->kind == GCUT_DATA_uniform;
    bool list = d->kind == GCUT_DATA_dense;
    gcut_text_add(out, "%s(%s", gcut_data_kind_name(d->kind), list ? "[" : "");
    for (uint32_t i = 0; i < d->nnums; i++) {
        if (i) gcut_text_add(out, ", ");
        /* A seed is an integer; floats are kept as they were written, whatever they are rounded to. */
        const bool whole = seeded ? i == 0 : !gcut_dtype_is_float(d->type.dtype);
        gcut_print_double(d->nums[i], whole ? GCUT_I64 : GCUT_F64, out);
    }
    if (d->file) gcut_lex_quote(out, d->file);
    if (d->file && d->key) gcut_text_add(out, ", ");
    if (d->file && d->key) gcut_lex_quote(out, d->key);
    gcut_text_add(out, list ? "])" : ")");
}

static void put_data(printer *p, const gcut_data *d)
{
    gcut_text_add(p->out, "data @%s: ", d->name);
    gcut_type_print(p->m, &d->type, p->out);
    gcut_text_add(p->out, " = ");
    gcut_print_contents(d, p->out);
    put_marks(p->m, NULL, NULL, &d->marks, p->out);
    gcut_text_add(p->out, "\n");
}

/* ---- functions ---- */

static void put_decls(printer *p, const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->decls.n; i++) {
        const gcut_dim_decl *d = &g->decls.at[i];
        gcut_text_add(p->out, i ? ", " : "[");
        gcut_dim_print(p->m->dims, d->sym, p->out);
        if (d->lo != 0 || d->hi != GCUT_DIM_MAX) gcut_text_add(p->out, " in %" PRId64 "..", d->lo);
        if (d->hi != GCUT_DIM_MAX) gcut_text_add(p->out, "%" PRId64, d->hi);
        if (d->mult != 1) gcut_text_add(p->out, " mult %" PRId64, d->mult);
    }
    if (g->decls.n) gcut_text_add(p->out, "]");
}

/* Prints one item of a list that began at column `indent`, on a new line when it would pass the last
 * column. *column is the current column. */
static void put_item(gcut_text *out, const gcut_text *item, bool first, size_t indent, size_t *column)
{
    if (!first && *column + 2 + item->n > COLUMNS) {
        gcut_text_add(out, ",\n%*s", (int)indent, "");
        *column = indent;
    } else if (!first) {
        gcut_text_add(out, ", ");
        *column += 2;
    }
    gcut_text_addn(out, item->at, item->n);
    *column += item->n;
}

/* Lists align after their parenthesis unless that is far to the right. */
static size_t indent_of(size_t column)
{
    return column <= COLUMNS / 2 ? column : 4;
}

static void put_params(printer *p, const gcut_graph *g, size_t *column)
{
    size_t indent = indent_of(*column);
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_text item = {.arena = p->out->arena};
        const gcut_param *a = &g->params.at[i];
        gcut_text_add(&item, "%s %%%s: ", gcut_role_name(a->role), g->values.at[a->value].name);
        gcut_type_print(p->m, gcut_type_of(g, a->value), &item);
        put_marks(p->m, NULL, NULL, &a->marks, &item);
        put_item(p->out, &item, i == 0, indent, column);
    }
    gcut_text_add(p->out, ")");
    ++*column;
}

/* Results after the parameters when all fit on the line, else on lines of their own. */
static void put_results(printer *p, const gcut_graph *g, size_t column)
{
    GCUT_VEC(gcut_text) items = {0};
    size_t all = column + strlen(" -> () {");
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_text item = {.arena = p->out->arena};
        const gcut_result *r = &g->results.at[i];
        gcut_text_add(&item, "%s %s: ", gcut_role_name(r->role), r->name);
        gcut_type_print(p->m, gcut_type_of(g, r->value), &item);
        put_marks(p->m, NULL, NULL, &r->marks, &item);
        all += item.n + (i ? 2 : 0);
        *GCUT_PUSH(p->out->arena, &items) = item;
    }
    bool fits = all <= COLUMNS;
    gcut_text_add(p->out, fits ? " -> (" : "\n    -> (");
    column = fits ? column + 5 : 8;
    size_t indent = column;
    for (uint32_t i = 0; i < items.n; i++) put_item(p->out, &items.at[i], i == 0, indent, &column);
    gcut_text_add(p->out, ")");
}

static const char *printed_name(const printer *p, const gcut_graph *g)
{
    for (int k = 0; k < 2; k++)
        if (p->named[k] == g) return p->name[k];
    return g->name;
}

static void put_func(printer *p, const gcut_graph *g)
{
    gcut_text *out = p->out;
    size_t line = out->n;
    gcut_text_add(out, "func @%s", printed_name(p, g));
    put_decls(p, g);
    gcut_text_add(out, "(");
    size_t column = out->n - line;
    put_params(p, g, &column);
    put_results(p, g, column);
    put_marks(p->m, NULL, NULL, &g->marks, out);
    if (p->pass && g == p->named[0])
        gcut_text_add(out, " #%s(\"%s\")", gcut_mark_get(GCUT_MARK_pass)->name, p->pass);
    put_loc(p, g->loc);
    gcut_text_add(out, " {\n");
    p->names = gcut_name_set_of(p->scratch, g);
    put_block(p, g, NULL, 2);
    gcut_text_add(out, "  return");
    for (uint32_t i = 0; i < g->results.n; i++)
        gcut_text_add(out, "%s%%%s", i ? ", " : " ", g->values.at[g->results.at[i].value].name);
    gcut_text_add(out, "\n}\n");
}

/* ---- modules ---- */

static void put_pair(printer *p, const gcut_pair *pair)
{
    gcut_text_add(p->out, "pair @%s = (@%s, @%s)", pair->name, pair->fwd, pair->bwd);
    put_marks(p->m, NULL, NULL, &pair->marks, p->out);
    gcut_text_add(p->out, "\n");
}

/* Prints g after the functions that it calls, each once; of a body only these. */
static void put_with_callees(printer *p, const gcut_graph *g, gcut_map *done)
{
    uint32_t *printed = gcut_map_at(p->scratch, done, gcut_map_key(g));
    if (*printed) return;
    *printed = gcut_module_find(p->m, g->name) == g; /* bodies and the graphs between passes are in no list */
    for (uint32_t n = 0; n < g->nodes.n; n++)
        for (uint32_t k = 0; k < gcut_node_at(g, n)->nregs; k++)
            put_with_callees(p, gcut_region_at(g, gcut_node_at(g, n), k)->body, done);
    if (!g->is_body) put_func(p, g);
}

/* Are both graphs of the pair in g[]? */
static bool is_pair_of(const gcut_pair *pair, gcut_graph *const *g, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += !strcmp(g[i]->name, pair->fwd) || !strcmp(g[i]->name, pair->bwd);
    return found == 2;
}

void gcut_print_graphs(gcut_graph *const *g, uint32_t n, const gcut_print_options *opt, gcut_text *out)
{
    const gcut_module *m = g[0]->module;
    printer p = start(m, opt, out);
    const gcut_pair *const pair = opt ? opt->pair : NULL;
    for (uint32_t i = 0; pair && i < 2; i++) p.named[i] = g[i], p.name[i] = i ? pair->bwd : pair->fwd;
    if (opt && opt->name) p.named[0] = g[0], p.name[0] = opt->name, p.pass = opt->pass;
    gcut_text_add(out, "gcut 1\n");
    for (uint32_t i = 0; i < m->data.n; i++) {
        uint32_t k = 0;
        while (k < n && !gcut_data_is_of(&m->data.at[i], g[k])) k++;
        if (k < n) put_data(&p, &m->data.at[i]);
    }
    gcut_map done = {0};
    for (uint32_t i = 0; i < n; i++) put_with_callees(&p, g[i], &done);
    if (pair) put_pair(&p, pair);
    for (uint32_t i = 0; !pair && i < m->pairs.n; i++)
        if (is_pair_of(&m->pairs.at[i], g, n)) put_pair(&p, &m->pairs.at[i]);
    finish(&p);
}

void gcut_print_graph(const gcut_graph *g, const gcut_print_options *opt, gcut_text *out)
{
    gcut_graph *only = (gcut_graph *)(uintptr_t)g; /* which is read */
    gcut_print_graphs(&only, 1, opt, out);
}
