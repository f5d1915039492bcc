/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The workspace of loops, attention, sorts and convolutions.
 */
#include "machine/lower/memory/workspace.h"

#include "gradcut/gradcut_rt.h"
#include "machine/lower/fusion/loop_phases.h"
#include "machine/lower/window_roles.h"
#include "machine/machine.h"

/* ---- loops ---- */

/* Rows that a later phase reads, and partial results of blocks of rows. */
static gcut_workspace of_loop(const gcut_lowered *h, uint32_t kernel)
{
    gcut_dims *ds = h->g->module->dims;
    gcut_arena *a = gcut_arena_new(h->g->module->env, h->g->module->arena);
    gcut_loop_analysis l = gcut_loop_analyse(a, h, kernel, NULL);
    gcut_workspace out = {.type = GCUT_U8, .each_name = "row scratch", .all_name = "partial sums"};
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i].keep == GCUT_SCRATCH)
            out.each = gcut_dim_make(ds, GCUT_DIM_ADD, out.each, gcut_loop_row_bytes(&l, l.at[i].dtype));
        if (gcut_loop_partial(&l.at[i]))
            out.all = gcut_dim_make(ds, GCUT_DIM_ADD, out.all, gcut_loop_partial_bytes(&l, &l.at[i]));
    }
    gcut_arena_free(a);
    return out;
}

/* ---- attention ---- */

static gcut_dim padded(gcut_module *m, gcut_dim n)
{
    return gcut_dim_times(m, gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, n, GCUT_RT_ATTENTION_PAD),
                          GCUT_RT_ATTENTION_PAD);
}

static gcut_dim add(gcut_module *m, gcut_dim a, gcut_dim b)
{
    return gcut_dim_make(m->dims, GCUT_DIM_ADD, a, b);
}

/* The sum that gradcut_rt.h states. */
static gcut_dim attention_bytes(const gcut_lowered *h, const gcut_kernel *u)
{
    gcut_module *m = h->g->module;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    bool grad = u->kind == GCUT_KERNEL_ATTENTION_GRAD;
    const gcut_dim *q = gcut_type_of(h->g, gcut_arg(h->g, n, 0))->dim;
    const gcut_dim *v = gcut_type_of(h->g, gcut_arg(h->g, n, 2))->dim;
    gcut_dim s = v[2], d = q[3], e = v[3],
             rows = gcut_dim_make(m->dims, GCUT_DIM_MIN, q[2], GCUT_RT_ATTENTION_ROWS);
    gcut_dim keys = add(m, d, rows), all;
    if (grad) keys = add(m, keys, add(m, e, rows));
    all = add(m, gcut_dim_times(m, padded(m, s), keys), gcut_dim_times(m, s, padded(m, grad ? d : e)));
    if (grad) all = add(m, all, gcut_dim_times(m, rows, add(m, padded(m, d), padded(m, e))));
    return gcut_dim_times(m, all, gcut_dtype_bytes(gcut_type_of(h->g, n->res0)->dtype));
}

/* ---- sorts ---- */

static gcut_dim argsort_bytes(const gcut_lowered *h, const gcut_kernel *u)
{
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const int64_t axis = gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim;
    return gcut_dim_times(h->g->module, gcut_type_of(h->g, n->res0)->dim[axis], GCUT_RT_ARGSORT_BYTES);
}

/* ---- convolutions ---- */

/* Multiplied in tiles: transforms of w, and of the images that it reads or makes. */
static gcut_dim tiles_elements(const gcut_type *w, gcut_dim groups, gcut_way way)
{
    const gcut_dim out = w->dim[0] / groups, in = w->dim[1];
    const gcut_dim images = way == GCUT_WAY_conv_y ? in : way == GCUT_WAY_conv_x ? out : in + out;
    return GCUT_RT_WINOGRAD_W * in * out + GCUT_RT_WINOGRAD_C * images;
}

/* A window of one element, on all of the image: w times x, and w' times y. */
static bool is_product(const gcut_type *w, const gcut_dim *stride, const gcut_dim *pad)
{
    for (int d = 0; d < 2; d++)
        if (w->dim[2 + d] != 1 || stride[d] != 1 || pad[2 * d] != 0 || pad[2 * d + 1] != 0) return false;
    return true;
}

/* w in the order of its taps; of x, in that of the taps that one lattice sees (kernels/rt/conv/conv.c): each has at most
 * one of `every` neighbouring taps. */
static gcut_dim taps_elements(gcut_module *m, const gcut_type *w, gcut_way way, const gcut_dim *stride,
                              const gcut_dim *dilation)
{
    gcut_dim n = gcut_dim_times(m, w->dim[0], w->dim[1]);
    for (int d = 0; d < 2; d++) {
        const int64_t every = way == GCUT_WAY_conv_x ? stride[d] / gcut_dim_gcd(stride[d], dilation[d]) : 1;
        n = gcut_dim_times(m, n, gcut_dim_make(m->dims, GCUT_DIM_CEILDIV, w->dim[2 + d], every));
    }
    return n;
}

/* Sums of the gradient of w over shares of the places. */
static gcut_dim shares_elements(gcut_module *m, const gcut_type *w, gcut_dim groups)
{
    if (!gcut_dim_known(w->dim[0]) || !gcut_dim_known(w->dim[1])) return 0;
    const int64_t shares = gcut_rt_conv_w_shares(w->dim[1] * groups, w->dim[0], groups);
    return shares > 1 ? gcut_dim_times(m, gcut_type_numel(m, w), shares) : 0;
}

static gcut_dim conv_elements(const gcut_lowered *h, uint32_t kernel, gcut_window window)
{
    const gcut_graph *g = h->g;
    const gcut_node *n = gcut_node_at(g, h->kernels.at[kernel].nodes.at[0]);
    const gcut_type *w = gcut_window_roles_of(g, n).w;
    const gcut_way way = gcut_op_of(n)->way;
    const gcut_dim groups = gcut_attr_get(g, n, GCUT_KEY_groups)->u.dim, o = w->dim[0];
    const gcut_dim *stride = gcut_attr_get(g, n, GCUT_KEY_stride)->u.dims;
    const bool tapwise = w->dim[1] == 1 && gcut_dim_known(o) && gcut_rt_conv_tapwise(groups, o, groups);
    if (window == GCUT_WINDOW_tiled) return tiles_elements(w, groups, way);
    if (way == GCUT_WAY_conv_w) return shares_elements(g->module, w, groups);
    if (tapwise || is_product(w, stride, gcut_attr_get(g, n, GCUT_KEY_pad)->u.dims)) return 0;
    return taps_elements(g->module, w, way, stride, gcut_attr_get(g, n, GCUT_KEY_dilation)->u.dims);
}

/* The number of images, at most 1: without an image a kernel touches no workspace. */
static gcut_dim any_image(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_node *n = gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]);
    return gcut_dim_make(h->g->module->dims, GCUT_DIM_MIN, gcut_window_roles_of(h->g, n).x->dim[0], 1);
}

static gcut_window window_of(const gcut_lowered *h, uint32_t kernel)
{
    return gcut_conv_window(h->g, gcut_node_at(h->g, h->kernels.at[kernel].nodes.at[0]));
}

int64_t gcut_workspace_difference(const gcut_lowered *h, uint32_t kernel)
{
    if (h->kernels.at[kernel].kind != GCUT_KERNEL_CONV || window_of(h, kernel) != GCUT_WINDOW_tiled ||
        any_image(h, kernel) == 0)
        return 0;
    return conv_elements(h, kernel, GCUT_WINDOW_tiled) - conv_elements(h, kernel, GCUT_WINDOW_plain);
}

gcut_workspace gcut_workspace_of(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind == GCUT_KERNEL_LOOP) return of_loop(h, kernel);
    if (gcut_kernel_is_attention(u))
        return (gcut_workspace){.each = attention_bytes(h, u), .each_name = "blocks of scores"};
    if (u->kind == GCUT_KERNEL_ARGSORT)
        return (gcut_workspace){.each = argsort_bytes(h, u), .each_name = "lines in order"};
    if (u->kind != GCUT_KERNEL_CONV) return (gcut_workspace){0};
    return (gcut_workspace){.all =
                                gcut_dim_times(h->g->module, conv_elements(h, kernel, window_of(h, kernel)),
                                               any_image(h, kernel)),
                            .type = gcut_type_of(h->g, gcut_node_at(h->g, u->nodes.at[0])->res0)->dtype,
                            .all_name = "convolution workspace"};
}
