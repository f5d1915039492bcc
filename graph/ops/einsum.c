/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Einstein's summation as transpositions, reshapes, products and sums.
 *
 *   1. A letter twice in one operand is its diagonal: a select by index, summed.
 *   2.  Operands are contracted pairwise from left to right.  Letters that neither the output nor a later
 *      operand has are summed: in the operand before the product when only one has them, by the product
 *      itself when both have them.
 *   3.  The result is transposed to the order of the output.
 *
 * A product has the letters of both operands that are still needed as its one
 * batch axis, those of one operand alone as rows or columns, and the summed ones
 * as its inner axis.  Without rows and columns it is elementwise, with a sum.
 */
#include <ctype.h>
#include <string.h>

#include "graph/build.h"

#define LETTERS 52 /* A..Z, a..z: alphabetical, as an implicit output has them */
#define MAX_OPERANDS 16

typedef uint64_t letters; /* a set: bit number of a letter */

/* A value and the letter of each of its axes, all different once it is prepared. */
typedef struct term {
    gcut_ref v;
    uint32_t rank;
    uint8_t axis[GCUT_MAX_RANK];
} term;

typedef struct einsum {
    gcut_build *b;
    const char *spec;
    gcut_dim size[LETTERS];
    letters seen; /* in some operand */
} einsum;

static gcut_module *module_of(const einsum *e)
{
    return e->b->g->module;
}

#define FAIL(e, ...)                                                                                         \
    gcut_fail(module_of(e)->env, GCUT_ETYPE, gcut_loc_place(module_of(e), (e)->b->loc),                      \
              "write it like bhqd,bhkd->bhqk", __VA_ARGS__)

static letters one(uint8_t letter)
{
    return (letters)1 << letter;
}

static letters set_of(const term *t)
{
    letters s = 0;
    for (uint32_t d = 0; d < t->rank; d++) s |= one(t->axis[d]);
    return s;
}

static char letter_of(uint8_t k)
{
    return (char)(k < 26 ? 'A' + k : 'a' + k - 26);
}

/* ---- reading ---- */

/* The letters up to a comma, an arrow or the end; returns what follows. */
static const char *read_term(const einsum *e, const char *s, term *t)
{
    for (t->rank = 0; *s && *s != ',' && *s != '-'; s++) {
        if (*s == ' ') continue;
        if (*s == '.') FAIL(e, "einsum '%s': an ellipsis is not supported; name its axes", e->spec);
        if (!isascii((unsigned char)*s) || !isalpha((unsigned char)*s))
            FAIL(e, "einsum '%s': '%c' is no letter", e->spec, *s);
        if (t->rank == GCUT_MAX_RANK)
            FAIL(e, "einsum '%s': a term of more than %d letters", e->spec, GCUT_MAX_RANK);
        t->axis[t->rank++] = (uint8_t)(*s <= 'Z' ? *s - 'A' : *s - 'a' + 26);
    }
    return s;
}

/* NumPy's implicit output: the letters that occur once, in alphabetical order. */
static term implicit_output(const einsum *e, const term *in, uint32_t n)
{
    term out = {0};
    uint32_t count[LETTERS] = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < in[i].rank; d++) count[in[i].axis[d]]++;
    for (uint8_t k = 0; k < LETTERS; k++) {
        if (count[k] != 1) continue;
        if (out.rank == GCUT_MAX_RANK)
            FAIL(e, "einsum '%s': more than %d axes are left", e->spec, GCUT_MAX_RANK);
        out.axis[out.rank++] = k;
    }
    return out;
}

static void check_output(const einsum *e, const term *out)
{
    letters had = 0;
    for (uint32_t d = 0; d < out->rank; d++) {
        if (!(e->seen & one(out->axis[d])))
            FAIL(e, "einsum '%s': '%c' of the output is in no operand", e->spec, letter_of(out->axis[d]));
        if (had & one(out->axis[d]))
            FAIL(e, "einsum '%s': '%c' is twice in the output", e->spec, letter_of(out->axis[d]));
        had |= one(out->axis[d]);
    }
}

/* Records the size of each letter and requires equal sizes for equal letters. */
static void measure(einsum *e, const term *t)
{
    gcut_type have = *gcut_type_of(e->b->g, t->v);
    if (have.rank != t->rank)
        FAIL(e, "einsum '%s': an operand has %u axes, its term %u letters", e->spec, have.rank, t->rank);
    for (uint32_t d = 0; d < t->rank; d++) {
        uint8_t k = t->axis[d];
        if (e->seen & one(k))
            gcut_dim_require(e->b->g, e->size[k], have.dim[d], e->b->loc, "einsum");
        else
            e->size[k] = have.dim[d];
        e->seen |= one(k);
    }
}

static term read(einsum *e, const gcut_ref *v, uint32_t n, term *in)
{
    const char *s = e->spec;
    term out;
    for (uint32_t i = 0; i < n; i++) {
        s = read_term(e, s, &in[i]);
        if (i + 1 < n && *s++ != ',') FAIL(e, "einsum '%s' has %u terms for %u operands", e->spec, i + 1, n);
        in[i].v = v[i];
        measure(e, &in[i]);
    }
    if (*s == ',') FAIL(e, "einsum '%s' has more terms than the %u operands", e->spec, n);
    if (!*s) return implicit_output(e, in, n);
    if (s[1] != '>') FAIL(e, "einsum '%s': '-' without '>'", e->spec);
    s = read_term(e, s + 2, &out);
    if (*s) FAIL(e, "einsum '%s': '%c' after the output", e->spec, *s);
    check_output(e, &out);
    return out;
}

/* ---- one operand ---- */

static void drop(term *t, uint32_t axis)
{
    memmove(t->axis + axis, t->axis + axis + 1, t->rank - axis - 1);
    t->rank--;
}

/* x[.., i, .., i, ..] along i alone: what is off the diagonal becomes 0, and the second axis is summed. */
static void take_diagonals(einsum *e, term *t)
{
    for (uint32_t d = 0; d < t->rank; d++)
        for (uint32_t k = t->rank; k-- > d + 1;) {
            if (t->axis[k] != t->axis[d]) continue;
            gcut_type index = *gcut_type_of(e->b->g, t->v);
            index.dtype = GCUT_I64;
            index.dim[k] = index.dim[d];
            gcut_ref column = gcut_biota(e->b, &index, (int)k), row = gcut_biota(e->b, &index, (int)d);
            gcut_ref on = gcut_b2(e->b, GCUT_OP_eq, row, column);
            gcut_ref x = gcut_type_of(e->b->g, t->v)->dim[k] == index.dim[k]
                             ? t->v
                             : gcut_breshape(e->b, t->v, index.dim, t->rank);
            x = gcut_bselect(e->b, on, x, gcut_bconst(e->b, x, 0));
            t->v = gcut_breduce(e->b, GCUT_OP_sum, x, 1u << k);
            drop(t, k);
        }
}

/* Sums away the letters that are not in `needed`. */
static void sum_unneeded(einsum *e, term *t, letters needed)
{
    uint32_t mask = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        if (!(needed & one(t->axis[d]))) mask |= 1u << d;
    if (!mask) return;
    t->v = gcut_breduce(e->b, GCUT_OP_sum, t->v, mask);
    for (uint32_t d = t->rank; d-- > 0;)
        if (mask >> d & 1) drop(t, d);
}

/* t transposed to that order of letters; `order` names all letters of t. */
static gcut_ref arranged(einsum *e, const term *t, const uint8_t *order)
{
    gcut_dim perm[GCUT_MAX_RANK];
    bool same = true;
    for (uint32_t d = 0; d < t->rank; d++) {
        perm[d] = 0;
        while (t->axis[perm[d]] != order[d]) perm[d]++;
        same = same && perm[d] == (gcut_dim)d;
    }
    return same ? t->v : gcut_btranspose(e->b, t->v, perm);
}

/* ---- two operands ---- */

/* Appends the letters of `from` that are in the set to out, in their order in `from`. */
static void append(term *out, const term *from, letters set)
{
    for (uint32_t d = 0; d < from->rank; d++)
        if (set & one(from->axis[d])) out->axis[out->rank++] = from->axis[d];
}

static gcut_dim volume(const einsum *e, const term *t, letters set)
{
    gcut_dim n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        if (set & one(t->axis[d]))
            n = gcut_dim_make(module_of(e)->dims, GCUT_DIM_MUL, n, e->size[t->axis[d]]);
    return n;
}

/* t with the axes of three disjoint sets, each merged into one; the first is left out when it is empty.
 * Letters of both operands are in the order of `by`. */
static gcut_ref as_matrix(einsum *e, const term *t, const term *by, const letters set[3])
{
    term order = {0};
    gcut_dim shape[3];
    uint32_t rank = 0;
    for (int k = 0; k < 3; k++) {
        bool shared = (set_of(by) & set[k]) == set[k] && set[k];
        append(&order, shared ? by : t, set[k]);
        if (k || set[0]) shape[rank++] = volume(e, t, set[k]);
    }
    gcut_ref v = arranged(e, t, order.axis);
    bool same = t->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++) same = gcut_type_of(e->b->g, v)->dim[d] == shape[d];
    return same ? v : gcut_breshape(e->b, v, shape, rank);
}

static void restore(einsum *e, term *t)
{
    gcut_dim shape[GCUT_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++) shape[d] = e->size[t->axis[d]];
    gcut_type have = *gcut_type_of(e->b->g, t->v);
    bool same = have.rank == t->rank;
    for (uint32_t d = 0; same && d < t->rank; d++) same = have.dim[d] == shape[d];
    if (!same) t->v = gcut_breshape(e->b, t->v, shape, t->rank);
}

/* a and b, which have the same letters, elementwise. */
static term multiplied(einsum *e, const term *a, const term *b)
{
    term c = *a;
    restore(e, &c);
    term other = {.v = arranged(e, b, a->axis), .rank = a->rank};
    memcpy(other.axis, a->axis, sizeof other.axis);
    restore(e, &other);
    c.v = gcut_b2(e->b, GCUT_OP_mul, c.v, other.v);
    return c;
}

static term joined(einsum *e, term *a, term *b, letters later)
{
    letters la = set_of(a), lb = set_of(b);
    sum_unneeded(e, a, lb | later);
    sum_unneeded(e, b, la | later);
    la = set_of(a), lb = set_of(b);
    letters both = la & lb, batch = both & later, summed = both & ~later;
    if (la == lb) {
        term c = multiplied(e, a, b);
        sum_unneeded(e, &c, later);
        return c;
    }
    term c = {0};
    letters rows = la & ~both, columns = lb & ~both;
    if (__builtin_popcountll(batch | rows | columns) > GCUT_MAX_RANK)
        FAIL(e, "einsum '%s': an intermediate result would have more than %d axes", e->spec, GCUT_MAX_RANK);
    gcut_ref x = as_matrix(e, a, a, (const letters[]){batch, rows, summed});
    gcut_ref y = as_matrix(e, b, a, (const letters[]){batch, summed, columns});
    c.v = gcut_bmatmul(e->b, x, y, false, false);
    append(&c, a, batch);
    append(&c, a, rows);
    append(&c, b, columns);
    restore(e, &c);
    return c;
}

gcut_ref gcut_beinsum(gcut_build *b, const char *spec, const gcut_ref *v, uint32_t n)
{
    einsum e = {.b = b, .spec = spec};
    term in[MAX_OPERANDS];
    if (n == 0 || n > MAX_OPERANDS) FAIL(&e, "einsum takes 1 to %d operands, not %u", MAX_OPERANDS, n);
    term out = read(&e, v, n, in);
    for (uint32_t i = 0; i < n; i++) take_diagonals(&e, &in[i]);
    term acc = in[0];
    for (uint32_t i = 1; i < n; i++) {
        letters later = set_of(&out);
        for (uint32_t k = i + 1; k < n; k++) later |= set_of(&in[k]);
        acc = joined(&e, &acc, &in[i], later);
    }
    sum_unneeded(&e, &acc, set_of(&out));
    return arranged(&e, &acc, out.axis);
}
