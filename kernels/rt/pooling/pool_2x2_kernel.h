/* SPDX-License-Identifier: MIT
 *
 * The reference kernel of pool_2x2.h (pool_2x2_vectors_kernel.h), for rows of n >= RESULTS results, which a
 * vector has.
 *
 * The last vector of a row may overlap the one before: what is written twice is the same twice.
 */

typedef T NAME(vec) __attribute__((vector_size(RESULTS * sizeof(T))));
typedef BITS NAME(bits) __attribute__((vector_size(RESULTS * sizeof(T))));

/* A window in each lane: its elements a b / c d. */
typedef struct NAME(windows) {
    NAME(vec) a, b, c, d;
} NAME(windows);

TARGET static inline NAME(windows) NAME(load)(const T *x, int64_t w)
{
    NAME(vec) p, q, r, s;
    memcpy(&p, x, sizeof p);
    memcpy(&q, x + RESULTS, sizeof q);
    memcpy(&r, x + w, sizeof r);
    memcpy(&s, x + w + RESULTS, sizeof s);
    return (NAME(windows)){EVEN(RESULTS)(p, q), ODD(RESULTS)(p, q), EVEN(RESULTS)(r, s), ODD(RESULTS)(r, s)};
}

TARGET static inline void NAME(store)(NAME(windows) v, T *x, int64_t w)
{
    NAME(vec)
    p = LOW(RESULTS)(v.a, v.b), q = HIGH(RESULTS)(v.a, v.b), r = LOW(RESULTS)(v.c, v.d),
    s = HIGH(RESULTS)(v.c, v.d);
    memcpy(x, &p, sizeof p);
    memcpy(x + RESULTS, &q, sizeof q);
    memcpy(x + w, &r, sizeof r);
    memcpy(x + w + RESULTS, &s, sizeof s);
}

/* v where keep has ones, 0 elsewhere. */
TARGET static inline NAME(vec) NAME(only)(NAME(bits) keep, NAME(vec) v)
{
    NAME(bits) b;
    memcpy(&b, &v, sizeof b);
    b &= keep;
    memcpy(&v, &b, sizeof b);
    return v;
}

TARGET static inline NAME(vec) NAME(either)(NAME(bits) first, NAME(vec) v, NAME(vec) y)
{
    NAME(bits) b, c;
    memcpy(&b, &v, sizeof b);
    memcpy(&c, &y, sizeof c);
    b = (b & first) | (c & ~first);
    memcpy(&v, &b, sizeof b);
    return v;
}

/* v where it is larger than y or a NaN. */
TARGET static inline NAME(vec) NAME(largest)(NAME(vec) y, NAME(vec) v)
{
    return NAME(either)((v > y) | (v != v), v, y);
}

/* Where v rather than the largest so far, m, is the first largest. */
TARGET static inline NAME(bits) NAME(beats)(NAME(vec) v, NAME(vec) m)
{
    return (v > m) | ((v != v) & (m == m));
}

TARGET static inline NAME(windows) NAME(choose)(NAME(windows) x, NAME(vec) y)
{
    NAME(bits) b = NAME(beats)(x.b, x.a);
    NAME(vec) m = NAME(either)(b, x.b, x.a);
    NAME(bits) c = NAME(beats)(x.c, m);
    NAME(bits) d = NAME(beats)(x.d, NAME(either)(c, x.c, m));
    return (NAME(windows)){NAME(only)(~(b | c | d), y), NAME(only)(b & ~(c | d), y), NAME(only)(c & ~d, y),
                           NAME(only)(d, y)};
}

/* Vectors of the results of a row, from j on. */
#define VECTORS(j, n)                                                                                        \
    for (int64_t j = 0, next = RESULTS; j < n;                                                               \
         j = next < n && next + RESULTS > n ? n - RESULTS : next, next = j + RESULTS)

/* What lies after the last window of two rows. */
static inline void NAME(clear)(int64_t n, int64_t w, T *x)
{
    for (int64_t j = 2 * n; j < w; j++) x[j] = x[w + j] = 0;
}

TARGET static void NAME(max)(int64_t rows, int64_t n, int64_t w, const T *x, T *y)
{
    for (; rows > 0; rows--, x += 2 * w, y += n) VECTORS(j, n)
        {
            NAME(windows) v = NAME(load)(x + 2 * j, w);
            v.a = NAME(largest)(NAME(largest)(NAME(largest)(v.a, v.b), v.c), v.d);
            memcpy(y + j, &v.a, sizeof v.a);
        }
}

TARGET static void NAME(max_grad)(int64_t rows, int64_t n, int64_t w, const T *x, const T *y, T *out)
{
    for (; rows > 0; rows--, x += 2 * w, out += 2 * w, y += n) {
        VECTORS(j, n)
        {
            NAME(vec) v;
            memcpy(&v, y + j, sizeof v);
            NAME(store)(NAME(choose)(NAME(load)(x + 2 * j, w), v), out + 2 * j, w);
        }
        NAME(clear)(n, w, out);
    }
}

TARGET static void NAME(avg)(int64_t rows, int64_t n, int64_t w, const T *x, T *y)
{
    for (; rows > 0; rows--, x += 2 * w, y += n) VECTORS(j, n)
        {
            NAME(windows) v = NAME(load)(x + 2 * j, w);
            v.a = (T)0.25 * (((v.a + v.b) + v.c) + v.d);
            memcpy(y + j, &v.a, sizeof v.a);
        }
}

TARGET static void NAME(avg_grad)(int64_t rows, int64_t n, int64_t w, const T *y, T *x)
{
    for (; rows > 0; rows--, x += 2 * w, y += n) {
        VECTORS(j, n)
        {
            NAME(vec) v;
            memcpy(&v, y + j, sizeof v);
            v *= (T)0.25;
            NAME(store)((NAME(windows)){v, v, v, v}, x + 2 * j, w);
        }
        NAME(clear)(n, w, x);
    }
}

static const PASTE(gcut_rt_pool_2x2, TYPE)
    NAME(rows)[1] = {{NAME(max), NAME(max_grad), NAME(avg), NAME(avg_grad)}};

#undef VECTORS
