/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dynamic program.  Memory m is counted in slots of `unit` bytes, without cut[s], which the caller holds.
 *
 *   cost(s, t, m)   least ns for the epochs t..s when recomputation has reached cut[s]:
 *       s = t            rec(s, none)                                  if m >= work(s, none)
 *       keep cut[s']     sum of advance(s..s'-1) + cost(s', t, m - |cut[s']|) + cost(s, s'-1, m)
 *       keep option o    advance(s) + cost(s+1, t, m - |o| - |cut[s+1]|) + rec(s, o)
 *                                                                     if m >= work(s, o)
 *   fwd_cost(s, m)  the same for the epochs n-1..s in the forward graph, where advancing is free and keeping
 *                   costs the round trips
 *
 * On n blocks of cost 1 and sizes 1 that hold nothing else, cost(0, n-1, c) is revolve's t(n, c).
 */
#include "partition/budget/checkpoint_levels.h"

#include <math.h>

#define MOST_WORK 3e7 /* innermost iterations for one table */
#define MOST_SLOTS 512

/* [s][e][m], e from 0 to n: cost(s, e, m), and fwd_cost(s, m) for e = n. */
typedef struct table {
    gcut_arena *arena;
    const gcut_chain *c;
    uint32_t n, slots;
    int64_t unit;
    double *cost;
    int16_t *choice; /* s' > s keeps cut[s'], s is the base, -o keeps option o; of fwd_cost's base -o too */
} table;

static uint32_t slots_of(const table *t, int64_t bytes)
{
    int64_t n = (bytes + t->unit / 2) / t->unit;
    return n > t->slots ? t->slots + 1 : (uint32_t)n;
}

static size_t at(const table *t, uint32_t s, uint32_t e, uint32_t m)
{
    return ((size_t)s * (t->n + 1) + e) * (t->slots + 1) + m;
}

/* The last epoch of a row; in the forward graph it may keep an option too. */
static void try_base(table *t, uint32_t s, uint32_t e)
{
    const gcut_block_cost *b = &t->c->at[s];
    bool forward = e == t->n;
    for (uint32_t m = 0; m <= t->slots; m++)
        for (uint32_t o = 0; o < (forward ? b->nopt : 1); o++) {
            double ns = b->opt[o].rec_ns + b->opt[o].trip_ns, *out = &t->cost[at(t, s, e, m)];
            if (m < slots_of(t, b->opt[o].work) || ns >= *out) continue;
            *out = ns;
            if (forward) t->choice[at(t, s, e, m)] = (int16_t) - (int)o;
        }
}

/* To keep cut[k]: m - need slots remain for the rest.  `ns`: to advance to it, or its trip. */
static void try_cut(table *t, uint32_t s, uint32_t e, uint32_t k, double ns, uint32_t least)
{
    uint32_t need = slots_of(t, t->c->at[k].cut_bytes);
    const double *right = &t->cost[at(t, k, e, 0)], *left = &t->cost[at(t, s, k - 1, 0)];
    double *out = &t->cost[at(t, s, e, 0)];
    int16_t *choice = &t->choice[at(t, s, e, 0)];
    for (uint32_t m = need > least ? need : least; m <= t->slots; m++) {
        double sum = ns + right[m - need] + left[m];
        if (sum < out[m]) out[m] = sum, choice[m] = (int16_t)k;
    }
}

static void try_option(table *t, uint32_t s, uint32_t e, uint32_t o)
{
    const gcut_block_cost *b = t->c->at;
    const gcut_block_option *x = &b[s].opt[o];
    uint32_t need = slots_of(t, x->keep + b[s + 1].cut_bytes), work = slots_of(t, x->work);
    const double *right = &t->cost[at(t, s + 1, e, 0)];
    double *out = &t->cost[at(t, s, e, 0)];
    int16_t *choice = &t->choice[at(t, s, e, 0)];
    for (uint32_t m = need > work ? need : work; m <= t->slots; m++) {
        double sum = e == t->n ? right[m - need] + x->rec_ns + x->trip_ns + b[s + 1].cut_trip_ns
                               : b[s].advance_ns + right[m - need] + x->rec_ns;
        if (sum < out[m]) out[m] = sum, choice[m] = (int16_t) - (int)o;
    }
}

static void fill_row(table *t, uint32_t s, uint32_t e)
{
    const gcut_block_cost *b = t->c->at;
    bool forward = e == t->n;
    uint32_t last = forward ? t->n - 1 : e, least = 0;
    double advance = 0;
    for (uint32_t m = 0; m <= t->slots; m++) {
        t->cost[at(t, s, e, m)] = INFINITY;
        t->choice[at(t, s, e, m)] = (int16_t)s;
    }
    if (s == last) try_base(t, s, e);
    for (uint32_t k = s + 1; k <= last; k++) {
        uint32_t need = slots_of(t, b[k - 1].advance_work + b[k].cut_bytes);
        advance += b[k - 1].advance_ns;
        if (need > least) least = need;
        try_cut(t, s, e, k, forward ? b[k].cut_trip_ns : advance, least);
    }
    for (uint32_t o = 1; s < last && o < b[s].nopt; o++) try_option(t, s, e, o);
}

static table solve(const gcut_chain *c, gcut_arena *arena, int64_t unit, uint32_t slots)
{
    table t = {.arena = arena, .c = c, .n = c->b.n, .slots = slots, .unit = unit};
    size_t size = at(&t, t.n, 0, 0);
    t.cost = gcut_alloc(arena, size * sizeof *t.cost);
    t.choice = gcut_alloc(arena, size * sizeof *t.choice);
    for (uint32_t e = 0; e <= t.n; e++)
        for (uint32_t s = e < t.n ? e + 1 : t.n; s-- > 0;) fill_row(&t, s, e);
    return t;
}

/* ---- from the table to a nesting ---- */

/* Only cells of finite cost are walked: take_some starts at one, and the choice of such a cell leads to others, with at
 * least the slots that it takes.  So a choice is never one without a plan, and m stays at least 0. */

static void walk_backward(const table *t, gcut_nesting *s, uint32_t from, uint32_t e, uint32_t m,
                          uint32_t start)
{
    for (uint32_t k = from;;) {
        int16_t choice = t->choice[at(t, k, e, m)];
        if (choice < 0) {
            const gcut_block_option *o = &t->c->at[k].opt[-choice];
            s->option[k] = (uint32_t)-choice;
            s->from[k] = k;
            m -= slots_of(t, o->keep + t->c->at[k + 1].cut_bytes);
            k++;
        } else if (k == e) {
            s->from[e] = start;
            return;
        } else {
            walk_backward(t, s, k, (uint32_t)choice - 1, m, k);
            m -= slots_of(t, t->c->at[choice].cut_bytes);
            k = (uint32_t)choice;
        }
    }
}

static void walk_forward(const table *t, gcut_nesting *s, uint32_t m)
{
    for (uint32_t k = 0; k < t->n;) {
        int16_t choice = t->choice[at(t, k, t->n, m)];
        uint32_t next = choice <= 0 ? k + 1 : (uint32_t)choice;
        if (choice <= 0) {
            s->option[k] = (uint32_t)-choice;
            s->first[k] = true;
            s->from[k] = k;
            if (next < t->n) m -= slots_of(t, t->c->at[k].opt[-choice].keep + t->c->at[next].cut_bytes);
        } else {
            walk_backward(t, s, k, next - 1, m, k);
            m -= slots_of(t, t->c->at[next].cut_bytes);
        }
        if (next < t->n) s->saved[next] = true;
        k = next;
    }
}

static gcut_nesting nesting_at(const table *t, gcut_arena *arena, uint32_t m)
{
    gcut_nesting s;
    s.from = gcut_calloc(arena, t->n, sizeof *s.from);
    s.option = gcut_calloc(arena, t->n, sizeof *s.option);
    s.saved = gcut_calloc(arena, t->n, 1);
    s.first = gcut_calloc(arena, t->n, 1);
    walk_forward(t, &s, m);
    return s;
}

/* ---- grids ---- */

typedef struct scale {
    int64_t top; /* bytes that the table must reach */
    int64_t unit;
    uint32_t slots;
} scale;

/* A table up to `top` bytes in slots of `unit`, or of more bytes if that takes too many slots. */
static scale scale_to(const gcut_chain *c, int64_t top, int64_t unit)
{
    double n = c->b.n, most = MOST_WORK / (n * n * n / 6 + n);
    int64_t slots = most > MOST_SLOTS ? MOST_SLOTS : most < 16 ? 16 : (int64_t)most;
    if (top / unit + 1 > slots) unit = top / slots + 1;
    return (scale){top, unit, (uint32_t)(top / unit) + 1};
}

/* Tables of three ranges, from the coarsest unit: up to everything kept, up to every cut kept, and up to the
 * cuts that square-root checkpointing keeps. */
static uint32_t scales(const gcut_chain *c, scale out[3])
{
    int64_t unit = 0, keep = 0, cuts = 0, work = 0, widest = 0;
    for (uint32_t k = 0; k < c->b.n; k++) {
        const gcut_block_cost *b = &c->at[k];
        int64_t most = 0;
        for (uint32_t o = 0; o < b->nopt; o++) {
            unit = gcut_dim_gcd(unit, b->opt[o].keep);
            if (b->opt[o].keep > most) most = b->opt[o].keep;
            if (b->opt[o].work > work) work = b->opt[o].work;
        }
        unit = gcut_dim_gcd(unit, b->cut_bytes);
        if (b->cut_bytes > widest) widest = b->cut_bytes;
        keep += most;
        cuts += b->cut_bytes;
    }
    if (unit == 0) unit = 1;
    int64_t root = (int64_t)ceil(2 * sqrt(c->b.n)) * widest;
    out[0] = scale_to(c, keep + cuts + work, unit);
    if (out[0].unit == unit) return 1;
    out[1] = scale_to(c, cuts + work, unit);
    if (out[1].unit == unit || root >= cuts / 2) return 2;
    out[2] = scale_to(c, root + work, unit);
    return 3;
}

static void take(const table *t, gcut_arena *arena, uint32_t m, gcut_level_plans *out)
{
    gcut_nesting s = nesting_at(t, t->arena, m);
    gcut_level_plan x = {gcut_nesting_choice(t->c, arena, &s), (int64_t)m * t->unit, 0};
    for (uint32_t k = 0; k < t->n; k++) x.saved += s.saved[k];
    *GCUT_PUSH(arena, &out->at) = x;
}

/* At most `most` of the memory sizes at which the optimum changes, in geometric steps from the smallest. */
static void take_some(const table *t, gcut_arena *arena, uint32_t most, gcut_level_plans *out)
{
    uint32_t least = 0;
    while (least < t->slots && isinf(t->cost[at(t, 0, t->n, least)])) least++;
    double before = INFINITY, next = 0, step = pow((t->slots + 1.0) / (least + 1), 1.0 / most);
    for (uint32_t m = least; m <= t->slots; m++) {
        if (!(t->cost[at(t, 0, t->n, m)] < before) || m + 1 < next) continue;
        before = t->cost[at(t, 0, t->n, m)];
        if (t->slots - least > most) next = (m + 1) * step;
        take(t, arena, m, out);
    }
}

gcut_level_plans gcut_levels_of(const gcut_chain *c, gcut_arena *arena, uint32_t most)
{
    gcut_level_plans out = {0};
    scale s[3];
    uint32_t n = scales(c, s);
    for (uint32_t i = n; i-- > 0;) {
        gcut_arena *scratch = gcut_arena_new(c->p->g->module->env, arena);
        table t = solve(c, scratch, s[i].unit, s[i].slots);
        take_some(&t, arena, most / n, &out);
        gcut_arena_free(scratch);
    }
    return out;
}
