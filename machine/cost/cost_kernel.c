/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One launch: its class and its arithmetic.
 */
#include <math.h>

#include "graph/ops/node_facts.h"
#include "machine/cost/cost.h"
#include "machine/lower/fusion/loop_phases.h"
#include "machine/lower/fusion/prologue.h"
#include "machine/lower/kernel_sizes.h"
#include "machine/lower/team.h"
#include "machine/node_work.h"

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

static gcut_work_of work_of(const gcut_cost_at *c, const gcut_machine *m, const gcut_graph *g)
{
    return (gcut_work_of){g, m, c->at, c->nat, c->terms};
}

/* Elements are those of the result; where an op goes over its operands, of the last one. */
static double op_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_graph *g, const gcut_node *n,
                    bool operands)
{
    const gcut_ref v = operands ? gcut_arg(g, n, n->nargs - 1) : n->res0;
    const gcut_work_of w = work_of(c, m, g);
    return gcut_work_op_ns(&w, n, gcut_cost_numel(c, gcut_type_of(g, v)));
}

/* Elements at the end of a row that fill no vector. */
static double remainder_of_row(const gcut_cost_at *c, const gcut_lowered *h, const gcut_kernel *u)
{
    const gcut_dtype t = gcut_node_widest(h->g, gcut_node_at(h->g, u->nodes.at[0]));
    return fmod(gcut_cost_size(c, u->loop.inner), GCUT_VECTOR_BYTES / (double)gcut_dtype_bytes(t));
}

/* The time of the end of a row, in units of the price of finding a row; and how terms name it. */
static double row_end(bool remainder)
{
    return GCUT_ROW_END + (remainder ? GCUT_ROW_REMAINDER : 0);
}

static const char *end_of(bool remainder)
{
    return remainder ? "a sum and a remainder" : "a sum";
}

static double row_ends_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_kernel *u, int phases,
                          bool remainder)
{
    const gcut_rate rate = gcut_machine_row_rate(m);
    const uint32_t first = gcut_terms_count(c->terms);
    const double ns = gcut_term_rated(c->terms, GCUT_TERM_WORK, NULL, "ends of rows", &rate,
                                      gcut_cost_size(c, u->loop.rows) * phases, "rows");
    return ns * gcut_terms_scale(c->terms, first, row_end(remainder), end_of(remainder));
}

/* phases: 0 where the loop has no rows. */
static double loop_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                      const gcut_kernel *u, int phases)
{
    const uint32_t first = gcut_terms_count(c->terms);
    double ns = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(h->g, u->nodes.at[i]);
        ns += op_ns(c, m, h->g, n, gcut_op_of(n)->emit == GCUT_EMIT_REDUCE);
    }
    const double inner = gcut_cost_size(c, u->loop.inner);
    if (!phases || !(inner > 0)) return ns;
    const double left = remainder_of_row(c, h, u);
    ns *= gcut_terms_scale(c->terms, first, (inner - left + GCUT_TAIL * left) / inner,
                           "remainders of rows one by one");
    return ns + row_ends_ns(c, m, u, phases, left > 0 && left < inner);
}

/* Is the loop cut into parts, for several long functions? */
static bool is_exposed(const gcut_lowered *h, const gcut_kernel *u)
{
    uint32_t longs = 0;
    for (uint32_t i = 0; i < u->nodes.n; i++) longs += gcut_op_is_long(h, gcut_node_at(h->g, u->nodes.at[i]));
    return longs > 1;
}

/* How often the loop goes over each row (loop_phases.h); 0: it has no rows. */
static int phases_of(const gcut_lowered *h, uint32_t kernel)
{
    if (!gcut_kernel_has_rows(h, &h->kernels.at[kernel])) return 0;
    gcut_arena *scratch = gcut_arena_new(h->g->module->env, NULL);
    const int phases = gcut_loop_analyse(scratch, h, kernel, NULL).phases;
    gcut_arena_free(scratch);
    return phases;
}

/* Rows are copied, or added up, one by one.  A row is along the last axis, and along the axes before it as long as both
 * neighbours are in the mask `gone`. */
static double rows_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_graph *g, gcut_ref v,
                      uint32_t gone)
{
    const gcut_type *t = gcut_type_of(g, v);
    const gcut_rate rate = gcut_machine_row_rate(m);
    uint32_t d = t->rank ? t->rank - 1 : 0;
    double rows = gcut_cost_numel(c, t) > 0;
    while (d > 0 && gone >> d & 1 && gone >> (d - 1) & 1) d--;
    for (uint32_t i = 0; i < d; i++) rows *= gcut_cost_size(c, t->dim[i]);
    return gcut_term_rated(c->terms, GCUT_TERM_WORK, g->values.at[v].name, "finding rows", &rate, rows,
                           "rows");
}

/* Kinds that walk their operands row by row. */
static double copy_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                      const gcut_kernel *u)
{
    double ns = 0;
    if (u->kind == GCUT_KERNEL_COPY) return rows_ns(c, m, h->g, u->copy.value, 0);
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    /* An operand of a concatenation is contiguous from its axis on, in the result too. */
    const uint32_t gone = u->kind == GCUT_KERNEL_REDUCE ? gcut_attr_axes(h->g, n)
                          : u->kind == GCUT_KERNEL_CONCAT
                              ? ~0u << gcut_attr_get(h->g, n, GCUT_KEY_axis)->u.dim
                              : 0;
    for (uint32_t k = 0; k < n->nargs; k++) ns += rows_ns(c, m, h->g, gcut_arg(h->g, n, k), gone);
    return ns;
}

/* A batch axis along which the second operand has stride 0 has one matrix. */
static double contraction_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                             const gcut_node *n)
{
    const gcut_work_of w = work_of(c, m, h->g);
    uint32_t one_b = 0;
    if (gcut_op_of(n)->way == GCUT_WAY_gemm)
        for (uint32_t d = 0; d + 2 < gcut_type_of(h->g, n->res0)->rank; d++)
            one_b |= (uint32_t)(h->view[gcut_arg(h->g, n, 1)].stride[d] == 0) << d;
    return gcut_work_contraction_ns(&w, n, one_b);
}

/* Does it move rows, one by one? */
static bool moves_rows(const gcut_kernel *u)
{
    return u->kind == GCUT_KERNEL_COPY || u->kind == GCUT_KERNEL_PAD || u->kind == GCUT_KERNEL_CONCAT ||
           u->kind == GCUT_KERNEL_FLIP;
}

/* Does it add up runs along the last axis, one by one? */
static bool adds_up_runs(const gcut_lowered *h, const gcut_kernel *u)
{
    if (u->kind != GCUT_KERNEL_REDUCE) return false;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const uint32_t rank = gcut_type_of(h->g, gcut_arg(h->g, n, 0))->rank;
    return rank > 0 && gcut_attr_axes(h->g, n) >> (rank - 1) & 1;
}

/* A run is the elements along the last reduced axes.  Its end is priced as that of a row of a loop.  gcut_rt_reduce_* adds
 * elements of up to 4 bytes up in 64 bits, at twice the price of the op. */
static double runs_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                      const gcut_kernel *u)
{
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const gcut_ref x = gcut_arg(h->g, n, 0);
    const gcut_type *t = gcut_type_of(h->g, x);
    const uint32_t gone = gcut_attr_axes(h->g, n);
    uint32_t first = gcut_terms_count(c->terms);
    double ns = rows_ns(c, m, h->g, x, gone), run = 1;
    for (uint32_t d = t->rank; d-- > 0 && gone >> d & 1;) run *= gcut_cost_size(c, t->dim[d]);
    const bool remainder = fmod(run, GCUT_REDUCTION_LANES) > 0;
    ns *= gcut_terms_scale(c->terms, first, row_end(remainder), end_of(remainder));
    first = gcut_terms_count(c->terms);
    const double all = op_ns(c, m, h->g, n, true);
    return ns + all * gcut_terms_scale(c->terms, first, gcut_dtype_bytes(t->dtype) > 4 ? 1 : 2, "in 64 bits");
}

/* Arithmetic of a kernel that is not a loop. */
static double other_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                       const gcut_kernel *u, double flops)
{
    if (adds_up_runs(h, u)) return runs_ns(c, m, h, u);
    bool rows = moves_rows(u) || u->kind == GCUT_KERNEL_REDUCE;
    bool operands =
        u->kind == GCUT_KERNEL_REDUCE || u->kind == GCUT_KERNEL_SCATTER || u->kind == GCUT_KERNEL_PACK;
    const uint32_t first = gcut_terms_count(c->terms);
    double ns = rows ? copy_ns(c, m, h, u) : 0;
    const uint32_t middle = gcut_terms_count(c->terms);
    if (u->kind == GCUT_KERNEL_COPY) return ns;
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    if (u->kind == GCUT_KERNEL_EXTERNAL) {
        /* The bytes of its operands and results are in what it declares. */
        const gcut_work_of w = work_of(c, m, h->g);
        return gcut_work_external_ns(&w, n);
    }
    if (gcut_kernel_sums(u)) ns = op_ns(c, m, h->g, gcut_node_at(h->g, u->nodes.at[1]), true);
    if (flops > 0) return ns + contraction_ns(c, m, h, n);
    return gcut_terms_longer(c->terms, first, middle, ns, op_ns(c, m, h->g, n, operands));
}

/* Of the operand that a product computes: as often as it packs it, or once, to its buffer. */
static double prologue_ns(const gcut_cost_at *c, const gcut_machine *m, const gcut_lowered *h,
                          uint32_t kernel)
{
    const gcut_prologue *prologue = gcut_kernel_prologue(&h->kernels.at[kernel]);
    double ns = 0;
    if (!prologue) return 0;
    const int64_t times = gcut_prologue_packings(h, kernel, c->at, c->nat, c->threads);
    for (uint32_t i = 0; i < prologue->loop.nodes.n; i++) {
        const uint32_t first = gcut_terms_count(c->terms);
        double one = op_ns(c, m, h->g, gcut_node_at(h->g, prologue->loop.nodes.at[i]), false);
        ns += gcut_terms_scale(c->terms, first, (double)(times ? times : 1), "packed so often") * one;
    }
    return ns;
}

/* What a launch takes by itself. */
static double fixed_ns(const gcut_cost_at *c, const gcut_kernel *u, const gcut_work *w)
{
    const gcut_machine *m = w->alone ? &c->alone : &c->m;
    const gcut_rate kernel = gcut_machine_kernel_rate(m), call = gcut_machine_call_rate(m),
                    block = gcut_machine_kernel_rate(&c->alone);
    double ns = gcut_term_rated(c->terms, GCUT_TERM_FIXED, NULL, "the launch", &kernel, 1, "kernel");
    if (w->flops > 0) ns += gcut_term_rated(c->terms, GCUT_TERM_FIXED, NULL, "the call", &call, 1, "call");
    if (u->kind != GCUT_KERNEL_LOOP || !u->loop.blocked) return ns;
    /* To begin a block and add up its sums takes as long as a kernel. */
    const double threads = w->alone ? 1 : c->threads,
                 blocks = gcut_cost_size(c, gcut_loop_blocks(c->p->module, u));
    return ns + gcut_term_add(c->terms, (gcut_term){.kind = GCUT_TERM_FIXED,
                                                    .what = "blocks of rows",
                                                    .units = blocks,
                                                    .unit = "blocks",
                                                    .rate = block,
                                                    .times = 1 / threads,
                                                    .why = w->alone ? NULL : "threads share them",
                                                    .ns = blocks * block.ns / threads});
}

/* Only the first of several parts or phases of a loop waits for memory; each row that is moved waits for its own. */
static gcut_overlap overlap_of(const gcut_lowered *h, const gcut_kernel *u, double flops, int phases)
{
    if (u->kind == GCUT_KERNEL_LOOP)
        return is_exposed(h, u) || phases > 1 ? GCUT_OVERLAP_SUM : GCUT_OVERLAP_LONGER;
    if (flops > 0) return GCUT_OVERLAP_BEYOND;
    return moves_rows(u) ? GCUT_OVERLAP_SUM : GCUT_OVERLAP_LONGER;
}

gcut_work gcut_cost_work(const gcut_cost_at *c, const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    gcut_work w = {.threads = c->threads};
    int phases = 0;
    if (u->kind != GCUT_KERNEL_LOOP && u->kind != GCUT_KERNEL_COPY)
        w.flops = gcut_node_flops(h->g, gcut_node_at(h->g, u->nodes.at[0]), c->at, c->nat);
    if (gcut_kernel_has_team(u->kind)) {
        const gcut_team team = gcut_kernel_team(h, kernel);
        w.threads = gcut_team_at(c->p->module, &team, c->at, c->nat, c->threads);
    } else {
        const uint32_t first = gcut_terms_count(c->terms);
        if (other_ns(c, &c->alone, h, u, w.flops) < 2 * GCUT_GRAIN_NS) w.threads = 1;
        if (c->terms) c->terms->list.n = first; /* its terms are stated below, at the rates that count */
    }
    w.alone = w.threads == 1;
    const gcut_machine *m = w.alone ? &c->alone : &c->m;
    if (u->kind == GCUT_KERNEL_LOOP) {
        phases = phases_of(h, kernel);
        w.ns = loop_ns(c, m, h, u, phases);
    } else {
        w.ns = other_ns(c, m, h, u, w.flops) + prologue_ns(c, m, h, kernel);
    }
    w.overlap = overlap_of(h, u, w.flops, phases);
    w.fixed = fixed_ns(c, u, &w);
    return w;
}

/* ---- classes ---- */

const char *gcut_cost_class(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    if (u->kind == GCUT_KERNEL_LOOP && gcut_kernel_has_rows(h, u)) return "row loop";
    return u->kind == GCUT_KERNEL_LOOP && u->loop.blocked ? "column loop" : gcut_kernel_table[u->kind].class;
}
