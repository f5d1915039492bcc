/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A straight-through estimator, as text and from C.
 */
#ifndef GCUT_TESTS_CUSTOM_H
#define GCUT_TESTS_CUSTOM_H

#include "gradcut/gradcut.h"

#define STE                                                                                                  \
    "func @ste[N](input %x: f32[N]) -> (out y: f32[N]) {\n"                                                  \
    "  %h = full(shape=[N], value=0.5, dtype=\"f32\") %s = add(%x, %h) %y = floor(%s)\n"                     \
    "  return %y\n"                                                                                          \
    "}\n"                                                                                                    \
    "func @ste.vjp[N](cotan %dy: f32[N]) -> (grad x: f32[N]) {\n"                                            \
    "  return %dy\n"                                                                                         \
    "}\n"

typedef struct functions {
    gcut_graph *g, *f, *vjp;
} functions;

/* round(x) with the derivative 1, by the names of STE. */
static inline functions straight_functions(gcut_ctx *ctx)
{
    functions s = {.g = gcut_graph_new(ctx, "f")};
    s.f = gcut_function(s.g, "ste");
    s.vjp = gcut_function(s.g, "ste.vjp");
    gcut_dim n = gcut_dim_sym(s.f, "N", 0, GCUT_DIM_MAX), m = gcut_dim_sym(s.vjp, "N", 0, GCUT_DIM_MAX);
    gcut_val x = gcut_input(s.f, "x", GCUT_F32, GCUT_SHAPE(n));
    gcut_val h = gcut_name(gcut_full(s.f, GCUT_F32, GCUT_SHAPE(n), 0.5), "h");
    gcut_output(s.f, "y", gcut_name(gcut_floor(gcut_name(gcut_add(x, h), "s")), "y"));
    gcut_gradient(s.vjp, "x", gcut_cotan(s.vjp, "dy", GCUT_F32, GCUT_SHAPE(m)));
    return s;
}

#endif
