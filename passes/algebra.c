/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Identities of real numbers, the rules of passes/algebra.def.
 *   in:    any graph, preferably after gcut_pass_fold, gcut_pass_cse and gcut_pass_dce; bodies of regions too
 *   out:   the same real numbers by cheaper nodes; results differ by rounding, and where a row of the table
 *          says so; unused nodes are left to gcut_pass_dce
 *   keeps: parameters, results, run-time checks, nodes that carry marks, the values of `keep`; the graph
 *          itself where no rule applies
 *
 * Invariants:
 *   I1  A rule applies to floats, and where every value that it matches has the type of the node that it
 *       replaces, or, inside of [], one type of a lower rank: sizes that only run time can compare are not
 *       taken to be equal.
 *       To f16 only rules apply that differ by rounding alone.
 *   I2  A rule applies where the nodes that it makes cost less than those that nobody reads after it: a
 *       matched node with another reader stays, and does not count.  The cost of a node is that of an
 *       element, by the column `cost` of the op table, times AXIS to the power of its rank.  So the cost of
 *       the live graph gets smaller with each replacement, and the pass terminates.
 *   I3  Operands are replaced before their readers, and what a replacement makes is matched again, on its
 *       own.  A candidate is compared with each rule once, in each order of operands, so that the pass takes
 *       time linear in the nodes that it reads and makes.
 */
#include "passes/passes.h"

#include <math.h>
#include <string.h>

#include "graph/rewrite.h"

const gcut_identity gcut_identities[] = {
#define RULE(pattern, becomes, differs) {pattern, becomes, differs},
#include "passes/algebra.def"
#undef RULE
};
const uint32_t gcut_nidentities = sizeof gcut_identities / sizeof *gcut_identities;

/* ---- the table, parsed ---- */

enum { TERMS = 20, LETTERS = 26, MATCHED = 8, AXIS = 8 };

typedef enum term_kind { VALUE, CONSTANT, NUMBER, NODE, BROADCAST } term_kind;

typedef struct term {
    term_kind kind;
    gcut_op op;           /* NODE */
    uint8_t narg, arg[2]; /* NODE; BROADCAST: its operand is arg[0] */
    uint8_t letter;       /* VALUE, CONSTANT */
    uint8_t swap;         /* NODE: the bit of an order that exchanges its operands; 0 = none does */
    bool constant;        /* made of constants alone */
    double number;        /* NUMBER */
} term;

typedef struct rule {
    const gcut_identity *row;
    term at[TERMS];
    uint8_t n, pattern, becomes;
    unsigned norders; /* of the operands of its commutative nodes */
    bool drops;       /* a value of the pattern is not in the replacement */
} rule;

typedef struct reader {
    const char *s;
    rule *r;
} reader;

static uint8_t add_term(reader *p, term t)
{
    GCUT_ASSERT(p->r->n < TERMS);
    p->r->at[p->r->n] = t;
    return p->r->n++;
}

static uint8_t node_term(reader *p, gcut_op op, uint8_t x, uint8_t y, uint8_t n)
{
    bool constant = p->r->at[x].constant && p->r->at[y].constant;
    return add_term(p, (term){.kind = NODE, .op = op, .narg = n, .arg = {x, y}, .constant = constant});
}

static bool reads(reader *p, char c)
{
    while (*p->s == ' ') p->s++;
    if (*p->s != c) return false;
    p->s++;
    return true;
}

/* 2, 0.5: without strtod, which follows the locale. */
static uint8_t read_number(reader *p)
{
    double x = 0, unit = 1;
    bool behind = false;
    for (; (*p->s >= '0' && *p->s <= '9') || (*p->s == '.' && !behind); p->s++) {
        if (*p->s == '.')
            behind = true;
        else if (behind)
            x += (*p->s - '0') * (unit /= 10);
        else
            x = 10 * x + (*p->s - '0');
    }
    return add_term(p, (term){.kind = NUMBER, .number = x, .constant = true});
}

static uint8_t read_sum(reader *p);

static uint8_t read_atom(reader *p)
{
    if (reads(p, '(')) {
        uint8_t t = read_sum(p);
        if (!reads(p, ')')) GCUT_NEVER("a bracket of passes/algebra.def is closed");
        return t;
    }
    if (reads(p, '[')) {
        uint8_t t = read_sum(p);
        if (!reads(p, ']')) GCUT_NEVER("a bracket of passes/algebra.def is closed");
        return add_term(p, (term){.kind = BROADCAST, .arg = {t}});
    }
    const char *s = p->s;
    if (*s >= '0' && *s <= '9') return read_number(p);
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
    p->s += n;
    if (n == 1) {
        bool constant = *s < 'x';
        return add_term(
            p,
            (term){.kind = constant ? CONSTANT : VALUE, .letter = (uint8_t)(*s - 'a'), .constant = constant});
    }
    gcut_op op;
    if (!gcut_op_parse(s, n, &op) || *p->s != '(') GCUT_NEVER("a word of passes/algebra.def is an op");
    uint8_t x = read_atom(p);
    return node_term(p, op, x, x, 1);
}

static uint8_t read_power(reader *p)
{
    if (reads(p, '-')) {
        uint8_t x = read_power(p);
        if (p->r->at[x].kind != NUMBER) return node_term(p, GCUT_OP_neg, x, x, 1);
        p->r->at[x].number = -p->r->at[x].number;
        return x;
    }
    uint8_t x = read_atom(p);
    return reads(p, '^') ? node_term(p, GCUT_OP_pow, x, read_power(p), 2) : x;
}

static uint8_t read_product(reader *p)
{
    uint8_t x = read_power(p);
    for (;;) {
        if (reads(p, '*'))
            x = node_term(p, GCUT_OP_mul, x, read_power(p), 2);
        else if (reads(p, '/'))
            x = node_term(p, GCUT_OP_div, x, read_power(p), 2);
        else
            return x;
    }
}

static uint8_t read_sum(reader *p)
{
    uint8_t x = read_product(p);
    for (;;) {
        if (reads(p, '+'))
            x = node_term(p, GCUT_OP_add, x, read_product(p), 2);
        else if (reads(p, '-'))
            x = node_term(p, GCUT_OP_sub, x, read_product(p), 2);
        else
            return x;
    }
}

static uint8_t read_whole(rule *r, const char *text)
{
    reader p = {text, r};
    uint8_t t = read_sum(&p);
    if (*p.s) GCUT_NEVER("an expression of passes/algebra.def is read to its end");
    return t;
}

static void read_rule(rule *r, const gcut_identity *row)
{
    *r = (rule){.row = row, .norders = 1};
    r->pattern = read_whole(r, row->pattern);
    for (uint8_t i = 0; i < r->n; i++)
        if (r->at[i].kind == NODE && (r->at[i].op == GCUT_OP_add || r->at[i].op == GCUT_OP_mul)) {
            r->at[i].swap = (uint8_t)r->norders;
            r->norders *= 2;
        }
    const uint8_t n = r->n;
    r->becomes = read_whole(r, row->becomes);
    for (uint8_t i = 0; i < n; i++) {
        bool found = r->at[i].kind != VALUE;
        for (uint8_t k = n; k < r->n; k++)
            found = found || (r->at[k].kind == VALUE && r->at[k].letter == r->at[i].letter);
        r->drops = r->drops || !found;
    }
}

/* ---- the pass ---- */

/* Bodies that are rewritten, by address; nodes may share them. */
typedef struct body_pair {
    gcut_graph *before, *after;
} body_pair;

typedef struct algebra {
    gcut_arena *arena; /* of the rules and the bodies */
    rule *rules;
    const gcut_value_names *keep;
    gcut_rewritings *done;
    gcut_map seen; /* by address of a body: its index in `bodies`, plus 1 */
    GCUT_VEC(body_pair) bodies;
} algebra;

/* One graph. */
typedef struct walk {
    algebra *all;
    gcut_rewrite rw;
    const uint32_t *uses; /* by value of src */
    GCUT_VEC(uint32_t)
    readers; /* by value of dst: nodes and results that read it, those of src to come included */
    GCUT_VEC(gcut_ref) unread; /* a work list */
    bool changed;

    /* the node of src under the walk */
    gcut_locid loc;
    const char *name;
} walk;

/* A node that may be made: dst does not have it yet. */
typedef struct candidate {
    gcut_op op;
    gcut_ref arg[2];
    uint32_t narg;
    gcut_type type;
} candidate;

typedef struct match {
    gcut_ref value[LETTERS]; /* by letter; 0 = none yet */
    bool is_set[LETTERS];
    double constant[LETTERS];
    gcut_ref inner[MATCHED]; /* the matched nodes but for the candidate, without duplicates */
    uint32_t ninner;
    gcut_ref broadcast; /* one of those that were matched, which are alike; 0 = there is none */
    gcut_type below;    /* of their operands */
} match;

static uint32_t *readers_of(walk *w, gcut_ref v)
{
    while (w->readers.n <= v) *GCUT_PUSH(w->rw.scratch, &w->readers) = 0;
    return &w->readers.at[v];
}

static bool is_kept(const algebra *all, const char *name)
{
    for (uint32_t i = 0; i < all->keep->n; i++)
        if (!strcmp(all->keep->at[i], name)) return true;
    return false;
}

/* The unmarked node that defines v; NULL = there is none. */
static const gcut_node *node_of(const walk *w, gcut_ref v)
{
    const gcut_node *n = gcut_def(w->rw.dst, v);
    return n && n->marks.n == 0 ? n : NULL;
}

static bool is_constant(const walk *w, gcut_ref v, double *out)
{
    const gcut_node *n = node_of(w, v);
    if (!n || n->op != GCUT_OP_full || is_kept(w->all, w->rw.dst->values.at[v].name)) return false;
    *out = gcut_attr_num(w->rw.dst, n, GCUT_KEY_value);
    return true;
}

/* ---- matching ---- */

static bool matches(const walk *w, const rule *r, unsigned order, uint8_t i, gcut_ref v,
                    const gcut_type *type, match *m);

static bool operands_match(const walk *w, const rule *r, unsigned order, const term *t, const gcut_ref *arg,
                           const gcut_type *type, match *m)
{
    const bool swapped = (order & t->swap) != 0;
    for (uint8_t k = 0; k < t->narg; k++)
        if (!matches(w, r, order, t->arg[k], arg[swapped ? 1 - k : k], type, m)) return false;
    return true;
}

static void add_inner(match *m, gcut_ref v)
{
    for (uint32_t i = 0; i < m->ninner; i++)
        if (m->inner[i] == v) return;
    GCUT_ASSERT(m->ninner < MATCHED);
    m->inner[m->ninner++] = v;
}

/* Broadcasts of one pattern repeat values of one type in the same way, along further axes. */
static bool broadcast_matches(const walk *w, const gcut_node *n, gcut_ref v, match *m)
{
    const gcut_graph *g = w->rw.dst;
    const gcut_type *below = gcut_type_of(g, gcut_arg(g, n, 0));
    if (below->rank >= gcut_type_of(g, v)->rank) return false;
    if (m->broadcast)
        return gcut_type_equal(below, &m->below) && gcut_nodes_alike(g, n, g, gcut_def(g, m->broadcast));
    m->broadcast = v;
    m->below = *below;
    return true;
}

static bool node_matches(const walk *w, const rule *r, unsigned order, const term *t, gcut_ref v,
                         const gcut_type *type, match *m)
{
    const gcut_graph *g = w->rw.dst;
    const gcut_node *n = node_of(w, v);
    const bool broadcast = t->kind == BROADCAST;
    if (!n || n->op != (broadcast ? GCUT_OP_broadcast : t->op) || is_kept(w->all, g->values.at[v].name))
        return false;
    add_inner(m, v);
    if (!broadcast) return operands_match(w, r, order, t, &g->args.at[n->arg0], type, m);
    return broadcast_matches(w, n, v, m) && matches(w, r, order, t->arg[0], gcut_arg(g, n, 0), &m->below, m);
}

/* type: that v must have. */
static bool matches(const walk *w, const rule *r, unsigned order, uint8_t i, gcut_ref v,
                    const gcut_type *type, match *m)
{
    const term *t = &r->at[i];
    double c;
    if (!gcut_type_equal(gcut_type_of(w->rw.dst, v), type)) return false;
    switch (t->kind) {
    case VALUE:
        if (m->is_set[t->letter]) return m->value[t->letter] == v;
        m->value[t->letter] = v;
        return m->is_set[t->letter] = true;
    case CONSTANT:
        if (!is_constant(w, v, &c)) return false;
        if (m->is_set[t->letter]) return m->constant[t->letter] == c;
        m->constant[t->letter] = c;
        return m->is_set[t->letter] = true;
    case NUMBER: return is_constant(w, v, &c) && c == t->number;
    default: return node_matches(w, r, order, t, v, type, m);
    }
}

/* ---- what a replacement costs ---- */

/* Of a node of that rank. */
static double cost_of(gcut_op op, uint32_t rank)
{
    double cost = gcut_op_get(op)->cost_ps;
    while (rank--) cost *= AXIS;
    return cost;
}

/* The value of an expression of constants. */
static double number_of(const rule *r, uint8_t i, const match *m)
{
    const term *t = &r->at[i];
    if (t->kind == NUMBER) return t->number;
    if (t->kind == CONSTANT) return m->constant[t->letter];
    double x = number_of(r, t->arg[0], m), y = number_of(r, t->arg[1], m);
    switch (t->op) {
    case GCUT_OP_neg: return -x;
    case GCUT_OP_add: return x + y;
    case GCUT_OP_sub: return x - y;
    case GCUT_OP_mul: return x * y;
    case GCUT_OP_div: return x / y;
    default: GCUT_NEVER("constants of passes/algebra.def are added, subtracted, multiplied and divided");
    }
    return 0;
}

static double least_normal(gcut_dtype t)
{
    return t == GCUT_F64 ? 0x1p-1022 : t == GCUT_F16 ? 0x1p-14 : 0x1p-126;
}

/* Of what the expression makes, of that type; false: a constant of it does not exist. */
static bool cost_of_new(const rule *r, uint8_t i, const match *m, const gcut_type *type, double *cost)
{
    const term *t = &r->at[i];
    if (t->constant) {
        double c = fabs(gcut_round_to(number_of(r, i, m), type->dtype));
        return isfinite(c) && c >= least_normal(type->dtype);
    }
    if (t->kind == BROADCAST) return cost_of_new(r, t->arg[0], m, &m->below, cost);
    if (t->kind != NODE) return true;
    *cost += cost_of(t->op, type->rank);
    for (uint8_t k = 0; k < t->narg; k++)
        if (!cost_of_new(r, t->arg[k], m, type, cost)) return false;
    return true;
}

static uint32_t count_reads(const gcut_ref *arg, uint32_t n, gcut_ref v)
{
    uint32_t reads = 0;
    for (uint32_t k = 0; k < n; k++) reads += arg[k] == v;
    return reads;
}

/* Of what nobody reads without the candidate, and of itself.  Readers have greater ids than what they
 * read. */
static double cost_of_old(walk *w, const candidate *c, match *m)
{
    const gcut_graph *g = w->rw.dst;
    bool dies[MATCHED] = {false};
    double cost = cost_of(c->op, c->type.rank);
    for (uint32_t i = 1; i < m->ninner; i++)
        for (uint32_t k = i; k > 0 && m->inner[k] > m->inner[k - 1]; k--) {
            gcut_ref v = m->inner[k];
            m->inner[k] = m->inner[k - 1];
            m->inner[k - 1] = v;
        }
    for (uint32_t i = 0; i < m->ninner; i++) {
        uint32_t reads = count_reads(c->arg, c->narg, m->inner[i]);
        for (uint32_t k = 0; k < i; k++) {
            const gcut_node *n = gcut_def(g, m->inner[k]);
            if (dies[k]) reads += count_reads(&g->args.at[n->arg0], n->nargs, m->inner[i]);
        }
        dies[i] = reads == *readers_of(w, m->inner[i]);
        if (dies[i])
            cost += cost_of((gcut_op)gcut_def(g, m->inner[i])->op, gcut_type_of(g, m->inner[i])->rank);
    }
    return cost;
}

/* ---- replacing ---- */

static gcut_ref make(walk *w, const candidate *c, const char *name);

/* One reader less of the candidate's operands, and of those of nodes that have none left. */
static void release(walk *w, const candidate *c)
{
    const gcut_graph *g = w->rw.dst;
    for (uint32_t k = 0; k < c->narg; k++) *GCUT_PUSH(w->rw.scratch, &w->unread) = c->arg[k];
    while (w->unread.n) {
        gcut_ref v = w->unread.at[--w->unread.n];
        uint32_t *readers = readers_of(w, v);
        const gcut_node *n = gcut_def(g, v);
        GCUT_ASSERT(*readers > 0);
        if (--*readers || !n || n->nres != 1) continue;
        for (uint32_t k = 0; k < n->nargs; k++) *GCUT_PUSH(w->rw.scratch, &w->unread) = gcut_arg(g, n, k);
    }
}

static gcut_ref add_node(walk *w, gcut_op op, const gcut_ref *arg, uint32_t narg, const gcut_attr *attr,
                         uint32_t nattr, const gcut_type *type, const char *name)
{
    return gcut_node_typed(w->rw.dst, op, arg, narg, attr, nattr, w->loc, name, type, 1);
}

/* Not rounded to the dtype, as constants of the text are not: the interpreter in f64 has the exact factor. */
static gcut_ref make_constant(walk *w, double x, const gcut_type *type)
{
    gcut_module *m = w->rw.dst->module;
    gcut_attr a[] = {
        gcut_attr_dims(m, GCUT_KEY_shape, type->dim, type->rank),
        gcut_attr_real(GCUT_KEY_value, x),
        gcut_attr_str(m, GCUT_KEY_dtype, gcut_dtype_name(type->dtype)),
    };
    return add_node(w, GCUT_OP_full, NULL, 0, a, 3, type, NULL);
}

static gcut_ref make_broadcast(walk *w, gcut_ref x, const match *m, const gcut_type *type, const char *name)
{
    const gcut_graph *g = w->rw.dst;
    const gcut_node *like = gcut_def(g, m->broadcast);
    const gcut_attr a[] = {*gcut_attr_get(g, like, GCUT_KEY_shape), *gcut_attr_get(g, like, GCUT_KEY_axes)};
    return add_node(w, GCUT_OP_broadcast, &x, 1, a, 2, type, name);
}

static gcut_ref build(walk *w, const rule *r, uint8_t i, const match *m, const gcut_type *type,
                      const char *name)
{
    const term *t = &r->at[i];
    if (t->constant) return make_constant(w, number_of(r, i, m), type);
    if (t->kind == VALUE) return m->value[t->letter];
    if (t->kind == BROADCAST) {
        gcut_ref x = build(w, r, t->arg[0], m, &m->below, NULL);
        ++*readers_of(w, x);
        return make_broadcast(w, x, m, type, name);
    }
    candidate c = {.op = t->op, .narg = t->narg, .type = *type};
    for (uint8_t k = 0; k < t->narg; k++) {
        c.arg[k] = build(w, r, t->arg[k], m, type, NULL);
        ++*readers_of(w, c.arg[k]);
    }
    return make(w, &c, name);
}

/* Products and quotients of f16 leave its range, which ends at 65504, too easily for rules that differ there.
 * Where values are kept, none may lose its last reader because a value that is computed from it is dropped. */
static bool is_safe(const walk *w, const rule *r, gcut_dtype t)
{
    return (t != GCUT_F16 || !*r->row->differs) && (!r->drops || !w->all->keep->n);
}

/* May the rule replace the candidate?  name: of a value that is replaced, NULL = of none. */
static bool applies(walk *w, const rule *r, const candidate *c, const char *name, match *m)
{
    const term *t = &r->at[r->pattern];
    if (t->op != c->op || !is_safe(w, r, c->type.dtype)) return false;
    for (unsigned order = 0; order < r->norders; order++) {
        double made = 0;
        *m = (match){.ninner = 0};
        if (!operands_match(w, r, order, t, c->arg, &c->type, m)) continue;
        if (!cost_of_new(r, r->becomes, m, &c->type, &made) || made >= cost_of_old(w, c, m)) continue;
        return r->at[r->becomes].kind != VALUE || !name || !is_kept(w->all, name);
    }
    return false;
}

/* What stands for the candidate, whose reads of its operands are counted; 0 = no rule applies. */
static gcut_ref replace(walk *w, const candidate *c, const char *name)
{
    for (uint32_t i = 0; i < gcut_nidentities; i++) {
        const rule *r = &w->all->rules[i];
        match m;
        if (!applies(w, r, c, name, &m)) continue;
        gcut_ref v = build(w, r, r->becomes, &m, &c->type, name);
        ++*readers_of(w, v); /* release leaves it alone */
        release(w, c);
        --*readers_of(w, v);
        w->changed = true;
        *GCUT_PUSH(w->rw.dst->module->arena, w->all->done) = (gcut_rewritten){r->row, w->name, w->loc};
        return v;
    }
    return 0;
}

static gcut_ref make(walk *w, const candidate *c, const char *name)
{
    gcut_ref v = replace(w, c, name);
    return v ? v : add_node(w, c->op, c->arg, c->narg, NULL, 0, &c->type, name);
}

/* ---- graphs ---- */

static gcut_graph *rewrite(algebra *all, gcut_graph *g, const char *name);

static gcut_graph *rewritten_body(algebra *all, gcut_graph *body)
{
    uint32_t at = gcut_map_get(&all->seen, gcut_map_key(body));
    if (at) return all->bodies.at[at - 1].after;
    gcut_graph *out = rewrite(all, body, body->name);
    *GCUT_PUSH(all->arena, &all->bodies) = (body_pair){body, out};
    *gcut_map_at(all->arena, &all->seen, gcut_map_key(body)) = all->bodies.n;
    return out;
}

static void copy(walk *w, uint32_t id)
{
    const gcut_node *n = gcut_node_at(w->rw.src, id);
    gcut_ref v = gcut_rewrite_copy(&w->rw, id);
    for (uint32_t k = 0; k < n->nres; k++) *readers_of(w, v + k) = w->uses[n->res0 + k];
    if (!n->nregs) return;
    gcut_region *regions = gcut_calloc(w->rw.scratch, n->nregs, sizeof *regions);
    for (uint32_t k = 0; k < n->nregs; k++) {
        regions[k] = *gcut_region_at(w->rw.src, n, k);
        if (!regions[k].body->is_body) continue;
        gcut_graph *body = rewritten_body(w->all, regions[k].body);
        w->changed = w->changed || body != regions[k].body;
        regions[k].body = body;
    }
    gcut_rewrite_regions_of_last(w->rw.dst, regions);
}

/* Is the node one that patterns are about: arithmetic of one or two floats? */
static bool is_arithmetic(const gcut_graph *g, const gcut_node *n)
{
    return n->nres == 1 && n->nattrs == 0 && n->marks.n == 0 && n->nargs >= 1 && n->nargs <= 2 &&
           gcut_op_get((gcut_op)n->op)->elementwise == GCUT_ELEMENTWISE_same &&
           gcut_dtype_is_float(gcut_type_of(g, n->res0)->dtype);
}

static void visit(walk *w, uint32_t id)
{
    const gcut_graph *g = w->rw.src;
    const gcut_node *n = gcut_node_at(g, id);
    if (!is_arithmetic(g, n)) {
        copy(w, id);
        return;
    }
    candidate c = {.op = (gcut_op)n->op, .narg = n->nargs, .type = *gcut_type_of(g, n->res0)};
    for (uint32_t k = 0; k < n->nargs; k++) c.arg[k] = gcut_rewrite_arg(&w->rw, id, k);
    w->loc = n->loc;
    w->name = g->values.at[n->res0].name;
    gcut_ref v = replace(w, &c, w->name);
    if (v) {
        *readers_of(w, v) += w->uses[n->res0];
        gcut_rewrite_use(&w->rw, id, v);
    } else {
        copy(w, id);
    }
}

static gcut_graph *rewrite(algebra *all, gcut_graph *g, const char *name)
{
    walk w = {.all = all, .rw = gcut_rewrite_begin(g, name)};
    w.uses = gcut_count_uses(g, w.rw.scratch);
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        *readers_of(&w, w.rw.map[v]) = w.uses[v];
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) visit(&w, i);
    gcut_graph *out = gcut_rewrite_end(&w.rw);
    if (w.changed) return out;
    gcut_graph_drop(out);
    return g;
}

gcut_graph *gcut_pass_algebra(gcut_graph *g, const char *name, const gcut_value_names *keep,
                              gcut_rewritings *done)
{
    algebra all = {.arena = gcut_arena_new(g->module->env, g->module->arena), .keep = keep, .done = done};
    all.rules = gcut_calloc(all.arena, gcut_nidentities, sizeof *all.rules);
    for (uint32_t i = 0; i < gcut_nidentities; i++) read_rule(&all.rules[i], &gcut_identities[i]);
    gcut_graph *out = rewrite(&all, g, name);
    gcut_arena_free(all.arena);
    return out;
}
