/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VJP rules of control flow.
 *
 * With s the captured values, a branch is y = f(s); its derivative recomputes the branch and gives ds =
 * f's VJP of dy.
 *
 * A scan is (c', y_t) = f(c, x_t, s) from c_0 to c_T.  Its derivative is the scan in the opposite
 * direction
 *
 *   (dc, dx_t, ds_t) = VJP of f at (c_t, x_t, s) of (dc', dy_t),   ds = sum of ds_t
 *
 * that carries dc and the sums ds, slices the stacked c_t, the x_t and the dy_t, and yields the dx_t. dc
 * starts as the cotangent of c_T and ends as that of c_0.  Its iterations begin by recomputing f.  Which
 * values of the forward iterations are saved instead is decided by the partitioner, which finds the scan
 * by the mark #adjoint(%first result of the forward one).
 */
#include <string.h>

#include "autodiff/autodiff.h"
#include "autodiff/reverse.h"
#include "autodiff/stacked_scans.h"
#include "autodiff/vjp.h"

static gcut_ref zeros_like(gcut_graph *g, gcut_ref v, gcut_locid loc)
{
    gcut_build b = {.g = g, .loc = loc};
    return gcut_bconst(&b, v, 0);
}

/* "d<name>", not a name in `body` nor of `like`, whose values keep theirs. */
static const char *adjoint_name(gcut_graph *body, const gcut_graph *like, const char *name)
{
    gcut_arena *a = body->module->arena;
    const char *base = gcut_printf(a, "d%s", name), *free = base;
    for (uint32_t i = 1; gcut_graph_find(body, free) || gcut_graph_find(like, free); i++)
        free = gcut_printf(a, "%s.%u", base, i);
    return free;
}

/* A parameter of `body` under construction. */
static gcut_ref take(gcut_graph *body, const char *name, gcut_type type)
{
    return gcut_param_new(body, GCUT_ROLE_input, name, &type);
}

static gcut_graph *empty_body(gcut_vjp *c)
{
    gcut_graph *body = gcut_body_new(c->b.g);
    body->outer = NULL; /* it captures nothing */
    body->loc = c->b.loc;
    return body;
}

/* ---- if ---- */

/* The derivative of one arm: dx[i] is the cotangent of captured value i, 0 where the arm does not depend
 * on it. */
static gcut_graph *arm_backwards(gcut_vjp *c, const gcut_graph *arm, gcut_ref *dx)
{
    gcut_graph *body = empty_body(c);
    gcut_arena *a = body->module->arena;
    gcut_ref *map = gcut_calloc(a, arm->values.n, sizeof *map);
    gcut_ref *x = gcut_calloc(a, arm->params.n + 1u, sizeof *x), *dy = gcut_calloc(a, c->ndys, sizeof *dy);
    gcut_ref *y = gcut_calloc(a, c->ndys, sizeof *y);
    for (uint32_t i = 0; i < arm->params.n; i++) {
        gcut_ref v = arm->params.at[i].value;
        map[v] = take(body, arm->values.at[v].name, *gcut_type_of(arm, v));
        if (gcut_vjp_wants(c, 1 + i)) x[i] = map[v];
    }
    for (uint32_t k = 0; k < c->ndys; k++)
        if (c->dys[k])
            dy[k] =
                take(body, adjoint_name(body, arm, gcut_printf(a, "y%u", k)), *gcut_vjp_type(c, c->dys[k]));
    gcut_body_redo(body, arm, map);
    for (uint32_t k = 0; k < c->ndys; k++) y[k] = map[arm->results.at[k].value];
    gcut_reverse_mode(body, y, dy, c->ndys, x, arm->params.n, dx);
    return body;
}

/* Both arms yield the cotangent of every captured value that one of them reads, zeros where the other does
 * not. */
void gcut_vjp_if(gcut_vjp *c)
{
    gcut_graph *g = c->b.g;
    gcut_module *m = g->module;
    gcut_node node = *gcut_node_at(g, c->node);
    uint32_t n = node.ncaptured, nargs = 0, nyields = 0;
    gcut_ref *dx[2], *args = gcut_calloc(m->arena, c->nx + c->ndys + 1u, sizeof *args);
    gcut_region arms[2];
    for (uint32_t k = 0; k < 2; k++) {
        arms[k] = *gcut_region_at(g, &node, k);
        dx[k] = gcut_calloc(m->arena, n + 1u, sizeof *dx[k]);
        arms[k].body = arm_backwards(c, arms[k].body, dx[k]);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!dx[0][i] && !dx[1][i]) continue;
        for (uint32_t k = 0; k < 2; k++) {
            gcut_ref s = arms[k].body->params.at[i].value;
            gcut_body_yield(arms[k].body, dx[k][i] ? dx[k][i] : zeros_like(arms[k].body, s, c->b.loc));
        }
        nyields++;
    }
    if (!nyields) return;
    for (uint32_t k = 0; k < c->nx; k++) args[nargs++] = c->x[k];
    for (uint32_t k = 0; k < c->ndys; k++)
        if (c->dys[k]) args[nargs++] = c->dys[k];
    gcut_node_spec s = {.op = GCUT_OP_if,
                        .args = args,
                        .nargs = nargs,
                        .ncaptured = nargs - 1,
                        .regions = arms,
                        .nregs = 2,
                        .loc = c->b.loc};
    gcut_ref r = gcut_node_make(g, &s);
    for (uint32_t i = 0; i < n; i++)
        if (dx[0][i] || dx[1][i]) gcut_vjp_give(c, 1 + i, r++);
}

/* ---- scan ---- */

typedef struct scan {
    gcut_vjp *c;
    gcut_node node; /* the forward scan */
    const gcut_graph *f;
    uint32_t carries, own; /* number of carried operands, and of operands that are not captured */
    bool *moves;           /* by parameter of f: depends on a differentiated parameter, in some iteration */
    bool *reached;         /* by parameter of f: has a cotangent in some iteration */
    gcut_graph *body;      /* of the backward scan */
    gcut_ref *args;        /* of the backward scan */
    uint32_t nargs;
    gcut_ref *map;            /* by value of f: in body */
    gcut_ref *dnext, *dslice; /* by result of f: its cotangent in body, of a carried value and of a slice */
} scan;

/* A carried value moves when its initial value does, or when an iteration computes it from values that
 * move. */
static const bool *find_moving(scan *s, gcut_arena *tmp)
{
    const gcut_graph *f = s->f;
    gcut_ref *x = gcut_calloc(tmp, f->params.n + 1u, sizeof *x);
    for (uint32_t k = 0; k < f->params.n; k++) s->moves[k] = gcut_vjp_wants(s->c, k);
    for (;;) {
        bool more = false;
        for (uint32_t k = 0; k < f->params.n; k++) x[k] = s->moves[k] ? f->params.at[k].value : 0;
        const bool *wanted = gcut_wanted(f, tmp, x, f->params.n);
        for (uint32_t k = 0; k < s->carries; k++)
            if (!s->moves[k] && wanted[f->results.at[k].value]) s->moves[k] = more = true;
        if (!more) return wanted;
    }
}

/* A carried value has a cotangent when its final value has one, or when an iteration contributes one. */
static void find_reached(scan *s, const bool *wanted, gcut_arena *tmp)
{
    const gcut_graph *f = s->f;
    bool *hit = gcut_calloc(tmp, f->values.n, sizeof *hit);
    for (uint32_t k = 0; k < s->carries; k++) s->reached[k] = s->c->dys[k] && s->moves[k];
    for (bool more = true; more;) {
        more = false;
        for (uint32_t k = 0; k < f->results.n; k++)
            if (k < s->carries ? s->reached[k] : s->c->dys[k] != 0)
                hit[f->results.at[k].value] = wanted[f->results.at[k].value];
        for (uint32_t n = f->nodes.n; n-- > 0;) {
            const gcut_node *node = gcut_node_at(f, n);
            bool any = gcut_any_result(node, hit);
            for (uint32_t k = 0; any && k < node->nargs; k++)
                if (wanted[gcut_arg(f, node, k)]) hit[gcut_arg(f, node, k)] = true;
        }
        for (uint32_t k = 0; k < s->carries; k++)
            if (s->moves[k] && !s->reached[k] && hit[f->params.at[k].value]) s->reached[k] = more = true;
    }
    for (uint32_t k = s->carries; k < f->params.n; k++)
        s->reached[k] = s->moves[k] && hit[f->params.at[k].value];
}

static const char *param_name(const scan *s, uint32_t k)
{
    return s->f->values.at[s->f->params.at[k].value].name;
}
static gcut_type param_type(const scan *s, uint32_t k)
{
    return *gcut_type_of(s->f, s->f->params.at[k].value);
}

/* Adds an operand to the backward scan and a parameter to its body. */
static gcut_ref pass(scan *s, gcut_ref operand, const char *name, gcut_type type)
{
    s->args[s->nargs++] = operand;
    return take(s->body, name, type);
}

/* Adds the carried operands: the cotangents of the carried values, and the sums for captured ones.
 * Returns their number. */
static uint32_t pass_carries(scan *s, gcut_ref *sum)
{
    gcut_vjp *c = s->c;
    for (uint32_t k = 0; k < s->carries; k++) {
        if (!s->reached[k]) continue;
        gcut_ref last = c->dys[k] ? c->dys[k] : zeros_like(c->b.g, c->x[k], c->b.loc);
        s->dnext[k] = pass(s, last, adjoint_name(s->body, s->f, param_name(s, k)), param_type(s, k));
    }
    for (uint32_t k = s->own; k < s->f->params.n; k++)
        if (s->reached[k]) {
            const char *name = adjoint_name(s->body, s->f, param_name(s, k));
            sum[k] = pass(s, zeros_like(c->b.g, c->x[k], c->b.loc), name, param_type(s, k));
        }
    return s->nargs;
}

/* Adds the sliced operands: the stacked carried values, the slices of the forward scan, and the cotangents
 * of its yields. */
static void pass_slices(scan *s)
{
    gcut_vjp *c = s->c;
    for (uint32_t k = 0; k < s->own; k++)
        s->map[s->f->params.at[k].value] =
            pass(s, k < s->carries ? gcut_scan_stack(c->b.g, c->node, k) : c->x[k], param_name(s, k),
                 param_type(s, k));
    for (uint32_t k = s->carries; k < c->ndys; k++) {
        if (!c->dys[k]) continue;
        gcut_ref y = s->f->results.at[k].value;
        const char *name = adjoint_name(s->body, s->f, s->f->values.at[y].name);
        s->dslice[k] = pass(s, c->dys[k], name, *gcut_type_of(s->f, y));
    }
    for (uint32_t k = s->own; k < s->f->params.n; k++)
        s->map[s->f->params.at[k].value] = pass(s, c->x[k], param_name(s, k), param_type(s, k));
}

/* Recomputes an iteration, then its VJP; dx by parameter of f. */
static void step_backwards(scan *s, gcut_ref *dx, gcut_arena *tmp)
{
    const gcut_graph *f = s->f;
    gcut_ref *x = gcut_calloc(tmp, f->params.n + 1u, sizeof *x);
    gcut_ref *y = gcut_calloc(tmp, f->results.n, sizeof *y), *dy = gcut_calloc(tmp, f->results.n, sizeof *dy);
    gcut_body_redo(s->body, f, s->map);
    for (uint32_t k = 0; k < f->params.n; k++)
        if (s->reached[k]) x[k] = s->map[f->params.at[k].value];
    for (uint32_t k = 0; k < f->results.n; k++) {
        y[k] = s->map[f->results.at[k].value];
        dy[k] = k < s->carries ? s->dnext[k] : s->dslice[k];
    }
    gcut_reverse_mode(s->body, y, dy, f->results.n, x, f->params.n, dx);
}

/* Yields the carried values in the order of pass_carries, then the cotangents of the slices. */
static void yield_all(scan *s, const gcut_ref *dx, const gcut_ref *sum)
{
    gcut_build b = {.g = s->body, .loc = s->c->b.loc};
    for (uint32_t k = 0; k < s->carries; k++)
        if (s->reached[k]) gcut_body_yield(s->body, dx[k] ? dx[k] : zeros_like(s->body, s->dnext[k], b.loc));
    for (uint32_t k = s->own; k < s->f->params.n; k++)
        if (s->reached[k]) gcut_body_yield(s->body, dx[k] ? gcut_b2(&b, GCUT_OP_add, sum[k], dx[k]) : sum[k]);
    for (uint32_t k = s->carries; k < s->own; k++) {
        gcut_ref slice = s->map[s->f->params.at[k].value];
        if (s->reached[k]) gcut_body_yield(s->body, dx[k] ? dx[k] : zeros_like(s->body, slice, b.loc));
    }
}

static gcut_ref backward_scan(scan *s, uint32_t carries)
{
    gcut_graph *g = s->c->b.g;
    bool reverse = gcut_attr_flag(g, &s->node, GCUT_KEY_reverse);
    gcut_attr attrs[] = {gcut_attr_dim(GCUT_KEY_carries, carries),
                         gcut_attr_dim(GCUT_KEY_axis, gcut_attr_get(g, &s->node, GCUT_KEY_axis)->u.dim),
                         gcut_attr_dim(GCUT_KEY_length, gcut_scan_length(g, &s->node)),
                         gcut_attr_bool(GCUT_KEY_reverse, !reverse)};
    gcut_region region = {s->body};
    gcut_node_spec spec = {.op = GCUT_OP_scan,
                           .args = s->args,
                           .nargs = s->nargs,
                           .ncaptured = s->node.ncaptured,
                           .attrs = attrs,
                           .nattrs = 4,
                           .regions = &region,
                           .nregs = 1,
                           .loc = s->c->b.loc};
    gcut_ref r = gcut_node_make(g, &spec);
    gcut_mark_add(g->module->arena, &g->nodes.at[g->nodes.n - 1].marks,
                  (gcut_mark){GCUT_MARK_adjoint, 1, {{.i = s->node.res0}}});
    return r;
}

/* For stacked scans; the reverse pass expands others first. */
void gcut_vjp_scan(gcut_vjp *c)
{
    gcut_graph *g = c->b.g;
    gcut_arena *tmp = gcut_arena_new(g->module->env, g->module->arena);
    scan s = {.c = c, .node = *gcut_node_at(g, c->node)};
    s.f = gcut_region_at(g, &s.node, 0)->body;
    s.carries = gcut_node_carries(g, &s.node);
    s.own = c->nx - s.node.ncaptured;
    uint32_t np = s.f->params.n;
    s.moves = gcut_calloc(tmp, np + 1u, sizeof *s.moves);
    s.reached = gcut_calloc(tmp, np + 1u, sizeof *s.reached);
    find_reached(&s, find_moving(&s, tmp), tmp);
    bool any = false;
    for (uint32_t k = 0; k < np; k++) any = any || s.reached[k];
    if (any) {
        s.body = empty_body(c);
        s.args = gcut_calloc(tmp, 3u * np + c->ndys, sizeof *s.args);
        s.map = gcut_calloc(tmp, s.f->values.n, sizeof *s.map);
        s.dnext = gcut_calloc(tmp, c->ndys, sizeof *s.dnext);
        s.dslice = gcut_calloc(tmp, c->ndys, sizeof *s.dslice);
        gcut_ref *dx = gcut_calloc(tmp, np, sizeof *dx), *sum = gcut_calloc(tmp, np, sizeof *sum);
        uint32_t carries = pass_carries(&s, sum);
        pass_slices(&s);
        step_backwards(&s, dx, tmp);
        yield_all(&s, dx, sum);
        gcut_ref r = backward_scan(&s, carries);
        for (uint32_t k = 0; k < s.carries; k++)
            if (s.reached[k]) gcut_vjp_give(c, k, r++);
        for (uint32_t k = s.own; k < np; k++)
            if (s.reached[k]) gcut_vjp_give(c, k, r++);
        for (uint32_t k = s.carries; k < s.own; k++)
            if (s.reached[k]) gcut_vjp_give(c, k, r++);
    }
    gcut_arena_free(tmp);
}
