/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Forced values: #must_save, #must_recompute and the names in the options.
 *
 * A mark on a view constrains the value whose storage it views.  Parameters, constants and results are alive
 * in the backward graph anyway, so must_save holds for them; must_recompute of a parameter cannot be met. Any
 * value can be computed from the parameters in the end, so the only contradictions are between two
 * constraints on one value, and the message names both.  Infinite prices may forbid more: then the network
 * has no finite cut, and a deletion filter finds a smallest set of constraints that cannot be met.
 */
#include <string.h>

#include "base/names.h"
#include "graph/external.h"
#include "graph/ops/node_facts.h"
#include "partition/cut/decisions.h"
#include "partition/cut/min_cut.h"

/* Where a constraint comes from, for the message that names both. */
typedef struct constraint {
    gcut_ref asked; /* the value as named by the user; 0 = no constraint */
    bool mark;
} constraint;

typedef struct constraints {
    gcut_problem *p;
    constraint *save, *recompute; /* by value */
    bool conflict;                /* a contradiction was reported; all are reported before the failure */
} constraints;

static const char *describe(const gcut_graph *g, const constraint *w, gcut_constraint f)
{
    gcut_place at = gcut_where_of(g, w->asked);
    const char *how = f == GCUT_CONSTRAINT_SAVE ? (w->mark ? "#must_save on" : "--save")
                                                : (w->mark ? "#must_recompute on" : "--recompute");
    gcut_arena *a = g->module->arena;
    const char *name = g->values.at[w->asked].name;
    if (!at.file || !at.line) return gcut_printf(a, "%s %%%s", how, name);
    return gcut_printf(a, "%s %%%s (%s:%d)", how, name, at.file, at.line);
}

static void constrain(constraints *w, gcut_ref asked, gcut_constraint f, bool mark)
{
    const gcut_graph *g = w->p->g;
    gcut_module *m = g->module;
    const gcut_facts *facts = w->p->facts;
    const char *name = g->values.at[asked].name;
    if (f == GCUT_CONSTRAINT_RECOMPUTE && !gcut_def(g, asked))
        gcut_fail(m->env, GCUT_EPLAN, gcut_where_of(g, asked),
                  gcut_value_is_lost(g, asked)
                      ? "it is #transient, so it is saved where the backward graph reads it"
                      : "it is alive in the forward and the backward graph and takes no saved bytes",
                  "%%%s is a parameter: there is nothing to recompute it from", name);
    if (facts->side[asked] == GCUT_SIDE_BACKWARD) {
        if (f == GCUT_CONSTRAINT_RECOMPUTE) return;
        gcut_fail(m->env, GCUT_EPLAN, gcut_where_of(g, asked),
                  "it depends on a gradient, or only updates of states and parameters read it",
                  "%%%s cannot be saved: it belongs to the backward graph alone", name);
    }
    gcut_ref v = facts->base[asked];
    if (f == GCUT_CONSTRAINT_RECOMPUTE && gcut_value_runs_once(g, v))
        gcut_fail(m->env, GCUT_EPLAN, gcut_where_of(g, v),
                  "say pure=true where its results depend on its operands alone",
                  "%%%s cannot be recomputed: the external kernel '%s' is not pure, and runs once",
                  g->values.at[v].name, gcut_external_kernel(g, gcut_def(g, v)));
    if (!gcut_def(g, v) || gcut_value_is(g, v, GCUT_CLASS_CONSTANT)) return;
    constraint *mine = f == GCUT_CONSTRAINT_SAVE ? &w->save[v] : &w->recompute[v];
    if (mine->asked) return; /* constrained before */
    *mine = (constraint){asked, mark};
    if (w->save[v].asked && w->recompute[v].asked) {
        gcut_report(m->env, GCUT_EPLAN, gcut_where_of(g, asked), "keep one of the two",
                    "%%%s cannot be both saved and recomputed: %s against %s", g->values.at[v].name,
                    describe(g, &w->save[v], GCUT_CONSTRAINT_SAVE),
                    describe(g, &w->recompute[v], GCUT_CONSTRAINT_RECOMPUTE));
        w->conflict = true;
        return;
    }
    if (f == GCUT_CONSTRAINT_SAVE && facts->kept[v]) return; /* a result is alive anyway */
    w->p->force[v] = f;
    w->p->forced_by[v] = describe(g, mine, f);
}

/* ---- names ---- */

/* True when a loop or branch has a value of that name, which its own plan decides, if any. */
static bool in_body(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; k < n->nregs; k++) {
            const gcut_graph *body = gcut_region_at(g, n, k)->body;
            if (gcut_graph_find(body, name) || in_body(body, name)) return true;
        }
    }
    return false;
}

gcut_ref gcut_named(const gcut_graph *g, const char *name)
{
    const char *bare = name[0] == '%' ? name + 1 : name;
    gcut_ref v = gcut_graph_find(g, bare);
    if (v || in_body(g, bare)) return v;
    gcut_nearest near = gcut_nearest_start(bare);
    for (gcut_ref u = 1; u < g->values.n; u++) gcut_nearest_add(&near, g->values.at[u].name);
    const char *hint =
        near.best ? gcut_printf(g->module->arena, "the nearest name is %%%s", near.best) : NULL;
    gcut_fail(g->module->env, GCUT_EUSAGE, (gcut_place){.file = g->module->file}, hint,
              "there is no value %%%s in @%s", bare, g->name);
}

static void add_marks(constraints *w, const gcut_marks *marks, gcut_ref first, uint32_t n)
{
    for (gcut_ref v = first; v < first + n; v++) {
        if (gcut_mark_find(marks, GCUT_MARK_must_save)) constrain(w, v, GCUT_CONSTRAINT_SAVE, true);
        if (gcut_mark_find(marks, GCUT_MARK_must_recompute)) constrain(w, v, GCUT_CONSTRAINT_RECOMPUTE, true);
    }
}

void gcut_resolve_forced(gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    constraints w = {.p = p};
    w.save = gcut_calloc(arena, g->values.n, sizeof *w.save);
    w.recompute = gcut_calloc(arena, g->values.n, sizeof *w.recompute);
    for (uint32_t i = 0; i < g->params.n; i++)
        add_marks(&w, &g->params.at[i].marks, g->params.at[i].value, 1);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        add_marks(&w, &n->marks, n->res0, n->nres);
    }
    for (uint32_t i = 0; i < p->opt->nsave + p->opt->nrecompute; i++) {
        bool save = i < p->opt->nsave;
        gcut_ref v = gcut_named(g, save ? p->opt->save[i] : p->opt->recompute[i - p->opt->nsave]);
        if (v) constrain(&w, v, save ? GCUT_CONSTRAINT_SAVE : GCUT_CONSTRAINT_RECOMPUTE, false);
    }
    if (w.conflict) gcut_throw(g->module->env, GCUT_EPLAN);
}

/* ---- constraints that no plan meets ---- */

static bool is_feasible(const gcut_problem *p, gcut_arena *arena)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_network *net = gcut_problem_network(p, scratch);
    gcut_network_at(net, 0); /* infinite prices are infinite at any lambda */
    bool feasible = gcut_network_feasible(net, scratch);
    gcut_arena_free(scratch);
    return feasible;
}

/* Deletion filter: drops each constraint without which there is still no plan.  Of the remaining ones none
 * can be left out. */
void gcut_require_feasible(const gcut_problem *p, gcut_arena *arena)
{
    const gcut_graph *g = p->g;
    if (is_feasible(p, arena)) return;
    gcut_problem q = *p;
    q.force = gcut_memdup(arena, p->force, g->values.n * sizeof *p->force);
    gcut_text all = {.arena = arena};
    gcut_ref first = 0;
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (p->force[v] == GCUT_CONSTRAINT_NONE) continue;
        q.force[v] = GCUT_CONSTRAINT_NONE;
        if (is_feasible(&q, arena)) q.force[v] = p->force[v];
    }
    for (gcut_ref v = 1; v < g->values.n; v++) {
        if (q.force[v] == GCUT_CONSTRAINT_NONE) continue;
        gcut_text_add(&all, "%s%s", first ? ", " : "", p->forced_by[v]);
        if (!first) first = v;
    }
    if (!first)
        gcut_fail(g->module->env, GCUT_EPLAN, (gcut_place){.file = g->module->file}, NULL,
                  "some value of @%s must be neither saved nor recomputed", g->name);
    gcut_fail(g->module->env, GCUT_EPLAN, gcut_where_of(g, first), "leave one of these constraints out",
              "no plan meets %s", all.at);
}
