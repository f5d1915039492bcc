/* SPDX-License-Identifier: MIT
 *
 * depthwise.c for one element type (each_type.h).
 */

typedef void NAME(row_fn)(int64_t, int, const T *const *, const T *, T *, int);

typedef struct NAME(depthwise) {
    const gcut_rt_conv *g;
    const T *x, *w, *y; /* two operands */
    T *out;
    NAME(row_fn) * row;
    T (*dot)(int64_t, const T *, const T *);
} NAME(depthwise);

OVERRIDES(NAME(row));
OVERRIDES(NAME(dot));

/* The widest instance one of whose vectors a row of n fills. */
static NAME(row_fn) * NAME(row_of)(int64_t n)
{
    return NAME(row)[gcut_rt_isa_filled(n * (int64_t)sizeof(T))];
}

/* Results of rows of n. */
static NAME(depthwise) NAME(job)(const gcut_rt_conv *g, const T *x, const T *w, const T *y, T *out, int64_t n)
{
    return (NAME(depthwise)){g, x, w, y, out, NAME(row_of)(n), NAME(dot)[gcut_rt_isa()]};
}

/* ---- a row of the result is a sum of rows of the other image ---- */

/* A row `to` of n elements, and the rows of `size` that are added to it, each at a column offset and times a
 * number of w.  With stride 1, to[j] += w from[j + offset]; these rows wait until there are PASS of them.
 * With others, to[j] += w from[j stride + offset] of y, and to[j stride - offset] += w from[j] of x. */
typedef struct NAME(row_sum) {
    const NAME(depthwise) * p;
    T *to;
    int64_t n, size;
    int of_x;
    int waiting, add; /* add: an earlier pass has written the row */
    const T *from[PASS];
    int64_t offset[PASS];
    T w[PASS];
} NAME(row_sum);

static void NAME(begin)(NAME(row_sum) * d, const NAME(depthwise) * p, T *to, int64_t n, int64_t size,
                        int of_x)
{
    d->p = p, d->to = to, d->n = n, d->size = size, d->of_x = of_x;
    d->waiting = d->add = 0;
    for (int64_t j = 0; j < n && p->g->stride[1] != 1; j++) to[j] = 0;
}

/* Adds the rows that wait: the places where all taps are inside at once, the others one by one. */
static void NAME(flush)(NAME(row_sum) * d)
{
    int64_t all = 0, end = d->n;
    const T *from[PASS];
    for (int t = 0; t < d->waiting; t++) {
        all = gcut_rt_max(all, -d->offset[t]);
        end = gcut_rt_min(end, d->size - d->offset[t]);
    }
    all = gcut_rt_min(all, d->n);
    end = gcut_rt_max(end, all);
    for (int t = 0; t < d->waiting && all < end; t++) from[t] = d->from[t] + (d->offset[t] + all);
    if (all < end) d->p->row(end - all, d->waiting, from, d->w, d->to + all, d->add);
    for (int64_t j = all > 0 ? 0 : end; j < d->n; j = j + 1 == all ? end : j + 1) {
        T sum = d->add ? d->to[j] : 0;
        for (int t = 0; t < d->waiting; t++)
            if (j + d->offset[t] >= 0 && j + d->offset[t] < d->size)
                sum += d->w[t] * d->from[t][j + d->offset[t]];
        d->to[j] = sum;
    }
    d->add = 1;
    d->waiting = 0;
}

static inline void NAME(add_row)(NAME(row_sum) * d, const T *from, int64_t offset, T w)
{
    const int64_t stride = d->p->g->stride[1];
    T *const to = d->to;
    int64_t lo, hi;
    if (stride == 1) {
        d->from[d->waiting] = from;
        d->offset[d->waiting] = offset;
        d->w[d->waiting++] = w;
        if (d->waiting == PASS) NAME(flush)(d);
    } else if (d->of_x) {
        inside(-offset, stride, d->n, d->size, &lo, &hi);
        for (int64_t j = lo; j < hi; j++) to[j * stride - offset] += w * from[j];
    } else {
        inside(offset, stride, d->size, d->n, &lo, &hi);
        for (int64_t j = lo; j < hi; j++) to[j] += w * from[j * stride + offset];
    }
}

/* Row oh of y[n, o], o being of channel c. */
static void NAME(row_y)(const NAME(depthwise) * p, const T *plane, const T *w, int64_t oh, T *y)
{
    const gcut_rt_conv *g = p->g;
    NAME(row_sum) d;
    NAME(begin)(&d, p, y, g->ow, g->w, 0);
    for (int64_t k = 0; k < g->kh; k++) {
        int64_t ih = oh * g->stride[0] + k * g->dilation[0] - g->pad[0];
        for (int64_t l = 0; l < g->kw && ih >= 0 && ih < g->h; l++)
            NAME(add_row)(&d, plane + ih * g->w, l * g->dilation[1] - g->pad[1], w[k * g->kw + l]);
    }
    if (g->stride[1] == 1) NAME(flush)(&d);
}

/* Row ih of x[n, c], from the planes of y that c makes. */
static void NAME(row_x)(const NAME(depthwise) * p, const T *planes, const T *w, int64_t ih, T *x)
{
    const gcut_rt_conv *g = p->g;
    int64_t more = g->o / g->groups;
    NAME(row_sum) d;
    NAME(begin)(&d, p, x, g->w, g->ow, 1);
    for (int64_t q = 0; q < more * g->kh; q++) {
        int64_t at = ih + g->pad[0] - q % g->kh * g->dilation[0], oh = gcut_rt_floordiv(at, g->stride[0]);
        if (at % g->stride[0] != 0 || oh < 0 || oh >= g->oh) continue;
        const T *from = planes + (q / g->kh * g->oh + oh) * g->ow;
        for (int64_t l = 0; l < g->kw; l++)
            NAME(add_row)(&d, from, g->pad[1] - l * g->dilation[1], w[q * g->kw + l]);
    }
    if (g->stride[1] == 1) NAME(flush)(&d);
}

/* ---- rows to threads ---- */

static void NAME(part_y)(void *arg, int t, int nt)
{
    const NAME(depthwise) *p = arg;
    const gcut_rt_conv *g = p->g;
    int64_t begin, end, more = g->o / g->groups;
    gcut_rt_share(g->n * g->o * g->oh, 1, t, nt, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / g->oh, o = plane % g->o;
        const T *x = p->x + (plane / g->o * g->c + o / more) * g->h * g->w, *w = p->w + o * g->kh * g->kw;
        NAME(row_y)(p, x, w, r % g->oh, p->out + r * g->ow);
    }
}

static void NAME(part_x)(void *arg, int t, int nt)
{
    const NAME(depthwise) *p = arg;
    const gcut_rt_conv *g = p->g;
    int64_t begin, end, more = g->o / g->groups;
    gcut_rt_share(g->n * g->c * g->h, 1, t, nt, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / g->h, c = plane % g->c;
        const T *y = p->y + plane * more * g->oh * g->ow, *w = p->w + c * more * g->kh * g->kw;
        NAME(row_x)(p, y, w, r % g->h, p->out + r * g->w);
    }
}

/* Rows of y times rows of x, whose sums are added in double. */
static void NAME(part_w)(void *arg, int t, int nt)
{
    const NAME(depthwise) *p = arg;
    const gcut_rt_conv *g = p->g;
    int64_t begin, end, lo, hi, more = g->o / g->groups, taps = g->kh * g->kw, step = g->stride[1];
    gcut_rt_share(g->o * taps, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        int64_t o = q / taps, k = q % taps, offset = k % g->kw * g->dilation[1] - g->pad[1];
        double sum = 0;
        inside(offset, step, g->w, g->ow, &lo, &hi);
        for (int64_t r = 0; r < g->n * g->oh && lo < hi; r++) {
            int64_t n = r / g->oh, oh = r % g->oh;
            int64_t ih = oh * g->stride[0] + k / g->kw * g->dilation[0] - g->pad[0];
            if (ih < 0 || ih >= g->h) continue;
            const T *x = p->x + (((n * g->c + o / more) * g->h + ih) * g->w + offset + lo * step);
            const T *y = p->y + ((n * g->o + o) * g->oh + oh) * g->ow + lo;
            T part = step == 1 ? p->dot(hi - lo, x, y) : 0;
            for (int64_t j = 0; j < hi - lo && step != 1; j++) part += y[j] * x[j * step];
            sum += (double)part;
        }
        p->out[q] = (T)sum;
    }
}

void NAME(gcut_rt_depthwise_y)(const gcut_rt_conv *g, const T *x, const T *w, T *y, int threads)
{
    NAME(depthwise) p = NAME(job)(g, x, w, NULL, y, g->ow);
    gcut_rt_parallel(NAME(part_y), &p, gcut_rt_worth(threads, madds(g), TAP_PS));
}

void NAME(gcut_rt_depthwise_x)(const gcut_rt_conv *g, const T *y, const T *w, T *x, int threads)
{
    NAME(depthwise) p = NAME(job)(g, NULL, w, y, x, g->w);
    gcut_rt_parallel(NAME(part_x), &p, gcut_rt_worth(threads, madds(g), TAP_PS));
}

void NAME(gcut_rt_depthwise_w)(const gcut_rt_conv *g, const T *x, const T *y, T *w, int threads)
{
    NAME(depthwise) p = NAME(job)(g, x, NULL, y, w, 0);
    gcut_rt_parallel(NAME(part_w), &p, gcut_rt_worth(threads, madds(g), TAP_PS));
}
