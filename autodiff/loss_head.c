/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Moves the gradient of a loss head to where the forward graph can compute it.
 *
 *   in:    JOINT
 *   out:   the same results; the backward nodes of a head are computed for the cotangent 1, and the
 *          results of the head are multiplied by the cotangent
 *   keeps: parameters, results, run-time checks, names of values outside of heads; values inside are
 *          renamed to <name>.one
 *
 * A head is the last product before the loss and the nodes between them, where that product widens: the
 * logits of a language model have as many columns as the vocabulary, from a few hundred channels.  The
 * backward part of a head is linear in the cotangent g of the loss, a scalar, so with y' the derivative of
 * the loss by the logits
 *
 *     dx = (g y') w' = g (y' w')        dw = x' (g y') = g (x' y')
 *
 * On the right hand sides g is needed only after the wide values y' are consumed; y' w' and x' y' need no
 * cotangent.  The partition may place them in the forward graph, which then passes dx and dw at g = 1 to
 * the backward graph, and not the logits.  Nodes of a head carry the mark #head.
 *
 *   H1  every value of a head is f32 or f64: a cotangent other than 1 guards narrower floats from overflow
 *       and underflow
 *   H2  every operand of a head that depends on the cotangent is computed in the head.  A value that
 *       depends on another cotangent, or on a late input, is in no head: it is not known in the forward
 *       graph
 *   H3  the results of a head are products, sums or scalars: every reader of another value of the head is
 *       in the head
 *
 * Where the derivative at the cotangent 1 is infinite or NaN, its product with any cotangent, 0 included,
 * is infinite or NaN too.
 */
#include "autodiff/autodiff.h"
#include "graph/build.h"
#include "graph/rewrite.h"

typedef struct search {
    const gcut_graph *g;
    gcut_ref cotan;
    bool *late;       /* by value: depends on the cotangent */
    bool *other_late; /* by value: depends on something else that arrives with the backward call */
    bool *data;       /* by value: depends on an input or a state, not on parameters alone */
    bool *linear;     /* by node: it can be in a head */
    bool *open;       /* by value: linear in the cotangent, with no product on the path from it */
    bool *in;         /* by node: it is in a head */
} search;

static bool is_wide_float(gcut_dtype t)
{
    return t == GCUT_F32 || t == GCUT_F64;
}

/* ---- what is linear ---- */

/* Is n linear in operand k: does scaling operand k scale the result by the same factor? */
static bool takes(const search *s, const gcut_node *n, uint32_t k)
{
    bool other = n->nargs > 1 && s->late[gcut_arg(s->g, n, 1 - k % 2)];
    switch (gcut_op_get((gcut_op)n->op)->linear) {
    case GCUT_LINEAR_MAP: return true;
    case GCUT_LINEAR_SUM: return other;
    case GCUT_LINEAR_PRODUCT: return !other;
    case GCUT_LINEAR_DIVIDEND: return k == 0 && !other;
    case GCUT_LINEAR_CHOICE: {
        gcut_ref v = k == 0 ? 0 : gcut_arg(s->g, n, 3 - k);
        return k > 0 && (s->late[v] || gcut_is_zero(s->g, v));
    }
    case GCUT_LINEAR_NO: break;
    }
    return false;
}

static void classify(search *s)
{
    const gcut_graph *g = s->g;
    s->late[s->cotan] = s->open[s->cotan] = true;
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        s->data[v] = g->params.at[i].role != GCUT_ROLE_param;
        s->other_late[v] = v != s->cotan && gcut_param_is_late(&g->params.at[i]);
    }
    gcut_add_dependents(g, s->late);
    gcut_add_dependents(g, s->other_late);
    gcut_add_dependents(g, s->data);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        gcut_ref r = n->res0;
        bool linear = n->nres == 1 && s->late[r] && !s->other_late[r];
        for (uint32_t k = 0; k < n->nargs; k++) {
            gcut_ref a = gcut_arg(g, n, k);
            if (s->late[a]) linear &= s->open[a] && takes(s, n, k);
        }
        if (!linear || !is_wide_float(gcut_type_of(g, r)->dtype)) continue;
        s->linear[i] = true;
        s->open[r] = n->op != GCUT_OP_matmul;
    }
}

/* ---- heads ---- */

/* The operand of a linear product that depends on the cotangent, 0 or 1. */
static uint32_t late_operand(const search *s, const gcut_node *n)
{
    return s->late[gcut_arg(s->g, n, 0)] ? 0 : 1;
}

/* Is n the derivative of a product y = x w that widens, w a parameter: dx = y' w' with fewer columns than
 * it contracts, or dw = x' y' with more columns than rows, either of them possibly transposed. */
static bool is_widened(const search *s, const gcut_node *n)
{
    const gcut_graph *g = s->g;
    const gcut_type *a = gcut_type_of(g, gcut_arg(g, n, 0)), *r = gcut_type_of(g, n->res0);
    if (n->op != GCUT_OP_matmul || r->rank < 2 || a->rank < 2) return false;
    uint32_t side = late_operand(s, n);
    bool dw = s->data[gcut_arg(g, n, 1 - side)];
    gcut_dim contracted = a->dim[a->rank - (gcut_attr_flag(g, n, GCUT_KEY_ta) ? 2 : 1)];
    gcut_dim wide = dw ? r->dim[r->rank - (side == 0 ? 2 : 1)] : contracted;
    gcut_dim narrow = r->dim[r->rank - (side == 0 ? 1 : 2)];
    return gcut_dim_known(wide) && gcut_dim_known(narrow) && wide > narrow;
}

/* Adds the node, and all nodes on paths from the cotangent to it, to the head. */
static void take(const search *s, bool *in, uint32_t node)
{
    const gcut_graph *g = s->g;
    in[node] = true;
    for (uint32_t i = node + 1; i-- > 0;) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; in[i] && k < n->nargs; k++) {
            gcut_ref a = gcut_arg(g, n, k);
            if (s->late[a] && gcut_def(g, a)) in[g->values.at[a].def] = true;
        }
    }
}

/* Is v a value whose readers must be in the head (H3)? */
static bool stays(const search *s, const bool *in, gcut_ref v)
{
    const gcut_node *n = gcut_def(s->g, v);
    return n && in[n - s->g->nodes.at] && s->open[v] && n->op != GCUT_OP_sum &&
           gcut_type_of(s->g, v)->rank > 0;
}

/* Adds the readers of such values to the head; false if one of them cannot be in a head. */
static bool close_over(const search *s, bool *in)
{
    const gcut_graph *g = s->g;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < g->nodes.n; i++) {
            const gcut_node *n = gcut_node_at(g, i);
            for (uint32_t k = 0; !in[i] && k < n->nargs; k++) {
                if (!stays(s, in, gcut_arg(g, n, k))) continue;
                if (!s->linear[i]) return false;
                take(s, in, i);
                more = true;
            }
        }
    }
    for (uint32_t i = 0; i < g->results.n; i++)
        if (stays(s, in, g->results.at[i].value)) return false;
    return true;
}

static bool find_heads(search *s, gcut_arena *a)
{
    const gcut_graph *g = s->g;
    bool any = false;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        if (!s->linear[i] || s->in[i] || !is_widened(s, n)) continue;
        bool *in = gcut_memdup(a, s->in, (size_t)g->nodes.n + 1);
        take(s, in, i);
        if (!close_over(s, in)) continue;
        s->in = in;
        any = true;
    }
    return any;
}

/* ---- rewriting ---- */

typedef struct writer {
    const search *s;
    gcut_rewrite rw;
    gcut_ref *one;              /* by value of g, inside of a head: for the cotangent 1 */
    bool *leaves;               /* by value of g: read outside of heads, or a result */
    GCUT_VEC(uint32_t) waiting; /* nodes of g that are not written yet */
} writer;

static void find_exits(writer *w)
{
    const gcut_graph *g = w->s->g;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const gcut_node *n = gcut_node_at(g, i);
        for (uint32_t k = 0; !w->s->in[i] && k < n->nargs; k++) w->leaves[gcut_arg(g, n, k)] = true;
    }
    for (uint32_t i = 0; i < g->results.n; i++) w->leaves[g->results.at[i].value] = true;
}

static const char *one_name(const gcut_graph *g, gcut_ref v)
{
    return gcut_printf(g->module->arena, "%s.one", g->values.at[v].name);
}

/* v times the cotangent, under the name of v in g. */
static gcut_ref scaled(writer *w, gcut_ref v, gcut_locid loc)
{
    const char *name = w->s->g->values.at[v].name;
    gcut_build b = {.g = w->rw.dst, .loc = loc, .name = gcut_printf(w->s->g->module->arena, "%s.g", name)};
    const gcut_type t = *gcut_type_of(w->s->g, v);
    gcut_ref g = gcut_bconvert(&b, w->rw.map[w->s->cotan], t.dtype);
    if (t.rank) g = gcut_bbroadcast(&b, g, t.dim, t.rank, NULL);
    b.name = name;
    return gcut_b2(&b, GCUT_OP_mul, w->one[v], g);
}

static void write_node(writer *w, uint32_t i)
{
    const gcut_graph *g = w->s->g;
    gcut_graph *dst = w->rw.dst;
    const gcut_node *n = gcut_node_at(g, i);
    gcut_ref v = n->res0, args[3];
    GCUT_ASSERT(n->nargs <= 3);
    for (uint32_t k = 0; k < n->nargs; k++) {
        gcut_ref a = gcut_arg(g, n, k);
        args[k] = w->s->late[a] ? w->one[a] : w->rw.map[a];
    }
    w->one[v] = gcut_node_copy(dst, g, i, args, w->rw.map, n->loc, one_name(g, v));
    gcut_mark_add(g->module->arena, &dst->nodes.at[dst->nodes.n - 1].marks,
                  (gcut_mark){.name = GCUT_MARK_head});
    if (w->leaves[v]) gcut_rewrite_use(&w->rw, i, scaled(w, v, n->loc));
}

/* Is node i of a head the product dx = y' w', which makes the cotangent of the operand that is no parameter? */
static bool makes_cotangent(const writer *w, uint32_t i)
{
    const search *s = w->s;
    const gcut_node *n = gcut_node_at(s->g, i);
    return s->in[i] && n->op == GCUT_OP_matmul && !s->data[gcut_arg(s->g, n, 1 - late_operand(s, n))];
}

/* Writes the products that wait. */
static void write_waiting(writer *w)
{
    for (uint32_t k = 0; k < w->waiting.n; k++) write_node(w, w->waiting.at[k]);
    w->waiting.n = 0;
}

/* The products dw = x' y' of a head come before dx = y' w': x may be dead when dx is made. */
static gcut_graph *write_out(const search *s, const char *name)
{
    const gcut_graph *g = s->g;
    uint32_t first = 0;
    while (!s->in[first]) first++;
    writer w = {.s = s, .rw = gcut_rewrite_begin(g, name)};
    w.one = gcut_calloc(w.rw.scratch, g->values.n, sizeof *w.one);
    w.leaves = gcut_calloc(w.rw.scratch, g->values.n, sizeof *w.leaves);
    find_exits(&w);
    gcut_build b = {.g = w.rw.dst, .loc = gcut_node_at(g, first)->loc, .name = one_name(g, s->cotan)};
    w.one[s->cotan] = gcut_bfull(&b, gcut_type_of(g, s->cotan), 1);
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        if (makes_cotangent(&w, i)) {
            *GCUT_PUSH(w.rw.scratch, &w.waiting) = i;
        } else if (s->in[i]) {
            write_node(&w, i);
        } else {
            write_waiting(&w);
            gcut_rewrite_copy(&w.rw, i);
        }
    }
    write_waiting(&w);
    return gcut_rewrite_end(&w.rw);
}

/* The only scalar cotangent that is wide enough (H1). */
static gcut_ref cotangent_of(const gcut_graph *g)
{
    gcut_ref found = 0;
    for (uint32_t i = 0; i < g->params.n; i++) {
        gcut_ref v = g->params.at[i].value;
        const gcut_type *t = gcut_type_of(g, v);
        if (g->params.at[i].role != GCUT_ROLE_cotan || t->rank) continue;
        if (found || !is_wide_float(t->dtype)) return 0;
        found = v;
    }
    return found;
}

/* The text of a joint graph may be of one that has been through this pass. */
static bool has_head(const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (gcut_mark_find(&gcut_node_at(g, i)->marks, GCUT_MARK_head)) return true;
    return false;
}

gcut_graph *gcut_pass_head(gcut_graph *g, const char *name)
{
    gcut_arena *a = gcut_arena_new(g->module->env, g->module->arena);
    search s = {.g = g,
                .cotan = cotangent_of(g),
                .late = gcut_calloc(a, g->values.n, 1),
                .other_late = gcut_calloc(a, g->values.n, 1),
                .data = gcut_calloc(a, g->values.n, 1),
                .linear = gcut_calloc(a, (size_t)g->nodes.n + 1, 1),
                .open = gcut_calloc(a, g->values.n, 1),
                .in = gcut_calloc(a, (size_t)g->nodes.n + 1, 1)};
    if (s.cotan && !has_head(g)) {
        classify(&s);
        if (find_heads(&s, a)) g = write_out(&s, name);
    }
    gcut_arena_free(a);
    return g;
}
