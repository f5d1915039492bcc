/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shape rules of norms, losses, attention and upsampling.
 */
#include "graph/ops/shape_rule.h"

void gcut_shape_norm(infer *s)
{
    const gcut_type *x = in(s, 0);
    if (x->rank == 0) BAD(s, "'%s': operand 1 needs at least one axis", opname(s));
    for (uint32_t k = 1; k < s->nargs; k++) {
        same_dtype(s, 0, k);
        if (in(s, k)->rank != 1)
            BAD(s, "'%s': operand %u is %s, expected one axis, as long as the last axis of %s", opname(s),
                k + 1, show(s, in(s, k)), show(s, x));
        require(s, x->dim[x->rank - 1], in(s, k)->dim[0]);
    }
    *s->out = *x;
}

/* x is [N, C, ...]; operands 1 to n are vectors over the channels. */
static void channels(infer *s, uint32_t least_rank)
{
    const gcut_type *x = in(s, 0);
    if (x->rank < least_rank)
        BAD(s, "'%s': operand 1 is %s, expected [N, C%s]", opname(s), show(s, x),
            least_rank == 2 ? ", ...]" : ", .., ..]");
    for (uint32_t k = 1; k < s->nargs; k++) {
        const gcut_type *v = in(s, k);
        if (v->rank != 1 || !gcut_dtype_is_float(v->dtype))
            BAD(s, "'%s': operand %u is %s, expected a vector over the channels, axis 1 of %s", opname(s),
                k + 1, show(s, v), show(s, x));
        require(s, x->dim[1], v->dim[0]);
    }
    *s->out = *x;
}

/* The running statistics may be wider than x: in 16 bits small updates would round away. */
void gcut_shape_batch_norm(infer *s)
{
    channels(s, 2);
    same_dtype(s, 0, 1);
    same_dtype(s, 0, 2);
    s->n = 3;
    for (uint32_t k = 1; k < 3; k++) s->out[k] = *in(s, k + 2);
}

void gcut_shape_channel_norm(infer *s)
{
    bool groups = s->spec->op == GCUT_OP_group_norm;
    channels(s, groups ? 2 : 3);
    same_dtype(s, 0, 1);
    same_dtype(s, 0, 2);
    if (!groups) return;
    gcut_dim g = attr(s, GCUT_KEY_groups)->u.dim;
    if (!gcut_dim_known(g) || g < 1) BAD(s, "'group_norm': groups=%s must be a number >= 1", show_dim(s, g));
    gcut_dim rest = dim2(s, GCUT_DIM_MOD, in(s, 0)->dim[1], g);
    if (gcut_dim_known(rest) && rest != 0)
        BAD(s, "'group_norm': %lld groups do not divide %s channels", (long long)g,
            show_dim(s, in(s, 0)->dim[1]));
    if (rest != 0) require(s, rest, 0);
}

void gcut_shape_prelu(infer *s)
{
    const gcut_type *x = in(s, 0), *slope = in(s, 1);
    same_dtype(s, 0, 1);
    if (slope->rank != 1)
        BAD(s, "'prelu': operand 2 is %s, expected a slope for each channel, or one", show(s, slope));
    if (slope->dim[0] != 1 && x->rank < 2)
        BAD(s, "'prelu': operand 1 is %s, expected [N, C, ...] for a slope for each channel", show(s, x));
    if (slope->dim[0] != 1) require(s, x->dim[1], slope->dim[0]);
    *s->out = *x;
}

void gcut_shape_upsample(infer *s)
{
    const gcut_type *x = in(s, 0);
    const char *mode = attr(s, GCUT_KEY_mode)->u.str;
    if (x->rank != 4) BAD(s, "'upsample': operand 1 is %s, expected [N, C, H, W]", show(s, x));
    if (strcmp(mode, "nearest") != 0 && strcmp(mode, "bilinear") != 0)
        BAD(s, "'upsample': mode must be \"nearest\" or \"bilinear\", not \"%s\"", mode);
    const gcut_dim *factor = list_of(s, GCUT_KEY_factor, 2);
    *s->out = *x;
    for (uint32_t k = 0; k < 2; k++) {
        if (!gcut_dim_known(factor[k]) || factor[k] < 1)
            BAD(s, "'upsample': factor must be numbers >= 1, not %s", show_dim(s, factor[k]));
        if (factor[k] > 1 && !strcmp(mode, "bilinear")) require_element(s, 0, 2 + k); /* the edge repeats */
        s->out->dim[2 + k] = dim2(s, GCUT_DIM_MUL, x->dim[2 + k], factor[k]);
    }
}

/* The last axes get the sizes of `shape`, which are made of one element at least. */
void gcut_shape_resized(infer *s)
{
    const gcut_type *x = in(s, 0);
    const gcut_attr *shape = attr(s, GCUT_KEY_shape), *mode = attr(s, GCUT_KEY_mode);
    if (shape->n > x->rank)
        BAD(s, "'%s': shape has %u items, more than the axes of %s", opname(s), shape->n, show(s, x));
    if (mode && strcmp(mode->u.str, "nearest") != 0 && strcmp(mode->u.str, "linear") != 0 &&
        strcmp(mode->u.str, "cubic") != 0)
        BAD(s, "'%s': mode must be \"nearest\", \"linear\" or \"cubic\", not \"%s\"", opname(s), mode->u.str);
    *s->out = *x;
    for (uint32_t k = 0; k < shape->n; k++) {
        const uint32_t axis = x->rank - shape->n + k;
        const gcut_dim m = shape->u.dims[k];
        if (m != x->dim[axis]) {
            require_element(s, 0, axis);
            if (m == 0) BAD(s, "'%s': a size of 0 in shape", opname(s));
            require_le(s, 1, m);
        }
        s->out->dim[axis] = m;
    }
}

/* x [T, N, I], states [N, H], wx [G H, I], wh [G H, H], bx and bh [G H]: y [T, N, H], and the states. */
void gcut_shape_recurrent(infer *s)
{
    const uint32_t nstates = s->nargs - 5, gates = s->spec->op == GCUT_OP_lstm  ? 4
                                                   : s->spec->op == GCUT_OP_gru ? 3
                                                                                : 1;
    const gcut_type *x = in(s, 0), *h = in(s, 1), *wx = in(s, nstates + 1), *wh = in(s, nstates + 2);
    const gcut_attr *mode = attr(s, GCUT_KEY_mode);
    if (mode && strcmp(mode->u.str, "tanh") != 0 && strcmp(mode->u.str, "relu") != 0)
        BAD(s, "'rnn': mode must be \"tanh\" or \"relu\", not \"%s\"", mode->u.str);
    for (uint32_t k = 0; k < s->nargs; k++) {
        const uint32_t rank = k == 0 ? 3 : k > nstates + 2 ? 1 : 2;
        if (k) same_dtype(s, 0, k);
        if (in(s, k)->rank != rank)
            BAD(s, "'%s': operand %u is %s, expected %u ax%s", opname(s), k + 1, show(s, in(s, k)), rank,
                rank == 1 ? "is" : "es");
    }
    const gcut_dim wide = dim2(s, GCUT_DIM_MUL, h->dim[1], gates);
    for (uint32_t k = 1; k <= nstates; k++) {
        require(s, x->dim[1], in(s, k)->dim[0]);
        require(s, h->dim[1], in(s, k)->dim[1]);
    }
    require(s, x->dim[2], wx->dim[1]);
    require(s, h->dim[1], wh->dim[1]);
    for (uint32_t k = nstates + 1; k < s->nargs; k++) require(s, wide, in(s, k)->dim[0]);
    s->n = 1 + nstates;
    s->out[0] = (gcut_type){x->dtype, 3, {x->dim[0], x->dim[1], h->dim[1]}};
    for (uint32_t k = 1; k <= nstates; k++) s->out[k] = *in(s, k);
}

void gcut_shape_cross_entropy(infer *s)
{
    const gcut_type *x = in(s, 0), *t = in(s, 1);
    index_operand(s, 1);
    if (x->rank == 0 || t->rank + 1 != x->rank)
        BAD(s, "'cross_entropy': labels %s must have the shape of the logits %s without its last axis",
            show(s, t), show(s, x));
    for (uint32_t d = 0; d < t->rank; d++) require(s, x->dim[d], t->dim[d]);
    *s->out = (gcut_type){.dtype = x->dtype};
}

void gcut_shape_mse(infer *s)
{
    same_dtype(s, 0, 1);
    same_shape(s, 0, 1);
    *s->out = (gcut_type){.dtype = in(s, 0)->dtype};
}

/* Checks q, k, v and, where nx is 4, a bias; the caller checks further operands. */
static void attention_operands(infer *s, uint32_t nx)
{
    const gcut_type *q = in(s, 0), *k = in(s, 1), *v = in(s, 2);
    for (uint32_t a = 1; a < s->nargs; a++) same_dtype(s, 0, a);
    for (uint32_t a = 0; a < s->nargs; a++)
        if (in(s, a)->rank != 4)
            BAD(s, "'%s': operand %u is %s, expected rank 4", opname(s), a + 1, show(s, in(s, a)));
    require(s, q->dim[0], k->dim[0]);
    require(s, q->dim[3], k->dim[3]);
    for (uint32_t d = 0; d < 3; d++) require(s, k->dim[d], v->dim[d]);
    gcut_dim rest =
        k->dim[1] == 0 ? q->dim[1] : dim2(s, GCUT_DIM_MOD, q->dim[1], k->dim[1]); /* no heads in k: none in
                                                                                   * q */
    if (rest != 0) require(s, rest, 0);
    if (nx < 4) return;
    const gcut_type *b = in(s, 3);
    for (uint32_t d = 0; d < 3; d++) require(s, q->dim[d], b->dim[d]);
    require(s, k->dim[2], b->dim[3]);
}

void gcut_shape_attention(infer *s)
{
    attention_operands(s, s->nargs);
    *s->out = *in(s, 0);
    s->out->dim[3] = in(s, 2)->dim[3];
}

/* One result per operand of attention, of its type; dy is the last operand. */
void gcut_shape_attention_grad(infer *s)
{
    const gcut_type *q = in(s, 0), *v = in(s, 2), *dy = in(s, s->nargs - 1);
    attention_operands(s, s->nargs - 1);
    for (uint32_t d = 0; d < 3; d++) require(s, q->dim[d], dy->dim[d]);
    require(s, v->dim[3], dy->dim[3]);
    s->n = s->nargs - 1;
    for (uint32_t k = 0; k < s->n; k++) s->out[k] = *in(s, k);
}
