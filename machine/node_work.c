/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The arithmetic of one node: units of its work at a rate of the machine model, as the algorithms of the
 * run-time library count them.
 */
#include "machine/node_work.h"

#include <math.h>

#include "graph/external.h"
#include "graph/ops/node_facts.h"
#include "machine/conv_shape_factor.h"
#include "machine/lower/kernel_sizes.h"
#include "machine/lower/window_roles.h"

static double rated(const gcut_work_of *w, const gcut_node *n, const char *what, const gcut_rate *rate,
                    double units, const char *unit)
{
    return gcut_term_rated(w->terms, GCUT_TERM_WORK, w->g->values.at[n->res0].name, what, rate, units, unit);
}

static double size(const gcut_work_of *w, const gcut_node *n, gcut_dim d)
{
    return (double)gcut_dim_at(w->g->module->dims, d, w->at, w->nat, gcut_loc_place(w->g->module, n->loc));
}

/* The value of a pool that has an element for each window. */
static gcut_ref pooled(const gcut_work_of *w, const gcut_node *n)
{
    return n->op == GCUT_OP_max_pool2d_grad   ? gcut_arg(w->g, n, 1)
           : n->op == GCUT_OP_avg_pool2d_grad ? gcut_arg(w->g, n, 0)
                                              : n->res0;
}

/* The arithmetic of a pool by the elements under all windows, where the windows have no special kernel. */
static double windows_ns(const gcut_work_of *w, const gcut_node *n)
{
    const gcut_attr *window = gcut_attr_get(w->g, n, GCUT_KEY_window);
    const gcut_type *t = gcut_type_of(w->g, pooled(w, n));
    const gcut_rate rate = gcut_machine_table_rate(w->m, (gcut_op)n->op, gcut_node_widest(w->g, n));
    double units = (double)window->u.dims[0] * (double)window->u.dims[1];
    for (uint32_t d = 0; d < t->rank; d++) units *= size(w, n, t->dim[d]);
    return rated(w, n, gcut_op_get((gcut_op)n->op)->name, &rate, units, "elements under windows");
}

/* Vectors per result of a row of that many results of `bytes` bytes.  The kernel takes the longest vectors that the row
 * fills, of 64, 32 or 16 bytes, else single results; the last vector may overlap the one before
 * (kernels/rt/pooling/pool_2x2.c). */
static double row_vectors(double results, double bytes)
{
    double lanes = GCUT_VECTOR_BYTES / bytes;
    while (lanes > results && lanes * bytes > 16) lanes /= 2;
    if (lanes > results) lanes = 1;
    return ceil(results / lanes) / results;
}

/* Windows of 2 * 2 with a stride of 2. */
static double pool_2x2_ns(const gcut_work_of *w, const gcut_node *n, double elements)
{
    const gcut_type *t = gcut_type_of(w->g, pooled(w, n));
    const gcut_dtype type = gcut_node_widest(w->g, n);
    const gcut_rate rate = gcut_machine_op_rate(w->m, (gcut_op)n->op, type);
    const double columns = size(w, n, t->dim[t->rank - 1]), bytes = (double)gcut_dtype_bytes(type);
    const uint32_t first = gcut_terms_count(w->terms);
    const double ns = rated(w, n, gcut_op_get((gcut_op)n->op)->name, &rate, elements, "elements");
    if (!(columns > 0)) return ns;
    return ns * gcut_terms_scale(w->terms, first,
                                 row_vectors(columns, bytes) / row_vectors(GCUT_MEASURED_POOL, bytes),
                                 "vectors of its rows beside the measured ones");
}

double gcut_work_op_ns(const gcut_work_of *w, const gcut_node *n, double elements)
{
    if (gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_POOL)
        return gcut_pool_is_2x2(w->g, n) ? pool_2x2_ns(w, n, elements) : windows_ns(w, n);
    const gcut_rate rate = gcut_machine_op_rate(w->m, (gcut_op)n->op, gcut_node_widest(w->g, n));
    return rated(w, n, gcut_op_get((gcut_op)n->op)->name, &rate, elements, "elements");
}

static double product_ns(const gcut_work_of *w, const gcut_node *n, uint32_t one_b)
{
    const gcut_type *y = gcut_type_of(w->g, n->res0), *a = gcut_type_of(w->g, gcut_arg(w->g, n, 0));
    const uint32_t r = y->rank;
    /* Micro-kernels compute rows in pairs of vectors. */
    const double block = 2 * GCUT_VECTOR_BYTES / (double)gcut_dtype_bytes(y->dtype);
    double rows = size(w, n, y->dim[r - 2]), cols = size(w, n, y->dim[r - 1]), batch = 1;
    if (cols > block / 2) cols = ceil(cols / block) * block;
    for (uint32_t d = r - 2; d-- > 0;)
        *(one_b >> d & 1 && batch == 1 ? &rows : &batch) *= size(w, n, y->dim[d]);
    const double k = size(w, n, a->dim[gcut_attr_flag(w->g, n, GCUT_KEY_ta) ? r - 2 : r - 1]),
                 flops = 2 * rows * cols * k * batch;
    if (!(flops > 0)) return 0;
    const gcut_rate rate = gcut_machine_gemm_rate(w->m, gcut_node_widest(w->g, n), rows, cols, k);
    return rated(w, n, gcut_op_get((gcut_op)n->op)->name, &rate, flops, "flops");
}

static gcut_conv_shape conv_shape(const gcut_work_of *w, const gcut_node *n)
{
    const gcut_window_roles of = gcut_window_roles_of(w->g, n);
    gcut_conv_shape c = {.images = size(w, n, of.x->dim[0]), .in = size(w, n, of.w->dim[1])};
    c.out = size(w, n, of.w->dim[0]) / (double)gcut_attr_get(w->g, n, GCUT_KEY_groups)->u.dim;
    for (int d = 0; d < 2; d++) {
        c.x[d] = size(w, n, of.x->dim[2 + d]);
        c.y[d] = size(w, n, of.y->dim[2 + d]);
        c.kernel[d] = size(w, n, of.w->dim[2 + d]);
        c.stride[d] = (double)gcut_attr_get(w->g, n, GCUT_KEY_stride)->u.dims[d];
        c.dilation[d] = (double)gcut_attr_get(w->g, n, GCUT_KEY_dilation)->u.dims[d];
    }
    return c;
}

static double conv_ns(const gcut_work_of *w, const gcut_node *n, double flops)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    const gcut_window window = gcut_conv_window(w->g, n);
    const gcut_dtype t = gcut_node_widest(w->g, n);
    if (!(flops > 0)) return 0;
    const gcut_conv_shape shape = conv_shape(w, n);
    const double lanes = GCUT_VECTOR_BYTES / (double)gcut_dtype_bytes(t);
    const uint32_t first = gcut_terms_count(w->terms);
    const gcut_rate rate = gcut_machine_conv_rate(w->m, info->way, window, t);
    const double ns = rated(w, n, info->name, &rate, flops, "flops");
    return ns * gcut_terms_scale(w->terms, first, gcut_conv_shape_factor(&shape, info->way, window, lanes),
                                 "its shape beside the measured one");
}

double gcut_work_contraction_ns(const gcut_work_of *w, const gcut_node *n, uint32_t one_b)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    const gcut_dtype t = gcut_node_widest(w->g, n);
    const bool attention = info->way == GCUT_WAY_attention || info->way == GCUT_WAY_attention_grad;
    if (info->way == GCUT_WAY_gemm) return product_ns(w, n, one_b);
    const double flops = gcut_node_flops(w->g, n, w->at, w->nat);
    if (!attention) return conv_ns(w, n, flops);
    const gcut_rate rate = gcut_machine_attention_rate(w->m, info->way, t);
    return rated(w, n, info->name, &rate, flops, "flops");
}

double gcut_work_external_ns(const gcut_work_of *w, const gcut_node *n)
{
    double flops, bytes;
    if (!gcut_external_cost(w->g, n, w->at, w->nat, &flops, &bytes))
        gcut_fail(w->g->module->env, GCUT_EDIM, gcut_loc_place(w->g->module, n->loc),
                  "give every symbol a value, such as --at N=32", "the cost of '%s' has no value here",
                  gcut_external_kernel(w->g, n));
    const uint32_t first = gcut_terms_count(w->terms);
    const gcut_dtype widest = gcut_node_widest(w->g, n), t = gcut_dtype_is_float(widest) ? widest : GCUT_F64;
    const gcut_rate rate = gcut_machine_op_rate(w->m, GCUT_OP_add, t);
    const double work = rated(w, n, "declared flops", &rate, flops, "flops"),
                 move = gcut_term_add(
                     w->terms, (gcut_term){.kind = GCUT_TERM_WORK,
                                           .name = w->g->values.at[n->res0].name,
                                           .what = "declared bytes",
                                           .units = bytes,
                                           .unit = "bytes",
                                           .times = 1,
                                           .ns = gcut_machine_move_ns(w->m, bytes / 2, bytes / 2, bytes)});
    return gcut_terms_longer(w->terms, first, first + 1, work, move);
}
