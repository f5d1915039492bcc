/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures and outlines of a graph, and a program: gcut_graph_dot, gcut_graph_tree, gcut_graph_levels, gcut_graph_c.
 */
#include <string.h>

#include "autodiff/reverse.h"
#include "driver/calls/calls.h"
#include "driver/inspect/of_pipeline.h"
#include "driver/inspect/table_text.h"
#include "driver/options/options.h"
#include "driver/pipeline/plan_info.h"
#include "gradcut/inspect.h"
#include "report/graphs/graphs.h"

typedef struct asking {
    gcut_graph *g;
    const gcut_options *given; /* of `size` bytes */
    size_t size;
    int depth;
} asking;

static gcut_settings settings_of(const asking *j)
{
    return gcut_settings_of(j->g->module->env, j->given, j->size);
}

static void write_dot(void *arg, gcut_text *out)
{
    const asking *j = arg;
    gcut_settings opt = settings_of(j);
    opt.forward_only = false;
    const gcut_pipeline *p = gcut_pipeline_planned(j->g, &opt, out->arena);
    gcut_write_dot(gcut_stage_info_of(p, GCUT_STAGE_PRIMAL, out->arena), gcut_plan_info_of(p->plan), j->depth,
                   out);
}

char *gcut_graph_dot_sized(size_t size, gcut_graph *g, const gcut_options *opt, int depth)
{
    GCUT_NEED(NULL, g, NULL);
    asking j = {g, opt, size, depth};
    return gcut_string_by(g->module->env, write_dot, &j);
}

/* ---- C ---- */

static void write_c(void *arg, gcut_text *out)
{
    const asking *j = arg;
    const gcut_settings opt = settings_of(j);
    gcut_calls_print(gcut_pipeline_new(j->g, &opt, GCUT_STAGE_PRIMAL, out->arena)->primal, out);
}

char *gcut_graph_c_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    asking j = {g, opt, size, 0};
    return gcut_string_by(g->module->env, write_c, &j);
}

/* ---- outline ---- */

/* Is this result of the primal graph differentiated in the joint one: along a cotangent of its own, or as the loss? */
static bool is_differentiated(const gcut_result *r, const gcut_graph *primal, const gcut_graph *joint,
                              const char *loss, gcut_arena *a)
{
    bool any = false;
    if (r->role != GCUT_ROLE_out || !gcut_dtype_is_float(gcut_type_of(primal, r->value)->dtype)) return false;
    const char *const cotangent = gcut_printf(a, "d%s", r->name);
    for (uint32_t i = 0; i < joint->params.n; i++) {
        if (joint->params.at[i].role != GCUT_ROLE_cotan) continue;
        any = true;
        if (!strcmp(joint->values.at[joint->params.at[i].value].name, cotangent)) return true;
    }
    return !any && (loss ? !strcmp(r->name, loss) : gcut_type_of(primal, r->value)->rank == 0);
}

/* Values on a way from a parameter that is differentiated by to a result that is differentiated. */
static const bool *reached_of(const gcut_graph *g, const gcut_graph *joint, const char *loss, gcut_arena *a)
{
    gcut_ref *by = gcut_calloc(a, joint->results.n + 1u, sizeof *by);
    bool *reached = gcut_calloc(a, g->values.n + 1u, sizeof *reached);
    uint32_t n = 0;
    for (uint32_t i = 0; i < joint->results.n; i++) {
        const gcut_param *x = joint->results.at[i].role == GCUT_ROLE_grad
                                  ? gcut_param_find(g, joint->results.at[i].name)
                                  : NULL;
        if (x) by[n++] = x->value;
    }
    const bool *wanted = gcut_wanted(g, a, by, n);
    for (uint32_t i = 0; i < g->results.n; i++)
        if (is_differentiated(&g->results.at[i], g, joint, loss, a))
            reached[g->results.at[i].value] = wanted[g->results.at[i].value];
    for (uint32_t k = g->nodes.n; k-- > 0;) {
        const gcut_node *node = gcut_node_at(g, k);
        bool any = false;
        for (uint32_t r = 0; r < node->nres; r++) any |= reached[node->res0 + r];
        for (uint32_t i = 0; any && i < node->nargs; i++) {
            const gcut_ref v = gcut_arg(g, node, i);
            reached[v] |= wanted[v];
        }
    }
    return reached;
}

/* Functions that are called are outlined without: they may be called where a gradient reaches and where none does. */
static void write_tree(void *arg, gcut_text *out)
{
    const asking *j = arg;
    gcut_settings opt = settings_of(j);
    gcut_arena *a = out->arena;
    opt.optimizer = NULL; /* which takes the gradients */
    const gcut_pipeline *p = gcut_pipeline_new(j->g, &opt, GCUT_STAGE_JOINT, a);
    const gcut_stage_info *primal = gcut_stage_info_of(p, GCUT_STAGE_PRIMAL, a);
    const bool **reached = gcut_calloc(a, primal->n + 1, sizeof(*reached));
    if (!opt.forward_only)
        reached[primal->n - 1] = reached_of(p->primal, p->raw, opt.loss, a) + 1; /* entry 0 is value 1 */
    gcut_write_tree(primal, reached, out);
}

char *gcut_graph_tree_sized(size_t size, gcut_graph *g, const gcut_options *opt)
{
    GCUT_NEED(NULL, g, NULL);
    asking j = {g, opt, size, 0};
    return gcut_string_by(g->module->env, write_tree, &j);
}

/* ---- levels ---- */

static void write_levels(const void *what, const gcut_table_options *o, gcut_text *out)
{
    gcut_write_levels(what, o, out);
}

char *gcut_graph_levels_sized(size_t size, gcut_ctx *ctx, const gcut_fusion *f,
                              const gcut_table_options *table)
{
    GCUT_NEED(NULL, ctx, NULL);
    GCUT_NEED(ctx->env, f, NULL);
    return gcut_table_text(ctx->env, write_levels, f, table, size);
}
