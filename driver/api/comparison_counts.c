/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Ops, kernels, launches and bytes of one step: for a compiled step from the launches of its program, for an
 * interpreted step op by op, as an eager framework runs it.
 *
 * There each op is a kernel, which reads its operands and writes its results.  Views move no bytes; an
 * operand that is a view costs at most the bytes of its base.  Constants and iotas are not read.
 */
#include "driver/api/comparison_counts.h"

#include <math.h>
#include <string.h>

#include "graph/ops/value_bytes.h"

static gcut_emit emit_of(const gcut_node *n)
{
    return gcut_op_get((gcut_op)n->op)->emit;
}

static bool computes(const gcut_node *n)
{
    gcut_emit e = emit_of(n);
    return e != GCUT_EMIT_CONST && e != GCUT_EMIT_IOTA && e != GCUT_EMIT_VIEW;
}

static double bytes_of(const gcut_step *s, const gcut_graph *g, gcut_ref v)
{
    return (double)gcut_value_bytes(g, v, s->size, s->nsizes);
}

/* Bytes of operand v, or of the smallest value that it is a view of. */
static double read_of(const gcut_step *s, const gcut_graph *g, gcut_ref v)
{
    double bytes = bytes_of(s, g, v);
    const gcut_node *n;
    while ((n = gcut_def(g, v)) && emit_of(n) == GCUT_EMIT_VIEW) {
        v = gcut_arg(g, n, 0);
        bytes = fmin(bytes, bytes_of(s, g, v));
    }
    return n && !computes(n) ? 0 : bytes;
}

/* Is operand k also one of the operands before it? */
static bool has_before(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++)
        if (gcut_arg(g, n, i) == gcut_arg(g, n, k)) return true;
    return false;
}

static double moved_by(const gcut_step *s, const gcut_graph *g, const gcut_node *n)
{
    double written = 0, bytes = 0;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++) written += bytes_of(s, g, v);
    for (uint32_t k = 0; k < n->nargs; k++) {
        if (has_before(g, n, k)) continue;
        double one = read_of(s, g, gcut_arg(g, n, k));
        /* of a gathered table, only the rows that are asked for */
        bytes += k == 0 && emit_of(n) == GCUT_EMIT_TAKE ? fmin(one, written) : one;
    }
    return bytes + written;
}

static void count_body(const gcut_step *s, const gcut_graph *g, double times, gcut_variant_graph *to);

/* Counts the op as one kernel, or the ops of its regions. */
static void count_node(const gcut_step *s, const gcut_graph *g, const gcut_node *n, double times,
                       gcut_variant_graph *to)
{
    for (uint32_t k = 0; k < n->nregs; k++)
        count_body(s, gcut_region_at(g, n, k)->body, times * gcut_region_runs(g, n, s->size, s->nsizes), to);
    if (n->nregs || !computes(n)) return;
    to->ops++;
    to->kernels++;
    to->launches += times;
    to->bytes += times * moved_by(s, g, n);
}

static void count_body(const gcut_step *s, const gcut_graph *g, double times, gcut_variant_graph *to)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) count_node(s, g, gcut_node_at(g, i), times, to);
}

static bool has_result(const gcut_graph *g, const gcut_result *r)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == r->role && !strcmp(g->results.at[i].name, r->name)) return true;
    return false;
}

/* By node of the joint graph: do results of the user's function depend on it? */
static bool *find_forward(const gcut_graph *joint, const gcut_graph *primal, gcut_arena *a)
{
    bool *needed = gcut_calloc(a, joint->values.n, sizeof *needed),
         *node = gcut_calloc(a, joint->nodes.n + 1, sizeof *node);
    for (uint32_t i = 0; i < joint->results.n; i++)
        if (has_result(primal, &joint->results.at[i])) needed[joint->results.at[i].value] = true;
    for (uint32_t i = joint->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(joint, i);
        for (uint32_t k = 0; k < n->nres; k++) node[i] |= needed[n->res0 + k];
        for (uint32_t k = 0; node[i] && k < n->nargs; k++) needed[gcut_arg(joint, n, k)] = true;
    }
    return node;
}

static void count_interpreted(const gcut_step *s, gcut_variant_graph to[2], gcut_arena *a)
{
    const gcut_pipeline *p = s->p;
    const gcut_graph *g = p->bwd ? p->raw : p->folded;
    const bool *forward = find_forward(g, p->folded, a);
    for (uint32_t i = 0; i < g->nodes.n; i++) count_node(s, g, gcut_node_at(g, i), 1, &to[!forward[i]]);
}

static int64_t count_ops(const gcut_graph *g)
{
    int64_t ops = 0;
    for (uint32_t i = 0; g && i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nregs; k++) ops += count_ops(gcut_region_at(g, n, k)->body);
        ops += computes(n) && !n->nregs;
    }
    return ops;
}

void gcut_count_step(const gcut_step *s, gcut_variant_graph to[2], gcut_arena *a)
{
    to[0] = to[1] = (gcut_variant_graph){0};
    if (!s->entry) {
        count_interpreted(s, to, a);
        return;
    }
    gcut_costs c = gcut_program_costs(s->p->program, s->p->machine, s->size, s->nsizes, s->threads, a);
    to[0].ops = count_ops(s->p->kfwd);
    to[1].ops = count_ops(s->p->kbwd);
    for (uint32_t i = 0; i < c.n; i++) {
        gcut_variant_graph *x = &to[c.at[i].graph];
        x->kernels++;
        x->launches += c.at[i].times;
        x->bytes += c.at[i].read + c.at[i].written;
    }
}
