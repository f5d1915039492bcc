/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One launch: its class, its arithmetic, the bytes that it moves.
 */
#include "gradcut/gradcut_rt.h"
#include "kernels/cost.h"

/* ---- sizes ---- */

double gcut_cost_size(const gcut_cost_at *c, gcut_dim d)
{
    int64_t n = 0;
    if (!gcut_dim_eval(c->p->module->dims, d, c->at, c->nat, &n))
        gcut_fail(c->p->module->env, GCUT_EDIM, (gcut_place){.file = c->p->module->file}, NULL,
                  "a size cannot be computed at these dimensions");
    return (double)n;
}

double gcut_cost_numel(const gcut_cost_at *c, const gcut_type *t)
{
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= gcut_cost_size(c, t->dim[d]);
    return n;
}

/* Different elements of storage behind v: what is repeated along an axis is there once. */
static double elements(const gcut_cost_at *c, const gcut_half *h, gcut_ref v)
{
    const gcut_type *t = gcut_type_of(h->g, v);
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        if (h->view[v].stride[d] != 0 || t->dim[d] == 0) n *= gcut_cost_size(c, t->dim[d]);
    return n;
}

static const gcut_node *node_of(const gcut_half *h, uint32_t unit)
{
    return gcut_node_at(h->g, h->units.at[unit].nodes.at[0]);
}

/* ---- traffic ---- */

static gcut_touch *touch(gcut_arena *a, gcut_touches *out, uint32_t buffer)
{
    for (uint32_t i = 0; i < out->n; i++)
        if (out->at[i].buffer == buffer) return &out->at[i];
    gcut_touch *t = GCUT_PUSH(a, out);
    *t = (gcut_touch){.buffer = buffer};
    return t;
}

/* Several parts of a buffer add up to no more than the buffer. */
static void add(const gcut_cost_at *c, gcut_arena *a, gcut_touches *out, uint32_t buffer, double n,
                bool write)
{
    if (buffer == GCUT_NONE) return;
    const gcut_buffer *b = &c->p->buffers.at[buffer];
    double size = (double)gcut_dtype_bytes(b->dtype), all = gcut_cost_size(c, b->count) * size;
    gcut_touch *t = touch(a, out, buffer);
    double *to = write ? &t->written : &t->read;
    *to = *to + n * size < all ? *to + n * size : all;
}

void gcut_cost_touches(const gcut_cost_at *c, gcut_arena *a, const gcut_half *h, uint32_t unit, gcut_ref hot,
                       gcut_touches *out)
{
    const gcut_unit *u = &h->units.at[unit];
    if (u->kind == GCUT_U_COPY) {
        uint32_t from = u->copy_aside == GCUT_NONE ? h->buffer[h->view[u->copy_from].root]
                                                   : h->units.at[u->copy_aside].copy_to;
        add(c, a, out, from, elements(c, h, u->copy_from), false);
        add(c, a, out, u->copy_to, gcut_cost_numel(c, gcut_type_of(h->g, u->copy_from)), true);
        return;
    }
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref v = gcut_arg(h->g, n, k), root = h->view[v].root;
            bool copied = u->operand_copy && u->operand_copy[k] != GCUT_NONE;
            if (root == hot || (u->kind == GCUT_U_LOOP && h->unit_of[root] == unit)) continue;
            if (u->kind == GCUT_U_TAKE && k == 0) /* the rows that are asked for, not the table */
                add(c, a, out, copied ? h->units.at[u->operand_copy[k]].copy_to : h->buffer[root],
                    gcut_cost_numel(c, gcut_type_of(h->g, n->res0)), false);
            else if (copied)
                add(c, a, out, h->units.at[u->operand_copy[k]].copy_to,
                    gcut_cost_numel(c, gcut_type_of(h->g, v)), false);
            else
                add(c, a, out, h->buffer[root], elements(c, h, v), false);
        }
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            if (h->view[v].root == v) add(c, a, out, h->buffer[v], elements(c, h, v), true);
    }
}

/* ---- arithmetic ---- */

/* Bytes of the widest number that an op computes with. */
static gcut_dtype widest(const gcut_graph *g, const gcut_node *n)
{
    gcut_dtype t = gcut_type_of(g, n->res0)->dtype;
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_dtype d = gcut_type_of(g, gcut_arg(g, n, k))->dtype;
        if (gcut_dtype_bytes(d) > gcut_dtype_bytes(t)) t = d;
    }
    return t;
}

static double op_ns(const gcut_cost_at *c, const gcut_graph *g, const gcut_node *n, double elements_)
{
    double width = gcut_dtype_bytes(widest(g, n)) > 4 ? 2 : 1;
    return elements_ * gcut_op_get((gcut_op)n->op)->cost_ps / 1000.0 * c->m->pointwise_scale * width;
}

/* A reduction runs over its operand. */
static double loop_ns(const gcut_cost_at *c, const gcut_half *h, const gcut_unit *u)
{
    double ns = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        bool reduces = gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_REDUCE;
        ns += op_ns(c, h->g, n,
                    gcut_cost_numel(c, gcut_type_of(h->g, reduces ? gcut_arg(h->g, n, 0) : n->res0)));
    }
    return ns;
}

static double flops_of(const gcut_cost_at *c, const gcut_graph *g, const gcut_node *n)
{
    const gcut_op_info *info = gcut_op_get((gcut_op)n->op);
    if (!info->madds) return 0;
    gcut_madds m = info->madds(g, n);
    double flops = 2 * m.times;
    for (uint32_t i = 0; i < m.n; i++) flops *= gcut_cost_size(c, m.dim[i]);
    return flops;
}

static double product_ns(const gcut_cost_at *c, const gcut_graph *g, const gcut_node *n, double flops)
{
    return flops * c->m->gemm_ns_per_flop * (gcut_dtype_bytes(gcut_type_of(g, n->res0)->dtype) > 4 ? 2 : 1);
}

gcut_work gcut_cost_work(const gcut_cost_at *c, const gcut_half *h, uint32_t unit)
{
    const gcut_unit *u = &h->units.at[unit];
    gcut_work w = {.share = 1, .fixed = c->m->kernel_ns};
    if (u->kind == GCUT_U_COPY) return w;
    const gcut_node *n = node_of(h, unit);
    if (u->kind == GCUT_U_LOOP) {
        gcut_crew crew = gcut_loop_crew(h, unit);
        int nt = gcut_crew_at(c->p->module, &crew, c->at, c->nat, c->threads);
        w.share = (double)nt / (c->threads > 0 ? c->threads : 1);
        w.ns = loop_ns(c, h, u) / w.share;
        if (nt == 1) w.fixed = 0;
    } else if ((w.flops = flops_of(c, h->g, n)) > 0) {
        w.ns = product_ns(c, h->g, n, w.flops);
    } else {
        bool reads = u->kind == GCUT_U_REDUCE || u->kind == GCUT_U_SCATTER;
        w.ns =
            op_ns(c, h->g, n,
                  gcut_cost_numel(c, gcut_type_of(h->g, reads ? gcut_arg(h->g, n, n->nargs - 1) : n->res0)));
    }
    return w;
}

/* ---- classes ---- */

static bool has_rows(const gcut_half *h, const gcut_unit *u)
{
    for (uint32_t i = 0; i < u->nodes.n; i++)
        if (h->level[gcut_node_at(h->g, u->nodes.at[i])->res0] == GCUT_L_ROW) return true;
    return false;
}

const char *gcut_cost_class(const gcut_half *h, uint32_t unit)
{
    static const char *const names[] = {
        [GCUT_U_GEMM] = "gemm",          [GCUT_U_REDUCE] = "reduction",
        [GCUT_U_PAD] = "move",           [GCUT_U_CONCAT] = "move",
        [GCUT_U_FLIP] = "move",          [GCUT_U_TAKE] = "gather",
        [GCUT_U_SCATTER] = "scatter",    [GCUT_U_CONV] = "conv",
        [GCUT_U_POOL] = "pool",          [GCUT_U_ATTENTION] = "attention",
        [GCUT_U_CUMSUM] = "running sum", [GCUT_U_ATTENTION_GRAD] = "attention grad",
        [GCUT_U_COPY] = "move",          [GCUT_U_REGION] = "control",
    };
    const gcut_unit *u = &h->units.at[unit];
    if (u->kind != GCUT_U_LOOP) return names[u->kind];
    return has_rows(h, u) ? "row loop" : u->blocked ? "column loop" : "loop";
}
