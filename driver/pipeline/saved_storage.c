/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests whether each saved value of a plan has a buffer of its own in the arena.
 *
 * The partition counts each saved value once.  Composite ops become their decomposition only in the graphs
 * that kernels are made of, and there two values may turn out to be one: a softmax, and the same formula
 * written out beside it.  Kernels then store both in one buffer (machine/lower/memory/buffer_assignment.c),
 * and the plan needs less than it counts.
 *
 * So all values that a plan could save are made results of one graph, beside the results of the forward
 * graph, and that graph is brought into the form that kernels are made of.  The forward graph of any plan is
 * a part of it, and passes that merge equal nodes find no more in a part than in the whole.  Where no two
 * results lie in one storage, and none in that of a parameter, each saved value has a buffer of its own.
 */
#include "driver/pipeline/saved_storage.h"

#include <math.h>

#include "graph/rewrite.h"

/* A copy of the problem's graph with new results: those of the forward graph, *nout of them, then what could be saved.
 */
static gcut_graph *all_saved(const gcut_problem *problem, gcut_arena *scratch, const char *name,
                             uint32_t *nout)
{
    const gcut_graph *g = problem->g;
    const char *why;
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    for (uint32_t i = 0; i < g->nodes.n; i++) gcut_rewrite_copy(&rw, i);
    const gcut_ref *map = gcut_memdup(scratch, rw.map, g->values.n * sizeof *map);
    gcut_graph *all = gcut_rewrite_end(&rw);
    all->results.n = 0;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (!gcut_result_is_late(&g->results.at[i]))
            gcut_result_new(all, GCUT_ROLE_out,
                            gcut_intern_name(g->module, gcut_printf(scratch, "out.%u", i)),
                            map[g->results.at[i].value]);
    *nout = all->results.n;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (problem->facts->side[v] == GCUT_SIDE_BACKWARD) continue;
        double price = gcut_save_price(problem, v, 1, &why);
        if (price > 0 && !isinf(price))
            gcut_result_new(all, GCUT_ROLE_out,
                            gcut_intern_name(g->module, gcut_printf(scratch, "saved.%u", v)), map[v]);
    }
    return all;
}

/* The value in whose buffer v lies.  What is less than that, a slice, is saved as a copy. */
static gcut_ref storage_of(const gcut_graph *g, gcut_ref v)
{
    gcut_module *m = g->module;
    gcut_ref root = v;
    for (const gcut_node *n = gcut_def(g, v);
         n && n->nargs && gcut_op_get((gcut_op)n->op)->emit == GCUT_EMIT_VIEW; n = gcut_def(g, root))
        root = gcut_arg(g, n, 0);
    return gcut_type_numel(m, gcut_type_of(g, v)) == gcut_type_numel(m, gcut_type_of(g, root)) ? root : v;
}

bool gcut_saved_have_own_buffers(gcut_pipeline *p, const gcut_problem *problem)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    uint32_t nout, id = p->module->graphs.n;
    gcut_graph *all = all_saved(problem, a, gcut_printf(a, "%s.saved.%u", problem->g->name, id), &nout);
    const gcut_graph *g = gcut_pipeline_kernel_graph(p, all);
    bool *taken = gcut_calloc(a, g->values.n, sizeof *taken), own = true;
    for (uint32_t i = 0; i < g->params.n; i++) taken[g->params.at[i].value] = true;
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_ref v = storage_of(g, g->results.at[i].value);
        own = own && (!taken[v] || i < nout);
        taken[v] = true;
    }
    gcut_arena_free(a);
    return own;
}
