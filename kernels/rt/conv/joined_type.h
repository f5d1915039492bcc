/* SPDX-License-Identifier: MIT
 *
 * Windows of one element as matrix products, of element type T; included by conv_type.h.  A small image makes a product of few
 * columns, and a short sum for the gradient of w.  So several images are copied side by side into packing memory, as one
 * matrix,
 *
 *     [images][rows][places]  ->  [rows][images * places]
 *
 * and without that memory each makes a product of its own, whose rounding may differ.
 */

/* `rows` rows of each of some images, and the same side by side. */
typedef struct NAME(joined) {
    int64_t images, rows, places;
    const T *apart;
    T *together;
    T *back; /* not NULL: a copy from `together` to here, instead of from `apart` */
} NAME(joined);

static void NAME(join_part)(void *arg, int t, int nt)
{
    const NAME(joined) *p = arg;
    const int64_t wide = p->images * p->places;
    int64_t begin, end;
    gcut_rt_share(p->rows, 1, t, nt, &begin, &end);
    for (int64_t i = 0; i < p->images; i++)
        for (int64_t r = begin; r < end; r++) {
            const int64_t at = (i * p->rows + r) * p->places;
            T *all = p->together + r * wide + i * p->places;
            if (p->back)
                NAME(copy)(p->back + at, all, p->places);
            else
                NAME(copy)(all, p->apart + at, p->places);
        }
}

static void NAME(join)(NAME(joined) p, int threads)
{
    gcut_rt_parallel(NAME(join_part), &p, gcut_rt_worth(threads, p.images * p.rows * p.places, JOIN_PS));
}

/* Images that are joined at a time, so that they have `enough` places; 1: each has. */
static int64_t NAME(images_joined)(const gcut_rt_conv *g, int64_t enough)
{
    const int64_t places = g->h * g->w, rows = g->c + g->o,
                  most = JOINED_BYTES / (int64_t)sizeof(T) / gcut_rt_max(rows * places, 1),
                  n = gcut_rt_min(gcut_rt_min(gcut_rt_ceildiv(enough, gcut_rt_max(places, 1)), most), g->n);
    return n > 1 ? gcut_rt_ceildiv(g->n, gcut_rt_ceildiv(g->n, n)) : 1;
}

/* Memory for `images` images of c rows and as many of o rows.  `at` is NULL where malloc fails: the reserve is left to the
 * product, which may need it. */
static gcut_rt_packing_memory NAME(borrow_joined)(const gcut_rt_conv *g, int64_t images)
{
    const size_t bytes = (size_t)(images * (g->c + g->o) * g->h * g->w) * sizeof(T) + 64;
    gcut_rt_packing_memory m = gcut_rt_borrow(bytes);
    if (m.block && m.bytes >= bytes) return m;
    gcut_rt_give_back(m);
    return (gcut_rt_packing_memory){0};
}

/* The second of two matrices in the memory, after n elements. */
static T *NAME(after)(gcut_rt_packing_memory m, int64_t n)
{
    return (T *)m.at + round_up(n, 64 / (int64_t)sizeof(T));
}

/* to = w from, or w' from when `transposed`. */
static void NAME(pointwise_product)(const gcut_rt_conv *g, int transposed, const T *w, const T *from, T *to,
                                    int threads)
{
    const int64_t places = g->h * g->w, m = transposed ? g->c : g->o, k = transposed ? g->o : g->c;
    const int64_t images =
        g->groups == 1 && places <= FEW_PLACES ? NAME(images_joined)(g, PRODUCT_PLACES) : 1;
    gcut_rt_packing_memory memory = {0};
    if (images > 1) memory = NAME(borrow_joined)(g, images);
    if (!memory.at) {
        NAME(image_products)(g, transposed, w, from, to, threads);
        return;
    }
    for (int64_t i = 0; i < g->n; i += images) {
        gcut_rt_conv wide = *g; /* some images as one */
        wide.n = wide.h = 1, wide.w = gcut_rt_min(images, g->n - i) * places;
        T *b = memory.at, *c = NAME(after)(memory, k * images * places);
        NAME(join)((NAME(joined)){wide.w / places, k, places, from + i * k * places, b, NULL}, threads);
        NAME(image_products)(&wide, transposed, w, b, c, threads);
        NAME(join)((NAME(joined)){wide.w / places, m, places, NULL, c, to + i * m * places}, threads);
    }
    gcut_rt_give_back(memory);
}

/* w = the sum over the images of y x', a product each, or of several at a time. */
static void NAME(pointwise_w)(const gcut_rt_conv *g, const T *x, const T *y, T *w, int threads)
{
    const int64_t places = g->h * g->w, joined = NAME(images_joined)(g, LONG_SUM);
    gcut_rt_packing_memory memory = {0};
    if (joined > 1) memory = NAME(borrow_joined)(g, joined);
    const int64_t images = memory.at ? joined : 1;
    for (int64_t i = 0; i < g->n; i += images) {
        const int64_t some = gcut_rt_min(images, g->n - i), wide = some * places;
        const T *a = y + i * g->o * places, *b = x + i * g->c * places;
        if (memory.at) {
            T *of_y = memory.at, *of_x = NAME(after)(memory, g->o * images * places);
            NAME(join)((NAME(joined)){some, g->o, places, a, of_y, NULL}, threads);
            NAME(join)((NAME(joined)){some, g->c, places, b, of_x, NULL}, threads);
            a = of_y, b = of_x;
        }
        gcut_rt_gemm q = {.m = g->o,
                          .n = g->c,
                          .k = wide,
                          .rsa = wide,
                          .csa = 1,
                          .rsb = 1,
                          .csb = wide,
                          .rsc = g->c,
                          .csc = 1,
                          .accumulate = i > 0};
        NAME(gcut_rt_gemm)(&q, a, b, w, threads);
    }
    if (memory.at) gcut_rt_give_back(memory);
}
