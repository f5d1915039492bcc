/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Uses of every op, at which test_grad.c checks first and second derivatives.
 */
#ifndef GCUT_TESTS_GRAD_SAMPLES_H
#define GCUT_TESTS_GRAD_SAMPLES_H

#include "graph/graph.h"

/* One use of an op.  The float parameters are differentiated; they get distinct values from [lo, hi], on a
 * grid of cells with a margin, so that nothing lies near a boundary of cells or near another value: kinks
 * and ties are kept away by choosing lo and hi.  Index parameters get values below `bound`. */
typedef struct sample {
    gcut_op op;
    const char *dims;   /* "" or "[N in 0..]" */
    const char *sizes;  /* one digit per size of the symbols to try */
    const char *params; /* without their role */
    const char *type;   /* of %y */
    const char *body;
    double lo, hi;
    int bound;
} sample;

#define FIX "", "3"
#define SYM "[N in 0..]", "310"
#define POS "[N in 1..]", "31"
#define S(op, ...)                                                                                           \
    {                                                                                                        \
        GCUT_OP_##op, __VA_ARGS__                                                                            \
    }
#define UNARY(op, lo, hi)                                                                                    \
    S(op, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = " #op "(%a)", lo, hi, 0),                                 \
        S(op, FIX, "%a: f64[]", "f64[]", "%y = " #op "(%a)", lo, hi, 0)
/* Four ops at values of the same interval. */
#define UNARIES(lo, hi, a, b, c, d) UNARY(a, lo, hi), UNARY(b, lo, hi), UNARY(c, lo, hi), UNARY(d, lo, hi)
#define BINARY(op, lo, hi)                                                                                   \
    S(op, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%y = " #op "(%a, %b)", lo, hi, 0),              \
        S(op, FIX, "%a: f32[4]", "f32[4]", "%y = " #op "(%a, %a)", lo, hi, 0),                               \
        S(op, FIX, "%a: f64[], %b: f64[]", "f64[]", "%y = " #op "(%a, %b)", lo, hi, 0)
#define COMPARE(op) S(op, FIX, "%a: f32[6], %b: f32[6]", "bool[6]", "%y = " #op "(%a, %b)", -2, 2, 0)
#define BITWISE(op)                                                                                          \
    S(op, FIX, "%a: f32[6], %b: f32[6]", "f32[6]",                                                           \
      "%p = gt(%a, %b) %n = neg(%b) %q = gt(%b, %n) %r = " #op "(%p, %q) %y = select(%r, %a, %b)", -2, 2, 0)
#define REDUCE(op)                                                                                           \
    S(op, POS, "%a: f32[N, 4, 2]", "f32[]", "%y = " #op "(%a)", -2, 2, 0),                                   \
        S(op, POS, "%a: f32[N, 4, 2]", "f32[4]", "%y = " #op "(%a, axes=[0, 2])", -2, 2, 0),                 \
        S(op, POS, "%a: f32[N, 4, 2]", "f32[N, 1, 1]", "%y = " #op "(%a, axes=[2, 1], keep=true)", -2, 2,    \
          0),                                                                                                \
        S(op, FIX, "%a: f32[4, 1]", "f32[4]", "%y = " #op "(%a, axes=[1])", -2, 2, 0),                       \
        S(op, FIX, "%a: f32[4]", "f32[4]", "%y = " #op "(%a, axes=[])", -2, 2, 0),                           \
        S(op, FIX, "%a: f64[]", "f64[]", "%y = " #op "(%a)", -2, 2, 0)
#define MATMUL(a, b, flags)                                                                                  \
    S(matmul, SYM, "%a: f32" a ", %b: f32" b, "f32[N, 3]", "%y = matmul(%a, %b" flags ")", -2, 2, 0)
#define CONV2D(x, w, y, more)                                                                                \
    S(conv2d, POS, "%a: f32" x ", %b: f32" w, "f32" y, "%y = conv2d(%a, %b" more ")", -2, 2, 0)

static const sample samples[] = {
    UNARIES(-2, 2, neg, abs, sign, exp),
    UNARIES(-2, 2, expm1, tanh, erf, relu),
    UNARIES(-2, 2, elu, leaky_relu, sinh, cosh),
    UNARIES(-4, 4, sin, cos, sigmoid, silu),
    UNARIES(-4, 4, softplus, mish, atan, asinh),
    UNARY(gelu, -3, 3),
    S(gelu, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = gelu(%a, approx=\"tanh\")", -3, 3, 0),
    S(elu, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = elu(%a, alpha=0.5)", -2, 2, 0),
    UNARY(log, 0.3, 3),
    UNARY(log1p, -0.5, 3),
    UNARY(sqrt, 0.3, 3),
    UNARY(rsqrt, 0.3, 3),
    UNARY(hardsigmoid, -2.5, 2.5),
    S(hardsigmoid, FIX, "%a: f32[6]", "f32[6]", "%y = hardsigmoid(%a)", 3.1, 9, 0),
    UNARY(hardswish, -2.5, 2.5),
    S(hardswish, FIX, "%a: f32[6]", "f32[6]", "%y = hardswish(%a)", -9, -3.1, 0),
    UNARY(tan, -1.2, 1.2),
    UNARY(asin, -0.8, 0.8),
    UNARY(acos, -0.8, 0.8),
    UNARY(atanh, -0.8, 0.8),
    UNARY(acosh, 1.3, 4),
    UNARY(floor, 1.1, 1.9),
    UNARY(ceil, 1.1, 1.9),
    UNARY(round, 0.6, 1.4),
    /* Differences see through a stop_gradient, so it stands where nothing moves; see also the points below.
     */
    S(stop_gradient, SYM, "%a: f32[N]", "f32[N]", "%s = sign(%a) %g = stop_gradient(%s) %y = mul(%a, %g)", -2,
      2, 0),
    S(not, FIX, "%a: f32[6]", "f32[6]", "%n = neg(%a) %p = gt(%a, %n) %q = not(%p) %y = select(%q, %a, %n)",
      -2, 2, 0),
    S(isnan, FIX, "%a: f32[6]", "bool[6]", "%y = isnan(%a)", -2, 2, 0),
    S(cast, SYM, "%a: f32[N, 2]", "f64[N, 2]", "%y = cast(%a, to=\"f64\")", -2, 2, 0),
    S(cast, FIX, "%a: f32[4]", "f32[4]",
      "%h = cast(%a, to=\"bf16\") %g = mul(%h, %h) %y = cast(%g, to=\"f32\")", -2, 2, 0),
    S(cast, FIX, "%a: f32[4]", "i32[4]", "%y = cast(%a, to=\"i32\")", 1.1, 1.9, 0),

    BINARY(add, -2, 2),
    BINARY(sub, -2, 2),
    BINARY(mul, -2, 2),
    BINARY(div, 0.5, 2),
    BINARY(pow, 0.4, 2.5),
    S(max, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%y = max(%a, %b)", -2, 2, 0),
    S(max, FIX, "%a: f32[4]", "f32[4]", "%y = max(%a, %a)", -2, 2, 0),
    S(min, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%y = min(%a, %b)", -2, 2, 0),
    S(min, FIX, "%a: f32[4]", "f32[4]", "%y = min(%a, %a)", -2, 2, 0),
    S(mod, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%y = mod(%a, %b)", 1.05, 1.95, 0),
    BITWISE(and),
    BITWISE(or),
    BITWISE(xor),
    COMPARE(eq),
    COMPARE(ne),
    COMPARE(lt),
    COMPARE(le),
    COMPARE(gt),
    COMPARE(ge),
    S(select, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%p = gt(%a, %b) %y = select(%p, %b, %a)", -2,
      2, 0),
    S(select, FIX, "%a: f32[4], %b: f32[4]", "f32[4]", "%p = lt(%a, %b) %y = select(%p, %b, %b)", -2, 2, 0),
    S(clamp, FIX, "%a: f32[12]", "f32[12]", "%y = clamp(%a, lo=-0.5, hi=1)", -3, 3, 0),
    S(clamp, FIX, "%a: f32[12]", "f32[12]", "%y = clamp(%a, lo=-0.5)", -3, 3, 0),
    S(clamp, FIX, "%a: f32[12]", "f32[12]", "%y = clamp(%a, hi=1)", -3, 3, 0),
    S(clamp, FIX, "%a: f32[12]", "f32[12]", "%y = clamp(%a)", -3, 3, 0),

    S(reshape, SYM, "%a: f32[N, 4, 2]", "f32[2*N, 4]", "%y = reshape(%a, shape=[2*N, 4])", -2, 2, 0),
    S(reshape, FIX, "%a: f32[1, 1]", "f32[]", "%y = reshape(%a, shape=[])", -2, 2, 0),
    S(transpose, SYM, "%a: f32[N, 4, 2]", "f32[2, N, 4]", "%y = transpose(%a, perm=[2, 0, 1])", -2, 2, 0),
    S(broadcast, SYM, "%a: f32[4]", "f32[N, 4]", "%y = broadcast(%a, shape=[N, 4], axes=[1])", -2, 2, 0),
    S(broadcast, SYM, "%a: f32[1, N, 1]", "f32[3, N, 1, 2]",
      "%y = broadcast(%a, shape=[3, N, 1, 2], axes=[0, 1, 2])", -2, 2, 0),
    S(broadcast, SYM, "%a: f32[1]", "f32[N]", "%y = broadcast(%a, shape=[N], axes=[0])", -2, 2, 0),
    S(broadcast, FIX, "%a: f64[]", "f64[2, 3]", "%y = broadcast(%a, shape=[2, 3], axes=[])", -2, 2, 0),
    S(broadcast, FIX, "%a: f32[2]", "f32[2]", "%y = broadcast(%a, shape=[2], axes=[0])", -2, 2, 0),
    S(slice, SYM, "%a: f32[N, 6]", "f32[N, 3]", "%y = slice(%a, start=[0, 2], limit=[N, 5])", -2, 2, 0),
    S(slice, FIX, "%a: f32[7, 6]", "f32[2, 3]", "%y = slice(%a, start=[1, 0], limit=[6, 5], step=[3, 2])", -2,
      2, 0),
    S(slice, FIX, "%a: f32[7]", "f32[0]", "%y = slice(%a, start=[4], limit=[4], step=[2])", -2, 2, 0),
    S(slice, SYM, "%a: f32[2*N + 1]", "f32[ceildiv(2*N, 3)]",
      "%y = slice(%a, start=[1], limit=[2*N + 1], step=[3])", -2, 2, 0),
    S(pad, SYM, "%a: f32[N, 4]", "f32[N + 3, 4]", "%y = pad(%a, low=[1, 0], high=[2, 0])", -2, 2, 0),
    S(pad, FIX, "%a: f32[3, 1]", "f32[9, 4]",
      "%y = pad(%a, low=[1, 0], high=[1, 3], interior=[2, 5], value=0.5)", -2, 2, 0),
    S(pad, FIX, "%a: f32[0, 2]", "f32[3, 2]", "%y = pad(%a, low=[1, 0], high=[2, 0], interior=[2, 0])", -2, 2,
      0),
    S(pad, POS, "%a: f32[N]", "f32[2*N + max(N, 1) + 2]", "%y = pad(%a, low=[N], high=[3], interior=[1])", -2,
      2, 0),
    S(concat, SYM, "%a: f32[2, N], %b: f32[2, 3], %c: f32[2, N]", "f32[2, 2*N + 3]",
      "%y = concat(%a, %b, %c, axis=1)", -2, 2, 0),
    S(concat, FIX, "%a: f32[2]", "f32[4]", "%y = concat(%a, %a, axis=0)", -2, 2, 0),
    S(flip, SYM, "%a: f32[N, 2, 3]", "f32[N, 2, 3]", "%y = flip(%a, axes=[0, 2])", -2, 2, 0),
    S(pack_bits, SYM, "%a: f32[N, 3]", "f32[N, 3]",
      "%z = full(shape=[N, 3], value=0.25) %p = gt(%a, %z) %q = pack_bits(%p) %r = unpack_bits(%q, shape=[N, "
      "3]) "
      "%y = select(%r, %a, %z)",
      -2, 2, 0),
    S(unpack_bits, SYM, "%a: f32[N, 3]", "f32[N, 3]",
      "%z = full(shape=[N, 3], value=0.25) %p = gt(%a, %z) %q = pack_bits(%p) %r = unpack_bits(%q, shape=[N, "
      "3]) "
      "%y = select(%r, %a, %z)",
      -2, 2, 0),
    S(dim, SYM, "%a: f32[N]", "f32[N]",
      "%d = dim(of=2*N) %f = cast(%d, to=\"f32\") %w = broadcast(%f, shape=[N], axes=[]) %y = mul(%a, %w)",
      -2, 2, 0),
    S(full, SYM, "%a: f32[N]", "f32[N]", "%f = full(shape=[N], value=2.5) %y = mul(%a, %f)", -2, 2, 0),
    S(iota, SYM, "%a: f32[N, 2]", "f32[N, 2]",
      "%i = iota(shape=[N, 2], axis=1) %f = cast(%i, to=\"f32\") %y = mul(%a, %f)", -2, 2, 0),

    REDUCE(sum),
    REDUCE(mean),
    REDUCE(max_reduce),
    REDUCE(min_reduce),
    REDUCE(prod),
    S(prod, SYM, "%a: f32[N, 2]", "f32[2]", "%y = prod(%a, axes=[0])", -2, 2, 0),
    S(argmax, POS, "%a: f32[N, 4]", "i64[N]", "%y = argmax(%a, axis=1)", -2, 2, 0),
    S(argmin, POS, "%a: f32[4, N]", "f32[N]", "%i = argmin(%a, axis=0) %y = pick(%a, %i, axis=0)", -2, 2, 0),
    S(cumsum, SYM, "%a: f32[2, N, 3]", "f32[2, N, 3]", "%y = cumsum(%a, axis=1)", -2, 2, 0),
    S(cumsum, SYM, "%a: f32[4, N]", "f32[4, N]", "%y = cumsum(%a, axis=0, reverse=true)", -2, 2, 0),
    S(cumprod, SYM, "%a: f32[2, N, 2]", "f32[2, N, 2]", "%y = cumprod(%a, axis=1)", -2, 2, 0),
    S(cumprod, SYM, "%a: f32[4, N]", "f32[4, N]", "%y = cumprod(%a, axis=0, reverse=true)", -2, 2, 0),
    S(sum, SYM, "%a: f32[N, 4]", "f32[4]", "%y = sum(%a, axes=[0])", -2, 2, 0),

    MATMUL("[N, 2]", "[2, 3]", ""),
    MATMUL("[2, N]", "[2, 3]", ", ta=true"),
    MATMUL("[N, 2]", "[3, 2]", ", tb=true"),
    MATMUL("[2, N]", "[3, 2]", ", ta=true, tb=true"),
    MATMUL("[4, N]", "[4, 3]", ", ta=true"),
    S(matmul, FIX, "%a: f32[3, 0]", "f32[3, 3]", "%y = matmul(%a, %a, tb=true)", -2, 2, 0),
    S(matmul, FIX, "%a: f32[3, 2]", "f32[3, 3]", "%y = matmul(%a, %a, tb=true)", -2, 2, 0),
    S(matmul, SYM, "%a: f32[N, 2, 3, 2], %b: f32[N, 2, 2, 3]", "f32[N, 2, 3, 3]", "%y = matmul(%a, %b)", -2,
      2, 0),
    S(matmul, SYM, "%a: f32[N, 2, 3], %b: f32[N, 4, 2]", "f32[N, 3, 4]",
      "%y = matmul(%a, %b, ta=true, tb=true)", -2, 2, 0),
    S(matmul, SYM, "%a: f32[2, N, 3], %b: f32[2, N, 1]", "f32[2, 3, 1]", "%y = matmul(%a, %b, ta=true)", -2,
      2, 0),
    S(matmul, SYM, "%a: f32[2, 1, N], %b: f32[2, 3, N]", "f32[2, 1, 3]", "%y = matmul(%a, %b, tb=true)", -2,
      2, 0),

    CONV2D("[N, 2, 3, 4]", "[3, 2, 2, 2]", "[N, 3, 2, 3]", ""),
    CONV2D("[N, 4, 3, 3]", "[6, 2, 2, 1]", "[N, 6, 2, 3]", ", groups=2"),
    CONV2D("[N, 2, 4, 3]", "[4, 1, 3, 2]", "[N, 4, 2, 2]", ", groups=2"),
    CONV2D("[N, 1, 5, 6]", "[2, 1, 2, 3]", "[N, 2, 2, 2]",
           ", stride=[3, 2], dilation=[1, 2], pad=[0, 1, 1, 0]"),
    CONV2D("[N, 2, 2, 2]", "[1, 2, 1, 1]", "[N, 1, 1, 1]", ", stride=[2, 2]"),
    CONV2D("[1, 1, N, 3]", "[1, 1, 2, 2]", "[1, 1, ceildiv(N, 2) + 1, 3]",
           ", stride=[2, 1], pad=[2, 0, 1, 1]"),
    S(conv2d, FIX, "%a: f32[2, 2, 2, 2]", "f32[2, 2, 1, 1]", "%y = conv2d(%a, %a)", -1, 1, 0),
    S(conv2d_input, SYM, "%a: f32[N, 2, 2, 2], %b: f32[2, 2, 2, 2]", "f32[N, 2, 5, 4]",
      "%y = conv2d_input(%a, %b, shape=[5, 4], stride=[2, 2], pad=[0, 0, 0, 1])", -2, 2, 0),
    S(conv2d_input, SYM, "%a: f32[N, 4, 3, 1], %b: f32[4, 1, 2, 2]", "f32[N, 2, 4, 3]",
      "%y = conv2d_input(%a, %b, shape=[4, 3], dilation=[1, 2], groups=2)", -2, 2, 0),
    S(conv2d_weight, SYM, "%a: f32[N, 2, 5, 4], %b: f32[N, 2, 2, 2]", "f32[2, 2, 2, 2]",
      "%y = conv2d_weight(%a, %b, window=[2, 2], stride=[2, 2], pad=[0, 0, 0, 1])", -2, 2, 0),
    S(conv2d_weight, SYM, "%a: f32[N, 2, 4, 3], %b: f32[N, 4, 3, 1]", "f32[4, 1, 2, 2]",
      "%y = conv2d_weight(%a, %b, window=[2, 2], dilation=[1, 2], groups=2)", -2, 2, 0),
    S(conv_transpose2d, SYM, "%a: f32[N, 2, 2, 2], %b: f32[2, 3, 2, 2]", "f32[N, 3, 4, 3]",
      "%y = conv_transpose2d(%a, %b, stride=[2, 1])", -2, 2, 0),
    S(conv_transpose2d, POS, "%a: f32[1, 2, N, 2], %b: f32[2, 1, 2, 2]", "f32[1, 2, 3*N, 2]",
      "%y = conv_transpose2d(%a, %b, stride=[3, 2], pad=[0, 1, 1, 1], output_pad=[2, 0], groups=2)", -2, 2,
      0),
    S(conv_transpose2d, FIX, "%a: f32[1, 2, 3, 2], %b: f32[2, 1, 2, 2]", "f32[1, 1, 5, 4]",
      "%y = conv_transpose2d(%a, %b, pad=[0, 0, 1, 0], output_pad=[2, 1])", -2, 2, 0),
    S(conv_nd, POS, "%a: f32[2, 2, N + 1], %b: f32[4, 1, 2]", "f32[2, 4, N + 1]",
      "%y = conv_nd(%a, %b, pad=[0, 1], groups=2)", -2, 2, 0),
    S(conv_nd, POS, "%a: f32[1, 2, N + 1, 2, 2], %b: f32[2, 2, 2, 1, 2]",
      "f32[1, 2, div(N + 1, 2) + 1, 2, 1]", "%y = conv_nd(%a, %b, stride=[2, 1, 1], pad=[1, 0, 0, 1, 0, 0])",
      -2, 2, 0),
    S(conv_transpose_nd, POS, "%a: f32[2, 2, N], %b: f32[2, 1, 2]", "f32[2, 2, 3*N]",
      "%y = conv_transpose_nd(%a, %b, stride=[3], output_pad=[1], groups=2)", -2, 2, 0),
    S(conv_transpose_nd, SYM, "%a: f32[N, 1, 2, 2, 1], %b: f32[1, 2, 2, 1, 2]", "f32[N, 2, 2, 3, 2]",
      "%y = conv_transpose_nd(%a, %b, stride=[1, 2, 1], pad=[1, 0, 0, 0, 0, 0])", -2, 2, 0),
    S(max_pool_nd, SYM, "%a: f32[N, 2, 5]", "f32[N, 2, 3]",
      "%y = max_pool_nd(%a, window=[3], stride=[2], pad=[1, 1])", -2, 2, 0),
    S(max_pool_nd, SYM, "%a: f32[N, 1, 2, 4, 2]", "f32[N, 1, 1, 2, 2]",
      "%y = max_pool_nd(%a, window=[2, 2, 1])", -2, 2, 0),
    S(avg_pool_nd, POS, "%a: f32[2, 1, N + 2]", "f32[2, 1, N + 2]",
      "%y = avg_pool_nd(%a, window=[3], stride=[1], pad=[1, 1], skip_pad=true)", -2, 2, 0),
    S(avg_pool_nd, SYM, "%a: f32[N, 1, 2, 3, 2]", "f32[N, 1, 1, 3, 2]",
      "%y = avg_pool_nd(%a, window=[2, 2, 1], stride=[1, 1, 1], pad=[0, 0, 0, 0, 1, 0], skip_pad=true)", -2,
      2, 0),
    S(max_pool2d, SYM, "%a: f32[N, 2, 4, 4]", "f32[N, 2, 2, 2]", "%y = max_pool2d(%a, window=[2, 2])", -2, 2,
      0),
    S(max_pool2d, POS, "%a: f32[1, 1, N + 1, 5]", "f32[1, 1, N + 1, 3]",
      "%y = max_pool2d(%a, window=[2, 3], stride=[1, 2], pad=[0, 1, 1, 1])", -2, 2, 0),
    S(max_pool2d_grad, SYM, "%a: f32[N, 1, 3, 4], %b: f32[N, 1, 2, 3]", "f32[N, 1, 3, 4]",
      "%y = max_pool2d_grad(%a, %b, window=[2, 2], stride=[1, 1])", -2, 2, 0),
    S(max_pool2d_take, SYM, "%a: f32[N, 1, 3, 4], %b: f32[N, 1, 3, 4]", "f32[N, 1, 2, 3]",
      "%y = max_pool2d_take(%a, %b, window=[2, 2], stride=[1, 1])", -2, 2, 0),
    S(max_pool2d_take, FIX, "%a: f32[1, 1, 3, 4]", "f32[1, 1, 2, 2]",
      "%y = max_pool2d_take(%a, %a, window=[2, 3], stride=[2, 2], pad=[1, 0, 0, 1])", -2, 2, 0),
    S(avg_pool2d, SYM, "%a: f32[N, 2, 4, 5]", "f32[N, 2, 3, 2]",
      "%y = avg_pool2d(%a, window=[2, 3], stride=[2, 3], pad=[1, 0, 1, 1])", -2, 2, 0),
    S(avg_pool2d_grad, SYM, "%a: f32[N, 2, 2, 3]", "f32[N, 2, 3, 5]",
      "%y = avg_pool2d_grad(%a, shape=[3, 5], window=[2, 2], stride=[1, 2], pad=[0, 1, 0, 0])", -2, 2, 0),

    S(take, SYM, "%a: f32[5, 2], %i: i32[N]", "f32[N, 2]", "%y = take(%a, %i, axis=0)", -2, 2, 5),
    S(take, SYM, "%a: f32[2, 3, 2], %i: i64[N, 2]", "f32[2, N, 2, 2]", "%y = take(%a, %i, axis=1)", -2, 2, 3),
    S(take, FIX, "%a: f32[2, 3], %i: i32[]", "f32[2]", "%y = take(%a, %i, axis=1)", -2, 2, 3),
    S(pick, SYM, "%a: f32[N, 5], %i: i32[N]", "f32[N]", "%y = pick(%a, %i, axis=1)", -2, 2, 5),
    S(pick, FIX, "%a: f32[3, 2, 2], %i: i64[3, 2]", "f32[3, 2]", "%y = pick(%a, %i, axis=1)", -2, 2, 2),
    S(take_along, SYM, "%a: f32[3, N], %i: i32[3, N]", "f32[3, N]", "%y = take_along(%a, %i, axis=0)", -2, 2,
      3),
    S(take_along, POS, "%a: f32[2, 5, N], %i: i64[2, 3, N]", "f32[2, 3, N]",
      "%y = take_along(%a, %i, axis=1)", -2, 2, 5),
    S(take_along, POS, "%a: f64[N, 4], %i: i64[N, 6]", "f64[N, 6]", "%y = take_along(%a, %i, axis=1)", -2, 2,
      4),
    S(roll, SYM, "%a: f32[N, 4]", "f32[N, 4]",
      "%b = roll(%a, axis=1, shift=5) %y = roll(%b, axis=0, shift=-1)", -2, 2, 0),
    S(triu, SYM, "%a: f32[N, 3, 4]", "f32[N, 3, 4]", "%y = triu(%a, diagonal=1)", -2, 2, 0),
    S(tril, FIX, "%a: f64[3, 3]", "f64[3, 3]", "%y = tril(%a)", -2, 2, 0),
    S(masked_fill, SYM, "%a: f32[N, 4]", "f32[N, 4]",
      "%z = neg(%a) %p = gt(%a, %z) %y = masked_fill(%a, %p, value=3)", -2, 2, 0),
    S(reflection_pad, FIX, "%a: f32[3, 4]", "f32[5, 7]", "%y = reflection_pad(%a, low=[2, 1], high=[0, 2])",
      -2, 2, 0),
    S(reflection_pad, SYM, "%a: f32[N, 3]", "f32[N, 5]", "%y = reflection_pad(%a, low=[0, 1], high=[0, 1])",
      -2, 2, 0),
    S(replication_pad, POS, "%a: f32[N, 4]", "f32[N + 3, 4]",
      "%y = replication_pad(%a, low=[1, 0], high=[2, 0])", -2, 2, 0),
    S(circular_pad, POS, "%a: f32[N, 4]", "f32[2*N, 5]", "%y = circular_pad(%a, low=[N, 0], high=[0, 1])", -2,
      2, 0),
    S(std, POS, "%a: f32[N, 4]", "f32[N]", "%y = std(%a, axes=[1])", -2, 2, 0),
    S(prelu, SYM, "%a: f32[N, 4], %b: f32[4]", "f32[N, 4]", "%y = prelu(%a, %b)", -2, 2, 0),
    S(prelu, FIX, "%a: f64[5], %b: f64[1]", "f64[5]", "%y = prelu(%a, %b)", -2, 2, 0),
    S(take_nd, POS, "%a: f32[3, 3, N], %i: i64[4, 2]", "f32[4, N]", "%y = take_nd(%a, %i)", -2, 2, 3),
    S(take_nd, SYM, "%a: f32[N, 4], %i: i32[N, 2, 1]", "f32[N, 2]", "%y = take_nd(%a, %i, batch=1)", -2, 2,
      4),
    S(one_hot, FIX, "%a: f32[2], %i: i32[2]", "f32[2, 3]", "%y = one_hot(%i, n=3)", -2, 2, 3),
    S(scatter_add_along, SYM, "%a: f32[N, 4], %i: i32[N, 2], %u: f32[N, 2]", "f32[N, 4]",
      "%y = scatter_add_along(%a, %i, %u, axis=1)", -2, 2, 4),
    S(scatter_add_nd, POS, "%a: f32[3, 3, N], %i: i64[4, 2], %u: f32[4, N]", "f32[3, 3, N]",
      "%y = scatter_add_nd(%a, %i, %u)", -2, 2, 3),
    S(adaptive_avg_pool, SYM, "%a: f32[N, 5, 4]", "f32[N, 3, 2]", "%y = adaptive_avg_pool(%a, shape=[3, 2])",
      -2, 2, 0),
    S(adaptive_avg_pool, POS, "%a: f32[2, N]", "f32[2, 2]", "%y = adaptive_avg_pool(%a, shape=[2])", -2, 2,
      0),
    S(adaptive_max_pool, SYM, "%a: f32[N, 5]", "f32[N, 3]", "%y = adaptive_max_pool(%a, shape=[3])", -2, 2,
      0),
    S(resize, SYM, "%a: f32[N, 3, 2]", "f32[N, 4, 3]", "%y = resize(%a, shape=[4, 3])", -2, 2, 0),
    S(resize, POS, "%a: f32[2, N]", "f32[2, 4]", "%y = resize(%a, shape=[4], mode=\"linear\")", -2, 2, 0),
    S(resize, POS, "%a: f32[4]", "f32[2*N]",
      "%y = resize(%a, shape=[2*N], mode=\"cubic\", align_corners=true)", -2, 2, 0),
    S(rnn, POS, "%x: f32[N, 2, 3], %h: f32[2, 2], %u: f32[2, 3], %w: f32[2, 2], %a: f32[2], %b: f32[2]",
      "f32[N, 2, 2]", "%y, %last = rnn(%x, %h, %u, %w, %a, %b)", -1, 1, 0),
    S(gru, SYM, "%x: f32[2, N, 3], %h: f32[N, 2], %u: f32[6, 3], %w: f32[6, 2], %a: f32[6], %b: f32[6]",
      "f32[2, N, 2]", "%y, %last = gru(%x, %h, %u, %w, %a, %b, reverse=true)", -1, 1, 0),
    S(lstm, POS,
      "%x: f32[3, N, 2], %h: f32[N, 1], %s: f32[N, 1], %u: f32[4, 2], %w: f32[4, 1], %a: f32[4], %b: f32[4]",
      "f32[N, 1]", "%z, %last, %k = lstm(%x, %h, %s, %u, %w, %a, %b) %y = add(%last, %k)", -1, 1, 0),
    S(argsort, SYM, "%a: f32[N, 4]", "i64[N, 4]", "%y = argsort(%a, axis=1)", -2, 2, 0),
    S(sort, SYM, "%a: f32[2, N, 3]", "f32[2, N, 3]", "%y = sort(%a, axis=1)", -2, 2, 0),
    S(sort, FIX, "%a: f64[5]", "f64[5]", "%y = sort(%a, axis=0, descending=true)", -2, 2, 0),
    S(topk, SYM, "%a: f32[N, 5]", "f32[N, 2]", "%y, %j = topk(%a, k=2, axis=1)", -2, 2, 0),
    S(topk, FIX, "%a: f32[4, 3]", "f32[3, 3]", "%y, %j = topk(%a, k=3, axis=0, largest=false)", -2, 2, 0),
    S(bounded, SYM, "%a: f32[5, 2], %i: i32[N]", "f32[N, 2]",
      "%j = bounded(%i, of=5) %y = take(%a, %j, axis=0)", -2, 2, 5),
    S(scatter_add, SYM, "%a: f32[5, 2], %i: i32[N], %u: f32[N, 2]", "f32[5, 2]",
      "%y = scatter_add(%a, %i, %u, axis=0)", -2, 2, 5),
    S(scatter_add, FIX, "%a: f32[2, 3], %i: i32[2, 2], %u: f32[2, 2, 2]", "f32[2, 3]",
      "%y = scatter_add(%a, %i, %u, axis=1)", -2, 2, 3),

    S(random, SYM, "%a: f32[N, 2], %k: i64[N, 2], %i: i64[N, 2]", "f32[N, 2]",
      "%r = random(%k, %i) %y = mul(%a, %r)", -2, 2, 9),
    S(uniform, SYM, "%a: f64[N, 2], %k: i64[]", "f64[N, 2]",
      "%r = uniform(%k, shape=[N, 2], lo=-1, dtype=\"f64\") %y = mul(%a, %r)", -2, 2, 9),
    S(normal, SYM, "%a: f32[N, 2], %k: i64[]", "f32[N, 2]",
      "%r = normal(%k, shape=[N, 2], std=0.5) %y = mul(%a, %r)", -2, 2, 9),
    S(key_split, SYM, "%a: f32[2*N, 2], %k: i64[]", "f32[2*N, 2]",
      "%s = key_split(%k, n=2*N) %b = broadcast(%s, shape=[2*N, 2], axes=[0]) %r = random(%b, %b) %y = "
      "mul(%a, "
      "%r)",
      -2, 2, 9),
    S(dropout, SYM, "%a: f32[N, 4], %k: i64[]", "f32[N, 4]", "%y = dropout(%a, %k, p=0.25)", -2, 2, 9),
    S(dropout, FIX, "%a: f64[4], %k: i64[]", "f64[4]", "%y = dropout(%a, %k, p=0)", -2, 2, 9),

    S(softmax, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = softmax(%a, axis=1)", -2, 2, 0),
    S(softmax, POS, "%a: f32[N, 2, 3]", "f32[N, 2, 3]", "%y = softmax(%a, axis=0)", -2, 2, 0),
    S(log_softmax, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = log_softmax(%a, axis=1)", -2, 2, 0),
    S(log_softmax, POS, "%a: f32[2, N]", "f32[2, N]", "%y = log_softmax(%a, axis=1)", -2, 2, 0),
    REDUCE(logsumexp),
    S(layer_norm, SYM, "%a: f32[N, 4], %g: f32[4], %b: f32[4]", "f32[N, 4]",
      "%y = layer_norm(%a, %g, %b, eps=1e-3)", -2, 2, 0),
    S(layer_norm, SYM, "%a: f32[2, N, 3], %g: f32[3], %b: f32[3]", "f32[2, N, 3]",
      "%y = layer_norm(%a, %g, %b)", -2, 2, 0),
    S(rms_norm, SYM, "%a: f32[N, 4], %g: f32[4]", "f32[N, 4]", "%y = rms_norm(%a, %g)", -2, 2, 0),
    S(rms_norm, FIX, "%a: f32[4], %g: f32[4]", "f32[4]", "%y = rms_norm(%a, %g, eps=0.1)", -2, 2, 0),
    S(batch_norm, POS, "%a: f32[N, 2, 2, 3], %g: f32[2], %b: f32[2], %m: f32[2], %v: f32[2]",
      "f32[N, 2, 2, 3]", "%y, %p, %q = batch_norm(%a, %g, %b, %m, %v, eps=1e-2)", -2, 2, 0),
    S(batch_norm, FIX, "%a: f64[5, 3], %g: f64[3], %b: f64[3], %m: f64[3], %v: f64[3]", "f64[5, 3]",
      "%y, %p, %q = batch_norm(%a, %g, %b, %m, %v)", -2, 2, 0),
    S(group_norm, SYM, "%a: f32[N, 4, 2, 2], %g: f32[4], %b: f32[4]", "f32[N, 4, 2, 2]",
      "%y = group_norm(%a, %g, %b, groups=2, eps=1e-2)", -2, 2, 0),
    S(group_norm, POS, "%a: f32[2, 3*N], %g: f32[3*N], %b: f32[3*N]", "f32[2, 3*N]",
      "%y = group_norm(%a, %g, %b, groups=1)", -2, 2, 0),
    S(instance_norm, SYM, "%a: f32[N, 2, 3, 2], %g: f32[2], %b: f32[2]", "f32[N, 2, 3, 2]",
      "%y = instance_norm(%a, %g, %b)", -2, 2, 0),
    S(upsample, SYM, "%a: f32[N, 2, 2, 1]", "f32[N, 2, 4, 3]", "%y = upsample(%a, factor=[2, 3])", -2, 2, 0),
    S(upsample, POS, "%a: f32[1, 2, N, N + 1]", "f32[1, 2, 2*N, 3*N + 3]",
      "%y = upsample(%a, factor=[2, 3], mode=\"bilinear\")", -2, 2, 0),
    S(cross_entropy, POS, "%a: f32[N, 5], %i: i32[N]", "f32[]", "%y = cross_entropy(%a, %i)", -2, 2, 5),
    S(cross_entropy, POS, "%a: f32[N, 2, 5], %i: i64[N, 2]", "f32[]",
      "%y = cross_entropy(%a, %i, smooth=0.2)", -2, 2, 5),
    S(cross_entropy, FIX, "%a: f32[6, 3], %i: i32[6]", "f32[]",
      "%y = cross_entropy(%a, %i, ignore=1, smooth=0.1)", -2, 2, 3),
    S(mse, POS, "%a: f32[N, 3], %b: f32[N, 3]", "f32[]", "%y = mse(%a, %b)", -2, 2, 0),
    S(huber, POS, "%a: f32[N, 3], %b: f32[N, 3]", "f32[]", "%y = huber(%a, %b, delta=9)", -2, 2, 0),
    S(huber, FIX, "%a: f64[5], %b: f64[5]", "f64[]", "%y = huber(%a, %b, delta=1e-4)", -2, 2, 0),
    S(bce, POS, "%a: f32[N, 3], %b: f32[N, 3]", "f32[]", "%y = bce(%a, %b)", -2, 2, 0),
    S(nll, POS, "%a: f32[N, 5], %i: i32[N]", "f32[]", "%y = nll(%a, %i)", -2, 2, 5),
    S(nll, FIX, "%a: f32[6, 3], %i: i32[6]", "f32[]", "%y = nll(%a, %i, ignore=1)", -2, 2, 3),
    S(var, POS, "%a: f32[N, 4, 2]", "f32[]", "%y = var(%a)", -2, 2, 0),
    S(var, POS, "%a: f32[N, 4, 2]", "f32[4]", "%y = var(%a, axes=[0, 2], correction=0.5)", -2, 2, 0),
    S(var, POS, "%a: f32[N, 4, 2]", "f32[N, 1, 1]", "%y = var(%a, axes=[2, 1], keep=true, correction=0)", -2,
      2, 0),
    S(attention, SYM, "%q: f32[N, 2, 3, 2], %k: f32[N, 2, 4, 2], %v: f32[N, 2, 4, 3]", "f32[N, 2, 3, 3]",
      "%y = attention(%q, %k, %v)", -2, 2, 0),
    S(attention, POS, "%q: f32[1, 2, N, 2], %k: f32[1, 2, N, 2], %v: f32[1, 2, N, 2]", "f32[1, 2, N, 2]",
      "%y = attention(%q, %k, %v, causal=true, scale=0.7)", -2, 2, 0),
    S(attention, FIX, "%q: f32[1, 4, 2, 2], %k: f32[1, 2, 3, 2], %v: f32[1, 2, 3, 2], %b: f32[1, 4, 2, 3]",
      "f32[1, 4, 2, 2]", "%y = attention(%q, %k, %v, %b)", -2, 2, 0),
    S(attention, SYM, "%q: f64[1, 2, 5, 2], %k: f64[1, 1, N, 2], %v: f64[1, 1, N, 1], %b: f64[1, 2, 5, N]",
      "f64[1, 2, 5, 1]", "%y = attention(%q, %k, %v, %b, scale=0.5)", -2, 2, 0),
    S(attention, POS, "%q: f64[2, 1, 1, 3], %k: f64[2, 1, N, 3], %v: f64[2, 1, N, 2]", "f64[2, 1, 1, 2]",
      "%y = attention(%q, %k, %v, causal=true)", -2, 2, 0),
    S(attention, FIX, "%q: f64[1, 2, 2, 2], %k: f64[1, 1, 4, 2], %v: f64[1, 1, 4, 3]", "f64[1, 2, 2, 3]",
      "%y = attention(%q, %k, %v, causal=true)", -2, 2, 0),
    S(attention_grad, FIX,
      "%q: f64[1, 2, 2, 2], %k: f64[1, 1, 3, 2], %v: f64[1, 1, 3, 2], %b: f64[1, 2, 2, 3], "
      "%d: f64[1, 2, 2, 2]",
      "f64[1, 2, 2, 2]", "%y, %dk, %dv, %db = attention_grad(%q, %k, %v, %b, %d)", -1, 1, 0),
    S(attention_grad, FIX,
      "%q: f64[1, 2, 2, 2], %k: f64[1, 2, 3, 2], %v: f64[1, 2, 3, 1], %d: f64[1, 2, 2, 1]", "f64[1, 2, 3, 2]",
      "%dq, %y, %dv = attention_grad(%q, %k, %v, %d, causal=true)", -1, 1, 0),
    S(attention_grad, POS,
      "%q: f32[1, 1, 2, 2], %k: f32[1, 1, N, 2], %v: f32[1, 1, N, 1], %d: f32[1, 1, 2, 1]", "f32[1, 1, N, 1]",
      "%dq, %dk, %y = attention_grad(%q, %k, %v, %d, scale=0.7)", -1, 1, 0),
    S(attention_grad, FIX,
      "%q: f64[1, 1, 2, 2], %k: f64[1, 1, 3, 2], %v: f64[1, 1, 3, 2], %b: f64[1, 1, 2, 3], "
      "%d: f64[1, 1, 2, 2]",
      "f64[1, 1, 2, 3]", "%dq, %dk, %dv, %y = attention_grad(%q, %k, %v, %b, %d, causal=true)", -1, 1, 0),
};

#define NSAMPLES (sizeof samples / sizeof *samples)

#endif
