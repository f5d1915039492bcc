/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every op's VJP against central differences, and its derivative's derivative
 * too.  The loop runs over the op table: an op without a sample here fails.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "modes.h"

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
#define BINARY(op, lo, hi)                                                                                   \
    S(op, SYM, "%a: f32[N, 4], %b: f32[N, 4]", "f32[N, 4]", "%y = " #op "(%a, %b)", lo, hi, 0),              \
        S(op, FIX, "%a: f32[4]", "f32[4]", "%y = " #op "(%a, %a)", lo, hi, 0),                               \
        S(op, FIX, "%a: f64[], %b: f64[]", "f64[]", "%y = " #op "(%a, %b)", lo, hi, 0)
#define COMPARE(op) S(op, FIX, "%a: f32[6], %b: f32[6]", "bool[6]", "%y = " #op "(%a, %b)", -2, 2, 0)
#define BITWISE(op)                                                                                          \
    S(op, FIX, "%a: f32[6], %b: f32[6]", "f32[6]",                                                           \
      "%p = gt(%a, %b) %n = neg(%b) %q = gt(%b, %n) %r = " #op "(%p, %q) %y = select(%r, %a, %b)", -2, 2, 0)
#define REDUCE(op, lo, hi)                                                                                   \
    S(op, POS, "%a: f32[N, 4, 2]", "f32[]", "%y = " #op "(%a)", lo, hi, 0),                                  \
        S(op, POS, "%a: f32[N, 4, 2]", "f32[4]", "%y = " #op "(%a, axes=[0, 2])", lo, hi, 0),                \
        S(op, POS, "%a: f32[N, 4, 2]", "f32[N, 1, 1]", "%y = " #op "(%a, axes=[2, 1], keep=true)", lo, hi,   \
          0),                                                                                                \
        S(op, FIX, "%a: f32[4, 1]", "f32[4]", "%y = " #op "(%a, axes=[1])", lo, hi, 0),                      \
        S(op, FIX, "%a: f32[4]", "f32[4]", "%y = " #op "(%a, axes=[])", lo, hi, 0),                          \
        S(op, FIX, "%a: f64[]", "f64[]", "%y = " #op "(%a)", lo, hi, 0)
#define MATMUL(a, b, flags)                                                                                  \
    S(matmul, SYM, "%a: f32" a ", %b: f32" b, "f32[N, 3]", "%y = matmul(%a, %b" flags ")", -2, 2, 0)
#define CONV2D(x, w, y, more)                                                                                \
    S(conv2d, POS, "%a: f32" x ", %b: f32" w, "f32" y, "%y = conv2d(%a, %b" more ")", -2, 2, 0)

static const sample samples[] = {
    UNARY(neg, -2, 2),
    UNARY(abs, -2, 2),
    UNARY(sign, -2, 2),
    UNARY(exp, -2, 2),
    UNARY(expm1, -2, 2),
    UNARY(log, 0.3, 3),
    UNARY(log1p, -0.5, 3),
    UNARY(sqrt, 0.3, 3),
    UNARY(rsqrt, 0.3, 3),
    UNARY(sin, -4, 4),
    UNARY(cos, -4, 4),
    UNARY(tanh, -2, 2),
    UNARY(sigmoid, -4, 4),
    UNARY(erf, -2, 2),
    UNARY(relu, -2, 2),
    UNARY(gelu, -3, 3),
    S(gelu, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = gelu(%a, approx=\"tanh\")", -3, 3, 0),
    UNARY(silu, -4, 4),
    UNARY(softplus, -4, 4),
    UNARY(elu, -2, 2),
    S(elu, SYM, "%a: f32[N, 4]", "f32[N, 4]", "%y = elu(%a, alpha=0.5)", -2, 2, 0),
    UNARY(leaky_relu, -2, 2),
    UNARY(hardsigmoid, -2.5, 2.5),
    S(hardsigmoid, FIX, "%a: f32[6]", "f32[6]", "%y = hardsigmoid(%a)", 3.1, 9, 0),
    UNARY(hardswish, -2.5, 2.5),
    S(hardswish, FIX, "%a: f32[6]", "f32[6]", "%y = hardswish(%a)", -9, -3.1, 0),
    UNARY(mish, -4, 4),
    UNARY(tan, -1.2, 1.2),
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

    REDUCE(sum, -2, 2),
    REDUCE(mean, -2, 2),
    REDUCE(max_reduce, -2, 2),
    REDUCE(min_reduce, -2, 2),
    REDUCE(prod, -2, 2),
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
    REDUCE(logsumexp, -2, 2),
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

/* "%a: f32[2], %i: i32[3]" with the role of each: floats are params, the rest inputs. */
static void add_roles(gcut_text *t, const char *params)
{
    for (const char *p = params; *p;) {
        size_t n = strcspn(p, "]") + 1;
        const char *type = strchr(p, ':') + 2;
        gcut_text_add(t, "%s%s ", p == params ? "" : ", ", *type == 'f' ? "param" : "input");
        gcut_text_addn(t, p, n);
        p += n + strspn(p + n, ", ");
    }
}

/* The sample as a graph with `out loss` = sum(y * t), t one more input. */
static gcut_graph *sample_graph(gcut_env *env, gcut_arena *a, const sample *s)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f%s(", s->dims);
    add_roles(&t, s->params);
    gcut_text_add(&t, ") -> (out y: %s) { %s return %%y }\n", s->type, s->body);
    gcut_module *m = gcut_parse(env, a, gcut_op_get(s->op)->name, t.at, t.n);
    gcut_graph *g = m->graphs.at[0];
    bool uses = false;
    for (uint32_t n = 0; n < g->nodes.n; n++) uses = uses || g->nodes.at[n].op == s->op;
    assert_true(uses);
    gcut_build b = {.g = g};
    gcut_ref y = g->results.at[0].value;
    if (!gcut_dtype_is_float(gcut_type_of(g, y)->dtype)) y = gcut_bcast(&b, y, GCUT_f32);
    gcut_type ty = *gcut_type_of(g, y);
    gcut_ref p = gcut_b2(&b, GCUT_OP_mul, y, gcut_param_new(g, GCUT_ROLE_input, "t", &ty));
    if (ty.rank) p = gcut_breduce(&b, GCUT_OP_sum, p, (1u << ty.rank) - 1);
    g->results.n = 0;
    gcut_result_new(g, GCUT_ROLE_out, "loss", p);
    return g;
}

static void shuffle(double *x, int64_t n, uint64_t *seed)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)(next_unit(seed) * (double)(i + 1));
        double tmp = x[i];
        x[i] = x[k];
        x[k] = tmp;
    }
}

/* The arrays of g's parameters; all differentiated floats share one grid. */
static gcut_array *fill(gcut_arena *a, const gcut_graph *g, const sample *s, int64_t size, uint64_t *seed)
{
    gcut_array *at = gcut_calloc(a, g->params.n + 1u, sizeof *at);
    int64_t n = 0, next = 0;
    for (uint32_t k = 0; k < g->params.n; k++) {
        at[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), size);
        if (g->params.at[k].role == GCUT_ROLE_param) n += at[k].n;
    }
    n += n % 2;
    if (n == 0) n = 2;
    /* An even number of cells puts a boundary at the middle of [lo, hi], where most kinks are. */
    double *grid = gcut_calloc(a, (size_t)n, sizeof *grid);
    for (int64_t i = 0; i < n; i++)
        grid[i] = s->lo + (s->hi - s->lo) * ((double)i + 0.4 + 0.2 * next_unit(seed)) / (double)n;
    shuffle(grid, n, seed);
    for (uint32_t k = 0; k < g->params.n; k++)
        for (int64_t i = 0; i < at[k].n; i++) {
            if (!gcut_dtype_is_float(at[k].dtype))
                at[k].u.i[i] = (int64_t)(next_unit(seed) * s->bound);
            else if (g->params.at[k].role == GCUT_ROLE_param)
                at[k].u.f[i] = grid[next++];
            else
                at[k].u.f[i] = 2 * next_unit(seed) - 1;
        }
    return at;
}

static void assert_close(const sample *s, int64_t size, const char *what, double got, double want)
{
    double scale = fmax(fabs(want), 1e-3);
    if (fabs(got - want) <= 1e-6 * scale) return;
    fail_msg("%s, N=%lld, %s: %.17g, expected %.17g\n  (%s) { %s }", gcut_op_get(s->op)->name,
             (long long)size, what, got, want, s->params, s->body);
}

typedef struct job {
    gcut_env *env;
    const sample *s;
    int64_t size;
} job;

/* One operand at a time gives the same gradient as all at once. */
static void check_each_alone(gcut_arena *a, gcut_graph *g, const gcut_array *at, const gcut_graph *joint,
                             const gcut_array *all)
{
    for (uint32_t k = 0; k < g->params.n; k++) {
        if (g->params.at[k].role != GCUT_ROLE_param) continue;
        const char *name = g->values.at[g->params.at[k].value].name;
        gcut_joint_options o = {.wrt = &name, .nwrt = 1};
        gcut_graph *one = gcut_joint(g, &o, gcut_printf(a, "only.%s", name));
        gcut_array *out = run_graph(a, one, GCUT_EXACT, with_cotangent(a, one, at));
        assert_int_equal(one->results.n, g->results.n + 1);
        const gcut_array *x = &out[find_result(one, GCUT_ROLE_grad, name)];
        const gcut_array *y = &all[find_result(joint, GCUT_ROLE_grad, name)];
        assert_memory_equal(x->u.f, y->u.f, (size_t)x->n * sizeof(double));
    }
}

static void check_sample(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 1 + (uint64_t)j->size;
    gcut_graph *g = sample_graph(j->env, a, j->s);
    gcut_verify(g);
    gcut_array *at = fill(a, g, j->s, j->size, &seed), *dir = directions(a, g, at, &seed);

    gcut_graph *joint = gcut_joint(g, NULL, "f.joint");
    gcut_verify(joint);
    assert_int_equal(g->module->graphs.n, 2);
    gcut_array *both = with_cotangent(a, joint, at);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, both);
    assert_close(j->s, j->size, "first derivative", inner(joint, out, dir),
                 derivative_along(a, g, 0, at, dir));
    check_each_alone(a, g, at, joint, out);

    gcut_graph *slope = gradient_as_loss(joint);
    gcut_graph *second = gcut_joint(slope, NULL, "f.second");
    gcut_verify(second);
    gcut_array *dir2 = directions(a, slope, both, &seed);
    out = run_graph(a, second, GCUT_EXACT, with_cotangent(a, second, both));
    assert_close(j->s, j->size, "second derivative", inner(second, out, dir2),
                 derivative_along(a, slope, 0, both, dir2));
    gcut_arena_free(a);
}

/* With c = %t: <c, J d> = <J' c, d> = the derivative of the loss along d; d'(H d) = that of <J' c, d>. */
static void check_modes(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 11 + (uint64_t)j->size;
    gcut_graph *g = sample_graph(j->env, a, j->s);
    gcut_array *at = fill(a, g, j->s, j->size, &seed), *dir = directions(a, g, at, &seed);
    uint32_t before = g->params.n;
    gcut_ref x[16], v[16], dx[16], hv[16], y = weighed(g), c = gcut_graph_find(g, "t"), ty;
    gcut_ref loss = g->results.at[0].value;
    uint32_t n = add_directions(g, a, x, v);
    gcut_backward(g, &y, &c, 1, x, n, dx);
    add_inner(g, "reverse", dx, v, n);
    gcut_forward(g, &y, 1, x, v, n, &ty);
    add_inner(g, "forward", &c, &ty, 1);
    gcut_hessian(g, loss, x, v, n, hv);
    add_inner(g, "curvature", v, hv, n);
    gcut_verify(g);

    gcut_array *p = with_directions(a, g, before, at, dir), *move = with_directions(a, g, before, dir, NULL);
    gcut_array *out = run_graph(a, g, GCUT_EXACT, p);
    double reverse = out[1].u.f[0], forward = out[2].u.f[0];
    assert_close(j->s, j->size, "reverse mode", reverse, derivative_along(a, g, 0, p, move));
    assert_close(j->s, j->size, "curvature", out[3].u.f[0], derivative_along(a, g, 1, p, move));
    if (!(fabs(forward - reverse) <= 1e-10 * fmax(fabs(reverse), 1e-3)))
        fail_msg("%s: forward mode gives %.17g, reverse mode %.17g", j->s->body, forward, reverse);
    gcut_arena_free(a);
}

static void each_sample(void (*check)(void *))
{
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (gcut_op_get((gcut_op)op)->emit == GCUT_EMIT_REGION) continue; /* test_control */
        uint32_t found = 0;
        for (size_t i = 0; i < NSAMPLES; i++) {
            if ((int)samples[i].op != op) continue;
            for (const char *size = samples[i].sizes; *size; size++) {
                gcut_env *env = gcut_env_new(NULL, NULL);
                job j = {env, &samples[i], *size - '0'};
                must(env, check, &j);
                gcut_env_free(env);
                found++;
            }
        }
        if (!found) fail_msg("the op '%s' has no sample in this test", gcut_op_get((gcut_op)op)->name);
    }
}

static void every_op_matches_central_differences(void **state)
{
    (void)state;
    each_sample(check_sample);
}

static void forward_mode_is_the_transpose_and_hessians_are_right(void **state)
{
    (void)state;
    each_sample(check_modes);
}

/* ---- kinks, ties and infinities ---- */

/* loss = sum of %y over a parameter %a: f32[4]; the gradient at given points, with d loss = 1. */
typedef struct point {
    const char *body;
    double a[4], want[4];
} point;

static const point points[] = {
    {"%y = relu(%a)", {0, -0.0, 2, -2}, {0, 0, 1, 0}},
    {"%y = abs(%a)", {0, -0.0, 2, -2}, {0, 0, 1, -1}},
    {"%y = max(%a, 1.0:f32[4])", {1, 2, 0, -1}, {0.5, 1, 0, 0}},
    {"%y = min(%a, 1.0:f32[4])", {1, 2, 0, -1}, {0.5, 0, 1, 1}},
    {"%y = max(%a, %a)", {1, 2, 0, -1}, {1, 1, 1, 1}},
    {"%y = clamp(%a, lo=-1, hi=1)", {-1, 1, 1.5, -2}, {1, 1, 0, 0}},
    {"%y = max_reduce(%a)", {3, 1, 3, 3}, {1.0 / 3, 0, 1.0 / 3, 1.0 / 3}},
    {"%y = min_reduce(%a)", {3, 1, 3, 1}, {0, 0.5, 0, 0.5}},
    {"%y = max_reduce(%a)", {-INFINITY, 1, -INFINITY, 0}, {0, 1, 0, 0}},
    {"%y = max_reduce(%a)", {INFINITY, 1, INFINITY, 0}, {0.5, 0, 0.5, 0}},
    {"%y = elu(%a, alpha=2)", {0, 1, -800, 800}, {2, 1, 0, 1}},
    {"%y = elu(%a)", {0, -INFINITY, INFINITY, -0.0}, {1, 0, 1, 1}},
    {"%y = leaky_relu(%a)", {0, 1, -1, -INFINITY}, {0.01, 1, 0.01, 0.01}},
    {"%y = hardsigmoid(%a)", {-3, 3, 0, INFINITY}, {0, 0, 1.0 / 6, 0}},
    {"%y = hardswish(%a)", {-3, 3, 0, 4}, {0, 1, 0.5, 1}},
    {"%y = hardswish(%a)", {-INFINITY, INFINITY, -4, 1.5}, {0, 1, 0, 1}},
    {"%y = prod(%a)", {1, 2, 3, 4}, {24, 12, 8, 6}},
    {"%y = prod(%a)", {0, 2, 3, 4}, {24, 0, 0, 0}},
    {"%y = prod(%a)", {0, 2, 0, 4}, {0, 0, 0, 0}},
    {"%y = cumprod(%a, axis=0)", {2, 0, 3, 4}, {1, 32, 0, 0}},
    {"%y = cumsum(%a, axis=0)", {1, 2, 3, 4}, {4, 3, 2, 1}},
    {"%y = pow(%a, 0.0:f32[4])", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = pow(%a, 1.0:f32[4])", {0, 1, 2, -1}, {1, 1, 1, 1}},
    {"%y = pow(%a, 2.0:f32[4])", {0, 1, 2, -1}, {0, 2, 4, -2}},
    {"%y = pow(0.0:f32[4], %a)", {0, 1, 2, 3}, {0, 0, 0, 0}},
    {"%y = pow(1.0:f32[4], %a)", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = sign(%a)", {0, 1, 2, -1}, {0, 0, 0, 0}},
    {"%y = floor(%a)", {0, 1, 0.5, -1}, {0, 0, 0, 0}},
    {"%y = ceil(%a)", {0, 1, 0.5, -1}, {0, 0, 0, 0}},
    {"%y = round(%a)", {0.5, 1.5, 0.25, -0.5}, {0, 0, 0, 0}},
    {"%y = mod(%a, 1.0:f32[4])", {0, 1, 0.5, -1}, {1, 1, 1, 1}},
    {"%s = stop_gradient(%a) %y = mul(%a, %s)", {1, 2, 3, 4}, {1, 2, 3, 4}},
    {"%y = logsumexp(%a)", {0, -INFINITY, 0, -INFINITY}, {0.5, 0, 0.5, 0}},
    {"%y = gelu(%a)", {0, 30, -30, 0}, {0.5, 1, 0, 0.5}},
    {"%y = gelu(%a, approx=\"tanh\")", {0, 30, -30, 0}, {0.5, 1, 0, 0.5}},
    {"%y = silu(%a)", {0, 800, -800, 0}, {0.5, 1, 0, 0.5}},
    {"%y = softplus(%a)", {0, 800, -800, 0}, {0.5, 1, 0, 0.5}},
    {"%y = sigmoid(%a)", {0, 800, -800, 0}, {0.25, 0, 0, 0.25}},
    /* An infinite cotangent does not leak to where the slope is 0. */
    {"%r = relu(%a) %y = div(%r, 0.0:f32[4])", {1, -1, 0, 2}, {INFINITY, 0, 0, INFINITY}},
    {"%m = max_reduce(%a) %z = full(shape=[], value=0.0) %y = div(%m, %z)",
     {3, 1, 2, 0},
     {INFINITY, 0, 0, 0}},
    {"%c = clamp(%a, lo=0, hi=1) %y = div(%c, 0.0:f32[4])", {-1, 0, 1, 2}, {0, INFINITY, INFINITY, 0}},
    /* The slope of log is infinite at 0 and must not leak through the branch that is not taken. */
    {"%p = gt(%a, 0.0:f32[4]) %b = select(%p, %a, 1.0:f32[4]) %l = log(%b) %y = select(%p, %l, %a)",
     {0, 1, 2, -1},
     {1, 1, 0.5, 1}},
    /* Masked scores: softmax over the first two, weighted 1, 2, 3, 4. */
    {"%i = iota(shape=[4], axis=0) %p = lt(%i, 2:i32[4]) %m = select(%p, %a, -inf:f32[4]) %s = softmax(%m, "
     "axis=0) "
     "%f = cast(%i, to=\"f32\") %y = mul(%s, %f)",
     {0, 0, 5, 6},
     {-0.25, 0.25, 0, 0}},
};

/* "1.0:f32[4]" in the body of a point is short for a %cN = full(...) before it. */
static void add_body(gcut_text *t, const char *body)
{
    gcut_text line = {.arena = t->arena};
    int n = 0;
    for (const char *p = body; *p; p++) {
        bool starts = p > body && (p[-1] == ' ' || p[-1] == '(');
        size_t len = starts ? strspn(p, "-.0123456789inf") : 0;
        if (len == 0 || p[len] != ':') {
            gcut_text_addn(&line, p, 1);
            continue;
        }
        gcut_text_add(t, "%%c%d = full(shape=[4], value=%.*s, dtype=\"%.3s\") ", n, (int)len, p, p + len + 1);
        gcut_text_add(&line, "%%c%d", n++);
        p = strchr(p, ']');
    }
    gcut_text_add(t, "%s", line.at);
}

typedef struct point_job {
    gcut_env *env;
    const point *p;
} point_job;

static void check_point(void *arg)
{
    point_job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "gcut 1\nfunc @f(param %%a: f32[4]) -> (out loss: f32[]) { ");
    add_body(&t, j->p->body);
    gcut_text_add(&t, " %%loss = sum(%%y) return %%loss }\n");
    gcut_graph *joint = gcut_joint(gcut_parse(j->env, a, "point", t.at, t.n)->graphs.at[0], NULL, "j");
    gcut_array at = gcut_array_new(a, GCUT_f32, 1, (int64_t[]){4});
    memcpy(at.u.f, j->p->a, sizeof j->p->a);
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, &at));
    const double *got = out[find_result(joint, GCUT_ROLE_grad, "a")].u.f;
    for (int i = 0; i < 4; i++)
        if (got[i] != j->p->want[i] && !(fabs(got[i] - j->p->want[i]) <= 1e-12))
            fail_msg("%s at %g: %.17g, expected %g", j->p->body, j->p->a[i], got[i], j->p->want[i]);
    gcut_arena_free(a);
}

static void kinks_ties_and_infinities_are_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        gcut_env *env = gcut_env_new(NULL, NULL);
        point_job j = {env, &points[i]};
        must(env, check_point, &j);
        gcut_env_free(env);
    }
}

/* ---- the joint graph itself ---- */

static const char two_layers[] = "gcut 1\n"
                                 "func @net[N in 1..](param %w1: f32[3, 4], param %w2: f32[4, 2], param "
                                 "%spare: f32[5], input %x: f32[N, 3], "
                                 "param %n: i32[2]) -> (out loss: f32[], out z: f32[N, 2]) {\n"
                                 "  %h1: f32[N, 4] = matmul(%x, %w1) !1\n"
                                 "  %h2: f32[N, 4] = relu(%h1) !2\n"
                                 "  %z: f32[N, 2] = matmul(%h2, %w2) !2\n"
                                 "  %q: f32[N, 2] = mul(%z, %z) !2\n"
                                 "  %loss: f32[] = sum(%q) !2\n"
                                 "  return %loss, %z\n"
                                 "}\n"
                                 "loc !1 = \"net.c\":10:3\n"
                                 "loc !2 = \"net.c\":11:3\n";

static uint32_t count(const gcut_graph *g, gcut_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->nodes.n; i++) n += g->nodes.at[i].op == op;
    return n;
}

static void joint_shape_body(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = gcut_parse(env, a, "net.gcut", two_layers, sizeof two_layers - 1);
    gcut_graph *g = m->graphs.at[0], *j = gcut_joint(g, NULL, "net.joint");
    gcut_verify_module(m);
    assert_int_equal(m->graphs.n, 2);
    for (gcut_ref v = 1; v < g->values.n; v++)
        assert_int_not_equal(gcut_graph_find(j, g->values.at[v].name), 0);
    static const char *const built[] = {"dloss", "dq", "dz", "dh2", "dh1", "dw1", "dw2", "dspare"};
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        assert_int_not_equal(gcut_graph_find(j, built[i]), 0);
    assert_int_equal(gcut_graph_find(j, "dx"), 0);
    assert_int_equal(gcut_graph_find(j, "dn"), 0);
    assert_int_equal(count(j, GCUT_OP_matmul), 2 + 3);
    const gcut_node *dw1 = gcut_def(j, gcut_graph_find(j, "dw1"));
    assert_string_equal(m->locs.at[dw1->loc].name, "grad");
    assert_int_equal(gcut_loc_place(m, dw1->loc).line, 10);
    assert_int_equal(j->params.n, g->params.n + 1);
    assert_int_equal(j->results.n, 2 + 3);
    /* No tensor of zeros but relu's own and the one gradient that is nothing else. */
    assert_int_equal(count(j, GCUT_OP_full), 2);
    assert_int_equal(gcut_def(j, j->results.at[find_result(j, GCUT_ROLE_grad, "spare")].value)->op,
                     GCUT_OP_full);

    const char *globs[] = {"w?", "x*"};
    gcut_graph *some =
        gcut_joint(g, &(gcut_joint_options){.loss = "loss", .wrt = globs, .nwrt = 2}, "net.some");
    assert_int_equal(some->results.n, 2 + 3);
    find_result(some, GCUT_ROLE_grad, "x");
    const char *last = "*2";
    gcut_graph *one = gcut_joint(g, &(gcut_joint_options){.wrt = &last, .nwrt = 1}, "net.one");
    assert_int_equal(count(one, GCUT_OP_matmul), 2 + 1);
    assert_int_equal(gcut_graph_find(one, "dh2"), 0);
    gcut_arena_free(a);
}

static void the_joint_graph_is_named_located_and_minimal(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, joint_shape_body, env);
    gcut_env_free(env);
}

typedef struct refusal {
    gcut_env *env;
    const char *results, *returned;
    gcut_joint_options opt;
} refusal;

static void refuse(void *arg)
{
    refusal *r = arg;
    gcut_arena *a = gcut_arena_new(r->env, r->env->arena);
    gcut_text t = {.arena = a};
    gcut_text_add(&t,
                  "gcut 1\nfunc @f(param %%a: f32[4], param %%i: i32[]) -> (%s) { %%s = sum(%%a) %%p = "
                  "exp(%%s) return %s }\n",
                  r->results, r->returned);
    gcut_joint(gcut_parse(r->env, a, "refuse", t.at, t.n)->graphs.at[0], &r->opt, "j");
}

static void bad_requests_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const nothing = "b*";
    static const char *const integer = "i";
    const struct {
        refusal r;
        const char *says;
    } cases[] = {
        {{NULL, "out l: f32[]", "%s", {.loss = "m"}}, "no result 'm'"},
        {{NULL, "out l: f32[4]", "%a", {.loss = "l"}}, "not a float scalar"},
        {{NULL, "out l: i32[]", "%i", {.loss = "l"}}, "not a float scalar"},
        {{NULL, "out l: f32[4]", "%a", {.loss = NULL}}, "no scalar result"},
        {{NULL, "out l: f32[], out m: f32[]", "%s, %p", {.loss = NULL}}, "several scalar results"},
        {{NULL, "out l: f32[]", "%s", {.wrt = &nothing, .nwrt = 1}}, "'b*' matches no"},
        {{NULL, "out l: f32[]", "%s", {.wrt = &integer, .nwrt = 1}}, "'i' matches no"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refusal r = cases[i].r;
        r.env = gcut_env_new(NULL, NULL);
        assert_int_equal(gcut_protect(r.env, refuse, &r), GCUT_EGRAD);
        assert_int_equal(r.env->ndiags, 1);
        assert_non_null(strstr(r.env->diags[0].message, cases[i].says));
        gcut_env_free(r.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_matches_central_differences),
        cmocka_unit_test(forward_mode_is_the_transpose_and_hessians_are_right),
        cmocka_unit_test(kinks_ties_and_infinities_are_pytorchs),
        cmocka_unit_test(the_joint_graph_is_named_located_and_minimal),
        cmocka_unit_test(bad_requests_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
