/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The functions of gradcut/ops.h, written by tests/graph/test_ops_header.c from graph/ops/ops.def: do not
 * edit. */
#include "driver/builder/builder_op.h"

/* clang-format off */

gcut_val gcut_neg_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_neg, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_abs_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_abs, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_sign_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sign, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_exp_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_exp, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_expm1_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_expm1, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_log_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_log, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_log1p_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_log1p, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_sqrt_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sqrt, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_rsqrt_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_rsqrt, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_sin_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sin, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_cos_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cos, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_tanh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_tanh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_sigmoid_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sigmoid, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_erf_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_erf, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_relu_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_relu, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_gelu_at(gcut_here at, gcut_val x, const char *approx)
{
    return gcut_builder_op(at, NULL, GCUT_OP_gelu, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_approx, .u.s = approx}}, 1);
}

gcut_val gcut_silu_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_silu, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_softplus_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_softplus, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_elu_at(gcut_here at, gcut_val x, double alpha)
{
    return gcut_builder_op(at, NULL, GCUT_OP_elu, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_alpha, .u.f = alpha}}, 1);
}

gcut_val gcut_leaky_relu_at(gcut_here at, gcut_val x, double slope)
{
    return gcut_builder_op(at, NULL, GCUT_OP_leaky_relu, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_slope, .u.f = slope}}, 1);
}

gcut_val gcut_prelu_at(gcut_here at, gcut_val x, gcut_val slope)
{
    return gcut_builder_op(at, NULL, GCUT_OP_prelu, (gcut_val[]){x, slope}, 2, NULL, 0);
}

gcut_val gcut_hardsigmoid_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_hardsigmoid, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_hardswish_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_hardswish, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_mish_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_mish, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_tan_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_tan, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_atan_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_atan, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_asin_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_asin, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_acos_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_acos, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_sinh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sinh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_cosh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cosh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_asinh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_asinh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_acosh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_acosh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_atanh_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_atanh, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_floor_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_floor, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_ceil_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_ceil, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_round_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_round, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_not_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_not, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_isnan_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_isnan, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_cast_at(gcut_here at, gcut_val x, gcut_dtype to)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cast, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_to, .u.t = to}}, 1);
}

gcut_val gcut_stop_gradient_at(gcut_here at, gcut_val x)
{
    return gcut_builder_op(at, NULL, GCUT_OP_stop_gradient, (gcut_val[]){x}, 1, NULL, 0);
}

gcut_val gcut_add_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_add, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_sub_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sub, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_mul_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_mul, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_div_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_div, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_pow_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_pow, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_max_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_max, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_min_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_min, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_mod_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_mod, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_and_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_and, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_or_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_or, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_xor_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_xor, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_eq_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_eq, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_ne_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_ne, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_lt_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_lt, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_le_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_le, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_gt_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_gt, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_ge_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_ge, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_select_at(gcut_here at, gcut_val p, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_select, (gcut_val[]){p, a, b}, 3, NULL, 0);
}

gcut_val gcut_clamp_at(gcut_here at, gcut_val x, double lo, double hi)
{
    return gcut_builder_op(at, NULL, GCUT_OP_clamp, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_lo, .u.f = lo}, {.key = GCUT_KEY_hi, .u.f = hi}}, 2);
}

gcut_val gcut_reshape_at(gcut_here at, gcut_val x, gcut_shape shape)
{
    return gcut_builder_op(at, NULL, GCUT_OP_reshape, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_shape, .u.l = shape}}, 1);
}

gcut_val gcut_transpose_at(gcut_here at, gcut_val x, gcut_shape perm)
{
    return gcut_builder_op(at, NULL, GCUT_OP_transpose, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_perm, .u.l = perm}}, 1);
}

gcut_val gcut_broadcast_at(gcut_here at, gcut_val x, gcut_shape shape, gcut_shape axes)
{
    return gcut_builder_op(at, NULL, GCUT_OP_broadcast, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_axes, .u.l = axes}}, 2);
}

gcut_val gcut_slice_all_at(gcut_here at, gcut_val x, gcut_shape start, gcut_shape limit, gcut_shape step)
{
    return gcut_builder_op(at, NULL, GCUT_OP_slice, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_start, .u.l = start}, {.key = GCUT_KEY_limit, .u.l = limit}, {.key = GCUT_KEY_step, .u.l = step, .zero_is_default = true}}, 3);
}

gcut_val gcut_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high, gcut_pad_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_pad, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_low, .u.l = low}, {.key = GCUT_KEY_high, .u.l = high}, {.key = GCUT_KEY_value, .u.f = how.value, .zero_is_default = true}, {.key = GCUT_KEY_interior, .u.l = how.interior, .zero_is_default = true}}, 4);
}

gcut_val gcut_flip_at(gcut_here at, gcut_val x, gcut_shape axes)
{
    return gcut_builder_op(at, NULL, GCUT_OP_flip, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes}}, 1);
}

gcut_val gcut_roll_at(gcut_here at, gcut_val x, int axis, double shift)
{
    return gcut_builder_op(at, NULL, GCUT_OP_roll, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}, {.key = GCUT_KEY_shift, .u.f = shift}}, 2);
}

gcut_val gcut_triu_at(gcut_here at, gcut_val x, double diagonal)
{
    return gcut_builder_op(at, NULL, GCUT_OP_triu, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_diagonal, .u.f = diagonal}}, 1);
}

gcut_val gcut_tril_at(gcut_here at, gcut_val x, double diagonal)
{
    return gcut_builder_op(at, NULL, GCUT_OP_tril, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_diagonal, .u.f = diagonal}}, 1);
}

gcut_val gcut_masked_fill_at(gcut_here at, gcut_val x, gcut_val mask, double value)
{
    return gcut_builder_op(at, NULL, GCUT_OP_masked_fill, (gcut_val[]){x, mask}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_value, .u.f = value}}, 1);
}

gcut_val gcut_reflection_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high)
{
    return gcut_builder_op(at, NULL, GCUT_OP_reflection_pad, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_low, .u.l = low}, {.key = GCUT_KEY_high, .u.l = high}}, 2);
}

gcut_val gcut_replication_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high)
{
    return gcut_builder_op(at, NULL, GCUT_OP_replication_pad, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_low, .u.l = low}, {.key = GCUT_KEY_high, .u.l = high}}, 2);
}

gcut_val gcut_circular_pad_at(gcut_here at, gcut_val x, gcut_shape low, gcut_shape high)
{
    return gcut_builder_op(at, NULL, GCUT_OP_circular_pad, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_low, .u.l = low}, {.key = GCUT_KEY_high, .u.l = high}}, 2);
}

gcut_val gcut_dim_of_at(gcut_here at, gcut_graph *g, gcut_dim of)
{
    return gcut_builder_op(at, g, GCUT_OP_dim, NULL, 0, (gcut_op_attr[]){{.key = GCUT_KEY_of, .u.i = of}}, 1);
}

gcut_val gcut_full_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, gcut_shape shape, double value)
{
    return gcut_builder_op(at, g, GCUT_OP_full, NULL, 0, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}, {.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_value, .u.f = value}}, 3);
}

gcut_val gcut_iota_at(gcut_here at, gcut_graph *g, gcut_dtype dtype, gcut_shape shape, int axis)
{
    return gcut_builder_op(at, g, GCUT_OP_iota, NULL, 0, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}, {.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_axis, .u.i = axis}}, 3);
}

gcut_val gcut_sum_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sum, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_mean_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_mean, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_var_at(gcut_here at, gcut_val x, gcut_shape axes, gcut_var_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_var, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = how.keep, .zero_is_default = true}, {.key = GCUT_KEY_correction, .u.f = how.correction, .zero_is_default = true}}, 3);
}

gcut_val gcut_std_at(gcut_here at, gcut_val x, gcut_shape axes, gcut_std_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_std, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = how.keep, .zero_is_default = true}, {.key = GCUT_KEY_correction, .u.f = how.correction, .zero_is_default = true}}, 3);
}

gcut_val gcut_max_reduce_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_max_reduce, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_min_reduce_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_min_reduce, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_prod_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_prod, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_argmax_at(gcut_here at, gcut_val x, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_argmax, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_argmin_at(gcut_here at, gcut_val x, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_argmin, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_cumsum_at(gcut_here at, gcut_val x, int axis, bool reverse)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cumsum, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}, {.key = GCUT_KEY_reverse, .u.b = reverse}}, 2);
}

gcut_val gcut_cumprod_at(gcut_here at, gcut_val x, int axis, bool reverse)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cumprod, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}, {.key = GCUT_KEY_reverse, .u.b = reverse}}, 2);
}

gcut_val gcut_conv_nd_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv_nd_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_conv_nd, (gcut_val[]){x, w}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_groups, .u.i = how.groups, .zero_is_default = true}, {.key = GCUT_KEY_stride, .u.l = how.stride, .zero_is_default = true}, {.key = GCUT_KEY_pad, .u.l = how.pad, .zero_is_default = true}, {.key = GCUT_KEY_dilation, .u.l = how.dilation, .zero_is_default = true}}, 4);
}

gcut_val gcut_conv_transpose_nd_at(gcut_here at, gcut_val x, gcut_val w, gcut_conv_transpose_nd_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_conv_transpose_nd, (gcut_val[]){x, w}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_groups, .u.i = how.groups, .zero_is_default = true}, {.key = GCUT_KEY_stride, .u.l = how.stride, .zero_is_default = true}, {.key = GCUT_KEY_pad, .u.l = how.pad, .zero_is_default = true}, {.key = GCUT_KEY_dilation, .u.l = how.dilation, .zero_is_default = true}, {.key = GCUT_KEY_output_pad, .u.l = how.output_pad, .zero_is_default = true}}, 5);
}

gcut_val gcut_max_pool_nd_at(gcut_here at, gcut_val x, gcut_shape window, gcut_max_pool_nd_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_max_pool_nd, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_window, .u.l = window}, {.key = GCUT_KEY_ceil, .u.b = how.ceil, .zero_is_default = true}, {.key = GCUT_KEY_stride, .u.l = how.stride, .zero_is_default = true}, {.key = GCUT_KEY_pad, .u.l = how.pad, .zero_is_default = true}}, 4);
}

gcut_val gcut_avg_pool_nd_at(gcut_here at, gcut_val x, gcut_shape window, gcut_avg_pool_nd_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_avg_pool_nd, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_window, .u.l = window}, {.key = GCUT_KEY_ceil, .u.b = how.ceil, .zero_is_default = true}, {.key = GCUT_KEY_skip_pad, .u.b = how.skip_pad, .zero_is_default = true}, {.key = GCUT_KEY_stride, .u.l = how.stride, .zero_is_default = true}, {.key = GCUT_KEY_pad, .u.l = how.pad, .zero_is_default = true}}, 5);
}

gcut_val gcut_adaptive_avg_pool_at(gcut_here at, gcut_val x, gcut_shape shape)
{
    return gcut_builder_op(at, NULL, GCUT_OP_adaptive_avg_pool, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_shape, .u.l = shape}}, 1);
}

gcut_val gcut_adaptive_max_pool_at(gcut_here at, gcut_val x, gcut_shape shape)
{
    return gcut_builder_op(at, NULL, GCUT_OP_adaptive_max_pool, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_shape, .u.l = shape}}, 1);
}

gcut_val gcut_take_at(gcut_here at, gcut_val x, gcut_val i, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_take, (gcut_val[]){x, i}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_pick_at(gcut_here at, gcut_val x, gcut_val i, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_pick, (gcut_val[]){x, i}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_take_along_at(gcut_here at, gcut_val x, gcut_val i, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_take_along, (gcut_val[]){x, i}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_take_nd_at(gcut_here at, gcut_val x, gcut_val i, gcut_dim batch)
{
    return gcut_builder_op(at, NULL, GCUT_OP_take_nd, (gcut_val[]){x, i}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_batch, .u.i = batch}}, 1);
}

gcut_val gcut_one_hot_at(gcut_here at, gcut_val i, gcut_dtype dtype, gcut_dim n)
{
    return gcut_builder_op(at, NULL, GCUT_OP_one_hot, (gcut_val[]){i}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}, {.key = GCUT_KEY_n, .u.i = n}}, 2);
}

gcut_val gcut_argsort_at(gcut_here at, gcut_val x, int axis, bool descending)
{
    return gcut_builder_op(at, NULL, GCUT_OP_argsort, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}, {.key = GCUT_KEY_descending, .u.b = descending}}, 2);
}

gcut_val gcut_sort_at(gcut_here at, gcut_val x, int axis, bool descending)
{
    return gcut_builder_op(at, NULL, GCUT_OP_sort, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}, {.key = GCUT_KEY_descending, .u.b = descending}}, 2);
}

gcut_val gcut_bounded_at(gcut_here at, gcut_val i, gcut_dim of)
{
    return gcut_builder_op(at, NULL, GCUT_OP_bounded, (gcut_val[]){i}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_of, .u.i = of}}, 1);
}

gcut_val gcut_scatter_add_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_scatter_add, (gcut_val[]){x, i, u}, 3, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_scatter_add_along_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_scatter_add_along, (gcut_val[]){x, i, u}, 3, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_scatter_add_nd_at(gcut_here at, gcut_val x, gcut_val i, gcut_val u)
{
    return gcut_builder_op(at, NULL, GCUT_OP_scatter_add_nd, (gcut_val[]){x, i, u}, 3, NULL, 0);
}

gcut_val gcut_softmax_at(gcut_here at, gcut_val x, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_softmax, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_log_softmax_at(gcut_here at, gcut_val x, int axis)
{
    return gcut_builder_op(at, NULL, GCUT_OP_log_softmax, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axis, .u.i = axis}}, 1);
}

gcut_val gcut_logsumexp_at(gcut_here at, gcut_val x, gcut_shape axes, bool keep)
{
    return gcut_builder_op(at, NULL, GCUT_OP_logsumexp, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_axes, .u.l = axes, .zero_is_default = true}, {.key = GCUT_KEY_keep, .u.b = keep}}, 2);
}

gcut_val gcut_layer_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, double eps)
{
    return gcut_builder_op(at, NULL, GCUT_OP_layer_norm, (gcut_val[]){x, gain, bias}, 3, (gcut_op_attr[]){{.key = GCUT_KEY_eps, .u.f = eps}}, 1);
}

gcut_val gcut_rms_norm_at(gcut_here at, gcut_val x, gcut_val gain, double eps)
{
    return gcut_builder_op(at, NULL, GCUT_OP_rms_norm, (gcut_val[]){x, gain}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_eps, .u.f = eps}}, 1);
}

gcut_val gcut_group_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, gcut_dim groups, double eps)
{
    return gcut_builder_op(at, NULL, GCUT_OP_group_norm, (gcut_val[]){x, gain, bias}, 3, (gcut_op_attr[]){{.key = GCUT_KEY_groups, .u.i = groups}, {.key = GCUT_KEY_eps, .u.f = eps}}, 2);
}

gcut_val gcut_instance_norm_at(gcut_here at, gcut_val x, gcut_val gain, gcut_val bias, double eps)
{
    return gcut_builder_op(at, NULL, GCUT_OP_instance_norm, (gcut_val[]){x, gain, bias}, 3, (gcut_op_attr[]){{.key = GCUT_KEY_eps, .u.f = eps}}, 1);
}

gcut_val gcut_cross_entropy_at(gcut_here at, gcut_val logits, gcut_val labels, gcut_cross_entropy_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_cross_entropy, (gcut_val[]){logits, labels}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_ignore, .u.f = how.ignore, .zero_is_default = true}, {.key = GCUT_KEY_smooth, .u.f = how.smooth, .zero_is_default = true}}, 2);
}

gcut_val gcut_mse_at(gcut_here at, gcut_val a, gcut_val b)
{
    return gcut_builder_op(at, NULL, GCUT_OP_mse, (gcut_val[]){a, b}, 2, NULL, 0);
}

gcut_val gcut_huber_at(gcut_here at, gcut_val a, gcut_val b, double delta)
{
    return gcut_builder_op(at, NULL, GCUT_OP_huber, (gcut_val[]){a, b}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_delta, .u.f = delta}}, 1);
}

gcut_val gcut_bce_at(gcut_here at, gcut_val logits, gcut_val targets)
{
    return gcut_builder_op(at, NULL, GCUT_OP_bce, (gcut_val[]){logits, targets}, 2, NULL, 0);
}

gcut_val gcut_nll_at(gcut_here at, gcut_val log_probs, gcut_val labels, double ignore)
{
    return gcut_builder_op(at, NULL, GCUT_OP_nll, (gcut_val[]){log_probs, labels}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_ignore, .u.f = ignore}}, 1);
}

gcut_val gcut_attention_at(gcut_here at, gcut_val q, gcut_val k, gcut_val v, gcut_attention_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_attention, (gcut_val[]){q, k, v, how.bias}, 3 + !!how.bias.graph, (gcut_op_attr[]){{.key = GCUT_KEY_causal, .u.b = how.causal, .zero_is_default = true}, {.key = GCUT_KEY_scale, .u.f = how.scale, .zero_is_default = true}}, 2);
}

gcut_val gcut_upsample_at(gcut_here at, gcut_val x, gcut_shape factor, const char *mode)
{
    return gcut_builder_op(at, NULL, GCUT_OP_upsample, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_factor, .u.l = factor}, {.key = GCUT_KEY_mode, .u.s = mode}}, 2);
}

gcut_val gcut_resize_at(gcut_here at, gcut_val x, gcut_shape shape, gcut_resize_options how)
{
    return gcut_builder_op(at, NULL, GCUT_OP_resize, (gcut_val[]){x}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_mode, .u.s = how.mode, .zero_is_default = true}, {.key = GCUT_KEY_align_corners, .u.b = how.align_corners, .zero_is_default = true}}, 3);
}

gcut_val gcut_random_at(gcut_here at, gcut_val key, gcut_val counter, gcut_dtype dtype)
{
    return gcut_builder_op(at, NULL, GCUT_OP_random, (gcut_val[]){key, counter}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}}, 1);
}

gcut_val gcut_uniform_at(gcut_here at, gcut_val key, gcut_dtype dtype, gcut_shape shape, double lo, double hi)
{
    return gcut_builder_op(at, NULL, GCUT_OP_uniform, (gcut_val[]){key}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}, {.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_lo, .u.f = lo}, {.key = GCUT_KEY_hi, .u.f = hi}}, 4);
}

gcut_val gcut_normal_at(gcut_here at, gcut_val key, gcut_dtype dtype, gcut_shape shape, double mean, double std)
{
    return gcut_builder_op(at, NULL, GCUT_OP_normal, (gcut_val[]){key}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_dtype, .u.t = dtype}, {.key = GCUT_KEY_shape, .u.l = shape}, {.key = GCUT_KEY_mean, .u.f = mean}, {.key = GCUT_KEY_std, .u.f = std}}, 4);
}

gcut_val gcut_key_split_at(gcut_here at, gcut_val key, gcut_dim n)
{
    return gcut_builder_op(at, NULL, GCUT_OP_key_split, (gcut_val[]){key}, 1, (gcut_op_attr[]){{.key = GCUT_KEY_n, .u.i = n}}, 1);
}

gcut_val gcut_dropout_at(gcut_here at, gcut_val x, gcut_val key, double p)
{
    return gcut_builder_op(at, NULL, GCUT_OP_dropout, (gcut_val[]){x, key}, 2, (gcut_op_attr[]){{.key = GCUT_KEY_p, .u.f = p}}, 1);
}
