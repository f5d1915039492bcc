/* SPDX-License-Identifier: MIT
 *
 * conv.c for one element type (each_type.h).
 */

#include "kernels/rt/conv/im2col_type.h"

/* Elements of a panel, and after them what the last vector may read; places of a block: of y and x, and
 * (_W) of w. */
enum {
    NAME(PANEL_ELEMENTS) = PANEL_BYTES / sizeof(T),
    NAME(OVERREAD) = GCUT_RT_LANES,
    NAME(TALL_PLACES) = 1024 / sizeof(T),
    NAME(TALL_PLACES_W) = 4096 / sizeof(T),
    NAME(FLAT_PLACES) = 512 / sizeof(T),
    NAME(FLAT_PLACES_W) = 2048 / sizeof(T)
};
/* Columns of a tile of C over a padded panel: the numbers of a block, and some that keep its rows off each
 * other's cache sets. */
enum { NAME(TILE) = PADDED_PLACES + 2 * GCUT_RT_LANES };

/* The working memory of a thread: from the pool, because the stacks of some threads are no larger. */
typedef struct NAME(scratch) {
    _Alignas(64) T panel[NAME(PANEL_ELEMENTS) + NAME(OVERREAD)];
    union {
        _Alignas(64) T tile[GCUT_RT_ROWS * NAME(TILE)]; /* of C, over a padded panel */
        struct {
            _Alignas(64) T y[GCUT_RT_DOTS * (NAME(TALL_PLACES_W) + 16)]; /* of the gradient of w */
            NAME(lines) lines;
        };
    };
} NAME(scratch);
_Static_assert(sizeof(NAME(scratch)) <= GCUT_RT_RESERVE, "there must always be one");

/* ---- places of a window times w ---- */

/* For each group, C[m, place] = sum over k of A[m, k] * panel[k, place]. */
typedef struct NAME(product) {
    int64_t groups, m, k, parts;
    const PASTE(gcut_rt_tile, TYPE) * tile;
    window w;
    layout l;
    const padded *padded; /* or NULL */
    NAME(images) f;
    int64_t fgroup; /* distance of groups in f */
    /* A: element (m, channel, tap row, tap column) of group g */
    const T *from;
    int64_t afirst, agroup, am, achannel, arow, acolumn;
    T *a; /* the same, blocks of rows, each with its rows innermost */
    T *c;
    int64_t cgroup, cimage, crow, ci,
        cj; /* distances of groups, images, rows m, rows and columns of places */
} NAME(product);

static int64_t NAME(row_blocks)(const NAME(product) * p)
{
    return gcut_rt_ceildiv(p->m, p->tile->rows);
}

/* A block of n rows of A in order, read along the shorter of its two distances. */
static void NAME(pack_block)(const NAME(product) * p, const T *from, int64_t n, T *to)
{
    int64_t rows = p->w.tap[0].n, columns = p->w.tap[1].n, inner = p->am < p->achannel ? n : 1;
    for (int64_t m = 0; m < n; m += inner, from += p->am) {
        T *at = to + m;
        for (int64_t c = 0; c < p->w.channels; c++)
            for (int64_t a = 0; a < rows; a++)
                for (int64_t b = 0; b < columns; b++, at += n) {
                    const T *tap = from + (c * p->achannel + a * p->arow + b * p->acolumn);
                    for (int64_t i = 0; i < inner; i++) at[i] = tap[i * p->am];
                }
    }
}

/* Puts blocks of rows of A in order. */
static void NAME(pack_part)(void *arg, int t, int nt)
{
    const NAME(product) *p = arg;
    int64_t blocks = NAME(row_blocks)(p), begin, end;
    gcut_rt_share(p->groups * blocks, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t m0, m1, group = q / blocks;
        gcut_rt_share(p->m, 1, (int)(q % blocks), (int)blocks, &m0, &m1);
        NAME(pack_block)
        (p, p->from + p->afirst + group * p->agroup + m0 * p->am, m1 - m0, p->a + (group * p->m + m0) * p->k);
    }
}

/* Where place `at` of every vector of a block is in C, and whether the elements of a vector are contiguous
 * there. */
typedef struct NAME(destinations) {
    int64_t place[NAME(TALL_PLACES)];
    uint8_t contiguous[NAME(TALL_PLACES) / 2];
} NAME(destinations);

static void NAME(find_destinations)(const NAME(product) * p, const place_block *c, NAME(destinations) * to)
{
    int64_t runs = runs_of(&p->w, &p->l, c), columns = p->w.places[1], lanes = p->l.lanes;
    for (int64_t k = 0; k < runs; k++) {
        run r = run_of(&p->w, &p->l, c, k);
        int64_t i = r.place / columns, j = r.place % columns;
        for (int64_t q = 0; q < r.n; q++) {
            to->place[r.at + q] = r.image * p->cimage + i * p->ci + j * p->cj;
            if (++j == columns) j = 0, i++;
        }
    }
    for (int64_t v = 0; v < c->vectors; v++) {
        const int64_t *place = to->place + v * lanes;
        to->contiguous[v] = c->valid[v] == lanes && place[lanes - 1] - place[0] == lanes - 1;
    }
}

/* Stores a tile of some vectors whose elements are not contiguous in C. */
static void NAME(scatter)(const NAME(product) * p, const place_block *c, const NAME(destinations) * to,
                          int64_t v, int vectors, int64_t rows, const T *tile, int add, T *out)
{
    int64_t lanes = p->l.lanes;
    for (int q = 0; q < vectors; q++) {
        const int64_t *place = to->place + (v + q) * lanes;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t l = 0; l < c->valid[v + q]; l++) {
                T *o = out + i * p->crow + place[l], x = tile[(i * vectors + q) * lanes + l];
                *o = add ? *o + x : x;
            }
    }
}

/* Rows m0..m1 of the vectors v.. of a block of places; A and C begin at row m0. */
static void NAME(multiply)(const NAME(product) * p, const place_block *c, const NAME(destinations) * to,
                           int64_t v, int64_t rows, int64_t k, int add, const T *a, const int32_t *off,
                           const T *panel, T *out)
{
    _Alignas(64) T tile[GCUT_RT_ROWS * 2 * GCUT_RT_LANES];
    int vectors = v + 1 < c->vectors ? 2 : 1;
    const T *b[2] = {panel + c->at[v], panel + c->at[v + vectors - 1]};
    if (to->contiguous[v] && to->contiguous[v + vectors - 1]) {
        T *at[2] = {out + to->place[v * p->l.lanes], out + to->place[(v + vectors - 1) * p->l.lanes]};
        p->tile->product((int)rows, vectors, k, a, off, b, at, p->crow, add);
    } else {
        T *at[2] = {tile, tile + p->l.lanes};
        p->tile->product((int)rows, vectors, k, a, off, b, at, vectors * p->l.lanes, 0);
        NAME(scatter)(p, c, to, v, vectors, rows, tile, add, out);
    }
}

/* Blocks b0..b1 of the rows of C for one block of places. */
static void NAME(block)(const NAME(product) * p, int64_t group, int64_t q, int64_t b0, int64_t b1,
                        NAME(scratch) * scratch)
{
    int32_t off[MAX_STEPS];
    NAME(destinations) to;
    place_block c;
    NAME(images) f = p->f;
    int64_t blocks = NAME(row_blocks)(p);
    const layout *l = &p->l;
    f.at += group * p->fgroup;
    make_place_block(&p->w, l, q, &c);
    NAME(find_destinations)(p, &c, &to);
    for (int64_t u = 0; u == 0 || u < l->slices; u += l->block_slices) {
        int64_t end = gcut_rt_min(u + l->block_slices, l->slices), k = offsets(&p->w, l, end - u, off);
        NAME(gather)(&f, &p->w, l, &c, p->tile, u, end, &scratch->lines, scratch->panel);
        for (int64_t v = 0; v < c.vectors; v += 2)
            for (int64_t b = b0; b < b1; b++) {
                int64_t m0, m1;
                gcut_rt_share(p->m, 1, (int)b, (int)blocks, &m0, &m1);
                const T *a = p->a + ((group * p->m + m0) * p->k + u * l->slice_taps * (m1 - m0));
                NAME(multiply)
                (p, &c, &to, v, m1 - m0, k, u > 0, a, off, scratch->panel,
                 p->c + group * p->cgroup + m0 * p->crow);
            }
    }
}

static void NAME(product_part)(void *arg, int t, int nt)
{
    const NAME(product) *p = arg;
    int64_t begin, end;
    gcut_rt_share(p->groups * p->l.place_blocks * p->parts, 1, t, nt, &begin, &end);
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(scratch)));
    for (int64_t q = begin; q < end; q++) {
        int64_t b0, b1;
        gcut_rt_share(NAME(row_blocks)(p), 1, (int)(q % p->parts), (int)p->parts, &b0, &b1);
        if (b0 < b1) NAME(block)
        (p, q / p->parts / p->l.place_blocks, q / p->parts % p->l.place_blocks, b0, b1, workspace.at);
    }
    gcut_rt_give_back(workspace);
}

#include "kernels/rt/conv/padded_panel_type.h"

static void NAME(run_product)(NAME(product) * p, T *work, int threads)
{
    int64_t taps = p->w.tap[0].n * p->w.tap[1].n, places = p->w.images * p->w.places[0] * p->w.places[1];
    p->k = p->w.channels * taps;
    if (p->m <= 0 || places <= 0) return;
    p->a = work;
    p->tile = NAME(gcut_rt_tile_of)();
    padded all;
    p->padded = make_padded(&p->w, p->f.w, p->tile->lanes, NAME(PANEL_ELEMENTS), &all) &&
                        padded_pays(&p->w, &all, p->tile->lanes, p->m, p->cj == 1)
                    ? &all
                    : NULL;
    int64_t some = STEPS / 2 / gcut_rt_max(taps, 1);
    limits m = {.lanes = p->tile->lanes,
                .panel_elements = NAME(PANEL_ELEMENTS),
                .most_places = NAME(TALL_PLACES),
                .flat_places = NAME(FLAT_PLACES),
                .k_steps = STEPS,
                .channels = gcut_rt_max(1, gcut_rt_min(p->w.channels, some))};
    if (!p->padded) p->l = make_layout(&p->w, &m);
    int64_t place_blocks = p->padded ? p->w.images * all.place_blocks : p->l.place_blocks;
    p->parts = parts_of(p->groups * place_blocks, p->m, p->tile->rows, threads);
    gcut_rt_parallel(NAME(pack_part), p, gcut_rt_worth(threads, p->groups * p->m * p->k, PACK_PS));
    threads = gcut_rt_worth(threads, p->groups * p->m * places * gcut_rt_max(p->k, 1), GEMM_PS);
    gcut_rt_parallel(p->padded ? NAME(padded_part) : NAME(product_part), p, threads);
}

#include "kernels/rt/conv/winograd_type.h"

/* A window of one element is a matrix for every image and group: to = w from, or w' from when `transposed`. */
static void NAME(image_products)(const gcut_rt_conv *g, int transposed, const T *w, const T *from, T *to,
                                 int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w;
    int64_t m = transposed ? in : out, k = transposed ? out : in;
    gcut_rt_gemm q = {.m = m,
                      .n = hw,
                      .k = k,
                      .rsa = transposed ? 1 : in,
                      .csa = transposed ? in : 1,
                      .rsb = hw,
                      .csb = 1,
                      .rsc = hw,
                      .csc = 1,
                      .nbatch = 2,
                      .batch = {g->n, g->groups},
                      .sa = {0, out * in},
                      .sb = {g->groups * k * hw, k * hw},
                      .sc = {g->groups * m * hw, m * hw}};
    NAME(gcut_rt_gemm)(&q, w, from, to, threads);
}

#include "kernels/rt/conv/joined_type.h"

/* ---- y ---- */

/* x of all images and channels of a group, and the window over it. */
static NAME(images) NAME(image_of)(const gcut_rt_conv *g, const T *x)
{
    return (NAME(images)){x, g->c * g->h * g->w, g->h * g->w, g->h, g->w};
}

void NAME(gcut_rt_conv_y)(const gcut_rt_conv *g, const T *x, const T *w, T *y, T *work, int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, places = g->oh * g->ow;
    if (depthwise(g)) {
        NAME(gcut_rt_depthwise_y)(g, x, w, y, threads);
        return;
    }
    if (pointwise(g)) {
        NAME(pointwise_product)(g, 0, w, x, y, threads);
        return;
    }
    NAME(product)
    p = {.groups = g->groups,
         .m = out,
         .w = window_of(g),
         .f = NAME(image_of)(g, x),
         .fgroup = in * g->h * g->w,
         .from = w,
         .agroup = out * in * g->kh * g->kw,
         .am = in * g->kh * g->kw,
         .achannel = g->kh * g->kw,
         .arow = g->kw,
         .acolumn = 1,
         .c = y,
         .cgroup = out * places,
         .cimage = g->o * places,
         .crow = places,
         .ci = g->ow,
         .cj = 1};
    (g->winograd && p.w.channels > 0 ? NAME(run_winograd) : NAME(run_product))(&p, work, threads);
}

/* ---- x ---- */

typedef struct NAME(vector) {
    int64_t n;
    T *at;
} NAME(vector);

static void NAME(clear_part)(void *arg, int t, int nt)
{
    const NAME(vector) *v = arg;
    int64_t begin, end;
    gcut_rt_share(v->n, 64, t, nt, &begin, &end);
    if (begin < end) memset(v->at + begin, 0, (size_t)(end - begin) * sizeof(T));
}

/* Work: the taps of w that the lattice sees. */
static void NAME(lattice_x)(const gcut_rt_conv *g, const T *y, const T *w, const lattice l[2], T *x, T *work,
                            int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w, places = g->oh * g->ow;
    int64_t taps = g->kh * g->kw;
    NAME(product)
    p = {.groups = g->groups,
         .m = in,
         .w = {.images = g->n,
               .channels = out,
               .places = {l[0].places, l[1].places},
               .stride = {1, 1},
               .tap = {l[0].tap, l[1].tap}},
         .f = {y, g->o * places, places, g->oh, g->ow},
         .fgroup = out * places,
         .from = w,
         .afirst = l[0].k0 * g->kw + l[1].k0,
         .agroup = out * in * taps,
         .am = taps,
         .achannel = in * taps,
         .arow = l[0].every * g->kw,
         .acolumn = l[1].every,
         .c = x + l[0].r * g->w + l[1].r,
         .cgroup = in * hw,
         .cimage = g->c * hw,
         .crow = hw,
         .ci = g->stride[0] * g->w,
         .cj = g->stride[1]};
    (g->winograd && p.w.channels > 0 ? NAME(run_winograd) : NAME(run_product))(&p, work, threads);
}

void NAME(gcut_rt_conv_x)(const gcut_rt_conv *g, const T *y, const T *w, T *x, T *work, int threads)
{
    if (depthwise(g)) {
        NAME(gcut_rt_depthwise_x)(g, y, w, x, threads);
        return;
    }
    if (pointwise(g)) {
        NAME(pointwise_product)(g, 1, w, y, x, threads);
        return;
    }
    if (has_blind_lattice(g)) {
        NAME(vector) v = {g->n * g->c * g->h * g->w, x};
        gcut_rt_parallel(NAME(clear_part), &v, gcut_rt_worth(threads, v.n, PACK_PS));
    }
    for (int64_t a = 0; a < lattices(g->h, g->stride[0]); a++)
        for (int64_t b = 0; b < lattices(g->w, g->stride[1]); b++) {
            const lattice l[2] = {row_lattice(g, a), column_lattice(g, b)};
            if (l[0].tap.n > 0 && l[1].tap.n > 0) NAME(lattice_x)(g, y, w, l, x, work, threads);
        }
}

#include "kernels/rt/conv/conv_w_type.h"
