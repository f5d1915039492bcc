/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What each composite op means: its decomposition, as formulas over primitives
 * and other composites.  The interpreter evaluates these, autodiff
 * differentiates those whose vjp column says so, and kernels/ lowers them where
 * it has nothing better.
 *
 * Half precisions are computed in f32 and rounded once at the end, except for
 * attention, whose products would double in size, and pick, which is exact.
 */
#include "graph/passes.h"

#include <math.h>
#include <string.h>

/* Operands are in b->g; node's attributes are read from src. node is a copy: b may append to src itself. */
typedef gcut_ref meaning_fn(gcut_build *b, const gcut_graph *src, const gcut_node *node, const gcut_ref *x);

static gcut_type type_of(const gcut_build *b, gcut_ref x)
{
    return *gcut_type_of(b->g, x);
}
static uint32_t all_axes(const gcut_build *b, gcut_ref x)
{
    return (1u << type_of(b, x).rank) - 1;
}
static uint32_t last_axis(const gcut_build *b, gcut_ref x)
{
    return 1u << (type_of(b, x).rank - 1);
}

static uint32_t axis_attr(const gcut_graph *src, const gcut_node *node)
{
    return 1u << gcut_attr_get(src, node, GCUT_A_axis)->u.dim;
}

static uint32_t axes_attr(const gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref x)
{
    return gcut_attr_get(src, node, GCUT_A_axes) ? gcut_attr_axes(src, node) : all_axes(b, x);
}

/* r, reduced over mask, with its axes back as size 1 where the node says keep. */
static gcut_ref kept(gcut_build *b, const gcut_graph *src, const gcut_node *node, gcut_ref r, gcut_ref x,
                     uint32_t mask)
{
    gcut_type t = type_of(b, x);
    if (!gcut_attr_flag(src, node, GCUT_A_keep)) return r;
    for (uint32_t d = 0; d < t.rank; d++)
        if (mask >> d & 1) t.dim[d] = 1;
    return gcut_breshape(b, r, t.dim, t.rank);
}

static gcut_ref op_with_axis(gcut_build *b, gcut_op op, const gcut_ref *x, uint32_t n, uint32_t axis)
{
    gcut_attr a = gcut_attr_dim(GCUT_A_axis, axis);
    return gcut_node_new(b->g, op, x, n, &a, 1, b->loc, b->name);
}

/* max over mask as a constant: in every use below a shift of x by it cancels, and so do its derivatives. */
static gcut_ref shift_of(gcut_build *b, gcut_ref x, uint32_t mask)
{
    return gcut_b1(b, GCUT_OP_stop_gradient, gcut_breduce(b, GCUT_OP_max_reduce, x, mask));
}

/* v, a vector along the last axis of x, repeated to x's shape. */
static gcut_ref along_last(gcut_build *b, gcut_ref v, gcut_ref x)
{
    return gcut_bexpand(b, v, x, last_axis(b, x) - 1);
}

/* ---- reductions ---- */

/* y = sum(x) / n */
static gcut_ref gcut_meaning_mean(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                  const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref s = gcut_breduce(b, GCUT_OP_sum, x[0], mask);
    return kept(b, src, node, gcut_b2(b, GCUT_OP_div, s, gcut_bcount(b, x[0], mask, s)), x[0], mask);
}

/* y = sum over c of (c == i ? x[.., c, ..] : 0).  An index out of range would pick 0, hence `bounded`. */
static gcut_ref gcut_meaning_pick(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                  const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_dim axis = gcut_attr_get(src, node, GCUT_A_axis)->u.dim;
    gcut_type t = type_of(b, x[0]);
    t.dtype = type_of(b, x[1]).dtype;
    t.ordered = false;
    gcut_attr of = gcut_attr_dim(GCUT_A_of, t.dim[axis]);
    gcut_ref i = gcut_node_new(b->g, GCUT_OP_bounded, &x[1], 1, &of, 1, b->loc, b->name);
    gcut_ref here = gcut_b2(b, GCUT_OP_eq, gcut_biota(b, &t, (int)axis), gcut_bexpand(b, i, x[0], mask));
    return gcut_breduce(b, GCUT_OP_sum, gcut_bselect(b, here, x[0], gcut_bconst(b, x[0], 0)), mask);
}

/* y = e / sum(e), e = exp(x - max x).  A row of -inf alone gives NaN, as -inf - -inf does. */
static gcut_ref gcut_meaning_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                     const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_ref m = gcut_bexpand(b, shift_of(b, x[0], mask), x[0], mask);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], m));
    return gcut_b2(b, GCUT_OP_div, e, gcut_bexpand(b, gcut_breduce(b, GCUT_OP_sum, e, mask), x[0], mask));
}

/* y = z - log sum exp z, z = x - max x: the logarithm's argument is at least 1. */
static gcut_ref gcut_meaning_log_softmax(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                         const gcut_ref *x)
{
    uint32_t mask = axis_attr(src, node);
    gcut_ref m = gcut_bexpand(b, shift_of(b, x[0], mask), x[0], mask);
    gcut_ref z = gcut_b2(b, GCUT_OP_sub, x[0], m);
    gcut_ref s = gcut_breduce(b, GCUT_OP_sum, gcut_b1(b, GCUT_OP_exp, z), mask);
    return gcut_b2(b, GCUT_OP_sub, z, gcut_bexpand(b, gcut_b1(b, GCUT_OP_log, s), x[0], mask));
}

/* y = m + log sum exp(x - m), m = max x, or 0 where that is infinite: then a row of -inf alone gives
 * log 0 = -inf and a row with +inf gives +inf. */
static gcut_ref gcut_meaning_logsumexp(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                       const gcut_ref *x)
{
    uint32_t mask = axes_attr(b, src, node, x[0]);
    gcut_ref top = shift_of(b, x[0], mask);
    gcut_ref infinite = gcut_b2(b, GCUT_OP_eq, gcut_b1(b, GCUT_OP_abs, top), gcut_bconst(b, top, INFINITY));
    gcut_ref m = gcut_bselect(b, infinite, gcut_bconst(b, top, 0), top);
    gcut_ref e = gcut_b1(b, GCUT_OP_exp, gcut_b2(b, GCUT_OP_sub, x[0], gcut_bexpand(b, m, x[0], mask)));
    gcut_ref l = gcut_b1(b, GCUT_OP_log, gcut_breduce(b, GCUT_OP_sum, e, mask));
    return kept(b, src, node, gcut_b2(b, GCUT_OP_add, l, m), x[0], mask);
}

/* ---- normalisation ---- */

/* d / sqrt(mean d^2 + eps) over the last axis */
static gcut_ref normalise(gcut_build *b, gcut_ref d, double eps)
{
    uint32_t mask = last_axis(b, d);
    gcut_ref var = gcut_breduce(b, GCUT_OP_mean, gcut_b2(b, GCUT_OP_mul, d, d), mask);
    gcut_ref r = gcut_b1(b, GCUT_OP_rsqrt, gcut_baddc(b, var, eps));
    return gcut_b2(b, GCUT_OP_mul, d, gcut_bexpand(b, r, d, mask));
}

/* y = d / sqrt(mean d^2 + eps) g + b, d = x - mean x (Ba, Kiros & Hinton 2016; biased variance) */
static gcut_ref gcut_meaning_layer_norm(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                        const gcut_ref *x)
{
    uint32_t mask = last_axis(b, x[0]);
    gcut_ref mean = gcut_breduce(b, GCUT_OP_mean, x[0], mask);
    gcut_ref d = gcut_b2(b, GCUT_OP_sub, x[0], gcut_bexpand(b, mean, x[0], mask));
    gcut_ref y = normalise(b, d, gcut_attr_num(src, node, GCUT_A_eps));
    return gcut_b2(b, GCUT_OP_add, gcut_b2(b, GCUT_OP_mul, y, along_last(b, x[1], y)),
                   along_last(b, x[2], y));
}

/* y = x / sqrt(mean x^2 + eps) g (Zhang & Sennrich 2019) */
static gcut_ref gcut_meaning_rms_norm(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                      const gcut_ref *x)
{
    gcut_ref y = normalise(b, x[0], gcut_attr_num(src, node, GCUT_A_eps));
    return gcut_b2(b, GCUT_OP_mul, y, along_last(b, x[1], y));
}

/* ---- losses ---- */

/* y = mean (a - b)^2 */
static gcut_ref gcut_meaning_mse(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                 const gcut_ref *x)
{
    (void)src, (void)node;
    gcut_ref d = gcut_b2(b, GCUT_OP_sub, x[0], x[1]);
    return gcut_breduce(b, GCUT_OP_mean, gcut_b2(b, GCUT_OP_mul, d, d), all_axes(b, d));
}

/* loss = sum over rows with label != ignore of -((1 - s) p[label] + s mean p), divided by their number, where
 * p = log_softmax(logits).  s = smooth is label smoothing as in PyTorch; no row at all gives 0 / 0 = NaN.
 * Ignored rows are selected away, not multiplied by 0, so that an infinity in them does not spread; their
 * labels become 0 first, because `ignore` is no index. */
static gcut_ref gcut_meaning_cross_entropy(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                           const gcut_ref *x)
{
    double ignore = gcut_attr_num(src, node, GCUT_A_ignore), smooth = gcut_attr_num(src, node, GCUT_A_smooth);
    uint32_t last = last_axis(b, x[0]), axis = type_of(b, x[0]).rank - 1u;
    gcut_ref p = op_with_axis(b, GCUT_OP_log_softmax, x, 1, axis);
    gcut_ref counts = gcut_b2(b, GCUT_OP_ne, x[1], gcut_bconst(b, x[1], ignore));
    gcut_ref label = gcut_bselect(b, counts, x[1], gcut_bconst(b, x[1], 0));
    gcut_ref row = op_with_axis(b, GCUT_OP_pick, (gcut_ref[]){p, label}, 2, axis);
    if (smooth != 0) {
        gcut_ref even = gcut_bscale(b, gcut_breduce(b, GCUT_OP_mean, p, last), smooth);
        row = gcut_b2(b, GCUT_OP_add, gcut_bscale(b, row, 1 - smooth), even);
    }
    row = gcut_bselect(b, counts, gcut_b1(b, GCUT_OP_neg, row), gcut_bconst(b, row, 0));
    gcut_ref n = gcut_bcast(b, counts, type_of(b, p).dtype);
    return gcut_b2(b, GCUT_OP_div, gcut_breduce(b, GCUT_OP_sum, row, all_axes(b, row)),
                   gcut_breduce(b, GCUT_OP_sum, n, all_axes(b, n)));
}

/* ---- attention ---- */

/* [B,G,S,D] -> [B,H,S,D]: each group serves H / G heads that follow one another. */
static gcut_ref repeat_heads(gcut_build *b, gcut_ref x, gcut_dim heads)
{
    gcut_type t = type_of(b, x);
    if (t.dim[1] == heads) return x;
    gcut_dim times = gcut_dim_make(b->g->module->dims, GCUT_DIM_DIV, heads, t.dim[1]);
    gcut_dim wide[] = {t.dim[0], t.dim[1], times, t.dim[2], t.dim[3]}, axes[] = {0, 1, 3, 4};
    gcut_dim full[] = {t.dim[0], heads, t.dim[2], t.dim[3]};
    return gcut_breshape(b, gcut_bbroadcast(b, x, wide, 5, axes), full, 4);
}

/* A size as an integer array of type t. */
static gcut_ref size_like(gcut_build *b, gcut_dim size, const gcut_type *t)
{
    if (gcut_dim_known(size)) return gcut_bfull(b, t, (double)size);
    gcut_attr of = gcut_attr_dim(GCUT_A_of, size);
    gcut_ref n = gcut_bcast(b, gcut_node_new(b->g, GCUT_OP_dim, NULL, 0, &of, 1, b->loc, b->name), t->dtype);
    return gcut_bbroadcast(b, n, t->dim, t->rank, NULL);
}

/* Query t sees key s when s <= t + (S - T): the last query sees every key (aligned bottom right, as when a
 * few new queries follow cached keys).  With T > S the first T - S queries see none, and their rows are NaN.
 */
static gcut_ref mask_future(gcut_build *b, gcut_ref scores)
{
    gcut_type t = type_of(b, scores);
    t.dtype = GCUT_i64;
    gcut_ref query = gcut_biota(b, &t, 2), key = gcut_biota(b, &t, 3);
    if (t.dim[2] != t.dim[3]) {
        query = gcut_b2(b, GCUT_OP_add, query, size_like(b, t.dim[3], &t));
        key = gcut_b2(b, GCUT_OP_add, key, size_like(b, t.dim[2], &t));
    }
    return gcut_bselect(b, gcut_b2(b, GCUT_OP_le, key, query), scores, gcut_bconst(b, scores, -INFINITY));
}

/* y = softmax(q k' scale + bias) v (Vaswani et al. 2017), scale = 1 / sqrt(D) unless given */
static gcut_ref gcut_meaning_attention(gcut_build *b, const gcut_graph *src, const gcut_node *node,
                                       const gcut_ref *x)
{
    const gcut_attr *given = gcut_attr_get(src, node, GCUT_A_scale);
    bool has_scale = given != NULL, has_bias = node->nargs == 4;
    double scale = has_scale ? given->u.num.f : 0;
    bool causal = gcut_attr_flag(src, node, GCUT_A_causal);
    gcut_type q = type_of(b, x[0]);
    gcut_ref k = repeat_heads(b, x[1], q.dim[1]), v = repeat_heads(b, x[2], q.dim[1]);
    gcut_ref scores = gcut_bmatmul(b, x[0], k, false, true);
    if (has_scale || gcut_dim_known(q.dim[3]))
        scores = gcut_bscale(b, scores, has_scale ? scale : 1 / sqrt((double)q.dim[3]));
    else
        scores =
            gcut_b2(b, GCUT_OP_mul, scores, gcut_b1(b, GCUT_OP_rsqrt, gcut_bcount(b, x[0], 1u << 3, scores)));
    if (has_bias) scores = gcut_b2(b, GCUT_OP_add, scores, x[3]);
    if (causal) scores = mask_future(b, scores);
    return gcut_bmatmul(b, op_with_axis(b, GCUT_OP_softmax, &scores, 1, 3), v, false, false);
}

/* ---- dispatch ---- */

#define E(...) NULL
#define T(fn) NULL
#define D(fn) gcut_meaning_##fn
#define NO NULL
static meaning_fn *const meanings[GCUT_NOPS] = {
#define OP(name, operands, dtypes, attrs, shape, feval, ...) [GCUT_OP_##name] = feval,
#include "graph/ops.def"
#undef OP
};
#undef NO
#undef D
#undef T
#undef E

gcut_ref gcut_meaning(gcut_build *b, const gcut_graph *src, uint32_t n, const gcut_ref *args)
{
    gcut_node node = src->nodes.at[n];
    GCUT_ASSERT(meanings[node.op] != NULL);
    gcut_dtype t = type_of(b, args[0]).dtype;
    bool half = (t == GCUT_f16 || t == GCUT_bf16) && node.op != GCUT_OP_attention && node.op != GCUT_OP_pick;
    if (!half) return meanings[node.op](b, src, &node, args);
    gcut_ref wide[4];
    GCUT_ASSERT(node.nargs <= 4);
    for (uint32_t k = 0; k < node.nargs; k++)
        wide[k] = gcut_dtype_is_float(type_of(b, args[k]).dtype) ? gcut_bcast(b, args[k], GCUT_f32) : args[k];
    return gcut_bcast(b, meanings[node.op](b, src, &node, wide), t);
}
