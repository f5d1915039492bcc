/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the peak of every plan: what one contraction must have in memory.
 *
 * The peak is the resident bytes, of everything bound, plus the top of the arena.  Take a contraction c (a
 * product, convolution or attention) of the joint graph in the form that kernels are made of.  Every node
 * there leads to a result, so each plan runs c at least once, whatever it saves and however often it
 * recomputes a value.  While the kernel of c runs, these buffers are alive together:
 *
 *   written  the whole result of c.  An epilogue works on its tiles, but the result still has its buffer
 *            (kernels/lower/fusion/epilogue.c), and no kernel writes a contraction over its operands.
 *   read     a set S of stored values from which elementwise code, reductions and moves of elements compute
 *            the operands of c.  The kernels compute less than that on the fly, chains of elementwise nodes
 *            for one operand (kernels/lower/fusion/prologue.c), so this only makes S smaller.  The result of
 *            another contraction or of a loop is never computed on the fly: such a node is a kernel of its
 *            own, which stores its result.
 *
 * S separates the contractions and loops from the operands of c: each path from one to the other goes through
 * a stored value.  The smallest such set is a minimum cut of the network of partition/cut/network.h with
 * other prices: computing a value on the fly costs nothing, and is impossible for contractions and loops;
 * storing it costs its bytes.
 *
 *     bound = resident + max over c of (bytes of its result + minimum cut in front of its operands)
 *
 * Bytes of a value are those of its smallest storage (partition/budget/least_storage.h).
 *
 * Two stored values of S never share memory: a value written over another
 * (kernels/lower/memory/shared_buffers.c) begins as that one ends, views that lie in one buffer can be
 * replaced in S by that buffer's value, which is never more than minimal, and parts of a concat are as large
 * together as it is.
 *
 * The graphs of a plan are the joint graph cut in two, with copies, conversions of saved values, and loops
 * whose bodies save more; the passes that make kernels of them shorten chains of nodes, but a value still
 * depends on the same values.
 */
#include "driver/options/plan_options.h"
#include "driver/pipeline/peak_bound.h"

#include <math.h>
#include <stdlib.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "partition/budget/least_storage.h"
#include "partition/budget/simulator.h"
#include "partition/cut/min_cut.h"

typedef struct facts {
    const gcut_graph *g; /* the joint graph in the form that kernels are made of */
    gcut_arena *arena;
    gcut_least_storage least;
} facts;

typedef struct contraction { /* a contraction, and the most bytes that its kernel may need */
    uint32_t node;
    int64_t most;
} contraction;

static bool is_kernel(const gcut_node *n)
{
    gcut_class c = gcut_node_class(n);
    return c == GCUT_CLASS_CONTRACTION || c == GCUT_CLASS_CONTROL;
}

/* ---- the cut ---- */

static void add_value(const facts *f, gcut_network *net, gcut_ref v)
{
    int64_t bytes = gcut_least_bytes(&f->least, v);
    gcut_network_value(net, v, (double)bytes, bytes, 0, NULL);
}

/* Adds the wanted nodes up to `last`: the part of the graph from which operands can be computed on the fly.
 */
static void add_cone(const facts *f, gcut_network *net, const bool *wanted, uint32_t last)
{
    for (uint32_t i = 0; i <= last; i++) {
        const gcut_node *n = gcut_node_at(f->g, i);
        gcut_ref res[GCUT_MAX_RESULTS];
        if (!wanted[i]) continue;
        for (uint32_t k = 0; k < n->nres; k++) add_value(f, net, res[k] = n->res0 + k);
        for (uint32_t k = 0; !is_kernel(n) && k < n->nargs; k++)
            if (!net->in[gcut_arg(f->g, n, k)]) add_value(f, net, gcut_arg(f->g, n, k)); /* a parameter */
        gcut_network_work(net, is_kernel(n) ? INFINITY : 0, NULL, &f->g->args.at[n->arg0],
                          is_kernel(n) ? 0 : n->nargs, res, n->nres);
    }
}

/* By node i: can the operands of `node` be computed from node i without a kernel between? */
static bool *cone_of(const facts *f, uint32_t node, gcut_arena *scratch)
{
    const gcut_graph *g = f->g;
    bool *wanted = gcut_calloc(scratch, (size_t)g->nodes.n + 1, sizeof *wanted);
    for (uint32_t i = node + 1; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        if (i != node && (!wanted[i] || is_kernel(n))) continue;
        for (uint32_t k = 0; k < n->nargs; k++) {
            uint32_t def = g->values.at[gcut_arg(g, n, k)].def;
            if (def != GCUT_NONE) wanted[def] = true;
        }
    }
    return wanted;
}

/* The fewest bytes that the kernel of that node must find in memory. */
static int64_t read_bytes(const facts *f, uint32_t node)
{
    const gcut_node *n = gcut_node_at(f->g, node);
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(f->arena), f->arena);
    gcut_network *net = gcut_network_new(scratch, f->g->values.n);
    if (node) add_cone(f, net, cone_of(f, node, scratch), node - 1);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref v = gcut_arg(f->g, n, k);
        if (!net->in[v]) add_value(f, net, v); /* a parameter */
        gcut_network_read(net, v, NULL);
    }
    /* Capacities are integers, so the smallest cut is one. */
    int64_t bytes = (int64_t)ceil(gcut_solve(net, scratch).lower_bound);
    gcut_arena_free(scratch);
    return bytes;
}

/* ---- the maximum ---- */

static int by_most(const void *a, const void *b)
{
    const contraction *x = a, *y = b;
    if (x->most != y->most) return x->most > y->most ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The contractions, with the bytes of all they read and write: the largest first. */
static contraction *find_contractions(const facts *f, uint32_t *n)
{
    contraction *e = gcut_calloc(f->arena, (size_t)f->g->nodes.n + 1, sizeof *e);
    *n = 0;
    for (uint32_t i = 0; i < f->g->nodes.n; i++) {
        const gcut_node *c = gcut_node_at(f->g, i);
        if (gcut_node_class(c) != GCUT_CLASS_CONTRACTION) continue;
        e[*n] = (contraction){i, gcut_least_written(&f->least, c)};
        for (uint32_t k = 0; k < c->nargs; k++)
            e[*n].most += gcut_least_bytes(&f->least, gcut_arg(f->g, c, k));
        (*n)++;
    }
    qsort(e, *n, sizeof *e, by_most);
    return e;
}

int64_t gcut_peak_bound(gcut_pipeline *p)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    facts f = {.arena = a, .g = gcut_pipeline_kernel_graph(p, p->joint)};
    const bool rounds = gcut_pipeline_plan_options(p).save_dtype == GCUT_BF16;
    f.least = gcut_least_storage_of(a, f.g, p->at, p->nat, rounds);
    uint32_t n;
    const contraction *e = find_contractions(&f, &n);
    int64_t most = 0;
    for (uint32_t i = 0; i < n && e[i].most > most; i++) {
        int64_t bytes =
            gcut_least_written(&f.least, gcut_node_at(f.g, e[i].node)) + read_bytes(&f, e[i].node);
        if (bytes > most) most = bytes;
    }
    gcut_arena_free(a);
    return gcut_resident_bytes(p->joint, p->at, p->nat) + most;
}
