/* SPDX-License-Identifier: MIT
 *
 * Data movement: strided copies, gathers and scatters.
 */
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/move/strided.h"

/* Elements of a row that one thread copies, at least. */
enum { ROW_BLOCK = 1024 };

/* Of shorter rows too much is parts of lines. */
static int streams(size_t row, int64_t rows)
{
    return row >= GCUT_RT_STREAM_ROW && (double)row * (double)rows >= (double)gcut_rt_stream_bytes();
}

static void move_row(void *dst, const void *src, size_t n, int past)
{
    if (past)
        gcut_rt_stream(dst, src, (int64_t)n);
    else
        memcpy(dst, src, n);
}

/* ---- strided copy ---- */

/* Both arrays as rows along the last of `rank` axes.  A row is copied in `blocks` parts, which threads share. */
typedef struct copy_job {
    int rank;
    int64_t dim[GCUT_RT_MAX_RANK], from[GCUT_RT_MAX_RANK], to[GCUT_RT_MAX_RANK];
    int64_t rows, columns, blocks;
    size_t size;
    const char *src;
    char *dst;
    int past; /* past the caches */
} copy_job;

/* Axes that follow each other without a gap in both arrays are one, and axes of one element are none. */
static void set_axes(copy_job *j, int rank, const int64_t *dim, const int64_t *from, const int64_t *to)
{
    int n = 0;
    for (int d = 0; d < rank; d++) {
        if (dim[d] == 1) continue;
        if (n > 0 && j->from[n - 1] == dim[d] * from[d] && j->to[n - 1] == dim[d] * to[d])
            j->dim[n - 1] *= dim[d];
        else
            j->dim[n++] = dim[d];
        j->from[n - 1] = from[d], j->to[n - 1] = to[d];
    }
    if (n == 0) j->dim[n] = j->from[n] = j->to[n] = 1, n++;
    j->rank = n;
    j->columns = j->dim[n - 1];
    j->rows = 1;
    for (int d = 0; d < n - 1; d++) j->rows *= j->dim[d];
}

/* n elements of a row */
static void copy_row(const copy_job *j, const char *s, char *d, int64_t n)
{
    const int64_t from = j->from[j->rank - 1], to = j->to[j->rank - 1], ss = from * (int64_t)j->size,
                  ds = to * (int64_t)j->size;
    if (from == 1 && to == 1) {
        move_row(d, s, (size_t)n * j->size, j->past);
        return;
    }
    switch (j->size) {
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(d + i * ds, s + i * ss, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(d + i * ds, s + i * ss, 4);
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) memcpy(d + i * ds, s + i * ss, 8);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(d + i * ds, s + i * ss, j->size);
    }
}

static void copy_part(void *arg, int t, int nt)
{
    const copy_job *j = arg;
    int64_t r0, r1, c0 = 0, c1 = j->columns;
    gcut_rt_share(j->rows * j->blocks, 1, t, nt, &r0, &r1);
    for (int64_t r = r0; r < r1; r++) {
        /* Divisions are what a short row costs: as few as possible. */
        int64_t q = j->blocks > 1 ? r / j->blocks : r, from = 0, to = 0;
        for (int d = j->rank - 2; d >= 0; d--) {
            const int64_t i = q % j->dim[d];
            q /= j->dim[d];
            from += i * j->from[d];
            to += i * j->to[d];
        }
        if (j->blocks > 1)
            gcut_rt_share(j->columns, ROW_BLOCK, (int)(r % j->blocks), (int)j->blocks, &c0, &c1);
        from += c0 * j->from[j->rank - 1], to += c0 * j->to[j->rank - 1];
        copy_row(j, j->src + from * (int64_t)j->size, j->dst + to * (int64_t)j->size, c1 - c0);
    }
    if (j->past) gcut_rt_streamed();
}

void gcut_rt_copy(int rank, const int64_t *dim, size_t size, const void *src, const int64_t *ss, void *dst,
                  const int64_t *ds, int threads)
{
    copy_job j = {.size = size, .src = src, .dst = dst, .blocks = 1};
    set_axes(&j, rank, dim, ss, ds);
    const int64_t n = j.rows * j.columns;
    if (n <= 0) return;
    threads = gcut_rt_worth(threads, n, 300);
    if (threads > 1 && j.rows < 4 * threads)
        j.blocks = gcut_rt_min(gcut_rt_ceildiv(4 * threads, j.rows), gcut_rt_ceildiv(j.columns, ROW_BLOCK));
    j.past = streams((size_t)j.columns * size, j.rows);
    gcut_rt_parallel(copy_part, &j, threads);
}

/* ---- f16 and bf16 to f32 ---- */

typedef struct widen_job {
    strided from;
    const uint16_t *src;
    float *dst;
} widen_job;

#define WIDEN(name)                                                                                          \
    static void widen_##name(void *arg, int t, int nt)                                                       \
    {                                                                                                        \
        const widen_job *j = arg;                                                                            \
        int64_t r0, r1;                                                                                      \
        gcut_rt_share(j->from.rows, 1, t, nt, &r0, &r1);                                                     \
        for (int64_t r = r0; r < r1; r++) {                                                                  \
            const uint16_t *const s = j->src + strided_row(&j->from, r);                                     \
            float *const d = j->dst + r * j->from.columns;                                                   \
            for (int64_t c = 0; c < j->from.columns; c++) d[c] = gcut_from_##name(s[c * j->from.step]);      \
        }                                                                                                    \
    }                                                                                                        \
    void gcut_rt_widen_##name(int rank, const int64_t *dim, const uint16_t *src, const int64_t *ss,          \
                              float *dst, int threads)                                                       \
    {                                                                                                        \
        widen_job j = {strided_rows(rank, dim, ss), src, dst};                                               \
        const int64_t n = j.from.rows * j.from.columns;                                                      \
        if (n > 0) gcut_rt_parallel(widen_##name, &j, gcut_rt_worth(threads, n, 100));                       \
    }
WIDEN(f16)
WIDEN(bf16)
#undef WIDEN

void gcut_rt_fill(void *dst, int64_t n, size_t size, const void *value)
{
    enum { BLOCK = 4096 }; /* what is copied on at a time: it stays in the first cache */
    static const char zeros[16];
    char *d = dst;
    size_t bytes = (size_t)n * size, have = size;
    if (n <= 0) return;
    if (size <= sizeof zeros && !memcmp(value, zeros, size)) {
        memset(d, 0, bytes);
        return;
    }
    memcpy(d, value, size);
    while (have < bytes) {
        size_t more = have < BLOCK ? have : BLOCK / size * size;
        if (more > bytes - have) more = bytes - have;
        memcpy(d + have, d, more);
        have += more;
    }
}

void gcut_rt_iota(int rank, const int64_t *dim, const int64_t *stride, int64_t offset, size_t size, int real,
                  void *dst)
{
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= dim[d];
    for (int64_t e = 0; e < n; e++) {
        const int64_t v = offset + strided_offset(e, rank, dim, stride);
        if (real) {
            if (size == 4)
                ((float *)dst)[e] = (float)v;
            else
                ((double *)dst)[e] = (double)v;
            continue;
        }
        switch (size) {
        case 1: ((int8_t *)dst)[e] = (int8_t)v; break;
        case 2: ((int16_t *)dst)[e] = (int16_t)v; break;
        case 4: ((int32_t *)dst)[e] = (int32_t)v; break;
        default: ((int64_t *)dst)[e] = v;
        }
    }
}

/* ---- gather and scatter ---- */

static int64_t index_at(const void *i, int isize, int64_t k)
{
    return isize == 4 ? ((const int32_t *)i)[k] : ((const int64_t *)i)[k];
}

typedef struct take_job {
    size_t row; /* bytes */
    int64_t outer, axis, n;
    const char *x;
    const void *i;
    int isize;
    char *out;
    gcut_rt_fault *fault;
    int past;
} take_job;

/* Rows k0 to k1 of one outer index, from x on to out. */
static void take_rows(const take_job *j, const char *x, int64_t k0, int64_t k1, char *out,
                      gcut_rt_fault *fault)
{
#define TAKE(type)                                                                                           \
    for (int64_t k = k0; k < k1; k++) {                                                                      \
        const int64_t i = gcut_rt_bounded(index_at(j->i, j->isize, k), j->axis, k, fault);                   \
        ((type *)out)[k] = j->axis > 0 ? ((const type *)x)[i] : 0;                                           \
    }                                                                                                        \
    break
    switch (j->row) {
    case 1: TAKE(uint8_t);
    case 2: TAKE(uint16_t);
    case 4: TAKE(uint32_t);
    case 8: TAKE(uint64_t);
    default:
        for (int64_t k = k0; k < k1; k++) {
            const int64_t i = gcut_rt_bounded(index_at(j->i, j->isize, k), j->axis, k, fault);
            if (j->axis > 0) move_row(out + (size_t)k * j->row, x + (size_t)i * j->row, j->row, j->past);
        }
    }
#undef TAKE
}

static void take_part(void *arg, int t, int nt)
{
    const take_job *j = arg;
    gcut_rt_fault fault = GCUT_RT_NO_FAULT;
    int64_t r0, r1;
    gcut_rt_share(j->outer * j->n, 1, t, nt, &r0, &r1);
    for (int64_t r = r0, end; r < r1; r = end) {
        const int64_t o = r / j->n, first = o * j->n;
        end = gcut_rt_min(first + j->n, r1);
        take_rows(j, j->x + (size_t)(o * j->axis) * j->row, r - first, end - first,
                  j->out + (size_t)first * j->row, &fault);
    }
    if (j->past) gcut_rt_streamed();
    gcut_rt_note(j->fault, &fault);
}

void gcut_rt_take(size_t size, int64_t outer, int64_t axis, int64_t inner, const void *x, const void *i,
                  int isize, int64_t n, void *out, gcut_rt_fault *fault, int threads)
{
    take_job j = {(size_t)inner * size, outer, axis, n, x, i, isize, out, fault, 0};
    j.past = streams(j.row, outer * n);
    gcut_rt_parallel(take_part, &j, gcut_rt_worth(threads, outer * n, 5000 + 100 * inner));
}

/* Shorter rows are added one outer index at a time, since neighbouring rows share cache lines. */
enum { LONG_ROW = 16 };

/* Each thread owns a range of the indexed axis, reads every index, and adds in the order of k: no element of
 * out is touched by two threads, and the order of the additions does not depend on how many there are.  Where rows
 * are short and each thread gets an outer index, a thread owns a range of outer indices instead. */
#define SCATTER(name, type)                                                                                  \
    typedef struct scatter_##name {                                                                          \
        int64_t outer, axis, inner, n;                                                                       \
        type *out;                                                                                           \
        const void *i;                                                                                       \
        int isize;                                                                                           \
        const type *u;                                                                                       \
        gcut_rt_fault *fault;                                                                                \
    } scatter_##name;                                                                                        \
    /* Update k of the outer indices o0 to o1, if it is in a0 to a1. */                                      \
    static inline void add_rows_##name(const scatter_##name *j, int64_t k, int64_t o0, int64_t o1,           \
                                       int64_t a0, int64_t a1, gcut_rt_fault *fault)                         \
    {                                                                                                        \
        const int64_t raw = index_at(j->i, j->isize, k), i = gcut_rt_bounded(raw, j->axis, k, fault);        \
        if (i != raw || i < a0 || i >= a1) return;                                                           \
        for (int64_t o = o0; o < o1; o++) {                                                                  \
            type *d = j->out + (o * j->axis + i) * j->inner;                                                 \
            const type *s = j->u + (o * j->n + k) * j->inner;                                                \
            for (int64_t c = 0; c < j->inner; c++) d[c] = (type)(d[c] + s[c]);                               \
        }                                                                                                    \
    }                                                                                                        \
    static void scatter_part_##name(void *arg, int t, int nt)                                                \
    {                                                                                                        \
        const scatter_##name *j = arg;                                                                       \
        gcut_rt_fault fault = GCUT_RT_NO_FAULT;                                                              \
        int64_t a0, a1;                                                                                      \
        if (j->inner < LONG_ROW && j->outer > 1 && j->outer >= nt) {                                         \
            gcut_rt_share(j->outer, 1, t, nt, &a0, &a1);                                                     \
            for (int64_t o = a0; o < a1; o++)                                                                \
                for (int64_t k = 0; k < j->n; k++) add_rows_##name(j, k, o, o + 1, 0, j->axis, &fault);      \
        } else {                                                                                             \
            gcut_rt_share(j->axis, 1, t, nt, &a0, &a1);                                                      \
            for (int64_t k = 0; k < j->n; k++) add_rows_##name(j, k, 0, j->outer, a0, a1, &fault);           \
        }                                                                                                    \
        gcut_rt_note(j->fault, &fault);                                                                      \
    }                                                                                                        \
    void gcut_rt_scatter_add_##name(int64_t outer, int64_t axis, int64_t inner, type *out, const void *i,    \
                                    int isize, int64_t n, const type *u, gcut_rt_fault *fault, int threads)  \
    {                                                                                                        \
        scatter_##name j = {outer, axis, inner, n, out, i, isize, u, fault};                                 \
        gcut_rt_parallel(scatter_part_##name, &j, gcut_rt_worth(threads, n *outer, 5000 + 100 * inner));     \
    }
SCATTER(f32, float)
SCATTER(f64, double)
SCATTER(i8, int8_t)
SCATTER(i16, int16_t)
SCATTER(i32, int32_t)
SCATTER(i64, int64_t)
SCATTER(u8, uint8_t)
