/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of dimensions: interning, order, polynomial arithmetic.
 */
#include "graph/dim/dim.h"

#include <string.h>

#include "graph/dim/dim_table.h"

static const char too_large[] = "the size expression is too large";
static const char overflow[] = "the size arithmetic leaves 64 bits";
static const char negative[] = "the size is negative";

/* ---- interning ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static void index_put(gcut_dim_index *x, uint64_t hash, uint32_t id)
{
    uint32_t k = (uint32_t)hash & (x->cap - 1);
    while (x->slot[k]) k = (k + 1) & (x->cap - 1);
    x->slot[k] = id + 1;
    x->hash[k] = hash;
}

/* Both arrays are allocated before the index changes, so a throw leaves it valid. */
static void index_add(gcut_dims *t, gcut_dim_index *x, uint64_t hash, uint32_t id)
{
    if (2 * x->n >= x->cap) {
        gcut_dim_index bigger = {.n = x->n, .cap = x->cap ? 2 * x->cap : 64};
        bigger.slot = gcut_calloc(t->arena, bigger.cap, sizeof *bigger.slot);
        bigger.hash = gcut_calloc(t->arena, bigger.cap, sizeof *bigger.hash);
        for (uint32_t k = 0; k < x->cap; k++)
            if (x->slot[k]) index_put(&bigger, x->hash[k], x->slot[k] - 1);
        gcut_release(t->arena, x->slot, x->cap * sizeof *x->slot);
        gcut_release(t->arena, x->hash, x->cap * sizeof *x->hash);
        *x = bigger;
    }
    index_put(x, hash, id);
    x->n++;
}

/* Walks the ids whose hash is `hash`: for (k = ...; (id = index_next(...)) != NONE;). */
#define NONE UINT32_MAX
static uint32_t index_next(const gcut_dim_index *x, uint64_t hash, uint32_t *k)
{
    if (x->cap == 0) return NONE;
    for (;; ++*k) {
        uint32_t slot = *k & (x->cap - 1);
        if (!x->slot[slot]) return NONE;
        if (x->hash[slot] == hash) return ++*k, x->slot[slot] - 1;
    }
}

static uint32_t atom_intern(gcut_dims *t, const gcut_dim_atom *a)
{
    uint64_t h = mix(mix(mix((uintptr_t)a->name, (uint64_t)a->op), (uint64_t)a->a), (uint64_t)a->b);
    uint32_t k = (uint32_t)h, id;
    while ((id = index_next(&t->atom_index, h, &k)) != NONE) {
        const gcut_dim_atom *o = &t->atoms.at[id];
        if (o->name == a->name && o->op == a->op && o->a == a->a && o->b == a->b) return id;
    }
    id = t->atoms.n;
    *GCUT_PUSH(t->arena, &t->atoms) = *a;
    index_add(t, &t->atom_index, h, id);
    return id;
}

static uint32_t mono_intern(gcut_dims *t, const uint32_t *atom, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++) h = mix(h, atom[i]);
    uint32_t k = (uint32_t)h, id;
    while ((id = index_next(&t->mono_index, h, &k)) != NONE) {
        const gcut_dim_mono *o = &t->monos.at[id];
        if (o->n == n && (n == 0 || !memcmp(o->atom, atom, n * sizeof *atom))) return id;
    }
    gcut_dim_mono m = {n, 1, gcut_memdup(t->arena, atom, n * sizeof *atom)};
    for (uint32_t i = 0; i < n; i++) m.weight += t->atoms.at[atom[i]].weight;
    id = t->monos.n;
    *GCUT_PUSH(t->arena, &t->monos) = m;
    index_add(t, &t->mono_index, h, id);
    return id;
}

static uint32_t expr_intern(gcut_dims *t, const gcut_dim_poly *p, uint32_t weight)
{
    uint64_t h = p->n;
    for (uint32_t i = 0; i < p->n; i++) h = mix(mix(h, (uint64_t)p->at[i].coef), p->at[i].mono);
    uint32_t k = (uint32_t)h, id;
    while ((id = index_next(&t->expr_index, h, &k)) != NONE) {
        const gcut_dim_expr *o = &t->exprs.at[id];
        bool same = o->n == p->n;
        for (uint32_t i = 0; same && i < p->n; i++)
            same = o->term[i].coef == p->at[i].coef && o->term[i].mono == p->at[i].mono;
        if (same) return id;
    }
    gcut_dim_expr e = {p->n, weight, gcut_memdup(t->arena, p->at, p->n * sizeof *p->at)};
    id = t->exprs.n;
    *GCUT_PUSH(t->arena, &t->exprs) = e;
    index_add(t, &t->expr_index, h, id);
    return id;
}

gcut_dims *gcut_dims_new(gcut_arena *arena)
{
    gcut_dims *t = gcut_calloc(arena, 1, sizeof *t);
    t->arena = arena;
    t->names.arena = arena;
    t->first = (int64_t)(gcut_arena_env(arena)->serial++ & 0x1fffffff) << 32;
    mono_intern(t, NULL, 0);
    return t;
}

/* Interns all entries in the order of their numbers, which preserves the numbers. */
void gcut_dims_copy(gcut_dims *t, const gcut_dims *from)
{
    gcut_dim_poly p;
    GCUT_ASSERT(!t->exprs.n && !t->atoms.n);
    t->first = from->first;
    for (uint32_t i = 0; i < from->atoms.n; i++) {
        gcut_dim_atom a = from->atoms.at[i];
        if (a.name) a.name = gcut_intern(&t->names, a.name, strlen(a.name));
        atom_intern(t, &a);
    }
    for (uint32_t i = 0; i < from->monos.n; i++) mono_intern(t, from->monos.at[i].atom, from->monos.at[i].n);
    for (uint32_t i = 0; i < from->exprs.n; i++) {
        const gcut_dim_expr *e = &from->exprs.at[i];
        p.n = e->n;
        memcpy(p.at, e->term, e->n * sizeof *e->term);
        expr_intern(t, &p, e->weight);
    }
    for (uint32_t i = 0; i < from->symbols.n; i++) *GCUT_PUSH(t->arena, &t->symbols) = from->symbols.at[i];
}

uint32_t gcut_dim_mono_of(gcut_dims *t, uint32_t atom)
{
    return mono_intern(t, &atom, 1);
}

static uint32_t weight_of(const gcut_dims *t, gcut_dim d)
{
    return d >= 0 ? 1 : gcut_dim_expr_of(t, d)->weight;
}

uint32_t gcut_dim_atom_new(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    uint32_t weight = 1 + weight_of(t, a) + weight_of(t, b);
    return atom_intern(t, &(gcut_dim_atom){.op = op, .weight = weight, .a = a, .b = b});
}

gcut_dim gcut_dim_symbol(gcut_dims *t, const char *name)
{
    gcut_dim_atom a = {.name = gcut_intern(&t->names, name, strlen(name)), .weight = 1};
    gcut_dim_poly p = {.n = 1};
    uint32_t known = t->exprs.n, atom = atom_intern(t, &a);
    p.at[0] = (gcut_dim_term){1, gcut_dim_mono_of(t, atom)};
    gcut_dim sym = gcut_dim_numbered(t, expr_intern(t, &p, 2));
    t->atoms.at[atom].self = sym;
    if (t->exprs.n > known) *GCUT_PUSH(t->arena, &t->symbols) = sym;
    return sym;
}

/* ---- order ---- */

static int order_atom(const gcut_dims *t, uint32_t x, uint32_t y)
{
    if (x == y) return 0;
    const gcut_dim_atom *a = &t->atoms.at[x], *b = &t->atoms.at[y];
    if (!a->name != !b->name) return a->name ? -1 : 1;
    if (a->name) return strcmp(a->name, b->name);
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    int c = gcut_dim_order(t, a->a, b->a);
    return c ? c : gcut_dim_order(t, a->b, b->b);
}

/* Higher degree first, then by atoms; the constant comes last.  Compatible with multiplication, which the
 * long division relies on. */
static int order_mono(const gcut_dims *t, uint32_t x, uint32_t y)
{
    if (x == y) return 0;
    const gcut_dim_mono *a = &t->monos.at[x], *b = &t->monos.at[y];
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (uint32_t i = 0; i < a->n; i++) {
        int c = order_atom(t, a->atom[i], b->atom[i]);
        if (c) return c;
    }
    return 0;
}

int gcut_dim_order(const gcut_dims *t, gcut_dim a, gcut_dim b)
{
    if (a == b) return 0;
    if (a >= 0 || b >= 0) {
        if (a >= 0 && b >= 0) return a < b ? -1 : 1;
        return a >= 0 ? 1 : -1; /* expressions before constants, as in a sum */
    }
    const gcut_dim_expr *x = gcut_dim_expr_of(t, a), *y = gcut_dim_expr_of(t, b);
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int c = order_mono(t, x->term[i].mono, y->term[i].mono);
        if (c) return c;
        if (x->term[i].coef != y->term[i].coef) return x->term[i].coef < y->term[i].coef ? -1 : 1;
    }
    return x->n < y->n ? -1 : 1;
}

/* ---- polynomials ---- */

bool gcut_dim_is_of(const gcut_dims *t, gcut_dim d)
{
    int64_t id = d < 0 ? GCUT_DIM_EXPR(d) - t->first : 0;
    return d >= 0 || (id >= 0 && id < (int64_t)t->exprs.n);
}

void gcut_dim_stranger(const gcut_dims *t, gcut_dim d)
{
    const char *hint = "a size is a number >= 0, or an expression made with gcut_dim_sym, gcut_dim_add, …";
    if (d >= -(INT64_C(1) << 32))
        gcut_fail(gcut_arena_env(t->arena), GCUT_EUSAGE, (gcut_place){0}, hint, "the size %lld is negative",
                  (long long)d);
    hint = "make it with gcut_dim_sym on the graph that uses it: symbols belong to one graph";
    gcut_fail(gcut_arena_env(t->arena), GCUT_EUSAGE, (gcut_place){0}, hint,
              "a size that is no symbolic size of this graph, but of another one");
}

void gcut_dim_load(const gcut_dims *t, gcut_dim d, gcut_dim_poly *out)
{
    out->n = 0;
    if (d > 0) out->at[out->n++] = (gcut_dim_term){d, 0};
    if (d >= 0) return;
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    out->n = e->n;
    memcpy(out->at, e->term, e->n * sizeof *e->term);
}

gcut_dim_error gcut_dim_store(gcut_dims *t, const gcut_dim_poly *p, gcut_dim *out)
{
    if (p->n == 0 || (p->n == 1 && p->at[0].mono == 0)) {
        *out = p->n ? p->at[0].coef : 0;
        return *out < 0 ? negative : NULL;
    }
    uint32_t weight = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        weight += t->monos.at[p->at[i].mono].weight;
        if (weight > GCUT_DIM_MAX_WEIGHT) return too_large;
    }
    *out = gcut_dim_numbered(t, expr_intern(t, p, weight));
    return NULL;
}

int64_t gcut_dim_poly_const(const gcut_dim_poly *p)
{
    return p->n && p->at[p->n - 1].mono == 0 ? p->at[p->n - 1].coef : 0;
}

gcut_dim_error gcut_dim_poly_put(gcut_dims *t, gcut_dim_poly *p, int64_t coef, uint32_t mono)
{
    if (coef == 0) return NULL;
    uint32_t k = p->n;
    int c = -1;
    while (k > 0 && (c = order_mono(t, mono, p->at[k - 1].mono)) < 0) k--;
    if (k > 0 && c == 0) {
        int64_t sum;
        if (__builtin_add_overflow(p->at[k - 1].coef, coef, &sum) || sum == INT64_MIN) return overflow;
        p->at[k - 1].coef = sum;
        if (sum) return NULL;
        p->n--;
        memmove(&p->at[k - 1], &p->at[k], (p->n - (k - 1)) * sizeof p->at[0]);
        return NULL;
    }
    if (coef == INT64_MIN) return overflow;
    if (p->n == GCUT_DIM_MAX_TERMS) return too_large;
    memmove(&p->at[k + 1], &p->at[k], (p->n - k) * sizeof p->at[0]);
    p->at[k] = (gcut_dim_term){coef, mono};
    p->n++;
    return NULL;
}

gcut_dim_error gcut_dim_poly_add(gcut_dims *t, const gcut_dim_poly *a, int64_t factor, const gcut_dim_poly *b,
                                 gcut_dim_poly *out)
{
    if (out != a) *out = *a;
    for (uint32_t i = 0; i < b->n; i++) {
        int64_t c;
        if (__builtin_mul_overflow(factor, b->at[i].coef, &c)) return overflow;
        gcut_dim_error err = gcut_dim_poly_put(t, out, c, b->at[i].mono);
        if (err) return err;
    }
    return NULL;
}

/* Merges two sorted atom lists. */
static gcut_dim_error mono_mul(gcut_dims *t, uint32_t x, uint32_t y, uint32_t *out)
{
    gcut_dim_mono a = t->monos.at[x], b = t->monos.at[y];
    uint32_t atom[GCUT_DIM_MAX_WEIGHT], n = 0;
    if (a.weight + b.weight > GCUT_DIM_MAX_WEIGHT) return too_large;
    for (uint32_t i = 0, j = 0; i < a.n || j < b.n;) {
        bool left = j == b.n || (i < a.n && order_atom(t, a.atom[i], b.atom[j]) <= 0);
        atom[n++] = left ? a.atom[i++] : b.atom[j++];
    }
    *out = mono_intern(t, atom, n);
    return NULL;
}

gcut_dim_error gcut_dim_poly_mul(gcut_dims *t, const gcut_dim_poly *a, const gcut_dim_poly *b,
                                 gcut_dim_poly *out)
{
    out->n = 0;
    if (a->n * b->n > 4 * GCUT_DIM_MAX_TERMS) return too_large;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++) {
            int64_t c;
            uint32_t m;
            if (__builtin_mul_overflow(a->at[i].coef, b->at[j].coef, &c)) return overflow;
            gcut_dim_error err = mono_mul(t, a->at[i].mono, b->at[j].mono, &m);
            if (!err) err = gcut_dim_poly_put(t, out, c, m);
            if (err) return err;
        }
    return NULL;
}

bool gcut_dim_mono_div(gcut_dims *t, uint32_t x, uint32_t y, uint32_t *out)
{
    gcut_dim_mono a = t->monos.at[x], b = t->monos.at[y];
    uint32_t atom[GCUT_DIM_MAX_WEIGHT], n = 0, j = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        if (j < b.n && a.atom[i] == b.atom[j])
            j++;
        else
            atom[n++] = a.atom[i];
    }
    if (j < b.n) return false;
    *out = mono_intern(t, atom, n);
    return true;
}

/* ---- making ---- */

/* a op b of two constants; false: it is no size, or an op that make_expression computes. */
static bool make_constant(gcut_dim_op op, gcut_dim a, gcut_dim b, gcut_dim *out)
{
    if (a < 0 || b < 0) return false;
    switch (op) {
    case GCUT_DIM_ADD: return !__builtin_add_overflow(a, b, out);
    case GCUT_DIM_SUB: return !__builtin_sub_overflow(a, b, out) && *out >= 0;
    case GCUT_DIM_MUL: return !__builtin_mul_overflow(a, b, out);
    default: return false;
    }
}

static gcut_dim_made *recent_of(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    uint64_t h = ((uint64_t)a * 31 + (uint64_t)b) * 8 + (uint64_t)op;
    return &t->recent[h * UINT64_C(0x9e3779b97f4a7c15) >> 56];
}

static gcut_dim make_expression(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    static const char *const verb[] = {"+", "-", "*", "div", "ceildiv", "mod", "min", "max"};
    gcut_dim_poly p, q, r;
    gcut_dim out = 0;
    gcut_dim_error err;
    if (op <= GCUT_DIM_MUL) {
        gcut_dim_load(t, a, &p);
        gcut_dim_load(t, b, &q);
        err = op == GCUT_DIM_MUL ? gcut_dim_poly_mul(t, &p, &q, &r)
                                 : gcut_dim_poly_add(t, &p, op == GCUT_DIM_ADD ? 1 : -1, &q, &r);
        if (!err) err = gcut_dim_store(t, &r, &out);
    } else {
        err = gcut_dim_opaque(t, op, a, b, &out);
    }
    if (!err) return out;
    gcut_fail(gcut_arena_env(t->arena), GCUT_ETYPE, (gcut_place){0}, NULL, "%s: (%.200s) %s (%.200s)", err,
              gcut_dim_text(t->arena, t, a), verb[op], gcut_dim_text(t->arena, t, b));
}

gcut_dim gcut_dim_make(gcut_dims *t, gcut_dim_op op, gcut_dim a, gcut_dim b)
{
    gcut_dim out;
    if (make_constant(op, a, b, &out)) return out;
    gcut_dim_made *r = recent_of(t, op, a, b);
    if (r->op == op && r->a == a && r->b == b) return r->out;
    out = make_expression(t, op, a, b);
    *r = (gcut_dim_made){op, a, b, out};
    return out;
}

const gcut_dim_atom *gcut_dim_sole(const gcut_dims *t, gcut_dim d, gcut_dim_op op)
{
    if (d >= 0) return NULL;
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    const gcut_dim_mono *m = &t->monos.at[e->term[0].mono];
    if (e->n != 1 || e->term[0].coef != 1 || m->n != 1) return NULL;
    const gcut_dim_atom *a = &t->atoms.at[m->atom[0]];
    return !a->name && a->op == op ? a : NULL;
}

const char *gcut_dim_symbol_name(const gcut_dims *t, gcut_dim d)
{
    if (d >= 0) return NULL;
    const gcut_dim_expr *e = gcut_dim_expr_of(t, d);
    const gcut_dim_mono *m = &t->monos.at[e->term[0].mono];
    return e->n == 1 && e->term[0].coef == 1 && m->n == 1 ? t->atoms.at[m->atom[0]].name : NULL;
}
