/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A use of each op for the round trip of text.
 */
#ifndef GCUT_TESTS_TEXT_OP_SAMPLES_H
#define GCUT_TESTS_TEXT_OP_SAMPLES_H

/* Operands and attributes by shape rule, so that an op with a new rule does not compile without a sample. */
#define SAMPLE_same NULL
#define SAMPLE_test NULL
#define SAMPLE_cast "%f, to=f16"
#define SAMPLE_select "%p, %f, %g"
#define SAMPLE_reshape "%f, shape=[2, 3*N]"
#define SAMPLE_transpose "%f, perm=[1, 0]"
#define SAMPLE_broadcast "%f, shape=[5, 6, N], axes=[1, 2]"
#define SAMPLE_slice "%f, start=[1, 0], limit=[5, N], step=[2, 1]"
#define SAMPLE_pad "%f, low=[1, 0], high=[0, N], interior=[2, 0], value=-inf"
#define SAMPLE_concat "%f, %g, %f, axis=1"
#define SAMPLE_flip "%f, axes=[0, 1]"
#define SAMPLE_pack_bits NULL
#define SAMPLE_unpack_bits "%bits, shape=[6, N]"
#define SAMPLE_dim "of=2*N-1"
#define SAMPLE_full "shape=[N, 3], dtype=i64"
#define SAMPLE_reduce "%f, axes=[1], keep=true"
#define SAMPLE_matmul "%f, %g, tb=true"
#define SAMPLE_take "%f, %i, axis=1"
#define SAMPLE_pick "%f, %i, axis=0"
#define SAMPLE_take_along "%f, %along, axis=1"
#define SAMPLE_argsort "%f, axis=1, descending=true"
#define SAMPLE_topk "%f, k=2, axis=0, largest=false"
#define SAMPLE_scatter_add "%f, %i, %u, axis=1"
#define SAMPLE_axis "%f, axis=1"
#define SAMPLE_region NULL   /* not used: tests/interp/test_control.c */
#define SAMPLE_external NULL /* not used: tests/api/test_external.c */
#define SAMPLE_arg "%f, axis=0"
#define SAMPLE_upsample "%q, factor=[2, 3], mode=\"bilinear\""
#define SAMPLE_norm NULL
#define SAMPLE_batch_norm "%q, %c, %c, %c, %c, momentum=0.5"
#define SAMPLE_channel_norm "%q, %c, %c, eps=0.5"
#define SAMPLE_cross_entropy "%f, %l, ignore=-1"
#define SAMPLE_mse "%f, %g"
#define SAMPLE_random "%j, %j, dtype=i64"
#define SAMPLE_recurrent NULL
#define SAMPLE_draw "%key, shape=[N, 3], dtype=f64"
#define SAMPLE_key_split "%key, n=N+1"
#define SAMPLE_dropout "%f, %key, p=0.25"
#define SAMPLE_conv2d "%q, %w, stride=[1, 2], pad=[0, 1, 2, 0], dilation=[2, 1], groups=2"
#define SAMPLE_conv2d_input "%q, %w, shape=[6, 10], pad=[0, 1, 1, 0], dilation=[2, 1]"
#define SAMPLE_conv2d_weight "%q, %k, window=[2, 2], pad=[1, 0, 2, 1], groups=2"
#define SAMPLE_conv_transpose2d "%q, %w, stride=[2, 2], pad=[1, 0, 0, 1], output_pad=[1, 0], groups=3"
#define SAMPLE_conv_nd "%v, %v, stride=[2], pad=[1, 2], groups=1"
#define SAMPLE_conv_transpose_nd "%q, %w, output_pad=[1, 3], groups=3"
#define SAMPLE_pool_nd "%q, window=[3, 2], stride=[1, 2]"
#define SAMPLE_pool NULL
#define SAMPLE_pool_grad "%q, %h, window=[2, 3], stride=[1, 2], pad=[0, 1, 1, 2]"
#define SAMPLE_unpool "%q, shape=[7, 17], window=[3, 3], stride=[1, 2]"
#define SAMPLE_attention "%q, %k, %k, %bias, causal=true, scale=0.25"
#define SAMPLE_attention_grad "%q, %k, %k, %bias, %q, causal=true, scale=0.25"
#define SAMPLE_roll "%f, axis=1, shift=-2"
#define SAMPLE_triangle "%f, diagonal=-1"
#define SAMPLE_masked_fill "%f, %p, value=0.5"
#define SAMPLE_border "%f, low=[1, 0], high=[2, N-1]"
#define SAMPLE_resized "%q, shape=[3, 2*N]"
#define SAMPLE_prelu "%q, %c"
#define SAMPLE_take_nd "%q, %place, batch=1"
#define SAMPLE_one_hot "%i, n=2*N, dtype=bool"
#define SAMPLE_scatter_add_along "%f, %along, %three, axis=1"
#define SAMPLE_scatter_add_nd "%q, %rows, %uq"

#endif
