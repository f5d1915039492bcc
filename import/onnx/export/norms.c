/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * batch_norm by its running statistics, as gcut_batch_norm_by_statistics writes it, is one node:
 *
 *   (x - mean) (rsqrt(var + eps) gain) + bias, each vector broadcast along the channels, axis 1
 */
#include "import/onnx/export/writer.h"

typedef struct finder {
    const gcut_graph *g;
    const uint32_t *uses;
} finder;

/* The node of v, of that op; NULL where it is another, or something else reads v too. */
static const gcut_node *part(const finder *f, gcut_ref v, gcut_op op)
{
    const gcut_node *n = gcut_def(f->g, v);
    return n && n->op == op && f->uses[v] == 1 ? n : NULL;
}

/* The vector of which v has one element for each channel; 0: there is none, or one number for all. */
static gcut_ref channels(const finder *f, gcut_ref v)
{
    const gcut_dim size = gcut_type_of(f->g, v)->rank > 1 ? gcut_type_of(f->g, v)->dim[1] : 1;
    int64_t axis = 1;
    for (const gcut_node *n; (n = gcut_def(f->g, v)) && n->op == GCUT_OP_broadcast;
         v = gcut_arg(f->g, n, 0)) {
        const gcut_attr *axes = gcut_attr_get(f->g, n, GCUT_KEY_axes);
        int64_t inner = -1;
        for (uint32_t k = 0; k < axes->n; k++)
            if (axes->u.dims[k] == axis) inner = k;
        if (inner < 0) return 0;
        axis = inner;
    }
    const gcut_type *t = gcut_type_of(f->g, v);
    return axis == 0 && t->rank == 1 && t->dim[0] == size ? v : 0;
}

static gcut_onnx_norm *norm_at(gcut_onnx_writer *w, const finder *f, const gcut_node *n, bool *absorbed)
{
    const gcut_graph *g = f->g;
    if (n->op != GCUT_OP_add || gcut_type_of(g, n->res0)->rank < 2) return NULL;
    const gcut_node *y = part(f, gcut_arg(g, n, 0), GCUT_OP_mul);
    const gcut_node *d = y ? part(f, gcut_arg(g, y, 0), GCUT_OP_sub) : NULL;
    const gcut_ref scale = y ? channels(f, gcut_arg(g, y, 1)) : 0;
    const gcut_node *s = scale ? part(f, scale, GCUT_OP_mul) : NULL;
    const gcut_node *r = s ? part(f, gcut_arg(g, s, 0), GCUT_OP_rsqrt) : NULL;
    const gcut_node *v = r ? part(f, gcut_arg(g, r, 0), GCUT_OP_add) : NULL;
    const gcut_node *eps = v ? gcut_def(g, gcut_arg(g, v, 1)) : NULL;
    while (eps && eps->op == GCUT_OP_broadcast) eps = gcut_def(g, gcut_arg(g, eps, 0));
    if (!d || !eps || eps->op != GCUT_OP_full) return NULL;
    gcut_onnx_norm norm = {gcut_arg(g, d, 0),
                           gcut_arg(g, s, 1),
                           channels(f, gcut_arg(g, n, 1)),
                           channels(f, gcut_arg(g, d, 1)),
                           gcut_arg(g, v, 0),
                           gcut_attr_num(g, eps, GCUT_KEY_value)};
    if (!norm.bias || !norm.mean) return NULL;
    const gcut_node *parts[] = {y, d, s, r, v};
    for (int k = 0; k < 5; k++) absorbed[parts[k] - g->nodes.at] = true;
    return gcut_memdup(w->a, &norm, sizeof norm);
}

void gcut_onnx_find_norms(gcut_onnx_writer *w, gcut_onnx_frame *f)
{
    const finder by = {f->g, gcut_count_uses(f->g, w->a)};
    gcut_onnx_norm **norm = gcut_calloc(w->a, f->g->nodes.n + 1u, sizeof *norm);
    bool *absorbed = gcut_calloc(w->a, f->g->nodes.n + 1u, sizeof *absorbed);
    for (uint32_t k = 0; k < f->g->nodes.n; k++) norm[k] = norm_at(w, &by, gcut_node_at(f->g, k), absorbed);
    f->norm = (const gcut_onnx_norm *const *)norm;
    f->absorbed = absorbed;
}

void gcut_onnx_write_norm(gcut_onnx_writer *w, const gcut_node *n, const gcut_onnx_norm *norm)
{
    const gcut_ref v[] = {norm->x, norm->gain, norm->bias, norm->mean, norm->var};
    const char *in[5];
    for (int k = 0; k < 5; k++) in[k] = gcut_onnx_whole(w, v[k]);
    gcut_onnx_set_whole(w, n, 0, gcut_onnx_put(w, "BatchNormalization", gcut_onnx_own(w, n, 0), in, 5));
    gcut_onnx_put_float(w, "epsilon", norm->eps);
}
