/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A lower bound of the peak of every plan: what one contraction must have in memory.
 *
 * The peak is the resident bytes, of everything bound, plus the top of the arena.  Take a contraction c (a
 * product, convolution or attention) of the joint graph in the form that kernels are made of, one that a result
 * or an effect needs: without the pass dce there may be others.  Each plan runs c at least once, whatever it
 * saves and however often it recomputes a value.  While the kernel of c runs, these buffers are alive together:
 *
 *   written  the whole result of c.  An epilogue works on its tiles, but the result still has its buffer
 *            (machine/lower/fusion/epilogue.c), and no kernel writes a contraction over its operands.
 *   read     the least stored values from which its operands can be computed (gcut_least_read)
 *
 *     bound = resident + max over c of (bytes of its result + minimum cut in front of its operands)
 *
 * The graphs of a plan are the joint graph cut in two, with copies, conversions of saved values, and loops
 * whose bodies save more; the passes that make kernels of them shorten chains of nodes, but a value still
 * depends on the same values.
 */
#include "driver/options/plan_options.h"
#include "driver/search/peak_bound.h"

#include <stdlib.h>

#include "graph/ops/infer.h"
#include "graph/ops/node_facts.h"
#include "graph/ops/value_bytes.h"
#include "partition/bounds/least_storage.h"

typedef struct facts {
    const gcut_graph *g; /* the joint graph in the form that kernels are made of */
    gcut_arena *arena;
    gcut_least_storage least;
} facts;

typedef struct contraction { /* a contraction, and the most bytes that its kernel may need */
    uint32_t node;
    int64_t most;
} contraction;

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
        if (gcut_node_class(c) != GCUT_CLASS_CONTRACTION || !f->least.needed[i]) continue;
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
        gcut_arena *scratch = gcut_arena_new(p->env, a);
        bool *may = gcut_calloc(scratch, f.g->values.n, sizeof *may);
        const int64_t bytes = gcut_least_written(&f.least, gcut_node_at(f.g, e[i].node)) +
                              gcut_least_read(&f.least, e[i].node, may, scratch);
        if (bytes > most) most = bytes;
        gcut_arena_free(scratch);
    }
    gcut_arena_free(a);
    return gcut_resident_bytes(p->joint, p->at, p->nat) + most;
}
