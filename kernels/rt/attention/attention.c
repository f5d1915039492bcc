/* SPDX-License-Identifier: MIT
 *
 * Attention and its derivative without a T x S matrix: blocks of queries, whole rows of their scores.
 *
 *   S = q k' scale + bias, causal: -inf for the keys s > t + (S - T)
 *   P = softmax S            row by row
 *   y = P v
 *
 *   dv = P' dy               dP = dy v'
 *   dS = P o (dP - rowsum(P o dP)), 0 where causal masks
 *   dbias = dS               dq = dS k scale           dk = dS' q scale
 *
 * The derivative computes P again from q, k and bias by the function that computed it in the first place, so
 * it has the same bits.  A block of queries reads no keys after the last one that its last query sees.
 *
 * Work is dealt out by blocks of queries; in the derivative by groups, so that dk and dv of a group have one
 * owner, who adds heads and blocks in their order.  Block sizes do not depend on threads, and the small
 * product gives an element bits that depend on its row and column alone: so results do not depend on threads.
 */
#include "gradcut/gradcut_rt.h"

#include "kernels/rt/gemm/pack.h"
#include "kernels/rt/gemm/small_product.h"

enum { ROWS = GCUT_RT_ATTENTION_ROWS, PAD = GCUT_RT_ATTENTION_PAD, ACCUMULATORS = PAD };

/* The arguments of a launch; results that are not wanted are NULL. */
typedef struct job {
    const gcut_rt_attention *a;
    const void *q, *k, *v, *bias, *dy;
    void *y, *dq, *dk, *dv, *dbias;
    char *work;
} job;

/* Queries t0..t1 of one head.  keys: how many of them any query of the block sees; width: the same rounded
 * up to whole sets of accumulators; a block with a query that sees none has them all, for its row is NaN
 * throughout. */
typedef struct span {
    int64_t batch, group, head, t0, t1, keys, width;
} span;

static int64_t padded(int64_t n)
{
    return gcut_rt_ceildiv(n, PAD) * PAD;
}

/* How many rows of a block there is room for: none where there are no queries. */
static int64_t block_rows(const gcut_rt_attention *a)
{
    return gcut_rt_min(a->t, ROWS);
}

/* How many keys query t sees. */
static int64_t seen(const gcut_rt_attention *a, int64_t t)
{
    return a->causal ? gcut_rt_max(gcut_rt_min(t + 1 + a->s - a->t, a->s), 0) : a->s;
}

static span span_of(const gcut_rt_attention *a, int64_t batch, int64_t head, int64_t block)
{
    int64_t t0 = block * ROWS, t1 = gcut_rt_min(t0 + ROWS, a->t);
    int64_t keys = seen(a, t0) == 0 ? a->s : seen(a, t1 - 1);
    return (span){batch, head / (a->heads / a->groups), head, t0, t1, keys, padded(keys)};
}

/* Where element (batch, head or group, row, 0) is. */
static int64_t at(const int64_t *stride, int64_t batch, int64_t head, int64_t row)
{
    return batch * stride[0] + head * stride[1] + row * stride[2];
}

/* Joins the accumulators pairwise, lane l with lane l + w: written out, as a loop over w would not unroll.
 */
#define JOIN_STEP(width, statement)                                                                          \
    for (int l = 0, w = width; l < width; l++) statement;
#define JOIN(statement)                                                                                      \
    JOIN_STEP(16, statement)                                                                                 \
    JOIN_STEP(8, statement) JOIN_STEP(4, statement) JOIN_STEP(2, statement) JOIN_STEP(1, statement)
_Static_assert(ACCUMULATORS == 32, "JOIN begins with half of them");

/* e^x for x <= 0; 0 where the result would be subnormal. */
static inline float decay_f32(float x)
{
    float p = gcut_expsmall_f32(x < -87.0f ? -87.0f : x);
    return x < -87.0f ? 0.0f : p;
}
static inline double decay_f64(double x)
{
    return gcut_exp_f64(x);
}

/* Of f64 there is the base instance alone, because its exp is libm's and there is little to vectorise. */
#define KERNEL "kernels/rt/attention/attention_rows.h"
#define TYPE f32
#include "kernels/rt/each_isa_kernel.h"
#undef TYPE
#define TYPE f64
#define ISA base
#include "kernels/rt/each_isa_kernel.h"
#undef ISA
#undef TYPE
#undef KERNEL

OVERRIDES(softmax_f32);
OVERRIDES(divide_f32);
OVERRIDES(backward_f32);
#define RUN_f32(f) f##_f32[gcut_rt_isa()]
#define RUN_f64(f) f##_f64_base
#define RUN PASTE(RUN, TYPE)

#define TEMPLATE "kernels/rt/attention/attention_type.h"
#include "kernels/rt/each_type.h"
