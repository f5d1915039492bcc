/* SPDX-License-Identifier: MIT
 *
 * depthwise.c for one element type (each_type.h).
 */

#include "kernels/rt/conv/copy_type.h"

enum { NAME(PLANE) = PLANE_BYTES / sizeof(T), NAME(MOST_LANES) = 64 / sizeof(T) };

/* The working memory of a thread. */
typedef struct NAME(planes) {
    _Alignas(64) T source[NAME(PLANE) + NAME(MOST_LANES)];
    _Alignas(64) T result[NAME(PLANE) + NAME(MOST_LANES)];
    _Alignas(64) T lane[PASS * NAME(MOST_LANES)]; /* of dot products */
} NAME(planes);
_Static_assert(sizeof(NAME(planes)) <= GCUT_RT_RESERVE, "there must always be one");

typedef struct NAME(depthwise) {
    const gcut_rt_conv *g;
    tap_axis axis[2];
    tiling tiling;
    int64_t sources, results; /* planes of a channel */
    int64_t task_taps;        /* taps of a task, of the gradient of w */
    const T *from, *other;    /* the sources; w or, of its gradient, y */
    T *to;
    void (*sums)(int64_t, int, const T *const *, const T *, T *, int);
    void (*dots)(int64_t, int, const T *const *, const T *, T *);
    int64_t lanes;
} NAME(depthwise);

OVERRIDES(NAME(sums));
OVERRIDES(NAME(dots));
static const int NAME(width_of)[] = {INSTANCES(PASTE(WIDTH, TYPE))};

/* ---- the source of a tile ---- */

/* The taps that lattice r of results sees of a tile, but for the first `skipped`, -1: none are listed.  The element of w
 * that is tap k is tap[k], and the first result sees source[k]. */
typedef struct NAME(taps) {
    int64_t r[2], skipped;
    int taps;
    int64_t tap[PASS];
    const T *source[PASS];
} NAME(taps);

/* The part of a lattice of sources that is inside of the plane: `rows` rows of `columns` elements, from an offset in the plane,
 * to one in the copy. */
typedef struct NAME(interior) {
    int64_t rows, columns, from, to;
} NAME(interior);

/* What a thread works on: a tile of a plane of sources.  Planes have the same lattices and taps: those of some lattices
 * are kept, since divisions find them. */
typedef struct NAME(tile) {
    const NAME(depthwise) * p;
    NAME(planes) * memory;
    tap_range range[2];
    int64_t at[2]; /* of the tile: the first results of a lattice */
    const T *plane;
    NAME(interior) interior[LISTS];
    NAME(taps) list[LISTS];
} NAME(tile);

static int64_t NAME(lattice_rows)(const NAME(tile) * d)
{
    return d->p->tiling.places[0] + d->range[0].hi - d->range[0].lo;
}

/* Every `stride`-th element of `from`.  Compilers vectorise the loop whose stride is a constant. */
static inline void NAME(gather)(T *restrict to, const T *restrict from, int64_t n, int64_t stride)
{
    if (stride == 2)
        for (int64_t j = 0; j < n; j++) to[j] = from[2 * j];
    else
        for (int64_t j = 0; j < n; j++) to[j] = from[j * stride];
}

/* Of the lattice of sources (b0, b1). */
static NAME(interior) NAME(interior_of)(const NAME(tile) * d, int64_t b0, int64_t b1)
{
    const tap_axis *a = d->p->axis;
    const int64_t pitch = d->p->tiling.pitch, row = d->at[0] + d->range[0].lo,
                  column = d->at[1] + d->range[1].lo;
    int64_t u0, u1, v0, v1;
    inside(row * a[0].stride + b0, a[0].stride, a[0].sources, NAME(lattice_rows)(d), &u0, &u1);
    inside(column * a[1].stride + b1, a[1].stride, a[1].sources, pitch, &v0, &v1);
    return (NAME(interior)){.rows = u1 - u0,
                            .columns = v1 - v0,
                            .from = ((row + u0) * a[0].stride + b0) * a[1].sources +
                                    (column + v0) * a[1].stride + b1,
                            .to = u0 * pitch + v0};
}

/* What is outside of the plane is 0 already. */
static void NAME(copy_lattice)(const NAME(tile) * d, const NAME(interior) * c, T *to)
{
    const tap_axis *a = d->p->axis;
    const T *from = d->plane + c->from;
    to += c->to;
    for (int64_t u = 0; u < c->rows; u++, to += d->p->tiling.pitch, from += a[0].stride * a[1].sources)
        if (a[1].stride == 1)
            NAME(copy)(to, from, c->columns);
        else
            NAME(gather)(to, from, c->columns, a[1].stride);
}

/* Copies the lattices of the plane that the taps of two ranges see, for the tile that begins with result (i, j), unless they
 * are there. */
static void NAME(load_tile)(NAME(tile) * d, const T *plane, int64_t i, int64_t j, int64_t range0,
                            int64_t range1)
{
    const NAME(depthwise) *p = d->p;
    const tiling *t = &p->tiling;
    const int64_t k0 = range0 * t->taps[0], l0 = range1 * t->taps[1];
    const int moved =
        !d->plane || d->at[0] != i || d->at[1] != j || d->range[0].k0 != k0 || d->range[1].k0 != l0;
    if (!moved && d->plane == plane) return;
    if (moved) {
        d->range[0] = range_of(&p->axis[0], k0, gcut_rt_min(k0 + t->taps[0], p->axis[0].taps));
        d->range[1] = range_of(&p->axis[1], l0, gcut_rt_min(l0 + t->taps[1], p->axis[1].taps));
        d->at[0] = i, d->at[1] = j;
        for (int k = 0; k < LISTS; k++) d->list[k].skipped = -1;
    }
    d->plane = plane;
    T *to = d->memory->source;
    const int64_t size = NAME(lattice_rows)(d) * t->pitch, n[] = {d->range[0].lattices, d->range[1].lattices};
    if (moved) memset(to, 0, (size_t)(n[0] * n[1] * size + p->lanes) * sizeof(T));
    for (int64_t k = 0; k < n[0]; k++)
        for (int64_t l = 0; l < n[1]; l++, to += size) {
            NAME(interior) *const c = &d->interior[(k * n[1] + l) % LISTS];
            if (moved || n[0] * n[1] > LISTS)
                *c = NAME(interior_of)(d, source_lattice(&p->axis[0], k0 + k),
                                       source_lattice(&p->axis[1], l0 + l));
            NAME(copy_lattice)(d, c, to);
        }
}

/* Where lattice r[e] sees tap k in the copied lattices, in rows or columns and in lattices; false: it doesn't. */
static int NAME(place_of)(const NAME(tile) * d, int e, int64_t r, int64_t k, int64_t *place, int64_t *lattice)
{
    const tap_axis *a = &d->p->axis[e];
    int64_t at;
    if (!sees(a, r, k, &at)) return 0;
    *place = gcut_rt_floordiv(at, a->stride) - d->range[e].lo;
    *lattice = (k - d->range[e].k0) % d->range[e].lattices;
    return 1;
}

/* The taps that the lattice of results sees, but for the first `skipped`, `most` at most, until the next call. */
static const NAME(taps) *
    NAME(list_taps)(NAME(tile) * d, int64_t r0, int64_t r1, int64_t skipped, int64_t most)
{
    NAME(taps) *const list = &d->list[(r0 * lattices(&d->p->axis[1]) + r1) % LISTS];
    if (list->skipped == skipped && list->r[0] == r0 && list->r[1] == r1) return list;
    int64_t seen = 0, place[2], lattice[2];
    list->skipped = skipped, list->r[0] = r0, list->r[1] = r1, list->taps = 0;
    for (int64_t k = d->range[0].k0; k < d->range[0].k1; k++) {
        if (!NAME(place_of)(d, 0, r0, k, &place[0], &lattice[0])) continue;
        for (int64_t l = d->range[1].k0; l < d->range[1].k1; l++) {
            if (!NAME(place_of)(d, 1, r1, l, &place[1], &lattice[1]) || seen++ < skipped) continue;
            if (list->taps == most) return list;
            const int64_t row =
                (lattice[0] * d->range[1].lattices + lattice[1]) * NAME(lattice_rows)(d) + place[0];
            list->tap[list->taps] = k * d->p->axis[1].taps + l;
            list->source[list->taps++] = d->memory->source + row * d->p->tiling.pitch + place[1];
        }
    }
    return list;
}

/* ---- sums ---- */

/* Vectors of the results of some rows. */
static int64_t NAME(vectors)(const NAME(depthwise) * p, int64_t rows, int64_t columns)
{
    return gcut_rt_ceildiv((rows - 1) * p->tiling.pitch + columns, p->lanes);
}

/* Results n[0] by n[1] of a lattice, from those that the tile begins with. */
static void NAME(store)(const NAME(tile) * d, const int64_t r[2], const int64_t n[2], T *plane)
{
    const tap_axis *a = d->p->axis;
    for (int64_t i = 0; i < n[0]; i++) {
        const T *from = d->memory->result + i * d->p->tiling.pitch;
        T *to = plane + ((d->at[0] + i) * a[0].every + r[0]) * a[1].results + d->at[1] * a[1].every + r[1];
        if (a[1].every == 1)
            NAME(copy)(to, from, n[1]);
        else
            for (int64_t j = 0; j < n[1]; j++) to[j * a[1].every] = from[j];
    }
}

/* One lattice of results of a tile; `channel` counts those of all images. */
static void NAME(sum_lattice)(NAME(tile) * d, int64_t channel, int64_t result, int64_t i, int64_t j,
                              const int64_t r[2])
{
    const NAME(depthwise) *p = d->p;
    const tiling *t = &p->tiling;
    const tap_axis *a = p->axis;
    const int64_t n[] = {gcut_rt_min(t->places[0], results_of(&a[0], r[0]) - i),
                         gcut_rt_min(t->places[1], results_of(&a[1], r[1]) - j)};
    const int64_t taps = a[0].taps * a[1].taps, more = p->sources * p->results, c = channel % p->g->c;
    int add = 0;
    if (n[0] <= 0 || n[1] <= 0) return;
    for (int64_t s = 0; s < p->sources; s++) {
        const T *w = p->other + (c * more + s + result) * taps;
        const T *plane = p->from + (channel * p->sources + s) * a[0].sources * a[1].sources;
        for (int64_t q = 0; q < t->ranges[0] * t->ranges[1]; q++) {
            NAME(load_tile)(d, plane, i, j, q / t->ranges[1], q % t->ranges[1]);
            const NAME(taps) * list;
            int64_t skipped = 0;
            do {
                T of[PASS];
                list = NAME(list_taps)(d, r[0], r[1], skipped, PASS);
                for (int k = 0; k < list->taps; k++) of[k] = w[list->tap[k]];
                p->sums(NAME(vectors)(p, n[0], n[1]), list->taps, list->source, of, d->memory->result, add);
                add = 1, skipped += list->taps;
            } while (list->taps == PASS);
        }
    }
    NAME(store)(d, r, n, p->to + (channel * p->results + result) * a[0].results * a[1].results);
}

static void NAME(part_sums)(void *arg, int t, int nt)
{
    const NAME(depthwise) *p = arg;
    const int64_t columns = p->tiling.tiles[1], tiles = p->tiling.tiles[0] * columns;
    int64_t begin, end;
    gcut_rt_share(p->g->n * p->g->c * tiles, 1, t, nt, &begin, &end);
    if (begin >= end) return;
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(planes)));
    NAME(tile) d = {.p = p, .memory = workspace.at};
    for (int64_t q = begin; q < end; q++) {
        const int64_t channel = q / tiles, i = q % tiles / columns * p->tiling.places[0],
                      j = q % columns * p->tiling.places[1];
        for (int64_t m = 0; m < p->results; m++)
            for (int64_t r0 = 0; r0 < lattices(&p->axis[0]); r0++)
                for (int64_t r1 = 0; r1 < lattices(&p->axis[1]); r1++)
                    NAME(sum_lattice)(&d, channel, m, i, j, (const int64_t[]){r0, r1});
    }
    gcut_rt_give_back(workspace);
}

static void NAME(run_sums)(NAME(depthwise) * p, int threads)
{
    if (madds(p->g) == 0) {
        const int64_t n = p->g->n * p->g->c * p->results * p->axis[0].results * p->axis[1].results;
        for (int64_t k = 0; k < n; k++) p->to[k] = 0;
        return;
    }
    threads = gcut_rt_worth(threads, madds(p->g), TAP_PS);
    const int64_t planes = p->g->n * p->g->c;
    p->tiling = tiling_of(p->axis, NAME(PLANE), planes < 4 * threads ? 4 * threads / planes : 1);
    gcut_rt_parallel(NAME(part_sums), p, threads);
}

/* ---- the gradient of w ---- */

/* Copies results n[0] by n[1] of a plane of y, from those that the tile begins with; between them it is 0 already. */
static void NAME(copy_results)(const NAME(tile) * d, const T *y, const int64_t n[2])
{
    const T *from = y + d->at[0] * d->p->axis[1].results + d->at[1];
    T *to = d->memory->result;
    for (int64_t i = 0; i < n[0]; i++, to += d->p->tiling.pitch, from += d->p->axis[1].results)
        NAME(copy)(to, from, n[1]);
}

/* Adds the sums of the lanes to those of the taps, and clears them. */
static void NAME(add_lanes)(const NAME(tile) * d, int taps, double *sum)
{
    T *lane = d->memory->lane;
    for (int k = 0; k < taps; k++)
        for (int64_t l = 0; l < d->p->lanes; l++, lane++) sum[k] += (double)*lane, *lane = 0;
}

/* Some taps of result plane o, of all images: each tile of all of them in turn. */
static void NAME(dot_taps)(NAME(tile) * d, int64_t o, int64_t range0, int64_t range1, int64_t skipped)
{
    const NAME(depthwise) *p = d->p;
    const gcut_rt_conv *g = p->g;
    const tiling *t = &p->tiling;
    const tap_axis *a = p->axis;
    double sum[PASS] = {0};
    const NAME(taps) *list = &d->list[0];
    int64_t summed = 0;
    memset(d->memory->lane, 0, sizeof d->memory->lane);
    for (int64_t q = 0; q < t->tiles[0] * t->tiles[1]; q++) {
        const int64_t at[] = {q / t->tiles[1] * t->places[0], q % t->tiles[1] * t->places[1]};
        const int64_t n[] = {gcut_rt_min(t->places[0], a[0].results - at[0]),
                             gcut_rt_min(t->places[1], a[1].results - at[1])};
        const int64_t vectors = NAME(vectors)(p, n[0], n[1]);
        memset(d->memory->result, 0, (size_t)(n[0] * t->pitch + p->lanes) * sizeof(T));
        for (int64_t image = 0; image < g->n; image++) {
            NAME(load_tile)
            (d, p->from + (image * g->c + o / p->results) * a[0].sources * a[1].sources, at[0], at[1], range0,
             range1);
            list = NAME(list_taps)(d, 0, 0, skipped, p->task_taps);
            NAME(copy_results)(d, p->other + (image * g->o + o) * a[0].results * a[1].results, n);
            if (summed + vectors > SUMMED) NAME(add_lanes)(d, list->taps, sum), summed = 0;
            p->dots(vectors, list->taps, list->source, d->memory->result, d->memory->lane);
            summed += vectors;
        }
    }
    NAME(add_lanes)(d, list->taps, sum);
    for (int k = 0; k < list->taps; k++) p->to[o * a[0].taps * a[1].taps + list->tap[k]] = (T)sum[k];
}

static void NAME(part_dots)(void *arg, int t, int nt)
{
    const NAME(depthwise) *p = arg;
    const int64_t tasks = gcut_rt_ceildiv(p->tiling.taps[0] * p->tiling.taps[1], p->task_taps),
                  columns = p->tiling.ranges[1];
    int64_t begin, end;
    gcut_rt_share(p->g->o * p->tiling.ranges[0] * columns * tasks, 1, t, nt, &begin, &end);
    if (begin >= end) return;
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(planes)));
    NAME(tile) d = {.p = p, .memory = workspace.at};
    for (int64_t q = begin; q < end; q++) {
        const int64_t range = q / tasks % (p->tiling.ranges[0] * columns);
        NAME(dot_taps)
        (&d, q / tasks / (p->tiling.ranges[0] * columns), range / columns, range % columns,
         q % tasks * p->task_taps);
    }
    gcut_rt_give_back(workspace);
}

/* ---- the three ---- */

static NAME(depthwise) NAME(job)(const gcut_rt_conv *g, const T *from, const T *other, T *to)
{
    const int isa = gcut_rt_isa();
    return (NAME(depthwise)){.g = g,
                             .axis = {axis_of_y(g, 0), axis_of_y(g, 1)},
                             .sources = 1,
                             .results = g->o / g->groups,
                             .from = from,
                             .other = other,
                             .to = to,
                             .sums = NAME(sums)[isa],
                             .dots = NAME(dots)[isa],
                             .lanes = NAME(width_of)[isa]};
}

void NAME(gcut_rt_depthwise_y)(const gcut_rt_conv *g, const T *x, const T *w, T *y, int threads)
{
    NAME(depthwise) p = NAME(job)(g, x, w, y);
    NAME(run_sums)(&p, threads);
}

void NAME(gcut_rt_depthwise_x)(const gcut_rt_conv *g, const T *y, const T *w, T *x, int threads)
{
    NAME(depthwise) p = NAME(job)(g, y, w, x);
    p.axis[0] = axis_of_x(g, 0), p.axis[1] = axis_of_x(g, 1);
    p.sources = p.results, p.results = 1;
    NAME(run_sums)(&p, threads);
}

/* Rounding does not depend on the taps of a task, of which there are enough for all threads. */
void NAME(gcut_rt_depthwise_w)(const gcut_rt_conv *g, const T *x, const T *y, T *w, int threads)
{
    NAME(depthwise) p = NAME(job)(g, x, y, w);
    if (madds(g) == 0) {
        for (int64_t k = 0; k < g->o * g->kh * g->kw; k++) w[k] = 0;
        return;
    }
    p.tiling = tiling_of(p.axis, NAME(PLANE), 1);
    threads = gcut_rt_worth(threads, madds(g), TAP_PS);
    const int64_t taps = p.tiling.taps[0] * p.tiling.taps[1],
                  parts = g->o < 4 * threads ? 4 * threads / g->o : 1;
    p.task_taps = gcut_rt_min(PASS, gcut_rt_ceildiv(taps, parts));
    gcut_rt_parallel(NAME(part_dots), &p, threads);
}
