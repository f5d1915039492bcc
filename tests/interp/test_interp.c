/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The reference interpreter against values worked out by hand: a row for every
 * op of the table.
 */
#include "interp.h"

#define ROOM 64

typedef struct sample {
    const char *params, *result, *expr; /* result: the type of %y, then other results with their types */
    double in[ROOM];
    int n;
    double out[ROOM];
} sample;

#define IN(...)                                                                                              \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define OUT(...)                                                                                             \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),                                                 \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define F1 "input %a: f64[3]"
#define F2 "input %a: f64[3], input %b: f64[3]"
#define I2 "input %a: i32[3], input %b: i32[3]"
#define B2 "input %a: bool[4], input %b: bool[4]"

static const sample samples[] = {
    {F1, "f64[3]", "neg(%a)", IN(1, -2, 0.5), OUT(-1, 2, -0.5)},
    {"input %a: i8[2]", "i8[2]", "neg(%a)", IN(-128, 5), OUT(-128, -5)},
    {"input %a: i64[1]", "i64[1]", "neg(%a)", IN(-0x1p63), OUT(-0x1p63)},
    {F1, "f64[3]", "abs(%a)", IN(-1.5, 2, -INF), OUT(1.5, 2, INF)},
    {"input %a: i32[2]", "i32[2]", "abs(%a)", IN(-7, 7), OUT(7, 7)},
    {F1, "f64[3]", "sign(%a)", IN(-3, 0, NaN), OUT(-1, 0, NaN)},
    {"input %a: i32[3]", "i32[3]", "sign(%a)", IN(-3, 0, 9), OUT(-1, 0, 1)},
    {F1, "f64[3]", "exp(%a)", IN(0, 1, -INF), OUT(1, 2.718281828459045, 0)},
    {F1, "f64[3]", "expm1(%a)", IN(0, 1e-20, 1), OUT(0, 1e-20, 1.718281828459045)},
    {F1, "f64[3]", "log(%a)", IN(1, 10, 0), OUT(0, 2.302585092994046, -INF)},
    {F1, "f64[3]", "log1p(%a)", IN(0, 1e-20, 1), OUT(0, 1e-20, 0.6931471805599453)},
    {F1, "f64[3]", "sqrt(%a)", IN(9, 2, -1), OUT(3, 1.4142135623730951, NaN)},
    {F1, "f64[3]", "rsqrt(%a)", IN(4, 0.25, 0), OUT(0.5, 2, INF)},
    {F1, "f64[3]", "sin(%a)", IN(0, 1, -1), OUT(0, 0.8414709848078965, -0.8414709848078965)},
    {F1, "f64[3]", "cos(%a)", IN(0, 1, -1), OUT(1, 0.5403023058681398, 0.5403023058681398)},
    {F1, "f64[3]", "tanh(%a)", IN(0, 1, -INF), OUT(0, 0.7615941559557649, -1)},
    {F1, "f64[3]", "sigmoid(%a)", IN(0, 1, -1000), OUT(0.5, 0.7310585786300049, 0)},
    {F1, "f64[3]", "erf(%a)", IN(0, 1, -INF), OUT(0, 0.8427007929497149, -1)},
    {F1, "f64[3]", "relu(%a)", IN(-1, 2, NaN), OUT(0, 2, NaN)},
    {"input %a: i32[2]", "i32[2]", "relu(%a)", IN(-3, 3), OUT(0, 3)},
    {F1, "f64[3]", "gelu(%a)", IN(0, 1, -1), OUT(0, 0.8413447460685429, -0.15865525393145707)},
    {F1, "f64[3]", "gelu(%a, approx=\"tanh\")", IN(0, 1, -1),
     OUT(0, 0.8411919906082768, -0.15880800939172324)},
    {F1, "f64[3]", "silu(%a)", IN(0, 1, -1), OUT(0, 0.7310585786300049, -0.2689414213699951)},
    {F1, "f64[3]", "softplus(%a)", IN(0, 1000, -1000), OUT(0.6931471805599453, 1000, 0)},
    {"input %a: f64[4]", "f64[4]", "elu(%a, alpha=2)", IN(0, 1, -1, -INF),
     OUT(0, 1, -1.2642411176571153, -2)},
    {"input %a: f64[4]", "f64[4]", "leaky_relu(%a)", IN(0, 1, -1, NaN), OUT(0, 1, -0.01, NaN)},
    {"input %a: f64[5]", "f64[5]", "hardsigmoid(%a)", IN(-3, 0, 1.5, 3, NaN), OUT(0, 0.5, 0.75, 1, NaN)},
    {"input %a: f64[6]", "f64[6]", "hardswish(%a)", IN(-3, -1.5, 0, 3, -INF, INF),
     OUT(0, -0.375, 0, 3, 0, INF)},
    {F1, "f64[3]", "mish(%a)", IN(0, 1, -1), OUT(0, 0.8650983882673103, -0.30340146137410895)},
    {F1, "f64[3]", "tan(%a)", IN(0, 1, -1), OUT(0, 1.5574077246549023, -1.5574077246549023)},
    {"input %a: f64[5]", "f64[5]", "atan(%a)", IN(0, 1, -1e300, INF, NaN),
     OUT(0, 0.7853981633974483, -1.5707963267948966, 1.5707963267948966, NaN)},
    {"input %a: f64[7]", "f64[7]", "asin(%a)", IN(0, 1, -1, 0.5, 1e-20, 1.5, NaN),
     OUT(0, 1.5707963267948966, -1.5707963267948966, 0.5235987755982989, 1e-20, NaN, NaN)},
    {"input %a: f64[6]", "f64[6]", "acos(%a)", IN(0, 1, -1, 0.5, -1.5, NaN),
     OUT(1.5707963267948966, 0, 3.141592653589793, 1.0471975511965979, NaN, NaN)},
    {"input %a: f64[6]", "f64[6]", "sinh(%a)", IN(0, 1, -1e-20, 710, -INF, NaN),
     OUT(0, 1.1752011936438014, -1e-20, 1.1169973830808557e+308, -INF, NaN)},
    {"input %a: f64[5]", "f64[5]", "cosh(%a)", IN(0, 1, -710, -INF, NaN),
     OUT(1, 1.5430806348152437, 1.1169973830808557e+308, INF, NaN)},
    {"input %a: f64[6]", "f64[6]", "asinh(%a)", IN(0, 1, -1e-20, -1e300, INF, NaN),
     OUT(0, 0.881373587019543, -1e-20, -691.4686750787736, INF, NaN)},
    {"input %a: f64[7]", "f64[7]", "acosh(%a)", IN(1, 2, 1e300, 0.5, -1e9, INF, NaN),
     OUT(0, 1.3169578969248166, 691.4686750787736, NaN, NaN, INF, NaN)},
    {"input %a: f64[7]", "f64[7]", "atanh(%a)", IN(0, 0.5, -1e-20, 1, -1, 2, NaN),
     OUT(0, 0.5493061443340548, -1e-20, INF, -INF, NaN, NaN)},
    {F1, "f64[3]", "floor(%a)", IN(1.5, -1.5, 2), OUT(1, -2, 2)},
    {F1, "f64[3]", "ceil(%a)", IN(1.5, -1.5, 2), OUT(2, -1, 2)},
    {"input %a: f64[4]", "f64[4]", "round(%a)", IN(0.5, 1.5, 2.5, -0.7), OUT(0, 2, 2, -1)},
    {"input %a: bool[2]", "bool[2]", "not(%a)", IN(0, 1), OUT(1, 0)},
    {"input %a: i32[2]", "i32[2]", "not(%a)", IN(0, 5), OUT(-1, -6)},
    {"input %a: u8[2]", "u8[2]", "not(%a)", IN(0, 5), OUT(255, 250)},
    {F1, "bool[3]", "isnan(%a)", IN(1, NaN, INF), OUT(0, 1, 0)},
    {"input %a: f64[6]", "i8[6]", "cast(%a, to=\"i8\")", IN(1.9, -1.9, 300, -300, NaN, INF),
     OUT(1, -1, 127, -128, 0, 127)},
    {"input %a: i32[3]", "u8[3]", "cast(%a, to=\"u8\")", IN(-1, 256, 7), OUT(255, 0, 7)},
    {"input %a: i32[2]", "f64[2]", "cast(%a, to=\"f64\")", IN(-1, 7), OUT(-1, 7)},
    {F1, "bool[3]", "cast(%a, to=\"bool\")", IN(0.25, 0, NaN), OUT(1, 0, 1)},
    {F1, "f64[3]", "stop_gradient(%a)", IN(1, 2, 3), OUT(1, 2, 3)},
    {F2, "f64[3]", "add(%a, %b)", IN(1, 2, INF, 3, 4, -INF), OUT(4, 6, NaN)},
    {"input %a: i8[2], input %b: i8[2]", "i8[2]", "add(%a, %b)", IN(127, -128, 1, -1), OUT(-128, 127)},
    {F2, "f64[3]", "sub(%a, %b)", IN(1, 2, 3, 3, 4, 5), OUT(-2, -2, -2)},
    {"input %a: u8[1], input %b: u8[1]", "u8[1]", "sub(%a, %b)", IN(3, 4), OUT(255)},
    {F2, "f64[3]", "mul(%a, %b)", IN(1, 2, 3, 3, 4, 5), OUT(3, 8, 15)},
    {"input %a: i32[1], input %b: i32[1]", "i32[1]", "mul(%a, %b)", IN(65536, 65537), OUT(65536)},
    {F2, "f64[3]", "div(%a, %b)", IN(1, 2, 0, 4, 0, 0), OUT(0.25, INF, NaN)},
    {I2, "i32[3]", "div(%a, %b)", IN(7, -7, 7, 2, 2, -2), OUT(3, -4, -4)},
    {"input %a: i32[1], input %b: i32[1]", "i32[1]", "div(%a, %b)", IN(-2147483648.0, -1),
     OUT(-2147483648.0)},
    {"input %a: i64[1], input %b: i64[1]", "i64[1]", "div(%a, %b)", IN(-0x1p63, -1), OUT(-0x1p63)},
    {F2, "f64[3]", "pow(%a, %b)", IN(2, 9, 0, 10, 0.5, 0), OUT(1024, 3, 1)},
    {F2, "f64[3]", "max(%a, %b)", IN(1, NaN, 3, 2, 0, NaN), OUT(2, NaN, NaN)},
    {I2, "i32[3]", "max(%a, %b)", IN(1, 2, 3, 3, 2, 1), OUT(3, 2, 3)},
    {F2, "f64[3]", "min(%a, %b)", IN(1, NaN, 3, 2, 0, NaN), OUT(1, NaN, NaN)},
    {I2, "i32[3]", "min(%a, %b)", IN(1, 2, 3, 3, 2, 1), OUT(1, 2, 1)},
    {F2, "f64[3]", "mod(%a, %b)", IN(5.5, -5.5, 5.5, 2, 2, -2), OUT(1.5, 0.5, -0.5)},
    {I2, "i32[3]", "mod(%a, %b)", IN(7, -7, 7, 3, 3, -3), OUT(1, 2, -2)},
    {B2, "bool[4]", "and(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 0, 0, 1)},
    {I2, "i32[3]", "and(%a, %b)", IN(6, -1, 0, 3, 5, 9), OUT(2, 5, 0)},
    {B2, "bool[4]", "or(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 1, 1, 1)},
    {B2, "bool[4]", "xor(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(0, 1, 1, 0)},
    {F2, "bool[3]", "eq(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(1, 0, 0)},
    {B2, "bool[4]", "eq(%a, %b)", IN(0, 0, 1, 1, 0, 1, 0, 1), OUT(1, 0, 0, 1)},
    {F2, "bool[3]", "ne(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(0, 1, 1)},
    {F2, "bool[3]", "lt(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(0, 1, 0)},
    {F2, "bool[3]", "le(%a, %b)", IN(1, 2, NaN, 1, 3, NaN), OUT(1, 1, 0)},
    {F2, "bool[3]", "gt(%a, %b)", IN(1, 4, NaN, 1, 3, NaN), OUT(0, 1, 0)},
    {F2, "bool[3]", "ge(%a, %b)", IN(1, 4, NaN, 1, 3, NaN), OUT(1, 1, 0)},
    {I2, "bool[3]", "lt(%a, %b)", IN(1, 2, 3, 2, 2, 2), OUT(1, 0, 0)},
    {"input %p: bool[2], input %a: f64[2], input %b: f64[2]", "f64[2]", "select(%p, %a, %b)",
     IN(1, 0, 1, 2, 3, 4), OUT(1, 4)},
    {"input %p: bool[2], input %a: i32[2], input %b: i32[2]", "i32[2]", "select(%p, %a, %b)",
     IN(1, 0, 1, 2, 3, 4), OUT(1, 4)},
    {"input %a: f64[4]", "f64[4]", "clamp(%a, lo=-1, hi=2)", IN(-5, 0.5, 9, NaN), OUT(-1, 0.5, 2, NaN)},
    {F1, "f64[3]", "clamp(%a, lo=0)", IN(-5, 0.5, 9), OUT(0, 0.5, 9)},
    {"input %a: i32[3]", "i32[3]", "clamp(%a, hi=2)", IN(-5, 1, 9), OUT(-5, 1, 2)},
    {"input %a: f64[2, 3]", "f64[3, 2]", "reshape(%a, shape=[3, 2])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 2, 3, 4, 5, 6)},
    {"input %a: f64[2, 3]", "f64[3, 2]", "transpose(%a, perm=[1, 0])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 4, 2, 5, 3, 6)},
    {"input %a: f64[2, 1, 3]", "f64[3, 2, 1]", "transpose(%a, perm=[2, 0, 1])", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 4, 2, 5, 3, 6)},
    {"input %a: f64[2]", "f64[3, 2]", "broadcast(%a, shape=[3, 2], axes=[1])", IN(1, 2),
     OUT(1, 2, 1, 2, 1, 2)},
    {"input %a: f64[2, 1]", "f64[2, 3]", "broadcast(%a, shape=[2, 3], axes=[0, 1])", IN(1, 2),
     OUT(1, 1, 1, 2, 2, 2)},
    {"input %a: f64[]", "f64[2]", "broadcast(%a, shape=[2], axes=[])", IN(7), OUT(7, 7)},
    {"input %a: f64[2, 5]", "f64[1, 2]", "slice(%a, start=[1, 0], limit=[2, 4], step=[1, 2])",
     IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), OUT(6, 8)},
    {"input %a: i32[4]", "i32[2]", "slice(%a, start=[1], limit=[3])", IN(1, 2, 3, 4), OUT(2, 3)},
    {F1, "f64[8]", "pad(%a, low=[1], high=[2], interior=[1], value=9)", IN(1, 2, 3),
     OUT(9, 1, 9, 2, 9, 3, 9, 9)},
    {"input %a: i32[1, 2]", "i32[2, 3]", "pad(%a, low=[1, 0], high=[0, 1])", IN(1, 2), OUT(0, 0, 0, 1, 2, 0)},
    {"input %a: f64[2, 1], input %b: f64[2, 2]", "f64[2, 3]", "concat(%a, %b, axis=1)", IN(1, 2, 3, 4, 5, 6),
     OUT(1, 3, 4, 2, 5, 6)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "flip(%a, axes=[1])", IN(1, 2, 3, 4, 5, 6), OUT(3, 2, 1, 6, 5, 4)},
    {"input %a: bool[2, 5]", "u8[2]", "pack_bits(%a)", IN(1, 0, 1, 1, 0, 0, 0, 0, 1, 1), OUT(13, 3)},
    {"input %a: bool[]", "u8[1]", "pack_bits(%a)", IN(1), OUT(1)},
    {"input %a: u8[2]", "bool[3, 3]", "unpack_bits(%a, shape=[3, 3])", IN(13, 255),
     OUT(1, 0, 1, 1, 0, 0, 0, 0, 1)},
    {F1, "i64[]", "dim(of=12)", IN(1, 2, 3), OUT(12)},
    {F1, "f64[2]", "full(shape=[2], value=2.5, dtype=\"f64\")", IN(0), OUT(2.5, 2.5)},
    {F1, "i64[1]", "full(shape=[1], value=-3, dtype=\"i64\")", IN(0), OUT(-3)},
    {F1, "bool[1]", "full(shape=[1], value=1, dtype=\"bool\")", IN(0), OUT(1)},
    {F1, "i32[2, 3]", "iota(shape=[2, 3], axis=1)", IN(0), OUT(0, 1, 2, 0, 1, 2)},
    {F1, "f64[2, 2]", "iota(shape=[2, 2], axis=0, dtype=\"f64\")", IN(0), OUT(0, 0, 1, 1)},
    {"input %a: f64[2, 3]", "f64[]", "sum(%a)", IN(1, 2, 3, 4, 5, 6), OUT(21)},
    {"input %a: f64[2, 3]", "f64[3]", "sum(%a, axes=[0])", IN(1, 2, 3, 4, 5, 6), OUT(5, 7, 9)},
    {"input %a: f64[2, 3]", "f64[2, 1]", "sum(%a, axes=[1], keep=true)", IN(1, 2, 3, 4, 5, 6), OUT(6, 15)},
    {"input %a: i8[3]", "i8[]", "sum(%a)", IN(100, 100, 100), OUT(44)},
    {"input %a: f64[2, 3]", "f64[2]", "mean(%a, axes=[1])", IN(1, 2, 3, 4, 5, 6), OUT(2, 5)},
    {"input %a: f64[2, 3]", "f64[1, 1]", "mean(%a, keep=true)", IN(1, 2, 3, 4, 5, 6), OUT(3.5)},
    {"input %a: f64[2, 3]", "f64[2]", "max_reduce(%a, axes=[1])", IN(1, 3, 2, 4, NaN, 6), OUT(3, NaN)},
    {"input %a: i32[3]", "i32[]", "max_reduce(%a)", IN(-5, -2, -9), OUT(-2)},
    {"input %a: i16[0]", "i16[]", "max_reduce(%a)", IN(0), OUT(-32768)},
    {"input %a: f64[2, 3]", "f64[2]", "min_reduce(%a, axes=[1])", IN(1, 3, 2, 4, NaN, 6), OUT(1, NaN)},
    {"input %a: u8[3]", "u8[]", "min_reduce(%a)", IN(5, 2, 9), OUT(2)},
    {"input %a: f64[2, 3]", "f64[2]", "prod(%a, axes=[1])", IN(1, 2, 3, 4, NaN, 6), OUT(6, NaN)},
    {"input %a: f64[0, 2]", "f64[1, 2]", "prod(%a, axes=[0], keep=true)", IN(0), OUT(1, 1)},
    {"input %a: i8[3]", "i8[]", "prod(%a)", IN(100, 3, 3), OUT(-124)},
    {"input %a: f64[3, 3]", "i64[3]", "argmax(%a, axis=1)", IN(1, 3, 3, 4, NaN, NaN, -INF, -INF, -INF),
     OUT(1, 1, 0)},
    {"input %a: i32[2, 2]", "i64[2]", "argmax(%a, axis=0)", IN(5, -1, 5, 2), OUT(0, 1)},
    {"input %a: f64[2, 4]", "i64[2, 4]", "argsort(%a, axis=1)", IN(3, NaN, 1, 3, INF, -0.0, 0, -INF),
     OUT(2, 0, 3, 1, 3, 1, 2, 0)},
    {"input %a: f64[2, 4]", "i64[2, 4]", "argsort(%a, axis=1, descending=true)",
     IN(3, NaN, 1, 3, INF, -0.0, 0, -INF), OUT(1, 0, 3, 2, 0, 1, 2, 3)},
    {"input %a: i8[3, 2]", "i64[3, 2]", "argsort(%a, axis=0)", IN(5, 1, -128, 1, 5, 0),
     OUT(1, 2, 0, 0, 2, 1)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "sort(%a, axis=1)", IN(3, NaN, 1, 2, 1, 0), OUT(1, 3, NaN, 0, 1, 2)},
    {"input %a: i32[3, 2]", "i32[3, 2]", "sort(%a, axis=0, descending=true)", IN(1, 6, 2, 5, 3, 4),
     OUT(3, 6, 2, 5, 1, 4)},
    {"input %a: f64[2, 3]", "f64[2, 2], %j: i64[2, 2]", "topk(%a, k=2, axis=1)", IN(1, 3, 2, 5, NaN, 5),
     OUT(3, 2, NaN, 5)},
    {"input %a: u8[3]", "u8[1], %j: i64[1]", "topk(%a, k=1, axis=0, largest=false)", IN(200, 7, 7), OUT(7)},
    {"input %a: f64[2, 3], input %i: i32[2, 2]", "f64[2, 2]", "take_along(%a, %i, axis=1)",
     IN(1, 2, 3, 4, 5, 6, 2, 0, 1, 1), OUT(3, 1, 5, 5)},
    {"input %a: f64[2, 2], input %i: i64[3, 2]", "f64[3, 2]", "take_along(%a, %i, axis=0)",
     IN(1, 2, 3, 4, 0, 1, 1, 0, 1, 1), OUT(1, 4, 3, 2, 3, 4)},
    {"input %a: f64[2, 3]", "i64[2]", "argmin(%a, axis=1)", IN(3, 1, 1, NaN, INF, 2), OUT(1, 0)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "cumsum(%a, axis=1)", IN(1, 2, 3, 4, NaN, 6),
     OUT(1, 3, 6, 4, NaN, NaN)},
    {"input %a: f64[3, 2]", "f64[3, 2]", "cumsum(%a, axis=0, reverse=true)", IN(1, 2, 3, 4, 5, 6),
     OUT(9, 12, 8, 10, 5, 6)},
    {"input %a: i8[3]", "i8[3]", "cumsum(%a, axis=0)", IN(100, 100, 100), OUT(100, -56, 44)},
    {"input %a: f64[2, 3]", "f64[2, 3]", "cumprod(%a, axis=1)", IN(1, 2, 3, 4, 0, 6), OUT(1, 2, 6, 4, 0, 0)},
    {"input %a: i32[3, 2]", "i32[3, 2]", "cumprod(%a, axis=0, reverse=true)", IN(1, 2, 3, 4, 5, 6),
     OUT(15, 48, 15, 24, 5, 6)},
    {"input %a: f64[2, 2], input %b: f64[2, 2]", "f64[2, 2]", "matmul(%a, %b)", IN(1, 2, 3, 4, 5, 6, 7, 8),
     OUT(19, 22, 43, 50)},
    {"input %a: f64[3, 2], input %b: f64[1, 3]", "f64[2, 1]", "matmul(%a, %b, ta=true, tb=true)",
     IN(1, 2, 3, 4, 5, 6, 1, 10, 100), OUT(531, 642)},
    {"input %a: f64[2, 1, 2], input %b: f64[2, 2, 1]", "f64[2, 1, 1]", "matmul(%a, %b)",
     IN(1, 2, 3, 4, 5, 6, 7, 8), OUT(17, 53)},
    {"input %a: f64[2, 0], input %b: f64[0, 1]", "f64[2, 1]", "matmul(%a, %b)", IN(0), OUT(0, 0)},
    {"input %x: f64[1, 1, 3, 3], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]", "conv2d(%x, %w)",
     IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 0, 1), OUT(6, 8, 12, 14)},
    {"input %x: f64[1, 1, 3, 3], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]",
     "conv2d(%x, %w, stride=[2, 2], pad=[1, 0, 0, 1])", IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4),
     OUT(11, 9, 67, 33)},
    {"input %x: f64[1, 2, 1, 2], input %w: f64[2, 1, 1, 1]", "f64[1, 2, 1, 2]", "conv2d(%x, %w, groups=2)",
     IN(1, 2, 3, 4, 10, 100), OUT(10, 20, 300, 400)},
    {"input %x: f64[1, 1, 1, 3], input %w: f64[1, 1, 1, 2]", "f64[1, 1, 1, 1]",
     "conv2d(%x, %w, dilation=[1, 2])", IN(1, 2, 3, 1, 10), OUT(31)},
    {"input %d: f64[1, 1, 2, 2], input %w: f64[1, 1, 2, 2]", "f64[1, 1, 3, 3]",
     "conv2d_input(%d, %w, shape=[3, 3])", IN(1, 2, 3, 4, 1, 10, 100, 1000),
     OUT(1, 12, 20, 103, 1234, 2040, 300, 3400, 4000)},
    {"input %x: f64[1, 1, 3, 3], input %d: f64[1, 1, 2, 2]", "f64[1, 1, 2, 2]",
     "conv2d_weight(%x, %d, window=[2, 2])", IN(1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 10, 100, 1000),
     OUT(5421, 6532, 8754, 9865)},
    {"input %x: f64[1, 1, 1, 2], input %w: f64[1, 1, 1, 2]", "f64[1, 1, 1, 5]",
     "conv_transpose2d(%x, %w, stride=[1, 2], output_pad=[0, 1])", IN(1, 2, 1, 10), OUT(1, 10, 2, 20, 0)},
    {"input %x: f64[1, 1, 2, 4]", "f64[1, 1, 1, 2]", "max_pool2d(%x, window=[2, 2])",
     IN(1, 5, NaN, 2, 3, 4, 9, 9), OUT(5, NaN)},
    {"input %x: f64[1, 1, 1, 3]", "f64[1, 1, 1, 3]",
     "max_pool2d(%x, window=[1, 2], stride=[1, 1], pad=[0, 1, 0, 0])", IN(-3, -1, -2), OUT(-3, -1, -1)},
    {"input %x: f64[1, 1, 1, 4], input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 4]",
     "max_pool2d_grad(%x, %d, window=[1, 2])", IN(2, 2, 1, NaN, 10, 20), OUT(10, 0, 0, 20)},
    {"input %x: f64[1, 1, 1, 3], input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 3]",
     "max_pool2d_grad(%x, %d, window=[1, 2], stride=[1, 1])", IN(1, 3, 2, 10, 20), OUT(0, 30, 0)},
    {"input %x: f64[1, 1, 1, 3], input %t: f64[1, 1, 1, 3]", "f64[1, 1, 1, 2]",
     "max_pool2d_take(%x, %t, window=[1, 2], stride=[1, 1])", IN(1, 3, 2, 7, 8, 9), OUT(8, 8)},
    {"input %x: f64[1, 1, 2, 2]", "f64[1, 1, 1, 1]", "avg_pool2d(%x, window=[2, 2])", IN(1, 2, 3, 6), OUT(3)},
    {"input %x: f64[1, 1, 1, 2]", "f64[1, 1, 1, 2]", "avg_pool2d(%x, window=[1, 2], pad=[0, 1, 0, 1])",
     IN(4, 8), OUT(2, 4)},
    {"input %d: f64[1, 1, 1, 2]", "f64[1, 1, 1, 3]",
     "avg_pool2d_grad(%d, shape=[1, 3], window=[1, 2], stride=[1, 1])", IN(2, 4), OUT(1, 3, 2)},
    {"input %a: f64[3, 2], input %i: i32[2, 1]", "f64[2, 1, 2]", "take(%a, %i)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(5, 6, 1, 2)},
    {"input %a: f64[2, 3], input %i: i64[2]", "f64[2, 2]", "take(%a, %i, axis=1)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(3, 1, 6, 4)},
    {"input %a: f64[2, 3], input %i: i32[2]", "f64[2]", "pick(%a, %i, axis=1)", IN(1, 2, 3, 4, 5, 6, 2, 0),
     OUT(3, 4)},
    {"input %a: i32[2, 3], input %i: i32[3]", "i32[3]", "pick(%a, %i, axis=0)", IN(1, 2, 3, 4, 5, 6, 1, 0, 1),
     OUT(4, 2, 6)},
    {"input %a: f64[3, 2], input %i: i32[2], input %u: f64[2, 2]", "f64[3, 2]", "scatter_add(%a, %i, %u)",
     IN(1, 2, 3, 4, 5, 6, 1, 1, 10, 20, 30, 40), OUT(1, 2, 43, 64, 5, 6)},
    {"input %a: i8[3], input %i: i32[2], input %u: i8[2]", "i8[3]", "scatter_add(%a, %i, %u)",
     IN(127, 0, 0, 0, 2, 1, 5), OUT(-128, 0, 5)},
    {"input %i: i32[3]", "i32[3]", "bounded(%i, of=5)", IN(0, 4, 2), OUT(0, 4, 2)},
    /* JAX's words 0 to 3 of key 42, from tests/reference/threefry.txt. */
    {"input %k: i64[2], input %i: i64[2]", "f64[2]", "random(%k, %i, dtype=\"f64\")", IN(42, 42, 1, 0),
     OUT(0.015010069515314584, 0.4267275666499091)},
    {"input %k: i64[2], input %i: i64[2]", "f32[2]", "random(%k, %i)", IN(42, 42, 0, 3),
     OUT(0.48870962858200073, 0.5610161423683167)},
    {"input %k: i64[1], input %i: i64[1]", "i64[1]", "random(%k, %i, dtype=\"i64\")", IN(42, 1),
     OUT(2.7688691087759872e+17)},
    {"input %k: i64[]", "f32[1, 2]", "uniform(%k, shape=[1, 2])", IN(42),
     OUT(0.48870962858200073, 0.6797971725463867)},
    {"input %k: i64[]", "f64[]", "uniform(%k, shape=[], lo=-1, hi=3, dtype=\"f64\")", IN(42),
     OUT(0.7069102665996363)},
    {"input %k: i64[]", "f64[2]", "normal(%k, shape=[2], mean=1, std=0.5, dtype=\"f64\")", IN(42),
     OUT(1.5250999858351757, 0.917379745238486)},
    {"input %k: i64[]", "i64[2]", "key_split(%k, n=2)", IN(42),
     OUT(7.87173421118771e+18, 2.7688691087759872e+17)},
    {"input %a: f64[4], input %k: i64[]", "f64[4]", "dropout(%a, %k, p=0.5)", IN(1, 2, 3, 4, 42),
     OUT(0.0, 4.0, 6.0, 8.0)},
    {"input %a: f64[2], input %k: i64[]", "f64[2]", "dropout(%a, %k, p=0)", IN(1, 2, 42), OUT(1.0, 2.0)},
    {"input %a: f64[2, 2]", "f64[2, 2]", "softmax(%a, axis=1)", IN(0, 0, 1e4, -1e4), OUT(0.5, 0.5, 1, 0)},
    {"input %a: f64[2]", "f64[2]", "log_softmax(%a, axis=0)", IN(1e4, -1e4), OUT(0, -2e4)},
    {"input %a: f64[2, 2]", "f64[2]", "logsumexp(%a, axes=[1])", IN(0, 0, 1e4, 1e4),
     OUT(0.6931471805599453, 10000.693147180559945)},
    {"input %a: f64[2], input %g: f64[2], input %b: f64[2]", "f64[2]", "layer_norm(%a, %g, %b, eps=0)",
     IN(1, 3, 10, 20, 1, 2), OUT(-9, 22)},
    {"input %a: f64[2], input %g: f64[2]", "f64[2]", "rms_norm(%a, %g, eps=0)", IN(3, 3, 1, 2), OUT(1, 2)},
    {"input %a: f64[2, 1], input %g: f64[1], input %b: f64[1], input %m: f64[1], input %v: f64[1]",
     "f64[2, 1], %n: f64[1], %w: f64[1]", "batch_norm(%a, %g, %b, %m, %v, eps=0)", IN(1, 3, 10, 1, 0, 0),
     OUT(-9, 11)},
    {"input %a: f64[1, 4], input %g: f64[4], input %b: f64[4]", "f64[1, 4]",
     "group_norm(%a, %g, %b, groups=2, eps=0)", IN(1, 3, 6, 2, 1, 2, 3, 4, 0, 0, 0, 1), OUT(-1, 2, 3, -3)},
    {"input %a: f64[1, 2, 2], input %g: f64[2], input %b: f64[2]", "f64[1, 2, 2]",
     "instance_norm(%a, %g, %b, eps=0)", IN(1, 3, 6, 2, 1, 2, 0, 1), OUT(-1, 1, 3, -1)},
    {"input %a: f64[1, 1, 1, 2]", "f64[1, 1, 2, 4]", "upsample(%a, factor=[2, 2])", IN(1, 2),
     OUT(1, 1, 2, 2, 1, 1, 2, 2)},
    {"input %a: f64[1, 1, 2, 1]", "f64[1, 1, 4, 3]", "upsample(%a, factor=[2, 3], mode=\"bilinear\")",
     IN(0, 4), OUT(0, 0, 0, 1, 1, 1, 3, 3, 3, 4, 4, 4)},
    {"input %a: f64[2, 2], input %t: i32[2]", "f64[]", "cross_entropy(%a, %t)", IN(0, 0, 0, 0, 1, 0),
     OUT(0.6931471805599453)},
    {"input %a: f64[2], input %b: f64[2]", "f64[]", "mse(%a, %b)", IN(1, 2, 4, 6), OUT(12.5)},
    {"input %a: f64[3], input %b: f64[3]", "f64[]", "huber(%a, %b, delta=2)", IN(1, 2, 0, 2, 5, -2),
     OUT((0.5 + 4 + 2) / 3)},
    {"input %a: f64[3], input %b: f64[3]", "f64[]", "bce(%a, %b)", IN(0, 1000, -1000, 0.5, 1, 1),
     OUT((0.6931471805599453 + 0 + 1000) / 3)},
    {"input %a: f64[3, 2], input %t: i32[3]", "f64[]", "nll(%a, %t)", IN(-1, -2, -3, -4, -5, -6, 1, -100, 0),
     OUT(3.5)},
    {"input %a: f64[2, 2]", "f64[2]", "var(%a, axes=[1])", IN(1, 3, 5, 5), OUT(2, 0)},
    {"input %a: f64[2, 2]", "f64[1, 2]", "var(%a, axes=[0], keep=true, correction=0)", IN(1, 3, 5, 4),
     OUT(4, 0.25)},
    {"input %a: f64[1]", "f64[]", "var(%a, correction=2)", IN(3), OUT(NAN)},
    {"input %q: f64[1, 1, 1, 1], input %k: f64[1, 1, 2, 1], input %v: f64[1, 1, 2, 1]", "f64[1, 1, 1, 1]",
     "attention(%q, %k, %v)", IN(1, 0, 0, 4, 8), OUT(6)},
    /* P = (1, 1)/2, dP = (4, 8) dy, dS = (-1, 1) dy, dq = -2 + 6 */
    {"input %q: f64[1, 1, 1, 1], input %k: f64[1, 1, 2, 1], input %v: f64[1, 1, 2, 1], "
     "input %d: f64[1, 1, 1, 1]",
     "f64[1, 1, 1, 1], %dk: f64[1, 1, 2, 1], %dv: f64[1, 1, 2, 1]", "attention_grad(%q, %k, %v, %d)",
     IN(0, 2, 6, 4, 8, 1), OUT(4)},
};

static bool is_of(const sample *s, const char *op)
{
    size_t n = strlen(op);
    return strncmp(s->expr, op, n) == 0 && s->expr[n] == '(';
}

static void every_op_has_a_sample(void **state)
{
    (void)state;
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (gcut_op_get((gcut_op)op)->emit == GCUT_EMIT_REGION) continue; /* test_control */
        if (op == GCUT_OP_external) continue;                             /* test_external */
        bool found = false;
        for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
            found = found || is_of(&samples[k], gcut_op_get((gcut_op)op)->name);
        if (!found) fail_msg("no sample for '%s'", gcut_op_get((gcut_op)op)->name);
    }
}

/* Hand-computed decimals have 16 digits; f64 libm is good to an ulp or two. */
static void samples_are_right(void **state)
{
    gcut_env *env = *state;
    char text[1024];
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
        for (int expand = 0; expand < 2; expand++) {
            const sample *s = &samples[k];
            const char *more = strstr(s->result, ", %");
            snprintf(text, sizeof text,
                     "gcut 1\nfunc @f(%s) -> (out y: %.*s) {\n  %%y: %s = %s\n  return %%y\n}\n", s->params,
                     (int)(more ? (size_t)(more - s->result) : strlen(s->result)), s->result, s->result,
                     s->expr);
            job j = {.env = env, .text = text, .in = s->in, .expand = expand};
            j.prec = expand ? GCUT_STATED : GCUT_EXACT;
            run(&j);
            assert_int_equal(j.out.n, s->n);
            for (int i = 0; i < s->n; i++) check_close(get(&j.out, i), s->out[i], 4e-16, s->expr, i);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_sample),
        WITH_FIXTURE(samples_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
