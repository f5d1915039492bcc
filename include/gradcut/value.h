/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arguments and results of builder calls: sizes, shapes, values, and the caller's line.
 */
#ifndef GRADCUT_VALUE_H
#define GRADCUT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gradcut/dtype.h"

#ifndef GCUT_API
#define GCUT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_graph gcut_graph; /* one function */

/* A value of a graph; id 0 is null.  Calls on a null value return null without a further error, so a chain
 * needs one check at its end: gcut_compile and gcut_graph_ok report the first failure with the caller's file
 * and line.
 */
typedef struct gcut_val {
    gcut_graph *graph;
    uint32_t id;
    uint32_t generation; /* of an eager graph: how often gcut_forget was called before */
} gcut_val;

/* A size: a number >= 0, or an expression over symbols from gcut_dim_sym and the arithmetic on sizes (numbers
 * below -2^62).  -1 is the size that gcut_reshape infers; other numbers below 0 are refused. */
typedef int64_t gcut_dim;
#define GCUT_DIM_MAX INT64_MAX

/* Sizes, or numbers of axes. */
typedef struct gcut_shape {
    int rank;
    gcut_dim dim[GCUT_MAX_RANK];
} gcut_shape;

/* A shape of n sizes.  A rank above GCUT_MAX_RANK is kept: the call that gets the shape refuses it. */
static inline gcut_shape gcut_shape_list(const gcut_dim *d, size_t n)
{
    gcut_shape s = {(int)n, {0}};
    for (size_t i = 0; i < n && i < GCUT_MAX_RANK; i++) s.dim[i] = d[i];
    return s;
}

/* The source position of a builder call; the builder's macros pass theirs. */
typedef struct gcut_here {
    const char *file;
    int line;
} gcut_here;

/* GCUT_SHAPE(N, 784); GCUT_SHAPE() and GCUT_SCALAR have no axes.  (C has no empty list of sizes: the macros
 * add one in front, or at the end, and leave it out.) */
#define GCUT_SCALAR GCUT_SHAPE()
#ifdef __cplusplus
extern "C++" {
struct gcut_shape_args {
    gcut_dim dim[24];
    size_t n;
    template <typename... D> gcut_shape_args(D... d) : dim(), n(sizeof...(d))
    {
        static_assert(sizeof...(d) <= 24, "a list of at most 23 sizes");
        const gcut_dim all[] = {static_cast<gcut_dim>(d)...};
        for (size_t i = 0; i < n; i++) dim[i] = all[i];
    }
    gcut_shape after_first() const { return gcut_shape_list(dim + 1, n - 1); }
    gcut_shape before_last() const { return gcut_shape_list(dim, n - 1); }
};
static inline gcut_here gcut_here_at(const char *file, int line)
{
    gcut_here h = {file, line};
    return h;
}
}
/* clang-format off */
#define GCUT_SHAPE(...) (gcut_shape_args{0, __VA_ARGS__}.after_first())
#define GCUT_BEFORE_LAST_(...) (gcut_shape_args{__VA_ARGS__}.before_last())
#define GCUT_HERE gcut_here_at(__FILE__, __LINE__)
/* clang-format on */
#else
#define GCUT_COUNT_(...) (sizeof((const gcut_dim[]){__VA_ARGS__}) / sizeof(gcut_dim))
#define GCUT_SHAPE(...)                                                                                      \
    gcut_shape_list((const gcut_dim[]){0, __VA_ARGS__} + 1, GCUT_COUNT_(0, __VA_ARGS__) - 1)
#define GCUT_BEFORE_LAST_(...) gcut_shape_list((const gcut_dim[]){__VA_ARGS__}, GCUT_COUNT_(__VA_ARGS__) - 1)
#define GCUT_HERE ((gcut_here){__FILE__, __LINE__})
#endif

/* ---- inside the macros of gradcut/ops.h ---- */

/* The first arguments of a list, and the rest of it; the list has one extra argument at its end. */
#define GCUT_FIRST_1_(a, ...) a
#define GCUT_FIRST_2_(a, b, ...) a, b
#define GCUT_FIRST_3_(a, b, c, ...) a, b, c
#define GCUT_FIRST_4_(a, b, c, d, ...) a, b, c, d
#define GCUT_AFTER_1_(a, ...) __VA_ARGS__
#define GCUT_AFTER_2_(a, b, ...) __VA_ARGS__
#define GCUT_AFTER_3_(a, b, c, ...) __VA_ARGS__
#define GCUT_AFTER_4_(a, b, c, d, ...) __VA_ARGS__
/* GCUT_LAST_(type, default, value): the value, or where there is none the default. */
#define GCUT_LAST_(type, ...) (((type[]){__VA_ARGS__})[sizeof((type[]){__VA_ARGS__}) / sizeof(type) - 1])

/* A default argument, which only C++ has, and n arguments with a last one that may be missing and is `otherwise` then. */
#ifdef __cplusplus
#define GCUT_ELSE_(value) = value
#define GCUT_OPTIONAL_(n, type, otherwise, ...) __VA_ARGS__
#else
#define GCUT_ELSE_(value)
#define GCUT_OPTIONAL_(n, type, otherwise, ...)                                                              \
    GCUT_FIRST_##n##_(__VA_ARGS__, ), GCUT_LAST_(type, otherwise, GCUT_AFTER_##n##_(__VA_ARGS__, ))
#endif

/* The number 0 in an options field where 0 means the default. */
#define GCUT_ZERO (-0.0)

#ifdef __cplusplus
}
#endif

#endif
