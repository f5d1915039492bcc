/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of passes, in running order.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/options/default_sizes.h"
#include "driver/options/plan_options.h"
#include "driver/search/budget_search.h"
#include "driver/search/local_search.h"
#include "driver/pipeline/pipeline.h"
#include "graph/verify.h"
#include "passes/passes.h"

/* ---- conditions ---- */

bool gcut_passes_always(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p, (void)g;
    return true;
}

/* Does `is` hold for a node of g or of its bodies? */
static bool has_node(const gcut_graph *g, bool (*is)(const gcut_graph *g, const gcut_node *n))
{
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (is(g, n)) return true;
        for (uint32_t k = 0; k < n->nregs; k++)
            if (has_node(gcut_region_at(g, n, k)->body, is)) return true;
    }
    return false;
}

static bool is_call(const gcut_graph *g, const gcut_node *n)
{
    (void)g;
    return n->op == GCUT_OP_call;
}

static bool has_body(const gcut_graph *g, const gcut_node *n)
{
    (void)g;
    return n->nregs > 0;
}

static bool has_no_kernel(gcut_op op)
{
    return gcut_op_get(op)->emit == GCUT_EMIT_EXPAND;
}

static bool is_expanded(const gcut_graph *g, const gcut_node *n)
{
    (void)g;
    return has_no_kernel((gcut_op)n->op);
}

static bool is_narrow(const gcut_graph *g, const gcut_node *n)
{
    for (uint32_t k = 0; k < n->nargs; k++)
        if (gcut_dtype_is_16bit_float(gcut_type_of(g, gcut_arg(g, n, k))->dtype)) return true;
    for (gcut_ref v = n->res0; v < n->res0 + n->nres; v++)
        if (gcut_dtype_is_16bit_float(gcut_type_of(g, v)->dtype)) return true;
    return false;
}

/* A graph without calls stays as it is. */
static bool has_calls(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p;
    return has_node(g, is_call);
}

static bool has_regions(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p;
    return has_node(g, has_body);
}

static bool has_composites(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p;
    return has_node(g, is_expanded);
}

static bool has_narrow_types(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p;
    return has_node(g, is_narrow);
}

/* A graph with cotangents, or with gradients and late parameters, is a joint graph already, unless the
 * options name the loss, cotangents or parameters of another derivative.  So is one whose own gradients are its
 * `grad` results or, without an optimizer, make its next values. */
bool gcut_passes_is_joint(const gcut_pipeline *p)
{
    bool cotan = false, late = false, grad = false;
    if (p->opt.loss || p->opt.ncotan || p->opt.nwrt) return false;
    for (uint32_t i = 0; i < p->primal->params.n; i++) {
        if (p->primal->params.at[i].role == GCUT_ROLE_saved) return false; /* the backward graph of a step */
        cotan = cotan || p->primal->params.at[i].role == GCUT_ROLE_cotan;
        late = late || gcut_param_is_late(&p->primal->params.at[i]);
    }
    for (uint32_t i = 0; i < p->primal->results.n; i++)
        grad = grad || p->primal->results.at[i].role == GCUT_ROLE_grad;
    return cotan || (late && grad) || gcut_is_own_joint(p->primal, p->optimizer.kind == GCUT_OPT_NONE);
}

/* gcut_joint inlines calls itself, and names its values after the user's calls.  It keeps calls that state
 * their derivative, and calls of these derivatives. */
static bool is_not_derived(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return p->opt.forward_only || gcut_passes_is_joint(p);
}

static bool is_derived(const gcut_pipeline *p, const gcut_graph *g)
{
    return !is_not_derived(p, g);
}

/* Is it a primal graph?  On a joint graph these passes run once, in GCUT_MAKES_JOINT. */
static bool is_primal(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return p->opt.forward_only || !gcut_passes_is_joint(p);
}

static bool is_primal_with_loops(const gcut_pipeline *p, const gcut_graph *g)
{
    return is_primal(p, g) && has_regions(p, g);
}

static bool has_gradient(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)p;
    return gcut_has_own_gradient(g);
}

static bool has_optimizer(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return p->optimizer.kind != GCUT_OPT_NONE;
}

static bool has_planned_loops(const gcut_pipeline *p, const gcut_graph *g)
{
    return g != p->joint;
}

static bool is_searched(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return gcut_pipeline_searches(p);
}

static bool is_asked(const gcut_pipeline *p, const gcut_graph *g)
{
    return !is_searched(p, g);
}

/* The cut's own plan at a price of a saved byte. */
static bool is_priced(const gcut_pipeline *p, const gcut_graph *g)
{
    const gcut_plan_options *o = p->asked;
    return is_asked(p, g) && o->policy == GCUT_POLICY_MINCUT && !o->file && !o->saved_limited;
}

static bool is_fused(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return !p->opt.unfused;
}

static bool is_algebraic(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return !p->opt.no_algebra;
}

static bool is_primal_algebra(const gcut_pipeline *p, const gcut_graph *g)
{
    return is_algebraic(p, g) && is_primal(p, g);
}

static bool is_rewritten(const gcut_pipeline *p, const gcut_graph *g)
{
    (void)g;
    return p->is_rewritten;
}

static bool has_rewritten_loops(const gcut_pipeline *p, const gcut_graph *g)
{
    return p->is_rewritten && has_regions(p, g);
}

/* ---- passes that read or write the pipeline ---- */

static const char *new_name(const gcut_pipeline *p, const char *pass)
{
    return gcut_module_unused(p->module, p->base, pass);
}

/* `made` of g[0] takes its name and place. */
static void replace(gcut_pipeline *p, gcut_graph *g[2], gcut_graph *made)
{
    gcut_module_unlist(p->module, g[0]);
    made->name = g[0]->name;
    g[0] = made;
}

/* The constants of options.fix replace symbols here, before sizes are bound to symbols, so that all later stages
 * see the same symbols. */
static void clone(gcut_pipeline *p, gcut_graph *g[2])
{
    g[0] = gcut_module_clone(g[0], p->arena);
    p->module = g[0]->module;
    if (p->opt.nfix)
        replace(p, g,
                gcut_pass_fix(g[0], gcut_module_unused(p->module, g[0]->name, "fixed"),
                              gcut_fixed_sizes(p->arena, g[0], &p->opt), (uint32_t)p->opt.nfix));
    if (p->opt.eval)
        replace(p, g, gcut_pass_evaluation(g[0], gcut_module_unused(p->module, g[0]->name, "eval")));
    p->opt.nfix = 0; /* p->primal has none of these symbols */
}

static void add_lost(const gcut_pipeline *p, const gcut_graph *before, const gcut_graph *after,
                     const char *value, gcut_value_names *lost)
{
    value += *value == '%';
    for (uint32_t i = 0; i < lost->n; i++)
        if (!strcmp(lost->at[i], value)) return;
    if (gcut_graph_find(before, value) && !gcut_graph_find(after, value)) *GCUT_PUSH(p->arena, lost) = value;
}

/* Adds the values that the options or the plan file name and that a pass has removed; true = there are any
 * but those that are in the list already. */
static bool loses_named(const gcut_pipeline *p, const gcut_graph *before, const gcut_graph *after,
                        gcut_value_names *lost)
{
    const uint32_t n = lost->n;
    for (uint32_t i = 0; p->file && i < p->file->whole.lines.n; i++)
        add_lost(p, before, after, p->file->whole.lines.at[i]->name, lost);
    for (size_t i = 0; i < p->opt.nsave; i++) add_lost(p, before, after, p->opt.save[i], lost);
    for (size_t i = 0; i < p->opt.nrecompute; i++) add_lost(p, before, after, p->opt.recompute[i], lost);
    return lost->n > n;
}

/* The same of a graph whose unread nodes are still there. */
static bool would_lose_named(gcut_pipeline *p, const gcut_graph *before, gcut_graph *after,
                             gcut_value_names *lost)
{
    if (!p->file && !p->opt.nsave && !p->opt.nrecompute) return false;
    gcut_graph *live = gcut_pass_dce(after, new_name(p, "live"));
    const bool loses = loses_named(p, before, live, lost);
    gcut_graph_drop(live);
    return loses;
}

/* A plan file belongs to the graph that its own sizes give, whatever the sizes of this run. */
static void gather(gcut_pipeline *p, gcut_graph *g[2])
{
    const gcut_dim_binding *at = p->file ? gcut_pipeline_planned_sizes(p) : p->at;
    gcut_graph *out = gcut_pass_gather(g[0], new_name(p, "gather"), at, p->nat);
    gcut_value_names lost = {0};
    if (would_lose_named(p, g[0], out, &lost))
        gcut_graph_drop(out);
    else
        g[0] = out;
}

/* Repeated without the identities that lose a named value: each time there are more such values. */
static void algebra(gcut_pipeline *p, gcut_graph *g[2])
{
    gcut_value_names keep = {0};
    const uint32_t before = p->rewritten.n;
    gcut_graph *out;
    for (;;) {
        out = gcut_pass_algebra(g[0], new_name(p, "algebra"), &keep, &p->rewritten);
        if (out == g[0] || !would_lose_named(p, g[0], out, &keep)) break;
        gcut_graph_drop(out);
        p->rewritten.n = before;
    }
    p->is_rewritten = out != g[0];
    g[0] = out;
}

static void own_gradient(gcut_pipeline *p, gcut_graph *g[2])
{
    g[0] = gcut_own_joint(g[0], !p->opt.forward_only && gcut_passes_is_joint(p), new_name(p, "cotangent"));
}

static void joint(gcut_pipeline *p, gcut_graph *g[2])
{
    gcut_joint_options jo = {.loss = p->opt.loss,
                             .cotan = p->opt.cotan,
                             .ncotan = (uint32_t)p->opt.ncotan,
                             .minimised = p->optimizer.kind != GCUT_OPT_NONE,
                             .wrt = p->opt.nwrt ? p->opt.wrt : NULL,
                             .nwrt = (uint32_t)p->opt.nwrt,
                             .strict = true};
    g[0] = gcut_joint(g[0], &jo, new_name(p, "joint"));
}

static void optimize(gcut_pipeline *p, gcut_graph *g[2])
{
    g[0] = gcut_add_updates(g[0], &p->optimizer, new_name(p, "optimize"));
}

static void loops(gcut_pipeline *p, gcut_graph *g[2])
{
    g[0] = gcut_plan_scans(g[0], p->asked, new_name(p, "loops"));
}

static void plan(gcut_pipeline *p, gcut_graph *g[2])
{
    p->plan = gcut_plan_make(g[0], p->asked);
}

static void refine(gcut_pipeline *p, gcut_graph *g[2])
{
    (void)g;
    gcut_plan_refine(p);
}

static void search(gcut_pipeline *p, gcut_graph *g[2])
{
    gcut_budget_plan(p);
    g[0] = p->planned;
}

static void split(gcut_pipeline *p, gcut_graph *g[2])
{
    gcut_pipeline_split(p, p->plan, p->base);
    g[0] = p->fwd;
    g[1] = p->bwd;
}

static gcut_graph *expand(gcut_graph *g, const char *name)
{
    return gcut_pass_expand(g, name, has_no_kernel);
}

#ifdef GCUT_DEBUG /* builds without optimisation, and sanitized ones */
#define DEBUG true
#else
#define DEBUG false
#endif

static void lower(gcut_pipeline *p, gcut_graph *g[2])
{
    unsigned how = (p->opt.unfused ? GCUT_LOWER_UNFUSED : 0) | (p->opt.apart ? GCUT_LOWER_APART : 0);
    if (gcut_pipeline_verifies(p) && (DEBUG || getenv("GRADCUT_VERIFY"))) how |= GCUT_LOWER_VERIFY;
    p->program = gcut_lower(g[0], g[1], p->at, p->nat, p->opt.threads, p->machine, how);
    if (!p->nested) gcut_program_mark(p->program);
}

/* ---- the table ---- */

// clang-format off
#define ALWAYS gcut_passes_always
#define EACH(pass)  pass, NULL, gcut_verify
#define WITH(pass)  NULL, pass, gcut_verify
#define ALONE(pass) NULL, pass, NULL /* it makes no graph, or verifies what it makes */
enum { MUST = false, MAY = true };

/* These run wherever a pass may leave nodes that simplify. */
#define SIMPLIFY(makes, when, merges) \
    {"fold",     'f', makes, when, MAY, EACH(gcut_pass_fold),  "constants and identities are computed, keeping every bit"}, \
    {"cse",      'c', makes, when, MAY, EACH(gcut_pass_cse),   "equal nodes become one"}, \
    {"merge",    'm', makes, merges, MAY, EACH(gcut_pass_merge), "scans that differ only in what they yield become one"}, \
    {"dce",      'd', makes, when, MAY, EACH(gcut_pass_dce),   "nodes that no result needs go"}

/*   name      letter  makes     when     optional  pass                        what it does */
static const gcut_pass_row rows[] = {
    {"clone",    'u', GCUT_MAKES_PRIMAL,  ALWAYS, MUST, WITH(clone),                "the user's graph in a module of the compiler's own, with the constants of --fix"},

    {"cotangent", 't', GCUT_MAKES_FOLDED, has_gradient, MUST, WITH(own_gradient),   "the constants from which gcut_grad has differentiated become cotangents, in a graph that uses these gradients itself"},
    {"inline",   'i', GCUT_MAKES_FOLDED,  is_not_derived, MUST, EACH(gcut_pass_inline), "calls become the ops of their functions"},
    {"gather",   'g', GCUT_MAKES_FOLDED,  ALWAYS, MAY,  WITH(gather),               "products of gathered rows become products of their table, where that has at most half as many"},
    SIMPLIFY(GCUT_MAKES_FOLDED, is_primal, is_primal_with_loops),
    {"algebra",  'a', GCUT_MAKES_FOLDED,  is_primal_algebra, MAY, WITH(algebra),         "identities of real numbers, such as log(exp(x)) = x, where they save work; results may differ by rounding"},
    SIMPLIFY(GCUT_MAKES_FOLDED, is_rewritten, has_rewritten_loops),

    {"joint",    'j', GCUT_MAKES_RAW,     is_derived, MUST, WITH(joint),          "the reverse pass is added: a derivative rule for each op"},
    {"inline",   'i', GCUT_MAKES_RAW,     has_calls, MUST, EACH(gcut_pass_inline), "calls that state their derivative become ops"},
    {"optimize", 'o', GCUT_MAKES_RAW,     has_optimizer, MUST, WITH(optimize),    "gradients become new parameter values"},

    {"head",     'h', GCUT_MAKES_JOINT,   ALWAYS, MAY,  EACH(gcut_pass_head),       "the gradient of a loss head becomes one for the cotangent 1, multiplied after it"},
    SIMPLIFY(GCUT_MAKES_JOINT, has_regions, has_regions),
    {"products", 'p', GCUT_MAKES_JOINT,   has_regions, MAY, EACH(gcut_pass_products), "sums of products that loops carry become one product after the loop"},
    {"shifts",   'e', GCUT_MAKES_JOINT,   has_regions, MAY, EACH(gcut_pass_shifts), "stacks of carried values at the start of iterations become shifted stacks of those at their end"},
    SIMPLIFY(GCUT_MAKES_JOINT, ALWAYS, has_regions),
    {"algebra",  'a', GCUT_MAKES_JOINT,   is_algebraic, MAY, WITH(algebra),         "identities of real numbers in the reverse pass and the updates, too"},
    SIMPLIFY(GCUT_MAKES_JOINT, is_rewritten, has_rewritten_loops),

    {"loops",    'l', GCUT_MAKES_PLANNED, ALWAYS, MAY,  WITH(loops),                "what an iteration of a scan saves is decided"},
    SIMPLIFY(GCUT_MAKES_PLANNED, has_planned_loops, has_planned_loops),

    {"plan",     'b', GCUT_MAKES_PLAN,    is_asked, MUST, ALONE(plan),            "what is saved and what is recomputed is decided, by prices and min-cuts (GLPK)"},
    {"refine",   'r', GCUT_MAKES_PLAN,    is_priced, MAY,  ALONE(refine),         "without a budget: the plan of the cut is lowered and improved by flips"},
    {"search",   'y', GCUT_MAKES_PLAN,    is_searched, MUST, ALONE(search),       "under a budget: candidate plans, loops included, are lowered and improved by flips"},
    {"split",    's', GCUT_MAKES_SPLIT,   ALWAYS, MUST, ALONE(split),               "the joint graph becomes a forward and a backward graph"},

    {"expand",   'x', GCUT_MAKES_KERNELS, has_composites, MUST, EACH(expand),               "composite ops without a kernel become their decomposition"},
    {"sink",     'k', GCUT_MAKES_KERNELS, has_regions, MAY,  EACH(gcut_pass_sink),       "constants that bodies capture are computed inside of them"},
    SIMPLIFY(GCUT_MAKES_KERNELS, ALWAYS, has_regions),
    {"widen",    'w', GCUT_MAKES_KERNELS, has_narrow_types, MUST, EACH(gcut_pass_widen),      "f16 and bf16 are computed in f32"},
    {"localize", 'z', GCUT_MAKES_KERNELS, is_fused, MAY, EACH(gcut_pass_localize), "what depends on sizes alone is computed again for each reader"},

    {"lower",    'q', GCUT_MAKES_PROGRAM, ALWAYS, MUST, ALONE(lower),               "nodes become kernels, which #kernel(kN) names, values become memory"},
};
// clang-format on

const gcut_pass_table gcut_passes = {rows, sizeof rows / sizeof *rows};
