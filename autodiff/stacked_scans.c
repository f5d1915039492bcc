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

gcut_ref gcut_scan_stack(const gcut_graph *g, uint32_t n, uint32_t k)
{
    const gcut_node *node = gcut_node_at(g, n);
    const gcut_graph *body = gcut_region_at(g, node, 0)->body;
    for (uint32_t j = gcut_node_carries(g, node); j < body->results.n; j++)
        if (body->results.at[j].value == body->params.at[k].value) return node->res0 + j;
    return 0;
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

/* t with a first axis of that size. */
static gcut_type stacked(gcut_type t, gcut_dim size)
{
    for (uint32_t d = t.rank; d > 0; d--) t.dim[d] = t.dim[d - 1];
    t.dim[0] = size;
    t.rank++;
    return t;
}

/* x with its axis `axis` first, the others in their order; `back` undoes it. */
static gcut_ref axis_first(gcut_build *b, gcut_ref x, uint32_t axis, bool back)
{
    gcut_dim perm[GCUT_MAX_RANK];
    uint32_t rank = gcut_type_of(b->g, x)->rank;
    for (uint32_t d = 0; d < rank; d++)
        if (back)
            perm[d] = d == axis ? 0 : d < axis ? d + 1 : d;
        else
            perm[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
    return axis ? gcut_btranspose(b, x, perm) : x;
}

static gcut_graph *yielding_carries(gcut_graph *body, uint32_t carries)
{
    gcut_rewrite rw = gcut_rewrite_begin(body, body->name);
    for (uint32_t n = 0; n < body->nodes.n; n++) gcut_rewrite_copy(&rw, n);
    gcut_graph *out = gcut_rewrite_end(&rw);
    for (uint32_t k = 0; k < carries; k++) gcut_body_yield(out, out->params.at[k].value);
    return out;
}

/* Types and names of a scan's results and then of its stacks, when it runs along the first axis. */
static void describe_stacks(const gcut_graph *g, const gcut_node *n, gcut_type *types, const char **names)
{
    const gcut_graph *body = gcut_region_at(g, n, 0)->body;
    bool moved = gcut_attr_get(g, n, GCUT_KEY_axis)->u.dim != 0;
    uint32_t carries = gcut_node_carries(g, n);
    gcut_dim length = gcut_scan_length(g, n);
    for (uint32_t k = 0; k < n->nres; k++) {
        types[k] = *gcut_type_of(g, n->res0 + k);
        names[k] = g->values.at[n->res0 + k].name;
        if (k < carries || !moved) continue;
        types[k] = stacked(*gcut_type_of(body, body->results.at[k].value), length);
        names[k] = gcut_printf(g->module->arena, "%s.steps", names[k]);
    }
    for (uint32_t k = 0; k < carries; k++) {
        types[n->nres + k] = stacked(*gcut_type_of(body, body->params.at[k].value), length);
        names[n->nres + k] = gcut_printf(g->module->arena, "%s.before", names[k]);
    }
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

/* Attributes of node n without its axis. */
static gcut_attr *along_first(gcut_arena *a, const gcut_graph *g, const gcut_node *n, uint32_t *nattrs)
{
    gcut_attr *out = gcut_calloc(a, n->nattrs + 1u, sizeof *out);
    *nattrs = 0;
    for (uint32_t i = 0; i < n->nattrs; i++)
        if (g->attrs.at[n->attr0 + i].key != GCUT_KEY_axis) out[(*nattrs)++] = g->attrs.at[n->attr0 + i];
    return out;
}

/* Carried values may have fewer axes than sliced operands, so stacks, and the scan with them, run along
 * the first axis; operands and results that are sliced or stacked along another axis are transposed before
 * and after the scan. */
static void copy_stacked(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
                         const gcut_ref *map, gcut_ref *out)
{
    gcut_node node = *gcut_node_at(src, n);
    gcut_arena *a = dst->module->arena;
    gcut_build b = {.g = dst, .loc = node.loc};
    uint32_t carries = gcut_node_carries(src, &node), nres = node.nres + carries, nattrs;
    uint32_t axis = (uint32_t)gcut_attr_get(src, &node, GCUT_KEY_axis)->u.dim,
             own = node.nargs - node.ncaptured;
    gcut_type *types = gcut_calloc(a, nres, sizeof *types);
    const char **names = gcut_calloc(a, nres, sizeof *names), **old = gcut_calloc(a, nres, sizeof *old);
    gcut_region region = *gcut_region_at(src, &node, 0);
    check_ranks(src, &node);
    describe_stacks(src, &node, types, names);
    for (uint32_t k = 0; k < node.nres; k++) old[k] = src->values.at[node.res0 + k].name;
    region.body = yielding_carries(region.body, carries);
    const gcut_attr *attrs = along_first(a, src, &node, &nattrs);
    gcut_ref *in = gcut_memdup(a, args, (node.nargs + 1u) * sizeof *in);
    for (uint32_t k = carries; k < own; k++) in[k] = axis_first(&b, args[k], axis, false);
    gcut_node_spec s = {.op = GCUT_OP_scan,
                        .args = in,
                        .nargs = node.nargs,
                        .ncaptured = node.ncaptured,
                        .attrs = attrs,
                        .nattrs = nattrs,
                        .regions = &region,
                        .nregs = 1,
                        .loc = node.loc,
                        .name = names[0],
                        .types = types,
                        .names = names,
                        .ntypes = nres};
    gcut_ref r = gcut_node_make(dst, &s);
    dst->nodes.at[dst->nodes.n - 1].marks = gcut_marks_carry(dst, src, &node.marks, map);
    for (uint32_t k = 0; k < node.nres; k++) {
        b.name = old[k];
        out[k] = k < carries ? r + k : axis_first(&b, r + k, axis, true);
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
    gcut_region arms[2] = {{.kind = gcut_op_region(GCUT_OP_if, 0)}, {.kind = gcut_op_region(GCUT_OP_if, 1)}};
    arms[0].body = arm(body, work, work, n->nres);
    arms[1].body = arm(body, work, NULL, n->nres);
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
    gcut_node node = *gcut_node_at(src, n);
    gcut_arena *a = dst->module->arena;
    gcut_dim bound = gcut_attr_get(src, &node, GCUT_KEY_bound)->u.dim;
    gcut_type *types = gcut_calloc(a, 2u * node.nres, sizeof *types);
    const char **names = gcut_calloc(a, 2u * node.nres, sizeof *names);
    gcut_attr attrs[] = {gcut_attr_dim(GCUT_KEY_carries, node.nres), gcut_attr_dim(GCUT_KEY_length, bound)};
    for (uint32_t k = 0; k < node.nres; k++) {
        gcut_type t = types[k] = *gcut_type_of(src, node.res0 + k);
        names[k] = src->values.at[node.res0 + k].name;
        types[node.nres + k] = stacked(t, bound);
        names[node.nres + k] = gcut_printf(a, "%s.before", names[k]);
    }
    check_ranks(src, &node);
    gcut_region region = {gcut_op_region(GCUT_OP_scan, 0), guarded_step(dst, src, &node)};
    gcut_node_spec s = {.op = GCUT_OP_scan,
                        .args = args,
                        .nargs = node.nargs,
                        .ncaptured = node.ncaptured,
                        .attrs = attrs,
                        .nattrs = 2,
                        .regions = &region,
                        .nregs = 1,
                        .loc = node.loc,
                        .name = names[0],
                        .types = types,
                        .names = names,
                        .ntypes = 2u * node.nres};
    gcut_ref r = gcut_node_make(dst, &s);
    dst->nodes.at[dst->nodes.n - 1].marks = gcut_marks_carry(dst, src, &node.marks, map);
    for (uint32_t k = 0; k < node.nres; k++) out[k] = r + k;
}

/* ---- copies ---- */

void gcut_control_copy(gcut_graph *dst, const gcut_graph *src, uint32_t n, const gcut_ref *args,
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
        gcut_ref *args = gcut_calloc(a, node->nargs + 1u, sizeof *args);
        for (uint32_t k = 0; k < node->nargs; k++) args[k] = map[gcut_arg(body, node, k)];
        gcut_control_copy(dst, body, n, args, map, map + node->res0);
    }
    for (uint32_t i = 0; i < body->checks.n; i++)
        gcut_dim_require(dst, body->checks.at[i].a, body->checks.at[i].b, body->checks.at[i].loc, "body");
}

gcut_graph *gcut_pass_stack(gcut_graph *g, const char *name, const bool *wanted)
{
    gcut_rewrite rw = gcut_rewrite_begin(g, name);
    for (uint32_t n = 0; n < g->nodes.n; n++) {
        const gcut_node *node = gcut_node_at(g, n);
        bool any = false;
        for (uint32_t k = 0; k < node->nres; k++) any = any || wanted[node->res0 + k];
        if (!any) {
            gcut_rewrite_copy(&rw, n);
            continue;
        }
        gcut_ref *args = gcut_alloc(rw.scratch, (node->nargs + 1u) * sizeof *args);
        for (uint32_t k = 0; k < node->nargs; k++) args[k] = gcut_rewrite_arg(&rw, n, k);
        gcut_control_copy(rw.dst, g, n, args, rw.map, rw.map + node->res0);
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
    gcut_control_copy(g, g, n, args, NULL, out);
}
