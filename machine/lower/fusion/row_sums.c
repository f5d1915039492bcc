/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums over rows move into the product that contracts these rows: dW = x' dy packs dy, and makes the gradient
 * of a bias, the sum of dy over its rows, of the panels it has in cache.
 *
 * in:  L1.   out: L2: a GEMM kernel may have a second node, the sum of one of its operands over k.
 *
 * A sum moves when nothing else keeps its loop in blocks of rows: then it was the whole kernel, which goes
 * with a pass over memory, or the loop is an ordinary one without it, and can be a product's epilogue. Beside
 * other sums over rows it stays; there the loop has its operand in registers.
 *
 * The product adds up in the order that the loop did (kernels/rt/gemm/operand_sums.h), so the bits are the
 * same.
 */
#include "gradcut/gradcut_rt.h"
#include "graph/ops/node_facts.h"
#include "machine/lower/fusion/kernel_paths.h"
#include "machine/lower/fusion/reads.h"
#include "machine/lower/fusion/reason.h"
#include "machine/lower/lower.h"

_Static_assert(GCUT_BLOCKS == GCUT_RT_SUM_BLOCKS, "a sum has the same bits wherever it is made");

/* A sum over rows as a matrix [k, n] whose columns it adds up. */
typedef struct columns {
    gcut_ref root;
    gcut_dim k, n, along_k, offset;
} columns;

/* False unless the elements of a row lie side by side: others would be added up one by one. */
static bool columns_of(const gcut_lowered *h, const gcut_node *n, columns *out)
{
    gcut_module *m = h->g->module;
    gcut_ref x = gcut_arg(h->g, n, 0);
    const gcut_type *t = gcut_type_of(h->g, x);
    const gcut_view *v = &h->view[x];
    const uint32_t mask = gcut_attr_axes(h->g, n);
    uint32_t rows = 0;
    gcut_dim step;
    if (n->op != GCUT_OP_sum || gcut_axes_position_of(t, mask) != GCUT_LEADING || v->widens || v->bits)
        return false;
    if (t->dtype != GCUT_F32 && t->dtype != GCUT_F64) return false;
    while (mask >> rows & 1) rows++;
    *out = (columns){.root = v->root, .offset = v->offset};
    return gcut_view_collapse(m, t, v, 0, rows, &out->k, &out->along_k) &&
           gcut_view_collapse(m, t, v, rows, t->rank, &out->n, &step) && step == 1;
}

/* Operand i of product n is x, and k is what it contracts. */
static bool is_operand(const gcut_lowered *h, const gcut_node *n, uint32_t i, const columns *x)
{
    gcut_ref a = gcut_arg(h->g, n, i);
    const gcut_type *t = gcut_type_of(h->g, a);
    const gcut_view *v = &h->view[a];
    const bool transposed = gcut_attr_flag(h->g, n, i == 0 ? GCUT_KEY_ta : GCUT_KEY_tb);
    const uint32_t k = (i == 0) != transposed; /* the axis */
    return v->root == x->root && t->rank == 2 && t->dim[k] == x->k && t->dim[1 - k] == x->n &&
           v->offset == x->offset && v->stride[k] == x->along_k && v->stride[1 - k] == 1;
}

/* Which operand of the kernel's product the columns are, as the run-time library counts them; 0 for none. */
static unsigned operand_in(const gcut_lowered *h, uint32_t kernel, const columns *x)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind != GCUT_KERNEL_GEMM || u->gemm.sums) return 0;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    if (gcut_type_of(h->g, n->res0)->rank != 2) return 0;
    for (uint32_t i = 0; i < 2; i++)
        if (u->operand_copy[i] == GCUT_NONE && is_operand(h, n, i, x))
            return i == 0 ? GCUT_RT_SUMS_A : GCUT_RT_SUMS_B;
    return 0;
}

/* The place among its members of a loop's only result that is complete after it alone; GCUT_NONE: there is
 * none, or several. */
static uint32_t only_column(const gcut_lowered *h, const gcut_kernel *u)
{
    uint32_t found = GCUT_NONE;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        gcut_level l = h->level[gcut_node_at(h->g, u->nodes.at[i])->res0];
        if (l != GCUT_LEVEL_COLUMN && l != GCUT_LEVEL_TOTAL) continue;
        if (found != GCUT_NONE) return GCUT_NONE;
        found = i;
    }
    return found;
}

/* Member `at` leaves the loop.  Who is left decides about rows, if somebody does. */
static void leave(gcut_lowered *h, gcut_kernel *u, uint32_t at)
{
    u->nodes.n--;
    for (uint32_t i = at; i < u->nodes.n; i++) u->nodes.at[i] = u->nodes.at[i + 1];
    u->dead = u->nodes.n == 0;
    u->loop.blocked = false;
    if (!gcut_kernel_has_rows(h, u)) u->loop.inner = u->loop.rows = GCUT_DIM_BAD;
}

/* The product that makes sum `node` too, and of which operand. */
typedef struct host {
    uint32_t product;
    unsigned operand;
} host;

static gcut_reason decide(const gcut_lowered *h, uint32_t node, host *out)
{
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_reason why = GCUT_REASON_no_product;
    columns x;
    if (!columns_of(h, n, &x)) return GCUT_REASON_other_sums;
    const gcut_readers *r = &h->reads->of[x.root];
    for (uint32_t i = 0; i < r->n; i++) {
        *out = (host){r->at[i].kernel, operand_in(h, r->at[i].kernel, &x)};
        if (!out->operand) continue;
        why = GCUT_REASON_sum_read_first;
        if (!gcut_reader_reaches(h, n->res0, out->product)) return GCUT_REASON_fused;
    }
    return why;
}

static void move(gcut_lowered *h, uint32_t loop, uint32_t at, const host *to)
{
    const uint32_t node = h->kernels.at[loop].nodes.at[at];
    const gcut_node *n = gcut_node_at(h->g, node);
    gcut_kernel *u = &h->kernels.at[to->product];
    gcut_reads_remove(h, loop);
    gcut_reads_remove(h, to->product);
    leave(h, &h->kernels.at[loop], at);
    u->gemm.sums = to->operand;
    *GCUT_PUSH(h->g->module->arena, &u->nodes) = node;
    h->kernel_of[n->res0] = to->product;
    h->level[n->res0] = GCUT_LEVEL_NONE;
    gcut_set_reason(h, node, 0, GCUT_REASON_moved_sum);
    gcut_reads_add(h, loop);
    gcut_reads_add(h, to->product);
}

void gcut_move_row_sums(gcut_program *p, gcut_lowered *h)
{
    (void)p;
    if (h->parent != GCUT_NONE || h->unfused) return; /* a body's sums are carried from step to step */
    for (uint32_t kernel = 0; kernel < h->kernels.n; kernel++) {
        const gcut_kernel *u = &h->kernels.at[kernel];
        uint32_t at = u->dead || u->kind != GCUT_KERNEL_LOOP ? GCUT_NONE : only_column(h, u);
        host to;
        if (at == GCUT_NONE) continue;
        const gcut_reason r = decide(h, u->nodes.at[at], &to);
        h->memory_reason[gcut_node_at(h->g, u->nodes.at[at])->res0] = (uint8_t)r;
        if (r == GCUT_REASON_fused) move(h, kernel, at, &to);
    }
}
