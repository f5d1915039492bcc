/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters and results of functions (G6), and agreement of the functions of a pair (G9).
 */
#include "graph/verify.h"

#include <stdlib.h>
#include <string.h>

#include "graph/custom.h"

/* ---- G6: parameters and results ---- */

const char *gcut_param_fault(gcut_arena *a, const gcut_graph *g, const gcut_param *p)
{
    const gcut_type *t = gcut_type_of(g, p->value);
    bool late = gcut_mark_find(&p->marks, GCUT_MARK_late), transient = gcut_is_transient(&p->marks);
    const char *name = g->values.at[p->value].name, *role = gcut_role_name(p->role);
    if (late && p->role != GCUT_ROLE_input)
        return gcut_printf(a, "%%%s is declared `%s`: only inputs and `out` results can be #late", name,
                           role);
    if (transient && p->role != GCUT_ROLE_input && p->role != GCUT_ROLE_rng)
        return gcut_printf(a, "%%%s is declared `%s`: only inputs, keys and `out` results can be #transient",
                           name, role);
    if (late && transient)
        return gcut_printf(a,
                           "%%%s is given with the backward call, #late: it cannot be gone by then, "
                           "#transient",
                           name);
    if (p->role != GCUT_ROLE_rng || (t->dtype == GCUT_I64 && t->rank <= 1)) return NULL;
    return gcut_printf(a, "rng %%%s is %s: a key is i64[], several are i64[n]", g->values.at[p->value].name,
                       gcut_type_text(a, g->module, t));
}

static bool param_ids_hold(gcut_check *c)
{
    const gcut_graph *g = c->g;
    uint32_t before = c->broken;
    for (uint32_t i = 0; i < g->params.n; i++) {
        const gcut_param *p = &g->params.at[i];
        if (!gcut_check_is_value(c, p->value) || g->values.at[p->value].def != GCUT_NONE ||
            g->values.at[p->value].index != i)
            gcut_violation(c, g->loc, "G6", "parameter %u has no value of its own", i + 1);
        else if (!g->values.at[p->value].name)
            gcut_violation(c, g->loc, "G6", "parameter %u has no name", i + 1);
        else if (gcut_param_fault(c->scratch, g, p))
            gcut_violation(c, g->loc, "G6", "%s", gcut_param_fault(c->scratch, g, p));
        else if ((uint32_t)p->role > GCUT_ROLE_saved)
            gcut_violation(c, g->loc, "G6", "parameter %%%s has the role of a result",
                           gcut_check_name(c, p->value));
    }
    return c->broken == before;
}

/* In a backward graph a gradient may name a parameter of its forward graph (G9), since the backward graph
 * takes only the parameters that it reads; in a derivative, one of the function called, which the call
 * checks. */
const char *gcut_result_fault(gcut_arena *a, const gcut_graph *g, const gcut_result *r)
{
    bool next = r->role == GCUT_ROLE_next, late = gcut_mark_find(&r->marks, GCUT_MARK_late);
    if (r->role != GCUT_ROLE_out && gcut_is_transient(&r->marks))
        return gcut_printf(a, "'%s %s' cannot be #transient: only inputs, keys and `out` results can",
                           gcut_role_name(r->role), r->name);
    if (late && r->role != GCUT_ROLE_out)
        return gcut_printf(a, "'%s %s' cannot be #late: only inputs and `out` results can",
                           gcut_role_name(r->role), r->name);
    if (late && gcut_is_transient(&r->marks))
        return gcut_printf(
            a, "'out %s' is given with the backward call, #late: it cannot be gone by then, #transient",
            r->name);
    if (!next && r->role != GCUT_ROLE_grad) return NULL;
    const char *role = gcut_role_name(r->role);
    const gcut_param *p = gcut_param_find(g, r->name);
    if (!p && !next && (gcut_is_backward(g) || gcut_is_derivative(g))) return NULL;
    if (!p)
        return gcut_printf(a, "%s '%s': @%s has no param%s or state of that name", role, r->name, g->name,
                           next ? "" : ", input");
    bool kept = !next && p->role == GCUT_ROLE_saved; /* of a transient input */
    if (p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_state && !kept &&
        (next || p->role != GCUT_ROLE_input))
        return gcut_printf(a, "%s '%s': %%%s is declared `%s`; only params%s and states have a %s", role,
                           r->name, r->name, gcut_role_name(p->role), next ? "" : ", inputs",
                           next ? "next value" : "gradient");
    const gcut_type *old = gcut_type_of(g, p->value), *new = gcut_type_of(g, r->value);
    if (gcut_type_equal(old, new)) return NULL;
    return gcut_printf(a, "%s '%s' is %s, but %%%s is %s", role, r->name, gcut_type_text(a, g->module, new),
                       r->name, gcut_type_text(a, g->module, old));
}

static int by_role_and_name(const void *a, const void *b)
{
    const gcut_result *x = *(const gcut_result *const *)a, *y = *(const gcut_result *const *)b;
    return x->role != y->role ? (x->role > y->role) - (x->role < y->role) : strcmp(x->name, y->name);
}

/* Do two results have the same role and name?  Sorted, because a forward graph may save thousands of
 * values.
 */
static bool has_twins(gcut_check *c)
{
    const gcut_graph *g = c->g;
    const gcut_result **all = gcut_calloc(c->scratch, (size_t)g->results.n + 1, sizeof(void *));
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].name) all[n++] = &g->results.at[i];
    qsort(all, n, sizeof(void *), by_role_and_name);
    for (uint32_t i = 1; i < n; i++)
        if (by_role_and_name(&all[i - 1], &all[i]) == 0) return true;
    return false;
}

void gcut_check_interface(gcut_check *c)
{
    const gcut_graph *g = c->g;
    if (!param_ids_hold(c)) return;
    const bool twins = has_twins(c);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (!r->name || !*r->name || r->role < GCUT_ROLE_saved || r->role >= GCUT_NROLES) {
            gcut_violation(c, g->loc, "G6", "result %u has no name or the role of a parameter", i + 1);
            continue;
        }
        if (!gcut_check_is_value(c, r->value) || !gcut_check_visible(c, r->value, g->nodes.n)) {
            gcut_violation(c, g->loc, "G6", "result '%s %s' is no value of the function's own scope",
                           gcut_role_name(r->role), r->name);
            continue;
        }
        for (uint32_t k = 0; twins && k < i; k++)
            if (g->results.at[k].role == r->role && g->results.at[k].name &&
                !strcmp(g->results.at[k].name, r->name))
                gcut_violation(c, g->loc, "G6", "there are two results '%s %s'", gcut_role_name(r->role),
                               r->name);
        const char *fault = gcut_result_fault(c->scratch, g, r);
        if (fault) gcut_violation(c, g->loc, "G6", "%s", fault);
    }
}

/* ---- G9: pairs ---- */

/* By interned name: the `saved` result, + 1. */
static gcut_map saved_by_name(gcut_arena *a, const gcut_graph *g)
{
    gcut_map out = {0};
    for (uint32_t i = g->results.n; i-- > 0;)
        if (g->results.at[i].role == GCUT_ROLE_saved)
            *gcut_map_at(a, &out, gcut_map_key(g->results.at[i].name)) = i + 1;
    return out;
}

/* The fault of a parameter of the backward graph: the forward graph has no such value, or one of another
 * type. */
static const char *taken_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd,
                               const gcut_map *saved, const gcut_param *p)
{
    const char *name = bwd->values.at[p->value].name;
    const gcut_type *have = NULL, *want = gcut_type_of(bwd, p->value);
    if (p->role == GCUT_ROLE_saved) {
        const uint32_t r = gcut_map_get(saved, gcut_map_key(name));
        have = r ? gcut_type_of(fwd, fwd->results.at[r - 1].value) : NULL;
    } else if (p->role == GCUT_ROLE_cotan && !gcut_param_find(fwd, name)) {
        return NULL;
    } else {
        const gcut_param *q = gcut_param_find(fwd, name);
        if (!q) return NULL; /* each graph takes only what it reads */
        have = q->role == p->role ? gcut_type_of(fwd, q->value) : NULL;
    }
    if (have && gcut_type_equal(have, want)) return NULL;
    return gcut_printf(a, "'%s %s' of @%s, %s, is not what @%s gives%s%s", gcut_role_name(p->role), name,
                       bwd->name, gcut_type_text(a, bwd->module, want), fwd->name, have ? ": " : "",
                       have ? gcut_type_text(a, fwd->module, have) : "");
}

static bool gives_out(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_out && !strcmp(g->results.at[i].name, name)) return true;
    return false;
}

/* What the caller may have overwritten before the backward call is saved, and not read there. */
static const char *transient_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd)
{
    const uint32_t *uses = gcut_count_uses(bwd, a);
    for (uint32_t i = 0; i < bwd->params.n; i++) {
        const gcut_param *p = &bwd->params.at[i];
        const char *name = bwd->values.at[p->value].name;
        const gcut_param *q = p->role == GCUT_ROLE_saved ? NULL : gcut_param_find(fwd, name);
        if (uses[p->value] && q && (gcut_is_transient(&p->marks) || gcut_is_transient(&q->marks)))
            return gcut_printf(a, "@%s reads '%s', which is #transient: save it in the forward graph instead",
                               bwd->name, name);
    }
    return NULL;
}

/* Symbols are declared alike. */
static const char *size_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd)
{
    for (uint32_t i = 0; i < fwd->decls.n; i++) {
        const gcut_dim_decl *d = &fwd->decls.at[i], *e = gcut_decl_find(bwd, d->sym);
        if (e && (e->lo != d->lo || e->hi != d->hi || e->mult != d->mult))
            return gcut_printf(a, "@%s and @%s declare the size %s differently", fwd->name, bwd->name,
                               gcut_dim_symbol_name(fwd->module->dims, d->sym));
    }
    return NULL;
}

/* The fault of what one of the graphs takes or gives, which only the other one may: the backward graph has what is late. */
static const char *misplaced_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd)
{
    for (uint32_t i = 0; i < fwd->params.n; i++) {
        const gcut_param *p = &fwd->params.at[i];
        if (p->role == GCUT_ROLE_saved || gcut_param_is_late(p))
            return gcut_printf(a, "'%s %s' is a parameter of @%s, the forward graph", gcut_role_name(p->role),
                               fwd->values.at[p->value].name, fwd->name);
    }
    for (int k = 0; k < 2; k++) {
        const gcut_graph *g = k ? bwd : fwd;
        for (uint32_t i = 0; i < g->results.n; i++) {
            const gcut_result *r = &g->results.at[i];
            const bool late = r->role != GCUT_ROLE_saved && gcut_result_is_late(r);
            if (k && r->role == GCUT_ROLE_out && gives_out(fwd, r->name))
                return gcut_printf(a, "'out %s' is a result of @%s and of @%s", r->name, fwd->name,
                                   bwd->name);
            if (late != (k == 1))
                return gcut_printf(a, "'%s %s' is a result of @%s, the %s graph", gcut_role_name(r->role),
                                   r->name, g->name, k ? "backward" : "forward");
        }
    }
    return NULL;
}

/* Values are saved from the first to the second; by name and type: each saved result has its parameter, and both
 * agree on the parameters they share. */
const char *gcut_pair_fault(gcut_arena *a, const gcut_graph *fwd, const gcut_graph *bwd)
{
    const gcut_map saved = saved_by_name(a, fwd);
    const char *fault = misplaced_fault(a, fwd, bwd);
    if (!fault) fault = size_fault(a, fwd, bwd);
    if (!fault) fault = transient_fault(a, fwd, bwd);
    if (fault) return fault;
    if (fwd == bwd) return gcut_printf(a, "both of its graphs are @%s", fwd->name);
    for (uint32_t i = 0; i < fwd->results.n; i++) {
        const gcut_result *r = &fwd->results.at[i];
        if (r->role != GCUT_ROLE_saved) continue;
        const gcut_param *p = gcut_param_find(bwd, r->name);
        if (!p || p->role != GCUT_ROLE_saved)
            return gcut_printf(a, "@%s does not take the saved value '%s'", bwd->name, r->name);
    }
    for (uint32_t i = 0; i < bwd->params.n; i++) {
        fault = taken_fault(a, fwd, bwd, &saved, &bwd->params.at[i]);
        if (fault) return fault;
    }
    for (uint32_t i = 0; i < bwd->results.n; i++) {
        const gcut_result *r = &bwd->results.at[i];
        if (r->role != GCUT_ROLE_grad || gcut_param_find(bwd, r->name)) continue; /* G6 has seen it */
        const gcut_param *p = gcut_param_find(fwd, r->name);
        if (!p || !gcut_type_equal(gcut_type_of(fwd, p->value), gcut_type_of(bwd, r->value)))
            return gcut_printf(a, "'grad %s' is of no parameter of @%s", r->name, fwd->name);
    }
    return NULL;
}

/* Pairs that name the graph; with `all`, a pair must name graphs that exist. */
void gcut_check_pairs(gcut_check *c, bool all)
{
    for (uint32_t i = 0; i < c->m->pairs.n; i++) {
        const gcut_pair *p = &c->m->pairs.at[i];
        if (!all && strcmp(p->fwd, c->g->name) != 0 && strcmp(p->bwd, c->g->name) != 0) continue;
        const gcut_graph *fwd = gcut_module_find(c->m, p->fwd), *bwd = gcut_module_find(c->m, p->bwd);
        const char *fault = NULL;
        if (fwd && bwd)
            fault = gcut_pair_fault(c->scratch, fwd, bwd);
        else if (all)
            fault = gcut_printf(c->scratch, "there is no @%s", fwd ? p->bwd : p->fwd);
        if (fault) gcut_violation(c, fwd ? fwd->loc : 0, "G9", "pair @%s: %s", p->name, fault);
    }
}
