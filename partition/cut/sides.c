/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sides by four passes over the topological order:
 *
 *   late      depends on a cotangent or a #late input             (forwards)
 *   primal    some `out` result that is not #late depends on it   (backwards)
 *   serves    free of cotangents, and a gradient depends on it     (backwards)
 *   live      any result depends on it                            (backwards)
 *
 * The results of one node share all four, as they are computed together; each of them is saved or not on its
 * own.
 *
 * late -> BACKWARD, else primal -> FORWARD, else serves -> EITHER, else BACKWARD: the remaining values
 * serve `next` results alone, such as the new running mean of a normalisation.  "A gradient" includes every
 * cotangent-dependent value, because an optimizer may have replaced all `grad` results by `next` ones.
 *
 * Operands of a FORWARD value are FORWARD, and operands of an EITHER value are FORWARD or EITHER: the
 * network of partition/cut/network.c relies on both.
 */
#include "partition/cut/sides.h"

#include "graph/external.h"
#include "graph/ops/node_facts.h"

bool gcut_value_is_lost(const gcut_graph *g, gcut_ref v)
{
    const gcut_value *x = &g->values.at[v];
    if (x->def != GCUT_NONE) return false;
    const gcut_param *p = &g->params.at[x->index];
    return g->is_body ? p->role == GCUT_ROLE_saved : gcut_is_transient(&p->marks);
}

bool gcut_value_runs_once(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return n && gcut_node_has_effects(g, n);
}

typedef struct dependence {
    gcut_graph *g;
    bool *late, *primal, *serves, *live; /* by value */
} dependence;

static void propagate_forwards(dependence *s)
{
    for (uint32_t i = 0; i < s->g->params.n; i++)
        s->late[s->g->params.at[i].value] = gcut_param_is_late(&s->g->params.at[i]);
    gcut_add_dependents(s->g, s->late);
}

static void propagate_backwards(dependence *s)
{
    gcut_graph *g = s->g;
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        s->live[r->value] = true;
        if (!gcut_result_is_late(r)) s->primal[r->value] = true;
        if (r->role == GCUT_ROLE_grad) s->serves[r->value] = true;
    }
    for (uint32_t i = g->nodes.n; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        bool primal = gcut_any_result(n, s->primal), serves = gcut_any_result(n, s->serves),
             live = gcut_any_result(n, s->live), late = gcut_any_result(n, s->late);
        if (gcut_node_has_effects(g, n))
            live = true, primal |= !late; /* it must run: once, in the earliest graph that has its operands */
        /* All results of a node are computed together. */
        for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
            s->primal[v] = primal, s->serves[v] = serves, s->live[v] = live;
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref a = gcut_arg(g, n, k);
            s->primal[a] |= primal;
            s->live[a] |= live;
            s->serves[a] |= serves || (late && live);
        }
    }
}

static void check_results(const dependence *s)
{
    gcut_module *m = s->g->module;
    for (uint32_t i = 0; i < s->g->results.n; i++) {
        const gcut_result *r = &s->g->results.at[i];
        if (gcut_result_is_late(r) || !s->late[r->value]) continue;
        const gcut_node *n = gcut_def(s->g, r->value);
        gcut_fail(
            m->env, GCUT_EPLAN, gcut_loc_place(m, n ? n->loc : 0),
            "mark it #late, gcut_late in C, or make it a `grad` or `next` result",
            "result %s depends on a cotangent or a #late input, which only the backward call has, so the "
            "forward graph cannot return it",
            r->name);
    }
}

static gcut_value_side side_of(const dependence *s, gcut_ref v)
{
    if (s->late[v]) return GCUT_SIDE_BACKWARD;
    if (s->primal[v] || !gcut_def(s->g, v)) return GCUT_SIDE_FORWARD;
    if (s->serves[v]) return GCUT_SIDE_EITHER;
    return s->live[v] ? GCUT_SIDE_BACKWARD : GCUT_SIDE_EITHER;
}

/* A dead value may still be saved on request, unless it reads a value that only the backward graph has. */
static void settle_dead(gcut_facts *f)
{
    for (uint32_t i = 0; i < f->g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(f->g, i);
        for (uint32_t k = 0; k < n->nargs && !f->live[i]; k++)
            if (f->side[gcut_arg(f->g, n, k)] == GCUT_SIDE_BACKWARD)
                for (uint32_t r = 0; r < n->nres; r++) f->side[n->res0 + r] = GCUT_SIDE_BACKWARD;
    }
}

/* Counts reads of live nodes only: a dead node must not keep its operands alive. */
static void mark_reads(gcut_facts *f)
{
    gcut_graph *g = f->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!f->live[i] || f->side[n->res0] != GCUT_SIDE_BACKWARD) continue;
        for (uint32_t k = 0; k < n->nargs; k++) f->read[gcut_arg(g, n, k)] = true;
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        const bool late = gcut_result_is_late(r);
        if (late) f->read[r->value] = true;
        if (!late) f->out[r->value] = true;
        if (!late) f->kept[r->value] = !gcut_value_is_lost(g, r->value);
    }
    for (uint32_t i = 0; i < g->results.n; i++) /* one #transient name of several is enough */
        if (gcut_is_transient(&g->results.at[i].marks)) f->kept[g->results.at[i].value] = false;
    for (gcut_ref v = 1; v < g->values.n; v++)
        if (f->side[v] == GCUT_SIDE_BACKWARD) f->read[v] = false;
}

/* ---- gradients begun in the forward graph ---- */

static bool is_scalar_spread(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    return n && n->op == GCUT_OP_broadcast && gcut_type_of(g, gcut_arg(g, n, 0))->rank == 0;
}

/* The result of n can overwrite operand k: n scales the operand, or adds to it. */
static bool writes_over(const gcut_graph *g, const gcut_node *n, uint32_t k)
{
    if (n->op == GCUT_OP_scatter_add) return k == 0;
    if (n->op == GCUT_OP_mul) return is_scalar_spread(g, gcut_arg(g, n, 1 - k));
    return n->op == GCUT_OP_add;
}

/* Finds the gradients that are a value of a loss head, scaled and added to, which nothing else reads: that
 * value may be saved in the gradient's own memory.  begun[v]: the first such value that v is computed from.
 */
static void find_grads(gcut_facts *f, gcut_arena *arena)
{
    gcut_graph *g = f->g;
    uint32_t *uses = gcut_calloc(arena, g->values.n, sizeof *uses);
    gcut_ref *begun = gcut_calloc(arena, g->values.n, sizeof *begun);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (uint32_t k = 0; f->live[i] && k < gcut_node_at(g, i)->nargs; k++)
            uses[gcut_arg(g, gcut_node_at(g, i), k)]++;
    for (uint32_t i = 0; i < g->results.n; i++) uses[g->results.at[i].value]++;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        gcut_ref v = n->res0;
        bool head =
            n->nres == 1 && gcut_mark_find(&n->marks, GCUT_MARK_head) && f->side[v] == GCUT_SIDE_EITHER;
        if (head && gcut_node_class(n) != GCUT_CLASS_VIEW) begun[v] = v;
        for (uint32_t k = 0; n->nres == 1 && k < n->nargs && !begun[v]; k++)
            if (uses[gcut_arg(g, n, k)] == 1 && writes_over(g, n, k)) begun[v] = begun[gcut_arg(g, n, k)];
    }
    for (uint32_t i = 0; i < g->results.n; i++) {
        gcut_ref v = begun[g->results.at[i].value];
        if (v && v != g->results.at[i].value && g->results.at[i].role == GCUT_ROLE_grad) f->grad[v] = 1 + i;
    }
}

gcut_facts *gcut_sides_of(gcut_arena *arena, gcut_graph *g)
{
    uint32_t nv = g->values.n;
    dependence s = {g, gcut_calloc(arena, nv, 1), gcut_calloc(arena, nv, 1), gcut_calloc(arena, nv, 1),
                    gcut_calloc(arena, nv, 1)};
    propagate_forwards(&s);
    propagate_backwards(&s);
    check_results(&s);

    gcut_facts *f = gcut_calloc(arena, 1, sizeof *f);
    f->g = g;
    f->side = gcut_calloc(arena, nv, sizeof *f->side);
    f->base = gcut_calloc(arena, nv, sizeof *f->base);
    f->out = gcut_calloc(arena, nv, sizeof *f->out);
    f->kept = gcut_calloc(arena, nv, sizeof *f->kept);
    f->read = gcut_calloc(arena, nv, sizeof *f->read);
    f->live = gcut_calloc(arena, (size_t)g->nodes.n + 1, sizeof *f->live);
    f->grad = gcut_calloc(arena, nv, sizeof *f->grad);
    for (gcut_ref v = 1; v < nv; v++) {
        f->side[v] = side_of(&s, v);
        f->base[v] = v;
    }
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        f->live[i] = gcut_any_result(n, s.live);
        if (gcut_node_class(n) == GCUT_CLASS_VIEW && n->nargs) f->base[n->res0] = f->base[gcut_arg(g, n, 0)];
    }
    settle_dead(f);
    mark_reads(f);
    find_grads(f, arena);
    return f;
}
