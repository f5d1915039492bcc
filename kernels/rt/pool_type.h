/* SPDX-License-Identifier: MIT
 *
 * pool.c for one element type: T the type, TYPE its suffix.
 */

#include "kernels/rt/glue.h"

#define NAME(x) GLUE(x, TYPE)

typedef struct NAME(job) {
    const gcut_rt_pool *g;
    const T *a, *b;
    T *out;
} NAME(job);

/* ---- windows of 2 * 2 side by side ---- */

typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T))));

/* Rows of results, with the two rows of x from `a` on; the sum follows the window in row-major order. */
static void NAME(avg_row)(const T *a, int64_t w, int64_t n, T *y)
{
    const T *b = a + w;
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        NAME(four) p, q, r, s;
        memcpy(&p, a + 2 * j, sizeof p);
        memcpy(&q, a + 2 * j + 4, sizeof q);
        memcpy(&r, b + 2 * j, sizeof r);
        memcpy(&s, b + 2 * j + 4, sizeof s);
        NAME(four)
        sum = __builtin_shufflevector(p, q, 0, 2, 4, 6) + __builtin_shufflevector(p, q, 1, 3, 5, 7);
        sum = (sum + __builtin_shufflevector(r, s, 0, 2, 4, 6)) + __builtin_shufflevector(r, s, 1, 3, 5, 7);
        sum *= (T)0.25;
        memcpy(y + j, &sum, sizeof sum);
    }
    for (; j < n; j++) y[j] = (T)0.25 * (((a[2 * j] + a[2 * j + 1]) + b[2 * j]) + b[2 * j + 1]);
}

static void NAME(avg_grad_row)(const T *y, int64_t n, int64_t w, T *a)
{
    T *b = a + w;
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) {
        NAME(four) v;
        memcpy(&v, y + j, sizeof v);
        v *= (T)0.25;
        NAME(four) low = __builtin_shufflevector(v, v, 0, 0, 1, 1);
        NAME(four) high = __builtin_shufflevector(v, v, 2, 2, 3, 3);
        memcpy(a + 2 * j, &low, sizeof low);
        memcpy(a + 2 * j + 4, &high, sizeof high);
        memcpy(b + 2 * j, &low, sizeof low);
        memcpy(b + 2 * j + 4, &high, sizeof high);
    }
    for (; j < n; j++) a[2 * j] = a[2 * j + 1] = b[2 * j] = b[2 * j + 1] = (T)0.25 * y[j];
    for (j = 2 * n; j < w; j++) a[j] = b[j] = 0;
}

/* v where it is larger than y or a NaN. */
static inline T NAME(largest)(T y, T v)
{
    return ((v > y) | (v != v)) ? v : y;
}

static void NAME(max_row)(const T *a, int64_t w, int64_t n, T *y)
{
    const T *b = a + w;
    for (int64_t j = 0; j < n; j++) {
        T v = NAME(largest)(NAME(largest)(-(T)INFINITY, a[2 * j]), a[2 * j + 1]);
        y[j] = NAME(largest)(NAME(largest)(v, b[2 * j]), b[2 * j + 1]);
    }
}

/* Is v rather than the largest so far, m, the first largest? */
static inline int NAME(beats)(T v, T m)
{
    return (v > m) | ((v != v) & (m == m));
}

/* Which of the four is the first largest. */
static inline int NAME(which)(const T *a, const T *b)
{
    int k = NAME(beats)(a[1], a[0]);
    T m = k ? a[1] : a[0];
    if (NAME(beats)(b[0], m)) k = 2, m = b[0];
    return NAME(beats)(b[1], m) ? 3 : k;
}

static void NAME(max_grad_row)(const T *x, const T *y, int64_t n, int64_t w, T *a)
{
    T *b = a + w;
    for (int64_t j = 0; j < n; j++) {
        int k = NAME(which)(x + 2 * j, x + w + 2 * j);
        a[2 * j] = k == 0 ? y[j] : 0;
        a[2 * j + 1] = k == 1 ? y[j] : 0;
        b[2 * j] = k == 2 ? y[j] : 0;
        b[2 * j + 1] = k == 3 ? y[j] : 0;
    }
    for (int64_t j = 2 * n; j < w; j++) a[j] = b[j] = 0;
}

/* Rows of results that follow one another, of the planes of a thread. */
#define HALVES(name, row)                                                                                    \
    static void NAME(name)(void *arg, int t, int nt)                                                         \
    {                                                                                                        \
        const NAME(job) *p = arg;                                                                            \
        const gcut_rt_pool *g = p->g;                                                                        \
        int64_t begin, end;                                                                                  \
        gcut_rt_share(g->planes, 1, t, nt, &begin, &end);                                                    \
        for (int64_t r = begin * g->oh; r < end * g->oh; r++) {                                              \
            int64_t wide = r / g->oh * g->h * g->w + r % g->oh * 2 * g->w, narrow = r * g->ow;               \
            row;                                                                                             \
        }                                                                                                    \
    }
/* The same for what has the size of x, whose rows behind the last window are 0. */
#define DOUBLES(name, row)                                                                                   \
    HALVES(name##_rows, row)                                                                                 \
    static void NAME(name)(void *arg, int t, int nt)                                                         \
    {                                                                                                        \
        const NAME(job) *p = arg;                                                                            \
        int64_t begin, end, rest = (p->g->h - 2 * p->g->oh) * p->g->w, plane = p->g->h * p->g->w;            \
        NAME(name##_rows)(arg, t, nt);                                                                       \
        gcut_rt_share(p->g->planes, 1, t, nt, &begin, &end);                                                 \
        for (int64_t q = begin; q < end && rest > 0; q++)                                                    \
            memset(p->out + (q + 1) * plane - rest, 0, (size_t)rest * sizeof(T));                            \
    }
HALVES(avg_halves, NAME(avg_row)(p->a + wide, g->w, g->ow, p->out + narrow))
HALVES(max_halves, NAME(max_row)(p->a + wide, g->w, g->ow, p->out + narrow))
DOUBLES(avg_doubles, NAME(avg_grad_row)(p->a + narrow, g->ow, g->w, p->out + wide))
DOUBLES(max_doubles, NAME(max_grad_row)(p->a + wide, p->b + narrow, g->ow, g->w, p->out + wide))
#undef HALVES
#undef DOUBLES

/* ---- largest ---- */

static void NAME(larger)(int64_t n, const T *x, int64_t step, T *y)
{
    for (int64_t j = 0; j < n; j++) {
        T v = x[j * step];
        y[j] = ((v > y[j]) | (v != v)) ? v : y[j];
    }
}

static void NAME(max_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, lo, hi;
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t r = begin * g->oh; r < end * g->oh; r++) {
        const T *x = p->a + r / g->oh * g->h * g->w;
        T *y = p->out + r * g->ow;
        for (int64_t j = 0; j < g->ow; j++) y[j] = -(T)INFINITY;
        for (int64_t k = 0; k < g->window[0] * g->window[1]; k++) {
            int64_t i = r % g->oh * g->stride[0] + k / g->window[1] - g->pad[0];
            int64_t offset = k % g->window[1] - g->pad[1];
            inside(offset, g->stride[1], g->w, g->ow, &lo, &hi);
            if (i < 0 || i >= g->h || lo == hi) continue;
            NAME(larger)(hi - lo, x + (i * g->w + offset + lo * g->stride[1]), g->stride[1], y + lo);
        }
    }
}

void NAME(gcut_rt_max_pool)(const gcut_rt_pool *g, const T *x, T *y, int threads)
{
    NAME(job) p = {g, x, NULL, y};
    gcut_rt_parallel(halves(g) ? NAME(max_halves) : NAME(max_part), &p, crew(g, STREAM_PS, threads));
}

/* Flat index in the plane x of the first largest element under the window at (oh, ow); -1: padding alone. */
static int64_t NAME(first)(const gcut_rt_pool *g, const T *x, int64_t oh, int64_t ow)
{
    int64_t i0, i1, j0, j1, best = -1;
    clip(oh * g->stride[0] - g->pad[0], g->window[0], g->h, &i0, &i1);
    clip(ow * g->stride[1] - g->pad[1], g->window[1], g->w, &j0, &j1);
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++) {
            int64_t at = i * g->w + j;
            if (best < 0 || x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
        }
    return best;
}

static void NAME(max_grad_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end;
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        const T *x = p->a + q * g->h * g->w, *y = p->b + q * g->oh * g->ow;
        T *out = p->out + q * g->h * g->w;
        for (int64_t k = 0; k < g->h * g->w; k++) out[k] = 0;
        for (int64_t i = 0; i < g->oh; i++)
            for (int64_t j = 0; j < g->ow; j++) {
                int64_t at = NAME(first)(g, x, i, j);
                if (at >= 0) out[at] += y[i * g->ow + j];
            }
    }
}

void NAME(gcut_rt_max_pool_grad)(const gcut_rt_pool *g, const T *x, const T *y, T *out, int threads)
{
    NAME(job) p = {g, x, y, out};
    gcut_rt_parallel(halves(g) ? NAME(max_doubles) : NAME(max_grad_part), &p, crew(g, SEARCH_PS, threads));
}

static void NAME(max_take_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end;
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        const T *x = p->a + q * g->h * g->w, *s = p->b + q * g->h * g->w;
        T *out = p->out + q * g->oh * g->ow;
        for (int64_t i = 0; i < g->oh; i++)
            for (int64_t j = 0; j < g->ow; j++) {
                int64_t at = NAME(first)(g, x, i, j);
                *out++ = at < 0 ? 0 : s[at];
            }
    }
}

void NAME(gcut_rt_max_pool_take)(const gcut_rt_pool *g, const T *x, const T *s, T *out, int threads)
{
    NAME(job) p = {g, x, s, out};
    gcut_rt_parallel(NAME(max_take_part), &p, crew(g, SEARCH_PS, threads));
}

/* ---- average ---- */

static void NAME(avg_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, lo, hi, step = g->stride[1];
    T size = (T)(g->window[0] * g->window[1]);
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t r = begin * g->oh; r < end * g->oh; r++) {
        const T *x = p->a + r / g->oh * g->h * g->w;
        T *y = p->out + r * g->ow;
        for (int64_t j = 0; j < g->ow; j++) y[j] = 0;
        for (int64_t k = 0; k < g->window[0] * g->window[1]; k++) {
            int64_t i = r % g->oh * g->stride[0] + k / g->window[1] - g->pad[0];
            int64_t offset = k % g->window[1] - g->pad[1];
            inside(offset, step, g->w, g->ow, &lo, &hi);
            if (i < 0 || i >= g->h || lo == hi) continue;
            const T *from = x + (i * g->w + offset + lo * step);
            for (int64_t j = 0; j < hi - lo; j++) y[lo + j] += from[j * step];
        }
        for (int64_t j = 0; j < g->ow; j++) y[j] /= size;
    }
}

void NAME(gcut_rt_avg_pool)(const gcut_rt_pool *g, const T *x, T *y, int threads)
{
    NAME(job) p = {g, x, NULL, y};
    gcut_rt_parallel(halves(g) ? NAME(avg_halves) : NAME(avg_part), &p, crew(g, STREAM_PS, threads));
}

static void NAME(avg_grad_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, lo, hi, step = g->stride[1];
    T size = (T)(g->window[0] * g->window[1]);
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        T *x = p->out + q * g->h * g->w;
        for (int64_t k = 0; k < g->h * g->w; k++) x[k] = 0;
        for (int64_t r = 0; r < g->oh * g->window[0] * g->window[1]; r++) {
            int64_t k = r % (g->window[0] * g->window[1]), oh = r / (g->window[0] * g->window[1]);
            int64_t i = oh * g->stride[0] + k / g->window[1] - g->pad[0],
                    offset = k % g->window[1] - g->pad[1];
            inside(offset, step, g->w, g->ow, &lo, &hi);
            if (i < 0 || i >= g->h || lo == hi) continue;
            const T *y = p->a + (q * g->oh + oh) * g->ow + lo;
            T *to = x + (i * g->w + offset + lo * step);
            for (int64_t j = 0; j < hi - lo; j++) to[j * step] += y[j] / size;
        }
    }
}

void NAME(gcut_rt_avg_pool_grad)(const gcut_rt_pool *g, const T *y, T *x, int threads)
{
    NAME(job) p = {g, y, NULL, x};
    gcut_rt_parallel(halves(g) ? NAME(avg_doubles) : NAME(avg_grad_part), &p, crew(g, STREAM_PS, threads));
}

#undef NAME
#undef T
#undef TYPE
