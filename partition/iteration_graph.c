/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Builds the joint graph of one loop iteration.
 *
 *   parameters  of the forward body: carried values have role `saved`, because only the forward graph has
 *               them; slices and captured values are alive in both graphs (role `input`)
 *               of the backward body: `cotan` where the enclosing graph's value depends on a cotangent
 *   nodes       of the forward body, then of the backward body; a node that both have occurs once
 *   out         the forward body's results, each after a view: they live for one iteration only
 *   grad        the backward body's results
 */
#include "partition/scan_plans.h"

typedef struct builder {
    const gcut_scan_pair *p;
    gcut_arena *arena;
    gcut_graph *j;
    gcut_scan_origin *origin; /* by value of j; grows by node as j does */
    uint32_t room;
    gcut_ref *fmap, *bmap; /* by value of the forward and the backward body: the value of j */
    bool *bwd_late;
    gcut_map by_operands; /* of an op and values of j: the last node of the forward body that has them, + 1 */
    uint32_t *same;       /* by node of the forward body: the one before it with the same key, + 1 */
} builder;

/* Of a node of either body, whose values `map` maps to j. */
static uint64_t key_of(const gcut_graph *body, const gcut_node *n, const gcut_ref *map)
{
    uint64_t key = n->op;
    for (uint32_t k = 0; k < n->nargs; k++)
        key = (key ^ map[gcut_arg(body, n, k)]) * UINT64_C(0x9E3779B97F4A7C15), key ^= key >> 32;
    return key;
}

bool *gcut_scan_late(const gcut_graph *g, const bool *from, gcut_arena *arena)
{
    bool *t = gcut_calloc(arena, g->values.n, sizeof *t);
    for (uint32_t i = 0; i < g->params.n; i++) t[g->params.at[i].value] = from[i];
    gcut_add_dependents(g, t);
    return t;
}

static gcut_ref param(builder *b, gcut_role role, const gcut_graph *body, gcut_ref v, gcut_scan_origin o)
{
    gcut_ref r =
        gcut_param_new(b->j, role, gcut_name_fresh(b->j, body->values.at[v].name), gcut_type_of(body, v));
    b->origin[r] = o;
    return r;
}

static void forward_params(builder *b)
{
    const gcut_graph *body = b->p->fbody, *g = b->p->g;
    const gcut_node *n = gcut_scan_fwd(b->p);
    uint32_t carries = gcut_node_carries(g, n), own = n->nargs - n->ncaptured;
    for (uint32_t i = 0; i < body->params.n; i++) {
        gcut_ref v = body->params.at[i].value, outer = gcut_arg(g, n, i);
        gcut_scan_origin o = {i < carries ? GCUT_SCAN_INNER
                              : i < own   ? GCUT_SCAN_X
                                          : GCUT_SCAN_CAPTURED,
                              i < carries ? 0 : outer, v};
        b->fmap[v] = param(b, i < carries ? GCUT_ROLE_saved : GCUT_ROLE_input, body, v, o);
    }
}

/* The parameter of the forward body, among from..to-1, whose operand is `outer`; 0 = none. */
static gcut_ref same_operand(const builder *b, gcut_ref outer, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (gcut_arg(b->p->g, gcut_scan_fwd(b->p), i) == outer)
            return b->fmap[b->p->fbody->params.at[i].value];
    return 0;
}

/* Parameters of the backward body, except those whose operands are results of the forward scan. */
static void backward_params(builder *b)
{
    const gcut_graph *body = b->p->bbody, *g = b->p->g;
    const gcut_node *n = gcut_scan_bwd(b->p), *f = gcut_scan_fwd(b->p);
    uint32_t carries = gcut_node_carries(g, n), own = n->nargs - n->ncaptured;
    uint32_t fcarries = gcut_node_carries(g, f), fown = f->nargs - f->ncaptured;
    for (uint32_t i = 0; i < body->params.n; i++) {
        gcut_ref v = body->params.at[i].value, outer = gcut_arg(g, n, i);
        bool x = i >= carries && i < own, cotan = i < carries || b->p->late[outer];
        if (x && outer >= f->res0 + fcarries && outer < f->res0 + f->nres) continue;
        if (!cotan) b->bmap[v] = same_operand(b, outer, x ? fcarries : fown, x ? fown : f->nargs);
        if (b->bmap[v]) continue;
        gcut_scan_kind kind = i < carries ? GCUT_SCAN_CARRY : x ? GCUT_SCAN_X : GCUT_SCAN_CAPTURED;
        b->bmap[v] = param(b, cotan ? GCUT_ROLE_cotan : GCUT_ROLE_input, body, v,
                           (gcut_scan_origin){kind, i < carries ? 0 : outer, 0});
    }
}

static void stacked_params(builder *b)
{
    const gcut_graph *body = b->p->bbody;
    const gcut_node *n = gcut_scan_bwd(b->p), *f = gcut_scan_fwd(b->p);
    for (uint32_t i = 0; i < body->params.n; i++) {
        gcut_ref v = body->params.at[i].value;
        if (!b->bmap[v])
            b->bmap[v] = b->fmap[b->p->fbody->results.at[gcut_arg(b->p->g, n, i) - f->res0].value];
    }
}

static gcut_ref copy_node(builder *b, const gcut_graph *body, uint32_t i, const gcut_ref *map)
{
    const gcut_node *n = gcut_node_at(body, i);
    gcut_ref *args = gcut_calloc(b->arena, n->nargs + 1u, sizeof *args);
    for (uint32_t k = 0; k < n->nargs; k++) args[k] = map[gcut_arg(body, n, k)];
    return gcut_node_copy(b->j, body, i, args, map, n->loc, NULL);
}

static void forward_nodes(builder *b)
{
    const gcut_graph *body = b->p->fbody;
    for (uint32_t i = 0; i < body->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(body, i);
        uint32_t *last = gcut_map_at(b->arena, &b->by_operands, key_of(body, n, b->fmap));
        b->same[i] = *last;
        *last = i + 1;
        gcut_ref r = copy_node(b, body, i, b->fmap);
        for (uint32_t k = 0; k < n->nres; k++) {
            b->fmap[n->res0 + k] = r + k;
            b->origin[r + k].forward = n->res0 + k;
        }
    }
}

/* Node x of the backward body computes what node y of the forward body does. */
static bool same_node(const builder *b, const gcut_node *x, const gcut_node *y)
{
    const gcut_graph *f = b->p->fbody, *g = b->p->bbody;
    if (x->nargs != y->nargs || x->nregs != y->nregs || !gcut_nodes_alike(g, x, f, y)) return false;
    for (uint32_t k = 0; k < x->nargs; k++)
        if (b->bmap[gcut_arg(g, x, k)] != b->fmap[gcut_arg(f, y, k)]) return false;
    for (uint32_t k = 0; k < x->nregs; k++)
        if (!gcut_graph_same(gcut_region_at(g, x, k)->body, gcut_region_at(f, y, k)->body)) return false;
    return true;
}

/* The first result of the first forward node that computes the same as x, in the joint graph; 0 = none. */
static gcut_ref find_forward(const builder *b, const gcut_node *x)
{
    gcut_ref r = 0;
    uint32_t i = gcut_map_get(&b->by_operands, key_of(b->p->bbody, x, b->bmap));
    for (; i; i = b->same[i - 1]) {
        const gcut_node *y = gcut_node_at(b->p->fbody, i - 1);
        if (same_node(b, x, y)) r = b->fmap[y->res0];
    }
    return r;
}

static void backward_nodes(builder *b)
{
    const gcut_graph *body = b->p->bbody;
    for (uint32_t i = 0; i < body->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(body, i);
        gcut_ref r = b->bwd_late[n->res0] ? 0 : find_forward(b, n);
        if (!r) r = copy_node(b, body, i, b->bmap);
        for (uint32_t k = 0; k < n->nres; k++) b->bmap[n->res0 + k] = r + k;
    }
}

static bool is_out(const gcut_graph *g, gcut_ref v)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].value == v && g->results.at[i].role == GCUT_ROLE_out) return true;
    return false;
}

/* True when some node other than the backward scan reads v. */
static bool read_elsewhere(const gcut_scan_pair *p, gcut_ref v)
{
    for (uint32_t i = 0; i < p->g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(p->g, i);
        for (uint32_t k = 0; i != p->bwd && k < n->nargs; k++)
            if (gcut_arg(p->g, n, k) == v) return true;
    }
    return false;
}

/* Result i of the forward body becomes an `out`; a stack that the enclosing graph returns is alive anyway. */
static void forward_result(builder *b, uint32_t i)
{
    const gcut_node *f = gcut_scan_fwd(b->p);
    gcut_ref v = b->fmap[b->p->fbody->results.at[i].value], stack = f->res0 + i;
    bool carry = i < gcut_node_carries(b->p->g, f), kept = !carry && is_out(b->p->g, stack);
    if (!carry && !kept && !read_elsewhere(b->p, stack)) return;
    if (!kept) v = gcut_node_new(b->j, GCUT_OP_stop_gradient, &v, 1, NULL, 0, f->loc, NULL);
    gcut_result_new(b->j, GCUT_ROLE_out, gcut_printf(b->j->module->arena, "out%u", i), v);
}

static void results(builder *b)
{
    uint32_t n = gcut_scan_fwd(b->p)->nres;
    for (uint32_t i = 0; i < n; i++) forward_result(b, i);
    for (uint32_t i = 0; i < b->p->bbody->results.n; i++)
        gcut_result_new(b->j, GCUT_ROLE_grad, gcut_printf(b->j->module->arena, "grad%u", i),
                        b->bmap[b->p->bbody->results.at[i].value]);
}

static bool *late_in_backward(const gcut_scan_pair *p, gcut_arena *arena)
{
    const gcut_node *n = gcut_scan_bwd(p);
    uint32_t carries = gcut_node_carries(p->g, n);
    bool *from = gcut_calloc(arena, n->nargs + 1u, sizeof *from);
    for (uint32_t i = 0; i < n->nargs; i++) from[i] = i < carries || p->late[gcut_arg(p->g, n, i)];
    return gcut_scan_late(p->bbody, from, arena);
}

gcut_scan_joint gcut_scan_joint_new(const gcut_scan_pair *p, gcut_arena *arena)
{
    builder b = {.p = p, .arena = arena, .j = gcut_graph_like(p->fbody, p->fbody->name)};
    b.room = p->fbody->values.n + p->bbody->values.n + gcut_scan_fwd(p)->nres + 1;
    b.origin = gcut_calloc(arena, b.room, sizeof *b.origin);
    b.fmap = gcut_calloc(arena, p->fbody->values.n, sizeof *b.fmap);
    b.bmap = gcut_calloc(arena, p->bbody->values.n, sizeof *b.bmap);
    b.same = gcut_calloc(arena, p->fbody->nodes.n + 1u, sizeof *b.same);
    b.bwd_late = late_in_backward(p, arena);
    b.j->loc = p->fbody->loc;
    b.j->copy_of = p->fbody;
    gcut_decls_copy(b.j, p->fbody);
    forward_params(&b);
    backward_params(&b);
    forward_nodes(&b);
    stacked_params(&b);
    backward_nodes(&b);
    results(&b);
    GCUT_ASSERT(b.j->values.n <= b.room);
    return (gcut_scan_joint){b.j, b.origin};
}
