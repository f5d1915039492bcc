/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A cut is a place between two nodes, in the graph's order, that only one value crosses.  A value on every
 * path gives such a place in any order, unless a value beside the path is computed early; `through` lists
 * such values, which are not counted.
 */
#include "partition/budget/blocks.h"

#include <math.h>

typedef struct span {
    uint32_t first, last; /* places: i is directly after node i */
} span;

typedef struct finder {
    gcut_arena *arena;
    const gcut_problem *p;
    const gcut_graph *g;
    span *span; /* by value; last <= first: crosses nothing */
} finder;

static bool is_forward(const gcut_problem *p, uint32_t i)
{
    const gcut_node *n = gcut_node_at(p->g, i);
    return n->nres && p->facts->live[i] && p->facts->side[n->res0] == GCUT_SIDE_FORWARD;
}

/* span[v]: from v's node to the last forward reader of its storage. */
static void find_spans(finder *f)
{
    const gcut_graph *g = f->g;
    const bool *sizes_only = gcut_sizes_only(g, f->arena);
    f->span = gcut_calloc(f->arena, g->values.n, sizeof *f->span);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!is_forward(f->p, i)) continue;
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) f->span[v] = (span){i, i};
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref b = f->p->facts->base[gcut_arg(g, n, k)];
            uint32_t def = g->values.at[b].def;
            if (def != GCUT_NONE && !sizes_only[def] && !f->p->facts->kept[b]) f->span[b].last = i;
        }
    }
}

/* one[i]: the value that crosses place i if, of the spans of at most `longest` nodes, exactly one does; else
 * 0. Returns the number of different values. */
static uint32_t find_cuts(const finder *f, uint32_t longest, gcut_ref *one)
{
    const gcut_graph *g = f->g;
    int64_t *count = gcut_calloc(f->arena, (size_t)g->nodes.n + 1, sizeof *count);
    int64_t *sum = gcut_calloc(f->arena, (size_t)g->nodes.n + 1, sizeof *sum), c = 0, s = 0;
    uint32_t found = 0;
    gcut_ref before = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        span x = f->span[v];
        if (x.last <= x.first || x.last - x.first > longest) continue;
        count[x.first]++, sum[x.first] += v;
        count[x.last]--, sum[x.last] -= v;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        c += count[i], s += sum[i];
        one[i] = c == 1 && is_forward(f->p, i) ? (gcut_ref)s : 0;
        if (!one[i] || one[i] == before) continue;
        before = one[i];
        found++;
    }
    return found;
}

/* A lower `longest` gives more cuts, but excludes more values from the count; it is lowered only if the
 * number of cuts grows by more than half. */
static gcut_ref *choose_cuts(const finder *f, uint32_t *longest)
{
    uint32_t n = f->g->nodes.n, best = 0;
    gcut_ref *one = gcut_calloc(f->arena, (size_t)n + 1, sizeof *one), *chosen = NULL;
    for (uint32_t part = 1; part <= 8; part *= 2) {
        uint32_t l = n / part + 1, found = find_cuts(f, l, one);
        if (chosen && found < best + best / 2 + 2) continue;
        best = found;
        *longest = l;
        chosen = gcut_memdup(f->arena, one, ((size_t)n + 1) * sizeof *one);
    }
    return chosen;
}

/* ---- blocks ---- */

typedef struct place {
    uint32_t at;
    gcut_ref v;
} place;

typedef GCUT_VEC(place) places;

/* The work of nodes 0 to i - 1, in parts of its total: sums of integers, so that equal layers have equal work wherever
 * they are. */
static int64_t *find_work(const finder *f)
{
    const uint32_t n = f->g->nodes.n;
    double *ns = gcut_calloc(f->arena, (size_t)n + 1, sizeof *ns), total = 0;
    int64_t *work = gcut_calloc(f->arena, (size_t)n + 1, sizeof *work);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_forward(f->p, i)) continue;
        ns[i] = f->p->price[gcut_node_at(f->g, i)->res0].recompute_ns;
        if (isinf(ns[i])) ns[i] = 0;
        total += ns[i];
    }
    for (uint32_t i = 0; i < n; i++)
        work[i + 1] = work[i] + (total > 0 ? (int64_t)(ns[i] / total * 0x1p60) : 0);
    return work;
}

/* Cuts in a list, and a tree that finds the least of them: of the work of its two blocks together, then by position. */
typedef struct thinning {
    const finder *f;
    const places *cuts;
    const int64_t *work;
    uint32_t *before, *after; /* by cut: its neighbours; GCUT_NONE = none */
    int64_t *both;            /* by cut: the work of its two blocks; INT64_MAX = removed, or none */
    uint32_t *least, size;    /* of children 2 i and 2 i + 1, the cut with less; cut k is size + k */
} thinning;

static void update(thinning *t, uint32_t k, int64_t both)
{
    t->both[k] = both;
    for (uint32_t i = (t->size + k) / 2; i > 0; i /= 2) {
        const uint32_t x = t->least[2 * i], y = t->least[2 * i + 1];
        t->least[i] = t->both[y] < t->both[x] ? y : x;
    }
}

static int64_t work_around(const thinning *t, uint32_t k)
{
    const uint32_t before = t->before[k], after = t->after[k];
    const uint32_t from = before == GCUT_NONE ? 0 : t->cuts->at[before].at + 1;
    const uint32_t to = after == GCUT_NONE ? t->f->g->nodes.n : t->cuts->at[after].at + 1;
    return t->work[to] - t->work[from];
}

static thinning thinning_of(const finder *f, const places *cuts)
{
    thinning t = {.f = f, .cuts = cuts, .work = find_work(f), .size = 1};
    while (t.size < cuts->n) t.size *= 2;
    t.before = gcut_calloc(f->arena, cuts->n, sizeof *t.before);
    t.after = gcut_calloc(f->arena, cuts->n, sizeof *t.after);
    t.both = gcut_calloc(f->arena, t.size, sizeof *t.both);
    t.least = gcut_calloc(f->arena, 2 * (size_t)t.size, sizeof *t.least);
    for (uint32_t k = 0; k < t.size; k++) t.least[t.size + k] = k, t.both[k] = INT64_MAX;
    for (uint32_t k = 0; k < cuts->n; k++) {
        t.before[k] = k ? k - 1 : GCUT_NONE;
        t.after[k] = k + 1 < cuts->n ? k + 1 : GCUT_NONE;
    }
    for (uint32_t k = 0; k < cuts->n; k++) t.both[k] = work_around(&t, k);
    for (uint32_t i = t.size - 1; i > 0; i--) {
        const uint32_t x = t.least[2 * i], y = t.least[2 * i + 1];
        t.least[i] = t.both[y] < t.both[x] ? y : x;
    }
    return t;
}

static void remove_least(thinning *t)
{
    const uint32_t k = t->least[1], before = t->before[k], after = t->after[k];
    if (before != GCUT_NONE) t->after[before] = after;
    if (after != GCUT_NONE) t->before[after] = before;
    update(t, k, INT64_MAX);
    if (before != GCUT_NONE) update(t, before, work_around(t, before));
    if (after != GCUT_NONE) update(t, after, work_around(t, after));
}

/* Removes the cut whose two blocks together have the least work, until GCUT_MAX_BLOCKS blocks remain. */
static void thin_out(const finder *f, places *cuts)
{
    if (cuts->n < GCUT_MAX_BLOCKS) return;
    thinning t = thinning_of(f, cuts);
    for (uint32_t n = cuts->n; n + 1 > GCUT_MAX_BLOCKS; n--) remove_least(&t);
    uint32_t n = 0;
    for (uint32_t k = 0; k < cuts->n; k++)
        if (t.both[k] != INT64_MAX) cuts->at[n++] = cuts->at[k];
    cuts->n = n;
}

static void mark_advance(const gcut_problem *p, gcut_arena *arena, gcut_blocks *b)
{
    const gcut_graph *g = p->g;
    bool *want = gcut_calloc(arena, g->values.n, 1);
    for (uint32_t k = 1; k < b->n; k++) want[b->cut[k]] = true;
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (b->of[i] == GCUT_NONE) continue;
        b->advance[i] = gcut_any_result(n, want);
        for (uint32_t k = 0; b->advance[i] && k < n->nargs; k++) {
            gcut_ref v = gcut_arg(g, n, k), a = p->facts->base[v];
            if (!b->through[a] && (b->enter[a] == GCUT_NONE || v != a)) want[v] = true;
        }
    }
}

/* through: by value, copied. */
static gcut_blocks lay_out(const gcut_problem *p, gcut_arena *arena, const places *cuts, const bool *through)
{
    const gcut_graph *g = p->g;
    gcut_blocks b = {.n = cuts->n + 1, .through = gcut_memdup(arena, through, g->values.n)};
    b.cut = gcut_calloc(arena, b.n, sizeof *b.cut);
    b.end = gcut_calloc(arena, b.n, sizeof *b.end);
    b.of = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *b.of);
    b.enter = gcut_alloc(arena, g->values.n * sizeof *b.enter);
    b.advance = gcut_calloc(arena, (size_t)g->nodes.n + 1, 1);
    for (gcut_ref v = 0; v < g->values.n; v++) b.enter[v] = GCUT_NONE;
    for (uint32_t k = 0; k < cuts->n; k++) {
        b.cut[k + 1] = cuts->at[k].v;
        b.end[k] = cuts->at[k].at;
        b.enter[cuts->at[k].v] = k + 1;
    }
    b.end[b.n - 1] = g->nodes.n ? g->nodes.n - 1 : 0;
    for (uint32_t i = 0, k = 0; i < g->nodes.n; i++) {
        b.of[i] = is_forward(p, i) ? k : GCUT_NONE;
        k += i == b.end[k];
    }
    gcut_arena *scratch = gcut_arena_new(g->module->env, arena);
    mark_advance(p, scratch, &b);
    gcut_arena_free(scratch);
    return b;
}

gcut_blocks gcut_blocks_merge(const gcut_problem *p, gcut_arena *arena, const gcut_blocks *b,
                              const bool *keep)
{
    gcut_arena *scratch = gcut_arena_new(p->g->module->env, arena);
    places cuts = {0};
    for (uint32_t k = 1; k < b->n; k++)
        if (keep[k]) *GCUT_PUSH(scratch, &cuts) = (place){b->end[k - 1], b->cut[k]};
    gcut_blocks out = lay_out(p, arena, &cuts, b->through);
    gcut_arena_free(scratch);
    return out;
}

/* By value: it crosses a cut but was not counted there, because its span is longer than `longest`. */
static bool *find_through(const finder *f, const places *cuts, uint32_t longest)
{
    const gcut_graph *g = f->g;
    bool *through = gcut_calloc(f->arena, g->values.n, 1);
    uint32_t *before = gcut_calloc(f->arena, (size_t)g->nodes.n + 1, sizeof *before), k = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) { /* cuts before place i */
        before[i] = k;
        k += k < cuts->n && cuts->at[k].at == i;
    }
    for (gcut_ref v = 1; v < g->values.n; v++) {
        span x = f->span[v];
        through[v] = x.last > x.first && x.last - x.first > longest && before[x.first] != before[x.last];
    }
    return through;
}

gcut_blocks gcut_blocks_of(const gcut_problem *p, gcut_arena *arena)
{
    finder f = {.arena = gcut_arena_new(p->g->module->env, arena), .p = p, .g = p->g};
    find_spans(&f);
    uint32_t longest = 0;
    const gcut_ref *one = choose_cuts(&f, &longest);
    places cuts = {0};
    for (uint32_t i = 0; i < p->g->nodes.n; i++)
        if (one[i] && (cuts.n == 0 || cuts.at[cuts.n - 1].v != one[i]))
            *GCUT_PUSH(f.arena, &cuts) = (place){i, one[i]};
    thin_out(&f, &cuts);
    gcut_blocks b = lay_out(p, arena, &cuts, find_through(&f, &cuts, longest));
    gcut_arena_free(f.arena);
    return b;
}

uint32_t gcut_block_of(const gcut_problem *p, const gcut_blocks *b, gcut_ref v)
{
    gcut_ref a = p->facts->base[v];
    uint32_t def = p->g->values.at[a].def;
    if (def == GCUT_NONE || b->through[a] || p->facts->kept[a]) return GCUT_NONE;
    return b->enter[a] != GCUT_NONE ? b->enter[a] : b->of[def];
}
