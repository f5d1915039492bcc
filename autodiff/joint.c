/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From a primal graph to the joint graph: reverse-mode differentiation as a
 * source-to-source transformation.
 *
 * in: PRIMAL.  out: JOINT.  keeps: every primal value's name and location.
 *
 * Reverse mode runs on a draft graph, where each cotangent is built before it is known whether it is the
 * last term of its sum.  The final graph is the primal again, followed by those backward nodes that some
 * gradient needs, named d<value> when they are that value's complete cotangent and d<value>.<k> when they
 * are inner nodes of the rule for the node that defines <value>.
 */
#include "autodiff/autodiff.h"

#include <string.h>

#include "autodiff/joint_as_primal.h"
#include "autodiff/reverse.h"
#include "autodiff/stacked_scans.h"
#include "base/names.h"
#include "graph/build.h"
#include "passes/passes.h"
#include "graph/rewrite.h"

typedef struct seed {
    uint32_t result; /* its place among the results */
    const char *name, *cotan;
    gcut_ref value; /* the cotan parameter, in draft */
} seed;

typedef struct differentiation {
    gcut_module *m;
    gcut_arena *tmp;
    gcut_graph *user;   /* the function to differentiate */
    gcut_graph *primal; /* the same, with calls and composites that have no VJP rule expanded, without
                         * `grad` results */
    gcut_graph *draft;
    seed *seed; /* the results to differentiate */
    uint32_t nseeds;
    gcut_ref *map;     /* primal value -> draft value; the final graph uses the same ids */
    bool *chosen;      /* by parameter: differentiate with respect to it */
    uint32_t nvalues;  /* of the draft's primal part */
    gcut_reverse back; /* over the draft */
} differentiation;

/* ---- what to differentiate ---- */

static bool is_float(const gcut_graph *g, const gcut_result *r)
{
    return r->role == GCUT_ROLE_out && gcut_dtype_is_float(gcut_type_of(g, r->value)->dtype);
}

static bool is_scalar(const gcut_graph *g, const gcut_result *r)
{
    return is_float(g, r) && gcut_type_of(g, r->value)->rank == 0;
}

static void seed_result(differentiation *s, uint32_t i)
{
    s->seed[s->nseeds++].result = i;
}

/* The index of the float `out` result of that name; throws when there is none. */
static uint32_t result_named(const differentiation *s, const char *name)
{
    const gcut_graph *g = s->primal;
    gcut_place at = gcut_loc_place(s->m, g->loc);
    for (uint32_t i = 0; i < g->results.n; i++) {
        const gcut_result *r = &g->results.at[i];
        if (r->role != GCUT_ROLE_out || strcmp(r->name, name) != 0) continue;
        if (is_float(g, r)) return i;
        gcut_fail(s->m->env, GCUT_EGRAD, at, "only float results have derivatives",
                  "the result '%s' is %s, not a float", r->name,
                  gcut_type_text(s->m->arena, s->m, gcut_type_of(g, r->value)));
    }
    gcut_fail(s->m->env, GCUT_EGRAD, at, "what is differentiated are `out` results", "@%s has no result '%s'",
              g->name, name);
}

static void seed_loss(differentiation *s, const char *name)
{
    const gcut_graph *g = s->primal;
    uint32_t i = result_named(s, name);
    if (!is_scalar(g, &g->results.at[i]))
        gcut_fail(s->m->env, GCUT_EGRAD, gcut_loc_place(s->m, g->loc),
                  "reduce it with sum or mean first, or differentiate it along a cotangent of its shape: "
                  "options.cotan in C, --cotan NAME",
                  "the result '%s' is %s, not a float scalar", g->results.at[i].name,
                  gcut_type_text(s->m->arena, s->m, gcut_type_of(g, g->results.at[i].value)));
    seed_result(s, i);
}

static void seed_named(differentiation *s, const gcut_joint_options *opt)
{
    gcut_place at = gcut_loc_place(s->m, s->primal->loc);
    if (opt->loss)
        gcut_fail(s->m->env, GCUT_EUSAGE, at, "name it among the others, and give it a cotangent of 1",
                  "a loss is asked for, '%s', and results with cotangents, '%s' first", opt->loss,
                  opt->cotan[0]);
    for (uint32_t k = 0; k < opt->ncotan; k++) {
        uint32_t i = result_named(s, opt->cotan[k]);
        for (uint32_t j = 0; j < s->nseeds; j++)
            if (s->seed[j].result == i)
                gcut_fail(s->m->env, GCUT_EUSAGE, at, NULL, "the cotangent of '%s' is asked for twice",
                          opt->cotan[k]);
        seed_result(s, i);
    }
}

static void seed_all(differentiation *s, bool (*is)(const gcut_graph *, const gcut_result *))
{
    const gcut_graph *g = s->primal;
    for (uint32_t i = 0; i < g->results.n; i++)
        if (!gcut_result_is_late(&s->user->results.at[i]) && is(g, &g->results.at[i])) seed_result(s, i);
}

/* The only scalar; else, unless a loss is minimised, every float result.  Results of the backward
 * graph, gradients of an earlier differentiation among them, are included only when named. */
static void seed_default(differentiation *s, bool minimised)
{
    const gcut_graph *g = s->primal;
    gcut_place at = gcut_loc_place(s->m, g->loc);
    seed_all(s, is_scalar);
    if (s->nseeds == 1) return;
    if (minimised && s->nseeds)
        gcut_fail(s->m->env, GCUT_EGRAD, at, "say which one is minimised: options.loss in C, --loss NAME",
                  "@%s has several scalar results, among them '%s' and '%s'", g->name,
                  g->results.at[s->seed[0].result].name, g->results.at[s->seed[1].result].name);
    if (minimised)
        gcut_fail(
            s->m->env, GCUT_EGRAD, at,
            "a loss is an `out` result of type f32[] or another float scalar; an update along cotangents "
            "of other results is asked for by options.cotan in C, --cotan NAME",
            "@%s has no scalar result to minimise", g->name);
    s->nseeds = 0;
    seed_all(s, is_float);
    if (!s->nseeds)
        gcut_fail(s->m->env, GCUT_EGRAD, at, "what is differentiated are `out` results of a float type",
                  "@%s has no float result to differentiate", g->name);
}

static void choose_results(differentiation *s, const gcut_joint_options *opt)
{
    s->seed = gcut_calloc(s->tmp, s->primal->results.n + 1u, sizeof *s->seed);
    if (opt && opt->ncotan)
        seed_named(s, opt);
    else if (opt && opt->loss)
        seed_loss(s, opt->loss);
    else
        seed_default(s, opt && opt->minimised);
    const gcut_graph *g = s->primal;
    for (uint32_t k = 0; k < s->nseeds; k++) s->seed[k].name = g->results.at[s->seed[k].result].name;
}

static void choose(differentiation *s, const gcut_joint_options *opt)
{
    const gcut_graph *g = s->primal;
    s->chosen = gcut_calloc(s->tmp, g->params.n + 1u, sizeof *s->chosen);
    if (!opt || !opt->wrt) {
        for (uint32_t i = 0; i < g->params.n; i++)
            s->chosen[i] = g->params.at[i].role == GCUT_ROLE_param &&
                           gcut_dtype_is_float(gcut_type_of(g, g->params.at[i].value)->dtype);
        return;
    }
    for (uint32_t k = 0; k < opt->nwrt; k++) {
        bool hit = false;
        for (uint32_t i = 0; i < g->params.n; i++) {
            const gcut_param *p = &g->params.at[i];
            if (p->role != GCUT_ROLE_param && p->role != GCUT_ROLE_input && p->role != GCUT_ROLE_state)
                continue;
            if (!gcut_dtype_is_float(gcut_type_of(g, p->value)->dtype)) continue;
            if (!gcut_name_matches(opt->wrt[k], g->values.at[p->value].name)) continue;
            s->chosen[i] = hit = true;
        }
        if (!hit)
            gcut_fail(s->m->env, GCUT_EGRAD, gcut_loc_place(s->m, g->loc), "* and ? stand for any characters",
                      "'%s' matches no float parameter of @%s", opt->wrt[k], g->name);
    }
}

/* Refuses results that depend on no chosen parameter: a mistake in the model.  A result that depends on
 * them only through ops with derivative 0 is accepted. */
static void refuse_no_dependence(const differentiation *s)
{
    const gcut_graph *g = s->primal;
    bool *reached = gcut_calloc(s->tmp, g->values.n, sizeof *reached);
    gcut_text names = {.arena = s->tmp};
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref w = g->params.at[i].value;
        reached[w] = s->chosen[i];
        if (s->chosen[i]) gcut_text_add(&names, "%s%%%s", names.n ? ", " : "", g->values.at[w].name);
    }
    gcut_add_dependents(g, reached);
    gcut_text results = {.arena = s->tmp};
    for (uint32_t k = 0; k < s->nseeds; k++) {
        if (!names.n || reached[g->results.at[s->seed[k].result].value]) return;
        gcut_text_add(&results, "%s'%s'", k ? ", " : "", s->seed[k].name);
    }
    gcut_fail(s->m->env, GCUT_EGRAD, gcut_loc_place(s->m, g->loc),
              gcut_printf(s->tmp, "they are %s: is another result meant?", names.at),
              s->nseeds == 1 ? "the result %s of @%s depends on none of the parameters that it is "
                               "differentiated by"
                             : "the results %s of @%s depend on none of the parameters that they are "
                               "differentiated by",
              results.at, g->name);
}

/* ---- copies of the primal ---- */

static bool has_undecomposed(const gcut_graph *g)
{
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (gcut_vjp_by_meaning((gcut_op)g->nodes.at[n].op)) return true;
    return false;
}

/* Replaces s->primal by `next` and removes it from the module unless it is the user's.  Messages name the
 * user's function. */
static void advance(differentiation *s, gcut_graph *next)
{
    if (s->primal != s->user) gcut_graph_drop(s->primal);
    s->primal = next;
    gcut_graph_rename(next, s->user->name);
}

static bool has_regions(const gcut_graph *g)
{
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (g->nodes.at[n].nregs) return true;
    return false;
}

/* Converts a joint graph to a primal one and inlines calls without a custom derivative. */
static void open_up(differentiation *s)
{
    if (has_regions(s->primal))
        advance(s, gcut_inline_underived(s->primal, gcut_module_unused(s->m, s->user->name, "inlined")));
    if (gcut_has_grads(s->primal))
        advance(s, gcut_joint_as_primal(s->primal, gcut_module_unused(s->m, s->user->name, "again")));
}

/* By value of the draft or of the primal: non-zero if it depends on the chosen parameters. */
static gcut_ref *chosen_values(differentiation *s, const gcut_graph *g)
{
    gcut_ref *x = gcut_calloc(s->tmp, g->params.n + 1u, sizeof *x);
    for (uint32_t i = 0; i < s->primal->params.n; i++)
        if (s->chosen[i]) x[i] = g->params.at[i].value;
    return x;
}

/* Decomposes composites without a VJP rule, and makes differentiated loops, of which some are decompositions, yield their
 * carried values of every iteration.  A decomposition may contain composites, hence the loop; it ends because
 * decompositions are not recursive. */
static void decompose(differentiation *s)
{
    while (has_undecomposed(s->primal))
        advance(s, gcut_pass_expand(s->primal, gcut_module_unused(s->m, s->user->name, "expanded"),
                                    gcut_vjp_by_meaning));
    if (!has_regions(s->primal)) return;
    const bool *wanted = gcut_wanted(s->primal, s->tmp, chosen_values(s, s->primal), s->primal->params.n);
    advance(s, gcut_stacked_scans(s->primal, gcut_module_unused(s->m, s->user->name, "stacked"), wanted));
}

/* Has one of the first n cotangents that name? */
static bool names_cotan(const differentiation *s, uint32_t n, const char *name)
{
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(s->seed[k].cotan, name)) return true;
    return false;
}

/* A free name for cotangent k: d<result>, or d<result> with a number. */
static const char *cotan_name(const differentiation *s, uint32_t k)
{
    const char *base = gcut_printf(s->m->arena, "d%s", s->seed[k].name);
    const char *name = gcut_name_fresh(s->primal, base);
    for (uint32_t i = 2; names_cotan(s, k, name); i++)
        name = gcut_name_fresh(s->primal, gcut_printf(s->m->arena, "%s.%u", base, i));
    return name;
}

/* A new graph with the primal's parameters, the cotan parameters and the primal's nodes.  Deterministic:
 * the draft and the final graph number these values alike. */
static gcut_graph *with_primal(differentiation *s, const char *name)
{
    gcut_graph *p = s->primal, *g = gcut_graph_shell(p, name);
    for (uint32_t i = 0; i < p->params.n; i++) gcut_param_copy(g, p, i, s->map);
    for (uint32_t k = 0; k < s->nseeds; k++)
        s->seed[k].value = gcut_param_new(g, GCUT_ROLE_cotan, s->seed[k].cotan,
                                          gcut_type_of(p, p->results.at[s->seed[k].result].value));
    gcut_rewrite_append(g, p, s->map);
    return g;
}

/* ---- reverse mode ---- */

static void run(differentiation *s)
{
    const gcut_graph *p = s->primal;
    s->back = gcut_reverse_new(s->draft, s->tmp, chosen_values(s, s->draft), p->params.n);
    for (uint32_t k = 0; k < s->nseeds; k++)
        gcut_reverse_seed(&s->back, s->map[p->results.at[s->seed[k].result].value], s->seed[k].value);
    gcut_reverse_run(&s->back);
}

/* ---- the final graph ---- */

/* By draft value: does a gradient need it? */
static bool *live_values(differentiation *s)
{
    const gcut_graph *g = s->draft;
    bool *live = gcut_calloc(s->tmp, g->values.n, sizeof *live);
    for (uint32_t i = 0; i < s->primal->params.n; i++)
        if (s->chosen[i]) live[s->back.cotangent[g->params.at[i].value]] = true;
    for (uint32_t n = g->nodes.n; n-- > s->back.nnodes;) {
        const gcut_node *node = gcut_node_at(g, n);
        if (!gcut_any_result(node, live)) continue;
        for (uint32_t k = 0; k < node->nargs; k++) live[gcut_arg(g, node, k)] = true;
    }
    return live;
}

/* By draft value: the primal value whose complete cotangent it is.  When several primal values share one
 * (y = a + b), the one nearest to the loss names it. */
static gcut_ref *whole_of(differentiation *s)
{
    gcut_ref *whole = gcut_calloc(s->tmp, s->draft->values.n, sizeof *whole);
    for (gcut_ref v = s->nvalues; v-- > 1;)
        if (s->back.cotangent[v] && !whole[s->back.cotangent[v]]) whole[s->back.cotangent[v]] = v;
    return whole;
}

static const char *step_name(gcut_graph *g, const char *value, uint32_t *k)
{
    const char *name;
    do name = gcut_printf(g->module->arena, "d%s.%u", value, ++*k);
    while (gcut_graph_find(g, name));
    return name;
}

/* Appends the live backward nodes to `g`; map: draft value -> value of g. */
static void copy_backward(differentiation *s, gcut_graph *g, gcut_ref *map)
{
    const gcut_graph *d = s->draft;
    const bool *live = live_values(s);
    const gcut_ref *whole = whole_of(s);
    uint32_t step = 0;
    for (gcut_ref v = 0; v < s->nvalues; v++) map[v] = v;
    for (uint32_t n = s->back.nnodes; n < d->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(d, n);
        gcut_ref first = node->res0, y = s->back.owner.at[n - s->back.nnodes];
        if (n > s->back.nnodes && y != s->back.owner.at[n - s->back.nnodes - 1]) step = 0;
        if (!gcut_any_result(node, live)) continue;
        const char **names = gcut_alloc(s->tmp, node->nres * sizeof *names);
        for (uint32_t k = 0; k < node->nres; k++)
            names[k] = whole[first + k] ? gcut_printf(s->m->arena, "d%s", d->values.at[whole[first + k]].name)
                                        : step_name(g, d->values.at[y].name, &step);
        gcut_ref r =
            gcut_node_copy_as(g, d, n, gcut_args_mapped(s->tmp, d, node, map), map, node->loc, names);
        for (uint32_t k = 0; k < node->nres; k++) map[first + k] = r + k;
    }
    gcut_checks_copy(g, d);
}

static void add_results(differentiation *s, gcut_graph *g, const gcut_ref *map)
{
    const gcut_graph *p = s->primal;
    for (uint32_t i = 0; i < p->results.n; i++) gcut_result_copy(g, p, i, s->map);
    for (uint32_t i = 0; i < p->params.n; i++) {
        if (!s->chosen[i]) continue;
        gcut_ref w = g->params.at[i].value, dw = map[s->back.cotangent[w]];
        const char *name = g->values.at[w].name;
        if (!dw) {
            gcut_build b = {
                .g = g, .loc = gcut_grad_loc(s->m, g->loc), .name = gcut_printf(s->m->arena, "d%s", name)};
            dw = gcut_bconst(&b, w, 0);
        }
        gcut_result_new(g, GCUT_ROLE_grad, name, dw);
    }
}

/* Refuses backward graphs: how their saved values depend on the parameters is not in the graph. */
static void refuse_backward(const gcut_graph *g)
{
    if (gcut_takes_saved(g))
        gcut_fail(g->module->env, GCUT_EGRAD, gcut_loc_place(g->module, g->loc),
                  "differentiate the function before it is split",
                  "@%s is a backward graph: how its saved values depend on the parameters is not known",
                  g->name);
}

gcut_graph *gcut_joint(gcut_graph *g, const gcut_joint_options *opt, const char *name)
{
    gcut_module *m = g->module;
    refuse_backward(g);
    differentiation s = {.m = m, .tmp = gcut_arena_new(m->env, m->arena), .user = g, .primal = g};
    open_up(&s);
    choose_results(&s, opt);
    choose(&s, opt);
    if (opt && opt->strict) refuse_no_dependence(&s);
    decompose(&s);
    for (uint32_t k = 0; k < s.nseeds; k++) s.seed[k].cotan = cotan_name(&s, k);
    s.map = gcut_calloc(s.tmp, s.primal->values.n, sizeof *s.map);

    s.draft = with_primal(&s, gcut_module_unused(m, g->name, "draft"));
    s.nvalues = s.draft->values.n;
    run(&s);

    gcut_graph *joint = with_primal(&s, name);
    gcut_ref *map = gcut_calloc(s.tmp, s.draft->values.n, sizeof *map);
    copy_backward(&s, joint, map);
    add_results(&s, joint, map);
    gcut_graph_drop(s.draft);
    if (s.primal != g) gcut_graph_drop(s.primal);
    gcut_arena_free(s.tmp);
    return joint;
}
