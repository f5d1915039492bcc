/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow in the interpreter: bodies are interpreted like any graph, with
 * the sizes of the graph around them.
 */
#include <string.h>

#include "interp/eval.h"
#include "interp/interp.h"

static const gcut_graph *body_of(const gcut_eval *e, uint32_t k)
{
    return gcut_region_at(e->g, e->node, k)->body;
}

static void copy_elements(gcut_array *to, int64_t at, int64_t step, const gcut_array *from)
{
    for (int64_t k = 0; k < from->n; k++) gcut_eval_put(to, at + k * step, from, k);
}

/* Runs region k; in[] holds the arguments, to which the captured values are appended. */
static void run(gcut_eval *e, uint32_t k, gcut_array *in, uint32_t nin, gcut_array *out, gcut_arena *a)
{
    for (uint32_t i = 0; i < e->node->ncaptured; i++) in[nin + i] = e->arg[e->nargs - e->node->ncaptured + i];
    gcut_interp_body(e, body_of(e, k), in, out, a);
}

static gcut_array *some(gcut_arena *a, uint32_t n)
{
    return gcut_calloc(a, n + 1u, sizeof(gcut_array));
}

void gcut_eval_if(gcut_eval *e)
{
    uint32_t k = e->arg[0].u.i[0] ? 0 : 1;
    gcut_arena *a = gcut_arena_new(e->g->module->env, e->arena);
    gcut_array *out = some(a, e->node->nres);
    run(e, k, some(a, e->nargs), 0, out, a);
    for (uint32_t i = 0; i < e->node->nres; i++) copy_elements(&e->outs[i], 0, 1, &out[i]);
    gcut_arena_free(a);
}

/* The carried values live in e->outs, which end as the results. */
static void start_carries(gcut_eval *e, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) copy_elements(&e->outs[i], 0, 1, &e->arg[i]);
}

void gcut_eval_while(gcut_eval *e)
{
    uint32_t n = e->node->nres;
    const gcut_attr *bound = gcut_attr_get(e->g, e->node, GCUT_KEY_bound);
    int64_t most = bound ? gcut_eval_size(e->g, bound->u.dim, e->bind, e->nbind, e->node->loc) : INT64_MAX;
    start_carries(e, n);
    for (int64_t step = 0; step < most; step++) {
        gcut_arena *a = gcut_arena_new(e->g->module->env, e->arena);
        gcut_array *in = some(a, e->nargs), *out = some(a, n), more;
        for (uint32_t i = 0; i < n; i++) in[i] = e->outs[i];
        run(e, 0, in, n, &more, a);
        bool go = more.u.i[0] != 0;
        if (go) {
            run(e, 1, in, n, out, a);
            for (uint32_t i = 0; i < n; i++) copy_elements(&e->outs[i], 0, 1, &out[i]);
        }
        gcut_arena_free(a);
        if (!go) break;
    }
}

/* Element k of slice t of x along axis is x[(k / inner) * n * inner + t * inner + k % inner]. */
static int64_t sliced(gcut_eval_split s, int64_t k, int64_t t)
{
    return (k / s.inner) * s.n * s.inner + t * s.inner + k % s.inner;
}

static gcut_array slice_of(const gcut_array *x, uint32_t axis, int64_t t, gcut_arena *a)
{
    int64_t dim[GCUT_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) dim[rank++] = x->dim[d];
    gcut_array out = gcut_array_new(a, x->dtype, rank, dim);
    gcut_eval_split s = gcut_eval_around(x, axis);
    for (int64_t k = 0; k < out.n; k++) gcut_eval_put(&out, k, x, sliced(s, k, t));
    return out;
}

static int64_t scan_length(const gcut_eval *e, uint32_t carries, uint32_t axis)
{
    const gcut_attr *a = gcut_attr_get(e->g, e->node, GCUT_KEY_length);
    if (!a) return e->arg[carries].dim[axis];
    return gcut_eval_size(e->g, a->u.dim, e->bind, e->nbind, e->node->loc);
}

void gcut_eval_scan(gcut_eval *e)
{
    uint32_t carries = gcut_node_carries(e->g, e->node), own = e->nargs - e->node->ncaptured;
    uint32_t axis = gcut_eval_axis(e), n = e->node->nres;
    int64_t length = scan_length(e, carries, axis);
    bool reverse = gcut_attr_flag(e->g, e->node, GCUT_KEY_reverse);
    start_carries(e, carries);
    for (int64_t step = 0; step < length; step++) {
        int64_t t = reverse ? length - 1 - step : step;
        gcut_arena *a = gcut_arena_new(e->g->module->env, e->arena);
        gcut_array *in = some(a, e->nargs), *out = some(a, n);
        for (uint32_t i = 0; i < own; i++)
            in[i] = i < carries ? e->outs[i] : slice_of(&e->arg[i], axis, t, a);
        run(e, 0, in, own, out, a);
        for (uint32_t i = 0; i < carries; i++) copy_elements(&e->outs[i], 0, 1, &out[i]);
        for (uint32_t i = carries; i < n; i++) {
            gcut_eval_split s = gcut_eval_around(&e->outs[i], axis);
            for (int64_t k = 0; k < out[i].n; k++) gcut_eval_put(&e->outs[i], sliced(s, k, t), &out[i], k);
        }
        gcut_arena_free(a);
    }
}

/* The function called binds its own sizes from the operands. */
void gcut_eval_call(gcut_eval *e)
{
    gcut_arena *a = gcut_arena_new(e->g->module->env, e->arena);
    gcut_array *out = some(a, e->node->nres);
    gcut_interp(body_of(e, 0), e->prec, a, e->arg, out, NULL);
    for (uint32_t i = 0; i < e->node->nres; i++) copy_elements(&e->outs[i], 0, 1, &out[i]);
    gcut_arena_free(a);
}
