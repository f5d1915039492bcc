/* SPDX-License-Identifier: MIT
 *
 * The gradient of the window, of element type T; included by conv_type.h.
 */

/* For each group, C[o, k] = sum over places of y[o, place] * panel[k, place]; in parts of channels (flat:
 * taps) and of o, and in shares of the places, whose sums are added up afterwards. */
typedef struct NAME(weight_gradient) {
    int64_t groups, out, k, parts, result_parts, shares;
    int64_t panels, together; /* of all places, one after the other; blocks of places in a padded one */
    const PASTE(gcut_rt_tile, TYPE) * tile;
    window w;
    layout l;             /* units, per and steps alone when padded */
    const padded *padded; /* or NULL */
    NAME(images) f;
    int64_t fgroup;
    const T *y;
    int64_t yimage, plane;
    T *c; /* of the first share; the others' lie after it */
} NAME(weight_gradient);

/* One task: a part of the channels (flat: taps), of the results, and of the panels. */
typedef struct NAME(weight_task) {
    int64_t group, u0, u1, o0, o1, q0, q1;
    T *c; /* of the share */
} NAME(weight_task);

/* Four results of y, or fewer and zeros, as the vectors of the block lie. */
static void NAME(align_results)(const NAME(weight_gradient) * p, const place_block *c, const T *y,
                                int64_t rows, T *to)
{
    int64_t runs = runs_of(&p->w, &p->l, c);
    for (int64_t r = 0; r < GCUT_RT_DOTS; r++, to += NAME(TALL_PLACES_W) + 16)
        for (int64_t k = 0; k < runs; k++) {
            run s = run_of(&p->w, &p->l, c, k);
            /* The last vector, or each image's in a tall block, goes on after the places: to a multiple of
             * lanes of the block, for a run of a flat one begins anywhere. */
            int64_t end = p->l.flat && k + 1 < runs ? s.n : round_up(s.at + s.n, p->l.lanes) - s.at;
            if (r < rows) NAME(copy)(to + s.at, y + s.image * p->yimage + r * p->plane + s.place, s.n);
            for (int64_t j = r < rows ? s.n : 0; j < end; j++) to[s.at + j] = 0;
        }
}

/* What a panel of k taps adds to C[o, k0 + k], for four o or fewer. */
static void NAME(accumulate_taps)(const NAME(weight_gradient) * p, int64_t vectors, const int32_t *at,
                                  const BITS *keep, int64_t k, const int32_t *off, const T *panel, const T *y,
                                  int64_t rows, int add, T *out)
{
    T sum[GCUT_RT_TAPS * GCUT_RT_DOTS];
    const T *x[GCUT_RT_TAPS];
    int blocks = (int)gcut_rt_ceildiv(k, p->tile->taps);
    for (int b = 0; b < blocks; b++) {
        int64_t t0, t1;
        gcut_rt_share(k, 1, b, blocks, &t0, &t1);
        for (int64_t t = t0; t < t1; t++) x[t - t0] = panel + off[t];
        p->tile->dots((int)(t1 - t0), vectors, x, at, keep, y, NAME(TALL_PLACES_W) + 16, sum);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t t = t0; t < t1; t++) {
                T *o = out + r * p->k + t, s = sum[(t - t0) * GCUT_RT_DOTS + r];
                *o = add ? *o + s : s;
            }
    }
}

static void NAME(weight_gradient_block)(const NAME(weight_gradient) * p, const NAME(weight_task) * task,
                                        NAME(scratch) * scratch)
{
    _Alignas(64) BITS keep[NAME(TALL_PLACES_W) + 16];
    int32_t off[MAX_STEPS];
    place_block c;
    NAME(images) f = p->f;
    f.at += task->group * p->fgroup;
    const int64_t u0 = task->u0, u1 = task->u1, blocks = gcut_rt_ceildiv(u1 - u0, p->l.block_slices);
    for (int64_t q = task->q0; q < task->q1; q++) {
        make_place_block(&p->w, &p->l, q, &c);
        for (int64_t v = 0; v < c.vectors && !c.whole; v++)
            for (int64_t i = 0; i < p->l.lanes; i++) keep[v * p->l.lanes + i] = -(BITS)(i < c.valid[v]);
        for (int64_t b = 0; b < blocks; b++) {
            int64_t v0, v1;
            gcut_rt_share(u1 - u0, 1, (int)b, (int)blocks, &v0, &v1);
            int64_t k = offsets(&p->w, &p->l, v1 - v0, off);
            NAME(gather)(&f, &p->w, &p->l, &c, p->tile, u0 + v0, u0 + v1, &scratch->lines, scratch->panel);
            for (int64_t o = task->o0; o < task->o1; o += GCUT_RT_DOTS) {
                int64_t rows = gcut_rt_min(GCUT_RT_DOTS, task->o1 - o), at = task->group * p->out + o;
                NAME(align_results)(p, &c, p->y + at * p->plane, rows, scratch->y);
                NAME(accumulate_taps)
                (p, c.vectors, c.at, c.whole ? NULL : keep, k, off, scratch->panel, scratch->y, rows,
                 q > task->q0, task->c + at * p->k + (u0 + v0) * p->l.slice_taps);
            }
        }
    }
}

#include "kernels/rt/conv/padded_panel_w_type.h"

static void NAME(weight_gradient_part)(void *arg, int t, int nt)
{
    const NAME(weight_gradient) *p = arg;
    int64_t begin, end;
    gcut_rt_share(p->shares * p->groups * p->parts * p->result_parts, 1, t, nt, &begin, &end);
    gcut_rt_packing_memory workspace = gcut_rt_borrow(sizeof(NAME(scratch)));
    for (int64_t q = begin; q < end; q++) {
        const int64_t part = q / p->result_parts, in_share = part / p->parts, share = in_share / p->groups;
        NAME(weight_task)
        task = {.group = in_share % p->groups, .c = p->c + share * p->groups * p->out * p->k};
        gcut_rt_share(p->l.slices, 1, (int)(part % p->parts), (int)p->parts, &task.u0, &task.u1);
        gcut_rt_share(p->out, GCUT_RT_DOTS, (int)(q % p->result_parts), (int)p->result_parts, &task.o0,
                      &task.o1);
        gcut_rt_share(p->panels, 1, (int)share, (int)p->shares, &task.q0, &task.q1);
        if (task.u0 < task.u1 && task.o0 < task.o1)
            (p->padded ? NAME(padded_weight_gradient_block) : NAME(weight_gradient_block))(p, &task,
                                                                                           workspace.at);
    }
    gcut_rt_give_back(workspace);
}

/* Shares do not depend on the number of threads.  Beyond them threads share the channels or, if these are few, the
 * results: each reads all of the other. */
static void NAME(split_work)(NAME(weight_gradient) * p, int64_t shares, int threads)
{
    p->parts = p->result_parts = 1;
    p->shares = gcut_rt_min(shares, p->panels);
    threads = (int)gcut_rt_ceildiv(threads, p->shares);
    int fewer = p->padded && p->l.slices < p->out && p->out >= GCUT_RT_DOTS * threads;
    if (threads <= 1 || p->groups >= 4 * threads) return;
    if (!fewer && (p->l.slices % threads == 0 || p->l.slices >= 8 * threads))
        p->parts = threads;
    else
        p->result_parts = gcut_rt_min(threads, gcut_rt_ceildiv(p->out, GCUT_RT_DOTS));
}

/* w = the sum of the shares, in their order. */
static void NAME(add_shares)(const NAME(weight_gradient) * p, T *w)
{
    const int64_t n = p->groups * p->out * p->k;
    for (int64_t i = 0; i < n; i++) {
        T sum = p->c[i];
        for (int64_t s = 1; s < p->shares; s++) sum += p->c[s * n + i];
        w[i] = sum;
    }
}

#include "kernels/rt/conv/winograd_w_type.h"

void NAME(gcut_rt_conv_w)(const gcut_rt_conv *g, const T *x, const T *y, T *w, T *work, int threads)
{
    int64_t in = g->c / g->groups, places = g->oh * g->ow;
    if (depthwise(g)) {
        NAME(gcut_rt_depthwise_w)(g, x, y, w, threads);
        return;
    }
    NAME(weight_gradient)
    p = {.groups = g->groups,
         .out = g->o / g->groups,
         .k = in * g->kh * g->kw,
         .tile = NAME(gcut_rt_tile_of)(),
         .w = window_of(g),
         .f = NAME(image_of)(g, x),
         .fgroup = in * g->h * g->w,
         .y = y,
         .yimage = g->o * places,
         .plane = places,
         .c = w};
    if (g->o * p.k * g->n * places == 0) {
        for (int64_t k = 0; k < g->o * p.k; k++) w[k] = 0;
        return;
    }
    if (pointwise(g) && g->groups == 1 && gcut_rt_conv_w_shares(g->c, g->o, 1) == 1) {
        NAME(pointwise_w)(g, x, y, w, threads);
        return;
    }
    threads = gcut_rt_worth(threads, madds(g), GEMM_PS);
    if (g->winograd) {
        NAME(run_winograd_w)(&p, work, threads);
        return;
    }
    limits m = {.lanes = p.tile->lanes,
                .panel_elements = NAME(PANEL_ELEMENTS),
                .most_places = NAME(TALL_PLACES_W),
                .least_places = NAME(FLAT_PLACES_W) / 2,
                .flat_places = NAME(FLAT_PLACES_W),
                .k_steps = MAX_STEPS,
                .channels = gcut_rt_min(in, 2)};
    padded all;
    if (NAME(pad_weight_gradient)(&p, &all)) {
        p.padded = &all;
    } else {
        p.l = make_layout(&p.w, &m);
        p.panels = p.l.place_blocks;
    }
    const int64_t shares = work ? gcut_rt_conv_w_shares(g->c, g->o, g->groups) : 1;
    NAME(split_work)(&p, shares, threads);
    /* Of few places there are fewer shares: at the end of the workspace, so that it is touched as far as it is planned. */
    if (shares > 1) p.c = work + (shares - p.shares) * p.groups * p.out * p.k;
    gcut_rt_parallel(NAME(weight_gradient_part), &p, threads);
    if (shares > 1) NAME(add_shares)(&p, w);
}
