/* SPDX-License-Identifier: MIT
 *
 * The run-time library of compiled training steps: the only header that emitted C includes.  It includes
 * neither BLIS nor intrinsics, so that emitted C compiles fast.  doc/runtime.md describes its implementation.
 *
 * Nothing here prints.  Operands, results and workspace are the caller's.  The library allocates one thing:
 * the blocks that large products and convolutions pack their operands into, a few MiB per thread, which the
 * next kernel uses again and which are freed when the library is unloaded.  It keeps no other state between
 * calls but its worker threads, and two facts about the machine that are asked for once: which BLIS kernels
 * run on it, and the size of its last cache.
 */
#ifndef GRADCUT_RT_H
#define GRADCUT_RT_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gradcut/rt_bits.h"
#include "gradcut/rt_external.h"
#include "gradcut/rt_status.h"
#include "gradcut/rt_values.h"
#include "gradcut/rt_windows.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The functions that are declared from here on are what a shared run-time library exports. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Before a `for`: no iteration writes memory that another one reads or writes. */
#if defined(__GNUC__) && !defined(__clang__)
#define GCUT_RT_APART _Pragma("GCC ivdep")
/* The same for loops of so few iterations that GCC would unroll them before it looks for vectors. */
#define GCUT_RT_APART_FEW _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#else
#define GCUT_RT_APART
#define GCUT_RT_APART_FEW
#endif

/* Prefetches `bytes` bytes from p on, for a read that comes soon. */
static inline void gcut_rt_expect(const void *p, int64_t bytes)
{
#ifdef __GNUC__
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char *)p + i);
#else
    (void)p, (void)bytes;
#endif
}

/* ---- sizes ---- */

static inline int64_t gcut_rt_floordiv(int64_t a, int64_t b)
{
    int64_t q = a / b, r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t gcut_rt_ceildiv(int64_t a, int64_t b)
{
    return -gcut_rt_floordiv(-a, b);
}
static inline int64_t gcut_rt_mod(int64_t a, int64_t b)
{
    return a - gcut_rt_floordiv(a, b) * b;
}
static inline int64_t gcut_rt_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t gcut_rt_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Division of a >= 0 by n >= 1: two multiplications once the divisor is prepared.  With
 * m = floor((2^64 - 1) / n), the high word of a m is the quotient or 1 less. */
typedef struct gcut_rt_divisor {
    int64_t n;
    uint64_t m;
} gcut_rt_divisor;

static inline gcut_rt_divisor gcut_rt_divide_by(int64_t n)
{
    gcut_rt_divisor d;
    d.n = n;
    d.m = n > 0 ? UINT64_MAX / (uint64_t)n : 0;
    return d;
}
static inline int64_t gcut_rt_quotient(int64_t a, gcut_rt_divisor d)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 gcut_rt_double_word;
    const uint64_t q = (uint64_t)((gcut_rt_double_word)(uint64_t)a * d.m >> 64);
    return (int64_t)(q + ((uint64_t)a - q * (uint64_t)d.n >= (uint64_t)d.n));
#else
    return a / d.n;
#endif
}
static inline int64_t gcut_rt_remainder(int64_t a, gcut_rt_divisor d)
{
    return a - gcut_rt_quotient(a, d) * d.n;
}

/* The same of sizes that an int64_t may not hold. */
static inline double gcut_rt_real_floordiv(double a, double b)
{
    return floor(a / b);
}
static inline double gcut_rt_real_ceildiv(double a, double b)
{
    return ceil(a / b);
}
static inline double gcut_rt_real_mod(double a, double b)
{
    return a - floor(a / b) * b;
}
static inline double gcut_rt_real_min(double a, double b)
{
    return a < b ? a : b;
}
static inline double gcut_rt_real_max(double a, double b)
{
    return a > b ? a : b;
}

/* ---- arena placement ---- */

/* A buffer of the arena: alive from kernel `birth` to kernel `death`, both included. */
typedef struct gcut_rt_buffer {
    int64_t bytes;
    int64_t offset; /* result: a multiple of 64 */
    int32_t birth, death;
    int32_t order, link; /* scratch of gcut_rt_place */
} gcut_rt_buffer;

/* Sets every offset so that buffers alive at once do not overlap; returns the bytes of the arena that hold them all, a
 * multiple of a line.  Steps are limited, not timed: deterministic.  No memory of its own.  Zero bytes get offset 0. */
enum { GCUT_RT_LINE = 64, GCUT_RT_PLACE_STEPS = 20000000 };
int64_t gcut_rt_place(gcut_rt_buffer *b, int n);

/* What a step knows of its buffers before its sizes: bytes are size[size]. */
typedef struct gcut_rt_slot {
    int32_t size, birth, death, saved;
} gcut_rt_slot;

/* Fills b; returns the bytes of those that are saved. */
int64_t gcut_rt_slots(const gcut_rt_slot *slot, int n, const int64_t *size, gcut_rt_buffer *b);

/* Bytes, multiples of 64, of a step whose forward and backward graph are called apart. */
typedef struct gcut_rt_apart {
    int64_t arena, saved;      /* of the arena, of the block of saved values with its head */
    int64_t forward, backward; /* of the arena that the call touches: from its beginning */
} gcut_rt_apart;

/* Places saved buffers one after the other in the block of saved values, where an offset d is written as
 * -1 - d, and the others in the arena.  The forward graph's are born before `split`, the backward graph's
 * from there on; only saved ones live in both. */
gcut_rt_apart gcut_rt_place_apart(const gcut_rt_slot *slot, gcut_rt_buffer *b, int n, int split);

/* ---- matrix products ---- */

/* Writes elements j0..j1 of lines i0..i1 to out, `ld` elements from line to line; thread number t calls.  Any
 * part may be asked for, any number of times, by any thread: always the same bits. */
typedef void gcut_rt_fill_fn(void *arg, int t, int64_t i0, int64_t i1, int64_t j0, int64_t j1, void *out,
                             int64_t ld);
/* A or B that is computed, by fill(arg, …), as it is packed.  Its lines are its rows or its columns,
 * whichever would be contiguous in memory; those of a batch go on after those of the batch before, as the
 * strides of the product say for a matrix without gaps. */
typedef struct gcut_rt_operand {
    gcut_rt_fill_fn *fill; /* NULL: the operand is in memory */
    void *arg;
    int along_k; /* lines are the rows of A or the columns of B: they go along k */
    void *room;  /* NULL, or a buffer for all of it, in the strides of the product: computed before it */
} gcut_rt_operand;

/* C = A B (or C += A B), for every index of up to 4 batch axes; all strides in elements, any sign but
 * zero allowed for A and B including 0 (a repeated operand).  Same bits for any number of threads and any
 * split of m and n: k is never split. */
typedef struct gcut_rt_gemm {
    int64_t m, n, k;
    int64_t rsa, csa, rsb, csb, rsc, csc;  /* row and column strides */
    int nbatch;                            /* 0..4 */
    int accumulate;                        /* 0: C = A B, 1: C += A B */
    int64_t batch[4], sa[4], sb[4], sc[4]; /* sizes and strides of the batch axes */
    int sums;  /* 0, or which operand's sums over k are made too: a stored one; nbatch = 0 */
    void *sum; /* m (A) or n (B) elements */
    gcut_rt_operand from_a, from_b; /* with a fill, what is passed as a or b is not looked at */
} gcut_rt_gemm;

/* The sums over k of each row of A or column of B, for m, n and k of 0 too.  k falls into GCUT_RT_SUM_BLOCKS
 * blocks, cut by gcut_rt_share; the elements of a block are added one by one, then the blocks in order. */
enum { GCUT_RT_SUMS_A = 1, GCUT_RT_SUMS_B = 2, GCUT_RT_SUM_BLOCKS = 16 };

/* How often a product that `threads` threads share packs each element of A (of_b: of B), when that operand is
 * computed and the other one is in memory.  m, n and k are those of one batch; batches that continue the rows
 * of A and C under one B count as its rows.  Several batches pack at most as often, where one is work for all
 * threads.  0: the product does not pack, or is faster when the operand has been computed into a buffer before
 * it.  size: bytes of an element; whole_rows: a tile function that takes whole rows runs after the product. */
int64_t gcut_rt_gemm_packings(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size, int threads,
                              int whole_rows, int of_b);
static inline int gcut_rt_gemm_fills(int64_t m, int64_t n, int64_t k, int64_t csa, int64_t size, int threads,
                                     int whole_rows, int of_b, int64_t most)
{
    const int64_t times = gcut_rt_gemm_packings(m, n, k, csa, size, threads, whole_rows, of_b);
    return times > 0 && times <= most;
}

void gcut_rt_gemm_f32(const gcut_rt_gemm *g, const float *a, const float *b, float *c, int threads);
void gcut_rt_gemm_f64(const gcut_rt_gemm *g, const double *a, const double *b, double *c, int threads);
/* Rows r0..r1 and columns c0..c1 of C are complete, and in cache; t is the calling thread's number.  Every
 * element of C is in exactly one call.  Row i of batch b, counted in row-major order, is row b * m + i. */
typedef void gcut_rt_tile_fn(void *arg, int t, int64_t r0, int64_t r1, int64_t c0, int64_t c1);
/* The product, and tile(arg, …) on each part of C as soon as it is complete.  whole_rows: every
 * call gets all columns, also when there are none.  Uses as many threads as it is given, or fewer: what the
 * function costs, only the caller knows. */
void gcut_rt_gemm_tiled_f32(const gcut_rt_gemm *g, const float *a, const float *b, float *c,
                            gcut_rt_tile_fn *tile, void *arg, int whole_rows, int threads);
void gcut_rt_gemm_tiled_f64(const gcut_rt_gemm *g, const double *a, const double *b, double *c,
                            gcut_rt_tile_fn *tile, void *arg, int whole_rows, int threads);
/* Name of BLIS's kernels for this machine ("skx", "zen3", "haswell", "generic"), and of the register block
 * that large products are made of: "avx512", gradcut's kernel, or that name.  Initialise BLIS on first use.
 */
const char *gcut_rt_blis_name(void);
const char *gcut_rt_gemm_name(void);

/* ---- attention ---- */

/* y = softmax(q k' scale + bias) v, and its derivative; kernels/rt/attention/attention.c has the formulas.  q
 * [batch, heads, t, d], k [batch, groups, s, d], v [batch, groups, s, e], y [batch, heads, t, e], bias
 * [batch, heads, t, s]; groups divides heads.  causal: query i sees the keys up to i + s - t.  Strides in
 * elements, by axis; operands may repeat (0).  Same bits for any number of threads. */
typedef struct gcut_rt_attention {
    int64_t batch, heads, groups, t, s, d, e;
    int causal;
    double scale;
    int64_t q[4], k[4], v[4], bias[4], y[4]; /* y: also of dy */
    int64_t dq[4], dk[4], dv[4], dbias[4];
    int64_t work; /* bytes of a thread's share of the workspace */
} gcut_rt_attention;

/* A thread's share of the workspace has these numbers of elements, with r = min(t, ROWS) and sizes rounded up to a multiple of PAD as [s]:
 * forward [s] (d + r) + s [e], the derivative [s] (d + e + 2 r) + s [d] + r ([d] + [e]). */
#define GCUT_RT_ATTENTION_ROWS 32
#define GCUT_RT_ATTENTION_PAD 32

/* bias may be NULL; so may results of the derivative that are not wanted. */
void gcut_rt_attention_f32(const gcut_rt_attention *a, const float *q, const float *k, const float *v,
                           const float *bias, float *y, void *work, int threads);
void gcut_rt_attention_f64(const gcut_rt_attention *a, const double *q, const double *k, const double *v,
                           const double *bias, double *y, void *work, int threads);
void gcut_rt_attention_grad_f32(const gcut_rt_attention *a, const float *q, const float *k, const float *v,
                                const float *bias, const float *dy, float *dq, float *dk, float *dv,
                                float *dbias, void *work, int threads);
void gcut_rt_attention_grad_f64(const gcut_rt_attention *a, const double *q, const double *k, const double *v,
                                const double *bias, const double *dy, double *dq, double *dk, double *dv,
                                double *dbias, void *work, int threads);

/* ---- threads ---- */

/* Threads a step uses when asked for 0: OMP_NUM_THREADS, else every core. At least 1. */
int gcut_rt_threads(int asked);
/* Part t of `parts` of 0..n, in multiples of `grain`: [*begin, *end). */
static inline void gcut_rt_share(int64_t n, int64_t grain, int t, int parts, int64_t *begin, int64_t *end)
{
    int64_t blocks = gcut_rt_ceildiv(n, grain), q = blocks / parts, r = blocks % parts;
    int64_t b = t * q + (t < r ? t : r), e = b + q + (t < r ? 1 : 0);
    *begin = gcut_rt_min(b * grain, n);
    *end = gcut_rt_min(e * grain, n);
}

/* Runs body(arg) on the calling thread, which leads a team of at most `threads` threads, itself included;
 * gcut_rt_parallel inside of body gives them work.  There is no team when threads is 1, or inside of another
 * team.  Any thread may call this, also several at once.  Afterwards the workers sleep until the next team.
 */
void gcut_rt_team(void (*body)(void *arg), void *arg, int threads);
/* Runs kernel(arg, t, nt) for t = 0..nt-1 on nt <= threads threads and waits; directly when threads is 1, or
 * inside of such a kernel. */
void gcut_rt_parallel(void (*kernel)(void *arg, int t, int nt), void *arg, int threads);
/* Picoseconds of work that are worth a thread: handing a kernel to a team takes some 0.3 us, and moving its
 * data between caches more.  And of a multiply-add, of a matrix product or attention. */
#define GCUT_RT_GRAIN_PS INT64_C(3000000)
#define GCUT_RT_MADD_PS 15
/* How many of the threads are worth waking for n elements at ps picoseconds each. */
int gcut_rt_worth(int threads, int64_t n, int64_t ps);

/* The same, at least 1 and at most `most`. */
static inline int gcut_rt_threads_worth(int threads, int64_t n, int64_t ps, int64_t most)
{
    return (int)gcut_rt_max(gcut_rt_min(gcut_rt_worth(threads, n, ps), most), 1);
}

/* Rows of a matrix product that its epilogue follows at once, when every thread has that many. */
#define GCUT_RT_TILE 128
static inline int gcut_rt_tiles(int64_t rows, int threads)
{
    return rows >= (int64_t)GCUT_RT_TILE * threads;
}
/* Threads of an epilogue, whichever way it runs: tiled_ps includes the product's cost. */
static inline int gcut_rt_epilogue_threads(int threads, int64_t n, int64_t ps, int64_t rows, int64_t tiled_ps)
{
    return gcut_rt_tiles(rows, threads) ? gcut_rt_worth(threads, n, tiled_ps)
                                        : gcut_rt_threads_worth(threads, n, ps, rows);
}

/* ---- indices ---- */

/* The first bad index a kernel met: its position in row-major order, INT64_MAX = none. */
typedef struct gcut_rt_fault {
    int64_t at, found;
} gcut_rt_fault;
#define GCUT_RT_NO_FAULT                                                                                     \
    {                                                                                                        \
        INT64_MAX, 0                                                                                         \
    }

/* i, or 0 and a note in *f when it is not 0 <= i < limit. */
GCUT_INLINE int64_t gcut_rt_bounded(int64_t i, int64_t limit, int64_t at, gcut_rt_fault *f)
{
    if (i >= 0 && i < limit) return i;
    if (at < f->at) f->at = at, f->found = i;
    return 0;
}
/* Merges one thread's finding into the call's; any order of the threads gives the same result. */
void gcut_rt_note(gcut_rt_fault *all, const gcut_rt_fault *mine);

/* ---- data movement ---- */

#define GCUT_RT_MAX_RANK 8

/* The least bytes of a result that is written past the caches: the size of the last cache, or what the
 * environment variable GRADCUT_STREAM_BYTES says at the first call. */
int64_t gcut_rt_stream_bytes(void);
/* The least bytes of a row that gcut_rt_copy and gcut_rt_take write past the caches, in results of that
 * size. */
#define GCUT_RT_STREAM_ROW 1024
/* memcpy, past the caches but for parts of lines at the ends. */
void gcut_rt_stream(void *dst, const void *src, int64_t bytes);
/* A thread that has called gcut_rt_stream or gcut_rt_line calls this before other threads may read the
 * result. */
void gcut_rt_streamed(void);
/* The number of elements, of `size` bytes each, before the first line that begins at or after p. */
static inline int64_t gcut_rt_to_line(const void *p, int64_t size)
{
    return (int64_t)(-(uintptr_t)p % 64) / size;
}
/* Stores 64 bytes past the caches; both addresses are aligned to 64.  By compiler built-ins, because the
 * header of the intrinsics takes long to compile. */
static inline void gcut_rt_line(void *line, const void *from)
{
#if defined __clang__ && defined __has_builtin
#define GCUT_RT_PAST(vector, bytes, store)                                                                   \
    for (int i = 0; i < 64; i += bytes)                                                                      \
        __builtin_nontemporal_store(*(const vector *)((const char *)from + i), (vector *)((char *)line + i));
#else
#define GCUT_RT_PAST(vector, bytes, store)                                                                   \
    for (int i = 0; i < 64; i += bytes)                                                                      \
        store((float *)((char *)line + i), *(const vector *)((const char *)from + i));
#endif
#if defined __GNUC__ && defined __AVX512F__
    typedef float gcut_rt_wide __attribute__((vector_size(64), may_alias));
    GCUT_RT_PAST(gcut_rt_wide, 64, __builtin_ia32_movntps512)
#elif defined __GNUC__ && defined __AVX__
    typedef float gcut_rt_wide __attribute__((vector_size(32), may_alias));
    GCUT_RT_PAST(gcut_rt_wide, 32, __builtin_ia32_movntps256)
#elif defined __GNUC__ && defined __SSE__
    typedef float gcut_rt_wide __attribute__((vector_size(16), may_alias));
    GCUT_RT_PAST(gcut_rt_wide, 16, __builtin_ia32_movntps)
#else
    memcpy(line, from, 64);
#endif
#undef GCUT_RT_PAST
}

/* dst[i0*ds0 + ...] = src[i0*ss0 + ...] for every index below dim; strides in elements of `size` bytes. */
void gcut_rt_copy(int rank, const int64_t *dim, size_t size, const void *src, const int64_t *ss, void *dst,
                  const int64_t *ds, int threads);
/* dst (packed) = the f16 or bf16 numbers of src in f32. */
void gcut_rt_widen_f16(int rank, const int64_t *dim, const uint16_t *src, const int64_t *ss, float *dst,
                       int threads);
void gcut_rt_widen_bf16(int rank, const int64_t *dim, const uint16_t *src, const int64_t *ss, float *dst,
                        int threads);
/* Bools as bits: bool k is bit k % 8 of byte k / 8; what is left of the last byte is 0. */
void gcut_rt_pack_bits(int64_t n, const uint8_t *src, uint8_t *dst, int threads);
/* dst (packed) = the bools of src from bit `offset` on; strides in bits. */
void gcut_rt_unpack_bits(int rank, const int64_t *dim, const uint8_t *src, int64_t offset, const int64_t *ss,
                         uint8_t *dst, int threads);
GCUT_INLINE uint8_t gcut_rt_bit(const uint8_t *p, int64_t i)
{
    return p[i >> 3] >> (i & 7) & 1;
}
/* A word whose lowest byte is the first in memory, as the machine has it, and back. */
static inline uint64_t gcut_rt_little(uint64_t w)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(w);
#else
    return w;
#endif
}
/* out[k] = bool i + k, k < n.  Of eight equal bytes each keeps another bit, which 0x7f more carries to the
 * top of its byte and to no other. */
static inline void gcut_rt_bits(const uint8_t *p, int64_t i, int64_t n, uint8_t *out)
{
    int64_t head = -i & 7;
    if (head > n) head = n;
    for (int64_t k = 0; k < head; k++) out[k] = gcut_rt_bit(p, i + k);
    const uint8_t *const whole = p + ((i + head) >> 3);
    uint8_t *const to = out + head;
    const int64_t bytes = (n - head) >> 3;
    GCUT_RT_APART for (int64_t b = 0; b < bytes; b++)
    {
        uint64_t w = whole[b] * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
        w = gcut_rt_little((w + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101));
        memcpy(to + 8 * b, &w, 8);
    }
    for (int64_t k = head + 8 * bytes; k < n; k++) out[k] = gcut_rt_bit(p, i + k);
}
void gcut_rt_fill(void *dst, int64_t n, size_t size, const void *value);
/* dst (packed; numbers of `size` bytes, of 4 or 8 when real) = offset + i0*s0 + ... */
void gcut_rt_iota(int rank, const int64_t *dim, const int64_t *stride, int64_t offset, size_t size, int real,
                  void *dst);
/* out[o, k, :] = x[o, i[k], :]; x is outer * axis * inner elements of `size` bytes; isize 4 or 8. */
void gcut_rt_take(size_t size, int64_t outer, int64_t axis, int64_t inner, const void *x, const void *i,
                  int isize, int64_t n, void *out, gcut_rt_fault *fault, int threads);
/* out[o, i[k], :] += u[o, k, :], in the order of k for every element of out. */
#define GCUT_RT_SCATTER(name, type)                                                                          \
    void gcut_rt_scatter_add_##name(int64_t outer, int64_t axis, int64_t inner, type *out, const void *i,    \
                                    int isize, int64_t n, const type *u, gcut_rt_fault *fault, int threads);
GCUT_RT_SCATTER(f32, float)
GCUT_RT_SCATTER(f64, double)
GCUT_RT_SCATTER(i8, int8_t)
GCUT_RT_SCATTER(i16, int16_t)
GCUT_RT_SCATTER(i32, int32_t)
GCUT_RT_SCATTER(i64, int64_t)
GCUT_RT_SCATTER(u8, uint8_t)
#undef GCUT_RT_SCATTER

typedef enum gcut_rt_reduction { GCUT_RT_add, GCUT_RT_mul, GCUT_RT_max, GCUT_RT_min } gcut_rt_reduction;
/* out (packed over the axes not in mask) = x combined over the axes in mask, in an order that their sizes
 * alone decide; floats in double. */
#define GCUT_RT_REDUCE(name, type)                                                                           \
    void gcut_rt_reduce_##name(gcut_rt_reduction how, int rank, const int64_t *dim, const int64_t *stride,   \
                               unsigned mask, const type *x, type *out, int threads);
GCUT_RT_REDUCE(f32, float)
GCUT_RT_REDUCE(f64, double)
GCUT_RT_REDUCE(i8, int8_t)
GCUT_RT_REDUCE(i16, int16_t)
GCUT_RT_REDUCE(i32, int32_t)
GCUT_RT_REDUCE(i64, int64_t)
GCUT_RT_REDUCE(u8, uint8_t)
#undef GCUT_RT_REDUCE

/* out = the running sums of x along the middle axis of [outer, n, inner], both packed; from the end on when
 * reverse.  Floats are added in double, in order, and rounded to the type at every element. */
#define GCUT_RT_CUMSUM(name, type)                                                                           \
    void gcut_rt_cumsum_##name(int64_t outer, int64_t n, int64_t inner, int reverse, const type *x,          \
                               type *out, int threads);
GCUT_RT_CUMSUM(f32, float)
GCUT_RT_CUMSUM(f64, double)
GCUT_RT_CUMSUM(i8, int8_t)
GCUT_RT_CUMSUM(i16, int16_t)
GCUT_RT_CUMSUM(i32, int32_t)
GCUT_RT_CUMSUM(i64, int64_t)
GCUT_RT_CUMSUM(u8, uint8_t)
#undef GCUT_RT_CUMSUM

/* out = the indices of x along the middle axis of [outer, n, inner], both packed, in the order of the elements: rising or
 * falling, NaN the largest, equal ones in the order of their indices.  Each thread, of at most outer * inner, uses
 * GCUT_RT_ARGSORT_BYTES * n bytes of work, rounded up to cache lines of 64 bytes, at which it begins. */
#define GCUT_RT_ARGSORT_BYTES 32
#define GCUT_RT_ARGSORT(name, type)                                                                          \
    void gcut_rt_argsort_##name(int64_t outer, int64_t n, int64_t inner, int descending, const type *x,      \
                                int64_t *out, void *work, int threads);
GCUT_RT_ARGSORT(f32, float)
GCUT_RT_ARGSORT(f64, double)
GCUT_RT_ARGSORT(i8, int8_t)
GCUT_RT_ARGSORT(i16, int16_t)
GCUT_RT_ARGSORT(i32, int32_t)
GCUT_RT_ARGSORT(i64, int64_t)
GCUT_RT_ARGSORT(u8, uint8_t)
#undef GCUT_RT_ARGSORT

/* ---- checks of a call ---- */

/* EDIM unless each of these sizes in bytes is below 2^48: then neither they nor the sum of many overflow. */
#define GCUT_RT_MAX_BYTES (INT64_C(1) << 48)
gcut_rt_status gcut_rt_fits(const double *bytes, int n, gcut_rt_error *err);

/* One bound value of a call. */
typedef struct gcut_rt_span {
    const void *at;
    int64_t bytes;
    const char *name;
    int align; /* bytes of an element */
    int written;
} gcut_rt_span;

/* No null (unless empty), aligned elements, arena aligned to 64 bytes, the arena and every written value
 * apart from everything else. */
gcut_rt_status gcut_rt_check(const gcut_rt_span *s, int n, const void *arena, int64_t arena_bytes,
                             gcut_rt_error *err);

/* One pointer of NAME_io: where it is in there, size[size] bytes, the graphs that touch it, as bits: 1
 * forward, 2 backward. */
typedef struct gcut_rt_argument {
    const char *name;
    size_t offset;
    int32_t size;
    int16_t align, written;
    uint32_t halves;
} gcut_rt_argument;

/* Fills s with the arguments that `halves` touch; returns how many there are. */
int gcut_rt_spans(const gcut_rt_argument *a, int n, const int64_t *size, const void *io, unsigned halves,
                  gcut_rt_span *s);

/* ---- the time of launches ---- */

/* The caller's: ns[k] grows by what launch k<k> took, runs[k] by one, for k below NAME_NLAUNCHES.  A step fills it where
 * the plan points to one (NAME_plan.head.profile). */
typedef struct gcut_rt_profile {
    int64_t *ns, *runs;
    int64_t last; /* when the launch before ended */
    /* NULL, or busy_ns[k * threads + t] grows by how long thread t computed in launch k.  Thread 0 calls the step: of it,
     * what the launch took but for its waiting for others. */
    int64_t *busy_ns;
    int threads;
} gcut_rt_profile;
/* Ends launch k; a negative k ends nothing: time counts from now on. */
void gcut_rt_lap(gcut_rt_profile *p, int k);
/* Writes what `steps` steps took to a file, from which `gradcut prof --times FILE`, with the options that the step was
 * emitted with, makes its table, trace and pictures.  0, or -1 with errno. */
int gcut_rt_write_times(const char *path, const gcut_rt_profile *p, int launches, int64_t steps);

/* ---- plans, and steps called by name ---- */

/* Every NAME_plan begins with this. */
typedef struct gcut_rt_plan {
    int64_t arena_bytes; /* what the caller provides, aligned to 64 */
    int64_t saved_bytes; /* of it, values that live from forward to backward */
    int threads;
    gcut_rt_profile *profile; /* NULL, as init leaves it: launches are not timed */
    int64_t stream_bytes;     /* least bytes of a loop's result that is written past the caches */
    /* Of a step whose forward and backward graph are called apart, else 0.  Its saved values are in a block
     * of saved_bytes, with a head, and not in the arena. */
    int64_t forward_bytes, backward_bytes; /* of the arena that each call touches: from its beginning */
    uint64_t step, sizes;                  /* what blocks are told apart by */
    uint64_t updates; /* 0, as init leaves it.  Who counts updates of parameters and states here has blocks
                         that were filled before one refused after it */
} gcut_rt_plan;

/* ---- forward and backward called apart ---- */

/* A block of saved values is memory of the caller's, saved_bytes long and aligned to 64 bytes.  A forward
 * call fills it, whatever it holds; one backward call of the same step at the same sizes uses it up.  Between
 * the two it may be copied and moved.  Several may be filled at a time. */

/* Numbers that tell sizes apart. */
uint64_t gcut_rt_sizes(const int64_t *size, int n);
/* Before a call that runs `halves` (1 forward, 2 backward, 3 both).  GCUT_RT_ENULL, GCUT_RT_EALIGN;
 * GCUT_RT_EBLOCK where a backward call finds a block that no forward call of this step has filled at these
 * sizes, or that was used up. */
gcut_rt_status gcut_rt_open_saved(const gcut_rt_plan *plan, void *saved, unsigned halves, gcut_rt_error *err);
/* After it: whether it was filled. */
void gcut_rt_close_saved(void *saved, unsigned halves, gcut_rt_status status);
/* The address of each slot of the arena or the block. */
void gcut_rt_slot_places(const int64_t *off, int n, void *arena, void *saved, void **at);

/* ---- launches ---- */

struct gcut_rt_call;

/* What one function of a launch is given. */
typedef struct gcut_rt_args {
    struct gcut_rt_call *x;
    void *const *b;       /* its buffers */
    const int64_t *n;     /* its numbers: sizes, strides, offsets, that equal functions differ in */
    gcut_rt_fault *fault; /* its index checks */
} gcut_rt_args;

/* The function of a launch. */
typedef void gcut_rt_kernel_fn(const gcut_rt_args *args);

/* An index check: what is to be said of a bad index. */
typedef struct gcut_rt_site {
    const char *what, *where;
    int64_t limit; /* of the axis, or GCUT_RT_SIZE(k) */
} gcut_rt_site;

/* A call of a step while it runs. */
typedef struct gcut_rt_call {
    const gcut_rt_plan *plan;
    gcut_rt_kernel_fn *const *function;
    const gcut_rt_site *site;
    const int64_t *size; /* the values of GCUT_RT_SIZE(0), GCUT_RT_SIZE(1), … */
    void **at;           /* every buffer */
    gcut_rt_fault *fault;
    void **b; /* room for the buffers and the numbers of one launch */
    int64_t *n;
    unsigned halves;
    gcut_rt_status status;
    gcut_rt_error *err;
} gcut_rt_call;

/* In place of a number: size k of the call. */
#define GCUT_RT_SIZE(k) (INT64_MIN + (k))
/* The most functions of a launch that have arguments: a product, two operands, an epilogue. */
#define GCUT_RT_LAUNCH 4

/* Runs the launches in code..end, one after the other.  A launch is a list of numbers: the function, the
 * launch's own number, that of its first index check, how many of them; how many functions have arguments;
 * then for each of these: how many buffers, which of x->at they are; how many numbers, and these.  Returns
 * GCUT_RT_EINDEX after the first launch that met a bad index. */
gcut_rt_status gcut_rt_launch(gcut_rt_call *x, const int64_t *code, const int64_t *end);
/* Runs kernel(args, t, r0, r1, 0, 0) on parts of 0..rows, one for each of `threads` threads. */
void gcut_rt_rows(gcut_rt_tile_fn *kernel, const gcut_rt_args *args, int64_t rows, int threads);

/* NAME.c may be compiled as P objects at the same time, with -DGCUT_RT_PART=0 to P - 1; its last line has P.
 * Linked into the same program or shared object, they are equivalent to the object of the whole file. */
#ifndef GCUT_RT_PART
#define GCUT_RT_HAS_PART(k) 1
#define GCUT_RT_LOCAL static
#else
#define GCUT_RT_HAS_PART(k) (GCUT_RT_PART == (k))
#ifdef __GNUC__
#define GCUT_RT_LOCAL __attribute__((visibility("hidden")))
#else
#define GCUT_RT_LOCAL
#endif
#endif

enum { GCUT_RT_FORWARD = 1, GCUT_RT_BACKWARD = 2, GCUT_RT_STEP = 3 };
#ifdef __GNUC__
#define GCUT_RT_EXPORT __attribute__((visibility("default")))
#else
#define GCUT_RT_EXPORT
#endif

/* What a loader that does not know the model at compile time needs; NAME_entry. */
typedef struct gcut_rt_entry {
    int abi;
    const char *name;
    int ndims, nvalues; /* values in the order of NAME_io */
    size_t plan_size;
    gcut_rt_status (*init)(void *plan, const int64_t *dims, int threads, gcut_rt_error *err);
    /* saved: NULL unless calls come apart */
    gcut_rt_status (*run)(const void *plan, void *const *values, void *saved, void *arena, int which,
                          gcut_rt_error *err);
    const gcut_rt_table *values;
} gcut_rt_entry;

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* ---- scalar functions ---- */

#include "gradcut/rt_math.h"

#endif
