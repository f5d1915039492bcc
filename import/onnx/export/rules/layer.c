/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products, convolutions, pools and norms.
 */
#include "import/onnx/export/writer.h"

static const char *transposed(gcut_onnx_writer *w, const char *x, uint32_t rank)
{
    int64_t perm[GCUT_MAX_RANK];
    for (uint32_t r = 0; r < rank; r++) perm[r] = r;
    perm[rank - 2] = rank - 1;
    perm[rank - 1] = rank - 2;
    x = gcut_onnx_put1(w, "Transpose", NULL, x);
    gcut_onnx_put_ints(w, "perm", perm, rank);
    return x;
}

/* Gemm takes matrices transposed, MatMul does not. */
void gcut_export_matmul(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const bool ta = gcut_attr_flag(w->here->g, n, GCUT_KEY_ta),
               tb = gcut_attr_flag(w->here->g, n, GCUT_KEY_tb);
    const uint32_t rank = gcut_onnx_operand_type(w, n, 0)->rank;
    const char *x = gcut_onnx_operand(w, n, 0), *y = gcut_onnx_operand(w, n, 1),
               *own = gcut_onnx_own(w, n, 0);
    if (rank == 2 && (ta || tb)) {
        gcut_onnx_set_whole(w, n, 0, gcut_onnx_put2(w, "Gemm", own, x, y));
        if (ta) gcut_onnx_put_int(w, "transA", 1);
        if (tb) gcut_onnx_put_int(w, "transB", 1);
        return;
    }
    if (ta) x = transposed(w, x, rank);
    if (tb) y = transposed(w, y, rank);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put2(w, "MatMul", own, x, y));
}

/* An attribute of ONNX must be a number. */
static void put_numbers(gcut_onnx_writer *w, const gcut_node *n, const char *key, const gcut_dim *x,
                        uint32_t nx)
{
    for (uint32_t k = 0; k < nx; k++)
        if (!gcut_dim_known(x[k]))
            gcut_onnx_refuse(w, n,
                             gcut_printf(w->a, "its '%s' are numbers, not %s", key,
                                         gcut_dim_text(w->a, w->g->module->dims, x[k])));
    gcut_onnx_put_ints(w, key, x, nx);
}

static void put_attr(gcut_onnx_writer *w, const gcut_node *n, const char *as, gcut_attr_key key)
{
    const gcut_attr *a = gcut_attr_get(w->here->g, n, key);
    if (a) put_numbers(w, n, as, a->u.dims, a->n);
}

static void put_window(gcut_onnx_writer *w, const gcut_node *n)
{
    put_attr(w, n, "strides", GCUT_KEY_stride);
    put_attr(w, n, "pads", GCUT_KEY_pad); /* top, left, bottom, right in both */
}

static void put_groups(gcut_onnx_writer *w, const gcut_node *n)
{
    put_attr(w, n, "dilations", GCUT_KEY_dilation);
    const gcut_dim groups = gcut_attr_get(w->here->g, n, GCUT_KEY_groups)->u.dim;
    if (!gcut_dim_known(groups)) gcut_onnx_refuse(w, n, "the number of groups must be known");
    gcut_onnx_put_int(w, "group", groups);
}

static void put_kernel_shape(gcut_onnx_writer *w, const gcut_node *n)
{
    const gcut_type *t = gcut_onnx_operand_type(w, n, 1);
    put_numbers(w, n, "kernel_shape", t->dim + 2, t->rank - 2u);
}

void gcut_export_conv(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    const char *x = gcut_onnx_operand(w, n, 0), *y = gcut_onnx_operand(w, n, 1);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put2(w, as, gcut_onnx_own(w, n, 0), x, y));
    put_kernel_shape(w, n);
    put_window(w, n);
    put_groups(w, n);
    put_attr(w, n, "output_padding", GCUT_KEY_output_pad);
}

/* ConvTranspose whose result has the height and width of `shape`: the padding at the end is what is missing there. */
void gcut_export_conv_input(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const gcut_graph *g = w->here->g;
    gcut_dims *dims = g->module->dims;
    const gcut_dim *y = gcut_onnx_operand_type(w, n, 0)->dim + 2,
                   *k = gcut_onnx_operand_type(w, n, 1)->dim + 2,
                   *shape = gcut_attr_get(g, n, GCUT_KEY_shape)->u.dims,
                   *stride = gcut_attr_get(g, n, GCUT_KEY_stride)->u.dims,
                   *dilation = gcut_attr_get(g, n, GCUT_KEY_dilation)->u.dims,
                   *pad = gcut_attr_get(g, n, GCUT_KEY_pad)->u.dims;
    gcut_dim behind[2];
    for (int r = 0; r < 2; r++) { /* shape + pads + stride - stride y - dilation (k - 1) - 1 */
        gcut_dim d = gcut_dim_make(dims, GCUT_DIM_ADD, shape[r],
                                   gcut_dim_make(dims, GCUT_DIM_ADD, pad[r], pad[r + 2]));
        d = gcut_dim_make(dims, GCUT_DIM_ADD, d, gcut_dim_make(dims, GCUT_DIM_ADD, stride[r], dilation[r]));
        gcut_dim used = gcut_dim_make(dims, GCUT_DIM_ADD, gcut_dim_make(dims, GCUT_DIM_MUL, stride[r], y[r]),
                                      gcut_dim_make(dims, GCUT_DIM_MUL, dilation[r], k[r]));
        behind[r] = gcut_dim_make(dims, GCUT_DIM_SUB, d, gcut_dim_make(dims, GCUT_DIM_ADD, used, 1));
    }
    const char *in[] = {gcut_onnx_operand(w, n, 0), gcut_onnx_operand(w, n, 1)};
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put(w, "ConvTranspose", gcut_onnx_own(w, n, 0), in, 2));
    put_kernel_shape(w, n);
    put_window(w, n);
    put_groups(w, n);
    put_numbers(w, n, "output_padding", behind, 2);
}

void gcut_export_pool(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put1(w, as, gcut_onnx_own(w, n, 0), gcut_onnx_operand(w, n, 0)));
    put_attr(w, n, "kernel_shape", GCUT_KEY_window);
    const gcut_attr *stride = gcut_attr_get(w->here->g, n, GCUT_KEY_stride);
    put_window(w, n);
    if (!stride) put_attr(w, n, "strides", GCUT_KEY_window);
    const gcut_attr *ceil = gcut_attr_get(w->here->g, n, GCUT_KEY_ceil),
                    *skip_pad = gcut_attr_get(w->here->g, n, GCUT_KEY_skip_pad);
    if (ceil && ceil->u.flag) gcut_onnx_put_int(w, "ceil_mode", 1);
    const bool counts = n->op == GCUT_OP_avg_pool2d || n->op == GCUT_OP_avg_pool_nd;
    if (counts && !(skip_pad && skip_pad->u.flag)) gcut_onnx_put_int(w, "count_include_pad", 1);
}

void gcut_export_layer_norm(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char *x = gcut_onnx_operand(w, n, 0), *gain = gcut_onnx_operand(w, n, 1);
    gcut_onnx_set_whole(
        w, n, 0,
        gcut_onnx_put3(w, "LayerNormalization", gcut_onnx_own(w, n, 0), x, gain, gcut_onnx_operand(w, n, 2)));
    gcut_onnx_put_int(w, "axis", -1);
    gcut_onnx_put_float(w, "epsilon", gcut_attr_num(w->here->g, n, GCUT_KEY_eps));
}

void gcut_export_instance_norm(gcut_onnx_writer *w, const gcut_node *n, const char *as)
{
    (void)as;
    const char *x = gcut_onnx_operand(w, n, 0), *gain = gcut_onnx_operand(w, n, 1);
    gcut_onnx_set_whole(w, n, 0,
                        gcut_onnx_put3(w, "InstanceNormalization", gcut_onnx_own(w, n, 0), x, gain,
                                       gcut_onnx_operand(w, n, 2)));
    gcut_onnx_put_float(w, "epsilon", gcut_attr_num(w->here->g, n, GCUT_KEY_eps));
}
