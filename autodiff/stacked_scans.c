/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scans that yield their carried values, and bounded loops as scans.
 */
#include "autodiff/stacked_scans.h"

#include <string.h>

#include "graph/custom.h"
#include "graph/external.h"
#include "passes/passes.h"
#include "graph/rewrite.h"
#include "graph/regions/scan_stack.h"

gcut_ref gcut_scan_stack(const gcut_graph *g, uint32_t n, uint32_t k)
{
    gcut_stacks s = gcut_stacks_of(g, n);
    uint32_t j = gcut_stack_find(&s, s.body->params.at[k].value);
    return j == GCUT_NONE ? 0 : gcut_node_at(g, n)->res0 + j;
}

bool gcut_control_unfolds(const gcut_graph *g, uint32_t n)
{
    const gcut_node *node = gcut_node_at(g, n);
    if (node->op == GCUT_OP_call) return !gcut_node_vjp(g, node);
    if (node->op != GCUT_OP_scan) return node->op == GCUT_OP_while;
    for (uint32_t k = 0; k < gcut_node_carries(g, node); k++)
        if (!gcut_scan_stack(g, n, k)) return true;
    return false;
}

/* ---- stacked scans ---- */

/* Adds the carried values at the start of each iteration to the results of a draft of a scan. */
static void add_before(gcut_draft *d, uint32_t carries, gcut_dim length)
{
    for (uint32_t k = 0; k < carries; k++)
        gcut_draft_result(d, gcut_stack_type(d->types[k], 0, length),
                          gcut_printf(d->src->module->arena, "%s.before", d->names[k]));
}

/* Refuses carried values of the highest rank: their stack would have one axis too many. */
static void check_ranks(const gcut_graph *g, const gcut_node *n)
{
    for (uint32_t k = 0; k < gcut_node_carries(g, n); k++)
        if (gcut_type_of(g, n->res0 + k)->rank == GCUT_MAX_RANK)
            gcut_fail(g->module->env, GCUT_EGRAD, gcut_loc_place(g->module, n->loc),
                      "reshape what it carries",
                      "'scan' cannot be differentiated: stacking its carried value %u needs rank %d", k + 1,
                      GCUT_MAX_RANK + 1);
}

/* Carried values may have fewer axes than sliced operands, so stacks, and the scan with them, run along
 * the first axis; operands and results that are sliced or stacked along another axis are transposed before
 * and after the scan. */
static void copy_stacked(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                         const gcut_ref *map, gcut_ref *out)
{
    const gcut_node node = *gcut_node_at(src, n);
    gcut_arena *a = dst->module->arena;
    gcut_build b = {.g = dst, .loc = node.loc};
    gcut_stacks s = gcut_stacks_of(src, n);
    gcut_draft d = gcut_draft_of(a, src, n, NULL, s.carries);
    uint32_t axis = (uint32_t)gcut_attr_get(src, &node, GCUT_KEY_axis)->u.dim;
    gcut_dim length = gcut_scan_length(src, &node);
    check_ranks(src, &node);
    for (uint32_t k = 0; k < s.carries; k++) *GCUT_PUSH(a, &s.more) = s.body->params.at[k].value;
    d.regions[0].body = gcut_stacks_body(&s);
    add_before(&d, s.carries, length);
    for (uint32_t k = s.carries; axis && k < node.nres; k++) {
        d.types[k] = gcut_stack_type(*gcut_type_of(s.body, s.body->results.at[k].value), 0, length);
        d.names[k] = gcut_printf(a, "%s.steps", d.names[k]);
    }
    for (uint32_t k = 0; k < node.nargs; k++)
        d.args[k] = k >= s.carries && k < node.nargs - node.ncaptured
                        ? gcut_baxis_first(&b, args[k], axis, false)
                        : args[k];
    gcut_draft_set(&d, gcut_attr_dim(GCUT_KEY_axis, 0));
    gcut_ref r = gcut_draft_make(dst, &d, map);
    for (uint32_t k = 0; k < node.nres; k++) {
        b.name = src->values.at[node.res0 + k].name;
        out[k] = k < s.carries ? r + k : gcut_baxis_first(&b, r + k, axis, true);
    }
}

/* ---- while as scan ---- */

static void copy_params(gcut_graph *dst, const gcut_graph *src, gcut_ref *map)
{
    for (uint32_t i = 0; i < src->params.n; i++) {
        gcut_ref v = src->params.at[i].value;
        map[v] = gcut_param_new(dst, GCUT_ROLE_input, src->values.at[v].name, gcut_type_of(src, v));
    }
}

/* An arm of an `if` with the parameters of `like`: the body of src, or (src NULL) its first n parameters
 * as they are. */
static gcut_graph *arm(gcut_graph *outer, const gcut_graph *like, const gcut_graph *src, uint32_t n)
{
    gcut_graph *body = gcut_body_new(outer);
    gcut_ref *map = gcut_calloc(body->module->arena, like->values.n, sizeof *map);
    body->outer = NULL;
    copy_params(body, like, map);
    if (src) gcut_body_redo(body, src, map);
    for (uint32_t k = 0; k < n; k++)
        gcut_body_yield(body, map[src ? src->results.at[k].value : like->params.at[k].value]);
    return body;
}

/* One iteration: if (cond) { body } else { the carried values }.  Once the condition is false it stays
 * false, since the carried values do not change and bodies are pure. */
static gcut_graph *guarded_step(gcut_graph *outer, const gcut_graph *g, const gcut_node *n)
{
    gcut_graph *cond = gcut_region_at(g, n, 0)->body, *work = gcut_region_at(g, n, 1)->body;
    gcut_graph *body = gcut_body_new(outer);
    gcut_arena *a = body->module->arena;
    gcut_ref *map = gcut_calloc(a, cond->values.n, sizeof *map);
    body->outer = NULL;
    copy_params(body, cond, map);
    gcut_body_redo(body, cond, map);
    gcut_ref *args = gcut_calloc(a, cond->params.n + 1u, sizeof *args);
    args[0] = map[cond->results.at[0].value];
    for (uint32_t i = 0; i < cond->params.n; i++) args[i + 1] = map[cond->params.at[i].value];
    gcut_region arms[2] = {{arm(body, work, work, n->nres)}, {arm(body, work, NULL, n->nres)}};
    gcut_node_spec s = {.op = GCUT_OP_if,
                        .args = args,
                        .nargs = cond->params.n + 1,
                        .ncaptured = cond->params.n,
                        .regions = arms,
                        .nregs = 2,
                        .loc = n->loc};
    gcut_ref r = gcut_node_make(body, &s);
    for (uint32_t k = 0; k < n->nres; k++) gcut_body_yield(body, r + k);
    for (uint32_t k = 0; k < n->nres; k++) gcut_body_yield(body, body->params.at[k].value);
    return body;
}

static void copy_bounded(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                         const gcut_ref *map, gcut_ref *out)
{
    const gcut_node node = *gcut_node_at(src, n);
    gcut_draft d = gcut_draft_of(dst->module->arena, src, n, NULL, node.nres);
    gcut_dim bound = gcut_attr_get(src, &node, GCUT_KEY_bound)->u.dim;
    check_ranks(src, &node);
    d.regions[0] = (gcut_region){guarded_step(dst, src, &node)};
    d.spec.op = GCUT_OP_scan;
    d.spec.args = args;
    d.spec.nregs = 1;
    d.spec.nattrs = 0;
    gcut_draft_set(&d, gcut_attr_dim(GCUT_KEY_carries, node.nres));
    gcut_draft_set(&d, gcut_attr_dim(GCUT_KEY_length, bound));
    add_before(&d, node.nres, bound);
    gcut_ref r = gcut_draft_make(dst, &d, map);
    for (uint32_t k = 0; k < node.nres; k++) out[k] = r + k;
}

/* ---- copies ---- */

/* Copies node n of src to dst with other operands: a scan becomes a stacked scan, a bounded `while` a
 * stacked scan of guarded iterations. out[k] is the value that replaces result k. src and dst may be one
 * graph. */
static void copy_control(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                         const gcut_ref *map, gcut_ref *out)
{
    const gcut_node *node = gcut_node_at(src, n);
    if (node->op == GCUT_OP_scan && gcut_control_unfolds(src, n)) {
        copy_stacked(dst, src, n, args, map, out);
        return;
    }
    if (node->op == GCUT_OP_while && gcut_attr_get(src, node, GCUT_KEY_bound)) {
        copy_bounded(dst, src, n, args, map, out);
        return;
    }
    gcut_ref r = gcut_node_copy(dst, src, n, args, map, node->loc, NULL);
    node = gcut_node_at(src, n);
    for (uint32_t k = 0; k < node->nres; k++) out[k] = r + k;
}

void gcut_body_redo(gcut_graph *dst, const gcut_graph *body, gcut_ref *map)
{
    gcut_arena *a = dst->module->arena;
    for (uint32_t n = 0; n < body->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(body, n);
        copy_control(dst, body, n, gcut_args_mapped(a, body, node, map), map, map + node->res0);
    }
    gcut_checks_copy(dst, body);
}

gcut_graph *gcut_stacked_scans(gcut_graph *g, const char *name, const bool *wanted)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        if (!gcut_any_result(node, wanted)) {
            gcut_rewrite_copy(&rw, n);
            continue;
        }
        const gcut_ref *args = gcut_args_mapped(rw.scratch, g, node, rw.map);
        copy_control(rw.dst, g, n, args, rw.map, rw.map + node->res0);
    }
    return gcut_rewrite_end(&rw);
}

void gcut_control_unfold(gcut_graph *g, uint32_t n, const gcut_ref *args, gcut_ref *out)
{
    gcut_module *m = g->module;
    gcut_node node = *gcut_node_at(g, n);
    if (node.op == GCUT_OP_call) {
        if (gcut_node_has_effects(g, &node))
            gcut_fail(
                m->env, GCUT_EGRAD, gcut_loc_place(m, node.loc),
                "differentiate the whole graph (gcut_compile, gradcut grad), or state the call's derivative",
                "'call': differentiating it here would run its external kernel, which is not pure, again");
        gcut_region callee = *gcut_region_at(g, &node, 0);
        gcut_node_spec call = {.op = GCUT_OP_call,
                               .args = args,
                               .nargs = node.nargs,
                               .regions = &callee,
                               .nregs = 1,
                               .loc = node.loc,
                               .name = g->values.at[node.res0].name};
        gcut_inline_call(g, &call, false, out);
        return;
    }
    if (node.op == GCUT_OP_while && !gcut_attr_get(g, &node, GCUT_KEY_bound))
        gcut_fail(m->env, GCUT_EGRAD, gcut_loc_place(m, node.loc), "add bound=K, the most steps it can take",
                  "'while' has no derivative unless the number of its steps is bounded");
    copy_control(g, g, n, args, NULL, out);
}
