/* SPDX-License-Identifier: MIT
 *
 * conv.c for one element type: T the type, TYPE its suffix.
 */

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#define NAME(x) GLUE(x##_, TYPE)

/* ---- gathering ---- */

/* An image that a window slides over: element (image, c, row, column). */
typedef struct NAME(field) {
    const T *at;
    int64_t image, plane, h, w; /* image, plane: distances of images and of channels */
    int64_t stride[2], places[2];
    axis tap[2];
} NAME(field);

/* The elements under one tap from the places of one segment, 0 outside of the image; [lo, hi) are the places
 * of a row where the tap's column is inside. */
static inline void NAME(gather_segment)(const NAME(field) * f, const segment *s, const T *plane, int64_t row,
                                        int64_t offset, int64_t lo, int64_t hi, T *to)
{
    int64_t i = s->i * f->stride[0] + row, step = f->stride[1], j0, j1;
    j0 = gcut_rt_min(gcut_rt_max(lo - s->j, 0), s->n);
    j1 = gcut_rt_min(gcut_rt_max(hi - s->j, j0), s->n);
    if (i < 0 || i >= f->h) j0 = j1 = s->n;
    for (int64_t j = 0; j < j0; j++) to[j] = 0;
    if (j0 < j1) {
        const T *from = plane + s->image * f->image + i * f->w + (offset + (s->j + j0) * step);
        if (step == 1 && j1 - j0 == STRIP)
            memcpy(to + j0, from, STRIP * sizeof(T));
        else if (step == 1)
            memcpy(to + j0, from, (size_t)(j1 - j0) * sizeof(T));
        else
            for (int64_t j = j0; j < j1; j++) to[j] = from[(j - j0) * step];
    }
    for (int64_t j = j1; j < s->n; j++) to[j] = 0;
}

/* Rows k0..k1 of the panel, a row being (channel, tap row, tap column), for the places of the segments. */
static void NAME(gather)(const NAME(field) * f, const segment *s, int ns, int64_t k0, int64_t k1, T *to,
                         int64_t pitch)
{
    if (k0 >= k1) return;
    int64_t b = k0 % f->tap[1].n, a = k0 / f->tap[1].n % f->tap[0].n, c = k0 / f->tap[1].n / f->tap[0].n;
    for (int64_t k = k0; k < k1; k++, to += pitch) {
        int64_t offset = f->tap[1].first + b * f->tap[1].step, lo, hi;
        inside(offset, f->stride[1], f->w, f->places[1], &lo, &hi);
        for (int q = 0; q < ns; q++) NAME(gather_segment)
        (f, &s[q], f->at + c * f->plane, f->tap[0].first + a * f->tap[0].step, offset, lo, hi, to + s[q].at);
        if (++b == f->tap[1].n) {
            b = 0;
            if (++a == f->tap[0].n) a = 0, c++;
        }
    }
}

/* ---- places of a window times w ---- */

/* For each group, C[m, place] = sum over k of A[m, k] * panel[k, place]. */
typedef struct NAME(product) {
    int64_t groups, m, k, columns, blocks, parts;
    const T *a; /* rows of k, group after group */
    NAME(field) f;
    int64_t fgroup; /* distance of groups in f */
    T *c;
    int64_t cgroup, cimage, crow, ci,
        cj; /* distances of groups, images, rows m, rows and columns of places */
} NAME(product);

/* A tile that does not lie in C as it does here: segments of places in different rows or images, or apart. */
static void NAME(put)(const NAME(product) * p, const segment *s, int ns, int64_t rows, const T *tile, int add,
                      T *c)
{
    for (int q = 0; q < ns; q++)
        for (int64_t i = 0; i < rows; i++) {
            T *to = c + s[q].image * p->cimage + i * p->crow + s[q].i * p->ci + s[q].j * p->cj;
            const T *from = tile + i * STRIP + s[q].at;
            for (int64_t j = 0; j < s[q].n; j++) to[j * p->cj] = add ? to[j * p->cj] + from[j] : from[j];
        }
}

static void NAME(multiply)(const NAME(product) * p, const segment *s, int ns, int64_t m0, int64_t m1,
                           int64_t k0, int64_t k1, const T *a, const T *strip, T *c)
{
    _Alignas(64) T tile[ROWS * STRIP];
    int64_t n = s[ns - 1].at + s[ns - 1].n;
    int whole = p->cj == 1 && (ns == 1 || (s[0].image == s[ns - 1].image && p->ci == p->f.places[1]));
    a += m0 * p->k + k0;
    c += m0 * p->crow;
    if (p->k == 0) {
        memset(tile, 0, sizeof tile);
        NAME(put)(p, s, ns, m1 - m0, tile, 0, c);
    } else if (whole) {
        c += s[0].image * p->cimage + s[0].i * p->ci + s[0].j;
        NAME(gcut_rt_small)(m1 - m0, n, k1 - k0, a, p->k, 1, strip, STRIP, 1, k0 > 0, c, p->crow, 1);
    } else {
        NAME(gcut_rt_small)(m1 - m0, n, k1 - k0, a, p->k, 1, strip, STRIP, 1, 0, tile, STRIP, 1);
        NAME(put)(p, s, ns, m1 - m0, tile, k0 > 0, c);
    }
}

enum { NAME(STRIPS) = 16 / sizeof(T) };

/* Rows m0..m1 of C for the places of one block of strips. */
static void NAME(block)(const NAME(product) * p, int64_t group, int64_t block, int64_t m0, int64_t m1)
{
    _Alignas(64) T panel[NAME(STRIPS) * KC * STRIP];
    segment s[NAME(STRIPS)][STRIP];
    int ns[NAME(STRIPS)], count = 0;
    NAME(field) f = p->f;
    f.at += group * p->fgroup;
    for (int64_t at = block * NAME(STRIPS) * STRIP; count < NAME(STRIPS) && at < p->columns; at += STRIP) {
        ns[count] = cut(f.places, at, gcut_rt_min(at + STRIP, p->columns), s[count]);
        count++;
    }
    for (int64_t k0 = 0; k0 == 0 || k0 < p->k; k0 += KC) {
        int64_t k1 = gcut_rt_min(k0 + KC, p->k);
        for (int q = 0; q < count; q++) NAME(gather)(&f, s[q], ns[q], k0, k1, panel + q * KC * STRIP, STRIP);
        for (int64_t m = m0; m < m1; m += ROWS)
            for (int q = 0; q < count; q++) NAME(multiply)
        (p, s[q], ns[q], m, gcut_rt_min(m + ROWS, m1), k0, k1, p->a + group * p->m * p->k,
         panel + q * KC * STRIP, p->c + group * p->cgroup);
    }
}

static void NAME(product_part)(void *arg, int t, int nt)
{
    const NAME(product) *p = arg;
    int64_t begin, end;
    gcut_rt_share(p->groups * p->blocks * p->parts, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t m0, m1;
        gcut_rt_share(p->m, 8, (int)(q % p->parts), (int)p->parts, &m0, &m1);
        NAME(block)(p, q / p->parts / p->blocks, q / p->parts % p->blocks, m0, m1);
    }
}

static void NAME(run_product)(NAME(product) * p, int threads)
{
    p->columns *= p->f.places[0] * p->f.places[1];
    p->blocks = gcut_rt_ceildiv(p->columns, NAME(STRIPS) * STRIP);
    p->parts = parts_of(p->groups * p->blocks, p->m, 8, threads);
    if (p->m <= 0 || p->columns <= 0) return;
    threads = gcut_rt_worth(threads, p->groups * p->m * p->columns * gcut_rt_max(p->k, 1), GEMM_PS);
    gcut_rt_parallel(NAME(product_part), p, threads);
}

/* A window of one element is a matrix for every image and group: to = w from, or w' from when `turned`. */
static void NAME(one_tap_product)(const gcut_rt_conv *g, int turned, const T *w, const T *from, T *to,
                                  int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w;
    int64_t m = turned ? in : out, k = turned ? out : in;
    gcut_rt_gemm q = {.m = m,
                      .n = hw,
                      .k = k,
                      .rsa = turned ? 1 : in,
                      .csa = turned ? in : 1,
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

/* ---- y ---- */

void NAME(gcut_rt_conv_y)(const gcut_rt_conv *g, const T *x, const T *w, T *y, T *work, int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w, places = g->oh * g->ow;
    (void)work;
    if (tapwise(g)) {
        NAME(gcut_rt_taps_y)(g, x, w, y, threads);
        return;
    }
    if (one_tap(g)) {
        NAME(one_tap_product)(g, 0, w, x, y, threads);
        return;
    }
    NAME(product)
    p = {.groups = g->groups,
         .m = out,
         .k = in * g->kh * g->kw,
         .columns = g->n,
         .a = w,
         .f = {.at = x,
               .image = g->c * hw,
               .plane = hw,
               .h = g->h,
               .w = g->w,
               .stride = {g->stride[0], g->stride[1]},
               .places = {g->oh, g->ow},
               .tap = {{g->kh, -g->pad[0], g->dilation[0]}, {g->kw, -g->pad[1], g->dilation[1]}}},
         .fgroup = in * hw,
         .c = y,
         .cgroup = out * places,
         .cimage = g->o * places,
         .crow = places,
         .ci = g->ow,
         .cj = 1};
    NAME(run_product)(&p, threads);
}

/* ---- x ---- */

/* The taps of w that a lattice sees: to[group, c, o, tap row, tap column]. */
static void NAME(pick_taps)(const gcut_rt_conv *g, const T *w, const lattice l[2], T *to)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups;
    for (int64_t c = 0; c < g->c; c++)
        for (int64_t o = 0; o < out; o++) {
            const T *from = w + ((c / in * out + o) * in + c % in) * g->kh * g->kw;
            for (int64_t a = 0; a < l[0].tap.n; a++)
                for (int64_t b = 0; b < l[1].tap.n; b++)
                    *to++ = from[(l[0].k0 + a * l[0].every) * g->kw + l[1].k0 + b * l[1].every];
        }
}

/* Work: a part of w per lattice, one after the other. */
static void NAME(lattice_x)(const gcut_rt_conv *g, const T *y, const T *w, const lattice l[2], T *x, T *work,
                            int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w, places = g->oh * g->ow;
    NAME(pick_taps)(g, w, l, work);
    NAME(product)
    p = {.groups = g->groups,
         .m = in,
         .k = out * l[0].tap.n * l[1].tap.n,
         .columns = g->n,
         .a = work,
         .f = {.at = y,
               .image = g->o * places,
               .plane = places,
               .h = g->oh,
               .w = g->ow,
               .stride = {1, 1},
               .places = {l[0].places, l[1].places},
               .tap = {l[0].tap, l[1].tap}},
         .fgroup = out * places,
         .c = x + l[0].r * g->w + l[1].r,
         .cgroup = in * hw,
         .cimage = g->c * hw,
         .crow = hw,
         .ci = g->stride[0] * g->w,
         .cj = g->stride[1]};
    NAME(run_product)(&p, threads);
}

void NAME(gcut_rt_conv_x)(const gcut_rt_conv *g, const T *y, const T *w, T *x, T *work, int threads)
{
    int64_t out = g->o / g->groups;
    if (tapwise(g)) {
        NAME(gcut_rt_taps_x)(g, y, w, x, threads);
        return;
    }
    if (one_tap(g)) {
        NAME(one_tap_product)(g, 1, w, y, x, threads);
        return;
    }
    for (int64_t a = 0; a < g->stride[0]; a++)
        for (int64_t b = 0; b < g->stride[1]; b++) {
            lattice l[] = {lattice_of(a, g->h, g->kh, g->stride[0], g->dilation[0], g->pad[0]),
                           lattice_of(b, g->w, g->kw, g->stride[1], g->dilation[1], g->pad[1])};
            NAME(lattice_x)(g, y, w, l, x, work, threads);
            work += g->c * out * l[0].tap.n * l[1].tap.n;
        }
}

/* ---- w ---- */

/* to[b, j, i] = from[b, i, j] for i < m, j < n; the matrices of `from` lie fbatch apart, those of `to` too.
 */
typedef struct NAME(turn) {
    const T *from;
    T *to;
    int64_t batches, m, n, fbatch, inner, tinner,
        touter;    /* to's batch b is at b/inner*touter + b%inner*tinner */
    int64_t pitch; /* rows of to */
} NAME(turn);

static void NAME(turn_part)(void *arg, int t, int nt)
{
    const NAME(turn) *p = arg;
    int64_t begin, end, blocks = gcut_rt_ceildiv(p->n, 16);
    gcut_rt_share(p->batches * blocks, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t b = q / blocks, j0 = q % blocks * 16, j1 = gcut_rt_min(j0 + 16, p->n);
        const T *from = p->from + b * p->fbatch;
        T *to = p->to + b / p->inner * p->touter + b % p->inner * p->tinner;
        for (int64_t i0 = 0; i0 < p->m; i0 += 16)
            for (int64_t j = j0; j < j1; j++)
                for (int64_t i = i0; i < gcut_rt_min(i0 + 16, p->m); i++)
                    to[j * p->pitch + i] = from[i * p->n + j];
    }
}

static void NAME(turn_all)(NAME(turn) p, int threads)
{
    int64_t n = p.batches * p.m * p.n;
    if (n > 0) gcut_rt_parallel(NAME(turn_part), &p, gcut_rt_worth(threads, n, 500));
}

/* For each group, C[tap, o] = sum over places of panel[tap, place] * B[place, o]. */
typedef struct NAME(outer) {
    int64_t groups, taps, out, places, blocks, parts;
    NAME(field) f;
    int64_t fgroup;
    const T *b;
    T *c;
} NAME(outer);

/* Columns o0..o1 of C for one block of taps. */
static void NAME(outer_block)(const NAME(outer) * p, int64_t group, int64_t block, int64_t o0, int64_t o1)
{
    _Alignas(64) T panel[TAPS * PITCH];
    segment s[PIXELS];
    NAME(field) f = p->f;
    f.at += group * p->fgroup;
    int64_t k0 = block * TAPS, k1 = gcut_rt_min(k0 + TAPS, p->taps);
    T *c = p->c + (group * p->taps + k0) * p->out + o0;
    for (int64_t i = 0; i < k1 - k0 && p->places == 0; i++)
        for (int64_t j = 0; j < o1 - o0; j++) c[i * p->out + j] = 0;
    for (int64_t q = 0; q < p->places; q += PIXELS) {
        int64_t n = gcut_rt_min(PIXELS, p->places - q);
        const T *b = p->b + (group * p->places + q) * p->out + o0;
        NAME(gather)(&f, s, cut(f.places, q, q + n, s), k0, k1, panel, PITCH);
        NAME(gcut_rt_small)(k1 - k0, o1 - o0, n, panel, PITCH, 1, b, p->out, 1, q > 0, c, p->out, 1);
    }
}

static void NAME(outer_part)(void *arg, int t, int nt)
{
    const NAME(outer) *p = arg;
    int64_t begin, end;
    gcut_rt_share(p->groups * p->blocks * p->parts, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t o0, o1;
        gcut_rt_share(p->out, STRIP, (int)(q % p->parts), (int)p->parts, &o0, &o1);
        if (o0 < o1) NAME(outer_block)(p, q / p->parts / p->blocks, q / p->parts % p->blocks, o0, o1);
    }
}

/* Work: y with its channels last, group by group, then w with its output channels last. */
void NAME(gcut_rt_conv_w)(const gcut_rt_conv *g, const T *x, const T *y, T *w, T *work, int threads)
{
    int64_t in = g->c / g->groups, out = g->o / g->groups, hw = g->h * g->w, places = g->oh * g->ow;
    if (tapwise(g)) {
        NAME(gcut_rt_taps_w)(g, x, y, w, threads);
        return;
    }
    NAME(outer)
    p = {.groups = g->groups,
         .taps = in * g->kh * g->kw,
         .out = out,
         .places = g->n * places,
         .f = {.at = x,
               .image = g->c * hw,
               .plane = hw,
               .h = g->h,
               .w = g->w,
               .stride = {g->stride[0], g->stride[1]},
               .places = {g->oh, g->ow},
               .tap = {{g->kh, -g->pad[0], g->dilation[0]}, {g->kw, -g->pad[1], g->dilation[1]}}},
         .fgroup = in * hw,
         .b = work,
         .c = work + g->n * g->o * places};
    if (p.taps <= 0 || g->o <= 0) return;
    NAME(turn_all)
    ((NAME(turn)){y, work, g->n * g->groups, out, places, out * places, g->groups, g->n * places * out,
                  places * out, out},
     threads);
    p.blocks = gcut_rt_ceildiv(p.taps, TAPS);
    p.parts = parts_of(p.groups * p.blocks, out, STRIP, threads);
    gcut_rt_parallel(NAME(outer_part), &p, gcut_rt_worth(threads, madds(g), GEMM_PS));
    NAME(turn_all)
    ((NAME(turn)){p.c, w, g->groups, p.taps, out, p.taps * out, 1, 0, p.taps * out, p.taps}, threads);
}

#undef NAME
#undef GLUE
#undef GLUE_
#undef T
#undef TYPE
