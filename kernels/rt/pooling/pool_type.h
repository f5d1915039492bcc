/* SPDX-License-Identifier: MIT
 *
 * pool.c for one element type (each_type.h).
 */

typedef struct NAME(job) {
    const gcut_rt_pool *g;
    const T *a, *b;
    T *out;
    const PASTE(gcut_rt_pool_2x2, TYPE) * kernel;
} NAME(job);

/* ---- windows of 2 * 2 side by side (pool_2x2.h) ---- */

/* CALL, with `rows` rows of results from plane q on, which lie one after the other as those of x do. */
#define PLANES(name, CALL)                                                                                   \
    static void NAME(name)(void *arg, int t, int nt)                                                         \
    {                                                                                                        \
        const NAME(job) *p = arg;                                                                            \
        const gcut_rt_pool *g = p->g;                                                                        \
        int64_t begin, end, together = g->h == 2 * g->oh;                                                    \
        gcut_rt_share(g->planes, 1, t, nt, &begin, &end);                                                    \
        for (int64_t q = begin; q < end; q = together ? end : q + 1) {                                       \
            int64_t rows = together ? (end - q) * g->oh : g->oh;                                             \
            int64_t wide = q * g->h * g->w, narrow = q * g->oh * g->ow;                                      \
            CALL;                                                                                            \
        }                                                                                                    \
    }
/* Rows of a plane q like x that no window sees. */
#define REST (memset(p->out + wide + 2 * g->oh * g->w, 0, (size_t)((g->h - 2 * g->oh) * g->w) * sizeof(T)))
PLANES(max_2x2, p->kernel->max(rows, g->ow, g->w, p->a + wide, p->out + narrow))
PLANES(avg_2x2, p->kernel->avg(rows, g->ow, g->w, p->a + wide, p->out + narrow))
PLANES(max_grad_2x2, p->kernel->max_grad(rows, g->ow, g->w, p->a + wide, p->b + narrow, p->out + wide);
       if (!together) REST)
PLANES(avg_grad_2x2, p->kernel->avg_grad(rows, g->ow, g->w, p->a + narrow, p->out + wide);
       if (!together) REST)
#undef PLANES
#undef REST

/* ---- any windows ---- */

/* Runs CALL with `step`, a constant for strides of 1 and 2: the compiler vectorises these accesses. */
#define BY_STEP(CALL)                                                                                        \
    do {                                                                                                     \
        if (g->stride[1] == 1) {                                                                             \
            const int64_t step = 1;                                                                          \
            CALL;                                                                                            \
        } else if (g->stride[1] == 2) {                                                                      \
            const int64_t step = 2;                                                                          \
            CALL;                                                                                            \
        } else {                                                                                             \
            const int64_t step = g->stride[1];                                                               \
            CALL;                                                                                            \
        }                                                                                                    \
    } while (0)

static inline __attribute__((always_inline)) void NAME(take_largest)(int64_t n, const T *restrict x,
                                                                     int64_t step, T *restrict y)
{
    for (int64_t j = 0; j < n; j++) {
        const T v = x[j * step];
        y[j] = ((v > y[j]) | (v != v)) ? v : y[j];
    }
}

static inline __attribute__((always_inline)) void NAME(take_sum)(int64_t n, const T *restrict x, int64_t step,
                                                                 T *restrict y)
{
    for (int64_t j = 0; j < n; j++) y[j] += x[j * step];
}

/* Rows of results, from `start` on, to which each tap takes in what lies under it. */
static inline __attribute__((always_inline)) void NAME(rows)(const NAME(job) * p, int t, int nt, T start,
                                                             T size, int64_t step,
                                                             void (*take)(int64_t, const T *, int64_t, T *))
{
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, lo, hi;
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t r = begin * g->oh; r < end * g->oh; r++) {
        const T *x = p->a + r / g->oh * g->h * g->w;
        T *y = p->out + r * g->ow;
        for (int64_t j = 0; j < g->ow; j++) y[j] = start;
        for (int64_t k = 0; k < g->window[0] * g->window[1]; k++) {
            int64_t i = r % g->oh * g->stride[0] + k / g->window[1] - g->pad[0];
            int64_t offset = k % g->window[1] - g->pad[1];
            inside(offset, step, g->w, g->ow, &lo, &hi);
            if (i < 0 || i >= g->h || lo == hi) continue;
            take(hi - lo, x + (i * g->w + offset + lo * step), step, y + lo);
        }
        for (int64_t j = 0; j < g->ow && size != 1; j++) y[j] /= size;
    }
}

static void NAME(max_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    BY_STEP(NAME(rows)(p, t, nt, -(T)INFINITY, 1, step, NAME(take_largest)));
}

static void NAME(avg_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    BY_STEP(NAME(rows)(p, t, nt, 0, (T)(g->window[0] * g->window[1]), step, NAME(take_sum)));
}

/* ---- the first largest element of each window ---- */

/* Compares element k < 2^31 of n windows with the largest so far, y.  at: which element that is, < 0: none yet; the
 * first NaN counts as the largest. */
static inline __attribute__((always_inline)) void NAME(update_largest)(int64_t n, const T *restrict x,
                                                                       int64_t step, int32_t k, T *restrict y,
                                                                       int32_t *restrict at)
{
    for (int64_t j = 0; j < n; j++) {
        const T v = x[j * step];
        const int takes = (at[j] < 0) | (v > y[j]) | ((v != v) & (y[j] == y[j]));
        y[j] = takes ? v : y[j];
        at[j] = takes ? k : at[j];
    }
}

/* For n windows from (oh, ow) on. */
static inline __attribute__((always_inline)) void NAME(scan_windows)(const gcut_rt_pool *g, const T *x,
                                                                     int64_t oh, int64_t ow, int64_t n,
                                                                     int64_t step, T *y, int32_t *at)
{
    int64_t lo, hi;
    for (int64_t j = 0; j < n; j++) y[j] = 0, at[j] = -1;
    for (int64_t k = 0; k < g->window[0] * g->window[1]; k++) {
        const int64_t i = oh * g->stride[0] + k / g->window[1] - g->pad[0],
                      offset = k % g->window[1] - g->pad[1] + ow * step;
        inside(offset, step, g->w, n, &lo, &hi);
        if (i < 0 || i >= g->h || lo == hi) continue;
        NAME(update_largest)(hi - lo, x + (i * g->w + offset + lo * step), step, (int32_t)k, y + lo, at + lo);
    }
}

/* Finds the first largest element of up to BLOCK windows of one row, from result r of the plane on.  place: its flat index
 * in the plane x, -1 for a window of padding.  Returns the number of windows. */
static int64_t NAME(find_largest)(const gcut_rt_pool *g, const T *x, int64_t r, int64_t *place)
{
    const int64_t oh = r / g->ow, ow = r % g->ow, n = gcut_rt_min(g->ow - ow, BLOCK);
    T y[BLOCK];
    int32_t at[BLOCK];
    BY_STEP(NAME(scan_windows)(g, x, oh, ow, n, step, y, at));
    for (int64_t j = 0; j < n; j++) place[j] = at[j] < 0 ? -1 : place_of(g, oh, ow + j, at[j]);
    return n;
}

static void NAME(max_grad_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, place[BLOCK];
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        const T *x = p->a + q * g->h * g->w, *y = p->b + q * g->oh * g->ow;
        T *out = p->out + q * g->h * g->w;
        for (int64_t k = 0; k < g->h * g->w; k++) out[k] = 0;
        for (int64_t r = 0, n; r < g->oh * g->ow; r += n) {
            n = NAME(find_largest)(g, x, r, place);
            for (int64_t j = 0; j < n; j++)
                if (place[j] >= 0) out[place[j]] += y[r + j];
        }
    }
}

static void NAME(max_take_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, place[BLOCK];
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        const T *x = p->a + q * g->h * g->w, *s = p->b + q * g->h * g->w;
        T *out = p->out + q * g->oh * g->ow;
        for (int64_t r = 0, n; r < g->oh * g->ow; r += n) {
            n = NAME(find_largest)(g, x, r, place);
            for (int64_t j = 0; j < n; j++) out[r + j] = place[j] < 0 ? 0 : s[place[j]];
        }
    }
}

/* Adds y / size to one element of each of n windows. */
static inline __attribute__((always_inline)) void NAME(add_quotients)(int64_t n, const T *restrict y, T size,
                                                                      int64_t step, T *restrict x)
{
    for (int64_t j = 0; j < n; j++) x[j * step] += y[j] / size;
}

static void NAME(avg_grad_part)(void *arg, int t, int nt)
{
    const NAME(job) *p = arg;
    const gcut_rt_pool *g = p->g;
    int64_t begin, end, lo, hi;
    T size = (T)(g->window[0] * g->window[1]);
    gcut_rt_share(g->planes, 1, t, nt, &begin, &end);
    for (int64_t q = begin; q < end; q++) {
        T *x = p->out + q * g->h * g->w;
        for (int64_t k = 0; k < g->h * g->w; k++) x[k] = 0;
        for (int64_t r = 0; r < g->oh * g->window[0] * g->window[1]; r++) {
            int64_t k = r % (g->window[0] * g->window[1]), oh = r / (g->window[0] * g->window[1]);
            int64_t i = oh * g->stride[0] + k / g->window[1] - g->pad[0],
                    offset = k % g->window[1] - g->pad[1];
            inside(offset, g->stride[1], g->w, g->ow, &lo, &hi);
            if (i < 0 || i >= g->h || lo == hi) continue;
            const T *y = p->a + (q * g->oh + oh) * g->ow + lo;
            T *to = x + (i * g->w + offset + lo * g->stride[1]);
            BY_STEP(NAME(add_quotients)(hi - lo, y, size, step, to));
        }
    }
}

#undef BY_STEP

/* ---- calls ---- */

typedef void NAME(part_fn)(void *arg, int t, int nt);

static void NAME(run)(NAME(job) p, NAME(part_fn) * of_2x2, NAME(part_fn) * part, int64_t ps, int threads)
{
    p.kernel = NAME(gcut_rt_pool_2x2_of)(p.g->ow);
    gcut_rt_parallel(is_2x2(p.g) ? of_2x2 : part, &p, worthwhile_threads(p.g, ps, threads));
}

void NAME(gcut_rt_max_pool)(const gcut_rt_pool *g, const T *x, T *y, int threads)
{
    NAME(run)((NAME(job)){.g = g, .a = x, .out = y}, NAME(max_2x2), NAME(max_part), STREAM_PS, threads);
}

void NAME(gcut_rt_max_pool_grad)(const gcut_rt_pool *g, const T *x, const T *y, T *out, int threads)
{
    const NAME(job) p = {.g = g, .a = x, .b = y, .out = out};
    NAME(run)(p, NAME(max_grad_2x2), NAME(max_grad_part), SEARCH_PS, threads);
}

void NAME(gcut_rt_max_pool_take)(const gcut_rt_pool *g, const T *x, const T *s, T *out, int threads)
{
    const NAME(job) p = {.g = g, .a = x, .b = s, .out = out};
    NAME(run)(p, NAME(max_take_part), NAME(max_take_part), SEARCH_PS, threads);
}

void NAME(gcut_rt_avg_pool)(const gcut_rt_pool *g, const T *x, T *y, int threads)
{
    NAME(run)((NAME(job)){.g = g, .a = x, .out = y}, NAME(avg_2x2), NAME(avg_part), STREAM_PS, threads);
}

void NAME(gcut_rt_avg_pool_grad)(const gcut_rt_pool *g, const T *y, T *x, int threads)
{
    const NAME(job) p = {.g = g, .a = y, .out = x};
    NAME(run)(p, NAME(avg_grad_2x2), NAME(avg_grad_part), STREAM_PS, threads);
}
