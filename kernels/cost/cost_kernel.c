/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One launch: its class and its arithmetic.
 */
#include <math.h>

#include "graph/external.h"
#include "graph/ops/node_facts.h"
#include "kernels/cost/cost.h"
#include "kernels/lower/fusion/loop_phases.h"
#include "kernels/lower/fusion/prologue.h"
#include "kernels/lower/team.h"

/* ---- sizes ---- */

double gcut_cost_size(const gcut_cost_at *c, gcut_dim d)
{
    const gcut_module *m = c->p->module;
    return (double)gcut_dim_at(m->dims, d, c->at, c->nat, (gcut_place){.file = m->file});
}

double gcut_cost_numel(const gcut_cost_at *c, const gcut_type *t)
{
    double n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= gcut_cost_size(c, t->dim[d]);
    return n;
}

/* ---- arithmetic ---- */

/* Elements are those of the result; where an op goes over its operands, of the last one. */
static double op_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_graph *g, const gcut_node *n,
                    bool operands)
{
    gcut_ref v = operands ? gcut_arg(g, n, n->nargs - 1) : n->res0;
    return gcut_machine_op_ns(m, (gcut_op)n->op, gcut_node_widest(g, n),
                              gcut_cost_numel(c, gcut_type_of(g, v)));
}

static double row_factor(const gcut_cost_at *c, const gcut_kernel *u)
{
    double inner = gcut_cost_size(c, u->loop.inner), left = fmod(inner, GCUT_LANES);
    return inner > 0 ? (inner - left + GCUT_TAIL * left) / inner : 1;
}

static double loop_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                      const gcut_kernel *u)
{
    double ns = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        ns += op_ns(c, m, h->g, n, gcut_op_of(n)->emit == GCUT_EMIT_REDUCE);
    }
    return gcut_kernel_has_rows(h, u) ? ns * row_factor(c, u) : ns;
}

/* Is the loop cut into parts, for several long functions? */
static bool is_exposed(const gcut_lowered *h, const gcut_kernel *u)
{
    uint32_t longs = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) longs += gcut_op_is_long(h, gcut_node_at(h->g, u->nodes.at[i]));
    return longs > 1;
}

/* Rows of the last axis are copied, or added up, one by one.  They are along the last axis, and along those
 * before it that are gone with it. */
static double rows_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_type *t, uint32_t gone)
{
    uint32_t d = t->rank ? t->rank - 1 : 0;
    double rows = gcut_cost_numel(c, t) > 0;
    while (d > 0 && gone >> d & 1 && gone >> (d - 1) & 1) d--;
    for (uint32_t i = 0; i < d; i++) rows *= gcut_cost_size(c, t->dim[i]);
    return gcut_machine_rows_ns(m, rows);
}

/* Kinds that walk their operands row by row. */
static double copy_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                      const gcut_kernel *u)
{
    double ns = 0;
    if (u->kind == GCUT_KERNEL_COPY) return rows_ns(c, m, gcut_type_of(h->g, u->copy.value), 0);
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    uint32_t gone = u->kind == GCUT_KERNEL_REDUCE ? gcut_attr_axes(h->g, n) : 0;
    for (uint32_t k = 0; k < n->nargs; k++)
        ns += rows_ns(c, m, gcut_type_of(h->g, gcut_arg(h->g, n, k)), gone);
    return ns;
}

/* Batches under one second matrix are rows of one product. */
static double gemm_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h, const gcut_node *n)
{
    const gcut_type *y = gcut_type_of(h->g, n->res0), *a = gcut_type_of(h->g, gcut_arg(h->g, n, 0));
    const gcut_view *b = &h->view[gcut_arg(h->g, n, 1)];
    uint32_t r = y->rank;
    double rows = gcut_cost_size(c, y->dim[r - 2]), cols = gcut_cost_size(c, y->dim[r - 1]), batch = 1,
           vector = GCUT_VECTOR_BYTES / (double)gcut_dtype_bytes(y->dtype);
    if (cols > vector) cols = ceil(cols / vector) * vector;
    for (uint32_t d = r - 2; d-- > 0;)
        *(b->stride[d] == 0 && batch == 1 ? &rows : &batch) *= gcut_cost_size(c, y->dim[d]);
    return gcut_machine_gemm_ns(
        m, y->dtype, rows, cols,
        gcut_cost_size(c, a->dim[gcut_attr_flag(h->g, n, GCUT_KEY_ta) ? r - 2 : r - 1]), batch);
}

/* Depthwise windows go along rows of the result by whole stretches.  Those that calibrate measures are nearly
 * full. */
static double window_factor(const gcut_cost_at *c, const gcut_lowered *h, const gcut_node *n, gcut_way way)
{
    if (gcut_conv_window(h->g, n) != GCUT_WINDOW_depthwise) return 1;
    gcut_ref y = way == GCUT_WAY_conv_y ? n->res0 : gcut_arg(h->g, n, way == GCUT_WAY_conv_x ? 0 : 1);
    double width = gcut_cost_size(c, gcut_type_of(h->g, y)->dim[3]);
    return width > 0 ? ceil(width / GCUT_STRETCH) * GCUT_MEASURED_WIDTH / width : 1;
}

static double contraction_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                             const gcut_node *n, double flops)
{
    gcut_way way = gcut_op_of(n)->way;
    gcut_dtype t = gcut_type_of(h->g, n->res0)->dtype;
    if (way == GCUT_WAY_gemm) return gemm_ns(c, m, h, n);
    if (way == GCUT_WAY_attention || way == GCUT_WAY_attention_grad)
        return gcut_machine_attention_ns(m, way, t, flops);
    return gcut_machine_conv_ns(m, way, gcut_conv_window(h->g, n), t, flops) * window_factor(c, h, n, way);
}

/* Does it move rows, one by one? */
static bool moves_rows(const gcut_kernel *u)
{
    return u->kind == GCUT_KERNEL_COPY || u->kind == GCUT_KERNEL_PAD || u->kind == GCUT_KERNEL_CONCAT ||
           u->kind == GCUT_KERNEL_FLIP;
}

/* Moving what it declares to move is in it, and so, perhaps, are the bytes of its operands and results. */
static double external_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_graph *g,
                          const gcut_node *n)
{
    double flops = 0, bytes = 0;
    bool known = gcut_external_cost(g, n, c->at, c->nat, &flops, &bytes);
    GCUT_ASSERT(known);
    return gcut_machine_external_ns(m, gcut_node_widest(g, n), flops, bytes);
}

/* Arithmetic of a kernel that is not a loop. */
static double other_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                       const gcut_kernel *u, double flops)
{
    bool rows = moves_rows(u) || u->kind == GCUT_KERNEL_REDUCE;
    bool operands =
        u->kind == GCUT_KERNEL_REDUCE || u->kind == GCUT_KERNEL_SCATTER || u->kind == GCUT_KERNEL_PACK;
    double ns = rows ? copy_ns(c, m, h, u) : 0;
    if (u->kind == GCUT_KERNEL_COPY) return ns;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    if (u->kind == GCUT_KERNEL_EXTERNAL) return external_ns(c, m, h->g, n);
    if (gcut_kernel_sums(u)) ns = op_ns(c, m, h->g, gcut_node_at(h->g, u->nodes.at[1]), true);
    if (flops > 0) return ns + contraction_ns(c, m, h, n, flops);
    return fmax(ns, op_ns(c, m, h->g, n, operands));
}

/* Of the operand that a product computes: as often as it packs it, or once, to its buffer. */
static double prologue_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                          uint32_t kernel)
{
    const gcut_prologue *prologue = gcut_kernel_prologue(&h->kernels.at[kernel]);
    double ns = 0;
    if (!prologue) return 0;
    const int64_t times = gcut_prologue_packings(h, kernel, c->at, c->nat, c->threads);
    for (uint32_t i = 0; i < prologue->loop.nodes.n; i++)
        ns += (double)(times ? times : 1) *
              op_ns(c, m, h->g, gcut_node_at(h->g, prologue->loop.nodes.at[i]), false);
    return ns;
}

gcut_work gcut_cost_work(const gcut_cost_at *c, const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    gcut_work w = {0};
    if (u->kind == GCUT_KERNEL_LOOP) {
        gcut_team team = gcut_kernel_team(h, kernel);
        w.alone = gcut_team_at(c->p->module, &team, c->at, c->nat, c->threads) == 1;
        w.ns = loop_ns(c, w.alone ? &c->alone : &c->m, h, u);
        w.exposed = is_exposed(h, u);
    } else {
        if (u->kind != GCUT_KERNEL_COPY)
            w.flops = gcut_node_flops(h->g, gcut_node_at(h->g, u->nodes.at[0]), c->at, c->nat);
        w.in_cache = w.flops > 0;
        w.exposed = moves_rows(u);
        w.ns = other_ns(c, &c->alone, h, u, w.flops);
        w.alone = w.ns < 2 * GCUT_GRAIN_NS;
        if (!w.alone) w.ns = other_ns(c, &c->m, h, u, w.flops);
        w.ns += prologue_ns(c, w.alone ? &c->alone : &c->m, h, kernel);
    }
    w.fixed = (w.alone ? &c->alone : &c->m)->kernel_ns;
    if (w.in_cache) w.fixed += c->alone.call_ns;
    if (u->kind == GCUT_KERNEL_LOOP &&
        u->loop.blocked) /* to begin a block and add up its sums takes as long as a kernel */
        w.fixed += GCUT_BLOCKS * c->alone.kernel_ns / (w.alone ? 1 : c->threads);
    return w;
}

/* ---- classes ---- */

const char *gcut_cost_class(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind == GCUT_KERNEL_LOOP && gcut_kernel_has_rows(h, u)) return "row loop";
    return u->kind == GCUT_KERNEL_LOOP && u->loop.blocked ? "column loop" : gcut_kernel_table[u->kind].class;
}
