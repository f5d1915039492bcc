/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The kind of each op in PyTorch's partitioner, from its lists of ops (torch/_functorch/partitioners.py); a
 * composite has the kind of its parts.  tests/partition/test_policies.c requires a line for every op.
 */
#include "partition/policies/policy_torch.h"

/* The ops of each kind. */
// clang-format off
#define POINT_OPS(X) \
    X(neg) X(abs) X(sign) X(exp) X(expm1) X(log) X(log1p) X(sqrt) X(rsqrt) X(sin) X(cos) X(tanh) X(sigmoid) \
    X(erf) X(relu) X(gelu) X(silu) X(softplus) X(elu) X(leaky_relu) X(hardsigmoid) X(hardswish) X(mish) \
    X(tan) X(floor) X(ceil) X(round) X(not) X(isnan) X(cast) X(add) X(sub) X(mul) X(div) X(pow) X(max) \
    X(min) X(mod) X(and) X(or) X(xor) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(select) X(clamp) X(dim) X(full) \
    X(iota) X(sum) X(mean) X(max_reduce) X(argmax) X(pick) X(bounded) X(softmax) X(log_softmax) X(logsumexp) \
    X(layer_norm) X(rms_norm) X(batch_norm) X(group_norm) X(instance_norm) X(cross_entropy) X(mse) \
    X(huber) X(bce) X(nll) X(var) X(upsample) X(key_split) X(atan) \
    X(asin) X(acos) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(take_along) \
    X(roll) X(triu) X(tril) X(masked_fill) X(prelu) X(std) X(one_hot) X(reflection_pad) X(replication_pad) \
    X(circular_pad) X(resize)
#define VIEW_OPS(X) \
    X(stop_gradient) X(reshape) X(transpose) X(broadcast) X(slice)
#define RANDOM_OPS(X) \
    X(random) X(uniform) X(normal) X(dropout)
#define HEAVY_OPS(X) \
    X(matmul) X(conv2d) X(conv2d_input) X(conv2d_weight) X(conv_transpose2d) X(conv_nd) \
    X(conv_transpose_nd) X(rnn) X(gru) X(lstm) X(attention) X(attention_grad)
#define CAT_OPS(X) \
    X(concat)
#define NONE_OPS(X) \
    X(pad) X(flip) X(pack_bits) X(unpack_bits) X(min_reduce) X(prod) X(argmin) X(cumsum) X(cumprod) \
    X(max_pool2d) X(max_pool2d_grad) X(max_pool2d_take) X(avg_pool2d) X(avg_pool2d_grad) \
    X(max_pool_nd) X(avg_pool_nd) X(adaptive_avg_pool) X(adaptive_max_pool) X(take) X(take_nd) \
    X(scatter_add) X(scatter_add_along) X(scatter_add_nd) X(argsort) X(sort) X(topk) X(if) X(while) X(scan) X(call) X(external)

#define IS_POINT(op) [GCUT_OP_##op] = GCUT_TORCH_POINT,
#define IS_VIEW(op) [GCUT_OP_##op] = GCUT_TORCH_VIEW,
#define IS_RANDOM(op) [GCUT_OP_##op] = GCUT_TORCH_RANDOM,
#define IS_HEAVY(op) [GCUT_OP_##op] = GCUT_TORCH_HEAVY,
#define IS_CAT(op) [GCUT_OP_##op] = GCUT_TORCH_CAT,
#define IS_NONE(op) [GCUT_OP_##op] = GCUT_TORCH_NONE,
static const gcut_torch kinds[GCUT_NOPS] = {
    POINT_OPS(IS_POINT)
    VIEW_OPS(IS_VIEW)
    RANDOM_OPS(IS_RANDOM)
    HEAVY_OPS(IS_HEAVY)
    CAT_OPS(IS_CAT)
    NONE_OPS(IS_NONE)
};
// clang-format on

gcut_torch gcut_torch_of(gcut_op op)
{
    return kinds[op];
}
